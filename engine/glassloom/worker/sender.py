"""What a worker sends to the head: messages, and the results of tasks in batches."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import deque
from collections.abc import Sequence

from glassloom_metrics.protocol import Action

from glassloom._ownership import OwnerProcess
from glassloom.protocol import messages
from glassloom.protocol.clock import monotonic_s
from glassloom.protocol.finished import finished_message
from glassloom.protocol.messages import framed
from glassloom.sampling.stack_sampler import StackSampler
from glassloom.worker.device_times import DeviceTimes
from glassloom.worker.inputs import RecentResults
from glassloom.worker.lane_results import LaneResults, merged
from glassloom.worker.process_end import end_with_children
from glassloom.worker.task_output import TaskOutput

BATCH_S = 0.002
"""How long a result may wait for others to travel with."""
LAST_WORDS_S = 1.0
"""How long a worker that crashes tries to say why."""

Row = tuple[int, int, float, float, int, float, float, float, bytes | None]
"""What `messages.Finished` says of one result."""


class Sender:
    """The worker's way to the head. Thread-safe. Dead in a forked child, whose copy of the socket is closed."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._lock = threading.Lock()
        self._owner = OwnerProcess("connection of this worker to its cluster")

    def send(self, message: messages.FromWorker) -> None:
        """Send a message. The process ends if the head is gone.

        Raises
        ------
        ForkedError
            In a child of the worker's process.
        """
        self._send(framed(message))

    def send_all(self, batch: Sequence[messages.FromWorker]) -> None:
        """Send messages at once; see `send`."""
        self._send(b"".join(map(framed, batch)))

    def _send(self, data: bytes) -> None:
        self._owner.require()
        try:
            with self._lock:
                self._socket.sendall(data)
        except OSError:
            end_with_children()  # the head is gone: so are we

    def try_last_words(self, message: messages.FromWorker) -> None:
        """Send a message if that can be done soon: the process is about to end, and any thread may hold the lock."""
        if self._owner.is_current and self._lock.acquire(timeout=LAST_WORDS_S):
            with contextlib.suppress(OSError, ValueError):
                timeout = struct.pack("ll", int(LAST_WORDS_S), 0)
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeout)
                self._socket.sendall(framed(message))

    def close_in_child(self) -> None:
        """Close a forked child's copy of the socket; the parent's stays open."""
        self._socket.close()


class Outbox:
    """Results that are not sent yet, and what tasks have printed. Thread-safe.

    Results of individual tasks wait in one line; small ones of tasks in slices in the columns of each lane. The latter go
    first: what a task in a slice has read the head had before, but another task may have read one of their results.
    """

    def __init__(self, sender: Sender, output: TaskOutput, profiler: StackSampler | None = None) -> None:
        self.recent = RecentResults()
        self.device_times = DeviceTimes()
        self._sender = sender
        self._output = output
        self._profiler = profiler
        self._flush_lock = threading.Lock()
        self._rows: deque[Row] = deque()
        self._lanes: dict[int, LaneResults] = {}
        self._reads: deque[tuple[int, float, float, int]] = deque()
        self._last_flush_s = 0.0

    def __bool__(self) -> bool:
        """Tell whether there is anything to send."""
        return bool(self._rows or self._reads or self.device_times) or any(
            [lane.numbers for lane in list(self._lanes.values())]
        )

    def add(self, row: Row) -> None:
        """Take a result, to be sent with the next batch. A deque's own methods need no lock, with or without the GIL."""
        self._rows.append(row)

    def note_read(self, number: int, start_s: float, stop_s: float, nbytes: int) -> None:
        """A task has read a result from a file: to be told with the next batch."""
        self._reads.append((number, start_s, stop_s, nbytes))

    def lane(self, number: int) -> LaneResults:
        """Return the columns to which the thread of a lane appends."""
        with self._flush_lock:
            if number not in self._lanes:
                lane = self._lanes[number] = LaneResults()
                self.recent.unsent.append(lane)
            return self._lanes[number]

    def is_due(self, now_s: float) -> bool:
        """Tell whether the last batch was sent so long ago that the next shall not wait."""
        return now_s - self._last_flush_s > BATCH_S

    def flush(self) -> None:
        """Send what there is. When it returns, all is sent that was added or printed before."""
        with self._flush_lock:  # a result goes before those of the tasks that have read it
            # First, and sent last: the tasks that it is of were added before.
            device_times = self.device_times.take() if self.device_times else None
            rows = [self._rows.popleft() for _ in range(len(self._rows))]
            batch: list[messages.FromWorker] = [self._message(rows)] if rows else []
            if any([lane.numbers for lane in self._lanes.values()]):
                batch.insert(0, self._take_lanes())
            if self._reads:  # before the results of the tasks that have read
                batch.insert(0, self._take_reads())
            if self._profiler is not None and self._profiler.has_samples:  # before the results of the tasks they are of
                batch[:0] = self._take_samples(self._profiler)
            self._last_flush_s = monotonic_s()
            printed = self._output.take()  # goes before the results of the tasks that have printed it
            if printed is not None:
                batch.insert(0, printed)
            if device_times is not None:
                batch.append(device_times)
            if batch:
                self._sender.send_all(batch)

    def _take_lanes(self) -> messages.Finished:
        """Return the results of tasks in slices: of several lanes in the order of their numbers, as lanes share slices."""
        taken = [(number, self.recent.take(lane)) for number, lane in self._lanes.items() if lane.numbers]
        lanes, columns = taken[0] if len(taken) == 1 else merged(taken)
        none = [0.0] * len(columns.numbers)  # those that have read their inputs for long are told of by themselves
        return finished_message(columns.numbers, lanes, *columns[1:-1], none, none, columns.results)

    @staticmethod
    def _take_samples(profiler: StackSampler) -> list[messages.FromWorker]:
        taken = profiler.take()
        return [] if taken is None else [messages.ProfileSamples(taken)]

    def _take_reads(self) -> messages.StoreEvents:
        reads = [self._reads.popleft() for _ in range(len(self._reads))]
        return messages.StoreEvents([Action.TRANSFER] * len(reads), *map(list, zip(*reads, strict=True)))

    @staticmethod
    def _message(rows: list[Row]) -> messages.Finished:
        return finished_message(*map(list, zip(*rows, strict=True)))
