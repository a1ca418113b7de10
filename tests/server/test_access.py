"""No route is open: derived from the route table, so that a new one cannot be forgotten.

One server answers all requests of a test: each is for every row of the table, and names the rows that were wrong.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from glassloom_server.base_handlers import StreamHandler
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


REQUESTS = [(route, verb) for route in ROUTES for verb in verbs_of(route)]
# A stream answers upgrades only, and checks the origin of those; static files have no WebSocket behind them.
HTTP_REQUESTS = [(route, verb) for route, verb in REQUESTS if not issubclass(route.handler, StreamHandler)]
SOCKETS = [route for route in ROUTES if issubclass(route.handler, StreamHandler | ProxyHandler)]
# Passes the check against forged requests, which would otherwise refuse writes before anybody asks for a login.
XSRF = {"Cookie": "_xsrf=" + "0" * 32, "X-XSRFToken": "0" * 32}
EVIL = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
NULL = {"Origin": "null", "Sec-Fetch-Site": "cross-site"}
WRONG_TOKEN = {"Authorization": "token wrong"}

STRANGERS = [pytest.param({}, id="nobody"), pytest.param(WRONG_TOKEN, id="wrong token")]
ORIGINS = [pytest.param(EVIL, id="foreign origin"), pytest.param(NULL, id="null origin")]


@pytest.fixture
def cookies(jp_asyncio_loop, jp_fetch) -> dict[str, str]:
    """What a browser sends by itself once its user is logged in: the credential that other sites could abuse."""
    response = jp_asyncio_loop.run_until_complete(jp_fetch("api", "status"))
    (login,) = (line for line in response.headers.get_list("Set-Cookie") if line.startswith("login="))
    return {"Cookie": login.split(";")[0]}


def body_for(verb: str) -> str | None:
    return "{}" if verb in {"POST", "PUT", "PATCH"} else None


async def refusal_of(request: Awaitable[Any]) -> tuple[int, str]:
    """Return the status of an answer, and where a redirect goes."""
    try:
        response = await request
    except HTTPClientError as error:
        headers = error.response.headers if error.response is not None else {}
        return error.code, str(headers.get("Location", ""))
    return getattr(response, "code", 101), ""


async def wrong_ones(
    asked: list[tuple[str, Awaitable[Any]]], is_right: Callable[[int, str], bool]
) -> list[tuple[str, int]]:
    """Return the requests that were answered otherwise than they should be, with the status."""
    answers = [(name, await refusal_of(request)) for name, request in asked]
    assert answers, "something was asked"
    return [(name, code) for name, (code, where) in answers if not is_right(code, where)]


def is_refused(code: int, where: str) -> bool:
    return code == 403 or (code == 302 and "/login" in where)


@pytest.fixture
def ask(http_server_client, jp_base_url) -> Callable[..., Awaitable[Any]]:
    """Send a request to a route."""

    def ask(route: Route, verb: str, headers: dict[str, str]) -> Awaitable[Any]:
        return http_server_client.fetch(
            jp_base_url + route.example,
            method=verb,
            headers=headers,
            body=body_for(verb),
            follow_redirects=False,
            request_timeout=60,
        )

    return ask


@pytest.fixture
def upgrade(http_server_client, jp_http_port, jp_base_url) -> Callable[..., Awaitable[Any]]:
    """Ask a route for a WebSocket."""

    def upgrade(route: Route, headers: dict[str, str], path: str = "") -> Awaitable[Any]:
        url = f"ws://localhost:{jp_http_port}{jp_base_url}{path or route.example}"
        return websocket_connect(HTTPRequest(url, headers=headers, connect_timeout=60, request_timeout=60))

    return upgrade


@pytest.fixture
def nothing_happens(services, jp_asyncio_loop, start_cluster):
    """A cluster that is there to be misused; fails the test if it was, or if anything was started."""
    cluster = jp_asyncio_loop.run_until_complete(start_cluster())
    yield
    assert cluster.asked == []
    assert services.dashboards.pid is None, "refused before the dashboards are started"
    assert services.starter._starts.open == ()
    assert services.exporter.all == ()


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.example)
def test_the_example_of_a_row_matches_its_pattern_and_no_other(route):
    assert [row for row in ROUTES if re.fullmatch(row.pattern, route.example)] == [route]


def test_every_row_is_asked_for_something():
    assert {route.example for route, _ in REQUESTS} == {route.example for route in ROUTES}
    assert len(HTTP_REQUESTS) >= 20
    assert len(SOCKETS) == 4


@pytest.mark.parametrize("headers", STRANGERS)
async def test_requests_without_a_login_are_refused(nothing_happens, ask, headers):
    asked = [(f"{verb} {route.example}", ask(route, verb, {**XSRF, **headers})) for route, verb in REQUESTS]
    assert await wrong_ones(asked, is_refused) == []


@pytest.mark.parametrize("headers", STRANGERS)
async def test_upgrades_without_a_login_are_refused(nothing_happens, upgrade, headers):
    asked = [(route.example, upgrade(route, headers)) for route in SOCKETS]
    assert await wrong_ones(asked, lambda code, _: code == 403) == []


@pytest.mark.parametrize("headers", ORIGINS)
async def test_logged_in_requests_from_elsewhere_are_refused(nothing_happens, ask, cookies, headers):
    asked = [(f"{verb} {route.example}", ask(route, verb, {**cookies, **headers})) for route, verb in HTTP_REQUESTS]
    assert await wrong_ones(asked, lambda code, _: code in (403, 404)) == []


@pytest.mark.parametrize("headers", ORIGINS)
async def test_logged_in_upgrades_from_elsewhere_are_refused(nothing_happens, upgrade, cookies, headers):
    asked = [(route.example, upgrade(route, {**cookies, **headers})) for route in SOCKETS]
    assert await wrong_ones(asked, lambda code, _: code == 403) == []


class DenyAll(Authorizer):
    def is_authorized(self, handler, user, action, resource) -> bool:
        return resource != "glassloom"


async def test_a_user_who_is_not_allowed_is_refused_before_anything_happens(
    nothing_happens, jp_serverapp, jp_fetch, jp_ws_fetch
):
    jp_serverapp.web_app.settings["authorizer"] = DenyAll(identity_provider=jp_serverapp.identity_provider)
    asked = [
        (f"{verb} {route.example}", jp_fetch(*route.example.split("/"), method=verb, body=body_for(verb)))
        for route, verb in HTTP_REQUESTS
    ]
    upgrades = [(f"upgrade {route.example}", jp_ws_fetch(*route.example.split("/"))) for route in SOCKETS]
    assert await wrong_ones(asked + upgrades, lambda code, _: code == 403) == []


async def test_the_same_upgrades_with_a_login_and_from_here_are_let_in(jp_http_port, cookies, upgrade, start_cluster):
    await start_cluster()
    headers = {**cookies, "Origin": f"http://localhost:{jp_http_port}"}
    for route in SOCKETS:
        if route.handler is not DashboardFilesHandler:
            socket = await upgrade(route, headers, route.example.replace("/status", "/status/ws"))
            assert await socket.read_message()
            socket.close()
