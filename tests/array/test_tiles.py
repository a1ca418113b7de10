"""Fused blocks run over tiles: the same bits as whole blocks, inputs unchanged, and less memory."""

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from unittest import mock

import glassloom as gl
import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, chunks_of, full_shapes, indices_of
from glassloom.array.ops.random import DrawBlock, Streams
from glassloom.array.tiling import program, steps, tiles
from glassloom.array.tiling.program import TiledProgram
from glassloom.array.tiling.tiles import KEPT_BYTES, Buffers
from glassloom.expr import lower, optimize
from glassloom.expr.blockwise import Program
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from long_tests import examples


@contextmanager
def tiles_of(nbytes):
    """Let tiles be so small that small arrays have many of them."""
    with mock.patch.object(tiles, "TILE_BYTES", nbytes):
        yield


def whole_blocks():
    """Evaluate blocks whole, as the result to compare with."""
    return mock.patch.object(TiledProgram, "__call__", Program.__call__)


def both(lazy, nbytes=64):
    with whole_blocks(), np.errstate(all="ignore"):
        expected = np.asarray(lazy.compute(scheduler="inline"))
    with tiles_of(nbytes), np.errstate(all="ignore"):
        return np.asarray(lazy.compute(scheduler="inline")), expected


def same_bits(lazy, nbytes=64):
    found, expected = both(lazy, nbytes)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert bits_of(found) == bits_of(expected)


def bits_of(array):
    """All bits but the signs of NaN: in NumPy's own results they depend on where in the array an element stands."""
    if array.dtype.kind not in "fc":
        return array.tobytes()
    numbers = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("="), copy=True).reshape(-1)
    parts = numbers.view(numbers.real.dtype)
    parts[np.isnan(parts)] = np.nan
    return parts.tobytes()


def n_tile_runs(lazy, nbytes=64):
    """How often a sink was made tile by tile."""
    with tiles_of(nbytes), mock.patch.object(program, "TileRun", wraps=program.TileRun) as runs:
        lazy.compute(scheduler="inline")
    return runs.call_count


UNARY = [np.sqrt, np.exp, np.sin, np.negative, np.abs, np.isnan, np.sign, np.floor]
BINARY = [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.arctan2, np.less, np.equal, np.logical_and]


@st.composite
def element_wise(draw):
    """An expression of elements of arrays that broadcast against each other, sliced and transposed."""
    shape = draw(full_shapes)
    made, values = [], []
    for _ in range(draw(st.integers(1, 3))):
        own = tuple(1 if draw(st.integers(0, 4)) == 0 else n for n in shape)[draw(st.integers(0, len(shape) - 1)) :]
        array, lazy = draw(arrays(own))
        made.append(lazy)
        values.append(array)
    made.append(ga.random.default_rng(3).normal(size=shape, chunks=draw(chunks_of(shape))))
    made.append(ga.full(shape, 1.5, chunks=draw(chunks_of(shape))))
    for _ in range(draw(st.integers(1, 7))):
        x, y = draw(st.sampled_from(made)), draw(st.sampled_from(made))
        kind = draw(st.sampled_from(["unary", "binary", "scalar", "slice", "transpose", "cast", "where"]))
        try:
            with np.errstate(all="ignore"):
                if kind == "unary":
                    new = draw(st.sampled_from(UNARY))(x)
                elif kind == "binary":
                    new = draw(st.sampled_from(BINARY))(x, y)
                elif kind == "scalar":
                    new = draw(st.sampled_from([lambda x: x + 2.5, lambda x: 3 * x, lambda x: x**2, lambda x: x > 1]))(
                        x
                    )
                elif kind == "slice":
                    new = x[draw(indices_of(x.shape))]
                elif kind == "transpose":
                    new = x.T
                elif kind == "where":
                    new = ga.where(x > 0, x, y)
                else:
                    new = x.astype(draw(st.sampled_from(["float32", "complex64", "int32", ">f8"])))
        except (TypeError, ValueError):
            continue  # not for these types or shapes
        made.append(new)
    return made[-1], values, [value.copy() for value in values]


@settings(max_examples=examples(300))
@given(element_wise(), st.sampled_from([8, 64, 200]))
def test_element_wise_results_are_bit_for_bit_those_of_whole_blocks(case, nbytes):
    lazy, values, copies = case
    same_bits(lazy, nbytes)
    for value, copy in zip(values, copies, strict=True):
        assert value.tobytes() == copy.tobytes()


pytestmark = pytest.mark.filterwarnings("ignore:Casting complex values to real")
REDUCTIONS = ["sum", "prod", "min", "max", "any", "all", "mean", "var", "std"]


@settings(max_examples=examples(200))
@given(element_wise(), st.sampled_from(REDUCTIONS), st.data())
def test_reductions_agree_with_those_of_whole_blocks(case, name, data):
    lazy, _, _ = case
    assume(0 not in lazy.shape)
    axes = data.draw(st.none() | st.sets(st.integers(0, max(lazy.ndim - 1, 0))).map(tuple)) if lazy.ndim else None
    try:
        reduced = getattr(lazy, name)(axis=axes, keepdims=data.draw(st.booleans()))
    except TypeError:
        assume(False)
    found, expected = both(reduced * 2 if reduced.dtype.kind == "f" else reduced)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    finite = np.abs(expected[np.isfinite(expected)]).max(initial=1)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6 * finite)


@pytest.mark.parametrize("maker", ["numpy", np.random.RandomState])
@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("normal", (10, 1)), ("normal", (-3.7, 0.25)), ("normal", (0, 1)), ("normal", (5, 1.3)), ("normal", (2, 0)),
        ("uniform", (-1, 2.5)), ("uniform", (0, 1)), ("uniform", (-3.1, 0.9)), ("uniform", (1, 1)), ("random", ()), ("random_sample", ()), ("standard_normal", ()),
        ("exponential", (2.0,)), ("standard_exponential", ()), ("gamma", (2.0, 3.0)), ("gamma", (0.3, 1.0)),
        ("standard_gamma", (0.7,)), ("beta", (0.5, 0.5)), ("beta", (2.0, 3.0)), ("lognormal", (0.0, 1.0)),
        ("poisson", (4.0,)), ("poisson", (40.0,)), ("binomial", (5, 0.3)), ("binomial", (500, 0.3)),
    ],
)  # fmt: skip
def test_a_block_drawn_in_pieces_has_the_numbers_of_one_drawn_at_once(maker, method, args):
    streams = Streams(5, 0, maker)
    if not hasattr(streams.of_block(0), method):
        pytest.skip("not a method of this generator")
    block = DrawBlock(streams, method, args, {})
    expected = block(0, (4099,))
    cuts = [(0, 1), (1, 1000), (1001, 7), (1008, 3091)]
    pieces = steps._Pieces(block, 0, expected.dtype)
    assert np.concatenate([pieces.take(*cut) for cut in cuts]).tobytes() == expected.tobytes()
    later = steps._Pieces(block, 0, expected.dtype)
    assert later.take(1234, 5).tobytes() == expected[1234:1239].tobytes()
    if not later.can_fill:
        return
    pieces, later, found = (
        steps._Pieces(block, 0, expected.dtype),
        steps._Pieces(block, 0, expected.dtype),
        expected * 0,
    )
    for begin, length in cuts:
        pieces.fill(begin, found[begin : begin + length])
    assert found.tobytes() == expected.tobytes()
    later.fill(1234, found[:5])
    assert found[:5].tobytes() == expected[1234:1239].tobytes()


def test_every_method_that_is_drawn_in_pieces_is_tested():
    marks = test_a_block_drawn_in_pieces_has_the_numbers_of_one_drawn_at_once.pytestmark
    (methods,) = [mark.args[1] for mark in marks if mark.args[0] == ("method", "args")]
    assert {method for method, _ in methods} == steps._SEQUENTIAL


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "uint16"])
def test_x_squared_has_the_bits_of_a_power(dtype):
    values = (np.random.default_rng(1).normal(0, 50, 10_000)).astype(dtype)
    x = ga.from_array(values, chunks=5000)
    for lazy, expected in [(x**2, values**2), (x**2.0, values**2.0), (ga.power(x, 2), np.power(values, 2))]:
        found = lazy.compute(scheduler="inline")
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "uint32"])
@pytest.mark.parametrize("length", [1, 2, 8])
def test_short_rows_are_reduced_by_columns(name, dtype, length):
    values = np.random.default_rng(1).integers(0, 100, (300, length)).astype(dtype)
    values[3, 0] = np.nan if dtype.startswith("f") else 1
    x = ga.from_array(values, chunks=(300, length))
    found, expected = getattr(x, name)(axis=1).compute(scheduler="inline"), getattr(values, name)(axis=1)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_half_precision_and_other_draws_keep_their_streams():
    rng = ga.random.default_rng(1)
    for x in (
        rng.random((40, 40), dtype="float32", chunks=20),
        rng.integers(0, 5, size=(40, 40), dtype="uint8", chunks=20),
        rng.choice(7, size=400, chunks=100),
    ):
        same_bits(x + 1)
        same_bits(x[::3] * 2)


normal = lambda: ga.random.default_rng(1).normal(size=(40, 30), chunks=(20, 30))  # noqa: E731


@pytest.mark.parametrize(
    ("make", "runs"),
    [
        (lambda: (normal() + 1)[::2, ::2].sum(), 2),
        (lambda: (normal() + 1)[::2, ::2], 2),
        (lambda: (normal()[::-1] + 1).sum(), 2),  # the draw is whole, the rest isn't
        (lambda: (normal().T + 1).sum(), 2),
        (lambda: normal().sum(axis=1), 2),
        (lambda: (normal() ** 2).std(), 2),
        (lambda: ga.from_array(np.ones((40, 30)), chunks=20).sum(), 4),
        (lambda: ga.from_array(np.ones((40, 30)), chunks=20) + 1, 0),  # one call is best
        (lambda: (ga.from_array(np.ones((40, 30)), chunks=20) + 1) * 2, 4),
        (lambda: ga.from_array(np.ones((40, 30)), chunks=20).T[3:], 0),  # views are free
        (lambda: ((ga.ones((40, 4), chunks=(20, 4)) ** 2).sum(axis=1) < 1).sum(), 2),
        (lambda: (ga.ones((40, 30), chunks=(20, 30)) + 1).argmax(axis=0), 2),
    ],
)
def test_what_is_run_on_tiles(make, runs):
    assert n_tile_runs(make()) == runs
    found, expected = both(make())
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(
    "chunk",
    [
        np.ma.masked_array(np.arange(60.0), mask=np.arange(60) % 7 == 0),
        np.arange(60).astype(object),
        np.arange(60).astype(">f8"),
        np.arange(60).astype("datetime64[D]"),
    ],
)
def test_blocks_that_are_no_plain_numbers_are_evaluated_whole(chunk):
    x = ga.from_array(chunk, chunks=20)
    y = (x - x[::-1]).T
    assert n_tile_runs(y) == 0
    with tiles_of(64):
        found = y.compute(scheduler="inline")
    np.testing.assert_array_equal(found, chunk - chunk[::-1])
    assert type(found) is type(chunk)


@pytest.mark.parametrize(
    "values",
    [
        np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, 5e-324] * 40),
        np.array([127, -128, 1, 0, -1] * 60, dtype="int8"),
        np.array([2**63 - 1, -(2**63), 3] * 60),
        np.empty((0, 40)),
        np.empty((40, 0), dtype="int16"),
        np.array(2.5),
        np.array(7, dtype="uint8"),
    ],
)
def test_extreme_values_and_empty_arrays_have_the_bits_of_whole_blocks(values):
    x = ga.from_array(values, chunks=50)
    same_bits((-(x + x) * x).T)
    same_bits(ga.where(x > 1, x * 3, x - x) ** 2)
    same_bits(ga.maximum(x, x[::-1] if x.ndim else x) + 0)


def test_structured_blocks_are_evaluated_whole():
    values = np.array([(n, n / 2) for n in range(300)], dtype=[("a", "i4"), ("b", "f8")])
    x = ga.from_array(values, chunks=100)
    y = ga.concatenate([x[::-1], x[5:]])[::3]
    assert n_tile_runs(y) == 0
    with tiles_of(64):
        found = y.compute(scheduler="inline")
    np.testing.assert_array_equal(found, np.concatenate([values[::-1], values[5:]])[::3])


def test_one_value_read_in_two_places_is_made_whole():
    x = ga.random.default_rng(1).normal(size=(50, 6), chunks=(50, 6))
    y = (x * 2)[1:] - (x * 2)[:-1]
    same_bits(y)
    assert n_tile_runs(y) == 2  # the product, and the difference


def test_a_block_that_is_kept_is_reduced_tile_by_tile_where_that_saves_temporaries():
    x = normal().persist(scheduler="inline")
    assert n_tile_runs(x.std()) == n_tile_runs(ga.nansum(x)) == 2
    assert n_tile_runs(x.sum()) == 0
    for lazy in (x.std(), x.var(axis=0), ga.nansum(x, axis=1), ga.nanmean(x)):
        found, expected = both(lazy)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


def test_a_block_smaller_than_a_tile_is_evaluated_whole():
    assert n_tile_runs((normal() + 1).sum(), nbytes=20 * 30 * 8) == 0


def test_memory_that_tiles_use_again_is_never_part_of_a_result():
    rng = ga.random.default_rng(1)
    x = rng.normal(size=(400, 300), chunks=(200, 300)).persist(scheduler="inline")
    makers = [
        lambda: (x + 1) * 2,
        lambda: (rng.random((400, 300), chunks=200) + 1).sum(axis=0),
        lambda: (x * 2).sum(axis=()),
        lambda: (ga.ones((400, 300), chunks=200) * 3).max(axis=1, keepdims=True),
        lambda: (x.T * 2)[::2],
    ]
    with tiles_of(4096):
        results = [make().compute(scheduler="inline") for make in makers]
        copies = [result.copy() for result in results]
        for make in makers:
            make().compute(scheduler="inline")
    for result, copy in zip(results, copies, strict=True):
        np.testing.assert_array_equal(result, copy)


def in_a_thread_of_its_own(function):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def n_arrays_taken_again():
    taken = Buffers()
    arrays = [taken.take((2**18,), np.dtype("f8")) for _ in range(9)]
    taken.close()
    later = Buffers()
    again = [later.take((2**17,), np.dtype("c16")) for _ in range(6)]
    return sum(any(np.shares_memory(one, other) for other in arrays) for one in again)


def test_a_thread_keeps_a_bounded_amount_of_memory_for_its_next_task():
    assert in_a_thread_of_its_own(n_arrays_taken_again) == KEPT_BYTES // 2**21


def test_memory_that_is_taken_for_good_was_never_lent():
    buffers = Buffers()
    lent = buffers.take((10,), np.dtype("f8"))
    buffers.give_back(lent)
    constant = buffers.take_for_good((10,), np.dtype("f8"))
    assert not np.shares_memory(constant, lent)
    assert not np.shares_memory(constant, buffers.take((10,), np.dtype("f8")))


def test_a_constant_keeps_its_value_from_tile_to_tile():
    array = np.arange(-300.0, 300.0).reshape(20, 30)
    x = ga.from_array(array, chunks=-1)
    lazy = ga.where(x > 0, x, 0) + ga.ones(array.shape, chunks=-1)
    with tiles_of(200):
        assert np.array_equal(lazy.compute(), np.maximum(array, 0) + 1)


def test_two_runs_at_once_in_a_thread_share_no_memory():
    outer = Buffers()
    first = outer.take((10,), np.dtype("f8"))
    inner = Buffers()
    second = inner.take((10,), np.dtype("f8"))
    inner.close()
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(outer.take((10,), np.dtype("f8")), first)


def test_tiles_are_square_where_an_operand_lies_across():
    x = ga.random.default_rng(1).random((60, 60), chunks=60).persist(scheduler="inline")
    cuts = []
    with mock.patch.object(
        program, "cut_in_squares", lambda *args: cuts.append(tiles.cut_in_squares(*args)) or cuts[-1]
    ):
        same_bits((x + x.T) * 2, 800)
        assert [cut.lengths for cut in cuts] == [(10, 10)]
        same_bits((x + 1) * x, 800)
        same_bits((x + ga.random.default_rng(2).random((60, 60), chunks=60)) * x.T, 800)  # draws come in C order
    assert len(cuts) == 1


@given(st.permutations(range(3)), st.sampled_from([8, 100, 10**6]), st.sampled_from(["f8", "i2", "M8[s]", ">f4", "O"]))
def test_copies_are_the_same_however_an_array_lies(order, nbytes, dtype):
    source = np.arange(5 * 1 * 7).reshape(5, 1, 7).astype(dtype).transpose(order)[::-1]
    out = np.empty(source.shape, source.dtype)
    with tiles_of(nbytes):
        tiles.copy_along_lines(source, out)
    np.testing.assert_array_equal(out, source)


def test_errors_inside_tiles_are_the_users():
    x = ga.from_array(np.zeros((40, 30)), chunks=20)
    with tiles_of(64), np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        ((x + 1) / x).compute(scheduler="inline")


def test_tiled_programs_survive_pickling():
    graph, keys = lower(optimize([(normal() + 1)[::2, ::2].sum().expr]))
    task = next(task for task in graph.tasks.values() if isinstance(task.func, TiledProgram))
    with tiles_of(64):
        assert pickle.loads(pickle.dumps(task.func))(*task.args) == task.func(*task.args)


def test_a_drawn_block_never_exists_as_a_whole():
    x = ga.random.default_rng(1).normal(10, 1, size=(2000, 2000), chunks=2000)
    y = (x + 1)[::2, ::2].sum()
    y.compute(scheduler="inline")
    tracemalloc.start()
    y.compute(scheduler="inline")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * tiles.TILE_BYTES  # the block has 32 MB


def test_a_chunk_that_is_far_too_large_is_summed_in_a_few_tiles():
    x = ga.full((16_000, 16_000), 2.5, chunks=-1)  # 2 GB
    tracemalloc.start()
    found = (x + 1)[::2, ::2].sum().compute(scheduler="inline")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == 3.5 * 8000 * 8000
    assert peak < 8 * tiles.TILE_BYTES


@pytest.mark.parametrize("offset", [0, 1e9])
def test_variances_of_tiles_are_sound_however_large_the_mean(offset):
    values = np.random.default_rng(2).normal(offset, 1, 300_000)
    with tiles_of(8192):
        found = (ga.from_array(values, chunks=100_000) + 0).var().compute(scheduler="inline")
    assert found == pytest.approx((values + 0).var(), rel=1e-9)


def test_reductions_of_one_level_are_made_in_one_run():
    x = ga.random.default_rng(2).normal(size=(6, 40), chunks=(6, 40))
    assert n_tile_runs(x.mean(axis=1) - (x + 1).std(axis=1)) == 2  # and the difference
    assert n_tile_runs((x - x.mean()).std() + x.max()) == 2
    for lazy in (
        x.mean(axis=1) - (x + 1).std(axis=1),
        (x - x.mean()).std() + x.max(),
        x.T.var(axis=0) * x.min(axis=1),
        x.argmax() + x.sum(),
        x[::2].std() + x.var() / (x * x.sum(axis=0)).sum(),
    ):
        found, expected = both(lazy, 64)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_siblings_draw_their_blocks_tile_by_tile():
    x = ga.random.default_rng(2).random((80, 400), chunks=(8, 400))
    with tiles_of(1024), mock.patch.object(program, "TileRun", wraps=program.TileRun) as runs:
        found = gl.compute(x.mean(), x.std(), x.sum(axis=0), abs(x - 1).max(), scheduler="inline")
    assert runs.call_count == 10
    values = np.asarray(x)
    expected = [values.mean(), values.std(), values.sum(axis=0), abs(values - 1).max()]
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_siblings_hold_tiles_of_what_they_share():
    x = ga.random.default_rng(1).random(size=(8 * 2000, 1000), chunks=(2000, 1000))
    wanted = x.mean(), x.std(), x.max(axis=0)
    gl.compute(*wanted, scheduler="inline")
    tracemalloc.start()
    gl.compute(*wanted, scheduler="inline")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * tiles.TILE_BYTES  # a block has 16 MB


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "float16"])
def test_a_deviation_in_tiles_has_the_bits_of_a_whole_blocks(dtype):
    """Its distances are written over memory that other steps use."""
    x = (ga.random.default_rng(2).normal(size=(6, 40), chunks=(6, 40)) * 9).astype(dtype)
    for lazy in (x.std(axis=1), x.var(axis=0), (x + x).std(axis=1) + (x + x).max(axis=1)):
        same_bits(lazy, 40 * np.dtype(dtype).itemsize)
