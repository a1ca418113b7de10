"""Runs a fused block over tiles that fit the cache, so that what lies between two steps never goes to main memory.

``normal -> +1 -> [::2, ::2] -> sum`` of a block draws a tile, adds 1 in a buffer that the next tile uses again, adds
the tile up, and so on. Steps say by a `TiledForm` how they are run on tiles (`nodes/tiled.py` has the forms). Steps
without one, and blocks that are no plain NumPy arrays of numbers, are evaluated whole.

Some steps end a run of tiles: their results exist as a whole. These *sinks* are the last step, reductions over axes
that are cut, what several steps read in different places, and what a step without tiled form reads. Every other step
is *streamed*: only a tile of it exists at a time.

Element-wise results are bit for bit those of the whole block. Sums add up tile by tile, so they may differ in the last
digits from sums of the whole block; their error is not larger.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from glassloom.expr.blockwise import Program, Step

TILE_BYTES = 2 * 2**20
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

Run = Callable[[tuple[int, ...], "Bounds", list[Any], Any], Any]
"""Makes a tile of a shape, from bounds in the sink, from tiles of the operands, into an array if it likes."""

Bounds = tuple[tuple[int, int], ...]
"""First and last-plus-one position of a tile along each axis of the sink."""

WHOLE = slice(None)


class Sink(NamedTuple):
    """What tiles are cut of: the shape, and the axis along which it is cut (those before it, into single positions)."""

    shape: tuple[int, ...]
    cut_axis: int
    length: int


class TiledForm:
    """How a step is run on tiles. Operands are `Spec`s of arrays, or literals as they are."""

    is_view: ClassVar[bool] = False
    """Whether the result shares its operand's memory, so that it costs nothing to make it whole."""
    is_leaf: ClassVar[bool] = False
    """Whether it makes an array of literals."""
    writes_over: bool = False
    """Whether a tile may be written over an operand's that nobody else reads, without changing a bit."""
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

    def begin(self, spec: Spec, operands: Sequence[Any], place: Place, sink: Sink, buffers: Buffers) -> Run:
        """Return what makes the tiles of one run, called for the tiles of the sink in C order."""
        raise NotImplementedError

    def merges_well(self, sink: Sink) -> bool:
        """Whether the tiles' results together are smaller than the operand."""
        raise NotImplementedError

    def merge(self, parts: list[Any], grid: tuple[int, ...]) -> Any:
        """Return the result of the tiles' results, given in C order with their number along each axis."""
        raise NotImplementedError


class Buffers:
    """Arrays to write tiles to, used again."""

    def __init__(self) -> None:
        self._free: dict[tuple[Any, Any], list[Any]] = {}
        self._lent: dict[int, Any] = {}

    def take(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array that nobody uses."""
        free = self._free.get((shape, dtype))
        buffer = free.pop() if free else np.empty(shape, dtype)
        self._lent[id(buffer)] = buffer
        return buffer

    def give_back(self, tile: Any) -> None:
        """Note that a tile is not read any more; nothing happens if it isn't in a buffer of ours."""
        if type(tile) is not np.ndarray:
            return
        buffer = self._lent.pop(id(_memory(tile)), None)
        if buffer is not None:
            self._free.setdefault((buffer.shape, buffer.dtype), []).append(buffer)

    def holds(self, tile: Any) -> bool:
        """Return whether a tile is in a buffer of ours, without gaps."""
        return type(tile) is np.ndarray and id(_memory(tile)) in self._lent and tile.flags.c_contiguous


def _memory(tile: Any) -> Any:
    """Return the array that owns the memory of a tile."""
    return tile if tile.base is None else tile.base


class TiledProgram(Program):
    """A `Program` that runs over tiles where the block is large enough and its steps can."""

    __slots__ = ("_leaves",)

    def __init__(self, n_inputs: int, steps: tuple[Step, ...], label: str) -> None:
        super().__init__(n_inputs, steps, label)
        self._leaves = [(step.tiled, step.slots) for step in steps if step.tiled is not None and step.tiled.is_leaf]

    def __call__(self, *inputs: Any) -> Any:
        if self._is_large(inputs):
            return _Evaluation(self, inputs).run()
        return super().__call__(*inputs)

    def _is_large(self, inputs: tuple[Any, ...]) -> bool:
        for value in inputs:
            if type(value) is np.ndarray and value.nbytes > TILE_BYTES:
                return True
        for form, slots in self._leaves:
            spec = form.spec([inputs[slot] for slot in slots])
            if spec is not None and math.prod(spec.shape) * spec.dtype.itemsize > TILE_BYTES:
                return True
        return False


class _Stream(NamedTuple):
    """A streamed step: for which sink it makes tiles, and where they lie in its value."""

    sink: int
    place: Place


class _Evaluation:
    """One call of a program: finds out which steps are streamed, then runs the others in order."""

    def __init__(self, program: Program, inputs: tuple[Any, ...]) -> None:
        self.steps = program.steps
        self.first = program.n_inputs
        self.values: list[Any] = [*inputs, *[None] * len(self.steps)]
        self.specs: list[Spec | None] = [_spec_of(value) for value in inputs]
        self.done = [True] * self.first
        self.cuts: dict[int, tuple[Sink, list[Place | None]]] = {}
        self.streams: dict[int, _Stream] = {}
        self.reads: dict[int, list[Place | None]] = {}
        self._describe()
        self._divide()

    def operands(self, step: Step) -> list[Any]:
        """Return what forms know of a step's operands: specs of arrays, literals as they are."""
        found = []
        for slot in step.slots:
            spec = self.specs[slot]
            found.append(spec if spec is not None else self.values[slot] if slot < self.first else _Opaque)
        return found

    def _describe(self) -> None:
        """Find the spec of each step, and make views of what is there already."""
        for step in self.steps:
            form = step.tiled
            spec = None if form is None else form.spec(self.operands(step))
            slot = len(self.specs)
            is_done = spec is not None and form.is_view and all(self.done[operand] for operand in step.slots)
            if is_done:
                self.values[slot] = step.function(*[self.values[operand] for operand in step.slots])
            self.specs.append(spec)
            self.done.append(is_done)

    def _divide(self) -> None:
        """Decide which steps are streamed, consumers first."""
        demands: dict[int, list[tuple[int, Place | None]]] = {}
        for slot in reversed(range(self.first, len(self.specs))):
            if self.done[slot]:
                continue
            step = self.steps[slot - self.first]
            wanted = demands.get(slot, [])
            sink, places = self._stream(slot, step, wanted) or self._cut(slot, step)
            for operand, place in zip(step.slots, places, strict=True):
                # a value of which all tiles need all is wanted whole
                demands.setdefault(operand, []).append((sink, place if place and _has_tiles(place) else None))

    def _stream(
        self, slot: int, step: Step, wanted: list[tuple[int, Place | None]]
    ) -> tuple[int, list[Place | None]] | None:
        """Note that a step is streamed, if it can be, and return its sink and where it reads its operands."""
        spec, form = self.specs[slot], step.tiled
        if spec is None or form is None or not wanted or any(other != wanted[0] for other in wanted):
            return None
        sink, place = wanted[0]
        if place is None:
            return None
        places = form.places(place, self.operands(step), self.cuts[sink][0].shape)
        if places is None:
            return None
        self.streams[slot] = _Stream(sink, place)
        self.reads[slot] = places
        return sink, places

    def _cut(self, slot: int, step: Step) -> tuple[int, list[Place | None]]:
        """Return as `_stream` does for a sink; a step that can't be one reads its operands whole."""
        whole: list[Place | None] = [None] * len(step.slots)
        spec, form, operands = self.specs[slot], step.tiled, self.operands(step)
        if spec is None or form.is_leaf or not spec.shape and not form.merges:
            return slot, whole
        shape = operands[0].shape if form.merges else spec.shape
        own = tuple(Along(axis, 0, 1) for axis in range(len(shape)))
        places = [own, *whole[1:]] if form.merges else form.places(own, operands, shape)
        if places is None or not math.prod(shape):
            return slot, whole
        if form.merges and not form.merges_well(_cut_shape(shape, TILE_BYTES / operands[0].dtype.itemsize)):
            return slot, whole
        self.cuts[slot] = (Sink(shape, 0, 0), places)
        return slot, places

    def run(self) -> Any:
        """Evaluate what isn't streamed, in order; return the last value."""
        streamed: dict[int, list[int]] = {}
        for slot in sorted(self.streams):
            streamed.setdefault(self.streams[slot].sink, []).append(slot)
        finished = self._finished_after()
        for slot in range(self.first, len(self.specs)):
            if self.done[slot] or slot in self.streams:
                continue
            step = self.steps[slot - self.first]
            if slot in self.cuts and (slot in streamed or step.tiled.merges):
                self.values[slot] = self._run_tiles(slot, streamed.get(slot, []))
            else:
                self.values[slot] = step.function(*[self.values[operand] for operand in step.slots])
            for operand in finished.get(slot, ()):
                self.values[operand] = None  # free temporaries as early as possible
        return self.values[-1]

    def _finished_after(self) -> dict[int, list[int]]:
        """Return which values are not needed any more after each step."""
        readers: dict[int, int] = {}
        for number, step in enumerate(self.steps):
            slot = self.first + number
            reader = self.streams[slot].sink if slot in self.streams else slot
            for operand in step.slots:
                readers[operand] = max(reader, readers.get(operand, 0))
        finished: dict[int, list[int]] = {}
        for operand, reader in readers.items():
            finished.setdefault(reader, []).append(operand)
        return finished

    def _run_tiles(self, sink_slot: int, streamed: list[int]) -> Any:
        """Return the value of a sink, made tile by tile of the steps that are streamed for it."""
        cut, self.reads[sink_slot] = self.cuts[sink_slot]
        step = self.steps[sink_slot - self.first]
        sink = _cut_shape(cut.shape, TILE_BYTES / self._bytes_per_position(sink_slot, streamed))
        own = tuple(Along(axis, 0, 1) for axis in range(len(sink.shape)))
        buffers = Buffers()
        run = _TileRun(self, [*streamed, sink_slot], own, sink, buffers)
        if step.tiled.merges:
            return step.tiled.merge([run.tile(bounds, None) for bounds in _tiles(sink)], _grid(sink))
        spec = self.specs[sink_slot]
        whole = np.empty(cut.shape, spec.dtype if spec else None)
        for bounds in _tiles(sink):
            place = whole[tuple(itertools.starmap(slice, bounds))]
            made = run.tile(bounds, place)
            if made is not place:
                place[...] = made
        return whole

    def _bytes_per_position(self, sink: int, streamed: list[int]) -> float:
        """Return how much of the largest streamed value belongs to one position in the sink."""
        largest = 1.0 if not self.steps[sink - self.first].tiled.merges else 8.0
        for slot in [*streamed, sink]:
            for operand, place in zip(self.steps[slot - self.first].slots, self.reads[slot], strict=True):
                operand_spec = self.specs[operand]
                if place is not None and operand_spec is not None:
                    largest = max(largest, _weight(operand_spec, place))
        return largest


class _TileRun:
    """One pass over the tiles of a sink."""

    def __init__(self, evaluation: _Evaluation, slots: list[int], own: Place, sink: Sink, buffers: Buffers) -> None:
        self._buffers = buffers
        self._made: dict[int, Any] = {}
        place_of = {slot: evaluation.streams[slot].place for slot in slots[:-1]} | {slots[-1]: own}
        self._work: list[tuple[int, Run, Place, list[int], list[tuple[int | None, Any, Place | None]]]] = []
        last_reader: dict[int, int] = {}
        memory_of: dict[int, int] = {}
        for slot in slots:
            step, place, reads = evaluation.steps[slot - evaluation.first], place_of[slot], evaluation.reads[slot]
            run = step.tiled.begin(evaluation.specs[slot], evaluation.operands(step), place, sink, buffers)
            sources: list[tuple[int | None, Any, Place | None]] = []
            for operand, where in zip(step.slots, reads, strict=True):
                if operand in place_of:
                    sources.append((operand, None, None))
                    last_reader[memory_of[operand]] = slot
                else:
                    sources.append((None, evaluation.values[operand], where if where and _has_tiles(where) else None))
            memory_of[slot] = memory_of.get(step.slots[0], slot) if step.tiled.is_view else slot
            last_reader[memory_of[slot]] = slot
            self._work.append((slot, run, place, _fixed_lengths(place, evaluation.specs[slot]), sources))
        self._finished = {
            slot: [memory for memory, reader in last_reader.items() if reader == slot and memory != slots[-1]]
            for slot in slots
        }
        specs = evaluation.specs
        self._over = {
            slot: [memory for memory in finished if memory != slot and _fits_over(specs[slot], specs[memory])]
            for slot, finished in self._finished.items()
            if evaluation.steps[slot - evaluation.first].tiled.writes_over
        }

    def tile(self, bounds: Bounds, out: Any) -> Any:
        """Return the sink's tile at `bounds`, in `out` if the sink's form likes."""
        made = self._made
        last = self._work[-1][0]
        for slot, run, place, lengths, sources in self._work:
            tiles = [
                made[operand]
                if operand is not None
                else value
                if where is None
                else _part(value, _region(where, bounds))
                for operand, value, where in sources
            ]
            shape = _shape(place, lengths, bounds)
            made[slot] = run(shape, bounds, tiles, out if slot == last else self._to_write_over(slot, shape))
            for memory in self._finished[slot]:
                if made[memory] is not made[slot]:
                    self._buffers.give_back(made[memory])
        return made[last]

    def _to_write_over(self, slot: int, shape: tuple[int, ...]) -> Any:
        """Return a tile that this step is the last to read and that its own fits into, or None."""
        for memory in self._over.get(slot, ()):
            tile = self._made[memory]
            if tile.shape == shape and self._buffers.holds(tile):
                return tile
        return None


class _Opaque:
    """Stands among operands for a value of which nothing is known."""


def is_number(dtype: Any) -> bool:
    """Whether arrays of this type are run on tiles."""
    return dtype.kind in "biufc" and dtype.isnative


def _spec_of(value: Any) -> Spec | None:
    """Return the spec of a plain NumPy array or scalar of numbers."""
    is_plain = type(value) is np.ndarray or isinstance(value, np.generic)
    return Spec(value.shape, value.dtype) if is_plain and is_number(value.dtype) else None


def _part(value: Any, region: tuple[slice, ...]) -> Any:
    return tuple(each[region] for each in value) if type(value) is tuple else value[region]


def _fits_over(spec: Spec | None, operand: Spec | None) -> bool:
    """Whether a tile may be written over an operand's: complex products are rounded more than once."""
    return spec is not None and operand is not None and spec.dtype == operand.dtype and spec.dtype.kind in "iuf"


def _has_tiles(place: Place) -> bool:
    return any(isinstance(entry, Along) for entry in place)


def _fixed_lengths(place: Place, spec: Any) -> list[int]:
    """Return for each axis how long a tile is there, 0 where that depends on the tile."""
    return [
        0 if isinstance(entry, Along) else len(range(length)[entry])
        for entry, length in zip(place, spec.shape, strict=False)
    ]


def _shape(place: Place, lengths: list[int], bounds: Bounds) -> tuple[int, ...]:
    """Return the shape of a tile, from its fixed lengths."""
    return tuple(
        [
            bounds[entry.axis][1] - bounds[entry.axis][0] if isinstance(entry, Along) else length
            for entry, length in zip(place, lengths, strict=True)
        ]
    )


def _region(place: Place, bounds: Bounds) -> tuple[slice, ...]:
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


def _weight(spec: Spec, place: Place) -> float:
    """Return how many bytes of a value belong to one position in the sink, skipped ones included."""
    n_elements = 1
    for entry, length in zip(place, spec.shape, strict=True):
        n_elements *= abs(entry.step) if isinstance(entry, Along) else length
    return n_elements * (8 if spec.dtype is None else spec.dtype.itemsize)


def _cut_shape(shape: tuple[int, ...], n_positions: float) -> Sink:
    """Return how a shape is cut into tiles of at most so many positions, contiguous in C order."""
    axis = 0
    while math.prod(shape[axis + 1 :]) > max(1, n_positions):
        axis += 1
    length = max(1, int(n_positions) // math.prod(shape[axis + 1 :]))
    n_tiles = math.ceil(shape[axis] / length)
    return Sink(shape, axis, math.ceil(shape[axis] / n_tiles))


def _tiles(sink: Sink) -> Iterator[Bounds]:
    """Yield the tiles in C order."""
    length = sink.shape[sink.cut_axis]
    inside = tuple((0, other) for other in sink.shape[sink.cut_axis + 1 :])
    for before in itertools.product(*map(range, sink.shape[: sink.cut_axis])):
        outside = tuple((position, position + 1) for position in before)
        for start in range(0, length, sink.length):
            yield (*outside, (start, min(start + sink.length, length)), *inside)


def _grid(sink: Sink) -> tuple[int, ...]:
    """Return the number of tiles along each axis."""
    n_cut = math.ceil(sink.shape[sink.cut_axis] / sink.length)
    return (*sink.shape[: sink.cut_axis], n_cut, *(1 for _ in sink.shape[sink.cut_axis + 1 :]))
