"""`ReadByResults`: rows that are chosen while they are read, by comparing columns with values that are computed first."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

from glassloom.dataframe.io.conditions import Condition
from glassloom.dataframe.io.read import Read, Source
from glassloom.dataframe.nodes import FrameBlockwise, FrameExpr
from glassloom.dataframe.partitions import select_divisions
from glassloom.expr import Expr
from glassloom.graph import tokenize

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Compared(NamedTuple):
    """``column operator value``, where the value is computed first. Operators: those of `OPERATORS`."""

    column: Any
    operator: str


class ReadByResults(FrameBlockwise):
    """The rows of partitions of a source that fulfil `condition`, and of which each of `compared` holds with the value at its place in `values`.

    A comparison with a missing value holds for no row, one with None for all.
    """

    parameters = ("source", "columns", "numbers", "condition", "compared", "values")

    source: Source
    columns: tuple[Any, ...]
    numbers: tuple[int, ...] | None
    condition: Condition | None
    compared: tuple[Compared, ...]
    values: tuple[FrameExpr, ...]

    @property
    def label(self) -> str:
        return self.source.label

    @property
    def read(self) -> Read:
        """What reads the rows that fulfil the condition."""
        return Read(self.source, self.columns, self.numbers, self.condition)

    @cached_property
    def meta(self) -> Any:
        return self.read.meta

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return self.read.divisions

    @cached_property
    def npartitions(self) -> int:
        return len(select_divisions(self.source.divisions, self.numbers) if self.numbers else self.source.divisions) - 1

    @cached_property
    def rows(self) -> str:
        return f"rows-{tokenize(self.read.rows, self.compared, [one.name for one in self.values])}"

    @property
    def layout(self) -> str:
        return self.read.layout

    @property
    def lengths(self) -> None:
        return None

    @property
    def has_unique_labels(self) -> bool:
        return self.source.has_unique_labels

    def is_broadcast(self, dependency: Expr) -> bool:
        return True

    @property
    def function(self) -> Callable[..., Any]:
        found = self.source.reader_by_results(self.columns, self.condition, self.compared)
        assert found is not None  # `of` asks for it, too
        return found

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return self.read.literals(index)

    def with_columns(self, columns: tuple[Any, ...]) -> ReadByResults:
        """Return the same rows with these columns only."""
        others = (self.numbers, self.condition, self.compared, self.values)
        return ReadByResults(self.source, columns, *others, origin=self.origin)

    @classmethod
    def of(
        cls, read: Read | ReadByResults, compared: tuple[Compared, ...], values: tuple[FrameExpr, ...]
    ) -> ReadByResults | None:
        """Return a read with further comparisons; None if its source can't make them, or the dtype of whole numbers depends on all rows."""
        numbers = {name for name, dtype in read.meta.dtypes.items() if getattr(dtype, "kind", "O") in "iub"}
        if not numbers <= read.source.complete_columns:
            return None
        if isinstance(read, ReadByResults):
            compared, values = (*read.compared, *compared), (*read.values, *values)
        columns = tuple(read.meta.columns) if read.columns is None else read.columns
        if read.source.reader_by_results(columns, read.condition, compared) is None:
            return None
        return cls(read.source, columns, read.numbers, read.condition, compared, values, origin=read.origin)
