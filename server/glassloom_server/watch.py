"""Follows every cluster of the registry and tells listeners about once a second; one watch whatever their number.

    async with watch.listen() as listener:
        while True:
            socket.write_message(await listener.next())

Everything that reads files, decodes or folds happens in a thread with a loop of its own, so Jupyter's loop only ever
passes finished JSON on. The thread runs while somebody listens. `ClusterWatch` belongs to the loop that uses it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from logging import Logger, LoggerAdapter

import msgspec
from glassloom_metrics.errors import ConnectionRefused, MetricsError
from glassloom_metrics.folds import ClusterSummary
from glassloom_metrics.open_recordings import read_recording_records
from glassloom_metrics.prometheus import exposition_text
from glassloom_metrics.protocol import NOW
from glassloom_metrics.registry import ClusterRecord, read_foreign_records, read_records
from glassloom_metrics.subscriber import subscribe

from glassloom_server.wire import describe_cluster, describe_elsewhere, describe_recording

INTERVAL_S = 1.0
LINGER_S = 10.0
"""How long the thread goes on without a listener, so that reloading a page does not lose the history of every cluster."""

_SETTLE_S = 0.3
_TOPICS = ["samples", "progress", "layers", "worker-joined", "worker-left", "gpu-samples", "errors"]


class Listener:
    """Gets the newest state, at most once each; what it is too slow for, it does not see."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._newest: bytes | None = None
        self._changed = asyncio.Event()

    async def next(self) -> bytes:
        """Return the newest state that this listener has not had, as JSON; waits until there is one."""
        await self._changed.wait()
        self._changed.clear()
        assert self._newest is not None, "set before the event"
        return self._newest

    def offer(self, state: bytes) -> None:
        """Make `state` the newest."""
        self._newest = state
        self._changed.set()

    def offer_from_thread(self, state: bytes) -> None:
        """Make `state` the newest; for the watch's thread."""
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            self._loop.call_soon_threadsafe(self.offer, state)


class ClusterWatch:
    """The state of all clusters, shared by everybody who listens."""

    def __init__(self, *, log: Logger | LoggerAdapter[Logger], interval_s: float = INTERVAL_S) -> None:
        self._log = log
        self._interval_s = interval_s
        self._listeners: list[Listener] = []
        self._follower: _FollowerThread | None = None
        self._ending: asyncio.TimerHandle | None = None

    @property
    def running(self) -> bool:
        """Whether the thread runs."""
        return self._follower is not None

    @asynccontextmanager
    async def listen(self, *, linger_s: float = LINGER_S) -> AsyncIterator[Listener]:
        """Listen for as long as the context lasts; the first state comes at once, or when the thread has it."""
        loop = asyncio.get_running_loop()
        listener = Listener(loop)
        self._listeners.append(listener)
        self._keep_following(listener)
        try:
            yield listener
        finally:
            self._listeners.remove(listener)
            if not self._listeners:
                self._ending = loop.call_later(linger_s, self._end_if_unused)

    async def exposition(self) -> str:
        """Return the newest numbers of all clusters in Prometheus' text format."""
        async with self.listen() as listener:
            await listener.next()
            assert self._follower is not None, "it runs while somebody listens"
            return self._follower.exposition

    async def stop(self) -> None:
        """End the thread; listeners get nothing more."""
        follower, self._follower = self._follower, None
        self._cancel_ending()
        if follower is not None:
            follower.ask_to_end()
            await asyncio.to_thread(follower.join)

    def _keep_following(self, listener: Listener) -> None:
        self._cancel_ending()
        if self._follower is None or not self._follower.is_alive():
            self._follower = _FollowerThread(self._publish, interval_s=self._interval_s, log=self._log)
            self._follower.start()
        elif self._follower.newest is not None:
            listener.offer(self._follower.newest)

    def _publish(self, state: bytes) -> None:
        for listener in list(self._listeners):
            listener.offer_from_thread(state)

    def _end_if_unused(self) -> None:
        self._ending = None
        if not self._listeners and self._follower is not None:
            self._follower.ask_to_end()
            self._follower = None

    def _cancel_ending(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None


class _FollowerThread(threading.Thread):
    """Folds every cluster's stream; calls `publish` (in this thread) with each state that differs from the last."""

    def __init__(
        self, publish: Callable[[bytes], None], *, interval_s: float, log: Logger | LoggerAdapter[Logger]
    ) -> None:
        super().__init__(name="glassloom-watch", daemon=True)
        self.newest: bytes | None = None
        self.exposition = ""
        self._publish = publish
        self._interval_s = interval_s
        self._log = log
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._following: dict[str, _Following] = {}

    def run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._follow_registry())

    def ask_to_end(self) -> None:
        """Let the thread end soon; safe from any thread."""
        with contextlib.suppress(RuntimeError):  # it has ended already
            self._loop.call_soon_threadsafe(self._end.set)

    async def _follow_registry(self) -> None:
        try:
            while not self._end.is_set():
                is_new = self._update_following(read_records())
                if is_new:
                    await self._sleep(_SETTLE_S)  # let the snapshot come in first
                self._publish_if_changed()
                await self._sleep(self._interval_s)
        finally:
            for following in self._following.values():
                following.task.cancel()

    def _update_following(self, records: list[ClusterRecord]) -> bool:
        """Follow what is new, forget what is gone, follow again what broke off; tell whether anything was new."""
        current = {record.id: record for record in records}
        for cluster_id in self._following.keys() - current.keys():
            self._following.pop(cluster_id).task.cancel()
        broken = {cluster_id for cluster_id, following in self._following.items() if following.task.done()}
        new = (current.keys() - self._following.keys()) | broken
        # Rebuilt in the registry's order, which is the order on screen.
        self._following = {
            record.id: self._follow(record) if record.id in new else self._following[record.id] for record in records
        }
        return bool(new - broken)

    def _follow(self, record: ClusterRecord) -> _Following:
        before = self._following.get(record.id)
        return _Following(record, self._log, before.summary.problem if before else "")

    def _publish_if_changed(self) -> None:
        clusters = [describe_cluster(following.record, following.summary) for following in self._following.values()]
        state = msgspec.json.encode(
            {
                "clusters": clusters,
                "recordings": [describe_recording(record) for record in read_recording_records()],
                "elsewhere": [describe_elsewhere(record) for record in read_foreign_records()],
            }
        )
        self.exposition = exposition_text(
            [(following.record, following.summary) for following in self._following.values()]
        )
        if state != self.newest:
            self.newest = state
            self._publish(state)

    async def _sleep(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._end.wait()


class _Following:
    """One cluster's stream being folded. If the stream breaks off, the last numbers stay.

    ``problem`` is why it could not be read when it was tried last; it holds until the cluster says something.
    """

    def __init__(self, record: ClusterRecord, log: Logger | LoggerAdapter[Logger], problem: str = "") -> None:
        self.record = record
        self.summary = ClusterSummary()
        self.summary.problem = problem
        self._log = log
        self.task = asyncio.ensure_future(self._fold())

    async def _fold(self) -> None:
        try:
            async for message in subscribe(self.record, _TOPICS, since=NOW):
                self.summary.problem = ""
                self.summary.apply(message)
        except ConnectionRefused as error:  # of another version, or the record is of another cluster
            self.summary.problem = str(error)
            self._log.debug("Glassloom cluster %s refuses to be followed: %s", self.record.id, error)
        except (MetricsError, OSError, msgspec.DecodeError) as error:
            # Just starting or just ending; the registry says which with the next look.
            self._log.debug("Glassloom cluster %s cannot be followed: %s", self.record.id, error)
