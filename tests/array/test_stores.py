"""Nothing is lost where several tasks write to one target, and nothing that is half written looks whole."""

import itertools
import os
import pathlib
import subprocess
import sys
import textwrap
import threading

import glassloom as gl
import glassloom.array as ga
import h5py
import numpy as np
import pytest
import zarr
from array_strategies import blocks_of
from eventual import eventually
from glassloom.array.api import files
from glassloom.array.sources.hdf5_file import DataSetTarget
from glassloom.array.sources.locks import TemporaryLock, locked
from glassloom.array.sources.sink import MARK, Replacement, ZarrReplacement, aligned, identity_of
from glassloom.errors import OptionError, ReadError
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

VALUES = np.random.default_rng(0).random((48, 60))

STORAGE = [
    {"chunks": (8, 10)},
    {"chunks": (8, 10), "shards": (24, 20)},
    {"chunks": (48, 60)},
    {"chunks": (6, 60), "shards": (48, 60)},
    {"chunks": (5, 7)},
    {"chunks": (5, 7), "shards": (20, 14)},
]
BLOCKS = [(8, 10), (24, 20), (7, 11), (48, 3), (5, 60), ((1, 20, 27), (30, 30))]


@pytest.fixture(scope="module")
def client():
    with gl.Client(n_workers=2, threads_per_worker=2) as client:
        yield client


@pytest.fixture(params=["threads", "processes"])
def scheduler(request):
    return "threads" if request.param == "threads" else request.getfixturevalue("client")


@pytest.mark.pairwise
@pytest.mark.parametrize(("storage", "offset"), list(itertools.product(STORAGE, [(0, 0), (3, 9)])), ids=str)
def test_blocks_that_share_a_chunk_or_a_shard_lose_nothing(storage, offset, scheduler, tmp_path):
    for number, blocks in enumerate(BLOCKS):
        target = zarr.create_array(str(tmp_path / f"{number}.zarr"), shape=(60, 75), dtype=float, **storage)
        region = tuple(slice(begin, begin + length) for begin, length in zip(offset, VALUES.shape, strict=True))
        ga.store(ga.from_array(VALUES, chunks=blocks), target, regions=region, scheduler=scheduler)
        expected = np.zeros((60, 75))
        expected[region] = VALUES
        np.testing.assert_array_equal(target[:], expected)


@pytest.mark.parametrize("storage", STORAGE, ids=str)
def test_arrays_are_written_to_zarr_in_any_chunks_and_shards(storage, client, tmp_path):
    for number, blocks in enumerate(BLOCKS):
        lazy, path = ga.from_array(VALUES, chunks=blocks), str(tmp_path / f"{number}.zarr")
        ga.to_zarr(lazy, path, **storage)
        written = zarr.open_array(path)
        assert (written.chunks, written.shards) == (storage["chunks"], storage.get("shards"))
        np.testing.assert_array_equal(written[:], VALUES)
        again = zarr.create_array(str(tmp_path / f"{number}b.zarr"), shape=VALUES.shape, dtype=float, **storage)
        ga.to_zarr(lazy, again)
        np.testing.assert_array_equal(again[:], VALUES)


def test_several_arrays_share_the_chunks_of_one_target(scheduler, tmp_path):
    target = zarr.create_array(str(tmp_path / "x.zarr"), shape=(48, 60), dtype=float, chunks=(48, 60))
    rows = [slice(start, start + 6) for start in range(0, 48, 6)]
    parts = [ga.from_array(VALUES[each], chunks=(2, 20)) for each in rows]
    ga.store(parts, [target] * len(rows), regions=[(each, slice(None)) for each in rows], scheduler=scheduler)
    np.testing.assert_array_equal(target[:], VALUES)


@settings(max_examples=examples(100))
@given(st.data(), st.integers(1, 40), st.integers(1, 9), st.integers(0, 20))
def test_aligned_blocks_cover_the_same_and_end_where_units_do(data, length, unit, begin):
    blocks = data.draw(blocks_of(length))
    (made,) = aligned((blocks,), (unit,), (begin,))
    assert sum(made) == length
    ends = begin + np.cumsum(made)[:-1]
    assert (ends % unit == 0).all()
    assert max(made) < max(blocks) + unit
    assert (made == blocks) == bool(((begin + np.cumsum(blocks)[:-1]) % unit == 0).all()) or not unit - 1


class ReadModifyWrite:
    """A target in a file, whose every write reads and writes all of it: of several at a time all but one are lost."""

    def __init__(self, path):
        self.path = path

    def __setitem__(self, place, block):
        whole = np.load(self.path)
        whole[place] = block
        np.save(self.path, whole)


def test_targets_that_do_not_say_what_they_write_are_written_by_one_task_at_a_time(scheduler, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(VALUES.shape))
    ga.store(ga.from_array(VALUES, chunks=(6, 6)), ReadModifyWrite(path), scheduler=scheduler)
    np.testing.assert_array_equal(np.load(path), VALUES)


class Chunked:
    """A target that says in NumPy's, or in Dask's way how it is cut."""

    def __init__(self, chunks):
        self.values, self.chunks, self.shape, self.places = np.zeros(VALUES.shape), chunks, VALUES.shape, []

    def __setitem__(self, place, block):
        self.places.append(place)
        self.values[place] = block


def test_what_chunks_say_is_believed_if_they_are_lengths():
    lazy = ga.from_array(VALUES, chunks=(7, 60))
    for chunks, n_blocks in (((12, 60), 4), ((np.int64(12), np.int64(60)), 4), (((24, 24), (60,)), 7), ("auto", 7)):
        target = Chunked(chunks)
        ga.store(lazy, target, scheduler="threads")
        assert len(target.places) == n_blocks
        np.testing.assert_array_equal(target.values, VALUES)


class CountedLock:
    def __init__(self):
        self.count = 0

    def __enter__(self):
        self.count += 1

    def __exit__(self, *args):
        pass


def test_a_lock_of_ones_own_is_held_for_each_block_and_none_if_none_is_wanted(tmp_path):
    own, out = CountedLock(), np.zeros(VALUES.shape)
    ga.store(ga.from_array(VALUES, chunks=(6, 60)), out, lock=own)
    assert own.count == 8
    ga.from_array(VALUES, chunks=(6, 60)).store(out, lock=False)
    np.testing.assert_array_equal(out, VALUES)


def test_locks_of_a_store_are_files_that_go_with_it(tmp_path):
    with TemporaryLock() as lock:
        assert os.path.exists(lock.path)
        with lock.held():
            code = (
                "import fcntl, sys\n"
                "try: fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
                "except BlockingIOError: print('held')"
            )
            found = subprocess.run([sys.executable, "-c", code, lock.path], capture_output=True, text=True, check=True)
        assert found.stdout == "held\n"
        with locked(lock.path):
            pass
    assert not os.path.exists(lock.path)


def test_equal_targets_are_all_written():
    one, other = np.zeros(VALUES.shape), np.zeros(VALUES.shape)
    lazy = ga.from_array(VALUES, chunks=(24, 30))
    ga.store([lazy, lazy], [one, other])
    np.testing.assert_array_equal(one, VALUES)
    np.testing.assert_array_equal(other, VALUES)


def test_maps_of_files_are_written_by_other_processes(scheduler, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((60, 75)))
    target = np.load(tmp_path / "x.npy", mmap_mode="r+")
    ga.store(ga.from_array(VALUES, chunks=(7, 11)), target[5:53, 10:70], scheduler=scheduler)
    np.testing.assert_array_equal(target[5:53, 10:70], VALUES)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy")[5:53, 10:70], VALUES)
    assert target.sum() == pytest.approx(VALUES.sum())


def test_what_is_in_this_process_alone_is_written_by_its_threads(client, tmp_path):
    lazy = ga.from_array(VALUES, chunks=(7, 11))
    in_memory = zarr.create_array(zarr.storage.MemoryStore(), shape=VALUES.shape, dtype=float, chunks=(8, 10))
    ga.store(lazy, in_memory)
    np.testing.assert_array_equal(in_memory[:], VALUES)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        ga.store(lazy, file.create_dataset("x", VALUES.shape, chunks=(5, 5), dtype=float))
        ga.store(lazy, file.create_dataset("y", VALUES.shape, dtype=float))
        np.testing.assert_array_equal(file["x"][:], VALUES)
        np.testing.assert_array_equal(file["y"][:], VALUES)


class OwnMemory:
    """A target that is nowhere but in its process."""

    def __init__(self):
        self.values = np.zeros(VALUES.shape)

    def __setitem__(self, place, block):
        self.values[place] = block


@pytest.mark.parametrize("kind", ["fsspec", "logging", "zip", "own"])
def test_what_is_not_known_to_be_of_all_processes_is_written_by_this_one(kind, client, tmp_path):
    lazy = ga.from_array(VALUES, chunks=(24, 30))
    stores = {
        "fsspec": lambda: zarr.storage.FsspecStore.from_url(f"memory://{tmp_path}"),
        "logging": lambda: zarr.storage.LoggingStore(zarr.storage.MemoryStore(), log_level="ERROR"),
        "zip": lambda: zarr.storage.ZipStore(tmp_path / "x.zip", mode="w"),
    }
    if kind == "own":
        target = OwnMemory()
        ga.store(lazy, target)
        np.testing.assert_array_equal(target.values, VALUES)
        return
    store = stores[kind]()
    target = zarr.create_array(store, shape=VALUES.shape, dtype=float, chunks=(24, 30))
    ga.store(lazy, target)
    np.testing.assert_array_equal(target[:], VALUES)
    with pytest.raises(OptionError, match="Array of shape .* is in this process alone"):
        ga.store(lazy, target, scheduler=client)
    store.close()


def test_a_lock_of_this_process_is_held_by_this_process(client, tmp_path):
    target = zarr.create_array(str(tmp_path / "x.zarr"), shape=VALUES.shape, dtype=float, chunks=(24, 30))
    ga.store(ga.from_array(VALUES, chunks=(24, 30)), target, lock=threading.Lock())
    np.testing.assert_array_equal(target[:], VALUES)
    with pytest.raises(OptionError, match="holds threads of this process alone"):
        ga.store(ga.ones((48, 60)), target, lock=threading.Lock(), scheduler=client)


def test_relative_paths_are_those_of_this_process(client, tmp_path, monkeypatch):
    lazy = ga.from_array(VALUES, chunks=(24, 30))
    assert (lazy + 1).sum().compute() == pytest.approx((VALUES + 1).sum())  # the workers run, in another folder
    monkeypatch.chdir(tmp_path)
    lazy.to_zarr("x.zarr")
    target = zarr.create_array("y.zarr", shape=VALUES.shape, dtype=float, chunks=(24, 30))
    ga.store(lazy, target)
    ga.to_npy_stack("stack", lazy)
    ga.to_hdf5("x.h5", "x", lazy)
    np.save("x.npy", VALUES)
    mapped = np.load("x.npy", mmap_mode="r")
    found = [
        ga.from_zarr("x.zarr"), ga.from_zarr(target), ga.from_array(zarr.open_array("x.zarr", mode="r")),
        ga.from_npy_stack("stack"), ga.from_hdf5("x.h5", "x"), ga.from_array(mapped, chunks=(24, 30)),
    ]  # fmt: skip
    np.testing.assert_array_equal(target[:], VALUES)
    for read in found:
        np.testing.assert_array_equal((read + 1).compute(), VALUES + 1)


def test_one_array_that_several_paths_lead_to_has_one_lock(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    zarr.create_array("x.zarr", shape=VALUES.shape, dtype=float, chunks=VALUES.shape)
    (tmp_path / "link").symlink_to("x.zarr")
    paths = ["x.zarr", str(tmp_path / "x.zarr"), str(tmp_path / "link"), f"file://{tmp_path}/x.zarr"]
    targets = [zarr.open_array(path) for path in paths]
    assert {identity_of(target) for target in targets} == {f"file:{tmp_path.resolve()}/x.zarr"}
    in_memory = zarr.storage.MemoryStore()
    assert identity_of(zarr.create_array(in_memory, name="a", shape=1, dtype=int)) != identity_of(
        zarr.create_array(in_memory, name="b", shape=1, dtype=int)
    )
    with h5py.File("x.h5", "w") as file:
        file["x"] = file["y"] = VALUES
        assert identity_of(file["x"]) == identity_of(file["x"]) != identity_of(file["y"])


@pytest.mark.parametrize("freeze", ["mode", "flag"])
def test_arrays_that_are_read_only_are_refused(freeze, client, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(4))
    target = np.load(tmp_path / "x.npy", mmap_mode="r" if freeze == "mode" else "r+")
    target.flags.writeable = False
    for each in (target, target[:], np.broadcast_to(np.zeros(1), 4)):
        with pytest.raises(ValueError, match=r"the target, an array of shape \(4,\), is read-only"):
            ga.store(ga.ones(4, chunks=2), each)
    assert np.load(tmp_path / "x.npy").sum() == 0


@pytest.mark.parametrize(
    ("shape", "target", "region"),
    [
        ((5,), (3,), None),
        ((3,), (5,), None),
        ((4,), (4, 2), None),
        ((4,), (4,), (slice(0, 2),)),
        ((4,), (6,), (slice(-2, None),)),
        ((4,), (6,), (slice(4, 8),)),
        ((4,), (6,), (slice(4, 0),)),
        ((4,), (4, 2), (slice(0, 4),)),
        ((4,), (4, 2), (slice(0, 4), slice(0, 1))),
        ((4,), (6,), slice(0, 4)),
        ((4,), (6,), (slice(0, 4, 2),)),
        ((4,), (6,), (0,)),
        ((1, 4), (4, 4), (slice(0, 4), slice(0, 4))),
        ((4,), None, (slice(-4, None),)),
        ((4,), None, (slice(2, 4),)),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_before_anything_is_written(shape, target, region):
    out = Unshaped() if target is None else np.zeros(target)
    with pytest.raises(OptionError, match="fit|is no part of|is not a|counts from the end"):
        ga.store(ga.ones(shape, chunks=1), out, regions=region)
    assert np.sum(out.values if target is None else out) == 0


class Unshaped:
    def __init__(self):
        self.values = np.zeros(20)

    def __setitem__(self, place, block):
        self.values[place] = block


def test_regions_may_count_from_the_end():
    out = np.zeros(6)
    ga.store(ga.arange(2, chunks=1), out, regions=(slice(-3, -1),))
    ga.store(ga.full(2, 7, chunks=1), out, regions=(slice(None, 2),))
    assert out.tolist() == [7, 7, 0, 0, 1, 0]
    unshaped = Unshaped()
    ga.store(ga.ones(3, chunks=2), unshaped, regions=(slice(5, None),))
    assert unshaped.values[5:8].sum() == unshaped.values.sum() == 3


# What ends too early


KILLED = """
import os, sys
import glassloom.array as ga
import numpy as np

def killed(block, block_id):
    if block_id[0] == 3:
        os._exit(9)
    return block

x = ga.ones((6, 4), chunks=(1, 4)).map_blocks(killed, dtype=float)
path = sys.argv[1]
if __name__ == "__main__":
    {call}
"""

WRITES = {
    "zarr": ("ga.to_zarr(x, path, overwrite=True)", lambda path: ga.from_zarr(path)),
    "zarr with shards": (
        "ga.to_zarr(x, path, chunks=(1, 4), shards=(2, 4), overwrite=True)",
        lambda path: ga.from_zarr(path),
    ),
    "hdf5": ("ga.to_hdf5(path, 'x', x)", lambda path: ga.from_hdf5(path, "x")),
    "stack": ("ga.to_npy_stack(path, x)", lambda path: ga.from_npy_stack(path)),
}


def _killed(call, path):
    code = textwrap.dedent(KILLED).format(call=call)
    ended = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 9, ended.stderr


@pytest.mark.parametrize("write", WRITES)
def test_what_was_not_written_to_its_end_is_not_read(write, tmp_path):
    call, read = WRITES[write]
    path = str(tmp_path / "x")
    _killed(call, path)
    with pytest.raises(ReadError, match="was not written to its end|isn't a stack of NPY files|can't be read"):
        read(path)


def test_a_stack_that_was_there_stays_until_the_new_one_is_complete(tmp_path):
    path = str(tmp_path / "x")
    ga.to_npy_stack(path, ga.zeros((6, 4), chunks=3))
    _killed(WRITES["stack"][0], path)
    assert ga.from_npy_stack(path).compute().sum() == 0
    ga.to_npy_stack(path, ga.ones((6, 4), chunks=2))
    assert ga.from_npy_stack(path).compute().sum() == 24


def _fails(block, block_id):
    if block_id[0] == 1:
        raise RuntimeError("no")
    return block


def test_what_a_task_fails_to_write_is_not_read_and_may_be_written_again(tmp_path):
    bad, good = ga.ones((4, 4), chunks=2).map_blocks(_fails, dtype=float), ga.ones((4, 4), chunks=2)
    zarr_path, hdf5_path, stack_path = (str(tmp_path / name) for name in "abc")
    for attempt in (bad, good):
        if attempt is bad:
            with pytest.raises(RuntimeError, match="no"):
                ga.to_zarr(attempt, zarr_path)
            with pytest.raises(RuntimeError, match="no"):
                ga.to_hdf5(hdf5_path, "x", attempt)
            with pytest.raises(RuntimeError, match="no"):
                ga.to_npy_stack(stack_path, attempt)
            with pytest.raises(ReadError, match=f"was not written to its end.*{MARK}"):
                ga.from_zarr(zarr_path)
            with pytest.raises(ReadError, match=f"was not written to its end.*{MARK}"):
                ga.from_hdf5(hdf5_path, "x")
            assert {each.name for each in tmp_path.iterdir()} == {"a", "b"}
        else:
            ga.to_zarr(attempt, zarr_path, overwrite=True, attributes={"unit": "m"})
            ga.to_hdf5(hdf5_path, "x", attempt)
            ga.to_npy_stack(stack_path, attempt)
    for read in (ga.from_zarr(zarr_path), ga.from_hdf5(hdf5_path, "x"), ga.from_npy_stack(stack_path)):
        assert read.sum().compute() == 16
    assert dict(zarr.open_array(zarr_path).attrs) == {"unit": "m"}


def test_a_zarr_array_may_be_overwritten_by_what_is_read_from_it(scheduler, tmp_path):
    path = str(tmp_path / "x.zarr")
    with gl.config.set({"compute.scheduler": scheduler} if scheduler == "threads" else {}):
        for component in (None, "a/b"):
            ga.to_zarr(ga.arange(6, chunks=3), path, component=component, overwrite=True, zarr_format=2)
            for url in (path, tmp_path / "x.zarr", f"file://{path}", zarr.storage.LocalStore(path)):
                before = ga.from_zarr(path, component=component).compute()
                ga.to_zarr(ga.from_zarr(path, component=component) * 10, url, component=component, overwrite=True)
                assert ga.from_zarr(path, component=component).compute().tolist() == (before * 10).tolist()
    assert {each.name for each in tmp_path.iterdir()} == {"x.zarr"}


def test_a_zarr_array_that_was_there_stays_until_the_new_one_is_complete(tmp_path):
    path = str(tmp_path / "x.zarr")
    ga.to_zarr(ga.arange(4, chunks=2), path)
    with pytest.raises(RuntimeError, match="no"):
        ga.to_zarr(ga.ones((4, 4), chunks=2).map_blocks(_fails, dtype=float), path, overwrite=True)
    assert ga.from_zarr(path).compute().tolist() == [0, 1, 2, 3]
    eventually(lambda: {each.name for each in tmp_path.iterdir()} == {"x.zarr"})  # a task may be writing still
    _killed(WRITES["zarr"][0], path)
    assert ga.from_zarr(path).compute().tolist() == [0, 1, 2, 3]


def test_what_is_written_after_its_end_is_removed(tmp_path):
    place = Replacement(tmp_path / "x")
    target = ZarrReplacement(zarr.create_array(str(place.folder), shape=4, chunks=2, dtype=float), place.folder)
    target[:2] = 1
    assert zarr.open_array(str(place.folder))[:].sum() == 2
    place.discard()
    target[2:] = 1
    place.discard()
    assert not list(tmp_path.iterdir())


def test_what_would_be_erased_before_it_is_read_is_refused():
    store = zarr.storage.MemoryStore()
    ga.to_zarr(ga.arange(4, chunks=2), store, component="a/b")
    for component in ("a/b", "a", None):
        with pytest.raises(OptionError, match="which overwrite=True would erase first"):
            ga.to_zarr(ga.from_zarr(store, component="a/b") * 2, store, component=component, overwrite=True)
    ga.to_zarr(ga.from_zarr(store, component="a/b") * 2, store, component="a/c", overwrite=True)
    ga.to_zarr(ga.from_zarr(store, component="a/b") * 3, store, component="a/c", overwrite=True)
    assert ga.from_zarr(store, component="a/c").compute().tolist() == [0, 3, 6, 9]


def test_folders_that_are_no_zarr_are_not_overwritten(tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(OptionError, match="is neither a Zarr array nor a group"):
        ga.to_zarr(ga.ones(4), str(tmp_path), overwrite=True)
    assert (tmp_path / "precious.txt").read_text() == "mine"


STACK = '{"chunks": [[2, 2]], "dtype": "<f8", "axis": 0}'


@pytest.mark.parametrize(
    ("info", "other"),
    [("{}", "0.npy"), ("[]", "0.npy"), ("no", "0.npy"), (STACK, "precious.txt"), (STACK, "2.npy"), (STACK, "0.npy/x")],
)
def test_folders_that_hold_anything_but_a_stack_are_not_replaced(info, other, tmp_path):
    (tmp_path / "info.json").write_text(info)
    file = tmp_path / other
    file.parent.mkdir(exist_ok=True)
    file.write_text("mine")
    with pytest.raises(OptionError, match="isn't a stack of NPY files, so it is not replaced"):
        ga.to_npy_stack(tmp_path, ga.ones(4, chunks=2))
    assert file.read_text() == "mine"


def test_a_folder_that_gets_a_file_while_a_stack_is_written_is_not_replaced(tmp_path):
    path = tmp_path / "x"
    ga.to_npy_stack(path, ga.zeros(4, chunks=2))

    def adds(block):
        (path / "precious.txt").write_text("mine")
        return block

    with pytest.raises(OptionError, match="holds 'precious.txt'"):
        ga.to_npy_stack(path, ga.ones(4, chunks=2).map_blocks(adds, dtype=float))
    assert (path / "precious.txt").read_text() == "mine"


def test_what_cannot_be_replaced_is_put_back(tmp_path, monkeypatch):
    path, renamed = tmp_path / "x", pathlib.Path.rename
    ga.to_npy_stack(path, ga.zeros(4, chunks=2))

    def fails(self, to):
        if to == path and self.suffix == ".partial":
            raise OSError("full")
        return renamed(self, to)

    monkeypatch.setattr(pathlib.Path, "rename", fails)
    with pytest.raises(OSError, match="full"):
        ga.to_npy_stack(path, ga.ones(4, chunks=2))
    assert ga.from_npy_stack(path).compute().sum() == 0
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


def test_a_link_to_a_stack_stays_a_link(tmp_path):
    ga.to_npy_stack(tmp_path / "x", ga.zeros(4, chunks=2))
    (tmp_path / "link").symlink_to("x")
    ga.to_npy_stack(tmp_path / "link", ga.ones(4, chunks=2))
    assert (tmp_path / "link").is_symlink()
    assert ga.from_npy_stack(tmp_path / "x").compute().sum() == 4


def test_stacks_hold_no_objects(tmp_path):
    with pytest.raises(TypeError, match="can't write dtype=object"):
        ga.to_npy_stack(tmp_path / "x", ga.from_array(np.array([None, 1])))
    assert not list(tmp_path.iterdir())


def _as_zarr(tmp_path):
    target = zarr.create_array(str(tmp_path / "x.zarr"), shape=VALUES.shape, dtype=float, chunks=(8, 10))
    target[:] = VALUES
    return target, ga.from_zarr(str(tmp_path / "x.zarr")), lambda: zarr.open_array(str(tmp_path / "x.zarr"))[:]


def _as_memory_map(tmp_path):
    target = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=float, shape=VALUES.shape)
    target[:] = VALUES
    target.flush()
    return target, ga.load(tmp_path / "x.npy", chunks=(8, 10)), lambda: np.load(tmp_path / "x.npy")


def _as_data_set(tmp_path):
    path = str(tmp_path / "x.h5")
    ga.to_hdf5(path, "/x", ga.from_array(VALUES, chunks=(8, 10)))
    return DataSetTarget(path, "x"), ga.from_hdf5(path, "/x", chunks=(8, 10)), lambda: h5py.File(path)["x"][:]


def _as_array(tmp_path):
    target = VALUES.copy()
    return target, ga.from_array(target, chunks=(8, 10), copy=False), lambda: target


@pytest.mark.each_choice
@pytest.mark.parametrize("place", [_as_zarr, _as_memory_map, _as_data_set, _as_array])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[::-1],
        lambda x: x + 1,
        lambda x: x - x.mean(axis=0),
        lambda x: x + x[::-1, ::-1],
        lambda x: (x * 2).rechunk((48, 5)),
        lambda x: x + x[:1],
        lambda x: x[ga.arange(47, -1, -1, chunks=5)],
    ],
    ids=["flipped", "each", "centred", "sum-of-two-places", "rechunked", "row-added", "positions"],
)
def test_an_array_is_written_to_where_it_is_read_from(place, function, client, tmp_path):
    target, lazy, read = place(tmp_path)
    expected = np.asarray(function(ga.from_array(VALUES, chunks=(8, 10))))
    ga.store(function(lazy), target)  # by threads, though there is a client
    np.testing.assert_array_equal(read(), expected)


def test_workers_which_may_die_do_not_write_to_what_they_read(client, tmp_path):
    target, lazy, read = _as_zarr(tmp_path)
    with pytest.raises(OptionError, match="is read from a target that it is written to"):
        ga.store(lazy + 1, target, scheduler=client)
    np.testing.assert_array_equal(read(), VALUES)


def test_two_arrays_change_places(tmp_path):
    target, lazy, read = _as_zarr(tmp_path)
    (tmp_path / "other").mkdir()
    other, lazy_other, read_other = _as_zarr(tmp_path / "other")
    other[:] = -VALUES
    ga.store([lazy, ga.from_zarr(other)], [other, target])
    np.testing.assert_array_equal(read(), -VALUES)
    np.testing.assert_array_equal(read_other(), VALUES)


def test_a_part_of_a_target_is_moved_within_it(tmp_path):
    target, lazy, read = _as_zarr(tmp_path)
    ga.store(lazy[:40], target, regions=(slice(8, 48), slice(0, 60)))
    np.testing.assert_array_equal(read(), np.concatenate([VALUES[:8], VALUES[:40]]))


def test_blocks_that_change_in_place_are_not_held_all_at_once(tmp_path, monkeypatch):
    target, lazy, _ = _as_zarr(tmp_path)
    monkeypatch.setattr(files, "persist", lambda *_, **__: pytest.fail("computed before anything is written"))
    ga.store(lazy * 2 + 1, target)
    with pytest.raises(pytest.fail.Exception):
        ga.store(lazy[::-1], target)
