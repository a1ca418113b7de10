"""The same key again: after a cancellation, a failure, an interrupt. What the head said of the former task isn't taken for the latter's."""

from __future__ import annotations

import gc
import threading
import time
from pathlib import Path

import glassloom as gl
import glassloom.array as ga
import numpy as np
import pytest
import tasks
from fault_helpers import eventually, head_of
from glassloom import Client, delayed, wait
from glassloom.client.key_table import KeyTable
from glassloom.errors import CancelledError, ClusterClosed


def slow(number: int) -> int:
    time.sleep(0.002)
    return number


def test_a_cancelled_task_that_is_submitted_again_gives_its_result_every_time(client: Client) -> None:
    for number in range(100):
        first = client.submit(slow, number)
        first.cancel()
        assert client.submit(slow, number).result(timeout=60) == number


def test_the_future_of_before_stays_cancelled_when_its_key_is_submitted_again(client: Client) -> None:
    before = client.submit(slow, 1000)
    before.cancel()
    after = client.submit(slow, 1000)
    assert after.result(timeout=60) == 1000
    with pytest.raises(CancelledError, match="was cancelled"):
        before.result(timeout=60)
    assert (before.status, after.status) == ("cancelled", "finished")


def test_submitting_what_was_cancelled_by_another_client_with_force_works_at_once(client: Client) -> None:
    with Client(client.name, set_as_default=False) as other:
        for number in range(30):
            first = client.submit(slow, 2000 + number)
            other.submit(slow, 2000 + number).cancel(force=True)
            second = other.submit(slow, 2000 + number)
            assert second.result(timeout=60) == 2000 + number
            del first


def test_a_failed_task_that_is_submitted_again_is_tried_again(client: Client) -> None:
    def fail_until_set() -> str:
        if not gl.Event("generations-go").is_set():
            raise ValueError("not yet")
        return "done"

    assert isinstance(client.submit(fail_until_set, key="again").exception(timeout=60), ValueError)
    gl.Event("generations-go", client=client).set()
    assert client.submit(fail_until_set, key="again").result(timeout=60) == "done"


def test_a_failing_compute_leaves_what_is_persisted_alone(client: Client) -> None:
    def fail() -> None:
        raise ValueError("mine")

    x = (ga.ones((8, 8), chunks=4) * 3).map_blocks(_slowly)
    persisted = client.persist(x)
    with pytest.raises(ValueError, match="mine"):
        client.compute([x, delayed(fail)()], sync=True)
    assert persisted.sum().compute(scheduler=client) == 192


def _slowly(block: object) -> object:
    time.sleep(0.2)
    return block


def test_an_interrupted_compute_leaves_what_is_persisted_alone_and_lets_go_of_the_rest(
    client: Client, tmp_path: Path
) -> None:
    go = str(tmp_path / "go")
    # Nothing is done before the interrupt.
    x = ga.ones((8, 8), chunks=4).map_blocks(lambda block: tasks.wait_for(go, block), dtype=float)
    gc.collect()  # other tests' tracebacks may hold futures
    eventually(lambda: not client.who_has())
    persisted = client.persist(x)
    errors: list[BaseException] = []

    def compute_and_be_interrupted() -> None:
        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("glassloom.client.blocking.WATCH_S", 0.01)
            patch.setattr("glassloom.client.head_watch.HeadWatch.__call__", stop)
            try:
                gl.compute(x + 1, scheduler=client)
            except KeyboardInterrupt as error:
                errors.append(error)  # as IPython keeps the last traceback

    compute_and_be_interrupted()
    assert len(errors) == 1
    Path(go).touch()
    assert persisted.sum().compute(scheduler=client) == 64
    held = client.who_has(persisted)
    eventually(lambda: client.who_has() == held)


@pytest.mark.parametrize("ends", [Client.close, Client.shutdown])
def test_callbacks_that_are_added_after_the_end_are_called(ends: object) -> None:
    client = Client(n_workers=1, threads_per_worker=1, set_as_default=False)
    future = client.submit(time.sleep, 60)
    ends(client)  # type: ignore[operator]
    called = threading.Event()
    statuses: list[str] = []
    future.add_done_callback(lambda future: (statuses.append(future.status), called.set()))
    assert called.wait(60)
    assert statuses == ["lost"]


def test_callbacks_are_called_when_the_cluster_dies_and_after(client: Client) -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as mine:
        future = mine.submit(time.sleep, 60)
        statuses: list[str] = []
        future.add_done_callback(lambda future: statuses.append(future.status))
        head_of(mine).kill()
        eventually(lambda: statuses == ["lost"])
        future.add_done_callback(lambda future: statuses.append(future.status))
        eventually(lambda: statuses == ["lost", "lost"])
        with pytest.raises(ClusterClosed):
            future.result()


def test_a_callback_that_ends_its_thread_is_logged_and_the_next_is_called(client: Client) -> None:
    called = threading.Event()
    future = client.submit(abs, -1)
    future.result(timeout=60)
    future.add_done_callback(lambda _: exit(3))
    future.add_done_callback(lambda _: called.set())
    assert called.wait(60)


def test_what_is_said_of_a_former_task_does_not_touch_the_one_that_took_its_place() -> None:
    table = KeyTable([].append)
    former = table.hold("x")
    table.mark_sent([former], 1)
    table.note_cancelling([former])
    latter = table.hold("x")
    table.end(["x"], "cancelled", None, handled=2)
    assert (former.status, latter.status) == ("cancelled", "pending")
    table.mark_sent([latter], 3)
    table.end(["x"], "cancelled", None, handled=2)
    assert latter.status == "pending"
    table.finish(["x"], [8], [None], handled=3)
    assert latter.status == "finished"


def test_a_key_that_is_held_anew_is_not_given_back() -> None:
    dropped: list[object] = []
    table = KeyTable(dropped.append)
    hold = table.hold("x")
    del hold
    gc.collect()
    again = table.hold("x")
    assert table.drop(dropped) == []  # type: ignore[arg-type]
    del again
    gc.collect()
    assert table.drop(dropped[1:]) == ["x"]  # type: ignore[arg-type]


@pytest.mark.fault("an error in the client's own threads")
@pytest.mark.parametrize("broken", ["key_table.KeyTable.finish", "outbox.Outbox._send"])
def test_a_crash_of_a_thread_of_the_clients_closes_its_connection_with_a_reason(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    with Client(n_workers=1, threads_per_worker=2, set_as_default=False) as mine:
        waits = mine.submit(time.sleep, 60)
        monkeypatch.setattr(f"glassloom.client.{broken}", crash)
        with pytest.raises(ClusterClosed, match="glassloom-client.* crashed: RuntimeError: a fault of ours"):
            mine.submit(abs, -1).result(timeout=60)
        with pytest.raises(ClusterClosed, match="a fault of ours"):
            waits.result(timeout=60)
        monkeypatch.undo()


def test_the_result_of_a_task_that_was_cancelled_after_it_had_finished_is_cancelled_not_lost(client: Client) -> None:
    future = client.submit(np.zeros, 100_000)
    wait(future)
    future.cancel()
    with pytest.raises(CancelledError, match="was cancelled by this client"):
        future.result(timeout=60)
