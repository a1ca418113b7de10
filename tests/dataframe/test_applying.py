"""`groupby(...).apply` over several partitions: what pandas makes of results whose kind depends on the groups of all partitions."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import WITHOUT_KEYS, assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.errors import MetaError

INLINE = {"scheduler": "inline"}
FRAME = pd.DataFrame(
    {
        "k": list("aabbcccd"),
        "x": range(8),
        "c": list("uvuuvwwu"),
        "f": [0.5, 1, 2, np.nan, 3, 1, 2, 9],
        "i": pd.array([1, 2, None, 4, 5, 6, 7, 8], dtype="Int64"),
    }
)


def _sum_of_several(group):
    return None if len(group) < 2 else group.x.sum()


def _sum_without_first(group):
    return None if group.x.min() < 2 else group.x.sum()


RESULTS = {
    "series of unlike lengths": lambda g: g.apply(lambda group: group.x.value_counts()),
    "a series of the rows": lambda g: g.apply(lambda group: group.x * 2),
    "a nullable series of the rows": lambda g: g.apply(lambda group: group.i + 1),
    "series of the same labels": lambda g: g[["x", "f"]].apply(lambda group: group.sum()),
    "values": lambda g: g.apply(lambda group: group.f.sum()),
    "frames": lambda g: g.apply(lambda group: group.head(1), **WITHOUT_KEYS),
    "values, None before others": lambda g: g.apply(_sum_without_first),
    "rows, None before others": lambda g: g[["x", "f"]].apply(lambda h: None if h.x.min() == 0 else h.sum()),
}
NONE_FOR_ONE_ROW = {
    "values": lambda g: g.apply(_sum_of_several),
    "texts": lambda g: g.apply(lambda group: None if len(group) < 2 else "".join(group.c)),
    "rows": lambda g: g[["x", "f"]].apply(lambda group: None if len(group) < 2 else group.sum()),
    "frames": lambda g: g.apply(lambda group: None if len(group) < 2 else group, **WITHOUT_KEYS),
    "values of a column": lambda g: g.x.apply(lambda group: None if len(group) < 2 else group.sum()),
}


@pytest.mark.parametrize("npartitions", [1, 2, 8])
@pytest.mark.parametrize("by", ["k", ["k", "c"]])
@pytest.mark.parametrize("name", RESULTS)
def test_results_of_groups_of_all_partitions_make_what_pandas_makes(name, by, npartitions):
    expected = RESULTS[name](FRAME.groupby(by))
    lazy = gd.from_pandas(FRAME, npartitions=npartitions)
    assert_same(RESULTS[name](lazy.groupby(by)).compute(**INLINE), expected)


@pytest.mark.parametrize("options", [{"group_keys": False}, {"as_index": False}])
@pytest.mark.parametrize("name", ["a series of the rows", "values, None before others", "rows, None before others"])
def test_results_have_the_labels_that_the_options_say(name, options):
    expected = RESULTS[name](FRAME.groupby("k", **options))
    for npartitions in (2, 8):
        lazy = gd.from_pandas(FRAME, npartitions=npartitions).groupby("k", **options)
        assert_same(RESULTS[name](lazy).compute(**INLINE), expected)


@pytest.mark.parametrize("function", [lambda rows: rows * 2, lambda rows: rows.head(1), lambda rows: rows.sum()])
@pytest.mark.parametrize("columns", ["x", ["x", "f"]], ids=str)
def test_results_of_groups_that_are_no_labels_are_numbered_as_by_pandas(columns, function):
    for frame in (FRAME, FRAME[::-1]):
        lazy = gd.from_pandas(frame, npartitions=3, sort=False)
        made = lazy.groupby("k", as_index=False)[columns].apply(function).compute(**INLINE)
        assert_same(made, frame.groupby("k", as_index=False)[columns].apply(function))


@pytest.mark.parametrize("npartitions", [1, 3, 8])
@pytest.mark.parametrize("name", NONE_FOR_ONE_ROW)
def test_groups_for_which_a_function_returns_none_are_missing_as_in_pandas(name, npartitions):
    expected = NONE_FOR_ONE_ROW[name](FRAME.groupby("k"))
    assert_same(
        NONE_FOR_ONE_ROW[name](gd.from_pandas(FRAME, npartitions=npartitions).groupby("k")).compute(**INLINE), expected
    )


def test_another_kind_of_result_than_that_of_made_up_rows_is_an_error_that_names_meta():
    def rows(group):
        return group.x if len(group) > 1 else pd.Series([0], index=["only"])

    lazy = gd.from_pandas(FRAME, npartitions=3)
    with pytest.raises(
        MetaError, match=r"other labels for other groups, .* one long series; .* meta=, an empty series"
    ):
        lazy.groupby("k").apply(rows).compute(**INLINE)
    with pytest.raises(MetaError, match=r"the same labels for all groups, .* meta=, an empty frame"):
        lazy[lazy.k == "a"].groupby("k").apply(lambda group: group.x).compute(**INLINE)
    with pytest.raises(MetaError, match=r"meta= is a frame, .* give meta=, an empty series"):
        lazy.groupby("k").apply(lambda group: group.x, meta={"x": "int64"}).compute(**INLINE)
    if HAS_COPY_ON_WRITE:  # pandas 2 is given all groups at once
        with pytest.raises(MetaError, match="returned None for two made-up rows"):
            lazy.groupby("k", as_index=False).apply(_sum_of_several)


SAME = FRAME.assign(k=list("abababab"))
LABELS = {
    "counts": lambda g: g.c.value_counts().sort_index(),
    "sums of further groups": lambda g: g.groupby("c").x.sum(),
    "numbered rows": lambda g: g.x.reset_index(drop=True),
    "another column as labels": lambda g: g.set_index("x").f,
}


@pytest.mark.parametrize("options", [{}, {"as_index": False}, {"group_keys": False}])
@pytest.mark.parametrize("name", LABELS)
def test_whether_all_groups_have_the_same_labels_is_found_out_if_they_are_made_of_values(name, options):
    for frame in (FRAME, SAME, SAME.assign(c="u"), SAME.iloc[[0, 1, 2]]):
        lazy = gd.from_pandas(frame, npartitions=3)
        expected = frame.groupby("k", **options).apply(LABELS[name], **WITHOUT_KEYS)
        made = lazy.groupby("k", **options).apply(LABELS[name], **WITHOUT_KEYS)
        assert_same(made.compute(**INLINE), expected)
        assert made.ndim == expected.ndim
        if expected.ndim == 2:
            assert list(made.columns) == list(expected.columns)


def test_series_of_the_rows_or_of_constant_labels_are_not_looked_at_before():
    called = []

    def summary(group):
        called.append(len(group))
        return pd.Series({"n": len(group), "s": group.x.sum()})

    def rows(group):
        called.append(len(group))
        return group.x + 1

    lazy = gd.from_pandas(FRAME, npartitions=3)
    lazy.groupby("k").apply(summary)
    lazy.groupby("k").apply(rows)
    assert sum(called) <= 2 * 2 * 2  # of two made-up rows


def test_a_meta_that_is_a_series_makes_one_of_series_with_the_same_labels_in_a_partition():
    def counts(group):
        return group.c.value_counts()

    expected = FRAME.groupby("k").apply(counts)
    made = gd.from_pandas(FRAME, npartitions=8).groupby("k").apply(counts, meta=expected.iloc[:0])
    assert_same(made.compute(**INLINE), expected)


def test_missing_times_alone_in_a_partition_have_the_dtype_of_the_others():
    frame = pd.DataFrame({"k": list("AABB"), "t": pd.to_timedelta([1, None, 4, 6])})
    for of in (
        lambda f: f.groupby("k").t.apply(lambda t: t.mean(skipna=False)),
        lambda f: f.groupby("k").apply(lambda g: g.t.iloc[-1] * g.t.iloc[0].nanoseconds),
    ):
        assert_same(of(gd.from_pandas(frame, npartitions=4)).compute(**INLINE), of(frame))


@pytest.mark.parametrize("dtype", ["str", "string"])
def test_missing_text_alone_in_a_partition_has_the_dtype_of_the_others(dtype):
    frame = pd.DataFrame({"k": list("ABCD"), "x": range(4), "c": pd.Series([None, None, "c", "d"], dtype=dtype)})
    first = (
        lambda f: f.groupby("k").c.apply(lambda c: c.iloc[0]),
        lambda f: f.groupby("k").apply(lambda g: g.c.iloc[0]),
        lambda f: f.groupby("k").c.agg(lambda c: c.iloc[0]),
        lambda f: f.groupby("k")[["c", "x"]].agg(lambda c: c.iloc[0]),
    )
    for of in first:
        for npartitions in (1, 2, 4):
            assert_same(of(gd.from_pandas(frame, npartitions=npartitions)).compute(**INLINE), of(frame))
    objects = frame.assign(c=pd.Series([None, None, ("c",), ("d",)], dtype=object))
    assert_same(first[2](gd.from_pandas(objects, npartitions=2)).compute(**INLINE), first[2](objects))


TIMES = FRAME.assign(t=pd.date_range("2020-01-01", periods=8, freq="12h"))
OF_TIMES = {
    "counts": lambda g: g.x.apply(pd.Series.value_counts),
    "rows": lambda g: g.x.apply(lambda x: x * 2),
    "values": lambda g: g.x.apply(lambda x: x.sum()),
    "dicts": lambda g: g.x.apply(lambda x: {"low": x.min(), "sum": x.sum()}),
    "frames": lambda g: g[["x"]].apply(lambda h: h.head(1)),
    "values of frames": lambda g: g[["x", "f"]].apply(len),
    "rows of frames": lambda g: g[["x", "f"]].apply(lambda h: h.sum()),
    "a name": lambda g: g.x.apply("sum"),
    "a method": lambda g: g.c.value_counts(),
}


@pytest.mark.parametrize("npartitions", [1, 3])
@pytest.mark.parametrize("name", OF_TIMES)
def test_functions_of_groups_by_stretches_of_time_make_what_pandas_makes(name, npartitions):
    for by, frame in (
        (pd.Grouper(key="t", freq="D"), TIMES),
        (pd.Grouper(freq="D"), TIMES.set_index("t")),
        (pd.Grouper(key="t", freq="6h"), TIMES),
    ):
        lazy = gd.from_pandas(frame, npartitions=npartitions)
        made = OF_TIMES[name](lazy.groupby(by))
        assert_same(made.compute(**INLINE), OF_TIMES[name](frame.groupby(by)))


MIXED_TIMES = TIMES.take([3, 0, 7, 1, 6, 2, 5, 4]).assign(t=lambda frame: frame.t.where(frame.x != 5))
METHODS_OF_TIMES = {
    "transform": lambda g: g[["x", "f"]].transform("sum"),
    **({"transform by a function": lambda g: g.x.transform(lambda x: x - x.min())} if HAS_COPY_ON_WRITE else {}),
    "ffill": lambda g: g.f.ffill(),
    "bfill": lambda g: g[["f"]].bfill(),
    "cumsum": lambda g: g.x.cumsum(),
    "shift": lambda g: g[["x"]].shift(),
    "head": lambda g: g.head(1),
    "nth": lambda g: g.x.nth(-1),
    "filter": lambda g: g.filter(lambda h: len(h) > 1),
    "unique": lambda g: g.c.unique(),
    "describe": lambda g: g.x.describe(),
    "nlargest": lambda g: g.x.nlargest(1),
    "quantile": lambda g: g.x.quantile([0.25, 0.5]),
    "ngroup": lambda g: g.ngroup(),
}


@pytest.mark.parametrize("name", METHODS_OF_TIMES)
def test_methods_of_groups_by_stretches_of_time_are_those_of_groups(name):
    for by, frame in (
        (pd.Grouper(key="t", freq="D"), MIXED_TIMES),
        (pd.Grouper(level="t", freq="D"), TIMES.set_index("t")),
    ):
        made = METHODS_OF_TIMES[name](gd.from_pandas(frame, npartitions=3, sort=False).groupby(by))
        assert_same(made.compute(**INLINE), METHODS_OF_TIMES[name](frame.groupby(by)))


def test_groups_by_stretches_of_time_have_no_methods_of_resample_alone():
    groups = gd.from_pandas(TIMES, npartitions=2).groupby(pd.Grouper(key="t", freq="6h"))
    with pytest.raises(AttributeError, match=r"no asfreq\(\), in pandas too: resample\(\) has it"):
        groups.asfreq()
    assert "asfreq" not in dir(groups)
    assert "cumsum" in dir(groups)
    for method in ("rolling", "expanding", "ewm"):
        with pytest.raises(
            NotImplementedError, match=rf"no {method}\(\): apply\(\) calls .* groupby\(key\)\.{method}\(\)"
        ):
            getattr(groups.x, method)(2)


@pytest.mark.parametrize("npartitions", [1, 3])
def test_values_that_are_missing_in_a_partition_have_the_dtype_of_the_others(npartitions):
    plain = pd.DataFrame({"k": [0, 0, 1, 1, 2], "s": ["u", None, None, "v", "w"], "b": [1.0, 2, 3, 4, 5]})
    lazy = gd.from_pandas(plain, npartitions=npartitions)
    for function in (
        lambda rows: rows.iloc[0],
        lambda rows: pd.Series({"mean": rows.b.mean(), "first": rows.s.iloc[0]}),
        lambda rows: pd.Series({"most": rows.b.max() if len(rows) > 1 else None, "one": 1.5}),
    ):
        expected = plain.groupby("k").apply(function, **WITHOUT_KEYS)
        assert_same(lazy.groupby("k").apply(function, **WITHOUT_KEYS).compute(), expected)
