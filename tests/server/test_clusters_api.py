"""The REST API of clusters, against a real Jupyter server and clusters that are real but for their engine."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from glassloom_metrics import publisher
from glassloom_metrics.pages import PAGES
from glassloom_metrics.protocol import PROTOCOL_VERSION
from tornado.httpclient import HTTPClientError

READY = """
sys.path[:0] = os.environ["PYTHONPATH_OF_TEST"].split(os.pathsep)
from glassloom_metrics.registry import ClusterRecord, process_started_s, write_record
from pathlib import Path
Path(os.environ["ARGV_FILE"]).write_text(json.dumps(sys.argv[1:]))
name = next((a.split("=", 1)[1] for a in sys.argv if a.startswith("--name=")), "unnamed")
pid = int(os.environ["TEST_PID"])
write_record(ClusterRecord("new1", name, "processes", pid, process_started_s(pid), "/nowhere", "s", 5.0, "/nowhere", "x"))
print("a line that is not ours")
print(json.dumps({"id": "new1", "name": name}), flush=True)
"""


@pytest.fixture
def argv_file(monkeypatch, tmp_path) -> Path:
    path = tmp_path / "argv.json"
    monkeypatch.setenv("ARGV_FILE", str(path))
    monkeypatch.setenv("TEST_PID", str(os.getpid()))
    monkeypatch.setenv("PYTHONPATH_OF_TEST", os.pathsep.join(sys.path))
    return path


async def post(jp_fetch, **body):
    return await jp_fetch("glassloom", "api", "clusters", method="POST", body=json.dumps(body))


async def refusal(awaitable) -> tuple[int, str]:
    with pytest.raises(HTTPClientError) as caught:
        await awaitable
    return caught.value.code, json.loads(caught.value.response.body)["message"]


async def test_no_clusters_are_an_empty_list(jp_fetch):
    response = await jp_fetch("glassloom", "api", "clusters")
    assert json.loads(response.body) == {"clusters": [], "recordings": [], "elsewhere": []}
    assert response.headers["Content-Type"] == "application/json"


async def test_a_cluster_is_listed_with_its_numbers_and_without_its_secret(jp_fetch, start_cluster):
    cluster = await start_cluster(name="<b>Ωmega</b>", started_by="script", kernel_id="k1")
    cluster.sample(cpu_percent=150.0, rss_bytes=700)
    response = await jp_fetch("glassloom", "api", "clusters")
    assert json.loads(response.body)["clusters"] == [
        {
            "id": "c1",
            "name": "<b>Ωmega</b>",
            "kind": "processes",
            "pid": os.getpid(),
            "started_at": 0.0,
            "started_by": "script",
            "kernel_id": "k1",
            "problem": "",
            "workers": 1,
            "threads": 2,
            "memory_bytes": 700,
            "memory_limit_bytes": 1000,
            "cpu_percent": 150.0,
            "cpu_history": [150.0],
            "tasks": {"waiting": 0, "ready": 0, "running": 0, "memory": 0, "released": 0, "erred": 0},
        }
    ]
    assert b"sekret" not in response.body


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
    assert [page["title"] for page in pages[:3]] == ["Overview", "Status", "Task stream"]


async def test_deleting_a_cluster_asks_it_to_shut_down(jp_fetch, start_cluster):
    cluster = await start_cluster()
    other = await start_cluster("c2")
    response = await jp_fetch("glassloom", "api", "clusters", "c1", method="DELETE")
    assert response.code == 204
    assert (cluster.commands, other.commands) == (["shutdown"], [])


async def test_a_pool_of_threads_cannot_be_deleted(jp_fetch, start_cluster):
    cluster = await start_cluster(name="threads-7", kind="threads")
    code, message = await refusal(jp_fetch("glassloom", "api", "clusters", "c1", method="DELETE"))
    assert code == 409
    assert message.startswith(f"'threads-7' is the pool of threads of process {os.getpid()}: it ends with that process")
    assert cluster.commands == []


async def test_deleting_an_unknown_cluster_says_which_ones_run(jp_fetch, start_cluster):
    await start_cluster("c2", name="loom")
    for unknown in ("c1", "loom"):
        code, message = await refusal(jp_fetch("glassloom", "api", "clusters", unknown, method="DELETE"))
        assert (code, message) == (404, f"no cluster '{unknown}'; running: 'c2'")


async def test_a_cluster_is_started_with_the_kernels_python_and_the_asked_options(
    jp_fetch, install_kernel, fake_python, argv_file
):
    install_kernel("mine", fake_python(READY))
    response = await post(
        jp_fetch, name="--help", n_workers=3, threads_per_worker=2, memory_limit="1.5 GiB", kernel_name="mine"
    )
    assert (response.code, json.loads(response.body)) == (201, {"id": "new1", "name": "--help"})
    assert json.loads(argv_file.read_text()) == [
        "-m",
        "glassloom",
        "cluster",
        "start",
        "--json",
        "--detach",
        "--started-by=panel",
        "--name=--help",
        "--n-workers=3",
        "--threads-per-worker=2",
        "--memory-limit=1.5 GiB",
    ]


async def test_a_start_that_fails_answers_with_what_the_process_said(jp_fetch, install_kernel, fake_python):
    install_kernel("broken", fake_python("sys.exit('MemoryLimitError: 3 EiB is more than this machine has')"))
    code, message = await refusal(post(jp_fetch, kernel_name="broken"))
    assert code == 500
    assert (
        message
        == "the cluster's process ended with exit code 1:\nMemoryLimitError: 3 EiB is more than this machine has"
    )


async def test_a_request_that_the_engine_refuses_is_answered_with_its_words_alone(
    jp_fetch, install_kernel, fake_python
):
    install_kernel("mine", fake_python("sys.exit('a warning\\nglassloom: \\'lots\\' is not a size')"))
    assert await refusal(post(jp_fetch, kernel_name="mine")) == (500, "'lots' is not a size")


async def test_a_kernel_without_its_interpreter_is_named(jp_fetch, install_kernel):
    install_kernel("gone", "/nowhere/python")
    code, message = await refusal(post(jp_fetch, kernel_name="gone"))
    assert (code, message) == (500, "could not run /nowhere/python: No such file or directory")


async def test_an_unknown_kernel_is_refused_with_the_installed_ones(jp_fetch, install_kernel):
    install_kernel("mine", "python")
    code, message = await refusal(post(jp_fetch, kernel_name="other"))
    assert code == 400
    assert message.startswith("no kernel 'other'; installed: ")
    assert "mine" in message


async def test_a_kernel_of_another_language_is_refused(jp_fetch, install_kernel):
    install_kernel("rr", "R", language="R")
    assert await refusal(post(jp_fetch, kernel_name="rr")) == (400, "kernel 'rr' runs 'R'; a cluster needs Python")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"n_workers": 0}', "Expected `int` >= 1 - at `$.n_workers`"),
        ('{"n_workers": "two"}', "Expected `int | null`, got `str` - at `$.n_workers`"),
        ('{"workers": 2}', "Object contains unknown field `workers`"),
        ('{"name": ""}', "Expected `str` of length >= 1 - at `$.name`"),
        ("{", "Input data was truncated"),
    ],
)
async def test_a_bad_request_is_refused_with_the_field(jp_fetch, body, message):
    request = jp_fetch("glassloom", "api", "clusters", method="POST", body=body)
    assert await refusal(request) == (400, message)


async def test_prometheus_gets_the_numbers_of_all_clusters(jp_fetch, jp_serverapp, start_cluster):
    activity = jp_serverapp.web_app.settings.get("api_last_activity")
    assert (await jp_fetch("glassloom", "api", "prometheus")).body == b""
    cluster = await start_cluster(name='a "loom"')
    cluster.sample(cpu_percent=50.0, rss_bytes=9)
    async with asyncio.timeout(20):
        while b"busy_cores{" not in (answer := await jp_fetch("glassloom", "api", "prometheus")).body:
            await asyncio.sleep(0.1)
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.body.decode().splitlines()
    assert 'glassloom_workers{cluster="a \\"loom\\"",cluster_id="c1"} 1' in lines
    assert "# TYPE glassloom_workers gauge" in lines
    assert jp_serverapp.web_app.settings.get("api_last_activity") == activity, "a server that is only read is idle"
