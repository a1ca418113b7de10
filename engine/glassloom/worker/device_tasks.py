"""`DeviceTasks`: runs tasks of a worker that has a device; what runs out of its memory there is tried once more, alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from glassloom.errors import DeviceOutOfMemory
from glassloom.protocol import failure
from glassloom.protocol.failure import Failure
from glassloom.protocol.messages import RunTask
from glassloom.store.device_store import DeviceStore
from glassloom.units import format_bytes
from glassloom.worker.inputs import CallTable, Inputs
from glassloom.worker.user_code import Outcome, run_user_code

ALONE_BOUND_S = 60.0
"""How long a task that shall run alone waits for others to end; then it runs beside them, as they may wait for it."""


class DeviceTasks:
    """Runs tasks on the device of this process, and releases what they have read when they have ended."""

    def __init__(self, store: DeviceStore) -> None:
        self._store = store
        self._changed = threading.Condition()
        self._running: set[int] = set()
        """Threads with a task that runs and doesn't wait for others."""
        self._is_alone = False

    def run(self, task: RunTask, calls: CallTable, inputs: Inputs) -> Outcome:
        """Run a task and return what came of it. Never raises."""
        device = self._store.device
        with self._beside_others():
            outcome = run_user_code(task, calls, inputs, device)
            self._store.release()
        if not outcome.is_out_of_device_memory:
            return outcome
        first = outcome.failure
        with self._alone():
            self._store.make_room()
            outcome = run_user_code(task, calls, inputs, device)
            self._store.release()
            if outcome.is_out_of_device_memory and outcome.failure is not None:
                outcome.failure = self._explained(outcome.failure, first)
        return outcome

    def leave(self) -> None:
        """The task of this thread waits for others, and doesn't count as running meanwhile."""
        with self._changed:
            self._running.discard(threading.get_ident())
            self._changed.notify_all()

    def come_back(self) -> None:
        """The task of this thread goes on."""
        with self._changed:
            self._running.add(threading.get_ident())

    @contextmanager
    def _beside_others(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_alone, ALONE_BOUND_S)
            self._running.add(threading.get_ident())
        try:
            yield
        finally:
            self.leave()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_alone, ALONE_BOUND_S)
            self._is_alone = True
            self._changed.wait_for(lambda: not self._running, ALONE_BOUND_S)
            self._running.add(threading.get_ident())
        try:
            yield
        finally:
            with self._changed:
                self._is_alone = False
            self.leave()

    def _explained(self, last: Failure, first: Failure | None) -> Failure:
        account = self._store.account()
        device = self._store.device
        text = (
            f"this task ran out of memory on {device.identity.name} ({format_bytes(device.total_bytes)}) twice, the second time "
            f"alone, when everything that it doesn't read had moved to the host: {failure.first_line(last)}. Its worker's results "
            f"hold {format_bytes(account.held_bytes)} there, its allocator {format_bytes(account.pool_bytes)}, other processes "
            f"{format_bytes(account.other_bytes)}. Let it work on less at once: smaller chunks or partitions"
        )
        trace = last.traceback or (first.traceback if first is not None else "")
        return msgspec.structs.replace(failure.own_failure(DeviceOutOfMemory(text)), traceback=trace)
