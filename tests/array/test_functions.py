"""NumPy's smaller functions on lazy arrays: its results for any shape and chunks."""

import glassloom.array as ga
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from array_strategies import arrays, chunks_of, equal, full_shapes, shapes, values_of
from hypothesis import given
from hypothesis import strategies as st

ANY = ("float64", "int64", "complex128")


@given(arrays(shapes, ANY))
def test_functions_of_elements(pair):
    array, lazy = pair
    for name in ("angle", "iscomplex", "isreal", "nan_to_num"):
        equal(getattr(ga, name)(lazy), getattr(np, name)(array))
    equal(ga.angle(lazy, deg=True), np.angle(array, deg=True))
    equal(ga.nan_to_num(lazy, nan=7), np.nan_to_num(array, nan=7))
    equal(ga.isnull(lazy), np.isnan(array))
    equal(ga.notnull(lazy), ~np.isnan(array))
    if array.dtype.kind != "c":
        for name in ("fix", "isneginf", "isposinf", "sinc"):
            equal(getattr(ga, name)(lazy), getattr(np, name)(array))
        equal(ga.i0(lazy), np.i0(array), rtol=1e-12)
        equal(ga.interp(lazy, [-1, 0, 3], [5.0, 1, 2], left=-9), np.interp(array, [-1, 0, 3], [5.0, 1, 2], left=-9))
        equal(
            ga.piecewise(lazy, [lazy < 0, lazy > 1], [-1, 2, abs]),
            np.piecewise(array, [array < 0, array > 1], [-1, 2, abs]),
        )
    equal(ga.array_equal(lazy, lazy, equal_nan=True), np.True_)
    equal(ga.array_equal(lazy, array), np.array_equal(array, array))
    equal(ga.array_equal(lazy, array[None]), np.False_)
    equal(ga.array_equiv(lazy, array[None]), np.array_equiv(array, array[None]))


def test_what_is_missing_of_dates_and_objects():
    dates = np.array(["2000-01-01", "NaT"], dtype="M8[D]")
    equal(ga.isnull(ga.from_array(dates)), np.isnat(dates))
    equal(ga.isnull(ga.from_array(np.array([None, 1, float("nan")], dtype=object), chunks=2)), [True, False, True])


@given(arrays(full_shapes, ("float64", "int64")), st.data())
def test_places_of_extremes_and_sizes(pair, data):
    array, lazy = pair
    axis = data.draw(st.none() | st.integers(0, array.ndim - 1))
    if not np.isnan(array).all(axis).any():
        equal(ga.nanargmin(lazy, axis), np.nanargmin(array, axis))
        equal(ga.nanargmax(lazy, axis), np.nanargmax(array, axis))
    assert ga.size(lazy) == array.size and ga.size(lazy, 0) == array.shape[0]
    equal(ga.trapezoid(lazy, axis=axis or 0), np.trapezoid(array, axis=axis or 0), rtol=1e-9, atol=1e-9)
    points = np.cumsum(np.arange(array.shape[0]))
    equal(ga.trapezoid(lazy, ga.asarray(points), axis=0), np.trapezoid(array, points, axis=0), rtol=1e-9, atol=1e-9)


@given(st.integers(0, 5), st.integers(0, 5), st.integers(-6, 6))
def test_positions(n, m, k):
    for name in ("tril_indices", "triu_indices"):
        for found, expected in zip(getattr(ga, name)(n, k, m, chunks=2), getattr(np, name)(n, k, m), strict=True):
            np.testing.assert_array_equal(found.compute(), expected)
        table = np.zeros((n, m))
        for found, expected in zip(
            getattr(ga, f"{name}_from")(ga.from_array(table), k), getattr(np, f"{name}_from")(table, k), strict=True
        ):
            np.testing.assert_array_equal(found.compute(), expected)
    if n * m:
        flat = ga.arange(n * m, chunks=3)
        axes = ga.unravel_index(flat, (n, m))
        for found, expected in zip(axes, np.unravel_index(np.arange(n * m), (n, m)), strict=True):
            equal(found, expected)
        equal(ga.ravel_multi_index(axes, (n, m)), np.arange(n * m))
    equal(ga.diagflat(ga.arange(n, chunks=2), k), np.diagflat(np.arange(n), k))


@given(arrays(full_shapes, ("float64", "int64")), st.data())
def test_insertion(pair, data):
    array, lazy = pair
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    length = array.shape[axis]
    place = data.draw(st.integers(-length, length))
    places = data.draw(st.lists(st.integers(-length, length), min_size=1, max_size=3))
    moved = np.moveaxis(array, axis, 0)
    equal(ga.insert(lazy, place, 7, axis), np.insert(array, place, 7, axis))
    equal(ga.insert(lazy, place, moved[0], axis), np.insert(array, place, moved[0], axis))
    equal(ga.insert(lazy, places, 7, axis), np.insert(array, places, 7, axis))
    equal(ga.insert(lazy, places, np.arange(len(places))), np.insert(array, places, np.arange(len(places))))
    equal(ga.extract(lazy > 0, lazy).compute_chunk_sizes(), np.extract(array > 0, array))
    equal(lazy.compress([True], 0), array.compress([True], 0)) if array.shape[0] == 1 else None


@given(arrays(full_shapes, ("float64", "int64")), st.data())
def test_groups_of_neighbours_are_reduced(pair, data):
    array, lazy = pair
    axis = data.draw(st.integers(0, array.ndim - 1))
    size = data.draw(st.integers(1, array.shape[axis]))
    kept = array.take(range(array.shape[axis] // size * size), axis)
    expected = np.stack(
        [kept.take(range(at, at + size), axis).sum(axis) for at in range(0, kept.shape[axis], size)], axis
    )
    equal(ga.coarsen(np.sum, lazy, {axis: size}, trim_excess=True), expected, rtol=1e-9, atol=1e-9)


MODES = [
    ("mean", {}), ("mean", {"stat_length": 2}), ("median", {}), ("maximum", {"stat_length": ((1, 3),)}), ("minimum", {}),
    ("linear_ramp", {}), ("linear_ramp", {"end_values": (5, -4)}), ("reflect", {}), ("symmetric", {}), ("wrap", {}), ("edge", {}),
    ("constant", {"constant_values": 3}),
]  # fmt: skip


@given(arrays(full_shapes, ("float64", "int64", "float32")), st.sampled_from(MODES), st.data())
def test_padding(pair, mode, data):
    array, lazy = pair
    array, lazy = np.nan_to_num(array), ga.nan_to_num(lazy)
    name, options = mode
    widths = [(data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))) for _ in range(array.ndim)]
    if name == "median" and array.dtype.kind == "i":
        options = {**options, "stat_length": 1}
    equal(ga.pad(lazy, widths, name, **options), np.pad(array, widths, name, **options), rtol=1e-5, atol=1e-6)


@given(arrays(full_shapes, ("float64", "int64")), st.data())
def test_ufuncs_take_numpys_options(pair, data):
    array, lazy = pair
    mask = data.draw(values_of(array.shape, "bool"))
    found = np.add(lazy, 1, where=ga.from_array(mask, chunks=2))
    equal(found, np.where(mask, array + 1, 0).astype(found.dtype))
    equal(ga.add(lazy, 1, where=mask), np.where(mask, array + 1, 0).astype(array.dtype))
    target = ga.zeros(array.shape, dtype=array.dtype)
    assert ga.multiply(lazy, 2, target) is target
    equal(target, array * 2)
    equal(ga.add(lazy, 1, dtype="f4", casting="unsafe"), np.add(array, 1, dtype="f4", casting="unsafe"))
    equal(ga.multiply.outer(lazy, [1, 2]), np.multiply.outer(array, [1, 2]))
    equal(ga.add.accumulate(lazy), np.add.accumulate(array), rtol=1e-9)
    for name in ("add", "maximum", "fmin", "logical_xor", "logaddexp"):
        own = getattr(np, name)
        equal(getattr(ga, name).reduce(lazy, axis=None), own.reduce(array, axis=None), rtol=1e-9)
        equal(own.reduce(lazy), own.reduce(array), rtol=1e-9)
    if array.dtype.kind == "i":
        for own in (np.bitwise_or, np.bitwise_and, np.gcd):
            equal(own.reduce(lazy, axis=0), own.reduce(array, axis=0))
        equal(ga.bitwise_count(lazy), np.bitwise_count(array))


def test_ufuncs_say_what_they_are_and_which_casts_they_refuse():
    assert (ga.add.nin, ga.add.nout, ga.add.identity, ga.divmod.nout) == (2, 1, 0, 2)
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' input 0 from"):
        ga.add(ga.ones(2), 1, dtype="i8", casting="safe")
    with pytest.raises(TypeError, match="no implementation found|did not contain|returned NotImplemented"):
        np.arctan2.reduce(ga.ones(2))


def test_the_same_bits_as_another_type():
    x = ga.arange(4, chunks=2)
    equal(x.view("f8"), np.arange(4).view("f8"))
    with pytest.raises(NotImplementedError, match="view of int64 as int32, which has another size"):
        x.view("i4")


@given(st.data(), st.integers(1, 6), st.integers(1, 3))
def test_rows_become_frames(data, rows, columns):
    table = np.arange(rows * columns).reshape(rows, columns)
    lazy = ga.from_array(table, chunks=data.draw(chunks_of(table.shape)))
    names = list("abc")[:columns]
    pd.testing.assert_frame_equal(lazy.to_dataframe(names).compute(), pd.DataFrame(table, columns=names))
    pd.testing.assert_series_equal(gd.from_array(lazy[:, 0], columns="a").compute(), pd.Series(table[:, 0], name="a"))


def test_frames_of_arrays_say_what_is_wrong():
    with pytest.raises(ValueError, match="a frame of an array with 3 axes"):
        gd.from_array(np.zeros((1, 1, 1)))
    with pytest.raises(ValueError, match=r"columns=\['a'\] has 1 names for 2 columns"):
        gd.from_array(np.zeros((1, 2)), columns=["a"])
    x = ga.arange(5, chunks=2)
    assert len(x[x > 1].to_dataframe("q").compute()) == 3


def test_blocks_become_delayed_calls_and_lists():
    x = ga.arange(6, chunks=(2, 3)[0]).reshape(3, 2)
    parts = x.to_delayed()
    assert parts.shape == x.numblocks
    assert np.concatenate([part.compute() for part in parts.ravel()]).tolist() == x.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert ga.ones(()).to_delayed().item().compute() == 1
    assert (x.partitions[0].compute() == x.blocks[0].compute()).all()


def test_values_are_put_into_lazy_arrays():
    x = ga.arange(4, chunks=2)
    ga.copyto(x, 9.0, casting="unsafe", where=x > 1)
    equal(x, [0, 1, 9, 9])
    with pytest.raises(TypeError, match="Cannot cast scalar from"):
        ga.copyto(x, 9.5)


@given(st.integers(1, 20), st.booleans())
def test_numbers_in_geometric_progression(num, endpoint):
    equal(
        ga.geomspace(2, 50, num, endpoint=endpoint, chunks=3), np.geomspace(2, 50, num, endpoint=endpoint), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: ga.pad(x, 1, "odd"), ValueError, "mode='odd' is none of"),
        (lambda x: ga.pad(x, 1, "mean", stat_length=0), ValueError, "stat_length=0 is less than 1"),
        (lambda x: ga.pad(x, 1, "reflect", reflect_type="none"), ValueError, "reflect_type='none'"),
        (lambda x: ga.pad(x[:0], 1, "mean"), ValueError, "axis 0 has no elements, so mode='mean'"),
        (lambda x: ga.coarsen(np.sum, x, {0: 3}), ValueError, "axis 0 has 4 elements, no multiple of 3"),
        (lambda x: ga.interp(x, x, x), NotImplementedError, "interp between points of a lazy array"),
        (lambda x: ga.ravel_multi_index((x,), (2, 2)), ValueError, "positions on 1 axes for 2 lengths"),
        (lambda x: ga.geomspace(-1, 2), ValueError, "geomspace from -1 to 2; both must be positive"),
    ],
)
def test_wrong_arguments_raise_at_once_with_their_values(call, error, message):
    with pytest.raises(error, match=message):
        call(ga.arange(4, chunks=2))


def test_methods_that_change_the_array():
    x = ga.asarray([[3, 1, 2], [9, 8, 7]]).rechunk(2)
    kept = ga.copy(x)
    x.sort()
    equal(x, [[1, 2, 3], [7, 8, 9]])
    x.fill(4)
    equal(x, np.full((2, 3), 4))
    equal(kept, [[3, 1, 2], [9, 8, 7]])
    assert ga.isrealobj(kept) and not ga.iscomplexobj(kept)
