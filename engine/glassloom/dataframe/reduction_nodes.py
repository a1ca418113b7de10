"""Nodes of reductions: a small value of each partition, joined by a tree."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import pandas as pd

from glassloom.dataframe.arrow.forms import Form, own_form
from glassloom.dataframe.call import BlockCall
from glassloom.dataframe.nodes import FrameBlockwise, FrameExpr
from glassloom.expr.tree import tree_tasks
from glassloom.graph import Key, Task, tokenize

_Function = TypeVar("_Function", bound=Callable[..., Any])
_UNORDERED = frozenset(
    ["all", "any", "kurt", "max", "mean", "min", "nunique", "prod", "sem", "skew", "std", "sum", "var"]
)
SIBLINGS_FROM = 32
"""Partitions: to group one by keys may take longer than to read it."""


class TreeSteps:
    """What a tree computes: `combine` and `finish` are called with a list of blocks, in the order of the partitions.

    Its token is made once: it is an operand of each node that a rewrite makes of another one.
    """

    __slots__ = ("_token", "combine", "finish", "meta")

    def __init__(self, combine: Callable[[list[Any]], Any], finish: Callable[[list[Any]], Any], meta: Any) -> None:
        self.combine = combine
        self.finish = finish
        self.meta = meta
        self._token: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return (TreeSteps, (self.combine, self.finish, self.meta))

    def __glassloom_tokenize__(self) -> str:
        if self._token is None:
            self._token = tokenize(self.combine, self.finish, self.meta)
        return self._token


def picks_columns(function: _Function) -> _Function:
    """Declare that a function of a partition takes the columns that it needs by their labels, whatever others there are."""
    function.picks_columns = True  # type: ignore[attr-defined]
    return function


def keeps_no_views(function: _Function) -> _Function:
    """Declare that what a function of a partition returns shares no memory with it, but for Arrow's own of a column."""
    function.keeps_no_views = True  # type: ignore[attr-defined]
    return function


class TreeReduce(FrameExpr):
    """All blocks of a node reduced to one, up to `split_every` at a time."""

    parameters = ("source", "steps", "split_every", "title")
    divisions = (None, None)

    source: FrameExpr
    steps: TreeSteps
    split_every: int
    title: str

    @property
    def label(self) -> str:
        return self.title

    @cached_property
    def meta(self) -> Any:
        return self.steps.meta

    def tasks(self) -> dict[Key, Task]:
        keys, steps = self.source.output_keys(), self.steps
        return tree_tasks(self.name, self.title, keys, steps.combine, steps.finish, self.split_every)


class Chunk(FrameBlockwise):
    """The first step of a reduction: a small value of each partition. It has no meta: only the next step reads it."""

    parameters = ("frame", "others", "call")
    reads_apart: ClassVar[bool] = False
    """Whether all its results are needed before what else is made of a frame begins: a read of few columns isn't merged with others."""

    frame: FrameExpr
    others: tuple[FrameExpr, ...]
    call: BlockCall

    @property
    def label(self) -> str:
        return self.call.label

    @cached_property
    def meta(self) -> Any:
        return None

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (self.frame.npartitions + 1)

    @property
    def function(self) -> Callable[..., Any]:
        return self.call

    @property
    def arrow_form(self) -> Form | None:
        return own_form(self.call)

    @property
    def keeps_no_views(self) -> bool:
        return self._declares("keeps_no_views")

    @property
    def picks_columns(self) -> bool:
        """Whether it takes the columns that it needs by their labels, whatever others there are."""
        return self._declares("picks_columns")

    def _declares(self, what: str) -> bool:
        function = getattr(self.call.function, "func", self.call.function)  # of a partial
        return getattr(function, what, False) is True

    @property
    def siblings_from(self) -> int | None:
        return SIBLINGS_FROM


class RowsChunk(Chunk):
    """The first step of a reduction for which several partitions at once are as good as each by itself."""


class ValuesChunk(RowsChunk):
    """The same for a reduction that looks at no index labels."""

    @property
    def takes_any_library(self) -> bool:
        return self.call.takes_any_library


class UnorderedChunk(ValuesChunk):
    """The same for a reduction that gives the same in whichever order the rows come, but for rounding, and for which of 0.0 and -0.0 is the largest."""


def is_unordered(how: str, dtype: Any) -> bool:
    """Whether a reduction of values of a dtype, by name, gives the same in whichever order they come.

    >>> import numpy as np
    >>> is_unordered("sum", np.dtype("int64")), is_unordered("first", np.dtype("int64")), is_unordered("max", np.dtype(object))
    (True, False, False)
    """
    if how in ("count", "size"):
        return True
    if how in ("max", "min", "nunique") and isinstance(dtype, pd.StringDtype):
        return True
    return how in _UNORDERED and getattr(dtype, "kind", "O") in "iufbmM"


class WholeChunk(Chunk):
    """The first step of what joins all partitions: the partition itself."""

    @property
    def siblings_from(self) -> int | None:
        return None
