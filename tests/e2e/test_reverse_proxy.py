"""JupyterLab as hubs serve it: behind nginx with TLS, below ``/user/jo%40x.y/``, where nobody is let in who isn't logged in.

It needs nginx and openssl (``apt-get install nginx-light openssl``), and is skipped without them.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import signal
import socket
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from eventual import eventually
from free_ports import free_port
from glassloom_server.routes import ROUTES
from jupyter_labs import TOKEN, Lab, running_lab
from playwright.sync_api import expect

BASE_URL = "/user/jo%40x.y/"
OPENING_MS = 60_000
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}
NGINX = os.environ.get("GLASSLOOM_NGINX") or shutil.which(
    "nginx", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"
)

pytestmark = pytest.mark.skipif(
    NGINX is None or shutil.which("openssl") is None,
    reason="nginx and openssl aren't installed: apt-get install nginx-light openssl",
)

CONFIGURATION = """
daemon off;
worker_processes 1;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    map $http_upgrade $connection_upgrade {{ default upgrade; '' close; }}
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {directory}/certificate.pem;
        ssl_certificate_key {directory}/key.pem;
        location / {{
            proxy_pass {origin};
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-Proto $scheme;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_upgrade;
            proxy_buffering off;
        }}
    }}
}}
"""


def make_certificate(directory: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-keyout", str(directory / "key.pem"), "-out", str(directory / "certificate.pem")]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, psutil.Process]]:
    """A JupyterLab that is reached through nginx, and that."""
    directory = tmp_path_factory.mktemp("nginx")
    make_certificate(directory)
    options = ["--ServerApp.allow_unauthenticated_access=False", "--ServerApp.trust_xheaders=True"]
    with running_lab(tmp_path_factory.mktemp("proxied"), BASE_URL, *options) as behind:
        port = free_port()
        configuration = directory / "nginx.conf"
        user = "user root;" if os.geteuid() == 0 else ""
        configuration.write_text(user + CONFIGURATION.format(directory=directory, port=port, origin=behind.origin))
        assert NGINX is not None
        nginx = subprocess.Popen(
            [NGINX, "-p", str(directory), "-c", str(configuration), "-e", str(directory / "error.log")]
        )
        try:
            proxied = replace(behind, url=f"https://127.0.0.1:{port}{BASE_URL}", origin=f"https://127.0.0.1:{port}")
            while not accepts(port):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    nginx.wait(0.05)
                    pytest.fail((directory / "error.log").read_text())
            yield proxied, psutil.Process(nginx.pid)
        finally:
            nginx.send_signal(signal.SIGQUIT)
            nginx.wait(60)


@pytest.fixture(scope="module")
def lab(proxied: tuple[Lab, psutil.Process]) -> Lab:
    return proxied[0]


@pytest.fixture
def nginx(proxied: tuple[Lab, psutil.Process]) -> Iterator[list[psutil.Process]]:
    """The proxy's processes; they go on after the test."""
    processes = [proxied[1], *eventually(proxied[1].children)]
    yield processes
    for process in processes:
        process.resume()


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def ask(lab: Lab, path: str, headers: dict[str, str]) -> http.client.HTTPResponse:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection(urlsplit(lab.url).netloc, timeout=60, context=trusting)
    connection.request("GET", f"{BASE_URL}{path}", headers=headers)
    return connection.getresponse()


@pytest.mark.long
def test_nobody_is_let_in_without_a_login_also_through_the_proxy(lab, publish_cluster):
    cluster = publish_cluster("nightly")
    for path in (route.example.replace("/c1", f"/{cluster}") for route in ROUTES):
        refused, upgrade = ask(lab, path, {}), ask(lab, path, UPGRADE)
        assert refused.status in {302, 403, 405}, path
        assert refused.status != 302 or refused.headers["Location"].startswith(f"{BASE_URL}login?"), path
        assert upgrade.status in {403, 405}, path
    stream, login = "glassloom/api/metrics", {"Authorization": f"token {TOKEN}"}
    assert ask(lab, stream, {**UPGRADE, **login}).status == 101
    assert ask(lab, stream, {**UPGRADE, **login, "Origin": lab.origin}).status == 101


@pytest.mark.long
def test_panel_and_panes_live_behind_a_proxy_with_tls_and_come_back_after_a_reload(
    page, lab, publish_cluster, open_lab, open_pane, sockets
):
    cluster = publish_cluster("nightly")
    open_lab()
    expect(page.locator(f'.gl-Card[data-cluster="{cluster}"]')).to_contain_text("nightly")
    open_pane(cluster, "status")
    ours = [url for url in sockets if "/glassloom/" in url]
    expected = lab.url.replace("https://", "wss://")
    assert len(ours) >= 2 and all(url.startswith(expected) for url in ours), ours
    page.reload()
    pane = page.locator(f'.gl-Pane[data-cluster="{cluster}"][data-page="status"]')
    expect(pane).to_have_attribute("data-state", "live", timeout=OPENING_MS)


@pytest.mark.long
@pytest.mark.fault("the network between browser and Jupyter is silent")
def test_panel_and_panes_say_that_the_network_is_silent_and_come_back_with_it(
    page, nginx, publish_cluster, open_lab, open_pane, keep_picture
):
    cluster = publish_cluster("nightly")
    open_lab()
    pane = open_pane(cluster, "status")
    for process in nginx:
        process.suspend()  # all connections stay open, and nothing comes: as after sleep, or where a cable was pulled
    expect(page.locator("#glassloom-panel")).to_contain_text("No connection to the Jupyter server", timeout=OPENING_MS)
    expect(pane).to_have_attribute("data-state", "lost")
    expect(pane.locator(".gl-Pane-cover")).to_contain_text("Reconnecting…")
    keep_picture("network-silent")
    for process in nginx:
        process.resume()
    expect(pane).to_have_attribute("data-state", "live", timeout=OPENING_MS)
    expect(page.locator("#glassloom-panel")).not_to_contain_text("No connection")
    expect(page.locator(f'.gl-Card[data-cluster="{cluster}"]')).to_contain_text("nightly")
