"""Locks, semaphores, events, variables and queues, between clients, tasks and processes."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import glassloom.array as ga
import numpy as np
import pytest
import tasks
from glassloom import (
    Client,
    Event,
    LocalCluster,
    Lock,
    Queue,
    Semaphore,
    Variable,
    get_client,
    get_worker,
    wait,
)
from glassloom.client.call_names import name_of_call
from glassloom.errors import CancelledError, ClusterClosed, ClusterError, OptionError, SerialisationError
from glassloom.protocol.coordination import (
    AcquireLease,
    CountLeases,
    ListVariables,
    Op,
    Payload,
    QueueSize,
    VariableDelete,
    VariableSet,
    WaitEvent,
)
from test_client import eventually


@pytest.fixture
def other(client: Client) -> Iterator[Client]:
    """Return a second client of the same cluster."""
    with Client(client.cluster, set_as_default=False) as other:
        yield other


# Locks and semaphores


def test_a_lock_keeps_tasks_apart(client: Client, tmp_path: Path) -> None:
    def alone(folder: str) -> int:
        with Lock("alone"):
            path = Path(folder, str(threading.get_native_id()))
            path.touch()
            time.sleep(0.005)
            n_inside = len(list(Path(folder).iterdir()))
            path.unlink()
        return n_inside

    assert set(client.gather(client.map(alone, [str(tmp_path)] * 12, pure=False))) == {1}


def test_a_lock_may_be_passed_to_a_task(client: Client, other: Client) -> None:
    lock = Lock("passed", client=other)
    assert lock.acquire()
    future = client.submit(lambda lock: lock.acquire(), lock)
    with pytest.raises(TimeoutError, match="no result after"):
        future.result(timeout=0.1)
    lock.release()
    assert future.result(timeout=60) is True


def test_acquire_gives_up_after_its_timeout_or_at_once(client: Client, other: Client) -> None:
    with Lock("busy", client=client) as lock:
        assert lock.locked() is True
        again = Lock("busy", client=other)
        assert (again.acquire(timeout=0.02), again.acquire(blocking=False)) == (False, False)
    assert again.acquire(timeout="60s") is True
    again.release()
    eventually(lambda: not lock.locked())  # which another connection tells


def test_a_lock_that_is_not_held_cannot_be_released(client: Client) -> None:
    with pytest.raises(ClusterError, match=r"Lock\('mine'\) can't be released: this object hasn't acquired it"):
        Lock("mine", client=client).release()


def test_tasks_that_wait_for_a_lock_let_others_run(client: Client) -> None:
    lock = Lock("held", client=client)
    lock.acquire()
    waiting = client.map(lambda _: Lock("held").acquire(timeout=60), range(8), pure=False)
    assert client.submit(tasks.inc, 1, pure=False).result(timeout=60) == 2
    client.cancel(waiting)
    lock.release()


def test_a_lock_is_open_again_when_its_holders_worker_dies(client: Client) -> None:
    def hold() -> int:
        get_worker().lock = Lock("dying")
        get_worker().lock.acquire()
        return os.getpid()

    pid = client.submit(hold, pure=False).result(timeout=60)
    assert Lock("dying", client=client).locked() is True
    os.kill(pid, signal.SIGKILL)
    assert Lock("dying", client=client).acquire(timeout=60) is True
    eventually(lambda: len(client.scheduler_info()["workers"]) == 2)


def test_a_lock_is_open_again_when_its_holders_client_is_closed(client: Client) -> None:
    with Client(client.cluster, set_as_default=False) as closing:
        Lock("closing", client=closing).acquire()
    assert Lock("closing", client=client).acquire(timeout=60) is True


def test_a_semaphore_lets_a_number_in(client: Client, tmp_path: Path) -> None:
    def inside(folder: str, semaphore: Semaphore) -> int:
        with semaphore:
            path = Path(folder, str(threading.get_native_id()))
            path.touch()
            time.sleep(0.01)
            n_inside = len(list(Path(folder).iterdir()))
            path.unlink()
        return n_inside

    semaphore = Semaphore(2, name="two", client=client)
    widths = client.gather(client.map(inside, [str(tmp_path)] * 12, semaphore=semaphore, pure=False))
    assert max(widths) <= 2
    eventually(lambda: semaphore.get_value() == 0)  # the last release and the last result take different ways


def test_a_semaphore_with_another_number_of_leases_is_refused(client: Client) -> None:
    with (
        Semaphore(2, name="both", client=client),
        pytest.raises(ClusterError, match="semaphore 'both' is in use with 2 leases, not 3"),
    ):
        Semaphore(3, name="both", client=client).acquire()


@pytest.mark.parametrize("max_leases", [0, -1, 1.5, True, "2"])
def test_a_number_of_leases_that_is_none_is_refused(max_leases: Any) -> None:
    with pytest.raises(OptionError, match="max_leases=.* should be a whole number, 1 or more"):
        Semaphore(max_leases)


def test_a_name_must_be_text() -> None:
    with pytest.raises(OptionError, match="name=3 should be text, or None"):
        Lock(3)


def test_what_has_no_name_gets_one_of_its_own() -> None:
    assert Lock().name != Lock().name


# Events


def test_an_event_lets_tasks_go_on(client: Client) -> None:
    event = Event("go", client=client)
    assert event.is_set() is False
    waiting = client.map(lambda _: Event("go").wait(), range(6), pure=False)
    event.set()
    assert client.gather(waiting) == [True] * 6
    assert (event.is_set(), event.wait(timeout=0)) == (True, True)
    event.clear()
    assert (event.is_set(), event.wait(timeout=0.01)) == (False, False)


# Variables


def test_a_variable_is_shared_by_clients_and_tasks(client: Client, other: Client) -> None:
    Variable("x", client=client).set({"a": [1, 2]})
    assert Variable("x", client=other).get() == {"a": [1, 2]}
    assert client.submit(lambda: Variable("x").get()["a"][1]).result() == 2


def test_a_variable_is_waited_for(client: Client) -> None:
    future = client.submit(lambda: Variable("later").get(timeout=60))
    Variable("later", client=client).set("now")
    assert future.result(timeout=60) == "now"


def test_a_variable_without_a_value_times_out(client: Client) -> None:
    with pytest.raises(TimeoutError, match=r"Variable\('empty'\) has no value after 0\.02 s"):
        Variable("empty", client=client).get(timeout=0.02)


def test_a_deleted_variable_has_no_value(client: Client) -> None:
    variable = Variable("gone", client=client)
    variable.set(1)
    variable.delete()
    variable.delete()
    with pytest.raises(TimeoutError, match="has no value"):
        variable.get(timeout=0.02)


def test_a_future_in_a_variable_is_kept_alive(client: Client, other: Client) -> None:
    future = client.submit(tasks.big, 1, 3.0, pure=False)
    key = future.key
    variable = Variable("future", client=client)
    variable.set([future, "and more"])
    del future
    gc.collect()
    client.submit(tasks.inc, 0, pure=False).result()  # by now the head knows that it was let go
    found, text = Variable("future", client=other).get()
    assert (found.key, text, float(found.result()[0])) == (key, "and more", 3.0)
    del found
    variable.delete()
    gc.collect()
    eventually(lambda: key not in client.who_has())


def test_a_future_in_a_variable_may_still_be_under_way(client: Client, other: Client, tmp_path: Path) -> None:
    Variable("under way", client=client).set(client.submit(tasks.wait_for, str(tmp_path / "go"), 4))
    found = Variable("under way", client=other).get()
    assert found.status == "pending"
    (tmp_path / "go").touch()
    assert found.result(timeout=60) == 4


def test_a_future_in_a_variable_may_have_failed(client: Client, other: Client) -> None:
    future = client.submit(tasks.divide, 1, 0)
    wait(future)
    Variable("failed", client=client).set(future)
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        Variable("failed", client=other).get().result(timeout=60)


def test_a_cancelled_future_in_a_variable_is_cancelled(client: Client, other: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.wait_for, str(tmp_path / "go"), pure=False)
    Variable("cancelled", client=client).set(future)
    client.cancel(future, force=True)
    with pytest.raises(CancelledError, match="was cancelled"):
        Variable("cancelled", client=other).get().result(timeout=60)
    (tmp_path / "go").touch()


def test_a_restart_loses_the_results_in_variables_and_says_so() -> None:
    with Client(n_workers=1, threads_per_worker=1, memory_limit="1GB", set_as_default=False) as client:
        Variable("kept", client=client).set([client.submit(tasks.big, 1), "text"])
        client.restart()
        future, text = Variable("kept", client=client).get()
        with pytest.raises(CancelledError, match="was cancelled, or its result was released before"):
            future.result(timeout=60)
        assert text == "text"
        Variable("kept", client=client).delete()
        assert client.submit(tasks.inc, 1).result(timeout=60) == 2


def test_a_persisted_collection_in_a_variable_is_computed_with_elsewhere(client: Client, other: Client) -> None:
    held = client.persist(ga.arange(8, chunks=4) + 1)
    Variable("held", client=client).set(held)
    del held
    gc.collect()
    found = Variable("held", client=other).get()
    assert (found.sum() * 2).compute(scheduler=other) == 72


def test_what_is_too_large_or_cannot_be_pickled_is_refused(client: Client) -> None:
    with pytest.raises(OptionError, match=r"a value of 8\.00 MiB is too large here, .*; use a future of it"):
        Variable("x", client=client).set(np.zeros(2**20))
    with pytest.raises(SerialisationError, match="a value of type lock can't be sent"):
        Variable("x", client=client).set(threading.Lock())


# Queues


def test_a_queue_passes_values_between_tasks_and_clients(client: Client) -> None:
    queue = Queue("values", client=client)
    futures = client.map(lambda value: Queue("values").put(value), range(5))
    assert sorted(queue.get(timeout=60) for _ in range(5)) == list(range(5))
    wait(futures)
    assert queue.qsize() == 0


def test_a_queue_keeps_its_order_and_gives_batches(client: Client) -> None:
    queue = Queue("batches", client=client)
    for value in "abcd":
        queue.put(value)
    assert (queue.get(batch=2), queue.get(), queue.get(batch=True), queue.get(batch=True)) == (
        ["a", "b"], "c", ["d"], []
    )  # fmt: skip


def test_a_full_queue_lets_who_puts_wait(client: Client) -> None:
    queue = Queue("full", client=client, maxsize=1)
    queue.put(1)
    with pytest.raises(TimeoutError, match=r"Queue\('full'\) is still full after 0\.02 s"):
        queue.put(2, timeout=0.02)
    future = client.submit(queue.put, 3)
    assert (queue.get(), queue.get(timeout=60)) == (1, 3)
    future.result(timeout=60)
    queue.close()


def test_an_empty_queue_times_out_and_loses_nothing(client: Client) -> None:
    queue = Queue("empty", client=client)
    with pytest.raises(TimeoutError, match=r"Queue\('empty'\) has fewer than 1 values after 0\.02 s"):
        queue.get(timeout=0.02)
    queue.put("kept")
    assert queue.get(timeout=60) == "kept"


def test_a_closed_queue_ends_the_wait(client: Client, other: Client) -> None:
    future = client.submit(lambda: Queue("closing").get())
    eventually(lambda: client.scheduler_info()["tasks"]["running"])
    with pytest.raises(TimeoutError, match="no result"):
        future.result(timeout=0.1)
    Queue("closing", client=other).close()
    with pytest.raises(ClusterError, match="queue 'closing' was closed"):
        future.result(timeout=60)


def test_futures_in_a_queue_are_kept_until_they_are_taken(client: Client, other: Client) -> None:
    queue = Queue("futures", client=client)
    future = client.submit(tasks.big, 1, 2.0, pure=False)
    key = future.key
    queue.put(future)
    del future
    gc.collect()
    client.submit(tasks.inc, 0, pure=False).result()
    found = Queue("futures", client=other).get()
    assert float(found.result()[0]) == 2.0
    del found
    gc.collect()
    eventually(lambda: key not in client.who_has())


def test_a_task_may_hand_its_own_futures_on(client: Client) -> None:
    def produce() -> None:
        Queue("handed on").put(get_client().submit(tasks.inc, 41, pure=False))

    producing = client.submit(produce)
    assert Queue("handed on", client=client).get(timeout=60).result(timeout=60) == 42
    producing.result(timeout=60)


@pytest.mark.parametrize("batch", [0, -3, "all"])
def test_a_batch_that_is_no_number_is_refused(client: Client, batch: Any) -> None:
    with pytest.raises(OptionError, match=r"batch=.* should be True, False or a number, 1 or more"):
        Queue("x", client=client).get(batch=batch)


# All of them


@pytest.mark.parametrize("make", [Lock, Semaphore, Event, Variable, Queue])
def test_it_is_pickled_as_its_name(make: Any) -> None:
    shared = make(name="pickled")
    assert pickle.loads(pickle.dumps(shared)).name == "pickled"
    assert repr(shared).startswith(f"{make.__name__}('pickled'")


def test_a_wait_ends_when_the_cluster_does() -> None:
    raised: list[BaseException] = []
    client = Client(n_workers=1, threads_per_worker=1, set_as_default=False)

    def wait_for_it() -> None:
        try:
            Event("never", client=client).wait()
        except BaseException as error:
            raised.append(error)

    waiting = threading.Thread(target=wait_for_it)
    waiting.start()
    eventually(lambda: client._connection._replies)
    client.close()
    waiting.join(60)
    assert [type(error) for error in raised] == [ClusterClosed]


def test_in_an_event_loop_they_are_awaited(client: Client) -> None:
    async def main(cluster: LocalCluster) -> list[Any]:
        async with Client(cluster, asynchronous=True, set_as_default=False) as client:
            queue, lock, event = Queue("a", client), Lock("a", client), Event("a", client)
            getting = asyncio.ensure_future(queue.get())
            await queue.put(client.submit(tasks.inc, 1))
            seen = [await (await getting)]
            async with lock:
                seen += [await lock.locked(), await Lock("a", client).acquire(timeout=0.01)]
            event.set()
            seen += [await event.wait(), await event.is_set()]
            await Variable("a", client).set(7)
            return [*seen, await Variable("a", client).get(), await queue.qsize()]

    assert asyncio.run(main(client.cluster)) == [2, True, False, True, True, 7, 0]


def test_a_cancelled_wait_gives_back_what_it_may_have_got(client: Client) -> None:
    async def main(cluster: LocalCluster) -> None:
        async with Client(cluster, asynchronous=True, set_as_default=False) as own:
            await Queue("cancelled", own).put("value")
            for _ in range(20):
                getting = asyncio.ensure_future(Queue("cancelled", own).get())
                await asyncio.sleep(0)
                if getting.cancel():
                    with pytest.raises(asyncio.CancelledError):
                        await getting
                else:  # it was faster
                    await Queue("cancelled", own).put(getting.result())
            assert await asyncio.wait_for(Queue("cancelled", own).get(), 60) == "value"

    asyncio.run(main(client.cluster))


@pytest.mark.parametrize(
    ("op", "name"),
    [
        (AcquireLease("lock", "a", 1), "Lock('a').acquire()"),
        (CountLeases("semaphore", "a"), "Semaphore('a').get_value()"),
        (VariableSet("variable", "a", Payload(b"", []), True), "Variable('a').set()"),
        (VariableSet("dataset", "a", Payload(b"", []), True), "publish_dataset('a')"),
        (VariableDelete("dataset", "a"), "unpublish_dataset('a')"),
        (ListVariables("dataset"), "list_datasets()"),
        (QueueSize("a"), "Queue('a').qsize()"),
        (WaitEvent("a"), "Event('a').wait()"),
    ],
)
def test_requests_are_named_as_users_call_them(op: Op, name: str) -> None:
    assert name_of_call(op) == name


def test_every_request_has_a_name() -> None:
    values = {"kind": "lock", "name": "a", "space": "variable"}
    for kind in get_args(Op):
        op = kind(*[values.get(field, 1) for field in kind.__struct_fields__])
        assert name_of_call(op).endswith(")")
