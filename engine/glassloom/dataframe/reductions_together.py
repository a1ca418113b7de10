"""A pass over a whole plan: the same reduction of several columns of a frame is computed of all of them in one task a partition.

``frame.describe()`` reduces each column by itself, eight ways; so do users' loops over columns. Of small partitions what a task costs is more than
what it computes. Each column keeps its own steps, so results are those of the columns alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.nodes import FrameExpr, Projection
from glassloom.dataframe.reduction_nodes import Chunk, TreeReduce, TreeSteps
from glassloom.expr import Expr, walk
from glassloom.graph import Key, Task, TaskRef, tokenize

LEAST_PARTITIONS = 8
"""Of fewer partitions, columns are reduced side by side on threads that would be idle."""
_LEAST_COLUMNS = 3
_MOST_COLUMNS = 16
"""In one task: partial results of a column may take some hundred KiB."""


class OneResult(FrameExpr):
    """One of the results of reductions that are computed together."""

    parameters = ("results", "place", "given_meta", "title")
    divisions = (None, None)

    results: FrameExpr
    place: int
    given_meta: Any
    title: str

    @property
    def label(self) -> str:
        return self.title

    @cached_property
    def meta(self) -> Any:
        return self.given_meta

    def tasks(self) -> dict[Key, Task]:
        (key,) = self.results.output_keys()
        return {(self.name, 0): Task((self.name, 0), _at, (TaskRef(key), self.place))}


def _at(results: Sequence[Any], place: int) -> Any:
    return results[place]


class _OfEach:
    """A step of a tree for several columns: each column's own one, with its parts."""

    __slots__ = ("_token", "steps")

    def __init__(self, steps: Sequence[Callable[[list[Any]], Any]]) -> None:
        self.steps = tuple(steps)
        self._token: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return (_OfEach, (self.steps,))

    def __glassloom_tokenize__(self) -> str:
        if self._token is None:
            self._token = tokenize(self.steps)
        return self._token

    def __call__(self, several: list[Any]) -> list[Any]:
        return [step(list(parts)) for step, parts in zip(self.steps, zip(*several, strict=True), strict=True)]


class _OfColumns:
    """The first step for several columns of a frame: each column's call, with the column and the blocks beside it."""

    __slots__ = ("_token", "calls", "columns", "n_beside")

    def __init__(self, columns: Sequence[Any], calls: Sequence[BlockCall], n_beside: int) -> None:
        self.columns, self.calls, self.n_beside = tuple(columns), tuple(calls), n_beside
        self._token: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return (_OfColumns, (self.columns, self.calls, self.n_beside))

    def __glassloom_tokenize__(self) -> str:
        if self._token is None:
            self._token = tokenize(self.columns, self.calls, self.n_beside)
        return self._token

    def __call__(self, block: Any, *beside: Any) -> list[Any]:
        made, n = [], self.n_beside
        for number, (column, call) in enumerate(zip(self.columns, self.calls, strict=True)):
            made.append(call(block[column], *beside[number * n : number * n + n]))
        return made


def reduce_columns_together(roots: Sequence[Expr]) -> list[Expr]:
    """Compute the same reductions of several columns of a frame together."""
    order = walk(roots)
    if sum(isinstance(node, TreeReduce) for node in order) < _LEAST_COLUMNS:
        return list(roots)
    level: dict[str, int] = {}
    alike: dict[tuple[Any, ...], list[TreeReduce]] = defaultdict(list)
    for node in order:
        is_tree = isinstance(node, TreeReduce)
        level[node.name] = max([level[one.name] for one in node.dependencies], default=0) + is_tree
        if isinstance(node, TreeReduce) and (source := _frame_of_column(node)) is not None:
            assert isinstance(node.source, Chunk)
            kind = (source, node.title, node.split_every, type(node.source), len(node.source.others), level[node.name])
            alike[kind].append(node)
    groups = [some for some in alike.values() if len(some) >= _LEAST_COLUMNS]
    return _replaced(roots, order, groups) if groups else list(roots)


def _frame_of_column(node: TreeReduce) -> str | None:
    """Return the name of the frame of which a reduction is of one column; None if it is of something else, or better by itself."""
    chunk = node.source
    if not isinstance(chunk, Chunk) or not isinstance(chunk.frame, Projection) or isinstance(chunk.frame.columns, list):
        return None
    frame, dtype = chunk.frame.frame, getattr(chunk.frame.meta, "dtype", None)
    if frame.backend != "pandas" or frame.npartitions < LEAST_PARTITIONS or not frame.meta.columns.is_unique:
        return None
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iufmM" or not isinstance(frame.meta, pd.DataFrame):
        return None
    if [arg.number for arg in chunk.call.args if isinstance(arg, Block)] != list(range(1 + len(chunk.others))):
        return None
    return frame.name if all(one.npartitions == 1 for one in chunk.others) else None


def _replaced(roots: Sequence[Expr], order: Sequence[Expr], groups: Sequence[Sequence[TreeReduce]]) -> list[Expr]:
    """Return the roots with some reductions computed together; those of one group don't depend on each other."""
    group_of = {node.name: group for group in groups for node in group}
    done: dict[str, Expr] = {}

    def made(node: Expr) -> Expr:
        """An explicit stack: what a group is made of may come after its first node."""
        stack = [node]
        while stack:
            last = stack[-1]
            group = group_of.get(last.name)
            below = last.dependencies if group is None else [one for each in group for one in _below(each)]
            if last.name in done:
                stack.pop()
            elif pending := [one for one in below if one.name not in done]:
                stack.extend(pending)
            elif group is None:
                done[last.name] = last.substitute(lambda child: done[child.name])
            else:
                done.update(_together(group, done))
        return done[node.name]

    return [made(root) for root in roots]


def _below(node: TreeReduce) -> list[Expr]:
    assert isinstance(node.source, Chunk)
    column = node.source.frame
    assert isinstance(column, Projection)
    return [column.frame, *node.source.others]


def _together(group: Sequence[TreeReduce], done: dict[str, Expr]) -> dict[str, Expr]:
    """Return what replaces the nodes of a group, made of what is `done`."""
    found: dict[str, Expr] = {}
    for begin in range(0, len(group), _MOST_COLUMNS):
        some = group[begin : begin + _MOST_COLUMNS]
        chunks: list[Any] = [node.source for node in some]
        frame, first = done[chunks[0].frame.frame.name], some[0]
        others = tuple([done[one.name] for chunk in chunks for one in chunk.others])
        labels = [chunk.frame.columns for chunk in chunks]
        steps = _OfColumns(labels, [chunk.call for chunk in chunks], len(chunks[0].others))
        blocks = tuple([Block(number) for number in range(1 + len(others))])
        columns = Projection(frame, list(dict.fromkeys(labels)))
        source = type(chunks[0])(columns, others, BlockCall(steps, blocks, label=chunks[0].label), origin=first.origin)
        last = TreeSteps(
            _OfEach([one.steps.combine for one in some]), _OfEach([one.steps.finish for one in some]), None
        )
        results = TreeReduce(source, last, first.split_every, first.title, origin=first.origin)
        for place, node in enumerate(some):
            found[node.name] = OneResult(results, place, node.steps.meta, node.title, origin=node.origin)
    return found
