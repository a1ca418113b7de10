"""`Outbox`: the thread that owns the writing side of a client's socket, and the queue through which others reach it.

A caller only puts whole frames into the queue, which is one step of the interpreter: an interrupt or a fork can't leave
half a frame on the socket, or a message counted that wasn't sent.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from glassloom._supervision import OnCrash, start_thread
from glassloom.client.blocking import Operation, Signal, WaitFor
from glassloom.client.key_table import DroppedKey, KeyState, KeyTable
from glassloom.client.known_calls import KnownCalls
from glassloom.graph import Key
from glassloom.protocol.merging import PlainTask, alike, merge
from glassloom.protocol.messages import Release, framed

LIMIT_BYTES = 64 * 2**20
"""How much may wait to be written before callers wait too."""
_CHUNK_BYTES = 2**20
_COALESCED_BYTES = 64 * 2**10
_ABOUT_A_KEY_BYTES = 64
GATHERING_S = 0.005
"""After tasks were written, how long the next wait for others to go with them, unless something waits for what they make.

Each message costs the client, the head and the workers something beside its tasks, and a thread that is woken as often takes the
interpreter from the one that submits.
"""


class Outgoing:
    """A frame, the calls that it refers to by number, and the states of the keys that it asks for, which keep them held."""

    __slots__ = ("calls", "data", "nbytes", "states")

    def __init__(self, data: bytes, states: Sequence[KeyState] = (), calls: Mapping[int, bytes] | None = None) -> None:
        self.data = data
        self.states = states
        self.calls = calls or {}
        self.nbytes = len(data)


OutgoingTask = tuple[PlainTask, KeyState, int]
"""A task, the state of its key, and about how many bytes of a message it takes. Tasks that are alike go in one message."""


class Outbox:
    """Writes frames to a socket in the order in which they were put, and tells the head of keys that nothing holds any more.

    Parameters
    ----------
    table
        Told of each message that asks for keys, and of those that were dropped.
    known_calls
        Tells what the head must know of calls before a message that refers to them.
    queue
        Where `DroppedKey`s arrive too, from the garbage collector, and signals, to be set. After a None the socket is shut down.
    on_crash
        Called in the writing thread if that fails, the socket's errors included.
    """

    def __init__(
        self,
        connected: socket.socket,
        table: KeyTable,
        queue: SimpleQueue[Any],
        known_calls: KnownCalls,
        *,
        on_crash: OnCrash,
    ) -> None:
        self._socket = connected
        self._table = table
        self._queue = queue
        self._known_calls = known_calls
        self._n_sent = 0
        self._lock = threading.Lock()
        self._waiting_bytes = 0
        self._room: Signal | None = None
        self._written_s = -GATHERING_S
        self._is_urgent = False
        self._is_gathering = False
        self._end_gathering: SimpleQueue[None] = SimpleQueue()
        self.written_bytes = 0
        """How much was written so far. Grows as long as the head reads."""
        self._thread = start_thread("glassloom-client-writer", self._write, on_crash=on_crash)

    def has_room(self, nbytes: int) -> bool:
        """Tell whether so many bytes may be put now. More than the limit may if nothing else waits."""
        return not self._waiting_bytes or self._waiting_bytes + nbytes <= LIMIT_BYTES

    def wait_for_room(self, nbytes: int, timeout_s: float) -> Operation[bool]:
        """Wait until there is room, or nothing was written for so long; return whether there is."""
        written_bytes = self.written_bytes
        self.hurry()
        while True:
            with self._lock:
                room = self._room = self._room or Signal()
            if self.has_room(nbytes):
                return True
            if not (yield WaitFor(room, timeout_s)) and self.written_bytes == written_bytes:
                return False
            written_bytes = self.written_bytes

    def put(self, item: Outgoing | OutgoingTask, nbytes: int) -> None:
        """Let a frame or a task, of that size, be written after what was put before. Never waits."""
        # No lock: what goes wrong if two threads count at once is right again when nothing waits (see `_make_room`).
        self._waiting_bytes += nbytes
        self._queue.put(item)
        if type(item) is Outgoing:
            self.hurry()

    def put_if_room(self, item: OutgoingTask, nbytes: int) -> bool:
        """Do as `put` if there is room; return whether there is."""
        waiting_bytes = self._waiting_bytes
        if waiting_bytes and waiting_bytes + nbytes > LIMIT_BYTES:
            return False
        self._waiting_bytes += nbytes
        self._queue.put(item)
        return True

    def wait_for_writer(self, timeout_s: float, watch: Callable[[], None]) -> Operation[bool]:
        """Wait until what was put so far has a number; return whether it has. What `watch` raises ends the wait."""
        passed = Signal()
        self._queue.put(passed)
        self.hurry()
        return (yield WaitFor(passed, timeout_s, watch=watch))

    def hurry(self) -> None:
        """Let what was put so far be written without waiting for more. Takes no lock."""
        self._is_urgent = True
        if self._is_gathering:
            self._is_gathering = False
            self._end_gathering.put(None)

    def end(self) -> None:
        """End the thread; returns when it has ended. The socket must be shut down."""
        self._queue.put(None)
        self.hurry()
        self._thread.join()

    def _write(self) -> None:
        is_open = True
        while is_open:
            items, nbytes = self._take()
            is_open = items[-1] is not None
            try:
                self._send(self._frames(items))
                self._make_room(nbytes, is_all=True)
            finally:
                items.clear()  # the last states of a key may be among them, and a traceback may keep the list
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _gather(self) -> None:
        """Wait until enough time has passed since the last tasks were written, or `hurry` was called."""
        left_s = self._written_s + GATHERING_S - monotonic()
        if left_s > 0:
            self._is_gathering = True
            if not self._is_urgent:  # looked at after `hurry` can see that it has to end this
                with contextlib.suppress(Empty):
                    self._end_gathering.get(timeout=left_s)
            self._is_gathering = False

    def _take(self) -> tuple[list[Any], int]:
        """Wait for something to do; return it with what else is there, up to what one system call may write, and its size."""
        take = self._queue.get_nowait
        items = [self._queue.get()]
        if type(items[0]) in (tuple, DroppedKey):
            self._gather()
        self._is_urgent = False  # before it takes what was put before `hurry` was called
        nbytes = size_of(items[0])
        n_dropped = 0
        with contextlib.suppress(Empty):
            while items[-1] is not None and nbytes + n_dropped * _ABOUT_A_KEY_BYTES < _COALESCED_BYTES:
                item = take()
                items.append(item)
                kind = type(item)
                if kind is tuple:
                    nbytes += item[2]
                elif kind is DroppedKey:
                    n_dropped += 1
                else:
                    nbytes += size_of(item)
            self._is_urgent = True  # there is more
        return items, nbytes

    def _frames(self, items: list[Any]) -> list[bytes]:
        """Return the frames to write, in order; those of keys that nothing holds any more together, and so tasks that are alike."""
        frames: list[bytes] = []
        for kind, group in groupby(items, type):
            if kind is DroppedKey:
                keys = self._table.drop(group)
                if keys:
                    frames.append(self._numbered(_release(keys)))
            elif kind is tuple:
                frames += self._frames_of_tasks(list(group))
            elif kind is Outgoing:
                for item in group:
                    frames += self._frames_of(item)
            elif kind is Signal:
                for passed in group:
                    passed.set()
        return frames

    def _numbered(self, data: bytes, states: Sequence[KeyState] = ()) -> bytes:
        """Count a frame that goes out next; return it."""
        self._n_sent += 1
        if states:
            self._table.mark_sent(states, self._n_sent)
        return data

    def _frames_of(self, item: Outgoing) -> list[bytes]:
        frames = [self._numbered(framed(message)) for message in self._known_calls.introduce(item.calls)]
        frames.append(self._numbered(item.data, item.states))
        item.states = ()  # a traceback may keep the item
        return frames

    def _frames_of_tasks(self, items: list[OutgoingTask]) -> list[bytes]:
        frames = []
        tasks, states, _ = zip(*items, strict=True)
        self._written_s = monotonic()
        sent = 0
        for together in alike(tasks):
            calls = {
                template.number: template.code for template in {id(task[3]): task[3] for task in together}.values()
            }
            frames += [self._numbered(framed(message)) for message in self._known_calls.introduce(calls)]
            frames.append(self._numbered(framed(merge(together)), states[sent : sent + len(together)]))
            sent += len(together)
        return frames

    def _send(self, frames: list[bytes]) -> None:
        left = memoryview(frames[0] if len(frames) == 1 else b"".join(frames))
        while left:
            n_sent = self._socket.send(left[:_CHUNK_BYTES])
            left = left[n_sent:]
            self.written_bytes += n_sent
            if left:
                self._make_room(0, is_all=False)  # who waits sees that something was written

    def _make_room(self, nbytes: int, *, is_all: bool) -> None:
        with self._lock:
            # Callers count before they put: if one was interrupted in between, the count is right again here.
            is_empty = is_all and self._queue.empty()
            self._waiting_bytes = 0 if is_empty else max(0, self._waiting_bytes - nbytes)
            room, self._room = self._room, None
        if room is not None:
            room.set()


def _release(keys: list[Key]) -> bytes:
    """Return the frame that releases keys. The head has never heard of those that can't be sent."""
    try:
        return framed(Release(keys))
    except (UnicodeEncodeError, OverflowError):
        return framed(Release([key for key in keys if _is_sendable(key)]))


def _is_sendable(key: Key) -> bool:
    try:
        framed(Release([key]))
    except (UnicodeEncodeError, OverflowError):
        return False
    return True


def size_of(item: Any) -> int:
    """Return how many bytes of the limit something takes."""
    kind = type(item)
    if kind is tuple:
        nbytes: int = item[2]
        return nbytes
    return item.nbytes if kind is Outgoing else 0
