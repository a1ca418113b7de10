"""Dashboards through Jupyter's own address: authenticated HTTP and WebSocket to the dashboards process's socket.

The target is always that socket; of the URL only the cluster's id counts, and it must be in the registry. Jupyter's
cookies and tokens stay here, and a page that is only open does not count as activity. Every request has a deadline.

A front end on another host has no cookie of Jupyter's. It puts the token into a page's address; the page's scripts then get it
into theirs, and the page may be framed anywhere: who knows the token may do anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from http.client import responses as HTTP_REASONS
from typing import Any
from urllib.parse import parse_qsl, urlencode

import tornado.web
from glassloom_metrics.errors import ClusterNotFound
from glassloom_metrics.open_recordings import find_recording
from glassloom_metrics.time_limit import time_limit
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import ensure_async
from jupyter_server_proxy.handlers import ProxyHandler, RewritableResponse
from tornado.httpclient import HTTPError
from tornado.websocket import WebSocketClosedError, WebSocketError

from glassloom_server.base_handlers import AUTH_RESOURCE, ExpectedErrors
from glassloom_server.dashboards import SECRET_HEADER
from glassloom_server.errors import DashboardsUnavailable, status_of
from glassloom_server.services import Services

DASHBOARDS_PATH = "glassloom/dash"
_OWN_FRAMES = "frame-ancestors 'self'"
FRAME_POLICY = f"{_OWN_FRAMES}; connect-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'"
REQUEST_TIMEOUT_S = 30.0
"""How long the dashboards may take for a page or a file, and to accept a WebSocket."""

_TRY_AGAIN_LATER = 1013
"""With which code a WebSocket is closed whose other end can't be reached."""

_OURS_ALONE = ("Authorization", "Cookie", "Referer", "X-XSRFToken", SECRET_HEADER)


_FILE = re.compile(rb'(<script [^>]*src="[^"?]+)(?:\?([^"]*))?"')


def with_token(html: bytes, token: str) -> bytes:
    """Return a page whose files are asked for with a token.

    >>> with_token(b'<script defer src="/a.js"></script><script src="/b.js?v=1"></script>', "t&")
    b'<script defer src="/a.js?token=t%26"></script><script src="/b.js?v=1&amp;token=t%26"></script>'
    """
    told = urlencode({"token": token}).encode()
    return _FILE.sub(lambda file: b'%b?%b"' % (file[1], b"&amp;".join([*filter(None, [file[2]]), told])), html)


def without_token(query: str) -> str:
    """Return a query string without Jupyter's token.

    >>> without_token("theme=dark&token=sekret")
    'theme=dark'
    """
    return urlencode([(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name != "token"])


class DashboardFilesHandler(ExpectedErrors, ProxyHandler):
    """What belongs to no cluster: the dashboards' static files and health check."""

    SUPPORTED_METHODS = ("GET", "HEAD")
    auth_resource = AUTH_RESOURCE
    _length: str | None = None
    """What the dashboards gave as the answer's length."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        def protect(response: RewritableResponse) -> None:  # the base class takes functions only, not methods
            self._protect(response)

        super().__init__(*args, absolute_url=True, update_last_activity=False, rewrite_response=protect, **kwargs)
        self.proxy_base = DASHBOARDS_PATH

    def initialize(self, services: Services) -> None:
        """Take what the route table hands over."""
        self.services = services

    async def prepare(self, *args: Any, **kwargs: Any) -> None:
        """Refuse who is not logged in (the base class does), comes from elsewhere or isn't allowed; then make the target ready."""
        # A page can follow a redirect to the login, a WebSocket can't.
        await super().prepare(*args, _redirect_to_login=not self._is_upgrade, **kwargs)
        if self._finished:  # redirected to the login page
            return
        if not self.check_origin() or self._is_embedded_elsewhere:
            raise tornado.web.HTTPError(403)
        if not await ensure_async(self.authorizer.is_authorized(self, self.current_user, "read", AUTH_RESOURCE)):
            raise tornado.web.HTTPError(403)  # before anything is looked for or started
        await self.check(*self.path_args)
        self.unix_socket = await self.services.dashboards.ensure_running()

    @property
    def _is_upgrade(self) -> bool:
        return self.request.headers.get("Upgrade", "").lower() == "websocket"

    @property
    def _is_embedded_elsewhere(self) -> bool:
        """Whether a page of another site that doesn't know the token asks for this as a part of it. A link that is followed is no part."""
        fetched = self.request.headers.get
        is_part = fetched("Sec-Fetch-Site") == "cross-site" and fetched("Sec-Fetch-Dest", "document") != "document"
        return is_part and self._token_of_address is None

    @property
    def _token_of_address(self) -> str | None:
        """The token, if it is in the address and let the request in."""
        return self.get_query_argument("token", None) if self.token_authenticated else None

    def _protect(self, response: RewritableResponse) -> None:
        """Keep the page in frames of who may have it, and the dashboards from setting cookies of Jupyter's address."""
        self._length = response.headers.get("Content-Length")
        # Beside a policy of the page's own: browsers then enforce both.
        response.headers.add("Content-Security-Policy", FRAME_POLICY)
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers.pop("Set-Cookie", None)
        if (token := self._token_of_address) is not None:
            self._let_the_front_end_frame(response, token)

    def _let_the_front_end_frame(self, response: RewritableResponse, token: str) -> None:
        if response.headers.get("Content-Type", "").startswith("text/html"):
            response.body = with_token(response.body, token)
        policies = response.headers.get_list("Content-Security-Policy")
        del response.headers["Content-Security-Policy"]
        for policy in policies:
            response.headers.add("Content-Security-Policy", policy.replace(_OWN_FRAMES, "frame-ancestors *"))

    async def check(self, *args: str) -> None:
        """Raise if there is nothing at this path."""

    @tornado.web.authenticated
    @authorized("read")
    async def get(self, *args: str) -> None:
        """Proxy a page, a file or a WebSocket."""
        await super().get(*args)

    @tornado.web.authenticated
    @authorized("read")
    async def head(self, *args: str) -> None:
        """Proxy a file's headers."""
        await self.http_get(*args)
        if self._length is not None:  # else Tornado says what it has of the body, which is nothing
            self.set_header("Content-Length", self._length)

    async def http_get(self, *args: str) -> None:
        """Proxy HTTP."""
        self.request.headers.pop("Accept", None)  # for one value of it the base class would stream, without our headers
        try:
            await self.proxy("localhost", 0, "/".join(args))
        except tornado.web.HTTPError as error:
            if error.status_code not in (500, 599):
                raise
            raise DashboardsUnavailable(
                f"The dashboards process does not answer: {error.log_message or HTTP_REASONS[500]}."
            ) from error

    async def open(self, *args: str) -> None:
        """Proxy a WebSocket."""
        try:
            async with time_limit(REQUEST_TIMEOUT_S):
                await self.proxy_open("localhost", 0, "/".join(args))
        except (OSError, HTTPError, WebSocketError) as error:  # TimeoutError is an OSError
            self.log.warning("The Glassloom dashboards take no WebSocket: %s", error)
            self.close(_TRY_AGAIN_LATER, "The dashboards do not answer.")

    def write_message(self, message: bytes | str | dict[str, Any], binary: bool = False) -> asyncio.Future[None]:
        """Hand on a message of the dashboards. What comes until they know that the page is gone has nobody to read it."""
        try:
            written = super().write_message(message, binary=binary)
        except WebSocketClosedError as error:
            written = asyncio.get_running_loop().create_future()
            written.set_exception(error)
        # The base class doesn't wait for it: an error that nobody looks at would be logged, with its traceback.
        written.add_done_callback(lambda done: done.cancelled() or done.exception())
        return written

    def ping(self, data: str | bytes = b"") -> None:
        """Hand on a ping of the dashboards."""
        with contextlib.suppress(WebSocketClosedError):
            super().ping(data)

    def proxy_request_options(self) -> dict[str, Any]:
        """Return the deadlines of a request."""
        return {"follow_redirects": False, "connect_timeout": REQUEST_TIMEOUT_S, "request_timeout": REQUEST_TIMEOUT_S}

    def check_xsrf_cookie(self) -> None:
        """Check as Jupyter does; the base class would leave it to the backend."""
        JupyterHandler.check_xsrf_cookie(self)

    def get_client_uri(self, protocol: str, host: str, port: int, proxied_path: str) -> str:
        """Return the target with the path exactly as it came; the base class would quote a quoted base URL again."""
        query = without_token(self.request.query)
        return f"{protocol}://{host}{self.request.path}" + (f"?{query}" if query else "")

    def proxy_request_headers(self) -> Any:
        """Return the request's headers without Jupyter's credentials, with the dashboards' secret."""
        headers = self.request.headers.copy()
        for name in _OURS_ALONE:
            headers.pop(name, None)
        headers[SECRET_HEADER] = self.services.dashboards.secret
        return headers

    def compute_etag(self) -> None:
        """Keep the entity tag of the dashboards, if they gave one, by which they tell what a browser has; make none of the body, as Tornado would."""

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Say in one plain line what is wrong; nothing of the URL is repeated."""
        error = kwargs.get("exc_info", (None, None))[1]
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("Content-Security-Policy", FRAME_POLICY)
        if isinstance(error, ClusterNotFound):
            self.finish("This cluster is not running any more.")
        elif status_of(error):
            self.finish(str(error))
        else:
            self.finish(HTTP_REASONS.get(status_code, "Error"))


class DashboardPageHandler(DashboardFilesHandler):
    """A page of one cluster or recording, and its WebSocket."""

    async def check(self, *args: str) -> None:
        """Raise `ClusterNotFound` if the cluster doesn't run and no process has opened such a recording."""
        try:
            await self.services.clusters.find(args[0])
        except ClusterNotFound:
            await asyncio.to_thread(find_recording, args[0])

    async def open(self, *args: str) -> None:
        """Proxy a page's WebSocket, which is there as long as the page is."""
        self._shown = args[0]
        self.services.recordings.page_opened(self._shown)
        self.services.dashboards.note_page_opened()
        await super().open(*args)

    def on_close(self) -> None:
        """The page is gone."""
        self.services.recordings.page_closed(self._shown)
        self.services.dashboards.note_page_closed()
        super().on_close()
