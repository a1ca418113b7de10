"""The dashboards process behind Jupyter: started when wanted, again when it died, and told no secrets of Jupyter's."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import msgspec
import psutil
import pytest
from glassloom_metrics.host import HostIdentity, process_started_s, this_host
from glassloom_metrics.open_recordings import publish_recording, record_of_recording, withdraw_recording
from glassloom_metrics.protocol import PROTOCOL_VERSION, Hello, encode
from glassloom_metrics.recording_writer import RecordingWriter
from glassloom_metrics.registry import ClusterRecord, read_foreign_records, write_record
from glassloom_server.dashboards import Owner
from glassloom_server.process_log import ProcessLog
from glassloom_server.proxy import without_token
from jupyter_server.auth.authorizer import Authorizer
from limits_by_event import limit_until
from tornado.httpclient import HTTPClientError


async def test_a_page_is_proxied_with_its_whole_path_and_query(jp_fetch, jp_base_url, start_cluster):
    await start_cluster()
    response = await jp_fetch("glassloom", "dash", "c1", "status", params={"theme": "dark"})
    assert json.loads(response.body)["uri"] == f"{jp_base_url}glassloom/dash/c1/status?theme=dark"


async def test_jupyters_credentials_stay_in_jupyter(jp_fetch, jp_auth_header, start_cluster, services):
    await start_cluster()
    token = jp_auth_header["Authorization"].removeprefix("token ")
    headers = {
        **jp_auth_header,
        "Cookie": "login=yes",
        "X-XSRFToken": "xsrf",
        "Referer": "http://x/?token=t",
        "X-Glassloom-Secret": "no",
    }
    response = await jp_fetch(
        "glassloom", "dash", "c1", "status", headers=headers, params={"token": token, "theme": "x"}
    )
    seen = json.loads(response.body)
    assert {"Authorization", "Cookie", "X-Xsrftoken", "Referer"} & seen["headers"].keys() == set()
    assert seen["headers"]["X-Glassloom-Secret"] == services.dashboards.secret
    assert seen["uri"].endswith("?theme=x")


async def test_a_page_may_be_framed_by_jupyter_only_and_sets_no_cookie(jp_fetch, start_cluster):
    await start_cluster()
    response = await jp_fetch("glassloom", "dash", "c1", "status")
    assert "frame-ancestors 'self'" in response.headers["Content-Security-Policy"]
    assert "stub=cookie" not in response.headers.get("Set-Cookie", "")


async def test_a_front_end_elsewhere_that_knows_the_token_may_frame_a_page_whose_files_get_the_token_too(
    jp_fetch, jp_auth_header, start_cluster
):
    await start_cluster()
    token = jp_auth_header["Authorization"].removeprefix("token ")
    framed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "iframe"}
    page = ("glassloom", "dash", "c1", "overview")
    response = await jp_fetch(*page, headers=framed, params={"token": token})
    policies = response.headers.get_list("Content-Security-Policy")
    assert len(policies) == 2
    assert all("frame-ancestors *;" in policy for policy in policies)
    assert response.body == f'<script defer src="static/a.js?v=1&amp;token={token}"></script>'.encode()
    own = await jp_fetch(*page)
    assert own.body == b'<script defer src="static/a.js?v=1"></script>'
    assert all("frame-ancestors 'self';" in policy for policy in own.headers.get_list("Content-Security-Policy"))


async def test_an_open_page_does_not_count_as_activity(jp_fetch, jp_serverapp, start_cluster):
    await start_cluster()
    await jp_fetch("glassloom", "dash", "c1", "status")
    assert "jupyter-server-proxy" not in jp_serverapp.web_app.settings["last_activity_times"]


@pytest.mark.parametrize("cluster_id", ["c9", "loom"])
async def test_a_cluster_that_does_not_run_is_a_clear_404(jp_fetch, start_cluster, cluster_id, services):
    await start_cluster(name="loom")
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch("glassloom", "dash", cluster_id, "status")
    assert caught.value.code == 404
    assert caught.value.response.body == b"This cluster is not running any more."
    assert caught.value.response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert services.dashboards.pid is None


async def test_a_recording_that_a_kernel_has_opened_has_pages_and_is_no_cluster(jp_fetch, jp_environ, tmp_path):
    path = tmp_path / "run.glr"
    writer = RecordingWriter(path)
    writer.add(encode(Hello(PROTOCOL_VERSION, "c1", "loom", "processes", 1.0)))
    writer.close()
    record = record_of_recording(path)
    publish_recording(record)
    try:
        response = await jp_fetch("glassloom", "dash", record.id, "status")
        assert json.loads(response.body)["uri"].endswith(f"/glassloom/dash/{record.id}/status")
        listed = await jp_fetch("glassloom", "api", "clusters")
        state = json.loads(listed.body)
        assert state["clusters"] == []
        assert [(each["id"], each["name"]) for each in state["recordings"]] == [(record.id, "loom (run.glr)")]
        assert str(tmp_path) not in listed.body.decode()
    finally:
        withdraw_recording(record)
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch("glassloom", "dash", record.id, "status")
    assert caught.value.code == 404


async def test_a_recording_can_be_closed_and_its_file_stays(jp_fetch, jp_environ, tmp_path):
    path = tmp_path / "run.glr"
    writer = RecordingWriter(path)
    writer.add(encode(Hello(PROTOCOL_VERSION, "c1", "loom", "processes", 1.0)))
    writer.close()
    record = record_of_recording(path)
    publish_recording(record)
    closed = await jp_fetch("glassloom", "api", "recordings", record.id, method="DELETE")
    assert closed.code == 204
    assert path.exists()
    for path_of in (("dash", record.id, "status"), ("api", "recordings", record.id)):
        with pytest.raises(HTTPClientError) as caught:
            await jp_fetch("glassloom", *path_of, method="GET" if path_of[0] == "dash" else "DELETE")
        assert caught.value.code == 404


@pytest.mark.fault("two hosts, or containers, share one home")
async def test_a_cluster_of_another_host_is_listed_as_such_and_has_no_pages(jp_fetch, jp_environ):
    here = ClusterRecord("a1", "theirs", "processes", 1, 1.0, "/socket", "sekret", 1.0, "/directory", "")
    write_record(msgspec.structs.replace(here, host=HostIdentity("node12", "m", "another boot", "pid:[1]")))
    listed = await jp_fetch("glassloom", "api", "clusters")
    state = json.loads(listed.body)
    assert state["clusters"] == []
    assert state["elsewhere"] == [{"id": "a1", "name": "theirs", "host": "node12", "started_at": 1.0}]
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch("glassloom", "dash", "a1", "status")
    assert caught.value.code == 404
    assert [record.id for record in read_foreign_records()] == ["a1"]


async def test_websocket_messages_pass_both_ways_without_credentials(jp_ws_fetch, start_cluster, services):
    await start_cluster()
    socket = await jp_ws_fetch("glassloom", "dash", "c1", "status", "ws")
    headers = json.loads(await socket.read_message())
    assert "Authorization" not in headers
    assert headers["X-Glassloom-Secret"] == services.dashboards.secret
    await socket.write_message("text")
    assert await socket.read_message() == "text"
    await socket.write_message(b"\x00binary", binary=True)
    assert await socket.read_message() == b"\x00binary"
    socket.close()


async def test_what_a_page_is_sent_after_it_has_gone_is_no_error_in_jupyters_log(
    jp_fetch, jp_ws_fetch, start_cluster, caplog
):
    await start_cluster()
    for _ in range(5):
        socket = await jp_ws_fetch("glassloom", "dash", "c1", "status", "ws")
        await socket.write_message("stream")
        while await socket.read_message() != "more":
            pass
        socket.close()
    while json.loads((await jp_fetch("glassloom", "dash", "health")).body)["streams_ended"] < 5:
        await asyncio.sleep(0.01)
    gc.collect()  # an error that nobody looked at is logged with the task that had it
    await asyncio.sleep(0)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_the_process_is_started_once_for_many_requests(jp_fetch, services):
    assert services.dashboards.pid is None
    responses = await asyncio.gather(*(jp_fetch("glassloom", "dash", "health") for _ in range(5)))
    assert {json.loads(response.body)["pid"] for response in responses} == {services.dashboards.pid}


@pytest.mark.fault("the dashboards process is killed")
async def test_a_killed_process_is_started_again_by_the_next_request(jp_fetch, services):
    await jp_fetch("glassloom", "dash", "health")
    killed = services.dashboards.pid
    os.kill(killed, signal.SIGKILL)
    while services.dashboards.pid is not None:
        await asyncio.sleep(0.01)
    response = await jp_fetch("glassloom", "dash", "static", "x.js")
    assert json.loads(response.body)["pid"] == services.dashboards.pid != killed


async def test_a_process_without_an_open_page_is_ended_and_started_again_by_the_next_request(
    jp_fetch, jp_ws_fetch, start_cluster, services, monkeypatch
):
    probe, usual_s = services.dashboards._probe, services.dashboards._idle_s
    monkeypatch.setattr(services.dashboards, "_probe", lambda socket, timeout_s: probe(socket, 60.0))
    services.dashboards._silence_s = 1.0  # it is looked at ten times in this, and may take its time to answer
    await start_cluster()
    page = await jp_ws_fetch("glassloom", "dash", "c1", "status", "ws")
    await page.read_message()
    first = services.dashboards.pid
    services.dashboards._idle_s = 0.5
    await asyncio.sleep(1.5)  # longer than a process is kept without a page
    assert services.dashboards.pid == first
    page.close()
    await until(lambda: services.dashboards.pid is None)
    await until(lambda: not psutil.pid_exists(first))  # who asks from here on waits for its end
    status = json.loads((await jp_fetch("glassloom", "api", "dashboards")).body)
    assert (status["state"], status["ended"], status["restart_wait_s"]) == ("not running", 0, 0)
    assert f"process {first} was ended: no page was open for 0.5 s" in status["log"]
    services.dashboards._idle_s = usual_s
    response = await jp_fetch("glassloom", "dash", "health")
    assert json.loads(response.body)["pid"] == services.dashboards.pid != first
    services.dashboards._idle_s = 0.5
    await until(lambda: services.dashboards.pid is None)  # that was no page either


async def test_a_process_that_took_long_to_start_is_not_idle_when_its_first_request_reaches_it(
    jp_fetch, services, monkeypatch
):
    until_healthy, now_s = services.dashboards._until_healthy, [100.0]

    async def takes_long(process, socket):
        await until_healthy(process, socket)
        now_s[0] += 2 * services.dashboards._idle_s

    monkeypatch.setattr("glassloom_server.dashboards.time", SimpleNamespace(monotonic=lambda: now_s[0]))
    monkeypatch.setattr(services.dashboards, "_until_healthy", takes_long)
    await jp_fetch("glassloom", "dash", "health")
    assert not services.dashboards._is_idle


async def until(condition) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_process_that_fails_at_once_is_a_503_with_its_words(jp_fetch, monkeypatch):
    monkeypatch.setenv("GLASSLOOM_STUB_FAIL", "no bokeh today")
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch("glassloom", "dash", "health")
    assert caught.value.code == 503
    expected = b"The dashboards process does not start: it ended with exit code 1.\nno bokeh today"
    assert caught.value.response.body == expected


@pytest.fixture
def temporary_files(monkeypatch):
    """A folder for temporary files whose path is short: sockets lie in it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setattr("tempfile.tempdir", folder)
        yield Path(folder)


@pytest.mark.fault("Jupyter is killed")
async def test_what_a_killed_server_left_behind_is_swept(jp_fetch, services, temporary_files):
    done = subprocess.Popen(["true"])
    done.wait()
    container = msgspec.structs.replace(this_host(), pid_namespace="pid:[1]")
    dead = left_behind(temporary_files, "dead", done.pid)
    alive = left_behind(temporary_files, "alive", os.getpid())
    elsewhere = left_behind(temporary_files, "elsewhere", done.pid, container)
    unknown = temporary_files / f"glassloom-dash-{done.pid}-x"
    unknown.mkdir()
    await jp_fetch("glassloom", "dash", "health")
    assert [directory.exists() for directory in (dead, alive, elsewhere, unknown)] == [False, True, True, True]
    await services.dashboards.stop()


def left_behind(folder: Path, name: str, pid: int, host: HostIdentity | None = None) -> Path:
    """Make the directory of a server's dashboards, as it is when the server is killed."""
    directory = folder / f"glassloom-dash-{name}"
    directory.mkdir()
    started_s = process_started_s(pid) if psutil.pid_exists(pid) else 1.0
    (directory / "owner.json").write_bytes(msgspec.json.encode(Owner(pid, started_s, host or this_host())))
    return directory


@pytest.mark.fault("Jupyter is killed")
async def test_dashboards_that_were_stopped_when_their_server_was_killed_are_killed_by_the_next(
    jp_fetch, services, temporary_files
):
    done = subprocess.Popen(["true"])
    done.wait()
    left = left_behind(temporary_files, "x", done.pid)
    stranger = subprocess.Popen(["sleep", "1000"])
    listening = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)", str(left / "socket")])
    try:
        os.kill(listening.pid, signal.SIGSTOP)
        await jp_fetch("glassloom", "dash", "health")
        assert listening.wait(60) == -signal.SIGKILL
        assert stranger.poll() is None, "of another program"
        await services.dashboards.stop()
    finally:
        for process in (stranger, listening):
            process.kill()
            process.wait()


async def test_a_folder_for_temporary_files_too_deep_for_sockets_is_not_used(jp_fetch, services, monkeypatch, tmp_path):
    deep = tmp_path / ("deep" * 20)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    response = await jp_fetch("glassloom", "dash", "health")
    assert response.code == 200
    assert list(deep.iterdir()) == []


async def test_stopping_ends_the_process_and_removes_its_private_directory(jp_fetch, services):
    await jp_fetch("glassloom", "dash", "health")
    pid, directory = services.dashboards.pid, services.dashboards._directory
    assert directory.stat().st_mode & 0o777 == 0o700
    assert (directory / "socket").stat().st_mode & 0o777 == 0o600
    await services.dashboards.stop()
    assert not psutil.pid_exists(pid)
    assert not Path(directory).exists()


async def test_only_reading_is_possible(jp_fetch, start_cluster):
    await start_cluster()
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch("glassloom", "dash", "c1", "status", method="POST", body="")
    assert caught.value.code == 405


def test_the_token_is_taken_out_of_a_query_and_nothing_else():
    assert without_token("a=1&token=x&b=&a=2") == "a=1&b=&a=2"


async def refused(awaitable) -> tuple[int, str]:
    with pytest.raises(HTTPClientError) as caught:
        await awaitable
    return caught.value.code, caught.value.response.body.decode()


@pytest.mark.fault("the dashboards process is stopped (SIGSTOP), or hangs")
async def test_a_process_that_is_stopped_is_said_not_to_answer_then_killed_and_replaced(jp_fetch, services):
    await jp_fetch("glassloom", "dash", "health")
    stopped, usual_s = services.dashboards.pid, services.dashboards._silence_s
    os.kill(stopped, signal.SIGSTOP)
    services.dashboards._silence_s = 0.4
    while (await services.dashboards.status()).state == "running":
        await asyncio.sleep(0.01)
    while services.dashboards.pid == stopped:
        await asyncio.sleep(0.01)
    services.dashboards._silence_s = usual_s  # on a busy machine the next one may take its time
    response = await jp_fetch("glassloom", "dash", "health")
    assert json.loads(response.body)["pid"] == services.dashboards.pid != stopped
    assert not psutil.pid_exists(stopped)
    status = json.loads((await jp_fetch("glassloom", "api", "dashboards")).body)
    assert (status["state"], status["ended"]) == ("running", 1)
    assert f"process {stopped} was killed: it had not answered for" in status["log"]


@pytest.mark.fault("the dashboards process is stopped (SIGSTOP), and continued soon")
async def test_while_a_process_is_silent_requests_are_refused_at_once_and_taken_when_it_goes_on(
    jp_fetch, services, monkeypatch
):
    monkeypatch.setattr("glassloom_server.dashboards._FAILURES", 10**6)  # however long this takes, it isn't replaced
    await jp_fetch("glassloom", "dash", "health")
    pid, usual_s = services.dashboards.pid, services.dashboards._silence_s
    os.kill(pid, signal.SIGSTOP)
    services.dashboards._silence_s = 0.4
    try:
        while (await services.dashboards.status()).state != "silent":
            await asyncio.sleep(0.01)
        code, body = await refused(jp_fetch("glassloom", "dash", "static", "x.js"))
    finally:
        services.dashboards._silence_s = 4.0
        os.kill(pid, signal.SIGCONT)
    assert (code, body.split(".")[0][:32]) == (503, "The dashboards have not answered")
    while (await services.dashboards.status()).state != "running":
        await asyncio.sleep(0.01)
    services.dashboards._silence_s = usual_s  # on a busy machine an answer may take its time
    assert json.loads((await jp_fetch("glassloom", "dash", "health")).body)["pid"] == pid


@pytest.mark.fault("the dashboards process is stopped (SIGSTOP), or hangs")
async def test_a_request_and_an_upgrade_to_a_process_that_does_not_answer_have_a_deadline(
    jp_fetch, jp_ws_fetch, start_cluster, services, monkeypatch
):
    services.dashboards._silence_s = 6000.0  # nobody else finds meanwhile that it doesn't answer
    await start_cluster()
    await jp_fetch("glassloom", "dash", "health")
    monkeypatch.setattr("glassloom_server.proxy.REQUEST_TIMEOUT_S", 0.3)
    os.kill(services.dashboards.pid, signal.SIGSTOP)
    try:
        code, body = await refused(jp_fetch("glassloom", "dash", "c1", "status"))
        assert (code, body.partition(":")[0]) == (503, "The dashboards process does not answer")
        socket = await jp_ws_fetch("glassloom", "dash", "c1", "status", "ws")
        assert await socket.read_message() is None
        assert (socket.close_code, socket.close_reason) == (1013, "The dashboards do not answer.")
    finally:
        os.kill(services.dashboards.pid, signal.SIGCONT)


@pytest.mark.fault("the dashboards process ends at its start, again and again")
async def test_a_process_that_ends_again_and_again_has_to_wait_and_its_last_words_are_told(jp_fetch, monkeypatch):
    now_s = [100.0]
    monkeypatch.setattr("glassloom_server.dashboards.time", SimpleNamespace(monotonic=lambda: now_s[0]))
    monkeypatch.setenv("GLASSLOOM_STUB_FAIL", "no bokeh today")
    answers = [await refused(jp_fetch("glassloom", "dash", "health")) for _ in range(3)]
    assert answers[2] == (503, "The dashboards process has ended 2 times. It is started again in 1 s.\nno bokeh today")
    assert {code for code, _ in answers} == {503}
    monkeypatch.delenv("GLASSLOOM_STUB_FAIL")
    now_s[0] += 1.0
    assert (await jp_fetch("glassloom", "dash", "health")).code == 200


@pytest.mark.fault("the dashboards process ends at its start, again and again")
async def test_many_requests_for_a_process_that_does_not_start_wait_for_one_try_only(
    jp_fetch, services, tmp_path, monkeypatch
):
    tried = tmp_path / "tried"
    services.dashboards._command = ["sh", "-c", f"echo x >> {tried}; sleep 60"]
    services.dashboards._start_timeout_s = 50.0
    monkeypatch.setattr("glassloom_server.dashboards.time_limit", limit_until(tried.exists, of_s=50.0))
    monkeypatch.setattr("glassloom_server.restarts.FIRST_DELAY_S", 60.0)
    answers = await asyncio.gather(*(refused(jp_fetch("glassloom", "dash", "health")) for _ in range(10)))
    assert {code for code, _ in answers} == {503}
    assert len(tried.read_text().split()) <= 2
    assert services.dashboards.pid is None


@pytest.mark.fault("Jupyter ends while the dashboards process is stopped (SIGSTOP)")
async def test_a_process_that_does_not_end_when_asked_is_killed(services, jp_fetch, monkeypatch):
    monkeypatch.setattr("glassloom_server.dashboards._STOP_TIMEOUT_S", 0.2)
    await jp_fetch("glassloom", "dash", "health")
    pid = services.dashboards.pid
    os.kill(pid, signal.SIGSTOP)  # SIGTERM waits for it to go on
    await services.dashboards.stop()
    assert not psutil.pid_exists(pid)


async def test_the_process_gets_no_secret_of_jupyters_environment(jp_fetch, services, monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "sekret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sekret")
    await jp_fetch("glassloom", "dash", "health")
    environment = psutil.Process(services.dashboards.pid).environ()
    assert "sekret" not in environment.values()
    assert environment["PATH"] == os.environ["PATH"]


async def test_the_status_tells_of_no_process_and_starts_none(jp_fetch, services):
    response = await jp_fetch("glassloom", "api", "dashboards")
    assert json.loads(response.body) == {
        "state": "not running",
        "pid": None,
        "ended": 0,
        "log": "",
        "restart_wait_s": 0.0,
    }
    assert services.dashboards.pid is None


async def test_nothing_is_started_or_looked_for_for_who_is_not_allowed(jp_serverapp, jp_fetch, services):
    class DenyAll(Authorizer):
        def is_authorized(self, handler, user, action, resource) -> bool:
            return resource != "glassloom"

    jp_serverapp.web_app.settings["authorizer"] = DenyAll(identity_provider=jp_serverapp.identity_provider)
    for path in ("health", "c9/status"):
        assert (await refused(jp_fetch("glassloom", "dash", *path.split("/"))))[0] == 403
    assert services.dashboards.pid is None


@pytest.mark.parametrize(("dest", "code"), [("image", 403), ("iframe", 403), ("document", 200)])
async def test_a_page_is_no_part_of_another_site_though_it_may_be_linked(jp_fetch, start_cluster, dest, code):
    await start_cluster()
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": dest}
    response = await jp_fetch("glassloom", "dash", "c1", "status", headers=headers, raise_error=False)
    assert response.code == code


async def test_an_answer_to_who_asks_for_a_stream_has_our_headers_too(jp_fetch, start_cluster):
    await start_cluster()
    response = await jp_fetch("glassloom", "dash", "c1", "status", headers={"Accept": "text/event-stream"})
    assert "frame-ancestors 'self'" in response.headers["Content-Security-Policy"]
    assert "stub=cookie" not in response.headers.get("Set-Cookie", "")


def test_a_log_keeps_its_end_within_its_bound_over_restarts(tmp_path):
    log = ProcessLog(tmp_path / "log", max_bytes=100)
    for number in range(50):
        with open(log.open(), "ab") as output:
            output.write(b"line %02d\n" % number)
        log.trim()
    assert log.tail(1000).endswith("line 48\nline 49\n")
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2 * 108
    log.mark()
    log.note("ended")
    assert log.said(1000) == "--- ended"
