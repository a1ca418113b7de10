"""Decompositions of matrices that are tall, wide, or large both ways."""

import glassloom.array as ga
import numpy as np
import pytest

RNG = np.random.default_rng(0)


def low_rank(rows, columns, rank, dtype="f8"):
    made = RNG.normal(size=(rows, rank)) @ RNG.normal(size=(rank, columns))
    return (
        made.astype(dtype)
        if np.dtype(dtype).kind != "c"
        else made + 1j * RNG.normal(size=(rows, rank)) @ RNG.normal(size=(rank, columns))
    )


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
@pytest.mark.parametrize("shape", [(60, 40), (40, 60)])
@pytest.mark.parametrize(("iterator", "n"), [("power", 0), ("power", 2), ("QR", 2)])
def test_a_matrix_of_low_rank_is_found_again(shape, dtype, iterator, n):
    array = low_rank(*shape, 4, dtype)
    lazy = ga.from_array(array, chunks=16)
    u, s, vh = ga.linalg.svd_compressed(lazy, k=8, iterator=iterator, n_power_iter=n, seed=1)
    assert (u.shape, s.shape, vh.shape) == ((shape[0], 8), (8,), (8, shape[1]))
    assert (u.dtype, s.dtype) == (array.dtype, np.linalg.svd(array)[1].dtype)
    scale = abs(array).max()
    np.testing.assert_allclose(((u * s) @ vh).compute(), array, atol=scale * (1e-3 if dtype == "f4" else 1e-9))
    expected = np.linalg.svd(array, compute_uv=False)[:4]
    np.testing.assert_allclose(s.compute()[:4], expected, rtol=1e-3 if dtype == "f4" else 1e-9)
    assert (vh.compute().real.sum(axis=1) > -1e-9).all()


def test_more_iterations_come_nearer_to_slowly_falling_singular_values():
    u, _, vh = np.linalg.svd(RNG.normal(size=(80, 60)), full_matrices=False)
    array = (u * 0.95 ** np.arange(60)) @ vh
    lazy = ga.from_array(array, chunks=30)
    errors = [
        abs(
            ga.linalg.svd_compressed(lazy, 5, "QR", n, n_oversamples=2, seed=3).S.compute() - 0.95 ** np.arange(5)
        ).max()
        for n in (0, 4)
    ]
    assert errors[1] < errors[0] / 10


def test_the_same_seed_gives_the_same_vectors():
    lazy = ga.from_array(low_rank(30, 20, 10), chunks=10)
    one, other = (ga.linalg.svd_compressed(lazy, 3, seed=7).U for _ in range(2))
    assert one.name == other.name


@pytest.mark.parametrize("columns", [(3, 10), (2, 2, 9), (5,), (4, 4)])
def test_wide_matrices_keep_their_blocks_of_columns(columns):
    array = RNG.normal(size=(4, sum(columns)))
    q, r = ga.linalg.sfqr(ga.from_array(array, chunks=(2, columns)))
    np.testing.assert_allclose((q @ r).compute(), array, atol=1e-12)
    np.testing.assert_allclose((q.T @ q).compute(), np.eye(4), atol=1e-12)
    np.testing.assert_allclose(np.tril(r.compute(), -1), 0, atol=1e-12)
    assert q.shape == (4, 4) and r.shape == array.shape


def test_tall_matrices_have_dasks_name_too():
    array = RNG.normal(size=(20, 3))
    lazy = ga.from_array(array, chunks=(5, 3))
    q, r = ga.linalg.tsqr(lazy)
    np.testing.assert_allclose((q @ r).compute(), array, atol=1e-12)
    np.testing.assert_allclose(ga.linalg.tsqr(lazy, compute_svd=True).S.compute(), np.linalg.svd(array)[1])


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, "fro"])
def test_condition_numbers(p):
    array = RNG.normal(size=(2, 4, 4))
    np.testing.assert_allclose(ga.linalg.cond(ga.from_array(array, chunks=2), p).compute(), np.linalg.cond(array, p))


@pytest.mark.parametrize(
    "shapes", [((2, 5), (5, 1), (1, 6)), ((3,), (3, 4), (4, 2)), ((2, 3), (3, 4), (4,)), ((3,), (3,)), ((2, 3), (3, 2))]
)
def test_products_of_several_matrices(shapes):
    several = [RNG.normal(size=shape) for shape in shapes]
    found = ga.linalg.multi_dot([ga.from_array(array, chunks=2) for array in several])
    np.testing.assert_allclose(found.compute(), np.linalg.multi_dot(several))


def test_the_order_with_the_fewest_operations_is_taken():
    a, b, c = (ga.ones(shape, chunks=-1) for shape in ((100, 1), (1, 100), (100, 1)))
    made = ga.linalg.multi_dot([a, b, c])
    assert made.name == (a @ (b @ c)).name


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: ga.linalg.svd_compressed(x, 0), ValueError, r"k=0 of a matrix of shape \(6, 4\)"),
        (lambda x: ga.linalg.svd_compressed(x, 2, "x"), ValueError, "iterator='x' is neither 'power' nor 'QR'"),
        (lambda x: ga.linalg.svd_compressed(x[0], 2), ValueError, "array with 1 axes"),
        (lambda x: ga.linalg.sfqr(x), ValueError, "it needs a matrix with more columns than rows"),
        (lambda x: ga.linalg.multi_dot([x]), ValueError, "at least two arrays, got 1"),
        (lambda x: ga.linalg.cond(x, 1), ValueError, "it needs a square matrix"),
    ],
)
def test_wrong_arguments_raise_at_once_with_their_values(call, error, message):
    with pytest.raises(error, match=message):
        call(ga.ones((6, 4), chunks=2))
