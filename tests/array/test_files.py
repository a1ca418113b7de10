"""Arrays written and read back, and arrays made of positions."""

import sys

import glassloom as gl
import glassloom.array as ga
import numpy as np
import pytest
import zarr
from array_strategies import arrays, equal, full_shapes
from glassloom.array.sources.sink import aligned
from glassloom.errors import OptionError, ReadError
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples


@settings(max_examples=examples(30))
@given(pair=arrays(full_shapes, ("int64", "float32", "complex128")), data=st.data())
def test_a_stack_of_npy_files_gives_back_what_was_written(tmp_path_factory, pair, data):
    array, lazy = pair
    folder = tmp_path_factory.mktemp("stack") / "x"
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    for _ in range(2):  # the second replaces the first
        ga.to_npy_stack(folder, lazy, axis)
    again = ga.from_npy_stack(folder)
    equal(again, array)
    equal(again.rechunk(2)[::-1], array[::-1])


def test_an_empty_folder_is_a_place_for_a_stack(tmp_path):
    ga.to_npy_stack(tmp_path, ga.ones(3))
    equal(ga.from_npy_stack(tmp_path), np.ones(3))


def test_a_folder_that_is_no_stack_is_left_alone(tmp_path):
    (tmp_path / "a.txt").touch()
    with pytest.raises(OptionError, match="is there and isn't a stack"):
        ga.to_npy_stack(tmp_path, ga.ones(3))
    with pytest.raises(ReadError, match="isn't a stack of NPY files"):
        ga.from_npy_stack(tmp_path)


@given(arrays(full_shapes, ("int64",)))
def test_store_writes_into_targets_and_regions(pair):
    array, lazy = pair
    target, larger = np.zeros(array.shape, int), np.zeros([n + 3 for n in array.shape], int)
    region = tuple(slice(2, 2 + n) for n in array.shape)
    ga.store([lazy, lazy], [target, larger], regions=[None, region], scheduler="inline")
    np.testing.assert_array_equal(target, array)
    np.testing.assert_array_equal(larger[region], array)
    assert larger.sum() == array.sum()
    with pytest.raises(OptionError, match="not a slice of step 1"):
        lazy.store(target, regions=(slice(None, None, 2),) * array.ndim)


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    for package in ("zarr", "h5py"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match="need the package zarr: pip install zarr"):
        ga.ones(3).to_zarr(tmp_path / "x")
    with pytest.raises(ImportError, match="needs the package h5py"):
        ga.to_hdf5(tmp_path / "x", "a", ga.ones(3))


@settings(max_examples=examples(20))
@given(pair=arrays(full_shapes, ("int64", "float32", "complex128", "bool")), data=st.data())
def test_zarr_and_hdf5_give_back_what_was_written(tmp_path_factory, pair, data):
    array, lazy = pair
    folder = tmp_path_factory.mktemp("files")
    lazy.to_zarr(str(folder / "x.zarr"))
    equal(ga.from_zarr(str(folder / "x.zarr")), array)
    lazy.to_hdf5(folder / "x.h5", "/group/x")
    again = ga.from_hdf5(folder / "x.h5", "/group/x", chunks=2)
    equal(again, array)
    equal(again[::-1], array[::-1])


def test_files_of_big_endian_numbers_and_of_no_elements(tmp_path):
    for number, array in enumerate([np.arange(6, dtype=">i4").reshape(2, 3), np.zeros((0, 3), ">f8"), np.float64(3)]):
        lazy = ga.from_array(np.asarray(array), chunks=2)
        lazy.to_hdf5(tmp_path / "x.h5", f"{number}")
        equal(ga.from_hdf5(tmp_path / "x.h5", f"{number}"), array)
        lazy.to_zarr(str(tmp_path / f"{number}.zarr"))
        again = ga.from_zarr(
            str(tmp_path / f"{number}.zarr")
        )  # in the machine's byte order: Zarr's files keep their own
        equal(again, np.asarray(array).astype(again.dtype))
    ga.to_npy_stack(tmp_path / "stack", ga.from_array(np.zeros((0, 3), ">f8")))
    equal(ga.from_npy_stack(tmp_path / "stack"), np.zeros((0, 3), ">f8"))


def test_chunks_of_zarr_arrays_are_blocks_and_never_shared_by_two_tasks(tmp_path):
    x = np.arange(24).reshape(4, 6)
    ga.from_array(x, chunks=(3, 4)).to_zarr(str(tmp_path / "x.zarr"))
    assert ga.from_zarr(str(tmp_path / "x.zarr")).chunks == ((3, 1), (4, 2))
    target = zarr.create_array(store=str(tmp_path / "y.zarr"), shape=(4, 6), chunks=(2, 2), dtype=x.dtype)
    ga.from_array(x, chunks=(3, 3)).to_zarr(target)
    np.testing.assert_array_equal(target[:], x)
    assert aligned(((3, 1), (3, 3)), (2, 2), (0, 0)) == ((4,), (4, 2))
    assert aligned(((2, 2), (4, 2)), (2, 2), (0, 0)) == ((2, 2), (4, 2))
    assert aligned(((3, 3, 3), (2, 2)), (2, 2), (1, 3)) == ((3, 4, 2), (1, 2, 1))


def test_worker_processes_read_and_write_files(tmp_path):
    x = np.arange(1200.0).reshape(40, 30)
    lazy = ga.from_array(x, chunks=(5, 10))
    with gl.Client(n_workers=2, threads_per_worker=2):
        ga.to_hdf5(tmp_path / "x.h5", {"/x": lazy + 1, "/y": lazy * 2}, chunks=(5, 10))
        lazy.to_zarr(str(tmp_path / "x.zarr"))
        ga.to_npy_stack(tmp_path / "stack", lazy)
        np.testing.assert_array_equal(ga.from_hdf5(tmp_path / "x.h5", "/x").compute(), x + 1)
        np.testing.assert_array_equal(ga.from_hdf5(tmp_path / "x.h5", "/y").compute(), x * 2)
        np.testing.assert_array_equal((ga.from_zarr(str(tmp_path / "x.zarr")) + 1).compute(), x + 1)
        np.testing.assert_array_equal(ga.from_npy_stack(tmp_path / "stack").compute(), x)
        target = np.zeros(x.shape)
        ga.store(lazy, target)  # by threads: no other process has it
        np.testing.assert_array_equal(target, x)


def test_hdf5_files_say_what_is_in_them(tmp_path):
    ga.to_hdf5(tmp_path / "x.h5", {"/a/b": ga.ones(3), "c": ga.ones(3)})
    with pytest.raises(OptionError, match=r"has no data set 'd'; there are \['a/b', 'c'\]"):
        ga.from_hdf5(tmp_path / "x.h5", "d")
    with pytest.raises(ReadError, match="isn't an HDF5 file that can be read"):
        ga.from_hdf5(tmp_path / "y.h5", "d")
    with pytest.raises(TypeError, match="takes a name and an array, or a dict"):
        ga.to_hdf5(tmp_path / "x.h5")


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(1, 3), st.sampled_from(["xy", "ij"]))
def test_grids(lengths, chunk, indexing):
    lines = [np.arange(n) for n in lengths]
    lazy = [ga.arange(n, chunks=chunk) for n in lengths]
    for sparse in (False, True):
        expected = np.meshgrid(*lines, indexing=indexing, sparse=sparse)
        for one, other in zip(ga.meshgrid(*lazy, indexing=indexing, sparse=sparse), expected, strict=True):
            equal(one, other)
    equal(ga.indices(lengths, chunks=chunk), np.indices(lengths))
    made = ga.fromfunction(lambda *p: sum(p), lengths, chunks=chunk, dtype=int)
    equal(made, np.fromfunction(lambda *p: sum(p), lengths, dtype=int))


@given(st.integers(0, 6), st.integers(0, 6), st.integers(-4, 4), st.booleans())
def test_triangles_and_powers(n, m, k, increasing):
    equal(ga.tri(n, m, k, chunks=2), np.tri(n, m, k))
    equal(ga.identity(n, chunks=2), np.identity(n))
    equal(ga.vander(ga.arange(n, chunks=2), m, increasing), np.vander(np.arange(n), m, increasing))
    equal(ga.logspace(0, 3, n, chunks=2), np.logspace(0, 3, n), rtol=1e-12)


@given(arrays(full_shapes, ("float64", "complex128", "int64")), st.data())
def test_transforms_of_one_axis(pair, data):
    array, lazy = np.nan_to_num(pair[0]), ga.where(ga.isnan(pair[1]), 0, pair[1])
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    n = data.draw(st.none() | st.integers(2, 8))
    norm = data.draw(st.sampled_from([None, "ortho", "forward"]))
    for name in ("fft", "ifft", "rfft", "hfft", "irfft", "ihfft"):
        needs_real, needs_two = name in ("rfft", "ihfft"), name in ("hfft", "irfft")
        if needs_real and array.dtype.kind == "c" or needs_two and n is None and array.shape[axis] < 2:
            continue
        expected = getattr(np.fft, name)(array, n, axis, norm)
        equal(getattr(ga.fft, name)(lazy, n, axis, norm), expected, rtol=1e-9, atol=1e-9)
    equal(np.fft.fftshift(lazy, axis), np.fft.fftshift(array, axis))
    equal(ga.fft.ifftshift(lazy), np.fft.ifftshift(array))


@given(arrays(st.lists(st.integers(2, 5), min_size=2, max_size=3).map(tuple), ("float64",)), st.data())
def test_transforms_of_several_axes(pair, data):
    array, lazy = np.nan_to_num(pair[0]), ga.where(ga.isnan(pair[1]), 0, pair[1])
    axes = tuple(data.draw(st.permutations(range(array.ndim)))[:2])
    for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
        equal(getattr(np.fft, name)(lazy), getattr(np.fft, name)(array), rtol=1e-9, atol=1e-9)
        equal(getattr(ga.fft, name)(lazy, axes=axes), getattr(np.fft, name)(array, axes=axes), rtol=1e-9, atol=1e-9)


@given(st.integers(1, 9), st.floats(0.1, 3))
def test_frequencies(n, d):
    equal(ga.fft.fftfreq(n, d, chunks=2), np.fft.fftfreq(n, d), rtol=1e-12)
    equal(ga.fft.rfftfreq(n, d, chunks=2), np.fft.rfftfreq(n, d), rtol=1e-12)
