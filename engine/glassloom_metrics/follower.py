"""`Follower`: keeps a `RecordingWriter` fed with a cluster's stream, also over lost connections, until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from typing import Protocol

import msgspec

from glassloom_metrics.errors import MetricsError
from glassloom_metrics.recording_writer import RecordingWriter
from glassloom_metrics.registry import ClusterRecord, is_alive
from glassloom_metrics.subscriber import subscribe_frames
from glassloom_metrics.time_limit import time_limit

SETTLE_S = 0.4
"""How long after `stop` what happened before it may take to come into the log."""
SILENCE_S = 3.0
"""How long a cluster may say nothing, when asked to stop, before it is not waited for any more."""
_FIRST_RETRY_S = 0.25
_LONGEST_RETRY_S = 5.0

log = logging.getLogger(__name__)


class Frames(Protocol):
    """What reads a cluster's frames: `subscribe_frames`."""

    def __call__(self, record: ClusterRecord, *, since: int, log_id: str) -> AsyncGenerator[bytes]:
        """Yield frames from number `since` of the log `log_id` on."""


class Follower:
    """Follows one cluster. Lives in one event loop.

    Parameters
    ----------
    record
        The cluster.
    writer
        Where its frames go; it is closed at the end.

    Attributes
    ----------
    began
        Set once what comes from now on is recorded, or nothing ever will be.
    """

    def __init__(self, record: ClusterRecord, writer: RecordingWriter, frames: Frames = subscribe_frames) -> None:
        self._record = record
        self._writer = writer
        self._frames = frames
        self._stopping = asyncio.Event()
        self._stop_at_s = float("inf")
        self._heard_at_s = 0.0
        self.began = asyncio.Event()

    def stop(self) -> None:
        """Let `run` return once it has what has happened until now."""
        if not self._stopping.is_set():
            self._stop_at_s = asyncio.get_running_loop().time() + SETTLE_S
            self._stopping.set()

    async def run(self) -> None:
        """Record until the cluster ends, nothing more can be written, or `stop` is called. Raises nothing of the cluster's."""
        following = asyncio.ensure_future(self._follow())
        watching = asyncio.ensure_future(self._give_up(following))
        try:
            await following
        except asyncio.CancelledError:
            if not watching.done():  # it is us who are cancelled
                raise
        finally:
            for task in (following, watching):
                task.cancel()
            await asyncio.gather(following, watching, return_exceptions=True)
            self._writer.close()
            self.began.set()

    async def _give_up(self, following: asyncio.Task[None]) -> None:
        """End the following if, after `stop`, the cluster is silent."""
        await self._stopping.wait()
        now_s = asyncio.get_running_loop().time
        while (left_s := max(self._heard_at_s, self._stop_at_s) + SILENCE_S - now_s()) > 0:
            await asyncio.sleep(left_s)
        self._writer.fail(
            f"cluster {self._record.name!r} hasn't answered for {SILENCE_S:.0f} s: the recording may lack its end"
        )
        following.cancel()

    async def _follow(self) -> None:
        retry_s = _FIRST_RETRY_S
        while True:
            heard_at_s = self._heard_at_s
            try:
                await self._read()
            except OSError as error:  # ConnectionRefused, a `MetricsError`, is one too
                if isinstance(error, MetricsError):
                    self._writer.fail(str(error))
                log.info("cluster %r cannot be reached: %s", self._record.name, error)
            except (MetricsError, msgspec.DecodeError) as error:
                self._writer.fail(str(error))
            if self._is_done():
                return
            if not is_alive(self._record):
                how = "ended without a word" if self._writer.log_id else "has ended"  # before it could be asked
                self._writer.fail(f"cluster {self._record.name!r} {how}: its process {self._record.pid} is gone")
                return
            retry_s = _FIRST_RETRY_S if self._heard_at_s > heard_at_s else min(2 * retry_s, _LONGEST_RETRY_S)
            with contextlib.suppress(TimeoutError):
                async with time_limit(retry_s):
                    await self._stopping.wait()
                    await asyncio.sleep(_FIRST_RETRY_S)  # one more try, and another, until `_give_up`

    async def _read(self) -> None:
        writer, now_s = self._writer, asyncio.get_running_loop().time
        frames = self._frames(self._record, since=writer.next, log_id=writer.log_id)
        async with contextlib.aclosing(frames):
            async for payload in frames:
                self._heard_at_s = now_s()
                writer.add(payload)
                if writer.is_complete:
                    self.began.set()
                if self._is_done():
                    return

    def _is_done(self) -> bool:
        writer = self._writer
        has_all = writer.is_complete and asyncio.get_running_loop().time() >= self._stop_at_s
        return bool(writer.has_ended or writer.problem or has_all)
