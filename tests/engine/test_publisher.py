"""The thread that writes results for others: what is dropped meanwhile, and who waits for it meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_helpers import eventually
from glassloom import Client, wait
from glassloom._supervision import start_thread
from glassloom.protocol import messages
from glassloom.store.segment import SegmentWriter, read_location
from glassloom.store.store import Store
from glassloom.worker.publisher import Publisher


class Held:
    """A result whose pickling waits until it is let go."""

    pickling = threading.Event()
    go_on = threading.Event()

    def __reduce__(self) -> Any:
        Held.pickling.set()
        assert Held.go_on.wait(60)
        return (np.ones, (10_000,), {})


class Setup:
    """A publisher that sends into a list."""

    def __init__(self, folder: Path) -> None:
        self.sent: list[Any] = []
        self.store = Store(None, str(folder), lambda *_: None)
        self.segments = SegmentWriter("p-", str(folder), "w")
        self.publisher = Publisher(self.store, self.segments, self)  # type: ignore[arg-type]

    def send_all(self, batch: list[messages.FromWorker]) -> None:
        self.sent.extend(batch)

    def drop(self, number: int) -> None:
        self.publisher.drop(number)
        self.store.drop(number)


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Setup]:
    (tmp_path / "shm").mkdir()
    monkeypatch.setattr("glassloom.store.segment.SHARED_MEMORY_DIR", tmp_path / "shm")
    Held.pickling.clear()
    Held.go_on.clear()
    yield Setup(tmp_path)
    Held.go_on.set()


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("p-*") if path.is_file()]


def test_results_are_published_in_order_and_replaced_by_views(setup: Setup) -> None:
    for number in (3, 1, 2):
        setup.store.put(number, np.full(10_000, float(number)), 80_000)
    setup.publisher.publish([3, 1], on_disk=False)
    setup.publisher.publish([2], on_disk=True)
    for _ in range(3):
        setup.publisher.step()
    assert [message.number for message in setup.sent] == [3, 1, 2]
    assert ["/shm/" in message.location.path for message in setup.sent] == [True, True, False]
    assert [read_location(message.location)[0] for message in setup.sent] == [3.0, 1.0, 2.0]
    assert setup.store.managed_bytes == 0


def test_what_was_dropped_before_is_not_published(setup: Setup) -> None:
    for number in (1, 2):
        setup.store.put(number, np.ones(10_000), 80_000)
    setup.publisher.publish([1, 2], on_disk=False)
    setup.drop(1)
    setup.publisher.step()
    assert [message.number for message in setup.sent] == [2]


def test_what_is_dropped_while_it_is_written_is_removed_and_not_told(setup: Setup, tmp_path: Path) -> None:
    setup.store.put(1, [Held(), np.ones(10_000)], 80_000)
    setup.publisher.publish([1], on_disk=False)
    crashes: list[Any] = []
    thread = start_thread("publisher", setup.publisher.step, on_crash=crashes.append)
    assert Held.pickling.wait(60)
    setup.drop(1)
    Held.go_on.set()
    thread.join(60)
    assert (setup.sent, files(tmp_path), crashes) == ([], [], [])


def test_what_is_made_and_asked_for_again_while_the_old_one_is_written_is_published(
    setup: Setup, tmp_path: Path
) -> None:
    setup.store.put(1, [Held(), np.ones(10_000)], 80_000)
    setup.publisher.publish([1], on_disk=False)
    crashes: list[Any] = []
    thread = start_thread("publisher", setup.publisher.step, on_crash=crashes.append)
    assert Held.pickling.wait(60)
    setup.drop(1)
    setup.store.put(1, np.full(10_000, 7.0), 80_000)
    setup.publisher.publish([1], on_disk=False)
    Held.go_on.set()
    thread.join(60)
    setup.publisher.step()
    (message,) = setup.sent
    assert read_location(message.location)[0] == 7.0
    assert ([str(path) for path in files(tmp_path)], crashes) == ([message.location.path], [])


def test_small_results_are_announced_together(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassloom.worker.publisher.BATCH_S", 10.0**9)
    batches: list[list[int]] = []
    monkeypatch.setattr(setup, "send_all", lambda batch: batches.append([message.number for message in batch]))
    for number in range(4):
        setup.store.put(number, {"a": number}, 200)
    setup.publisher.publish(range(4), on_disk=False)
    setup.publisher.step()
    setup.publisher.step()
    setup.drop(0)
    setup.drop(3)
    assert batches == []
    setup.publisher.step()
    assert batches == [[1, 2]]


def test_small_results_do_not_wait_for_large_ones(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassloom.worker.publisher.BATCH_S", 10.0**9)
    setup.store.put(1, {"a": 1}, 200)
    setup.store.put(2, [Held(), np.ones(10_000)], 2**21)
    setup.publisher.publish([1, 2], on_disk=False)
    setup.publisher.step()
    assert setup.sent == []
    crashes: list[Any] = []
    thread = start_thread("publisher", setup.publisher.step, on_crash=crashes.append)
    assert Held.pickling.wait(60)
    assert [message.number for message in setup.sent] == [1]
    Held.go_on.set()
    thread.join(60)
    assert [message.number for message in setup.sent] == [1, 2]


def test_a_result_that_is_gone_or_was_never_there_is_passed_over(setup: Setup) -> None:
    setup.publisher.publish([9], on_disk=False)
    setup.publisher.step()
    assert setup.sent == []


class SlowToPickle:
    """Pickles once a file is there."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        eventually(Path(self.path).exists)
        return (SlowToPickle, (self.path,))


def test_a_result_that_takes_long_to_write_keeps_its_worker_from_nothing(client: Client, tmp_path: Path) -> None:
    slow = client.submit(SlowToPickle, str(tmp_path / "go"), pure=False)
    wait(slow)
    (where,) = client.who_has([slow])[slow.key]
    callback_is_called = threading.Event()
    reader = threading.Thread(target=lambda: (slow.result(timeout=60), callback_is_called.set()))
    reader.start()
    try:
        others = [client.submit(pow, number, 2, workers=[where], pure=False) for number in range(20)]
        assert client.gather(others) == [number**2 for number in range(20)]
        assert not callback_is_called.is_set()
    finally:
        (tmp_path / "go").touch()
        reader.join(60)
    assert callback_is_called.is_set()
