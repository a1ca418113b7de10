"""What a client knows of its keys: which results it holds, and how the tasks that make them stand.

A key's result is held by a `KeyHold`, and given back when Python frees that: there is no count that an interrupt could
leave wrong. How a task stands is a `KeyState`. A key that was cancelled, or is being, gets a new one when it is submitted
again; a message of the head's about the former doesn't touch the latter (see `KeyState.sent_as`).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from glassloom.graph import Key
from glassloom.protocol.failure import Failure

PENDING, FINISHED, ERROR, CANCELLED, LOST = "pending", "finished", "error", "cancelled", "lost"
NOT_SENT = 2**63
"""The number of a message that the writer hasn't come to yet."""

Callback = Callable[["KeyState"], None]
"""What is called with the state of a key that is no longer pending, in the thread that reads, or in the caller's."""


class KeyState:
    """How one key's task stands, as far as the client knows. Changed by `KeyTable` only, under its lock.

    Attributes
    ----------
    sent_as
        Number of the client's last message that asked for it. What the head said before it had handled that message is
        about `previous`.
    previous
        The state of the same key that this one took the place of while it was being cancelled.
    """

    __slots__ = ("callbacks", "failure", "inline", "is_cancelling", "nbytes", "previous", "sent_as", "status")

    def __init__(self, status: str = PENDING, previous: KeyState | None = None) -> None:
        self.status = status
        self.nbytes = 0
        self.inline: bytes | None = None
        self.failure: Failure | None = None
        self.callbacks: list[Callback] | None = None
        self.is_cancelling = False
        self.sent_as = NOT_SENT
        self.previous = previous

    def released(self) -> KeyState:
        """Return how it stands for a future that lets go of it now, and will be told nothing more."""
        state = KeyState(CANCELLED if self.status == PENDING else self.status)
        state.nbytes, state.inline, state.failure = self.nbytes, self.inline, self.failure
        state.is_cancelling, state.sent_as = self.is_cancelling, self.sent_as
        return state


class KeyHold:
    """Keeps a key's result at the head for as long as it exists. Only futures, and messages to be sent, refer to it."""

    __slots__ = ("__weakref__", "state")

    def __init__(self, state: KeyState) -> None:
        self.state = state


class DroppedKey(weakref.ref[KeyHold]):
    """A weak reference to a key's hold. When that is freed, the reference itself is handed on, in C: no interrupt, no lock."""

    __slots__ = ("key",)
    key: Key


class KeyTable:
    """The keys of one connection. Thread-safe.

    Parameters
    ----------
    on_dropped
        Called with the reference to a hold that was freed, from the garbage collector, wherever that strikes. It must be
        a C function that takes no lock.
    """

    def __init__(self, on_dropped: Callable[[Any], None]) -> None:
        self._on_dropped = on_dropped
        self._lock = threading.RLock()  # the garbage collector may run a user's finaliser while it is held
        self._holds: dict[Key, DroppedKey] = {}
        self._has_ended = False

    # Called by anyone. An interrupt between any two steps leaves a usable table.

    def hold(self, key: Key) -> KeyHold:
        """Return what holds a key, for a message that asks for it."""
        return self.hold_all([key])[0]

    def hold_all(self, keys: Sequence[Key]) -> list[KeyHold]:
        """Return what holds each key, for a message that asks for them."""
        held, on_dropped = self._holds, self._on_dropped
        holds = []
        with self._lock:
            status = LOST if self._has_ended else PENDING
            for key in keys:
                reference = held.get(key)
                hold = None if reference is None else reference()
                if hold is None:
                    hold = KeyHold(KeyState(status))
                    reference = DroppedKey(hold, on_dropped)
                    reference.key = key
                    held[key] = reference
                elif hold.state.status == CANCELLED:
                    hold.state = KeyState()
                elif hold.state.is_cancelling:
                    hold.state = KeyState(previous=hold.state)
                holds.append(hold)
        return holds

    def holds(self, key: Key) -> bool:
        """Tell whether something holds a key."""
        return self._get(key) is not None

    def attach(self, key: Key) -> tuple[KeyHold, bool]:
        """Return what holds a key, as it stands, and whether that is new: then the head must be told of it."""
        with self._lock:
            hold = self._get(key)
            return (self.hold(key), True) if hold is None else (hold, False)

    def note_scattered(self, states: Iterable[KeyState], nbytes: Iterable[int], inline: Iterable[bytes | None]) -> None:
        """The client has placed these values itself: they are held as soon as the head handles the next message."""
        wake: list[tuple[Callback, KeyState]] = []
        with self._lock:
            for state, size, data in zip(states, nbytes, inline, strict=True):
                if state.status in (PENDING, ERROR) and not self._has_ended:
                    state.nbytes, state.inline, state.failure = size, data, None
                    _settle(state, FINISHED, wake)
        _call_back(wake)

    def note_cancelling(self, states: Iterable[KeyState]) -> None:
        """The head was asked to cancel these: what is submitted from now on is another task."""
        with self._lock:
            for state in states:
                state.is_cancelling = state.status in (PENDING, FINISHED)

    def note_all_cancelling(self) -> None:
        """The head is about to be asked to cancel all unfinished tasks."""
        with self._lock:
            holds = [self._get(key) for key in list(self._holds)]
            self.note_cancelling(hold.state for hold in holds if hold is not None and hold.state.status == PENDING)

    def note_retrying(self, failed: Iterable[tuple[KeyState, int]]) -> None:
        """The writer has a message that tries these again. Unless it is sent by now, they are pending from here on.

        Parameters
        ----------
        failed
            States, and what their ``sent_as`` was before the writer got the message.
        """
        with self._lock:
            for state, sent_as in failed:
                if state.sent_as == sent_as and not self._has_ended:
                    state.status, state.failure = PENDING, None

    def when_done(self, states: Iterable[KeyState], callback: Callback) -> None:
        """Call `callback` with each state that is no longer pending: at once, or from the thread that reads."""
        done = []
        with self._lock:
            for state in states:
                if state.status != PENDING:
                    done.append(state)
                elif state.callbacks is None:
                    state.callbacks = [callback]
                else:
                    state.callbacks.append(callback)
        for state in done:
            callback(state)

    def forget_callback(self, states: Iterable[KeyState], callback: Callback) -> None:
        """Take back `when_done`."""
        with self._lock:
            for state in states:
                if state.callbacks and callback in state.callbacks:
                    state.callbacks.remove(callback)

    # Called by the thread that writes

    def mark_sent(self, states: Iterable[KeyState], number: int) -> None:
        """A message that asks for these goes out now, as the connection's `number`-th. Those that failed are tried again."""
        with self._lock:
            for state in states:
                state.sent_as = number
                if state.status == ERROR and not self._has_ended:
                    state.status, state.failure = PENDING, None

    def drop(self, dropped: Iterable[DroppedKey]) -> list[Key]:
        """Forget the keys whose holds were freed and that nothing holds anew; return them."""
        keys = []
        with self._lock:
            for reference in dropped:
                if self._holds.get(reference.key) is reference:
                    del self._holds[reference.key]
                    keys.append(reference.key)
        return keys

    # Called by the thread that reads

    def finish(self, keys: Sequence[Key], nbytes: Sequence[int], inline: Sequence[bytes | None], handled: int) -> None:
        """The head holds these results; it had handled that many of the client's messages when it said so."""
        wake: list[tuple[Callback, KeyState]] = []
        with self._lock:
            for key, size, data in zip(keys, nbytes, inline, strict=True):
                state = self._find(key, handled)
                if state is not None:
                    state.nbytes, state.inline = size, data
                    _settle(state, FINISHED, wake)
        _call_back(wake)

    def end(self, keys: Sequence[Key], status: str, failure: Failure | None, handled: int) -> None:
        """These keys will have no result."""
        wake: list[tuple[Callback, KeyState]] = []
        with self._lock:
            for key in keys:
                state = self._find(key, handled)
                if state is not None:
                    state.failure = failure
                    _settle(state, status, wake)
        _call_back(wake)

    def end_all(self) -> None:
        """The connection has ended: what is pending is lost."""
        wake: list[tuple[Callback, KeyState]] = []
        with self._lock:
            self._has_ended = True
            for key in list(self._holds):
                hold = self._get(key)
                state = None if hold is None else hold.state
                while state is not None:
                    if state.status == PENDING:
                        _settle(state, LOST, wake)
                    state = state.previous
        _call_back(wake)

    def abandon(self) -> None:
        """This is the copy in a forked child: what is pending is lost, and a lock may be held by a thread that isn't here."""
        self._lock = threading.RLock()
        self._has_ended = True
        for key in list(self._holds):
            hold = self._get(key)
            if hold is not None and hold.state.status == PENDING:
                hold.state.status = LOST

    @property
    def holds_results(self) -> bool:
        """Whether a future, or a message to be sent, holds a key."""
        return any(self._get(key) is not None for key in list(self._holds))

    def _get(self, key: Key) -> KeyHold | None:
        reference = self._holds.get(key)
        return None if reference is None else reference()

    def _find(self, key: Key, handled: int) -> KeyState | None:
        """Return the state that the head means: the newest that it knew of, having handled that many messages."""
        hold = self._get(key)
        state = None if hold is None else hold.state
        while state is not None and state.sent_as > handled:
            state = state.previous
        return state


def _settle(state: KeyState, status: str, wake: list[tuple[Callback, KeyState]]) -> None:
    if state.previous is not None:
        former, state.previous = state.previous, None
        if former.status == PENDING:  # the head won't mention it any more
            _settle(former, CANCELLED, wake)
    state.status = status
    if state.callbacks:
        wake.extend([(callback, state) for callback in state.callbacks])
        state.callbacks = None


def _call_back(wake: list[tuple[Callback, KeyState]]) -> None:
    """Tell of what was settled; not under the lock."""
    for callback, state in wake:
        callback(state)
