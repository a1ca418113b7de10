"""The dashboards' web server: Bokeh's, with our pages, our gate before every route, and nothing of the request kept."""

from __future__ import annotations

import re
import secrets
import time
from collections import Counter
from contextlib import ExitStack, suppress
from typing import Any
from urllib.parse import unquote, urlsplit

from bokeh.application import Application
from bokeh.core.types import ID
from bokeh.protocol.message import Message
from bokeh.resources import Resources
from bokeh.server.session import ServerSession
from bokeh.server.tornado import BokehTornado
from bokeh.server.views.session_handler import SessionHandler
from bokeh.server.views.static_handler import StaticHandler
from bokeh.server.views.ws import WSHandler
from bokeh.util.token import generate_jwt_token, generate_session_id, get_session_id
from glassloom_metrics.errors import ClusterNotFound
from glassloom_metrics.pages import MAX_OPEN_PAGES, PAGES
from tornado.httputil import HTTPMessageDelegate, HTTPServerRequest
from tornado.iostream import StreamClosedError
from tornado.web import RequestHandler
from tornado.websocket import WebSocketClosedError

from glassloom_dashboards.parts.card import TITLES
from glassloom_dashboards.parts.layouts import LAYOUTS
from glassloom_dashboards.parts.strip import MAX_NAME_LENGTH
from glassloom_dashboards.parts.templates import template
from glassloom_dashboards.parts.theme import PALETTES, ellipsis
from glassloom_dashboards.serving.bokeh_defaults import remember_defaults
from glassloom_dashboards.serving.first_contents import FirstContents, first_contents
from glassloom_dashboards.serving.garbage import Garbage
from glassloom_dashboards.serving.gate import Gate
from glassloom_dashboards.serving.hub import Hub, Watched
from glassloom_dashboards.serving.loop_lag import LoopLag
from glassloom_dashboards.serving.open_pages import RETRY_S, OpenPages, is_open, words
from glassloom_dashboards.serving.page import DEFAULT_THEME
from glassloom_dashboards.serving.sessions import PageDocument, Viewers, session_of, text_arguments
from glassloom_dashboards.serving.static_files import GzippedFiles, StaticFiles

_POLICY = (
    "default-src 'self'",
    "style-src 'self' 'unsafe-inline'",  # BokehJS makes style elements for its shadow roots, our HTML has bars of a width
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
)
_SEGMENT = "[^/]+"
_KEEP_ALIVE_MS = 10_000
_CHECK_SESSIONS_MS = 5_000
_UNUSED_SESSION_MS = 15_000
_FIRST_WORD_S = 0.1
"""How long a page waits for the first word of a cluster that nobody has looked at yet, so as to show something of it at once."""


def security_policy(nonce: str = "") -> str:
    """Return the Content-Security-Policy of an answer: of one without a nonce no script runs.

    With one, only the scripts that carry it do. ``'self'`` isn't among them: behind Jupyter that is also what users have in
    their files. ``'unsafe-eval'`` is for BokehJS, which makes functions of the texts of `CustomJS` and its like.
    """
    scripts = f"'nonce-{nonce}' 'unsafe-eval'" if nonce else "'none'"
    return "; ".join((*_POLICY, f"script-src {scripts}"))


def set_security_headers(handler: RequestHandler) -> None:
    """Set what every answer of ours carries."""
    handler.set_header("Content-Security-Policy", security_policy())
    handler.set_header("X-Content-Type-Options", "nosniff")
    handler.set_header("Referrer-Policy", "no-referrer")
    handler.set_header("Cache-Control", "no-store")


class DashboardServer(BokehTornado):
    """The web application.

    Parameters
    ----------
    hub
        Where clusters are found.
    gate
        Who is let in.
    prefix
        Path before all others, such as ``"/user/someone/glassloom/dash"``.
    origins
        Hosts whose pages may open WebSockets; ``"*"`` only on a private socket, behind a proxy that checks.
    lists_clusters
        Whether ``{prefix}/`` shows the clusters.
    max_pages
        How many pages may be open at once.

    Attributes
    ----------
    scripts
        Addresses of the scripts that a page loads; each has its file's hash.
    gzipped
        The files of these scripts, compressed.
    """

    def __init__(
        self,
        hub: Hub,
        gate: Gate,
        *,
        prefix: str,
        origins: list[str],
        lists_clusters: bool,
        max_pages: int = MAX_OPEN_PAGES,
    ) -> None:
        remember_defaults()
        self.hub = hub
        self.open_pages = OpenPages(max_pages)
        self.loop_lag = LoopLag()
        self._gate = gate
        self._lists_clusters = lists_clusters
        self.garbage = Garbage()
        applications = {
            f"/{_SEGMENT}/{page.id}": Application(Viewers(page.id, self.cluster_of, hub.turns, self.garbage))
            for page in PAGES
        }
        super().__init__(
            applications,
            prefix=prefix,
            extra_websocket_origins=origins,
            include_headers=[],
            include_cookies=[],
            use_index=False,
            keep_alive_milliseconds=_KEEP_ALIVE_MS,
            check_unused_sessions_milliseconds=_CHECK_SESSIONS_MS,
            unused_session_lifetime_milliseconds=_UNUSED_SESSION_MS,
            default_handler_class=NotFound,
        )
        self.scripts = self.resources().js_files
        self.gzipped = GzippedFiles(
            [urlsplit(script).path.removeprefix(f"{self.prefix}/static/") for script in self.scripts]
        )
        # These come before Bokeh's own routes to the same paths, of which nothing but the static files is left.
        start = re.escape(self.prefix)
        routes: list[Any] = [
            (rf"{start}/health", Health),
            (rf"{start}/static/(js/.*)", StaticFiles, {"turns": hub.turns, "gzipped": self.gzipped}),
        ]
        if lists_clusters:
            routes.append((rf"{start}/?", ClusterList))
        for key, context in self.applications.items():
            path = f"{start}{key}"
            args = {"application_context": context, "bokeh_websocket_path": f"{path}/ws"}
            page = key.rpartition("/")[2]
            routes += [
                (rf"{path}/?", PageHandler, args | {"page": page}),
                (rf"{path}/ws", PageSocket, args),
                (rf"{path}/.*", NotFound),
            ]
        self.add_handlers(".*", routes)

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> HTTPMessageDelegate:
        """Ask the gate, then find the route."""
        if self._gate.lets_in(request):
            return super().find_handler(request, **kwargs)
        entry = self._gate.entry(request)
        if entry is not None:
            return self.get_handler_delegate(request, Entry, {"location": entry[0], "cookie": entry[1]})
        return self.get_handler_delegate(request, Forbidden)

    def resources(self, absolute_url: str | bool | None = None) -> Resources:
        """Return what a page loads: from here, and only the parts of BokehJS that our pages use."""
        return Resources(
            mode="server",
            root_url=f"{self.prefix}/",
            components=["bokeh", "bokeh-widgets"],
            path_versioner=StaticHandler.append_version,
        )

    def cluster_of(self, request: Any) -> Watched:
        """Return the cluster that a request's path names; raises `ClusterNotFound`."""
        rest = request.path[len(self.prefix) :].lstrip("/")
        return self.hub.watch(unquote(rest.split("/")[0]))

    def head_html(self, page: str, watched: Watched, theme: str, token: str, nonce: str) -> str:
        """Return the head of a page, which needs nothing of the cluster but its name; all values are escaped.

        `nonce` lets its scripts run: see `security_policy`.
        """
        return template("page_head.html").render(
            title=f"{ellipsis(watched.record.name, MAX_NAME_LENGTH)} · {TITLES[page]}",
            theme=theme,
            token=token,
            nonce=nonce,
            scripts=self.scripts,
        )

    def body_html(self, page: str, watched: Watched, query: str, first: FirstContents) -> str:
        """Return what follows the head: a page as it is before its document has come; all values are escaped.

        `query` asks for the theme, where the page itself was asked for one.
        """
        return template("page.html").render(
            name=ellipsis(watched.record.name, MAX_NAME_LENGTH),
            heading=TITLES[page],
            first=first,
            cards={card: TITLES[card] for card in LAYOUTS[page].cards},
            grid=LAYOUTS[page].grid,
            clusters_href=f"{self.prefix}/{query}" if self._lists_clusters else "",
            pages=self._siblings(page, watched.record.id, query),
        )

    def _siblings(self, page: str, cluster: str, query: str) -> list[dict[str, object]]:
        """Return all pages of a cluster, to go from one to another."""
        return [
            {
                "href": f"{self.prefix}/{cluster}/{one.id}{query}",
                "title": one.title,
                "description": one.description,
                "is_this": one.id == page,
            }
            for one in PAGES
        ]


def _theme_of(handler: RequestHandler) -> str:
    theme = handler.get_query_argument("theme", DEFAULT_THEME)
    return theme if theme in PALETTES else DEFAULT_THEME


def _theme_query(handler: RequestHandler) -> str:
    """Return the part of an address that asks for the theme that this one asks for; ``""`` if it asks for none."""
    return f"?theme={_theme_of(handler)}" if handler.get_query_arguments("theme") else ""


class Plain(RequestHandler):
    """A handler that needs no more than the gate's word."""

    application: DashboardServer

    def set_default_headers(self) -> None:
        """Set the security headers."""
        set_security_headers(self)

    def check_xsrf_cookie(self) -> None:
        """Do nothing: no handler changes anything."""


class Health(Plain):
    """Says that the process answers."""

    def get(self) -> None:
        """Answer ``{"status": "ok"}``, how late the loop was at most in the last minute, and what pages load, for browsers to fetch ahead."""
        longest_s = self.application.loop_lag.longest_s(time.monotonic())
        self.write({"status": "ok", "loop_lag_s": round(longest_s, 3), "scripts": self.application.scripts})


class Entry(Plain):
    """Takes the token out of the address, and gives a cookie for it."""

    def initialize(self, location: str, cookie: str) -> None:
        """Take over what the gate said."""
        self._location, self._cookie = location, cookie

    def get(self) -> None:
        """Redirect to the same page."""
        self.set_header("Set-Cookie", self._cookie)
        self.redirect(self._location)


class Forbidden(Plain):
    """Answers whoever isn't let in, whatever they ask for."""

    def prepare(self) -> None:
        """Answer 403."""
        self.set_status(403)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish("403: open the address that was printed when the dashboards started; it ends in ?token=...\n")


class NotFound(Plain):
    """Answers what there is no route for."""

    def prepare(self) -> None:
        """Answer 404."""
        write_message(self, 404, "Not found", "There is no such dashboard page.")


class ClusterList(Plain):
    """Lists the running clusters, and the recordings that this process was started with."""

    def get(self) -> None:
        """Answer with a page of links."""
        clusters = [
            {"name": record.name, "href": f"{self.application.prefix}/{record.id}"}
            for record in self.application.hub.shown()
        ]
        text = (
            "Pick a cluster or recording."
            if clusters
            else "No cluster is running. This page lists those that this user starts."
        )
        write_message(self, 200, "Clusters", text, clusters=clusters, pages=PAGES, query=_theme_query(self))


def write_message(handler: RequestHandler, status: int, title: str, text: str, **variables: Any) -> None:
    """Answer with a page of words; all of them are escaped."""
    handler.set_status(status)
    handler.set_header("Content-Type", "text/html; charset=utf-8")
    handler.finish(template("message.html").render(title=title, text=text, theme=_theme_of(handler), **variables))


def context_name(session: ServerSession) -> str:
    """Return the name of the cluster that a session's page shows; ``""`` until it is made."""
    view = session.document.view if isinstance(session.document, PageDocument) else None
    return view.cluster_name if view is not None else ""


class PageHandler(SessionHandler):
    """One dashboard page of one cluster: its head goes out at once, then what is known of the cluster, and then its document is made.

    The browser loads BokehJS from the head on, and asks for the document by the token that it has got.
    """

    application: DashboardServer

    def __init__(self, *args: Any, page: str, **kwargs: Any) -> None:
        self._page = page
        super().__init__(*args, **kwargs)

    def set_default_headers(self) -> None:
        """Set the security headers."""
        set_security_headers(self)

    async def get(self, *args: Any, **kwargs: Any) -> None:
        """Answer with the page, or say that the cluster isn't running."""
        try:
            watched = self.application.cluster_of(self.request)
        except ClusterNotFound as error:
            write_message(self, 404, "This cluster is not running", f"{str(error)[:500]}.")
            return
        if not self.application.open_pages.has_room(self.application.applications.values()):
            self._refuse()
            return
        with self.application.open_pages.opening():
            await self._open(watched)

    def _log(self) -> None:
        """Log the request, but none that was refused for now: it comes again and again."""
        if self.get_status() != 429:
            super()._log()

    def _refuse(self) -> None:
        """Say that too many pages are open, and which; the browser asks again by itself."""
        limit, shown = self.application.open_pages.limit, Counter[tuple[str, str]]()
        for path, context in self.application.applications.items():
            title = TITLES[path.rpartition("/")[2]]
            names = (context_name(session) for session in context.sessions if is_open(session))
            shown.update((ellipsis(name, MAX_NAME_LENGTH), title) for name in names)
        nonce = secrets.token_urlsafe(16)
        self.set_header("Content-Security-Policy", security_policy(nonce))
        self.set_header("Retry-After", RETRY_S)
        text = (
            f"{limit} dashboard pages are open, and there may be no more. Close one of these; then this page opens by itself. "
            "The limit is the option --max-pages, in Jupyter GlassloomServer.dashboards_max_pages."
        )
        write_message(self, 429, "Too many pages are open", text, lines=words(shown), retry_s=RETRY_S, nonce=nonce)

    async def _open(self, watched: Watched) -> None:
        session_id, token = self._new_session()
        self.set_header("Content-Type", "text/html; charset=utf-8")
        nonce, theme = secrets.token_urlsafe(16), _theme_of(self)
        self.set_header("Content-Security-Policy", security_policy(nonce))
        try:
            self.write(self.application.head_html(self._page, watched, theme, token, nonce))
            if not watched.is_heard:
                await self.flush()
                await watched.was_heard(_FIRST_WORD_S)
            first = first_contents(self._page, watched, theme, text_arguments(self.request))
            await self.finish(self.application.body_html(self._page, watched, _theme_query(self), first))
        except StreamClosedError:  # the viewer has left: no session is needed
            return
        await session_of(self.application_context, session_id, self.request, token)

    def _new_session(self) -> tuple[ID, str]:
        """Return an id for a session, and the token that gives access to it; it holds the address's arguments alone."""
        server = self.application
        keys = {"secret_key": server.secret_key, "signed": server.sign_sessions}
        session_id = generate_session_id(**keys)
        payload = {"headers": {}, "cookies": {}, "arguments": self.request.arguments}
        expiration = server.session_token_expiration
        return session_id, generate_jwt_token(session_id, expiration=expiration, extra_payload=payload, **keys)


class PageSocket(WSHandler):
    """A page's WebSocket."""

    application: DashboardServer
    _is_left = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._opening = ExitStack()  # until the browser has the document, for which it asks once it is connected
        super().__init__(*args, **kwargs)

    async def prepare(self) -> None:
        """Refuse the upgrade if there is no such cluster."""
        await super().prepare()
        try:
            self.application.cluster_of(self.request)
        except ClusterNotFound:
            self.set_status(404)
            self.finish()

    async def _async_open(self, token: str) -> None:
        """Connect to the session; end the connection if it could not be made, as the browser would wait for ever."""
        self._opening.enter_context(self.application.hub.turns.documents.taken())
        try:
            await session_of(self.application_context, get_session_id(token), self.request, token)
            if not self._is_left:  # a connection made now would never be told that it is lost
                await super()._async_open(token)
        except Exception:  # whatever prevented the page from being made
            self.close(1011, "the page could not be made")
            raise

    async def on_message(self, fragment: str | bytes) -> None:
        """Process a message, unless this connection was found closed: what still comes of it is of no use."""
        if not self._is_lost():
            await super().on_message(fragment)

    async def send_message(self, message: Message[Any]) -> None:
        """Send a message, if the page is still there: that a viewer leaves is no fault, so nothing is logged."""
        with suppress(WebSocketClosedError):
            await message.send(self)
        if message.msgtype == "PULL-DOC-REPLY":
            self._opening.close()

    def on_close(self) -> None:
        """Note that the viewer has left, before or after the connection was made."""
        self._is_left = True
        self._opening.close()
        if not self._is_lost():
            super().on_close()

    def _is_lost(self) -> bool:
        """Tell whether Bokeh has found the connection closed, when it pinged it, before the end of it came."""
        return self.connection is not None and self.connection._session is None
