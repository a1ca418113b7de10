"""The 22 queries of TPC-H, against the answers of DuckDB."""

from __future__ import annotations

import glassloom.dataframe as gd
import pandas as pd
import pytest
from long_tests import LONG_TESTS
from tpch.queries import QUERIES
from tpch.statements import STATEMENTS
from tpch.tables import NAMES, Tables, make_tables

pytestmark = pytest.mark.more

duckdb = pytest.importorskip("duckdb")

SCALE = 0.01
QUICK = (1, 3, 6, 13, 17, 22)
"""Those of the ordinary run: between them they have every kind of operation."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_tables(tmp_path_factory.mktemp("tpch"), SCALE, row_group_rows=20_000)


@pytest.fixture(scope="module")
def answers(folder):
    with duckdb.connect() as connection:
        for name in NAMES:
            connection.execute(f"create view {name} as select * from '{folder}/{name}.parquet'")
        yield lambda number: connection.execute(STATEMENTS[number].format(scale=SCALE)).df()


@pytest.mark.parametrize("number", QUERIES if LONG_TESTS else QUICK)
def test_the_answer_of_a_query_is_that_of_duckdb(folder, answers, number):
    made = QUERIES[number](Tables(folder, gd.read_parquet, SCALE))
    got = made if isinstance(made, pd.DataFrame) else made.compute()
    expected = answers(number)
    assert list(got.columns) == list(expected.columns)
    assert len(got) == len(expected)
    pd.testing.assert_frame_equal(_comparable(got), _comparable(expected), check_dtype=False, rtol=1e-6)


def _comparable(frame):
    """Return rows in an order of their own: numbers that are almost equal sort the same way on both sides."""
    frame = frame.copy()
    for name in frame.columns:
        if pd.api.types.is_datetime64_any_dtype(frame[name]):
            frame[name] = frame[name].astype("datetime64[us]")
        elif not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].astype(object)
    exact = [name for name in frame.columns if not pd.api.types.is_float_dtype(frame[name])]
    return frame.sort_values(exact, ignore_index=True) if exact else frame.reset_index(drop=True)
