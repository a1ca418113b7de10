"""Frames written into tables of SQL databases, partition after partition."""

from __future__ import annotations

import uuid
from functools import cached_property, partial
from typing import Any

import pandas as pd

from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.io.sql_connections import SQLITE, connected, quoted, sqlite_type, table_exists, url_of
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.options import checked_compute_kwargs
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import require_lazy, wrap
from glassloom.errors import CancelledError, OptionError
from glassloom.graph import Key, Task, TaskRef


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
    parallel
        Makes no difference: a database has one writer at a time.

    Raises
    ------
    ValueError
        If the table exists and `if_exists` is ``"fail"``, or it lacks a column of the rows that are appended.
    """
    if if_exists not in ("fail", "replace", "append"):
        raise OptionError(f"if_exists={if_exists!r} should be 'fail', 'replace' or 'append'")
    require_lazy("to_sql", frame, pandas=False)
    compute_kwargs = checked_compute_kwargs("to_sql", compute, compute_kwargs)
    url, engine_options = url_of(con), engine_kwargs or {}
    with connected(url, engine_options) as connection:
        exists = table_exists(connection, name)
    if exists and if_exists == "fail":
        raise ValueError(f"table {name!r} exists already; give if_exists='replace' or 'append'")
    is_staged = url.startswith(SQLITE)
    target = f"{name}__writing_{uuid.uuid4().hex[:8]}" if is_staged else name
    if is_staged:
        dtype = _declared(frame.expr.meta, dtype)
    how = {
        "index": index,
        "index_label": index_label,
        "chunksize": chunksize,
        "dtype": dtype,
        "method": method,
        "schema": schema,
    }
    labels: list[str] = []
    if is_staged:
        labels = _require_columns(frame.expr.meta, how, url, name, if_exists == "append" and exists)
    first = "replace" if if_exists == "replace" and not is_staged else "append"
    mark = f"{target}_open" if is_staged and compute else None
    options = {"how": how, "first": first, "engine": engine_options, "mark": mark, "is_staged": is_staged}
    node = WriteTable(frame.expr, url, target, options)
    finish = partial(_publish, url, target, name, if_exists, labels) if is_staged else sum
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


def _require_columns(meta: Any, how: dict[str, Any], url: str, name: str, is_appended: bool) -> list[str]:
    """Check that a frame with this meta can be written, and that a table to which it is appended has its columns.

    Returns the columns of row labels, of which pandas makes an index of a new table.

    Raises
    ------
    ValueError
        If not.
    """
    with connected(f"{SQLITE}:memory:", {}) as connection:
        meta.to_sql("rows", connection, **how)
        columns = _columns(connection, "rows")
        labels = [row[2] for index in _indexes(connection, "rows") for row in _info(connection, index)]
    if not is_appended:
        return labels
    with connected(url, {}) as connection:
        there = _columns(connection, name)
    known = {column.casefold() for column in there}
    lacking = [column for column in columns if column.casefold() not in known]
    if lacking:
        raise ValueError(
            f"if_exists='append': table {name!r} lacks the columns {lacking}; it has {there}. index_label= names the columns of row labels, "
            "index=False leaves them out"
        )
    return labels


def _indexes(connection: Any, table: str) -> list[str]:
    """Return the names of the indexes of a table of SQLite, without those that its columns declare."""
    return [row[1] for row in connection.execute(f"PRAGMA index_list({quoted(table)})").fetchall() if row[3] == "c"]


def _info(connection: Any, index: str) -> list[Any]:
    return list(connection.execute(f"PRAGMA index_info({quoted(index)})"))


def _columns(connection: Any, table: str) -> list[str]:
    """Return the names of the columns of a table of SQLite."""
    return [row[1] for row in connection.execute(f"PRAGMA table_info({quoted(table)})")]


def _declared(meta: Any, dtype: Any) -> Any:
    """Return the types that SQLite's table declares: booleans too, which pandas writes as whole numbers there unless it is told."""
    if dtype is not None and not isinstance(dtype, dict):
        return sqlite_type(dtype)
    columns = {} if isinstance(meta, pd.Index) else pd.DataFrame(meta).dtypes.to_dict()
    flags = {name: "BOOLEAN" for name, one in columns.items() if pd.api.types.is_bool_dtype(one)}
    return {**flags, **{name: sqlite_type(one) for name, one in (dtype or {}).items()}} or None


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
        if options.get("is_staged") and number == 0:
            # An index would keep the name of this table. It is made once all rows are there, which takes less time, too.
            for index in _indexes(connection, table):
                connection.execute(f"DROP INDEX {quoted(index)}")
        if mark is not None:
            connection.execute(f"INSERT INTO {quoted(mark)} VALUES (?, ?)", (number, len(block)))
        connection.commit()
    return len(block)


def _remove_unmarked(connection: Any, table: str, mark: str) -> None:
    """Remove the rows of a partition whose worker was lost between writing them and saying so: the last ones."""
    if table_exists(connection, table):
        (count,) = connection.execute(f"SELECT coalesce(sum(n_rows), 0) FROM {quoted(mark)}").fetchone()
        connection.execute(f"DELETE FROM {quoted(table)} WHERE rowid > ?", (count,))


def _publish(con: str, written: str, name: str, if_exists: str, labels: list[str], counts: list[int]) -> int:
    """Put a table of SQLite into the place of its final name. A new one gets the index of row labels that pandas makes."""
    with connected(con, {}) as connection:
        if if_exists == "append" and table_exists(connection, name):
            columns = ", ".join(map(quoted, _columns(connection, written)))
            connection.execute(f"INSERT INTO {quoted(name)} ({columns}) SELECT {columns} FROM {quoted(written)}")
            connection.execute(f"DROP TABLE {quoted(written)}")
        else:
            connection.execute(f"DROP TABLE IF EXISTS {quoted(name)}")
            connection.execute(f"ALTER TABLE {quoted(written)} RENAME TO {quoted(name)}")
            if labels:
                index, columns = quoted("_".join(["ix", name, *labels])), ", ".join(map(quoted, labels))
                connection.execute(f"CREATE INDEX IF NOT EXISTS {index} ON {quoted(name)} ({columns})")
        connection.commit()
    return sum(counts)


def _same(value: Any) -> Any:
    return value
