"""A store with a device, whatever is asked of it in whichever order."""

from __future__ import annotations

import contextlib
import gc
import shutil
import tempfile
import threading
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from device_books import CHUNK, LIMIT, Books, chunk
from glassloom.backends.simulated_ import ALIGNMENT, SimulatedArray, SimulatedOutOfMemory, set_memory, xp
from glassloom.devices.values import HostForm
from glassloom_metrics.protocol import Action
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from long_tests import LONG_TESTS, examples

KINDS = ("chunk", "chunk", "pair", "host", "small", "refused")
BYTES = {"chunk": CHUNK, "pair": 2 * CHUNK, "host": 0, "small": ALIGNMENT, "refused": ALIGNMENT}
"""Of the device."""


class DeviceStoreMachine(RuleBasedStateMachine):
    """Puts, reads, shares and drops results; the device's bytes always add up, and no value is lost."""

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gl-device-"))
        self.books = Books(self.folder)
        self.values: dict[int, Any] = {}
        self.shared: set[int] = set()
        self.pinned: set[int] = set()
        self.hogs: list[Any] = []

    @rule(number=st.integers(0, 30), kind=st.sampled_from(KINDS))
    def put(self, number: int, kind: str) -> None:
        try:
            value: Any = chunk(number) if kind != "host" else bytes([number]) * CHUNK
            if kind == "pair":
                value = (value, "of", chunk(number))
            elif kind == "small":
                value = value[:4].copy()
            elif kind == "refused":
                value = (value[:4].copy(), threading.Lock())
        except SimulatedOutOfMemory:
            self.books.store.make_room()
            return
        self.books.store.put(number, value, CHUNK)
        self.values[number] = kind
        self.shared.discard(number)
        self.pinned.discard(number)

    @precondition(lambda self: self.values)
    @rule(pick=st.integers(0, 99))
    def read(self, pick: int) -> None:
        number = self.picked(pick)
        try:
            value = self.books.store.get(number)
        except SimulatedOutOfMemory:
            return  # tasks and what else there is take too much; the value is still there
        self.pinned.add(number)
        self.check(number, value)

    @rule()
    def end_task(self) -> None:
        self.books.store.release()
        self.pinned.clear()

    @precondition(lambda self: self.values)
    @rule(pick=st.integers(0, 99))
    def share(self, pick: int) -> None:
        number = self.picked(pick)
        if self.values[number] != "refused":
            form = self.books.store.get_on_host(number)
            if isinstance(form, HostForm):
                self.books.store.replace(number, form)
                self.shared.add(number)

    @precondition(lambda self: self.values)
    @rule(pick=st.integers(0, 99))
    def drop(self, pick: int) -> None:
        number = self.picked(pick)
        self.books.store.drop(number)
        del self.values[number]
        self.pinned.discard(number)
        self.shared.discard(number)
        assert number not in self.books.store

    @rule(goal=st.integers(0, 10))
    def spill(self, goal: int) -> None:
        self.books.store.spill_down_to(goal * CHUNK)

    @rule(chunks=st.integers(0, 2))
    def let_another_process_take(self, chunks: int) -> None:
        self.books.device.other_bytes = chunks * CHUNK

    @rule(chunks=st.integers(0, 4))
    def hold_something_else(self, chunks: int) -> None:
        self.hogs.clear()
        try:
            self.hogs.append(xp.zeros(chunks * CHUNK // 8))
        except SimulatedOutOfMemory:
            self.books.store.make_room()

    def picked(self, pick: int) -> int:
        """Return one of the results that there are."""
        return sorted(self.values)[pick % len(self.values)]

    def check(self, number: int, value: Any) -> None:
        kind = self.values[number]
        if kind == "host":
            assert value == bytes([number]) * CHUNK
            return
        array = value if kind in ("chunk", "small") else value[0]
        assert isinstance(array, SimulatedArray)
        assert array.get()[0] == float(number)

    @invariant()
    def the_bytes_add_up(self) -> None:
        if not hasattr(self, "books"):
            return
        store, account = self.books.store, self.books.store.account()
        entries = store._entries
        assert account.held_bytes == sum(entry.nbytes for entry in entries.values())
        assert account.moved_bytes == sum(store._moved.values())
        assert not set(entries) & set(store._moved)
        assert set(self.values) == {n for n in range(31) if n in store}
        fixed = sum(entry.nbytes for entry in entries.values() if entry.pins or not entry.may_move)
        assert account.held_bytes <= max(LIMIT, fixed) + 2 * CHUNK
        device = self.books.device
        assert account.other_bytes == device.other_bytes
        assert account.pool_bytes + account.other_bytes + device.free() == device.total_bytes
        assert account.used_bytes <= account.pool_bytes
        # What isn't on the device has moved, but what shared memory has: no byte is lost, and none counts twice.
        here = sum(BYTES[kind] for n, kind in self.values.items() if n not in self.shared or n in entries)
        assert account.held_bytes + account.moved_bytes == here
        hogs = sum(hog.device_bytes for hog in self.hogs)
        assert account.used_bytes >= hogs
        for n, entry in entries.items():
            assert (n in store.host) == entry.is_on_host

    def teardown(self) -> None:
        if hasattr(self, "books"):
            self.books.store.release()
            for number in list(self.values):
                self.check_at_end(number)
                self.books.store.release()
                self.books.store.drop(number)
            self.hogs.clear()
            gc.collect()
            assert self.books.device.used() == 0
            assert self.books.store.held_bytes == 0
            assert self.books.host.managed_bytes == 0
            ways = {"device to host": Action.DEVICE_TO_HOST, "host to device": Action.HOST_TO_DEVICE,
                    "host to disk": Action.SPILL_WRITE, "disk to host": Action.SPILL_READ}  # fmt: skip
            told = Counter(action for action, _, _ in self.books.events)
            assert self.books.logged() == {way: told[action] for way, action in ways.items() if told[action]}
            shutil.rmtree(self.folder)
            set_memory(None)

    def check_at_end(self, number: int) -> None:
        self.hogs.clear()
        self.check(number, self.books.store.get(number))


TestDeviceStore = DeviceStoreMachine.TestCase
TestDeviceStore.settings = settings(
    max_examples=examples(60), stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.more
@pytest.mark.parametrize("seed", range(10 if LONG_TESTS else 1))
def test_many_operations_in_a_row_lose_no_byte(seed: int) -> None:
    random, machine = Random(seed), DeviceStoreMachine()
    machine.start()
    for _ in range(10_000 if LONG_TESTS else 1_000):
        pick, step = random.randrange(100), random.random()
        if step < 0.3 or not machine.values:
            machine.put(number=random.randrange(31), kind=random.choice(KINDS))
        elif step < 0.6:
            machine.read(pick=pick)
        elif step < 0.75:
            machine.end_task()
        elif step < 0.85:
            machine.drop(pick=pick)
        elif step < 0.9:
            machine.share(pick=pick)
        elif step < 0.95:
            machine.spill(goal=random.randrange(11))
        elif step < 0.975:
            machine.let_another_process_take(chunks=random.randrange(3))
        else:
            machine.hold_something_else(chunks=random.randrange(5))
        machine.the_bytes_add_up()
    machine.teardown()


def test_threads_that_put_read_and_drop_at_once_lose_no_byte(tmp_path: Path) -> None:
    books = Books(tmp_path, None)
    failures: list[BaseException] = []

    def work(thread: int) -> None:
        random = Random(thread)
        try:
            for step in range(100):
                number = 100 * thread + step
                books.store.put(number, chunk(number), CHUNK)
                shared = random.randrange(50)
                if books.store.get(number).get()[0] != number:
                    raise AssertionError(f"result {number} isn't what was put")
                books.store.release()
                with contextlib.suppress(KeyError):
                    books.store.get(shared)
                books.store.release()
                if step % 3:
                    books.store.drop(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    account = books.store.account()
    assert account.held_bytes + account.moved_bytes == 4 * 34 * CHUNK
    assert account.held_bytes <= LIMIT
    assert books.store._leaving_bytes == 0
    gc.collect()
    assert account.held_bytes == books.device.used()
    set_memory(None)
