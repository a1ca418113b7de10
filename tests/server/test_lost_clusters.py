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

_CLUSTERS = ("glassloom", "api", "clusters")
_SCRIPT = """
import sys, time
import glassloom as gl
cluster = gl.LocalCluster(n_workers=1, threads_per_worker=1, name="loom", **({"idle_timeout": 1.0} if "idle" in sys.argv else {}))
client = gl.Client(cluster)
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


_TIDY = ["cluster", "client", "exit", "SIGTERM", "script killed", "shut down", "panel's kill"]


@pytest.mark.more
@pytest.mark.parametrize("end", [*_TIDY, "idle"])
async def test_an_end_that_was_asked_for_is_no_loss(jp_fetch, services, script, end):
    process = script(*["idle"] * (end == "idle"))
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
            case "client":  # a cluster outlives a client that was connected to it
                say(process, "client")
                say(process, "cluster")
            case "cluster" | "exit":
                say(process, end)
        await state_when(jp_fetch, lambda told: not told["clusters"])
        await asyncio.sleep(1.5)  # longer than a loss takes to be told
        assert json.loads((await jp_fetch(*_CLUSTERS)).body)["lost"] == []
