"""What a task may ask for: submitting tasks and waiting for them, its worker, leaving its place; on real workers."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import tasks
from glassloom import (
    Client,
    Semaphore,
    as_completed,
    compute,
    delayed,
    get_client,
    get_worker,
    rejoin,
    secede,
    wait,
    worker_client,
)
from glassloom._supervision import Crash
from glassloom.client.deadline import Deadline
from glassloom.errors import ClusterClosed, ClusterError
from glassloom.worker.thread_slots import ThreadSlots
from test_client import eventually


@pytest.fixture(scope="module")
def narrow_client(nothing_is_left_behind: Any) -> Iterator[Client]:
    """Return a client of one worker with one thread: there a task that waits must let the others pass."""
    with Client(n_workers=1, threads_per_worker=1, memory_limit="1GB", set_as_default=False) as client:
        yield client
        assert client.submit(tasks.inc, 1, pure=False).result(timeout=60) == 2
        log = Path(client._record.directory, "cluster.log").read_text()
    assert "Traceback" not in log, log


def fibonacci(n: int) -> int:
    if n < 2:
        return n
    client = get_client()
    return sum(client.gather(client.map(fibonacci, [n - 1, n - 2], pure=False)))


def lane_names() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("lane-")]


# Tasks that wait for tasks


@pytest.mark.parametrize("how", ["result", "gather", "wait", "as_completed", "compute"])
def test_a_task_may_wait_for_tasks_on_a_single_thread(narrow_client: Client, how: str) -> None:
    def outer(how: str) -> Any:
        client = get_client()
        future = client.submit(tasks.inc, 1, pure=False)
        match how:
            case "result":
                return future.result()
            case "gather":
                return client.gather([future])[0]
            case "wait":
                return next(iter(wait([future]).done)).result()
            case "as_completed":
                return next(as_completed([future], with_results=True))[1]
            case "compute":
                return client.compute(delayed(tasks.inc)(1), sync=True)

    assert narrow_client.submit(outer, how).result(timeout=60) == 2


def test_a_recursion_of_hundreds_of_tasks_ends_on_a_single_thread(narrow_client: Client) -> None:
    assert narrow_client.submit(fibonacci, 12).result(timeout=60) == 144


def test_tasks_that_wait_do_not_pile_up(narrow_client: Client) -> None:
    """What tasks submit goes before what was submitted beside them: else all 465 would wait at once."""

    def widest(n: int) -> int:
        n_threads = len(lane_names())
        if n < 2:
            return n_threads
        client = get_client()
        return max(n_threads, *client.gather(client.map(widest, [n - 1, n - 2], pure=False)))

    assert 12 <= narrow_client.submit(widest, 12).result(timeout=60) < 100


def test_the_threads_that_stood_in_are_gone_afterwards(narrow_client: Client) -> None:
    narrow_client.submit(fibonacci, 6, pure=False).result(timeout=60)
    eventually(lambda: len(*narrow_client.run(lane_names).values()) == 1)


def test_no_more_tasks_run_at_once_than_the_worker_has_threads(narrow_client: Client, tmp_path: Path) -> None:
    def leaf(folder: str) -> int:
        path = Path(folder, f"{threading.get_ident()}")
        path.touch()
        n_running = len(list(Path(folder).iterdir()))
        time.sleep(0.002)
        path.unlink()
        return n_running

    def outer(folder: str) -> int:
        client = get_client()
        return max(*client.gather(client.map(leaf, [folder] * 3, pure=False)), leaf(folder))

    widths = narrow_client.gather(narrow_client.map(outer, [str(tmp_path)] * 4, pure=False))
    assert widths == [1, 1, 1, 1]


def test_an_error_of_an_inner_task_is_raised_in_the_outer_one(narrow_client: Client) -> None:
    def outer() -> Any:
        return get_client().submit(tasks.divide, 1, 0).result()

    with pytest.raises(ZeroDivisionError, match="division by zero"):
        narrow_client.submit(outer).result(timeout=60)


def test_a_task_that_stops_waiting_after_its_timeout_goes_on(narrow_client: Client, tmp_path: Path) -> None:
    def outer(path: str) -> str:
        future = get_client().submit(tasks.wait_for, path)
        try:
            future.result(timeout=0.05)
        except TimeoutError as error:
            Path(path).touch()
            future.result()
            return str(error)
        return "no timeout"

    text = narrow_client.submit(outer, str(tmp_path / "go")).result(timeout=60)
    assert text.endswith("has no result after 0.05 s; it is still pending")


def test_after_a_timeout_the_worker_is_back_to_its_number_of_threads(narrow_client: Client, tmp_path: Path) -> None:
    def outer(path: str) -> None:
        future = get_client().submit(tasks.wait_for, path, pure=False)
        for _ in range(3):
            with contextlib.suppress(TimeoutError):
                future.result(timeout=0.01)
        Path(path).touch()

    narrow_client.submit(outer, str(tmp_path / "go")).result(timeout=60)
    eventually(lambda: len(*narrow_client.run(lane_names).values()) == 1)


def test_inner_results_are_forgotten_when_the_outer_task_has_ended(narrow_client: Client) -> None:
    narrow_client.submit(fibonacci, 5, pure=False).result(timeout=60)
    eventually(lambda: narrow_client.scheduler_info()["tasks"]["memory"] == 0)


def test_what_inner_tasks_return_may_be_large(client: Client) -> None:
    def outer() -> float:
        return float(get_client().submit(tasks.big, 3, 2.0).result().sum())

    assert client.submit(outer).result(timeout=60) == 3 * 2**17 * 2.0


def test_an_outer_task_whose_worker_dies_runs_again_with_its_inner_tasks(client: Client, tmp_path: Path) -> None:
    def outer(path: str) -> int:
        future = get_client().submit(tasks.same, 5, pure=False)
        return tasks.kill_own_worker_once(path, 1) + future.result()

    assert client.submit(outer, str(tmp_path / "died")).result(timeout=60) == 6
    eventually(lambda: len(client.scheduler_info()["workers"]) == 2)


def kill_a_worker(client: Client) -> bool:
    """Kill a worker; return False if the head names none but those that are dead and that it doesn't miss yet."""
    for worker in client.scheduler_info()["workers"].values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker["pid"], signal.SIGKILL)
            return True
    return False


def test_recursions_end_though_their_workers_are_killed(client: Client) -> None:
    def guarded(n: int) -> int:
        if n < 2:
            return n
        with Semaphore(2, "guard"):
            get_client().submit(tasks.inc, n, pure=False).result()
        inner = get_client().map(guarded, [n - 1, n - 2], pure=False)
        return sum(get_client().gather(inner))

    futures = [client.submit(guarded, 9, pure=False) for _ in range(2)]
    for n_ended in (20, 100):
        eventually(lambda bound=n_ended: client.scheduler_info()["tasks"]["forgotten"] > bound)
        eventually(lambda: kill_a_worker(client))
    assert client.gather(futures) == [34, 34]
    eventually(lambda: Semaphore(2, "guard", client=client).get_value() == 0)  # also those of workers that were killed
    eventually(lambda: len(client.scheduler_info()["workers"]) == 2)


# Which client


def test_get_client_in_a_task_belongs_to_the_same_cluster(client: Client) -> None:
    assert client.submit(lambda: (get_client().id, get_client().name)).result() == (client.id, client.name)


def test_the_tasks_of_a_worker_share_one_client(narrow_client: Client) -> None:
    ids = narrow_client.gather(narrow_client.map(lambda _: id(get_client()), range(3), pure=False))
    assert len(set(ids)) == 1


def test_get_client_outside_of_tasks_is_the_newest_client() -> None:
    with pytest.raises(ClusterClosed, match="no client is open; make one"):
        get_client()
    with Client(n_workers=1, threads_per_worker=1) as newest:
        assert get_client() is newest


def test_a_task_on_threads_may_use_the_open_client() -> None:
    def outer() -> int:
        return get_client().submit(os.getpid).result()

    with Client(n_workers=1, threads_per_worker=1) as client:
        (pid,) = client.run(os.getpid).values()
        assert delayed(outer)().compute(scheduler="threads") == pid


def test_a_task_on_threads_without_a_client_is_told_so() -> None:
    with pytest.raises(ClusterClosed, match="Tasks that run on the threads of your own process have none"):
        compute(delayed(get_client)(), scheduler="threads")


def test_worker_client_lets_collections_run_on_the_cluster(client: Client) -> None:
    def outer() -> tuple[bool, bool]:
        here = threading.get_native_id()
        before = delayed(threading.get_native_id)().compute() == here
        with worker_client():
            return before, delayed(threading.get_native_id, pure=False)().compute() == here

    assert client.submit(outer).result(timeout=60) == (True, False)


# The worker


def test_get_worker_tells_where_the_task_runs(client: Client) -> None:
    def describe() -> tuple[Any, ...]:
        worker = get_worker()
        return worker.name, worker.pid, worker.nthreads, worker.memory_limit, os.getpid()

    name, pid, nthreads, memory_limit, real_pid = client.submit(describe).result()
    told = client.scheduler_info()["workers"][name]
    assert (pid, nthreads, memory_limit) == (told["pid"], 2, 10**9)
    assert pid == real_pid


def test_tasks_may_keep_things_in_their_worker(narrow_client: Client) -> None:
    def count() -> int:
        worker = get_worker()
        worker.n_calls = getattr(worker, "n_calls", 0) + 1
        return worker.n_calls

    assert [narrow_client.submit(count, pure=False).result() for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("function", [get_worker, secede, rejoin])
def test_outside_of_tasks_there_is_no_worker_to_ask(function: Any) -> None:
    with pytest.raises(ClusterError, match=rf"{function.__name__}\(\) was called outside of a"):
        function()


# Leaving one's place


def test_a_task_leaves_its_place_to_what_has_to_make_a_result_again(narrow_client: Client) -> None:
    def read_while_it_is_retried() -> Any:
        client = get_client()
        future = client.submit(fail_once, str(uuid4()))
        wait(future)
        fetching = client._fetch([future.key], [future._state], Deadline(None))  # as of a result that was there before
        future.retry()
        eventually(lambda: future.status == "pending")
        return client._run(fetching)[0]

    assert narrow_client.submit(read_while_it_is_retried).result(timeout=60) == ["made", "again"]


def fail_once(name: str) -> list[str]:
    if name not in _failed:
        _failed.append(name)
        raise ValueError("once")
    return ["made", "again"]


_failed: list[str] = []


def test_a_seceded_task_leaves_its_place_until_it_rejoins(narrow_client: Client, tmp_path: Path) -> None:
    def long_one(go: str) -> str:
        secede()
        tasks.wait_for(go)
        rejoin()
        return "back"

    seceded = narrow_client.submit(long_one, str(tmp_path / "go"))
    assert narrow_client.submit(tasks.inc, 5, pure=False).result(timeout=60) == 6
    assert seceded.status == "pending"
    (tmp_path / "go").touch()
    assert seceded.result(timeout=60) == "back"


def test_a_task_may_end_without_rejoining(narrow_client: Client) -> None:
    def leave(value: int) -> int:
        secede()
        secede()
        return value

    assert narrow_client.gather(narrow_client.map(leave, range(20))) == list(range(20))
    assert narrow_client.submit(tasks.inc, 7, pure=False).result(timeout=60) == 8


def test_a_task_that_fails_after_seceding_leaves_the_worker_usable(narrow_client: Client) -> None:
    def leave() -> None:
        secede()
        raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        narrow_client.submit(leave, pure=False).result(timeout=60)
    assert narrow_client.submit(tasks.inc, 8, pure=False).result(timeout=60) == 9


# The slots by themselves


def _never_crashes(crash: Crash) -> None:
    raise AssertionError(crash.reason)


class SlotsHarness:
    """Lanes whose threads wait in line for what they shall do, as a worker's do."""

    def __init__(self, n_places: int) -> None:
        self.queue: list[Any] = []
        self.changed = threading.Condition()
        self.slots = ThreadSlots(n_places, self.work, lambda: self.put(None), on_crash=_never_crashes)

    def put(self, task: Any) -> None:
        with self.changed:
            self.queue.append(task)
            self.changed.notify()

    def work(self, lane: int) -> None:
        has_seceded = False
        while not self.slots.must_end(has_seceded=has_seceded):
            with self.changed:
                self.changed.wait_for(lambda: self.queue)
                task = self.queue.pop(0)
            if task is StopIteration:
                return
            has_seceded = task is not None and task(lane)


def test_a_lane_that_stands_in_has_a_number_of_its_own_which_is_used_again() -> None:
    places, seen = SlotsHarness(1), []
    others_have_run = threading.Event()

    def secede(lane: int) -> bool:
        seen.append(lane)
        places.slots.secede()
        others_have_run.wait(60)
        places.slots.rejoin()
        return False

    def note(lane: int) -> bool:
        seen.append(lane)
        others_have_run.set()
        return False

    def note_last(lane: int) -> bool:
        seen.append(lane)
        done.set()
        return False

    done = threading.Event()
    places.slots.start()
    places.put(secede)
    places.put(note)
    others_have_run.wait(60)
    eventually(lambda: len(lane_names()) == 1)
    places.put(note_last)
    assert done.wait(60)
    assert seen == [0, 1, 0]
    places.put(StopIteration)


def test_a_task_that_would_be_one_seceded_too_many_gets_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassloom.worker.thread_slots.MAX_SECEDED", 1)
    slots = ThreadSlots(1, lambda lane: None, lambda: None, on_crash=_never_crashes)
    slots.secede()
    with pytest.raises(ClusterError, match="1 tasks of this worker wait for other tasks already"):
        slots.secede()
