"""NumPy's functions with the arguments and at the edges that people bring along: its results, or its refusals."""

import operator

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import equal

ZERO = np.array(3)
SMALL = np.arange(5, dtype="u1")
TABLE = np.arange(12).reshape(3, 4)
DATES = np.array(["2000-01-01", "2000-01-04", "2000-01-09", "2000-01-11"], "M8[D]")
PLACES = np.array([0.0, 1, 3, 4, 9])
SQUARES = np.arange(5.0) ** 2
COMPLEX = (np.arange(6) - 2.5) * (1 + 2j)


def fill(line, widths, axis, options):
    line[: widths[0]] = options.get("value", 10)
    line[len(line) - widths[1] :] = axis


CALLS = [
    *[(name, (ZERO,), {}) for name in ("argsort", "cumsum", "ravel", "flip", "median", "argmax", "atleast_2d", "diagflat",
                                       "round", "sort", "nonzero", "diag", "tril", "diff")],
    *[(name, ([ZERO, ZERO],), {}) for name in ("vstack", "hstack", "dstack", "column_stack")],
    *[("clip", (SMALL, *ends), {}) for ends in ((-1, 3), (2, 300), (-1, None), (None, -1), (-5, -1), (1.5, 3.5), (np.int64(-1), 3),
                                               (None, None), (300, None))],
    ("clip", (SMALL,), {"a_min": 1, "a_max": 3}), ("clip", (SMALL,), {"min": 1, "max": 3}),
    ("clip", (DATES, np.datetime64("2000-01-03"), None), {}),
    ("tril", (np.arange(3),), {}), ("triu", (np.arange(3), 1), {}), ("tril", (DATES.reshape(2, 2),), {}),
    ("diag", (DATES,), {}), ("diag", (DATES.reshape(2, 2),), {}), ("diag", (np.array([1, 2], "m8[s]"), 1), {}),
    ("gradient", (DATES,), {}), ("gradient", (DATES - DATES[0],), {}), ("gradient", (SQUARES, PLACES), {}),
    ("gradient", (SQUARES, PLACES), {"edge_order": 2}), ("gradient", (TABLE**2, 2.0, PLACES[:4]), {}),
    ("gradient", (TABLE**2, PLACES[:4]), {"axis": 1}), ("gradient", (SQUARES, np.arange(5) * 2), {}),
    ("gradient", (SQUARES.astype("f4"),), {}), ("gradient", (SMALL[::-1],), {}),
    ("interp", (PLACES, [0, 1, 2], [0, 1j, 2]), {}), ("interp", (PLACES, [0, 1, 2], [0, 1, 2]), {"period": 2}),
    *[(name, args, options) for name in ("argmin", "argmax") for args, options in (
        ((TABLE,), {"keepdims": True}), ((TABLE, 1), {"keepdims": True}), ((np.array(["b", "a", "c", "a"]),), {}), ((DATES,), {}),
        ((COMPLEX,), {}), ((TABLE == 5,), {}))],
    ("linspace", (0, 10, 5), {"dtype": int}), ("linspace", (-3.7, 2, 7), {"dtype": "i8"}), ("linspace", (0, 1j, 3), {}),
    ("linspace", (np.array([0, 1]), 10, 5), {}), ("linspace", (np.array([0, 1]), np.array([[5], [7]]), 3), {"axis": -1}),
    ("linspace", (0, 1, 5), {"retstep": True}), ("linspace", (2, 3, 4, False), {}), ("linspace", (2, 3, 1), {}),
    *[("convolve", (np.arange(7.0), np.arange(3), mode), {}) for mode in ("full", "same", "valid")],
    *[("convolve", (np.arange(2), np.arange(6), mode), {}) for mode in ("full", "same", "valid")],
    *[("correlate", (COMPLEX, COMPLEX[:3][::-1], mode), {}) for mode in ("full", "same", "valid")],
    *[("correlate", (COMPLEX[:2], COMPLEX[:5], mode), {}) for mode in ("full", "same", "valid")],
    ("lexsort", (np.array([[3, 1, 2, 1], [0, 1, 0, 1]]),), {}), ("lexsort", ([np.arange(4.0)[::-1], DATES],), {}),
    ("partition", (np.array([3, 1, 2, 5, 0]), 2), {}), ("argpartition", (TABLE[:, ::-1], 1), {"axis": 0}),
    ("polyval", ([1, 2, 3], SQUARES), {}), ("polyval", (COMPLEX, SQUARES), {}), ("polyval", ([], SMALL), {}),
    ("einsum", ("ij,jk", TABLE, TABLE.T), {"order": "F"}), ("einsum", ("ij->i", TABLE * 1.0), {"casting": "no"}),
    ("ravel_multi_index", ((np.array([1, 2]), np.array([2, 3])), (3, 4)), {"order": "F"}),
    *[("ravel_multi_index", ((np.array([5, 2]), np.array([2, -1])), (3, 4)), {"mode": mode}) for mode in ("clip", "wrap", "raise")],
    ("unravel_index", (np.array([5, 7]), (3, 4)), {"order": "F"}), ("unravel_index", (np.array([5, 12]), (3, 4)), {}),
    ("tri", (3, 4, 1, int), {}), ("eye", (3,), {"M": 4}), ("eye", (3, 4, -1, int), {}),
    ("histogram", (SQUARES, 3, (1, 8)), {}),
    ("quantile", (PLACES, [0.2, 0.5]), {"weights": SQUARES, "method": "inverted_cdf"}),
    ("percentile", (TABLE, 30), {"weights": np.array([1.0, 0, 2]), "method": "inverted_cdf", "axis": 0}),
    ("nanquantile", (TABLE * 1.0, 0.3), {"weights": TABLE + 1.0, "method": "inverted_cdf", "axis": 1}),
    ("pad", (TABLE, 2, fill), {}), ("pad", (TABLE, ((0, 1), (2, 3)), fill), {"value": 3}),
    *[("pad", (TABLE, width, mode), {"reflect_type": "odd"}) for mode in ("reflect", "symmetric")
      for width in (2, ((1, 2), (0, 3)), ((0, 0), (9, 14)))],
    ("reshape", (TABLE, (4, 3)), {"order": "F"}), ("reshape", (TABLE, -1), {"order": "F"}), ("ravel", (TABLE,), {"order": "F"}),
    ("concatenate", ([TABLE, TABLE],), {"dtype": "f4"}), ("stack", ([SMALL, SMALL],), {"dtype": float, "axis": 1}),
    ("hstack", ([SMALL, SMALL],), {"dtype": "i2"}), ("vstack", ([PLACES, PLACES],), {"dtype": "i2", "casting": "unsafe"}),
    ("vstack", ([PLACES, PLACES],), {"dtype": "i2", "casting": "safe"}),
    ("where", (PLACES > 1, PLACES, None), {}), ("where", (PLACES > 1, PLACES), {}), ("histogram", (PLACES, 2.5), {}),
    *[("gradient", (array,), {}) for array in (PLACES > 1, np.array(["a", "b", "c"]))],
    *[("average", (TABLE,), {"axis": 0, "weights": np.array(weights)}) for weights in ([0, 0, 0], [1, -1, 0], [1.0, 2, 1])],
    ("average", (TABLE,), {"weights": TABLE * 0}), *[("arange", (-1, 3), {"dtype": kind}) for kind in ("u1", "i1", "f4")],
    ("arange", (0, 300), {"dtype": "u1"}), ("arange", (255, -1, -1), {"dtype": "u1"}),
    *[("take", (TABLE, np.array([[0, 3], [-1, 7]])), {"mode": mode, "axis": axis}) for mode in ("wrap", "clip", "none")
      for axis in (0, None)],
    ("take", (TABLE, -9), {"mode": "wrap", "axis": 1}), ("take", (PLACES[:0], [0]), {"mode": "clip"}),
    *[(name, (np.array([3, 1, 2]), 0, kind), {}) for name in ("sort", "argsort") for kind in ("stable", "heapsort", "other")],
    *[("cov", (SQUARES.reshape(1, 5) * [[1], [2]] + PLACES**2,), options) for options in (
        {"fweights": np.array([1, 2, 1, 0, 3])}, {"aweights": PLACES + 1}, {"bias": True, "aweights": PLACES + 1},
        {"fweights": np.array([1, 2, 1, 0, 3]), "aweights": PLACES + 1}, {"fweights": PLACES}, {"fweights": PLACES + 0.5}, {"aweights": PLACES[:2]})],
    *[("polyfit", (PLACES, SQUARES, 1), {"cov": cov}) for cov in (True, "unscaled")],
    ("polyfit", (PLACES, np.stack([SQUARES, PLACES]).T, 1), {"cov": True, "w": PLACES + 1}),
    ("polyfit", (PLACES, SQUARES, 4), {"cov": True}),
    *[(name, (np.array([[3, 1, 4], [1, 5, 9]], dtype=object),), {}) for name in ("argmax", "argmin", "mean")],
]  # fmt: skip


REFUSALS = (TypeError, ValueError, ArithmeticError, IndexError, RuntimeError)


def lazily(value):
    if isinstance(value, np.ndarray):
        return ga.from_array(value, chunks=2)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], np.ndarray):
        return type(value)(map(lazily, value))
    return value


def computed(value):
    return [each.compute() for each in value] if isinstance(value, (list, tuple)) else value.compute()


@pytest.mark.parametrize(("name", "args", "options"), CALLS)
def test_results_are_numpys(name, args, options):
    try:
        expected = getattr(np, name)(*args, **options)
    except REFUSALS as error:
        with pytest.raises(REFUSALS):
            computed(getattr(ga, name)(*map(lazily, args), **options))
        assert str(error)
        return
    made = getattr(ga, name)(*map(lazily, args), **options)
    pairs = list(zip(made, expected, strict=True)) if isinstance(expected, (tuple, list)) else [(made, expected)]
    exact = name not in ("gradient", "convolve", "correlate", "linspace", "interp", "average", "cov", "polyfit")
    for mine, theirs in pairs:
        if isinstance(mine, ga.Array):
            plain = np.asarray(theirs).dtype.kind not in "fc"
            equal(mine, theirs, **({} if exact or plain else {"rtol": 1e-12, "atol": 1e-12}))
        else:
            assert mine == theirs


@pytest.mark.parametrize("axis", [None, 0])
def test_half_precision_is_rounded_once(axis):
    array = (np.random.default_rng(0).random((60, 30)) * 3).astype("f2")
    lazy = ga.from_array(array, chunks=(7, 8))
    wide = array.astype("f8")
    equal(lazy.sum(axis), wide.sum(axis).astype("f2"))
    equal(lazy.mean(axis), wide.mean(axis).astype("f2"), rtol=1e-3)
    equal(ga.nansum(lazy, axis), wide.sum(axis).astype("f2"))
    equal(lazy[:8, :4].prod(axis), wide[:8, :4].prod(axis).astype("f2"))
    equal(lazy.cumsum(axis), wide.cumsum(axis).astype("f2"))


def test_ends_and_limits_may_be_lazy():
    x = ga.arange(1.0, 6, chunks=2)
    equal(np.linspace(x.min(), x.max(), 9), np.linspace(1, 5, 9))
    equal(ga.linspace(0, x, 3), np.linspace(0, np.arange(1.0, 6), 3))
    limits = (x.min(), x.max() - 1)
    for mine, theirs in zip(ga.histogram(x, 4, limits), np.histogram(np.arange(1.0, 6), 4, (1, 4)), strict=True):
        equal(mine, theirs)
    equal(ga.gradient(x**2, x * x)[1:-1], np.gradient(np.arange(1.0, 6) ** 2, np.arange(1.0, 6) ** 2)[1:-1], rtol=1e-12)


def test_arguments_that_are_dasks_alone():
    x, array = ga.arange(10, chunks=3).astype(float), np.arange(10.0)
    for method in ("sequential", "blelloch"):
        equal(ga.cumsum(x, method=method), array.cumsum())
        equal(ga.nancumprod(x + 1, method=method), (array + 1).cumprod())
    for split_every in (2, 4, None):
        equal(ga.topk(x, 4, split_every=split_every), array[::-1][:4])
        equal(ga.argtopk(x, -3, split_every=split_every), [0, 1, 2])
    equal(x.reshape(2, 5, merge_chunks=False), array.reshape(2, 5))
    with pytest.raises(ValueError, match="method='fast'"):
        ga.cumsum(x, method="fast")


def test_positions_of_equal_elements():
    array = np.array([3, 1, 3, 3, 1, 2, 1])
    for chunks in (1, 2, 3, 7):
        lazy = ga.from_array(array, chunks=chunks)
        assert array[ga.argtopk(lazy, 3).compute()].tolist() == [3, 3, 3]
        assert array[ga.argtopk(lazy, -3).compute()].tolist() == [1, 1, 1]
        assert operator.eq(*(ga.argtopk(ga.from_array(array, chunks=c), 3).compute().tolist() for c in (chunks, 7)))


def test_blocks_of_a_size_and_of_equal_length():
    x = ga.ones((100, 40), chunks=30)
    assert x.rechunk((30, 40), balance=True).chunks == ((25, 25, 25, 25), (40,))
    assert max(np.prod(x.rechunk("auto", block_size_limit="4 kB").chunksize), 1) * 8 <= 4096
    assert ga.rechunk(x, {0: "auto"}, block_size_limit=8000).chunksize[0] < 30
    assert ga.asarray([1, 2, 3], chunks=2).chunks == ga.array([1, 2, 3], chunks=2).chunks == ((2, 1),)
    equal(ga.asarray([1, 2, 3], like="numpy"), [1, 2, 3])
    equal(ga.array([1.0, 2.0], like=x), [1.0, 2.0])
    assert ga.tri(3, M=4, like=x).shape == ga.eye(3, M=4, like="numpy").shape == (3, 4)


@pytest.mark.parametrize("split_every", [{0: 2, 1: 3}, {1: 2}, {-1: 8}, 3])
def test_blocks_are_joined_as_many_as_each_axis_says(split_every):
    array = np.arange(70.0).reshape(10, 7)
    lazy = ga.from_array(array, chunks=1)
    for name in ("sum", "max", "mean", "std"):
        equal(getattr(ga, name)(lazy, split_every=split_every), getattr(np, name)(array), rtol=1e-12)
        equal(getattr(lazy, name)(1, split_every=split_every), getattr(np, name)(array, 1), rtol=1e-12)
    with pytest.raises(ValueError, match="split_every=1"):
        lazy.sum(split_every={0: 1})


def test_groups_stay_together():
    x = ga.arange(12, chunks=4)
    made = x.shuffle([[0, 4, 8], [1, 5], [2, 6, 10], [11]])
    equal(made, [0, 4, 8, 1, 5, 2, 6, 10, 11])
    assert made.chunks == ((3, 2, 4),)
    table = np.arange(12).reshape(3, 4)
    equal(ga.from_array(table, chunks=2).shuffle([[3, 0], [1]], axis=1, chunks=1), table[:, [3, 0, 1]])


def test_margins_of_each_array():
    x, y = ga.arange(6, chunks=3), ga.arange(10, 16, chunks=2)

    def add(left, right):
        return left[1:-1] + right.sum() * 0 + 1

    made = ga.map_overlap(
        add,
        x,
        ga.arange(2, chunks=1),
        depth=[1, 0],
        boundary="reflect",
        align_arrays=False,
        trim=False,
        chunks=((3, 3),),
        dtype=int,
    )
    equal(made, np.arange(6) + 1)
    equal(ga.map_overlap(np.add, x, y, depth=1, boundary="nearest"), np.arange(6) + np.arange(10, 16))
    with pytest.raises(ValueError, match="arrays of shapes"):
        ga.map_overlap(np.add, x, ga.arange(1, chunks=1), depth=1)


def test_a_drawing_stands_alone():
    for shape in ((), (3,), (3, 4), (2, 3, 4), (2, 2, 2, 2)):
        text = ga.ones(shape, chunks=2).to_svg()
        assert text.startswith('<svg xmlns="http://www.w3.org/2000/svg"') and text.endswith("</svg>")


def test_products_of_compressed_factors_may_be_kept():
    x = ga.random.default_rng(0).normal(size=(60, 40), chunks=20)
    low = x[:, :3] @ x[:3]
    for iterator in ("power", "QR"):
        u, s, vh = ga.linalg.svd_compressed(low, 3, iterator, n_power_iter=2, seed=1, compute=True)
        np.testing.assert_allclose(((u * s) @ vh).compute(), low.compute(), atol=1e-9)


def test_roots_and_reciprocals_are_numpys_for_exponents_of_pythons():
    for array in (np.array([0.0, -0.0, -np.inf, 4]), np.array([0, 2j, 1 + 1j]), np.array([1.0, 4], "f4")):
        for exponent in (0.5, -1, 2, 3):
            with np.errstate(all="ignore"):
                equal(ga.from_array(array, chunks=2) ** exponent, array**exponent)


def test_a_field_of_arrays_has_their_axes():
    table = np.zeros((5, 2), dtype=[("place", "i4", (2, 3)), ("n", "f8")])
    table["place"] = np.arange(60).reshape(5, 2, 2, 3)
    lazy = ga.from_array(table, chunks=2)
    equal(lazy["place"] + 1, table["place"] + 1)
    equal(lazy["place"][1:, 0, 1].sum(axis=0), table["place"][1:, 0, 1].sum(axis=0))


def test_values_of_pieces_are_those_that_were_passed():
    value = np.array(2.0)
    made = ga.piecewise(ga.arange(4.0, chunks=2), [ga.arange(4.0, chunks=2) > 1], [value])
    value[...] = 9
    equal(made, [0.0, 0, 2, 2])


def test_sets_are_numpys_with_nan_of_both_and_with_positions():
    one, other = np.array([1, np.nan, 3, np.nan, 7, 3]), np.array([np.nan, 3, 4, 7, 7])
    lazy, lazy_other = ga.from_array(one, chunks=2), ga.from_array(other, chunks=3)
    np.testing.assert_array_equal(ga.setxor1d(lazy, lazy_other).compute(), np.setxor1d(one, other))
    mine = [each.compute() for each in ga.intersect1d(lazy, lazy_other, return_indices=True)]
    for found, expected in zip(mine, np.intersect1d(one, other, return_indices=True), strict=True):
        np.testing.assert_array_equal(found, expected)
