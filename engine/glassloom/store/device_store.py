"""`DeviceStore`: results of a worker that has a device, on the device up to a limit, the others in the `Store` of the host.

What is on the device moves to the host when there is no room, the least recently used first, and from there to disk as
all results do. It comes back when a task reads it. What a task reads stays on the device until the task has ended.

Results are copied without the lock. Copying runs the device's library, and for results other than single values users'
code too: what that raises when a result moves to the host keeps the result on the device.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any

from glassloom_metrics.protocol import Action

from glassloom.backends.sizeof import sizeof
from glassloom.devices.device import Device
from glassloom.devices.values import HostForm, device_bytes, fetched, on_device, on_host
from glassloom.errors import DataLost
from glassloom.store.device_account import DeviceAccount
from glassloom.store.store import SpillEvent, Store

MOVE_BOUND_S = 60.0
"""How long a thread waits for another that copies the same result, before it goes on by itself."""
LEAST_EXPORTED_BYTES = 64 * 1024
"""Smaller results travel in messages."""
EXPORTED_SHARE = 0.25
"""Share of what results may take on the device that other processes may have handles on: as long as they have, it stays there."""
_N_LOADING = 16
"""How many results are copied to the device at once, at most."""


@dataclass(slots=True, eq=False)
class _Entry:
    """A result on the device."""

    value: Any
    nbytes: int
    is_on_host: bool = False
    """Whether the host's store has it too, in shared memory: then it need not be copied there."""
    may_move: bool = True
    is_exported: bool = False
    """Whether other processes on the device may copy it from here."""
    pins: int = 0
    is_moving: bool = False
    """Whether a thread copies it to the host now."""


@dataclass(frozen=True, slots=True, eq=False)
class _Move:
    """A thread copies a result to the host; the result may have been dropped, or made again, since."""

    thread: int
    ended: threading.Event


class _Pins(threading.local):
    """What the task of this thread reads."""

    def __init__(self) -> None:
        self.entries: list[_Entry] = []


class DeviceStore:
    """Results by number, with the methods of `Store`.

    Parameters
    ----------
    device
        This process's.
    host
        Where results are that aren't on the device.
    on_copy
        Told of every copy, without a lock, in the thread that made it. The bytes are those on the device.
    on_refusal
        Told why a result can't move to the host.
    shares_device
        Whether other processes of the cluster are on the same device.
    """

    def __init__(
        self,
        device: Device,
        host: Store,
        on_copy: SpillEvent,
        on_refusal: Callable[[str], None] = lambda reason: None,
        *,
        shares_device: bool = False,
    ) -> None:
        self.device = device
        self.host = host
        self._on_copy = on_copy
        self._on_refusal = on_refusal
        self._shares_device = shares_device
        self._exported_bytes = 0
        self._entries: OrderedDict[int, _Entry] = OrderedDict()
        """What is on the device, least recently used first."""
        self._moved: dict[int, int] = {}
        """Device bytes of results that the host's store alone has."""
        self._moves: dict[int, _Move] = {}
        self._loading = [threading.Lock() for _ in range(_N_LOADING)]
        self._unchanged: set[int] = set()
        """Results that are loaded now, and haven't been dropped or made again since that began."""
        self._pins = _Pins()
        self._lock = threading.Lock()
        self._leaving_bytes = 0
        self.held_bytes = 0

    def __contains__(self, number: int) -> bool:
        with self._lock:  # one that is loaded goes from the host to the device
            return number in self._entries or number in self.host

    def nbytes(self, number: int) -> int:
        """Return the size of a result; 0 if it isn't here, or lies in shared memory."""
        entry = self._entries.get(number)
        return self.host.nbytes(number) if entry is None else entry.nbytes

    def account(self) -> DeviceAccount:
        """Return where the device's bytes are now."""
        device = self.device
        with self._lock:
            movable = sum(entry.nbytes for entry in self._entries.values() if _may_leave(entry))
            held, moved = self.held_bytes, sum(self._moved.values())
        pool = device.pool()
        others = max(0, device.total_bytes - device.free() - pool)
        return DeviceAccount(held, movable, device.used(), pool, others, moved)

    def put(self, number: int, value: Any, nbytes: int) -> None:
        """Keep a result where it is; others may leave the device for it."""
        on_the_device = device_bytes(value, self.device)
        self._wait_until_still(number)
        with self._lock:
            self._forget(number)
            if on_the_device:
                self._enter(number, _Entry(value, on_the_device))
                self.host.drop(number)
        if not on_the_device:
            self.host.put(number, value, nbytes)
            with self._lock:
                self._unchanged.discard(number)  # loading may have begun before there was this one
            return
        self.spill_down_to(self.device.limit_bytes, number)

    def put_shared(self, number: int, form: HostForm) -> None:
        """Take a result that another process has put into shared memory: the device gets a copy when a task reads it."""
        self._wait_until_still(number)
        if number not in self.host:
            self.host.put(number, form, 0)

    def replace(self, number: int, value: Any) -> None:
        """The result lies in shared memory now: `value` is a view of it, which takes no memory of our own."""
        with self._lock:
            entry = self._entries.get(number)
            if entry is None:
                self._moved.pop(number, None)
                self.host.replace(number, value)
                return
        self.host.put(number, value, 0)
        with self._lock:
            entry.is_on_host = True
            if number not in self._entries and number not in self._moved:
                self.host.drop(number)  # it was dropped meanwhile

    def drop(self, number: int) -> None:
        """Forget a result; nothing happens if it isn't here."""
        with self._lock:
            self._forget(number)
            self.host.drop(number)

    # Reading

    def get(self, number: int) -> Any:
        """Return a result, on the device if it is one of the device's, and keep it there until `release`.

        Raises
        ------
        KeyError, DataLost, SerialisationError
            As `Store.get`.
        BaseException
            What the device's `is_out_of_memory` knows, if there is no room even if all that may move is moved.
        """
        entry = self._pinned(number)
        if entry is None:
            with self._loading[number % _N_LOADING]:  # one thread copies it, others wait
                entry = self._pinned(number) or self._load(number)
        return entry.value if isinstance(entry, _Entry) else entry

    def get_on_host(self, number: int) -> Any:
        """Return a result as another process can have it: copied to the host if it is on the device. Raises as `Store.get`."""
        while True:
            with self._lock:
                entry = self._entries.get(number)
                if entry is not None:
                    entry.pins += 1
            if entry is not None:
                return self._form_of(number, entry)
            try:
                return self.host.get(number)
            except KeyError:
                if number not in self._entries:  # else it has been loaded meanwhile
                    raise

    def _form_of(self, number: int, entry: _Entry) -> Any:
        """Return a result of the device on the host, and unpin it."""
        try:
            if entry.is_on_host:
                return self.host.get(number)
            form = self._copied(number, entry, exports=self._may_export(number, entry))
            if not form.handles:
                self._end_export(number, entry)
            return form
        finally:
            with self._lock:
                entry.pins -= 1

    def _may_export(self, number: int, entry: _Entry) -> bool:
        """Tell whether other processes get handles on a result, which then stays on the device until it is dropped.

        It is dropped when no task reads it any more, so nobody copies memory that others have by then.
        """
        if not self._shares_device or entry.nbytes < LEAST_EXPORTED_BYTES:
            return False
        with self._lock:
            most = EXPORTED_SHARE * self.device.limit_bytes
            if (
                not entry.is_exported
                and self._entries.get(number) is entry
                and self._exported_bytes + entry.nbytes <= most
            ):
                entry.is_exported = True
                self._exported_bytes += entry.nbytes
            return entry.is_exported

    def _end_export(self, number: int, entry: _Entry) -> None:
        """There are no handles on a result: it may leave the device."""
        with self._lock:
            if entry.is_exported and self._entries.get(number) is entry:
                entry.is_exported = False
                self._exported_bytes -= entry.nbytes

    def release(self) -> None:
        """The task of this thread has ended: what it has read may leave the device."""
        pinned = self._pins.entries
        if not pinned:
            return
        self._pins.entries = []
        with self._lock:
            for entry in pinned:
                entry.pins -= 1
        if self.held_bytes > self.device.limit_bytes:
            self.spill_down_to(self.device.limit_bytes)

    def room_for(self, form: HostForm) -> Any:
        """Return a result that isn't kept here, copied to the device; others leave it if there is no room."""
        return self._arrived(form)[0]

    def _arrived(self, form: HostForm) -> tuple[Any, Action]:
        """Return a result copied to the device, and how it came there."""
        self.spill_down_to(self.device.limit_bytes - form.device_bytes)
        try:
            return self._copied_here(form)
        except BaseException as error:  # of the device's library
            if not self.device.is_out_of_memory(error):
                raise
        self.make_room()
        return self._copied_here(form)

    def _copied_here(self, form: HostForm) -> tuple[Any, Action]:
        value = fetched(form, self.device)
        if value is not None:
            return value, Action.TRANSFER
        return on_device(form, self.device), Action.HOST_TO_DEVICE

    def _pinned(self, number: int) -> _Entry | None:
        with self._lock:
            entry = self._entries.get(number)
            if entry is not None:
                self._entries.move_to_end(number)
                self._pin(entry)
            return entry

    def _pin(self, entry: _Entry) -> None:
        entry.pins += 1
        self._pins.entries.append(entry)

    def _load(self, number: int) -> Any:
        """Return a result of the host's store, or its new entry on the device if it is one of the device's."""
        self._unchanged.add(number)
        try:
            return self._loaded(number)
        finally:
            self._unchanged.discard(number)

    def _loaded(self, number: int) -> Any:
        try:
            form = self.host.get(number)
        except DataLost:
            self._moved.pop(number, None)
            raise
        if not isinstance(form, HostForm):
            return form
        start_s = time.monotonic()
        value, action = self._arrived(form)
        entry = _Entry(value, form.device_bytes)
        self._on_copy(action, number, start_s, time.monotonic(), entry.nbytes)
        with self._lock:
            self._pin(entry)
            if number in self._unchanged and number in self.host:  # else it was dropped, or made again, meanwhile
                self._enter(number, entry)
                entry.is_on_host = not self.host.nbytes(number)
                if not entry.is_on_host:
                    self.host.drop(number)
        return entry

    # Leaving the device

    def make_room(self) -> None:
        """Move all that may move to the host, and give what the allocator keeps back to the device."""
        self.spill_down_to(0)
        self._await_moves()
        self.spill_down_to(0)  # what had no memory to be copied may have it now
        self.device.free_cached()

    def _await_moves(self) -> None:
        """Wait for results that other threads move."""
        own = threading.get_ident()
        with self._lock:
            moves = list(self._moves.values())
        if not any(move.thread == own for move in moves):  # else they may wait for this thread
            for move in moves:
                move.ended.wait(MOVE_BOUND_S)

    def spill_down_to(self, goal_bytes: int, keep: int = -1) -> None:
        """Move the least recently used results, but not `keep`, to the host until those on the device take no more."""
        passed = {keep}
        while (victim := self._choose_victim(goal_bytes, passed)) is not None:
            if not self._move(*victim):
                passed.add(victim[0])

    def _choose_victim(self, goal_bytes: int, passed: Container[int]) -> tuple[int, _Entry] | None:
        with self._lock:
            if self.held_bytes - self._leaving_bytes <= goal_bytes:
                return None
            for number, entry in self._entries.items():
                if number not in passed and number not in self._moves and _may_leave(entry):
                    entry.is_moving = True
                    self._moves[number] = _Move(threading.get_ident(), threading.Event())
                    self._leaving_bytes += entry.nbytes
                    return number, entry
            return None

    def _move(self, number: int, entry: _Entry) -> bool:
        """Move a result to the host, unless it can't be copied, or a task has begun to read it meanwhile.

        Returns False if there is no memory to copy it now: on the host, or on the device, where what isn't contiguous is copied first.
        """
        is_put = False
        try:
            if not entry.is_on_host:
                form = self._copied(number, entry)
                if self._entries.get(number) is entry:
                    self.host.put(number, form, sizeof(form))
                    is_put = True
        except BaseException as error:  # pickling runs the user's code, copying the device's library
            if isinstance(error, MemoryError) or self.device.is_out_of_memory(error):
                return False
            entry.may_move = False
            self._on_refusal(f"{type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._let_go(number, entry, is_put=is_put)
                entry.is_moving = False
                self._moves.pop(number).ended.set()
        return True

    def _let_go(self, number: int, entry: _Entry, *, is_put: bool) -> None:
        """A result was copied to the host, or could not be."""
        self._leaving_bytes -= entry.nbytes
        is_here = self._entries.get(number) is entry
        is_on_host = is_put or entry.is_on_host
        if is_here and is_on_host and not entry.pins:
            self._leave(number, entry)
            entry.value = None  # whoever has the entry in hand keeps no memory by it
            if not entry.is_on_host:
                self._moved[number] = entry.nbytes
        elif is_put and not entry.is_on_host:
            self.host.drop(number)

    def _copied(self, number: int, entry: _Entry, *, exports: bool = False) -> HostForm:
        start_s = time.monotonic()
        form = on_host(entry.value, self.device, exports=exports)
        self._on_copy(Action.DEVICE_TO_HOST, number, start_s, time.monotonic(), entry.nbytes)
        return form

    def _wait_until_still(self, number: int) -> None:
        """Wait for the thread that moves a result, so that what it does isn't taken for the next of this number."""
        with self._lock:
            move = self._moves.get(number)
        if move is not None and move.thread != threading.get_ident():
            move.ended.wait(MOVE_BOUND_S)

    # The account; call these with the lock held

    def _enter(self, number: int, entry: _Entry) -> None:
        self._moved.pop(number, None)
        self._entries[number] = entry
        self.held_bytes += entry.nbytes

    def _leave(self, number: int, entry: _Entry) -> None:
        del self._entries[number]
        self.held_bytes -= entry.nbytes
        self._exported_bytes -= entry.nbytes if entry.is_exported else 0

    def _forget(self, number: int) -> None:
        self._unchanged.discard(number)
        self._moved.pop(number, None)
        entry = self._entries.get(number)
        if entry is not None:
            self._leave(number, entry)


def _may_leave(entry: _Entry) -> bool:
    return entry.may_move and not entry.is_exported and not entry.pins and not entry.is_moving


Results = Store | DeviceStore
"""Where a worker keeps its results."""
