"""A client's end of the connection to a head: what it knows of its keys, and the thread that learns it.

Thread-safe. One thread reads; whoever calls sends, under one lock, so that messages go out in the order in which the
books are kept.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue
from typing import Any

import msgspec
from glassloom_metrics.framing import FrameSplitter, frame
from glassloom_metrics.protocol import Connect, Refused, decode, encode

from glassloom.client.blocking import Operation, Signal, WaitFor
from glassloom.errors import ClusterClosed
from glassloom.graph import Key
from glassloom.protocol import messages
from glassloom.protocol.coordination import Op, Outcome
from glassloom.protocol.failure import Failure
from glassloom.protocol.messages import framed
from glassloom.store.segment import Location

_log = logging.getLogger("glassloom")
_READ_BYTES = 2**20

PENDING, FINISHED, ERROR, CANCELLED, LOST = "pending", "finished", "error", "cancelled", "lost"


Callback = Callable[["KeyState"], None]
"""What is called with the state of a key that is no longer pending."""


class KeyState:
    """What the client knows of one key. Changed under the connection's lock only."""

    __slots__ = ("callbacks", "failure", "inline", "nbytes", "references", "status")

    def __init__(self) -> None:
        self.status = PENDING
        self.references = 0
        self.nbytes = 0
        self.inline: bytes | None = None
        self.failure: Failure | None = None
        self.callbacks: list[Callback] | None = None


class _Reply:
    """What was asked, and the answer once it has come."""

    __slots__ = ("arrived", "message")

    def __init__(self) -> None:
        self.arrived = Signal()
        self.message: Any = None


class Connection:
    """The connection of one client.

    Parameters
    ----------
    path, secret
        Of the head's socket, from the cluster's record.

    Raises
    ------
    ClusterClosed
        If nobody answers there, or the client isn't let in.
    """

    def __init__(self, path: str, secret: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._splitter = FrameSplitter()
        try:
            self._socket.connect(path)
            self._socket.sendall(frame(encode(Connect("client", secret))))
            first, self._early = self._read_first()
        except OSError as error:
            self._socket.close()
            raise ClusterClosed(f"the cluster can't be reached: {error}") from error
        self.welcome = _welcome(first)
        self.lock = threading.RLock()
        self.closed_because = ""
        self._end_reason = "the cluster has ended"
        self._states: dict[Key, KeyState] = {}
        self._replies: dict[int, _Reply] = {}
        self._requests = itertools.count()
        self._released: SimpleQueue[Key | None] = SimpleQueue()
        self._callers: SimpleQueue[Callable[[], Any] | None] | None = None
        threading.Thread(target=self._read, name="glassloom-client", daemon=True).start()
        threading.Thread(target=self._release, name="glassloom-release", daemon=True).start()

    # Keys

    def refer(self, key: Key) -> KeyState:
        """Count one more holder of `key`; returns its state. Call with the lock held if more is sent about the key."""
        with self.lock:
            state = self._states.get(key)
            if state is None:
                state = self._states[key] = KeyState()
                if self.closed_because:
                    state.status = LOST
            state.references += 1
            return state

    def unrefer(self, key: Key) -> None:
        """Count one holder less. Takes no lock: it is called by the garbage collector, wherever that strikes."""
        self._released.put(key)

    def state(self, key: Key) -> KeyState | None:
        """Return what is known of a key."""
        return self._states.get(key)

    def when_done(self, states: Iterable[KeyState], callback: Callback) -> None:
        """Call `callback` with each state whose key is no longer pending: at once, or from the reading thread."""
        done = []
        with self.lock:
            for state in states:
                if state.status != PENDING:
                    done.append(state)
                elif state.callbacks is None:
                    state.callbacks = [callback]
                else:
                    state.callbacks.append(callback)
        for state in done:
            callback(state)

    def forget(self, states: Iterable[KeyState], callback: Callback) -> None:
        """Take back `when_done`."""
        with self.lock:
            for state in states:
                if state.callbacks and callback in state.callbacks:
                    state.callbacks.remove(callback)

    def mark_pending(self, keys: Iterable[Key]) -> None:
        """These keys are handed in (again): forget how they ended before."""
        with self.lock:
            for key in keys:
                state = self._states.get(key)
                if state is not None and state.status in (ERROR, CANCELLED):
                    state.status, state.failure = PENDING, None

    def call_user(self, function: Callable[[], Any]) -> None:
        """Call a function of the user's, from a thread that is there for it: it may wait for what the others bring."""
        with self.lock:
            if self._callers is None:
                self._callers = SimpleQueue()
                threading.Thread(
                    target=_call_all, args=(self._callers,), name="glassloom-callbacks", daemon=True
                ).start()
                if self.closed_because:
                    self._callers.put(None)
            self._callers.put(function)

    # Messages

    def send(self, message: messages.FromClient) -> None:
        """Send a message.

        Raises
        ------
        ClusterClosed
            If the connection has ended; the message says why.
        """
        data = framed(message)
        with self.lock:
            self.check_open()
            try:
                self._socket.sendall(data)
            except OSError as error:
                raise ClusterClosed(f"the connection to the cluster broke: {error}") from error

    def ask(self, make: Callable[[int], messages.FromClient]) -> Operation[Any]:
        """Send the message that `make` makes of a request number; wait for the answer and return it."""
        request, reply = self._expect_reply()
        try:
            self.send(make(request))
            yield WaitFor(reply.arrived)
        finally:
            self._replies.pop(request, None)
        return self._taken(reply)

    def locate(self, keys: Sequence[Key]) -> Operation[list[Location | Failure]]:
        """Ask where results can be reached."""
        located: messages.Located = yield from self.ask(lambda request: messages.Locate(request, list(keys)))
        return located.locations

    def negotiate(self, op: Op, timeout_s: float | None = None) -> Operation[tuple[int, Outcome]]:
        """Ask for something that is agreed on by name; return the request's number and what came of it.

        After the timeout the request is withdrawn. If the wait is interrupted, what may have been granted is given back.
        """
        request, reply = self._expect_reply()
        try:
            self.send(messages.Coordinate(request, op))
            if not (yield WaitFor(reply.arrived, timeout_s, for_tasks=True)):
                self.send(messages.Withdraw(request, undo=False))
                yield WaitFor(reply.arrived)
        except BaseException:
            with contextlib.suppress(ClusterClosed):
                self.send(messages.Withdraw(request, undo=True))
            raise
        finally:
            self._replies.pop(request, None)
        agreed: messages.CoordinationReply = self._taken(reply)
        return request, agreed.outcome

    def _expect_reply(self) -> tuple[int, _Reply]:
        request = next(self._requests)
        reply = self._replies[request] = _Reply()
        return request, reply

    def _taken(self, reply: _Reply) -> Any:
        if reply.message is None:
            self.check_open()
        return reply.message

    def check_open(self) -> None:
        """Raise `ClusterClosed` if the connection has ended."""
        if self.closed_because:
            raise ClusterClosed(f"the client is closed: {self.closed_because}")

    def close(self, reason: str) -> None:
        """End the connection; whoever waits for a key or an answer is woken."""
        with self.lock:
            if self.closed_because:
                return
            self.closed_because = reason
            wake: list[tuple[Callback, KeyState]] = []
            for state in self._states.values():
                if state.status == PENDING:
                    _settle(state, LOST, wake)
        self._released.put(None)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for reply in list(self._replies.values()):
            reply.arrived.set()
        _call_back(wake)
        with self.lock:
            if self._callers is not None:
                self._callers.put(None)

    # Threads

    def _read_first(self) -> tuple[bytes, list[bytes]]:
        while True:
            data = self._socket.recv(_READ_BYTES)
            if not data:
                raise ConnectionResetError("it closed the connection")
            payloads = self._splitter.feed(data)
            if payloads:
                return payloads[0], payloads[1:]

    def _read(self) -> None:
        payloads = self._early
        try:
            while True:
                for payload in payloads:
                    self._handle(messages.from_head_decoder.decode(payload))
                data = self._socket.recv(_READ_BYTES)
                if not data:
                    break
                payloads = self._splitter.feed(data)
        except OSError:
            pass  # closed by us, or the head is gone
        self.close(self._end_reason)

    def _handle(self, message: messages.FromHead) -> None:
        match message:
            case messages.KeysFinished():
                wake: list[tuple[Callback, KeyState]] = []
                with self.lock:
                    for key, nbytes, inline in zip(message.keys, message.nbytes, message.inline, strict=True):
                        state = self._states.get(key)
                        if state is not None:
                            state.nbytes, state.inline = nbytes, inline
                            _settle(state, FINISHED, wake)
                _call_back(wake)
            case messages.KeyErred():
                self._end_keys([message.key], ERROR, message.failure)
            case messages.SubmitRefused():
                self._end_keys(message.keys, ERROR, message.failure)
            case messages.KeysCancelled():
                self._end_keys(message.keys, CANCELLED, None)
            case messages.Ended():
                self._end_reason = f"the cluster has ended: {message.reason}"
            case (
                messages.Located()
                | messages.Info()
                | messages.RanOnWorkers()
                | messages.RanOnHead()
                | messages.Ack()
                | messages.Holdings()
                | messages.CoordinationReply()
            ):
                reply = self._replies.get(message.request)
                if reply is not None:
                    reply.message = message
                    reply.arrived.set()

    def _end_keys(self, keys: Sequence[Key], status: str, failure: Failure | None) -> None:
        wake: list[tuple[Callback, KeyState]] = []
        with self.lock:
            for key in keys:
                state = self._states.get(key)
                if state is not None:
                    state.failure = failure
                    _settle(state, status, wake)
        _call_back(wake)

    def _release(self) -> None:
        """Tell the head of keys that nobody here holds any more, in batches."""
        while (key := self._released.get()) is not None:
            batch = [key]
            while not self._released.empty():
                key = self._released.get()
                if key is None:
                    return
                batch.append(key)
            with self.lock:
                gone = [key for key in batch if self._drop_reference(key)]
                if gone and not self.closed_because:
                    with contextlib.suppress(ClusterClosed):
                        self.send(messages.Release(gone))

    def _drop_reference(self, key: Key) -> bool:
        state = self._states.get(key)
        if state is None:
            return False
        state.references -= 1
        if state.references > 0:
            return False
        del self._states[key]
        return True


def _call_all(functions: SimpleQueue[Callable[[], Any] | None]) -> None:
    while (function := functions.get()) is not None:
        try:
            function()
        except Exception:  # the function is the user's
            _log.exception("a callback of a future raised")
        del function  # it may hold a future


def _settle(state: KeyState, status: str, wake: list[tuple[Callback, KeyState]]) -> None:
    state.status = status
    if state.callbacks:
        wake.extend([(callback, state) for callback in state.callbacks])
        state.callbacks = None


def _call_back(wake: list[tuple[Callback, KeyState]]) -> None:
    """Tell of what was settled; not under the lock."""
    for callback, state in wake:
        callback(state)


def _welcome(payload: bytes) -> messages.Welcome:
    try:
        message = messages.from_head_decoder.decode(payload)
    except msgspec.ValidationError:
        refused = decode(payload)
        reason = refused.reason if isinstance(refused, Refused) else f"it answered {refused!r}"
        raise ClusterClosed(f"the cluster doesn't let this client in: {reason}") from None
    if not isinstance(message, messages.Welcome):
        raise ClusterClosed(f"the cluster answered {type(message).__name__} instead of a welcome")
    return message
