"""How much is read of what is stored: of each slice no more than it must, and what several readers share once."""

import os
import shutil

import glassloom as gl
import glassloom.array as ga
import h5py
import numpy as np
import pytest
import zarr
from array_strategies import chunks_of, equal, slices_of
from glassloom.array.optimize import read_cost
from glassloom.array.sources import stored
from glassloom.array.sources.choice import source_of
from glassloom.array.sources.versions import folder_version
from glassloom.errors import ReadError, SerialisationError
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

N = 1000
VALUES = np.arange(N * N, dtype=float).reshape(N, N)


@pytest.fixture(scope="module")
def client():
    """One for all tests that need another process: starting one takes as long as all else that they do."""
    with gl.Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        yield client


class Counted:
    """A stored array that counts the elements which it hands over, and refuses what few kinds of storage can do."""

    def __init__(self, values, chunks=None):
        self.values, self.chunks = values, chunks
        self.shape, self.dtype = values.shape, values.dtype
        self.n_read, self.n_calls = 0, 0

    def __getitem__(self, place):
        assert len(place) == self.values.ndim
        for each, length in zip(place, self.shape, strict=True):
            assert isinstance(each, slice) and 0 <= each.start < each.stop <= length and (each.step or 1) > 0
        found = self.values[place]
        self.n_read += found.size
        self.n_calls += 1
        return found


SLICES = {
    "x[::100]": (np.s_[::100], 10 * N),
    "x[:, 0]": (np.s_[:, 0], N),
    "x[0]": (np.s_[0], N),
    "x[5:7, ::3]": (np.s_[5:7, ::3], 2 * N),
    "x[-1, -1]": (np.s_[-1, -1], 1),
    "x[::-200, 3]": (np.s_[::-200, 3], 5),
    "x[300:10:-1, 5:8]": (np.s_[300:10:-1, 5:8], 290 * 3),
    "x[:, ::-1][:2]": (np.s_[:2, ::-1], 2 * N),
}


@pytest.mark.parametrize("chunks", [None, (100, 100), (10, 1000)])
@pytest.mark.parametrize("name", SLICES)
def test_of_a_slice_only_what_it_covers_is_read(name, chunks):
    key, at_most = SLICES[name]
    data = Counted(VALUES, chunks)
    for blocks in (chunks or "auto", 250, (1000, 100)):
        data.n_read = 0
        lazy = ga.from_array(data, chunks=blocks)[key]
        np.testing.assert_array_equal(lazy.compute(), VALUES[key])
        assert data.n_read <= at_most
        data.n_read = 0
        np.testing.assert_array_equal((ga.from_array(data, chunks=blocks) + 1)[key].compute(), VALUES[key] + 1)
        assert data.n_read <= at_most


@pytest.mark.parametrize("chunks", [None, (100, 100)])
def test_what_is_read_whole_is_read_once_beside_its_slices(chunks):
    data = Counted(VALUES, chunks)
    y = ga.from_array(data, chunks=100)
    first, total, last = gl.compute(y[0], y.sum(), y[-1, ::7])
    np.testing.assert_array_equal(first, VALUES[0])
    np.testing.assert_array_equal(last, VALUES[-1, ::7])
    assert total == VALUES.sum()
    assert (data.n_calls, data.n_read) == (100, N * N)


def test_several_slices_are_read_apart_where_that_is_less():
    data = Counted(VALUES)
    y = ga.from_array(data, chunks=500)
    one, other = gl.compute(y[0], y[1:3])
    np.testing.assert_array_equal(other, VALUES[1:3])
    assert data.n_read == 3 * N
    data.n_read = 0
    np.testing.assert_array_equal((y[0] + y[:, 7]).compute(), VALUES[0] + VALUES[:, 7])
    assert data.n_read == 2 * N


def test_several_slices_are_read_together_where_that_is_less():
    data = Counted(VALUES)
    y = ga.from_array(data, chunks=500)
    np.testing.assert_array_equal((y[1:] - y[:-1]).compute(), VALUES[1:] - VALUES[:-1])
    assert data.n_read == N * N
    chunked = Counted(VALUES, (100, 1000))
    z = ga.from_array(chunked, chunks=(100, 1000))
    gl.compute(z[0], z[1])  # both lie in one chunk, which would be read twice
    assert (chunked.n_calls, chunked.n_read) == (1, 100 * N)


def test_chunks_are_not_read_again_for_each_of_the_smaller_blocks_that_they_are_cut_into():
    data = Counted(VALUES, (100, 1000))
    for blocks in ((10, 1000), (50, 100), (1000, 10)):
        data.n_read = data.n_calls = 0
        lazy = ga.from_array(data, chunks=(100, 1000)).rechunk(blocks)
        assert lazy.sum().compute() == VALUES.sum()
        assert (data.n_calls, data.n_read) == (10, N * N)
    data.n_calls = 0
    assert ga.from_array(data, chunks=(100, 1000)).rechunk(500).sum().compute() == VALUES.sum()
    assert data.n_calls == 10
    assert ga.from_array(Counted(VALUES), chunks=500).rechunk(250).sum().compute() == VALUES.sum()


@settings(max_examples=examples(200))
@given(st.data())
def test_any_slices_of_slices_of_anything_stored_are_numpys(data):
    shape = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple))
    values = np.arange(np.prod(shape)).reshape(shape)
    unit = data.draw(st.none() | st.tuples(*(st.integers(1, n) for n in shape)))
    stored_array = Counted(values, unit)
    x, expected = ga.from_array(stored_array, chunks=data.draw(chunks_of(shape))), values
    several = []
    for _ in range(data.draw(st.integers(1, 2))):
        key = tuple(data.draw(slices_of(n) | (st.integers(0, n - 1) if n else slices_of(n))) for n in expected.shape)
        several.append((x[key], expected[key]))
        if data.draw(st.booleans()):
            x, expected = several[-1]
    page = data.draw(st.sampled_from([1, 4096]))
    before, stored._PAGE_BYTES = stored._PAGE_BYTES, page
    try:
        for lazy, wanted in several:
            equal(lazy, wanted)
        found = gl.compute(*(lazy for lazy, _ in several), scheduler="inline")
    finally:
        stored._PAGE_BYTES = before
    for value, (_, wanted) in zip(found, several, strict=True):
        np.testing.assert_array_equal(value, wanted)


def _age(root):
    for folder, _, files in os.walk(root):
        for name in files:
            path = os.path.join(folder, name)
            os.utime(path, ns=(0, os.stat(path).st_mtime_ns - 10**11))
    while folder_version(root) != folder_version(root):
        pass  # that was a change, too: 20 ms
    return root


def test_slices_of_hdf5_and_zarr_are_read_alone(tmp_path, monkeypatch):
    n_read = []
    whole_read = stored.StoredSource.region

    def counted(self, region):
        block = whole_read(self, region)
        n_read.append((block if block.base is None else block.base).size)
        return block

    monkeypatch.setattr(stored.StoredSource, "region", counted)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["contiguous"] = VALUES
        file.create_dataset("chunked", data=VALUES, chunks=(100, 100))
    zarr.create_array(str(tmp_path / "x.zarr"), data=VALUES, chunks=(50, 50), shards=(100, 100))
    made = [ga.from_hdf5(tmp_path / "x.h5", name) for name in ("contiguous", "chunked")]
    for lazy in (*made, ga.from_zarr(str(tmp_path / "x.zarr"))):
        for key, at_most in SLICES.values():
            n_read.clear()
            np.testing.assert_array_equal(lazy[key].compute(), VALUES[key])
            assert sum(n_read) <= at_most


# Names of what is stored say which content they stand for.


@pytest.fixture(params=["zarr", "zarr group", "hdf5", "stack", "npy"])
def written(request, tmp_path):
    """A function that writes values, and one that opens what was written."""
    path = str(tmp_path / "x")
    write, read = {
        "zarr": (lambda v: ga.to_zarr(v, path, overwrite=True), lambda: ga.from_zarr(path)),
        "zarr group": (
            lambda v: ga.to_zarr(v, path, component="a/b", overwrite=True),
            lambda: ga.from_zarr(path, component="a/b"),
        ),
        "hdf5": (lambda v: ga.to_hdf5(path, "x", v), lambda: ga.from_hdf5(path, "x")),
        "stack": (lambda v: ga.to_npy_stack(path, v), lambda: ga.from_npy_stack(path)),
        "npy": (
            lambda v: np.save(path + ".npy", v.compute()),
            lambda: ga.from_array(np.load(path + ".npy", mmap_mode="r"), chunks=2),
        ),
    }[request.param]
    return write, read, tmp_path


def test_a_file_that_is_written_anew_has_another_name(written, client):
    write, read, folder = written
    write(ga.zeros((4, 4), chunks=2))
    held = read().persist(scheduler=client)
    assert held.compute(scheduler=client).sum() == 0  # has been read by now
    before = read()
    write(ga.ones((4, 4), chunks=2))
    assert read().name not in (held.name, before.name)
    assert read().compute(scheduler=client).sum() == 16
    assert held.compute(scheduler=client).sum() == 0


def test_a_file_that_has_not_changed_for_a_while_has_one_name(written):
    write, read, folder = written
    write(ga.zeros((4, 4), chunks=2))
    _age(folder)
    assert read().name == read().name
    assert read().sum().name == read().sum().name


def test_one_chunk_that_is_written_anew_changes_the_name(tmp_path):
    ga.to_zarr(ga.zeros((4, 4), chunks=2), str(tmp_path / "x"))
    _age(tmp_path)
    before = ga.from_zarr(str(tmp_path / "x")).name
    zarr.open_array(str(tmp_path / "x"))[0, 0] = 1
    _age(tmp_path)
    assert ga.from_zarr(str(tmp_path / "x")).name != before


def test_what_cannot_say_whether_it_has_changed_is_equal_to_nothing(tmp_path):
    in_memory = zarr.create_array(zarr.storage.MemoryStore(), shape=4, dtype=float, chunks=2)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = VALUES[0]
        for data in (in_memory, file["x"], Counted(VALUES)):
            assert source_of(data).version != source_of(data).version
            assert source_of(data, "mine").version == source_of(data, "mine").version
    _age(tmp_path)
    with h5py.File(tmp_path / "x.h5", "r") as file:
        assert source_of(file["x"]).version == source_of(file["x"]).version


class WithToken(Counted):
    def __dask_tokenize__(self):
        return ("WithToken", self.shape)


def test_what_has_a_token_is_named_by_it():
    assert source_of(WithToken(VALUES)).version == source_of(WithToken(VALUES)).version


# What is replaced, or would be changed


@pytest.mark.parametrize("format", [2, 3])
def test_a_zarr_array_that_was_replaced_is_not_read_as_the_old_one(tmp_path, format):
    path = str(tmp_path / "x")
    ga.to_zarr(ga.arange(6, chunks=3), path, zarr_format=format)
    _age(tmp_path)
    lazy = ga.from_zarr(path)
    zarr.open_array(path).attrs["unit"] = "m"
    assert lazy.compute().tolist() == [0, 1, 2, 3, 4, 5]
    ga.to_zarr(ga.arange(10, 13, chunks=3), path, overwrite=True, zarr_format=format)
    with pytest.raises(ReadError, match="was replaced or removed; call from_zarr again"):
        lazy.compute()
    shutil.rmtree(path)
    with pytest.raises(ReadError, match="was replaced or removed; call from_zarr again"):
        lazy.compute()


@pytest.mark.parametrize("mmap_mode", ["r", "r+", "c", None])
def test_a_stack_that_was_replaced_is_not_read_as_the_old_one(tmp_path, mmap_mode):
    ga.to_npy_stack(tmp_path / "x", ga.arange(6, chunks=3))
    _age(tmp_path)
    lazy = ga.from_npy_stack(tmp_path / "x", mmap_mode)
    for other in (ga.arange(4, chunks=4), ga.arange(6, chunks=3)):
        ga.to_npy_stack(tmp_path / "x", other)
        with pytest.raises(ReadError, match="was replaced or removed; call from_npy_stack again"):
            lazy.compute()


def test_a_data_set_that_was_replaced_is_not_read_as_the_old_one(tmp_path):
    ga.to_hdf5(tmp_path / "x.h5", "x", ga.arange(6, chunks=3))
    lazy = ga.from_hdf5(tmp_path / "x.h5", "x")
    for other in (np.arange(3), np.arange(6.0), None):
        with h5py.File(tmp_path / "x.h5", "w") as file:
            if other is not None:
                file["x"] = other
        with pytest.raises(ReadError, match="was replaced; call from_hdf5 again"):
            lazy.compute()


def _doubles(block):
    block *= 2
    return block


@pytest.mark.parametrize("chunks", [2, 4])
def test_tasks_cannot_write_to_what_they_are_given(tmp_path, chunks):
    values = np.arange(4.0)
    ga.to_npy_stack(tmp_path / "x", ga.from_array(values, chunks=4))
    for lazy in (
        ga.from_npy_stack(tmp_path / "x", "r+").rechunk(chunks),
        ga.from_array(Counted(values), chunks=chunks),
    ):
        with pytest.raises(ValueError, match="read-only"):
            lazy.map_blocks(_doubles, dtype=float).compute()
    assert values.tolist() == np.load(tmp_path / "x" / "0.npy").tolist() == [0, 1, 2, 3]
    result = ga.from_array(Counted(values), chunks=4).compute()
    result[:] = 7  # it is the caller's own
    assert values.tolist() == [0, 1, 2, 3]


def test_a_file_is_read_while_it_is_written(tmp_path):
    path = tmp_path / "x.h5"
    values = np.arange(60.0)
    ga.to_hdf5(path, "/x", ga.from_array(values, chunks=2))
    for number in range(3):
        x = ga.from_hdf5(path, "/x", chunks=2)
        ga.to_hdf5(path, {f"/y{number}": x + 1, f"/z{number}": x[::-1]})
        np.testing.assert_array_equal(ga.from_hdf5(path, f"/y{number}").compute(), values + 1)
        np.testing.assert_array_equal(ga.from_hdf5(path, f"/z{number}").compute(), values[::-1])


@pytest.mark.parametrize("dtype", ["U3", "M8[s]", "m8[s]", "O"])
def test_what_hdf5_cannot_hold_is_named_before_a_file_is_made(tmp_path, dtype):
    with pytest.raises(TypeError, match=r"HDF5 can't hold array '/y' of dtype=.*convert it first"):
        ga.to_hdf5(tmp_path / "x.h5", {"/x": ga.ones(2), "/y": ga.from_array(np.zeros(2, dtype))})
    assert not list(tmp_path.iterdir())


def test_data_sets_of_open_files_are_read_by_other_processes_if_nobody_writes_to_them(tmp_path, client):
    values = np.arange(6.0)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = values
        with pytest.raises(SerialisationError, match="open for writing.*use from_hdf5, or compute with scheduler="):
            ga.from_array(file["x"], chunks=2).sum().compute(scheduler=client)
        assert ga.from_array(file["x"], chunks=2).sum().compute(scheduler="threads") == 15
    with h5py.File(tmp_path / "x.h5", "r") as file:
        assert ga.from_array(file["x"], chunks=2).sum().compute(scheduler=client) == 15


def test_of_many_slices_each_looks_at_its_own_blocks_alone(monkeypatch):
    n_looks = []
    first = read_cost._first
    monkeypatch.setattr(read_cost, "_first", lambda *args: n_looks.append(1) or first(*args))
    lazy = ga.from_array(Counted(VALUES[0], chunks=(1,)), chunks=1)
    parts = [lazy[start : start + 2] for start in range(0, 1000, 10)]
    found = gl.compute(*parts, scheduler="inline")
    np.testing.assert_array_equal(
        np.concatenate(found), np.concatenate([VALUES[0][s : s + 2] for s in range(0, 1000, 10)])
    )
    assert 0 < len(n_looks) <= 3 * len(parts)
