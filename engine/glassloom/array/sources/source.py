"""`Source`: the object that the blocks of an array are read from. Doesn't depend on nodes, and reads only when asked."""

from __future__ import annotations

from typing import Any

import numpy as np

Selector = int | range
"""What is taken of an axis: one element (the axis goes away), or a range of them, rising or falling."""

Region = tuple[Selector, ...]
"""A selector for each axis of a source."""


class Source:
    """An array that is there already: in memory, in a file, or anything else that can be sliced.

    Immutable. Two sources of one `version` have the same elements, so nodes are named by it.
    """

    shape: tuple[int, ...]
    dtype: Any
    version: str
    """What tells its content from any other: a hash of it, or a path with the time of its last change. Random where
    neither is to be had, so that it is equal to nothing."""
    unit: tuple[int, ...]
    """How many elements along each axis are read at once, whichever of them is asked for."""
    owned: bool = False
    """Whether its elements can't change: they were copied, or are read-only."""
    in_memory: bool = False
    """Whether regions are views of memory that may be passed to tasks."""

    def __glassloom_tokenize__(self) -> str:
        return self.version

    @property
    def meta(self) -> Any:
        """A chunk without elements (with one if it has no axes)."""
        return np.ones((0,) * len(self.shape), dtype=self.dtype)

    @property
    def views_are_free(self) -> bool:
        """Whether a region costs nothing until its elements are looked at."""
        return self.in_memory

    def region(self, region: Region) -> Any:
        """Return a part as a chunk."""
        raise NotImplementedError

    def narrowed(self, region: Region) -> Source:
        """Return a source of a region alone, for pickles; itself where a pickle doesn't carry the elements."""
        return self


def whole(shape: tuple[int, ...]) -> Region:
    """Return the region that is all of a shape."""
    return tuple(map(range, shape))


def lengths(region: Region) -> tuple[int, ...]:
    """Return the shape of a region."""
    return tuple(len(selector) for selector in region if isinstance(selector, range))


def slice_of(selector: Selector) -> int | slice:
    """Return a selector as a key of `__getitem__`.

    >>> slice_of(range(9, -1, -3)), slice_of(range(2, 2))
    (slice(9, None, -3), slice(0, 0, None))
    """
    if not isinstance(selector, range):
        return selector
    if not selector:
        return slice(0, 0)
    if selector.step == 1:
        return slice(selector.start, selector.stop)
    stop = selector[-1] + (1 if selector.step > 0 else -1)
    return slice(selector.start, stop if stop >= 0 else None, selector.step)
