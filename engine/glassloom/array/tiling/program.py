"""Runs a fused block over tiles that fit the cache, so that what lies between two steps never goes to main memory.

``normal -> +1 -> [::2, ::2] -> sum`` of a block draws a tile, adds 1 in a buffer that the next tile uses again, adds
the tile up, and so on. Steps say by a `TiledForm` how they are run on tiles (``tiling/steps.py`` has the forms). Steps
without one, and blocks that are no plain NumPy arrays of numbers, are evaluated whole.

Some steps end a run of tiles: their results exist as a whole. These *sinks* are the last step, reductions over axes
that are cut, what several steps read in different places, and what a step without tiled form reads. Every other step
is *streamed*: only a tile of it exists at a time.

Several reductions of arrays of one shape, none of which needs the result of another, are made in one run: what they share is
streamed through all of them.

Element-wise results are bit for bit those of the whole block. Sums add up tile by tile, so they may differ in the last
digits from sums of the whole block; their error is not larger.

What doesn't change from tile to tile is prepared once for each shape of tile (`TileRun`): while a tile is made, Python only goes
through a list of calls, since meanwhile other threads wait for its lock.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from glassloom.array.tiling import tiles
from glassloom.array.tiling.device_program import DeviceRun
from glassloom.array.tiling.steps import TiledIndexedDraw
from glassloom.array.tiling.tiles import (
    Along,
    Bounds,
    Buffers,
    Call,
    Cell,
    Job,
    Place,
    Run,
    Sink,
    Spec,
    TiledForm,
    cut_in_order,
    cut_in_squares,
    fits_over,
    fixed_lengths,
    has_tiles,
    part,
    region_of,
    spec_of,
    tile_shape,
    weight,
)
from glassloom.backends.arrays import device_that_makes, device_that_owns
from glassloom.expr.blockwise import Program, Step


class TiledStep(NamedTuple):
    """A step of the run: its slot, where its tiles lie in its value, and where in its operands it reads."""

    slot: int
    step: Step
    place: Place
    reads: Sequence[Place | None]
    operands: Sequence[Any]


class TileRun:
    """Makes the tiles of a sink.

    Parameters
    ----------
    sink
        How it is cut.
    steps
        The streamed steps and those of the sinks, in order of execution.
    outputs
        The slots of the sinks.
    specs, values
        What is known of the value of each slot, and the values of those that exist.
    """

    def __init__(
        self,
        sink: Sink,
        steps: Sequence[TiledStep],
        outputs: Sequence[int],
        specs: Sequence[Spec | None],
        values: Sequence[Any],
    ) -> None:
        self._steps, self._outputs, self._specs, self._values = steps, outputs, specs, values
        self._runs: list[Run] = [
            each.step.tiled.begin(specs[each.slot], each.operands, each.place, sink) for each in steps
        ]
        self._finished, self._over = _lifetimes(steps, outputs, specs)
        self._buffers = Buffers()
        self._bounds, self._out = Cell(), Cell()
        self._scripts: dict[tuple[int, ...], tuple[list[Call], list[Cell]]] = {}

    def tile(self, bounds: Bounds, out: Any) -> Any:
        """Return the only sink's tile at `bounds`, in `out` if its form likes."""
        (made,) = self._made(bounds, out)
        return made

    def parts(self, bounds: Bounds) -> list[Any]:
        """Return what each sink makes of the tile at `bounds`."""
        return self._made(bounds, None)

    def _made(self, bounds: Bounds, out: Any) -> list[Any]:
        self._bounds.value, self._out.value = bounds, out
        shape = tuple([high - low for low, high in bounds])
        script = self._scripts.get(shape)
        if script is None:
            script = self._scripts[shape] = self._prepare(bounds)
        calls, results = script
        for call in calls:
            call()
        return [result.value for result in results]

    def close(self) -> None:
        """Give the memory away: no tile is read any more."""
        self._buffers.close()

    def _prepare(self, bounds: Bounds) -> tuple[list[Call], list[Cell]]:
        """Return the calls that make a tile as large as this one, and where the sinks' are found afterwards."""
        cells: dict[int, Cell] = {}
        calls: list[Call] = []
        for each, run in zip(self._steps, self._runs, strict=True):
            sources = []
            for operand, where in zip(each.step.slots, each.reads, strict=True):
                source, read = self._source(operand, where, cells)
                sources.append(source)
                if read is not None:
                    calls.append(read)
            made = cells[each.slot] = Cell()
            call = run(self._job(each, bounds, sources, made, cells))
            if call is not None:
                calls.append(call)
            for memory in self._finished[each.slot]:
                if cells[memory].is_fixed and not (made.is_fixed and made.value is cells[memory].value):
                    self._buffers.give_back(cells[memory].value)
        return calls, [cells[slot] for slot in self._outputs]

    def _source(self, operand: int, where: Place | None, cells: Mapping[int, Cell]) -> tuple[Cell, Call | None]:
        """Return where an operand's tile is found, and what reads it if it is part of a value that exists."""
        if operand in cells:
            return cells[operand], None
        value = self._values[operand]
        if where is None or not has_tiles(where):
            return Cell(value, is_fixed=True), None
        cell, bounds = Cell(), self._bounds

        def read() -> None:
            cell.value = part(value, region_of(where, bounds.value))

        return cell, read

    def _job(self, each: TiledStep, bounds: Bounds, sources: list[Cell], made: Cell, cells: Mapping[int, Cell]) -> Job:
        spec = self._specs[each.slot]
        shape = tile_shape(each.place, fixed_lengths(each.place, spec), bounds)

        def take_out() -> Cell:
            if each is self._steps[-1] and self._out.value is not None:
                return self._out
            for memory in self._over.get(each.slot, ()):
                tile = cells[memory].value
                if cells[memory].is_fixed and tile.shape == shape and self._buffers.holds(tile):
                    return cells[memory]
            assert spec is not None  # streamed steps have one
            return Cell(self._buffers.take(shape, spec.dtype), is_fixed=True)

        return Job(shape, sources, made, self._bounds, take_out, self._buffers)


def _lifetimes(
    steps: Sequence[TiledStep], outputs: Sequence[int], specs: Sequence[Spec | None]
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return, for each slot, whose memory isn't read after it, and over which of these it may be written."""
    last_reader: dict[int, int] = {}
    memory_of: dict[int, int] = {}
    for each in steps:
        form: TiledForm = each.step.tiled
        streamed = [operand for operand in each.step.slots if operand in memory_of]
        for operand in streamed:
            last_reader[memory_of[operand]] = each.slot
        memory_of[each.slot] = memory_of.get(each.step.slots[0], each.slot) if form.is_view else each.slot
        last_reader[memory_of[each.slot]] = each.slot
    finished: dict[int, list[int]] = {each.slot: [] for each in steps}
    for memory, reader in last_reader.items():
        if memory not in outputs:
            finished[reader].append(memory)
    over = {
        each.slot: [memory for memory in finished[each.slot] if fits_over(specs[each.slot], specs[memory])]
        for each in steps
        if each.step.tiled.writes_over
    }
    return finished, over


class TiledProgram(Program):
    """A `Program` that runs over tiles where the block is large enough and its steps can."""

    __slots__ = ("_device", "_draws_on_device", "_leaves")

    def __init__(self, n_inputs: int, steps: tuple[Step, ...], label: str) -> None:
        super().__init__(n_inputs, reductions_first(n_inputs, steps), label)
        self._device = device_that_makes([step.function for step in steps])
        self._draws_on_device = any(isinstance(step.tiled, TiledIndexedDraw) for step in steps)
        self._leaves = [(step.tiled, step.slots) for step in steps if step.tiled is not None and step.tiled.is_leaf]

    def __call__(self, *inputs: Any) -> Any:
        if not self._draws_on_device and self._is_large(inputs):
            return _Evaluation(self, inputs).run()
        device = self._device or device_that_owns(inputs)
        if device is not None:
            return DeviceRun(self.n_inputs, self.steps, inputs, device.launch, device.empty, device.owns).run()
        return super().__call__(*inputs)

    def _is_large(self, inputs: tuple[Any, ...]) -> bool:
        for value in inputs:
            if type(value) is np.ndarray and value.nbytes > tiles.TILE_BYTES:
                return True
        for form, slots in self._leaves:
            spec = form.spec([inputs[slot] for slot in slots])
            if spec is not None and math.prod(spec.shape) * spec.dtype.itemsize > tiles.TILE_BYTES:
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
        self.specs: list[Spec | None] = [spec_of(value) for value in inputs]
        self.done = [True] * self.first
        self.cuts: dict[int, tuple[tuple[int, ...], list[Place | None]]] = {}
        self.streams: dict[int, _Stream] = {}
        self.reads: dict[int, list[Place | None]] = {}
        self.run_of: dict[int, int] = {}  # for each reduction that is a sink, the last of those that are made with it
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
        """Find the spec of each step, and make views of blocks that exist already."""
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
        levels = levels_of(self.first, self.steps)
        runs: dict[tuple[int, tuple[int, ...]], int] = {}
        for slot in reversed(range(self.first, len(self.specs))):
            if self.done[slot]:
                continue
            step = self.steps[slot - self.first]
            wanted = demands.get(slot, [])
            sink, places = self._stream(slot, step, wanted) or self._end(slot, step)
            if sink == slot and slot in self.cuts and step.tiled.merges:
                sink = self.run_of[slot] = runs.setdefault((levels[slot], self.cuts[slot][0]), slot)
            for operand, place in zip(step.slots, places, strict=True):
                # a value of which all tiles need all is wanted whole
                demands.setdefault(operand, []).append((sink, place if place and has_tiles(place) else None))

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
        places = form.places(place, self.operands(step), self.cuts[sink][0])
        if places is None:
            return None
        self.streams[slot] = _Stream(sink, place)
        self.reads[slot] = places
        return sink, places

    def _end(self, slot: int, step: Step) -> tuple[int, list[Place | None]]:
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
        if form.merges and not form.merges_well(cut_in_order(shape, tiles.TILE_BYTES / operands[0].dtype.itemsize)):
            return slot, whole
        self.cuts[slot] = (shape, places)
        return slot, places

    def run(self) -> Any:
        """Evaluate what isn't streamed, in order; return the last value."""
        streamed: dict[int, list[int]] = {}
        for slot in sorted(self.streams):
            streamed.setdefault(self.streams[slot].sink, []).append(slot)
        finished = self._finished_after()
        for slot in range(self.first, len(self.specs)):
            if self.done[slot] or slot in self.streams or self.run_of.get(slot, slot) != slot:
                continue
            step = self.steps[slot - self.first]
            if slot in self.run_of:
                self._run_reductions(slot, streamed.get(slot, []))
            elif slot in self.cuts and slot in streamed:
                self.values[slot] = self._run_tiles(slot, streamed[slot])
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
            reader = self.streams[slot].sink if slot in self.streams else self.run_of.get(slot, slot)
            for operand in step.slots:
                readers[operand] = max(reader, readers.get(operand, 0))
        finished: dict[int, list[int]] = {}
        for operand, reader in readers.items():
            finished.setdefault(reader, []).append(operand)
        return finished

    def _run_tiles(self, slot: int, streamed: list[int]) -> Any:
        """Return the value of a sink, made tile by tile of the steps that are streamed for it."""
        run, sink = self._tile_run([slot], streamed)
        made = self._filled(sink.shape, self.specs[slot], run, sink)
        run.close()
        return made

    def _run_reductions(self, slot: int, streamed: list[int]) -> None:
        """Make the values of all reductions of a run: those that end with the one in this slot."""
        slots = sorted(each for each, last in self.run_of.items() if last == slot)
        run, sink = self._tile_run(slots, streamed)
        parts = [run.parts(bounds) for bounds in sink.tiles()]
        for each, made in zip(slots, zip(*parts, strict=True), strict=True):
            self.values[each] = self.steps[each - self.first].tiled.merge(list(made), sink.grid)
        run.close()

    def _tile_run(self, slots: list[int], streamed: list[int]) -> tuple[TileRun, Sink]:
        """Return what makes tiles of sinks of one shape, and how that is cut."""
        shape = self.cuts[slots[0]][0]
        for slot in slots:
            self.reads[slot] = self.cuts[slot][1]
        sink = self._cut(shape, slots, streamed)
        own = tuple(Along(axis, 0, 1) for axis in range(len(shape)))
        places = {**{slot: own for slot in slots}, **{slot: self.streams[slot].place for slot in streamed}}
        steps = [self._tiled_step(slot, places[slot]) for slot in sorted(places)]
        return TileRun(sink, steps, slots, self.specs, self.values), sink

    def _filled(self, shape: tuple[int, ...], spec: Spec | None, run: TileRun, sink: Sink) -> Any:
        whole = np.empty(shape, spec.dtype if spec else None)
        for bounds in sink.tiles():
            place = whole[tuple(itertools.starmap(slice, bounds))]
            made = run.tile(bounds, place)
            if made is not place:
                place[...] = made
        return whole

    def _tiled_step(self, slot: int, place: Place) -> TiledStep:
        step = self.steps[slot - self.first]
        return TiledStep(slot, step, place, self.reads[slot], self.operands(step))

    def _cut(self, shape: tuple[int, ...], slots: list[int], streamed: list[int]) -> Sink:
        """Return tiles in C order, or square ones if that lets operands be read along their cache lines."""
        steps = [*streamed, *slots]
        n_positions = tiles.TILE_BYTES / self._bytes_per_position(steps)
        across = self._read_across(shape, steps)
        if across is None or any(self.steps[slot - self.first].tiled.needs_order for slot in streamed):
            return cut_in_order(shape, n_positions)
        return cut_in_squares(shape, n_positions, (across, len(shape) - 1))

    def _read_across(self, shape: tuple[int, ...], slots: list[int]) -> int | None:
        """Return the axis along which a value that exists lies in memory, if it isn't the last one."""
        for slot in slots:
            for operand, place in zip(self.steps[slot - self.first].slots, self.reads[slot], strict=True):
                value = None if operand in self.streams else self.values[operand]
                if place is None or type(value) is not np.ndarray or value.nbytes <= tiles.TILE_BYTES:
                    continue
                strides = [
                    (abs(stride), entry.axis)
                    for stride, entry in zip(value.strides, place, strict=True)
                    if isinstance(entry, Along) and shape[entry.axis] > 1 and stride
                ]
                if len(strides) > 1 and min(strides)[1] != len(shape) - 1:
                    return min(strides)[1]
        return None

    def _bytes_per_position(self, slots: list[int]) -> float:
        """Return how much of the largest streamed value belongs to one position in the last of these, the sink."""
        largest = 1.0 if not self.steps[slots[-1] - self.first].tiled.merges else 8.0
        for slot in slots:
            for operand, place in zip(self.steps[slot - self.first].slots, self.reads[slot], strict=True):
                operand_spec = self.specs[operand]
                if place is not None and operand_spec is not None:
                    largest = max(largest, weight(operand_spec, place))
        return largest


def levels_of(n_inputs: int, steps: Sequence[Step]) -> list[int]:
    """Return, for each slot, how many reductions lie one above the other below it."""
    levels = [0] * n_inputs
    rises = [0] * n_inputs
    for step in steps:
        levels.append(max([levels[slot] + rises[slot] for slot in step.slots], default=0))
        rises.append(1 if step.tiled is not None and step.tiled.merges else 0)
    return levels


def reductions_first(n_inputs: int, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps in such an order that reductions of one level come before all that reads their results.

    The last step stays the last: it needs all others.
    """
    if sum(step.tiled is not None and step.tiled.merges for step in steps) < 2:
        return steps
    levels = levels_of(n_inputs, steps)
    order = sorted(range(len(steps)), key=lambda number: levels[n_inputs + number])
    slot_of = {n_inputs + number: n_inputs + place for place, number in enumerate(order)}
    return tuple(
        steps[number]._replace(slots=tuple(slot_of.get(slot, slot) for slot in steps[number].slots)) for number in order
    )


class _Opaque:
    """Stands among operands for a value of which nothing is known."""
