"""Exchange of rows between partitions: each input partition is split once, and outputs take their pieces of all inputs.

With few partitions each output takes a piece of each input. With many, that would be n * n small pieces, whose number and not their
rows would take the time. So there are stages: the inputs' pieces for a range of outputs are merged, those of some inputs at a time,
and what is merged is cut again, about ``k * n ** (1 + 1 / k)`` pieces in `k` stages. Every task reads and makes about as much as a
partition has, so that memory is bounded by that, whatever has gone to disk. Small partitions are merged before they are cut, which takes fewer pieces, up to
`BYTES_TOGETHER` at once. Where all tasks share one memory, pieces are views of what they are cut from, and a task sees how large its inputs are: it merges those that are small,
and passes the others on. Else each piece is the result of a task, so that no process is sent more than it reads, and inputs are merged where they are known to be small, or likely to be,
as after a function of the user's.

Partitions on a device stay there where the rows of frames move by keys that are columns (`splits_on_device`): only the keys are copied to the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pandas as pd

from glassloom.backends.label_tables import holds_frames
from glassloom.backends.pandas_ import concat, rows_between
from glassloom.backends.sizeof import register_sizeof, sizeof
from glassloom.dataframe.moving.counting import rows_in_order
from glassloom.dataframe.moving.size import guessed_size_of, size_of
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.reduction_nodes import Chunk
from glassloom.dataframe.sorting import is_in_order
from glassloom.dataframe.widening import concat_promised
from glassloom.graph import Key, Task, TaskRef

_Function = TypeVar("_Function", bound=Callable[..., Any])
MAX_PIECES = 1024
"""With more, the exchange has another stage."""
MAX_VIEWS = 10 * MAX_PIECES
"""The same where tasks share memory, and pieces are views."""
BYTES_TOGETHER = 16 * 2**20
"""What a task may hold of partitions that are smaller."""
GUESSED_BYTES_TOGETHER = BYTES_TOGETHER // 4
"""The same of partitions whose size is guessed: they may be several times as large."""
LEAST_GUESSED_BYTES = 1 << 16
"""Of a partition. What a function makes of fewer bytes isn't guessed: it may make much of little."""
LEAST_BATCHES = 32
"""Into how many batches partitions that are known to be small are merged at least, so that there is work for all threads."""
MOST_BATCHES = 100
"""Into how many batches partitions are put at most where tasks share memory. What is merged of some batches lies beside them: so they aren't fewer."""


@holds_frames("frame")
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
        view = self.view(first, last)
        return Pieces(_copied(view.frame), view.bounds)

    def view(self, first: int, last: int) -> Pieces:
        """Return the rows of the outputs from `first` to before `last`: a view."""
        bounds = self.bounds[first : last + 1]
        return Pieces(rows_between(self.frame, bounds[0], bounds[-1]), bounds - bounds[0])


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
    if is_in_order(places) and not keeps_no_views:  # nothing is copied
        return Pieces(block, np.searchsorted(places, np.arange(count + 1)))
    rows, bounds = rows_in_order(places, count)
    return Pieces(block.take(rows), bounds)


def splits_on_device(tell: Callable[..., bool]) -> Callable[[_Function], _Function]:
    """Declare that a function that splits partitions takes frames of every library, if `tell` says so of its arguments."""

    def declared(function: _Function) -> _Function:
        function.splits_on_device = tell  # type: ignore[attr-defined]
        return function

    return declared


_Source: TypeAlias = Pieces | list[Pieces]
"""What a task of an exchange reads: the pieces of one input, or of several that aren't merged."""


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

    adds_no_rows = True
    keeps_rows = False
    """Whether all rows come through, so that they can be counted before they move."""

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
    def has_unique_labels(self) -> bool:
        return self.keeps_rows and self.frame.has_unique_labels and self.frame.divisions[0] is not None

    @property
    def finish(self) -> Callable[[list[Any]], Any]:
        """What makes an output of its pieces: they are joined, unless overridden."""
        return partial(concat_promised, self.meta)

    @property
    def n_tasks(self) -> int:
        return len(self.tasks())

    def tasks(self) -> dict[Key, Task]:
        return self._made(MAX_PIECES, sends=True)

    def tasks_in_shared_memory(self) -> dict[Key, Task]:
        return self._made(MAX_VIEWS, sends=False)

    def _made(self, max_pieces: int, *, sends: bool) -> dict[Key, Task]:
        sources = self.split.output_keys()
        n_batches, n_fit = len(sources), 1.0
        if len(sources) * self.count > max_pieces and sends:
            together = _inputs_together(self.frame)
            batch = min(together, max(1, len(sources) // LEAST_BATCHES))
            n_batches, n_fit = math.ceil(len(sources) / batch), together / batch
        elif len(sources) * self.count > max_pieces:
            n_batches = min(n_batches, MOST_BATCHES)
        stages = _Stages(self.label, self.name.rpartition("-")[2], sends)
        whole = _Part(0, self.count, stages.in_batches(sources, n_batches))
        n_sources = len(whole.sources)
        parts = [whole]
        n_stages = number_of_stages(n_sources, self.count, max_pieces, n_fit)
        for stage in range(1, n_stages):
            fewest = n_sources / self.count / n_fit
            parts = [cut for part in parts for cut in stages.cut(part, stage, n_stages - stage + 1, fewest)]
        for part in parts:
            for place in range(part.first, part.last):
                stages.add_output((self.name, place), part, place, self.finish)
        return stages.tasks


def _inputs_together(frame: FrameExpr) -> int:
    """Return how many partitions of a frame a task may hold: one, unless they are small, as far as is known, or likely."""
    size, limit_bytes = size_of(frame), BYTES_TOGETHER
    if size is None:
        size, limit_bytes = guessed_size_of(frame), GUESSED_BYTES_TOGETHER
        if size is not None and size.most_bytes < LEAST_GUESSED_BYTES * frame.npartitions:
            return 1  # of names of files, say, that a function reads
    return 1 if size is None else max(1, limit_bytes * frame.npartitions // max(size.most_bytes, 1))


def number_of_stages(n_sources: int, n_outputs: int, max_pieces: int, n_fit: float = 1) -> int:
    """Return in how many stages rows move: one, unless there were more pieces than `max_pieces`.

    Each stage copies all rows once more, so another one is taken only if it halves the number of pieces. `n_fit` is how many sources
    a task may hold.
    """
    n_stages, n_pieces = 1, float(n_sources * n_outputs)
    while n_pieces > max_pieces:
        fewer = _number_of_pieces(n_sources, n_outputs, n_stages + 1, n_fit)
        if fewer > n_pieces / 2:
            break
        n_stages, n_pieces = n_stages + 1, fewer
    return n_stages


def _number_of_pieces(n_sources: int, n_outputs: int, n_stages: int, n_fit: float) -> float:
    """Return about how many pieces some stages have: in each one, every source has one for each part that it is cut into."""
    n_pieces, n_parts, n_outputs_each, n_sources_each = 0.0, 1.0, float(n_outputs), float(n_sources)
    for n_left in range(n_stages, 1, -1):
        n_cuts = n_outputs_each ** (1 / n_left)
        n_pieces += n_parts * n_sources_each * n_cuts
        n_parts, n_outputs_each = n_parts * n_cuts, n_outputs_each / n_cuts
        n_sources_each = _number_of_batches(n_sources_each, n_left, n_sources / n_parts / n_fit)
    return n_pieces + n_parts * n_sources_each * n_outputs_each


def _number_of_batches(n_sources: float, n_left: int, fewest: float) -> float:
    """Return how many batches the sources of a part are merged in: about the root of their number each, or all that fit into `fewest`."""
    return min(n_sources / n_sources ** (1 / n_left), max(1.0, fewest))


def tasks_of_neighbours(exchange: Exchange, sources: Sequence[tuple[int, int]], *, sends: bool) -> dict[Key, Task]:
    """Return the tasks of an exchange each of whose outputs is made of a few of the inputs: those from a first one to before another."""
    splits = exchange.split.output_keys()
    stages = _Stages(exchange.label, exchange.name.rpartition("-")[2], sends)
    for place, (first, last) in enumerate(sources):
        stages.add_output((exchange.name, place), _Part(0, exchange.count, splits[first:last]), place, exchange.finish)
    return stages.tasks


class _Part(NamedTuple):
    """The rows of the outputs from `first` to before `last`, and the results that hold them as `Pieces` of these."""

    first: int
    last: int
    sources: list[Key]


class _Stages:
    """The tasks of an exchange, made stage by stage.

    Parameters
    ----------
    label, token
        Of the exchange, for the keys.
    sends
        Whether pieces are results of tasks, so that a process is sent no more than it reads; else they are views.
    """

    def __init__(self, label: str, token: str, sends: bool) -> None:
        self._label, self._token, self._sends = label, token, sends
        self.tasks: dict[Key, Task] = {}

    def in_batches(self, splits: list[Key], n_batches: int) -> list[Key]:
        """Return the sources with some of the inputs in each, whole."""
        if n_batches == len(splits):
            return splits
        merge = _merge if self._sends else _merge_small
        made: list[Key] = []
        for begin, end in _stretches(0, len(splits), n_batches):
            key: Key = (f"{self._label}-merge-{self._token}", 0, begin, 0)
            self.tasks[key] = Task(key, merge, ([TaskRef(source) for source in splits[begin:end]],))
            made.append(key)
        return made

    def cut(self, part: _Part, stage: int, n_left: int, fewest: float) -> list[_Part]:
        """Return the rows as parts of fewer outputs, whose sources are merged from some of `part` each.

        `n_left` stages are to come. A task may hold all sources for one output in `fewest` batches.
        """
        n_sources, n_outputs = len(part.sources), part.last - part.first
        n_cuts = _root(n_outputs, n_left)
        if not self._sends:  # no more than are merged at once: as many can go as are made of them
            n_cuts = min(n_cuts, math.ceil(n_sources / _number_of_batches(n_sources, n_left, n_sources)))
        parts: list[_Part] = []
        for first, last in _stretches(part.first, part.last, n_cuts):
            n_batches = _number_of_batches(n_sources, n_left, (last - first) * fewest)
            batches = _stretches(0, n_sources, math.ceil(round(n_batches, 9)))
            parts.append(_Part(first, last, [self._merged(part, stage, batch, first, last) for batch in batches]))
        return parts

    def _merged(self, part: _Part, stage: int, batch: tuple[int, int], first: int, last: int) -> Key:
        begin, end = batch
        key: Key = (f"{self._label}-merge-{self._token}", stage, begin, first)
        sources, some = part.sources[begin:end], (first - part.first, last - part.first)
        if self._sends:
            name = f"{self._label}-group-{self._token}"
            sources = [
                self._add((name, stage, number, first), _some, source, some)
                for number, source in enumerate(sources, begin)
            ]
            self.tasks[key] = Task(key, _merge, ([TaskRef(source) for source in sources],))
        else:
            self.tasks[key] = Task(key, _merge_views, ([TaskRef(source) for source in sources], *some))
        return key

    def add_output(self, output: Key, part: _Part, place: int, finish: Callable[[list[Any]], Any]) -> None:
        """Make an output of the pieces of all sources."""
        if not self._sends:
            splits = [TaskRef(source) for source in part.sources]
            self.tasks[output] = Task(output, _gathered, (finish, place - part.first, splits))
            return
        name = f"{self._label}-piece-{self._token}"
        pieces = [
            self._add((name, number, place), _piece, source, (place - part.first,))
            for number, source in enumerate(part.sources)
        ]
        self.tasks[output] = Task(output, finish, ([TaskRef(key) for key in pieces],))

    def _add(self, key: Key, function: Callable[..., Any], source: Key, literals: tuple[int, ...]) -> Key:
        self.tasks[key] = Task.of_blocks(key, function, [source], literals)
        return key


def _root(count: int, degree: int) -> int:
    """Return the root of a number, such as the square root, rounded up.

    >>> _root(10, 2), _root(27, 3)
    (4, 3)
    """
    return math.ceil(round(count ** (1 / degree), 9))


def _stretches(first: int, last: int, count: int) -> list[tuple[int, int]]:
    """Return where `count` stretches of about equal length begin and end.

    >>> _stretches(5, 15, 4)
    [(5, 7), (7, 10), (10, 12), (12, 15)]
    """
    length = last - first
    return list(pairwise(first + length * number // count for number in range(count + 1)))


def _piece(pieces: Pieces, place: int) -> Any:
    return _copied(pieces.piece(place))


def _gathered(finish: Callable[[list[Any]], Any], place: int, splits: list[_Source]) -> Any:
    """Return an output, made of views of its pieces; it shares no memory with the inputs, so that these can go."""
    pieces = [pieces.piece(place) for pieces in _each(splits)]
    is_joined = sum(len(piece) > 0 for piece in pieces) > 1
    return finish(pieces if is_joined else list(map(_copied, pieces)))


def _some(pieces: Pieces, first: int, last: int) -> Pieces:
    return pieces.some(first, last)


def _merge_views(several: list[_Source], first: int, last: int) -> list[Pieces]:
    """Return the pieces of several inputs for a range of outputs, those of some inputs together: as much as one of them has."""
    sources = list(_each(several))
    limit_bytes = max(BYTES_TOGETHER, *map(sizeof, sources))
    return [_merge(some) for some in _runs([pieces.view(first, last) for pieces in sources], limit_bytes)]


def _merge_small(several: list[Pieces]) -> list[Pieces]:
    """Return the pieces of several inputs, those of small ones together; an input that is large isn't copied."""
    return [_merge(some) if len(some) > 1 else some[0] for some in _runs(several, BYTES_TOGETHER)]


def _each(several: list[_Source]) -> Iterator[Pieces]:
    for source in several:
        yield from [source] if isinstance(source, Pieces) else source


def _runs(several: list[Pieces], limit_bytes: int) -> list[list[Pieces]]:
    """Return inputs that follow each other and have up to `limit_bytes` in all, or one that has more."""
    runs: list[list[Pieces]] = []
    left = 0
    for pieces in several:
        nbytes = sizeof(pieces)
        if nbytes > left or not runs:
            runs.append([])
            left = limit_bytes
        left -= nbytes
        runs[-1].append(pieces)
    return runs


def _merge(several: list[Pieces]) -> Pieces:
    """Return the pieces of several inputs as those of one.

    The inputs are concatenated whole and sorted by output again: the calls to pandas are as many as the inputs, not as the pieces.
    """
    n_outputs = len(several[0])
    lengths = np.concatenate([np.diff(pieces.bounds) for pieces in several])
    places = np.repeat(np.tile(np.arange(n_outputs), len(several)), lengths)
    return split(concat([pieces.frame for pieces in several]), places, n_outputs, keeps_no_views=True)


def _copied(block: Any) -> Any:
    """Return a view in memory of its own: so that what it is a view of can go."""
    return block.copy(deep=True)
