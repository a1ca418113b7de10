"""Sources of unlike content have unlike names, whatever their files' times say."""

import copy
import io
import os
import pickle
import threading

import glassloom as gl
import glassloom.array as ga
import numpy as np
import pytest
from glassloom.array.sources.choice import source_of
from glassloom.array.sources.locks import ProcessLock
from glassloom.array.sources.versions import file_version, may_change_unnoticed

LONG_AGO_NS = 10**18


@pytest.fixture
def old(monkeypatch):
    """Make files old enough to have versions as soon as they are written."""
    monkeypatch.setattr("glassloom.array.sources.versions._CLOCK_TICK_NS", -(10**30))
    monkeypatch.setattr("glassloom.array.sources.versions._COARSE_CLOCK_TICK_NS", -(10**30))


def _name(array):
    return ga.from_array(array).expr.name


class Announced:
    """An object that says what it is by `__dask_tokenize__`."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, place):
        return self.array[place]

    def __dask_tokenize__(self):
        return "the same"


def test_one_name_for_arrays_of_unlike_kind_shape_or_type_is_told_apart():
    kinds = [np.zeros(3), np.zeros(3, int), np.zeros(4), np.zeros((3, 1)), np.ma.zeros(3)]
    assert len({ga.from_array(each, name="mine").expr.name for each in kinds}) == len(kinds)
    assert ga.from_array(np.zeros(3), name="mine").expr.name == ga.from_array(np.zeros(3), name="mine").expr.name
    announced = [Announced(each) for each in kinds[:4]]
    assert len({_name(each) for each in announced}) == 4
    assert _name(announced[0]) == _name(announced[0])


def test_a_source_has_its_name_also_after_pickling():
    for each in (np.zeros(3), np.ma.zeros(3), Announced(np.zeros(3))):
        lazy = ga.from_array(each, name="mine")
        assert pickle.loads(pickle.dumps(lazy)).expr.name == lazy.expr.name


def test_a_file_whose_time_of_change_was_set_back_has_another_version(tmp_path, old):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(3))
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    before = file_version(path)
    assert file_version(path) == before
    with open(path, "r+b") as file:
        file.seek(-8, os.SEEK_END)
        file.write(np.float64(1).tobytes())
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    assert file_version(path) != before


def test_times_in_whole_seconds_are_waited_for_longer():
    assert [may_change_unnoticed(LONG_AGO_NS, LONG_AGO_NS + passed) for passed in (-1, 10**9, 2 * 10**9, 3 * 10**9)] == [
        True, True, True, False,
    ]  # fmt: skip
    assert [may_change_unnoticed(LONG_AGO_NS + 1, LONG_AGO_NS + passed) for passed in (0, 10**7, 10**8)] == [
        True, True, False,
    ]  # fmt: skip


def test_persisted_numbers_are_not_those_of_a_stack_that_was_rewritten_with_its_times(tmp_path, old):
    ga.to_npy_stack(tmp_path / "x", ga.zeros(3, chunks=3))
    kept = ga.from_npy_stack(tmp_path / "x")
    found = os.stat(tmp_path / "x" / "0.npy")
    with open(tmp_path / "x" / "0.npy", "r+b") as file:
        file.seek(-8, os.SEEK_END)
        file.write(np.float64(1).tobytes())
    os.utime(tmp_path / "x" / "0.npy", ns=(found.st_atime_ns, found.st_mtime_ns))
    assert ga.from_npy_stack(tmp_path / "x").expr.name != kept.expr.name


def test_arrays_of_objects_that_can_change_are_their_own():
    changing = [1]
    mine = np.empty(2, object)
    mine[:] = [changing, 3]
    lazy = ga.from_array(mine)
    changing.append(2)
    others = np.empty(2, object)
    others[:] = [[1], 3]
    for value in gl.compute(lazy, ga.from_array(others), scheduler="inline"):
        assert list(value) == [[1], 3]
    kept = source_of(mine, copy=False).array
    assert kept[0] is changing


def test_objects_that_cannot_be_copied_are_taken_as_they_are():
    mine = np.empty(1, object)
    mine[0] = threading.Lock()
    assert ga.from_array(mine).compute(scheduler="inline")[0] is mine[0]
    assert _name(mine) != _name(mine)


def test_objects_that_cannot_change_are_not_copied(monkeypatch):
    monkeypatch.setattr(copy, "deepcopy", lambda value: pytest.fail("copied"))
    mine = np.array(["a", 1, 2.5, None, b"c", np.float64(3), True], dtype=object)
    assert _name(mine) == _name(mine.copy())


def test_an_array_of_zarr_is_named_by_its_metadata_too(tmp_path, old):
    zarr = pytest.importorskip("zarr")
    for number in (2, 3):
        made = zarr.create_array(tmp_path / "x", shape=3, chunks=3, dtype="f8", zarr_format=number)
        made[:] = number
    second, third = (zarr.open_array(tmp_path / "x", mode="r", zarr_format=number) for number in (2, 3))
    assert _name(second) != _name(third)
    assert _name(third) == _name(zarr.open_array(tmp_path / "x", mode="r", zarr_format=3))
    before = zarr.open_array(tmp_path / "x", mode="r+", zarr_format=3)
    before.resize((6,))
    assert source_of(third).version != source_of(before).version


def test_data_sets_whose_elements_are_in_other_files_are_equal_to_nothing(tmp_path, old):
    h5py = pytest.importorskip("h5py")
    np.zeros(3).tofile(tmp_path / "raw")
    with h5py.File(tmp_path / "source.h5", "w") as file:
        file["x"] = np.zeros(3)
    layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
    layout[:] = h5py.VirtualSource(tmp_path / "source.h5", "x", shape=(3,))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("external", shape=3, dtype="f8", external=[(str(tmp_path / "raw"), 0, 24)])
        file["linked"] = h5py.ExternalLink(tmp_path / "source.h5", "/x")
        file["own"] = np.zeros(3)

    def names(of):
        with h5py.File(tmp_path / "x.h5", "r") as file:
            return (ga.from_hdf5(tmp_path / "x.h5", of).expr.name, _name(file[of]))

    assert names("own") == names("own")
    assert names("linked") == names("linked")
    for of in ("virtual", "external"):
        assert not set(names(of)) & set(names(of))
    before = names("linked")
    with h5py.File(tmp_path / "source.h5", "r+") as file:
        file["x"][...] = 1
    assert not set(before) & set(names("linked"))


def test_an_open_file_that_was_replaced_is_not_taken_for_the_new_one(tmp_path, old):
    h5py = pytest.importorskip("h5py")
    for name, value in (("x", 0), ("y", 1)):
        with h5py.File(tmp_path / name, "w") as file:
            file["x"] = np.full(3, value)
    with h5py.File(tmp_path / "x", "r") as file:
        os.replace(tmp_path / "y", tmp_path / "x")
        before = ga.from_array(file["x"])
        with h5py.File(tmp_path / "x", "r", locking=False) as again:
            assert before.expr.name != _name(again["x"])
        with pytest.raises(TypeError, match="was replaced"):
            pickle.dumps(before)
        assert before.sum().compute(scheduler="inline") == 0


def test_files_in_memory_and_views_of_data_sets_can_be_read_here(tmp_path, old):
    h5py = pytest.importorskip("h5py")
    with h5py.File(io.BytesIO(), "w") as file:
        file["x"] = np.arange(3) + 0.5
        assert ga.from_array(file["x"]).sum().compute(scheduler="inline") == 4.5
    memory = io.BytesIO()
    with h5py.File(memory, "w") as file:
        file["x"] = np.arange(3) + 0.5
    with h5py.File(memory, "r") as file:
        lazy = ga.from_array(file["x"])
        assert lazy.sum().compute(scheduler="inline") == 4.5
        with pytest.raises(TypeError, match="only this process can read"):
            pickle.dumps(lazy)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = np.arange(3) + 0.5
        file["text"] = ["a", "bc"]
        file["pair"] = np.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i8"), ("b", "f8")])
    with h5py.File(tmp_path / "x.h5", "r") as file:
        whole = ga.from_array(file["x"].astype("i4"))
        assert list(whole.compute(scheduler="inline")) == [0, 1, 2]
        assert whole.dtype == "i4"
        first, second = (ga.from_array(file["pair"].fields(name)) for name in "ab")
        assert [list(each) for each in gl.compute(first, second, scheduler="inline")] == [[1, 3], [2, 4]]
        assert list(ga.from_array(file["text"].asstr()).compute(scheduler="inline")) == ["a", "bc"]
        with pytest.raises(TypeError, match="view of data set"):
            pickle.dumps(whole)


class Sliced:
    """What is read block by block, as masked arrays, and counts who reads at the same time."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.n_reading = self.most_reading = 0
        self._count = threading.Lock()

    def __getitem__(self, place):
        with self._count:
            self.n_reading += 1
            self.most_reading = max(self.most_reading, self.n_reading)
        threading.Event().wait(0.002)
        with self._count:
            self.n_reading -= 1
        return self.array[place]


@pytest.mark.parametrize("lock", [True, threading.Lock()])
def test_one_thread_at_a_time_reads_what_is_locked(lock):
    source = Sliced(np.arange(20.0))
    assert ga.from_array(source, chunks=1, lock=lock).sum().compute() == 190
    assert source.most_reading == 1


def test_a_lock_of_a_process_is_one_after_pickling():
    lock = ProcessLock()
    with lock:
        again = pickle.loads(pickle.dumps(lock))
        assert again is lock
        assert not again._lock.acquire(blocking=False)
    assert ProcessLock() is not lock


def test_blocks_are_what_slicing_returns_if_asked_for():
    masked = np.ma.MaskedArray([1.0, 2, 3, 4], [0, 1, 0, 0])
    kept = ga.from_array(Sliced(masked), chunks=2, asarray=False)
    assert kept.sum().compute() == 8 and isinstance(kept.compute(), np.ma.MaskedArray)
    assert isinstance(kept[1:1].compute(), np.ma.MaskedArray)
    assert ga.from_array(Sliced(masked), chunks=2).sum().compute() == 10
    named = [ga.from_array(Sliced(masked), name="mine", asarray=each).expr.name for each in (None, True, False)]
    assert named[0] == named[1] != named[2]


def test_arrays_in_memory_are_numpys_if_asked_for():
    matrix = np.array([[1, 2], [3, 4]]).view(np.matrix)
    assert type(ga.from_array(matrix, asarray=True).compute()) is np.ndarray
    assert (ga.from_array(matrix, asarray=True, inline_array=True) * [1, 2]).compute().tolist() == [[1, 4], [3, 8]]
