"""Reading a partition of Parquet files: which rows are wanted, their columns, and the pandas frame of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from glassloom.dataframe.arrow.blocks import Column, Rows, TableBlock
from glassloom.dataframe.io.chosen_rows import Choice, Places, RowNumbers
from glassloom.dataframe.io.common_types import cast_column
from glassloom.dataframe.io.conditions import Bounds, Columns, Condition, Mask, all_of, columns_of, mask_of, may_hold
from glassloom.dataframe.io.pandas_types import is_plain_text
from glassloom.dataframe.io.parquet_files import (
    FilePiece,
    Partition,
    footer,
    group_bounds,
    hive_array,
    hive_type,
    is_dictionary_encoded,
    small_pieces,
    unchanged,
)
from glassloom.dataframe.io.parquet_filters import filter_expression
from glassloom.dataframe.io.parquet_polars import ReadCondition, imported_polars, is_worthwhile, read_by_polars
from glassloom.dataframe.io.parquet_to_pandas import (
    Layout,
    decoded_text,
    row_labels,
    text_as_codes,
    to_frame,
    values_of,
)
from glassloom.errors import OptionError, ReadError

_SMALL_ROWS = 100_000
"""Row groups are searched for rows in parts of so many rows at least."""
_CACHED_ROWS = 2**17
"""A column of so many numbers is still in the processor's own cache when its rows are chosen, if no other is read meanwhile."""


class _WithoutNaN:
    """Columns of which some have missing values in place of NaN."""

    __iter__ = None

    def __init__(self, columns: Columns, names: Collection[str]) -> None:
        self._columns = columns
        self._names = names

    def __getitem__(self, name: Any) -> pa.ChunkedArray:
        column = self._columns[name]
        if name not in self._names:
            return column
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)


def _masks(columns: Columns, condition: Condition | None, constants: dict[Any, Any], layout: Layout) -> list[Mask]:
    """Return where a condition holds, as pandas decides it, and where the user's filters do, as PyArrow decides it."""
    masks: list[Mask] = []
    if condition:
        as_in_pandas = _WithoutNaN(columns, layout.without_nan) if layout.without_nan else columns
        masks.append(mask_of(condition, as_in_pandas, constants, layout.nullable))
    if layout.where:
        masks.append(mask_of(layout.where, columns, constants, columns_of(layout.where)))
    return masks


def read_partition(partition: Partition, layout: Layout, condition: Condition | None) -> Any:
    """Return the frame of a partition: all rows, or those that fulfil `condition` and the user's filters."""
    table, numbers = _read_table(partition, layout, condition, keeps_codes=False)
    return to_frame(table, numbers, layout)


class _Part(NamedTuple):
    """Rows that were read of a piece, and their numbers in all files."""

    piece: FilePiece
    table: pa.Table
    numbers: list[RowNumbers]

    @property
    def n_rows(self) -> int:
        """How many rows were read: a table without columns doesn't tell."""
        return sum(numbers.n_rows for numbers in self.numbers)


def _read_table(
    partition: Partition, layout: Layout, condition: Condition | None, *, keeps_codes: bool
) -> tuple[pa.Table, list[RowNumbers]]:
    """Return the table of a partition and the numbers of its rows in all files, by parts.

    With `keeps_codes`, text may be codes of a dictionary.
    """
    parts = [_read_piece(piece, layout, condition, keeps_codes=keeps_codes) for piece in partition]
    filled = [part.table for part in parts if part.table.num_rows] or [parts[0].table]
    table = filled[0]
    if len(filled) > 1:
        if keeps_codes and any(not one.schema.equals(table.schema) for one in filled):
            filled = [decoded_text(one, text_as_codes(one, layout)) for one in filled]
        table = pa.concat_tables(filled, promote_options="permissive").unify_dictionaries()
    if layout.hive:
        table = _with_hive_columns(table, parts, layout)
    table = table.replace_schema_metadata(layout.schema.metadata)
    return table, [numbers for part in parts for numbers in part.numbers]


def _with_hive_columns(table: pa.Table, parts: Sequence[_Part], layout: Layout) -> pa.Table:
    for place, column in enumerate(layout.hive):
        if column.name in layout.columns or column.name == layout.index_column:
            values = [(part.piece.hive[place], part.n_rows) for part in parts]
            array = hive_array(column, values)
            table = table.append_column(column.name, array) if table.num_columns else pa.table({column.name: array})
    return table


def _read_piece(piece: FilePiece, layout: Layout, condition: Condition | None, *, keeps_codes: bool) -> _Part:
    """Return the wanted columns and rows of a piece.

    Where rows are chosen, that is done a few row groups at a time, which stay in the processor's caches until then. Columns
    of conditions are read first, one at a time until no row is left, and the others only if any is.
    """
    if not piece.groups:
        return _without_rows(piece, layout)
    wanted = layout.wanted
    one = footer(piece.state, layout.files)
    # The categories of a categorical column are in its data: a partition without rows must have them too.
    needs_data = any(pa.types.is_dictionary(layout.schema.field(name).type) for name in wanted)
    if condition and not needs_data and not may_match(piece, layout, condition):  # `where` has left out others before
        return _without_rows(piece, layout)
    is_local = layout.files.arrow is None
    try:
        conditions = (*(condition or ()), *layout.where)
        encoded = _encoded_text(one, piece, layout.schema, {*wanted, *columns_of(conditions)})
        with (
            unchanged(piece, layout.files),
            pq.ParquetFile(
                layout.files.source(piece.path), metadata=one, pre_buffer=not is_local, read_dictionary=encoded
            ) as file,
        ):
            reader = PieceReader(file, layout, frozenset(encoded), is_local)
            part = _read_by_polars(reader, piece, condition)
            if part is None:
                is_whole = not conditions or needs_data  # parts without rows have no categories
                pieces = [piece] if is_whole else small_pieces(piece, one, _SMALL_ROWS)
                part = _read_parts(reader, pieces, condition, needs_data) or _without_rows(piece, layout)
            return part._replace(table=decoded_text(part.table, [] if keeps_codes else encoded))
    except (ReadError, FileNotFoundError):
        raise
    except (pa.ArrowException, OSError, IndexError) as error:  # an index: of a code beyond its dictionary
        raise ReadError(f"{piece.path!r} can't be read: {error}") from error


def is_left_to_polars(layout: Layout, condition: Condition | None) -> bool:
    """Whether Polars is to read rows, as far as it can."""
    has_categories = any(pa.types.is_dictionary(layout.schema.field(name).type) for name in layout.wanted)
    if layout.files.arrow is not None or layout.filters is not None or has_categories:
        return False
    # All rows PyArrow reads in as little time, on threads that wait for no others.
    is_chosen = bool(condition or layout.where) or layout.engine == "polars"
    return is_chosen and is_worthwhile(layout.engine, layout.n_values)


def _read_by_polars(reader: PieceReader, piece: FilePiece, condition: Condition | None) -> _Part | None:
    """Return the wanted rows of a piece as Polars reads them, and PyArrow text that is codes; None: it is left to PyArrow."""
    layout = reader.layout
    polars = imported_polars(layout.engine) if is_left_to_polars(layout, condition) else None
    if polars is None:
        return None
    constants = hive_constants(piece, layout)
    conditions = [ReadCondition(condition, layout.nullable, layout.without_nan)] if condition else []
    conditions += [ReadCondition(layout.where, columns_of(layout.where))] if layout.where else []
    of_conditions = [name for one in conditions for name in columns_of(one.condition) if name not in constants]
    own = [name for name in layout.wanted if name not in reader.encoded]
    if not of_conditions and not own:
        return None
    read = read_by_polars(polars, piece, layout.files, layout.schema, own, conditions, of_conditions)
    if read is None:
        return None
    columns = dict(zip(read.table.column_names, read.table.columns, strict=True))
    choice: Choice | Places | None = None if read.places is None else Places(read.places)
    if conditions and not read.is_exact:
        mask = _rows_where(_masks(columns, condition, constants, layout), read.table.num_rows)
        if mask is not None:
            again = Choice(mask)
            columns = {name: again.of(column) for name, column in columns.items()}
            choice = again if read.places is None else Places(read.places[mask])
    if choice is not None and not choice.count:
        return _without_rows(piece, layout)
    codes = reader.columns(piece, [name for name in layout.wanted if name in reader.encoded])
    columns |= codes if choice is None else {name: choice.of(column) for name, column in codes.items()}
    table = pa.Table.from_arrays([columns[name] for name in layout.wanted], names=layout.wanted)
    return _Part(piece, table, [RowNumbers(range(piece.first_row, piece.first_row + piece.n_rows), choice)])


def _without_rows(piece: FilePiece, layout: Layout) -> _Part:
    return _Part(piece, layout.schema.empty_table().select(layout.wanted), [])


class PieceReader(NamedTuple):
    """An open file; `encoded` are the columns of text that are read as codes of a dictionary."""

    file: Any
    layout: Layout
    encoded: frozenset[str]
    is_local: bool

    def columns(self, piece: FilePiece, names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        """Return columns of all rows of a piece, of the types that they have in all files together."""
        if not names:
            return {}
        table = read_groups(self.file, piece, list(names))
        read = dict(zip(table.column_names, table.columns, strict=True))
        return {name: self._column(read.get(name), piece, self.layout.schema.field(name)) for name in names}

    def _column(self, column: pa.ChunkedArray | None, piece: FilePiece, field: pa.Field) -> pa.ChunkedArray:
        if column is None:
            return self._absent(piece, field)
        kind, wanted = column.type, field.type
        if kind.equals(wanted):
            return column
        if pa.types.is_null(kind) or _are_missing(column, wanted):
            return pa.chunked_array([pa.nulls(len(column), wanted)])
        if field.name in self.encoded:
            return column
        if pa.types.is_dictionary(wanted) and (
            not pa.types.is_dictionary(kind) or kind.value_type.equals(wanted.value_type)
        ):
            return column  # codes of another width: tables of such are put together
        return cast_column(column, field, piece.path, self.layout.like)

    def _absent(self, piece: FilePiece, field: pa.Field) -> pa.ChunkedArray:
        """Return a column that a file lacks: its values are missing, unless they are the labels that the file notes."""
        if field.name != self.layout.index_column or piece.labels is None:
            return pa.chunked_array([pa.nulls(piece.n_rows, field.type)])
        start, step = piece.labels
        labels = start + step * np.arange(piece.first_row, piece.first_row + piece.n_rows)
        return pa.chunked_array([pa.array(labels).cast(field.type)])


class _ColumnsOfPiece(dict[str, pa.ChunkedArray]):
    """Columns of all rows of a piece, each read when it is asked for; `needed` all at once where that takes a request."""

    def __init__(self, reader: PieceReader, piece: FilePiece, needed: Sequence[str]) -> None:
        super().__init__()
        self.reader = reader
        self.piece = piece
        self._needed = [] if reader.is_local else needed

    def __missing__(self, name: str) -> pa.ChunkedArray:
        self._read(self._needed if name in self._needed else [name])
        return self[name]

    def _read(self, names: Sequence[str]) -> None:
        self.update(self.reader.columns(self.piece, [name for name in names if name not in self]))

    def chosen(self, names: Sequence[str], choice: Choice | None) -> list[pa.ChunkedArray]:
        """Return the chosen rows of columns; None: all rows."""
        if choice is None or not self.reader.is_local or self.piece.n_rows > _CACHED_ROWS:
            self._read(names)
        if choice is None:
            return [self[name] for name in names]
        return [choice.of(self[name]) for name in names]


def _read_parts(
    reader: PieceReader, pieces: Sequence[FilePiece], condition: Condition | None, needs_data: bool
) -> _Part | None:
    """Return the rows of the pieces of one file; None: there are none."""
    layout = reader.layout
    wanted = layout.wanted
    constants = hive_constants(pieces[0], layout)
    needed = [name for name in columns_of((*(condition or ()), *layout.where)) if name not in constants]
    numbers, found = [], []
    for piece in pieces:
        columns = _ColumnsOfPiece(reader, piece, needed)
        mask = _mask(columns, condition, constants)
        choice = None if mask is None else Choice(mask)
        if choice is None or choice.count or needs_data:
            numbers.append(RowNumbers(range(piece.first_row, piece.first_row + piece.n_rows), choice))
            found.append(columns.chosen(wanted, choice))
    if not found:
        return None
    read = [_put_together(parts) for parts in zip(*found, strict=True)]
    return _Part(pieces[0], pa.Table.from_arrays(read, names=wanted), numbers)


def _put_together(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    if len(columns) == 1:
        return columns[0]
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], type=columns[0].type)


def _encoded_text(one: Any, piece: FilePiece, schema: pa.Schema, names: Collection[Any]) -> list[str]:
    """Return the columns of text that are codes of a dictionary in a piece."""
    found = []
    for name in names:
        place = schema.get_field_index(name)
        kind = schema.field(place).type if place >= 0 else None
        is_text = kind is not None and is_plain_text(kind)
        if is_text and is_dictionary_encoded(one, piece.groups, name, place):
            found.append(name)
    return found


def _mask(columns: _ColumnsOfPiece, condition: Condition | None, constants: dict[Any, Any]) -> np.ndarray | None:
    """Return where rows of a piece are wanted; None: everywhere."""
    layout, piece = columns.reader.layout, columns.piece
    masks = _masks(columns, condition, constants, layout)
    if layout.filters is not None:
        masks.append(_filter_mask(columns.reader.file, piece, layout))
    return _rows_where(masks, piece.n_rows)


def _rows_where(masks: Sequence[Mask], n_rows: int) -> np.ndarray | None:
    """Return where all masks of so many rows hold; None: everywhere."""
    if not masks:
        return None
    mask = all_of(masks)
    if isinstance(mask, pa.Scalar):
        return None if mask.as_py() else np.zeros(n_rows, dtype=bool)
    return mask if isinstance(mask, np.ndarray) else pc.fill_null(mask, False).to_numpy()


def read_groups(file: Any, piece: FilePiece, columns: list[str] | None) -> pa.Table:
    """Return columns of the row groups of a piece; None: all."""
    return file.read_row_groups(list(piece.groups), columns=columns, use_threads=False)


def hive_constants(piece: FilePiece, layout: Layout) -> dict[Any, Any]:
    """Return the columns whose values are the same in all rows of a file."""
    return {column.name: value for column, value in zip(layout.hive, piece.hive, strict=True)}


# The user's filters, which PyArrow's scanner evaluates: they have its semantics.


def fragment_of(piece: FilePiece, layout: Layout) -> Any:
    """Return the row groups of a piece as PyArrow's dataset has them."""
    equal = None
    for column, value in zip(layout.hive, piece.hive, strict=True):
        field = ds.field(column.name)
        one = field.is_null() if value is None else field == pa.scalar(value, hive_type(column).value_type)
        equal = one if equal is None else equal & one
    options: dict[str, Any] = {} if equal is None else {"partition_expression": equal}
    filesystem = layout.files.arrow or pa.fs.LocalFileSystem()
    whole = ds.ParquetFileFormat().make_fragment(piece.path, filesystem=filesystem, **options)
    return whole.subset(row_group_ids=list(piece.groups))  # make_fragment(row_groups=) takes them in any order


def whole_schema(layout: Layout) -> pa.Schema:
    """Return the schema with the columns of folders' names."""
    schema = layout.schema
    for column in layout.hive:
        schema = schema.append(pa.field(column.name, hive_type(column).value_type))
    return schema


def _filter_mask(file: Any, piece: FilePiece, layout: Layout) -> Any:
    """Return where the filters hold: the scanner reads only the columns that they name.

    Raises
    ------
    OptionError
        If the filters can't be applied to the values, which can be read.
    """
    scanner = fragment_of(piece, layout).scanner(
        schema=whole_schema(layout), columns={"kept": filter_expression(layout.filters)}, use_threads=False
    )
    try:
        return scanner.to_table()["kept"]
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        read_groups(file, piece, None)
        first = str(error).partition("\n")[0]
        raise OptionError(f"filters={layout.filters!r} can't be applied to {piece.path!r}: {first}") from error


# Statistics.


def may_match(piece: FilePiece, layout: Layout, condition: Condition) -> bool:
    """Whether any row of a piece may fulfil a condition, by the footer's smallest and largest values."""
    if not piece.groups:
        return False
    return any(may_hold(condition, _bounds_finder(piece, layout, group)) for group in piece.groups)


def _bounds_finder(piece: FilePiece, layout: Layout, group: int) -> Callable[[Any], Bounds | None]:
    constants = hive_constants(piece, layout)

    def bounds_of(column: Any) -> Bounds | None:
        if column == layout.index_column and piece.labels is not None:
            return None
        if column in constants:
            value = constants[column]
            return Bounds(value, value, value is None, value is not None)
        place = layout.schema.get_field_index(column)
        return group_bounds(footer(piece.state, layout.files), group, column, layout.schema.field(column).type, place)

    return bounds_of


# From Arrow to pandas.


def read_block(
    partition: Partition, layout: Layout, condition: Condition | None, labels: pd.Index, dtypes: tuple[Any, ...]
) -> TableBlock:
    """Return a partition as a block: its rows are those of `read_partition`, its columns have these labels and dtypes."""
    table, numbers = _read_table(partition, layout, condition, keeps_codes=True)

    def whole(columns: Sequence[Any]) -> Any:
        kept = [name for name in layout._replace(columns=tuple(columns)).wanted]
        chosen = table.select(kept)
        return to_frame(
            decoded_text(chosen, text_as_codes(chosen, layout)), numbers, layout._replace(columns=tuple(columns))
        )

    def index() -> pd.Index:
        return row_labels(numbers, layout) if layout.index_column is None else whole(()).index

    columns = {name: Column(values_of(table[name], dtype)) for name, dtype in zip(layout.columns, dtypes, strict=True)}
    return TableBlock(columns, labels, Rows(sum(part.n_rows for part in numbers), index), whole)


def _are_missing(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    """Whether a column that should be of categories has no values, so that its file has no categories."""
    is_plain = pa.types.is_dictionary(kind) and not pa.types.is_dictionary(column.type)
    return is_plain and column.null_count == len(column)
