"""The REST and WebSocket API. Each verb checks who asks, calls one manager method and writes the answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from http.client import responses as HTTP_REASONS
from typing import Any

import msgspec
import tornado.web
from glassloom_metrics.errors import MetricsError
from glassloom_metrics.pages import PAGES
from glassloom_metrics.prometheus import EXPOSITION_TYPE
from glassloom_metrics.subscriber import subscribe_frames
from jupyter_server.auth.decorator import authorized, ws_authenticated
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from glassloom_server.errors import status_of
from glassloom_server.services import Services
from glassloom_server.wire import decode_start_request

AUTH_RESOURCE = "glassloom"


class ExpectedErrors:
    """Mixin that answers errors of the table in `errors` with their status and message, and logs them in one line."""

    def send_error(self, status_code: int = 500, **kwargs: Any) -> None:
        """Answer with the status that the table has for the exception, if it is in there."""
        error = kwargs.get("exc_info", (None, None))[1]
        super().send_error(status_of(error) or status_code, **kwargs)  # type: ignore[misc]

    def log_exception(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        """Log an expected error without its traceback."""
        if status_of(error) is None:
            super().log_exception(kind, error, traceback)  # type: ignore[misc]


class GlassloomAPIHandler(ExpectedErrors, APIHandler):
    """What all REST handlers share."""

    auth_resource = AUTH_RESOURCE

    def initialize(self, services: Services) -> None:
        """Take what the route table hands over."""
        self.services = services

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Write the message of an expected error as JSON; of any other, what Jupyter does."""
        error = kwargs.get("exc_info", (None, None))[1]
        if status_of(error) is None:
            super().write_error(status_code, **kwargs)
        else:
            self.finish(msgspec.json.encode({"message": str(error), "reason": type(error).__name__}))


class ClustersHandler(GlassloomAPIHandler):
    """All clusters of this user."""

    @tornado.web.authenticated
    @authorized
    async def get(self) -> None:
        """List them with their numbers."""
        self.finish(await self.services.clusters.list())

    @tornado.web.authenticated
    @authorized
    async def post(self) -> None:
        """Start one; answers when it runs."""
        record = await self.services.clusters.start(decode_start_request(self.request.body))
        self.set_status(201)
        self.finish(msgspec.json.encode({"id": record.id, "name": record.name}))


class ClusterHandler(GlassloomAPIHandler):
    """One cluster."""

    @tornado.web.authenticated
    @authorized
    async def delete(self, cluster_id: str) -> None:
        """Shut it down."""
        await self.services.clusters.shut_down(cluster_id)
        self.set_status(204)
        self.finish()


class RecordingHandler(GlassloomAPIHandler):
    """One recording that a process has opened."""

    @tornado.web.authenticated
    @authorized
    async def delete(self, recording_id: str) -> None:
        """Close it: its file stays."""
        await self.services.clusters.close_recording(recording_id)
        self.set_status(204)
        self.finish()


class PrometheusHandler(GlassloomAPIHandler):
    """The numbers of all clusters for Prometheus."""

    @tornado.web.authenticated
    @authorized("read")
    async def get(self) -> None:
        """Write them in its text format."""
        self.finish(await self.services.clusters.exposition(), set_content_type=EXPOSITION_TYPE)

    def update_api_activity(self) -> None:
        """Do nothing: being read every few seconds doesn't keep an idle server alive."""


class PagesHandler(GlassloomAPIHandler):
    """The dashboard pages that every cluster has."""

    @tornado.web.authenticated
    @authorized
    async def get(self) -> None:
        """List them."""
        self.finish(msgspec.json.encode({"pages": PAGES}))


class DashboardsStatusHandler(GlassloomAPIHandler):
    """The dashboards process: whether it runs and answers, and its log."""

    @tornado.web.authenticated
    @authorized
    async def get(self) -> None:
        """Describe it; starts nothing."""
        self.finish(msgspec.json.encode(await self.services.dashboards.status()))


class StreamHandler(ExpectedErrors, WebSocketMixin, WebSocketHandler, JupyterHandler):
    """What all WebSockets share: they send what `messages` yields, and take nothing."""

    auth_resource = AUTH_RESOURCE
    binary = False

    def initialize(self, services: Services) -> None:
        """Take what the route table hands over."""
        self.services = services
        self._sending: asyncio.Task[None] | None = None

    @ws_authenticated
    @authorized("read")
    async def get(self, *args: str) -> None:  # type: ignore[override]
        """Check that there is something to send, then upgrade the connection."""
        await self.check(*args)
        await super().get(*args)

    async def check(self, *args: str) -> None:
        """Raise if what is asked for does not exist."""

    def messages(self, *args: str) -> AsyncIterator[bytes]:
        """Yield what is to be sent."""
        raise NotImplementedError

    def open(self, *args: str) -> None:
        """Begin to send."""
        super().open(*args)
        self._sending = asyncio.ensure_future(self._send(*args))

    async def _send(self, *args: str) -> None:
        # Either end may go away at any moment; then there is nobody left to tell.
        with contextlib.suppress(WebSocketClosedError, MetricsError, OSError):
            async with contextlib.aclosing(self.messages(*args)) as messages:  # type: ignore[type-var]
                async for message in messages:
                    await self.write_message(message, binary=self.binary)
        self.close()

    def on_message(self, message: str | bytes) -> None:
        """Ignore what the browser sends."""

    def on_close(self) -> None:
        """Stop sending."""
        if self._sending is not None:
            self._sending.cancel()

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Refuse the upgrade in one line."""
        error = kwargs.get("exc_info", (None, None))[1]
        self.set_header("Content-Type", "text/plain")
        self.finish(str(error) if status_of(error) else HTTP_REASONS.get(status_code, ""))


class MetricsHandler(StreamHandler):
    """The numbers of all clusters, about once a second while they change."""

    async def messages(self, *args: str) -> AsyncIterator[bytes]:
        """Yield the JSON of ``GET clusters`` whenever it changes."""
        async with self.services.watch.listen() as listener:
            while True:
                yield await listener.next()


class ClusterMetricsHandler(StreamHandler):
    """One cluster's metrics protocol: each binary message is the payload of one frame."""

    binary = True

    async def check(self, *args: str) -> None:
        """Raise `ClusterNotFound` if the cluster doesn't run."""
        self._record = await self.services.clusters.find(*args)

    def messages(self, *args: str) -> AsyncIterator[bytes]:
        """Yield the frames of the cluster from its start on, until it ends."""
        return subscribe_frames(self._record)
