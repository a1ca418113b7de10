"""Clusters and starts: each verb checks who asks, calls one manager method and writes the answer."""

from __future__ import annotations

from collections.abc import AsyncIterator

from glassloom_metrics.subscriber import subscribe_frames
from jupyter_server.auth.decorator import authorized

from glassloom_server.base_handlers import GlassloomAPIHandler, StreamHandler, authenticated, operation
from glassloom_server.wire import (
    AdaptRequest,
    Clusters,
    LogLines,
    Outcome,
    RenameRequest,
    RestartRequest,
    ScaleRequest,
    Started,
    StartRequest,
    StreamMessage,
)

LOG_LINES = 500


class ClustersHandler(GlassloomAPIHandler):
    """All clusters of this user."""

    @authenticated
    @authorized
    @operation(response=Clusters)
    async def get(self) -> None:
        """List them with their numbers, open recordings, clusters elsewhere and starts."""
        self.finish(await self.services.watch.whole())

    @authenticated
    @authorized
    @operation(status=202, request=StartRequest, response=Started)
    async def post(self) -> None:
        """Begin to start one; the state tells what becomes of it."""
        self.answer(await self.services.starter.start(self.body(StartRequest)), 202)


class ClusterHandler(GlassloomAPIHandler):
    """One cluster."""

    @authenticated
    @authorized
    @operation(status=204, query={"kill": "true: kill its processes and remove its record, whether it answers or not"})
    async def delete(self, cluster_id: str) -> None:
        """Ask it to shut down."""
        if self.get_query_argument("kill", "") == "true":
            await self.services.clusters.kill(cluster_id)
        else:
            await self.services.clusters.shut_down(cluster_id)
        self.answer_nothing()


class ClusterCommandHandler(GlassloomAPIHandler):
    """What all commands to one cluster share."""

    async def command(self, cluster_id: str, name: str, arguments: dict[str, int | float | str | None]) -> None:
        """Pass a command on, and answer with its outcome."""
        self.answer(Outcome(await self.services.clusters.command(cluster_id, name, arguments)))


class ScaleHandler(ClusterCommandHandler):
    """The number of workers of one cluster."""

    @authenticated
    @authorized
    @operation(request=ScaleRequest, response=Outcome)
    async def post(self, cluster_id: str) -> None:
        """Start or retire workers until there are so many."""
        await self.command(cluster_id, "scale", {"n": self.body(ScaleRequest).n})


class AdaptHandler(ClusterCommandHandler):
    """Adaptive scaling of one cluster."""

    @authenticated
    @authorized
    @operation(request=AdaptRequest, response=Outcome)
    async def post(self, cluster_id: str) -> None:
        """Let the number of workers follow the work, or stop that."""
        await self.command(cluster_id, "adapt", self.body(AdaptRequest).bounds())


class RestartHandler(ClusterCommandHandler):
    """The workers of one cluster."""

    @authenticated
    @authorized
    @operation(request=RestartRequest, response=Outcome)
    async def post(self, cluster_id: str) -> None:
        """Cancel all tasks and replace all workers."""
        _ = self.body(RestartRequest)
        await self.command(cluster_id, "restart", {})


class RenameHandler(ClusterCommandHandler):
    """The name of one cluster."""

    @authenticated
    @authorized
    @operation(request=RenameRequest, response=Outcome)
    async def post(self, cluster_id: str) -> None:
        """Give it another one."""
        await self.command(cluster_id, "rename", {"name": self.body(RenameRequest).name})


class ClusterLogHandler(GlassloomAPIHandler):
    """The log of one cluster."""

    @authenticated
    @authorized
    @operation(response=LogLines, query={"lines": f"how many of the newest lines, {LOG_LINES} if not given"})
    async def get(self, cluster_id: str) -> None:
        """Return its newest lines; also of one that was lost, as far as they are kept."""
        n_lines = self.number("lines", LOG_LINES)
        lines = self.services.watch.last_log_lines(cluster_id, n_lines)
        if lines is None:
            lines = await self.services.clusters.last_log_lines(cluster_id, n_lines)
        self.answer(LogLines(lines))


class StartHandler(GlassloomAPIHandler):
    """One start that was asked for."""

    @authenticated
    @authorized
    @operation(status=204)
    async def delete(self, start_id: str) -> None:
        """Cancel it if it goes on, dismiss it if it has failed."""
        await self.services.starter.cancel(start_id)
        self.answer_nothing()


class MetricsHandler(StreamHandler):
    """The state of all clusters, about once a second while it changes."""

    message_type = StreamMessage

    async def messages(self, *args: str) -> AsyncIterator[bytes]:
        """Yield a snapshot, then what has changed since the message before; see `wire.StreamMessage`."""
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
