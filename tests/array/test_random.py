"""Random arrays: the same numbers for the same seed, calls and chunks, whatever runs them."""

import glassloom.array as ga
import numpy as np
import pytest


def draw_all(rng):
    return [
        rng.normal(10, 1, size=(6, 4), chunks=(4, 2)),
        rng.uniform(-1, 1, size=7, chunks=3),
        rng.standard_normal((3, 3), chunks=2),
        rng.poisson(4, size=9, chunks=4),
        rng.exponential(2.0, size=9, chunks=4),
        rng.random(9, chunks=4),
        rng.choice(5, size=9, chunks=4),
        rng.choice([1.5, 2.5], size=(2, 2), p=[0.2, 0.8]),
        rng.permutation(10),
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: ga.random.default_rng(seed),
        lambda seed: ga.random.RandomState(seed),
        lambda seed: ga.random.RandomState(seed, RandomState=np.random.RandomState),
    ],
)
def test_the_same_seed_gives_the_same_numbers_whatever_runs_them(make):
    for one, other in zip(draw_all(make(12)), draw_all(make(12)), strict=True):
        assert one.name == other.name
        np.testing.assert_array_equal(one.compute(scheduler="inline"), other.compute(scheduler="threads"))
        assert one.dtype == one.compute(scheduler="inline").dtype


def test_seeds_calls_and_blocks_give_different_numbers():
    rng = ga.random.default_rng(12)
    first, second = rng.normal(size=8, chunks=4), rng.normal(size=8, chunks=4)
    other = ga.random.default_rng(13).normal(size=8, chunks=4)
    numbers = np.concatenate([x.compute(scheduler="inline") for x in (first, second, other)])
    assert len(set(numbers)) == 24


def test_the_numbers_of_a_seed_stay_the_same_from_release_to_release():
    found = ga.random.default_rng(12).integers(1000, size=6, chunks=3).compute(scheduler="inline")
    blocks = [
        np.random.Generator(np.random.PCG64(np.random.SeedSequence(12, spawn_key=(0, number)))).integers(1000, size=3)
        for number in range(2)
    ]
    assert found.tolist() == np.concatenate(blocks).tolist()


@pytest.mark.parametrize("index", [np.s_[::2, ::2], np.s_[3:, 1], np.s_[::-1], np.s_[:, [3, 0]], np.s_[5:6, 3:]])
def test_a_slice_has_the_numbers_of_the_whole(index):
    whole = ga.random.default_rng(1).normal(size=(6, 4), chunks=(4, 2))
    values = whole.compute(scheduler="inline")
    np.testing.assert_array_equal(whole[index].compute(scheduler="inline"), values[index])
    np.testing.assert_array_equal((whole + 1)[index].compute(scheduler="inline"), (values + 1)[index])


def test_one_block_alone_has_the_numbers_of_the_whole():
    whole = ga.random.default_rng(1).normal(size=8, chunks=4)
    np.testing.assert_array_equal(whole.blocks[1].compute(), whole.compute()[4:])


def test_the_distribution_is_the_one_asked_for():
    x = ga.random.default_rng(3).normal(10, 2, size=40_000, chunks=1000)
    assert x.mean().compute() == pytest.approx(10, abs=0.05)
    assert x.std().compute() == pytest.approx(2, abs=0.05)
    kinds = ga.random.default_rng(3).integers(3, 6, size=1000, chunks=100).compute()
    assert set(kinds) == {3, 4, 5}


def test_reseeding_the_module_starts_again():
    ga.random.seed(7)
    first = ga.random.normal(size=4, chunks=2).compute()
    ga.random.seed(7)
    np.testing.assert_array_equal(ga.random.normal(size=4, chunks=2).compute(), first)


def test_without_replacement_every_element_comes_once():
    x = ga.random.default_rng(0).choice(20, size=20, replace=False, chunks=5)
    assert sorted(x.compute().tolist()) == list(range(20))
    assert sorted(ga.random.default_rng(0).permutation(np.arange(5) * 2).compute().tolist()) == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ga.random.default_rng(-1), ValueError, "seed=-1 must be an integer of 0 or more"),
        (lambda: ga.random.default_rng(1, backend="torch"), ValueError, "backend='torch' is none of"),
        (lambda: ga.random.normal(size=-3), ValueError, "size=-3 holds -3"),
        (lambda: ga.random.normal(scale=-1, size=3), ValueError, "scale"),
        (lambda: ga.random.normal([1, 2], size=2), NotImplementedError, "parameters must be single numbers"),
        (lambda: ga.random.default_rng(1).choice(3, size=4, replace=False), ValueError, "choice of 4 elements from 3"),
        (lambda: ga.random.RandomState(1, RandomState="cupy"), TypeError, "RandomState='cupy' is not a class"),
    ],
)
def test_wrong_parameters_raise_at_once_with_their_values(call, error, message):
    with pytest.raises(error, match=message):
        call()
