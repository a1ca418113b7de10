"""How the blocks of a persisted collection stand: as colours of a drawing, and as words with a number. Asks nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from glassloom.reprs import now_text
from glassloom.units import format_bytes

COLOURS = {
    "failed": "#d0453e",
    "lost": "#7d4a3a",
    "cancelled": "#d08a1d",
    "running": "#e6c619",
    "pending": "#98a4b0",
    "finished": "#2f9e5b",
    "spilled": "#b07aa1",
    "shared": "#17becf",
    "on GPU": "#8059c8",
    "in memory": "#2f7fc4",
}
"""Of each state, the one first that counts most where several blocks are drawn as one."""
_RANKS = {state: rank for rank, state in enumerate(COLOURS)}
_OF_FUTURES = {"error": "failed"}
_PLACES = frozenset(["in memory", "shared", "spilled"])
SETTLED = frozenset(COLOURS) - {"pending", "running"}


def held_values(node: Any) -> list[Any]:
    """Return what holds each block of a persisted collection's expression, in order: a future, or the value; nothing of others."""
    held = getattr(getattr(node, "source", None), "held", None)
    return [held.get(key) for key in node.output_keys()] if isinstance(held, Mapping) else []


def is_on_gpu(node: Any) -> bool:
    """Tell whether the blocks of an expression are made on a device."""
    return type(getattr(node, "meta", None)).__module__.partition(".")[0] in ("cupy", "cudf")


def block_states(held: Sequence[Any], told: Sequence[str] = (), *, is_on_gpu: bool = False) -> list[str]:
    """Return the state of each block: what a future knows of itself, or of a value that this process holds.

    Parameters
    ----------
    told
        What the head has told of each block's task, if it was asked: a client doesn't know by itself where results are.
    """
    of_values = "on GPU" if is_on_gpu else "in memory"
    known = [_state(value, of_values) for value in held]
    return [_more(state, more, of_values) for state, more in zip(known, told, strict=True)] if told else known


def _state(value: Any, of_values: str) -> str:
    status = getattr(value, "status", None)
    if isinstance(status, str) and hasattr(value, "key"):
        known = "lost" if _is_gone(value) else _OF_FUTURES.get(status, status)
        return known if known in COLOURS else "pending"
    return of_values


def _is_gone(value: Any) -> bool:
    """Tell whether a future's result was there and can't be had any more: its cluster has ended, or the client is closed."""
    return getattr(value, "_is_gone", False) is True


def _more(known: str, told: str, of_values: str) -> str:
    """Return a state with what the head has told, which may be later or earlier than what the future has heard."""
    if known == "pending" and told == "running":
        return told
    if known in ("pending", "finished") and told == "held":
        return of_values
    return told if known in ("pending", "finished") and told in _PLACES else known


def worst(states: Iterable[str]) -> str:
    """Return the state that counts most."""
    return min(states, key=_RANKS.__getitem__)


def held_bytes(held: Iterable[Any]) -> int:
    """Return the size of the results that are there, as far as this process knows."""
    return sum(int(getattr(value, "nbytes", 0) or 0) for value in held if not _is_gone(value))


def states_html(states: Sequence[str], nbytes: int, *, was_told: bool = False) -> Markup:
    """Return the numbers of blocks by state, with their colours; with the time, if any may change.

    Parameters
    ----------
    was_told
        Whether the head has said where results are; that may change at any time.
    """
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
    if was_told or not counts.keys() <= SETTLED:
        parts.append(Markup('<span class="glm2-shown">when shown, {}</span>').format(now_text()))
    return Markup('<div class="glm2-states">{}</div>').format(Markup(" ").join(parts))
