"""The ordinary operations of the benchmark: what it times is what pandas gives."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from long_tests import LONG_TESTS
from tpch.tables import make_tables

from benchmarks.frame_ordinary import STEPS

pytestmark = pytest.mark.more

QUICK = ("rename", "dropna", "concat_filter", "sort_filter", "groupby_then_column", "groupby_size", "distinct_grouped")
"""Those of the ordinary run: what isn't needed is left out in each."""
_IN_OTHER_ORDER = ("distinct", "nlargest")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return make_tables(tmp_path_factory.mktemp("ordinary"), 0.01, row_group_rows=10_000) / "lineitem.parquet"


@pytest.mark.parametrize("name", STEPS if LONG_TESTS else QUICK)
def test_an_ordinary_operation_gives_what_pandas_gives(path, name):
    got = STEPS[name](gd, gd.read_parquet(path, split_row_groups=True)).compute()
    expected = STEPS[name](pd, pd.read_parquet(path))
    if not isinstance(expected, (pd.DataFrame, pd.Series)):
        assert type(got) is type(expected)
        assert np.isclose(got, expected)
        return
    if name in _IN_OTHER_ORDER:  # labels are those of partitions
        order = list(expected.columns)
        got, expected = (one.sort_values(order, ignore_index=True) for one in (got, expected))
    assert_same(got.sort_index(), expected.sort_index())
