"""What depends on all rows, on another frame or on levels of the index is pandas', wherever the partitions end."""

import warnings

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, check_all, cut_frames, labels, partitionings
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from hypothesis import given, settings
from long_tests import examples

INLINE = {"scheduler": "inline"}
COLUMNS = ["i", "f", "s", "b", "c", "d", "n"]
METHODS = ("average", "min", "max", "first", "dense")


def with_level(frame):
    """Return a frame with a column as further level of its index; rows stay where they are."""
    options = {} if isinstance(frame, pd.DataFrame) else {"sort": False}
    return frame.set_index("s", append=True, **options)


def updated(frame, other, **options):
    """Return a frame after `update`, which returns nothing."""
    copy = frame.copy()
    assert copy.update(other, **options) is None
    return copy


RANKS = {
    **{f"{method} ranks of {name}": lambda f, m=method, c=name: f[c].rank(method=m)
       for method, name in zip(METHODS * 2, [*COLUMNS, "f", "n", "i"], strict=True)},
    "missing on top, falling": lambda f: f.f.rank(na_option="top", ascending=False),
    "missing at the bottom, in parts": lambda f: f.s.rank(na_option="bottom", pct=True),
    "dense, in parts": lambda f: f.n.rank(method="dense", pct=True),
    "of a frame": lambda f: f[["i", "f", "s"]].rank(),
    "of numbers": lambda f: f.rank(numeric_only=True, method="max"),
    "in each row": lambda f: f[["i", "f"]].rank(axis=1),
    "ranks beside their column": lambda f: f.i + f.i.rank(),
}  # fmt: skip
if not HAS_COPY_ON_WRITE:  # a series of pandas ranks missing values of nullable columns by what memory holds for them
    OF_NULLABLE = ("of n", "dense, in parts")
    RANKS = {name: operation for name, operation in RANKS.items() if not name.endswith(OF_NULLABLE)}

DUPLICATES = {
    **{f"of {name}": lambda f, c=name: f[c].duplicated() for name in COLUMNS},
    "last": lambda f: f[["b", "s"]].duplicated(keep="last"),
    "none": lambda f: f.duplicated(["b", "c"], keep=False),
    "of one column": lambda f: f.duplicated("i"),
    "of all": lambda f: f.duplicated(),
    "rows that aren't": lambda f: f[~f.duplicated("s")],
    "labels that aren't": lambda f: f[~f.index.duplicated()],
    "last labels": lambda f: f[~f.index.duplicated(keep="last")].i,
}

AMONG = {
    **{f"of {name}": lambda f, c=name: f[c].isin(f[f.i > 0][c]) for name in COLUMNS},
    "distinct values": lambda f: f[~f.s.isin(f[f.b].s.unique())],
    "nothing": lambda f: f.i.isin(f[f.i > 1000].i),
    "labels": lambda f: f[f.index.isin(f[f.i > 0].index)],
    "among labels": lambda f: f.i.isin(f.index),
    "in a condition": lambda f: f[(f.f > 0) & f.s.isin(f[f.b].s)].i.sum(),
}

PLACES = {
    "largest": lambda f: f.f.argmax(),
    "smallest": lambda f: f.n.argmin(),
    **({"of a missing one": lambda f: f.f.argmax(skipna=False)} if HAS_COPY_ON_WRITE else {}),  # -1 before pandas 3
    "place of a value": lambda f: f.i.sort_values().searchsorted(1),
}

OTHERS = {
    "combine_first": lambda f: f.combine_first(f.shift(1)),
    "combine_first of one": lambda f: f.s.combine_first(f.s.shift(-1)),
    "combine": lambda f: f[["i", "f"]].combine(f[["i", "f"]].shift(1), np.fmin),
    "combine of one": lambda f: f.i.combine(f.f, max),
    "compare": lambda f: f.f.compare(f.f.shift(1)),
    "compare frames": lambda f: f[["f", "s"]].compare(f[["f", "s"]].shift(1), keep_shape=True, keep_equal=True),
    "update": lambda f: updated(f, f[["f", "s"]].shift(1)),
    "update what is missing": lambda f: updated(f, f[["f"]].shift(1), overwrite=False),
    "update one": lambda f: updated(f.f, f.f.shift(1)),
}

LEVELS = {
    "droplevel": lambda f: with_level(f).droplevel(0),
    "swaplevel": lambda f: with_level(f).swaplevel().i,
    "reorder_levels": lambda f: with_level(f).reorder_levels([1, 0]),
    "xs of a level": lambda f: with_level(f).xs("bee", level="s"),
    "xs of a column": lambda f: f.xs("f", axis=1),
    "set_axis": lambda f: f[["i", "s"]].set_axis(["a", "b"], axis=1),
    "stack": lambda f: f[["i", "f"]].stack(future_stack=True),
}


@pytest.mark.parametrize(
    "operations",
    [RANKS, DUPLICATES, AMONG, PLACES, LEVELS],
    ids=["ranks", "duplicates", "among", "places", "levels"],
)
@settings(max_examples=examples(3))
@given(pair=cut_frames(min_rows=2, max_rows=16))
def test_what_depends_on_all_rows_is_as_pandas_has_it(operations, pair):
    check_all(operations, *pair)


@settings(max_examples=examples(3))
@given(pair=cut_frames(min_rows=2, max_rows=12))
def test_frames_aligned_with_others_are_those_of_pandas(pair):
    frame, lazy = pair
    if frame.index.is_unique:  # other labels are aligned in all combinations, of which pandas refuses some
        check_all(OTHERS, frame, lazy)


FACTORS = pd.DataFrame({"i": np.arange(40) % 7, "f": np.arange(40) / 4, "s": "t", "b": np.arange(40) % 3 > 0})
WITH_PANDAS = {
    "series on the right": lambda f: f.i + FACTORS.f,
    "series on the left": lambda f: FACTORS.f - f.i,
    "comparison": lambda f: f[f.f > FACTORS.f[:12]],
    "comparison from the left": lambda f: FACTORS.f[:12] <= f.f,
    "condition": lambda f: f[(f.i > 2) & FACTORS.b[:12]],
    "condition from the left": lambda f: f[FACTORS.b[:12] & (f.i > 2)],
    "text": lambda f: FACTORS.s[:12] + f.s,
    "fewer labels": lambda f: f.i * FACTORS.i[3:7],
    "frame": lambda f: f[["i", "f"]] * FACTORS[["i", "f"]],
    "frame on the left": lambda f: FACTORS[["i", "f"]] - f[["i", "f"]],
    "row of a frame": lambda f: f[["i", "f"]] - FACTORS[["i", "f"]].mean(),
    "row on the left": lambda f: FACTORS[["i", "f"]].mean() - f[["i", "f"]],
    "column of a frame": lambda f: f[["i", "f"]].sub(FACTORS.i[:12], axis=0),
    "method": lambda f: f.i.rsub(FACTORS.i[4:20], fill_value=0),
    "NumPy's function": lambda f: np.maximum(f.f, FACTORS.f[:12]),
    "column": lambda f: f.assign(g=f.f * FACTORS.f[:12]).g.sum(),
}


@pytest.mark.parametrize("name", WITH_PANDAS)
def test_operators_align_pandas_objects_with_rows_by_label(name):
    frame = pd.DataFrame({"i": range(12), "f": np.arange(12.0)[::-1], "s": list("abcdefghijkl")})
    for npartitions in (1, 3, 5):
        lazy = gd.from_pandas(frame, npartitions=npartitions)
        found, expected = WITH_PANDAS[name](lazy).compute(**INLINE), WITH_PANDAS[name](frame)
        if isinstance(expected, (pd.DataFrame, pd.Series)):
            assert_same(found, expected)
        else:
            assert found == expected


def test_pandas_objects_are_aligned_with_rows_whose_divisions_are_not_known():
    lazy = gd.from_pandas(FACTORS, npartitions=3).clear_divisions()
    for call in (lambda frame: frame.i + FACTORS.f, lambda frame: FACTORS.f + frame.i):
        assert_same(call(lazy).compute(**INLINE), call(FACTORS))


def test_frames_cut_otherwise_are_aligned_by_their_labels():
    one = pd.DataFrame({"x": [1.0, None, 3.0, None], "s": list("abcd")}, index=[1, 2, 4, 6])
    other = pd.DataFrame({"x": [10.0, 20.0, 30.0]}, index=[2, 3, 6])
    lazy = gd.from_pandas(one, npartitions=3)
    for right in (other, gd.from_pandas(other, npartitions=2)):
        assert_same(lazy.combine_first(right).compute(**INLINE), one.combine_first(other))
        assert_same(updated(lazy, right).compute(**INLINE).loc[one.index], updated(one, other))


@pytest.mark.parametrize(
    "dtype", ["float32", "int64[pyarrow]", "Float64", "datetime64[ns, Europe/Berlin]", "timedelta64[ns]", "str"]
)
def test_ranks_and_duplicates_are_those_of_pandas_for_every_dtype(dtype):
    values = pd.Series([3, 1, None, 2, 3, None, 1], dtype="float64").astype("Int64")
    column = (
        values.astype("datetime64[ns]").dt.tz_localize("Europe/Berlin") if "Berlin" in dtype else values.astype(dtype)
    )
    lazy = gd.from_pandas(column, npartitions=3)
    if dtype == "Float64" and not HAS_COPY_ON_WRITE:
        column, lazy = column.dropna(), lazy.dropna()  # pandas ranks missing ones by what memory holds for them
    assert_same(lazy.rank(method="min").compute(**INLINE), column.rank(method="min"))
    assert_same(lazy.duplicated().compute(**INLINE), column.duplicated())


def test_places_of_several_values_are_those_of_pandas():
    values = pd.Series([1, 1, 3, 5, 8], dtype="int64")
    lazy = gd.from_pandas(values, npartitions=3)
    for side in ("left", "right"):
        got = lazy.searchsorted([0, 1, 4, 9], side=side).compute(**INLINE)
        assert got.tolist() == values.searchsorted([0, 1, 4, 9], side=side).tolist()


def test_objects_are_equal_only_with_equal_dtypes():
    frame = pd.DataFrame({"x": [1, 2, 3], "y": [1.0, None, 2.0]})
    lazy = gd.from_pandas(frame, npartitions=2)
    assert lazy.equals(frame)
    assert lazy.equals(gd.from_pandas(frame, npartitions=3))
    assert not lazy.equals(frame.astype({"x": float}))
    assert not lazy.equals(frame.assign(y=0.0))
    assert not lazy.equals(3)


@pytest.mark.parametrize("method", ["cumsum", "cumprod", "cummin", "cummax"])
@settings(max_examples=examples(3))
@given(pair=cut_frames(min_rows=2, max_rows=16))
def test_cumulative_methods_of_groups_are_those_of_pandas(method, pair):
    operations = {
        "by text": lambda f: getattr(f.groupby("s")[["i", "f"]], method)(),
        "by two": lambda f: getattr(f.groupby(["b", "c"], observed=True)[["i", "n"]], method)(),
        "with missing keys": lambda f: getattr(f.groupby("s", dropna=False).f, method)(),
        "with missing values": lambda f: getattr(f.groupby("b").f, method)(skipna=False),
        "of numbers": lambda f: getattr(f[["b", "i", "f", "d"]].groupby("b"), method)(numeric_only=True),
        "by another series": lambda f: getattr(f.f.groupby(f.i % 2), method)(),
        "of times": lambda f: getattr(f.groupby("b").d, method)(),
        "count": lambda f: f.groupby("s").cumcount(),
        "count with missing keys": lambda f: f.groupby(["s", "c"], dropna=False, observed=True).cumcount(),
    }  # fmt: skip
    check_all(operations, *pair)


def test_rows_tested_by_another_frame_stay_and_keep_divisions():
    lazy = gd.from_pandas(pd.DataFrame({"k": [1, 2] * 6, "x": range(12)}), npartitions=4)
    other = gd.from_pandas(pd.DataFrame({"k": [2, 2, 3]}), npartitions=3)
    found = lazy[lazy.k.isin(other.k)]
    assert found.divisions == lazy.divisions
    assert not [label for label in labels(found) if "shuffle" in label]
    assert found.partitions[1:3].x.compute(**INLINE).tolist() == [3, 5, 7]
    with pytest.raises(
        NotImplementedError, match=r"isin takes a list, a lazy series or a lazy index; .* merge\(how='leftsemi'\)"
    ):
        lazy.k.isin(other)
    with pytest.raises(
        NotImplementedError, match=r"isin of a frame takes a list or a dict: test columns by frame\[column\].isin"
    ):
        lazy.isin(other.k)


def test_cumulative_methods_of_groups_move_no_rows():
    lazy = gd.from_pandas(pd.DataFrame({"k": [1, 2] * 6, "x": range(12)}), npartitions=4)
    for made in (lazy.groupby("k").x.cumsum(), lazy.groupby("k").cumcount()):
        assert not [label for label in labels(made) if "shuffle" in label or "return" in label]


@pytest.mark.parametrize(("call", "message"), [
    (lambda f: f.rank(method="best"), r"rank: method='best' should be one of 'average', 'min', 'max', 'first', 'dense'"),
    (lambda f: f.x.duplicated(keep="all"), r"duplicated: keep='all' should be 'first', 'last' or False"),
    (lambda f: f.duplicated("z"), r"no column 'z'.* The columns are 'x', 'y'"),
    (lambda f: f.x.interpolate("cubic"), r"interpolate\(method='cubic'\) isn't supported: give one of 'linear', 'index'"),
    (lambda f: f.y.astype(str).interpolate(), r"Cannot interpolate with str dtype|not supported for object dtype"),
    (lambda f: f.x.interpolate(limit=0), r"interpolate: limit=0 should be a whole number, 1 or more"),
    (lambda f: f.x.ewm(alpha=0.5).corr(), r"ewm\(\)\.corr\(\) of several partitions isn't supported: .*\. Use mean, sum, var or std"),
    (lambda f: f.update(3), r"update needs a lazy or pandas frame or series, got int"),
    (lambda f: f.x.searchsorted(1, side="up"), r"searchsorted: side='up' should be 'left' or 'right'"),
])  # fmt: skip
def test_bad_arguments_say_what_is_wrong_and_what_to_do(call, message):
    if "Cannot interpolate" in message and not HAS_COPY_ON_WRITE:
        pytest.skip("pandas interpolates objects before version 3")
    lazy = gd.from_pandas(pd.DataFrame({"x": [1, 2, 3], "y": [1.0, None, 2.0]}), npartitions=2)
    with pytest.raises((ValueError, NotImplementedError, KeyError, TypeError), match=message):
        call(lazy)


POSITIONS = {
    "floats": pd.Series([3, 1, None, 2, 1, 0.5, 3], index=list("abcdefg"), name="x"),
    "whole numbers": pd.Series([3, 1, 2, 1, 1, 3, 0]),
    "text": pd.Series(["b", "a", None, "", "ab", "a", "b"]),
    "objects": pd.Series(["b", "a", None, "", "ab", "a", "b"], dtype=object),
    "categories": pd.Series(["b", "a", None, "c", "a"], dtype=pd.CategoricalDtype(list("cba"))),
    "nullable": pd.Series([3, None, 1, 1, 0], dtype="Int64"),
    "times": pd.to_datetime(pd.Series(["2021", None, "2020", "2021"])),
    "truth values": pd.Series([True, False, True, False]),
    "missing": pd.Series([None, None, None], dtype="float64"),
}


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_in_the_order_of_the_values_are_those_of_pandas(name):
    series = POSITIONS[name]
    for values in (series, series[::-1], series[:1], series[:0]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # before pandas 3, of -1 for missing values
            expected = values.argsort(kind="stable")
            for lazy in partitionings(values):
                made = lazy.argsort()
                assert_same(made.compute(**INLINE), expected)
                assert (made.dtype, made.name) == (expected.dtype, expected.name)


AS_OF = {
    "several": lambda f: f[["i", "f"]].asof([3, -1, 5, 99]),
    "by a column": lambda f: f[["i", "f"]].asof([3, 5], subset="i"),
    "one": lambda f: f[["i", "f"]].asof(5),
    "before all": lambda f: f[["i", "f"]].asof(-1),
    "of a column": lambda f: f.f.asof([3, -1, 5]),
    "a value": lambda f: f.f.asof(5),
    "no value": lambda f: f.f.asof(0),
    "a column of a series": lambda f: f.f.asof(5, subset="f"),
}


@pytest.mark.parametrize("missing", [[0, 3], [0, 1, 2, 3, 4, 5], [2, 3, 4]], ids=str)
def test_the_last_rows_up_to_a_label_are_those_of_pandas(missing):
    frame = pd.DataFrame({"i": range(6), "f": np.arange(6) / 2}, index=[0, 2, 2, 4, 6, 7])
    frame.iloc[missing, 1] = np.nan
    check_all(AS_OF, frame, gd.from_pandas(frame, npartitions=3))
    check_all(AS_OF, frame[:1], gd.from_pandas(frame[:1], npartitions=1))
    unsorted = gd.from_pandas(frame[::-1], npartitions=3, sort=False)
    with pytest.raises(ValueError, match="asof requires a sorted index"):
        unsorted.asof([3]).compute(**INLINE)


@pytest.mark.parametrize("is_lazy", [False, True])
def test_an_update_is_an_error_only_where_both_have_values(is_lazy):
    plain = pd.DataFrame({"i": range(6), "f": [None, 1, None, 3, 4, 5]})
    for other in (pd.DataFrame({"f": [1.5, None, 2]}), pd.DataFrame({"i": [7]}, index=[9])):
        lazy, expected = gd.from_pandas(plain, npartitions=3), plain.copy()
        expected.update(other, errors="raise")
        lazy.update(gd.from_pandas(other, npartitions=2) if is_lazy else other, errors="raise")
        pd.testing.assert_frame_equal(lazy.compute(**INLINE), expected)
        assert lazy.dtypes.equals(expected.dtypes)
    lazy.update(pd.DataFrame({"f": [7.0]}, index=[4]), errors="raise")
    with pytest.raises(ValueError, match="Data overlaps"):
        lazy.compute(**INLINE)
