"""Tables of SQLite that declare times and booleans, which it holds as text and numbers: the results are those that pandas has by SQLAlchemy."""

from __future__ import annotations

import datetime
import sqlite3
from contextlib import closing

import glassloom.dataframe as gd
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.dataframe.io.date_formats import USUAL_TIMES
from glassloom.errors import ReadError

TIMES = pd.date_range("2024-01-01", periods=6, freq="6h")
DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=number) for number in range(6)]
CLOCKS = [datetime.time(number) for number in range(6)]
DAY_DTYPE = pd.to_datetime(pd.Series([DAYS[0]])).dtype


@pytest.fixture
def database(tmp_path):
    """A file with what SQLAlchemy writes: times with six digits of a second."""
    file = tmp_path / "a.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(
            "CREATE TABLE t (n BIGINT, at DATETIME, day DATE, clock TIME, flag BOOLEAN, maybe BOOLEAN, late TEXT)"
        )
        for number, (at, day, clock) in enumerate(zip(TIMES, DAYS, CLOCKS, strict=True)):
            connection.execute(
                "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    number,
                    at.isoformat(" ", "microseconds"),
                    day.isoformat(),
                    clock.isoformat("microseconds"),
                    number % 2,
                    number % 2 if number else None,
                    "x" if number < 2 else None,
                ),
            )
        connection.commit()
    return file


WANTED = pd.DataFrame(
    {
        "n": range(6),
        "at": TIMES.astype(USUAL_TIMES),
        "day": pd.Series(pd.to_datetime(DAYS)).astype(DAY_DTYPE),
        "clock": pd.Series(CLOCKS, dtype=object),
        "flag": [False, True] * 3,
        "maybe": pd.Series([None, True, False, True, False, True], dtype=object),
        "late": pd.Series(["x", "x", None, None, None, None], dtype=pd.Series(["x"]).dtype),
    }
)


@pytest.mark.parametrize("label", ["n", "at", "day"])
@pytest.mark.parametrize("npartitions", [1, 2, 4])
def test_tables_have_the_values_that_they_declare(database, label, npartitions):
    lazy = gd.read_sql_table("t", database, label, npartitions=npartitions)
    wanted = WANTED.set_index(label)
    assert_same(lazy.compute(), wanted)
    assert_same(lazy[["late"]].compute(), wanted[["late"]])
    for number in range(npartitions):
        labels = lazy.partitions[number].compute().index
        is_last = number == npartitions - 1
        low, high = lazy.divisions[number : number + 2]
        assert ((labels >= low) & ((labels <= high) if is_last else (labels < high))).all()


def test_rows_at_divisions_of_times_are_in_the_partition_that_begins_there(database):
    edges = ["2024-01-01", "2024-01-01 12:00", "2024-01-02 06:00"]
    lazy = gd.read_sql_table("t", database, "at", divisions=edges)
    assert lazy.divisions == tuple(map(pd.Timestamp, edges))
    assert [block.compute().n.tolist() for block in lazy.to_delayed()] == [[0, 1], [2, 3, 4, 5]]


def test_values_of_nullable_dtypes(database):
    found = gd.read_sql_table("t", database, "n", npartitions=2, dtype_backend="numpy_nullable").compute()
    assert [str(dtype) for dtype in found.dtypes] == [str(USUAL_TIMES)] * 2 + ["string"] + ["boolean"] * 2 + ["string"]
    assert found.clock.tolist() == [str(clock) for clock in CLOCKS]


def test_values_that_are_not_what_a_table_declares_are_an_error(database):
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE t SET at = 'soon' WHERE n = 3")
        connection.commit()
    with pytest.raises(
        ReadError, match=r"column 'at' is declared as a time, and has values that aren't: .*soon.* read_sql_query\(\)"
    ):
        gd.read_sql_table("t", database, "n")
    assert gd.read_sql_query("SELECT * FROM t", database, "n")["at"].compute()[3] == "soon"


def test_texts_of_queries_become_times_by_one_format(tmp_path):
    """That of the first value, as pandas parses all rows at once: the others are missing then."""
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        texts = ["13/02/2024", "01/02/2024", "2024-02-01", "02/03/2024"]
        plain = pd.DataFrame({"n": range(4), "t": texts})
        plain.to_sql("t", connection, index=False)
        wanted = pd.read_sql_query("SELECT * FROM t", connection, index_col="n", parse_dates={"t": "%d/%m/%Y"})
    for dates in ("t", ["t"], {"t": "%d/%m/%Y"}):
        lazy = gd.read_sql_query("SELECT * FROM t", tmp_path / "a.db", "n", npartitions=4, parse_dates=dates)
        assert_same(lazy.compute(), wanted)


def test_booleans_that_are_written_are_read_as_booleans(tmp_path):
    plain = pd.DataFrame({"n": range(4), "flag": [True, False, True, True]})
    gd.from_pandas(plain, npartitions=2).to_sql("t", tmp_path / "a.db", index=False, parallel=True)
    assert_same(gd.read_sql_table("t", tmp_path / "a.db", "n").compute(), plain.set_index("n"))


def test_statements_and_types_of_sqlalchemy_are_taken(database):
    alchemy = pytest.importorskip("sqlalchemy", reason="SQLAlchemy isn't installed")
    url = f"sqlite:///{database}"
    engine = alchemy.create_engine(url)
    try:
        table = alchemy.Table("t", alchemy.MetaData(), autoload_with=engine)
        statement = alchemy.select(table.c.n, table.c.at, table.c.day, table.c.maybe).where(
            table.c.late.like("x:%") | (table.c.n > 0)
        )
        wanted = pd.read_sql_query(statement, engine, index_col="n")
        for label in ("n", table.c.n):
            assert_same(gd.read_sql(statement, url, label, npartitions=2).compute(), wanted)
        text = alchemy.text("SELECT n, flag FROM t WHERE n > :least")
        assert gd.read_sql_query(text, engine, "n", params={"least": 3}).flag.compute().tolist() == [0, 1]
        gd.from_pandas(pd.DataFrame({"x": [1]}), npartitions=1).to_sql("u", url, dtype={"x": alchemy.types.Float()})
        assert str(alchemy.Table("u", alchemy.MetaData(), autoload_with=engine).c.x.type) == "FLOAT"
    finally:
        engine.dispose()


def test_what_is_no_query_is_named(database):
    with pytest.raises(TypeError, match="sql=3 should be the text of a query, or a statement of SQLAlchemy's"):
        gd.read_sql_query(3, database, "n")


def test_a_meta_may_be_lazy(database):
    lazy = gd.read_sql_table("t", database, "n", meta=gd.from_pandas(WANTED, npartitions=2))
    assert_same(lazy.compute(), WANTED.set_index("n"))


def test_whole_numbers_of_which_some_are_missing_are_floats_in_all_partitions(tmp_path):
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table t(id int, i int)")
        connection.executemany("insert into t values(?, ?)", [(row, row if row < 11 else None) for row in range(12)])
        connection.commit()
    lazy = gd.read_sql_table("t", f"sqlite:///{path}", "id", npartitions=3)
    assert lazy.i.astype(str).compute().tolist()[:2] == ["0.0", "1.0"]
    assert lazy[lazy.i < 3].compute().i.dtype == float
