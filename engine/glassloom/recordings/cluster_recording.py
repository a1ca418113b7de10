"""`ClusterRecording`: records a cluster to a file, in a thread of its own, until it is stopped."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import threading
import warnings
import weakref
from collections.abc import Hashable
from typing import Self

from glassloom_metrics.follower import Follower
from glassloom_metrics.protocol import NOW
from glassloom_metrics.recording_writer import RecordingWriter
from glassloom_metrics.registry import ClusterRecord

from glassloom._ownership import OwnerProcess
from glassloom._supervision import Crash, start_thread
from glassloom.errors import ClusterError
from glassloom.reprs import render
from glassloom.reprs.live_card import LiveCard
from glassloom.units import format_bytes

_BEGIN_TIMEOUT_S = 3.0
_END_TIMEOUT_S = 10.0
"""More than a follower takes to give up."""
_LOOK_S = 1.0

log = logging.getLogger("glassloom")


class ClusterRecording:
    """Records what a cluster does to a file, until `stop`, or until the cluster ends.

    Made by `Client.record` and `glassloom.record`; a context manager. What was written stays readable if this process
    is killed or the disk is full.

    Parameters
    ----------
    record
        The cluster.
    path
        Of the file, ``.glr`` by custom.
    since_start
        Whether all that the cluster's log still has is recorded, too.
    overwrite
        Whether a file that is there is replaced.
    warns
        Whether a problem is told in the log and in a warning; it is in `problem` anyhow.

    Raises
    ------
    FileExistsError, OSError
        If the file is there already, or can't be made.
    """

    def __init__(
        self,
        record: ClusterRecord,
        path: str | os.PathLike[str],
        *,
        since_start: bool = False,
        overwrite: bool = False,
        warns: bool = True,
    ) -> None:
        self._writer = RecordingWriter(path, since=1 if since_start else NOW, overwrite=overwrite)
        self.path = self._writer.path
        self._owner = OwnerProcess(f"recording {os.fspath(self.path)!r}")
        self._record = record
        self._loop = asyncio.new_event_loop()
        self._follower = Follower(record, self._writer)
        self._began = threading.Event()
        self._ended = threading.Event()  # not the thread's join: a KeyboardInterrupt breaks that in Python 3.11
        self._warns = warns
        self._card: LiveCard | None = None
        start_thread("glassloom-recording", self._run, on_crash=self._crashed)
        atexit.register(self._stop_quietly)
        if not self._began.wait(_BEGIN_TIMEOUT_S):
            log.warning("cluster %r hasn't answered yet: what it does is recorded once it does", record.name)

    @property
    def is_empty(self) -> bool:
        """Whether the cluster hasn't said a word."""
        return not self._writer.log_id

    @property
    def problem(self) -> str:
        """Why the file lacks something, as a sentence; ``""`` if all is well."""
        return self._writer.problem

    @property
    def is_running(self) -> bool:
        """Whether it is still recording."""
        return self._owner.is_current and not self._ended.is_set()

    @property
    def nbytes(self) -> int:
        """Size of the file."""
        return self._writer.nbytes

    def stop(self) -> None:
        """End the recording. What has happened until now is in the file when this returns.

        A cluster that doesn't answer is waited for a few seconds. A warning says if the file lacks something.

        Raises
        ------
        ForkedError
            In a fork of the process that made it.
        """
        self._owner.require()
        with contextlib.suppress(RuntimeError):  # the loop is closed: the cluster has ended
            self._loop.call_soon_threadsafe(self._follower.stop)
        self._ended.wait(_END_TIMEOUT_S)
        atexit.unregister(self._stop_quietly)
        if self.problem and self._warns:
            self._warns = False
            warnings.warn(self.problem, stacklevel=2)

    def discard(self) -> None:
        """Wait until it has ended, and remove the file; one that it was to replace stays."""
        self.wait()
        atexit.unregister(self._stop_quietly)
        self._writer.discard()

    def wait(self) -> None:
        """Return when the recording has ended: the cluster has, or `stop` was called elsewhere."""
        self._owner.require()
        self._ended.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.stop)

    def __repr__(self) -> str:
        state = "recording" if self.is_running else "ended"
        problem = f", {self.problem}" if self.problem else ""
        return f"<Recording of {self._record.name!r}: {os.fspath(self.path)!r}, {state}{problem}>"

    def _repr_html_(self) -> str:
        is_running = self.is_running
        return render(
            "recording.html.j2",
            title="Recording",
            name=os.fspath(self.path),
            status="recording" if is_running else "ended",
            tone="busy" if is_running else "error" if self.problem else "ok",
            shown=is_running,
            facts=[("Cluster", self._record.name), ("Size", format_bytes(self.nbytes))],
            problem=self.problem,
            link="",
            cluster="",
        )

    def _ipython_display_(self) -> None:
        if not self.is_running:
            raise NotImplementedError  # IPython shows the usual repr then
        if self._card is None:
            this = weakref.ref(self)
            self._card = LiveCard(
                lambda: _facts(this()), lambda: _bundle(this()), next_look_s=lambda: _next_look_s(this())
            )
        self._card.show()

    def _stop_quietly(self) -> None:
        if self._owner.is_current:
            self.stop()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._follow())
        self._ended.set()
        if self._card is not None:
            self._card.refresh()

    async def _follow(self) -> None:
        began = asyncio.ensure_future(self._tell_when_begun())
        try:
            await self._follower.run()
        finally:
            await began
        if self.problem and self._warns:
            log.warning("%s", self.problem)

    async def _tell_when_begun(self) -> None:
        await self._follower.began.wait()
        self._began.set()

    def _crashed(self, crash: Crash) -> None:
        self._writer.fail(f"the recording {os.fspath(self.path)!r} has ended: {crash.reason}")
        self._began.set()
        self._ended.set()
        log.warning("%s\n%s", self.problem, crash.traceback)


def start_recording(
    record: ClusterRecord, path: str | os.PathLike[str], *, since_start: bool, overwrite: bool, warns: bool = True
) -> ClusterRecording:
    """Return a recording that has begun: see `ClusterRecording`.

    Raises
    ------
    ClusterError
        If the cluster can't be recorded; there is no file then.
    """
    recording = ClusterRecording(record, path, since_start=since_start, overwrite=overwrite, warns=warns)
    if recording.is_empty and recording.problem:
        recording.discard()
        raise ClusterError(recording.problem)
    return recording


def _facts(recording: ClusterRecording | None) -> Hashable:
    return None if recording is None else (recording.is_running, recording.problem, format_bytes(recording.nbytes))


def _bundle(recording: ClusterRecording | None) -> dict[str, str] | None:
    """Return the card of a recording; None if it is gone."""
    return None if recording is None else {"text/plain": repr(recording), "text/html": recording._repr_html_()}


def _next_look_s(recording: ClusterRecording | None) -> float | None:
    """Return when to look how large the file is."""
    return _LOOK_S if recording is not None and recording.is_running else None
