"""Functions of the user's on blocks, lines and windows."""

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, equal, full_shapes
from glassloom.errors import ChunkError, OptionError
from hypothesis import given
from hypothesis import strategies as st

KINDS = ("int64", "float64")
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


@given(st.data(), st.integers(1, 6), st.integers(1, 6), st.integers(1, 6))
def test_blockwise_pairs_axes_by_name(data, n, k, m):
    x, lazy_x = data.draw(arrays((n, k), ("int64",)))
    y, lazy_y = data.draw(arrays((k, m), ("int64",)))
    equal(ga.blockwise(np.matmul, "ij", lazy_x, "ik", lazy_y, "kj", dtype=int), x @ y)
    equal(ga.blockwise(lambda a, b: a.T + b, "ji", lazy_x, "ij", 3, None), x.T + 3)
    equal(ga.blockwise(np.multiply.outer, "ijab", lazy_x, "ij", lazy_y, "ab"), np.multiply.outer(x, y))


@given(arrays((6,), ("int64",)))
def test_blockwise_adds_and_changes_axes(pair):
    array, lazy = pair
    equal(
        ga.blockwise(lambda b: np.stack([b, -b], 1), "ik", lazy, "i", new_axes={"k": 2}, dtype=int),
        np.stack([array, -array], 1),
    )
    doubled = ga.blockwise(np.repeat, "i", lazy, "i", 2, None, adjust_chunks={"i": lambda n: 2 * n}, dtype=int)
    equal(doubled, np.repeat(array, 2))


@given(st.data(), st.lists(st.integers(1, 3), max_size=2).map(tuple), st.integers(1, 5), st.integers(1, 5))
def test_a_gufunc_loops_over_what_is_not_core(data, loop, n, k):
    x, lazy_x = data.draw(arrays((*loop, n, k), ("int64",)))
    y, lazy_y = data.draw(arrays((k,), ("int64",)))
    equal(ga.apply_gufunc(lambda a, b: (a * b[..., None, :]).sum(-1), "(i,k),(k)->(i)", lazy_x, lazy_y), x @ y)
    low, high = ga.apply_gufunc(lambda a: (a.min(-1), a.max(-1)), "(k)->(),()", lazy_x)
    equal(low, x.min(-1))
    equal(high, x.max(-1))
    equal(
        ga.apply_gufunc(lambda row: np.sort(row)[::-1], "(k)->(k)", lazy_x, vectorize=True, output_dtypes=int),
        np.sort(x)[..., ::-1],
    )
    equal(
        ga.apply_gufunc(
            lambda a: np.stack([a, a], -1), "()->(two)", lazy_y, output_sizes={"two": 2}, output_dtypes=int
        ),
        np.stack([y, y], -1),
    )


@given(arrays(full_shapes, KINDS), st.data())
def test_apply_along_axis_gives_lines(pair, data):
    array, lazy = pair
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    for function in (np.sum, lambda row: row[::-1], lambda row: np.array([row.min(), row.max()])):
        equal(ga.apply_along_axis(function, axis, lazy), np.apply_along_axis(function, axis, array), **CLOSE)
    axes = data.draw(st.lists(st.integers(0, array.ndim - 1), unique=True, min_size=1))
    equal(ga.apply_over_axes(ga.sum, lazy, axes), np.apply_over_axes(np.sum, array, axes), **CLOSE)


@given(arrays(full_shapes, KINDS), st.data())
def test_reduction_by_functions_of_ones_own(pair, data):
    array, lazy = pair
    axis = data.draw(st.none() | st.integers(-array.ndim, array.ndim - 1))
    made = ga.reduction(lazy, lambda x, axis, keepdims: (x * x).sum(axis=axis, keepdims=keepdims), np.sum, axis)
    equal(made, (array * array).sum(axis=axis), **CLOSE)


MODES = {"reflect": "symmetric", "periodic": "wrap", "nearest": "edge", 7: "constant"}


@given(arrays(st.lists(st.integers(2, 7), min_size=1, max_size=2).map(tuple), ("int64",)), st.data())
def test_windows_see_their_neighbours(pair, data):
    array, _ = pair
    chunks = tuple(data.draw(st.integers(1, 4)) for _ in array.shape)
    lazy = ga.from_array(array, chunks=chunks)
    depth = tuple(data.draw(st.integers(0, 2)) for _ in array.shape)
    boundary = data.draw(st.sampled_from(list(MODES)))
    options = {"constant_values": 7} if boundary == 7 else {}
    padded = np.pad(array, [(d, d) for d in depth], MODES[boundary], **options)

    def around(block):
        inside = tuple(slice(d, n - d) for d, n in zip(depth, block.shape, strict=True))
        moved = sum(np.roll(block, shift, axis) for axis, d in enumerate(depth) for shift in (-d, d))
        made = np.zeros_like(block)
        made[inside] = moved[inside]
        return made

    inside = tuple(slice(d, n - d) for d, n in zip(depth, padded.shape, strict=True))
    equal(lazy.map_overlap(around, depth=depth, boundary=boundary, dtype=int), around(padded)[inside])
    equal(ga.trim_overlap(ga.overlap(lazy, depth, boundary), depth, boundary), array)
    equal(lazy.map_overlap(np.copy, depth=depth), array)


def test_without_a_boundary_the_ends_are_open():
    x = ga.arange(9, chunks=3)
    assert ga.overlap(x, (2,)).chunks == ((5, 7, 5),)
    assert ga.overlap(x, {0: (1, 0)}).chunks == ((3, 4, 4),)
    sizes = ga.map_overlap(lambda block: np.full_like(block, len(block)), x, depth=2)
    equal(sizes, [5, 5, 5, 7, 7, 7, 5, 5, 5])


def test_several_arrays_are_aligned_before_they_overlap():
    x, y = np.arange(8), np.arange(8) ** 2
    made = ga.map_overlap(
        lambda a, b, k: a + b * k, ga.from_array(x, chunks=3), ga.from_array(y, chunks=4), 2, depth=1, boundary=0
    )
    equal(made, x + y * 2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: ga.blockwise(np.add, "i", x), ValueError, "pairs of an array and the names"),
        (lambda x: ga.blockwise(np.add, "ijk", x, "ij"), ValueError, "axes of no array; say new_axes"),
        (lambda x: ga.blockwise(np.add, "ij", x, "i"), ValueError, r"names 1 axes of an array of shape \(4, 6\)"),
        (lambda x: ga.apply_gufunc(abs, "i->i", x), ValueError, "is not a signature such as"),
        (lambda x: ga.apply_gufunc(abs, "(i),(j)->(i)", x), ValueError, "names 2 arrays, got 1"),
        (lambda x: ga.apply_gufunc(abs, "(i)->(k)", x), ValueError, "say output_sizes"),
        (lambda x: ga.apply_gufunc(abs, "(i)->(i)", x, allow_rechunk=False), ChunkError, "core axis 'i' has several"),
        (lambda x: ga.apply_gufunc(lambda b: 1 / 0, "(i)->(i)", x), ValueError, "Say output_dtypes"),
        (lambda x: ga.map_overlap(abs, x), OptionError, "needs a depth"),
        (lambda x: ga.overlap(x, -1), OptionError, "depth=-1 of axis 0"),
        (lambda x: ga.overlap(x, 1, "mirror"), OptionError, "boundary='mirror' of axis 0"),
        (lambda x: ga.overlap(x, {5: 1}), OptionError, "names axis 5 of an array with 2 axes"),
    ],
)
def test_what_makes_no_sense_is_an_error_at_once(call, error, message):
    with pytest.raises(error, match=message):
        call(ga.ones((4, 6), chunks=2))


def test_functions_with_a_parameter_of_that_name_get_the_blocks_index():
    x = ga.zeros((4, 4), chunks=2)
    made = x.map_blocks(lambda block, block_id=None: block + 10 * block_id[0] + block_id[1], dtype=float)
    assert made.compute()[::2, ::2].tolist() == [[0, 1], [10, 11]]


@given(st.data())
def test_core_axes_may_be_anywhere_as_for_numpys_gufuncs(data):
    x, lazy_x = data.draw(arrays((2, 3, 4), ("int64", "float64")))
    x, lazy_x = np.nan_to_num(x), ga.nan_to_num(lazy_x)
    y, lazy_y = x + 1, lazy_x + 1
    axis = data.draw(st.integers(-3, 2))
    found = ga.apply_gufunc(np.vecdot, "(n),(n)->()", lazy_x, lazy_y, axis=axis, output_dtypes=x.dtype)
    equal(found, np.vecdot(x, y, axis=axis), rtol=1e-9)
    found = ga.apply_gufunc(lambda a: a.max(-1), "(n)->()", lazy_x, axis=axis, keepdims=True, output_dtypes=x.dtype)
    equal(found, x.max(axis, keepdims=True))
    found = ga.apply_gufunc(lambda a: np.sort(a), "(n)->(n)", lazy_x, axis=axis, output_dtypes=x.dtype)
    equal(found, np.sort(x, axis))
    z = np.arange(24).reshape(3, 4, 2).astype(x.dtype)
    axes = [(0, 2), (1, 2), (2, 0)]  # 2 by 4 matrices in x, 4 by 2 in z; a loop of 3
    found = ga.apply_gufunc(
        np.matmul, "(m,n),(n,k)->(m,k)", lazy_x, ga.from_array(z, chunks=2), axes=axes, output_dtypes=x.dtype
    )
    equal(found, np.matmul(x, z, axes=axes), rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"axis": 0, "axes": [(0,)]}, "axis=0 needs a signature with one core axis"),
        ({"axes": [(0, 1), ()]}, "doesn't name the core axes"),
        ({"keepdims": True, "signature": "(i)->(i)"}, "keepdims: the results of signature"),
    ],
)
def test_wrong_core_axes_are_errors(options, message):
    signature = options.pop("signature", "(i)->()")
    with pytest.raises(ValueError, match=message):
        ga.apply_gufunc(np.sum, signature, ga.ones((2, 2)), **options)


@pytest.mark.parametrize(
    ("window", "axis", "chunks"),
    [(3, 0, (2, 5)), ((2, 4), None, (3, 2)), ((2, 3), (0, 0), (4, 5)), (1, 1, (3, 3)), (9, 0, (1, 5)), (3, -1, (9, 1))],
)
def test_windows_are_numpys(window, axis, chunks):
    array = np.arange(45).reshape(9, 5)
    expected = np.lib.stride_tricks.sliding_window_view(array, window, axis=axis)
    made = ga.lib.stride_tricks.sliding_window_view(ga.from_array(array, chunks=chunks), window, axis=axis)
    equal(made, expected)
    assert made.shape == expected.shape
    equal(np.lib.stride_tricks.sliding_window_view(ga.from_array(array, chunks=chunks), window, axis=axis), expected)


def test_windows_that_do_not_fit_are_refused():
    x = ga.arange(4, chunks=2)
    with pytest.raises(ValueError, match="window_shape=5 doesn't fit an array of shape"):
        ga.lib.stride_tricks.sliding_window_view(x, 5)
    with pytest.raises(ValueError, match="has 2 lengths for 1 axes"):
        ga.lib.stride_tricks.sliding_window_view(x, (1, 2))


def test_functions_of_users_are_accumulated():
    array = np.random.default_rng(0).integers(0, 99, size=(7, 6))
    lazy = ga.from_array(array, chunks=(2, 3))
    equal(ga.cumreduction(np.cumsum, np.add, 0, lazy, axis=0), np.cumsum(array, axis=0))
    largest = ga.cumreduction(np.maximum.accumulate, np.maximum, 0, lazy, axis=1)
    equal(largest, np.maximum.accumulate(array, axis=1))
    equal(ga.cumreduction(np.cumsum, np.add, 0, lazy), np.cumsum(array))
    assert "user-scan" in str(largest.explain())


def test_blocks_are_scanned_in_the_tasks_that_make_them():
    running = (ga.ones(20, chunks=2) + 1).cumsum()
    assert "10  ones > add > local-scan" in str(running.explain())
    # A total of each block but the last, added to each but the first.
    assert "28  tasks in all" in str(running.explain())
    equal(running[-1], np.float64(40))
    equal(running[:2], np.array([2.0, 4.0]))  # the first block's scan is the result
    assert ga.ones((4, 0), chunks=2).cumsum(axis=1).compute().shape == (4, 0)
