"""Exchange of rows between partitions: each input partition is split once, and outputs take their pieces of all inputs.

With few partitions each piece is an object of its own. With many, that would be n * n small objects: the inputs are split
by groups of outputs, the pieces of some inputs are merged, and split again by output (two stages, about ``2 * n ** 1.5``
pieces). Every task reads and makes about as much as a partition has, so that memory is bounded by that, whatever has gone
to disk. Where all tasks share one memory, an output is made of the split inputs themselves: no piece is sent, so none is copied first.

Partitions on a device stay there where the rows of frames move by keys that are columns (`splits_on_device`): only the keys are copied to the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat, rows_between
from glassloom.backends.sizeof import register_sizeof, sizeof
from glassloom.dataframe.moving.counting import rows_in_order
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.reduction_nodes import Chunk
from glassloom.graph import Key, Task, TaskRef

_Function = TypeVar("_Function", bound=Callable[..., Any])
MAX_PIECES = 1024
"""With more, the exchange has two stages."""
_MAX_VIEWS = 128 * MAX_PIECES
"""The same where tasks share memory. Of 300 partitions, two stages took 1.2 to 1.8 times as long; more were not tried."""


class Pieces:
    """A frame whose rows are sorted by the output partition that they go to, and where each one's begin."""

    __slots__ = ("bounds", "frame")

    def __init__(self, frame: Any, bounds: Any) -> None:
        self.frame = frame
        self.bounds = bounds

    def __reduce__(self) -> tuple[Any, ...]:
        return (Pieces, (self.frame, self.bounds))

    def __glassloom_parts__(self) -> tuple[Any, ...]:
        """Return what may be a device's: see `glassloom.devices.values`."""
        return (self.frame,)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def piece(self, number: int) -> Any:
        """Return the rows of one output: a view."""
        return rows_between(self.frame, self.bounds[number], self.bounds[number + 1])

    def some(self, first: int, last: int) -> Pieces:
        """Return the rows of the outputs from `first` to before `last`, in memory of their own."""
        bounds = self.bounds[first : last + 1]
        return Pieces(_copied(rows_between(self.frame, bounds[0], bounds[-1])), bounds - bounds[0])


@register_sizeof(Pieces)
def _sizeof_pieces(pieces: Pieces) -> int:
    return sizeof(pieces.frame) + int(pieces.bounds.nbytes)


def split(block: Any, places: Any, count: int, *, keeps_no_views: bool = False) -> Pieces:
    """Return a block's rows sorted by their output partition, those of one in their old order.

    Parameters
    ----------
    block
        A frame, series or index.
    places
        The output of each row, 0 to `count` - 1: integers.
    count
        Number of outputs.
    keeps_no_views
        Whether the result shall share no memory with the block, also if all rows go to the same output.
    """
    if len(places) == 0 or bool((places == places[0]).all()):  # all go to the same
        bounds = np.zeros(count + 1, np.int64)
        bounds[int(places[0]) + 1 if len(places) else 0 :] = len(places)
        return Pieces(_copied(block) if keeps_no_views else block, bounds)
    rows, bounds = rows_in_order(places, count)
    return Pieces(block.take(rows), bounds)


def splits_on_device(tell: Callable[..., bool]) -> Callable[[_Function], _Function]:
    """Declare that a function that splits partitions takes frames of every library, if `tell` says so of its arguments."""

    def declared(function: _Function) -> _Function:
        function.splits_on_device = tell  # type: ignore[attr-defined]
        return function

    return declared


class Split(Chunk):
    """The first step of an exchange: `Pieces` of each partition."""

    @property
    def keeps_backend(self) -> bool:
        tell = getattr(self.call.function, "splits_on_device", None)
        return tell is not None and isinstance(self.frame.meta, pd.DataFrame) and tell(*self.call.args)

    @property
    def siblings_from(self) -> int | None:
        return None  # pieces are as large as the partition


class Exchange(FrameExpr):
    """The rows of a frame in other partitions; those of one come from the first input first, in their old order.

    Subclasses have a `Split` as first parameter, and `count`, the number of outputs.
    """

    parameters: ClassVar[tuple[str, ...]] = ("split", "count")

    split: Split
    count: int

    @property
    def keeps_backend(self) -> bool:
        return self.split.keeps_backend

    @property
    def frame(self) -> FrameExpr:
        """The frame whose rows move."""
        return self.split.frame

    @cached_property
    def meta(self) -> Any:
        return self.frame.meta

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (self.count + 1)

    @property
    def finish(self) -> Callable[[list[Any]], Any]:
        """What makes an output of its pieces: `concat` unless overridden."""
        return concat

    @property
    def n_tasks(self) -> int:
        return len(self.tasks())

    def tasks(self) -> dict[Key, Task]:
        token = self.name.rpartition("-")[2]
        sources = self.split.output_keys()
        outputs: list[Key] = [(self.name, number) for number in range(self.count)]
        if len(sources) * self.count <= MAX_PIECES:
            return _one_stage(sources, outputs, f"{self.label}-piece-{token}", self.finish)
        return _two_stages(sources, outputs, self.label, token, self.finish)

    def tasks_in_shared_memory(self) -> dict[Key, Task]:
        sources = self.split.output_keys()
        if len(sources) * self.count > _MAX_VIEWS:
            return self.tasks()
        outputs: list[Key] = [(self.name, number) for number in range(self.count)]
        splits = [TaskRef(source) for source in sources]
        return {output: Task(output, _gathered, (self.finish, place, splits)) for place, output in enumerate(outputs)}


def _one_stage(sources: Sequence[Key], outputs: Sequence[Key], name: str, finish: Any) -> dict[Key, Task]:
    tasks: dict[Key, Task] = {}
    for place, output in enumerate(outputs):
        pieces: list[Key] = [(name, number, place) for number in range(len(sources))]
        for key, source in zip(pieces, sources, strict=True):
            tasks[key] = Task.of_blocks(key, _piece, [source], (place,))
        tasks[output] = Task(output, finish, ([TaskRef(key) for key in pieces],))
    return tasks


def _two_stages(sources: Sequence[Key], outputs: Sequence[Key], label: str, token: str, finish: Any) -> dict[Key, Task]:
    tasks: dict[Key, Task] = {}
    group_bounds = _near_square_root(len(outputs))
    batch_bounds = _near_square_root(len(sources))
    for group, (first, last) in enumerate(zip(group_bounds, group_bounds[1:], strict=False)):
        merged: list[Key] = []
        for batch, (begin, end) in enumerate(zip(batch_bounds, batch_bounds[1:], strict=False)):
            some: list[Key] = [(f"{label}-group-{token}", number, group) for number in range(begin, end)]
            for key, source in zip(some, sources[begin:end], strict=True):
                tasks[key] = Task.of_blocks(key, _some, [source], (first, last))
            merge: Key = (f"{label}-merge-{token}", batch, group)
            tasks[merge] = Task(merge, _merge, ([TaskRef(key) for key in some],))
            merged.append(merge)
        for place in range(first, last):
            pieces: list[Key] = [(f"{label}-piece-{token}", batch, place) for batch in range(len(merged))]
            for key, source in zip(pieces, merged, strict=True):
                tasks[key] = Task.of_blocks(key, _piece, [source], (place - first,))
            output = outputs[place]
            tasks[output] = Task(output, finish, ([TaskRef(key) for key in pieces],))
    return tasks


def _near_square_root(count: int) -> list[int]:
    """Return the bounds of about as many stretches of equal length as each is long.

    >>> _near_square_root(10)
    [0, 2, 5, 7, 10]
    """
    stretches = math.ceil(math.sqrt(count))
    return [count * number // stretches for number in range(stretches + 1)]


def _piece(pieces: Pieces, place: int) -> Any:
    return _copied(pieces.piece(place))


def _gathered(finish: Callable[[list[Any]], Any], place: int, splits: list[Pieces]) -> Any:
    """Return an output, made of views of its pieces; it shares no memory with the inputs, so that these can go."""
    pieces = [pieces.piece(place) for pieces in splits]
    is_joined = sum(len(piece) > 0 for piece in pieces) > 1
    return finish(pieces if is_joined else list(map(_copied, pieces)))


def _some(pieces: Pieces, first: int, last: int) -> Pieces:
    return pieces.some(first, last)


def _merge(several: list[Pieces]) -> Pieces:
    """Return the pieces of several inputs as those of one."""
    count = len(several[0])
    frame = concat([pieces.piece(place) for place in range(count) for pieces in several])
    lengths = sum(np.diff(pieces.bounds) for pieces in several)
    return Pieces(frame, np.concatenate([[0], np.cumsum(lengths)]))


def _copied(block: Any) -> Any:
    """Return a view in memory of its own: so that what it is a view of can go."""
    return block.copy(deep=True)
