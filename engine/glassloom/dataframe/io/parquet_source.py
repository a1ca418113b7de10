"""Row groups of Parquet files as a source of partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_
from typing import Any

import pandas as pd
import pyarrow as pa

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.derived_meta import chosen_meta
from glassloom.dataframe.io.conditions import INDEX, Bounds, Comparison, Condition, Term, columns_of
from glassloom.dataframe.io.literals import adapted
from glassloom.dataframe.io.noted_index import Level
from glassloom.dataframe.io.parquet_files import FilePiece, Partition, bounds_of, complete_columns, footer, hive_type
from glassloom.dataframe.io.parquet_rows import is_left_to_polars, may_match, read_block, read_partition
from glassloom.dataframe.io.parquet_to_pandas import Layout, makes_plain_columns
from glassloom.dataframe.io.read import Source
from glassloom.dataframe.io.read_by_results import OPERATORS
from glassloom.graph import tokenize


class ParquetSource(Source):
    """Row groups of Parquet files."""

    label = "read-parquet"
    form = "Arrow"
    can_project = True
    can_read_index = True
    labels: pd.Index | None = None
    """What the columns are called in the end, if not by their names, which are text."""
    levels: tuple[Level, ...] = ()
    """The columns that become an index of several levels."""

    def __init__(
        self, partitions: list[Partition], layout: Layout, divisions: tuple[Any, ...], token: str, meta: Any = None
    ) -> None:
        self.partitions = partitions
        self.layout = layout
        self.divisions = divisions
        self._n_rows = tuple(sum(piece.n_rows for piece in partition) for partition in partitions)
        self.lengths = None if layout.filters is not None or layout.where else self._n_rows
        self.can_filter = True
        self.token = token
        self.meta = _meta(layout) if meta is None else meta

    @property
    def most_rows(self) -> tuple[int, ...]:
        """See `Source.most_rows`."""
        return self._n_rows

    @cached_property
    def identity(self) -> str:
        """See `Source.identity`. All that is said of files follows from what `token` has, dtypes from pandas' options too."""
        return tokenize(type(self), self.token, [str(dtype) for dtype in self.meta.dtypes])

    def piece(self, number: int) -> Any:
        return self.partitions[number]

    def reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any]:
        layout = self._layout_of(columns, condition)
        return BlockCall(read_partition, (Block(0), layout, condition), label=self.label)

    def block_reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any] | None:
        """See `Source.block_reader`. There is none where pandas' frame follows from more than the columns' types."""
        layout = self._layout_of(columns, condition)
        meta = self.meta if columns is None else chosen_meta(self.meta, list(columns))
        if not meta.columns.is_unique or not makes_plain_columns(layout):
            return None
        return BlockCall(read_block, (Block(0), layout, condition, meta.columns, tuple(meta.dtypes)), label=self.label)

    def reader_by_results(
        self, columns: tuple[Any, ...], condition: Condition | None, compared: Sequence[tuple[Any, str]]
    ) -> Callable[..., Any] | None:
        """See `Source.reader_by_results`."""
        layout, names = self.layout, [name for name, _ in compared]
        hive = {one.name for one in layout.hive}
        if self.labels is not None or any(name not in layout.schema.names or name in layout.casts for name in names):
            return None
        if hive.intersection(names):
            return None
        likely = tuple([Comparison(name, operator) for name, operator in compared])
        chosen = self._layout_of(columns, (*(condition or ()), *likely))
        return ReaderByResults(chosen, condition, tuple(compared))

    def form_of(self, columns: tuple[Any, ...] | None, condition: Any) -> str:
        """See `Source.form_of`. Polars leaves to Arrow what it can't read."""
        return "Polars" if is_left_to_polars(self._layout_of(columns, condition), condition) else self.form

    def _layout_of(self, columns: tuple[Any, ...] | None, condition: Condition | None) -> Layout:
        layout = self.layout if columns is None else self.layout._replace(columns=tuple(columns))
        n_columns = len({*layout.wanted, *columns_of((*(condition or ()), *layout.where))})
        return layout._replace(n_values=sum(self._n_rows) * n_columns)

    def accept(self, comparison: Comparison) -> Term | None:
        """See `Source.accept`."""
        if comparison.column == INDEX:
            if self.layout.index_column is None:
                return None
            comparison = comparison._replace(column=self.layout.index_column)
        return None if comparison.column in self.layout.casts else accepted(comparison, self.layout)

    def groups_read(self, numbers: Sequence[int], condition: Condition | None) -> tuple[int, int]:
        """Return how many row groups of some partitions may have rows that fulfil a condition, and how many there are."""
        pieces = [
            piece._replace(groups=(group,))
            for number in numbers
            for piece in self.partitions[number]
            for group in piece.groups
        ]
        if not condition:
            return len(pieces), len(pieces)
        return sum(may_match(piece, self.layout, condition) for piece in pieces), len(pieces)

    def bounds_of(self, column: Any) -> Sequence[Bounds] | None:
        """See `Source.bounds_of`. Of whole numbers and times, whose statistics are exact, of all rows."""
        layout = self.layout
        if self.lengths is None or column not in layout.schema.names or column in layout.casts:
            return None
        if column in [one.name for one in layout.hive]:
            return None
        kind = layout.schema.field(column).type
        if not pa.types.is_integer(kind) and not pa.types.is_timestamp(kind):
            return None
        return bounds_of(self.partitions, layout.files, column, kind)

    @cached_property
    def complete_columns(self) -> frozenset[Any]:
        """See `Source.complete_columns`. Not of floats: statistics say nothing of NaN."""
        layout = self.layout
        if self.labels is not None:
            return frozenset()
        hive = {one.name for one in layout.hive}
        names = [name for name in layout.schema.names if name not in layout.casts and name not in hive]
        kinds = {name: layout.schema.field(name).type for name in names}
        return complete_columns(self.partitions, layout.files, kinds)

    def joined(self, groups: Sequence[Sequence[int]]) -> ParquetSource:
        """See `Source.joined`."""
        partitions = [
            merged_pieces([piece for number in group for piece in self.partitions[number]]) for group in groups
        ]
        divisions = (*(self.divisions[group[0]] for group in groups), self.divisions[groups[-1][-1] + 1])
        return ParquetSource(partitions, self.layout, divisions, tokenize(self.token, groups), self.meta)

    def nbytes(self, numbers: Sequence[int], columns: Sequence[Any] | None) -> int | None:
        """Return about how many bytes columns of some partitions take once they are read."""
        names = set(self.layout.schema.names if columns is None else columns)
        total = 0
        for number in numbers:
            for piece in self.partitions[number]:
                one = footer(piece.state, self.layout.files)
                for group in piece.groups:
                    row_group = one.row_group(group)
                    chunks = (row_group.column(place) for place in range(row_group.num_columns))
                    total += sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema in names)
        return total


@dataclass(frozen=True)
class ReaderByResults:
    """Reads a partition's rows that fulfil a condition, and of which each comparison with a value that is computed first holds.

    Where the file's values can't be compared with one as pandas does it, pandas does.
    """

    layout: Layout
    condition: Condition | None
    compared: tuple[tuple[Any, str], ...]

    @property
    def __name__(self) -> str:
        return "read-parquet"

    def __call__(self, *values_and_partition: Any) -> Any:
        *values, partition = values_and_partition
        layout, condition = self.layout, self.condition or ()
        pairs = zip(self.compared, values, strict=True)
        comparisons = [Comparison(*compared, value) for compared, value in pairs if value is not None]
        terms = [None if pd.isna(one.value) else accepted(one, layout) for one in comparisons]
        known = tuple([term for term in terms if term is not None])
        left = [one for one, term in zip(comparisons, terms, strict=True) if term is None]
        if not left:
            return read_partition(partition, layout, (*condition, *known) or None)
        names = list(layout.columns or ())
        needed = tuple(dict.fromkeys([*names, *(one.column for one in left)]))
        frame = read_partition(partition, layout._replace(columns=needed), (*condition, *known) or None)
        chosen = reduce(and_, [OPERATORS[one.operator](frame[one.column], one.value) for one in left])
        return frame.loc[chosen.to_numpy(bool), names]


def accepted(comparison: Comparison, layout: Layout, *, exact: bool = False) -> Term | None:
    """Return a comparison with its constants as the column has them; None if Arrow can't make it. `exact`: see `adapted`."""
    name = comparison.column
    hive = next((column for column in layout.hive if column.name == name), None)
    if hive is not None:
        if hive.kind is not None:
            return None  # the values are compared with constants as pandas has them
        is_text = pa.types.is_string(hive_type(hive).value_type)
        values = comparison.value if comparison.operator == "in" else (comparison.value,)
        is_like = all(value is None or isinstance(value, str) == is_text for value in values)
        return comparison if is_like and comparison.operator in ("==", "!=", "in", "isna", "notna") else None
    if name not in layout.schema.names or (
        not exact and (name in layout.no_times or _is_told_by_dtype(comparison, layout))
    ):
        return None
    return adapted(comparison, layout.schema.field(name).type, nullable=name in layout.nullable, exact=exact)


def _is_told_by_dtype(comparison: Comparison, layout: Layout) -> bool:
    """Whether what a comparison means depends on the kind of dtype: with NaN of nullable columns, with text of Arrow's times."""
    value, kind = comparison.value, layout.schema.field(comparison.column).type
    if isinstance(value, str) and pa.types.is_timestamp(kind):
        return layout.backend == "pyarrow"
    return isinstance(value, float) and value != value and comparison.column in layout.nullable


def merged_pieces(pieces: list[FilePiece]) -> Partition:
    """Return pieces with neighbouring row groups of a file as one."""
    merged: list[FilePiece] = []
    for piece in pieces:
        last = merged[-1] if merged else None
        if last is not None and last.state is piece.state and last.first_row + last.n_rows == piece.first_row:
            merged[-1] = last._replace(groups=(*last.groups, *piece.groups), n_rows=last.n_rows + piece.n_rows)
        else:
            merged.append(piece)
    return tuple(merged)


def _meta(layout: Layout) -> Any:
    """Return the frame of no rows."""
    return read_partition((FilePiece("", ("", 0, 0), (), 0, 0, (None,) * len(layout.hive)),), layout, ())
