"""The clusters that this process watches: one aggregate and one subscriber each, however many viewers.

Watching begins with a cluster's first viewer and goes on after its last, so that a page opened again is there at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from glassloom_metrics.errors import ClusterNotFound, ConnectionRefused, RecordingError
from glassloom_metrics.open_recordings import RecordingRecord, find_recording
from glassloom_metrics.protocol import (
    Hello,
    Message,
    Running,
    TaskEvents,
    WorkerLeft,
    decode_known,
)
from glassloom_metrics.recording import Recording
from glassloom_metrics.registry import ClusterRecord, find_record, read_records
from glassloom_metrics.subscriber import subscribe_frames

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.deferred import ROWS_AT_ONCE
from glassloom_dashboards.folds.since_begin import SinceBegin
from glassloom_dashboards.parts.colours import ColourBook
from glassloom_dashboards.serving.turns import Turns

MAX_ENDED = 8
"""How many ended clusters are kept, so that a long-lived process doesn't hold every cluster that ever was."""

_FIRST_RETRY_S = 0.25
_LONGEST_RETRY_S = 5.0
_FOLD_SLICE_S = 0.02
"""How long a backlog may be folded before viewers get their turn."""

_ROWS_AT_ONCE = ROWS_AT_ONCE
"""So many task events of a backlog are folded together: small messages cost several times as much one by one."""
_LONGEST_UNSETTLED_S = 0.25
"""For so long what a backlog brings waits for more of it."""
_DEPENDENT = (Hello, WorkerLeft)
"""What is folded only after the task events before it. All else says nothing of them; of `Running` see `ClusterAggregate.add_events`."""
_LOGGED_MESSAGES = 10
"""How many unreadable messages of a cluster the log has words for; the page counts them all."""

log = logging.getLogger(__name__)


class Frames(Protocol):
    """What reads a cluster's frames: `subscribe_frames`."""

    def __call__(self, record: ClusterRecord, *, since: int, log_id: str) -> AsyncGenerator[bytes]:
        """Yield frames from number `since` of the log `log_id` on."""


class Watched:
    """A cluster or a recording, what it has told so far, and the colours of its layers."""

    def __init__(self, record: ClusterRecord | RecordingRecord) -> None:
        self.record = record
        self.aggregate = ClusterAggregate()
        self.aggregate.name = record.name
        self.aggregate.cluster_id = record.id
        self.aggregate.started_at_s = record.started_at_s
        self.colours = ColourBook()
        self.unknown_messages = 0
        self.viewers = 0
        self._events: list[TaskEvents] = []
        self._next_event = 0
        self._running: tuple[Running, int] | None = None
        self._heard = asyncio.Event()
        self._since_begin = SinceBegin() if isinstance(record, RecordingRecord) else None

    @property
    def is_heard(self) -> bool:
        """Whether anything of the cluster is known, or nothing will be."""
        return self._heard.is_set()

    async def was_heard(self, timeout_s: float) -> None:
        """Wait until `is_heard`, at most so long."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._heard.wait(), timeout_s)

    def note_heard(self) -> None:
        """Note that what has come was folded, or that no more comes."""
        self._heard.set()

    def fold(self, payload: bytes) -> None:
        """Add one frame to the aggregate. One of a later protocol's types is left out; one that can't be read is counted too."""
        self.take(payload)
        self.settle()

    def take(self, payload: bytes) -> None:
        """Do what `fold` does, but leave task events for later, so that many small messages are folded as one: see `settle`."""
        try:
            message = decode_known(payload)
        except (
            Exception
        ) as error:  # of another process, perhaps another version: whatever is in it must not end the page
            self._leave_out(error)
            return
        if message is None:
            self.unknown_messages += 1
        else:
            for one in self._rewritten(message):
                self._take(one)

    def _take(self, message: Message) -> None:
        if isinstance(message, TaskEvents):
            self._take_events(message)
        elif isinstance(message, Running) and self._events:
            self._running = message, self._next_event
        else:
            if isinstance(message, _DEPENDENT):
                self.settle()
            self._apply(message)

    def _rewritten(self, message: Message) -> list[Message]:
        """Return what to take into account for a message: of a recording that began late, what happened since then."""
        if self._since_begin is None:
            return [message]
        try:
            rewritten = self._since_begin.rewritten(message)
        except Exception as error:  # as above
            self._leave_out(error)
            return []
        self.aggregate.recorded_since_s = self._since_begin.at_s
        return rewritten

    def _take_events(self, message: TaskEvents) -> None:
        if message.first != self._next_event:
            self.settle()
        self._events.append(message)
        self._next_event = message.first + len(message)
        if self._next_event - self._events[0].first >= _ROWS_AT_ONCE:
            self.settle()

    @property
    def is_unsettled(self) -> bool:
        """Whether task events are left for `settle`."""
        return bool(self._events)

    def settle(self) -> None:
        """Fold the task events that `take` has left. Before, nobody asks where to go on reading."""
        events, self._events = self._events, []
        running, self._running = self._running, None
        known = self.aggregate.tasks.next_row
        try:
            if events:
                self.aggregate.add_events(events, running)
        except Exception as error:  # as above; the others of them can be read
            if self.aggregate.tasks.next_row > known:  # taken again, rows that are there are passed over without a word
                self._leave_out(error)
            for message in events:
                self._apply(message)
            if running is not None:
                self._apply(running[0])

    def _apply(self, message: Message) -> None:
        try:
            self.aggregate.apply(message)
        except Exception as error:  # as above
            self._leave_out(error)

    def _leave_out(self, error: Exception) -> None:
        self.aggregate.skip_message()
        if self.aggregate.unreadable_messages <= _LOGGED_MESSAGES:
            log.warning("a message of cluster %r is left out, for it cannot be read: %r", self.record.name, error)


class Hub:
    """Finds clusters and recordings in the registry and watches those that somebody looks at. Lives in one event loop.

    Parameters
    ----------
    recordings
        Recordings that are shown besides, without being in the registry.

    Attributes
    ----------
    turns
        Told of pages that are being made: reading logs waits for them.
    """

    def __init__(self, frames: Frames = subscribe_frames, recordings: Sequence[RecordingRecord] = ()) -> None:
        self._frames = frames
        self.turns = Turns()
        self.recordings = {record.id: record for record in recordings}
        self._watched: dict[str, Watched] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._catching_up: dict[Watched, asyncio.Task[None]] = {}

    def watch(self, cluster_id: str) -> Watched:
        """Return a cluster, or recording, by id, which is watched from now on.

        Raises
        ------
        ClusterNotFound
            If it isn't running, or there, and was never watched.
        """
        known = self._watched.get(cluster_id)
        if known is not None:
            return known
        record = self._find(cluster_id)
        if record.id != cluster_id:
            return self.watch(record.id)
        self._forget_ended()
        watched = self._watched[record.id] = Watched(record)
        self._tasks[record.id] = asyncio.get_running_loop().create_task(self._supervise(watched))
        return watched

    def _find(self, name_or_id: str) -> ClusterRecord | RecordingRecord:
        if name_or_id in self.recordings:
            return self.recordings[name_or_id]
        try:
            return find_record(name_or_id)
        except ClusterNotFound:
            with contextlib.suppress(ClusterNotFound):
                return find_recording(name_or_id)
            raise

    def shown(self) -> list[ClusterRecord | RecordingRecord]:
        """Return the records of all running clusters, and of the recordings that this hub was given."""
        return [*read_records(), *self.recordings.values()]

    async def close(self) -> None:
        """Stop watching."""
        tasks = [*self._tasks.values(), *self._catching_up.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget_ended(self) -> None:
        """Forget the oldest clusters that have ended, and recordings that were closed; those that somebody looks at stay."""
        ended = [key for key, task in self._tasks.items() if task.done() and not self._watched[key].viewers]
        closed = [key for key in ended if self._is_closed(self._watched[key].record)]
        kept = [key for key in ended if key not in closed]
        for key in (*closed, *kept[: max(len(kept) - MAX_ENDED + 1, 0)]):
            if catching_up := self._catching_up.get(self._watched[key]):
                catching_up.cancel()
            del self._watched[key], self._tasks[key]

    def _is_closed(self, record: ClusterRecord | RecordingRecord) -> bool:
        """Tell whether this is a recording that the server, which counts the pages of all browsers, shows no more."""
        if not isinstance(record, RecordingRecord) or record.id in self.recordings:
            return False
        try:
            find_recording(record.id)
        except ClusterNotFound:
            return True
        return False

    async def _supervise(self, watched: Watched) -> None:
        record = watched.record
        try:
            if isinstance(record, RecordingRecord):
                await self._replay(watched, record)
            else:
                await self._follow(watched, record)
        except Exception as error:  # a fault of ours: said on the page, or it would be called live for ever
            log.exception("cluster %r is no longer followed", record.name)
            watched.aggregate.refuse(f"the dashboards failed to follow this cluster: {error!r}")
        finally:
            watched.note_heard()

    async def _follow(self, watched: Watched, record: ClusterRecord) -> None:
        """Read the cluster's log until it has ended; each time the connection is lost, go on where it was."""
        retry_s = _FIRST_RETRY_S
        while True:
            try:
                await self._read(watched, record)
                retry_s = _FIRST_RETRY_S
            except ConnectionRefused as error:
                log.warning("%s", error)
                watched.aggregate.refuse(str(error))
                return
            except OSError as error:
                log.info("cluster %r cannot be reached: %s", record.name, error)
            if watched.aggregate.state == "ended":
                return
            if not is_running(record):
                watched.aggregate.end("its process has ended")
                return
            watched.aggregate.set_state("reconnecting")
            watched.note_heard()
            await asyncio.sleep(retry_s)
            retry_s = min(2 * retry_s, _LONGEST_RETRY_S)

    async def _read(self, watched: Watched, record: ClusterRecord) -> None:
        aggregate = watched.aggregate
        frames = self._frames(record, since=aggregate.next_frame, log_id=aggregate.log_id)
        aggregate.is_loading = True
        if aggregate.heard_at_s is None:
            aggregate.hear(time.monotonic())
        slice_ends_s = time.monotonic() + _FOLD_SLICE_S
        loop, is_settling = asyncio.get_running_loop(), False

        def settle() -> None:
            nonlocal is_settling
            is_settling = False
            watched.settle()
            if aggregate.workers or not aggregate.is_loading:  # the first piece of what comes may be a greeting alone
                watched.note_heard()
            if not aggregate.is_loading:
                self._catch_up_later(watched)

        async with contextlib.aclosing(frames):
            try:
                async for payload in frames:
                    aggregate.hear(time.monotonic())
                    was_loading = aggregate.is_loading
                    watched.take(payload)
                    # What comes without our waiting for it is folded together, of a backlog what comes within some time.
                    if was_loading and not aggregate.is_loading:
                        settle()
                    elif not is_settling and (watched.is_unsettled or not watched.is_heard):
                        is_settling = True
                        if was_loading and watched.is_heard:
                            loop.call_later(_LONGEST_UNSETTLED_S, settle)
                        else:
                            loop.call_soon(settle)
                    if time.monotonic() > slice_ends_s:
                        await self.turns.give_way()
                        slice_ends_s = time.monotonic() + _FOLD_SLICE_S
            finally:
                watched.settle()
                aggregate.is_loading = False

    def _catch_up_later(self, watched: Watched) -> None:
        """Make what no page has asked for yet of the rows that have come, beside all else, if they are many."""
        if watched.aggregate.tasks.n_behind >= ROWS_AT_ONCE and watched not in self._catching_up:
            task = asyncio.get_running_loop().create_task(self._catch_up(watched))
            self._catching_up[watched] = task
            task.add_done_callback(lambda _: self._catching_up.pop(watched, None))

    async def _catch_up(self, watched: Watched) -> None:
        try:
            while watched.aggregate.tasks.n_behind >= ROWS_AT_ONCE:
                await asyncio.sleep(_FOLD_SLICE_S)
                await self.turns.give_way()
                watched.aggregate.tasks.catch_up()
        except Exception:  # a fault of ours, which must not pass unseen
            log.exception("not all that the tasks of cluster %r did could be summed up", watched.record.name)

    async def _replay(self, watched: Watched, record: RecordingRecord) -> None:
        """Read a recording as far as it goes, in slices."""
        aggregate = watched.aggregate
        aggregate.is_loading = True
        slice_ends_s = time.monotonic() + _FOLD_SLICE_S
        settled_s = float("-inf")
        try:
            recording = Recording(record.path)
            for _, payload in recording.frames():
                watched.take(payload)
                if time.monotonic() > slice_ends_s:
                    if time.monotonic() > settled_s + _LONGEST_UNSETTLED_S:
                        watched.settle()
                        settled_s = time.monotonic()
                    aggregate.set_state("loading")
                    watched.note_heard()
                    await self.turns.give_way()
                    slice_ends_s = time.monotonic() + _FOLD_SLICE_S
            watched.settle()
            self._catch_up_later(watched)
        except (RecordingError, OSError) as error:
            aggregate.refuse(str(error))
        else:
            aggregate.set_recorded(recording.damage)
        finally:
            aggregate.is_loading = False


def is_running(record: ClusterRecord) -> bool:
    """Tell whether the registry still has this very cluster."""
    try:
        return find_record(record.id).id == record.id
    except ClusterNotFound:
        return False
