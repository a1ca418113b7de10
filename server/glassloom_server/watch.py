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
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from logging import Logger, LoggerAdapter
from typing import NamedTuple

import msgspec
from glassloom_metrics.errors import ConnectionRefused, MetricsError
from glassloom_metrics.kill_note import was_kill_noted
from glassloom_metrics.open_recordings import RecordingRecord, read_recording_records
from glassloom_metrics.prometheus import exposition_text
from glassloom_metrics.protocol import NOW
from glassloom_metrics.registry import ClusterRecord, is_alive, read_foreign_records, read_records
from glassloom_metrics.subscriber import subscribe
from glassloom_metrics.time_limit import time_limit

from glassloom_server.cluster_fold import ClusterFold, path_for_people
from glassloom_server.losses import Losses, OpenLog, has_ended
from glassloom_server.notebooks import NO_PATHS, Notebooks, Paths
from glassloom_server.overhead import ProcessMeter
from glassloom_server.starts import NO_STARTS, Starts
from glassloom_server.state import State, alive_message, changes, changes_message, snapshot_message
from glassloom_server.wire import ElsewhereState, ExportState, RecordingState

INTERVAL_S = 1.0
ALIVE_S = 5.0
"""After how long without a change listeners are told that there was none."""
LINGER_S = 10.0
"""How long the thread goes on without a listener, so that reloading a page does not lose the history of every cluster."""

_SETTLE_S = 0.3
_PART_S = 5.0
"""How long what a cluster said last is waited for after its record has gone."""
_PART_FROM_DEAD_S = 60.0
"""How much longer if its head has ended: this process is late then."""
_TOPICS = [
    "samples", "progress", "layers", "worker-joined", "worker-left", "gpus", "gpu-samples", "gpu-processes", "errors",
    "runs", "settings", "engine", "life",
]  # fmt: skip


@dataclass(frozen=True)
class Tick:
    """What the thread tells each second: the state, the one before, and the JSON of what differs (empty: nothing)."""

    state: State
    before: State | None
    body: bytes


class _Known(NamedTuple):
    """What Jupyter's loop knows, and the thread tells."""

    starts: Starts
    exports: tuple[ExportState, ...]
    paths: Paths
    dashboards_pid: int | None


class Listener:
    """One reader of the stream: a snapshot, then what has changed since it was told last, however slow it is."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._newest: Tick | None = None
        self._arrived = asyncio.Event()
        self._told: State | None = None
        self._told_at_s = 0.0
        self._sequence = 0

    async def state(self) -> State:
        """Return the newest state; waits until there is one."""
        await self._arrived.wait()
        assert self._newest is not None, "set before the event"
        return self._newest.state

    async def next(self) -> bytes:
        """Return the next message of this reader's stream, as JSON; waits until there is one."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            message = await self._message()
            if message:
                self._told_at_s = self._loop.time()
                return message

    async def _message(self) -> bytes:
        tick = self._newest
        assert tick is not None, "set before the event"
        told, self._told = self._told, tick.state
        if told is None:
            self._sequence = 1
            return await asyncio.to_thread(snapshot_message, tick.state, self._sequence, time.time())
        body = b""
        if told is tick.before:
            body = tick.body
        elif told is not tick.state:  # it was too slow for the ticks between
            body = await asyncio.to_thread(_body, told, tick.state)
        if body:
            self._sequence += 1
            return changes_message(body, self._sequence, time.time())
        is_due = self._loop.time() - self._told_at_s >= ALIVE_S
        return alive_message(self._sequence, time.time()) if is_due else b""

    def offer(self, tick: Tick) -> None:
        """Make `tick` the newest."""
        self._newest = tick
        self._arrived.set()


def _body(before: State, after: State) -> bytes:
    told = changes(before, after)
    return msgspec.json.encode(told) if told else b""


class ClusterWatch:
    """The state of all clusters, shared by everybody who listens.

    Parameters
    ----------
    root
        The server's root, to which paths are told relative.
    notebooks
        Knows where the notebooks of kernels are now; without it, what kernels were told when they started holds.
    dashboards_pid
        Returns the id of the dashboards process, None if it doesn't run; called in the thread.
    """

    def __init__(
        self,
        *,
        log: Logger | LoggerAdapter[Logger],
        root: str = "",
        interval_s: float = INTERVAL_S,
        notebooks: Notebooks | None = None,
        dashboards_pid: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._log = log
        self._root = root
        self._notebooks = notebooks
        self._dashboards_pid = dashboards_pid
        self._looking: asyncio.Task[None] | None = None
        if notebooks is not None:
            notebooks.changed = self._wake
        self._interval_s = interval_s
        self._starts = NO_STARTS
        self._exports: tuple[ExportState, ...] = ()
        self._losses = Losses()
        self._listeners: list[Listener] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._follower: _FollowerThread | None = None
        self._ending: asyncio.TimerHandle | None = None

    @property
    def running(self) -> bool:
        """Whether the thread runs."""
        return self._follower is not None

    def note_starts(self, starts: Starts) -> None:
        """Tell listeners of these starts, and at once."""
        self._starts = starts
        self._wake()

    def note_exports(self, exports: tuple[ExportState, ...]) -> None:
        """Tell listeners of these exports, and at once."""
        self._exports = exports
        self._wake()

    def last_log_lines(self, cluster_id: str, n_lines: int) -> list[str] | None:
        """Return the newest lines of the log of a cluster that was lost; None if no such cluster was lost."""
        return self._losses.lines(cluster_id, n_lines)

    def _wake(self) -> None:
        if self._follower is not None:
            self._follower.wake()

    @asynccontextmanager
    async def listen(self, *, linger_s: float = LINGER_S) -> AsyncIterator[Listener]:
        """Listen for as long as the context lasts; the first state comes at once, or when the thread has it."""
        loop = self._loop = asyncio.get_running_loop()
        listener = Listener(loop)
        self._listeners.append(listener)
        try:
            if self._notebooks is not None and self._looking is None:
                await self._notebooks.look()  # before the first state, so that it has the paths of now
            self._keep_following(listener)
            yield listener
        finally:
            self._listeners.remove(listener)
            if not self._listeners:
                self._ending = loop.call_later(linger_s, self._end_if_unused)

    async def whole(self) -> bytes:
        """Return the newest state as JSON, with how long ago each cluster was heard and in use last."""
        async with self.listen() as listener:
            state = await listener.state()
            assert self._follower is not None, "it runs while somebody listens"
            heard_at_s = self._follower.heard_at_s()
            return await asyncio.to_thread(lambda: msgspec.json.encode(state.as_of(time.time(), heard_at_s)))

    async def heard_at_s(self, cluster_id: str) -> float | None:
        """Return when a cluster said something last, since the epoch: what badges show; None if it never has."""
        async with self.listen() as listener:
            await listener.state()
            assert self._follower is not None, "it runs while somebody listens"
            return self._follower.heard_at_s().get(cluster_id)

    async def exposition(self) -> str:
        """Return the newest numbers of all clusters in Prometheus' text format."""
        async with self.listen() as listener:
            await listener.state()
            assert self._follower is not None, "it runs while somebody listens"
            return self._follower.exposition

    async def stop(self) -> None:
        """End the thread; listeners get nothing more."""
        follower, self._follower = self._follower, None
        self._cancel_ending()
        self._stop_looking()
        if follower is not None:
            follower.ask_to_end()
            await asyncio.to_thread(follower.join)

    def _keep_following(self, listener: Listener) -> None:
        self._cancel_ending()
        if self._notebooks is not None and self._looking is None:
            self._looking = asyncio.create_task(self._notebooks.follow(), name="glassloom-notebooks")
        if self._follower is None or not self._follower.is_alive():
            self._follower = _FollowerThread(
                self._publish, self._known, self._losses, root=self._root, interval_s=self._interval_s, log=self._log
            )
            self._follower.start()
        elif self._follower.newest is not None:
            listener.offer(self._follower.newest)

    def _known(self) -> _Known:
        """Return what this loop knows and the thread tells; called in the thread."""
        paths = self._notebooks.paths if self._notebooks is not None else NO_PATHS
        return _Known(self._starts, self._exports, paths, self._dashboards_pid())

    def _publish(self, tick: Tick) -> None:
        """Offer a tick to all listeners; called in the thread."""
        assert self._loop is not None, "set before the thread begins"
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            self._loop.call_soon_threadsafe(self._offer, tick)

    def _offer(self, tick: Tick) -> None:
        for listener in self._listeners:
            listener.offer(tick)

    def _end_if_unused(self) -> None:
        self._ending = None
        if not self._listeners and self._follower is not None:
            self._follower.ask_to_end()
            self._follower = None
            self._stop_looking()

    def _stop_looking(self) -> None:
        looking, self._looking = self._looking, None
        if looking is not None:
            looking.cancel()

    def _cancel_ending(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None


class _FollowerThread(threading.Thread):
    """Folds every cluster's stream; calls `publish` (in this thread) each second."""

    def __init__(
        self,
        publish: Callable[[Tick], None],
        known: Callable[[], _Known],
        losses: Losses,
        *,
        root: str,
        interval_s: float,
        log: Logger | LoggerAdapter[Logger],
    ) -> None:
        super().__init__(name="glassloom-watch", daemon=True)
        self.newest: Tick | None = None
        self.exposition = ""
        self._publish = publish
        self._known = known
        self._losses = losses
        self._root = root
        self._interval_s = interval_s
        self._log = log
        self._loop = asyncio.new_event_loop()
        self._is_ending = False
        self._wake = asyncio.Event()
        self._following: dict[str, _Following] = {}
        self._parting: set[asyncio.Task[None]] = set()
        self._dashboards = ProcessMeter()

    def run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._follow_registry())

    def ask_to_end(self) -> None:
        """Let the thread end soon; safe from any thread."""
        self._is_ending = True
        self.wake()

    def wake(self) -> None:
        """Let it look at once; safe from any thread."""
        with contextlib.suppress(RuntimeError):  # it has ended already
            self._loop.call_soon_threadsafe(self._wake.set)

    def heard_at_s(self) -> dict[str, float | None]:
        """Return when each cluster said something last; safe from any thread."""
        return {name: following.fold.heard_at_s for name, following in list(self._following.items())}

    async def _follow_registry(self) -> None:
        next_tick_s = self._loop.time()
        try:
            while not self._is_ending:
                self._wake.clear()
                is_new = self._update_following(read_records())
                if is_new:
                    await asyncio.sleep(_SETTLE_S)  # let the snapshot come in first
                now_s = time.time()
                if self._loop.time() >= next_tick_s:
                    next_tick_s = max(next_tick_s, self._loop.time() - self._interval_s) + self._interval_s
                    for following in self._following.values():
                        following.fold.tick(now_s)
                self._tell(now_s)
                await self._sleep(next_tick_s - self._loop.time())
        finally:
            for following in self._following.values():
                following.end()

    def _update_following(self, records: list[ClusterRecord]) -> bool:
        """Follow what is new, forget what is gone, follow again what broke off; tell whether anything was new."""
        current = {record.id: record for record in records}
        for cluster_id in self._following.keys() - current.keys():
            parting = asyncio.ensure_future(self._part_from(self._following[cluster_id]))
            self._parting.add(parting)
            parting.add_done_callback(self._parting.discard)
        new = current.keys() - self._following.keys()
        # Rebuilt in the registry's order, which is the order on screen, and replaced as a whole: others look at it.
        self._following = {record.id: self._follow(record) for record in records}
        return bool(new)

    def _follow(self, record: ClusterRecord) -> _Following:
        before = self._following.get(record.id)
        if before is None:
            return _Following(ClusterFold(record, root=self._root), OpenLog(record), self._lost, self._log)
        before.open_log.open()
        before.fold.record = record  # it may have been renamed
        return _Following(before.fold, before.open_log, self._lost, self._log) if before.task.done() else before

    async def _part_from(self, following: _Following) -> None:
        """Read what a cluster said last, which tells whether it was lost: its record may go first."""
        try:
            await asyncio.wait([following.task], timeout=_PART_S)
            if not is_alive(
                following.fold.record
            ):  # then the stream ends by itself, however late a busy server reads it
                await asyncio.wait([following.task], timeout=_PART_FROM_DEAD_S)
        finally:
            following.end()

    def _lost(self, record: ClusterRecord, lines: list[str]) -> None:
        if was_kill_noted(lines):
            return
        start = self._known().starts.start_of(record.id)
        self._losses.add(record, at_s=time.time(), start=start, lines=lines)
        self._wake.set()

    def _tell(self, now_s: float) -> None:
        before = self.newest.state if self.newest is not None else None
        state = self._state(now_s)
        told = changes(before, state) if before is not None else {}
        folds = [following.fold for following in self._following.values()]
        silent = {fold.record.id for fold in folds if fold.heard_at_s is None or fold.is_silent(now_s)}
        self.exposition = exposition_text([(fold.record, fold.summary) for fold in folds], silent)
        if before is not None and not told:
            self.newest = Tick(before, before, b"")  # the same state: who has it needn't compare
        else:
            self.newest = Tick(state, before, msgspec.json.encode(told) if told else b"")
        self._publish(self.newest)

    def _state(self, now_s: float) -> State:
        starts, exports, paths, dashboards_pid = self._known()
        return State(
            clusters={
                name: following.fold.state(now_s, start=starts.start_of(name), notebooks=paths)
                for name, following in self._following.items()
            },
            recordings=[_recording(record, self._root) for record in read_recording_records()],
            elsewhere=[_elsewhere(record) for record in read_foreign_records()],
            starts=list(starts.open),
            exports=list(exports),
            dashboards=self._dashboards.look(dashboards_pid),
            lost=self._losses.told(),
        )

    async def _sleep(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with time_limit(max(seconds, 0.0)):
                await self._wake.wait()


class _Following:
    """One cluster's stream being folded. If the stream breaks off, the last numbers stay.

    The summary's ``problem`` is why it could not be read when it was tried last; it holds until the cluster says something.
    """

    def __init__(
        self,
        fold: ClusterFold,
        open_log: OpenLog,
        lost: Callable[[ClusterRecord, list[str]], None],
        log: Logger | LoggerAdapter[Logger],
    ) -> None:
        self.fold = fold
        self.open_log = open_log
        self._lost = lost
        self._log = log
        self.task = asyncio.ensure_future(self._follow())

    async def _follow(self) -> None:
        fold = self.fold
        try:
            messages = subscribe(fold.record, _TOPICS, since=NOW, heard=self._heard, told_time=self._told_time)
            async for message in messages:
                fold.apply(message)
            # A pool of threads ends with its process, whichever way.
            if fold.record.kind == "processes" and not fold.is_closing and await has_ended(fold.record):
                self._lost(fold.record, self.open_log.last_lines())
        except ConnectionRefused as error:  # of another version, or the record is of another cluster
            fold.summary.problem = str(error)
            self._log.debug("Glassloom cluster %s refuses to be followed: %s", fold.record.id, error)
        except (MetricsError, OSError, msgspec.DecodeError) as error:
            # Just starting or just ending; the registry says which with the next look.
            self._log.debug("Glassloom cluster %s cannot be followed: %s", fold.record.id, error)

    def end(self) -> None:
        """Follow no longer."""
        self.task.cancel()
        self.open_log.close()

    def _heard(self) -> None:
        self.fold.heard_at_s = time.time()

    def _told_time(self, at_s: float) -> None:
        self.fold.clock.note(at_s, time.time())


def _recording(record: RecordingRecord, root: str) -> RecordingState:
    path = path_for_people(record.path, root)
    told = None if path is None or os.path.isabs(path) else path
    return RecordingState(record.id, record.name, record.pid, record.started_at_s, record.opened_at_s, told)


def _elsewhere(record: ClusterRecord) -> ElsewhereState:
    return ElsewhereState(record.id, record.name, record.host.name, record.started_at_s)
