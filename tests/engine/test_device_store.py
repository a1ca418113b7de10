"""A worker's results on a simulated device, the host and disk, beside books of the test's own."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_books import CHUNK, LIMIT, Books, chunk
from glassloom.backends.simulated_ import SimulatedArray, SimulatedOutOfMemory, set_memory, xp
from glassloom.dataframe.moving.exchange import Pieces
from glassloom.devices.values import HostForm, device_bytes, on_device, on_host
from glassloom.errors import NoDevice
from glassloom.store import device_store
from glassloom.store.device_store import DeviceStore
from glassloom.store.store import Store
from glassloom_metrics.protocol import Action


@pytest.fixture
def books(tmp_path: Path) -> Iterator[Books]:
    made = Books(tmp_path)
    yield made
    del made.store
    set_memory(None)


def on_the_device(books: Books) -> list[int]:
    return list(books.store._entries)


def test_the_least_recently_used_results_move_to_the_host_and_from_there_to_disk(books: Books) -> None:
    books.put(*range(10))
    assert books.events == []
    books.store.get(0)
    books.store.release()
    books.put(10, 11)
    assert on_the_device(books) == [*range(3, 10), 0, 10, 11]
    assert books.events == [(Action.DEVICE_TO_HOST, 1, CHUNK), (Action.DEVICE_TO_HOST, 2, CHUNK)]
    books.put(*range(12, 18))
    assert Action.SPILL_WRITE in {action for action, _, _ in books.events}
    assert books.host.managed_bytes <= 5 * CHUNK
    account = books.store.account()
    assert (account.held_bytes, account.used_bytes, account.moved_bytes) == (LIMIT, LIMIT, 8 * CHUNK)


def test_what_has_moved_comes_back_when_it_is_read(books: Books) -> None:
    books.put(*range(18))
    found = books.store.get(1)
    assert isinstance(found, SimulatedArray)
    assert found.get().tolist() == [1.0] * (CHUNK // 8)
    assert 1 not in books.host
    assert [action for action, number, _ in books.events if number == 1] == [
        Action.DEVICE_TO_HOST,
        Action.SPILL_READ,
        Action.HOST_TO_DEVICE,
    ]


def test_what_a_task_reads_stays_until_the_task_has_ended(books: Books) -> None:
    books.put(*range(10))
    for number in range(4):
        books.store.get(number)
    books.put(*range(10, 16))
    books.store.make_room()
    assert on_the_device(books) == [0, 1, 2, 3]
    books.store.release()
    books.store.make_room()
    assert on_the_device(books) == []


def test_pinned_results_may_pass_the_limit_and_leave_after_their_task(books: Books) -> None:
    books.put(*range(10))
    for number in range(10):
        books.store.get(number)
    books.put(10)
    assert books.store.held_bytes == LIMIT + CHUNK, "no more than the one result that has just come"
    books.store.release()
    assert books.store.held_bytes <= LIMIT


def test_several_threads_pin_what_their_own_tasks_read(books: Books) -> None:
    books.put(0)
    has_read, may_end = threading.Event(), threading.Event()

    def task() -> None:
        books.store.get(0)
        has_read.set()
        may_end.wait()
        books.store.release()

    thread = threading.Thread(target=task)
    thread.start()
    has_read.wait()
    books.store.release()
    books.store.make_room()
    assert on_the_device(books) == [0]
    may_end.set()
    thread.join()
    books.store.make_room()
    assert on_the_device(books) == []


def test_containers_of_arrays_move_as_one_and_each_array_once(books: Books) -> None:
    x, y = chunk(1), chunk(2)
    books.store.put(0, {"x": x, "both": (x, [y, "text"])}, 1)
    assert books.store.nbytes(0) == 2 * CHUNK
    del x, y
    books.store.make_room()
    gc.collect()
    assert books.device.used() == 0
    back = books.store.get(0)
    assert back["both"][0] is back["x"]
    assert back["both"][1][0].get()[0] == 2.0
    assert back["both"][1][1] == "text"


def test_pieces_of_an_exchange_count_and_move_as_the_frame_that_they_are_of(books: Books) -> None:
    books.store.put(0, Pieces(chunk(1), np.array([0, 3, 5])), 1)
    assert books.store.nbytes(0) == CHUNK
    books.store.make_room()
    gc.collect()
    assert books.device.used() == 0
    back = books.store.get(0)
    assert (back.frame.get()[0], back.bounds.tolist()) == (1.0, [0, 3, 5])


def test_results_that_are_not_the_devices_go_to_the_host(books: Books) -> None:
    books.store.put(0, "text", 1000)
    books.store.put(1, np.ones(1000), 8000)
    assert on_the_device(books) == []
    assert books.host.managed_bytes == 9000
    assert books.store.get(1).sum() == 1000.0
    assert books.store.nbytes(1) == 8000


def test_what_cant_be_pickled_stays_on_the_device(books: Books) -> None:
    books.store.put(0, (chunk(0), threading.Lock()), CHUNK)
    books.put(*range(1, 11))
    assert 0 in on_the_device(books)
    assert len(books.refusals) == 1
    assert "cannot pickle '_thread.lock' object" in books.refusals[0]
    assert books.store.account().movable_bytes == 9 * CHUNK


def test_a_result_in_shared_memory_leaves_the_device_without_a_copy(books: Books) -> None:
    books.put(0)
    form = books.store.get_on_host(0)
    assert isinstance(form, HostForm)
    books.store.replace(0, form)
    books.events.clear()
    books.store.make_room()
    assert on_the_device(books) == []
    assert books.events == []
    assert books.store.get_on_host(0) is form
    assert books.host.managed_bytes == 0
    assert books.store.get(0).get()[0] == 0.0
    books.store.release()
    books.store.make_room()
    assert [action for action, _, _ in books.events] == [Action.HOST_TO_DEVICE]


def test_when_the_device_is_full_of_other_things_results_make_room(books: Books) -> None:
    books.put(*range(8))
    books.store.spill_down_to(7 * CHUNK)
    taken = xp.zeros(9 * CHUNK // 8)
    assert books.store.get(0).get()[0] == 0.0
    assert books.device.used() <= 16 * CHUNK
    del taken


def test_it_is_said_if_there_is_no_room_for_a_result_that_is_read(books: Books) -> None:
    books.put(0)
    books.store.make_room()
    taken = xp.zeros(16 * CHUNK // 8)
    with pytest.raises(SimulatedOutOfMemory):
        books.store.get(0)
    del taken
    assert books.store.get(0).get()[0] == 0.0


def test_a_result_of_another_device_says_what_to_do(books: Books) -> None:
    form = on_host(chunk(3), books.device)
    form.kind = "cuda"
    with pytest.raises(NoDevice, match=r"of kind 'cuda' and takes 8192 bytes there.*Copy it to the host where it is"):
        on_device(form, books.device)


def test_a_result_that_a_task_begins_to_read_while_it_moves_stays_and_leaves_no_copy(books: Books) -> None:
    books.put(0)
    copy = books.device.to_host

    def read_meanwhile(value: Any) -> Any:
        books.store.get(0)
        return copy(value)

    books.device.to_host = read_meanwhile  # type: ignore[method-assign]
    books.store.make_room()
    assert on_the_device(books) == [0]
    assert 0 not in books.host


def test_a_result_that_is_dropped_while_it_moves_is_gone(books: Books) -> None:
    books.put(0)
    copy = books.device.to_host

    def drop_meanwhile(value: Any) -> Any:
        books.store.drop(0)
        return copy(value)

    books.device.to_host = drop_meanwhile  # type: ignore[method-assign]
    books.store.make_room()
    assert 0 not in books.store
    assert books.host.managed_bytes == 0
    assert books.store.account().held_bytes == 0


def test_another_process_gets_a_result_that_goes_to_the_device_meanwhile(books: Books, monkeypatch: Any) -> None:
    books.put(0)
    books.store.make_room()
    read = books.host.get

    def load_first(number: int) -> Any:
        monkeypatch.undo()
        books.store.get(number)
        return read(number)

    monkeypatch.setattr(books.host, "get", load_first)
    assert isinstance(books.store.get_on_host(0), HostForm)


def test_a_result_that_goes_to_the_device_is_here_all_the_time(books: Books, monkeypatch: Any) -> None:
    books.put(0)
    books.store.make_room()
    loading = threading.Thread(target=books.store.get, args=(0,))
    look = Store.__contains__

    def load_first(host: Store, number: object) -> bool:
        monkeypatch.undo()
        loading.start()
        loading.join(0.3)
        return look(host, number)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "__contains__", load_first)
    is_here = 0 in books.store
    loading.join()
    assert is_here


def test_a_result_that_needs_memory_to_move_does_not_keep_others_from_moving(books: Books) -> None:
    books.put(0, 1, 2)
    first, copy, n_tried = books.store.get(0), books.device.to_host, []
    books.store.release()
    books.put(1, 2)  # the first is the least recently used

    def needs_memory(value: Any) -> Any:
        if value is first and len(on_the_device(books)) > 1:  # as a copy of what isn't contiguous does
            n_tried.append(value)
            raise SimulatedOutOfMemory("no memory to copy it")
        return copy(value)

    books.device.to_host = needs_memory  # type: ignore[method-assign]
    books.store.spill_down_to(CHUNK)
    assert on_the_device(books) == [0] and len(n_tried) == 1
    books.store.make_room()
    assert on_the_device(books) == [] and not books.refusals


def test_a_result_that_the_host_does_not_take_stays_on_the_device(books: Books, monkeypatch: Any) -> None:
    books.put(0)

    def refuse(number: int, value: Any, nbytes: int) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(books.host, "put", refuse)
        books.store.make_room()
    assert books.store.get(0).get()[0] == 0.0
    assert books.store.account().held_bytes == CHUNK


def test_a_result_that_is_made_again_while_the_old_one_moves_is_kept(books: Books, monkeypatch: Any) -> None:
    books.put(0)
    making = threading.Thread(target=books.store.put, args=(0, "new", 1000))
    keep = books.host.put

    def make_again_first(number: int, value: Any, nbytes: int) -> None:
        monkeypatch.undo()
        books.store.drop(number)
        making.start()
        making.join(0.3)
        keep(number, value, nbytes)

    monkeypatch.setattr(books.host, "put", make_again_first)
    books.store.make_room()
    making.join()
    assert books.store.get(0) == "new"


def test_a_result_that_is_made_again_while_the_old_one_is_loaded_counts_once(books: Books, monkeypatch: Any) -> None:
    books.put(0)
    books.store.make_room()
    copying, may_copy = threading.Event(), threading.Event()
    copy, forget = books.device.to_device, books.host.drop

    def copy_slowly(form: Any) -> Any:
        copying.set()
        may_copy.wait()
        return copy(form)

    def forget_late(number: int) -> None:
        monkeypatch.undo()
        may_copy.set()
        loading.join(0.3)
        forget(number)

    books.device.to_device = copy_slowly  # type: ignore[method-assign]
    loading = threading.Thread(target=books.store.get, args=(0,))
    loading.start()
    copying.wait()
    monkeypatch.setattr(books.host, "drop", forget_late)
    books.put(0)
    loading.join()
    assert books.store.account().held_bytes == CHUNK


@pytest.mark.parametrize("is_on_device", [True, False])
def test_a_result_that_is_made_again_while_the_old_one_is_loaded_is_kept(books: Books, is_on_device: bool) -> None:
    books.put(0)
    books.store.make_room()
    copy = books.device.to_device

    def copy_while_it_is_made_again(form: Any) -> Any:
        books.device.to_device = copy  # type: ignore[method-assign]
        copied = copy(form)
        making = threading.Thread(target=make_again)
        making.start()
        making.join()
        return copied

    def make_again() -> None:
        if is_on_device:
            books.store.put(0, chunk(7), CHUNK)
            books.store.make_room()  # so that the host has the new one, as it had the old one
        else:
            books.store.put(0, "new", 3)

    books.device.to_device = copy_while_it_is_made_again  # type: ignore[method-assign]
    books.store.get(0)
    books.store.release()
    found = books.store.get(0)
    assert found.get()[0] == 7.0 if is_on_device else found == "new"
    books.store.release()
    books.store.drop(0)
    assert 0 not in books.store and books.store.held_bytes == 0 and not books.store._unchanged


def test_a_result_without_handles_may_still_leave_a_device_that_is_shared(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(device_store, "LEAST_EXPORTED_BYTES", 1)
    books = Books(tmp_path)
    books.store._shares_device = True
    books.device.export = lambda value: None  # type: ignore[method-assign]  # as cuDF's frames, and asynchronous allocators
    books.put(0)
    assert books.store.get_on_host(0).handles == ()
    books.store.make_room()
    assert on_the_device(books) == []
    set_memory(None)


def test_who_makes_room_waits_for_what_others_move(books: Books) -> None:
    books.put(0)
    copying, may_copy = threading.Event(), threading.Event()
    copy = books.device.to_host

    def copy_slowly(value: Any) -> Any:
        copying.set()
        may_copy.wait()
        return copy(value)

    books.device.to_host = copy_slowly  # type: ignore[method-assign]
    first, second = (threading.Thread(target=books.store.make_room) for _ in range(2))
    first.start()
    copying.wait()
    second.start()
    second.join(0.2)
    has_waited = second.is_alive()
    may_copy.set()
    first.join()
    second.join()
    assert has_waited and on_the_device(books) == []


def test_processes_on_one_device_copy_from_each_other_without_the_host(books: Books, monkeypatch: Any) -> None:
    monkeypatch.setattr(device_store, "LEAST_EXPORTED_BYTES", CHUNK)
    store = DeviceStore(books.device, books.host, books.note, shares_device=True)
    for number in range(4):
        store.put(number, (chunk(number), "beside"), CHUNK)
    forms = [store.get_on_host(number) for number in range(4)]
    assert [len(form.handles) for form in forms] == [1, 1, 0, 0], "a quarter of the limit, so that the rest can move"
    store.make_room()
    assert list(store._entries) == [0, 1]
    other = DeviceStore(books.device, Store(None, "", books.note), books.note)
    books.events.clear()
    before = list(books.device.memory.to_device)
    for number in (0, 1):
        other.put_shared(number, forms[number])
        assert other.get(number)[0].get()[0] == float(number)
    assert books.device.memory.to_device == before
    store.drop(1)
    gc.collect()
    with contextlib.ExitStack() as files:
        for _ in range(64):  # of which one has the number of the descriptor that was closed
            files.enter_context(open(os.devnull, "rb"))
        other.put_shared(7, forms[1])
        assert other.get(7)[0].get()[0] == 1.0, "it is gone there, and comes from the host"
    assert [action for action, _, _ in books.events] == [Action.TRANSFER, Action.TRANSFER, Action.HOST_TO_DEVICE]
    store.drop(0)
    assert store._exported_bytes == 0


def test_views_count_as_the_array_that_they_keep(books: Books) -> None:
    assert device_bytes(chunk(0)[:2], books.device) == CHUNK
