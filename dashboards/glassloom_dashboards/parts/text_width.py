"""How wide texts are on a canvas, which can't cut them itself: about, and never less than in the fonts that browsers take."""

from __future__ import annotations

import unicodedata

_EM = {
    0.36: " ijl|'!,.:;",
    0.42: 'fIrt()[]{}/\\-"`',
    0.78: "ABCDEGHKNOPQRSUVXYZT",
    0.86: "w~+=<>#^",
    1.0: "mMW@%…",
}
"""Widths of DejaVu Sans, the widest of them, as parts of the size."""
_USUAL_EM, _OTHER_EM, _WIDE_EM = 0.64, 0.7, 1.05
_WIDTHS = {character: em for em, characters in _EM.items() for character in characters}


def text_px(text: str, size_px: float) -> float:
    """Return how wide a text is at most.

    >>> round(text_px("mean-chunk", 12)), round(text_px("名前", 12))
    (79, 25)
    """
    return size_px * sum(map(_em, text))


def fitting(text: str, size_px: float, room_px: float) -> int:
    """Return how many characters may stay of a text so that they and an ellipsis fit; all if it fits.

    >>> fitting("mmmmmmmmmm", 10, 60), fitting("iiiiiiiiii", 10, 60)
    (6, 10)
    """
    whole_px = text_px(text, size_px)
    return len(text) if whole_px <= room_px else int(len(text) * max(room_px, 0.0) / whole_px)


def _em(character: str) -> float:
    known = _WIDTHS.get(character)
    if known is not None:
        return known
    if character.isascii():
        return _USUAL_EM
    return _WIDE_EM if unicodedata.east_asian_width(character) in "WF" else _OTHER_EM
