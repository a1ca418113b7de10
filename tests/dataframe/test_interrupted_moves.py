"""Rows that move between worker processes while one is killed or stopped, the disk is full, or Ctrl-C is pressed: right, or a clear error."""

from __future__ import annotations

import glob
import os
import signal
import threading
from pathlib import Path

import glassloom as gl
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from eventual import eventually
from frame_helpers import assert_same
from long_tests import LONG_TESTS
from small_disk import run_with_small_disk

N_PARTITIONS = 200 if LONG_TESTS else 50
N_ROWS = 4_000
LEFT = pd.DataFrame({"k": np.arange(N_ROWS) * 7 % 1_000, "x": range(N_ROWS)})
RIGHT = pd.DataFrame({"k": np.arange(N_ROWS) * 3 % 1_500, "y": range(N_ROWS)})
BEFORE, AFTER = "before they move", "after they have moved"
STAGES = [pytest.param(BEFORE, marks=pytest.mark.long), AFTER]


@pytest.fixture(scope="module")
def client(imports_preloaded):
    with gl.Client(n_workers=2, threads_per_worker=1) as client:
        yield client


def pausing(block, folder):
    """Return a block. Until there is a file `go`, the tasks of both workers are held up here."""
    (folder / f"begun-{os.getpid()}").touch()
    while not (folder / "go").exists():
        threading.Event().wait(0.01)
    with (folder / "passed").open("a") as passed:
        passed.write(".")
    return block


def merged(folder, stage):
    """Return a merge of many partitions, whose tasks are held up before or after rows move; and pandas' rows."""
    left, right = (gd.from_pandas(frame, npartitions=N_PARTITIONS) for frame in (LEFT, RIGHT))
    if stage == BEFORE:
        left = left.map_partitions(pausing, folder, meta=left)
    made = left.merge(right, on="k", broadcast=False)
    if stage == AFTER:
        made = made.map_partitions(pausing, folder, meta=made)
    return made


def check(found):
    expected = LEFT.merge(RIGHT, on="k").sort_values(["x", "y"], ignore_index=True)
    assert_same(found.sort_values(["x", "y"], ignore_index=True), expected)


def wait_for_both_workers(client, folder):
    """Wait until a task is held up on each worker; return the process ids of these."""

    def held_up():
        pids = [worker["pid"] for worker in client.scheduler_info()["workers"].values()]
        return len(pids) == 2 and all((folder / f"begun-{pid}").exists() for pid in pids) and pids

    return eventually(held_up)


def require_nothing_left(client):
    """Check that no result is kept, in memory, shared memory or on disk."""
    eventually(lambda: not any(client.nbytes().values()))
    eventually(lambda: not glob.glob(f"/dev/shm/glassloom-{client._record.id}-*"))


@pytest.mark.fault("a worker is killed while rows move between partitions")
@pytest.mark.parametrize("stage", STAGES)
def test_a_merge_goes_on_although_a_worker_is_killed(client, tmp_path, stage):
    future = client.compute(merged(tmp_path, stage))
    os.kill(wait_for_both_workers(client, tmp_path)[0], signal.SIGKILL)
    (tmp_path / "go").touch()
    check(future.result())
    del future
    require_nothing_left(client)


@pytest.mark.fault("a worker is stopped (SIGSTOP) while rows move between partitions, and goes on")
@pytest.mark.parametrize("stage", STAGES)
def test_a_merge_goes_on_when_a_stopped_worker_does(client, tmp_path, stage):
    future = client.compute(merged(tmp_path, stage))
    pid = wait_for_both_workers(client, tmp_path)[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        (tmp_path / "go").touch()
        eventually(lambda: (tmp_path / "passed").exists())
    finally:
        os.kill(pid, signal.SIGCONT)
    check(future.result())
    del future
    require_nothing_left(client)


@pytest.mark.fault("Ctrl-C while rows move between partitions")
@pytest.mark.parametrize("stage", STAGES)
def test_a_merge_that_was_interrupted_can_be_computed_again(client, tmp_path, stage):
    work = merged(tmp_path, stage)

    def press():
        wait_for_both_workers(client, tmp_path)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        work.compute()
    thread.join()
    (tmp_path / "go").touch()
    check(work.compute())
    require_nothing_left(client)


@pytest.mark.long
@pytest.mark.fault("the disk is full while rows that move are spilled")
def test_a_merge_larger_than_memory_on_a_full_disk_is_right_or_says_so(tmp_path: Path) -> None:
    script = """
import glassloom.dataframe as gd
import pandas as pd

def made(number):
    rows = np.arange(number * 24_000, (number + 1) * 24_000)
    return pd.DataFrame({"k": rows * 7 % 3_600_011, "x": rows, "a": rows * 0.5, "b": rows * 0.25})

left = gd.from_map(made, range(150))
right = gd.from_map(made, range(150))[["k", "x"]].rename(columns={"x": "y"})
client = Client(n_workers=2, threads_per_worker=1, memory_limit="260MB", local_directory=disk)
fill()
work = left.merge(right, on="k", broadcast=False)
try:
    found = glassloom.compute(((work.x - work.y).abs() + (work.a - 2 * work.b).abs()).sum(), work.x.count())
    print("right" if found == (0, 3_600_000) else found)
except (GlassloomError, MemoryError, OSError) as error:
    print(type(error).__name__, error)
assert client.submit(tasks.inc, 1, pure=False).result() == 2
make_room()
client.close()
print(os.listdir(disk))
"""
    out = run_with_small_disk(tmp_path, "size=1m", script, timeout_s=240)
    assert out.endswith("\n[]\n")
    assert out.startswith("right") or "memory" in out or "No space left" in out, out
