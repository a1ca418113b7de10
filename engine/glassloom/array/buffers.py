"""Memory for tiles, reused by the next task of the same thread: fresh pages cost as much as the work."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

PIECE_BYTES = 2 * 2**20
"""Least size of new memory, so that any piece can take any tile. Measured for tiles: see `tiles.TILE_BYTES`."""
KEPT_BYTES = 8 * 2**20
"""How much memory a thread keeps for its next task."""


class Buffers:
    """Arrays that one run of tiles writes to. Returned memory is reused; `close` keeps it for later runs."""

    def __init__(self) -> None:
        self._unused: list[Any] = _kept_by_thread()
        """Memory that this run hasn't given out yet."""
        self._free: list[Any] = []
        self._lent: dict[int, Any] = {}
        self._kept_to_the_end: list[Any] = []

    def take(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an uninitialised array that nothing else uses."""
        nbytes = math.prod(shape) * dtype.itemsize
        memory = _memory_of(nbytes, self._free, self._unused)
        self._lent[id(memory)] = memory
        return memory[:nbytes].view(dtype).reshape(shape)

    def take_for_good(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array whose content stays until `close`.

        Its memory was never given out before, as a previous user may write to memory again at the next tile.
        """
        nbytes = math.prod(shape) * dtype.itemsize
        memory = _memory_of(nbytes, self._unused)
        self._kept_to_the_end.append(memory)
        return memory[:nbytes].view(dtype).reshape(shape)

    def give_back(self, array: Any) -> None:
        """Note that an array is not read any more; nothing happens if it isn't one of ours."""
        memory = self._lent.pop(id(_owner(array)), None)
        if memory is not None:
            self._free.append(memory)

    def holds(self, array: Any) -> bool:
        """Return whether an array is one of ours, without gaps."""
        return type(array) is np.ndarray and id(_owner(array)) in self._lent and array.flags.c_contiguous

    def close(self) -> None:
        """Let later runs of this thread use the memory, as much of it as a thread may keep."""
        kept: list[Any] = []
        for memory in [*self._free, *self._lent.values(), *self._kept_to_the_end, *self._unused]:
            if sum(each.nbytes for each in kept) + memory.nbytes <= KEPT_BYTES:
                kept.append(memory)
        _kept.free = kept
        self._free, self._lent, self._kept_to_the_end, self._unused = [], {}, [], []


def _memory_of(nbytes: int, *places: list[Any]) -> Any:
    """Take memory that is large enough out of the first of the places that has some; if none has, return new memory."""
    for place in places:
        for position in reversed(range(len(place))):
            if place[position].nbytes >= nbytes:
                return place.pop(position)
    return np.empty(max(nbytes, PIECE_BYTES), np.uint8)


def _owner(array: Any) -> Any:
    """Return the array that owns the memory of another."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


class _Kept(threading.local):
    """What each thread keeps."""

    def __init__(self) -> None:
        self.free: list[Any] = []


_kept = _Kept()


def _kept_by_thread() -> list[Any]:
    """Return the memory that the thread has kept; nested runs find it taken."""
    free, _kept.free = _kept.free, []
    return free
