"""Starts that never come to an end: each is told as a start that failed, with the reason, and as nothing else; nothing is left of it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from glassloom_metrics.registry import read_records
from glassloom_server import child_process, launcher
from limits_by_event import limit_until
from long_tests import LONG_TESTS

_CLUSTERS = ("glassloom", "api", "clusters")
# The head is registered, and can be followed, but its starter never learns that it is ready.
_SCRIPT = '''
import os, sys, time
import glassloom as gl
from glassloom.cluster import head_process
class Clock:  # so that the time is up when the test says so
    monotonic = staticmethod(lambda: time.monotonic() + 1e6 * os.path.exists(sys.argv[1]))
head_process.time = Clock
silent = """
import os
from glassloom.head import registration
registration.print_json = lambda message: os.dup(1)  # where it would say so stays open
"""
first, last = head_process.BOOTSTRAP.rsplit("main(start", 1)
head_process.BOOTSTRAP = f"{first}{silent}main(start{last}"
try:
    gl.LocalCluster(n_workers=1, threads_per_worker=1, name="loom", timeout=60)
except gl.errors.ClusterStartError as error:
    print(error)
'''
# As a tool that prepares an environment does, it hands on what its program prints once that has ended, and here it never does.
_WRAPPER = """
import signal, subprocess
signal.signal(signal.SIGINT, signal.SIG_IGN)
subprocess.run([sys.executable, *sys.argv[1:]], capture_output=True)
time.sleep(600)
"""
_STUCK = """
import psutil
from glassloom.cluster import head_process
class Clock:  # the time is up when the head has come to the stop
    monotonic = staticmethod(lambda: time.monotonic() + 1e6 * any(head_process.is_stopped(each.pid) for each in psutil.Process().children()))
head_process.time = Clock
first, last = head_process.BOOTSTRAP.rsplit("main(start", 1)
head_process.BOOTSTRAP = first + "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)\\nmain(start" + last
from glassloom.cli import main
del sys.argv[1:3]  # -m glassloom
sys.exit(main())
"""


@pytest.fixture
def temporary(monkeypatch):
    """Return the folder where clusters of this test have their files."""
    with tempfile.TemporaryDirectory(prefix="gl-", dir="/tmp") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


async def state_when(jp_fetch, predicate: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while True:
            state = json.loads((await jp_fetch(*_CLUSTERS)).body)
            if predicate(state):
                return state
            await asyncio.sleep(0.05)


def processes_of(session: int) -> list[psutil.Process]:
    found = []
    for pid in psutil.pids():
        try:
            if os.getsid(pid) == session and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(psutil.Process(pid))
        except (OSError, psutil.Error):
            continue
    return found


async def has_nothing_left(jp_fetch, head: int, temporary: Path) -> None:
    """Wait until nothing is there of a cluster, and longer than a loss takes to be told; then no loss was told."""
    await state_when(jp_fetch, lambda told: not told["clusters"])
    async with asyncio.timeout(60):
        while processes_of(head) or list(temporary.glob("glassloom-*/cluster.log")):
            await asyncio.sleep(0.05)
    assert read_records() == []
    await asyncio.sleep(1.5)
    assert json.loads((await jp_fetch(*_CLUSTERS)).body)["lost"] == []


async def heard(jp_fetch) -> Any:
    """Return the record of the one cluster, once it was heard."""
    await state_when(jp_fetch, lambda told: told["clusters"] and told["clusters"][0]["can"])
    (record,) = read_records()
    return record


@pytest.mark.fault("a cluster that can be seen already takes too long to start")
async def test_a_local_cluster_that_is_killed_since_it_took_too_long_to_start_is_no_loss(jp_fetch, services, temporary):
    up = temporary / "up"
    script = subprocess.Popen([sys.executable, "-c", _SCRIPT, str(up)], stdout=subprocess.PIPE, text=True)
    async with services.watch.listen():
        record = await heard(jp_fetch)
        up.touch()
        said, _ = await asyncio.to_thread(script.communicate)
        assert "didn't start within 60 s" in said
        await has_nothing_left(jp_fetch, record.pid, temporary)


@pytest.mark.fault("a start that the panel was asked for never comes to an end, or is cancelled")
@pytest.mark.more
@pytest.mark.parametrize("end", ["cancelled", *["timeout"] * LONG_TESTS])
async def test_a_cluster_whose_start_was_given_up_is_ended_with_it(
    jp_fetch, services, install_kernel, fake_python, temporary, monkeypatch, end
):
    monkeypatch.setattr(child_process, "_END_TIMEOUT_S", 1.0)
    install_kernel("wrapped", fake_python(_WRAPPER))
    services.starter._timeout_s, is_up = 60.0, asyncio.Event()
    monkeypatch.setattr(launcher, "time_limit", limit_until(is_up.is_set, of_s=60.0))
    body = json.dumps({"name": "loom", "kernel_name": "wrapped", "n_workers": 1, "threads_per_worker": 1})
    async with services.watch.listen():
        started = json.loads((await jp_fetch(*_CLUSTERS, method="POST", body=body)).body)
        record = await heard(jp_fetch)
        if end == "cancelled":
            await jp_fetch("glassloom", "api", "starts", started["id"], method="DELETE", request_timeout=60)
            problems = []
        else:
            is_up.set()
            await state_when(jp_fetch, lambda told: told["starts"][0]["state"] == "failed")
            problems = ["no cluster after 60 s"]
        await has_nothing_left(jp_fetch, record.pid, temporary)
        state = await state_when(jp_fetch, lambda told: True)
        assert [start["problem"] for start in state["starts"]] == problems


async def test_a_start_that_takes_too_long_says_which_process_of_the_cluster_is_stopped(
    jp_fetch, services, install_kernel, fake_python, temporary
):
    install_kernel("stuck", fake_python(_STUCK))
    services.starter._timeout_s = 75.0  # of which the cluster has four fifths
    body = json.dumps({"name": "loom", "kernel_name": "stuck", "n_workers": 1, "threads_per_worker": 1})
    async with services.watch.listen():
        await jp_fetch(*_CLUSTERS, method="POST", body=body)
        state = await state_when(jp_fetch, lambda told: told["starts"][0]["state"] == "failed")
        (problem,) = [start["problem"] for start in state["starts"]]
        stopped = re.fullmatch(
            r"the cluster didn't start within 60 s: process (\d+) \(.*\) is stopped by a signal", problem
        )
        assert stopped is not None, problem
        await has_nothing_left(jp_fetch, int(stopped[1]), temporary)
