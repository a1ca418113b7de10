"""What goes wrong between a scheduler of dask.distributed and who is attached to it: real processes, killed, stopped and cut off."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest
from attached import Told, attached, wait_for
from calls import inc
from glassloom.distributed import attachment
from glassloom_metrics.protocol import Life, Log, WorkerJoined, WorkerLeft
from glassloom_metrics.registry import find_record

SCRIPT = """
import distributed, sys, time
if __name__ == "__main__":
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, protocol="tcp://", host="127.0.0.1", processes=False, dashboard_address=":0"
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


LONG_S = 400


class Scheduler:
    """A scheduler and a worker in a process of their own."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": f"{Path(__file__).parent}:{os.environ.get('PYTHONPATH', '')}"}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment, text=True, **pipes)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def scheduler(own_folders: None) -> Iterator[Scheduler]:
    signal.alarm(LONG_S)
    started = Scheduler()
    yield started
    started.kill()


def lines(told: Told) -> str:
    return "\n".join(line.text for line in told.of(Log))


def bound(dask_scheduler: Any, limit: int) -> None:
    """Let the plugin keep little."""
    plugin = next(each for name, each in dask_scheduler.plugins.items() if name.startswith("glassloom"))
    plugin.read.__globals__.update(MOST_BYTES=limit, MOST_ROWS=20)


def kept(dask_scheduler: Any) -> tuple[int, int]:
    plugin = next(each for name, each in dask_scheduler.plugins.items() if name.startswith("glassloom"))
    return plugin._nbytes, len(plugin._rows)


@pytest.mark.long
def test_restarts_stopped_readers_and_the_schedulers_end(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachment, "REFUSED_S", 1.0)
    with distributed.Client(scheduler.address, set_as_default=False) as client:
        client.wait_for_workers(1)
        with attached(scheduler.address, timeout_s=3.0) as told:
            _stopped_reader(scheduler, client)
            client.restart(wait_for_workers=False)  # without a nanny the worker doesn't come back
            wait_for(lambda: "the cluster was restarted" in lines(told), "restarted")
            _cut_off(scheduler, told)
            scheduler.kill()
            assert told.ended.wait(60)
            assert told.of(Life)[-1].event == "closing"
            assert "its scheduler has ended" in lines(told)
            assert len(told.of(WorkerLeft)) == len(told.of(WorkerJoined))
            wait_for(lambda: not Path(told.record.directory).exists(), "its folder goes, after its readers are told")


def _stopped_reader(scheduler: Scheduler, client: distributed.Client) -> None:
    """A reader that is stopped costs the scheduler a bounded buffer; it learns that it has missed something."""
    command = [sys.executable, "-m", "glassloom", "attach", scheduler.address, "--json", "--name", "stopped"]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    told = Told(find_record(json.loads(reader.stdout.readline())["id"]))
    try:
        client.run_on_scheduler(bound, limit=20_000)
        reader.send_signal(signal.SIGSTOP)
        for part in range(4):
            assert len(client.gather(client.map(inc, range(200), key=f"part{part}"))) == 200
            nbytes, n_rows = client.run_on_scheduler(kept)
            assert nbytes <= 30_000 and n_rows < 20
        reader.send_signal(signal.SIGCONT)
        wait_for(lambda: "is lost: it wasn't read in time" in lines(told), "said to be lost")
        client.submit(inc, 1, key="after-stop").result()
        wait_for(lambda: any("after" in row["name"] for row in told.rows()), "rows go on")
    finally:
        reader.kill()
        reader.wait()


def _cut_off(scheduler: Scheduler, told: Told) -> None:
    """A scheduler that doesn't answer for a while is said not to, and read again when it does."""
    scheduler.process.send_signal(signal.SIGSTOP)
    wait_for(lambda: "the connection to the scheduler" in lines(told), "said to be lost")
    scheduler.process.send_signal(signal.SIGCONT)
    wait_for(lambda: "the scheduler answers again" in lines(told), "said to be back")


def test_readers_without_a_scheduler_end(own_folders: None) -> None:
    started = time.monotonic()
    with (
        pytest.raises(Exception, match="no scheduler of dask.distributed answers"),
        attached("tcp://127.0.0.1:1", timeout_s=1.0),
    ):
        pass
    assert time.monotonic() - started < 60
