"""`isin` and `map` with many values at hand, which are prepared once: as pandas has them, whatever the dtypes."""

from __future__ import annotations

from collections import Counter

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE

INLINE = {"scheduler": "inline"}
COUNT = 1500
NUMBERS = np.arange(COUNT)
MISSING = [None if number % 7 == 0 else str(number) for number in range(COUNT)]
SERIES = {
    "int8": pd.Series(NUMBERS % 200 - 100, dtype="int8"), "int64": pd.Series(NUMBERS), "uint64": pd.Series(NUMBERS, dtype="uint64"),
    "float": pd.Series(NUMBERS * 0.5), "bool": pd.Series(NUMBERS % 2 == 0), "nullable": pd.Series(NUMBERS, dtype="Int64"),
    "str": pd.Series(NUMBERS.astype(str), dtype="str"), "missing": pd.Series(MISSING, dtype="str"), "string": pd.Series(MISSING, dtype="string"),
    "python": pd.Series(NUMBERS.astype(str), dtype="string[python]"), "object": pd.Series(list(map(str, NUMBERS)), dtype=object),
    "category": pd.Series(NUMBERS.astype(str)).astype("category"), "times": pd.Series(pd.date_range("2000", periods=COUNT)),
}  # fmt: skip
INTS = list(range(-1500, 3600, 3))
TEXTS = list(map(str, INTS))
VALUES = {
    "ints": INTS, "texts": TEXTS, "tuple": tuple(TEXTS), "set": set(INTS), "floats": list(map(float, INTS)), "bools": [True] * 1200,
    "63 bits": [*INTS, 2**63], "70 bits": [*INTS, 2**70], "mixed": [*INTS, *TEXTS], "None": [*TEXTS, None], "NaN": [*TEXTS, np.nan],
    "surrogate": [*TEXTS, "\ud800"],
}  # fmt: skip


@pytest.mark.parametrize("kind", SERIES)
def test_many_values_are_looked_for_as_pandas_does(kind):
    series = SERIES[kind]
    lazy = gd.from_pandas(series, npartitions=3)
    for values in VALUES.values():
        try:
            expected = series.isin(values)
        except (OverflowError, UnicodeEncodeError, TypeError) as error:
            with pytest.raises(type(error)):
                lazy.isin(values).compute(**INLINE)
        else:
            assert_same(lazy.isin(values).compute(**INLINE), expected)


FEW = {
    "one": [5], "ints": [1, 99, 7, 7, 1499], "set": {1, 99, 300}, "floats": [0.5, 7.0, -0.0], "both": (1, 7.5), "NaN": [1.0, np.nan], "None": [1, None],
    "bools": [True, 1], "other numbers": [np.int64(1), np.float64(2)], "texts": ["1", "7"], "53 bits": [2**53 + 1, 1, 3.0], "64 bits": [2**63, 1],
    "negative": [-(2**63), -1, -100], "70 bits": [2**70, 1], "none": [], "many": list(range(0, 54, 2)),
}  # fmt: skip


@pytest.mark.parametrize("kind", [*SERIES, "large", "large floats", "float32"])
def test_few_values_are_looked_for_as_pandas_does(kind):
    large = pd.Series([2**53 + 1, 2**53, 1, -(2**63)])
    floats = pd.Series([np.nan, -0.0, 2.0**53, 1.0, 7.5])
    series = {**SERIES, "large": large, "large floats": floats, "float32": floats.astype("float32")}[kind]
    lazy = gd.from_pandas(series, npartitions=2)
    for values in FEW.values():
        try:
            expected = series.isin(values)
        except (OverflowError, TypeError) as error:
            with pytest.raises(type(error)):
                lazy.isin(values).compute(**INLINE)
        else:
            assert_same(lazy.isin(values).compute(**INLINE), expected)


def test_numbers_are_compared_with_few_values_one_by_one(monkeypatch):
    series = [gd.from_pandas(SERIES[kind], npartitions=3) for kind in ("int64", "int8", "float")]
    monkeypatch.setattr(pd.Series, "isin", None)
    for one in series:
        assert (
            one.isin([1, 7]).sum().compute(**INLINE) == one.compute(**INLINE).map(lambda value: value in (1, 7)).sum()
        )


@pytest.mark.each_choice
@pytest.mark.parametrize("kind", ["str", "missing", "string", "object", "int64"])
@pytest.mark.parametrize("other", ["str", "missing", "string", "object", "int64"])
def test_lazy_values_are_looked_for_as_pandas_does(kind, other):
    series, values = SERIES[kind], SERIES[other][::2]
    lazy = gd.from_pandas(series, npartitions=3).isin(gd.from_pandas(values, npartitions=2))
    assert_same(lazy.compute(**INLINE), series.isin(values))


@pytest.mark.parametrize("kind", ["str", "int64"])
def test_many_labels_are_looked_for_as_pandas_does(kind):
    frame = pd.DataFrame({"x": NUMBERS}, index=pd.Index(SERIES[kind].sort_values()))
    lazy = gd.from_pandas(frame, npartitions=3)
    values = {"str": TEXTS, "int64": INTS}[kind]
    assert_same(lazy[lazy.index.isin(values)].compute(**INLINE), frame[frame.index.isin(values)])


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before pandas 3 text is objects, which Arrow doesn't take")
def test_texts_are_handed_to_arrow_at_once(monkeypatch):
    series = gd.from_pandas(SERIES["str"], npartitions=3)
    monkeypatch.setattr(pd.Series, "isin", None)
    found = series.isin(TEXTS).compute(**INLINE)
    assert found.tolist() == [text in set(TEXTS) for text in SERIES["str"]]


def test_few_values_are_left_out_where_files_are_read_and_said_in_short(tmp_path):
    frame = gd.from_pandas(pd.DataFrame({"k": NUMBERS, "s": SERIES["str"]}), npartitions=3)
    frame.to_parquet(tmp_path)
    lazy, plain = gd.read_parquet(tmp_path), frame.compute()
    for column, numbers in (("k", INTS), ("s", TEXTS)):
        few = lazy[lazy[column].isin(numbers[500:700])]
        assert f"where {column} in [{numbers[500]!r}, {numbers[501]!r}, {numbers[502]!r}, ... 200 values]" in str(
            few.explain()
        )
        assert_same(few.compute(**INLINE), plain[plain[column].isin(numbers[500:700])])
        many = lazy[lazy[column].isin(numbers)]
        if HAS_COPY_ON_WRITE or column == "k":  # text is objects before
            assert " in [" not in str(many.explain())
        assert_same(many.compute(**INLINE), plain[plain[column].isin(numbers)])


MAPPERS = {
    "numbers": {number: number * 2 for number in INTS}, "floats": {text: float(len(text)) for text in TEXTS}, "texts": {text: text + "x" for text in TEXTS},
    "missing": {number: None if number % 2 else "q" for number in INTS}, "mixed": {**dict.fromkeys(INTS, 1), **dict.fromkeys(TEXTS, "2")},
    "missing keys": {**dict.fromkeys(TEXTS, 1), np.nan: 5}, "None": {**dict.fromkeys(TEXTS, 1), None: -1}, "pairs": {(number, 1): 1 for number in INTS}, "bools": dict.fromkeys(INTS, True),
}  # fmt: skip


@pytest.mark.each_choice
@pytest.mark.parametrize("kind", SERIES)
@pytest.mark.parametrize("na_action", [None, "ignore"])
def test_values_are_looked_up_in_large_dicts_as_pandas_does(kind, na_action):
    series = SERIES[kind]
    lazy = gd.from_pandas(series, npartitions=1)
    for mapper in MAPPERS.values():
        try:
            expected = series.map(mapper, na_action=na_action)
        except NotImplementedError:  # before pandas 3: keys that are pairs
            with pytest.raises(NotImplementedError):
                lazy.map(mapper, na_action=na_action).compute(**INLINE)
        else:
            assert_same(lazy.map(mapper, na_action=na_action).compute(**INLINE), expected)


def test_changes_of_a_large_list_or_dict_after_the_call_do_not_count():
    series = gd.from_pandas(SERIES["int64"], npartitions=3)
    values, mapper = list(INTS), dict.fromkeys(INTS, 1)
    expected = [series.isin(values).compute(**INLINE), series.map(mapper).compute(**INLINE)]
    again = [series.isin(values), series.map(mapper)]
    values.clear()
    mapper.clear()
    for lazy, one in zip(again, expected, strict=True):
        assert_same(lazy.compute(**INLINE), one)


def test_changes_of_what_is_in_a_dict_and_of_other_mappings_do_not_count():
    series = gd.from_pandas(pd.Series(range(5)), npartitions=1)
    frame = gd.from_pandas(pd.DataFrame({"a": range(4)}), npartitions=2)
    sets, counts, array = {number: {number} for number in range(5)}, Counter(range(5)), pd.array([1, 2])
    among, view = {"a": {1, 2}}, dict.fromkeys(range(3))
    made = [series.map(sets), series.map(counts), series.isin(array), frame.isin(among), series.isin(view.keys())]
    expected = [lazy.compute(**INLINE) for lazy in made]
    made = [series.map(sets), series.map(counts), series.isin(array), frame.isin(among), series.isin(view.keys())]
    for one in sets.values():
        one.clear()
    counts.clear()
    array[:] = 3
    among["a"].add(3)
    view.clear()
    for lazy, one in zip(made, expected, strict=True):
        assert_same(lazy.compute(**INLINE), one)


def test_missing_values_among_those_looked_for_are_found_where_files_are_read(tmp_path):
    pd.DataFrame({"x": pd.array([1, 2, None, 4], dtype="Int64")}).to_parquet(tmp_path / "x.parquet")
    for backend in ("pyarrow", "numpy_nullable"):
        lazy, plain = gd.read_parquet(tmp_path, dtype_backend=backend), pd.read_parquet(tmp_path, dtype_backend=backend)
        for values in ([1, 2, np.nan], [1, None], [pd.NA, 4], [1, 2]):
            assert_same(lazy[lazy.x.isin(values)].compute(**INLINE), plain[plain.x.isin(values)])


@pytest.mark.parametrize("values", [[0, "1", None], ["0", "1", "2"]])
def test_objects_that_arrow_compares_otherwise_in_each_partition_are_refused(values):
    plain = pd.DataFrame({"a": pd.Series(range(6), dtype="int64[pyarrow]"), "s": list("abcdef")})
    other = pd.Series(values, dtype=object)
    lazy = gd.from_pandas(plain, npartitions=3)
    for given in (other, pd.DataFrame({"a": other})):
        with pytest.raises(NotImplementedError, match=r"beside column 'a' of dtype 'int64\[pyarrow\]': .*astype\("):
            lazy.isin(given)
        assert_same(gd.from_pandas(plain, npartitions=1).isin(given).compute(**INLINE), plain.isin(given))
    assert_same(lazy.isin(pd.DataFrame({"s": other})).compute(**INLINE), plain.isin(pd.DataFrame({"s": other})))
    numbers = pd.Series([0, 7, None], dtype=object)
    assert_same(lazy.isin(numbers).compute(**INLINE), plain.isin(numbers))
