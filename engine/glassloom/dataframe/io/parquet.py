"""Parquet: folders of files, read by row group. Only the footers are read when the frame is made."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.columns import unknown_columns
from glassloom.dataframe.io.paths import PathLike, file_state, find_files
from glassloom.dataframe.io.read import Read, Source
from glassloom.dataframe.wrap import wrap
from glassloom.errors import OptionError, ReadError
from glassloom.graph import tokenize

_SUFFIXES = (".parquet", ".parq", ".pq")
_FOOTER_THREADS = 8
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": pc.equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


class Piece(NamedTuple):
    """Some row groups of a file. `state` tells the version of the file whose footer was read."""

    path: str
    state: tuple[str, int, int]
    groups: tuple[int, ...]
    first_row: int
    n_rows: int


class Layout(NamedTuple):
    """How a table becomes a frame.

    `index_column` names the column that becomes the index; if None, rows are numbered from `start` in steps of `step`.
    `casts` are integer and boolean columns that have missing values in some partition, and get the dtype that pandas
    gives to such columns in all partitions.
    """

    columns: tuple[str, ...]
    index_column: str | None
    index_name: Any
    start: int
    step: int
    casts: dict[str, str]
    filters: Any
    schema: pa.Schema


class ParquetSource(Source):
    """Row groups of Parquet files."""

    label = "read-parquet"
    can_project = True

    def __init__(self, pieces: list[Piece], layout: Layout, divisions: tuple[Any, ...], token: str) -> None:
        self.pieces = pieces
        self.layout = layout
        self.schema = layout.schema
        self.divisions = divisions
        self.lengths = None if layout.filters is not None else tuple(piece.n_rows for piece in pieces)
        self.can_filter = layout.filters is None
        self.token = token
        self.meta = _to_frame(self.schema.empty_table(), np.empty(0, dtype="int64"), layout)

    def piece(self, number: int) -> Any:
        return self.pieces[number]

    def reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any]:
        layout = self.layout if columns is None else self.layout._replace(columns=tuple(columns))
        return BlockCall(_read_piece, (Block(0), layout, condition), label=self.label)

    def accepts(self, column: Any, operator: str, value: Any) -> bool:
        """See `Source.accepts`. Missing values compare false both in pandas and in Arrow; "!=" differs."""
        if operator not in _COMPARISONS or column not in self.schema.names:
            return False
        kind = self.schema.field(column).type
        if isinstance(value, bool) or column in self.layout.casts:
            return False
        if isinstance(value, str):
            return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
        if isinstance(value, int):
            return (bool(pa.types.is_integer(kind)) and _can_hold(kind, value)) or (
                bool(pa.types.is_float64(kind)) and abs(value) <= 1 << 53
            )
        return isinstance(value, float) and value == value and bool(pa.types.is_float64(kind))


def read_parquet(
    paths: PathLike | Sequence[PathLike],
    *,
    columns: Sequence[str] | None = None,
    index: str | bool | None = None,
    filters: Any = None,
    partition_by: str = "row_group",
) -> Any:
    """Read Parquet files into a frame. Only the footers are read at once.

    Parameters
    ----------
    paths
        A file, a glob, a folder of Parquet files, or a list of those, all of one schema.
    columns
        The columns to read, in this order. Default: all. Columns that turn out not to be needed aren't read anyway.
    index
        The column to make the index; False for none. Default: the one that pandas noted when it wrote the files.
        Without such a column, rows are numbered through all files, or as pandas noted if there is one file.
    filters
        Rows to read, as pyarrow takes them: ``[("x", ">", 0), ("name", "in", ["a", "b"])]``, or a list of such lists,
        of which one must be fulfilled. The remaining rows keep the numbers that they have without `filters`.
    partition_by
        ``"row_group"`` or ``"file"``: what becomes a partition.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ReadError
        If a file is damaged, isn't Parquet, or has another schema than the first one.
    UnknownColumn
        If a column in `columns` or `index` doesn't exist.

    Examples
    --------
    >>> import pandas as pd
    >>> import tempfile
    >>> import glassloom.dataframe as gd
    >>> file = tempfile.mkdtemp() + "/a.parquet"
    >>> pd.DataFrame({"x": [1, 2], "y": [3, 4]}).to_parquet(file)
    >>> len(gd.read_parquet(file))
    2
    """
    if partition_by not in ("row_group", "file"):
        raise OptionError(f"partition_by={partition_by!r} should be 'row_group' or 'file'")
    files = find_files(paths, _SUFFIXES)
    states = [file_state(path) for path in files]
    files = [state[0] for state in states]
    with ThreadPoolExecutor(min(_FOOTER_THREADS, len(files))) as pool:
        footers = list(pool.map(_footer, states))
    schema = _common_schema(files, footers)
    pieces = _pieces(files, states, footers, by_file=partition_by == "file")
    layout = _layout(schema, footers, columns, index, filters)
    divisions = _divisions(pieces, footers, files, layout)
    token = tokenize(pieces, layout._replace(schema=str(schema)))
    return wrap(Read(ParquetSource(pieces, layout, divisions, token), None, None, None))


@lru_cache(maxsize=256)
def _footer(state: tuple[str, int, int]) -> Any:
    """Return a file's metadata; kept, because each of its row groups needs it."""
    path = state[0]
    try:
        return pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"{path!r} can't be read as Parquet: {error}") from error


def _common_schema(files: list[str], footers: list[Any]) -> pa.Schema:
    """Return the schema of all files. A column without values has no type: it has that of the other files.

    Raises
    ------
    ReadError
        If files differ in another way.
    """
    schemas = [footer.schema.to_arrow_schema() for footer in footers]
    common = schemas[0]
    for place, field in enumerate(common):
        if pa.types.is_null(field.type):
            others = (schema.field(field.name) for schema in schemas if field.name in schema.names)
            typed = next((other for other in others if not pa.types.is_null(other.type)), field)
            common = common.set(place, typed)
    for path, schema in zip(files, schemas, strict=True):
        if not schema.equals(common):
            _require_schema(path, schema, files[0], common)
    return common


def _require_schema(path: str, schema: pa.Schema, first_path: str, first: pa.Schema) -> None:
    for field in first:
        if field.name not in schema.names:
            raise ReadError(f"{path!r} lacks column {field.name!r}, which {first_path!r} has")
        other = schema.field(field.name)
        if not other.type.equals(field.type) and not pa.types.is_null(other.type):
            raise ReadError(f"column {field.name!r} is {other.type} in {path!r}, but {field.type} in {first_path!r}")


def _pieces(files: list[str], states: list[Any], footers: list[Any], *, by_file: bool) -> list[Piece]:
    pieces: list[Piece] = []
    row = 0
    for path, state, footer in zip(files, states, footers, strict=True):
        if by_file or footer.num_row_groups == 0:
            pieces.append(Piece(path, state, tuple(range(footer.num_row_groups)), row, footer.num_rows))
            row += footer.num_rows
            continue
        for group in range(footer.num_row_groups):
            n_rows = footer.row_group(group).num_rows
            pieces.append(Piece(path, state, (group,), row, n_rows))
            row += n_rows
    return pieces


def _layout(
    schema: pa.Schema, footers: list[Any], columns: Sequence[str] | None, index: str | bool | None, filters: Any
) -> Layout:
    noted = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    index_column, index_name, start, step = None, None, 0, 1
    if isinstance(index, str):
        if index not in schema.names:
            raise unknown_columns([index], schema.names)
        index_column = index_name = index
    elif index is None:
        index_column, index_name, start, step = _index_of_metadata(noted, footers)
    noted_columns = [name for name in noted.get("index_columns", []) if isinstance(name, str)]
    everything = [name for name in schema.names if name != index_column]
    if index is None:
        everything = [name for name in everything if name not in noted_columns]
    if columns is not None:
        unknown = [name for name in columns if name not in schema.names]
        if unknown:
            raise unknown_columns(unknown, everything)
        everything = list(columns)
    return Layout(
        tuple(everything), index_column, index_name, start, step, _casts(schema, footers, everything), filters, schema
    )


def _index_of_metadata(noted: dict[str, Any], footers: list[Any]) -> tuple[str | None, Any, int, int]:
    """Return the index column, the index's name, and the first number and step if there is no column."""
    described = noted.get("index_columns", [])
    if len(described) > 1:
        raise ReadError(f"the files have an index of {len(described)} levels; choose one with index=, or index=False")
    if not described:
        return None, None, 0, 1
    (only,) = described
    if isinstance(only, str):
        names = {column.get("field_name"): column.get("name") for column in noted.get("columns", [])}
        return only, names.get(only), 0, 1
    fits = len(footers) == 1 and len(range(only["start"], only["stop"], only["step"])) == footers[0].num_rows
    return (None, only.get("name"), only["start"], only["step"]) if fits else (None, only.get("name"), 0, 1)


def _casts(schema: pa.Schema, footers: list[Any], columns: list[str]) -> dict[str, str]:
    """Return what pandas makes of integer and boolean columns that have missing values somewhere."""
    casts: dict[str, str] = {}
    noted = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    numpy_types = {column.get("field_name"): column.get("numpy_type") for column in noted.get("columns", [])}
    for place, field in enumerate(schema):
        numeric = pa.types.is_integer(field.type) or pa.types.is_boolean(field.type)
        if field.name not in columns or not numeric or str(numpy_types.get(field.name, ""))[:1] in ("I", "U", "b"):
            continue
        if any(_has_missing(footer, field.name, place) for footer in footers):
            casts[field.name] = "object" if pa.types.is_boolean(field.type) else "float64"
    return casts


def _has_missing(footer: Any, name: str, place: int) -> bool:
    for group in range(footer.num_row_groups):
        statistics = _statistics(footer, group, name, place)
        if statistics is not None and statistics.has_null_count and statistics.null_count:
            return True
    return False


def _statistics(footer: Any, group: int, name: str, place: int | None = None) -> Any:
    """Return the statistics of a column in a row group, or None."""
    row_group = footer.row_group(group)
    places = range(row_group.num_columns) if place is None or place >= row_group.num_columns else (place,)
    for candidate in places:
        column = row_group.column(candidate)
        if column.path_in_schema == name:
            return column.statistics if column.is_stats_set else None
    return None if place is None else _statistics(footer, group, name)


def _divisions(pieces: list[Piece], footers: list[Any], files: list[str], layout: Layout) -> tuple[Any, ...]:
    """Return the divisions that row numbers or the footers' statistics of the index column yield."""
    unknown = (None,) * (len(pieces) + 1)
    if any(piece.n_rows == 0 for piece in pieces):
        return unknown
    if layout.index_column is None:
        if layout.step < 1:
            return unknown
        last = pieces[-1].first_row + pieces[-1].n_rows - 1
        return tuple(layout.start + layout.step * row for row in [*(piece.first_row for piece in pieces), last])
    by_file = dict(zip(files, footers, strict=True))
    lows, highs = [], []
    for piece in pieces:
        for group in piece.groups:
            statistics = _statistics(by_file[piece.path], group, layout.index_column)
            if statistics is None or not statistics.has_min_max or statistics.null_count:
                return unknown
        low = [_statistics(by_file[piece.path], group, layout.index_column).min for group in piece.groups]
        high = [_statistics(by_file[piece.path], group, layout.index_column).max for group in piece.groups]
        lows.append(min(low))
        highs.append(max(high))
    if any(high >= low for high, low in zip(highs, lows[1:], strict=False)):
        return unknown
    return tuple(_label(value) for value in [*lows, highs[-1]])


def _label(value: Any) -> Any:
    return pd.Timestamp(value) if hasattr(value, "year") else value


def _read_piece(piece: Piece, layout: Layout, condition: tuple[tuple[str, str, Any], ...] | None) -> Any:
    """Read row groups; with a condition, first the columns in it, and the others only if any row is left."""
    footer = _footer(piece.state)
    wanted = list(dict.fromkeys([*layout.columns, *([layout.index_column] if layout.index_column else [])]))
    # The categories of a categorical column are in its data: a partition without rows must have them too.
    has_categories = any(pa.types.is_dictionary(layout.schema.field(name).type) for name in wanted)
    if condition and not has_categories and not _may_match(footer, piece.groups, condition):
        schema = footer.schema.to_arrow_schema()
        return _to_frame(schema.empty_table(), np.empty(0, dtype="int64"), layout)
    numbers = np.arange(piece.first_row, piece.first_row + piece.n_rows)
    try:
        with pq.ParquetFile(piece.path, metadata=footer) as file:
            if layout.filters is not None:
                return _read_filtered(file, piece, layout, wanted, numbers)
            if not condition:
                return _to_frame(_groups(file, piece, wanted), numbers, layout)
            named = list(dict.fromkeys(column for column, _, _ in condition))
            first = _groups(file, piece, named)
            mask = None
            for column, operator, value in condition:
                fulfilled = pc.fill_null(_COMPARISONS[operator](first[column], value), False)
                mask = fulfilled if mask is None else pc.and_(mask, fulfilled)
            if not pc.any(mask).as_py():
                none = _groups(file, piece, wanted).slice(0, 0) if has_categories else file.schema_arrow.empty_table()
                return _to_frame(none, numbers[:0], layout)
            rest = [name for name in wanted if name not in named]
            table = _groups(file, piece, rest) if rest else first
            if rest:
                for name in named:
                    if name in wanted:
                        table = table.append_column(first.schema.field(name), first[name])
            return _to_frame(table.filter(mask), numbers[np.asarray(mask)], layout)
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"{piece.path!r} can't be read: {error}") from error


def _groups(file: Any, piece: Piece, columns: list[str]) -> pa.Table:
    if not piece.groups:
        return file.schema_arrow.empty_table().select(columns)
    return file.read_row_groups(list(piece.groups), columns=columns, use_threads=False)


def _read_filtered(file: Any, piece: Piece, layout: Layout, wanted: list[str], numbers: np.ndarray) -> Any:
    """Return the rows that fulfil the user's `filters`, numbered as they are in the file."""
    expression = pq.filters_to_expression(layout.filters) if isinstance(layout.filters, list) else layout.filters
    table = _groups(file, piece, file.schema_arrow.names)
    marked = table.append_column("__glassloom_row__", pa.array(numbers))
    kept = marked.filter(expression)
    if not kept.num_rows:
        kept = marked.slice(0, 0)  # which keeps the categories of categorical columns
    return _to_frame(kept.select(wanted), kept["__glassloom_row__"].to_numpy(), layout)


def _may_match(footer: Any, groups: tuple[int, ...], condition: tuple[tuple[str, str, Any], ...]) -> bool:
    """Whether any row of the groups may fulfil the condition, by the footer's smallest and largest values."""
    return any(all(_group_may_match(footer, group, *one) for one in condition) for group in groups)


def _group_may_match(footer: Any, group: int, column: str, operator: str, value: Any) -> bool:
    statistics = _statistics(footer, group, column)
    if statistics is None or not statistics.has_min_max:
        return True
    low, high = statistics.min, statistics.max
    if isinstance(low, str) != isinstance(value, str):
        return True
    if operator == "==":
        return bool(low <= value <= high)
    if operator in ("<", "<="):
        return bool(low < value or (operator == "<=" and low == value))
    return bool(high > value or (operator == ">=" and high == value))


def _to_frame(table: pa.Table, numbers: np.ndarray, layout: Layout) -> Any:
    """Return the frame of a table: pandas' dtypes, the index, and the columns in order."""
    if not layout.columns and layout.index_column is None:
        return pd.DataFrame(index=_row_labels(numbers, layout))
    for place, field in enumerate(table.schema):
        if pa.types.is_null(field.type) and field.name in layout.schema.names:
            typed = layout.schema.field(field.name)
            table = table.set_column(place, typed, table[place].cast(typed.type))
    made = _plain_to_pandas(
        table.select([name for name in table.schema.names if name in layout.columns or name == layout.index_column])
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
    return made[list(layout.columns)]


def _plain_to_pandas(table: pa.Table) -> Any:
    """Return a frame with pandas' dtypes as they were noted, but without an index."""
    metadata = dict(table.schema.metadata or {})
    if b"pandas" in metadata:
        noted = json.loads(metadata[b"pandas"])
        noted["index_columns"] = []
        for column in noted.get("columns", []):
            column["name"] = column.get("field_name", column.get("name"))
        metadata[b"pandas"] = json.dumps(noted).encode()
    return table.replace_schema_metadata(metadata).to_pandas(use_threads=False)


def _row_labels(numbers: np.ndarray, layout: Layout) -> pd.Index:
    """Return the labels of rows by their numbers in all files: a range where they follow each other."""
    count = len(numbers)
    first = int(numbers[0]) if count else 0
    if count == 0 or int(numbers[-1]) - first == count - 1:
        start = layout.start + layout.step * first
        return pd.RangeIndex(start, start + layout.step * count, layout.step, name=layout.index_name)
    return pd.Index(layout.start + layout.step * numbers, name=layout.index_name)


def _can_hold(kind: pa.DataType, value: int) -> bool:
    bits = kind.bit_width
    low, high = (
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if pa.types.is_signed_integer(kind) else (0, (1 << bits) - 1)
    )
    return low <= value <= high
