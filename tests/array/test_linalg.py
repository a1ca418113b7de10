"""Products, norms and factorisations agree with NumPy's, however the arrays are cut."""

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, equal
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

lengths = st.integers(0, 5)
KINDS = ("float64", "int64", "bool", "complex128")
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def finite(pair):
    array, lazy = pair
    return np.nan_to_num(array), ga.where(ga.isnan(lazy), 0, lazy).astype(array.dtype)


@given(st.data(), st.lists(lengths, max_size=2), lengths, st.lists(lengths, max_size=2))
def test_dot_agrees_with_numpy_for_any_number_of_axes(data, left, common, right):
    x, lazy_x = finite(data.draw(arrays((*left, common), KINDS)))
    at = max(len(right) - 1, 0)
    y, lazy_y = finite(data.draw(arrays((*right[:at], common, *right[at:]), KINDS)))
    equal(lazy_x.dot(lazy_y), x.dot(y), **CLOSE)


@given(st.data(), st.lists(st.integers(1, 3), max_size=2), lengths, lengths, lengths)
def test_matmul_agrees_with_numpy_and_broadcasts_stacks(data, stack, n, k, m):
    x, lazy_x = finite(data.draw(arrays((*stack, n, k), KINDS)))
    other = [1 if data.draw(st.booleans()) else length for length in stack][data.draw(st.integers(0, len(stack))) :]
    y, lazy_y = finite(data.draw(arrays((*other, k, m), KINDS)))
    equal(lazy_x @ lazy_y, x @ y, **CLOSE)
    equal(x @ lazy_y, x @ y, **CLOSE)
    if k:
        equal(lazy_x @ lazy_y[(0,) * len(other)][:, 0:1].ravel() if m else lazy_x @ lazy_y,
              x @ y[(0,) * len(other)][:, 0] if m else x @ y, **CLOSE)  # fmt: skip


@given(st.data(), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_tensordot_agrees_with_numpy_over_any_pairs_of_axes(data, shape):
    order = data.draw(st.permutations(range(len(shape))))
    x, lazy_x = finite(data.draw(arrays(tuple(shape), ("float64", "int64"))))
    y, lazy_y = finite(data.draw(arrays(tuple(shape[axis] for axis in order), ("float64", "int64"))))
    count = data.draw(st.integers(0, len(shape)))
    axes = ([order[place] for place in range(count)], list(range(count)))
    equal(ga.tensordot(lazy_x, lazy_y, axes), np.tensordot(x, y, axes), **CLOSE)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x @ x, r"axis 1 of shape \(4, 6\) in chunks .* and axis 0 of shape \(4, 6\) .* different lengths"),
        (lambda x: x.dot(x), "different lengths"),
        (lambda x: x @ 3, "matmul needs arrays with at least one axis"),
        (lambda x: ga.tensordot(x, x, 3), "tensordot over 3 axes of arrays with 2 and 2 axes"),
        (lambda x: ga.linalg.qr(x[0]), r"qr of an array with 1 axes, shape \(6,\)"),
        (lambda x: ga.linalg.norm(x, ord="most"), "ord='most'"),
    ],
)
def test_shapes_that_do_not_go_together_are_named(call, message):
    with pytest.raises((ValueError, NotImplementedError), match=message):
        call(ga.ones((4, 6), chunks=2))


@settings(max_examples=examples(25))
@given(st.integers(0, 60), st.integers(1, 5), st.integers(1, 30), st.sampled_from(["float64", "complex128", "int64"]))
def test_qr_of_any_cut_gives_orthonormal_columns_and_a_triangle(rows, columns, chunk, dtype):
    array = (np.random.default_rng(rows).normal(size=(rows, columns)) * 5).astype(dtype)
    q, r = ga.linalg.qr(ga.from_array(array, chunks=(chunk, max(1, columns - 1))))
    expected_q, expected_r = np.linalg.qr(array)
    assert (q.shape, r.shape, q.dtype) == (expected_q.shape, expected_r.shape, expected_q.dtype)
    q, r = q.compute(scheduler="inline"), r.compute(scheduler="inline")
    np.testing.assert_allclose(q @ r, array, atol=1e-9)
    np.testing.assert_allclose(q.conj().T @ q, np.eye(min(rows, columns)), atol=1e-9)
    np.testing.assert_allclose(r, np.triu(r))


@settings(max_examples=examples(25))
@given(st.integers(1, 60), st.integers(1, 5), st.integers(1, 30), st.booleans())
def test_svd_gives_numpys_singular_values_of_tall_and_wide_matrices(rows, columns, chunk, wide):
    array = np.random.default_rng(rows).normal(size=(rows, columns))
    lazy = ga.from_array(array, chunks=(chunk, columns))
    array, lazy = (array.T, lazy.T) if wide else (array, lazy)
    u, s, vh = ga.linalg.svd(lazy)
    expected = np.linalg.svd(array, full_matrices=False)
    assert [part.shape for part in (u, s, vh)] == [part.shape for part in expected]
    u, s, vh = (part.compute(scheduler="inline") for part in (u, s, vh))
    np.testing.assert_allclose(s, expected[1], atol=1e-9)
    np.testing.assert_allclose(u * s @ vh, array, atol=1e-9)


@given(
    arrays(st.lists(st.integers(1, 5), min_size=2, max_size=3).map(tuple), ("float64", "int64", "complex128")),
    st.data(),
)
def test_norms_agree_with_numpy(pair, data):
    array, lazy = finite(pair)
    keepdims = data.draw(st.booleans())
    axis, ord = data.draw(
        st.sampled_from(
            [(None, None), (0, None), (-1, 1), (0, 3), (1, np.inf), (0, -np.inf), (0, 0), ((0, 1), "fro"),
             ((0, 1), None), ((1, 0), 1), ((0, 1), -1), ((0, -1), np.inf), ((-1, 0), -np.inf)]
        )
    )  # fmt: skip
    expected = np.linalg.norm(array, ord, axis, keepdims)
    equal(ga.linalg.norm(lazy, ord, axis, keepdims), expected, **CLOSE)


def stack_of(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (2, 4, 3)])
def test_qr_has_numpys_modes_for_matrices_and_stacks(shape, mode):
    array = stack_of(0, *shape)
    made = ga.linalg.qr(ga.from_array(array, chunks=2), mode=mode)
    expected = np.linalg.qr(array, mode)
    if mode == "r":
        assert made.shape == expected.shape
        np.testing.assert_allclose(abs(made.compute()), abs(expected), atol=1e-12)
        return
    q, r = made
    assert (q.shape, r.shape) == (expected[0].shape, expected[1].shape)
    np.testing.assert_allclose((q @ r).compute(), array, atol=1e-12)
    np.testing.assert_allclose(
        (q.mT @ q).compute(), np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *[q.shape[-1]] * 2)), atol=1e-12
    )


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (2, 4, 3)])
def test_svd_of_stacks_and_full_matrices(shape, full):
    array = stack_of(1, *shape)
    u, s, vh = ga.linalg.svd(ga.from_array(array, chunks=2), full_matrices=full)
    expected = np.linalg.svd(array, full_matrices=full)
    assert [x.shape for x in (u, s, vh)] == [x.shape for x in expected]
    np.testing.assert_allclose(s.compute(), expected[1])
    k = s.shape[-1]
    np.testing.assert_allclose(((u[..., :k] * s[..., None, :]) @ vh[..., :k, :]).compute(), array, atol=1e-12)
    np.testing.assert_allclose(ga.linalg.svd(ga.from_array(array, chunks=2), compute_uv=False).compute(), expected[1])


def test_eigenvalues_are_always_complex():
    array = stack_of(2, 2, 4, 4)
    values, vectors = ga.linalg.eig(ga.from_array(array, chunks=2))
    assert values.dtype == vectors.dtype == np.complex128
    np.testing.assert_allclose(
        (ga.from_array(array) @ vectors).compute(), (vectors * values[..., None, :]).compute(), atol=1e-10
    )
    np.testing.assert_allclose(ga.linalg.eigvals(array).compute(), np.linalg.eigvals(array))
    assert ga.linalg.eigvals(np.eye(2, dtype="f4")).compute().dtype == np.complex64


def test_diagonals_of_linear_algebra_are_those_of_the_last_two_axes():
    array = stack_of(3, 2, 3, 4)
    lazy = ga.from_array(array, chunks=2)
    for offset in (-1, 0, 2, 9):
        np.testing.assert_array_equal(
            ga.linalg.diagonal(lazy, offset=offset).compute(), np.linalg.diagonal(array, offset=offset)
        )
        np.testing.assert_allclose(
            ga.linalg.trace(lazy, offset=offset).compute(), np.linalg.trace(array, offset=offset)
        )


def test_unknown_modes_are_errors():
    with pytest.raises(ValueError, match="mode='raw' is none of"):
        ga.linalg.qr(np.eye(2), mode="raw")


@pytest.mark.parametrize("ord", [2, -2, "nuc"])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_by_singular_values(ord, keepdims):
    array = stack_of(4, 3, 5, 4)
    lazy = ga.from_array(array, chunks=2)
    for axis in ((-2, -1), (0, 2)):
        found = ga.linalg.norm(lazy, ord, axis, keepdims)
        expected = np.linalg.norm(array, ord, axis, keepdims)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.compute(), expected)
    np.testing.assert_allclose(ga.linalg.norm(lazy[0], ord).compute(), np.linalg.norm(array[0], ord))
