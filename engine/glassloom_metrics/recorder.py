"""Keeps what a cluster told about itself, from its first moment, up to a bound. It sends nothing and has no clock.

Rows are collected in columns and sealed into frames, which a `FrameLog` keeps; a `Snapshot` says how things stand for
readers whose frames are gone. A recorder never raises because of its disk, or of a text that is not valid Unicode.

>>> from glassloom_metrics.protocol import decode
>>> recorder = Recorder(Hello(2, "c1", "demo", "threads", 0.0))
>>> recorder.add_layer(0, "sum", 1, "cell 3, line 1")
>>> recorder.add_task("3", layer=0, worker=0, lane=1, start_s=1.0, stop_s=1.5, nbytes=8)
>>> recorder.flush(now_s=2.0)
>>> [topic_of(message) for message in map(decode, recorder.read(0, limit=10)[0])]
['hello', 'layers', 'tasks']
"""

from __future__ import annotations

import math
import secrets
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from glassloom_metrics.error_groups import ErrorGroups
from glassloom_metrics.frame_log import DEFAULT_DISK_BYTES, DEFAULT_MEMORY_BYTES, FrameLog
from glassloom_metrics.protocol import (
    COLUMN_TYPECODES,
    UNKNOWN,
    Action,
    Dropped,
    Hello,
    Layers,
    Log,
    Message,
    Progress,
    Runs,
    TaskEvents,
    encode,
    topic_of,
)
from glassloom_metrics.row_column import RowColumn
from glassloom_metrics.run_row import RunRow
from glassloom_metrics.snapshot import Snapshot

_DEFAULTS: dict[str, float] = dict.fromkeys(COLUMN_TYPECODES, 0) | {"action": Action.COMPUTE, "ok": 1} | UNKNOWN
N_LINES = 200
"""How many lines of the log are kept for readers that come now."""
STATES = ("waiting", "ready", "running", "memory", "released", "erred")


class Recorder:
    """The log of one cluster.

    Parameters
    ----------
    hello
        The message that opens the log; it is given a ``log_id``.
    memory_bytes
        How many bytes of frames to hold before the oldest go to files.
    disk_bytes
        How many bytes of files to keep before the oldest are deleted.
    directory
        Where these files are made; without one, the log stays in memory whatever its size.
    """

    def __init__(
        self,
        hello: Hello,
        *,
        memory_bytes: int = DEFAULT_MEMORY_BYTES,
        disk_bytes: int = DEFAULT_DISK_BYTES,
        directory: Path | None = None,
    ) -> None:
        self.hello = msgspec.structs.replace(hello, log_id=hello.log_id or secrets.token_hex(8))
        self._snapshot = Snapshot()
        self._lines: deque[Log] = deque(maxlen=N_LINES)
        self._log = FrameLog(
            (topic_of(hello), encode(self.hello)),
            memory_bytes=memory_bytes,
            disk_bytes=disk_bytes,
            directory=directory,
            preamble=lambda: [encode(message) for message in self._snapshot.messages()],
        )
        self._rows = 0
        self._index: list[str] = []
        self._columns = {name: RowColumn(name, code, _DEFAULTS[name]) for name, code in COLUMN_TYPECODES.items()}
        self._new_runs: dict[int, RunRow] = {}
        self._new_layers: dict[int, tuple[str, int, str, int, list[int], str, int]] = {}
        self._changed: dict[int, Sequence[int]] = {}
        self._errors = ErrorGroups()

    def __len__(self) -> int:
        """Return the number of frames logged so far."""
        return len(self._log)

    @property
    def rows(self) -> int:
        """The number of task events recorded so far."""
        return self._rows + len(self._index)

    @property
    def memory_bytes(self) -> int:
        """The size of the frames held in memory."""
        return self._log.memory_bytes

    @property
    def disk_bytes(self) -> int:
        """The size of the frames held in files."""
        return self._log.disk_bytes

    def rename(self, name: str) -> None:
        """Greet who subscribes from now on with another name of the cluster; those who did are told by `protocol.Settings`."""
        self.hello = msgspec.structs.replace(self.hello, cluster_name=name)
        self._log.replace_hello(encode(self.hello))

    def record(self, message: Message) -> None:
        """Append one message to the log."""
        try:
            payload = encode(message)
        except UnicodeEncodeError:  # half of a surrogate pair: what Python makes of undecodable file names
            message = _with_valid_text(message)
            payload = encode(message)
        self._snapshot.apply(message)
        if isinstance(message, Log):
            self._lines.append(message)
        self._log.append(topic_of(message), payload)

    def set_run(self, run: RunRow) -> None:
        """Announce a run, or how it stands now, with the next flush."""
        self._new_runs[run.id] = run

    def add_layer(
        self,
        layer: int,
        name: str,
        total: int,
        origin: str,
        run: int = -1,
        inputs: Iterable[int] = (),
        *,
        prefix: str = "",
        is_tuple: bool = False,
    ) -> None:
        """Announce a layer, or a new total of a known one, with the next flush.

        Parameters
        ----------
        prefix, is_tuple
            What its keys have before the index, and whether they are tuples (see `protocol.Layers`).
        """
        self._new_layers[layer] = (name, total, origin, run, list(inputs), prefix, int(is_tuple))

    def set_progress(self, layer: int, counts: Sequence[int], held_bytes: int = 0) -> None:
        """Set the layer's number of tasks in each state (order: `STATES`), and the size of its results, for the next flush."""
        self._changed[layer] = (*counts, held_bytes)

    def add_error(
        self,
        at_s: float,
        *,
        layer: int,
        exception: str,
        message: str,
        traceback: str,
        worker: int,
        origin: str,
        key: str,
    ) -> None:
        """Count a task's final failure, for the next flush: see `protocol.Errors`."""
        self._errors.add(
            at_s,
            layer=layer,
            exception=exception,
            message=message,
            traceback=traceback,
            worker=worker,
            origin=origin,
            key=key,
        )

    def add_task(self, index: str, *, start_s: float, stop_s: float, **columns: float) -> None:
        """Append one task event to the columns of the next flush; what isn't given of the others: see `add_tasks`."""
        self.add_tasks([index], start_s=start_s, duration_s=stop_s - start_s, **columns)

    def add_tasks(self, index: Sequence[str], **columns: Sequence[float] | float) -> None:
        """Append task events, by column: an element of each sequence a row, or one number for all.

        Columns that are left out are `UNKNOWN`, or those of a computation that succeeded. A sequence that is an array of its column's typecode costs next to nothing.

        Raises
        ------
        TypeError
            If there is no such column.
        """
        if not columns.keys() <= self._columns.keys():
            raise TypeError(f"no columns of task events: {sorted(columns.keys() - self._columns.keys())}")
        start, n_rows = len(self._index), len(index)
        for name, values in columns.items():
            self._columns[name].extend(values, start, n_rows)
        self._index.extend(index)

    def flush(self, now_s: float) -> None:
        """Seal what was added since the last flush into frames."""
        if self._new_runs:
            self.record(Runs(*map(list, zip(*self._new_runs.values(), strict=True))))
            self._new_runs = {}
        if self._new_layers:
            self.record(Layers(list(self._new_layers), *map(list, zip(*self._new_layers.values(), strict=True))))
            self._new_layers = {}
        if self._index:
            first, self._rows = self._rows, self._rows + len(self._index)
            columns: dict[str, Any] = {name: column.take(len(self._index)) for name, column in self._columns.items()}
            self.record(TaskEvents(first=first, index=self._index, **columns))
            self._index = []
        if self._changed:
            self.record(Progress(now_s, list(self._changed), *map(list, zip(*self._changed.values(), strict=True))))
            self._changed = {}
        errors = self._errors.take_changed()
        if errors is not None:
            self.record(errors)

    def read(
        self, start: int, *, limit: int, topics: Collection[str] | None = None, enough_bytes: float = math.inf
    ) -> tuple[list[bytes], int]:
        """Return up to `limit` payloads from frame number `start` on, and the number of the frame to go on with.

        Parameters
        ----------
        topics
            Which are wanted; None: all. The hello counts as one.
        enough_bytes
            The frame with which there are so many is the last.

        Raises
        ------
        ValueError
            If the recorder is closed.
        """
        return self._log.read(start, limit=limit, topics=topics, enough_bytes=enough_bytes)

    def dropped(self, start: int) -> Dropped | None:
        """Tell what is gone of the frames from number `start` on; None if nothing is."""
        first = self._log.first
        return Dropped(max(start, 1), first - 1) if max(start, 1) < first else None

    def snapshot(self) -> list[Message]:
        """Return messages that say how things stand, for a reader that doesn't know the log's beginning."""
        return self._snapshot.messages()

    def newest_lines(self) -> list[Log]:
        """Return the newest lines of the log: what tasks may have printed just before a reader came to follow them."""
        return list(self._lines)

    def close(self) -> None:
        """Delete the files."""
        self._log.close()


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
