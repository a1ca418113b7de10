"""Systems of equations, factorisations and products agree with NumPy, however the matrices are cut."""

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, chunks_of, equal
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

CLOSE = {"rtol": 1e-7, "atol": 1e-7}
DTYPES = st.sampled_from(["float64", "complex128", "int64", "float32"])


def random_matrix(seed, shape, dtype):
    rng = np.random.default_rng(seed)
    made = rng.normal(size=shape) * 5
    if dtype == "complex128":
        made = made + 1j * rng.normal(size=shape)
    return made.astype(dtype)


def tolerance(dtype):
    return {"rtol": 2e-2, "atol": 2e-2} if dtype == "float32" else CLOSE


@settings(max_examples=examples(40))
@given(st.data(), st.integers(1, 9), st.integers(0, 3), DTYPES)
def test_solve_and_inv_agree_with_numpy(data, n, k, dtype):
    a = random_matrix(n * 31, (n, n), dtype) + (10 * np.eye(n)).astype(dtype)
    b = random_matrix(k, (n, k) if k else (n,), dtype)
    lazy = ga.from_array(a, chunks=data.draw(chunks_of(a.shape)))
    right = ga.from_array(b, chunks=data.draw(chunks_of(b.shape)))
    equal(ga.linalg.solve(lazy, right), np.linalg.solve(a, b), **tolerance(dtype))
    equal(np.linalg.inv(lazy), np.linalg.inv(a), **tolerance(dtype))
    for lower, part in ((True, np.tril), (False, np.triu)):
        equal(ga.linalg.solve_triangular(lazy, right, lower), np.linalg.solve(part(a), b), **tolerance(dtype))


def test_rows_are_exchanged_over_the_whole_matrix():
    a = random_matrix(5, (150, 150), "float64")
    a[:50, :50] = 0  # pivots inside the first block would fail
    lazy = ga.from_array(a, chunks=50)
    equal(ga.linalg.solve(lazy, np.ones(150)), np.linalg.solve(a, np.ones(150)), rtol=1e-7)


@settings(max_examples=examples(40))
@given(st.data(), st.integers(1, 90), DTYPES)
def test_lu_gives_triangles_and_a_permutation(data, n, dtype):
    a = random_matrix(n, (n, n), dtype)
    p, lower, upper = ga.linalg.lu(ga.from_array(a, chunks=data.draw(st.integers(1, 90))))
    p, lower, upper = (each.compute(scheduler="inline") for each in (p, lower, upper))
    np.testing.assert_allclose(p @ lower @ upper, a, rtol=1e-3, atol=1e-3 if dtype == "float32" else 1e-8)
    np.testing.assert_array_equal(p.sum(axis=0), np.ones(n))
    np.testing.assert_array_equal(np.tril(lower), lower)
    np.testing.assert_array_equal(np.diag(lower), np.ones(n))
    np.testing.assert_array_equal(np.triu(upper), upper)
    assert abs(lower).max() <= 1 + 1e-6 or dtype == "complex128"


@settings(max_examples=examples(40))
@given(st.data(), st.integers(1, 60), DTYPES, st.booleans())
def test_cholesky_agrees_with_numpy(data, n, dtype, upper):
    a = random_matrix(n, (n, n), dtype)
    a = a @ a.conj().T + (100 * n * np.eye(n)).astype(dtype)
    lazy = ga.from_array(a, chunks=data.draw(chunks_of(a.shape)))
    equal(ga.linalg.cholesky(lazy, upper=upper), np.linalg.cholesky(a, upper=upper), **tolerance(dtype))


@settings(max_examples=examples(40))
@given(st.data(), st.integers(1, 30), st.integers(1, 5), st.integers(0, 3), st.booleans())
def test_least_squares_agree_with_numpy(data, m, n, k, deficient):
    a = random_matrix(m, (m, n), "float64")
    if deficient:
        a[:, -1] = a[:, 0] * 2
    b = random_matrix(k, (m, k) if k else (m,), "float64")
    found = ga.linalg.lstsq(ga.from_array(a, chunks=data.draw(chunks_of(a.shape))), ga.from_array(b, chunks=3))
    x, residuals, rank, s = np.linalg.lstsq(a, b)
    equal(found.x, x, **CLOSE)
    equal(found.rank, np.int64(rank))
    equal(found.s, s, rtol=1e-6, atol=1e-6)
    if len(residuals):
        equal(found.residuals, residuals, **CLOSE)


def test_singular_and_indefinite_matrices_raise_when_computed():
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        ga.linalg.solve(ga.zeros((4, 4), chunks=2), np.ones(4)).compute(scheduler="inline")
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        ga.linalg.cholesky(-ga.eye(4, chunks=2)).compute(scheduler="inline")


@settings(max_examples=examples(30))
@given(st.data(), st.lists(st.integers(1, 3), max_size=1).map(tuple), st.integers(1, 4))
def test_what_is_computed_of_each_matrix_agrees_with_numpy(data, stack, n):
    a = random_matrix(n, (*stack, n, n), "float64")
    lazy = ga.from_array(a, chunks=data.draw(chunks_of(a.shape)))
    for name in ("det", "pinv", "matrix_rank", "svdvals", "matrix_norm", "inv"):
        equal(getattr(ga.linalg, name)(lazy), getattr(np.linalg, name)(a), rtol=1e-6, atol=1e-6)
    equal(ga.linalg.eigvalsh(lazy + lazy.mT), np.linalg.eigvalsh(a + a.mT), **CLOSE)
    values, vectors = ga.linalg.eigh(lazy + lazy.mT)
    equal((vectors * values[..., None, :]) @ vectors.mT, a + a.mT, **CLOSE)
    for found, expected in zip(ga.linalg.slogdet(lazy), np.linalg.slogdet(a), strict=True):
        equal(found, expected, **CLOSE)
    for power in (-1, 0, 1, 3):
        equal(ga.linalg.matrix_power(lazy, power), np.linalg.matrix_power(a, power), rtol=1e-6, atol=1e-6)
    for ord in (2, 1, np.inf):
        equal(ga.linalg.vector_norm(lazy, ord=ord), np.linalg.vector_norm(a, ord=ord), **CLOSE)
        equal(
            ga.linalg.matrix_norm(lazy, ord=ord, keepdims=True),
            np.linalg.matrix_norm(a, ord=ord, keepdims=True),
            **CLOSE,
        )
    equal(ga.linalg.solve(lazy, np.ones((n, 2))), np.linalg.solve(a, np.ones((n, 2))), **CLOSE)


SUBSCRIPTS = ["ij,jk->ik", "ij,jk", "ij->ji", "ij->", "ij,ij->i", "...j,jk->...k", "ij,kj->kij", "ij,jk,kl->il", "ij"]


@given(st.data(), st.sampled_from(SUBSCRIPTS))
def test_einsum_agrees_with_numpy(data, subscripts):
    size = {letter: data.draw(st.integers(1, 5), label=letter) for letter in "ijkl"}
    terms = subscripts.partition("->")[0].split(",")
    pairs = [
        data.draw(arrays(tuple(2 if c == "." else size[c] for c in term.replace("...", ".")), ("int64",)))
        for term in terms
    ]
    equal(ga.einsum(subscripts, *(lazy for _, lazy in pairs)), np.einsum(subscripts, *(array for array, _ in pairs)))


@given(st.data(), st.integers(1, 5))
def test_einsum_takes_diagonals(data, n):
    x, lazy = data.draw(arrays((n, n), ("int64", "float64")))
    for subscripts in ("ii->i", "ii->", "ii,ij->j"):
        args = [(x, lazy)] * (subscripts.count(",") + 1)
        expected = np.einsum(subscripts, *(a for a, _ in args))
        equal(np.einsum(subscripts, *(a for _, a in args)), expected, rtol=1e-9, atol=1e-9)


@given(arrays(st.lists(st.integers(1, 4), max_size=3).map(tuple), ("int64", "complex128")), st.data())
def test_kron_vdot_vecdot_and_inner_agree_with_numpy(pair, data):
    x, lazy = pair
    y, lazy_y = data.draw(arrays(st.lists(st.integers(1, 4), max_size=2).map(tuple), ("int64", "float64")))
    equal(ga.kron(lazy, lazy_y), np.kron(x, y), rtol=1e-12)
    equal(ga.vdot(lazy, lazy), np.vdot(x, x), **CLOSE)
    equal(np.inner(lazy, lazy), np.inner(x, x), **CLOSE)
    if x.ndim:
        equal(
            ga.vecdot(lazy, lazy[-1]) if x.ndim > 1 else ga.vecdot(lazy, lazy),
            np.vecdot(x, x[-1] if x.ndim > 1 else x),
            **CLOSE,
        )


@given(st.data(), st.integers(1, 4))
def test_cross_products(data, n):
    x, lazy = data.draw(arrays((n, 3), ("int64",)))
    y, lazy_y = data.draw(arrays((3,), ("int64",)))
    equal(ga.cross(lazy, lazy_y), np.cross(x, y))
    equal(ga.cross(lazy.T, lazy.T + 1, axis=0), np.linalg.cross(x.T, x.T + 1, axis=0))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: ga.linalg.solve(x, [1]), ValueError, r"solve of an array of shape \(4, 6\); it needs a square"),
        (lambda x: ga.linalg.solve(x @ x.T, [1]), ValueError, r"\(4, 4\) and right-hand sides of shape \(1,\)"),
        (lambda x: ga.linalg.inv(x.astype("M8[s]")[:, :4]), TypeError, "type datetime64"),
        (lambda x: ga.linalg.det(x), ValueError, "needs a square matrix"),
        (lambda x: ga.einsum("ij,jk", x), ValueError, "names 2 arrays, got 1"),
        (lambda x: ga.einsum("i", x), ValueError, r"'i' names the axes of an array of shape \(4, 6\)"),
        (lambda x: ga.einsum("ij->k", x), ValueError, "axes that no array has"),
        (lambda x: ga.cross(x, x), ValueError, "needs 3 elements"),
        (lambda x: ga.vecdot(x, x.T), ValueError, "vecdot along axis -1"),
    ],
)
def test_shapes_that_do_not_go_together_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(ga.ones((4, 6), chunks=2))
