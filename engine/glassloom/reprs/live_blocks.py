"""`show_blocks`: the card of a persisted collection in a notebook, shown anew while its blocks change.

The display itself waits for nothing: the card's own thread asks the head where results are, once a second at most, until
nothing has changed for `QUIET_S`. Then the card says as of when it is. A collection that is displayed again is followed again.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from glassloom.reprs.block_states import SETTLED, block_states, held_values, is_on_gpu
from glassloom.reprs.live_card import LiveCard

MAX_BLOCKS = 10_000
"""The states of more blocks aren't followed: a drawing has no room for them."""
QUIET_S = 60.0
_LEAST_S = 1.0
_PER_BLOCK_S = 0.0005
_TIMEOUT_S = 2.0

Draw = Callable[[Any, Sequence[str]], str]
"""Makes HTML of a collection, and of what the head has told of its blocks' tasks."""

_cards: weakref.WeakValueDictionary[str, LiveCard] = weakref.WeakValueDictionary()
"""By the collection's name, as long as they are followed."""


def show_blocks(collection: Any, draw: Draw) -> None:
    """Display a collection whose blocks a cluster holds; raises NotImplementedError, as IPython wants it, if it is none."""
    held = held_values(collection.expr)
    if not held or len(held) > MAX_BLOCKS or not all(hasattr(value, "client") for value in held):
        raise NotImplementedError
    card = _cards.get(collection.expr.name)
    if card is None:
        blocks = FollowedBlocks(collection, draw)
        card = LiveCard(blocks.facts, blocks.bundle, blocks.look, blocks.next_look_s)
        _cards[collection.expr.name] = card
    card.show()


class FollowedBlocks:
    """What is known of the blocks of a collection. It doesn't keep the collection: nobody may be left who wants its results.

    Parameters
    ----------
    clock
        Returns the time in seconds.
    """

    def __init__(self, collection: Any, draw: Draw, clock: Callable[[], float] = time.monotonic) -> None:
        self._kind = type(collection)
        self._expr = weakref.ref(collection.expr)
        self._draw = draw
        self._clock = clock
        self._told: Sequence[str] = ()
        self._states: Sequence[str] = ()
        self._changed_s = clock()

    def look(self) -> None:
        """Ask the head how the blocks are. Waits for it, but not for long."""
        expr = self._expr()
        if expr is None:
            return
        held = held_values(expr)
        told = held[0].client._task_states([value.key for value in held], _TIMEOUT_S)
        self._told = told or ()
        states = block_states(held, self._told, is_on_gpu=is_on_gpu(expr))
        if states != self._states:
            self._states, self._changed_s = states, self._clock()

    def next_look_s(self) -> float | None:
        """Return in how many seconds to look again; None: there is nothing to see any more."""
        if self._expr() is None or not self._states:
            return None
        is_quiet = self._clock() - self._changed_s > QUIET_S
        if is_quiet and set(self._states) <= SETTLED:
            return None
        return max(_LEAST_S, _PER_BLOCK_S * len(self._states)) * (5 if is_quiet else 1)

    def facts(self) -> Hashable:
        """Return what the card says."""
        return tuple(self._states)

    def bundle(self) -> dict[str, str] | None:
        """Return the card; None if the collection is gone: it stays as it was shown last."""
        expr = self._expr()
        if expr is None:
            return None
        collection = self._kind(expr)
        return {"text/plain": repr(collection), "text/html": self._draw(collection, self._told)}
