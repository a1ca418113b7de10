"""Reading a partition of Parquet files: which rows are wanted, their columns, and the pandas frame of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from glassloom.dataframe.io.conditions import Bounds, Condition, columns_of, mask_of, may_hold
from glassloom.dataframe.io.filesystems import Files
from glassloom.dataframe.io.parquet_files import (
    FilePiece,
    HiveColumn,
    Partition,
    footer,
    group_bounds,
    hive_array,
    hive_type,
)
from glassloom.errors import ReadError


class Layout(NamedTuple):
    """How a table becomes a frame.

    `index_column` names the column that becomes the index; if None, rows are numbered from `start` in steps of `step`.
    `casts` are integer and boolean columns that have missing values in some partition, and get the dtype that pandas
    gives to such columns in all partitions. The user's filters are `where`, or if they can't be that, an expression of
    PyArrow's in `filters`.
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


def nullable_columns(schema: pa.Schema, backend: str | None) -> frozenset[str]:
    """Return the columns whose dtypes have a missing value of their own, by `backend` or as the files note them."""
    return _nullable_columns(_Schema(schema), backend)


class _Schema:
    """A schema that differs from another one with other metadata: PyArrow takes them for equal."""

    def __init__(self, schema: pa.Schema) -> None:
        self.arrow = schema
        self._hash = hash(schema)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Schema) and self.arrow.equals(other.arrow, check_metadata=True)


@lru_cache(maxsize=256)
def _nullable_columns(schema: _Schema, backend: str | None) -> frozenset[str]:
    dtypes = _plain_to_pandas(schema.arrow.empty_table(), backend).dtypes
    return frozenset(name for name, dtype in dtypes.items() if getattr(dtype, "na_value", None) is pd.NA)


def read_partition(partition: Partition, layout: Layout, condition: Condition | None) -> Any:
    """Return the frame of a partition: all rows, or those that fulfil `condition` and the user's filters."""
    tables: list[pa.Table] = []
    numbers: list[np.ndarray] = []
    for piece in partition:
        table, rows = _read_piece(piece, layout, condition)
        tables.append(table)
        numbers.append(rows)
    filled = [table for table in tables if table.num_rows] or tables[:1]
    table = filled[0]
    if len(filled) > 1:
        table = pa.concat_tables(filled, promote_options="permissive").unify_dictionaries()
    if layout.hive:
        table = _with_hive_columns(table, partition, [rows.size for rows in numbers], layout)
    return to_frame(table, numbers[0] if len(numbers) == 1 else np.concatenate(numbers), layout)


def _with_hive_columns(table: pa.Table, partition: Partition, counts: list[int], layout: Layout) -> pa.Table:
    for place, column in enumerate(layout.hive):
        if column.name in layout.columns or column.name == layout.index_column:
            values = [(piece.hive[place], count) for piece, count in zip(partition, counts, strict=True)]
            array = hive_array(column, values)
            table = table.append_column(column.name, array) if table.num_columns else pa.table({column.name: array})
    return table


def _read_piece(piece: FilePiece, layout: Layout, condition: Condition | None) -> tuple[pa.Table, np.ndarray]:
    """Return the wanted columns and rows of a piece, and the rows' numbers in all files.

    The columns that conditions need are read first, the others only if any row is left.
    """
    wanted = layout.wanted
    nothing = np.empty(0, dtype="int64")
    if not piece.groups:
        return layout.schema.empty_table().select(wanted), nothing
    one = footer(piece.state, layout.files)
    # The categories of a categorical column are in its data: a partition without rows must have them too.
    needs_data = any(pa.types.is_dictionary(layout.schema.field(name).type) for name in wanted)
    if condition and not needs_data and not may_match(piece, layout, condition):  # `where` has left out others before
        return layout.schema.empty_table().select(wanted), nothing
    try:
        is_local = layout.files.arrow is None
        with pq.ParquetFile(layout.files.source(piece.path), metadata=one, pre_buffer=not is_local) as file:
            mask, first = _mask(file, piece, layout, condition)
            if mask is None:
                numbers = np.arange(piece.first_row, piece.first_row + piece.n_rows)
                return read_groups(file, piece, wanted), numbers
            kept = np.flatnonzero(mask)
            if not kept.size and not needs_data:
                return layout.schema.empty_table().select(wanted), nothing
            return _chosen(file, piece, wanted, first, mask), kept + piece.first_row
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"{piece.path!r} can't be read: {error}") from error


def _mask(file: Any, piece: FilePiece, layout: Layout, condition: Condition | None) -> tuple[Any, pa.Table | None]:
    """Return where rows are wanted (None: everywhere), and the table that was read to find out."""
    masks, first = [], None
    both = (*(condition or ()), *layout.where)
    if both:
        constants = hive_constants(piece, layout)
        needed = [name for name in columns_of(both) if name not in constants]
        first = _typed(read_groups(file, piece, needed), layout.schema) if needed else None
        if condition:
            masks.append(mask_of(condition, first, constants, layout.nullable))
        if layout.where:
            masks.append(mask_of(layout.where, first, constants, columns_of(layout.where)))
    if layout.filters is not None:
        masks.append(_filter_mask(piece, layout))
    if not masks:
        return None, None
    mask = masks[0] if len(masks) == 1 else pc.and_kleene(*masks)
    if isinstance(mask, pa.Scalar):
        return (None, first) if mask.as_py() else (pa.array(np.zeros(piece.n_rows, dtype=bool)), first)
    return pc.fill_null(mask, False), first


def _chosen(file: Any, piece: FilePiece, wanted: list[str], first: pa.Table | None, mask: Any) -> pa.Table:
    """Return the wanted columns of the rows of a mask; `first` has those that are read already."""
    known = [] if first is None else first.column_names
    others = [name for name in wanted if name not in known]
    if first is None or len(others) == len(wanted):
        return _filtered(read_groups(file, piece, wanted), mask) if wanted else read_groups(file, piece, [])
    read = read_groups(file, piece, others) if others else first
    sources = [first if name in known else read for name in wanted]
    fields = [source.schema.field(name) for source, name in zip(sources, wanted, strict=True)]
    columns = [source[name] for source, name in zip(sources, wanted, strict=True)]
    return _filtered(pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=read.schema.metadata)), mask)


def _filtered(table: pa.Table, mask: Any) -> pa.Table:
    """Return the rows of a mask. Arrow drops chunks without any, and with them the categories that no row is of."""
    if any(pa.types.is_dictionary(field.type) for field in table.schema):
        table = table.unify_dictionaries()
    kept = table.filter(mask)
    return kept if kept.num_rows else table.slice(0, 0)


def read_groups(file: Any, piece: FilePiece, columns: list[str]) -> pa.Table:
    """Return columns of the row groups of a piece."""
    return file.read_row_groups(list(piece.groups), columns=columns, use_threads=False)


def hive_constants(piece: FilePiece, layout: Layout) -> dict[Any, Any]:
    """Return the columns whose values are the same in all rows of a file."""
    return {column.name: value for column, value in zip(layout.hive, piece.hive, strict=True)}


# The user's filters, which PyArrow's scanner evaluates: they have its semantics.


def filter_expression(filters: Any) -> Any:
    """Return filters, as lists of tuples or as a PyArrow expression, as an expression."""
    return pq.filters_to_expression(filters) if isinstance(filters, (list, tuple)) else filters


def fragment_of(piece: FilePiece, layout: Layout) -> Any:
    """Return the row groups of a piece as PyArrow's dataset has them."""
    equal = None
    for column, value in zip(layout.hive, piece.hive, strict=True):
        field = ds.field(column.name)
        one = field.is_null() if value is None else field == value
        equal = one if equal is None else equal & one
    options: dict[str, Any] = {} if equal is None else {"partition_expression": equal}
    filesystem = layout.files.arrow or pa.fs.LocalFileSystem()
    return ds.ParquetFileFormat().make_fragment(
        piece.path, filesystem=filesystem, row_groups=list(piece.groups), **options
    )


def whole_schema(layout: Layout) -> pa.Schema:
    """Return the schema with the columns of folders' names."""
    schema = layout.schema
    for column in layout.hive:
        schema = schema.append(pa.field(column.name, hive_type(column).value_type))
    return schema


def _filter_mask(piece: FilePiece, layout: Layout) -> Any:
    """Return where the filters hold: the scanner reads only the columns that they name."""
    scanner = fragment_of(piece, layout).scanner(
        schema=whole_schema(layout), columns={"kept": filter_expression(layout.filters)}, use_threads=False
    )
    return scanner.to_table()["kept"]


# Statistics.


def may_match(piece: FilePiece, layout: Layout, condition: Condition) -> bool:
    """Whether any row of a piece may fulfil a condition, by the footer's smallest and largest values."""
    if not piece.groups:
        return False
    return any(may_hold(condition, _bounds_finder(piece, layout, group)) for group in piece.groups)


def _bounds_finder(piece: FilePiece, layout: Layout, group: int) -> Callable[[Any], Bounds | None]:
    constants = hive_constants(piece, layout)

    def bounds_of(column: Any) -> Bounds | None:
        if column in constants:
            value = constants[column]
            return Bounds(value, value, value is None, value is not None)
        place = layout.schema.get_field_index(column)
        return group_bounds(footer(piece.state, layout.files), group, column, layout.schema.field(column).type, place)

    return bounds_of


# From Arrow to pandas.


def to_frame(table: pa.Table, numbers: np.ndarray, layout: Layout) -> Any:
    """Return the frame of a table: pandas' dtypes, the index, and the columns in order."""
    if not layout.columns and layout.index_column is None:
        return pd.DataFrame(index=_row_labels(numbers, layout))
    table = _typed(table, layout.schema)
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
        made.index = _row_labels(numbers, layout)
    return made if tuple(made.columns) == layout.columns else made[list(layout.columns)]


def _typed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table whose columns without any value have the types that they have in the other files."""
    for place, field in enumerate(table.schema):
        if field.name not in schema.names:
            continue
        typed = schema.field(field.name)
        if pa.types.is_null(field.type) or _are_missing(table[place], typed.type):
            table = table.set_column(place, typed, pa.nulls(len(table), typed.type))
    return table


def _are_missing(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    """Whether a column that should be of categories has no values, so that its file has no categories."""
    is_plain = pa.types.is_dictionary(kind) and not pa.types.is_dictionary(column.type)
    return is_plain and column.null_count == len(column)


def _plain_to_pandas(table: pa.Table, backend: str | None) -> Any:
    """Return a frame with pandas' dtypes as they were noted, but without an index."""
    plain = table.replace_schema_metadata(_notes_needed(_Schema(table.schema), backend))
    return plain.to_pandas(use_threads=False, types_mapper=_TYPES_MAPPERS[backend])


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
    mapper = _TYPES_MAPPERS[backend]
    with_notes = empty.replace_schema_metadata(metadata).to_pandas(types_mapper=mapper)
    without = empty.replace_schema_metadata(None).to_pandas(types_mapper=mapper)
    is_same = with_notes.columns.identical(without.columns) and with_notes.dtypes.equals(without.dtypes)
    return None if is_same and with_notes.attrs == without.attrs else metadata


def _nullable_type(kind: pa.DataType) -> Any:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pd.StringDtype()
    return _NULLABLE.get(str(kind))


_NULLABLE: dict[str, Any] = {
    "bool": pd.BooleanDtype(), "int8": pd.Int8Dtype(), "int16": pd.Int16Dtype(), "int32": pd.Int32Dtype(),
    "int64": pd.Int64Dtype(), "uint8": pd.UInt8Dtype(), "uint16": pd.UInt16Dtype(), "uint32": pd.UInt32Dtype(),
    "uint64": pd.UInt64Dtype(), "float": pd.Float32Dtype(), "double": pd.Float64Dtype(),
}  # fmt: skip
_TYPES_MAPPERS: dict[str | None, Callable[[pa.DataType], Any] | None] = {
    None: None,
    "pyarrow": pd.ArrowDtype,
    "numpy_nullable": _nullable_type,
}


def _row_labels(numbers: np.ndarray, layout: Layout) -> pd.Index:
    """Return the labels of rows by their numbers in all files: a range where they follow each other."""
    count = len(numbers)
    first = int(numbers[0]) if count else 0
    if count == 0 or int(numbers[-1]) - first == count - 1:
        start = layout.start + layout.step * first
        return pd.RangeIndex(start, start + layout.step * count, layout.step, name=layout.index_name)
    return pd.Index(layout.start + layout.step * numbers, name=layout.index_name)
