"""A worker's store beside books of the test's own, with faults at every write, read and removal."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from glassloom.errors import DataLost, SerialisationError
from glassloom.store import spill_batch, spill_file, store
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from long_tests import LONG_TESTS

pytestmark = pytest.mark.more

KIB = 1024
TARGET = 512 * KIB


class Unloadable:
    """Pickles, but doesn't unpickle."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __setstate__(self, state: Any) -> None:
        raise ValueError("it can't come back")


class RaisesExit:
    """Ends the process if it is pickled without a guard."""

    def __reduce__(self) -> Any:
        raise SystemExit(1)


FAULTS = {
    "open to write": [(spill_file, "open"), (spill_batch, "open")],
    "write": [(os, "write")],
    "open to read": [(spill_file, "open_own_file"), (spill_batch, "open_own_file")],
    "read": [(os, "pread")],
    "unlink": [(os, "unlink")],
}


@contextmanager
def fault_at(what: str, position: int) -> Iterator[None]:
    """Let the calls of a kind fail from this one on; 0: the first."""
    left = position

    def patched(function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return function(*args, **kwargs)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for module, name in FAULTS.get(what, []):
            patch.setattr(module, name, patched(getattr(module, name, open)), raising=False)
        yield


faults = st.tuples(st.sampled_from(["none", "none", *FAULTS]), st.integers(0, 2))


class StoreMachine(RuleBasedStateMachine):
    """Puts, gets, shares and drops results of all kinds."""

    @initialize(codec=st.sampled_from([None, "lz4"]))
    def start(self, codec: str | None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gl-store-"))
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(store, "RETRY_FULL_DISK_S", 0.0)
        self.patch.setattr(store, "BATCH_BYTES", 128 * KIB)
        self.store = store.Store(TARGET, str(self.folder), lambda *_: None, codec=codec)
        self.values: dict[int, Any] = {}
        self.sizes: dict[int, int] = {}

    @rule(
        number=st.integers(0, 30),
        kind=st.sampled_from(["tiny", "small", "small", "small", "large", "lock", "exit", "unloadable"]),
        fault=faults,
    )
    def put(self, number: int, kind: str, fault: tuple[str, int]) -> None:
        size = {"tiny": 100, "large": 100 * KIB}.get(kind, 5 * KIB + 1500 * number)
        makers = {
            "lock": lambda: [threading.Lock()],
            "exit": RaisesExit,
            "unloadable": lambda: Unloadable(number),
            "large": lambda: np.full(size // 8, float(number)),
        }
        value = makers.get(kind, lambda: bytes([number]) * size)()
        self.values[number], self.sizes[number] = value, size
        with fault_at(*fault):
            self.store.put(number, value, size)

    @precondition(lambda self: self.values)
    @rule(data=st.data(), fault=faults)
    def get(self, data: st.DataObject, fault: tuple[str, int]) -> None:
        number = data.draw(st.sampled_from(sorted(self.values)))
        was_in_memory = self.store._entries[number].value is not store._ABSENT
        with fault_at(*fault):
            try:
                value = self.store.get(number)
            except DataLost:
                assert not was_in_memory
                assert fault[0] in ("open to read", "read")
                assert number not in self.store
                del self.values[number], self.sizes[number]
                return
            except SerialisationError:
                assert isinstance(self.values[number], Unloadable)
                return
        assert type(value) is type(self.values[number])
        if isinstance(value, np.ndarray):
            assert np.array_equal(value, self.values[number])
        elif isinstance(value, bytes):
            assert value == self.values[number]

    @precondition(lambda self: self.values)
    @rule(data=st.data(), fault=faults)
    def drop(self, data: st.DataObject, fault: tuple[str, int]) -> None:
        number = data.draw(st.sampled_from(sorted(self.values)))
        with fault_at(*fault):
            self.store.drop(number)
        del self.values[number], self.sizes[number]
        with pytest.raises(KeyError, match=str(number)):
            self.store.get(number)

    @rule(keep=st.integers(2, 9), goal_kib=st.integers(0, 100), fault=faults)
    def fill_spill_and_drop_most(self, keep: int, goal_kib: int, fault: tuple[str, int]) -> None:
        for number in range(31):
            self.values[number], self.sizes[number] = bytes([number]) * 7000, 7000
            self.store.put(number, self.values[number], 7000)
        self.store.spill_down_to(goal_kib * KIB)
        for number in range(31):
            if number % keep:
                self.store.drop(number)
                del self.values[number], self.sizes[number]
        self.compact(fault)

    @precondition(lambda self: self.values)
    @rule(data=st.data())
    def share(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.values)))
        self.store.replace(number, self.values[number])
        self.sizes[number] = 0

    @rule(goal_kib=st.integers(0, 512), fault=faults)
    def spill(self, goal_kib: int, fault: tuple[str, int]) -> None:
        with fault_at(*fault):
            self.store.spill_down_to(goal_kib * KIB)
        if fault[0] in ("none", "unlink", "read", "open to read"):
            unspillable = sum(e.nbytes for e in self.store._entries.values() if not e.may_spill)
            assert self.store.managed_bytes <= goal_kib * KIB + unspillable

    @rule(fault=faults)
    def compact(self, fault: tuple[str, int]) -> None:
        with fault_at(*fault):
            self.store.compact()
        if fault[0] == "none":
            assert not self.store._sparse

    @invariant()
    def books_are_right(self) -> None:
        if not hasattr(self, "store"):
            return
        entries = self.store._entries
        absent = {n: e for n, e in entries.items() if e.value is store._ABSENT}
        assert {number: entry.nbytes for number, entry in entries.items()} == self.sizes
        assert self.store.spilled_bytes == sum(entry.nbytes for entry in absent.values())
        assert self.store.managed_bytes == sum(self.sizes.values()) - self.store.spilled_bytes
        assert self.store._recent_bytes == self.store.spillable_bytes
        assert self.store._recent_bytes == sum(entry.nbytes for entry in self.store._recent.values())
        assert self.store._leaving_bytes == 0
        assert not any(entry.is_spilling or entry.reading for entry in entries.values())
        assert self.store._recent == {n: e for n, e in entries.items() if e.may_spill and n not in absent}
        assert self.store._spare == {n: e for n, e in self.store._recent.items() if e.copy is not None}

    @invariant()
    def files_are_those_of_the_copies(self) -> None:
        if not hasattr(self, "store"):
            return
        copies = [entry.copy for entry in self.store._entries.values() if entry.copy is not None]
        paths = {copy.file.path if isinstance(copy, spill_batch.BatchCopy) else copy.path for copy in copies}
        assert {str(path) for path in self.folder.iterdir()} == paths | set(self.store._unremoved)
        for file, entries in self.store._batches.items():
            held = [entry.copy.stored for entry in entries.values()]  # type: ignore[union-attr]
            assert (file.n_live, file.live_bytes) == (len(held), sum(held))

    def teardown(self) -> None:
        if hasattr(self, "store"):
            for number in list(self.values):
                self.store.drop(number)
            self.store._remove(str(self.folder / "none"))
            left = (
                self.store.managed_bytes,
                self.store.spilled_bytes,
                list(self.folder.iterdir()),
                self.store._batches,
            )
            shutil.rmtree(self.folder)
            self.patch.undo()
            assert left == (0, 0, [], {})


StoreMachine.TestCase.settings = settings(
    max_examples=600 if LONG_TESTS else 40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestStoreMachine = StoreMachine.TestCase
