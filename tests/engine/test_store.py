"""A worker's store, and a cluster whose results don't fit into memory."""

from __future__ import annotations

import asyncio
import collections
import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tasks
from glassloom import Client, wait
from glassloom.backends.sizeof import sizeof
from glassloom.errors import DataLost
from glassloom.store.spill_file import FileCopy, read_spill, write_spill
from glassloom.store.store import Store
from glassloom_metrics.protocol import SPILL_LANE, Action, TaskEvents, column
from glassloom_metrics.registry import find_record
from glassloom_metrics.subscriber import subscribe
from stored_values import VALUES, same

MIB = 2**20

# A worker's store


class Spills:
    def __init__(self) -> None:
        self.events: list[tuple[Action, int, int]] = []

    def __call__(self, action: Action, number: int, start_s: float, stop_s: float, nbytes: int) -> None:
        assert start_s <= stop_s
        self.events.append((action, number, nbytes))


@pytest.fixture
def spills() -> Spills:
    return Spills()


@pytest.fixture
def store(tmp_path: Path, spills: Spills) -> Iterator[Store]:
    """A store with room for 6 MiB of results."""
    store = Store(6 * MIB, str(tmp_path), spills)
    yield store
    for number in range(20):
        store.drop(number)
    assert (store.managed_bytes, store.spilled_bytes, list(tmp_path.iterdir())) == (0, 0, [])


def block(number: int) -> np.ndarray:
    return np.full(2 * MIB // 8, float(number))


def fill(store: Store, numbers: range) -> None:
    for number in numbers:
        store.put(number, block(number), 2 * MIB)


def test_nothing_is_spilled_while_there_is_room(store: Store, spills: Spills) -> None:
    fill(store, range(3))
    assert (spills.events, store.managed_bytes) == ([], 6 * MIB)


def test_the_least_recently_used_results_are_spilled(store: Store, spills: Spills) -> None:
    fill(store, range(3))
    store.get(0)
    fill(store, range(3, 5))
    assert spills.events == [(Action.SPILL_WRITE, 1, 2 * MIB), (Action.SPILL_WRITE, 2, 2 * MIB)]
    assert (store.managed_bytes, store.spilled_bytes) == (6 * MIB, 4 * MIB)


def test_a_spilled_result_is_read_back_and_another_goes(store: Store, spills: Spills, tmp_path: Path) -> None:
    fill(store, range(4))
    spills.events.clear()
    assert np.array_equal(store.get(0), block(0))
    assert spills.events == [(Action.SPILL_READ, 0, 2 * MIB), (Action.SPILL_WRITE, 1, 2 * MIB)]
    assert (store.managed_bytes, store.spilled_bytes) == (6 * MIB, 2 * MIB)


def test_a_result_that_was_read_back_is_not_written_again(store: Store, spills: Spills, tmp_path: Path) -> None:
    fill(store, range(4))
    store.get(0)
    store.get(2)
    store.get(3)
    fill(store, range(5, 6))
    assert [number for action, number, _ in spills.events if action is Action.SPILL_WRITE] == [0, 1]
    assert len(list(tmp_path.iterdir())) == 2
    assert np.array_equal(store.get(0), block(0))


def test_spilling_stops_at_the_goal(store: Store, spills: Spills) -> None:
    fill(store, range(3))
    store.spill_down_to(3 * MIB)
    assert (store.managed_bytes, [number for _, number, _ in spills.events]) == (2 * MIB, [0, 1])


def test_spilled_arrays_are_read_only_when_they_come_back(store: Store) -> None:
    fill(store, range(4))
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        store.get(0)[0] = 7.0


def test_a_result_that_is_dropped_while_it_is_written_leaves_no_file(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_and_drop(path: str, value: Any, codec: str | None) -> int:
        size = write_spill(path, value, codec)
        store.drop(0)
        return size

    monkeypatch.setattr("glassloom.store.store.write_spill", write_and_drop)
    fill(store, range(4))
    assert (0 in store, list(tmp_path.iterdir()), store.managed_bytes) == (False, [], 6 * MIB)


def test_a_result_that_is_replaced_while_it_is_written_keeps_its_new_value(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_and_replace(path: str, value: Any, codec: str | None) -> int:
        size = write_spill(path, value, codec)
        store.put(0, "new", 0)
        return size

    monkeypatch.setattr("glassloom.store.store.write_spill", write_and_replace)
    fill(store, range(4))
    assert (store.get(0), list(tmp_path.iterdir())) == ("new", [])


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "a bit", "the footer"])
def test_a_damaged_file_is_a_lost_result_and_never_a_wrong_one(store: Store, damage: str, tmp_path: Path) -> None:
    fill(store, range(4))
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    if damage == "gone":
        path.unlink()
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(data[:-1000])
    else:
        data[-10 if damage == "the footer" else 10_000] ^= 1
        path.write_bytes(data)
    with pytest.raises(DataLost, match=rf"^a spilled result can't be read from {path}: "):
        store.get(0)
    assert (0 in store, store.spilled_bytes) == (False, 0)
    with pytest.raises(KeyError, match="0"):
        store.get(0)


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__}")
def test_values_survive_being_spilled(tmp_path: Path, value: Any, codec: str | None) -> None:
    path = str(tmp_path / "spilled")
    assert write_spill(path, value, codec) == os.path.getsize(path)
    assert same(value, read_spill(path))


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compression_makes_files_smaller(tmp_path: Path, codec: str) -> None:
    assert write_spill(str(tmp_path / "a"), block(1), codec) < 2 * MIB / 10
    noise = np.random.default_rng(0).bytes(10_000)
    assert write_spill(str(tmp_path / "b"), np.frombuffer(noise, "u1"), codec) < 10_500


def test_what_cannot_be_pickled_stays_in_memory(store: Store, spills: Spills) -> None:
    store.put(9, [threading.Lock()], 4 * MIB)
    fill(store, range(3))
    assert [number for _, number, _ in spills.events] == [0, 1]
    assert store.managed_bytes == 6 * MIB


def test_small_results_are_not_worth_a_file(store: Store, spills: Spills) -> None:
    store.put(9, "small", 100)
    fill(store, range(4))
    assert 9 not in [number for _, number, _ in spills.events]


def fill_small(store: Store, numbers: range) -> None:
    for number in numbers:
        store.put(number, bytes([number]) * 50_000, 50_000)


def test_small_results_share_files_and_are_read_one_by_one(tmp_path: Path, spills: Spills) -> None:
    store = Store(4 * MIB, str(tmp_path), spills)
    fill_small(store, range(200))
    assert store.managed_bytes <= 4 * MIB
    assert store.managed_bytes + store.spilled_bytes == 200 * 50_000
    assert 2 <= len(list(tmp_path.iterdir())) <= 8
    before = store.managed_bytes
    assert store.get(0) == bytes([0]) * 50_000
    assert store.managed_bytes == before + 50_000
    assert [store.get(number)[0] for number in range(200)] == list(range(200))
    for number in range(200):
        store.drop(number)
    assert (store.managed_bytes, store.spilled_bytes, list(tmp_path.iterdir())) == (0, 0, [])


@pytest.mark.parametrize("codec", [None, "zstd"])
def test_what_little_is_wanted_of_a_file_is_copied_to_another(
    tmp_path: Path, spills: Spills, codec: str | None
) -> None:
    store = Store(None, str(tmp_path), spills, codec=codec)
    fill_small(store, range(200))
    store.spill_down_to(0)
    for number in range(200):
        if number % 40:
            store.drop(number)
    files = sorted(tmp_path.iterdir())
    store.compact()
    (file,) = tmp_path.iterdir()
    assert file not in files
    assert [store.get(number) for number in range(0, 200, 40)] == [bytes([n]) * 50_000 for n in range(0, 200, 40)]
    for number in range(0, 200, 40):
        store.drop(number)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_of_small_results_loses_those_that_it_hits(tmp_path: Path, spills: Spills) -> None:
    store = Store(None, str(tmp_path), spills)
    fill_small(store, range(3))
    store.spill_down_to(0)
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    data[60_000] ^= 1
    path.write_bytes(data)
    assert store.get(0) == bytes([0]) * 50_000
    with pytest.raises(DataLost, match="it has changed since it was written"):
        store.get(1)
    assert (1 in store, store.get(2)) == (False, bytes([2]) * 50_000)


def test_a_codec_that_is_not_there_costs_only_room(
    tmp_path: Path, spills: Spills, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassloom.store.spill_file.codec_is_available", lambda codec: False)
    store = Store(6 * MIB, str(tmp_path), spills, codec="zstd")
    fill(store, range(4))
    fill_small(store, range(100, 140))
    assert [float(store.get(number)[0]) for number in range(4)] == [0.0, 1.0, 2.0, 3.0]


class SlowToLoad:
    """Unpickles once it is told to, and then raises."""

    begun = threading.Event()
    go_on = threading.Event()

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error
        self.payload = bytes(100_000)

    def __setstate__(self, state: Any) -> None:
        SlowToLoad.begun.set()
        assert SlowToLoad.go_on.wait(60)
        raise state["error"]("no way back")


@pytest.mark.parametrize(
    ("error", "expected"),
    [(ValueError, "SerialisationError"), (SystemExit, "SystemExit"), (MemoryError, "MemoryError")],
)
def test_whoever_waits_for_a_result_that_cannot_be_read_gets_an_error_too(
    tmp_path: Path, spills: Spills, error: type[BaseException], expected: str
) -> None:
    store = Store(None, str(tmp_path), spills)
    store.put(0, SlowToLoad(error), 100_000)
    store.spill_down_to(0)
    SlowToLoad.begun.clear()
    SlowToLoad.go_on.clear()
    raised: list[str] = []

    def read() -> None:
        try:
            store.get(0)
        except BaseException as caught:
            raised.append(type(caught).__name__)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    assert SlowToLoad.begun.wait(60)
    SlowToLoad.go_on.set()
    for reader in readers:
        reader.join(60)
    assert raised == [expected] * 3
    assert (store.managed_bytes, store.spilled_bytes) == (0, 100_000)
    store.drop(0)
    assert (store.spilled_bytes, list(tmp_path.iterdir())) == (0, [])


def test_a_reader_does_not_wait_for_another_for_ever(
    tmp_path: Path, spills: Spills, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassloom.store.store.READ_BOUND_S", 0.01)
    store = Store(None, str(tmp_path), spills)
    store.put(0, block(0), 2 * MIB)
    store.spill_down_to(0)
    begun, go_on = threading.Event(), threading.Event()
    read = FileCopy.read

    def read_slowly(copy: FileCopy) -> Any:
        if not begun.is_set():
            begun.set()
            assert go_on.wait(60)
        return read(copy)

    monkeypatch.setattr(FileCopy, "read", read_slowly)
    first = threading.Thread(target=store.get, args=(0,))
    first.start()
    assert begun.wait(60)
    assert float(store.get(0)[0]) == 0.0
    go_on.set()
    first.join(60)
    assert (store.managed_bytes, store.spilled_bytes) == (2 * MIB, 0)


class FullDisk:
    """Stands for `os.write`: the file system takes some bytes, then no more until it has room again."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._write = os.write

    def __call__(self, descriptor: int, data: Any) -> int:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._write(descriptor, data[: self.room])
        self.room -= written
        return written


def test_a_full_disk_loses_nothing_and_is_reported_once(
    tmp_path: Path, spills: Spills, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[OSError] = []
    store = Store(6 * MIB, str(tmp_path), spills, reported.append)
    disk = FullDisk(3 * MIB)
    monkeypatch.setattr("glassloom.store.spill_file.os.write", disk)
    monkeypatch.setattr("glassloom.store.store.RETRY_FULL_DISK_S", 0.0)
    fill(store, range(6))
    assert [(action, number) for action, number, _ in spills.events] == [(Action.SPILL_WRITE, 0)]
    assert ([error.errno for error in reported], len(list(tmp_path.iterdir()))) == ([errno.ENOSPC], 1)
    assert (store.managed_bytes, [float(store.get(number)[0]) for number in range(6)]) == (10 * MIB, [0, 1, 2, 3, 4, 5])
    disk.room = 100 * MIB
    store.spill_down_to(0)
    assert (store.managed_bytes, [float(store.get(number)[0]) for number in range(6)]) == (0, [0, 1, 2, 3, 4, 5])


def test_a_full_disk_is_left_alone_for_a_while(tmp_path: Path, spills: Spills, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(6 * MIB, str(tmp_path), spills)
    disk = FullDisk(0)
    monkeypatch.setattr("glassloom.store.spill_file.os.write", disk)
    fill(store, range(4))
    assert store.spillable_bytes == 0
    disk.room = 100 * MIB
    store.spill_down_to(0)
    assert (store.managed_bytes, store.spilled_bytes) == (8 * MIB, 0)


def test_copies_of_what_is_in_memory_make_room_on_a_full_disk(
    store: Store, spills: Spills, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, range(4))
    store.get(0)  # 1 goes to disk for it, and 0 leaves its copy there
    free = FullDisk(0)

    def unlink(path: str) -> None:
        free.room += os.path.getsize(path)
        os.remove(path)

    monkeypatch.setattr("glassloom.store.spill_file.os.write", free)
    monkeypatch.setattr("glassloom.store.store.os.unlink", unlink)
    store.put(9, block(9), 2 * MIB)
    assert [number for action, number, _ in spills.events if action is Action.SPILL_WRITE] == [0, 1, 2]
    assert [float(store.get(number)[0]) for number in (0, 3, 9)] == [0.0, 3.0, 9.0]
    monkeypatch.undo()


def test_a_shared_result_takes_no_memory_of_the_stores_own(store: Store, spills: Spills) -> None:
    store.put(0, block(0), 2 * MIB)
    store.replace(0, block(0))
    fill(store, range(1, 4))
    assert (store.managed_bytes, spills.events) == (6 * MIB, [])


def test_an_unknown_result_is_a_key_error(store: Store) -> None:
    with pytest.raises(KeyError, match="3"):
        store.get(3)
    store.drop(3)
    store.replace(3, "value")
    assert 3 not in store


def test_threads_may_use_a_store_at_once(store: Store) -> None:
    wrong: list[int] = []

    def use(first: int) -> None:
        for turn in range(12):
            number = first + turn % 3
            store.put(number, block(number), 2 * MIB)
            if float(store.get(number)[0]) != number:
                wrong.append(number)

    threads = [threading.Thread(target=use, args=(first,)) for first in (0, 3, 6, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []


# Sizes


@pytest.mark.parametrize(
    ("value", "expected"), [(np.zeros(1000), 8000), (np.zeros((10, 10), "u1"), 100), (1, 32), (None, 32), (True, 32)]
)
def test_sizes_are_those_of_the_data(value: Any, expected: int) -> None:
    assert sizeof(value) == expected


def test_the_size_of_a_list_is_estimated_from_a_sample() -> None:
    arrays = [np.zeros(1000)] * 100
    assert sizeof(arrays) == pytest.approx(800_000, rel=0.01)


class _Broken:
    @property
    def nbytes(self) -> int:
        raise RuntimeError("no size")


def test_what_breaks_when_measured_counts_as_small() -> None:
    assert sizeof(_Broken()) == 32


# A cluster whose results don't fit into memory


def test_a_cluster_computes_more_than_fits_into_its_memory_limit() -> None:
    with Client(n_workers=2, threads_per_worker=1, memory_limit="200MB", set_as_default=False) as client:
        blocks = client.map(tasks.big, [16] * 24, [float(n) for n in range(24)])  # 384 MiB; 115 MiB a worker stay
        wait(blocks)
        assert client.gather(client.map(tasks.mean, blocks)) == [float(n) for n in range(24)]
        pids = [worker["pid"] for worker in client.scheduler_info()["workers"].values()]
        events = asyncio.run(_events(client, Action.SPILL_READ))
        assert [worker["pid"] for worker in client.scheduler_info()["workers"].values()] == pids
        assert list(Path(client._record.directory).glob("spill-w*/*")) != []
    actions = collections.Counter(Action(value) for event in events for value in column(event, "action"))
    assert actions[Action.SPILL_WRITE] >= 24 - 2 * 7
    assert actions[Action.SPILL_READ] >= 1
    spills = [
        pair
        for event in events
        for pair in zip(column(event, "action"), column(event, "lane"), strict=True)
        if pair[0] in (Action.SPILL_READ, Action.SPILL_WRITE)
    ]
    assert {lane for _, lane in spills} == {SPILL_LANE}
    sizes = {
        size
        for event in events
        for action, size in zip(column(event, "action"), column(event, "nbytes"), strict=True)
        if action in (Action.SPILL_READ, Action.SPILL_WRITE)
    }
    assert sizes == {16 * MIB}


async def _events(client: Client, until: Action) -> list[TaskEvents]:
    """Return the task events from the cluster's beginning until there is one of a kind."""
    seen: list[TaskEvents] = []
    async with asyncio.timeout(60):
        async for message in subscribe(find_record(client.id)):
            if isinstance(message, TaskEvents):
                seen.append(message)
                if until in column(message, "action"):
                    break
    return seen
