"""Tables and queries of SQL databases as frames: SQLite by the standard library, others by SQLAlchemy where it is installed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.io.date_formats import format_of
from glassloom.dataframe.io.read import Read, Source
from glassloom.dataframe.io.sql_connections import (
    SQLITE,
    connected_to_read,
    name_of_column,
    quoted,
    text_of,
    url_of,
    version_of,
)
from glassloom.dataframe.io.sql_values import (
    as_stored,
    declared_kinds,
    kinds_of_statement,
    with_dtypes_of_missing,
    with_values,
)
from glassloom.dataframe.meta import parse_meta
from glassloom.dataframe.options import refused
from glassloom.dataframe.wrap import wrap
from glassloom.errors import OptionError, ReadError
from glassloom.graph import tokenize
from glassloom.units import parse_bytes

_HEAD_ROWS = 100


class Range(NamedTuple):
    """The labels of a partition: from `low`, up to `high`, which is included in the last one."""

    low: Any
    high: Any
    is_last: bool


class Cut(NamedTuple):
    """How rows are cut into partitions: at labels, or into so many spans between limits, or by bytes."""

    divisions: Sequence[Any] | None
    npartitions: int | None
    limits: tuple[Any, Any] | None
    bytes_per_chunk: int | str

    def require_counts(self) -> None:
        """Check the numbers.

        Raises
        ------
        OptionError
            If one is no whole number, or not above 0.
        """
        count = self.npartitions
        if count is not None and (not isinstance(count, (int, np.integer)) or count < 1):
            raise OptionError(f"npartitions={count!r} should be a whole number, 1 or more")
        if parse_bytes(self.bytes_per_chunk) < 1:
            raise OptionError(f"bytes_per_chunk={self.bytes_per_chunk!r} should be at least 1 byte")


class Reading(NamedTuple):
    """How pandas reads rows, and the values of a query's parameters."""

    parse_dates: Any
    dtype: Any
    dtype_backend: str | None
    params: dict[str, Any] | None
    kinds: dict[str, str]
    """Of which kinds columns are that SQLite has no type for."""
    times_like: str = ""
    """A text of the labels, if these are times that SQLite stores as text."""

    @property
    def as_it_is(self) -> Reading:
        """The same query, with what the database has."""
        return Reading(None, None, None, self.params, {})

    def of(self, columns: list[str]) -> Reading:
        """Return what applies to some columns."""
        dates, dtype = self.parse_dates, self.dtype
        if isinstance(dates, dict):
            dates = {name: how for name, how in dates.items() if name in columns}
        elif isinstance(dates, (list, tuple)):
            dates = [name for name in dates if name in columns]
        if isinstance(dtype, dict):
            dtype = {name: one for name, one in dtype.items() if name in columns}
        kinds = {name: kind for name, kind in self.kinds.items() if name in columns}
        return self._replace(parse_dates=dates or None, dtype=dtype or None, kinds=kinds)

    def options(self) -> dict[str, Any]:
        """Return the options of `pandas.read_sql_query`."""
        given = {"parse_dates": self.parse_dates, "dtype": self.dtype, "dtype_backend": self.dtype_backend}
        return {name: value for name, value in given.items() if value is not None}


class SqlSource(Source):
    """A query, cut by the values of a column."""

    label = "read-sql"

    def __init__(
        self,
        query: str,
        con: str,
        index: str,
        columns: list[str] | None,
        ranges: list[Range],
        meta: Any,
        options: dict[str, Any],
        reading: Reading,
    ) -> None:
        self.reading = reading
        self.query, self.con, self.index, self.columns, self.ranges = query, con, index, columns, ranges
        self.options = options
        self.meta = meta
        self.can_project = columns is not None
        self.divisions = (*(one.low for one in ranges), ranges[-1].high)
        self.token = tokenize(query, con, index, columns, ranges, options, tuple(reading), version_of(con))

    def piece(self, number: int) -> Any:
        return self.ranges[number]

    def reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any]:
        names = list(self.meta.columns if columns is None else columns)
        call = (Block(0), self.con, self.query, self.index, names, self.meta[names], self.options, self.reading)
        return BlockCall(_read_range, call, label=self.label)


@with_function_arguments()
def read_sql_table(
    table_name: str,
    con: Any,
    index_col: Any,
    *,
    columns: Sequence[str] | None = None,
    divisions: Sequence[Any] | None = None,
    npartitions: int | None = None,
    limits: tuple[Any, Any] | None = None,
    bytes_per_chunk: int | str = "256 MiB",
    schema: str | None = None,
    head_rows: int = _HEAD_ROWS,
    meta: Any = None,
    parse_dates: Any = None,
    dtype_backend: str | None = None,
    engine_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Read a table of a database into a frame, cut by the values of a column.

    Parameters
    ----------
    table_name
        The name of the table.
    con
        The path of a SQLite file, ``"sqlite:///path"``, or another URL, which needs SQLAlchemy; or a connection or engine, of
        which the URL is taken: tasks connect themselves, and see what is committed.
    index_col
        The column to cut by, which becomes the index: numbers or times, or text with `divisions`. It must have no
        missing values.
    columns
        The columns to read. Default: all.
    divisions
        The labels at which partitions begin and the last one ends.
    npartitions
        Number of partitions of equal spans. Default: as `bytes_per_chunk` says.
    limits
        The smallest and largest label. Default: they are asked for.
    bytes_per_chunk
        About how much memory a partition takes.
    schema
        The schema that the table is in.
    meta
        An empty frame like the result. Default: the first rows are read.
    head_rows
        How many rows are read to find out columns and dtypes.
    parse_dates, dtype_backend
        As in `pandas.read_sql_table`.
    engine_kwargs
        Options of `sqlalchemy.create_engine`.

    Examples
    --------
    >>> import sqlite3, tempfile
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> file = tempfile.mkdtemp() + "/a.db"
    >>> with sqlite3.connect(file) as connection:
    ...     _ = pd.DataFrame({"id": [1, 2, 3], "x": [0.5, 1.5, 2.5]}).to_sql("t", connection, index=False)
    >>> float(gd.read_sql_table("t", file, "id", npartitions=2).x.sum().compute())
    4.5
    """
    if not isinstance(table_name, str):
        raise TypeError(f"table_name={table_name!r} should be the name of a table")
    name = f"{quoted(schema)}.{quoted(table_name)}" if schema else quoted(table_name)
    label = name_of_column(index_col)
    wanted = None if columns is None else [column for column in map(name_of_column, columns) if column != label]
    with connected_to_read(url_of(con), engine_kwargs or {}) as connection:
        kinds = declared_kinds(connection, table_name, schema)
    reading = Reading(parse_dates, None, dtype_backend, None, _not_parsed(kinds, parse_dates))
    cut = Cut(divisions, npartitions, limits, bytes_per_chunk)
    return _read(f"SELECT * FROM {name}", con, index_col, wanted, cut, head_rows, meta, reading, engine_kwargs)


@with_function_arguments()
def read_sql_query(
    sql: Any,
    con: Any,
    index_col: Any,
    *,
    divisions: Sequence[Any] | None = None,
    npartitions: int | None = None,
    limits: tuple[Any, Any] | None = None,
    bytes_per_chunk: int | str = "256 MiB",
    head_rows: int = _HEAD_ROWS,
    meta: Any = None,
    params: dict[str, Any] | None = None,
    parse_dates: Any = None,
    dtype: Any = None,
    dtype_backend: str | None = None,
    engine_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Read the result of a query into a frame, cut by the values of a column. Other parameters as in `read_sql_table`.

    Parameters
    ----------
    sql
        The text of a query, or a statement of SQLAlchemy's. Of the first, SQLite's times are text, as pandas reads them.
    params
        The values of the query's ``:name``, by name. ``low`` and ``high`` are names of ours.
    parse_dates, dtype, dtype_backend
        As in `pandas.read_sql_query`.
    """
    if params is not None and (not isinstance(params, dict) or {"low", "high"} & params.keys()):
        raise refused(
            "read_sql_query",
            "params",
            params,
            "give a dict of the values of :name in the query; low and high are taken",
        )
    url = url_of(con)
    kinds = kinds_of_statement(sql) if url.startswith(SQLITE) else {}
    reading = Reading(parse_dates, dtype, dtype_backend, params, _not_parsed(kinds, parse_dates))
    cut = Cut(divisions, npartitions, limits, bytes_per_chunk)
    return _read(
        text_of(sql, url).strip().rstrip(";"), con, index_col, None, cut, head_rows, meta, reading, engine_kwargs
    )


def _not_parsed(kinds: dict[str, str], parse_dates: Any) -> dict[str, str]:
    """Return the kinds of columns of which the caller doesn't say how they are parsed."""
    parsed = {parse_dates} if isinstance(parse_dates, str) else set(parse_dates or ())
    return {name: kind for name, kind in kinds.items() if name not in parsed}


@with_function_arguments(pd.read_sql)
def read_sql(sql: Any, con: Any, index_col: Any, **options: Any) -> Any:
    """Read a table (if `sql` is one word) or the result of a query. See `read_sql_table` and `read_sql_query`."""
    if isinstance(sql, str) and len(sql.split()) < 2:
        for name in ("params", "dtype"):
            if options.pop(name, None) is not None:
                raise TypeError(f"read_sql({name}=) goes with a query, and {sql!r} is the name of a table")
        return read_sql_table(sql, con, index_col, **options)
    if options.pop("columns", None) is not None:
        raise TypeError("read_sql(columns=) goes with the name of a table; a query names its columns itself")
    return read_sql_query(sql, con, index_col, **options)


def _read(
    query: str,
    con: Any,
    index: Any,
    columns: Sequence[str] | None,
    cut: Cut,
    head_rows: int,
    meta: Any,
    reading: Reading,
    engine_kwargs: dict[str, Any] | None,
) -> Any:
    cut.require_counts()
    url, index = url_of(con), name_of_column(index)
    options = engine_kwargs or {}
    with connected_to_read(url, options) as connection:
        reading = _with_formats(connection, query, reading, head_rows)
        if meta is None:
            if head_rows < 1:
                raise OptionError(f"head_rows={head_rows!r} should be 1 or more, or give meta=")
            meta = _query(connection, f"SELECT * FROM ({query}\n) AS q LIMIT {int(head_rows)}", {}, reading)
        known = meta if isinstance(meta, pd.DataFrame) else pd.DataFrame(parse_meta(meta))
        if index not in known.columns and known.index.name != index:
            raise OptionError(f"index_col={index!r} is no column of the result, which has {list(known.columns)}")
        if index in known.columns:
            known = known.set_index(index)
        if columns is not None:
            require_columns(columns, known)
            if len(set(columns)) < len(columns):
                raise OptionError(f"columns={list(columns)!r} names a column twice")
            known = known[list(columns)]
        ranges, reading = _ranges(connection, query, index, known, cut, reading)
    source = SqlSource(
        query, url, index, None if columns is None else list(columns), ranges, known[:0], options, reading
    )
    source.can_project = True
    return wrap(Read(source, None, None, None))


def _with_formats(connection: Any, query: str, reading: Reading, head_rows: int) -> Reading:
    """Return the same with the formats of texts that become times: those of the first values, by which pandas parses all."""
    dates = [reading.parse_dates] if isinstance(reading.parse_dates, str) else reading.parse_dates
    if not dates or isinstance(dates, (bool, dict)):
        return reading
    rows = _query(connection, f"SELECT * FROM ({query}\n) AS q LIMIT {max(head_rows, 1)}", {}, reading.as_it_is)
    texts = [name for name in dates if name in rows.columns and isinstance(next(iter(rows[name].dropna()), None), str)]
    return reading._replace(parse_dates={name: format_of(rows[name]) if name in texts else None for name in dates})


def _ranges(
    connection: Any,
    query: str,
    index: str,
    rows: Any,
    cut: Cut,
    reading: Reading,
) -> tuple[list[Range], Reading]:
    """Return the labels of the partitions, and how these are read."""
    name = f"q.{quoted(index)}"
    counts = _query(
        connection,
        f"SELECT COUNT(*) AS n, COUNT({name}) AS labels, MIN({name}) AS low, MAX({name}) AS high FROM ({query}\n) AS q",
        {},
        reading.as_it_is,
    ).iloc[0]
    if counts["n"] != counts["labels"]:
        missing = int(counts["n"] - counts["labels"])
        raise ReadError(
            f"index_col={index!r} has {missing} missing values, which are in no partition; filter them in the query"
        )
    are_times = pd.api.types.is_datetime64_any_dtype(rows.index.dtype)
    if are_times and isinstance(counts["low"], str):
        reading = reading._replace(times_like=counts["low"])
    if cut.divisions is not None:
        edges = list(map(pd.Timestamp, cut.divisions)) if are_times else list(cut.divisions)
    else:
        low, high = cut.limits if cut.limits is not None else (counts["low"], counts["high"])
        if are_times:  # SQLite has text for them
            low, high = pd.Timestamp(low), pd.Timestamp(high)
        row_bytes = rows.memory_usage(deep=True).sum() / max(len(rows), 1)
        count = cut.npartitions or max(1, int(-(-counts["n"] * row_bytes // parse_bytes(cut.bytes_per_chunk))))
        edges = _edges(low, high, count, index)
    if len(edges) < 2 or any(after < before for before, after in zip(edges, edges[1:], strict=False)):
        raise OptionError(f"divisions={edges!r} should be 2 or more labels in ascending order")
    last = len(edges) - 2
    return [Range(edges[place], edges[place + 1], place == last) for place in range(last + 1)], reading


def _edges(low: Any, high: Any, count: int, index: str) -> list[Any]:
    if low is None or pd.isna(low):
        return [0, 0]  # no rows
    low, high = (one.item() if isinstance(one, np.generic) else one for one in (low, high))
    if isinstance(low, str):
        if count == 1:
            return [low, high]
        raise OptionError(f"index_col={index!r} is text, which can't be cut by spans; give divisions=")
    if isinstance(low, int) and isinstance(high, int):
        return sorted({low + (high - low) * number // count for number in range(count)}) + [high]
    return [low + (high - low) / count * number for number in range(count)] + [high]


def _read_range(
    piece: Range,
    con: str,
    query: str,
    index: str,
    columns: list[str],
    meta: Any,
    options: dict[str, Any],
    reading: Reading,
) -> Any:
    # Of a table's: SQLite takes other quoted names that it doesn't know for text.
    names = ", ".join(f"q.{quoted(name)}" for name in [index, *columns])
    upper = "<=" if piece.is_last else "<"
    label = f"q.{quoted(index)}"
    text = f"SELECT {names} FROM ({query}\n) AS q WHERE {label} >= :low AND {label} {upper} :high"
    with connected_to_read(con, options) as connection:
        values = {"low": piece.low, "high": piece.high}
        frame = _query(connection, text, values, reading.of([index, *columns])).set_index(index)[columns]
    return with_dtypes_of_missing(frame, meta)


def _query(connection: Any, text: str, values: dict[str, Any], reading: Reading) -> Any:
    """Return the frame of a query's result."""
    if reading.times_like:
        values = {name: as_stored(value, reading.times_like) for name, value in values.items()}
    values, how = {**(reading.params or {}), **values}, reading.options()
    try:
        if isinstance(connection, sqlite3.Connection):
            plain = {
                name: value.isoformat(" ") if isinstance(value, datetime) else value for name, value in values.items()
            }
            made = pd.read_sql_query(text, connection, params=plain, **how)
            return with_values(made, reading.kinds, reading.dtype_backend)
        import sqlalchemy

        return pd.read_sql_query(sqlalchemy.text(text), connection, params=values, **how)
    except pd.errors.DatabaseError as error:
        raise ReadError(f"the database refuses {text!r}: {error}") from error
