"""The REST API of clusters, against a real Jupyter server and clusters that are real but for their engine."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

import pytest
from glassloom_metrics import publisher
from glassloom_metrics.gpu_messages import GpuDevice, gpu_devices, gpu_samples
from glassloom_metrics.pages import PAGES
from glassloom_metrics.protocol import PROTOCOL_VERSION, Runs, Settings, WorkerSamples
from tornado.httpclient import HTTPClientError


def a_gpu() -> GpuDevice:
    unknown = ["not supported"] * 6
    return GpuDevice(0, "GPU-1", "H200", 0, -1, 1000, *unknown, "ok", 0.0, "")


async def command(jp_fetch, verb: str, **body):
    return await jp_fetch("glassloom", "api", "clusters", "c1", verb, method="POST", body=json.dumps(body))


async def refusal(awaitable) -> tuple[int, str]:
    with pytest.raises(HTTPClientError) as caught:
        await awaitable
    return caught.value.code, json.loads(caught.value.response.body)["message"]


async def test_no_clusters_are_an_empty_list(jp_fetch):
    response = await jp_fetch("glassloom", "api", "clusters")
    lists: dict[str, list[object]] = {
        name: [] for name in ("clusters", "recordings", "elsewhere", "starts", "exports", "lost")
    }
    assert json.loads(response.body) == lists | {"dashboards": None}
    assert response.headers["Content-Type"] == "application/json"


async def test_a_cluster_is_listed_with_all_that_it_told_and_without_its_secret(jp_fetch, jp_root_dir, start_cluster):
    notebook = str(jp_root_dir / "work" / "taxi.ipynb")
    cluster = await start_cluster(name="<b>Ωmega</b>", started_by="notebook", kernel_id="k1", notebook=notebook)
    cluster.say(
        Settings(2.0, "loom", ["scale", "adapt", "shutdown", "levitate"], 1, 4, 600.0, time.time() - 30),
        gpu_devices(2.0, "1", "", [a_gpu()]),
        gpu_samples(2.0, {0: {"utilization_percent": 40.0, "memory_used_bytes": "not supported"}}),
        Runs([3], ["compute"], ["# taxis\ndf.mean()"], [notebook], ["cell1"], ["k1"], [""], [5.0], [None], ["running"], [9], [4], [0]),
        WorkerSamples(0.0, [0], [150.0], [700], [0], [0], [20], [0], [0]),
    )  # fmt: skip
    response = await jp_fetch("glassloom", "api", "clusters")
    (told,) = json.loads(response.body)["clusters"]
    assert 0 <= told.pop("last_heard_s") < 60 and told.pop("heard_at") > told.pop("idle_since")
    assert 30 <= told.pop("idle_for_s") < 90
    assert told == {
        "id": "c1",
        "name": "<b>Ωmega</b>",
        "kind": "processes",
        "pid": os.getpid(),
        "started_at": 0.0,
        "started_by": "notebook",
        "kernel_id": "k1",
        "notebook": "work/taxi.ipynb",
        "script": None,
        "start": None,
        "can": ["scale", "adapt", "shut_down", "log"],
        "problem": "",
        "state": "running",
        "workers": 1,
        "workers_lost": 0,
        "threads": 2,
        "adaptive": {"minimum": 1, "maximum": 4},
        "idle_timeout_s": 600.0,
        "memory_bytes": 700,
        "memory_limit_bytes": 1000,
        "spilled_bytes": 20,
        "cpu_percent": 150.0,
        "cpu_history": [150.0],
        "gpus": [{"name": "H200", "percent": 40.0, "memory_bytes": None, "memory_limit_bytes": 1000}],
        "gpu_history": [40.0],
        "device_memory": None,
        "engine": None,
        "tasks": {"waiting": 0, "ready": 0, "running": 0, "memory": 0, "released": 0, "erred": 0},
        "errors": 0,
        "runs": [
            {
                "id": "3",
                "kind": "compute",
                "label": "df.mean()",
                "notebook": "work/taxi.ipynb",
                "cell_id": "cell1",
                "started_at": 5.0,
                "ended_at": None,
                "outcome": "running",
                "tasks_done": 4,
                "tasks_total": 9,
            }
        ],
    }
    assert b"sekret" not in response.body


async def test_what_a_cluster_cannot_do_is_not_offered(jp_fetch, start_cluster):
    await start_cluster("c1", kind="threads")
    await start_cluster("c2")  # an older one, which doesn't tell
    response = await jp_fetch("glassloom", "api", "clusters")
    assert [told["can"] for told in json.loads(response.body)["clusters"]] == [[], ["shut_down", "log"]]


@pytest.mark.fault("a cluster speaks an older or newer version of the protocol only")
async def test_a_cluster_of_another_version_says_so(jp_fetch, start_cluster, monkeypatch):
    monkeypatch.setattr(publisher, "PROTOCOL_VERSION", 9)
    monkeypatch.setattr(publisher, "agreed_version", lambda version, min_version: None)
    await start_cluster()
    for _ in range(3):  # it is tried again each second, and says so all the time
        while True:
            response = await jp_fetch("glassloom", "api", "clusters")
            (cluster,) = json.loads(response.body)["clusters"]
            if cluster["problem"]:
                break
            await asyncio.sleep(0.05)
        assert cluster["problem"].startswith(
            f"cluster 'loom' speaks version 9 of the metrics protocol; this Glassloom reads {PROTOCOL_VERSION}: upgrade"
        )
        await asyncio.sleep(0.5)


async def test_clusters_are_listed_in_the_order_in_which_they_started(jp_fetch, start_cluster):
    for cluster_id in ("zz", "aa", "mm"):
        await start_cluster(cluster_id)
    response = await jp_fetch("glassloom", "api", "clusters")
    assert [cluster["id"] for cluster in json.loads(response.body)["clusters"]] == ["zz", "aa", "mm"]


async def test_pages_are_those_of_the_metrics_package(jp_fetch):
    response = await jp_fetch("glassloom", "api", "pages")
    pages = json.loads(response.body)["pages"]
    assert [page["id"] for page in pages] == [page.id for page in PAGES]
    assert [(page["title"], page["group"]) for page in pages[3:6]] == [
        ("Logs and errors", "overview"), ("Task stream", "tasks"), ("Progress", "tasks")
    ]  # fmt: skip


async def test_deleting_a_cluster_asks_it_to_shut_down(jp_fetch, start_cluster):
    cluster = await start_cluster()
    other = await start_cluster("c2")
    response = await jp_fetch("glassloom", "api", "clusters", "c1", method="DELETE")
    assert response.code == 204
    assert (cluster.asked, other.asked) == ([("shutdown", {})], [])


@pytest.mark.parametrize(
    ("verb", "body", "asked"),
    [
        ("scale", {"n": 4}, ("scale", {"n": 4})),
        ("scale", {"n": 0}, ("scale", {"n": 0})),
        ("adapt", {"minimum": 1, "maximum": 8}, ("adapt", {"minimum": 1, "maximum": 8})),
        ("adapt", {}, ("adapt", {})),
        ("restart", {}, ("restart", {})),
        ("rename", {"name": "Ωmega"}, ("rename", {"name": "Ωmega"})),
    ],
)
async def test_a_command_reaches_the_cluster_and_its_outcome_is_told(jp_fetch, start_cluster, verb, body, asked):
    cluster = await start_cluster()
    response = await command(jp_fetch, verb, **body)
    assert json.loads(response.body) == {"outcome": f"{verb} is done."}
    assert cluster.asked == [asked]


@pytest.mark.parametrize(
    ("verb", "body", "message"),
    [
        ("scale", {"n": -1}, "n=-1 should be a whole number from 0 to 4096"),
        ("scale", {"n": "four"}, "n='four' should be a whole number from 0 to 4096"),
        ("scale", {}, "n is missing: it should be a whole number from 0 to 4096"),
        ("adapt", {"minimum": 3, "maximum": 2}, "minimum=3 is larger than maximum=2"),
        (
            "adapt",
            {"minimum": 3},
            "minimum=3 needs a maximum too: give both, or neither to let the number of workers stay",
        ),
        ("restart", {"why": "so"}, "there is no field 'why'; there are: none"),
        ("rename", {"name": ""}, "name='' should be text of 1 to 200 characters, none of them a control character"),
    ],
)
async def test_a_command_without_sense_is_refused_before_the_cluster_hears_of_it(
    jp_fetch, start_cluster, verb, body, message
):
    cluster = await start_cluster()
    assert await refusal(command(jp_fetch, verb, **body)) == (400, message)
    assert cluster.asked == []


async def test_a_pool_of_threads_takes_no_command_and_is_not_killed(jp_fetch, start_cluster):
    cluster = await start_cluster(name="threads-7", kind="threads")
    one = ("glassloom", "api", "clusters", "c1")
    code, message = await refusal(jp_fetch(*one, method="DELETE"))
    assert code == 409
    assert message.startswith(f"'threads-7' is the pool of threads of process {os.getpid()}: it ends with that process")
    assert (await refusal(jp_fetch(*one, method="DELETE", params={"kill": "true"})))[0] == 409
    assert (await refusal(command(jp_fetch, "scale", n=2)))[0] == 409
    assert cluster.asked == []


async def test_the_newest_lines_of_a_clusters_log_are_told(jp_fetch, start_cluster):
    cluster = await start_cluster()
    one = ("glassloom", "api", "clusters", "c1", "log")
    assert json.loads((await jp_fetch(*one)).body) == {"lines": []}
    directory = Path(cluster.record.directory)
    directory.mkdir()
    (directory / "cluster.log").write_bytes(b"".join(b"line %d\n" % number for number in range(600)) + b"caf\xff\n")
    lines = json.loads((await jp_fetch(*one)).body)["lines"]
    assert (len(lines), lines[0], lines[-1]) == (500, "line 101", "caf\ufffd")
    assert json.loads((await jp_fetch(*one, params={"lines": "2"})).body) == {"lines": ["line 599", "caf\ufffd"]}
    refused = await refusal(jp_fetch(*one, params={"lines": "all"}))
    assert refused == (400, "lines='all' should be a whole number, 0 or more")


async def test_deleting_an_unknown_cluster_says_which_ones_run(jp_fetch, start_cluster):
    await start_cluster("c2", name="loom")
    for unknown in ("c1", "loom"):
        code, message = await refusal(jp_fetch("glassloom", "api", "clusters", unknown, method="DELETE"))
        assert (code, message) == (404, f"no cluster '{unknown}'; running: 'c2'")


async def test_prometheus_gets_the_numbers_of_all_clusters(jp_fetch, jp_serverapp, start_cluster, monkeypatch):
    activity = jp_serverapp.web_app.settings.get("api_last_activity")
    assert (await jp_fetch("glassloom", "api", "prometheus")).body == b""
    cluster = await start_cluster(name='a "loom"')
    cluster.sample(cpu_percent=50.0, rss_bytes=9)
    async with asyncio.timeout(60):
        while b"busy_cores{" not in (answer := await jp_fetch("glassloom", "api", "prometheus")).body:
            await asyncio.sleep(0.1)
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.body.decode().splitlines()
    assert 'glassloom_workers{cluster="a \\"loom\\"",cluster_id="c1"} 1' in lines
    assert "# TYPE glassloom_workers gauge" in lines
    assert jp_serverapp.web_app.settings.get("api_last_activity") == activity, "a server that is only read is idle"
    assert 'glassloom_up{cluster="a \\"loom\\"",cluster_id="c1"} 1' in lines
    monkeypatch.setattr("glassloom_server.cluster_fold.SILENT_S", -1.0)  # its last word is longer ago than that
    async with asyncio.timeout(60):
        while b"glassloom_workers" in (answer := await jp_fetch("glassloom", "api", "prometheus")).body:
            await asyncio.sleep(0.1)
    assert answer.body.endswith(b',cluster_id="c1"} 0\n')
