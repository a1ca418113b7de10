"""Chunks: the lengths of the blocks along each axis. Doesn't depend on arrays."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from glassloom import config
from glassloom.errors import ChunkError, OptionError
from glassloom.units import parse_bytes

Chunks = tuple[tuple[int, ...], ...]
"""For each axis the lengths of its blocks. A length that isn't known yet is `UNKNOWN`."""


class UnknownLength(float):
    """A length that isn't known before blocks are computed: NaN, and what needs a number of it raises `ChunkError`."""

    def __new__(cls) -> UnknownLength:
        return super().__new__(cls, "nan")

    def __reduce__(self) -> str:
        return "UNKNOWN"

    def __hash__(self) -> int:
        return hash("UNKNOWN")

    def _refuse(self, *_: Any) -> Any:
        raise ChunkError("an axis has blocks of unknown length; call compute_chunk_sizes() first")

    def _unknown(self, other: Any) -> UnknownLength:
        return self._refuse() if isinstance(other, (list, tuple, str, bytes)) else UNKNOWN

    __index__ = __int__ = __trunc__ = __floor__ = __ceil__ = __round__ = _refuse
    __divmod__ = __rdivmod__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = _unknown
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _unknown


UNKNOWN: Any = UnknownLength()


def length_of(blocks: Sequence[int]) -> int:
    """Return the length of an axis.

    >>> length_of((2, 3)), length_of((2, UNKNOWN))
    (5, nan)
    """
    total = sum(blocks)
    return total if total == total else UNKNOWN


def normalize_chunks(chunks: Any, shape: Sequence[int], dtype: Any) -> Chunks:
    """Return the lengths of all blocks.

    Parameters
    ----------
    chunks
        What the user says: a length for every axis, a tuple with an entry for each axis (a length, lengths, -1 or None
        for the whole axis, ``"auto"``: blocks of the size that the option ``array.chunk-size`` says), a dict of such entries by axis, ``"auto"``, or bytes such as ``"128 MiB"``.
    shape
        The lengths of the axes.
    dtype
        Type of the elements, for sizes in bytes.

    Raises
    ------
    ChunkError
        If they don't fit the shape.

    Examples
    --------
    >>> normalize_chunks(5, (17,), float)
    ((5, 5, 5, 2),)
    >>> normalize_chunks((2, -1), (4, 3), float)
    ((2, 2), (3,))
    """
    entries = _entry_of_each_axis(chunks, tuple(shape))
    budget = _bytes_in(entries)
    if budget is not None:
        entries = _resolve_auto(entries, shape, max(np.dtype(dtype).itemsize, 1), budget)
    return tuple(
        _axis_chunks(entry, length, axis) for axis, (entry, length) in enumerate(zip(entries, shape, strict=True))
    )


def balanced(chunks: Chunks) -> Chunks:
    """Return as many blocks along each axis, as equal as can be.

    >>> balanced(((30, 30, 30, 10),))
    ((25, 25, 25, 25),)
    """
    return tuple(_even(blocks) if is_known(blocks) else blocks for blocks in chunks)


def _even(blocks: tuple[int, ...]) -> tuple[int, ...]:
    each, more = divmod(sum(blocks), len(blocks))
    return (each + 1,) * more + (each,) * (len(blocks) - more)


def with_size(chunks: Any, size: int | str) -> Any:
    """Return chunks in which ``"auto"`` is replaced by a size in bytes."""
    text = f"{parse_bytes(size)} B"
    if isinstance(chunks, (tuple, list)):
        return tuple(text if isinstance(entry, str) and entry == "auto" else entry for entry in chunks)
    if isinstance(chunks, Mapping):
        return {axis: text if isinstance(entry, str) and entry == "auto" else entry for axis, entry in chunks.items()}
    return text if isinstance(chunks, str) and chunks == "auto" else chunks


def _entry_of_each_axis(chunks: Any, shape: tuple[int, ...]) -> list[Any]:
    if isinstance(chunks, Mapping):
        wrong = [axis for axis in chunks if not -len(shape) <= axis < len(shape)]
        if wrong:
            raise ChunkError(f"chunks={chunks!r} names axis {wrong[0]}, but the shape {shape} has {len(shape)} axes")
        by_axis = {axis % len(shape): entry for axis, entry in chunks.items()}
        return [by_axis.get(axis, -1) for axis in range(len(shape))]
    if isinstance(chunks, (tuple, list)):
        if len(shape) == 1 and len(chunks) != 1 and all(isinstance(entry, (int, np.integer)) for entry in chunks):
            return [tuple(chunks)]  # the blocks of a single axis
        if len(chunks) != len(shape):
            raise ChunkError(
                f"chunks={_short(chunks)} has {len(chunks)} entries, but the shape {shape} has {len(shape)} axes"
            )
        return list(chunks)
    return [chunks] * len(shape)


def _bytes_in(entries: Sequence[Any]) -> int | None:
    """Return the bytes that a block may have, or None if all entries are given in elements."""
    texts = {entry for entry in entries if isinstance(entry, str)}
    try:
        sizes = {config.get("array.chunk-size") if text == "auto" else parse_bytes(text) for text in texts}
    except OptionError as error:
        raise ChunkError(f"chunks: {error}, or 'auto'") from None
    if len(sizes) > 1:
        raise ChunkError(f"chunks={_short(entries)} asks for blocks of different sizes: {sorted(map(repr, texts))}")
    return max(sizes, default=None)


def _resolve_auto(entries: list[Any], shape: Sequence[int], itemsize: int, budget: int) -> list[Any]:
    """Return the entries with text replaced by lengths: about equal ones, such that a block fits into `budget`."""
    free = [axis for axis, entry in enumerate(entries) if isinstance(entry, str)]
    elements = budget / itemsize
    for axis, entry in enumerate(entries):
        if axis not in free:
            elements /= max(1, *_axis_chunks(entry, shape[axis], axis))
    for position, axis in enumerate(sorted(free, key=lambda axis: shape[axis])):
        side = max(1.0, elements ** (1 / (len(free) - position)))
        count = max(1, math.ceil(shape[axis] / int(side)))
        entries[axis] = max(1, math.ceil(shape[axis] / count))  # as even as can be
        elements /= entries[axis]
    return entries


def _axis_chunks(entry: Any, length: int, axis: int) -> tuple[int, ...]:
    if entry is None or (isinstance(entry, (int, np.integer)) and entry == -1):
        return (length,)
    if isinstance(entry, (int, np.integer)) and not isinstance(entry, bool):
        return _equal_blocks(int(entry), length, axis)
    if isinstance(entry, (tuple, list)):
        return _listed_blocks(entry, length, axis)
    raise ChunkError(
        f"chunks of axis {axis} are {entry!r}; expected a length, a tuple of lengths, -1, 'auto' or a size such as '128 MiB'"
    )


def _equal_blocks(size: int, length: int, axis: int) -> tuple[int, ...]:
    if size < 0:
        raise ChunkError(f"chunks of axis {axis} are {size}; a length must be positive, or -1 for the whole axis")
    if length == 0:
        return (0,)
    if size == 0:
        raise ChunkError(f"chunks of axis {axis} are 0, but the axis has {length} elements")
    if math.isnan(length):
        raise ChunkError(f"axis {axis} has blocks of unknown length; call compute_chunk_sizes() first")
    whole, rest = divmod(length, size)
    return (size,) * whole + ((rest,) if rest else ())


def _listed_blocks(entry: Sequence[Any], length: int, axis: int) -> tuple[int, ...]:
    if not all(_is_length(size) for size in entry):
        wrong = next(size for size in entry if not _is_length(size))
        raise ChunkError(f"chunks of axis {axis} hold {wrong!r}; expected lengths of 0 or more")
    blocks = tuple(size if size != size else int(size) for size in entry)
    total = sum(blocks)
    if total != length and not (math.isnan(total) and math.isnan(length)):
        raise ChunkError(
            f"chunks of axis {axis} are {_short(blocks)}, which add up to {total}, but the axis has {length} elements"
        )
    return blocks or (0,)


def _is_length(size: Any) -> bool:
    if isinstance(size, float):
        return math.isnan(size)
    return isinstance(size, (int, np.integer)) and not isinstance(size, bool) and bool(size >= 0)


def longest(blocks: Sequence[int]) -> int:
    """Return the length of the longest block; unknown if one is."""
    return max(blocks) if is_known(blocks) else UNKNOWN


def starts(blocks: Sequence[int]) -> list[int]:
    """Return where each block begins.

    >>> starts((5, 5, 2))
    [0, 5, 10]
    """
    return [0, *accumulate(blocks)][:-1]


def is_known(blocks: Sequence[int]) -> bool:
    """Whether the lengths of all blocks are known."""
    return not math.isnan(sum(blocks))


def common_refinement(several: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the coarsest blocks that cut wherever one of several does.

    >>> common_refinement([(4, 4), (3, 5)])
    (3, 1, 4)
    """
    different = list(dict.fromkeys(several))
    if len(different) == 1:
        return different[0]
    ends = sorted({end for blocks in different for end in accumulate(blocks)} - {0})
    return tuple(end - start for start, end in zip([0, *ends], ends, strict=False)) or (0,)


def text_of(chunks: Chunks) -> str:
    """Return chunks as messages show them: many blocks shortened.

    >>> text_of(((5, 5, 5, 2), (1,) * 10))
    '((5, 5, 5, 2), (1, 1, 1, ... 10 blocks))'
    """
    axes = []
    for blocks in chunks:
        if len(blocks) <= 5:
            axes.append(repr(blocks))
        else:
            axes.append(f"({', '.join(map(str, blocks[:3]))}, ... {len(blocks)} blocks)")
    return f"({', '.join(axes)}{',' if len(axes) == 1 else ''})"


def _short(value: Any) -> str:
    text = re.sub(r"\s+", " ", repr(value))
    return text if len(text) <= 80 else text[:77] + "..."
