"""The disk of the cluster's directory is full to the last byte: everything that is written there fails, nothing else does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from small_disk import run_with_small_disk


@pytest.mark.fault("the disk of the cluster's directory is full, and workers are killed")
def test_workers_are_replaced_and_tasks_run_although_nothing_can_be_written(tmp_path: Path) -> None:
    script = """
glassloom.config.set({"metrics.log-memory": "64 KiB"})
client = Client(n_workers=2, threads_per_worker=1, memory_limit="1GB", local_directory=disk)
fill()
for round in range(3):
    pids = eventually(lambda: len(pids := worker_pids(client)) == 2 and pids)
    kill(pids[round % 2])
    assert client.gather(client.map(tasks.inc, range(3000), pure=False)) == list(range(1, 3001))
eventually(lambda: len(worker_pids(client)) == 2)
big = client.map(tasks.big, [4] * 4, [1.0, 2.0, 3.0, 4.0])
assert client.gather(client.map(tasks.mean, big)) == [1.0, 2.0, 3.0, 4.0]
print(os.statvfs(disk).f_bavail)
make_room()
for number in range(40):  # now the log can be spooled
    client.gather(client.map(tasks.inc, range(1000), pure=False))
eventually(lambda: [path for path in glob.glob(client._record.directory + "/journal-*.glr") if os.path.getsize(path)])
client.close()
print(os.listdir(disk))
"""
    assert run_with_small_disk(tmp_path, "size=1m", script) == "0\n[]\n"


@pytest.mark.fault("the disk of the cluster's directory is full when it starts")
def test_a_cluster_starts_on_a_disk_that_is_full(tmp_path: Path) -> None:
    script = """
fill()
with Client(n_workers=2, threads_per_worker=1, memory_limit="1GB", local_directory=disk) as client:
    assert client.submit(tasks.inc, 1).result() == 2
    assert client._record.directory.startswith(disk) and os.statvfs(disk).f_bavail == 0
    kill_a_worker(client)
    assert client.gather(client.map(tasks.inc, range(100))) == list(range(1, 101))
print(os.listdir(disk))
"""
    assert run_with_small_disk(tmp_path, "size=1m", script) == "['filler']\n"


@pytest.mark.fault("the home is full when a cluster starts")
def test_a_cluster_whose_record_finds_no_room_works_without(tmp_path: Path) -> None:
    script = """
import warnings
os.makedirs(disk + "/runtime/glassloom")
fill()
with warnings.catch_warnings(record=True) as caught:
    client = Client(n_workers=1, threads_per_worker=1, memory_limit="1GB")
print(str(caught[0].message).split("(")[1].split(")")[0])
assert client.submit(tasks.inc, 1).result() == 2
client.close()
print(os.listdir(disk + "/runtime/glassloom"))
"""
    out = run_with_small_disk(tmp_path, "size=1m", script, JUPYTER_RUNTIME_DIR="{disk}/runtime")
    assert out == "No space left on device\n[]\n"


@pytest.mark.fault("no more files can be made on the disk of the cluster's directory")
def test_a_disk_with_no_room_for_a_directory_is_a_clear_error(tmp_path: Path) -> None:
    script = """
try:
    Client(n_workers=1, local_directory=disk)
except GlassloomError as error:
    print(type(error).__name__, error)
"""
    out = run_with_small_disk(tmp_path, "size=1m,nr_inodes=1", script)
    assert out.startswith("ClusterStartError the cluster didn't start: can't make the cluster's directory ")
    assert out.endswith(": No space left on device\n")


@pytest.mark.fault("the disk is full while results are spilled")
def test_results_that_find_no_room_on_disk_stay_in_memory(tmp_path: Path) -> None:
    script = """
client = Client(n_workers=1, threads_per_worker=1, memory_limit="400MB", local_directory=disk)
fill()
futures = client.map(lambda number: np.full(2**20, number), range(34))  # 272 MiB: over the target
wait(futures)
assert [float(future.result()[-1]) for future in futures[::8]] == [0.0, 8.0, 16.0, 24.0, 32.0]
kill_a_worker(client)
assert client.submit(tasks.inc, 1, pure=False).result() == 2
client.close()
print(os.listdir(disk))
"""
    assert run_with_small_disk(tmp_path, "size=1m", script) == "['filler']\n"


@pytest.mark.fault("there is no room for temporary files, and tasks run on threads")
def test_threads_compute_although_there_is_no_room_for_their_metrics(tmp_path: Path) -> None:
    script = """
import logging, tempfile
logging.basicConfig(stream=sys.stdout, format="%(message)s")
tempfile.tempdir = disk
glassloom.config.set({"threads.publish": True})
print(glassloom.delayed(sum)([1, 2]).compute())
"""
    out = run_with_small_disk(tmp_path, "size=1m,nr_inodes=1", script)
    warning = (
        "computations on threads publish no metrics: can't make the cluster's directory '.*': No space left on device"
    )
    assert re.fullmatch(f"{warning}\n3\n", out), out


@pytest.mark.fault("a cluster is killed on request while the disk of its directory is full")
def test_a_kill_on_request_is_noted_in_the_log_though_nothing_can_be_appended(tmp_path: Path) -> None:
    script = """
from glassloom_metrics.kill_note import note_kill, was_kill_noted
client = Client(n_workers=1, threads_per_worker=1, memory_limit="1GB", local_directory=disk)
record = client._record
path = record.directory + "/cluster.log"
with open(path, "ab", buffering=0) as log:  # up to the end of a page: what comes next needs another one
    log.write(b"x" * (4095 - os.path.getsize(path) % 4096) + b"\\n")
fill()
with open(path, "rb") as log:
    size = os.path.getsize(path)
    note_kill(record, "as asked for")
    os.kill(record.pid, signal.SIGKILL)
    eventually(lambda: not os.path.exists(record.directory))
    lines = log.read()
print(was_kill_noted(lines.decode().splitlines()), len(lines) - size)
"""
    assert run_with_small_disk(tmp_path, "size=1m", script) == "True 0\n"
