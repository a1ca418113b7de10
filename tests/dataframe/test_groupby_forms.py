"""Further forms of what `groupby` and its methods take: keys and columns of several levels, equal names, functions with arguments."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, check_in_parts
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION

INLINE = {"scheduler": "inline"}
FRAME = pd.DataFrame({"k": list("bbaacdda"), "x": range(8), "y": np.arange(8) / 4})
EQUAL_NAMES = pd.DataFrame([[1, 0, 2.0, 3], [1, 0, 5, 6], [2, 0, 8, 9]], columns=["k", "b", "c", "c"])
LEVELS = pd.DataFrame(
    [[1, 2.0, 3], [1, 5, 6], [2, 8, 9]], columns=pd.MultiIndex.from_tuples([("k", ""), ("y", "A"), ("y", "B")])
)
FORMS = {
    "numbers of groups": (FRAME, lambda f: f.groupby("k").transform("ngroup")),
    "numbers of groups, falling": (FRAME, lambda f: f.groupby("k").x.transform("ngroup", ascending=False)),
    "NumPy's sum along an axis": (FRAME, lambda f: f.groupby("k").agg(np.sum, axis=0)),
    "a function with arguments": (FRAME, lambda f: f.groupby("k").agg(np.percentile, 80, axis=0)),
    "a dict of chosen columns": (FRAME, lambda f: f.groupby("k")[["x"]].agg({"x": "sum"})),
    "a column in a tuple": (FRAME, lambda f: f.groupby("k")[("x",)].sum()),
    "named ones of chosen columns": (FRAME, lambda f: f.groupby("k")[["x", "y"]].agg(a=("x", "sum"))),
    "a dict of one of columns of other names": (EQUAL_NAMES, lambda f: f.groupby("k").agg({"b": "sum"})),
    "rows of a choice of columns of one name": (EQUAL_NAMES, lambda f: f.groupby("k")[["c"]].shift()),
    "named ones of columns of two levels": (LEVELS, lambda f: f.groupby([("k", "")]).agg(a=(("y", "A"), "max"))),
    "a dict of columns of two levels": (LEVELS, lambda f: f.groupby(("k", "")).agg({("y", "A"): "max"})),
    "the first level of a key": (LEVELS, lambda f: f.groupby("k").sum()),
    "the first level of a key, of rows": (LEVELS, lambda f: f.groupby("k")[[("y", "A")]].transform("mean")),
    "the first level of a key, of whole groups": (LEVELS, lambda f: f.groupby("k")[[("y", "A")]].median()),
    "the first level of several columns": (LEVELS, lambda f: f.groupby("y").sum()),
    "a tuple of names": (FRAME, lambda f: f.groupby(("k", "x")).sum()),
    "a level of one level twice": (FRAME, lambda f: f.groupby(level=[0, 0]).sum()),
    "a grouper of a key and a level": (FRAME, lambda f: f.groupby([pd.Grouper(key="k", level="k"), "x"]).sum()),
    "rows by name": (FRAME, lambda f: f.groupby("k").agg("cumsum")),
    "rows by name, with an argument": (FRAME, lambda f: f.groupby("k").x.agg("shift", 2)),
    "a dict of rows by name": (FRAME, lambda f: f.groupby("k").agg({"x": "rank", "y": "shift"})),
    "apply of a name": (FRAME, lambda f: f.groupby("k").apply("sum", numeric_only=True)),
    "a filter by a frame of one value": (FRAME[["x"]], lambda f: f.groupby(f.x % 3).filter(lambda g: g.mean() > 3)),
    "rows of columns of one name": (EQUAL_NAMES, lambda f: f.groupby("k").cummax()),
    "the group of a missing key": (FRAME.assign(k=[None, *"baacdda"]), lambda f: f.groupby("k").get_group(np.nan)),
}
if HAS_COPY_ON_WRITE:  # pandas 2 fails with an AttributeError
    FORMS |= {
        "a dict of columns of one name": (EQUAL_NAMES, lambda f: f.groupby("k").agg({"c": "sum"})),
        "a dict of lists of columns of one name": (EQUAL_NAMES, lambda f: f.groupby("k").agg({"c": ["sum", "max"]})),
    }


@pytest.mark.more
@pytest.mark.parametrize("name", FORMS)
def test_each_form_has_the_result_or_the_error_of_pandas(name):
    frame, form = FORMS[name]
    check_in_parts(frame, form)


@pytest.mark.more
@pytest.mark.skipif(PANDAS_VERSION < (3, 1), reason="pandas has named transforms since 3.1")
def test_named_transforms_are_the_columns_of_the_result():
    check_in_parts(FRAME, lambda f: f.groupby("k").transform(low=("x", "min"), sums=pd.NamedAgg("y", "cumsum")))
    with pytest.raises(TypeError, match=r"give a function, or named ones"):
        gd.from_pandas(FRAME, npartitions=2).groupby("k").transform()


def test_a_group_by_a_series_has_its_rows_of_partitions_of_one_row():
    lazy = gd.from_pandas(FRAME, npartitions=8)
    made = lazy.groupby(lazy.k.str.upper()).get_group("A")
    assert_same(made.compute(**INLINE), FRAME.groupby(FRAME.k.str.upper()).get_group("A"))


def test_named_aggregations_by_several_functions_are_refused():
    groups = gd.from_pandas(FRAME, npartitions=2).groupby("k")
    with pytest.raises(NotImplementedError, match=r"has one function: .* agg\(\{'x': \['sum', 'max'\]\}\)"):
        groups.agg(x=("x", ("sum", "max")))


def test_meta_of_functions_of_groups_may_be_a_lazy_frame():
    lazy = gd.from_pandas(FRAME, npartitions=3)
    made = lazy.groupby("k")[["x", "y"]].apply(lambda rows: rows[rows.x > 1], meta=lazy[["x", "y"]])
    assert list(made.columns) == ["x", "y"]
    expected = FRAME.groupby("k")[["x", "y"]].apply(lambda rows: rows[rows.x > 1])
    pd.testing.assert_frame_equal(made.compute(**INLINE).sort_index(), expected.sort_index())
    with pytest.raises(TypeError, match=r"GroupBy.apply: meta= is a dict of lazy values"):
        lazy.groupby("k").apply(len, meta={"x": lazy.x.max()})


_BESIDE = {
    "counts of values": lambda f, p: p.concat([f.g.value_counts(), f.groupby("g").x.apply(_spread)], axis=1),
    "sums": lambda f, p: p.concat([f.groupby("g").x.apply(_spread), f.groupby("g").x.sum().rename("sum")], axis=1),
    "some groups": lambda f, p: p.concat([f.groupby("g").x.sum(), _large(f.groupby("g").x.apply(_spread))], axis=1),
    "groups that all have": lambda f, p: p.concat(
        [f.groupby("g").x.sum(), f.groupby("g").x.apply(_spread).rename("y")], axis=1, join="inner"
    ),
    "divided": lambda f, p: f.groupby("g").x.apply(_spread) / f.groupby("g").x.count(),
    "another key": lambda f, p: p.concat([f.groupby("g").x.apply(_spread), f.groupby("x").x.apply(_spread)], axis=1),
}


def _spread(values):
    return values.max() - values.min()


def _large(spreads):
    return spreads[spreads > 15]


@pytest.mark.parametrize("case", _BESIDE)
def test_what_functions_make_of_groups_is_combined_with_aggregations(case):
    random = np.random.default_rng(7)
    frame = pd.DataFrame({"g": random.integers(0, 9, 60).astype(float), "x": random.integers(0, 20, 60)})
    frame["g"] = frame.g.where(frame.g != 4)
    expected = _BESIDE[case](frame, pd)
    assert_same(_BESIDE[case](gd.from_pandas(frame, npartitions=4), gd).compute(scheduler="inline"), expected)
