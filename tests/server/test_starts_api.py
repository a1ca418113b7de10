"""Starting clusters: profiles, 202 at once, what the state tells of it, cancelling; the "engine" is a script."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError

READY = """
sys.path[:0] = os.environ["PYTHONPATH_OF_TEST"].split(os.pathsep)
from glassloom_metrics.registry import ClusterRecord, process_started_s, write_record
from pathlib import Path
Path(os.environ["ARGV_FILE"]).write_text(json.dumps([sys.argv[1:], dict(os.environ)]))
name = next((a.split("=", 1)[1] for a in sys.argv if a.startswith("--name=")), "unnamed")
pid = int(os.environ["TEST_PID"])
write_record(ClusterRecord("new1", name, "processes", pid, process_started_s(pid), "/nowhere", "s", 5.0, "/nowhere", "x"))
print("a line that is not ours")
print(json.dumps({"id": "new1", "name": name}), flush=True)
"""
HANGS = """
Path = __import__("pathlib").Path
try:
    Path(os.environ["ARGV_FILE"]).write_text("[]")
    time.sleep(60)
except KeyboardInterrupt:
    Path(os.environ["ARGV_FILE"]).write_text('"interrupted"')
"""


@pytest.fixture
def jp_server_config(jp_server_config) -> dict[str, Any]:
    large = {"name": "large", "description": "All of it", "values": {"n_workers": 8, "memory_limit": "4 GiB"}}
    broken = {"name": "broken", "values": {"n_workers": "many"}}
    settings = {**jp_server_config["GlassloomServer"], "profiles": [large, broken]}
    return {**jp_server_config, "GlassloomServer": settings}


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


async def state_when(jp_fetch, predicate) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while True:
            state = json.loads((await jp_fetch("glassloom", "api", "clusters")).body)
            if predicate(state):
                return state
            await asyncio.sleep(0.02)


async def test_a_cluster_is_started_with_the_kernels_python_and_the_asked_options(
    jp_fetch, install_kernel, fake_python, argv_file, monkeypatch
):
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "sekret")
    install_kernel("mine", fake_python(READY))
    asked = {"threads_per_worker": 2, "minimum": 1, "maximum": 5, "idle_timeout": "30 min", "kernel_name": "mine"}
    response = await post(jp_fetch, name="--help", n_workers=3, memory_limit="1.5 GiB", **asked)
    started = json.loads(response.body)
    assert (response.code, started["name"]) == (202, "--help")
    state = await state_when(jp_fetch, lambda state: state["clusters"] and not state["starts"])
    assert [(cluster["id"], cluster["start"]) for cluster in state["clusters"]] == [("new1", started["id"])]
    argv, environment = json.loads(argv_file.read_text())
    assert argv == [
        "-m", "glassloom", "cluster", "start", "--json", "--detach", "--started-by=panel", "--name=--help", "--n-workers=3",
        "--threads-per-worker=2", "--memory-limit=1.5 GiB", "--minimum=1", "--maximum=5", "--idle-timeout=30 min",
    ]  # fmt: skip
    assert "JUPYTERHUB_API_TOKEN" not in environment


async def test_a_profile_says_what_the_request_leaves_out(jp_fetch, install_kernel, fake_python, argv_file):
    install_kernel("mine", fake_python(READY))
    response = await post(jp_fetch, profile="large", n_workers=2, kernel_name="mine")
    assert json.loads(response.body)["name"] == "cluster-1"
    await state_when(jp_fetch, lambda state: state["clusters"])
    assert json.loads(argv_file.read_text())[0][-3:] == ["--name=cluster-1", "--n-workers=2", "--memory-limit=4 GiB"]


async def test_profiles_come_with_the_forms_schema_and_the_kernels(jp_fetch, install_kernel):
    install_kernel("mine", "python")
    install_kernel("rr", "R", language="R")
    told = json.loads((await jp_fetch("glassloom", "api", "profiles")).body)
    assert told["profiles"] == [
        {"name": "large", "title": "large", "description": "All of it", "values": {"n_workers": 8, "memory_limit": "4 GiB"}}
    ]  # fmt: skip
    assert {"name": "mine", "title": "mine"} in told["kernels"]
    assert "rr" not in [kernel["name"] for kernel in told["kernels"]]
    assert told["schema"]["properties"]["n_workers"] == {
        "type": "integer", "minimum": 1, "maximum": 4096, "title": "Workers", "description": "Number of worker processes",
    }  # fmt: skip
    assert "$ref" not in json.dumps(told["schema"]) and "null" not in json.dumps(told["schema"])


async def test_a_start_that_goes_on_can_be_cancelled(jp_fetch, install_kernel, fake_python, argv_file):
    install_kernel("slow", fake_python(HANGS))
    started = json.loads((await post(jp_fetch, kernel_name="slow")).body)
    state = await state_when(jp_fetch, lambda state: argv_file.exists())
    assert state["starts"] == [{**started, "state": "starting", "problem": "", "cluster": None, "field": ""}]
    assert (await jp_fetch("glassloom", "api", "starts", started["id"], method="DELETE")).code == 204
    assert argv_file.read_text() == '"interrupted"'
    await state_when(jp_fetch, lambda state: not state["starts"])
    code, message = await refusal(jp_fetch("glassloom", "api", "starts", started["id"], method="DELETE"))
    assert (code, message) == (404, f"no start '{started['id']}'; there are: none")


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (
            "sys.exit('MemoryLimitError: 3 EiB is more than this machine has')",
            "the cluster's process ended with exit code 1:\nMemoryLimitError: 3 EiB is more than this machine has",
        ),
        ("sys.exit('a warning\\nglassloom: \\'lots\\' is not a size')", "'lots' is not a size"),
    ],
    ids=["of its own", "in the engine's words"],
)
async def test_a_start_that_fails_tells_why_until_it_is_dismissed(jp_fetch, install_kernel, fake_python, code, problem):
    install_kernel("broken", fake_python(code))
    started = json.loads((await post(jp_fetch, name="loom", kernel_name="broken")).body)
    failed = [{**started, "state": "failed", "problem": problem, "cluster": None, "field": ""}]
    await state_when(jp_fetch, lambda state: state["starts"] == failed)
    await jp_fetch("glassloom", "api", "starts", started["id"], method="DELETE")
    await state_when(jp_fetch, lambda state: not state["starts"])


async def test_a_name_that_a_cluster_has_is_refused_but_one_of_a_failed_start_is_not(
    jp_fetch, install_kernel, fake_python, start_cluster
):
    await start_cluster(name="loom")
    install_kernel("broken", fake_python("sys.exit('no')"))
    code, message = await refusal(post(jp_fetch, name="loom", kernel_name="broken"))
    assert (code, message) == (
        409,
        "name='loom' is what another cluster is called already: choose another name, or none",
    )
    await post(jp_fetch, name="again", kernel_name="broken")
    await state_when(jp_fetch, lambda state: [start["state"] for start in state["starts"]] == ["failed"])
    assert (await post(jp_fetch, name="again", kernel_name="broken")).code == 202


async def test_a_kernel_without_its_interpreter_is_named(jp_fetch, install_kernel):
    install_kernel("gone", "/nowhere/python")
    await post(jp_fetch, kernel_name="gone")
    state = await state_when(jp_fetch, lambda state: [start for start in state["starts"] if start["problem"]])
    assert state["starts"][0]["problem"] == "could not run /nowhere/python: No such file or directory"


@pytest.mark.parametrize(("field", "value"), [("kernel_name", "other"), ("profile", "huge")])
async def test_a_refusal_names_the_field_that_it_is_about(jp_fetch, field, value):
    with pytest.raises(HTTPClientError) as caught:
        await post(jp_fetch, **{field: value})
    assert json.loads(caught.value.response.body)["field"] == field


async def test_what_can_be_known_to_fail_is_refused_at_once(jp_fetch, install_kernel):
    install_kernel("mine", "python")
    install_kernel("rr", "R", language="R")
    code, message = await refusal(post(jp_fetch, kernel_name="other"))
    assert (code, "no kernel 'other'; installed: " in message, "mine" in message) == (400, True, True)
    assert await refusal(post(jp_fetch, kernel_name="rr")) == (400, "kernel 'rr' runs 'R'; a cluster needs Python")
    assert await refusal(post(jp_fetch, profile="huge")) == (400, "no profile 'huge'; there are: 'large'")
    fields = (
        "profile, name, gpu, n_workers, threads_per_worker, memory_limit, minimum, maximum, idle_timeout, kernel_name"
    )
    object_ = f"it should be a JSON object with the fields {fields}"
    refused = {
        '{"n_workers": 0}': "n_workers=0 should be a whole number from 1 to 4096",
        '{"n_workers": "two"}': "n_workers='two' should be a whole number from 1 to 4096",
        '{"workers": 2}': f"there is no field 'workers'; there are: {fields}",
        '{"name": ""}': "name='' should be text of 1 to 200 characters, none of them a control character",
        '{"memory_limit": "-5 GiB"}': "memory_limit='-5 GiB' should be text such as '4 GiB'",
        '{"gpu": "yes"}': "gpu='yes' should be true or false",
        '{"minimum": 3, "maximum": 2}': "minimum=3 is larger than maximum=2: exchange them, or change one",
        '{"n_workers": 9, "minimum": 1, "maximum": 2}': "n_workers=9 is larger than maximum=2: lower it, or raise that",
        '{"n_workers": 1, "minimum": 5}': "n_workers=1 is smaller than minimum=5: raise it, or lower that",
        '{"profile": "large", "maximum": 4}': "n_workers=8 is larger than maximum=4: lower it, or raise that",
        "[]": f"the body is []: {object_}",
        "{": f"the body can't be read as JSON (Input data was truncated): {object_}",
        "": f"the request has no body: {object_}",
    }
    for body, message in refused.items():
        assert await refusal(jp_fetch("glassloom", "api", "clusters", method="POST", body=body)) == (400, message)


async def test_a_refusal_tells_its_field_at_once_and_when_the_start_has_failed(jp_fetch, install_kernel, fake_python):
    with pytest.raises(HTTPClientError) as caught:
        await post(jp_fetch, n_workers=9, maximum=2)
    assert json.loads(caught.value.response.body)["field"] == "n_workers"
    install_kernel("broken", fake_python("sys.exit('glassloom: idle_timeout=\\'soon\\' is no time')"))
    await post(jp_fetch, kernel_name="broken", idle_timeout="soon")
    state = await state_when(jp_fetch, lambda state: [start for start in state["starts"] if start["problem"]])
    assert [(start["problem"], start["field"]) for start in state["starts"]] == [
        ("idle_timeout='soon' is no time", "idle_timeout")
    ]


async def test_starts_that_failed_are_forgotten_when_a_later_one_has_become_a_cluster(
    jp_fetch, install_kernel, fake_python, argv_file
):
    install_kernel("broken", fake_python("sys.exit('no')"))
    for _ in range(2):
        await post(jp_fetch, kernel_name="broken")
    await state_when(jp_fetch, lambda state: [start["state"] for start in state["starts"]] == ["failed"] * 2)
    install_kernel("mine", fake_python(READY))
    await post(jp_fetch, kernel_name="mine")
    await state_when(jp_fetch, lambda state: state["clusters"] and not state["starts"])
