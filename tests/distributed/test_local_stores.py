"""Dask's arrays that are stored into what only this process has: workers make the chunks, and this process writes them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask.utils import SerializableLock
from eventual import eventually
from glassloom import Client
from glassloom.distributed.dask_graph import materialised
from glassloom.distributed.local_stores import Split, split

pytestmark = pytest.mark.filterwarnings("ignore:Consolidated metadata")


@pytest.fixture
def on_client(client: Client) -> Iterator[Client]:
    with dask.config.set(scheduler=client.get):
        yield client


def pid_of_each(block: np.ndarray) -> np.ndarray:
    return np.full(block.shape, os.getpid())


def where_made() -> da.Array:
    """Return an array whose elements tell which process has made them."""
    return da.zeros(8, chunks=2, dtype=int).map_blocks(pid_of_each, dtype=int)


class Notes:
    """A target that notes what was written, by which process. It can't be sent to another."""

    shape, dtype = (8,), np.dtype(int)

    def __init__(self) -> None:
        self.values, self.pids, self._lock = np.zeros(8, int), set[int](), threading.Lock()

    def __setitem__(self, where: Any, values: Any) -> None:
        with self._lock:
            self.values[where] = values
            self.pids.add(os.getpid())


def test_an_array_of_numpys_is_written_by_this_process_with_what_workers_have_made(on_client: Client) -> None:
    pids = {worker["pid"] for worker in on_client.scheduler_info()["workers"].values()}
    target = np.zeros(8, int)
    da.store(where_made(), target)
    assert set(target.tolist()) <= pids


@pytest.mark.parametrize("lock", [True, False, None, threading.Lock()])
def test_a_target_that_cannot_be_sent_is_written_by_this_process(on_client: Client, lock: Any) -> None:
    target = Notes()
    da.store(da.arange(8, chunks=3), target, lock=lock)
    assert target.values.tolist() == list(range(8)) and target.pids == {os.getpid()}


def test_several_arrays_into_regions_and_what_is_stored_later(on_client: Client) -> None:
    target = np.zeros(12)
    later = da.store(
        [da.ones(4, chunks=2), da.arange(8, chunks=4).rechunk(2)],
        [target, target],
        regions=[(slice(0, 4),), (slice(4, 12),)],
        compute=False,
    )
    assert not target.any()
    dask.compute(later)
    assert target.tolist() == [1.0] * 4 + list(range(8))


def test_what_was_stored_can_be_read_back_and_persisted(on_client: Client) -> None:
    target = np.zeros(8)
    stored = da.store(da.arange(8, chunks=2, dtype=float), target, return_stored=True)
    assert float((stored + 1).sum().compute()) == 36 and target.tolist() == list(range(8))
    on_client.compute(da.store(da.ones(8, chunks=2), target, compute=False), sync=True)
    assert target.tolist() == [1] * 8


def test_hdf5_files_are_written(on_client: Client, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    da.arange(8, chunks=2).to_hdf5(tmp_path / "array.h5", "/x")
    with h5py.File(tmp_path / "array.h5") as file:
        assert file["x"][:].tolist() == list(range(8))


@pytest.mark.parametrize(("engine", "package"), [("scipy", "scipy"), ("netcdf4", "netCDF4"), ("h5netcdf", "h5netcdf")])
def test_netcdf_files_are_written(on_client: Client, tmp_path: Path, engine: Any, package: str) -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip(package)
    data = xarray.Dataset({"a": ("x", np.arange(8.0)), "b": ("x", where_made())}).chunk(x=4)
    data.to_netcdf(tmp_path / "now.nc", engine=engine)
    data.to_netcdf(tmp_path / "later.nc", engine=engine, compute=False).compute()
    xarray.save_mfdataset([data, data + 1], [tmp_path / "1.nc", tmp_path / "2.nc"], engine=engine)
    for name, first in (("now", 0), ("later", 0), ("1", 0), ("2", 1)):
        with xarray.open_dataset(tmp_path / f"{name}.nc", engine=engine) as read:
            assert read.a.values.tolist() == [first + number for number in range(8)]
            assert os.getpid() not in (read.b.values - first), "workers have made it"


def fail_on_the_second(block: np.ndarray) -> np.ndarray:
    if block[0] == 4:
        raise ValueError("no fours")
    return block


def test_an_error_of_a_chunk_keeps_its_key_and_the_users_line(on_client: Client) -> None:
    numbers = da.arange(8, chunks=4).map_blocks(fail_on_the_second, dtype=int)
    with pytest.raises(ValueError, match="no fours") as raised:
        numbers.store(np.zeros(8))  # the user's line
    assert "# the user's line" in "".join(raised.value.__notes__) and "store-map" in "".join(raised.value.__notes__)


def test_an_error_of_the_target_is_raised(on_client: Client) -> None:
    class Full(Notes):
        def __setitem__(self, where: Any, values: Any) -> None:
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        da.arange(8, chunks=4).store(Full())


def test_results_are_let_go_of(on_client: Client) -> None:
    before = set(on_client.who_has())
    da.arange(8, chunks=2).store(np.zeros(8))
    eventually(lambda: set(on_client.who_has()) <= before)


def split_of(collections: Any, **options: Any) -> Split | None:
    """Return how a store would be split."""
    found: list[Split | None] = []

    def note(dsk: Any, keys: Any, **_: Any) -> Any:
        found.append(split(materialised(dsk)))
        return dask.threaded.get(dsk, keys)

    with dask.config.set(scheduler=note):
        da.store(*collections, **options)
    return found[0]


def test_what_is_fused_with_a_store_stays_together_on_the_workers() -> None:
    parts = split_of(((da.ones(8, chunks=2) + 1) * 2, np.zeros(8)))
    assert parts is not None
    assert len(parts.there) == len(parts.read) == len(parts.chunk_of) == 4, "a task a chunk"


def test_of_several_targets_those_that_can_be_sent_are_written_by_workers(tmp_path: Path) -> None:
    file = np.lib.format.open_memmap(tmp_path / "a.npy", mode="w+", dtype="f8", shape=(8,))
    x = da.ones(8, chunks=2)
    assert split_of((x, file)) is None
    assert split_of((x, file), lock=SerializableLock()) is None
    assert split_of((x, file), lock=threading.Lock()) is not None
    parts = split_of(([x, x + 1], [file, np.zeros(8)]))
    assert parts is not None and len(parts.chunk_of) == 4
    assert split(materialised((x + 1).__dask_graph__())) is None
