"""The running JupyterLab refuses whoever is not logged in, on every row of the route table."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

import pytest
from glassloom_server.handlers import StreamHandler
from glassloom_server.routes import ROUTES

UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}
TOKEN = {"Authorization": "token sekret"}


def answer(lab, path: str, headers: dict[str, str], method: str = "GET") -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(lab.url).netloc, timeout=60)
    connection.request(method, f"/user/someone/{path}", headers=headers)
    return connection.getresponse()


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.example)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_a_request_without_a_login_is_refused(lab, publish_cluster, route, method):
    example = route.example.replace("/c1", "/" + publish_cluster("nightly"))
    refused = answer(lab, example, {}, method)
    if refused.status == 302:
        assert refused.headers["Location"].startswith("/user/someone/login?")
    else:
        assert refused.status in {403, 405}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.example)
def test_an_upgrade_without_a_login_is_refused(lab, publish_cluster, route):
    example = route.example.replace("/c1", "/" + publish_cluster("nightly"))
    assert answer(lab, example, UPGRADE).status in {403, 405}


@pytest.mark.parametrize(
    "route", [route for route in ROUTES if issubclass(route.handler, StreamHandler)], ids=lambda route: route.example
)
def test_the_same_upgrade_with_the_token_is_let_in(lab, publish_cluster, route):
    example = route.example.replace("/c1", "/" + publish_cluster("nightly"))
    assert answer(lab, example, {**UPGRADE, **TOKEN}).status == 101


def test_the_dashboards_socket_and_its_directory_are_the_users_alone(lab, publish_cluster):
    answer(lab, f"glassloom/dash/{publish_cluster('nightly')}/status", TOKEN).read()
    (socket,) = lab.dashboards_sockets()
    assert socket.stat().st_mode & 0o777 == 0o600
    assert socket.parent.stat().st_mode & 0o777 == 0o700
