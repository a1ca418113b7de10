"""What SQLite holds as text and numbers where a table declares times and booleans: as values, as SQLAlchemy gives them to pandas, and back as text."""

from __future__ import annotations

import datetime
import re
import sqlite3
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.io.date_formats import USUAL_TIMES
from glassloom.dataframe.io.sql_connections import quoted
from glassloom.errors import ReadError

TIME, DAY, DATE, CLOCK, FLAG = "time", "day", "date", "time of day", "boolean"
"""A day becomes a time, as pandas reads tables; a date an object of Python's, as it reads statements of SQLAlchemy's."""
_DECLARED = {"DATETIME": TIME, "TIMESTAMP": TIME, "DATE": DAY, "TIME": CLOCK, "BOOLEAN": FLAG, "BOOL": FLAG}
_OF_PYTHON = {datetime.datetime: TIME, datetime.date: DATE, datetime.time: CLOCK, bool: FLAG}
_DAYS = pd.to_datetime(pd.Series([datetime.date(2024, 1, 1)])).dtype
"""The dtype that pandas makes of days."""
_MICROSECONDS = re.compile(r"\.\d{6}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def declared_kinds(connection: Any, table: str, schema: str | None) -> dict[str, str]:
    """Return of which kind those columns of a table are that SQLite has no type for; none of another database, which has types for all."""
    if not isinstance(connection, sqlite3.Connection):
        return {}
    prefix = f"{quoted(schema)}." if schema else ""
    rows = connection.execute(f"PRAGMA {prefix}table_info({quoted(table)})").fetchall()
    kinds = {name: _DECLARED.get(declared.upper().partition("(")[0].strip()) for _, name, declared, *_ in rows}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def kinds_of_statement(statement: Any) -> dict[str, str]:
    """Return of which kind those columns of a statement of SQLAlchemy's are that SQLite has no type for."""
    found = {}
    for column in getattr(statement, "selected_columns", ()):
        try:
            kind = _OF_PYTHON.get(column.type.python_type)
        except NotImplementedError:  # a type that SQLAlchemy doesn't know either
            continue
        if kind is not None:
            found[str(column.name)] = kind
    return found


def with_values(frame: Any, kinds: Mapping[str, str], dtype_backend: str | None) -> Any:
    """Return rows with values of their kinds.

    Raises
    ------
    ReadError
        If a value isn't of the kind that its column is declared as.
    """
    made = {}
    for name, kind in kinds.items():
        if name in frame.columns:
            try:
                made[name] = _values(frame[name], kind, dtype_backend)
            except (ValueError, TypeError, OverflowError) as error:
                raise ReadError(
                    f"column {name!r} is declared as a {kind}, and has values that aren't: {str(error).splitlines()[0]} read_sql_query() reads them as they are"
                ) from error
    return frame.assign(**made) if made else frame


def _values(column: Any, kind: str, dtype_backend: str | None) -> Any:
    if kind == DATE and dtype_backend is None:
        dates = [None if pd.isna(one) else datetime.date.fromisoformat(one) for one in column]
        return pd.Series(dates, column.index, dtype=object)
    if kind == DATE:
        return column
    if kind == CLOCK:
        times = [None if pd.isna(one) else datetime.time.fromisoformat(one) for one in column]
        if dtype_backend is None:
            return pd.Series(times, column.index, dtype=object)
        return pd.Series([one and str(one) for one in times], column.index, dtype=column.dtype)
    if kind in (TIME, DAY):
        times = pd.to_datetime(column.astype(object), format="ISO8601")
        has_usual_dtype = kind == TIME or dtype_backend is not None
        return times if times.dt.tz is not None else times.astype(USUAL_TIMES if has_usual_dtype else _DAYS)
    if dtype_backend is not None:
        return column.astype("bool[pyarrow]" if dtype_backend == "pyarrow" else "boolean")
    if column.notna().all():
        return column.astype(bool)
    return pd.Series([None if pd.isna(one) else bool(one) for one in column], column.index, dtype=object)


def _lacks_missing(dtype: Any, of_all: Any) -> bool:
    """Whether values are whole numbers where others, of which some are missing, are floats."""
    return bool(dtype.kind in "iu" and isinstance(of_all, np.dtype) and of_all.kind == "f")


def with_dtypes_of_missing(frame: Any, meta: Any) -> Any:
    """Return rows whose columns have dtypes like those of `meta` where their values don't tell: without any value, or any missing one."""
    casts = {}
    for name, dtype in meta.dtypes.items():
        column = frame[name]
        if not len(frame):
            casts[name] = dtype
        elif column.dtype == object and isinstance(dtype, np.dtype) and dtype.kind in "iub" and column.isna().all():
            casts[name] = np.dtype(object if dtype.kind == "b" else "float64")
        elif (column.dtype == object and column.isna().all()) or _lacks_missing(column.dtype, dtype):
            casts[name] = dtype
    casts = {name: dtype for name, dtype in casts.items() if frame[name].dtype != dtype}
    return frame.astype(casts) if casts else frame


def as_stored(value: Any, text: str) -> str:
    """Return a time in the form of a text of SQLite's, so that texts are ordered like times. Times between two that can be stored are the later one.

    >>> as_stored(pd.Timestamp("2024-01-02 12:00"), "2024-01-01 00:00:00.000000")
    '2024-01-02 12:00:00.000000'
    >>> as_stored(pd.Timestamp("2024-01-02 12:00"), "2024-01-01")
    '2024-01-03'
    """
    time = pd.Timestamp(value)
    if _DAY.fullmatch(text):
        return str(time.ceil("D").date())
    separator = "T" if "T" in text else " "
    return time.ceil("us").isoformat(separator, "microseconds" if _MICROSECONDS.search(text) else "auto")
