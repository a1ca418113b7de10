"""`Attachment`: a cluster of dask.distributed as a record of the registry, with a log that panel and dashboards read like any other.

One event loop reads the scheduler (`scheduler_reader.py`), fills the recorder (`attached_metrics.py`) and serves its readers. The record
goes when the scheduler has gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from glassloom_metrics.errors import CommandRefused
from glassloom_metrics.protocol import PROTOCOL_VERSION, Command, Hello, Life, Log, Settings
from glassloom_metrics.publisher import Publisher
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.registry import ClusterRecord, process_started_s, read_records, remove_record, write_record

from glassloom._names import checked_cluster_name, checked_name
from glassloom.distributed import metrics_batches
from glassloom.distributed.attached_metrics import UNREADABLE, AttachedMetrics
from glassloom.distributed.metrics_batches import Answer
from glassloom.distributed.scheduler_reader import SchedulerReader
from glassloom.errors import ClusterError, ClusterNotFound, OptionError
from glassloom.protocol.clock import Clock
from glassloom.protocol.identity import kernel_id, new_cluster_id, notebook, script, version
from glassloom.protocol.places import make_places

KIND = "dask"
"""`ClusterRecord.kind` of such clusters."""
REFUSED_S = 10.0
"""For how long nothing may listen at the scheduler's address before it is taken to have ended."""
SILENT_S = 600.0
"""For how long the scheduler may be out of reach."""
SAME_CLOCK_S = 1.0
"""Clocks that differ by less are taken for the same."""
_RETRY_S = 0.5

_log = logging.getLogger("glassloom")

Handler = Callable[[Mapping[str, Any]], Awaitable[str]]
"""Carries out a command, called in the attachment's event loop; returns a sentence, or raises `CommandRefused`."""


class Attachment:
    """One cluster of dask.distributed in the registry. It does nothing until `run`.

    Parameters
    ----------
    reader
        Of its scheduler.
    name
        What it is called; default its address.
    started_by
        As in `ClusterRecord`.
    commands
        What its readers may ask for, but ``"rename"``.
    is_held
        Asked each second: it ends when that is no longer so.
    on_ready
        Called with the record once that can be found.
    """

    def __init__(
        self,
        reader: SchedulerReader,
        *,
        name: str | None = None,
        started_by: str = "script",
        commands: Mapping[str, Handler] | None = None,
        is_held: Callable[[Path], bool] | None = None,
        on_ready: Callable[[ClusterRecord], None] | None = None,
    ) -> None:
        self._reader = reader
        self._clock = Clock()
        self._name = checked_cluster_name(name) if name else checked_name("name", reader.address)
        self._started_by = started_by
        self._commands: dict[str, Handler] = {"rename": self._rename, **(commands or {})}
        self._is_held = is_held
        self._on_ready = on_ready
        self._ending, self._ready = asyncio.Event(), asyncio.Event()
        self._reason = ""
        self._adaptive: tuple[int | None, int | None] = (None, None)
        self._lost_s: float | None = None
        self._log_id = ""
        self._scheduler = ""
        self.record: ClusterRecord

    def end(self, reason: str) -> None:
        """End it soon. Called in its event loop."""
        self._reason = self._reason or reason
        self._ending.set()

    async def run(self) -> str:
        """Follow the cluster until it has gone, or `end`; return the reason.

        Raises
        ------
        ClusterNotFound, ClusterError, OptionError
            If it can't be followed at all: see `SchedulerReader.open`.
        ClusterStartError, OSError
            If there is no place for the record.
        """
        if not self._reader.scheduler:
            await self._reader.open()
        self._scheduler = self._reader.scheduler
        places = make_places(new_cluster_id())
        try:
            self._make(places.cluster_id, Path(places.directory), places.socket)
            await self._publisher.serve(places.socket)
            await self._follow()
        finally:
            remove_record(places.cluster_id)
            places.remove()
            await self._reader.close()
        return self._reason

    def _make(self, cluster_id: str, directory: Path, socket: str) -> None:
        started_s, secret, pid = self._clock.now_s(), secrets.token_hex(16), os.getpid()
        self._directory = directory
        self.record = ClusterRecord(
            id=cluster_id,
            name=self._name,
            kind=KIND,
            pid=pid,
            pid_started_s=process_started_s(pid),
            socket=socket,
            secret=secret,
            started_at_s=started_s,
            directory=str(directory),
            shm_prefix="",
            started_by=self._started_by,
            kernel_id=kernel_id(),
            version=version(),
            notebook=notebook(),
            script=script(),
            address=self._reader.address,
            scheduler=self._scheduler,
        )
        hello = Hello(PROTOCOL_VERSION, cluster_id, self._name, KIND, started_s, engine=version())
        self._recorder = Recorder(hello, directory=directory)
        self._metrics = AttachedMetrics(self._recorder)
        self._publisher = Publisher(self._recorder, secret, self._obey, self._clock.now_s)
        self._recorder.record(Life(started_s, "started"))
        self._settings()

    def _settings(self) -> None:
        self._recorder.record(
            Settings(self._clock.now_s(), self._name, list(self._commands), *self._adaptive, None, None)
        )

    def note_adaptive(self, minimum: int | None, maximum: int | None) -> None:
        """The number of workers follows the work between these, or doesn't. Called in its event loop."""
        self._adaptive = (minimum, maximum)
        self._settings()

    # Following

    async def _follow(self) -> None:
        following = asyncio.ensure_future(self._read_always())
        watching = asyncio.ensure_future(self._watch())
        ending = asyncio.ensure_future(self._ending.wait())
        try:
            await asyncio.wait([following, watching, ending], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (following, watching, ending):
                task.cancel()
            results = await asyncio.gather(following, watching, ending, return_exceptions=True)
            problem = next((each for each in results if isinstance(each, Exception)), None)
            self._say("error" if problem else "info", f"no longer attached: {problem or self._reason}")
            self._metrics.all_left(self._clock.now_s(), self._reason or "no longer attached")
            self._recorder.flush(self._clock.now_s())
            self._recorder.record(Life(self._clock.now_s(), "closing"))
            await self._publisher.close()
        if problem is not None:
            raise problem

    async def _watch(self) -> None:
        """End when nothing holds the attachment any more, which begins when it can be found."""
        await self._ready.wait()
        while self._is_held is None or await asyncio.to_thread(self._is_held, self._directory):
            await asyncio.sleep(1.0)
        self.end("no client uses it any more")

    async def _read_always(self) -> None:
        while not self._ending.is_set():
            try:
                answer = await self._reader.read()
            except (OSError, TimeoutError) as error:
                await self._reconnect(error)
                continue
            self._take(answer)
            if self._lost_s is not None:
                self._say("info", f"the scheduler answers again, after {self._clock.now_s() - self._lost_s:.0f} s")
                self._lost_s = None
            self._recorder.flush(self._clock.now_s())
            self._metrics.n_subscribers = self._publisher.n_subscribers
            self._publisher.notify()
            if not self._ready.is_set():
                write_record(self.record)
            if self._on_ready is not None:
                self._on_ready(self.record)
                self._on_ready = None
            self._ready.set()
            if answer.closing:
                self.end("its scheduler has ended")

    async def _reconnect(self, error: BaseException) -> None:
        """Try once to reach the scheduler again; end if it has been away for too long."""
        now_s = self._clock.now_s()
        if self._lost_s is None:
            self._lost_s = now_s
            self._say("warning", f"the connection to the scheduler at {self._reader.address} was lost: {_text(error)}")
        is_refused = False
        try:
            await self._reader.open()
        except ClusterNotFound as problem:
            is_refused = _is_refused(problem)
        except (ClusterError, OptionError) as problem:
            self._say("warning", str(problem))
        else:
            if self._reader.scheduler != self._scheduler:
                self._scheduler = self._reader.scheduler
                self._metrics.all_left(now_s, "its scheduler has ended, and another one has its address")
            return
        if now_s - self._lost_s > (REFUSED_S if is_refused else SILENT_S):
            self.end(f"its scheduler has ended: nothing answers at {self._reader.address}")
        await asyncio.sleep(_RETRY_S)

    def _take(self, answer: Answer) -> None:
        """Write an answer down."""
        if answer.log == self._log_id and answer.snapshot is not None:
            self._say("warning", "some of what has happened on the cluster is lost: it wasn't read in time")
        if answer.log != self._log_id:
            self._log_id = answer.log
            offset_s = self._clock.now_s() - answer.now
            self._metrics.begin(0.0 if abs(offset_s) < SAME_CLOCK_S else offset_s)
        try:
            if answer.snapshot is not None:
                self._metrics.snapshot(metrics_batches.unpacked(answer.snapshot))
        except UNREADABLE as error:
            self._say("error", f"what the scheduler told of itself can't be read: {_text(error)}")
        for packed in answer.batches:
            try:
                self._metrics.apply(metrics_batches.unpacked(packed))
            except UNREADABLE as error:
                self._say("error", f"metrics of the scheduler's can't be read: {_text(error)}")

    def _say(self, level: str, text: str) -> None:
        self._recorder.record(Log(self._clock.now_s(), -1, level, text))
        self._publisher.notify()

    # Commands

    async def _obey(self, command: Command) -> str:
        handler = self._commands.get(command.name)
        if handler is None:
            raise CommandRefused(
                f"cluster {self._name!r} is one of dask.distributed that Glassloom watches; it can't be asked for "
                f"{command.name!r} from here"
            )
        return await handler(command.arguments)

    async def _rename(self, arguments: Mapping[str, Any]) -> str:
        try:
            name = checked_cluster_name(arguments.get("name"))
        except OptionError as error:
            raise CommandRefused(str(error)) from error
        if any(other.name == name and other.id != self.record.id for other in read_records()):
            raise CommandRefused(f"another cluster is called {name!r} already")
        before, self._name = self._name, name
        self.record = msgspec.structs.replace(self.record, name=name)
        with contextlib.suppress(OSError):
            write_record(self.record)
        self._recorder.rename(name)
        self._settings()
        self._publisher.notify()
        return f"The cluster {before!r} is called {name!r} now."


def _text(error: BaseException) -> str:
    return str(error) or ("it doesn't answer" if isinstance(error, TimeoutError) else type(error).__name__)


def _is_refused(error: BaseException | None) -> bool:
    """Tell whether nothing listens at an address any more: the causes say so, at some depth."""
    texts: Sequence[str] = ()
    while error is not None:
        if isinstance(error, ConnectionRefusedError):
            return True
        texts = (*texts, str(error))
        error = error.__cause__ or error.__context__
    return any("refused" in text or "no endpoint" in text for text in texts)
