"""Random numbers that devices draw by their index, and fused kernels that draw: their text runs on the CPU, and compiles for GPUs.

No kernel is run on a GPU here: `tests/gpu` has that.
"""

import math
from types import SimpleNamespace

import glassloom.array as ga
import numpy as np
import pytest
from cuda_shim import ARCHITECTURES, COMPILER, OnCpu, as_one_program, compiled, nvrtc
from draws_by_index import between, bits, drawn, normal_quantile, philox
from glassloom.array.tiling import device_plan, device_program
from glassloom.backends import arrays, cupy_
from glassloom.errors import OptionError
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import LONG_TESTS, cases
from scipy import stats

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
SOURCES: set[str] = set()
"""The kernels that these tests have made."""
PINNED = [[3.467282644721558, -0.6459470676753679], [-0.8511929193997593, 1.0024962879320882]]
SEED = np.random.SeedSequence(12)


class Device(OnCpu):
    """Runs kernels on the CPU, and keeps the shapes of the arrays that it makes."""

    def __init__(self, folder):
        super().__init__(folder)
        self.shapes = []

    def empty(self, shape, dtype):
        self.shapes.append(tuple(shape))
        return np.full(shape, 77, dtype)

    def generator(self, sequence):
        return cupy_.Draws(sequence, self.launch, self.empty, np.random.default_rng)


@pytest.fixture(scope="module")
def cpu(tmp_path_factory):
    """A backend of the name "kernels"."""
    device = Device(tmp_path_factory.mktemp("kernels"))
    backend = SimpleNamespace(
        launch=device.launch, empty=device.empty, owns=device.owns, generator=device.generator, namespace=lambda: np, Draws=cupy_.Draws, HOST_BACKEND="numpy"
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(arrays._BACKENDS, "kernels", backend)
        patch.setitem(arrays._KERNEL_BACKENDS, "kernels", backend)
        patch.setattr(device_program, "THREADS", 4)  # as many as the CPU runs
        patch.setattr(device_program, "MOST_BLOCKS", 6)
        patch.setattr(device_program, "MANY_RESULTS", 20)
        patch.setattr(device_program, "SHORT_LINE", 5)
        patch.setattr(cupy_, "_DRAWING_BLOCKS", 3)
        yield device


@pytest.fixture(autouse=True)
def forget(cpu):
    cpu.sources.clear()
    cpu.shapes.clear()
    yield
    SOURCES.update(source.text for source in cpu.sources)


def rng(seed=12):
    return ga.random.default_rng(seed, backend="kernels")


def block_of(sequence, shape, base="standard_normal", dtype="float64"):
    return drawn(base, sequence, np.arange(math.prod(shape)), dtype).reshape(shape)


def expected(shape, chunks, base="standard_normal", seed=12, call=0, dtype="float64"):
    """Return a random array as its definition says: each block from its stream, each number by its index."""
    whole = np.empty(shape, dtype)
    counts = [-(-length // size) for length, size in zip(shape, chunks, strict=True)]
    for number, index in enumerate(np.ndindex(*counts)):
        place = tuple(slice(i * size, (i + 1) * size) for i, size in zip(index, chunks, strict=True))
        sequence = np.random.SeedSequence(seed, spawn_key=(call, number))
        whole[place] = block_of(sequence, whole[place].shape, base, dtype)
    return whole


# The generator


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0), (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    ],
)  # fmt: skip
def test_the_reference_has_the_known_answers_of_philox(counter, key, words):
    assert tuple(map(int, philox(counter, key))) == words


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0x243F6A88, 0x05A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0), None),
    ],
)
def test_kernels_have_the_known_answers_of_philox(cpu, counter, key, words):
    words = words or tuple(map(int, philox(counter, key)))
    half = counter[1] << 32 | counter[0]
    found = np.empty(2)
    text = cupy_.KernelText("draw", cupy_.draw_kernel("random", "float64"))
    cpu.launch(
        text, 1, (2, 2 * half, np.uint64(key[1] << 32 | key[0]), np.uint64(counter[3] << 32 | counter[2]), found)
    )
    assert [int(one * 2**53) for one in found] == [(words[1] << 32 | words[0]) >> 11, (words[3] << 32 | words[2]) >> 11]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("base", ["random", "standard_normal", "standard_exponential"])
def test_kernels_draw_what_the_reference_draws(cpu, base, dtype):
    generator = cpu.generator(SEED)
    first, second = (getattr(generator, base)(size=size, dtype=dtype) for size in (3001, (10, 7)))
    found, reference = np.concatenate([first, second.ravel()]), drawn(base, SEED, np.arange(3071), dtype)
    assert (first.dtype, second.shape) == (np.dtype(dtype), (10, 7))
    exact = {"random": 1.0, "standard_normal": 0.84, "standard_exponential": 0.5}[base]
    assert (found == reference).mean() >= exact, "only logarithms are rounded otherwise by another library"
    np.testing.assert_allclose(found, reference, rtol=1e-14 if dtype == "float64" else 1e-6)


def test_normal_numbers_are_the_quantiles_of_the_normal_distribution():
    words = bits(SEED, np.arange(200_000))
    extremes = np.array([0, 2**64 - 1, 2**63, 2**63 - 1, 2**40, 2**64 - 2**40], np.uint64)
    for p in (between(words), between(extremes), np.exp(-np.linspace(1, 36, 500))):
        reference = stats.norm.ppf(p)
        np.testing.assert_allclose(normal_quantile(p), reference, rtol=4e-15, atol=1e-17)
    assert np.isfinite(normal_quantile(between(extremes))).all()


@pytest.mark.parametrize(
    ("base", "distribution"),
    [("random", stats.uniform()), ("standard_normal", stats.norm()), ("standard_exponential", stats.expon())],
)
def test_numbers_have_their_distribution(base, distribution):
    found = drawn(base, SEED, np.arange(1_000_000))
    assert stats.kstest(found, distribution.cdf).pvalue > 0.001
    counts = np.bincount((distribution.cdf(found) * 1000).astype(int), minlength=1000)
    assert stats.chisquare(counts[:1000]).pvalue > 0.001
    assert abs(found.mean() - distribution.mean()) < 0.004 and abs(found.std() - distribution.std()) < 0.005


def test_neighbours_and_streams_are_independent():
    u = drawn("random", SEED, np.arange(400_000))
    other = drawn("random", np.random.SeedSequence(12, spawn_key=(0, 1)), np.arange(400_000))
    for a, b in ((u[:-1], u[1:]), (u[::2], u[1::2]), (u[:-2], u[2:]), (u, other), (u[:200_000], u[200_000:])):
        table, *_ = np.histogram2d(a, b, bins=20)
        assert stats.chisquare(table.ravel()).pvalue > 0.001
    ones = np.unpackbits(bits(SEED, np.arange(100_000)).view(np.uint8).reshape(-1, 8), axis=1)
    assert abs(ones.mean(axis=0) - 0.5).max() < 0.01, "each of the 64 bits is as often 1 as 0"


def test_other_methods_are_those_of_the_librarys_own_generator(cpu):
    generator = cpu.generator(SEED)
    assert (generator.poisson(3, size=5) == np.random.default_rng(SEED).poisson(3, size=5)).all()
    with pytest.raises(TypeError, match="'int8' for random"):
        generator.random(3, dtype="i1")


@pytest.mark.parametrize(
    ("method", "args", "distribution"),
    [
        ("gumbel", (2, 3), stats.gumbel_r(2, 3)), ("laplace", (2, 3), stats.laplace(2, 3)), ("logistic", (2, 3), stats.logistic(2, 3)),
        ("pareto", (2.5,), stats.lomax(2.5)), ("rayleigh", (2,), stats.rayleigh(scale=2)), ("standard_cauchy", (), stats.cauchy()),
        ("standard_t", (4,), stats.t(4)), ("triangular", (-1, 1, 4), stats.triang(0.4, -1, 5)), ("weibull", (1.5,), stats.weibull_min(1.5)),
        ("exponential", (2,), stats.expon(scale=2)), ("lognormal", (1, 0.5), stats.lognorm(0.5, scale=math.e)), ("uniform", (-1, 3), stats.uniform(-1, 4)),
    ],
)  # fmt: skip
def test_distributions_that_are_made_of_others_are_right(cpu, method, args, distribution):
    found = getattr(cpu.generator(SEED), method)(*args, size=20_000)
    assert stats.kstest(found, distribution.cdf).pvalue > 0.001
    lazy = getattr(rng(), method)(*args, size=(6, 4), chunks=3)
    assert lazy.dtype == lazy.compute(scheduler="inline").dtype == np.float64


def test_integers_of_ranges_that_arrays_say(cpu):
    draws = cpu.generator(SEED)
    low, high = np.array([0, 10, -5]), np.array([3, 11, 5])
    found = draws.integers(low, high, size=(3000, 3), dtype=np.int32)
    assert found.dtype == np.int32
    assert [np.unique(column).tolist() for column in found.T] == [[0, 1, 2], [10], list(range(-5, 5))]
    assert np.unique(draws.integers(np.array([0.1, 0.9]), 2, size=(50, 2), endpoint=True)).tolist() == [0, 1, 2]
    assert np.unique(draws.integers(np.array([1, 2]), size=(50, 2))[:, 1]).tolist() == [0, 1]
    assert stats.chisquare(np.bincount(draws.integers(np.array([7] * 7000)))).pvalue > 1e-3
    assert draws.integers(np.array([1, 2]), size=(9, 2), dtype=bool).dtype == bool
    assert draws.integers(np.array([1, 2]), size=(9, 2), dtype=np.uint64).dtype == np.uint64
    for bounds, dtype in (((high, low), np.int64), (([0, 1], 300), np.int8), (([-1, 0], 2), np.uint64)):
        with pytest.raises(ValueError, match="low >= high, or a bound that isn't one of"):
            draws.integers(*map(np.asarray, bounds), size=2, dtype=dtype)
    with pytest.raises(NotImplementedError, match="of ranges wider than 1099511627776; give numbers"):
        draws.integers(np.array([0, 0]), 2**41, size=2)


def test_elements_are_picked_with_their_probabilities(cpu):
    draws, shares = cpu.generator(SEED), np.array([0.1, 0.0, 0.6, 0.3])
    assert stats.chisquare(np.bincount(draws.choice(4, 4000))).pvalue > 1e-3
    counts = np.bincount(draws.choice(4, (400, 10), p=shares).ravel(), minlength=4)
    assert not counts[1] and stats.chisquare(counts[[0, 2, 3]], 4000 * shares[[0, 2, 3]]).pvalue > 1e-3
    assert sorted(draws.choice(np.array([1.5, 2.5, 3.5]), 3, replace=False).tolist()) == [1.5, 2.5, 3.5]
    first = [draws.choice(4, (1, 2), replace=False, p=shares) for _ in range(2000)]
    assert {pair.shape for pair in first} == {(1, 2)} and all(len(set(pair[0])) == 2 for pair in first)
    counts = np.bincount([pair[0, 0] for pair in first], minlength=4)
    assert not counts[1] and stats.chisquare(counts[[0, 2, 3]], 2000 * shares[[0, 2, 3]]).pvalue > 1e-3
    with pytest.raises(ValueError, match="choice of 4 elements of which 3 have a probability above 0"):
        draws.choice(4, 4, replace=False, p=shares)


def test_lines_are_permuted_each_in_an_order_of_its_own(cpu):
    block = np.arange(24).reshape(4, 6)
    found = cpu.generator(SEED).permuted(block, axis=1)
    np.testing.assert_array_equal(np.sort(found, axis=1), block)
    assert len({tuple(line) for line in found % 6}) == 4


def test_normal_vectors_have_their_covariances(cpu):
    mean, cov = np.array([1.0, -2.0, 0.0]), np.array([[4.0, 2.0, 2.0], [2.0, 1.0, 1.0], [2.0, 1.0, 3.0]])  # of rank 2
    found = cpu.generator(SEED).multivariate_normal(mean, cov, size=(200, 100))
    assert found.shape == (200, 100, 3)
    flat = found.reshape(-1, 3)
    np.testing.assert_allclose(flat.mean(axis=0), mean, atol=0.06)
    np.testing.assert_allclose(np.cov(flat.T), cov, atol=0.1)


def test_weibull_numbers_of_shape_0_are_zeros_as_numpys(cpu):
    assert (cpu.generator(SEED).weibull(0, size=5) == np.random.default_rng(SEED).weibull(0, size=5)).all()
    found = cpu.generator(SEED).weibull(np.array([0.0, 1.5]), size=(3, 2))
    assert (found[:, 0] == 0).all() and (found[:, 1] > 0).all()


# Arrays

SHAPE, CHUNKS = (23, 30), (10, 16)
METHODS = {
    "random": lambda r, **k: r.random(SHAPE, **k),
    "single": lambda r, **k: r.random(SHAPE, dtype="f4", **k),
    "standard_normal": lambda r, **k: r.standard_normal(SHAPE, **k),
    "single normal": lambda r, **k: r.standard_normal(SHAPE, dtype="f4", **k),
    "normal": lambda r, **k: r.normal(10, 2.5, SHAPE, **k),
    "uniform": lambda r, **k: r.uniform(-1, 3, SHAPE, **k),
    "exponential": lambda r, **k: r.exponential(2, SHAPE, **k),
    "standard_exponential": lambda r, **k: r.standard_exponential(SHAPE, **k),
    "lognormal": lambda r, **k: r.lognormal(0.5, 0.25, SHAPE, **k),
}


def by_definition(name):
    dtype = "float32" if name.startswith("single") else "float64"
    base = (
        "random"
        if name in ("random", "single", "uniform")
        else "standard_exponential"
        if "exp" in name
        else "standard_normal"
    )
    z = expected(SHAPE, CHUNKS, base, dtype=dtype)
    return {"normal": z * 2.5 + 10, "uniform": z * 4 - 1, "exponential": z * 2, "lognormal": np.exp(z * 0.25 + 0.5)}.get(name, z)  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_numbers_are_the_same_whatever_is_computed_with_them(cpu, name):
    x, reference = METHODS[name](rng(), chunks=CHUNKS), by_definition(name)
    whole = x.compute(scheduler="inline")
    assert whole.dtype == reference.dtype
    np.testing.assert_allclose(whole, reference, rtol=1e-14 if whole.dtype == float else 1e-6)
    for operation in (
        lambda a: a[::2, 3:], lambda a: a * 2 + 1, lambda a: (a + 1)[::-3, 5::4], lambda a: a.T * 3, lambda a: a[:, None, 4] - 1, lambda a: a[7] + a[2],
        lambda a: a[20:, ::7].T,
    ):  # fmt: skip
        found = operation(METHODS[name](rng(), chunks=CHUNKS)).compute(scheduler="inline")
        # the exponential function is NumPy's in one and C's in the other
        np.testing.assert_allclose(found, operation(whole), rtol=1e-14 if name == "lognormal" else 0)


REDUCTIONS = {
    "sum": lambda x: (x + 1)[::2, ::2].sum(), "mean": lambda x: (x + 1)[::2, ::2].mean(), "std": lambda x: (x + 1)[::2, ::2].std(),
    "var of single": lambda x: (x + 1)[::2, ::2].astype("f4").var(), "mean of rows": lambda x: (x * 2)[::2, 5:].mean(axis=1), "sum of columns": lambda x: x[1:].sum(axis=0),
    "std of rows": lambda x: x.std(axis=1), "largest": lambda x: abs(x - 10).max(), "nansum": lambda x: np.nansum(np.where(x > 10, np.nan, x)), "product": lambda x: (x / 10)[:2].prod(axis=0),
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
def test_what_is_reduced_is_never_written(cpu, name):
    x = rng().normal(10, 1, (40, 60), chunks=(20, 30))
    found = REDUCTIONS[name](x).compute(scheduler="inline")
    assert max(math.prod(shape) for shape in cpu.shapes) <= 180, "at most six parts of each of 30 results of a block"
    assert {source.name for source in cpu.sources} == {"fused_fold"}
    whole = expected((40, 60), (20, 30)) + 10
    np.testing.assert_allclose(found, REDUCTIONS[name](whole), rtol=2e-6 if "single" in name else 1e-12)
    assert found.dtype == REDUCTIONS[name](whole).dtype


def test_a_transposed_array_is_drawn_where_it_is_read(cpu):
    x = rng().normal(10, 1, (24, 24), chunks=-1)
    found = (x + x.T)[::2, 10:].mean(axis=1).compute(scheduler="inline")
    whole = expected((24, 24), (24, 24)) + 10
    np.testing.assert_allclose(found, (whole + whole.T)[::2, 10:].mean(axis=1), rtol=1e-13)
    assert [source.name for source in cpu.sources] == ["fused_fold"] and all(
        math.prod(shape) <= 72 for shape in cpu.shapes
    )


def test_a_slice_draws_what_it_needs(cpu):
    found = rng().normal(10, 1, (2000, 3000), chunks=-1)[::500, ::1000].compute(scheduler="inline")
    assert cpu.shapes == [(4, 3)]
    indexes = np.add.outer(np.arange(0, 2000, 500) * 3000, np.arange(0, 3000, 1000))
    sequence = np.random.SeedSequence(12, spawn_key=(0, 0))
    np.testing.assert_allclose(found, drawn("standard_normal", sequence, indexes) + 10, rtol=1e-15)


def test_numbers_beyond_the_four_thousand_millionth_have_their_own_bits(cpu):
    lazy = rng().random((3, 2**33), chunks=-1)[:, :: 2**32]
    found = lazy.compute(scheduler="inline")
    indexes = np.add.outer(np.arange(3) * 2**33, [0, 2**32])
    np.testing.assert_array_equal(found, drawn("random", np.random.SeedSequence(12, spawn_key=(0, 0)), indexes))
    assert len(np.unique(found)) == 6


def test_what_a_later_step_needs_of_a_draw_is_drawn_again_not_kept(cpu):
    x = rng().normal(10, 1, (20, 30), chunks=-1)
    found = ((x - x.mean()) / x.std()).compute(scheduler="inline")
    whole = expected((20, 30), (20, 30)) + 10
    np.testing.assert_allclose(found, (whole - whole.mean()) / whole.std(), atol=1e-12)


def test_steps_without_a_kernel_get_what_they_need(cpu):
    x = rng().normal(10, 1, (20, 30), chunks=-1)
    found = (ga.sort(x[::2] * 2, axis=1)[:, 0] + 1).compute(scheduler="inline")
    np.testing.assert_array_equal(found, np.sort(x.compute(scheduler="inline")[::2] * 2, axis=1)[:, 0] + 1)


def test_kernels_with_too_much_to_read_are_divided(cpu, monkeypatch):
    monkeypatch.setattr(device_plan, "MOST_READS", 3)
    x = ga.from_array(np.arange(12.0), chunks=-1)
    draws = [rng(seed).random((12,), chunks=-1) for seed in range(6)]
    found = sum(draws, start=x * 0).compute(scheduler="inline")
    np.testing.assert_allclose(found, sum(one.compute(scheduler="inline") for one in draws))


def test_empty_arrays_and_single_numbers_are_drawn(cpu):
    assert (rng().normal(10, 1, (0, 3), chunks=-1) + 1).compute(scheduler="inline").shape == (0, 3)
    single = rng().normal(10, 1).compute(scheduler="inline")
    np.testing.assert_allclose(single, expected((1,), (1,))[0] + 10, rtol=1e-15)


def test_the_numbers_of_a_seed_stay_what_they_are(cpu):
    """A GPU has them too: ``tests/gpu/test_work_on_gpus.py``."""
    x = rng().normal(0, 1, size=(2, 2), chunks=1).compute(scheduler="inline")
    np.testing.assert_allclose(x, PINNED, rtol=1e-14)


def test_the_same_seed_gives_other_numbers_in_other_calls_and_blocks(cpu):
    generator = rng()
    x, y = (generator.random((8, 8), chunks=4).compute(scheduler="inline") for _ in range(2))
    assert len(np.unique([x, y])) == 128


@given(data=st.data())
@settings(deadline=None, max_examples=400 if LONG_TESTS else 30)
def test_reductions_of_slices_are_numpys(cpu, data):
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    whole = np.arange(math.prod(shape), dtype=float).reshape(shape) % 7
    index = tuple(data.draw(st.just(slice(None)) | st.slices(length)) for length in shape)
    order = data.draw(st.permutations(range(len(shape))))
    axes = tuple(sorted(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))
    method = data.draw(st.sampled_from(["sum", "mean", "var", "max", "min", "prod"]))
    reference = (whole[index].transpose(order) * 2 + 1).astype("i8" if method in ("prod", "sum") else "f8")
    if not reference.size:
        return
    lazy = rng().random((1,) * len(shape), chunks=-1)  # makes it the device's; its number is multiplied by 0
    x = (ga.from_array(whole, chunks=-1)[index].transpose(order) * 2 + 1 + lazy * 0).astype(reference.dtype)
    found = getattr(x, method)(axis=axes).compute(scheduler="inline")
    np.testing.assert_allclose(found, getattr(reference, method)(axis=axes), rtol=1e-12)
    if not LONG_TESTS:
        cpu.sources.clear()  # NVRTC would take seconds for them


def test_streams_of_numpys_bit_generators_are_refused_on_devices(cpu):
    with pytest.raises(OptionError, match="draws by its own"):
        ga.random.default_rng(1, backend="kernels", bit_generator="Philox")


@pytest.mark.more
@pytest.mark.parametrize("architecture", cases(ARCHITECTURES, ARCHITECTURES[-1:]))
def test_each_kernel_that_these_tests_have_made_compiles_for_gpus(cpu, architecture):
    """It is last: it takes what those before have made, and what it makes itself if they haven't run."""
    library = nvrtc()
    assert library is not None, "NVRTC isn't installed: pip install nvidia-cuda-nvrtc-cu12 (it is in the extra 'test')"
    if not SOURCES:
        REDUCTIONS["sum of columns"](rng().normal(10, 1, (40, 60), chunks=-1)).compute(scheduler="inline")
        rng().random(5, chunks=-1).compute(scheduler="inline")
        SOURCES.update(source.text for source in cpu.sources)
    assert compiled(library, as_one_program(SOURCES), architecture).startswith(b"\x7fELF")
