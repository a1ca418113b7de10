"""Blocks of another library: nothing below the creation layer takes them for NumPy's.

array-api-strict has the standard's functions and nothing else; what it is given of NumPy's it refuses. CuPy isn't run here:
no test machine has a GPU.
"""

import array_api_strict as strict
import glassloom as gl
import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, chunks_of, full_shapes
from hypothesis import given
from hypothesis import strategies as st

StrictArray = type(strict.asarray(0))
KINDS = ("float64", "int64", "float32", "bool", "complex128", "uint8")


def strictly(lazy, expected, **tolerance):
    """Assert that the result is NumPy's, in an array of the other library."""
    expected = np.asarray(expected)
    assert lazy.dtype == expected.dtype
    assert lazy.shape == expected.shape or any(length != length for length in lazy.shape)
    result = lazy.compute(scheduler="inline")
    assert type(result) is StrictArray
    plain = np.asarray(result)
    assert (plain.dtype, plain.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(plain, expected, **(tolerance or {"rtol": 1e-12}))


@st.composite
def strict_arrays(draw, shape=full_shapes, dtypes=KINDS):
    """A NumPy array and the same as a lazy one with blocks of the other library."""
    array, _ = draw(arrays(shape, dtypes))
    return array, ga.from_array(strict.asarray(array), chunks=draw(chunks_of(array.shape)))


@given(strict_arrays(dtypes=("float64", "int64", "float32", "uint8")))
def test_elementwise_functions_give_numpys_values_and_types(pair):
    array, lazy = pair
    with np.errstate(all="ignore"):
        strictly(lazy + 1, array + 1)
        strictly(2.5 * lazy, 2.5 * array)
        strictly(lazy / 3, array / 3)
        strictly(-(lazy**2), -(array**2))
        if array.dtype != "uint8":  # NumPy's sines of short integers are in half precision, which the standard lacks
            strictly(np.sin(lazy), np.sin(array), rtol=1e-6)
        strictly(lazy > 1, array > 1)
        strictly((lazy > 1) & (lazy < 3), (array > 1) & (array < 3))
        strictly(ga.where(lazy > 1, lazy, 0), np.where(array > 1, array, 0))
        strictly(ga.clip(lazy, 0, 2), np.clip(array, 0, 2))
        strictly(lazy.astype("f4"), array.astype("f4"))
        strictly(np.maximum(lazy, 1), np.maximum(array, 1))
        strictly(ga.isclose(lazy, array), np.isclose(array, array))
        strictly(abs(lazy).round(), abs(array).round())


@given(strict_arrays(dtypes=("float64", "int64")), st.data())
def test_two_arrays_broadcast_whatever_their_types(pair, data):
    array, lazy = pair
    other, lazy_other = data.draw(strict_arrays(shape=array.shape[-1:], dtypes=("float32", "int64", "bool")))
    strictly(lazy + lazy_other, array + other, rtol=1e-6)
    strictly(lazy * lazy_other, array * other, rtol=1e-6)
    strictly(lazy == lazy_other, array == other)


@given(strict_arrays(dtypes=("float64", "int64")), st.data())
def test_reductions_give_numpys_values(pair, data):
    array, lazy = pair
    axis = data.draw(st.none() | st.integers(0, array.ndim - 1))
    for name in ("sum", "prod", "mean", "std", "var", "min", "max", "any", "all"):
        strictly(getattr(lazy, name)(axis), getattr(array, name)(axis), rtol=1e-9, atol=1e-9)
    strictly(lazy.sum(axis, keepdims=True), array.sum(axis, keepdims=True))
    clean, lazy_clean = np.nan_to_num(array), ga.where(ga.isnan(lazy), 0, lazy).astype(array.dtype)
    strictly(lazy_clean.argmax(axis), clean.argmax(axis))
    for name in ("nansum", "nanmax", "nanmean"):
        if not np.isnan(array).all(axis).any():
            strictly(getattr(ga, name)(lazy, axis), getattr(np, name)(array, axis), rtol=1e-9, atol=1e-9)


@given(strict_arrays((6, 5)), st.data())
def test_indexing_shaping_and_joining(pair, data):
    array, lazy = pair
    strictly(lazy[1:4, ::-2], array[1:4, ::-2])
    strictly(lazy[2], array[2])
    strictly(lazy[[3, 0, 3]], array[[3, 0, 3]])
    strictly(lazy[:, [4, 1]], array[:, [4, 1]])
    strictly(lazy[[0, 5], [1, 1]], array[[0, 5], [1, 1]])
    strictly(lazy.vindex[[0, 5], [1, 1]], array[[0, 5], [1, 1]])
    strictly(lazy[None, ..., 0], array[None, ..., 0])
    strictly(lazy[lazy.astype(bool)], array[array.astype(bool)])
    strictly(lazy[lazy[:, 0].astype(bool)], array[array[:, 0].astype(bool)])
    strictly(lazy.T, array.T)
    strictly(lazy.reshape(3, 10), array.reshape(3, 10))
    strictly(lazy.rechunk(data.draw(chunks_of((6, 5)))), array)
    strictly(ga.concatenate([lazy, lazy[:2]]), np.concatenate([array, array[:2]]))
    strictly(ga.stack([lazy, lazy], axis=1), np.stack([array, array], axis=1))
    strictly(ga.flip(lazy, 0), np.flip(array, 0))
    strictly(ga.roll(lazy, 2, 0), np.roll(array, 2, 0))
    strictly(ga.pad(lazy, 1, mode="reflect"), np.pad(array, 1, mode="reflect"))
    strictly(ga.broadcast_to(lazy, (2, 6, 5)), np.broadcast_to(array, (2, 6, 5)))
    strictly(ga.tile(lazy, 2), np.tile(array, 2))


@given(strict_arrays((6, 5), ("float64", "int64")))
def test_assignment(pair):
    array, lazy = pair
    array, lazy = array.copy(), lazy.copy()
    for target in (array, lazy):
        target[1:3] = 7
        target[[0, 5], 2] = 9
        target[target > 8] = 0
    strictly(lazy, array)


@given(strict_arrays((6, 5), ("float64", "int64")))
def test_products_scans_and_order(pair):
    array, lazy = pair
    array, lazy = np.nan_to_num(array), ga.where(ga.isnan(lazy), 0, lazy).astype(array.dtype)
    strictly(lazy @ lazy.T, array @ array.T)
    strictly(ga.tensordot(lazy, lazy, ([0, 1], [0, 1])), np.tensordot(array, array, ([0, 1], [0, 1])))
    strictly(ga.outer(lazy[0], lazy[1]), np.outer(array[0], array[1]))
    strictly(ga.cumsum(lazy, 0), np.cumsum(array, 0))
    strictly(ga.diff(lazy), np.diff(array))
    strictly(ga.sort(lazy, 0), np.sort(array, 0))
    strictly(ga.argsort(lazy, 1), np.argsort(array, 1, kind="stable"))
    strictly(ga.topk(lazy, 2), -np.sort(-array)[:, :2])
    strictly(ga.searchsorted(ga.sort(lazy.ravel()), lazy[0]), np.searchsorted(np.sort(array.ravel()), array[0]))
    strictly(ga.tril(lazy), np.tril(array))
    strictly(ga.diagonal(lazy), np.diagonal(array))
    strictly(ga.count_nonzero(lazy, 0), np.count_nonzero(array, 0))
    strictly(ga.argwhere(lazy > 1), np.argwhere(array > 1))
    strictly(ga.take_along_axis(lazy, ga.argsort(lazy, 1), 1), np.sort(array, 1))


def test_factorisations():
    array = np.random.default_rng(0).normal(size=(12, 3))
    lazy = ga.from_array(strict.asarray(array), chunks=(4, 3))
    q, r = ga.linalg.qr(lazy)
    strictly(q @ r, array)
    u, s, vh = ga.linalg.svd(lazy)
    strictly((u * s) @ vh, array)
    strictly(s, np.linalg.svd(array, compute_uv=False))
    square, lazy_square = array.T @ array, lazy.T @ lazy
    strictly(ga.linalg.det(lazy_square), np.linalg.det(square))
    strictly(ga.linalg.eigvalsh(lazy_square), np.linalg.eigvalsh(square))
    strictly(ga.linalg.norm(lazy), np.linalg.norm(array))


def test_fourier_transforms():
    array = np.random.default_rng(0).normal(size=(4, 6))
    lazy = ga.from_array(strict.asarray(array), chunks=2)
    strictly(ga.fft.fft(lazy), np.fft.fft(array), atol=1e-12)
    strictly(ga.fft.rfft(lazy, axis=0), np.fft.rfft(array, axis=0), atol=1e-12)


def test_creation_like_another_array_or_library():
    for like in ("array_api_strict", strict.asarray(1), ga.from_array(strict.asarray([1]))):
        strictly(
            ga.ones((3, 2), chunks=2, like=like) + ga.arange(2, chunks=1, like=like), np.ones((3, 2)) + np.arange(2)
        )
        strictly(ga.full(3, 2, like=like), np.full(3, 2))
    strictly(ga.zeros_like(ga.from_array(strict.asarray([1, 2]))), np.zeros(2, dtype=int))
    strictly(ga.asarray(strict.asarray([1, 2])) + strict.asarray([1, 2]), [2, 4])
    with pytest.raises(ValueError, match="backend='nonsense' is none of .*, and no library that follows the array API"):
        ga.ones(2, like="nonsense")
    with pytest.raises(NotImplementedError, match="standard has no random numbers"):
        ga.random.default_rng(1, backend="array_api_strict").normal(size=3)


def test_functions_of_users_get_the_librarys_own_arrays():
    seen = []

    def double(block):
        seen.append(type(block))
        return strict.add(block, block)

    lazy = ga.from_array(strict.asarray(np.arange(6.0)), chunks=2)
    expected = np.arange(6.0) * 2
    strictly(lazy.map_blocks(double, dtype=float), expected)
    strictly(ga.blockwise(double, "i", lazy, "i", dtype=float), expected)
    strictly(ga.map_overlap(double, lazy, depth=1, dtype=float), expected)
    strictly(ga.apply_gufunc(double, "(i)->(i)", lazy, output_dtypes=float), expected)
    strictly(ga.reduction(lazy, strict.sum, strict.sum), 15.0)
    assert set(seen) == {StrictArray}


def test_they_pass_between_processes_and_say_their_library():
    lazy = ga.from_array(strict.asarray(np.arange(6.0)), chunks=2)
    assert "array_api_strict" in repr(lazy)
    with gl.Client(n_workers=2, threads_per_worker=1) as client:
        result = (lazy + 1).sum().compute(scheduler=client)
        assert type(result) is StrictArray and float(result) == 21
    held = lazy.persist()
    strictly(held + 1, np.arange(6.0) + 1)
    np.testing.assert_array_equal(np.asarray(lazy), np.arange(6.0))


def test_what_the_standard_lacks_says_so():
    lazy = ga.from_array(strict.asarray([1.0, 2.0]))
    with pytest.raises(NotImplementedError, match="array_api_strict has no 'cbrt', and the array API standard doesn't"):
        np.cbrt(lazy)
    with pytest.raises(TypeError, match="array_api_strict has no type float16"):
        lazy.astype("f2").compute()
