"""How the blocks of a persisted collection stand: as colours of a drawing, and as words with a number. Asks nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup

from glassloom.reprs import now_text
from glassloom.units import format_bytes

COLOURS = {
    "failed": "#d0453e",
    "lost": "#7d4a3a",
    "cancelled": "#d08a1d",
    "pending": "#98a4b0",
    "finished": "#2f9e5b",
    "on GPU": "#8059c8",
    "in memory": "#2f7fc4",
}
"""Of each state, the one first that counts most where several blocks are drawn as one."""
_RANKS = {state: rank for rank, state in enumerate(COLOURS)}
_OF_FUTURES = {"error": "failed"}
_FINAL = frozenset(COLOURS) - {"pending"}


def block_states(held: Iterable[Any], *, is_on_gpu: bool = False) -> list[str]:
    """Return the state of each block: what a future knows of itself, or of a value that this process holds.

    A finished future's result is held by its cluster; where, the client isn't told.
    """
    return [_state(value, "on GPU" if is_on_gpu else "in memory") for value in held]


def _state(value: Any, of_values: str) -> str:
    status = getattr(value, "status", None)
    if isinstance(status, str) and hasattr(value, "key"):
        known = _OF_FUTURES.get(status, status)
        return known if known in COLOURS else "pending"
    return of_values


def worst(states: Iterable[str]) -> str:
    """Return the state that counts most."""
    return min(states, key=_RANKS.__getitem__)


def held_bytes(held: Iterable[Any]) -> int:
    """Return the size of the results that are there, as far as this process knows."""
    return sum(int(getattr(value, "nbytes", 0) or 0) for value in held)


def states_html(states: Sequence[str], nbytes: int) -> Markup:
    """Return the numbers of blocks by state, with their colours; with the time, if any may change."""
    if not states:
        return Markup("")
    counts = Counter(states)
    parts = [
        Markup('<span><svg width="10" height="10" aria-hidden="true"><rect width="10" height="10" rx="2" fill="{}"/></svg>{:,} {}</span>').format(
            COLOURS[state], counts[state], state
        )
        for state in COLOURS
        if state in counts
    ]  # fmt: skip
    if nbytes:
        parts.append(Markup("<span>{}</span>").format(format_bytes(nbytes)))
    if not counts.keys() <= _FINAL:
        parts.append(Markup('<span class="glm2-shown">when shown, {}</span>').format(now_text()))
    return Markup('<div class="glm2-states">{}</div>').format(Markup(" ").join(parts))
