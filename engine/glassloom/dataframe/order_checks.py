"""Questions about all values of a series that partitions answer together: whether they are distinct, or in order."""

from __future__ import annotations

from functools import partial
from typing import Any

from glassloom.dataframe.base import Frame
from glassloom.dataframe.label_order import Run, joined_runs, run_of
from glassloom.dataframe.reduce import Length, Operation, tree
from glassloom.dataframe.wrap import operate, wrap


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
    steps = Operation(run_of, joined_runs, partial(_answer, question))
    return wrap(tree(series.expr, steps, True, "is-monotonic"))


def _answer(question: str, runs: list[Run]) -> bool:
    return bool(getattr(joined_runs(runs), question))
