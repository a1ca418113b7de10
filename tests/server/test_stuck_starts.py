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
from glassloom_server import child_process
from long_tests import LONG_TESTS

_CLUSTERS = ("glassloom", "api", "clusters")
# The head is registered, and can be followed, but its starter never learns that it is ready.
_SCRIPT = '''
import glassloom as gl
from glassloom.cluster import head_process
silent = """
import os
from glassloom.head import registration
registration.print_json = lambda message: os.dup(1)  # where it would say so stays open
"""
first, last = head_process.BOOTSTRAP.rsplit("main(start", 1)
head_process.BOOTSTRAP = f"{first}{silent}main(start{last}"
try:
    gl.LocalCluster(n_workers=1, threads_per_worker=1, name="loom", timeout=6)
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
from glassloom.cluster import head_process
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
    async with asyncio.timeout(30):
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
    script = subprocess.Popen([sys.executable, "-c", _SCRIPT], stdout=subprocess.PIPE, text=True)
    async with services.watch.listen():
        record = await heard(jp_fetch)
        said, _ = await asyncio.to_thread(script.communicate)
        assert "didn't start within 6 s" in said
        await has_nothing_left(jp_fetch, record.pid, temporary)


@pytest.mark.fault("a start that the panel was asked for never comes to an end, or is cancelled")
@pytest.mark.more
@pytest.mark.parametrize("end", ["cancelled", *["timeout"] * LONG_TESTS])
async def test_a_cluster_whose_start_was_given_up_is_ended_with_it(
    jp_fetch, services, install_kernel, fake_python, temporary, monkeypatch, end
):
    monkeypatch.setattr(child_process, "_END_TIMEOUT_S", 1.0)
    install_kernel("wrapped", fake_python(_WRAPPER))
    services.starter._timeout_s = 8.0 if end == "timeout" else 60.0
    body = json.dumps({"name": "loom", "kernel_name": "wrapped", "n_workers": 1, "threads_per_worker": 1})
    async with services.watch.listen():
        started = json.loads((await jp_fetch(*_CLUSTERS, method="POST", body=body)).body)
        record = await heard(jp_fetch)
        if end == "cancelled":
            await jp_fetch("glassloom", "api", "starts", started["id"], method="DELETE", request_timeout=60)
            problems = []
        else:
            await state_when(jp_fetch, lambda told: told["starts"][0]["state"] == "failed")
            problems = ["no cluster after 8 s"]
        await has_nothing_left(jp_fetch, record.pid, temporary)
        state = await state_when(jp_fetch, lambda told: True)
        assert [start["problem"] for start in state["starts"]] == problems


async def test_a_start_that_takes_too_long_says_which_process_of_the_cluster_is_stopped(
    jp_fetch, services, install_kernel, fake_python, temporary
):
    install_kernel("stuck", fake_python(_STUCK))
    services.starter._timeout_s = 12.5  # a busy machine takes some of it to come to the stop
    body = json.dumps({"name": "loom", "kernel_name": "stuck", "n_workers": 1, "threads_per_worker": 1})
    async with services.watch.listen():
        await jp_fetch(*_CLUSTERS, method="POST", body=body)
        state = await state_when(jp_fetch, lambda told: told["starts"][0]["state"] == "failed")
        (problem,) = [start["problem"] for start in state["starts"]]
        stopped = re.fullmatch(
            r"the cluster didn't start within 10 s: process (\d+) \(.*\) is stopped by a signal", problem
        )
        assert stopped is not None, problem
        await has_nothing_left(jp_fetch, int(stopped[1]), temporary)
