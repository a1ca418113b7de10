"""Random arrays: the same numbers for the same seed, calls and chunks, whatever runs them."""

import pickle

import glassloom.array as ga
import numpy as np
import pytest
from glassloom.errors import OptionError


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
        np.random.Generator(np.random.SFC64(np.random.SeedSequence(12, spawn_key=(0, number)))).integers(1000, size=3)
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
        (lambda: ga.random.normal([1, 2], size=3), ValueError, "shape mismatch"),
        (
            lambda: ga.random.normal(np.ones((2, 2)), size=2),
            ValueError,
            r"parameters of shape \(2, 2\) don't broadcast",
        ),
        (lambda: ga.random.dirichlet(ga.ones(3)), NotImplementedError, "dirichlet of a lazy array as a parameter"),
        (lambda: ga.random.shuffle(np.ones(3)), TypeError, "shuffle changes a lazy array in place, got ndarray"),
        (lambda: ga.random.gamma(), TypeError, "required positional argument: 'shape'"),
        (lambda: ga.random.default_rng(1).choice(3, size=4, replace=False), ValueError, "choice of 4 elements from 3"),
        (lambda: ga.random.RandomState(1, RandomState="cupy"), TypeError, "RandomState='cupy' is not a class"),
    ],
)
def test_wrong_parameters_raise_at_once_with_their_values(call, error, message):
    with pytest.raises(error, match=message):
        call()


NUMBERS = {
    "beta": (2.0, 3.0), "binomial": (10, 0.3), "chisquare": (3.0,), "exponential": (2.0,), "f": (3.0, 5.0),
    "gamma": (2.0, 0.5), "geometric": (0.2,), "gumbel": (1.0, 2.0), "hypergeometric": (5, 6, 4), "laplace": (1.0, 2.0),
    "logistic": (1.0, 2.0), "lognormal": (0.1, 0.2), "logseries": (0.4,), "negative_binomial": (3, 0.4),
    "noncentral_chisquare": (3.0, 1.0), "noncentral_f": (3.0, 5.0, 1.0), "normal": (1.0, 2.0), "pareto": (3.0,),
    "poisson": (4.0,), "power": (2.0,), "rayleigh": (2.0,), "standard_gamma": (2.0,), "standard_t": (5.0,),
    "triangular": (-1.0, 0.0, 2.0), "uniform": (-1.0, 1.0), "vonmises": (0.0, 2.0), "wald": (1.0, 2.0),
    "weibull": (1.5,), "zipf": (3.0,), "standard_cauchy": (), "standard_exponential": (), "standard_normal": (),
}  # fmt: skip
VECTORS = {
    "dirichlet": ([1.0, 2.0, 3.0],),
    "multinomial": (5, [0.2, 0.3, 0.5]),
    "multivariate_normal": ([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]]),
    "multivariate_hypergeometric": ([3, 4, 5], 4),
}


def stream(seed, call, block):
    """The generator that the documentation promises for a block."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(call, block))))


@pytest.mark.parametrize("name", NUMBERS)
def test_every_distribution_draws_each_block_from_its_stream(name):
    drawn = getattr(ga.random.default_rng(12), name)(*NUMBERS[name], size=5, chunks=3)
    expected = np.concatenate([getattr(stream(12, 0, n), name)(*NUMBERS[name], size=s) for n, s in enumerate((3, 2))])
    found = drawn.compute(scheduler="inline")
    assert drawn.dtype == found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_are_the_last_axis(name):
    drawn = getattr(ga.random.default_rng(12), name)(*VECTORS[name], size=(5,), chunks=3)
    expected = np.concatenate([getattr(stream(12, 0, n), name)(*VECTORS[name], size=s) for n, s in enumerate((3, 2))])
    assert (drawn.shape, drawn.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(drawn.compute(scheduler="inline"), expected)
    alone = getattr(ga.random.default_rng(12), name)(*VECTORS[name])
    assert alone.shape == expected.shape[1:]
    assert alone.compute().shape == expected.shape[1:]


@pytest.mark.parametrize("name", [name for name in NUMBERS if NUMBERS[name]])
def test_parameters_may_be_arrays_that_broadcast(name):
    first, *others = NUMBERS[name]
    column, row = np.full((4, 1), first), [np.full(3, other) for other in others]
    lazy = ga.from_array(column, chunks=2)
    drawn = getattr(ga.random.default_rng(12), name)(lazy, *row, size=None if row else (4, 1), chunks=(2, -1))
    assert drawn.shape == ((4, 3) if row else (4, 1))
    expected = np.concatenate(
        [getattr(stream(12, 0, n), name)(column[:2], *row, size=(2, drawn.shape[1])) for n in range(2)]
    )
    found = drawn.compute(scheduler="inline")
    assert drawn.dtype == found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_the_older_interface_takes_the_older_class():
    rs = ga.random.RandomState(3, RandomState=np.random.RandomState)
    drawn = rs.gamma(ga.asarray([1.0, 50.0]), size=(1000, 2), chunks=500).mean(axis=0).compute()
    np.testing.assert_allclose(drawn, [1, 50], rtol=0.1)
    assert set(rs.random_integers(3, size=100).compute()) == {1, 2, 3}
    assert (rs.tomaxint(5).compute() >= 0).all()
    assert set(rs.choice(ga.arange(3, chunks=2) * 10, size=100, chunks=50).compute()) == {0, 10, 20}


def test_single_precision_is_drawn_where_numpy_draws_it():
    rng = ga.random.default_rng(1)
    for drawn in (
        rng.standard_normal(3, dtype="f4"), rng.standard_exponential(3, dtype="f4", method="inv"),
        rng.standard_gamma([1.0, 2.0, 3.0], dtype="f4"), rng.random(3, dtype="f4"),
    ):  # fmt: skip
        assert drawn.dtype == drawn.compute().dtype == np.float32


def test_elements_are_picked_and_shuffled_along_axes():
    rng = ga.random.default_rng(5)
    table = np.arange(12).reshape(3, 4)
    lazy = ga.from_array(table, chunks=2)
    picked = rng.choice(lazy, size=5, axis=1, chunks=2).compute()
    assert picked.shape == (3, 5) and (picked[1] - picked[0] == 4).all()
    permuted = rng.permutation(lazy, axis=1).compute()
    assert sorted(permuted[0].tolist()) == [0, 1, 2, 3] and (permuted[1] - permuted[0] == 4).all()
    lines = rng.permuted(lazy, axis=1).compute()
    assert [sorted(line) for line in lines.tolist()] == table.tolist()
    assert sorted(rng.permuted(lazy).compute().ravel().tolist()) == list(range(12))
    shuffled = ga.from_array(table, chunks=2)
    rng.shuffle(shuffled)
    assert sorted(shuffled.compute().tolist()) == table.tolist()


def test_children_of_a_generator_are_reproducible_and_differ():
    first, second = (child.random(4).compute().tolist() for child in ga.random.default_rng(5).spawn(2))
    again = ga.random.default_rng(5).spawn(2)[1].random(4).compute().tolist()
    assert second == again != first
    assert ga.random.default_rng(5).bytes(4) == ga.random.default_rng(5).bytes(4)


def test_numpys_interfaces_are_there_in_full():
    generator = {name for name in dir(np.random.Generator) if not name.startswith("_")} - {"bit_generator"}
    assert generator - set(dir(ga.random.Generator)) == set()
    state = {name for name in dir(np.random.RandomState) if not name.startswith("_")} - {"get_state", "set_state"}
    assert state - set(dir(ga.random.RandomState)) == set()
    assert state - set(dir(ga.random)) - {"tomaxint"} == set()


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.PCG64, np.random.RandomState, np.random.SFC64])
def test_generators_of_numpys_are_seeds(kind):
    seed = kind(5)
    first, second = ga.random.default_rng(seed).random(4, chunks=2), ga.random.default_rng(seed).random(4, chunks=2)
    assert not np.array_equal(first.compute(), second.compute())  # the generator goes on
    again = ga.random.default_rng(kind(5)).random(4, chunks=2)
    np.testing.assert_array_equal(first.compute(), again.compute())
    assert ga.random.RandomState(kind(5)).rand(3).compute().shape == (3,)


def test_random_state_and_default_rng_of_one_seed_are_independent():
    one, other = ga.random.RandomState(0), ga.random.default_rng(0)
    x, y = one.normal(size=10_000, chunks=1000).compute(), other.normal(size=10_000, chunks=1000).compute()
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.05
    one.seed(0)
    np.testing.assert_array_equal(one.normal(size=10_000, chunks=1000).compute(), x)


@pytest.mark.parametrize("name", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_bit_generators_draw_what_numpy_draws_of_each_blocks_seed(name):
    kind = getattr(np.random, name)
    x = ga.random.default_rng(5, bit_generator=name).normal(2, 3, size=(40, 30), chunks=(20, 30))
    expected = [
        np.random.Generator(kind(np.random.SeedSequence(5, spawn_key=(0, number)))).normal(2, 3, size=(20, 30))
        for number in range(2)
    ]
    np.testing.assert_array_equal(x.compute(), np.concatenate(expected))
    np.testing.assert_array_equal(x[::3, 5].compute(), x.compute()[::3, 5])
    same = ga.random.default_rng(5, bit_generator=kind).normal(2, 3, size=(40, 30), chunks=(20, 30))
    assert same.expr.name == x.expr.name
    default = ga.random.default_rng(5).normal(2, 3, size=(40, 30), chunks=(20, 30))
    assert (default.expr.name == x.expr.name) is (name == "SFC64")
    np.testing.assert_allclose((x**2).sum().compute(), (x.compute() ** 2).sum())


def test_generators_of_another_bit_generator_go_on_by_it():
    rng = ga.random.default_rng(5, bit_generator="PCG64")
    (child,) = rng.spawn(1)
    again = pickle.loads(pickle.dumps(child.random(6, chunks=3)))
    default = ga.random.default_rng(5).spawn(1)[0].random(6, chunks=3)
    assert not (again.compute() == default.compute()).any()
    assert sorted(rng.permuted(ga.arange(4, chunks=2)).compute()) == [0, 1, 2, 3]
    for options, message in (
        ({"bit_generator": "SFC"}, "bit_generator='SFC' is none of MT19937, PCG64"),
        ({"bit_generator": np.random.RandomState}, "is none of"),
        ({"bit_generator": "PCG64", "backend": "cupy"}, "backend='cupy' draws by its own"),
    ):
        with pytest.raises(OptionError, match=message):
            ga.random.default_rng(0, **options)
    with pytest.raises(OptionError, match="of a generator that is there"):
        ga.random.default_rng(rng, bit_generator="PCG64")
