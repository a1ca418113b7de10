"""A plan as text that a notebook shows as a card."""

from __future__ import annotations


class Explanation(str):
    """Text that has an HTML form. Make it with `explanation`."""

    __slots__ = ("_html",)

    _html: str

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self._html


def explanation(text: str, html: str) -> Explanation:
    """Return an explanation with both its forms."""
    made = Explanation(text)
    made._html = html
    return made
