"""Fused steps as CUDA C: each kernel is compiled for the oldest and the newest GPUs, in `make long` for six generations, and the same text, compiled for the CPU, gives NumPy's results.

No kernel is run on a GPU here: `tests/gpu` has that.
"""

import warnings

import glassloom.array as ga
import numpy as np
import pytest
from cuda_shim import ARCHITECTURES, COMPILER, OnCpu, as_one_program, compiled, nvrtc
from glassloom.array.tiling import program
from glassloom.array.tiling.device_kernels import can_be_made
from long_tests import cases

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
SOURCES: dict[str, str] = {}
"""The kernels that these tests have made."""


@pytest.fixture(scope="module")
def cpu(tmp_path_factory):
    return OnCpu(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(autouse=True)
def run_by_kernels(cpu, monkeypatch):
    """Take NumPy's blocks for a device's."""
    monkeypatch.setattr(program, "device_that_owns", lambda values: cpu)
    cpu.sources.clear()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
    SOURCES.update({source.text: source.name for source in cpu.sources})


X = np.array([[0.5, -1.25, np.nan, 3e10], [0.0, -0.0, np.inf, 2.75], [1e-300, -7.5, 12.0, -np.inf]])
N = np.array([[1, -2, 3, 2**62], [-(2**63), 0, 7, -9], [5, 5, -5, 100]])

EXACT = {
    "arithmetic": lambda x, n, xp: (x + 1) * 3 - x / 7,
    "multiply add is not contracted": lambda x, n, xp: x * 1.1 + 0.3,
    "roots": lambda x, n, xp: xp.sqrt(abs(x)) + 1,
    "minimum and maximum keep NaN": lambda x, n, xp: xp.minimum(x, 1) + xp.maximum(x, -1),
    "clip": lambda x, n, xp: xp.clip(x, -1, 2) + 0,
    "where": lambda x, n, xp: xp.where(x > 0, x, -x) + 1,
    "logic": lambda x, n, xp: xp.logical_and(x > 0, xp.logical_not(x >= 2)),
    "rounding": lambda x, n, xp: xp.floor(x) + xp.ceil(x) - xp.rint(x),
    "tests": lambda x, n, xp: xp.where(xp.isnan(x), 0.0, x) * xp.where(xp.isinf(x), 0.0, 1.0),
    "finite": lambda x, n, xp: xp.logical_or(xp.isfinite(x), xp.signbit(x)),
    "sign": lambda x, n, xp: xp.sign(x) * 2,
    "square and negative": lambda x, n, xp: -(x**2) + xp.square(x),
    "whole numbers wrap around": lambda x, n, xp: (n * 3 + 1) - n * n,
    "absolute whole numbers": lambda x, n, xp: abs(-n) + 1,
    "types mixed": lambda x, n, xp: n * 0.5 + x,
    "comparison of types": lambda x, n, xp: (n + 1 > x) == (x < n),
    "casts": lambda x, n, xp: (n + 1).astype("float32") * 2,
    "cast to bool": lambda x, n, xp: (x * 2).astype(bool),
    "broadcast row": lambda x, n, xp: (x + 1) * x[0],
    "broadcast column": lambda x, n, xp: (x + x[:, :1]) * 2,
    "strided": lambda x, n, xp: (x[::2, ::-1] + 1) * 2,
    "transposed": lambda x, n, xp: (x.T + 1) * 2,
    "used twice": lambda x, n, xp: (x + 1) * (x + 1) + (x + 1),
    "largest": lambda x, n, xp: (n * 3 + 1).max(),
    "smallest": lambda x, n, xp: (x + 1).min(),
    "sum of whole numbers": lambda x, n, xp: (n * 3 + 1).sum(),
    "product": lambda x, n, xp: (n % 3 + 1 + n * 0).prod(),
    "sum behind a slice": lambda x, n, xp: (n[::2, ::2] + 1 - 0).sum(),
}  # fmt: skip
CLOSE = {
    "exponentials": lambda x, n, xp: xp.exp(-xp.square(x) / 2) + xp.expm1(x / 100),
    "logarithms": lambda x, n, xp: xp.log(abs(x)) + xp.log1p(abs(x)) + xp.log2(abs(x)),
    "circle": lambda x, n, xp: xp.sin(x) ** 2 + xp.cos(x) ** 2 + xp.tanh(x),
    "powers": lambda x, n, xp: abs(x) ** 1.5 + xp.hypot(x, 1.0) + xp.arctan2(x, 2.0),
    "sum": lambda x, n, xp: (xp.where(xp.isfinite(x), x, 0.0) + 1).sum(),
    "sum in single precision": lambda x, n, xp: (xp.where(abs(x) < 100, x, 0.0).astype("float32") * 2 + 1).sum(),
}  # fmt: skip


def results(operation, dtype):
    x, n = X.astype(dtype), N
    expected = operation(x, n, np)
    lazy = operation(ga.from_array(x, chunks=-1), ga.from_array(n, chunks=-1), ga)
    return lazy.compute(scheduler="inline"), expected


SINGLE = ("arithmetic", "multiply add is not contracted", "roots", "where", "strided", "smallest", "sign")


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, "float64") for name in EXACT), *((name, "float32") for name in SINGLE)]
)
def test_kernels_have_numpys_bits(cpu, name, dtype):
    found, expected = results(EXACT[name], dtype)
    assert cpu.sources, "a kernel was made"
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("name", "dtype"), [*((name, "float64") for name in CLOSE), ("circle", "float32")])
def test_kernels_of_mathematical_functions_are_close_to_numpy(cpu, name, dtype):
    found, expected = results(CLOSE[name], dtype)
    assert cpu.sources
    np.testing.assert_allclose(found, expected, rtol=1e-13 if dtype == "float64" else 2e-5)
    assert found.dtype == expected.dtype


def test_a_chain_and_the_sum_behind_it_are_one_kernel_that_writes_no_array(cpu):
    x = ga.from_array(np.arange(24.0).reshape(4, 6), chunks=-1)
    assert ((x + 1) * 2 - 0.5).sum().compute(scheduler="inline") == ((np.arange(24.0) + 1) * 2 - 0.5).sum()
    (source,) = cpu.sources
    assert source.name == "fused_fold" and " out0" not in source.text and source.text.count("+= ((double)step") == 1


def test_constants_are_arguments_so_that_kernels_are_compiled_once(cpu):
    x = ga.from_array(X, chunks=-1)
    for constant in (1.5, 2.5, np.inf):
        np.testing.assert_array_equal(((x + constant) * 2).compute(scheduler="inline"), (X + constant) * 2)
    assert len({source.text for source in cpu.sources}) == 1


COMPARED = {
    "uint8": ([0, 1, 44, 200, 255], (300, -1, 44)),
    "int8": ([-128, -1, 0, 44, 127], (300, -129, 44)),
    "int64": ([-(2**63), -1, 0, 2**63 - 1], (2**63, -(2**63) - 1, 2**64, -1)),
    "uint64": ([0, 1, 2**63, 2**64 - 1], (-1, 2**64, 2**63)),
}


@pytest.mark.parametrize("dtype", COMPARED)
def test_whole_numbers_outside_a_types_range_are_compared_as_numpy_does(dtype):
    numbers, others = COMPARED[dtype]
    array = np.array(numbers, dtype)
    lazy = ga.from_array(array, chunks=-1)
    for other in others:
        for compare in (np.less, np.equal, np.greater_equal):
            found = ga.logical_and(compare(lazy, other), lazy == lazy).compute(scheduler="inline")
            np.testing.assert_array_equal(found, compare(array, other), err_msg=f"{compare.__name__} {other}")


def test_computing_with_a_whole_number_outside_a_types_range_is_refused_as_numpy_does():
    lazy = ga.from_array(np.array([1, 2], "uint8"), chunks=-1)
    with pytest.raises(OverflowError, match="300"):
        ((lazy + 300) * 2).compute(scheduler="inline")


@pytest.mark.parametrize("dtype", ["float16", "complex64", "complex128", ">f8", ">i4", "longdouble", "object"])
def test_arrays_of_types_that_c_lacks_are_read_by_their_library(dtype):
    array, doubles = np.array([1, 2, 3], dtype), np.array([0.5, 1.5, 2.5])
    lazy, others = ga.from_array(array, chunks=-1), ga.from_array(doubles, chunks=-1)
    for operation in (
        lambda xp, a, x: (a * x + 1) * 2,
        lambda xp, a, x: xp.where(x > 1, x * 2, a) + x,
        lambda xp, a, x: ((a + x) * 2).sum(),
        lambda xp, a, x: xp.logical_and(a == x, x + 1 > 1),
    ):
        found = operation(ga, lazy, others).compute(scheduler="inline")
        expected = operation(np, array, doubles)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", ["sum", "prod", "mean"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
def test_reductions_in_short_whole_numbers_wrap_around_as_numpys(cpu, method, dtype):
    array = np.full(3000, 3, dtype) if dtype != "int32" else np.full(3000, 2**21 + 1, dtype)
    lazy = ga.from_array(array, chunks=-1)
    found = getattr(lazy + 0, method)(dtype=dtype).compute(scheduler="inline")
    expected = getattr(array, method)(dtype=dtype)
    assert cpu.sources and found == expected and found.dtype == expected.dtype


def test_a_chain_of_many_hundred_steps_is_made_in_a_few_kernels(cpu):
    array = np.arange(6.0)
    lazy = ga.from_array(array, chunks=-1)
    for number in range(600):
        array, lazy = array * 0.5 + number, lazy * 0.5 + number
    np.testing.assert_array_equal(lazy.compute(scheduler="inline"), array)
    assert 4 < len(cpu.sources) < 16


def test_steps_that_need_both_of_the_two_before_are_made_in_pieces():
    one, other = np.arange(6.0), np.arange(6.0) + 1
    lazy_one, lazy_other = ga.from_array(one, chunks=-1), ga.from_array(other, chunks=-1)
    for _ in range(200):
        one, other = other, (one + other[::-1]) * 0.5
        lazy_one, lazy_other = lazy_other, (lazy_one + lazy_other[::-1]) * 0.5
    np.testing.assert_array_equal(lazy_other.compute(scheduler="inline"), other)


def test_what_has_no_kernel_runs_between_those_that_have(cpu):
    x = ga.from_array(X, chunks=-1)
    clean = ga.where(ga.isnan(x), 0.0, x) + 1
    found = (ga.sort(clean, axis=1) * 2 + 1).compute(scheduler="inline")
    np.testing.assert_array_equal(found, np.sort(np.where(np.isnan(X), 0, X) + 1, axis=1) * 2 + 1)
    assert len(cpu.sources) == 2


def test_empty_blocks_and_single_numbers_are_computed(cpu):
    empty = ga.from_array(np.ones((0, 3)), chunks=-1)
    assert ((empty + 1) * 2).compute(scheduler="inline").shape == (0, 3)
    assert ((ga.from_array(np.array(2.0)) + 1) * 2).compute(scheduler="inline") == 6


@pytest.mark.parametrize(
    ("function", "loop"),
    [
        ("add", ("complex128",) * 3), ("add", ("bool",) * 3), ("power", ("int64",) * 3), ("divide", ("int64",) * 3), ("floor_divide", ("float64",) * 3),
        ("sin", ("float16", "float16")), ("add", ("object",) * 3), ("frobnicate", ("float64",) * 2),
    ],
)  # fmt: skip
def test_what_c_would_compute_otherwise_has_no_kernel(function, loop):
    assert not can_be_made(function, loop)


@pytest.fixture(scope="module")
def library():
    found = nvrtc()
    assert found is not None, "NVRTC isn't installed: pip install nvidia-cuda-nvrtc-cu12 (it is in the extra 'test')"
    return found


@pytest.mark.more
@pytest.mark.parametrize("architecture", cases(ARCHITECTURES, ARCHITECTURES[-1:]))
def test_each_kernel_that_these_tests_have_made_compiles_for_gpus(library, architecture):
    """It is last: it takes what those before have made, and what it makes itself if they haven't run."""
    if not SOURCES:
        for name in ("arithmetic", "strided", "sum of whole numbers"):
            results(EXACT[name], "float64")
    texts = list(SOURCES) or []
    joined = as_one_program(texts)
    assert compiled(library, joined, architecture).startswith(b"\x7fELF")


def test_kernels_that_are_wrong_do_not_compile(library):
    with pytest.raises(AssertionError, match=r"sm_90: .*error"):
        compiled(library, 'extern "C" __global__ void fused() { nothing; }', "sm_90")
