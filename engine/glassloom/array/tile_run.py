"""One pass over the tiles of a sink, or of several that are cut alike. What doesn't change from tile to tile is prepared once for each shape of tile:
while a tile is made, Python only goes through a list of calls, since meanwhile other threads wait for its lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from glassloom.array.buffers import Buffers
from glassloom.array.tiles import (
    Bounds,
    Call,
    Cell,
    Job,
    Place,
    Run,
    Sink,
    Spec,
    TiledForm,
    fits_over,
    fixed_lengths,
    has_tiles,
    part,
    region_of,
    tile_shape,
)
from glassloom.expr.blockwise import Step


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
