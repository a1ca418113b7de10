"""Tables and queries of SQL databases: SQLite by the standard library, others by SQLAlchemy where it is installed."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.io.read import Read, Source
from glassloom.dataframe.io.sql_connections import (
    SQLITE,
    connected,
    connected_to_read,
    quoted,
    table_exists,
    url_of,
    version_of,
)
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.options import checked_compute_kwargs, refused
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import require_lazy, wrap
from glassloom.errors import CancelledError, OptionError, ReadError
from glassloom.graph import Key, Task, TaskRef, tokenize
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

    def of(self, columns: list[str]) -> Reading:
        """Return what applies to some columns."""
        dates, dtype = self.parse_dates, self.dtype
        if isinstance(dates, dict):
            dates = {name: how for name, how in dates.items() if name in columns}
        elif isinstance(dates, (list, tuple)):
            dates = [name for name in dates if name in columns]
        if isinstance(dtype, dict):
            dtype = {name: one for name, one in dtype.items() if name in columns}
        return self._replace(parse_dates=dates or None, dtype=dtype or None)

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
    index_col: str,
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
    wanted = None if columns is None else [column for column in columns if column != index_col]
    reading = Reading(parse_dates, None, dtype_backend, None)
    cut = Cut(divisions, npartitions, limits, bytes_per_chunk)
    return _read(f"SELECT * FROM {name}", con, index_col, wanted, cut, head_rows, meta, reading, engine_kwargs)


@with_function_arguments()
def read_sql_query(
    sql: str,
    con: Any,
    index_col: str,
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
    reading = Reading(parse_dates, dtype, dtype_backend, params)
    cut = Cut(divisions, npartitions, limits, bytes_per_chunk)
    if not isinstance(sql, str):
        raise TypeError(f"read_sql_query: sql={sql!r} should be the text of a query")
    return _read(sql.strip().rstrip(";"), con, index_col, None, cut, head_rows, meta, reading, engine_kwargs)


@with_function_arguments(pd.read_sql)
def read_sql(sql: str, con: Any, index_col: str, **options: Any) -> Any:
    """Read a table (if `sql` is one word) or the result of a query. See `read_sql_table` and `read_sql_query`."""
    if len(sql.split()) < 2:
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
    index: str,
    columns: Sequence[str] | None,
    cut: Cut,
    head_rows: int,
    meta: Any,
    reading: Reading,
    engine_kwargs: dict[str, Any] | None,
) -> Any:
    cut.require_counts()
    url = url_of(con)
    options = engine_kwargs or {}
    with connected_to_read(url, options) as connection:
        if meta is None:
            if head_rows < 1:
                raise OptionError(f"head_rows={head_rows!r} should be 1 or more, or give meta=")
            meta = _query(connection, f"SELECT * FROM ({query}\n) AS q LIMIT {int(head_rows)}", {}, reading)
        known = pd.DataFrame(meta)
        if index not in known.columns and known.index.name != index:
            raise OptionError(f"index_col={index!r} is no column of the result, which has {list(known.columns)}")
        if index in known.columns:
            known = known.set_index(index)
        if columns is not None:
            require_columns(columns, known)
            if len(set(columns)) < len(columns):
                raise OptionError(f"columns={list(columns)!r} names a column twice")
            known = known[list(columns)]
        ranges = _ranges(connection, query, index, known, cut, reading)
    source = SqlSource(
        query, url, index, None if columns is None else list(columns), ranges, known[:0], options, reading
    )
    source.can_project = True
    return wrap(Read(source, None, None, None))


def _ranges(
    connection: Any,
    query: str,
    index: str,
    rows: Any,
    cut: Cut,
    reading: Reading,
) -> list[Range]:
    name = f"q.{quoted(index)}"
    counts = _query(
        connection,
        f"SELECT COUNT(*) AS n, COUNT({name}) AS labels, MIN({name}) AS low, MAX({name}) AS high FROM ({query}\n) AS q",
        {},
        Reading(None, None, None, reading.params),
    ).iloc[0]
    if counts["n"] != counts["labels"]:
        missing = int(counts["n"] - counts["labels"])
        raise ReadError(
            f"index_col={index!r} has {missing} missing values, which are in no partition; filter them in the query"
        )
    if cut.divisions is not None:
        edges = list(cut.divisions)
    else:
        low, high = cut.limits if cut.limits is not None else (counts["low"], counts["high"])
        if pd.api.types.is_datetime64_any_dtype(rows.index.dtype):  # SQLite has text for times
            low, high = pd.Timestamp(low), pd.Timestamp(high)
        row_bytes = rows.memory_usage(deep=True).sum() / max(len(rows), 1)
        count = cut.npartitions or max(1, int(-(-counts["n"] * row_bytes // parse_bytes(cut.bytes_per_chunk))))
        edges = _edges(low, high, count, index)
    if len(edges) < 2 or any(after < before for before, after in zip(edges, edges[1:], strict=False)):
        raise OptionError(f"divisions={edges!r} should be 2 or more labels in ascending order")
    last = len(edges) - 2
    return [Range(edges[place], edges[place + 1], place == last) for place in range(last + 1)]


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
    casts = {name: dtype for name, dtype in meta.dtypes.items() if frame[name].dtype != dtype and not len(frame)}
    return frame.astype(casts) if casts else frame


def _query(connection: Any, text: str, values: dict[str, Any], reading: Reading) -> Any:
    """Return the frame of a query's result."""
    values, how = {**(reading.params or {}), **values}, reading.options()
    plain = {name: value.isoformat(" ") if isinstance(value, pd.Timestamp) else value for name, value in values.items()}
    try:
        if isinstance(connection, sqlite3.Connection):
            return pd.read_sql_query(text, connection, params=plain, **how)
        import sqlalchemy

        return pd.read_sql_query(sqlalchemy.text(text), connection, params=values, **how)
    except pd.errors.DatabaseError as error:
        raise ReadError(f"the database refuses {text!r}: {error}") from error


# Writing.


class WriteTable(FrameExpr):
    """Partitions appended to a table one after the other: a database has one writer at a time."""

    parameters = ("frame", "con", "table", "options")
    operation = "to-sql"

    frame: FrameExpr
    con: str
    table: str
    options: dict[str, Any]

    @cached_property
    def meta(self) -> Any:
        return 0

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (self.frame.npartitions + 1)

    def tasks(self) -> dict[Key, Task]:
        tasks: dict[Key, Task] = {}
        before: Any = None
        for number, key in enumerate(self.frame.output_keys()):
            own: Key = (self.name, number)
            tasks[own] = Task(own, _append, (TaskRef(key), self.con, self.table, self.options, number, before))
            before = TaskRef(own)
        return tasks


@with_function_arguments()
def to_sql(
    frame: Any,
    name: str,
    con: Any,
    *,
    schema: str | None = None,
    if_exists: str = "fail",
    index: bool = True,
    index_label: str | None = None,
    chunksize: int | None = None,
    dtype: Any = None,
    method: Any = None,
    compute: bool = True,
    compute_kwargs: dict[str, Any] | None = None,
    parallel: bool = False,
    engine_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Write a frame into a table of a database, partition after partition, and wait for it.

    With SQLite the rows go into a table of another name first, which takes its place when all are there: a write that
    fails leaves what was there before.

    Parameters
    ----------
    name
        The name of the table.
    con
        As in `read_sql_table`.
    if_exists
        What to do if the table exists: ``"fail"``, ``"replace"`` it or ``"append"`` to it.
    schema, index, index_label, chunksize, dtype, method
        As in `pandas.DataFrame.to_sql`.
    compute
        With False a lazy number of rows is returned; the table is written when it is computed.
    compute_kwargs
        Arguments of `compute`, such as ``{"scheduler": "synchronous"}``.

    Raises
    ------
    ValueError
        If the table exists and `if_exists` is ``"fail"``.
    """
    if if_exists not in ("fail", "replace", "append"):
        raise OptionError(f"if_exists={if_exists!r} should be 'fail', 'replace' or 'append'")
    if parallel:
        raise NotImplementedError("parallel=True: partitions are written one after the other; leave it out")
    require_lazy("to_sql", frame, pandas=False)
    compute_kwargs = checked_compute_kwargs("to_sql", compute, compute_kwargs)
    url, engine_options = url_of(con), engine_kwargs or {}
    with connected(url, engine_options) as connection:
        exists = table_exists(connection, name)
    if exists and if_exists == "fail":
        raise ValueError(f"table {name!r} exists already; give if_exists='replace' or 'append'")
    is_staged = url.startswith(SQLITE)
    target = f"{name}__writing_{uuid.uuid4().hex[:8]}" if is_staged else name
    how = {
        "index": index,
        "index_label": index_label,
        "chunksize": chunksize,
        "dtype": dtype,
        "method": method,
        "schema": schema,
    }
    first = "replace" if if_exists == "replace" and not is_staged else "append"
    mark = f"{target}_open" if is_staged and compute else None
    options = {"how": how, "first": first, "engine": engine_options, "mark": mark}
    node = WriteTable(frame.expr, url, target, options)
    finish = partial(_publish, url, target, name, if_exists) if is_staged else sum
    made = wrap(tree(node, Operation(_same, sum, finish), 0, "to-sql"))
    if not compute:
        return made
    if mark is None:
        made.compute(**compute_kwargs)
        return None
    with connected(url, {}) as connection:
        connection.execute(f"CREATE TABLE {quoted(mark)} (partition INTEGER PRIMARY KEY, n_rows INTEGER)")
        connection.commit()
    try:
        made.compute(**compute_kwargs)
    finally:
        _drop(url, mark, target)
    return None


def _drop(url: str, *tables: str) -> None:
    """Drop tables of SQLite at once. A task that still runs finds the mark of its table gone, and writes nothing."""
    with connected(url, {}) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for table in tables:
            connection.execute(f"DROP TABLE IF EXISTS {quoted(table)}")
        connection.commit()


def _append(block: Any, con: str, table: str, options: dict[str, Any], number: int, before: Any) -> int:
    """Append a partition's rows to the table, once: a task may run again, if its worker was lost."""
    mode, mark = options["first"] if number == 0 else "append", options["mark"]
    with connected(con, options["engine"]) as connection:
        if mark is not None:
            connection.execute("BEGIN IMMEDIATE")  # until pandas has made the table, nobody drops the mark
            if not table_exists(connection, mark):
                raise CancelledError(f"table {table!r} isn't written any more: another partition has failed")
            if connection.execute(f"SELECT 1 FROM {quoted(mark)} WHERE partition = ?", (number,)).fetchone():
                return len(block)
            _remove_unmarked(connection, table, mark)
        block.to_sql(table, connection, if_exists=mode, **options["how"])
        if mark is not None:
            connection.execute(f"INSERT INTO {quoted(mark)} VALUES (?, ?)", (number, len(block)))
        connection.commit()
    return len(block)


def _remove_unmarked(connection: Any, table: str, mark: str) -> None:
    """Remove the rows of a partition whose worker was lost between writing them and saying so: the last ones."""
    if table_exists(connection, table):
        (count,) = connection.execute(f"SELECT coalesce(sum(n_rows), 0) FROM {quoted(mark)}").fetchone()
        connection.execute(f"DELETE FROM {quoted(table)} WHERE rowid > ?", (count,))


def _publish(con: str, written: str, name: str, if_exists: str, counts: list[int]) -> int:
    """Put a table of SQLite into the place of its final name."""
    with connected(con, {}) as connection:
        if if_exists == "append" and table_exists(connection, name):
            connection.execute(f"INSERT INTO {quoted(name)} SELECT * FROM {quoted(written)}")
            connection.execute(f"DROP TABLE {quoted(written)}")
        else:
            connection.execute(f"DROP TABLE IF EXISTS {quoted(name)}")
            connection.execute(f"ALTER TABLE {quoted(written)} RENAME TO {quoted(name)}")
        connection.commit()
    return sum(counts)


def _same(value: Any) -> Any:
    return value
