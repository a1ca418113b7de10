"""Shuffles, sorts and joins whose workers are killed or stopped, whose disk is full, or that are interrupted in the middle.

``GLASSLOOM_LONG_TESTS=1`` tries more ways to move. `GLASSLOOM_MOVES_SPILL=1` moves several times the memory limit, so that workers spill
meanwhile: that takes minutes a test, more than its bound on a busy machine.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from fault_helpers import both_workers, eventually, kill, worker_pids
from glassloom import Client
from glassloom.dataframe.moving import exchange
from long_tests import LONG_TESTS
from test_full_disk import run_with_small_disk
from time_bounds import interrupted_after

pytestmark = pytest.mark.more

SPILLS = "GLASSLOOM_MOVES_SPILL" in os.environ
ROWS, PARTITIONS = (200_000, 128) if SPILLS else (500, 8)
LIMIT = "200 MiB"
GATED = PARTITIONS // 2
META = pd.DataFrame({"k": [1], "x": [0.0], "y": [0.0]})


@pytest.fixture(autouse=True)
def bounded_time() -> Iterator[None]:
    """Moving a gigabyte on a busy machine takes longer than other tests may."""
    yield from interrupted_after(300 if SPILLS or LONG_TESTS else 60)


@pytest.fixture(scope="module")
def cluster(nothing_is_left_behind: Any, imports_preloaded: None) -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1, memory_limit=LIMIT) as client:
        yield client
        log = Path(client._record.directory, "cluster.log").read_text()
    assert "Traceback" not in log, log


@pytest.fixture
def client(cluster: Client) -> Iterator[Client]:
    """Return the module's client. After each test its cluster must work, and hold nothing."""
    both_workers(cluster)
    yield cluster
    assert gd.from_map(make, range(2), meta=META).shuffle("k").compute().x.sum() == pytest.approx(sum_of_x(2))
    eventually(lambda: not left_behind(cluster))


def left_behind(client: Client) -> list[str]:
    """Return the files of results, in shared memory and on disk."""
    shared = Path("/dev/shm").glob(f"glassloom-{client._record.id}-*")
    spilled = (path for path in Path(client._record.directory).rglob("*spill*") if path.is_file())
    return [str(path) for path in (*shared, *spilled)]


class Gate:
    """Where the tasks of a computation wait till the test has done its worst."""

    def __init__(self, folder: Path, stage: str) -> None:
        self.stage = stage
        self._reached, self._opened = folder / "reached", folder / "opened"

    def pass_through(self, stage: str, block: Any) -> Any:
        if stage == self.stage and not self._opened.exists():
            self._reached.touch()
            eventually(self._opened.exists, 100)
        return block

    def meet(self, act: Callable[[], Any]) -> threading.Thread:
        """Do something, in another thread, when the gate is reached; then open it. The thread joins one that was begun then."""

        def run() -> None:
            begun = None
            try:
                eventually(self._reached.exists, 200)
                begun = act()
            finally:
                self._opened.touch()
            if begun is not None:
                begun.join()

        thread = threading.Thread(target=run)
        thread.start()
        return thread


def make(number: int, gate: Gate | None = None) -> pd.DataFrame:
    random = np.random.default_rng(number)
    block = pd.DataFrame({"k": random.integers(0, 10**6, ROWS), "x": random.random(ROWS), "y": random.random(ROWS)})
    return gate.pass_through("split", block) if gate is not None and number == GATED else block


def sum_of_x(n_partitions: int) -> float:
    return float(sum(make(number).x.sum() for number in range(n_partitions)))


def checked(block: Any, gate: Gate) -> Any:
    """Return the rows, the sum and the extremes of an output's keys, in order or not."""
    keys = block.k if "k" in block else block.index.to_series()
    return pd.DataFrame({"n": [len(block)], "x": [block.x.sum()], "low": [keys.min()], "high": [keys.max()],
                         "keys": [keys.nunique()]}).pipe(partial(gate.pass_through, "output"))  # fmt: skip


MOVES: dict[str, Callable[[Any], Any]] = {
    "shuffle": lambda frame: frame.shuffle("k"),
    "set_index": lambda frame: frame.set_index("k"),
    "sort_values": lambda frame: frame.sort_values("k"),
    "merge": lambda frame: frame[["k", "x"]].merge(frame[["k", "y"]].drop_duplicates("k", split_out=8), on="k", broadcast=False),
}  # fmt: skip


def moved(move: str, gate: Gate) -> Any:
    frame = gd.from_map(partial(make, gate=gate), range(PARTITIONS), meta=META)
    meta = {"n": "int64", "x": "float64", "low": "float64", "high": "float64", "keys": "int64"}
    return MOVES[move](frame).map_partitions(checked, gate, meta=meta)


def assert_right(move: str, found: pd.DataFrame) -> None:
    keys = np.concatenate([make(number).k.to_numpy() for number in range(PARTITIONS)])
    assert found.n.sum() == len(keys)
    assert found.x.sum() == pytest.approx(sum_of_x(PARTITIONS))
    assert found["keys"].sum() == len(np.unique(keys))  # all rows of a key are in one partition
    held = found[found.n > 0]
    if move in ("set_index", "sort_values"):
        assert (held.high.to_numpy()[:-1] <= held.low.to_numpy()[1:]).all()


def kill_one(client: Client) -> None:
    kill(worker_pids(client)[0])


def kill_all(client: Client) -> None:
    for pid in worker_pids(client):
        kill(pid)


def stop_one(client: Client) -> threading.Thread:
    stopped = worker_pids(client)[0]
    kill(stopped, signal.SIGSTOP)
    timer = threading.Timer(5 if SPILLS else 0.5, kill, (stopped, signal.SIGCONT))
    timer.start()
    return timer


CASES = [("shuffle", "split"), ("merge", "output")]
if LONG_TESTS:
    CASES += [("set_index", "split"), ("sort_values", "output")]


@pytest.mark.fault("SIGKILL or SIGSTOP of a worker in the middle of a shuffle, sort or join")
@pytest.mark.parametrize("fault", [kill_one, kill_all, stop_one])
@pytest.mark.parametrize(("move", "stage"), CASES)
def test_rows_that_move_while_a_worker_is_lost_are_right(client, tmp_path, move, stage, fault):
    gate = Gate(tmp_path, stage)
    thread = gate.meet(lambda: fault(client))
    assert_right(move, moved(move, gate).compute())
    thread.join()


@pytest.mark.fault("SIGKILL or SIGSTOP of a worker in the middle of a shuffle, sort or join")
@pytest.mark.parametrize("stage", ["split", "output"])
def test_rows_that_move_in_three_stages_while_a_worker_is_lost_are_right(client, tmp_path, monkeypatch, stage):
    monkeypatch.setattr(exchange, "number_of_stages", lambda *_: 3)
    gate = Gate(tmp_path, stage)
    thread = gate.meet(lambda: kill_one(client))
    assert_right("shuffle", moved("shuffle", gate).compute())
    thread.join()


@pytest.mark.fault("Ctrl-C in the middle of a shuffle, sort or join")
@pytest.mark.parametrize(("move", "stage"), CASES)
def test_rows_that_move_can_be_interrupted(client, tmp_path, move, stage):
    gate = Gate(tmp_path, stage)
    thread = gate.meet(lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        moved(move, gate).compute()  # `set_index` looks at the keys while it is built
    thread.join()
    eventually(lambda: not left_behind(client))
    assert_right(move, moved(move, gate).compute())


@pytest.mark.fault("a task raises in the middle of a shuffle, sort or join")
@pytest.mark.parametrize(("move", "stage"), CASES)
def test_an_error_in_the_middle_ends_the_move_with_that_error(client, move, stage):
    def fail(block: Any) -> Any:
        raise ValueError(f"{move} of {len(block)} rows failed")

    def make_or_fail(number: int) -> Any:
        return fail(make(number)) if number == GATED else make(number)

    frame = gd.from_map(make_or_fail if stage == "split" else make, range(PARTITIONS), meta=META)
    with pytest.raises(ValueError, match=f"{move} of [0-9]+ rows failed"):
        work = MOVES[move](frame)  # `set_index` looks at the keys at once
        (work if stage == "split" else work.map_partitions(fail, meta=META)).compute()


@pytest.mark.skipif(not SPILLS, reason="moves several times the memory limit: GLASSLOOM_MOVES_SPILL=1")
@pytest.mark.fault("the disk is full while a shuffle of several times the memory limit spills")
@pytest.mark.parametrize("move", ["shuffle"])
def test_a_disk_that_is_full_in_the_middle_is_a_clear_error_or_no_matter(tmp_path, move):
    script = f"""
import test_moving_faults as here
from pathlib import Path
gate = here.Gate(Path({str(tmp_path)!r}), "split")
client = Client(n_workers=2, threads_per_worker=1, memory_limit="200 MiB", local_directory=disk)
thread = gate.meet(fill)
try:
    here.assert_right({move!r}, here.moved({move!r}, gate).compute())
    print("right")
except (GlassloomError, OSError, MemoryError) as error:
    print("error", type(error).__name__, error)
thread.join()
make_room()
assert client.submit(tasks.inc, 1, pure=False).result() == 2
assert here.gd.from_map(here.make, range(2), meta=here.META).shuffle("k").compute().x.sum() > 0
eventually(lambda: not here.left_behind(client))
client.close()
print(os.listdir(disk))
"""
    out = run_with_small_disk(tmp_path, "size=300m", script, timeout_s=250)
    lines = out.splitlines()
    assert lines[-1] == "[]", out
    assert lines[0] == "right" or re.match(r"error \w+ .*(memory|No space left)", lines[0]), out
