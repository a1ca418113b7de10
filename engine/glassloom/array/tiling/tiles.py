"""Tiles: parts of blocks that fit the cache. How a shape is cut into them, and what a step must say to be run on them.

`Buffers` is memory for tiles, reused by the next task of the same thread: fresh pages cost as much as the work.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

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


TILE_BYTES = PIECE_BYTES
"""Largest tile of a value. Measured: alone 256 KiB to 2 MiB do equally well, but calls of less than 100 us make
threads fight for the interpreter's lock (4 threads, 10 operations: 256 KiB 4 times slower than 2 MiB)."""


class Spec(NamedTuple):
    """What is known of a value before it exists."""

    shape: tuple[int, ...]
    dtype: Any
    """None for a partial result, which may be several arrays."""
    partial_of: Any = None
    """Of a partial result, the type of the array that was reduced."""


class Along(NamedTuple):
    """Where a tile lies on an axis of a value: position i of the sink's `axis` is ``start + step * i``."""

    axis: int
    start: int
    step: int


Place = tuple[Along | slice, ...]
"""Where a tile lies in a value: a slice stands for what all tiles need."""

Bounds = tuple[tuple[int, int], ...]
"""First and last-plus-one position of a tile along each axis of the sink."""

WHOLE = slice(None)


class Sink(NamedTuple):
    """What tiles are cut of: the shape, and how long a tile is along each axis."""

    shape: tuple[int, ...]
    lengths: tuple[int, ...]

    @property
    def cut_axis(self) -> int:
        """The last axis that is cut (of tiles in C order: those before it, into single positions)."""
        cut = [axis for axis, length in enumerate(self.lengths) if length < self.shape[axis]]
        return cut[-1] if cut else 0

    @property
    def grid(self) -> tuple[int, ...]:
        """Number of tiles along each axis."""
        return tuple(math.ceil(length / step) for length, step in zip(self.shape, self.lengths, strict=True))

    def tiles(self) -> Iterator[Bounds]:
        """Yield the tiles in C order."""
        edges = [
            [(start, min(start + step, length)) for start in range(0, length, step)]
            for length, step in zip(self.shape, self.lengths, strict=True)
        ]
        return itertools.product(*edges)


class Cell:
    """Where a value is found while a tile is made; `is_fixed` says that it is the same array for every tile."""

    __slots__ = ("is_fixed", "value")

    def __init__(self, value: Any = None, is_fixed: bool = False) -> None:
        self.value, self.is_fixed = value, is_fixed

    def fix(self, value: Any) -> None:
        self.value, self.is_fixed = value, True


class Job(NamedTuple):
    """What a step has to do for all tiles of one shape."""

    shape: tuple[int, ...]
    sources: list[Cell]
    """Where the operands' tiles are found."""
    made: Cell
    """Where the step's own tile is to be found."""
    bounds: Cell
    """Where in the sink the tile lies."""
    take_out: Callable[[], Cell]
    """Returns an array of this shape and the step's type to write to. To be called once at most."""
    buffers: Buffers


Call = Callable[[], Any]
"""Makes a tile."""

Run = Callable[[Job], Call | None]
"""Prepares the tiles of one shape: returns what makes one, or None if what is made once serves for all."""


class TiledForm:
    """How a step is run on tiles. Operands are `Spec`s of arrays, or literals as they are."""

    is_view: ClassVar[bool] = False
    """Whether the result shares its operand's memory, so that it costs nothing to make it whole."""
    is_leaf: ClassVar[bool] = False
    """Whether it makes an array of literals."""
    needs_order: ClassVar[bool] = False
    """Whether tiles must follow each other without gaps in C order."""
    writes_over: bool = False
    """Whether a tile may be written over an operand's that nothing else reads, without changing a bit."""
    merges: ClassVar[bool] = False
    """Whether, as a sink, it merges what it makes of each tile (and is cut as its operand is)."""

    def spec(self, operands: Sequence[Any]) -> Spec | None:
        """Return what the result will be; None if these operands can't be cut into tiles."""
        raise NotImplementedError

    def places(self, own: Place, operands: Sequence[Any], shape: tuple[int, ...]) -> list[Place | None] | None:
        """Return where in each operand lies what is needed for `own` (None for literals), for a sink of this shape.

        None if the step can't be run on tiles there.
        """
        raise NotImplementedError

    def begin(self, spec: Spec, operands: Sequence[Any], place: Place, sink: Sink) -> Run:
        """Return what prepares the tiles of one run, which are made in C order."""
        raise NotImplementedError

    def merges_well(self, sink: Sink) -> bool:
        """Whether the tiles' results together are smaller than the operand."""
        raise NotImplementedError

    def merge(self, parts: list[Any], grid: tuple[int, ...]) -> Any:
        """Return the result of the tiles' results, given in C order with their number along each axis."""
        raise NotImplementedError


def is_number(dtype: Any) -> bool:
    """Whether arrays of this type are run on tiles."""
    return dtype.kind in "biufc" and dtype.isnative


def spec_of(value: Any) -> Spec | None:
    """Return the spec of a plain NumPy array or scalar of numbers."""
    is_plain = type(value) is np.ndarray or isinstance(value, np.generic)
    return Spec(value.shape, value.dtype) if is_plain and is_number(value.dtype) else None


def part(value: Any, region: tuple[slice, ...]) -> Any:
    return tuple(each[region] for each in value) if type(value) is tuple else value[region]


def fits_over(spec: Spec | None, operand: Spec | None) -> bool:
    """Whether a tile may be written over an operand's: complex products are rounded more than once."""
    return spec is not None and operand is not None and spec.dtype == operand.dtype and spec.dtype.kind in "iuf"


def has_tiles(place: Place) -> bool:
    return any(isinstance(entry, Along) for entry in place)


def fixed_lengths(place: Place, spec: Any) -> list[int]:
    """Return for each axis how long a tile is there, 0 where that depends on the tile."""
    return [
        0 if isinstance(entry, Along) else len(range(length)[entry])
        for entry, length in zip(place, spec.shape, strict=False)
    ]


def tile_shape(place: Place, lengths: list[int], bounds: Bounds) -> tuple[int, ...]:
    """Return the shape of a tile, from its fixed lengths."""
    return tuple(
        [
            bounds[entry.axis][1] - bounds[entry.axis][0] if isinstance(entry, Along) else length
            for entry, length in zip(place, lengths, strict=True)
        ]
    )


def region_of(place: Place, bounds: Bounds) -> tuple[slice, ...]:
    """Return the part of a value that is read for a tile."""
    return tuple([along_slice(entry, bounds) if isinstance(entry, Along) else entry for entry in place])


def along_slice(entry: Along, bounds: Bounds) -> slice:
    """Return the part of an axis that is read for a tile.

    >>> along_slice(Along(0, 1, 3), ((0, 2), (0, 9)))
    slice(1, 5, 3)
    """
    low, high = bounds[entry.axis]
    start, last = entry.start + entry.step * low, entry.start + entry.step * (high - 1)
    if entry.step > 0:
        return slice(start, last + 1, entry.step)
    return slice(start, last - 1 if last else None, entry.step)


def weight(spec: Spec, place: Place) -> float:
    """Return how many bytes of a value belong to one position in the sink, skipped ones included."""
    n_elements = 1
    for entry, length in zip(place, spec.shape, strict=True):
        n_elements *= abs(entry.step) if isinstance(entry, Along) else length
    return n_elements * (8 if spec.dtype is None else spec.dtype.itemsize)


def cut_in_order(shape: tuple[int, ...], n_positions: float) -> Sink:
    """Return how a shape is cut into tiles of at most so many positions, contiguous in C order.

    >>> cut_in_order((4, 6, 5), 12).lengths
    (1, 2, 5)
    """
    axis = 0
    while math.prod(shape[axis + 1 :]) > max(1, n_positions):
        axis += 1
    length = max(1, int(n_positions) // math.prod(shape[axis + 1 :]))
    n_tiles = math.ceil(shape[axis] / length)
    return Sink(shape, (*(1,) * axis, math.ceil(shape[axis] / n_tiles), *shape[axis + 1 :]))


def cut_in_squares(shape: tuple[int, ...], n_positions: float, axes: tuple[int, int]) -> Sink:
    """Return how a shape is cut into tiles of at most so many positions, about square in two axes and thin in others.

    >>> cut_in_squares((3, 2000, 2000), 250_000, (1, 2)).lengths
    (1, 500, 500)
    """
    lengths = [1] * len(shape)
    for number, axis in enumerate(sorted(axes, key=lambda axis: shape[axis])):
        side = max(1, int((n_positions / math.prod(lengths)) ** (1 / (2 - number)) + 1e-9))
        n_tiles = math.ceil(shape[axis] / side)
        lengths[axis] = math.ceil(shape[axis] / n_tiles)
    return Sink(shape, tuple(lengths))


def copy_along_lines(source: Any, out: Any) -> None:
    """Copy a NumPy array into another of its shape: in square tiles if one of them lies across, as transposed ones do.

    Cache lines of both are then used up before they are dropped.
    """
    along = [(abs(stride), axis) for axis, stride in enumerate(source.strides) if source.shape[axis] > 1]
    last = source.ndim - 1
    if len(along) < 2 or min(along)[1] == last or source.nbytes <= TILE_BYTES:
        out[...] = source
        return
    for bounds in cut_in_squares(source.shape, TILE_BYTES / source.dtype.itemsize, (min(along)[1], last)).tiles():
        place = tuple(itertools.starmap(slice, bounds))
        out[place] = source[place]
