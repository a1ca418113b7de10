"""Machines with little: disks that are full, few open files, clocks that jump."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
import tasks
from fault_helpers import eventually, kill, worker_pids
from glassloom import Client
from glassloom.protocol.clock import Clock
from glassloom.store.mapping import map_file
from glassloom.store.segment import SegmentWriter, read_location
from glassloom_metrics.registry import ClusterRecord, find_record, is_alive, process_started_s

TESTS = str(Path(__file__).parent)
ENGINE = Path(__file__).parents[2] / "engine"


@pytest.mark.long
@pytest.mark.fault("kill -9 of a worker in the middle of a spill")
def test_a_worker_killed_while_it_spills_costs_only_time(tmp_path: Path) -> None:
    options = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "200MB", "set_as_default": False}
    with Client(local_directory=str(tmp_path), **options) as client:  # type: ignore[arg-type]
        blocks = client.map(tasks.big, [8] * 60, [float(n) for n in range(60)])
        folder = Path(client._record.directory)
        eventually(lambda: list(folder.glob("spill-*")))
        victim = worker_pids(client)[0]

        def is_caught() -> bool:
            """Whether the victim is writing. It has more to write as long as it wasn't seen to: a block takes some milliseconds."""
            if all(block.done() for block in blocks):
                blocks.extend(client.map(tasks.big, [8] * 10, [float(n) for n in range(len(blocks), len(blocks) + 10)]))
            return _is_writing(victim, folder)

        eventually(is_caught)
        kill(victim)
        means = client.map(tasks.mean, blocks)
        assert client.gather(means) == [float(n) for n in range(len(blocks))]
    assert list(tmp_path.glob("glassloom-*")) == []


def _is_writing(pid: int, folder: Path) -> bool:
    """Tell whether a worker has a spill file open, or is gone."""
    try:
        return any(str(path.readlink()).startswith(f"{folder}/spill-") for path in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


FULL_DISK = """
import sys
sys.path.insert(0, {tests!r})
import tasks
from glassloom import Client, wait
client = Client(n_workers=2, threads_per_worker=1, memory_limit="200MB", local_directory="/mnt")
blocks = client.map(tasks.big, [8] * 40, [float(n) for n in range(40)])
assert client.gather(client.map(tasks.mean, blocks)) == [float(n) for n in range(40)]
print(open(client._record.directory + "/cluster.log").read())
client.close()
"""


@pytest.mark.fault("the disk for spilled results is full")
def test_a_cluster_goes_on_when_its_spill_disk_is_full() -> None:
    shell = 'mount -t tmpfs -o size=20m tmpfs /mnt && exec $0 -c "$1"'
    command = ["unshare", "--mount", "sh", "-c", shell, sys.executable, FULL_DISK.format(tests=TESTS)]
    try:
        subprocess.run(["unshare", "--mount", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"only root can mount a file system: {error}")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(
        r"error: worker .*: results can't be written to /mnt/.*: No space left on device; they stay", done.stdout
    )


@pytest.mark.fault("few files may be open at once")
def test_thousands_of_mapped_results_need_no_open_files(tmp_path: Path) -> None:
    script = f"""
import resource, sys
sys.path.insert(0, {TESTS!r})
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
import numpy as np, tasks
from glassloom import Client
with Client(n_workers=2, threads_per_worker=1) as client:
    arrays = client.map(tasks.fill, range(1500))
    assert [int(array[-1]) for array in client.gather(arrays)] == list(range(1500))
    sums = client.map(tasks.first_of, [arrays[start : start + 500] for start in range(0, 1500, 500)])
    assert client.gather(sums) == [sum(range(start, start + 500)) for start in range(0, 1500, 500)]
print("well")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("well\n", "")


def test_mapped_files_keep_no_descriptor_and_go_when_nobody_reads_them(tmp_path: Path) -> None:
    writer = SegmentWriter("p-", str(tmp_path), "w")
    gc.collect()  # else what tests before have left open may be closed meanwhile
    before = len(list(Path("/proc/self/fd").iterdir()))
    arrays = [read_location(writer.place(np.full(10_000, number), on_disk=True)) for number in range(50)]
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert [int(array[5]) for array in arrays] == list(range(50))
    assert _n_mapped(tmp_path) == 50
    last = arrays[-1][10:20]
    del arrays
    assert _n_mapped(tmp_path) == 1
    assert int(last.sum()) == 490


def _n_mapped(folder: Path) -> int:
    return sum(str(folder) in line for line in Path("/proc/self/maps").read_text().splitlines())


def test_bytes_of_a_mapped_file_cannot_be_written_to(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abcdef")
    view = map_file(str(path))
    assert (view.readonly, view.format, bytes(view[2:4])) == (True, "B", b"cd")


# Clocks


@pytest.mark.fault("the clock is set forward and back")
def test_the_engine_reads_the_steppable_clock_in_one_place_only() -> None:
    """What waits, times out or measures must not do so by a clock that somebody may set; files tell people when they were made."""
    found = {
        str(path.relative_to(ENGINE))
        for path in ENGINE.rglob("*.py")
        if re.search(r"\btime\.time(_ns)?\(|datetime\.(now|utcnow|today)\(|create_time\(", path.read_text())
    }
    dates_of_files = {
        "glassloom_metrics/open_recordings.py",
        "glassloom/array/sources/versions.py",
        "glassloom/sampling/nvml_session.py",
        "glassloom/sampling/nvml_simulator.py",
    }
    said_to_people = {"glassloom/reprs/__init__.py"}
    assert found == {"glassloom/protocol/clock.py", "glassloom_metrics/host.py"} | dates_of_files | said_to_people


@pytest.mark.fault("the clock is set forward and back")
def test_a_step_of_the_clock_does_not_step_the_clusters_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    before = clock.now_s()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert 0 <= clock.now_s() - before < 5


def test_a_cluster_is_known_to_live_whatever_the_boot_time_is_taken_for(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The boot time in `/proc/stat` moves with the clock, and with it what psutil takes for the start of a process."""
    record = find_record(client.id)
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: time.time() - 10**7, raising=False)
    assert record.pid_started_s == process_started_s(record.pid)
    assert is_alive(record)
    assert not is_alive(_other_start(record))


def _other_start(record: ClusterRecord) -> ClusterRecord:
    return msgspec.structs.replace(record, pid_started_s=record.pid_started_s - 100)
