"""Functions of NumPy's that put values in place, pack bits, fit polynomials and write files: compared with NumPy."""

import glassloom.array as ga
import numpy as np
import pytest

RNG = np.random.default_rng(3)


def lazy(array, chunks=3):
    return ga.from_array(np.array(array), chunks=chunks)


def after(function, array, *args, chunks=3, **options):
    """Return what NumPy's and our function of a name leave in an array."""
    own, expected = lazy(array, chunks), np.array(array)
    before = own.chunks
    getattr(ga, function)(own, *args, **options)
    getattr(np, function)(
        expected, *[np.asarray(a.compute()) if isinstance(a, ga.Array) else a for a in args], **options
    )
    assert own.chunks == before
    assert own.dtype == expected.dtype
    return own.compute(), expected


@pytest.mark.parametrize(
    ("ind", "values", "mode"),
    [
        ([0, 7, 3], [5, 6, 7], "raise"),
        ([1, 1, -1], [5, 6, 7], "raise"),
        ([1, 2, 3, 4, 5], [8, 9], "raise"),
        ([1, 20, -30], [5, 6, 7], "wrap"),
        ([1, 20, -30], 4, "clip"),
        ([[0, 1], [2, 3]], 2.7, "raise"),
        ([], [], "raise"),
    ],
)
def test_put_is_numpys(ind, values, mode):
    made, expected = after("put", np.arange(12).reshape(4, 3), ind, values, mode=mode, chunks=2)
    np.testing.assert_array_equal(made, expected)


def test_put_takes_lazy_positions_and_is_a_method():
    x = lazy(np.zeros(6, int))
    x.put(ga.asarray([4, 0]), [1, 2])
    assert x.compute().tolist() == [2, 0, 0, 0, 1, 0]
    with pytest.raises(TypeError, match="put changes a lazy array in place, got ndarray"):
        ga.put(np.zeros(2), [0], 1)
    with pytest.raises(IndexError, match="9"):
        x.put([9], 1)


@pytest.mark.parametrize("function", ["putmask", "place"])
@pytest.mark.parametrize("values", [[-1], [-1.5, -2, -3], -np.arange(40)])
def test_values_go_where_a_mask_is_true_as_numpys(function, values):
    x = RNG.integers(0, 9, (5, 7))
    mask = lazy(x > 4, (4, 2))
    if function == "putmask":
        made, expected = after(function, x, mask, values)
    else:
        made, expected = after(function, x, mask, values)
    np.testing.assert_array_equal(made, expected)


def test_values_by_a_mask_say_what_is_wrong():
    with pytest.raises(ValueError, match=r"place: a mask of shape \(2,\) for an array of shape \(3,\)"):
        ga.place(ga.zeros(3), [True, False], [1])
    with pytest.raises(ValueError, match="place of no values"):
        ga.place(ga.zeros(2), [True, False], [])
    with pytest.raises(TypeError, match="putmask: values of type float64 into an array of type int64"):
        ga.putmask(ga.arange(2), [True, False], np.array([0.5]))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_put_along_axis_is_numpys(axis):
    x = RNG.integers(0, 9, (5, 7))
    positions = np.argsort(x, axis=axis)[:2, :2]
    positions = np.sort(x.argsort(axis=axis), axis=axis)[:2] if axis == 0 else x.argsort(axis=axis)[:, :2]
    made, expected = after("put_along_axis", x, positions, -x.max() * np.ones_like(positions), axis)
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (7, 3), (4, 4, 4)])
@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("value", [9, [1, 2, 3]])
def test_fill_diagonal_is_numpys(shape, wrap, value):
    made, expected = after("fill_diagonal", np.zeros(shape, int), value, wrap, chunks=2)
    np.testing.assert_array_equal(made, expected)


def test_positions_for_keys_are_numpys():
    x = np.arange(20).reshape(4, 5)
    rows, columns = [3, 0, 1], np.array([True, False, True, True, False])
    np.testing.assert_array_equal(lazy(x, 2)[ga.ix_(rows, [4, 0])].compute(), x[np.ix_(rows, [4, 0])])
    for own, theirs in zip(ga.ix_(rows, columns), np.ix_(rows, columns), strict=True):
        np.testing.assert_array_equal(own.compute(), theirs)
    with pytest.raises(ValueError, match="ix_: argument 1 has 2 axes"):
        ga.ix_([1], [[2]])
    np.testing.assert_array_equal(ga.diag_indices(3, 3)[2].compute(), np.diag_indices(3, 3)[2])
    np.testing.assert_array_equal(ga.diag_indices_from(ga.ones((3, 3)))[1].compute(), [0, 1, 2])
    for own, theirs in zip(ga.mask_indices(4, ga.triu, 1), np.mask_indices(4, np.triu, 1), strict=True):
        np.testing.assert_array_equal(own.compute(), theirs)


@pytest.mark.parametrize("shape", [(17,), (9, 10), (3, 8, 5)])
@pytest.mark.parametrize("bitorder", ["big", "little"])
def test_bits_are_packed_and_unpacked_as_numpys(shape, bitorder):
    x = RNG.random(shape) > 0.5
    for axis in (None, *range(len(shape))):
        packed = np.packbits(x, axis, bitorder)
        np.testing.assert_array_equal(ga.packbits(lazy(x, 3), axis, bitorder).compute(), packed)
        own = ga.unpackbits(lazy(packed, 2), axis, bitorder=bitorder)
        np.testing.assert_array_equal(own.compute(), np.unpackbits(packed, axis, bitorder=bitorder))
    for count in (5, -3, 40):
        packed = np.packbits(x)
        np.testing.assert_array_equal(
            ga.unpackbits(lazy(packed), count=count).compute(), np.unpackbits(packed, count=count)
        )


def test_bits_are_of_truth_values_and_bytes():
    with pytest.raises(TypeError, match="packbits of an array of type float64"):
        ga.packbits(ga.ones(2))
    with pytest.raises(TypeError, match="unpackbits of an array of type int64"):
        ga.unpackbits(ga.arange(2))
    with pytest.raises(ValueError, match="bitorder='up'"):
        ga.packbits(ga.ones(2, dtype=bool), bitorder="up")


@pytest.mark.parametrize("period", [2 * np.pi, 4, 5])
def test_unwrap_is_numpys(period):
    x = RNG.integers(-20, 20, (4, 11)) if isinstance(period, int) else RNG.normal(0, 6, (4, 11))
    for axis in (0, 1):
        made = ga.unwrap(lazy(x), axis=axis, period=period)
        expected = np.unwrap(x, axis=axis, period=period)
        assert made.dtype == expected.dtype
        np.testing.assert_allclose(made.compute(), expected, atol=1e-12)
    np.testing.assert_allclose(ga.unwrap(lazy(x), 5.0, period=period).compute(), np.unwrap(x, 5.0, period=period))


def test_polynomials_are_fitted_as_numpys():
    x = RNG.normal(size=200)
    y = np.stack([3 * x**2 - x + 1, x**3], axis=1) + RNG.normal(0, 0.1, (200, 2))
    w = RNG.random(200)
    np.testing.assert_allclose(ga.polyfit(lazy(x, 50), lazy(y, 50), 3).compute(), np.polyfit(x, y, 3), atol=1e-10)
    made = ga.polyfit(lazy(x, 50), lazy(y[:, 0], 50), 2, w=lazy(w, 50), full=True)
    expected = np.polyfit(x, y[:, 0], 2, w=w, full=True)
    np.testing.assert_allclose(made[0].compute(), expected[0], atol=1e-10)
    np.testing.assert_allclose(made[1].compute(), expected[1][0])
    assert int(made[2]) == expected[2]


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
@pytest.mark.parametrize("length", [0, 1, 2, 9])
def test_windows_are_numpys(name, length):
    np.testing.assert_allclose(getattr(ga, name)(length, chunks=4).compute(), getattr(np, name)(length), atol=1e-15)
    np.testing.assert_allclose(ga.kaiser(length, 8.6, chunks=4).compute(), np.kaiser(length, 8.6), atol=1e-14)


def test_edges_of_bins_are_numpys():
    x = RNG.normal(size=50)
    for options in ({}, {"bins": 7}, {"bins": [0, 1, 5]}, {"bins": 3, "range": (0, 1)}):
        np.testing.assert_allclose(
            ga.histogram_bin_edges(lazy(x, 9), **options).compute(), np.histogram_bin_edges(x, **options)
        )
    with pytest.raises(NotImplementedError, match="bins='auto'"):
        np.histogram_bin_edges(lazy(x), "auto")


def test_products_of_matrices_and_vectors_are_numpys():
    a, x = RNG.normal(size=(3, 4, 5)), RNG.normal(size=5)
    z = RNG.normal(size=4) + 1j
    np.testing.assert_allclose(np.matvec(lazy(a, 2), lazy(x, 2)).compute(), np.matvec(a, x))
    np.testing.assert_allclose(np.vecmat(lazy(z, 2), lazy(a, 2)).compute(), np.vecmat(z, a))


@pytest.mark.parametrize("array", [np.arange(42.0).reshape(6, 7), np.zeros((0, 3)), np.float32(4), np.arange(5) > 2])
def test_arrays_are_saved_and_loaded(tmp_path, array):
    ga.save(tmp_path / "x", lazy(array, 4))
    ga.savez(tmp_path / "z.npz", lazy(array, 4), b=lazy(array, 4))
    ga.savez_compressed(str(tmp_path / "c"), b=lazy(array, 4))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.npz", "x.npy", "z.npz"]
    stored = [np.load(tmp_path / "x.npy"), np.load(tmp_path / "z.npz")["arr_0"], np.load(tmp_path / "c.npz")["b"]]
    for one in stored:
        assert one.dtype == np.asarray(array).dtype
        np.testing.assert_array_equal(one, array)
    if np.size(array):
        np.testing.assert_array_equal(ga.load(tmp_path / "x.npy", chunks=3).compute(), array)
    with pytest.raises(NotImplementedError, match="an NPZ file"):
        ga.load(tmp_path / "z.npz")


def test_a_file_that_could_not_be_written_leaves_what_was_there(tmp_path):
    ga.save(tmp_path / "x.npy", ga.arange(4, chunks=2))

    def fail(block):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        ga.save(tmp_path / "x.npy", ga.arange(4, chunks=2).map_blocks(fail, dtype=float))
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]
    assert np.load(tmp_path / "x.npy").tolist() == [0, 1, 2, 3]
    with pytest.raises(TypeError, match="elements are Python objects"):
        ga.save(tmp_path / "o.npy", ga.asarray(np.array([None])))


def test_functions_that_are_not_there_say_what_to_use():
    with pytest.raises(AttributeError, match="no 'loadtxt': glassloom.dataframe.read_csv"):
        ga.loadtxt  # noqa: B018
    with pytest.raises(AttributeError, match=r"no 'is_busday' yet; map_blocks\(numpy.is_busday, x\)"):
        ga.is_busday  # noqa: B018
