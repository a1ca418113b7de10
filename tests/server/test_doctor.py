"""The doctor names the broken hop, with real clusters whose head is stopped or dead; so do commands, and kill ends them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest
from glassloom import LocalCluster
from glassloom_metrics import doctor
from glassloom_metrics.host import HostIdentity, is_running, is_stopped
from glassloom_metrics.registry import ClusterRecord, read_records, write_record
from glassloom_server.doctor import Doctor
from tornado.httpclient import HTTPClientError

HOPS = ["registry", "record", "kernel", "control", "metrics", "heard", "dashboards", "proxy"]


@pytest.fixture(scope="module")
def running_cluster() -> Iterator[LocalCluster]:
    with LocalCluster(1, 1, name="real") as cluster:
        yield cluster


@pytest.fixture
def cluster(running_cluster, jp_environ) -> ClusterRecord:
    """A real cluster, in the registry of this test's server."""
    record = running_cluster.record
    write_record(record)
    return record


@pytest.fixture
def jp_server_config(jp_server_config) -> dict[str, Any]:
    settings = {**jp_server_config["GlassloomServer"], "command_timeout_s": 1.0}
    return {**jp_server_config, "GlassloomServer": settings}


@pytest.fixture
def patient(services, monkeypatch) -> None:
    """Give what is well a minute to answer, as it may need on a busy machine."""
    services.doctor._timeout_s = 60.0
    monkeypatch.setattr("glassloom_server.doctor._LISTEN_S", 60.0)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        while not is_stopped(pid):
            pass
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


async def examined(jp_fetch, cluster: str | None = None) -> dict[str, dict[str, str]]:
    answer = await jp_fetch("glassloom", "api", "doctor", params={} if cluster is None else {"cluster": cluster})
    hops = json.loads(answer.body)["hops"]
    assert [hop["id"] for hop in hops] == HOPS
    return {hop["id"]: hop for hop in hops}


def states(hops: dict[str, dict[str, str]]) -> dict[str, str]:
    return {name: hop["state"] for name, hop in hops.items()}


async def test_all_is_well_with_a_cluster_that_runs(jp_fetch, cluster, patient):
    hops = await examined(jp_fetch, cluster.id)
    seen = {"registry": "good", "record": "good", "control": "good", "metrics": "good", "heard": "good"}
    assert states(hops) == {**seen, "kernel": "skipped", "dashboards": "skipped", "proxy": "skipped"}
    assert cluster.python in hops["record"]["detail"]
    assert states(await examined(jp_fetch)) == states(hops), "the newest is looked at"


async def test_a_cluster_that_is_not_there_is_named(jp_fetch, start_cluster):
    await start_cluster("c1", name="loom")
    hops = await examined(jp_fetch, "c9")
    assert hops["record"]["detail"] == "No cluster 'c9' runs; running: 'loom' (c1)."
    assert [hops[name]["state"] for name in ("kernel", "control", "metrics", "heard")] == ["skipped"] * 4


async def test_a_cluster_of_another_host_is_said_to_be_there(jp_fetch, start_cluster):
    await start_cluster("c1", host=HostIdentity("faraway", "m", "b", "pid:[1]"))
    hops = await examined(jp_fetch, "c1")
    assert "on host 'faraway'" in hops["record"]["detail"]
    assert hops["record"]["mend"] == "It can be reached only there: run JupyterLab there."


@pytest.mark.fault("a head is stopped (SIGSTOP), and the panel asks it for something")
async def test_a_stopped_head_is_found_commands_end_in_time_and_the_state_says_silent(jp_fetch, cluster):
    with stopped(cluster.pid):
        hops = await examined(jp_fetch, cluster.id)  # it answers within a minute
        assert [hops[name]["state"] for name in ("registry", "record", "control", "metrics", "heard")] == [
            "good", "good", "bad", "bad", "bad",
        ]  # fmt: skip
        assert "is stopped by a signal" in hops["control"]["detail"]
        assert f"kill -CONT {cluster.pid}" in hops["control"]["mend"]
        with pytest.raises(HTTPClientError) as caught:
            await jp_fetch("glassloom", "api", "clusters", cluster.id, "scale", method="POST", body='{"n": 2}')
        assert caught.value.code == 504
        message = json.loads(caught.value.response.body)["message"]
        assert message.endswith("didn't answer within 1 s; its process is stopped by a signal")


async def test_a_process_of_the_dashboards_that_is_stopped_is_found(jp_fetch, services, patient):
    await services.dashboards.ensure_running()
    pid = services.dashboards.pid
    assert [(await examined(jp_fetch))[name]["state"] for name in ("dashboards", "proxy")] == ["good", "good"]
    services.doctor._timeout_s = doctor.HOP_TIMEOUT_S
    with stopped(pid):
        hops = await examined(jp_fetch)
    assert hops["dashboards"]["detail"] == f"Process {pid} is stopped by a signal."
    assert (hops["proxy"]["state"], hops["proxy"]["detail"][:21]) == ("bad", "The dashboards don't ")


async def test_dashboards_that_are_starting_are_no_fault(jp_fetch, services, patient, tmp_path):
    go, (python, stub) = tmp_path / "go", services.dashboards._command
    waits = f"import os, runpy, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.02)\nrunpy.run_path({stub!r}, run_name='__main__')"
    services.dashboards._command = [python, "-c", waits]
    starting = asyncio.create_task(services.dashboards.ensure_running())
    while services.dashboards.pid is None:
        await asyncio.sleep(0.02)
    hops = await examined(jp_fetch)
    assert [hops[name]["state"] for name in ("dashboards", "proxy")] == ["skipped", "skipped"]
    assert hops["dashboards"]["detail"] == f"Process {services.dashboards.pid} is starting. Look again in a moment."
    go.touch()
    await starting
    assert [(await examined(jp_fetch))[name]["state"] for name in ("dashboards", "proxy")] == ["good", "good"]


async def test_dashboards_that_end_again_and_again_are_found_with_their_last_words(jp_fetch, services, monkeypatch):
    monkeypatch.setenv("GLASSLOOM_STUB_FAIL", "no palette")
    for _ in range(3):
        with pytest.raises(Exception, match="no palette"):
            await services.dashboards.ensure_running()
    hops = await examined(jp_fetch)
    assert hops["dashboards"]["state"] == "bad"
    assert "no palette" in hops["dashboards"]["detail"] and "again in" in hops["dashboards"]["mend"]


@pytest.mark.parametrize(
    ("kernels", "kernel_id", "state"),
    [
        ({}, None, "skipped"),
        ({}, "k1", "unknown"),
        ({"k1": False}, "k1", "bad"),
        ({"k1": True}, "k1", "good"),
    ],
)
async def test_the_kernel_of_a_cluster_is_looked_at(kernels, kernel_id, state):
    class Kernels(dict):
        is_alive = dict.__getitem__

        def kernel_model(self, kernel_id):
            return {"execution_state": "busy"}

    looking = Doctor(kernels=Kernels(kernels), watch=SimpleNamespace(), dashboards=SimpleNamespace())
    found = await looking._look_at_kernel(SimpleNamespace(kernel_id=kernel_id))
    assert found.state == state


def test_every_hop_has_a_deadline(monkeypatch):
    async def hangs(record=None):
        await asyncio.Event().wait()

    async def at_once(function, *args):
        return function(*args)

    monkeypatch.setattr(doctor, "read_records", lambda: [record])
    monkeypatch.setattr(asyncio, "to_thread", at_once)  # a thread that starts late would be past the deadline, too
    record = ClusterRecord("c1", "loom", "processes", os.getpid(), 0.0, "/nowhere", "", 0.0, "", "")
    probes = doctor.Probes(hangs, hangs, hangs, hangs)
    hops = asyncio.run(doctor.examine("c1", probes=probes, timeout_s=0.05))
    found = {hop.id: hop.state for hop in hops}
    assert found == {name: "good" if name in ("registry", "record") else "bad" for name in HOPS}
    assert all(hop.mend for hop in hops if hop.state == "bad")


async def test_a_cluster_that_does_not_answer_is_killed_with_all_its_processes(jp_fetch, jp_environ):
    cluster = await asyncio.to_thread(lambda: LocalCluster(1, 1, name="stuck"))
    record = cluster.record
    with stopped(record.pid):
        response = await jp_fetch(
            "glassloom", "api", "clusters", record.id, method="DELETE", params={"kill": "true"}, request_timeout=60
        )
    assert response.code == 204
    assert not is_running(record.pid, record.pid_started_s)
    assert read_records() == []
    assert not os.path.exists(record.directory)
    await asyncio.to_thread(cluster.close)
