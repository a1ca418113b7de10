"""No route is open: derived from the route table, so that a new one cannot be forgotten."""

from __future__ import annotations

import re

import pytest
from glassloom_server.handlers import StreamHandler
from glassloom_server.proxy import DashboardFilesHandler
from glassloom_server.routes import ROUTES, Route
from jupyter_server.auth.authorizer import Authorizer
from jupyter_server_proxy.handlers import ProxyHandler
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.web import RequestHandler
from tornado.websocket import websocket_connect

VERBS = ("get", "head", "post", "put", "patch", "delete")


@pytest.fixture(params=[True, False], ids=["usual", "strict"])
def jp_server_config(request, jp_server_config) -> dict:
    """Run each test also where Jupyter itself lets nobody in who isn't logged in, whatever a handler says."""
    config = dict(jp_server_config)
    config["ServerApp"] = {**config["ServerApp"], "allow_unauthenticated_access": request.param}
    return config


def verbs_of(route: Route) -> list[str]:
    """Return the HTTP verbs that the route's handler answers."""
    undefined = RequestHandler._unimplemented_method
    return [
        verb.upper()
        for verb in VERBS
        if verb.upper() in route.handler.SUPPORTED_METHODS and getattr(route.handler, verb) is not undefined
    ]


REQUESTS = [pytest.param(route, verb, id=f"{verb} {route.example}") for route in ROUTES for verb in verbs_of(route)]
# A stream answers upgrades only, and checks the origin of those; static files have no WebSocket behind them.
HTTP_REQUESTS = [request for request in REQUESTS if not issubclass(request.values[0].handler, StreamHandler)]
SOCKETS = [
    pytest.param(route, id=route.example) for route in ROUTES if issubclass(route.handler, StreamHandler | ProxyHandler)
]
ANSWERED_SOCKETS = [socket for socket in SOCKETS if socket.values[0].handler is not DashboardFilesHandler]
# Passes the check against forged requests, which would otherwise refuse writes before anybody asks for a login.
XSRF = {"Cookie": "_xsrf=" + "0" * 32, "X-XSRFToken": "0" * 32}
EVIL = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}


@pytest.fixture
def cookies(jp_asyncio_loop, jp_fetch) -> dict[str, str]:
    """What a browser sends by itself once its user is logged in: the credential that other sites could abuse."""
    response = jp_asyncio_loop.run_until_complete(jp_fetch("api", "status"))
    (login,) = (line for line in response.headers.get_list("Set-Cookie") if line.startswith("login="))
    return {"Cookie": login.split(";")[0]}


def body_for(verb: str) -> str | None:
    return "{}" if verb in {"POST", "PUT", "PATCH"} else None


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.example)
def test_the_example_of_a_row_matches_its_pattern_and_no_other(route):
    assert [row for row in ROUTES if re.fullmatch(row.pattern, route.example)] == [route]


def test_every_row_is_asked_for_something():
    assert len(REQUESTS) >= len(ROUTES)
    assert len(HTTP_REQUESTS) >= 7
    assert len(SOCKETS) == len(ANSWERED_SOCKETS) + 1 == 4


@pytest.mark.parametrize(("route", "verb"), REQUESTS)
async def test_a_request_without_a_login_is_refused(
    jp_fetch, http_server_client, jp_base_url, route, verb, start_cluster
):
    await start_cluster()
    with pytest.raises(HTTPClientError) as caught:
        await http_server_client.fetch(
            jp_base_url + route.example, method=verb, headers=XSRF, body=body_for(verb), follow_redirects=False
        )
    refused_with = caught.value.code
    if refused_with == 302:
        assert "/login" in caught.value.response.headers["Location"]
    else:
        assert refused_with == 403


class DenyAll(Authorizer):
    def is_authorized(self, handler, user, action, resource) -> bool:
        return resource != "glassloom"


@pytest.mark.parametrize(("route", "verb"), HTTP_REQUESTS)
async def test_a_user_who_is_not_allowed_is_refused(jp_serverapp, jp_fetch, route, verb, start_cluster):
    await start_cluster()
    jp_serverapp.web_app.settings["authorizer"] = DenyAll(identity_provider=jp_serverapp.identity_provider)
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch(*route.example.split("/"), method=verb, body=body_for(verb))
    assert caught.value.code == 403


@pytest.mark.parametrize("route", SOCKETS)
async def test_an_upgrade_by_a_user_who_is_not_allowed_is_refused(jp_serverapp, jp_ws_fetch, route, start_cluster):
    await start_cluster()
    jp_serverapp.web_app.settings["authorizer"] = DenyAll(identity_provider=jp_serverapp.identity_provider)
    with pytest.raises(HTTPClientError) as caught:
        await jp_ws_fetch(*route.example.split("/"))
    assert caught.value.code == 403


@pytest.mark.parametrize(("route", "verb"), HTTP_REQUESTS)
async def test_a_logged_in_request_from_another_origin_is_refused(
    http_server_client, jp_base_url, cookies, route, verb, start_cluster
):
    await start_cluster()
    with pytest.raises(HTTPClientError) as caught:
        await http_server_client.fetch(
            jp_base_url + route.example, method=verb, headers={**cookies, **EVIL}, body=body_for(verb)
        )
    assert caught.value.code in {403, 404}


def socket_request(jp_http_port, jp_base_url, route: Route, headers: dict[str, str]) -> HTTPRequest:
    return HTTPRequest(f"ws://localhost:{jp_http_port}{jp_base_url}{route.example}", headers=headers)


@pytest.mark.parametrize("route", SOCKETS)
async def test_an_upgrade_without_a_login_is_refused(
    http_server_client, jp_http_port, jp_base_url, route, start_cluster
):
    await start_cluster()
    with pytest.raises(HTTPClientError) as caught:
        await websocket_connect(socket_request(jp_http_port, jp_base_url, route, {}))
    assert caught.value.code == 403


@pytest.mark.parametrize("route", SOCKETS)
async def test_an_upgrade_from_another_origin_is_refused(
    http_server_client, jp_http_port, jp_base_url, cookies, route, start_cluster
):
    await start_cluster()
    with pytest.raises(HTTPClientError) as caught:
        await websocket_connect(socket_request(jp_http_port, jp_base_url, route, {**cookies, **EVIL}))
    assert caught.value.code == 403


@pytest.mark.parametrize("route", ANSWERED_SOCKETS)
async def test_the_same_upgrade_with_a_login_and_from_here_is_let_in(
    http_server_client, jp_http_port, jp_base_url, cookies, route, start_cluster
):
    await start_cluster()
    example = route._replace(example=route.example.replace("/status", "/status/ws"))
    headers = {**cookies, "Origin": f"http://localhost:{jp_http_port}"}
    socket = await websocket_connect(socket_request(jp_http_port, jp_base_url, example, headers))
    assert await socket.read_message()
    socket.close()
