"""Questions about all values of a series that partitions answer together: whether they are distinct, or in order."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from glassloom.backends.pandas_ import concat
from glassloom.dataframe.base import Frame
from glassloom.dataframe.reduce import Length, Operation, tree
from glassloom.dataframe.wrap import operate, wrap


class Run(NamedTuple):
    """Some rows in their order: whether they rise, whether they fall, and the first and last one (empty if there is none)."""

    rises: bool
    falls: bool
    ends: Any


class OrderChecks(Frame):
    """What a series says about the order of its values."""

    @property
    def is_monotonic_increasing(self) -> Any:
        """Whether no value is less than the one before, as a lazy scalar. False if one is missing."""
        return _in_order(self, "rises")

    @property
    def is_monotonic_decreasing(self) -> Any:
        """Whether no value is greater than the one before, as a lazy scalar. False if one is missing."""
        return _in_order(self, "falls")

    @property
    def is_unique(self) -> Any:
        """Whether no value occurs twice, as a lazy scalar. Missing values are equal."""
        return self.nunique(dropna=False) == wrap(Length(self._expr))

    @property
    def hasnans(self) -> Any:
        """Whether a value is missing, as a lazy scalar."""
        return operate(bool, self.isna().any(), label="hasnans")


def _in_order(series: Any, question: str) -> Any:
    steps = Operation(_run, _joined, partial(_answer, question))
    return wrap(tree(series.expr, steps, True, "is-monotonic"))


def _run(block: Any) -> Run:
    ends = block.iloc[[0, -1]] if len(block) else block.iloc[:0]
    return Run(bool(block.is_monotonic_increasing), bool(block.is_monotonic_decreasing), ends)


def _joined(runs: list[Run]) -> Run:
    """Return runs that follow each other as one: they are in order if each is, and their ends are."""
    runs = [run for run in runs if len(run.ends)] or runs[:1]
    if len(runs) == 1:
        return runs[0]
    ends = concat([run.ends for run in runs])
    between = _run(ends)
    rises = between.rises and all(run.rises for run in runs)
    falls = between.falls and all(run.falls for run in runs)
    return Run(rises, falls, between.ends)


def _answer(question: str, runs: list[Run]) -> bool:
    return bool(getattr(_joined(runs), question))
