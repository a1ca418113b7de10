"""How a Parquet file's columns become a frame: dtypes, the index, and what pandas takes for missing. Nothing is read here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from glassloom.dataframe.arrow.blocks import CodedText, Values, array_of
from glassloom.dataframe.arrow.text import is_text
from glassloom.dataframe.io.chosen_rows import RowNumbers, joined_numbers
from glassloom.dataframe.io.conditions import Condition
from glassloom.dataframe.io.filesystems import Files
from glassloom.dataframe.io.pandas_types import TYPES_MAPPERS, is_plain_text, to_pandas
from glassloom.dataframe.io.parquet_files import HiveColumn
from glassloom.graph.caller_options import caller_options


class Layout(NamedTuple):
    """How a table becomes a frame.

    `index_column` names the column that becomes the index; if None, rows are numbered from `start` in steps of `step`.
    `casts` are integer and boolean columns that have missing values in some partition, and get the dtype that pandas
    gives to such columns in all partitions. The user's filters are `where`, or if they can't be that, an expression of
    PyArrow's in `filters`. `like` is that of `CommonSchema`. `no_times`
    are the columns of times that may have values which pandas takes for missing.
    """

    columns: tuple[str, ...]
    index_column: str | None
    index_name: Any
    start: int
    step: int
    casts: dict[str, str]
    filters: Any
    where: Condition
    schema: pa.Schema
    hive: tuple[HiveColumn, ...]
    files: Files
    backend: str | None
    like: dict[str, str]
    no_times: frozenset[str] = frozenset()
    engine: str = "auto"
    n_values: int = 0
    """Values of these columns in all partitions."""

    @property
    def wanted(self) -> list[str]:
        """The columns to read from files."""
        hive = {column.name for column in self.hive}
        index = [self.index_column] if self.index_column else []
        return [name for name in dict.fromkeys([*self.columns, *index]) if name not in hive]

    @property
    def nullable(self) -> frozenset[str]:
        """The columns whose comparisons with missing values are missing."""
        return nullable_columns(self.schema, self.backend)

    @property
    def without_nan(self) -> frozenset[str]:
        """The nullable columns of floats in which pandas takes NaN for missing."""
        return _columns_without_nan(_Schema(self.schema), self.backend) if self.nullable else frozenset()


def nullable_columns(schema: pa.Schema, backend: str | None) -> frozenset[str]:
    """Return the columns whose dtypes have a missing value of their own, by `backend` or as the files note them."""
    return _nullable_columns(_Schema(schema), backend)


class _Schema:
    """A schema, and the options of pandas' with which it becomes a frame. It differs from one with other metadata, which PyArrow takes for equal."""

    def __init__(self, schema: pa.Schema) -> None:
        self.arrow, self.options = schema, caller_options()
        self._hash = hash(tuple(schema.names))  # before PyArrow 17 schemas with metadata have none

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Schema) or self.options is not other.options:
            return False
        return self.arrow.equals(other.arrow, check_metadata=True)


@lru_cache(maxsize=256)
def _nullable_columns(schema: _Schema, backend: str | None) -> frozenset[str]:
    dtypes = _plain_to_pandas(schema.arrow.empty_table(), backend).dtypes
    return frozenset(name for name, dtype in dtypes.items() if getattr(dtype, "na_value", None) is pd.NA)


@lru_cache(maxsize=256)
def _columns_without_nan(schema: _Schema, backend: str | None) -> frozenset[str]:
    nullable = _nullable_columns(schema, backend)
    floats = [field for field in schema.arrow if field.name in nullable and pa.types.is_floating(field.type)]
    if not floats:
        return frozenset()
    row = pa.table(
        [pa.array([float("nan")], pa.float64()).cast(field.type) for field in floats],
        pa.schema(floats, schema.arrow.metadata),
    )
    is_missing = _plain_to_pandas(row, backend).ne(0).isna().iloc[0]
    return frozenset(name for name, value in is_missing.items() if value)


def makes_plain_columns(layout: Layout) -> bool:
    """Whether the array of each column follows from its type, and from no other column or note."""
    if layout.backend is not None or layout.hive or any(name in layout.casts for name in layout.columns):
        return False
    fields = [layout.schema.field(name) for name in layout.wanted]
    schema = pa.schema(fields, metadata=layout.schema.metadata)
    return bool(layout.columns) and _notes_needed(_Schema(schema), None) is None


def to_frame(table: pa.Table, numbers: Sequence[RowNumbers], layout: Layout) -> Any:
    """Return the frame of a table: pandas' dtypes, the index, and the columns in order."""
    if not layout.columns and layout.index_column is None:
        return pd.DataFrame(index=row_labels(numbers, layout))
    if layout.backend == "pyarrow":
        table = _with_text_as_noted(table, layout.schema)
    made = _plain_to_pandas(
        table.select([name for name in table.schema.names if name in layout.columns or name == layout.index_column]),
        layout.backend,
    )
    casts = {name: kind for name, kind in layout.casts.items() if name in made.columns}
    if casts:
        made = made.astype(casts)
    if layout.index_column is not None:
        values = made[layout.index_column]
        made = made.drop(columns=layout.index_column) if layout.index_column not in layout.columns else made
        made.index = pd.Index(values).rename(layout.index_name)
    else:
        made.index = row_labels(numbers, layout)
    return made if tuple(made.columns) == layout.columns else made[list(layout.columns)]


def _with_text_as_noted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table whose text is of the types that the files note: that of dictionaries is read as short texts."""
    for place, field in enumerate(table.schema):
        noted = schema.field(field.name).type if field.name in schema.names else field.type
        if noted != field.type and is_plain_text(noted) and is_plain_text(field.type):
            table = table.set_column(place, field.with_type(noted), table[place].cast(noted))
    return table


def _plain_to_pandas(table: pa.Table, backend: str | None) -> Any:
    """Return a frame with pandas' dtypes as they were noted, but without an index."""
    plain = table.replace_schema_metadata(_notes_needed(_Schema(table.schema), backend))
    return to_pandas(plain, backend)


@lru_cache(maxsize=256)
def _notes_needed(schema: _Schema, backend: str | None) -> dict[bytes, bytes] | None:
    """Return the metadata from which PyArrow makes the dtypes; None if they follow from the types alone.

    PyArrow takes a millisecond to read them, in each partition anew.
    """
    metadata = dict(schema.arrow.metadata or {})
    if b"pandas" not in metadata:
        return None
    noted = json.loads(metadata[b"pandas"])
    noted["index_columns"] = []
    for column in noted.get("columns", []):
        column["name"] = column.get("field_name", column.get("name"))
    metadata[b"pandas"] = json.dumps(noted).encode()
    empty = schema.arrow.empty_table()
    mapper = TYPES_MAPPERS[backend]
    with_notes = empty.replace_schema_metadata(metadata).to_pandas(types_mapper=mapper)
    without = empty.replace_schema_metadata(None).to_pandas(types_mapper=mapper)
    is_same = with_notes.columns.identical(without.columns) and with_notes.dtypes.equals(without.dtypes)
    return None if is_same and with_notes.attrs == without.attrs else metadata


def row_labels(parts: Sequence[RowNumbers], layout: Layout) -> pd.Index:
    """Return the labels of rows by their numbers in all files: a range where they follow each other."""
    numbers = joined_numbers(parts)
    if isinstance(numbers, range):
        start = layout.start + layout.step * numbers.start
        return pd.RangeIndex(start, start + layout.step * len(numbers), layout.step, name=layout.index_name)
    return pd.Index(layout.start + layout.step * numbers, name=layout.index_name)


def text_as_codes(table: pa.Table, layout: Layout) -> list[str]:
    """Return the columns of text that are codes of a dictionary in a table only."""
    return [
        field.name
        for field in table.schema
        if pa.types.is_dictionary(field.type) and not pa.types.is_dictionary(layout.schema.field(field.name).type)
    ]


def decoded_text(table: pa.Table, encoded: Sequence[str]) -> pa.Table:
    """Return a table with text that was read as codes of a dictionary, which is quicker also with this step, as text."""
    for name in encoded:
        place = table.schema.get_field_index(name)
        if place >= 0 and pa.types.is_dictionary(table.schema.field(place).type):
            field = table.schema.field(place)
            kind = field.type.value_type
            table = table.set_column(place, field.with_type(kind), table[place].cast(kind))
    return table


def values_of(column: pa.ChunkedArray, dtype: Any) -> Values:
    """Return a column's values, which become an array of `dtype` where they have one of that already."""
    if pa.types.is_dictionary(column.type) and not isinstance(dtype, pd.CategoricalDtype):
        if is_text(dtype):
            return CodedText(column, dtype)
        column = column.cast(column.type.value_type)  # text as objects, before pandas 3
    return Values(lambda: _array(column, dtype))


def _array(column: pa.ChunkedArray, dtype: Any) -> Any:
    """Return the array of a column: of numbers and instants without a copy if Arrow holds them in one piece."""
    kind = column.type
    if is_text(dtype) and is_plain_text(kind):
        return dtype.__from_arrow__(column)
    is_number = pa.types.is_floating(kind) or (pa.types.is_integer(kind) and not column.null_count)
    is_instant = pa.types.is_timestamp(kind) and kind.tz is None
    if isinstance(dtype, np.dtype) and (is_number or is_instant):
        made = column.chunk(0).to_numpy(zero_copy_only=False) if column.num_chunks == 1 else column.to_numpy()
        if made.dtype == dtype:
            return made
    return array_of(_plain_to_pandas(pa.table({"": column}), None)[""])
