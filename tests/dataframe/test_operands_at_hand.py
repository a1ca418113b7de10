"""Values at hand beside series and indexes, one for each row: lists, tuples, arrays, pandas' series and what can be read but once."""

from __future__ import annotations

import warnings

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.errors import DivisionError

INLINE = {"scheduler": "inline"}
PLAIN = pd.Series([1.0, np.nan, 3, 2, 5], index=[2, 3, 5, 8, 9], name="x")
UNSORTED = pd.Series([False, True, True, True, False], index=[9, 8, 5, 3, 2])


@pytest.fixture(params=["known", "unknown", "empty"])
def series(request):
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    if request.param == "empty":
        lazy = gd.concat([lazy, lazy[lazy > 9]])
    return lazy.clear_divisions() if request.param == "unknown" else lazy


OPERATIONS = {
    "tuple": lambda s: s + (1, 2, 3, 4, 5),
    "range": lambda s: range(5) - s,
    "clip with a list": lambda s: s.clip([2, 2, 2, np.nan, 2], [4] * 5),
    "clip with an array": lambda s: s.clip(upper=np.array([2, 2, 2, 2, 2])),
    "between lists": lambda s: s.between([0, 0, 3, 3, 5], [1, 1, 4, 4, 6], inclusive="left"),
    "between a number and an array": lambda s: s.between(2, np.array([1, 1, 4, 4, 6])),
    "repeat": lambda s: s.repeat([1, 0, 2, 0, 1]),
    "case_when with a list": lambda s: s.case_when([([True, False, True, False, False], [10, 20, 30, 40, 50])]),
    "case_when with pandas' series": lambda s: s.case_when([(UNSORTED, 7), (~UNSORTED, -UNSORTED.astype("int64"))]),
    "case_when with an array": lambda s: s.case_when([(np.array([True, False, True, False, False]), "a")]),
    "case_when with functions": lambda s: s.case_when([(lambda x: x > x.mean(), lambda x: -x.max())]),
    "isin of a generator": lambda s: s.isin(number for number in (1, 5)),
    "isin of a generator in a dict": lambda s: s.to_frame().isin({"x": map(float, (1, 5))}),
    "astype of its name": lambda s: s.astype({"x": "float32"}),
    "astype of a series": lambda s: s.astype(pd.Series({"x": "float32"})),
}
OF_LABELS = {
    "isin of a generator": lambda i: i.isin(number for number in (2, 9)),
    "add a list": lambda i: i + [1, 2, 3, 4, 5],
    "subtract from an array": lambda i: np.arange(5) - i,
    "subtract an index of another name": lambda i: i - pd.Index([1, 2, 3, 4, 5], name="other"),
    "subtract an index of its name": lambda i: i - pd.Index([1, 2, 3, 4, 5], name=i.name),
    "compare with a list": lambda i: i == [2, 0, 5, 0, 9],
    "compare with an index": lambda i: i < pd.Index([3, 3, 3, 9, 9]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_values_for_each_row_are_taken_as_pandas_takes_them(series, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tuples
        expected = OPERATIONS[name](PLAIN)
    made = OPERATIONS[name](series)
    assert_same(made.compute(**INLINE), expected)
    assert_same(made._meta, expected[:0])


@pytest.mark.parametrize("name", OF_LABELS)
def test_values_for_each_label_are_taken_as_pandas_takes_them(series, name):
    expected = OF_LABELS[name](PLAIN.index.rename("i"))
    made = OF_LABELS[name](series.rename_axis("i").index).compute(**INLINE)
    np.testing.assert_array_equal(made, expected)
    assert getattr(made, "name", None) == getattr(expected, "name", None)
    assert made.dtype == expected.dtype


def test_lists_of_another_length_are_refused(series):
    for operation in (lambda: series + (1, 2), lambda: series.clip([1, 2]), lambda: series.index - [1, 2]):
        with pytest.raises(ValueError, match=r"Length of values \(2\) does not match length of index \(5\)"):
            operation()


def test_lists_beside_logical_operators_are_refused_as_pandas_does(series):
    for operation in (
        lambda: (series > 1) & [True] * 5,
        lambda: (True,) | (series > 1),
        lambda: [True] ^ series.index,
    ):
        with pytest.raises(TypeError, match=r"as in pandas: make it a NumPy array"):
            operation()


def test_a_dict_of_other_names_than_that_of_a_series_is_refused(series):
    with pytest.raises(KeyError, match="Only the Series name, 'x', can be used"):
        series.astype({"x": "float32", "y": "int64"})


def test_frames_are_clipped_with_an_array_of_their_shape_and_with_a_list_of_rows():
    frame = PLAIN.to_frame().assign(y=[5, 4, 3, 2, 1])
    lazy = gd.from_pandas(frame, npartitions=2)
    limits = np.arange(10).reshape(5, 2)
    assert_same(lazy.clip(upper=limits).compute(**INLINE), frame.clip(upper=limits))
    assert_same(lazy.clip([1, 2, 3, 4, 5], axis=0).compute(**INLINE), frame.clip([1, 2, 3, 4, 5], axis=0))


@pytest.mark.parametrize("name", [np.nan, pd.NA, pd.NaT])
def test_series_whose_name_is_missing_keep_it(name):
    plain = PLAIN.rename(name)
    assert (gd.from_pandas(plain, npartitions=2) + 1).compute(**INLINE).name is name


def test_texts_of_a_function_are_texts_beside_partitions_where_all_are_missing():
    plain = pd.Series([1, 2, np.nan, np.nan])
    lazy = gd.from_pandas(plain, npartitions=2)
    assert_same(
        lazy.map(lambda x: "a", na_action="ignore").compute(**INLINE), plain.map(lambda x: "a", na_action="ignore")
    )
    alone = gd.from_pandas(plain[2:], npartitions=1)
    assert_same(
        alone.map(lambda x: "a", na_action="ignore").compute(**INLINE), plain[2:].map(lambda x: "a", na_action="ignore")
    )


def test_repeated_complex_numbers_of_single_precision_are_found():
    plain = pd.Series([1 + 1j, 2, 1 + 1j, 2, 3], dtype="complex64")
    assert_same(gd.from_pandas(plain, npartitions=3).duplicated().compute(**INLINE), plain.duplicated())


def test_labels_are_chosen_by_booleans_at_hand(series):
    chosen = [True, False, True, False, True]
    for mask in (chosen, np.array(chosen), pd.Series(chosen), pd.array(chosen, dtype="boolean")):
        assert_same(series.index[mask].compute(**INLINE), PLAIN.index[mask])


def test_labels_of_unlike_partitions_become_what_pandas_makes_of_all():
    times = pd.date_range("2011-01-01", periods=4, freq="1h", name="t")
    for labels, dtype in ((times, str), (times, "category"), (pd.Index([3, 1, 3, 2]), "category")):
        lazy = gd.from_pandas(pd.DataFrame(index=labels), npartitions=3, sort=False).index
        assert_same(lazy.astype(dtype).compute(**INLINE), labels.astype(dtype))


def test_labels_without_none_of_others_stay_in_their_order():
    plain = pd.Series(0, index=pd.Index([3, 1, 2, 1], name="a")).index
    lazy = gd.from_pandas(pd.DataFrame(index=plain), npartitions=2, sort=False).index
    for others, sort in (([], None), ([], True), ([9], None), ([9], False), ([9], True)):
        assert_same(lazy.difference(others, sort=sort).compute(**INLINE), plain.difference(others, sort=sort))
    assert_same(lazy.set_names(["b"]).compute(**INLINE), plain.set_names(["b"]))
    with pytest.raises(ValueError, match="Length of new names must be 1, got 2"):
        lazy.set_names(["b", "c"])


LABELS = {
    "numbers": pd.Index([3.0, 1, None, 2, 1], name="a"),
    "texts": pd.Index(list("cab"), name="b"),
    "times": pd.DatetimeIndex(["2020-03", "2020-01", "2020-02"]),
    "levels": pd.MultiIndex.from_tuples([(2, "a"), (1, "b"), (2, "A")], names=["x", "y"]),
    "categories": pd.CategoricalIndex(list("bca")),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_sorted_taken_and_repeated(name):
    plain = LABELS[name]
    lazy = gd.from_pandas(pd.DataFrame(index=plain), npartitions=2, sort=False).index
    for work in (
        lambda labels: labels.sort_values(),
        lambda labels: labels.sort_values(ascending=False),
        lambda labels: labels.take([2, 0]),
        lambda labels: labels.repeat(2),
        lambda labels: labels.repeat(list(range(len(plain)))),
    ):
        assert_same(work(lazy).compute(**INLINE), work(plain))
    with pytest.raises(NotImplementedError, match=r"return_indexer=True"):
        lazy.sort_values(return_indexer=True)


@pytest.mark.parametrize("join", ["outer", "inner"])
def test_objects_at_hand_whose_labels_are_in_order_are_put_beside_lazy_ones(join):
    one = pd.DataFrame({"x": range(6)}, index=list("abcdef"))
    other = pd.DataFrame({"y": range(5), "z": 0.5}, index=list("bdegh"))
    for objects in ([one, other], [other, one], [one, other.y]):
        for place in (0, 1):
            given = list(objects)
            given[place] = gd.from_pandas(given[place], npartitions=3)
            made = gd.concat(given, axis=1, join=join).compute()
            pd.testing.assert_frame_equal(made, pd.concat(objects, axis=1, join=join).sort_index())
    with pytest.raises(DivisionError, match=r"concat\(axis=1\): the operands are cut differently"):
        gd.concat([gd.from_pandas(one, npartitions=3), other[::-1]], axis=1)
