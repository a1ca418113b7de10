"""Small results whose shape depends on their values, and labels that are lazy, are computed at once; what they make is pandas'."""

from functools import partial

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, check_in_parts
from glassloom.errors import NotSupported

FRAME = pd.DataFrame(
    {
        "sex": ["m", "f", "f", "m", "f", "m"],
        "port": ["S", None, "C", "S", "C", "Q"],
        "kind": [1, 3, 2, 1, 1, 3],
        "age": [22.0, 38, None, 35, 54, 2],
        "when": pd.date_range("2024-01-30", periods=6),
    },
    index=[10, 11, 12, 13, 14, 15],
)


def _shares(normalize, margins, f):
    options = {"values": f.age, "aggfunc": "mean", "normalize": normalize, "margins": margins}
    return _library(f).crosstab([f.sex, f.kind], f.port, **options)


COLUMNS = {
    "unstacked sizes": lambda f: f.groupby(["sex", "kind"]).size().unstack(fill_value=0),
    "unstacked aggregations": lambda f: f.groupby(["sex", "kind"]).age.agg(["min", "max"]).unstack("sex"),
    "transposed": lambda f: f[["kind", "age"]].describe().T,
    "counts": lambda f: _library(f).crosstab(f.sex, f.kind),
    "counts with sums": lambda f: _library(f).crosstab(f.sex, f.port, margins=True, rownames=["who"]),
    "shares": lambda f: _library(f).crosstab(f.port, f.kind, normalize="index"),
    "missing ones": lambda f: _library(f).crosstab(f.port, f.sex, dropna=False),
    "counts by several": lambda f: _library(f).crosstab([f.sex, f.port], [f.kind, f.age > 4]),
    "counts by several, with sums": lambda f: _library(f).crosstab(
        [f.sex], [f.kind, f.port], margins=True, dropna=False
    ),
    "counts without names": lambda f: _library(f).crosstab(
        f.sex.rename(None), [f.kind.rename(None)], colnames=["kind"]
    ),
    "aggregated": lambda f: _library(f).crosstab(f.sex, [f.kind, f.port], f.age, aggfunc="sum"),
    **{
        f"shares of what is aggregated, of {normalize}{' with sums' * margins}": partial(_shares, normalize, margins)
        for normalize in (True, 0, 1, "all", "index", "columns")
        for margins in (False, True)
    },
    "aggregated by name": lambda f: _library(f).crosstab(
        [f.sex, f.port], f.kind, f.age, ["who", "where"], ["what"], "max", margins=True, margins_name="any"
    ),
    "aggregated by several": lambda f: _library(f).crosstab(f.sex, f.kind, f.age, aggfunc=["sum", "count"]),
    "aggregated by a function": lambda f: _library(f).crosstab(
        f.sex, f.kind, f.age, aggfunc=lambda values: values.max()
    ),
    "full columns": lambda f: f.dropna(axis=1),
    "columns that aren't empty": lambda f: f.assign(none=np.nan).dropna(axis="columns", how="all"),
    "columns with values enough": lambda f: f.dropna(axis=1, thresh=6),
    "columns by a lazy mask": lambda f: f.loc[:, f.isna().any()],
    "columns by lazy shares": lambda f: f.loc[f.age > 3, f.isna().mean() < 0.1],
    "rows of lazy labels": lambda f: f.loc[f.age.nlargest(2).index],
    "rows of groups' labels": lambda f: f.loc[f.groupby("sex").age.idxmax()],
    "rows of the largest": lambda f: f.loc[[f.age.idxmax()], "sex"],
}


def _library(frame):
    return pd if isinstance(frame, pd.DataFrame) else gd


@pytest.mark.more
@pytest.mark.parametrize("name", COLUMNS)
def test_shapes_that_depend_on_values_are_those_of_pandas(name):
    check_in_parts(FRAME, COLUMNS[name])
    check_in_parts(FRAME.iloc[:1], COLUMNS[name])


def test_small_results_become_plain_objects():
    lazy = gd.from_pandas(FRAME, npartitions=3)
    assert lazy.sex.value_counts().to_dict() == {"m": 3, "f": 3}
    assert lazy[["kind"]].to_dict("list") == {"kind": [1, 3, 2, 1, 1, 3]}
    assert lazy.loc[lazy.age.idxmax(), "sex"].compute() == "f"
    assert (lazy.when.max() - lazy.when.min()).days.compute() == 5
    assert lazy.when.max().year.compute() == 2024
    with pytest.raises(AttributeError, match=r"a lazy Scalar has no attribute 'yaer'; compute\(\) returns the value"):
        _ = lazy.when.max().yaer


def test_small_ones_are_computed_whatever_their_partitions():
    lazy = gd.from_pandas(FRAME, npartitions=3)
    assert_same(lazy[["kind", "age"]].T.compute(), FRAME[["kind", "age"]].T)
    assert_same(lazy[lazy.age > 30].T.compute(), FRAME[FRAME.age > 30].T)
    labelled = lazy.reset_index().set_index(["sex", "index"], sort=False)
    assert_same(labelled.age.unstack().compute(), FRAME.reset_index().set_index(["sex", "index"]).age.unstack())


def test_large_ones_are_not_computed_unasked(monkeypatch):
    monkeypatch.setattr("glassloom.dataframe.at_hand.MOST_ROWS", {"transpose": 5, "unstack": 5})
    lazy = gd.from_pandas(FRAME, npartitions=3)
    with pytest.raises(
        NotSupported, match=r"unstack of 6 rows in 3 partitions isn't supported.* repartition\(npartitions=1\) before"
    ):
        lazy.set_index(["sex", "kind"], sort=False).age.unstack()
    with pytest.raises(NotSupported, match=r"Use compute\(\)\.T, or repartition\(npartitions=1\)\.T"):
        _ = lazy.T
    assert_same(lazy[["kind"]].repartition(npartitions=1).T.compute(), FRAME[["kind"]].T)
    with pytest.raises(ValueError, match="Not a valid normalize argument"):
        gd.crosstab(lazy.sex, lazy.kind, values=lazy.age, aggfunc="sum", normalize="rows")
    for given in ({"values": lazy.age}, {"aggfunc": "sum"}):
        with pytest.raises(ValueError, match="crosstab: .* cannot be used without"):
            gd.crosstab(lazy.sex, lazy.kind, **given)
    with pytest.raises(TypeError, match="crosstab takes lazy series; columns= holds a int"):
        gd.crosstab(lazy.sex, [1, 2])
    with pytest.raises(AssertionError, match="must have the same length: rownames=.* names 1 series"):
        gd.crosstab(lazy.sex, lazy.kind, rownames=["a", "b"])


def test_numpy_computes_a_lazy_scalar_whose_value_it_needs():
    lazy = gd.from_pandas(pd.DataFrame({"x": [1.0, 2, 5]}), npartitions=2)
    assert np.linspace(lazy.x.min(), lazy.x.max(), 3).tolist() == [1, 3, 5]
    assert np.array([lazy.x.min(), lazy.x.sum()]).tolist() == [1, 8] and np.isclose(lazy.x.sum(), 8)
    assert np.asarray(lazy.x.sum(), dtype="int8").dtype == "int8"
    assert isinstance(np.sqrt(lazy.x.sum()), gd.Scalar)


def test_numpy_may_write_into_the_copy_that_it_asks_for():
    lazy = gd.from_pandas(pd.Series([1.0, np.nan]), npartitions=2)
    assert np.nan_to_num(lazy).tolist() == [1, 0]
