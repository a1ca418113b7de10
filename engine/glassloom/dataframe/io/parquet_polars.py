"""Rows of Parquet files read by Polars, where it is installed: of what a condition leaves out it decodes no other columns.

Polars is asked for the rows that may fulfil a condition. Where its comparisons don't mean what ours do, which follow pandas, it keeps
more rows, and the condition is checked again as for rows that PyArrow reads. What it can't read, PyArrow reads.
"""

from __future__ import annotations

import operator
import os
import sys
import threading
from collections.abc import Collection, Sequence
from functools import cache, lru_cache, reduce
from importlib import metadata, util
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from glassloom.dataframe.io.conditions import Comparison, Condition, Either, Term, arrow_values
from glassloom.dataframe.io.filesystems import Files, State
from glassloom.dataframe.io.pandas_types import is_plain_text
from glassloom.dataframe.io.parquet_files import FilePiece, footer
from glassloom.dataframe.io.parquet_pages import has_sound_pages, places_of

LEAST_VERSION = 2
"""The first version that is used: of others it isn't known whether their results are the same."""
_WORTH_LOADING = 8_000_000
"""Values: to read fewer takes less time than to import Polars."""
_MOST_ROWS = (1 << 32) - 1
"""Rows in a file: Polars counts them in 32 bits."""
_ROW_NUMBER = "__glassloom_row_number__"
_MOST_ALTERNATIVES = 32
"""Of conditions one of which is to hold: Polars takes time for each that grows with their number."""
_COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_in_forked_child = False
_importing, _has_imported = threading.Event(), threading.Event()


def _note_fork() -> None:
    global _in_forked_child
    _in_forked_child = _importing.is_set() or "polars" in sys.modules  # its threads are the parent's


os.register_at_fork(after_in_child=_note_fork)


@cache
def is_installed() -> bool:
    """Whether a version of Polars is installed that files are read with."""
    if util.find_spec("polars") is None:
        return False
    try:
        return int(metadata.version("polars").partition(".")[0]) >= LEAST_VERSION
    except (metadata.PackageNotFoundError, ValueError):
        return False


def is_worthwhile(engine: str, n_values: int) -> bool:
    """Whether to read so many values by Polars."""
    if engine == "pyarrow" or _in_forked_child or not is_installed():
        return False
    return engine == "polars" or "polars" in sys.modules or n_values >= _WORTH_LOADING


def imported_polars(engine: str) -> ModuleType | None:
    """Return Polars; None while it is being imported, which takes a quarter of a second: unless it is asked for, no read waits for that."""
    if engine == "polars":
        import polars

        return polars
    if not _importing.is_set():
        _importing.set()
        threading.Thread(target=_import, name="glassloom-import-polars").start()
    return sys.modules["polars"] if _has_imported.is_set() else None


def _import() -> None:
    try:
        import polars  # noqa: F401
    except ImportError:  # a broken one: PyArrow goes on reading
        return
    _has_imported.set()


class ReadCondition(NamedTuple):
    """A condition, the columns whose comparisons with missing values are missing, and those in which NaN is a missing value."""

    condition: Condition
    nullable: Collection[Any]
    without_nan: Collection[Any] = ()


class PolarsRows(NamedTuple):
    """Rows of a piece. `places` are their numbers in it, None if all were read; `is_exact`: all that remain fulfil the condition."""

    table: pa.Table
    places: np.ndarray | None
    is_exact: bool


def read_by_polars(
    polars: ModuleType,
    piece: FilePiece,
    files: Files,
    schema: pa.Schema,
    wanted: Sequence[str],
    conditions: Sequence[ReadCondition],
    of_conditions: Collection[str],
) -> PolarsRows | None:
    """Return columns of the rows of a piece that may fulfil conditions; None if Polars can't read them as PyArrow does.

    Parameters
    ----------
    schema
        The types that the columns should have.
    of_conditions
        The columns of the conditions that the file has: they are returned, too, if the conditions have to be checked again.
    """
    start = _first_row_in_file(piece, files)
    readable = _readable(piece.state, files)
    names = sorted({*wanted, *of_conditions})
    if start is None or not all(readable.get(name) == schema.field(name).type for name in names):
        return None
    places = places_of(footer(piece.state, files), names)
    if places is None or not has_sound_pages(piece.state, files, piece.groups, places):
        return None  # of what a damaged header asks for Polars may end the process
    chosen = _all_of([_Translation(polars, readable, one).of(one.condition) for one in conditions])
    read = list(wanted if chosen.is_exact else dict.fromkeys([*wanted, *of_conditions]))
    is_filtered = chosen.expression is not None
    try:
        rows = polars.scan_parquet(
            piece.path,
            row_index_name=_ROW_NUMBER if is_filtered else None,
            use_statistics=False,  # row groups without such rows are left out before
            hive_partitioning=False,
            glob=False,
        ).slice(start, piece.n_rows)
        if is_filtered:
            rows = rows.filter(chosen.expression)
        made = rows.select([_ROW_NUMBER, *read] if is_filtered else read).collect().to_arrow()
        columns = [_of_type(made[name], schema.field(name).type) for name in read]
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError, UnicodeError, pa.ArrowException):
        return None  # PyArrow reads it, or says what is wrong
    if any(column is None for column in columns) or not (is_filtered or made.num_rows == piece.n_rows):
        return None
    numbers = made[_ROW_NUMBER].to_numpy().astype(np.int64) - start if is_filtered else None
    return PolarsRows(pa.Table.from_arrays(columns, names=read), numbers, chosen.is_exact)


def _of_type(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    if column.type.equals(kind):
        return column
    return column.cast(kind) if is_plain_text(column.type) and is_plain_text(kind) else None


def _first_row_in_file(piece: FilePiece, files: Files) -> int | None:
    """Return the number of a piece's first row in its file; None if its row groups don't follow each other there, or are too far."""
    groups = piece.groups
    if groups != tuple(range(groups[0], groups[0] + len(groups))):
        return None
    one = footer(piece.state, files)
    first = sum(one.row_group(group).num_rows for group in range(groups[0]))
    return first if one.num_rows <= _MOST_ROWS else None


@lru_cache(maxsize=1024)
def _readable(state: State, files: Files) -> dict[str, pa.DataType]:
    """Return the types of those columns of a file that Polars reads as PyArrow does, as far as we know."""
    import polars

    schema = footer(state, files).schema.to_arrow_schema()
    if len(set(schema.names)) < len(schema.names) or _ROW_NUMBER in schema.names:
        return {}
    try:
        dtypes = polars.read_parquet_schema(state[0])
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError, UnicodeError):
        return {}
    return {
        field.name: field.type
        for field in schema
        if _is_readable(field.type)
        and not _is_pattern(field.name)
        and dtypes.get(field.name) == _dtype_of(polars, field.type)
    }


def _is_pattern(name: str) -> bool:
    """Whether Polars takes a name for those of several columns."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def _dtype_of(polars: ModuleType, kind: pa.DataType) -> Any:
    return polars.from_arrow(pa.array([], kind)).dtype


def _is_readable(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_boolean(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_float32(kind)
        or pa.types.is_float64(kind)
        or pa.types.is_date32(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or (pa.types.is_timestamp(kind) and kind.tz is None and kind.unit != "s")
    )


class _Wanted(NamedTuple):
    """Rows as Polars is asked for them; None: all. `is_exact`: no others than those that fulfil the condition."""

    expression: Any
    is_exact: bool


_ALL_ROWS = _Wanted(None, False)


def _all_of(parts: Sequence[_Wanted]) -> _Wanted:
    known = [part.expression for part in parts if part.expression is not None]
    return _Wanted(reduce(operator.and_, known) if known else None, all(part.is_exact for part in parts))


class _Translation(NamedTuple):
    """Makes expressions of Polars of conditions. Of what has no such expression all rows are kept."""

    polars: ModuleType
    kinds: dict[str, pa.DataType]
    asked: ReadCondition

    def of(self, condition: Condition) -> _Wanted:
        """Return where all terms may hold."""
        return _all_of([self._term(term) for term in condition])

    def _term(self, term: Term) -> _Wanted:
        if isinstance(term, Comparison):
            return self._comparison(term)
        # More rows than those of a condition would be too few of its opposite.
        if not isinstance(term, Either) or not 0 < len(term.conditions) <= _MOST_ALTERNATIVES:
            return _ALL_ROWS
        parts = [self.of(part) for part in term.conditions]
        if any(part.expression is None for part in parts):
            return _ALL_ROWS
        expression = reduce(operator.or_, (part.expression for part in parts))
        return _Wanted(expression, all(part.is_exact for part in parts))

    def _comparison(self, term: Comparison) -> _Wanted:
        kind = self.kinds.get(term.column)
        if kind is None:
            return _ALL_ROWS
        column = self.polars.col(term.column)
        if term.column in self.asked.without_nan:
            column = column.fill_nan(None)
        is_float = pa.types.is_floating(kind)
        if term.operator in ("isna", "notna"):
            is_missing = column.is_null() | column.is_nan() if is_float else column.is_null()
            return _Wanted(is_missing if term.operator == "isna" else ~is_missing, True)
        if term.operator == "in":
            if not term.value or any(value is None or value != value for value in term.value):
                return _ALL_ROWS
            return _Wanted(column.is_in(self.polars.from_arrow(arrow_values(term.value, kind)).implode()), True)
        value = self._literal(term.value, kind) if term.operator in _COMPARE else None
        if value is None:
            return _ALL_ROWS
        expression = _COMPARE[term.operator](column, value)
        if term.operator == "!=" and term.column not in self.asked.nullable:
            expression = expression | column.is_null()
        elif is_float and term.operator in (">", ">="):
            expression = expression & column.is_not_nan()  # to Polars it is larger than any number
        return _Wanted(expression, True)

    def _literal(self, value: Any, kind: pa.DataType) -> Any:
        """Return a constant as a value of a type; None if that isn't certain."""
        pl = self.polars
        if pa.types.is_timestamp(kind):
            stamp = pd.Timestamp(value)
            if stamp is pd.NaT or stamp.tzinfo is not None:
                return None
            count = int(stamp.as_unit(kind.unit).asm8.view("int64"))
            return pl.lit(count, dtype=pl.Int64).cast(pl.Datetime(kind.unit))
        is_of_kind = {
            int: pa.types.is_integer(kind),
            float: pa.types.is_float64(kind) and value == value,
            str: is_plain_text(kind),
            bool: pa.types.is_boolean(kind),
        }
        if is_of_kind.get(type(value), False):
            return pl.lit(value, dtype=_dtype_of(pl, kind))
        return pl.lit(value) if pa.types.is_date32(kind) and not isinstance(value, str) else None
