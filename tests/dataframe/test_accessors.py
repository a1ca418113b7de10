"""`str`, `dt` and `cat`: each public name of pandas' accessors gives what pandas gives, or says clearly that it can't."""

from __future__ import annotations

import warnings

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE

SERIES = {
    "str": pd.Series(["ab", "a b", None, "xbab", "", "q"], index=[5, 3, 3, 1, 8, 9]),
    "str of objects": pd.Series(["ab", "a b", None, "xbab", "", "q"], dtype=object),
    "dt": pd.Series(pd.date_range("2020-01-30 13:00", periods=6)),
    "dt of a zone": pd.Series(pd.date_range("2020-01-30 13:00", periods=6, tz="Asia/Tokyo")),
    "dt of durations": pd.Series(pd.to_timedelta([1, 2, 3, 4, 5, 6], unit="h")),
    "dt of periods": pd.Series(pd.period_range("2020", periods=6, freq="M")),
    "cat": pd.Series(list("abcaba"), dtype="category"),
    "cat in order": pd.Series(pd.Categorical(list("abcaba"), ["c", "b", "a"], ordered=True)),
}
ARGUMENTS = {
    "str": {
        "center": (5,), "contains": ("a",), "count": ("a",), "encode": ("utf-8",), "endswith": ("a",), "extract": ("(a)(b)?",),
        "extractall": ("([ab])",), "find": ("a",), "findall": ("a",), "fullmatch": ("a.*",), "get": (0,), "index": ("",),
        "rindex": ("",), "join": ("-",), "ljust": (5,), "match": ("a",), "normalize": ("NFC",), "pad": (5,), "partition": ("b",),
        "removeprefix": ("a",), "removesuffix": ("a",), "repeat": (2,), "replace": ("a", "x"), "rfind": ("a",), "rjust": (5,),
        "rsplit": ("b",), "split": ("b",), "slice": (0, 1), "slice_replace": (0, 1, "x"), "startswith": ("a",),
        "translate": ({97: "b"},), "wrap": (2,), "zfill": (5,), "decode": ("utf-8",), "isascii": (),
    },
    "dt": {
        "as_unit": ("s",), "ceil": ("D",), "floor": ("D",), "round": ("D",), "strftime": ("%Y",), "tz_convert": ("UTC",),
        "tz_localize": ("UTC",), "to_period": ("M",), "asfreq": ("D",),
    },
    "cat": {
        "add_categories": (["q"],), "remove_categories": (["a"],), "rename_categories": ({"a": "z"},),
        "reorder_categories": (["c", "b", "a"],), "set_categories": (["a", "b"],),
    },
}  # fmt: skip


def value_of(series, accessor, name):
    found = getattr(getattr(series, accessor), name)
    return found(*ARGUMENTS[accessor].get(name, ())) if callable(found) else found


@pytest.mark.parametrize("kind", SERIES)
def test_every_name_gives_what_pandas_gives_or_is_refused_by_name(kind):
    plain, accessor = SERIES[kind], kind.partition(" ")[0]
    lazy = gd.from_pandas(plain, npartitions=3, sort=False)
    refused = set()
    for name in (name for name in dir(getattr(plain, accessor)) if not name.startswith("_")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = value_of(plain, accessor, name)
            except (TypeError, ValueError, AttributeError, OverflowError):
                continue
            try:
                check(value_of(lazy, accessor, name), expected)
            except NotImplementedError as error:
                assert f"{accessor}.{name}" in str(error)
                refused.add(name)
            except AssertionError as error:
                error.add_note(name)
                raise
    assert refused <= {"get_dummies", "freq", "to_pydatetime", "to_pytimedelta"}


def check(got, expected):
    if not hasattr(got, "expr"):
        assert got.equals(expected) if hasattr(expected, "equals") else got == expected
        return
    assert_same(got.compute(scheduler="inline"), expected)
    if not isinstance(expected, str):
        assert len(got) == len(expected)


def test_texts_of_a_row_are_joined():
    frame = pd.DataFrame({"a": ["x", None, "z"], "b": ["1", "2", None]})
    lazy = gd.from_pandas(frame, npartitions=2)
    assert_same(lazy.a.str.cat(lazy.b, sep="-").compute(), frame.a.str.cat(frame.b, sep="-"))
    both = lazy.a.str.cat([lazy.b, lazy.a], na_rep="?").compute()
    assert_same(both, frame.a.str.cat([frame.b, frame.a], na_rep="?"))
    assert_same(lazy.a.str.cat([], na_rep="?").compute(), frame.a.str.cat([], na_rep="?"))
    with pytest.raises(TypeError, match=r"str\.cat\(others=5\): give lazy series"):
        lazy.a.str.cat(5)
    with pytest.raises(NotImplementedError, match="give its columns as a list"):
        lazy.a.str.cat(frame)
    with pytest.raises(ValueError, match="supply a `sep` keyword"):
        lazy.a.str.cat("-")


@pytest.mark.parametrize("dtype", ["str", object])
@pytest.mark.parametrize("method", ["split", "rsplit"])
def test_columns_of_parts_are_as_many_in_each_partition(dtype, method):
    plain = pd.Series(["a", None, "a b c d", "a b", np.nan, "q"], dtype=dtype)
    lazy = gd.from_pandas(plain, npartitions=6)
    made = getattr(lazy.str, method)(" ", n=2, expand=True)
    assert list(made.columns) == [0, 1, 2]
    expected = getattr(plain.str, method)(" ", n=2, expand=True)
    assert_same(made.compute(), expected)
    assert_same(made[2].compute(), expected[2])
    made = getattr(lazy.str, method)(expand=True)
    assert list(made.columns) == [0, 1, 2, 3]
    assert_same(made.compute(), getattr(plain.str, method)(expand=True))


@pytest.mark.parametrize("values", [[None, None], ["x", "", None], ["", ""], ["a,b", "c", "d,e,f"]])
@pytest.mark.parametrize("pat", [None, ","])
def test_parts_without_a_limit_are_as_many_as_the_text_with_most_has(values, pat):
    plain = pd.Series(values, dtype="str")
    lazy = gd.from_pandas(plain, npartitions=2)
    assert_same(lazy.str.split(pat, expand=True).compute(), plain.str.split(pat, expand=True))
    assert_same(lazy.str.rsplit(pat, expand=True).compute(), plain.str.rsplit(pat, expand=True))


@pytest.mark.parametrize("dtype", ["str", "object", "category", "string[python]", pd.ArrowDtype(pa.string())], ids=str)
def test_parts_and_repeated_texts_are_those_of_pandas_whatever_holds_the_texts(dtype):
    series = pd.Series(["a b", "c", None, "d e f", "g", "", "x y", None], dtype=dtype, name="t")
    counts = [1, 2, 3, 1, 0, 2, 1, 1]
    for npartitions in (1, 3, 8):
        lazy = gd.from_pandas(series, npartitions=npartitions)
        for call in (
            lambda s: s.str.split(" ", expand=True),
            lambda s: s.str.rsplit(expand=True),
            lambda s: s.str.repeat(2),
        ):
            assert_same(call(lazy).compute(scheduler="inline"), call(series))
        missing = lazy[lazy.isna()].str.split(expand=True).compute(scheduler="inline")
        assert missing.isna().all(axis=None) and list(missing.columns) == [0]
        if isinstance(dtype, pd.ArrowDtype):  # pandas takes no list there
            continue
        for repeats in (counts, np.array(counts)):
            assert_same(lazy.str.repeat(repeats).compute(scheduler="inline"), series.str.repeat(repeats))
        with pytest.raises(ValueError, match=r"Length of values \(2\) does not match length of index \(8\)"):
            lazy.str.repeat([1, 2])


def test_unknown_categories_are_found_out_by_what_needs_them():
    parts = [pd.Series(list("ab"), dtype="category"), pd.Series(list("bz"), dtype="category")]
    lazy = gd.from_map(lambda number: parts[number], [0, 1]).cat.as_unknown()
    whole = pd.Series(list("abbz"), dtype="category", index=[0, 1, 0, 1])
    assert lazy.cat.categories.tolist() == ["a", "b", "z"]
    assert lazy.cat.ordered is False
    assert_same(lazy.cat.codes.compute(), whole.cat.codes)
    for change in (
        lambda some: some.cat.reorder_categories(["z", "b", "a"]),
        lambda some: some.cat.rename_categories(str.upper),
        lambda some: some.cat.remove_categories(["b"]),
    ):
        assert_same(change(lazy).compute(), change(whole))
    assert not lazy.cat.known
    known = lazy.cat.as_known()
    assert known.cat.categories.tolist() == ["a", "b", "z"]
    assert_same(known.cat.codes.compute(), whole.cat.codes)
    assert_same(known.cat.rename_categories(str.upper).compute(), whole.cat.rename_categories(str.upper))


def by_partition(frame, function, how="map_partitions", *args):
    return function(frame) if isinstance(frame, pd.DataFrame) else getattr(frame, how)(function, *args)


@pytest.mark.parametrize(
    "work",
    [
        lambda f: f.b.apply(str).str.len(),
        lambda f: f.x.map(lambda n: "a" * n).str.upper(),
        lambda f: f.x.apply(lambda n: pd.Timestamp(2000 + n, 1, 1)).dt.year,
        lambda f: f.apply(lambda row: str(row.x), axis=1).str.len(),
        lambda f: f[["x"]].map(str).x.str.len(),
        lambda f: by_partition(f, lambda block: block.assign(z=block.b.apply(str))).z.str.len(),
        lambda f: by_partition(f, lambda block: block.b.apply(str), "map_overlap", 1, 0).str.len(),
    ],
)
def test_what_a_function_makes_has_one_dtype_in_partitions_without_rows_too(work):
    frame = pd.DataFrame({"x": [1, 2, 30, 40], "b": [True, False, True, False]})
    lazy = gd.from_pandas(frame, npartitions=2)
    pd.testing.assert_series_equal(work(lazy[lazy.x > 5]).compute(), work(frame[frame.x > 5]))


def test_extracted_text_keeps_the_index_where_a_partition_has_no_rows():
    texts = pd.Series(["abc", "b", None, "c"], index=pd.Index([3, 5, 7, 9], name="row"), name="y")
    lazy = gd.from_pandas(texts, npartitions=4)
    found = lazy[lazy == "abc"].str.extract("([a-c])")
    assert list(found._meta.index.names) == ["row"]
    assert_same(found.compute(scheduler="inline"), texts[texts == "abc"].str.extract("([a-c])"))


def test_where_no_value_has_a_category_the_codes_say_so():
    frame = pd.DataFrame({"f": [np.nan] * 3, "s": list("aba")})
    lazy = gd.from_pandas(frame, npartitions=2)
    assert lazy.f.astype("category").cat.codes.compute(scheduler="inline").tolist() == [-1, -1, -1]
    assert len(lazy[lazy.s > "c"].s.astype("category").cat.codes.compute(scheduler="inline")) == 0


@pytest.mark.parametrize(("name", "options"), [("findall", ["e"]), ("rfind", ["e"]), ("casefold", []), ("wrap", [2])])
def test_methods_of_arrows_texts_know_what_they_give_of_rows_in_no_pieces(name, options):
    texts = pd.Series(["a e", None, "x e"], dtype=pd.ArrowDtype(pa.string()))
    lazy = gd.from_pandas(texts, npartitions=2)
    found, expected = (getattr(one.str.title().str, name)(*options) for one in (lazy, texts))
    assert_same(found.compute(scheduler="inline"), expected)


def test_texts_found_among_objects_are_missing_where_these_are_and_na_says_so():
    plain = pd.Series(["ab", "ac", None, None, "b"], dtype=object)
    lazy = gd.from_pandas(plain, npartitions=3)
    for find in (lambda s: s.str.contains("a(?=b)", na=pd.NA), lambda s: s.str.startswith("a", na=pd.NA)):
        assert_same(find(lazy).compute(scheduler="inline"), find(plain))


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="pandas 2 takes no dtype here")
@pytest.mark.parametrize("dtype", ["int8", "Int8", "boolean"])
def test_dummies_of_parts_have_the_labels_that_pandas_gives_them(dtype):
    plain = pd.Series(["a|b", "a|c", None, "b"], index=[5, 6, 7, 9])
    lazy = gd.from_pandas(plain, npartitions=2)
    assert_same(lazy.str.get_dummies(dtype=dtype).compute(scheduler="inline"), plain.str.get_dummies(dtype=dtype))


def test_parts_of_labels_in_one_column_have_no_name():
    plain = pd.Series(1, index=["a", "b", "c"])
    got = gd.from_pandas(plain, npartitions=2).index.str.split("_", expand=True).compute(scheduler="inline")
    assert_same(got, plain.index.str.split("_", expand=True))


def test_texts_are_joined_with_those_of_repeated_labels_if_all_labels_are_equal():
    plain = pd.Series(list("abcd"), index=[1, 1, 2, 2])
    lazy = gd.from_pandas(plain, npartitions=2)
    assert_same(lazy.str.cat(plain.str.upper()).compute(scheduler="inline"), plain.str.cat(plain.str.upper()))
    assert_same(lazy[plain > "b"].compute(scheduler="inline"), plain[plain > "b"])
    with pytest.raises(ValueError, match="duplicate labels"):
        lazy.str.cat(plain[1:])


def test_columns_of_parts_are_asked_for_with_a_boolean():
    with pytest.raises(ValueError, match=r"split\(expand='yes'\): expand must be True or False"):
        gd.from_pandas(pd.Series(["a_b"]), npartitions=1).str.split("_", expand="yes")
