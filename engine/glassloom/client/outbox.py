"""`Outbox`: the thread that owns the writing side of a client's socket, and the queue through which others reach it.

A caller only puts whole frames into the queue, which is one step of the interpreter: an interrupt or a fork can't leave
half a frame on the socket, or a message counted that wasn't sent.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from itertools import groupby
from queue import SimpleQueue
from typing import Any

from glassloom._supervision import OnCrash, start_thread
from glassloom.client.blocking import Operation, Signal, WaitFor
from glassloom.client.key_table import DroppedKey, KeyState, KeyTable
from glassloom.graph import Key
from glassloom.protocol.merging import are_alike, merge
from glassloom.protocol.messages import Release, Submit, framed

LIMIT_BYTES = 64 * 2**20
"""How much may wait to be written before callers wait too."""
_CHUNK_BYTES = 2**20
_COALESCED_BYTES = 64 * 2**10
_ABOUT_A_KEY_BYTES = 64


class Outgoing:
    """A frame, and the states of the keys that it asks for, which keep them held until it is on its way.

    `single` is the frame's message if that submits a single task, and so may be merged with others.
    """

    __slots__ = ("data", "single", "states")

    def __init__(self, data: bytes, states: Sequence[KeyState], single: Submit | None = None) -> None:
        self.data = data
        self.single = single
        self.states = states


class Outbox:
    """Writes frames to a socket in the order in which they were put, and tells the head of keys that nothing holds any more.

    Parameters
    ----------
    table
        Told of each message that asks for keys, and of those that were dropped.
    queue
        Where `DroppedKey`s arrive too, from the garbage collector, and signals, to be set. After a None the socket is shut down.
    on_crash
        Called in the writing thread if that fails, the socket's errors included.
    """

    def __init__(
        self, connected: socket.socket, table: KeyTable, queue: SimpleQueue[Any], *, on_crash: OnCrash
    ) -> None:
        self._socket = connected
        self._table = table
        self._queue = queue
        self._n_sent = 0
        self._lock = threading.Lock()
        self._waiting_bytes = 0
        self._merged_bytes = 0
        self._room: Signal | None = None
        self.written_bytes = 0
        """How much was written so far. Grows as long as the head reads."""
        self._thread = start_thread("glassloom-client-writer", self._write, on_crash=on_crash)

    def has_room(self, nbytes: int) -> bool:
        """Tell whether a frame of so many bytes may be put now. One that is larger than the limit may if it is alone."""
        return not self._waiting_bytes or self._waiting_bytes + nbytes <= LIMIT_BYTES

    def wait_for_room(self, nbytes: int, timeout_s: float) -> Operation[bool]:
        """Wait until there is room, or nothing was written for so long; return whether there is."""
        written_bytes = self.written_bytes
        while True:
            with self._lock:
                room = self._room = self._room or Signal()
            if self.has_room(nbytes):
                return True
            if not (yield WaitFor(room, timeout_s)) and self.written_bytes == written_bytes:
                return False
            written_bytes = self.written_bytes

    def put(self, outgoing: Outgoing) -> None:
        """Let a frame be written, after those that were put before. Never waits."""
        with self._lock:
            self._waiting_bytes += len(outgoing.data)
        self._queue.put(outgoing)

    def wait_for_writer(self, timeout_s: float, watch: Callable[[], None]) -> Operation[bool]:
        """Wait until what was put so far has a number; return whether it has. What `watch` raises ends the wait."""
        passed = Signal()
        self._queue.put(passed)
        return (yield WaitFor(passed, timeout_s, watch=watch))

    def end(self) -> None:
        """End the thread; returns when it has ended. The socket must be shut down."""
        self._queue.put(None)
        self._thread.join()

    def _write(self) -> None:
        is_open = True
        while is_open:
            items = self._take()
            is_open = items[-1] is not None
            self._send(self._frames(items))
            items.clear()  # the last holds of a key may be among them
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _take(self) -> list[Outgoing | DroppedKey | Signal | None]:
        """Wait for something to do; return it with what else is there, up to what one system call may write."""
        items = [self._queue.get()]
        nbytes = 0
        while items[-1] is not None and nbytes < _COALESCED_BYTES and not self._queue.empty():
            items.append(self._queue.get())
            nbytes += len(items[-1].data) if isinstance(items[-1], Outgoing) else _ABOUT_A_KEY_BYTES
        return items

    def _frames(self, items: list[Outgoing | DroppedKey | Signal | None]) -> list[bytes]:
        """Return the frames to write, in order; those of keys that nothing holds any more together."""
        frames = []
        for kind, group in groupby(items, type):
            if kind is DroppedKey:
                keys = self._table.drop(item for item in group if isinstance(item, DroppedKey))
                if keys:
                    self._n_sent += 1
                    frames.append(_release(keys))
            elif kind is Outgoing:
                together: list[Outgoing] = []
                for item in (each for each in group if isinstance(each, Outgoing)):
                    if together and not _can_be_merged(together[0], item):
                        frames.append(self._frame(together))
                        together = []
                    together.append(item)
                frames.append(self._frame(together))
            elif kind is Signal:
                for passed in (item for item in group if isinstance(item, Signal)):
                    passed.set()
        return frames

    def _frame(self, items: list[Outgoing]) -> bytes:
        """Return the frame of a message, or of several that are merged."""
        self._n_sent += 1
        self._table.mark_sent([state for item in items for state in item.states], self._n_sent)
        data = items[0].data
        if len(items) > 1:
            data = framed(merge([item.single for item in items if item.single is not None]))
            self._merged_bytes += sum([len(item.data) for item in items]) - len(data)
        for item in items:
            item.states = ()  # a traceback may keep the item
        return data

    def _send(self, frames: list[bytes]) -> None:
        left = memoryview(frames[0] if len(frames) == 1 else b"".join(frames))
        while left:
            n_sent = self._socket.send(left[:_CHUNK_BYTES])
            left = left[n_sent:]
            self.written_bytes += n_sent
            merged_bytes, self._merged_bytes = self._merged_bytes, 0
            self._make_room(n_sent + merged_bytes, is_all=not left)

    def _make_room(self, nbytes: int, *, is_all: bool) -> None:
        with self._lock:
            # Callers count before they put: if one was interrupted in between, the count is right again here.
            is_empty = is_all and self._queue.empty()
            self._waiting_bytes = 0 if is_empty else max(0, self._waiting_bytes - nbytes)
            room, self._room = self._room, None
        if room is not None:
            room.set()


def _can_be_merged(first: Outgoing, item: Any) -> bool:
    return first.single is not None and item.single is not None and are_alike(first.single, item.single)


def _release(keys: list[Key]) -> bytes:
    """Return the frame that releases keys. The head has never heard of those that can't be sent."""
    try:
        return framed(Release(keys))
    except UnicodeEncodeError:
        return framed(Release([key for key in keys if _is_sendable(key)]))


def _is_sendable(key: Key) -> bool:
    try:
        framed(Release([key]))
    except UnicodeEncodeError:
        return False
    return True
