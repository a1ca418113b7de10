"""Connections to databases: SQLite by the standard library, others by SQLAlchemy. It reads and writes no rows."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from glassloom.dataframe.io.paths import file_state
from glassloom.errors import OptionError

SQLITE = "sqlite:///"


def url_of(con: Any) -> str:
    """Return what tasks connect by.

    Raises
    ------
    TypeError
        If it is neither a URL nor a connection to a file or server: tasks on other threads and processes can't use it.
    """
    if isinstance(con, (str, os.PathLike)):
        text = os.fspath(con)
        return text if "://" in text else SQLITE + os.path.abspath(os.path.expanduser(text))
    if isinstance(con, sqlite3.Connection):
        with suppress(sqlite3.ProgrammingError):  # it is closed
            file = next((path for _, name, path in con.execute("PRAGMA database_list") if name == "main"), "")
            if file:
                return SQLITE + file
    engine = getattr(con, "engine", con)  # of SQLAlchemy
    if hasattr(getattr(engine, "url", None), "render_as_string") and engine.url.database not in (None, "", ":memory:"):
        return str(engine.url.render_as_string(hide_password=False))
    raise TypeError(
        f"con should be the path of a SQLite file or a URL, got a {type(con).__name__} to neither, which tasks can't share"
    )


def text_of(statement: Any, url: str) -> str:
    """Return the text of a query, which may be a statement of SQLAlchemy's.

    Raises
    ------
    TypeError
        If it is neither.
    """
    if isinstance(statement, str):
        return statement
    if isinstance(getattr(statement, "text", None), str):  # that of sqlalchemy.text()
        return str(statement.text)
    if not hasattr(statement, "compile"):
        raise TypeError(
            f"read_sql_query: sql={statement!r} should be the text of a query, or a statement of SQLAlchemy's"
        )
    import sqlalchemy  # it is the caller's

    dialect = sqlalchemy.make_url(url).get_dialect()(paramstyle="named")
    text = str(statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
    return text if url.startswith(SQLITE) else text.replace(":", r"\:")  # where it is a text of SQLAlchemy's again


def name_of_column(column: Any) -> Any:
    """Return the name of a column that may be one of SQLAlchemy's."""
    return column if isinstance(column, str) else str(getattr(column, "name", column))


def sqlite_type(kind: Any) -> Any:
    """Return a type as SQLite's tables declare it, which may be one of SQLAlchemy's."""
    if not hasattr(kind, "compile") or isinstance(kind, str):
        return kind
    from sqlalchemy.dialects import sqlite  # it is the caller's

    made = kind() if isinstance(kind, type) else kind
    return str(made.compile(dialect=sqlite.dialect()))


@contextmanager
def connected(url: str, options: dict[str, Any]) -> Iterator[Any]:
    """Connect to a database, which SQLite makes if it isn't there.

    Raises
    ------
    OptionError
        If SQLAlchemy isn't installed, and the database isn't SQLite's.
    """
    if url.startswith(SQLITE):
        with closing(sqlite3.connect(url.removeprefix(SQLITE), timeout=60)) as connection:
            yield connection
        return
    try:
        import sqlalchemy  # optional: only other databases than SQLite need it
    except ImportError as error:
        raise OptionError(
            f"{url.partition('://')[0]!r} needs SQLAlchemy, which isn't installed; SQLite doesn't"
        ) from error
    engine = sqlalchemy.create_engine(url, **options)
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


@contextmanager
def connected_to_read(url: str, options: dict[str, Any]) -> Iterator[Any]:
    """Connect to a database that is there: SQLite would make one.

    Raises
    ------
    FileNotFoundError
        If the file of SQLite doesn't exist.
    """
    path = url.removeprefix(SQLITE)
    if url.startswith(SQLITE) and not os.path.exists(path):
        raise FileNotFoundError(f"database {path!r} doesn't exist")
    with connected(url, options) as connection:
        yield connection


def version_of(url: str) -> Any:
    """Return what tells the database now from the database later, when its tables may have changed."""
    path = url.removeprefix(SQLITE)
    if not url.startswith(SQLITE) or not os.path.exists(path):
        return uuid.uuid4().hex
    return [file_state(one) for one in (path, f"{path}-wal") if os.path.exists(one)]  # changes go into the second first


def table_exists(connection: Any, name: str) -> bool:
    """Whether a database has a table."""
    if isinstance(connection, sqlite3.Connection):
        found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
        return found.fetchone() is not None
    import sqlalchemy

    return bool(sqlalchemy.inspect(connection).has_table(name))


def quoted(name: Any) -> str:
    """Return a name as SQL has it."""
    return '"' + str(name).replace('"', '""') + '"'
