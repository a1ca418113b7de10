"""The real process over real sockets: who is let in, what is served, and that it ends with its parent."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from bokeh_viewers import PREFIX
from glassloom_dashboards.serving.gate import SECRET_VARIABLE, SecretGate, TokenGate
from glassloom_metrics.pages import PAGES
from real_process import SECRET, dashboards
from synthetic import Shape, make_recorder, published


class Answer:
    """An HTTP answer as it came over a socket."""

    def __init__(self, raw: bytes) -> None:
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split(" ")[1])
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        self.text = self.body.decode("utf-8", "replace")


def ask(address: str | tuple[str, int], path: str, *headers: str, method: str = "GET") -> Answer:
    """Send one request and return the answer; `address` is a socket's path or a host and port."""
    kind = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(kind, socket.SOCK_STREAM) as connection:
        connection.settimeout(60)
        connection.connect(address)
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers, "", ""]
        connection.sendall("\r\n".join(lines).encode())
        raw = b""
        while part := connection.recv(65536):
            raw += part
            if b" 101 " in raw.split(b"\r\n")[0] or _is_whole(raw):
                break
    return Answer(raw)


def _is_whole(raw: bytes) -> bool:
    length = re.search(rb"\r\nContent-Length: (\d+)\r\n", raw)
    return length is not None and len(raw.partition(b"\r\n\r\n")[2]) >= int(length[1])


def upgrade(*headers: str) -> tuple[str, ...]:
    return (
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol: bokeh, x.y",
        *headers,
    )


def until(condition: Callable[[], bool], what: str, deadline_s: float = 60.0) -> None:
    end_s = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end_s, f"never came: {what}"
        time.sleep(0.05)


@contextmanager
def beside_a_cluster(runtime: Path, n_tasks: int, name: str) -> Iterator[None]:
    """Let a registry in this folder have a made-up cluster `c1`, and make it that of this process, until the block ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_RUNTIME_DIR", str(runtime))
        with published(make_recorder(Shape(tasks=n_tasks), "c1", name), runtime, "c1", name):
            yield


@pytest.fixture(scope="module")
def behind_jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run the process on a UNIX socket, in the place of one that nobody listens on, beside a cluster `c1`; return the socket's path."""
    runtime = tmp_path_factory.mktemp("rt")
    path = str(runtime / "dash.sock")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
    with (
        beside_a_cluster(runtime, 200, "demo"),
        dashboards("--unix-socket", path, "--prefix", PREFIX, **{SECRET_VARIABLE: SECRET}) as process,
    ):
        until(lambda: _listens(path) or process.poll() is not None, "somebody who listens")
        assert process.poll() is None, process.stderr.read()
        yield path


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(path) == 0


def test_only_who_knows_the_secret_gets_any_answer_but_403(behind_jupyter):
    socket_path = behind_jupyter
    assert stat.S_IMODE(os.stat(socket_path).st_mode) == 0o600

    paths = [f"{PREFIX}/health", f"{PREFIX}/", PREFIX, "/", f"{PREFIX}/static/js/bokeh.min.js", "/favicon.ico"]
    for page in PAGES:
        paths += [
            f"{PREFIX}/c1/{page.id}{end}" for end in ("", "/", "/ws", "/metadata", "/autoload.js", "/static/x.js")
        ]
    wrong = [(), ("X-Glassloom-Secret: wrong",), ("X-Glassloom-Secret:",), (f"X-Glassloom-Secret: {SECRET}",) * 2]
    for path in paths:
        for headers in wrong:
            assert ask(socket_path, path, *headers).status == 403, path
        assert ask(socket_path, path, method="POST").status == 403
    for headers in wrong:
        answer = ask(socket_path, f"{PREFIX}/c1/status/ws", *upgrade(*headers))
        assert answer.status == 403

    secret = f"X-Glassloom-Secret: {SECRET}"
    health = ask(socket_path, f"{PREFIX}/health", secret)
    said = json.loads(health.body)
    assert (health.status, said["status"], said.keys()) == (200, "ok", {"status", "loop_lag_s", "scripts"})
    first_page = ask(socket_path, f"{PREFIX}/c1/status", secret).body
    for script in said["scripts"]:
        assert ask(socket_path, script, secret).status == 200
        assert script.encode() in first_page, "the very address, or browsers load it again"
    assert len(said["scripts"]) == 2
    for page in PAGES:
        assert ask(socket_path, f"{PREFIX}/c1/{page.id}", secret).status == 200
    assert ask(socket_path, f"{PREFIX}/static/js/bokeh.min.js", secret).status == 200
    assert ask(socket_path, f"{PREFIX}/c1/status/ws", *upgrade(secret)).status == 101


def test_scripts_are_sent_compressed_to_who_takes_that_and_only_what_pages_load_is_kept(behind_jupyter):
    secret, gzipped = f"X-Glassloom-Secret: {SECRET}", "Accept-Encoding: gzip, deflate, br"
    scripts = json.loads(ask(behind_jupyter, f"{PREFIX}/health", secret).body)["scripts"]
    sizes = [0, 0]
    for script in scripts:
        plain, small = ask(behind_jupyter, script, secret), ask(behind_jupyter, script, secret, gzipped)
        assert gzip.decompress(small.body) == plain.body
        assert [answer.headers.get("content-encoding") for answer in (plain, small)] == [None, "gzip"]
        assert [int(answer.headers["content-length"]) for answer in (plain, small)] == [
            len(plain.body),
            len(small.body),
        ]
        same = ("vary", "content-type", "cache-control")
        assert [plain.headers[name] for name in same] == [small.headers[name] for name in same]
        assert plain.headers["vary"] == "Accept-Encoding"
        assert plain.headers["etag"] != small.headers["etag"], "other bytes"
        sizes = [sizes[0] + len(plain.body), sizes[1] + len(small.body)]

        head = ask(behind_jupyter, script, secret, gzipped, method="HEAD")
        assert (head.headers["content-length"], head.headers["etag"]) == (str(len(small.body)), small.headers["etag"])
        for tag, accepted, status in (("small", gzipped, 304), ("plain", gzipped, 200), ("plain", "Accept: */*", 304)):
            known = {"small": small, "plain": plain}[tag].headers["etag"]
            assert ask(behind_jupyter, script, secret, accepted, f"If-None-Match: {known}").status == status
        refused = ask(behind_jupyter, script, secret, "Accept-Encoding: gzip;q=0, identity")
        assert "content-encoding" not in refused.headers
        part = ask(behind_jupyter, script, secret, gzipped, "Range: bytes=10-19")
        assert (part.status, part.body, part.headers.get("content-encoding")) == (206, plain.body[10:20], None)
    assert 4 * sizes[1] < 1.2 * sizes[0]

    other = ask(behind_jupyter, f"{PREFIX}/static/js/bokeh-tables.min.js", secret, gzipped)
    assert (other.status, other.headers.get("content-encoding")) == (200, None)
    for missing in ("nothing.js", "../../../views/ws.py"):
        assert ask(behind_jupyter, f"{PREFIX}/static/js/{missing}", secret, gzipped).status in (403, 404)


def test_bokehs_own_extra_routes_are_gone_and_the_list_is_not_for_jupyter(behind_jupyter):
    for path in ("/c1/status/autoload.js", "/c1/status/metadata", "/", "", "/c1", "/c1/nothing"):
        answer = ask(behind_jupyter, PREFIX + path, f"X-Glassloom-Secret: {SECRET}")
        assert answer.status == 404, path


def test_a_page_loads_everything_from_its_own_prefix_and_holds_nothing_of_the_request(behind_jupyter):
    headers = (
        f"X-Glassloom-Secret: {SECRET}", "Cookie: login=top-secret-cookie", "Authorization: token top-secret-token",
    )  # fmt: skip
    answer = ask(behind_jupyter, f"{PREFIX}/c1/status?theme=dark", *headers)
    sources, links = (re.findall(rf'{name}="([^"]+)"', answer.text) for name in ("src", "href"))
    assert len(sources) == 2 and all(source.startswith(f"{PREFIX}/static/js/") for source in sources)
    # Jupyter's own panes list the clusters.
    assert links == [f"{PREFIX}/c1/{page.id}?theme=dark" for page in PAGES]
    assert "http://" not in answer.text.replace("http://www.w3.org", "") and "cdn" not in answer.text
    token = json.loads(re.search(r'"token":("[^"]+")', answer.text)[1])
    for hidden in (SECRET, "top-secret"):
        assert hidden not in answer.text
        assert hidden not in _decoded(token)
    assert '<html lang="en" data-theme="dark">' in answer.text
    assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]
    assert "connect-src 'self'" in answer.headers["content-security-policy"]


def _decoded(token: str) -> str:
    from bokeh.util.token import get_token_payload

    return json.dumps(get_token_payload(token), default=repr)


def test_an_unknown_cluster_is_a_page_that_says_so_and_escapes_what_was_asked(behind_jupyter):
    path = f"{PREFIX}/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E/status"
    answer = ask(behind_jupyter, path, f"X-Glassloom-Secret: {SECRET}")
    assert answer.status == 404
    assert "This cluster is not running" in answer.text
    assert "<img" not in answer.text and "&lt;img" in answer.text
    socket_answer = ask(behind_jupyter, f"{path}/ws", *upgrade(f"X-Glassloom-Secret: {SECRET}"))
    assert socket_answer.status == 404


def test_without_a_secret_in_the_environment_it_does_not_start(runtime):
    with dashboards("--unix-socket", str(runtime / "s"), **{SECRET_VARIABLE: ""}) as process:
        assert process.wait(60) == 2
        assert f"needs a secret in the environment variable {SECRET_VARIABLE}" in process.stderr.read()


def has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_the_process_ends_after_kill_9_of_its_parent(runtime):
    path = str(runtime / "dash.sock")
    command = [sys.executable, "-m", "glassloom_dashboards", "--unix-socket", path]
    parent = subprocess.Popen(
        [sys.executable, "-c", f"import subprocess, time; subprocess.Popen({command!r}); time.sleep(600)"],
        env={**os.environ, SECRET_VARIABLE: SECRET},
    )
    try:
        until(lambda: os.path.exists(path), "the socket")
        (child,) = psutil.Process(parent.pid).children()
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    until(lambda: has_ended(child), "the child's end")
    assert not os.path.exists(path)


def test_a_stale_socket_file_is_replaced(behind_jupyter):
    assert ask(behind_jupyter, f"{PREFIX}/health", f"X-Glassloom-Secret: {SECRET}").status == 200


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[tuple[str, int], str]]:
    """Run the process alone beside a cluster `c1`; return its address and the printed URL."""
    runtime = tmp_path_factory.mktemp("rt")
    with beside_a_cluster(runtime, 20, "<b>loom</b>"), dashboards("--port", "0") as process:
        url = process.stdout.readline().strip()
        port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=[\w-]{32}", url)[1])
        yield ("127.0.0.1", port), url


def test_alone_the_token_opens_the_door_and_a_cookie_keeps_it_open(alone):
    address, url = alone
    token = url.split("token=")[1]
    for path in ("/", "/health", "/c1/status", "/static/js/bokeh.min.js", "/?token=wrong", f"/?token={token}&token=x"):
        assert ask(address, path).status == 403, path
    assert ask(address, "/c1/status/ws", *upgrade()).status == 403
    assert ask(address, f"/c1/status/ws?token={token}", *upgrade()).status != 101
    assert ask(address, f"/?token={token}", method="POST").status == 403

    entry = ask(address, f"/c1/status?theme=dark&token={token}")
    assert (entry.status, entry.headers["location"]) == (302, "/c1/status?theme=dark")
    cookie = entry.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and token not in cookie
    cookie = "Cookie: " + cookie.split(";")[0]
    assert ask(address, "/health", cookie).status == 200
    listing = ask(address, "/", cookie)
    assert "&lt;b&gt;loom&lt;/b&gt;" in listing.text and "<b>loom" not in listing.text
    assert 'href="/c1/task-stream"' in listing.text
    origin = f"Origin: http://127.0.0.1:{address[1]}"
    assert ask(address, "/c1/status/ws", *upgrade(cookie, origin)).status == 101
    assert ask(address, "/c1/status/ws", *upgrade(cookie, "Origin: http://evil.example")).status == 403


def test_a_token_never_leads_to_another_host(alone):
    address, url = alone
    entry = ask(address, f"//evil.example/?token={url.split('token=')[1]}")
    assert entry.headers["location"] == "/evil.example/"


def test_gates_refuse_an_empty_secret():
    with pytest.raises(ValueError, match="GLASSLOOM_DASH_SECRET is empty"):
        SecretGate("")
    with pytest.raises(TypeError):
        TokenGate()
