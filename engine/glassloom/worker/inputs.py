"""What a task of this worker is given: the calls that it knows, and the results that tasks here read."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from glassloom.backends.sharing import read_only_view
from glassloom.devices.values import HostForm, device_bytes, on_any_device
from glassloom.errors import DataLost, SerialisationError
from glassloom.protocol.calls import Call
from glassloom.protocol.clock import monotonic_s
from glassloom.protocol.pickled_futures import may_have_futures
from glassloom.scheduler import MAX_QUEUED
from glassloom.store.device_store import DeviceStore, Results
from glassloom.store.packed_file import Packed
from glassloom.store.pickling import loads_result
from glassloom.store.segment import Location, Segment, load_parts
from glassloom.worker.lane_results import LaneColumns, LaneResults


class InputLost(Exception):
    """A task can't begin: an input is gone, which only this worker had, or which every process reads at `location`."""

    def __init__(self, number: int, reason: str, location: Location | None = None) -> None:
        super().__init__(reason)
        self.number = number
        self.location = location


class CallTable:
    """The calls that tasks of this worker use, by number. Each is unpickled by the first task that uses it."""

    def __init__(self) -> None:
        self.loaded: dict[int, Call] = {}
        """Those that a task has used."""
        self._code: dict[int, bytes] = {}

    def add(self, calls: Mapping[int, bytes]) -> None:
        """Take calls that the head has sent."""
        self._code.update(calls)

    def drop(self, numbers: Iterable[int]) -> None:
        """Forget calls that no task will use any more."""
        for number in numbers:
            self._code.pop(number, None)
            self.loaded.pop(number, None)

    def unload(self) -> None:
        """Have all calls unpickled once more: what they refer to may be another by now."""
        self.loaded.clear()

    def load(self, number: int) -> Call:
        """Unpickle a call and return it. Runs the user's code: whatever that raises is raised.

        A call with futures is unpickled anew for each task, so that none of its futures outlives its task here.
        """
        code = self._code[number]
        call = Call(code)
        if not may_have_futures(code):
            self.loaded[number] = call
        return call


class RecentResults:
    """Small results, pickled, that have left with their messages: for tasks that were sent before those arrived.

    The head sends a task ahead only of tasks that it takes to be unfinished, and no worker has more than `MAX_QUEUED` of
    those, so the results of twice as many are enough.

    Attributes
    ----------
    unsent
        Those of tasks in slices that have not left yet.
    """

    def __init__(self) -> None:
        self.unsent: list[LaneResults] = []
        self._batches: deque[tuple[list[int], list[bytes | None]]] = deque()
        self._n_in_batches = 0
        self._lock = threading.Lock()
        self._new: dict[int, bytes] = {}
        self._old: dict[int, bytes] = {}

    def put(self, number: int, pickled: bytes) -> None:
        """Keep a result for a while."""
        self._new[number] = pickled
        if len(self._new) > 2 * MAX_QUEUED:
            with self._lock:
                if len(self._new) > 2 * MAX_QUEUED:
                    self._old, self._new = self._new, {}

    def take(self, lane: LaneResults) -> LaneColumns:
        """Take the results of a lane, which are about to leave, and keep them for a while."""
        with self._lock:
            columns = lane.take()
            self._batches.append((columns.numbers, columns.results))
            self._n_in_batches += len(columns.numbers)
            while self._n_in_batches - len(self._batches[0][0]) > 2 * MAX_QUEUED:
                self._n_in_batches -= len(self._batches.popleft()[0])
            return columns

    def get(self, number: int) -> bytes | None:
        """Return a result; None if it isn't here any more."""
        return self._new.get(number) or self._old.get(number) or self._find(number)

    def _find(self, number: int) -> bytes | None:
        """Look through the results of tasks in slices."""
        with self._lock:
            for lane in self.unsent:
                if number in lane.numbers:
                    return lane.results[lane.numbers.index(number)]
            batches = (results[numbers.index(number)] for numbers, results in self._batches if number in numbers)
            return next(batches, None)


NoteRead = Callable[[int, float, float, int], None]
"""Told of each result that was read from a file: the task's number, when that began and ended, and how many bytes it has."""


class Inputs:
    """Reads the inputs of tasks: from this worker's store, from shared memory, or out of the message."""

    def __init__(self, store: Results, recent: RecentResults, note_read: NoteRead) -> None:
        self._store = store
        self._recent = recent
        self._note_read = note_read
        self._mapped: dict[int, Any] = {}
        """Results of others that were read here, until the head says that they are dropped."""

    def drop(self, number: int) -> None:
        """Forget a result that no task will read any more."""
        self._mapped.pop(number, None)

    def read(self, deps: Sequence[tuple[int, Location | None]]) -> tuple[list[Any], float, float]:
        """Return the values of a task's dependencies, and how long it took to get and to unpickle them.

        Unpickling runs the user's code.

        Raises
        ------
        InputLost
            If one of them is gone.
        SerialisationError
            If one of them can't be unpickled.
        """
        begun_s, timer = monotonic_s(), _Timer()
        try:
            values = [read_only_view(self._value(number, location, timer)) for number, location in deps]
            return values, monotonic_s() - begun_s - timer.unpickling_s, timer.unpickling_s
        except SerialisationError as error:
            raise SerialisationError(f"an input of this task can't be read: {error}") from error.__cause__

    def _value(self, number: int, location: Location | None, timer: _Timer) -> Any:
        if location is None or (isinstance(self._store, DeviceStore) and number in self._store):
            return self._local(number, timer)
        try:
            if isinstance(location, bytes):
                return self._passing(timer.unpickle(location))
            if isinstance(location, Packed):
                return self._passing(self._load(number, location, timer))
            if number not in self._mapped:
                return self._kept(number, self._load(number, location, timer))
        except DataLost as error:
            raise InputLost(number, str(error), location) from None
        return self._mapped[number]

    def _kept(self, number: int, value: Any) -> Any:
        """Return a result that was read from shared memory, and keep it for further tasks: on the device if it is of one."""
        store = self._store
        if not isinstance(store, DeviceStore):
            value = on_any_device(value) if isinstance(value, HostForm) else value
        elif isinstance(value, HostForm):
            store.put_shared(number, value)
            return store.get(number)
        elif device_bytes(value, store.device):  # a client has sent it, and unpickling has put it on the device
            store.put(number, value, 0)
            return store.get(number)
        self._mapped[number] = value
        return value

    def _passing(self, value: Any) -> Any:
        """Return a small result that isn't kept, on the device if it is of one."""
        if not isinstance(value, HostForm):
            return value
        return self._store.room_for(value) if isinstance(self._store, DeviceStore) else on_any_device(value)

    def _load(self, number: int, location: Segment | Packed, timer: _Timer) -> Any:
        begun_s = monotonic_s()
        value = timer.unpickle(*load_parts(location))
        self._note_read(number, begun_s, monotonic_s(), location.nbytes)
        return value

    def _local(self, number: int, timer: _Timer) -> Any:
        try:
            return self._store.get(number)
        except KeyError:
            inline = self._recent.get(number)
            if inline is not None:
                return timer.unpickle(inline)
            raise InputLost(number, "it isn't in this worker's memory") from None
        except DataLost as error:
            raise InputLost(number, str(error)) from None


class _Timer:
    """How long unpickling the inputs of one task has taken."""

    __slots__ = ("unpickling_s",)

    def __init__(self) -> None:
        self.unpickling_s = 0.0

    def unpickle(self, data: bytes | memoryview, buffers: Sequence[memoryview] = ()) -> Any:
        """Unpickle a result; see `loads_result`."""
        begun_s = monotonic_s()
        value = loads_result(data, buffers)
        self.unpickling_s += monotonic_s() - begun_s
        return value
