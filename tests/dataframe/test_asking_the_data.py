"""Results that depend on the values of all partitions together are those of pandas: dtypes, codes, bins, joined texts."""

import datetime
import decimal

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}


def cut(frame):
    """Return a frame or series in three partitions, and in partitions of which some are empty."""
    pieces = [frame[:0], frame[:2], frame[2:2], frame[2:]]
    ragged = gd.from_map(pieces.__getitem__, range(4), meta=frame[:0])
    return [gd.from_pandas(frame, npartitions=3, sort=False), ragged]


TIME = pd.Timestamp("2020-01-01")
OBJECTS = {
    "whole": [1, 2, 3, 4], "whole and None": [1, None, 3, 4], "whole and NaN": [1, np.nan, 3, 4], "numbers": [1, 2.5, 3, 4],
    "whole floats": [1, 2.0, 3, 4], "truth": [True, False, True, True], "truth and None": [True, None, True, True],
    "truth and whole": [True, 1, 2, 3], "text": list("abcd"), "text and missing": ["a", None, "c", np.nan],
    "text and whole": ["a", 1, 2, 3], "times": [TIME, None, pd.NaT, TIME], "zones": [TIME.tz_localize("UTC"), *[TIME.tz_localize("Europe/Berlin")] * 3],
    "a zone": [TIME.tz_localize("UTC")] * 4, "dates": [datetime.date(2020, 1, 1)] * 4, "datetimes": [datetime.datetime(2020, 1, 1)] * 4,
    "large": [1, 2**63, 3, 4], "larger": [1, 2**70, 3, 4], "large and negative": [-1, 2**63, 3, 4], "decimals": [decimal.Decimal(1)] * 4,
    "None": [None] * 4, "NaN": [np.nan] * 4, "NA": [1, pd.NA, 2, 3], "complex": [1j, 2, 3, 4], "NumPy's": [np.int32(1), np.int64(2), 3, 4],
    "lists": [[1], [2], [3], [4]], "bytes": [b"a", b"b", b"c", b"d"],
}  # fmt: skip
OTHERS = {
    "whole floats": pd.Series([1.0, 2, 3, 4]), "with NaN": pd.Series([1.0, np.nan, 3, 4]), "parts": pd.Series([1.0, 2, 3, 4.5]),
    "infinite": pd.Series([1.0, 2, 3, np.inf]), "huge": pd.Series([1.0, 2, 3, 1e300]), "missing": pd.Series([np.nan] * 4),
    "of 32 bits": pd.Series([1, 2, 3, 4], dtype="float32"), "nullable": pd.Series([1, 2, 3, None], dtype="Float64"),
    "integers": pd.Series([1, 2, 3, 4], dtype="int8"), "texts": pd.Series(list("abcd")), "categories": pd.Series(list("abca"), dtype="category"),
    "times": pd.Series(pd.date_range("2020", periods=4)),
}  # fmt: skip
COLUMNS = {**{f"objects: {name}": pd.Series(values, dtype=object) for name, values in OBJECTS.items()}, **OTHERS}


@pytest.mark.parametrize("name", COLUMNS)
def test_dtypes_are_found_as_pandas_finds_them_of_all_rows(name):
    series = COLUMNS[name]
    for operation in (
        lambda some: some.convert_dtypes(),
        lambda some: some.convert_dtypes(dtype_backend="pyarrow"),
        lambda some: some.infer_objects(),
    ):
        try:
            expected = operation(series)
        except (
            OverflowError,
            TypeError,
            NotImplementedError,
        ) as error:  # as pandas 2 of complex and of very large numbers
            with pytest.raises(type(error)):
                operation(cut(series)[0])
            continue
        for lazy in cut(series):
            got = operation(lazy)
            assert_same(got.compute(**INLINE), expected)
            assert got.dtype == expected.dtype


def test_frames_find_the_dtypes_of_their_columns_and_keep_their_divisions():
    frame = pd.DataFrame(COLUMNS)
    if PANDAS_VERSION < (3, 1):  # pandas converts none of these: it raises an error
        frame = frame.drop(columns=["objects: larger", "objects: large and negative", "objects: complex"])
    lazy = cut(frame)[0]
    assert_same(lazy.convert_dtypes().compute(**INLINE), frame.convert_dtypes())
    assert_same(lazy.infer_objects().compute(**INLINE), frame.infer_objects())
    assert lazy.convert_dtypes().divisions == lazy.divisions


@settings(max_examples=examples(30))
@given(
    st.lists(st.sampled_from([1, 2, -1, 2.0, 2.5, True, "a", "b", None, float("nan"), 2**63]), max_size=8),
    st.sampled_from(["convert_dtypes", "infer_objects"]),
)
def test_any_objects_are_converted_as_pandas_does(values, method):
    series = pd.Series(values, dtype=object)
    try:
        expected = getattr(series, method)()
    except OverflowError:  # before version 3.1, of large numbers beside negative ones
        with pytest.raises(OverflowError):
            getattr(cut(series)[0], method)()
        return
    for lazy in cut(series):
        assert_same(getattr(lazy, method)().compute(**INLINE), expected)


@pytest.mark.pairwise
@pytest.mark.parametrize("options", [{}, {"sort": True}, {"use_na_sentinel": False}])
@pytest.mark.parametrize(
    "values",
    [[3, 1, 2, 1, 3], ["b", "a", None, "b", "c"], [2.5, np.nan, 1.5, np.nan, 2.5], [TIME, None, TIME, None, TIME]],
)
@pytest.mark.parametrize("dtype", [None, object, "category"])
def test_values_are_numbered_as_pandas_numbers_them(values, options, dtype):
    frame = pd.Series(values, dtype=dtype).to_frame("k")
    codes, distinct = frame.k.factorize(**options)
    for lazy in cut(frame):
        made, found = lazy.k.factorize(**options)
        lazy["code"] = made
        assert_same(lazy.compute(**INLINE), frame.assign(code=codes))
        assert_same(found.compute(**INLINE), distinct)
        assert made.dtype == codes.dtype


def test_functions_and_labels_are_numbered_too():
    lazy = gd.from_pandas(pd.DataFrame({"x": [1, 2, 3]}, index=list("bab")), npartitions=2, sort=False)
    codes, distinct = gd.factorize(lazy.index, sort=True)
    assert codes.compute(**INLINE).tolist() == [1, 0, 1]
    assert distinct.compute(**INLINE).tolist() == ["a", "b"]
    with pytest.raises(TypeError, match=r"factorize takes a lazy series, got list; pandas.factorize takes others"):
        gd.factorize([1, 2])


NUMBERS = pd.DataFrame(
    {"x": [1, 5, 2, 9, 4, 4], "y": [0.5, np.nan, 2.5, 1.5, 7.0, 1.5], "s": ["a b", "b", None, "", "a c", "b"]}
)


@pytest.mark.parametrize("options", [{}, {"sort": False}, {"ascending": True}, {"normalize": True}, {"dropna": False}])
@pytest.mark.parametrize("bins", [3, [0, 2, 6]])
def test_values_are_counted_in_bins_as_pandas_does(bins, options):
    for lazy in cut(NUMBERS):
        for name in ("x", "y"):
            expected = NUMBERS[name].value_counts(bins=bins, **options)
            assert_same(lazy[name].value_counts(bins=bins, **options).compute(**INLINE), expected)
        with pytest.raises(TypeError, match="bins argument only works with numeric data"):
            lazy.s.value_counts(bins=2)


@pytest.mark.parametrize("options", [{}, {"sep": ", "}, {"sep": "-", "na_rep": "?"}])
def test_all_texts_are_joined_as_pandas_joins_them(options):
    for series in (NUMBERS.s, NUMBERS.s[:0], pd.Series([None, "a"], dtype="str"), NUMBERS.s.astype(object)):
        for lazy in cut(series):
            assert lazy.str.cat(**options).compute(**INLINE) == series.str.cat(**options)


def test_words_are_counted_under_labels_of_pandas_dtype():
    for lazy in cut(NUMBERS):
        assert_same(
            lazy.s.str.split().explode().value_counts().compute(**INLINE),
            NUMBERS.s.str.split().explode().value_counts(),
        )


@pytest.mark.parametrize("method", ["kendall", lambda one, other: float(np.abs(one - other).max())])
def test_correlations_that_need_all_rows_are_those_of_pandas(method):
    for lazy in cut(NUMBERS):
        got = lazy.corr(method=method, numeric_only=True)
        assert_same(got.compute(**INLINE), NUMBERS.corr(method=method, numeric_only=True))
        assert_same(lazy.x.corr(lazy.y, method=method).compute(**INLINE), NUMBERS.x.corr(NUMBERS.y, method=method))
        few = lazy.x.corr(lazy.y, method=method, min_periods=6)
        assert np.isnan(few.compute(**INLINE))


@pytest.mark.parametrize(
    "options", [{}, {"stubnames": "x"}, {"i": ["m", "k"]}, {"sep": "_", "stubnames": "w", "suffix": r"\w+"}]
)
def test_groups_of_columns_become_rows(options):
    frame = pd.DataFrame(
        {
            "k": list("bacd"),
            "m": [2, 1, 1, 2],
            "x1": [1, 2, 3, 4],
            "x2": [4, 5, 6, 7],
            "y1": [0.5, 1, 2, 3],
            "w_a": 1,
            "w_b": 2,
        }
    )
    options = {"stubnames": ["x", "y"], "i": "k", "j": "year", **options}
    for some in (frame, frame[:1]):
        expected = pd.wide_to_long(some, **options)
        for lazy in cut(some):
            got = gd.wide_to_long(lazy, **options)
            assert_same(got.compute(**INLINE), expected)
            assert_same(got._meta, expected[:0])


def test_rows_of_one_name_in_several_partitions_are_not_made_long():
    frame = pd.DataFrame({"k": list("abca"), "x1": [1, 2, 3, 4], "x2": [4, 5, 6, 7]})
    for lazy in cut(frame):
        with pytest.raises(ValueError, match="the id variables need to uniquely identify each row"):
            gd.wide_to_long(lazy, "x", i="k", j="j").compute(**INLINE)


def test_rows_and_columns_are_taken_by_position():
    for lazy in cut(NUMBERS):
        assert_same(lazy.take([4, 0, -1]).compute(**INLINE), NUMBERS.take([4, 0, -1]))
        assert_same(lazy.iloc[[-2, 1, 1]].compute(**INLINE), NUMBERS.iloc[[-2, 1, 1]])
        assert_same(lazy.take([1, -1], axis=1).compute(**INLINE), NUMBERS.take([1, -1], axis=1))
        assert_same(lazy.x.take(np.array([3, 2])).compute(**INLINE), NUMBERS.x.take([3, 2]))
        with pytest.raises(IndexError, match=r"iloc\[\[..., -7, ...\]\]: there are fewer rows"):
            lazy.take([-7])


COMPARED = pd.DataFrame(
    {"a": [1, 2, 3, 4], "b": [1.0, np.nan, 3, 4], "c": list("abcd"), "d": [True, False, True, True]}
)
CHANGES = {
    "one value": {"a": [1, 2, 3, 9]},
    "all values": {"a": [5, 6, 7, 9]},
    "missing values": {"b": [1, np.nan, np.nan, 5.0]},
    "two columns": {"a": [1, 2, 0, 4], "c": list("abcx")},
    "truth values": {"d": [False, True, False, False]},
    "nothing": {},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("options", [{}, {"keep_equal": True}, {"result_names": ("left", "right")}])
def test_compared_frames_keep_the_rows_and_columns_that_differ(change, options):
    other = COMPARED.assign(**CHANGES[change])
    for lazy, lazy_other in zip(cut(COMPARED), cut(other), strict=True):
        if lazy.known_divisions:
            got = lazy.compare(lazy_other, **options)
            assert_same(got.compute(**INLINE), COMPARED.compare(other, **options))


@pytest.mark.parametrize("method", ["infer_objects", "convert_dtypes"])
def test_columns_chosen_of_converted_ones_have_their_own_dtypes(method):
    frame = pd.DataFrame({"f": [1.5, 2.5], "v": pd.Series([2**53 + 1, 1], dtype=object), "n": [1, 2]})
    converted, lazy = getattr(frame, method)(), getattr(gd.from_pandas(frame, npartitions=2), method)()
    for choose in (
        lambda f: f.v,
        lambda f: f[["n", "f"]],
        lambda f: f.drop(columns="f").sum(),
        lambda f: f[f.n > 1]["v"],
    ):
        assert_same(choose(lazy).compute(scheduler="inline"), choose(converted))


TIMES = pd.Series(pd.date_range("2020-01-01", periods=17, freq="5h"))


@pytest.mark.parametrize("options", [{}, {"sort": False}, {"normalize": True}, {"dropna": False}])
def test_times_are_counted_in_bins_as_pandas_does(options):
    some = TIMES.where(TIMES.index % 4 != 1)
    for times in (TIMES, some, TIMES.dt.tz_localize("Europe/Berlin"), TIMES - TIMES[0], TIMES[:1]):
        for lazy in cut(times):
            assert_same(lazy.value_counts(bins=3, **options).compute(**INLINE), times.value_counts(bins=3, **options))
    texts = TIMES.astype("str")
    with pytest.raises(TypeError, match=f"bins argument only works with numeric data, not {texts.dtype}"):
        cut(texts)[0].value_counts(bins=3)


@pytest.mark.parametrize("count", [126, 127, 290])
def test_codes_of_many_categories_have_the_dtype_that_they_promise(count):
    texts = pd.Series([f"c{number % count}" for number in range(300)])
    expected = texts.astype("category").cat.codes
    for lazy in cut(texts):
        codes = lazy.astype("category").cat.codes
        assert_same(codes.compute(**INLINE), expected)
        assert codes.dtype == expected.dtype == codes.partitions[0].compute(**INLINE).dtype


TAGS = pd.Series(["b|a", "", None, "a||c", "b", "d|a"], index=[1, 1, 2, 3, 3, 3])


@pytest.mark.each_choice
@pytest.mark.parametrize("dtype", ["str", object])
@pytest.mark.parametrize("options", [{}, {"sep": "a"}, {"dtype": bool}, {"dtype": "int8"}])
def test_parts_of_texts_become_columns_of_numbers(dtype, options):
    if not HAS_COPY_ON_WRITE and "dtype" in options:
        pytest.skip("before pandas 3 numbers are int64")
    tags = TAGS.astype(dtype)
    for texts in (tags, tags[tags != ""].dropna(), tags[:0], tags[:1]):
        expected = texts.str.get_dummies(**options)
        for lazy in cut(texts):
            got = lazy.str.get_dummies(**options)
            assert_same(got.compute(**INLINE), expected)
            assert_same(got._meta, expected[:0])
            assert all(part.compute(**INLINE).dtypes.equals(expected.dtypes) for part in got.partitions)


@pytest.mark.parametrize("options", [{}, {"sep": "a"}])
def test_parts_of_categories_become_columns_of_numbers(options):
    for tags in (TAGS.astype("category"), TAGS.dropna().astype("category"), TAGS.astype("category")[2:3]):
        for texts in (tags, tags[tags != ""], tags[:0]):
            expected = texts.str.get_dummies(**options)
            for lazy in cut(texts):
                got = lazy.str.get_dummies(**options)
                assert_same(got.compute(**INLINE), expected)
                assert_same(got._meta, expected[:0])


@pytest.mark.parametrize("method", ["split", "rsplit"])
def test_no_texts_are_split_into_no_columns(method):
    for dtype in ("str", object):
        for texts in (TAGS[:0].astype(dtype), TAGS[2:3].astype(dtype), TAGS.astype(dtype)):
            for lazy in cut(texts):
                made = getattr(lazy.str, method)("|", expand=True).compute(**INLINE)
                assert_same(made, getattr(texts.str, method)("|", expand=True))


@pytest.mark.parametrize(
    "values",
    [
        [pd.Period("2020-01", "M"), pd.Period("2020", "Y"), None],
        [pd.Period("2020-01", "M"), None, pd.Period("2020-03", "M")],
        [pd.Interval(0, 1), pd.Interval(0, 1, closed="left"), pd.Interval(1, 2)],
    ],
)
def test_objects_of_one_class_and_unlike_kinds_are_inferred_as_in_pandas(values):
    objects = pd.Series(values, dtype=object)
    for lazy in cut(objects):
        got = lazy.infer_objects()
        assert got.dtype == objects.infer_objects().dtype
        assert_same(got.compute(**INLINE), objects.infer_objects())


SIDES = pd.DataFrame({"x": [1, 2, 3, 4, np.nan, 6], "y": list("abcdef"), "z": range(6)})
OTHER_SIDES = SIDES.assign(x=[1, 9, 3, 4, np.nan, 6], y=["a", "b", "c", "q", "e", None])


@pytest.mark.parametrize("options", [{}, {"keep_shape": True}, {"keep_equal": True}, {"result_names": ("l", "r")}])
def test_differences_stand_one_below_the_other(options):
    for own, other in ((SIDES, OTHER_SIDES), (SIDES, SIDES), (SIDES[:1], OTHER_SIDES[:1]), (SIDES.x, OTHER_SIDES.x)):
        expected = own.compare(other, align_axis=0, **options)
        for number in (1, 3):
            lazy, theirs = (gd.from_pandas(one, npartitions=number) for one in (own, other))
            made = lazy.compare(theirs, align_axis=0, **options)
            assert_same(made.compute(**INLINE), expected)
            assert not made.known_divisions


@pytest.mark.parametrize("other", [OTHER_SIDES.rename(columns={"z": "w"}), OTHER_SIDES[["x", "y"]], OTHER_SIDES[["z", "x", "y"]],
                                   OTHER_SIDES.set_axis(range(1, 7)), OTHER_SIDES[:4]])  # fmt: skip
def test_objects_with_other_labels_are_not_compared(other):
    lazy, theirs = gd.from_pandas(SIDES, npartitions=2), gd.from_pandas(other, npartitions=2)
    for options in ({}, {"align_axis": 0}):
        with pytest.raises(ValueError, match="Can only compare identically-labeled"):
            lazy.compare(theirs, **options).compute(**INLINE)
