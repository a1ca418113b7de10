"""Keeps everything that a cluster told about itself, from its first moment. It sends nothing and has no clock.

The log is a list of encoded frames. Past `memory_bytes` the oldest go to a spool file, which is a recording in the
making (see `recording.py`): readers get them from there, so nothing is ever lost, only slower to read.

>>> recorder = Recorder(Hello(1, "c1", "demo", "threads", 0.0))
>>> recorder.add_layer(0, "sum", 1, "cell 3, line 1")
>>> recorder.add_task(0, "3", worker=0, lane=1, start_s=1.0, stop_s=1.5, nbytes=8)
>>> recorder.flush(now_s=2.0)
>>> [topic for topic, _ in recorder.read(0, limit=10)]
['hello', 'layers', 'tasks']
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

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
        self._spool: BinaryIO | None = None
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
        self._append(topic_of(message), encode(message))

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
        columns["nbytes"].append(nbytes)
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
        columns["nbytes"].extend(nbytes)
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
        """Return up to `limit` (topic, payload) pairs of the log from frame number `start` on."""
        spooled = self._spooled
        if start >= len(spooled):
            start -= len(spooled)
            return self._frames[start : start + limit]
        if self._spool is None:
            raise ValueError("the recorder is closed")
        frames = []
        for topic, offset, length in spooled[start : start + limit]:
            self._spool.seek(offset)
            frames.append((topic, self._spool.read(length)))
        self._spool.seek(0, 2)
        return frames

    def save(self, path: Path) -> None:
        """Write the whole log as a recording (see `recording.read_recording`)."""
        with open(path, "wb") as file:
            file.write(MAGIC)
            position = 0
            while frames := self.read(position, limit=256):  # fewer than the limit where the spool file ends
                file.writelines(frame(payload) for _, payload in frames)
                position += len(frames)

    def close(self) -> None:
        """Close and remove the spool file, if there is one."""
        if self._spool is not None and self._spool_path is not None:
            self._spool.close()
            self._spool = None
            self._spool_path.unlink(missing_ok=True)

    def _append(self, topic: str, payload: bytes) -> None:
        self._frames.append((topic, payload))
        self._frames_bytes += len(payload)
        if self._frames_bytes > self._memory_bytes and self._spool_path is not None:
            self._write_oldest(self._spool_path)

    def _write_oldest(self, path: Path) -> None:
        """Move the older half of the frames to the spool file; halves, so that a full log isn't written a frame at a time."""
        if self._spool is None:
            self._spool = open(path, "w+b")  # noqa: SIM115 - closed by close()
            self._spool.write(MAGIC)
        offset = self._spool.tell()
        moved = 0
        while self._frames_bytes > self._memory_bytes // 2 and moved < len(self._frames) - 1:
            topic, payload = self._frames[moved]
            self._spool.write(frame(payload))
            self._spooled.append((topic, offset + HEADER_BYTES, len(payload)))
            offset += HEADER_BYTES + len(payload)
            self._frames_bytes -= len(payload)
            moved += 1
        del self._frames[:moved]
