"""Arrays beside frames, what functions of partitions return and are told, and dtypes of partitions without rows."""

from __future__ import annotations

import glassloom.array as ga
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, check_all
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.errors import MetaError

PLAIN = pd.DataFrame({"x": [3, 1, 4, 1, 5], "y": [0.5, 1.5, 2.5, 3.5, 4.5], "t": list("uvwxy")}, index=list("abcde"))


@pytest.fixture(params=["known", "unknown"])
def frame(request):
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    return lazy if request.param == "known" else lazy.clear_divisions()


def test_operators_take_lazy_arrays_with_a_value_for_each_row(frame):
    x = frame.x.to_array()
    for made, plain in (
        (frame.y + x, PLAIN.y + PLAIN.x.to_numpy()),
        (x - frame.y, PLAIN.x.to_numpy() - PLAIN.y),
        (frame.y < x, PLAIN.y < PLAIN.x.to_numpy()),
        (np.maximum(frame.y, x), np.maximum(PLAIN.y, PLAIN.x.to_numpy())),
    ):
        assert made.dtype == plain.dtype
        assert_same(made.compute(), plain)
        assert made.divisions == frame.divisions


OF_LABELS = {
    "compared": lambda f: f.index == np.array(list("axcxe")),
    "compared with a list": lambda f: f.index <= list("bbbbb"),
    "compared with an index": lambda f: pd.Index(list("axcxe")) != f.index,
    "added": lambda f: f.index + np.array(list("vwxyz"), dtype=object),
    "rows": lambda f: f[f.index == np.array(list("axcxe"))],
}


@pytest.mark.parametrize("call", OF_LABELS.values(), ids=OF_LABELS)
def test_operators_of_labels_take_arrays_with_a_value_for_each(frame, call):
    found, expected = call(frame).compute(scheduler="inline"), call(PLAIN)
    if isinstance(expected, np.ndarray):
        assert np.array_equal(found, expected) and found.dtype == expected.dtype
    else:
        assert_same(found, expected)


@pytest.mark.parametrize("text", [*(["str"] if HAS_COPY_ON_WRITE else []), "string[pyarrow]", "string[python]"])
def test_objects_that_are_all_missing_in_a_partition_are_added_to_text(text):
    plain = pd.DataFrame({"s": pd.array(list("abcd"), dtype=text), "k": range(4)}, index=list("pqrs"))
    plain["o"] = pd.Series(["x", "y", None, None], index=plain.index, dtype=object)
    calls = [
        lambda f: f.s + f.o,
        lambda f: f.o + f.s,
        lambda f: f.s.add(f.o),
        lambda f: f[["s", "o"]] + f[["o", "s"]].rename(columns={"o": "s", "s": "o"}),
        lambda f: f.index + np.array(["x", "y", None, None], dtype=object),
        lambda f: f[f.k < 2].s + f[f.k < 2].o,
    ]
    for number, call in enumerate(calls):
        expected, found = call(plain), call(gd.from_pandas(plain, npartitions=2)).compute(scheduler="inline")
        assert_same(found, expected) if number != 4 else pd.testing.assert_index_equal(found, expected)
    numbers = gd.from_pandas(plain.assign(o=plain.k.astype(object)), npartitions=2)
    with pytest.raises(TypeError):
        (numbers.s + numbers.o).compute(scheduler="inline")


NULLABLE_LABELS = {
    "compared": lambda f: f.index > 1,
    "among others": lambda f: f.index.isin([1]),
    "inverted": lambda f: ~(f.index == 3),
    "rows": lambda f: f[f.index == 3],
    "rows of two conditions": lambda f: f[(f.index == 3) | (f.x == 1)],
    "rows of a column": lambda f: f.x[f.index > 1],
    "a column": lambda f: f.assign(z=f.index == 3),
}


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]"])
@pytest.mark.parametrize("call", NULLABLE_LABELS.values(), ids=NULLABLE_LABELS)
def test_comparisons_of_nullable_labels_are_of_their_dtype_in_all_partitions(call, dtype):
    plain = pd.DataFrame({"x": [1, 2, 3]}, index=pd.Index([1, None, 3], dtype=dtype))
    found, expected = call(gd.from_pandas(plain, npartitions=3, sort=False)), call(plain)
    if isinstance(expected, pd.DataFrame | pd.Series):
        assert_same(found.compute(scheduler="inline"), expected)
    else:
        assert found.dtype == expected.dtype
        assert_same(pd.Series(found.compute(scheduler="inline")), pd.Series(expected))


def test_arrays_of_nullable_values_that_miss_some_are_errors_that_say_so():
    lazy = gd.from_pandas(pd.Series([1, None, 3], dtype="Int64"), npartitions=3)
    with pytest.raises(ValueError, match=r"values: missing ones make float64 of int64; fillna\(\)"):
        lazy.values.compute(scheduler="inline")
    assert lazy.fillna(0).values.compute(scheduler="inline").tolist() == [1, 0, 3]


def test_operators_of_labels_say_what_they_dont_take(frame):
    with pytest.raises(TypeError, match=r"an index and a pandas series.*series.to_numpy\(\)"):
        frame.index == PLAIN.t  # noqa: B015
    with pytest.raises(ValueError, match=r"Length of values \(2\) does not match"):
        frame.index == ["a", "b"]  # noqa: B015


BOTH_PARTS = {
    "by a number": lambda f: divmod(f.x, 2),
    "of a number": lambda f: divmod(9.5, f.y),
    "by zeros": lambda f: divmod(f.x, f.x - 1),
    "of a frame by zero": lambda f: divmod(f[["x", "y"]], 0),
    "an array": lambda f: divmod(np.array([5, 4, 3, 2, 1]), f.x),
    "with missing values' dtypes": lambda f: divmod(f.x.astype("Int64"), f.x.astype("Int64") - 1),
    "a method": lambda f: f.x.divmod(f.y[f.y > 1]),
    "with what is missing filled": lambda f: f.x.rdivmod(f.y[f.y > 1], fill_value=2),
    "NumPy's": lambda f: np.divmod(f.x, f.y),
    "NumPy's with an array": lambda f: np.divmod(np.array([5, 4, 3, 2, 1]), f.x),
    "fractions": lambda f: np.modf(f.y),
    "fractions of a frame": lambda f: np.frexp(f[["x", "y"]]),
}


@pytest.mark.parametrize("call", BOTH_PARTS.values(), ids=BOTH_PARTS)
def test_functions_of_two_results_give_both_as_pandas_does(frame, call):
    for one, other in zip(call(frame), call(PLAIN), strict=True):
        assert_same(one.compute(scheduler="inline"), other)


def test_an_array_in_other_blocks_is_named(frame):
    with pytest.raises(
        ValueError,
        match=r"add: an array of shape \(5,\) in \(1,\) blocks; it needs one axis, and a block for each of the 2",
    ):
        frame[frame.x > 0].x + ga.ones(5, chunks=5)
    with pytest.raises(ValueError, match=r"condition: an array of shape \((5|nan), 2\)"):
        frame[frame[["x", "y"]].to_array() > 1]


def test_an_array_with_one_value_a_partition_is_not_taken_for_all_its_rows(frame):
    means = frame.map_partitions(lambda part: np.array([part.y.mean()]))
    for made in (frame.y - means, means * frame.y, np.maximum(frame.y, means)):
        with pytest.raises(ValueError, match=r"Length of values \(1\) does not match length of index"):
            made.compute()


def test_lazy_arrays_of_booleans_choose_rows(frame):
    condition = (frame.x > 1).to_array()
    plain = (PLAIN.x > 1).to_numpy()
    assert_same(frame[condition].compute(), PLAIN[plain])
    assert_same(frame.t[condition].compute(), PLAIN.t[plain])
    assert_same(frame.loc[condition, ["y", "t"]].compute(), PLAIN.loc[plain, ["y", "t"]])
    assert_same(frame.loc[condition, "y"].compute(), PLAIN.loc[plain, "y"])


@pytest.mark.parametrize("of", [np.array, pd.Series, pd.Index, pd.array, list])
def test_labels_may_be_in_any_list_like(frame, of):
    assert_same(frame[of(["y", "x"])].compute(), PLAIN[["y", "x"]])
    assert_same(frame.loc[of(["d", "b"])].compute().sort_index(), PLAIN.loc[["b", "d"]])
    assert_same(frame.loc[of(["d", "b"]), of(["t"])].compute().sort_index(), PLAIN.loc[["b", "d"], ["t"]])
    assert_same(frame.x[of(["a", "e"])].compute(), PLAIN.x[["a", "e"]])


def test_a_function_of_partitions_may_return_arrays(frame):
    doubled = frame.map_partitions(lambda part: part.x.to_numpy() * 2.0)
    assert isinstance(doubled, ga.Array) and doubled.dtype == np.float64 and doubled.numblocks == (2,)
    np.testing.assert_array_equal(doubled.compute(), PLAIN.x.to_numpy() * 2.0)
    assert_same(frame.assign(z=doubled).compute(), PLAIN.assign(z=PLAIN.x.to_numpy() * 2.0))
    table = frame[["x", "y"]].map_partitions(np.asarray)
    assert table.ndim == 2 and table.shape[1] == 2
    np.testing.assert_array_equal(table.compute(), PLAIN[["x", "y"]].to_numpy())
    with_others = frame.map_partitions(
        lambda part, other, total: part.x.to_numpy() + other.to_numpy() + total, frame.y, frame.x.sum()
    )
    np.testing.assert_array_equal(with_others.compute(), PLAIN.x + PLAIN.y + PLAIN.x.sum())


def test_an_array_may_be_the_meta(frame):
    made = frame.map_partitions(lambda part: part[["x", "y"]].to_numpy(), meta=np.empty((0, 2)))
    np.testing.assert_array_equal(made.compute(), PLAIN[["x", "y"]].to_numpy())
    wrong = frame.map_partitions(lambda part: part[["x"]].to_numpy(), meta=np.empty((0, 2)))
    with pytest.raises((MetaError, ValueError), match="shape"):
        wrong.compute()


@pytest.mark.parametrize(
    "how", ["sum", "prod", "min", "max", "count", "nunique", "any", "all", "median", "mean", "std"]
)
@pytest.mark.parametrize("dtype", ["int64", "int8", "bool", "Int64", "float32"])
def test_a_row_of_an_empty_partition_has_the_dtype_of_others(how, dtype):
    plain = pd.DataFrame({"x": [3, 1, 0, 1], "y": [1, 1, 0, 0]}).astype(dtype)
    lazy = gd.from_pandas(plain, npartitions=2).map_partitions(lambda part: part[part.index > 1])
    if how in ("median", "std", "mean") and dtype == "bool":
        pytest.skip("pandas makes objects, or refuses")
    made, expected = getattr(lazy, how)(axis=1), getattr(plain[2:], how)(axis=1)
    assert made.dtype == expected.dtype
    assert_same(made.compute(), expected)


@pytest.mark.parametrize("how", ["cumsum", "cumprod", "cummin", "cummax", "diff", "shift", "ffill", "rank"])
@pytest.mark.parametrize("dtype", ["int64", "Int64", "float32", ["int64", "float64"]])
def test_columns_of_an_empty_partition_have_the_dtypes_of_others(how, dtype):
    plain = pd.DataFrame({"x": [3, 1, 0, 1], "y": [1, 1, 0, 0]})
    plain = plain.astype(dict(zip(plain, dtype, strict=True)) if isinstance(dtype, list) else dtype)
    lazy = gd.from_pandas(plain, npartitions=2).map_partitions(lambda part: part[part.index > 1])
    made, expected = getattr(lazy, how)(axis=1), getattr(plain[2:], how)(axis=1)
    assert list(made.dtypes) == list(expected.dtypes)
    assert_same(made.compute(), expected)


@pytest.mark.parametrize(
    "limits",
    [(2.5, 3.5), (None, 2.5), (1.5, None), (2.0, 3.0), (2, 3), (np.float64(0.5), 1e9), (np.float32(2.5), None)],
)
@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32"])
def test_clipped_partitions_have_one_dtype(limits, dtype):
    plain = pd.DataFrame({"x": [3, 3, 1, 9], "y": [0, 5, 5, 5]}).astype(dtype)
    lazy = gd.from_pandas(plain, npartitions=2)
    for made, expected in (
        (lazy.clip(*limits), plain.clip(*limits)),
        (lazy.x.clip(*limits).to_frame(), plain[["x"]].clip(*limits)),
    ):
        assert list(made.dtypes) == list(made.compute().dtypes)
        pd.testing.assert_frame_equal(made.compute(), expected, check_dtype=False)
        assert all(
            wide == own or np.can_cast(own, wide) for wide, own in zip(made.dtypes, expected.dtypes, strict=True)
        )


def test_many_columns_are_added_without_a_warning(recwarn):
    lazy = gd.from_pandas(pd.DataFrame({"x": range(4)}), npartitions=2)
    for number in range(130):
        lazy[f"c{number}"] = lazy.x + number
    assert lazy.compute().shape == (4, 131)
    assert not [str(one.message) for one in recwarn if "fragmented" in str(one.message)]


def test_what_dask_takes_in_other_forms(frame):
    known = gd.from_pandas(PLAIN, npartitions=4)
    assert known.repartition(["a", "c", "e"]).divisions == ("a", "c", "e")
    assert known.x.sum(split_every=False).compute() == PLAIN.x.sum()
    assert_same(known.set_index(known.index).compute(), PLAIN.set_index(PLAIN.index))
    made = gd.DataFrame.from_dict({"n": [1, 2]}, npartitions=2)
    assert made.npartitions == 2 and made.n.sum().compute() == 3
    with pytest.raises(ValueError, match=r"Length of values \(1\) does not match length of index \(5\)"):
        frame.set_index([["x"]])
    with pytest.raises(
        TypeError, match=r"set_index takes names of columns, lazy series, and lists or arrays .*, not {'x': 1}"
    ):
        frame.set_index([{"x": 1}])


@pytest.mark.parametrize(
    ("convert", "values", "options"),
    [
        ("to_datetime", ["2020-01-02", "2021-03-04 05:06:07"], {"format": "mixed"}),
        ("to_datetime", ["02.01.2020", "04.03.2021"], {"format": "%d.%m.%Y"}),
        ("to_datetime", ["2020-01-02", "2021-03-04"], {"utc": True}),
        ("to_datetime", [1, 2], {"unit": "s"}),
        ("to_datetime", [1, 2], {}),
        ("to_timedelta", ["1 day", "2 h"], {}),
        ("to_timedelta", [1, 2], {"unit": "s"}),
    ],
)
def test_times_have_the_unit_of_those_that_have_values(convert, values, options):
    plain = pd.Series(values, index=[4, 7])
    lazy = gd.from_pandas(plain, npartitions=2)
    expected = getattr(pd, convert)(plain, **options)
    made = getattr(gd, convert)(lazy, **options)
    assert made.dtype == expected.dtype
    assert_same(made.compute(), expected)
    some = getattr(gd, convert)(lazy[lazy.index > 5], **options)
    assert_same(some.compute(), expected[1:])
    assert {part.compute().dtype for part in some.partitions} == {expected.dtype}


def test_a_function_of_partitions_is_told_which_it_gets(frame):
    def told(part, n, *, partition_info=None):
        return part.assign(n=n if partition_info is None else partition_info["number"] * n)

    made = frame.map_partitions(told, 10)
    expected = [10 * number for number, part in enumerate(frame.partitions) for _ in range(len(part))]
    assert made.n.compute().tolist() == expected
    assert made.partitions[1].n.compute().tolist() == expected[-len(frame.partitions[1]) :]
    assert frame.map_partitions(told, 10, partition_info={"number": 7}).n.compute().unique().tolist() == [70]


def test_a_function_of_partitions_is_told_where_they_begin():
    known = gd.from_pandas(PLAIN, npartitions=2)

    def first(part, partition_info):
        return "" if partition_info is None else partition_info["division"]

    assert known.map_partitions(first, meta=(None, object)).compute().tolist() == list(known.divisions[:-1])
    assert known.clear_divisions().map_partitions(first, meta=(None, object)).compute().tolist() == [None, None]
    sums = known.map_partitions(
        lambda part, partition_info=None: np.full(len(part), (partition_info or {"number": 0})["number"])
    )
    assert sums.compute().tolist() == [number for number, part in enumerate(known.partitions) for _ in range(len(part))]


ARRAY = np.arange(12).reshape(6, 2)
BESIDE_ARRAYS = {
    "of its shape": lambda f: f + ARRAY,
    "on the left": lambda f: ARRAY - f,
    "compared": lambda f: f == ARRAY,
    "a row for all": lambda f: ARRAY[1:2] * f,
    "a column for all": lambda f: f / ARRAY[:, 1:],
    "a function of NumPy's": lambda f: np.add(f, ARRAY),
    "as a method": lambda f: f.add(ARRAY, fill_value=1),
    "a list along the rows": lambda f: f.sub([1, 2, 3, 4, 5, 6], axis=0),
    "an array along the rows": lambda f: f.rsub(ARRAY[:, 0], axis="index"),
    "a list of as many values as columns": lambda f: f + [1, 2],
    "clipped by row": lambda f: f.clip([1, 2, 3, 4, 4, 4], axis=0),
    "clipped by fractions": lambda f: f.clip([1.5, 2, 3, 4, 4, 4], axis=0),
    "clipped by row and column": lambda f: f.clip(ARRAY, ARRAY + 1),
    "clipped by column": lambda f: f.clip([2, 3], axis=1),
    "a clipped series": lambda f: f.x.clip([1, 2, 3, 4, 4, 4]),
    "cells of a pandas frame": lambda f: f[pd.DataFrame(ARRAY > 4, columns=["x", "y"])],
    "booleans that are objects": lambda f: f[pd.Series([True, False] * 3, index=range(5, -1, -1), dtype=object)],
    "other rows": lambda f: f + ARRAY[:3],
    "other columns": lambda f: f + np.ones((6, 3)),
    "cells that aren't there": lambda f: f[np.array([True, None] * 3, dtype=object)],
}
if HAS_COPY_ON_WRITE:  # pandas 2 chooses the dtype by the values that come of it
    BESIDE_ARRAYS["clipped by missing values"] = lambda f: f.clip([1, 2, 3, 4, np.nan, 4], axis=0)


def test_where_and_mask_take_lazy_arrays_of_the_same_shape():
    def array(made):
        return made.to_numpy() if isinstance(made, (pd.DataFrame, pd.Series)) else made.to_array()

    operations = {
        "a condition": lambda f: f.where(array(f > 2)),
        "what a function returns": lambda f: f.mask(lambda g: array(g > 2), -1),
        "values, too": lambda f: f.where(array(f > 2), lambda g: array(g * 10)),
        "values alone": lambda f: f.mask(f > 2, lambda g: array(g * 10)),
        "of a series": lambda f: f.x.where(lambda s: array(s > 2), f.y),
    }
    for labels in (list("abcde"), [5, 1, 5, 2, 1]):
        plain = PLAIN[["x", "y"]].astype("float64").set_axis(labels, axis=0)
        check_all(operations, plain, gd.from_pandas(plain, npartitions=2, sort=False))
    lazy = gd.from_pandas(PLAIN[["x", "y"]], npartitions=2)
    with pytest.raises(ValueError, match=r"where: a lazy array of shape \(5, 1\) must be the same shape as self"):
        lazy.where(lazy[["x"]].to_array(lengths=True) > 2)
    with pytest.raises(ValueError, match=r"mask: an array of shape .* it needs 2 axes, and a block for each of the 2"):
        lazy[lazy.x > 0].mask(ga.ones((5, 2), chunks=(5, 1)) > 2)


@pytest.mark.filterwarnings("ignore:Boolean Series key will be reindexed")
def test_arrays_at_hand_are_taken_by_place():
    frame = pd.DataFrame({"x": range(6), "y": [0.5, 2, 3, np.nan, 5, 9]})
    ragged = gd.from_map([frame[:2], frame[2:2], frame[2:]].__getitem__, range(3), meta=frame[:0])
    check_all(BESIDE_ARRAYS, frame, gd.from_pandas(frame, npartitions=3))
    check_all(BESIDE_ARRAYS, frame, ragged)


def test_an_array_with_a_value_for_each_cell_chooses_no_rows():
    lazy = gd.from_pandas(pd.DataFrame({"x": range(4), "y": 1}), npartitions=2)
    with pytest.raises(
        ValueError, match=r"a condition of shape \(4, 2\): .* where\(\) takes one for each row and column"
    ):
        lazy[np.ones((4, 2), dtype=bool)]


def test_a_pandas_series_says_what_becomes_of_columns_and_values():
    frame = pd.DataFrame({"x": [1, 2, 3], "y": [1.5, 2, 3]})
    lazy = gd.from_pandas(frame, npartitions=2)
    dtypes, values = pd.Series({"y": "float32"}), pd.Series({1: 10, 2: 20})
    assert_same(lazy.astype(dtypes).compute(), frame.astype(dtypes))
    assert_same(lazy.replace(values).compute(), frame.replace(values))
    assert_same(lazy.x.replace(values).compute(), frame.x.replace(values))
    assert_same(lazy[{"y": 0}.keys()].compute(), frame[["y"]])


OF_ONE_VALUE = {
    "subtracted": lambda f, value: f.x - value,
    "of a frame": lambda f, value: f[["x", "y"]] / value,
    "compared": lambda f, value: f[f.x > value],
    "by NumPy": lambda f, value: np.maximum(f.x, value),
    "assigned": lambda f, value: f.assign(z=value),
    "where": lambda f, value: f.y.where(f.x > 1, value),
    "clipped": lambda f, value: f.x.clip(upper=value),
    "of small numbers": lambda f, value: f.x.astype("int8") * value,
}


@pytest.mark.parametrize("call", OF_ONE_VALUE.values(), ids=OF_ONE_VALUE)
def test_arrays_without_axes_are_values_beside_frames(frame, call):
    value = np.float64(PLAIN.y.mean())
    found = call(frame, frame.y.values.mean())
    assert_same(found.compute(scheduler="inline"), call(PLAIN, value))
    assert found.divisions == frame.divisions


def test_scalars_are_values_beside_lazy_arrays(frame):
    x, mean = PLAIN.x.to_numpy(), PLAIN.y.mean()
    for made, expected in (
        (frame.x.values - frame.y.mean(), x - mean),
        (frame.y.mean() - frame.x.values, mean - x),
        (np.hypot(frame.x.values, frame.y.mean()), np.hypot(x, mean)),
        (frame[["x"]].values > frame.x.max(), x[:, None] > 5),
    ):
        assert isinstance(made, ga.Array) and made.dtype == expected.dtype
        np.testing.assert_array_equal(made.compute(), expected)
    with pytest.raises(TypeError, match="a lazy scalar of str can't be combined with an array"):
        frame.x.values * frame.t.max()


def test_frames_take_lazy_arrays_with_a_value_for_each_row_and_column(frame):
    numbers, plain = frame[["x", "y"]], PLAIN[["x", "y"]]
    assert_same((numbers + numbers.values).compute(), plain + plain.to_numpy())
    assert_same((numbers.values - numbers).compute(), plain.to_numpy() - plain)
    assert_same((numbers * frame[["x"]].values).compute(), plain * PLAIN[["x"]].to_numpy())
    with pytest.raises(ValueError, match="Unable to coerce to DataFrame|shape"):
        numbers + frame[["x", "y", "x"]].values
    with pytest.raises(ValueError, match="it needs one axis"):
        frame.x + numbers.values


def test_functions_of_lazy_arrays_make_frames_and_series_of_such(frame):
    assert_same(ga.sqrt(frame[["x", "y"]]).compute(), np.sqrt(PLAIN[["x", "y"]]))
    assert_same(ga.logaddexp(frame.x, frame.y).compute(), np.logaddexp(PLAIN.x, PLAIN.y))
    assert_same(ga.add(frame.x.values, frame.y).compute(), (PLAIN.x + PLAIN.y).rename("y"))
    assert ga.sqrt(frame.x.sum()).compute() == np.sqrt(PLAIN.x.sum())
    with pytest.raises(
        NotImplementedError, match=r"numpy.sqrt\(out=...\) of lazy objects isn't supported: take what it returns"
    ):
        np.sqrt(frame.x, out=frame.y)


def test_lazy_arrays_of_other_blocks_are_cut_where_lengths_of_partitions_are_known():
    lazy, plain = gd.from_pandas(PLAIN, npartitions=2)[["x", "y"]], PLAIN[["x", "y"]]
    values = np.arange(10.0).reshape(5, 2)
    array = ga.from_array(values, chunks=(4, 1))
    assert_same((lazy + array).compute(), plain + values)
    assert_same((lazy.x * array[:, 1]).compute(), plain.x * values[:, 1])
    assert_same(lazy.assign(z=array[:, 0]).compute(), plain.assign(z=values[:, 0]))
    with pytest.raises(ValueError, match="a block for each of the 2 partitions"):
        lazy[lazy.x > 0] + ga.from_array(values, chunks=(2, 2))
