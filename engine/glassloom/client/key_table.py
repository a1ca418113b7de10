"""What a client knows of its keys: which results it holds, and how the tasks that make them stand.

A `KeyState` is both: it says how a key's task stands, and keeps the result held at the head for as long as it exists. The
result is given back when Python frees the state: there is no count that an interrupt could leave wrong. A key that was
cancelled, or is being, gets a new state when it is submitted again; a message of the head's about the former doesn't touch
the latter (see `KeyState.sent_as`).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, repeat
from operator import itemgetter
from typing import Any

from glassloom.graph import Key
from glassloom.protocol.failure import Failure

PENDING, FINISHED, ERROR, CANCELLED, LOST = "pending", "finished", "error", "cancelled", "lost"
NOT_SENT = 2**63
"""The number of a message that the writer hasn't come to yet."""
_FEW = 8

Callback = Callable[[Sequence["KeyState"]], None]
"""What is called with states of keys that are no longer pending, in the thread that reads, or in the caller's."""


class KeyState:
    """How one key's task stands, as far as the client knows. Changed by `KeyTable` only, under its lock.

    Only futures, messages to be sent and calls that wait refer to a state: it keeps the result held. Most attributes of most
    states never change, so the initial values are the class's: making a state takes next to no time.
    """

    status: str = PENDING
    nbytes: int = 0
    inline: bytes | None = None
    failure: Failure | None = None
    callbacks: tuple[Callback, ...] = ()
    is_cancelling: bool = False
    is_shared: bool = False
    """Whether it was given to more than the one call that made it."""
    is_released: bool = False
    """Whether it is a copy for a future that has let go of the result: it holds nothing."""
    sent_as: int = NOT_SENT
    """Number of the client's last message that asked for it. What the head said before it had handled that message is about
    `previous`."""
    previous: KeyState | None = None
    """The state of the same key that this one took the place of while it was being cancelled."""

    def released(self) -> KeyState:
        """Return how it stands for a future that lets go of it now, and will be told nothing more."""
        state = KeyState()
        state.status = CANCELLED if self.status == PENDING else self.status
        state.nbytes, state.inline, state.failure = self.nbytes, self.inline, self.failure
        state.is_cancelling, state.sent_as, state.is_released = self.is_cancelling, self.sent_as, True
        return state


class DroppedKey(weakref.ref[KeyState]):
    """A weak reference to a key's state. When that is freed, the reference itself is handed on, in C: no interrupt, no lock."""

    __slots__ = ("is_let_go", "key")
    key: Key
    is_let_go: bool
    """Set while the key is to be given back, though its state may live and the key be asked for anew: see `KeyTable.let_go`."""


class KeyTable:
    """The keys of one connection. Thread-safe.

    Parameters
    ----------
    on_dropped
        Called with the reference to a state that was freed, from the garbage collector, wherever that strikes. It must be
        a C function that takes no lock.
    """

    def __init__(self, on_dropped: Callable[[Any], None]) -> None:
        self._on_dropped = on_dropped
        self._lock = threading.RLock()  # the garbage collector may run a user's finaliser while it is held
        self._holds: dict[Key, DroppedKey] = {}
        self._has_ended = False

    # Called by anyone. An interrupt between any two steps leaves a usable table.

    def hold(self, key: Key) -> KeyState:
        """Return the state of a key, for a message that asks for it."""
        with self._lock:
            reference = self._holds.get(key)
            state = None if reference is None else reference()
            if state is not None and not state.is_cancelling and state.status != CANCELLED:
                state.is_shared = True
                return state
            former, state = state, KeyState()
            if former is not None and former.status != CANCELLED:
                state.previous = former
            if self._has_ended:
                state.status = LOST
            reference = DroppedKey(state, self._on_dropped)
            reference.key = key
            self._holds[key] = reference
            return state

    def hold_all(self, keys: Sequence[Key]) -> list[KeyState]:
        """Return the state of each key, for a message that asks for them."""
        with self._lock:
            are_new = len(keys) > _FEW and self._holds.keys().isdisjoint(keys) and len(set(keys)) == len(keys)
            states = self._hold_new(keys) if are_new else [self.hold(key) for key in keys]
        return states

    def _hold_new(self, keys: Sequence[Key]) -> list[KeyState]:
        """Hold many keys that aren't held, as `hold` does one."""
        states = [KeyState() for _ in keys]
        if self._has_ended:
            for state in states:
                state.status = LOST
        references = list(map(DroppedKey, states, repeat(self._on_dropped)))
        for reference, key in zip(references, keys, strict=True):
            reference.key = key
        self._holds.update(zip(keys, references, strict=True))
        return states

    def let_go(self, keys: Sequence[Key], states: Sequence[KeyState]) -> None:
        """Give back what one call has asked for, and nobody else: now, though a thread may refer to a state a moment longer.

        What asks for such a key next doesn't get the state, nor the head the former task for the next one's: it may be another
        by the same name.
        """
        with self._lock:
            for key, state in zip(keys, states, strict=True):
                reference = self._holds.get(key)
                if reference is not None and reference() is state and not state.is_shared:
                    del self._holds[key]
                    reference.is_let_go = True
                    self._on_dropped(reference)

    def holds(self, key: Key) -> bool:
        """Tell whether something holds a key."""
        return self._get(key) is not None

    def states_of(self, keys: Iterable[Key]) -> dict[Key, KeyState]:
        """Return the states of those keys that something holds."""
        return {key: state for key in keys if (state := self._get(key)) is not None}

    def attach(self, key: Key) -> tuple[KeyState, bool]:
        """Return the state of a key, as it stands, and whether that is new: then the head must be told of it."""
        with self._lock:
            state = self._get(key)
            if state is not None:
                state.is_shared = True
                return state, False
            return self.hold(key), True

    def note_scattered(self, states: Iterable[KeyState], nbytes: Iterable[int], inline: Iterable[bytes | None]) -> None:
        """The client has placed these values itself: they are held as soon as the head handles the next message."""
        wake: _Wake = []
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
            states = [self._get(key) for key in list(self._holds)]
            self.note_cancelling(state for state in states if state is not None and state.status == PENDING)

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
        """Call `callback` with the states that are no longer pending: at once, or from the thread that reads, some at a time."""
        done = []
        own = (callback,)
        with self._lock:
            for state in states:
                if state.status != PENDING:
                    done.append(state)
                elif state.callbacks:
                    state.callbacks += own
                else:
                    state.callbacks = own
        if done:
            callback(done)

    def forget_callback(self, states: Iterable[KeyState], callback: Callback) -> None:
        """Take back `when_done`."""
        with self._lock:
            for state in states:
                if state.callbacks:
                    state.callbacks = tuple([other for other in state.callbacks if other != callback])

    # Called by the thread that writes

    def mark_sent(self, states: Iterable[KeyState], number: int) -> None:
        """A message that asks for these goes out now, as the connection's `number`-th. Those that failed are tried again."""
        with self._lock:
            for state in states:
                state.sent_as = number
                if state.status == ERROR and not self._has_ended:
                    state.status, state.failure = PENDING, None

    def drop(self, dropped: Iterable[DroppedKey]) -> list[Key]:
        """Forget the keys whose states were freed and that nothing holds anew; return them.

        Those that a call has let go of are among them even if they are held anew, unless the message that asks for them has gone
        out already: they are given back before it does.
        """
        keys = []
        held = self._holds
        with self._lock:
            for reference in dropped:
                if not hasattr(reference, "key"):  # its maker was interrupted
                    continue
                key = reference.key
                if held.get(key) is reference:
                    del held[key]
                    keys.append(key)
                elif hasattr(reference, "is_let_go"):
                    del reference.is_let_go  # it comes once more when its state is freed
                    if key not in held or self._is_to_be_sent(key):
                        keys.append(key)
        return keys

    def _is_to_be_sent(self, key: Key) -> bool:
        state = self._get(key)
        return state is not None and state.sent_as == NOT_SENT

    # Called by the thread that reads

    def finish(self, keys: Sequence[Key], nbytes: Sequence[int], inline: Sequence[bytes | None], handled: int) -> None:
        """The head holds these results; it had handled that many of the client's messages when it said so."""
        wake: _Wake = []
        reference_to = self._holds.get
        with self._lock:
            for key, size, data in zip(keys, nbytes, inline, strict=True):
                reference = reference_to(key)
                state = None if reference is None else reference()
                if state is not None and (state.previous is not None or state.sent_as > handled):
                    state = _known_then(state, handled)
                if state is None:
                    continue
                if state.previous is not None:
                    _settle_previous(state, wake)
                state.nbytes, state.inline, state.status = size, data, FINISHED
                if state.callbacks:
                    wake.append((state.callbacks, state))
                    state.callbacks = ()
        _call_back(wake)

    def end(self, keys: Sequence[Key], status: str, failure: Failure | None, handled: int) -> None:
        """These keys will have no result."""
        wake: _Wake = []
        with self._lock:
            for key in keys:
                state = self._find(key, handled)
                if state is not None:
                    state.failure = failure
                    _settle(state, status, wake)
        _call_back(wake)

    def end_all(self) -> None:
        """The connection has ended: what is pending is lost."""
        wake: _Wake = []
        with self._lock:
            self._has_ended = True
            for key in list(self._holds):
                state = self._get(key)
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
            state = self._get(key)
            if state is not None and state.status == PENDING:
                state.status = LOST

    @property
    def holds_results(self) -> bool:
        """Whether a future, or a message to be sent, holds a key."""
        return any(self._get(key) is not None for key in list(self._holds))

    def _get(self, key: Key) -> KeyState | None:
        reference = self._holds.get(key)
        return None if reference is None else reference()

    def _find(self, key: Key, handled: int) -> KeyState | None:
        state = self._get(key)
        return None if state is None else _known_then(state, handled)


_Wake = list[tuple[tuple[Callback, ...], KeyState]]
"""States that were settled, with what is to be called."""


def _known_then(state: KeyState | None, handled: int) -> KeyState | None:
    """Return the state that the head means: the newest that it knew of, having handled that many messages."""
    while state is not None and state.sent_as > handled:
        state = state.previous
    return state


def _settle(state: KeyState, status: str, wake: _Wake) -> None:
    if state.previous is not None:
        _settle_previous(state, wake)
    state.status = status
    if state.callbacks:
        wake.append((state.callbacks, state))
        state.callbacks = ()


def _settle_previous(state: KeyState, wake: _Wake) -> None:
    """A state is settled: the head won't mention the one before it any more."""
    former, state.previous = state.previous, None
    if former is not None and former.status == PENDING:
        _settle(former, CANCELLED, wake)


def _call_back(wake: _Wake) -> None:
    """Tell of what was settled; not under the lock."""
    for callbacks, group in groupby(wake, itemgetter(0)):
        states = [state for _, state in group]
        for callback in callbacks:
            callback(states)
