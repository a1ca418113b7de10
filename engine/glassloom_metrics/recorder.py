"""Keeps everything that a cluster told about itself, from its first moment. It sends nothing and has no clock.

The log is a list of encoded frames. Past `memory_bytes` the oldest go to a spool file, which is a recording in the
making (see `recording.py`): readers get them from there. If that file can't be written, the frames stay in memory up
to twice the bound; beyond it the oldest are dropped. A recorder never raises because of its disk, or of a text that is
not valid Unicode.

>>> recorder = Recorder(Hello(1, "c1", "demo", "threads", 0.0))
>>> recorder.add_layer(0, "sum", 1, "cell 3, line 1")
>>> recorder.add_task(0, "3", worker=0, lane=1, start_s=1.0, stop_s=1.5, nbytes=8)
>>> recorder.flush(now_s=2.0)
>>> [topic for topic, _ in recorder.read(0, limit=10)]
['hello', 'layers', 'tasks']
"""

from __future__ import annotations

import contextlib
import os
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from glassloom_metrics.framing import HEADER_BYTES, frame
from glassloom_metrics.protocol import (
    COLUMN_TYPECODES,
    Action,
    Hello,
    Layers,
    Message,
    Progress,
    TaskEvents,
    encode,
    topic_of,
)
from glassloom_metrics.recording import MAGIC

DEFAULT_MEMORY_BYTES = 64 * 2**20
DROPPED = "dropped"
"""The topic of a frame that neither memory nor the disk had room for. Its payload is empty and is not sent."""
_RETRY_BYTES = 2**20
"""How much the log grows before a spool file that couldn't be written is tried again."""
_MAX_INT = 2**63 - 1
STATES = ("waiting", "ready", "running", "memory", "released", "erred")


def _empty_columns() -> dict[str, array[Any]]:
    return {name: array(code) for name, code in COLUMN_TYPECODES.items()}


class Recorder:
    """The log of one cluster.

    Parameters
    ----------
    hello
        The message that opens the log.
    memory_bytes
        How many bytes of frames to hold before the oldest go to the spool file.
    spool_path
        Where that file is made; without one, the log stays in memory whatever its size.
    """

    def __init__(
        self, hello: Hello, *, memory_bytes: int = DEFAULT_MEMORY_BYTES, spool_path: Path | None = None
    ) -> None:
        self._memory_bytes = memory_bytes
        self._spool_path = spool_path
        self._hello = (topic_of(hello), encode(hello))
        self._closed = False
        self._spool: int | None = None  # a descriptor
        self._spool_bytes = 0
        self._spool_from_bytes = memory_bytes
        self._spooled: list[tuple[str, int, int]] = []  # topic, offset of the payload, its length
        self._frames: list[tuple[str, bytes]] = []
        self._frames_bytes = 0
        self._rows = 0
        self._index: list[str] = []
        self._columns = _empty_columns()
        self._new_layers: dict[int, tuple[str, int, str]] = {}
        self._changed: dict[int, Sequence[int]] = {}
        self.record(hello)

    def __len__(self) -> int:
        """Return the number of frames logged so far."""
        return len(self._spooled) + len(self._frames)

    @property
    def rows(self) -> int:
        """The number of task events recorded so far."""
        return self._rows + len(self._index)

    @property
    def memory_bytes(self) -> int:
        """The size of the frames held in memory."""
        return self._frames_bytes

    def record(self, message: Message) -> None:
        """Append one message to the log."""
        try:
            payload = encode(message)
        except UnicodeEncodeError:  # half of a surrogate pair: what Python makes of undecodable file names
            payload = encode(_with_valid_text(message))
        self._append(topic_of(message), payload)

    def add_layer(self, layer: int, name: str, total: int, origin: str) -> None:
        """Announce a layer, or a new total of a known one, with the next flush."""
        self._new_layers[layer] = (name, total, origin)

    def set_progress(self, layer: int, counts: Sequence[int]) -> None:
        """Set the layer's number of tasks in each state (order: `STATES`) for the next flush."""
        self._changed[layer] = counts

    def add_task(
        self,
        layer: int,
        index: str,
        *,
        worker: int,
        lane: int,
        start_s: float,
        stop_s: float,
        nbytes: int = -1,
        ok: bool = True,
        action: Action = Action.COMPUTE,
    ) -> None:
        """Append one task event to the columns of the next flush."""
        columns = self._columns
        columns["layer"].append(layer)
        self._index.append(index)
        columns["worker"].append(worker)
        columns["lane"].append(lane)
        columns["action"].append(action)
        columns["start_s"].append(start_s)
        columns["stop_s"].append(stop_s)
        columns["nbytes"].append(min(nbytes, _MAX_INT))
        columns["ok"].append(ok)

    def add_tasks(
        self,
        layers: Sequence[int],
        index: Sequence[str],
        *,
        worker: int,
        lanes: Sequence[int],
        starts_s: Sequence[float],
        stops_s: Sequence[float],
        nbytes: Sequence[int],
    ) -> None:
        """Append computations that succeeded, one element of each sequence a row: the quick way for many."""
        columns, count = self._columns, len(index)
        columns["layer"].extend(layers)
        self._index.extend(index)
        columns["worker"].extend([worker] * count)
        columns["lane"].extend(lanes)
        columns["action"].frombytes(bytes([Action.COMPUTE]) * count)
        columns["start_s"].extend(starts_s)
        columns["stop_s"].extend(stops_s)
        columns["nbytes"].extend(
            [min(size, _MAX_INT) for size in nbytes] if max(nbytes, default=0) > _MAX_INT else nbytes
        )
        columns["ok"].frombytes(b"\x01" * count)

    def flush(self, now_s: float) -> None:
        """Seal what was added since the last flush into frames."""
        if self._new_layers:
            names, totals, origins = zip(*self._new_layers.values(), strict=True)
            self.record(Layers(list(self._new_layers), list(names), list(totals), list(origins)))
            self._new_layers = {}
        if self._index:
            first, self._rows = self._rows, self._rows + len(self._index)
            columns = {name: values.tobytes() for name, values in self._columns.items()}
            self.record(TaskEvents(first=first, index=self._index, **columns))
            self._index = []
            self._columns = _empty_columns()
        if self._changed:
            counts = dict(zip(STATES, map(list, zip(*self._changed.values(), strict=True)), strict=True))
            self.record(Progress(now_s, list(self._changed), **counts))
            self._changed = {}

    def read(self, start: int, *, limit: int) -> list[tuple[str, bytes]]:
        """Return up to `limit` (topic, payload) pairs of the log from frame number `start` on; no payload: it was dropped."""
        spooled = self._spooled
        if start >= len(spooled):
            start -= len(spooled)
            return self._frames[start : start + limit]
        if self._closed:
            raise ValueError("the recorder is closed")
        stop = min(start + limit, len(spooled))
        return [self._read_spooled(number) for number in range(start, stop)]

    def save(self, path: Path) -> None:
        """Write the whole log as a recording (see `recording.read_recording`)."""
        with open(path, "wb") as file:
            file.write(MAGIC)
            position = 0
            while frames := self.read(position, limit=256):  # fewer than the limit where the spool file ends
                file.writelines(frame(payload) for _, payload in frames if payload)
                position += len(frames)

    def close(self) -> None:
        """Close and remove the spool file, if there is one."""
        self._closed = True
        if self._spool is not None and self._spool_path is not None:
            with contextlib.suppress(OSError):
                os.close(self._spool)
            self._spool = None
            with contextlib.suppress(OSError):
                self._spool_path.unlink()

    def _append(self, topic: str, payload: bytes) -> None:
        self._frames.append((topic, payload))
        self._frames_bytes += len(payload)
        if self._frames_bytes > self._spool_from_bytes and self._spool_path is not None:
            self._move_oldest(self._spool_path)

    def _move_oldest(self, path: Path) -> None:
        """Move the older half of the frames to the spool file; halves, so that a full log isn't written a frame at a time."""
        if self._write_frames(path, self._count_down_to(self._memory_bytes // 2)):
            self._spool_from_bytes = self._memory_bytes
            return
        if self._frames_bytes > 2 * self._memory_bytes:
            self._forget_frames([(DROPPED, 0, 0)] * self._count_down_to(self._memory_bytes))
        self._spool_from_bytes = self._frames_bytes + min(_RETRY_BYTES, self._memory_bytes)

    def _count_down_to(self, goal_bytes: int) -> int:
        """Return how many of the oldest frames must go until the others take no more than `goal_bytes`; never all of them."""
        count, left_bytes = 0, self._frames_bytes
        while left_bytes > goal_bytes and count < len(self._frames) - 1:
            left_bytes -= len(self._frames[count][1])
            count += 1
        return count

    def _write_frames(self, path: Path, count: int) -> bool:
        """Append the `count` oldest frames to the spool file; return False if it has no room for them, or can't be opened."""
        try:
            if self._spool is None:
                self._spool = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
                self._spool_bytes = 0
            data = bytearray(b"" if self._spool_bytes else MAGIC)
            moved = []
            for topic, payload in self._frames[:count]:
                moved.append((topic, self._spool_bytes + len(data) + HEADER_BYTES, len(payload)))
                data += frame(payload)
            _write_all(self._spool, data, self._spool_bytes)
        except OSError:
            return False
        self._spool_bytes += len(data)
        self._forget_frames(moved)
        return True

    def _forget_frames(self, moved: list[tuple[str, int, int]]) -> None:
        """Take the oldest frames out of memory; `moved` says where they are now."""
        self._frames_bytes -= sum(len(payload) for _, payload in self._frames[: len(moved)])
        del self._frames[: len(moved)]
        self._spooled += moved

    def _read_spooled(self, number: int) -> tuple[str, bytes]:
        """Return a frame that has left memory; without a payload if it was dropped or can't be read."""
        topic, offset, length = self._spooled[number]
        if not number:
            return self._hello
        try:
            payload = b"" if self._spool is None else os.pread(self._spool, length, offset)
        except OSError:
            payload = b""
        return (topic, payload) if length and len(payload) == length else (DROPPED, b"")


def _write_all(descriptor: int, data: bytearray, offset: int) -> None:
    """Write it all at an offset: a full disk may take a part of it before it refuses the rest."""
    view, written = memoryview(data), 0
    while written < len(view):
        written += os.pwrite(descriptor, view[written:], offset + written)


def _with_valid_text(message: Message) -> Message:
    """Return a message in which what isn't valid Unicode is written as escapes."""
    return msgspec.convert(_valid(msgspec.to_builtins(message)), type(message))


def _valid(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_valid(item) for item in value]
    if isinstance(value, dict):
        return {_valid(name): _valid(item) for name, item in value.items()}
    return value
