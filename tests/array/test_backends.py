"""Arrays of a device's library: by changing where data come from, and without loading the library where plans are made.

The device is simulated, and a plan for CuPy is made where CuPy can't even be imported. What only a GPU can show is in `tests/gpu`.
"""

import pickle
import sys
from types import ModuleType

import glassloom as gl
import glassloom.array as ga
import numpy as np
import pytest
from glassloom import config
from glassloom.backends import simulated_
from glassloom.backends.arrays import backend_of, namespace_of
from glassloom.backends.cupy_ import LibraryDraws, WideSeed
from glassloom.backends.host_meta import HostMeta
from glassloom.errors import OptionError
from glassloom.graph import tokenize


@pytest.fixture(autouse=True)
def no_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)  # importing it is an error


@pytest.fixture
def memory():
    memory = simulated_.SimulatedMemory(2**24)
    before = simulated_.current_memory()
    simulated_.set_memory(memory)
    yield memory
    simulated_.set_memory(before)


def computed(lazy):
    """Return the result, asserting that it is on the simulated device, and of the type that the plan says."""
    result = lazy.compute(scheduler="inline")
    assert backend_of(result) == backend_of(lazy.expr.meta) == "simulated"
    plain = result.get()
    assert plain.dtype == lazy.dtype
    return plain


# Which library a block belongs to


def test_blocks_of_cupy_are_worked_on_by_cupy_although_they_do_not_name_it(monkeypatch):
    # CuPy's arrays have no ``__array_namespace__`` (14.0, 15.0), and NumPy's functions that create arrays would create them on the host.
    cupy = ModuleType("cupy")
    cupy.ndarray = type("ndarray", (), {"__module__": "cupy"})
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    assert namespace_of(cupy.ndarray()) is cupy
    assert namespace_of(np.ones(2)) is namespace_of(np.float64(1)) is namespace_of(1.0) is np


NOT_IN_CUPY = frozenset(
    {"histogram_bin_edges", "insert", "nanpercentile", "nanquantile", "vecdot", "unstack", "geomspace", "block"}
)
"""Functions that NumPy has and CuPy (14.0, 15.0) doesn't."""


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: ga.histogram(x, bins=5)[0],
        lambda x: ga.geomspace(1, 100, 20) + x,
        lambda x: ga.block([x, x]),
        lambda x: ga.insert(x, 3, 1.5),
        lambda x: ga.append(x, [1.5, 2.5]),
    ],
    ids=["histogram", "geomspace", "block", "insert", "append"],
)
def test_what_cupy_lacks_is_not_needed_for(memory, monkeypatch, operation):
    look_up = simulated_.Namespace.__getattr__

    def as_cupy(namespace, name):
        if name in NOT_IN_CUPY:
            raise AttributeError(name)
        return look_up(namespace, name)

    monkeypatch.setattr(simulated_.Namespace, "__getattr__", as_cupy)
    data = np.linspace(0, 1, 20) ** 2
    expected = operation(ga.from_array(data, chunks=7)).compute(scheduler="inline")
    with config.set({"array.backend": "simulated"}):
        found = operation(ga.from_array(data, chunks=7).to_backend("simulated"))
        np.testing.assert_allclose(computed(found), expected)


RNG = np.random.default_rng(4)
HOST = RNG.normal(size=(6, 9))
HOLES = np.where(RNG.random((6, 9)) < 0.4, np.nan, HOST)
HOLES[:, 2] = np.nan
WHOLE = RNG.integers(0, 3, (6, 9))
UNLIKE_NUMPYS = {
    "dot of a number": (HOST, lambda x, xp: xp.dot(x, 3)),
    "inner of a number": (HOST, lambda x, xp: xp.inner(2, x)),
    "linspace to a number": (HOST, lambda x, xp: xp.linspace(x, 3, 4)),
    "logspace from a number": (HOST[0], lambda x, xp: xp.logspace(0, x, 4)),
    "polyval of a number": (HOST[0], lambda x, xp: xp.polyval(x, 3)),
    "where of numbers": (HOST > 0, lambda x, xp: xp.where(x, np.asarray(1.5), np.asarray(2))),
    "a number's place": (np.sort(HOST[0]), lambda x, xp: xp.searchsorted(x, 0.1)),
    "nanmax": (HOLES, lambda x, xp: xp.nanmax(x, axis=0)),
    "nanmin": (HOLES, lambda x, xp: xp.nanmin(x)),
    "nanmax of integers": (WHOLE, lambda x, xp: xp.nanmax(x, axis=1)),
    "nanmin of single precision": (HOLES.astype("f4"), lambda x, xp: xp.nanmin(x, axis=1, keepdims=True)),
    "nanmax of complex numbers": (HOLES + 1j, lambda x, xp: xp.nanmax(x)),
    "lexsort": (WHOLE, lambda x, xp: xp.lexsort([x, x % 2], axis=0)),
    "lexsort of rows": (HOLES, lambda x, xp: xp.lexsort(x)),
    "packbits": (WHOLE, lambda x, xp: xp.packbits(x)),
    "packbits along an axis": (WHOLE, lambda x, xp: xp.packbits(x, axis=0, bitorder="little")),
    "unpackbits": (WHOLE.astype("u1"), lambda x, xp: xp.unpackbits(x, axis=1)),
    "unpackbits of little ones": (WHOLE.astype("u1"), lambda x, xp: xp.unpackbits(x, axis=0, bitorder="little")),
    "choose": (WHOLE, lambda x, xp: xp.choose(x, [10, x, 2.5])),
    "svdvals": (HOST, lambda x, xp: xp.linalg.svdvals(x)),
    "cond": (HOST[:, :6], lambda x, xp: xp.linalg.cond(x)),
    "matrix_rank": (HOST[:, :1] * HOST[0], lambda x, xp: xp.linalg.matrix_rank(x)),
    "matrix_rank by a tolerance": (HOST, lambda x, xp: xp.linalg.matrix_rank(x, rtol=0.6)),
    "pinv by a tolerance": (HOST, lambda x, xp: xp.linalg.pinv(x, rtol=0.1)),
    "i0 of truth values": (WHOLE > 0, lambda x, xp: xp.i0(x)),
    "sinc of small integers": (WHOLE.astype("i1"), lambda x, xp: xp.sinc(x)),
}


@pytest.mark.parametrize("name", UNLIKE_NUMPYS)
@pytest.mark.filterwarnings("ignore:All-NaN")  # NumPy's
def test_what_cupy_does_unlike_numpy_gives_numpys_result(memory, name):
    host, operation = UNLIKE_NUMPYS[name]
    expected = np.asarray(operation(host, np))
    lazy = ga.from_array(host, chunks=-1 if "linalg" in operation.__code__.co_names else 4)
    with config.set({"array.backend": "simulated"}):
        found = computed(operation(lazy.to_backend("simulated"), ga))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, atol=1e-12)
    own = operation(lazy, ga).compute(scheduler="inline")
    assert own.dtype == expected.dtype
    np.testing.assert_allclose(own, expected, atol=1e-12)


BESIDE_NUMPYS = {
    "sum": lambda x, xp: x + np.arange(9.0),
    "where": lambda x, xp: xp.where(x > 0, x, np.arange(9.0)),
    "average": lambda x, xp: xp.average(x, axis=1, weights=np.arange(9.0)),
    "product": lambda x, xp: x @ np.arange(18.0).reshape(9, 2),
    "product of the other": lambda x, xp: xp.tensordot(np.arange(12.0).reshape(2, 6), x, 1),
    "stack": lambda x, xp: xp.stack([x[0], np.arange(9.0)]),
    "concatenate": lambda x, xp: xp.concatenate([np.zeros((2, 9)), x]),
    "isin": lambda x, xp: xp.isin(xp.round(x), [0, 1]),
    "searchsorted": lambda x, xp: xp.searchsorted(xp.sort(x[0]), [0.1, 0.5]),
    "digitize": lambda x, xp: xp.digitize(x, [-0.5, 0.5]),
    "convolve": lambda x, xp: xp.convolve(x[0], [1, 2]),
    "union1d": lambda x, xp: xp.union1d(x, [1.0, 2.0]),
    "polyval": lambda x, xp: xp.polyval([1, 0, 2], x),
}


@pytest.mark.parametrize("configured", ["numpy", "simulated"])
@pytest.mark.parametrize("name", BESIDE_NUMPYS)
def test_lists_and_arrays_of_numpy_beside_those_of_a_device_are_moved_there(memory, name, configured):
    operation = BESIDE_NUMPYS[name]
    with config.set({"array.backend": configured}):
        found = computed(operation(ga.from_array(HOST, chunks=4).to_backend("simulated"), ga))
    np.testing.assert_allclose(found, operation(HOST, np), atol=1e-12)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ((slice(None), 0), [1, 2, 3, 4, 5, 6]),
        (2, np.arange(9.0)),
        ([1, 4], np.arange(18.0).reshape(2, 9)),
        ((slice(0, 2), 3), 7.0),
        (HOST > 5, 2),
    ],
)
def test_values_of_numpys_are_moved_to_the_device_that_they_are_assigned_on(memory, key, value):
    expected, lazy = HOST.copy(), ga.from_array(HOST, chunks=4).to_backend("simulated")
    expected[key] = value
    lazy[key] = value
    np.testing.assert_array_equal(computed(lazy), expected)


WITH_ARRAYS_OF_ITS_OWN = {
    "inv": lambda x, xp: xp.linalg.inv(x),
    "cond by a norm": lambda x, xp: xp.linalg.cond(x, 1),
    "matrix_power of 0": lambda x, xp: xp.linalg.matrix_power(x, 0),
    "corrcoef": lambda x, xp: xp.corrcoef(x),
    "linspace": lambda x, xp: xp.linspace(x, x + 1, 4),
    "polyadd": lambda x, xp: xp.polyadd(x[0], x[0, :2]),
    "vander": lambda x, xp: xp.vander(x[0], 3),
    "vander of no columns": lambda x, xp: xp.vander(x[0], 0),
    "tril_indices_from": lambda x, xp: xp.tril_indices_from(x)[1],
    "triu_indices_from": lambda x, xp: xp.triu_indices_from(x, 1)[0],
    "unpackbits": lambda x, xp: xp.unpackbits((x > 0).astype("u1"), axis=1, count=60),
}
"""Functions that make arrays beside those that they are given."""


@pytest.mark.parametrize("name", WITH_ARRAYS_OF_ITS_OWN)
def test_what_functions_make_is_where_their_arrays_are_without_a_configured_backend(memory, name):
    host, operation = HOST[:, :6], WITH_ARRAYS_OF_ITS_OWN[name]
    found = computed(operation(ga.from_array(host, chunks=4).to_backend("simulated"), ga))
    np.testing.assert_allclose(found, operation(host, np), atol=1e-9)


def test_factors_of_a_matrix_are_where_it_is(memory):
    p, lower, upper = ga.linalg.lu(ga.from_array(HOST[:, :6], chunks=4).to_backend("simulated"))
    np.testing.assert_allclose(computed(p @ lower @ upper), HOST[:, :6], atol=1e-12)


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda x: x + np.asarray(1.5), TypeError, "unsupported type numpy.ndarray"),
        (lambda x: np.fmax.reduce(x), NotImplementedError, "`cupy_fmax.reduce` is not supported yet"),
        (lambda x: np.maximum.accumulate(x), NotImplementedError, "`cupy_maximum.accumulate` is not supported yet"),
        (lambda x: np.linalg.svdvals(x), TypeError, "no implementation found for 'numpy.linalg.svdvals'"),
        (lambda x: np.spacing(x), TypeError, "no implementation found for 'numpy.spacing'"),
        (lambda x: namespace_of(x).lexsort(x, axis=0), TypeError, "unexpected keyword argument 'axis'"),
        (lambda x: namespace_of(x).choose(x > 0, [x, x]), AttributeError, "no attribute 'shape'"),
        (lambda x: namespace_of(x).insert, AttributeError, "as CuPy has none"),
    ],
)
def test_the_simulated_device_lacks_what_cupy_lacks(memory, ask, error, message):
    there = simulated_.from_host(HOST)
    assert np.add.reduce(there).shape == (9,)
    with pytest.raises(error, match=message):
        ask(there)


def test_parameters_of_distributions_are_moved_to_where_the_numbers_are_drawn(memory):
    with config.set({"array.backend": "simulated"}):
        found = computed(ga.random.default_rng(3).normal(np.arange(4.0) * 100, 1, size=(50, 4), chunks=(25, 2)))
    np.testing.assert_allclose(found.mean(axis=0), [0, 100, 200, 300], atol=1)


class CupysDraws:
    """Stands for CuPy's generators, which take nothing but Python's numbers and CuPy's arrays."""

    def __init__(self, seed):
        self.seed = seed

    def binomial(self, n, p, size=None):
        return ("binomial", type(n), type(p), size)

    def power(self, a, size=None):
        return ("power", type(a), size)


class CupysOlderDraws(CupysDraws):
    def __init__(self, seed):
        assert type(seed) is int and 2**32 < seed < 2**63
        super().__init__(seed)

    def zipf(self, a, size=None):
        return ("zipf", type(a), size)


def test_cupy_draws_by_its_generators_and_what_these_lack_by_the_older_ones(monkeypatch):
    moved = type("moved", (), {"__init__": lambda self, array: None})
    cupy = ModuleType("cupy")
    cupy.asarray = moved
    cupy.random = ModuleType("cupy.random")
    cupy.random.Generator, cupy.random.RandomState = CupysDraws, CupysOlderDraws
    cupy.random.Philox4x3210 = lambda seed: seed
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    draws = LibraryDraws(np.random.SeedSequence(5))
    assert draws.binomial(np.int64(3), 1, size=(2,)) == ("binomial", int, float, (2,))
    assert draws.binomial(np.arange(3), np.float32(0.5)) == ("binomial", moved, float, None)
    assert draws.power(2, size=(2,)) == ("power", int, (2,))
    assert draws.zipf(np.float64(2), size=(4,)) == ("zipf", float, (4,))
    with pytest.raises(NotImplementedError, match="CuPy draws nothing by 'multinomial'; draw it on the host"):
        draws.multinomial(3, [0.5, 0.5])


# Where data come from


def test_the_same_code_runs_on_the_device_that_the_configuration_names(memory):
    def work():
        x = ga.random.default_rng(12).random((40, 30), chunks=(10, 15)) + ga.ones((40, 30), chunks=(10, 15))
        return (x[::2] * ga.arange(30, chunks=15)).sum(axis=0)

    expected = work().compute(scheduler="inline")
    with config.set({"array.backend": "simulated"}):
        lazy = work()
    assert not memory.to_device[1], "making a plan copies nothing"
    np.testing.assert_allclose(computed(lazy), expected)


@pytest.mark.parametrize("draws", [lambda: ga.random.default_rng(3, backend="simulated"), lambda: ga.random.RandomState(3, RandomState=simulated_.RandomState)])  # fmt: skip
def test_generators_of_the_library_draw_the_blocks(memory, draws):
    drawn = computed(draws().normal(10, 1, size=(200, 50), chunks=(100, 50)))
    assert drawn.shape == (200, 50) and abs(drawn.mean() - 10) < 0.1
    assert (drawn == computed(draws().normal(10, 1, size=(200, 50), chunks=(100, 50)))).all()


def test_arrays_go_to_the_device_and_back(memory):
    host = np.arange(12.0).reshape(3, 4)
    there = ga.from_array(host, chunks=(2, 2)).to_backend("simulated")
    np.testing.assert_array_equal(computed(there + 1), host + 1)
    back = (there * 2).to_backend("numpy")
    result = back.compute(scheduler="inline")
    assert type(result) is np.ndarray and (result == host * 2).all()
    assert back.to_backend("numpy") is back and there.to_backend("simulated") is there
    assert back.to_backend() is back, "the configured backend"
    assert memory.to_host[1] == memory.to_device[1] == 2 * host.nbytes, "both results went there and came back"


def test_what_is_made_like_an_array_is_of_its_library(memory):
    there = ga.ones((4, 4), chunks=2, like="simulated")
    for made in (ga.zeros_like(there), ga.full_like(there, 3), ga.asarray([1.0], like=there)):
        assert backend_of(made.expr.meta) == "simulated"
        computed(made)


def test_backends_that_are_none_are_refused():
    for ask in (
        lambda: ga.ones(3).to_backend("nothing"),
        lambda: ga.random.default_rng(backend="nothing"),
        lambda: ga.ones(3, like="nothing"),
    ):
        with pytest.raises(OptionError, match="backend='nothing' is none of"):
            ask()
    with pytest.raises(gl.errors.ConfigError, match="array.backend=3"):
        config.set({"array.backend": 3})


@pytest.mark.parametrize("dtype", ["M8[ns]", "U3", "O", "longdouble", "clongdouble"])
def test_what_a_device_has_no_type_for_is_refused_when_it_is_to_move(memory, dtype):
    with pytest.raises(
        TypeError, match=r"to_backend\('cupy'\) of an array of type .*: devices have truth values and num"
    ):
        ga.from_array(np.zeros(3, dtype), chunks=2).to_backend("cupy")
    with pytest.raises(ValueError, match="Unsupported dtype"):
        simulated_.from_host(np.zeros(3, dtype))
    assert computed(ga.from_array(np.zeros(3, "c16"), chunks=2).to_backend("simulated")).dtype == "c16"


# Plans for CuPy, without CuPy


class Cupys:
    """Stands for the classes of ``cupy.random``."""


Cupys.RandomState = type("RandomState", (), {"__module__": "cupy.random._generator"})


def twice(block):
    return block * 2


def first_column(block):
    return block[:, :1]


def plans():
    x = ga.random.default_rng(1, backend="cupy").normal(10, 1, (100, 80), chunks=(50, 40))
    legacy = ga.random.RandomState(12, RandomState=Cupys.RandomState).normal(10, 1, (100, 80), chunks=(50, 40))
    whole = ga.random.default_rng(1, backend="cupy").integers(0, 9, (100,), chunks=50)
    return {
        "w1": (legacy[::2, ::2] + 1).sum(),
        "mean": x.mean(axis=0),
        "std": (x - x.mean(axis=0)).std(),
        "float32": x.astype("f4").sum(axis=1, keepdims=True),
        "argmax": x.argmax(axis=1),
        "where": ga.where(x > 10, x, 0).max(),
        "product": x.T @ x,
        "svd": ga.linalg.svd(x.rechunk((50, 80)))[1],
        "integers": whole * 2,
        "histogram": ga.histogram(x, bins=5, range=(0, 20))[0],
        "sorted": ga.sort(x, axis=0),
        "index": x[[3, 1]][:, 4:9],
        "stack": ga.stack([x, x]),
        "fft": ga.fft.fft(x.rechunk((100, 40)), axis=0),
        "pad": ga.pad(x, 1),
        "cumsum": x.cumsum(axis=0),
        "arange": ga.arange(10, like="cupy") + 1,
        "moved": ga.ones((3, 3)).to_backend("cupy") + 1,
        "overlap": ga.map_overlap(twice, x, depth=1, boundary="reflect"),
        "blocks": x.map_blocks(first_column),
        "reduced": x.max() - x.min(),
    }


@pytest.mark.parametrize("name", sorted(plans()))
def test_plans_for_cupy_are_made_and_sent_without_it(name):
    lazy = plans()[name]
    assert backend_of(lazy.expr.meta) == "cupy"
    numpys = lazy.expr.meta.view(np.ndarray)
    assert (numpys.dtype, numpys.ndim) == (lazy.dtype, lazy.ndim)
    (optimized,) = gl.optimize(lazy)
    assert backend_of(optimized.expr.meta) == "cupy"
    assert repr(lazy).endswith("cupy.ndarray>")
    if name == "w1":
        return  # its class is of a module that isn't there
    again = pickle.loads(pickle.dumps(lazy))
    assert backend_of(again.expr.meta) == "cupy" and again.expr.name == lazy.expr.name


def test_types_are_those_of_numpy():
    x = ga.ones((4,), dtype="i2", like="cupy")
    assert [(x + 1).dtype, (x / 2).dtype, x.sum().dtype, (x > 1).dtype, (x * 1.5).dtype] == [
        "i2",
        "f8",
        "i8",
        "?",
        "f8",
    ]


def test_metas_of_another_library_have_a_token_of_their_own():
    metas = [np.ones((0,)), ga.ones(3, like="cupy").expr.meta]
    assert len({tokenize(meta) for meta in metas}) == 2
    assert isinstance(metas[1].sum(), HostMeta) and isinstance(np.concatenate([metas[1], metas[1]]), HostMeta)


def test_seeds_of_cupy_s_generators_are_of_63_bits_and_those_of_the_sequence():
    seeds = [WideSeed(np.random.SeedSequence(12, spawn_key=(block,))) for block in range(2000)]
    asked = [int(seed.generate_state(1, np.uint32)[0]) for seed in seeds]  # as CuPy does
    assert len({number & 0xFFFFFFFF for number in asked}) == len({number >> 32 for number in asked}) == 2000
    assert max(asked) < 2**63 and max(asked) > 2**62
    again = np.random.SeedSequence(12, spawn_key=(7,))
    assert int(WideSeed(again).generate_state(1)[0]) == asked[7]
    assert WideSeed(again).generate_state(4).tolist() == again.generate_state(4).tolist()


def test_a_chunk_of_cupy_is_made_where_the_task_runs():
    with pytest.raises(ImportError):
        ga.ones((4,), like="cupy").sum().compute(scheduler="inline")
