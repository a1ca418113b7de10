"""Which ends of a real cluster are told as a loss, and what is left of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from glassloom_metrics.registry import read_records
from glassloom_server.killing import kill_cluster

_CLUSTERS = ("glassloom", "api", "clusters")
_SCRIPT = """
import os, sys, time
import glassloom as gl
def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)
idle = sys.argv[1:]
if idle:  # not before it may be: on a busy machine it is idle for long until it gets its task
    from glassloom.cluster import head_process
    first, last = head_process.BOOTSTRAP.rsplit("main(start", 1)
    waits = "import os; from glassloom.head.idle_timer import IdleTimer; is_over = IdleTimer.is_over"
    waits += f"; IdleTimer.is_over = lambda timer, now_s: os.path.exists({idle[0]!r}) and is_over(timer, now_s)"
    head_process.BOOTSTRAP = f"{first}{waits}\\nmain(start{last}"
cluster = gl.LocalCluster(n_workers=1, threads_per_worker=1, name="loom", **({"idle_timeout": 1.0} if idle else {}))
client = gl.Client(cluster)
if idle:
    client.submit(wait_for, *idle).result()
for line in sys.stdin:
    if line.strip() == "client":
        client.close()
    elif line.strip() == "cluster":
        cluster.close()
    elif line.strip() == "exit":
        sys.exit()
"""


async def state_when(jp_fetch, predicate) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while True:
            state = json.loads((await jp_fetch(*_CLUSTERS)).body)
            if predicate(state):
                return state
            await asyncio.sleep(0.1)


@pytest.fixture
def script(jp_environ):
    running = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-c", _SCRIPT, *arguments], stdin=subprocess.PIPE, text=True)
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def say(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{word}\n")
    process.stdin.flush()


async def is_heard(jp_fetch) -> str:
    state = await state_when(jp_fetch, lambda told: told["clusters"] and told["clusters"][0]["can"])
    return state["clusters"][0]["id"]


async def test_a_cluster_whose_head_is_killed_is_told_as_lost_with_its_log(jp_fetch, services, script):
    script()
    async with services.watch.listen():
        cluster_id = await is_heard(jp_fetch)
        (record,) = read_records()
        with open(os.path.join(record.directory, "cluster.log"), "a") as log:
            log.write("said last\n")
        os.kill(record.pid, signal.SIGKILL)
        (lost,) = (await state_when(jp_fetch, lambda told: told["lost"]))["lost"]
        assert (lost["id"], lost["name"], lost["start"], lost["has_log"]) == (cluster_id, "loom", None, True)
        await state_when(jp_fetch, lambda told: not told["clusters"])
        lines = json.loads((await jp_fetch(*_CLUSTERS, cluster_id, "log")).body)["lines"]
        assert "said last" in lines


_ENDS = ["cluster", "SIGTERM", "shut down", "panel's kill", "closed while stopped", "idle"]
_SIMILAR_ENDS = ["client", "exit", "script killed", "another server's kill", "stop --force"]


@pytest.mark.parametrize("end", [*_ENDS, *[pytest.param(end, marks=pytest.mark.long) for end in _SIMILAR_ENDS]])
async def test_an_end_that_was_asked_for_is_no_loss(jp_fetch, services, script, tmp_path, end):
    may_be_idle = tmp_path / "may-be-idle"
    process = script(*[str(may_be_idle)] * (end == "idle"))
    async with services.watch.listen():
        cluster_id = await is_heard(jp_fetch)
        (record,) = read_records()
        match end:
            case "SIGTERM":
                os.kill(record.pid, signal.SIGTERM)
            case "script killed":
                process.kill()
            case "shut down":
                await jp_fetch(*_CLUSTERS, cluster_id, method="DELETE")
            case "panel's kill":
                await jp_fetch(*_CLUSTERS, cluster_id, method="DELETE", params={"kill": "true"})
            case "another server's kill":
                await asyncio.to_thread(kill_cluster, record)
            case "stop --force":
                command = [sys.executable, "-m", "glassloom", "cluster", "stop", "--force", record.id]
                await asyncio.to_thread(subprocess.run, command, check=True)
            case "idle":
                may_be_idle.touch()
            case "closed while stopped":
                os.kill(record.pid, signal.SIGSTOP)
                say(process, "cluster")
            case "client":  # a cluster outlives a client that was connected to it
                say(process, "client")
                say(process, "cluster")
            case "cluster" | "exit":
                say(process, end)
        await state_when(jp_fetch, lambda told: not told["clusters"])
        await asyncio.sleep(1.5)  # longer than a loss takes to be told
        assert json.loads((await jp_fetch(*_CLUSTERS)).body)["lost"] == []


_CELL = """
import time
from glassloom import Client
client = Client(n_workers=1, threads_per_worker=1, name="loom")
futures = client.map(lambda number: time.sleep(0.05), range(10_000), pure=False)
print("computes", flush=True)
client.gather(futures)
"""


async def run_in(connection: Any, code: str, until: str) -> None:
    """Run a cell in a kernel until it has printed something."""
    header = {"msg_id": "m1", "msg_type": "execute_request", "session": "s", "username": "", "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
    connection.write_message(json.dumps(message))
    async with asyncio.timeout(60):
        while True:
            told = await connection.read_message()
            assert told is not None
            if isinstance(told, str) and until in json.dumps(json.loads(told)["content"].get("text", "")):
                return


@pytest.mark.parametrize("end", [pytest.param("restarted", marks=pytest.mark.long), "shut down"])
async def test_the_end_of_a_notebooks_kernel_that_computes_is_no_loss(
    jp_fetch, jp_ws_fetch, jp_serverapp, services, end
):
    kernel = json.loads((await jp_fetch("api", "kernels", method="POST", body="{}")).body)["id"]
    connection = await jp_ws_fetch("api", "kernels", kernel, "channels")
    await run_in(connection, _CELL, "computes")
    async with services.watch.listen():
        await is_heard(jp_fetch)
        if end == "restarted":
            await jp_fetch("api", "kernels", kernel, "restart", method="POST", body="{}")
        else:
            await jp_fetch("api", "kernels", kernel, method="DELETE")
        await state_when(jp_fetch, lambda told: not told["clusters"])
        await asyncio.sleep(1.5)  # longer than a loss takes to be told
        assert json.loads((await jp_fetch(*_CLUSTERS)).body)["lost"] == []
    connection.close()
    await jp_serverapp.kernel_manager.shutdown_all()
