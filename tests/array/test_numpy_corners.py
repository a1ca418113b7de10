"""What NumPy does at the edges: durations, structures, comparisons of anything, lengths that aren't known, formats."""

import math
import operator
import pickle

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import equal
from glassloom.array.chunks import UNKNOWN
from glassloom.errors import ChunkError

DURATIONS = np.arange(7).astype("m8[s]")


@pytest.mark.parametrize(
    "name", ["sum", "mean", "cumsum", "min", "max", "ptp", "median", "nansum", "nanmean", "nanmax"]
)
@pytest.mark.parametrize("array", [DURATIONS, np.array([3, "NaT", 5, 9], "m8[ms]"), DURATIONS.reshape(1, 7)[:, :0]])
def test_durations_are_added_as_numbers_are(name, array):
    lazy = ga.from_array(array, chunks=3)
    if not array.size and name not in ("sum", "cumsum", "nansum"):
        return
    equal(getattr(ga, name)(lazy), getattr(np, name)(array))


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nancumsum", "nancumprod", "nanargmin", "nanargmax"])
def test_nan_among_objects_is_left_out(name):
    array = np.array([[True, np.nan, 2], [np.nan, 3.5, 1]], dtype=object)
    for axis in (0, 1):
        equal(getattr(ga, name)(ga.from_array(array, chunks=2), axis), getattr(np, name)(array, axis))


def test_what_durations_cannot_is_said_at_once():
    for name in ("var", "std", "prod"):
        with pytest.raises(TypeError):
            getattr(np, name)(DURATIONS)
        with pytest.raises(TypeError):
            getattr(ga, name)(ga.from_array(DURATIONS))


@pytest.mark.parametrize("compare", [operator.eq, operator.ne])
def test_anything_can_be_compared(compare):
    for array, other in [
        (np.arange(4), "a"), (np.arange(4), None), (np.arange(4.0), np.array(["a", "b", "c", "d"])),
        (np.array(["a", "b"]), 3), (np.array(["a", "b"]), "b"),
    ]:  # fmt: skip
        equal(compare(ga.from_array(array, chunks=2), other), compare(array, other))
    rows = np.array([(1, 2.0), (3, 4.0), (1, 2.0)], dtype=[("a", int), ("b", float)])
    equal(compare(ga.from_array(rows, chunks=2), rows[0]), compare(rows, rows[0]))
    equal(compare(ga.from_array(rows, chunks=2), ga.from_array(rows[::-1], chunks=1)), compare(rows, rows[::-1]))
    with pytest.raises(TypeError):
        operator.lt(ga.arange(3), "a")


def test_fields_and_rows_of_structures_are_assigned():
    rows = np.array([(1, 2.0), (3, 4.0), (5, 6.0)], dtype=[("a", int), ("b", float)])
    for key, value in [
        ("a", 5), ("b", np.arange(3)), (0, (9, 9.0)), (slice(1, 3), [(7, 7.0), (8, 8.0)]), (slice(None), (1, 1.0)),
        (1, rows[2]), ([0, 2], rows[1:]), (["b", "a"], rows[0]), (rows["a"] > 2, (0, 0.5)),
    ]:  # fmt: skip
        expected, lazy = rows.copy(), ga.from_array(rows.copy(), chunks=2)
        expected[key] = value
        lazy[key] = value
        equal(lazy, expected)
    lazy = ga.from_array(rows, chunks=2)
    lazy["b"] = lazy["a"] * 2
    assert lazy["b"].compute().tolist() == [2, 6, 10]
    with pytest.raises(ValueError, match="no field 'c'"):
        lazy["c"] = 1
    with pytest.raises(ValueError, match="can't be assigned"):
        lazy["a"] = [1, 2]


def test_numbers_without_axes_have_a_format_and_can_be_rounded():
    x = ga.arange(7, chunks=3).mean() + 0.126
    assert f"{x:.2f}|{x:>7.1f}" == "3.13|    3.1"
    assert f"{x}" == str(x)
    assert (round(x), round(x, 1)) == (3, 3.1)
    assert f"{ga.arange(3)}".startswith("ga.Array<")
    with pytest.raises(TypeError, match="format '.2f' is of one number"):
        f"{ga.arange(3):.2f}"
    with pytest.raises(TypeError, match="round"):
        round(ga.arange(3))


ONE_AXIS = {
    "argmax": (), "argmin": (), "sort": (), "argsort": (), "median": (), "diff": (), "gradient": (), "nonzero": (), "flip": (),
    "roll": (2,), "argtopk": (2,), "diag": (), "dot": ("itself",), "insert": (1, 5), "delete": (1,), "take": ([0, 1],),
    "cov": (), "quantile": (0.5,), "percentile": (50,), "trapezoid": (), "ediff1d": (), "argwhere": (), "flatnonzero": (),
    "nanargmax": (), "broadcast_to": ((2, 7),), "array_split": (2,), "split": (1,), "rechunk": (3,), "vander": (),
    "kron": ("itself",), "inner": ("itself",), "zeros_like": (), "full_like": (3,), "fft.fft": (), "fft.rfft": (), "fft.ifft": (),
    "fft.fftshift": (), "fft.hfft": (), "reshape": ((2, -1),), "diagflat": (), "repeat": ([1, 2, 3],), "overlap": (1,),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_AXIS)
def test_what_needs_a_length_that_is_not_known_says_so(name):
    x = ga.arange(10, chunks=5)
    unknown = x[x > 2].astype(float)
    function = operator.attrgetter(name)(ga)
    with pytest.raises(ChunkError, match=r"compute_chunk_sizes\(\)"):
        function(unknown, *(unknown if arg == "itself" else arg for arg in ONE_AXIS[name]))


def test_two_axes_of_unknown_length():
    x = ga.ones((4, 4), chunks=2)
    unknown = x[x[:, 0] > 0]
    for call in (
        ga.diag,
        ga.diagonal,
        ga.trace,
        ga.tril,
        lambda v: v.argmax(keepdims=True),
        lambda v: v.T @ v,
        ga.eye(4).dot,
    ):
        with pytest.raises(ChunkError, match=r"compute_chunk_sizes\(\)"):
            call(unknown)
    with pytest.raises(ChunkError, match=r"compute_chunk_sizes\(\)"):
        len(unknown)
    with pytest.raises(ChunkError, match=r"compute_chunk_sizes\(\)"):
        ga.coarsen(np.sum, unknown, {0: 2})


def test_unknown_lengths_are_nan_that_is_no_number():
    assert math.isnan(UNKNOWN) and pickle.loads(pickle.dumps(UNKNOWN)) is UNKNOWN
    assert math.isnan(math.prod((2, UNKNOWN))) and math.isnan(sum((2, UNKNOWN)))
    for use in (range, int, lambda n: n // 2, lambda n: [0] * n, lambda n: 7 % n, np.zeros, math.ceil):
        with pytest.raises(ChunkError, match="unknown length"):
            use(UNKNOWN)
    x = ga.arange(4, chunks=2)
    with pytest.raises(ChunkError, match="unknown length"):
        np.arange(x[x > 1].shape[0].__index__())


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max"])
def test_reductions_of_objects_are_objects(name):
    values = np.array([0.5, 0.25, 0.1, 1.4], dtype=object)
    lazy = getattr(ga.from_array(values, chunks=2), name)()
    assert lazy.dtype == object
    assert lazy.compute() == pytest.approx(getattr(values, name)())
    text = np.array(["1", "20"], dtype=object)
    assert ga.from_array(text, chunks=1).sum().compute() == "120"


def test_quantiles_of_text_are_whole():
    words = np.array(["abc", "de", "xyzw", "q"])
    found = ga.quantile(ga.from_array(words, chunks=3), 0.5, method="lower").compute()
    assert found == "de"


def test_products_with_blocks_of_one_element_keep_nan():
    column, one = np.array([[np.nan], [1.0], [2.0]]), np.array([[0.0]])
    equal(ga.from_array(column, chunks=3) @ ga.from_array(one, chunks=1), column @ one)
    values = np.array([[np.nan] + [0.0] * 7, [0.0] + [1.0] * 7])
    lazy = ga.from_array(values, chunks=(1, 7))
    equal(lazy.T @ lazy, values.T @ values)


@pytest.mark.parametrize(("values", "axis"), [([[9], [8]], 1), ([[9, 8, 7]], 0), ([9, 8], 1)])
def test_values_at_one_position_are_moved_along_the_axis(values, axis):
    whole = np.arange(6).reshape(2, 3)
    equal(ga.insert(ga.from_array(whole, chunks=2), 1, values, axis=axis), np.insert(whole, 1, values, axis=axis))


@pytest.mark.parametrize("dtype", ["U3", "S4", [("a", "i4"), ("b", "U2")], object, "m8[s]"])
def test_zeros_of_text_are_empty(dtype):
    expected = np.zeros(3, dtype=dtype)
    for lazy in (ga.zeros(3, dtype=dtype, chunks=2), ga.zeros_like(ga.from_array(np.ones(3, dtype=dtype), chunks=2))):
        assert (lazy.dtype, lazy.compute().tolist()) == (expected.dtype, expected.tolist())
