"""Memory limits: what is measured, what goes to disk because of it, who gets no tasks, who is replaced."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import glassloom.array as ga
import numpy as np
import pytest
import tasks
from fault_helpers import eventually, worker_pids
from glassloom import Client, LocalCluster, wait
from glassloom.errors import OptionError
from glassloom.protocol.options import MemoryLimits
from glassloom.sampling.process import Memory, ProcessSampler, memory_of, own_memory_bytes
from glassloom.scheduler import Pressure
from glassloom.store.mapping import unload_mapped
from glassloom.store.segment import SegmentWriter, read_location
from glassloom.store.store import Store
from glassloom.worker.memory_monitor import TRIM_AFTER_S, TRIM_BYTES, MemoryMonitor, pressure_at
from long_tests import LONG_TESTS

MIB = 2**20
LIMITS = MemoryLimits(100 * MIB)
NONE, HIGH, PAUSED = Pressure


# What is decided


@pytest.mark.parametrize(
    ("own_mib", "before", "expected"),
    [
        (69, NONE, NONE), (70, NONE, HIGH), (79, NONE, HIGH), (80, NONE, PAUSED), (200, NONE, PAUSED),
        (66, HIGH, HIGH), (64, HIGH, NONE), (76, HIGH, HIGH), (76, PAUSED, PAUSED), (74, PAUSED, HIGH), (64, PAUSED, NONE),
    ],
)  # fmt: skip
def test_pressure_rises_at_the_thresholds_and_falls_somewhat_below_them(
    own_mib: int, before: Pressure, expected: Pressure
) -> None:
    assert pressure_at(own_mib * MIB, LIMITS, before) is expected


def test_without_limits_there_is_no_pressure() -> None:
    assert pressure_at(10**15, MemoryLimits(None), NONE) is NONE
    assert pressure_at(99 * MIB, MemoryLimits(100 * MIB, spill=None, pause=None), PAUSED) is NONE


class Process:
    """A worker's memory: results in a real store, and what else it takes, in MiB."""

    def __init__(self, folder: Path, limits: MemoryLimits = LIMITS, other_mib: int = 4) -> None:
        self.other_mib = other_mib
        self.kept_mib = 0
        self.mapped_mib = 0
        self.now_s = 100.0
        self.told: list[tuple[Pressure, int]] = []
        self.store = Store(limits.bytes_at(limits.target), str(folder), lambda *_: None)
        self.watch = MemoryMonitor(
            limits,
            self.store,
            self._note,
            measure=self._measure,
            trim=self._trim,
            unload=self._unload,
            clock=lambda: self.now_s,
        )

    def _note(self, pressure: Pressure, own_bytes: int) -> None:
        self.told.append((pressure, own_bytes // MIB))

    def _measure(self) -> Memory:
        own_bytes = (self.other_mib + self.kept_mib) * MIB + self.store.managed_bytes
        return Memory(own_bytes, self.mapped_mib * MIB)

    def _unload(self) -> None:
        self.mapped_mib = 0

    def _trim(self) -> None:
        self.kept_mib = 0

    def put(self, number: int, mib: int) -> None:
        self.store.put(number, np.zeros(mib * MIB, "u1"), mib * MIB)

    def look(self) -> tuple[int, int]:
        """Return what results take in memory and on disk then, in MiB."""
        self.watch.look(is_idle=False)
        return self.store.managed_bytes // MIB, self.store.spilled_bytes // MIB


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    yield Process(tmp_path)


def test_results_make_room_for_what_tasks_take(process: Process) -> None:
    for number in range(6):
        process.put(number, 10)
    assert process.look() == (60, 0)
    process.other_mib = 30  # in all 90 of 70
    assert process.look() == (30, 30)
    assert process.told == []


def test_results_stay_small_while_tasks_take_much_and_may_grow_again_later(process: Process) -> None:
    process.other_mib = 45
    process.look()
    for number in range(6):
        process.put(number, 5)
    assert process.store.managed_bytes == 20 * MIB  # all in all 65, halfway between target and spilling
    process.other_mib = 10
    process.look()
    for number in range(6, 12):
        process.put(number, 5)
    assert process.store.managed_bytes == 50 * MIB


def test_who_has_nothing_left_to_spill_gets_no_tasks_until_memory_is_back(process: Process) -> None:
    process.put(0, 10)
    process.other_mib = 85
    assert process.look() == (0, 10)
    process.look()
    process.other_mib = 72
    process.look()
    process.other_mib = 20
    process.look()
    assert process.told == [(PAUSED, 85), (HIGH, 72), (NONE, 20)]


def test_freed_memory_is_given_back_before_results_go_to_disk(process: Process) -> None:
    process.put(0, 50)
    process.kept_mib = 30
    assert process.look() == (50, 0)
    assert process.told == []


def test_who_makes_results_looks_when_there_were_many(process: Process) -> None:
    process.other_mib = 75
    for nbytes in (MIB, MIB - 1):
        process.watch.note_result(nbytes)
    assert process.told == []
    process.watch.note_result(1)
    assert process.told == [(HIGH, 75)]


def test_a_new_worker_leaves_room_for_what_it_takes_itself(tmp_path: Path) -> None:
    assert Process(tmp_path, other_mib=40).store.target_bytes == 25 * MIB


def test_large_drops_are_given_back_by_an_idle_worker(tmp_path: Path) -> None:
    process = Process(tmp_path, MemoryLimits(None))
    for nbytes, kept in ((TRIM_BYTES - 1, 40), (1, 0)):
        process.store.put(0, b"", nbytes)
        process.store.drop(0)
        process.kept_mib = 40
        process.watch.look(is_idle=True)
        process.now_s += TRIM_AFTER_S
        process.watch.look(is_idle=True)
        assert process.kept_mib == kept


def test_a_worker_that_was_idle_for_a_moment_keeps_what_its_next_tasks_take(tmp_path: Path) -> None:
    process = Process(tmp_path, MemoryLimits(None))
    process.store.put(0, b"", TRIM_BYTES)
    process.store.drop(0)
    process.kept_mib = 40
    for is_idle, later_s in ((True, TRIM_AFTER_S / 2), (False, TRIM_AFTER_S), (True, TRIM_AFTER_S / 2), (True, 0)):
        process.watch.look(is_idle=is_idle)
        assert process.kept_mib == 40
        process.now_s += later_s
    process.now_s += TRIM_AFTER_S / 2
    process.watch.look(is_idle=True)
    assert process.kept_mib == 0


def test_pages_of_shared_results_go_before_anything_goes_to_disk(process: Process) -> None:
    process.put(0, 50)
    process.mapped_mib = 10
    process.look()
    assert process.mapped_mib == 10
    process.mapped_mib = 30
    assert process.look() == (50, 0)
    assert process.mapped_mib == 0


def test_unloaded_results_can_still_be_read(tmp_path: Path) -> None:
    array = read_location(SegmentWriter("p-", str(tmp_path), "w").place(np.ones(20 * MIB // 8), on_disk=True))
    assert float(array.sum()) == array.size
    with_it = memory_of(os.getpid())
    unload_mapped()
    without = memory_of(os.getpid())
    before, after = with_it.own_bytes + with_it.mapped_bytes, without.own_bytes + without.mapped_bytes
    assert before - after >= 15 * MIB
    assert float(array.sum()) == array.size


_MEASURED = """
import os, sys
import numpy as np
from glassloom.sampling.process import memory_of, own_memory_bytes

before = memory_of(os.getpid()).own_bytes
mapped = np.memmap(sys.argv[1], "u1", "r")
assert int(mapped.max()) == 0
print(memory_of(os.getpid()).own_bytes - before)
own = np.ones(100 * 2**20, "u1")
print(own_memory_bytes(os.getpid(), unless_below=1) - before)
"""


def test_mapped_results_are_no_memory_of_a_processes_own(tmp_path: Path) -> None:
    path = tmp_path / "mapped"
    path.write_bytes(bytes(300 * MIB))
    # in a process of its own: memory of other tests may go back to the system at any time
    told = subprocess.run([sys.executable, "-c", _MEASURED, path], capture_output=True, check=True, text=True).stdout
    with_mapped, with_own = map(int, told.split())
    assert with_mapped <= 64 * MIB
    assert with_own >= 100 * MIB
    assert own_memory_bytes(os.getpid(), unless_below=10**15) == 0
    assert memory_of(2**22 + 1) == Memory(0, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory_target_fraction": 0}, "memory_target_fraction=0 should be a number above 0, up to 1, or None"),
        ({"memory_pause_fraction": 1.5}, "memory_pause_fraction=1.5 should be a number above 0, up to 1, or None"),
        ({"memory_spill_fraction": 0.5}, "memory_spill_fraction=0.5 should be at least memory_target_fraction=0.6"),
        ({"memory_terminate_fraction": "x"}, "memory_terminate_fraction='x' should be a number above 0, up to 1"),
        ({"spill_compression": "gzip"}, "spill_compression='gzip' is none of 'lz4', 'zstd' and None"),
    ],
)
def test_options_without_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        LocalCluster(1, 1, **options)


def test_what_is_told_of_memory_is_of_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([Memory(100 * MIB, 20 * MIB), Memory(30 * MIB, 0), Memory(0, 0)])  # much is freed meanwhile
    monkeypatch.setattr("glassloom.sampling.process.memory_of", lambda _pid: next(looks))
    sample = ProcessSampler().sample(3, 1.0)
    assert (sample.rss_bytes, sample.own_bytes, sample.unmanaged_bytes) == ([120 * MIB], [100 * MIB], [100 * MIB])
    assert ProcessSampler().memory().resident_bytes == 30 * MIB


# Real workers


@pytest.mark.fault("spill files are damaged, or removed")
def test_a_damaged_spill_file_costs_only_time(tmp_path: Path) -> None:
    def make(number: int) -> np.ndarray:
        return tasks.count_run(str(tmp_path / f"runs-{number}"), np.full(2 * 2**20, float(number)))

    with Client(n_workers=1, threads_per_worker=1, memory_limit="300MB", spill_compression="lz4") as client:
        blocks = [client.submit(make, number) for number in range(20)]
        wait(blocks)
        spilled = sorted(Path(client._record.directory).glob("spill-w*/*"))
        assert len(spilled) >= 10
        for place, path in enumerate(spilled):
            if place % 3 == 0:
                path.unlink()
            elif place % 3 == 1:
                data = bytearray(path.read_bytes())
                data[len(data) // 2] ^= 255
                path.write_bytes(data)
        means = client.map(tasks.mean, blocks)
        assert client.gather(means) == [float(number) for number in range(20)]
        assert [float(array[5]) for array in client.gather(blocks)] == [float(number) for number in range(20)]
        log = Path(client._record.directory, "cluster.log").read_text()
    assert "a result on worker" in log and "is made again: a spilled result can't be read from" in log
    runs = [os.path.getsize(tmp_path / f"runs-{number}") for number in range(20)]
    assert sum(runs) > 20, runs


def leak(until_bytes: int) -> int:
    """Take memory that no result holds until the process has so much to itself, whatever it had before."""
    import builtins

    kept = builtins.kept_by_test = []  # type: ignore[attr-defined]
    while memory_of(os.getpid()).own_bytes < until_bytes:
        kept.append(np.ones(2**18))
    return os.getpid()


@pytest.mark.long
@pytest.mark.fault("a library keeps a worker's memory")
def test_a_worker_that_stays_short_of_memory_is_replaced_and_its_results_are_kept(tmp_path: Path) -> None:
    with Client(n_workers=1, threads_per_worker=1, memory_limit="400MB", set_as_default=False) as client:
        result = client.submit(lambda: tasks.count_run(str(tmp_path / "runs"), tasks.big(4, 3.0)))
        wait(result)
        assert re.search(r">Results</th>.*>Unmanaged</th>.*>On disk</th>", client._repr_html_())
        old = client.submit(leak, 350_000_000).result()  # between 80 %, where it is paused, and 95 %, where it is ended
        eventually(lambda: [w for w in client.scheduler_info()["workers"].values() if w["pressure"] == "paused"])
        assert client.submit(os.getpid, pure=False).result(timeout=60) != old
        assert worker_pids(client) != [old]
        assert float(result.result().max()) == 3.0
        log = Path(client._record.directory, "cluster.log").read_text()
    assert (tmp_path / "runs").read_text() == "x", log
    assert "gets no tasks for now: it takes" in log
    assert "is replaced: for 5 s it was short of memory, ran nothing, and had nothing to write to disk" in log


def peak_rss_bytes() -> int:
    """Return the most that this process has ever had in memory."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


@pytest.mark.long
def test_a_persisted_array_of_several_times_the_limit_is_right_and_takes_no_more_than_the_limit() -> None:
    limit, chunk, n_threads = 224 * MIB, 4 * MIB, 2  # an idle worker takes 76 MiB
    n_times = 5 if LONG_TESTS else 2
    with Client(n_workers=2, threads_per_worker=n_threads, memory_limit=limit, set_as_default=False) as client:
        n_elements = n_times * 2 * limit // 8
        array = client.persist(ga.arange(n_elements, dtype="i8", chunks=chunk // 8))
        wait(array)
        # Before the sums: what workers map of each other's results then is no worker's own, and the kernel's to take back.
        peaks = client.run(peak_rss_bytes).values()
        workers = client.scheduler_info()["workers"].values()
        assert sum(worker["spilled"] for worker in workers) >= (n_times - 1) * 2 * limit
        assert client.compute(array[:: chunk // 16].sum(), sync=True) == sum(range(0, n_elements, chunk // 16))
        assert client.compute(array.sum(), sync=True) == n_elements * (n_elements - 1) // 2
        log = Path(client._record.directory, "cluster.log").read_text()
    assert max(peaks) <= limit + n_threads * chunk
    assert "is gone" not in log, log
