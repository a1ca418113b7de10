"""The reference workloads that arrays run, small: W1, W2, W6, and the first half of W7."""

import glassloom as gl
import glassloom.array as ga
import numpy as np
import pytest

RUNTIMES = pytest.mark.parametrize("scheduler", ["inline", None])


@RUNTIMES
@pytest.mark.parametrize("state", [None, np.random.RandomState])
def test_w1_sum_mean_and_std_of_a_big_random_array(scheduler, state):
    x = ga.random.RandomState(12, RandomState=state).normal(10, 1, size=(600, 600), chunks=(100, 100))
    whole = x.compute(scheduler=scheduler)
    y = (x + 1)[::2, ::2]
    assert y.sum().compute(scheduler=scheduler) == pytest.approx((whole + 1)[::2, ::2].sum())
    assert y.mean().compute(scheduler=scheduler) == pytest.approx((whole + 1)[::2, ::2].mean())
    assert y.std().compute(scheduler=scheduler) == pytest.approx((whole + 1)[::2, ::2].std())
    assert y.mean().compute() == pytest.approx(11, abs=0.1)


@RUNTIMES
def test_w2_svd_of_a_tall_and_skinny_array(scheduler):
    x = ga.random.RandomState(12).random((1000, 10), chunks=(100, 10)).persist(scheduler=scheduler)
    u, s, v = ga.linalg.svd(x)
    u, s, v = gl.persist(u, s, v, scheduler=scheduler)
    assert u[:5, :5].compute(scheduler=scheduler).shape == (5, 5)
    np.testing.assert_allclose((u * s @ v).compute(scheduler=scheduler), x.compute(scheduler=scheduler), atol=1e-9)


@RUNTIMES
def test_w6_pi_as_one_array(scheduler):
    n = 100_000
    xy = ga.random.default_rng(3).uniform(size=(n, 2), chunks=n // 10)
    pi = 4 * ((xy**2).sum(axis=1) < 1).sum() / n
    assert pi.compute(scheduler=scheduler) == pytest.approx(np.pi, abs=0.03)


@RUNTIMES
def test_w7_blocked_array_basics(scheduler):
    x = ga.arange(1, 50, 3, chunks=5)
    assert x.chunks == ((5, 5, 5, 2),)
    np.testing.assert_array_equal((x**2).compute(scheduler=scheduler), np.arange(1, 50, 3) ** 2)
    assert ga.ones((15,), chunks=5).sum().compute(scheduler=scheduler) == 15
    ones = ga.ones((15, 15), chunks=(5, 5))
    np.testing.assert_array_equal(ones.sum(axis=0).compute(scheduler=scheduler), np.full(15, 15.0))
    made = ones.dot(ones.T + 1) - ones.mean()
    np.testing.assert_array_equal(made.compute(scheduler=scheduler), np.full((15, 15), 29.0))


@RUNTIMES
def test_w7_random_array_plus_its_transpose(scheduler):
    x = ga.random.random((15, 15), chunks=(10, 5))
    whole = x.compute(scheduler=scheduler)
    assert (x + x.T).sum().compute(scheduler=scheduler) == pytest.approx((whole + whole.T).sum())
    made = x.dot(x.T + 1) - x.mean()
    np.testing.assert_allclose(made.compute(scheduler=scheduler), whole.dot(whole.T + 1) - whole.mean())


@RUNTIMES
def test_w7_slicing_backwards_and_by_a_list(scheduler):
    x = ga.random.normal(10, 0.1, size=(1000, 1000), chunks=(300, 250))
    whole = x.compute(scheduler=scheduler)
    np.testing.assert_array_equal(x[:100, 500:100:-2].compute(scheduler=scheduler), whole[:100, 500:100:-2])
    np.testing.assert_array_equal(x[:, [10, 1, 5]].compute(scheduler=scheduler), whole[:, [10, 1, 5]])


def test_a_failing_block_raises_its_own_exception():
    def fail(block):
        raise ZeroDivisionError("block of mine")

    with pytest.raises(ZeroDivisionError, match="block of mine"):
        ga.ones(4, chunks=2).map_blocks(fail, dtype=float).sum().compute()
