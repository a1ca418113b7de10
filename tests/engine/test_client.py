"""Client, futures, and what tasks see, on a real head with real worker processes."""

from __future__ import annotations

import gc
import operator
import os
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tasks
from eventual import eventually
from glassloom import Client, Future, LocalCluster, as_completed, compute, default_client, delayed, persist, wait
from glassloom.errors import CancelledError, ClusterClosed, OptionError, RemoteError, SerialisationError

# Calls and results


def test_submit_returns_a_future_of_the_result(client: Client) -> None:
    assert client.submit(divmod, 7, 2).result() == (3, 1)


def test_keyword_arguments_reach_the_function(client: Client) -> None:
    assert client.submit(tasks.divide, denominator=4, numerator=6).result() == 1.5


def test_a_lambda_of_the_callers_own_runs_on_a_worker(client: Client) -> None:
    factor = 3
    assert client.submit(lambda value: value * factor, 5).result() == 15


def test_map_keeps_the_order_of_its_arguments(client: Client) -> None:
    assert client.gather(client.map(tasks.add, range(5), [10] * 5)) == [10, 11, 12, 13, 14]


def test_map_passes_keyword_arguments_to_every_call(client: Client) -> None:
    assert client.gather(client.map(tasks.divide, [2, 4], denominator=2)) == [1.0, 2.0]


def test_map_ends_with_the_shortest_iterable(client: Client) -> None:
    assert client.gather(client.map(tasks.add, range(100), [1, 2])) == [1, 3]


def test_map_of_nothing_is_an_empty_list(client: Client) -> None:
    assert client.map(tasks.inc, []) == []


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (lambda x: (x, [x]), (5, [5])),  # the same future at two depths
        (lambda x: ([x, 1], {"a": x}), ([5, 1], {"a": 5})),
        (lambda x: ({"a": [x, (x, 2)]}, 0), ({"a": [5, (5, 2)]}, 0)),
        (lambda x: ((), [[]]), ((), [[]])),
        (lambda x: ({x, 1}, 0), ({5, 1}, 0)),
    ],
)
def test_futures_inside_arguments_become_their_results(client: Client, args: Any, expected: Any) -> None:
    five = client.submit(tasks.inc, 4)
    assert client.submit(lambda *values: values, *args(five)).result() == expected


def test_futures_inside_keyword_arguments_become_their_results(client: Client) -> None:
    three, four = client.map(tasks.inc, [2, 3])
    assert client.submit(dict, numbers=[three, {"four": four}]).result() == {"numbers": [3, {"four": 4}]}


def test_a_task_may_depend_on_thousands_of_futures(client: Client) -> None:
    assert client.submit(tasks.total, client.map(tasks.inc, range(5000))).result() == 12502500


def test_equal_calls_share_one_task(client: Client, tmp_path: Path) -> None:
    log = tmp_path / "runs"
    first, second = client.submit(tasks.count_run, str(log)), client.submit(tasks.count_run, str(log))
    wait([first, second])
    assert first.key == second.key
    assert log.read_text() == "x"


def test_impure_calls_are_made_each_time(client: Client, tmp_path: Path) -> None:
    log = tmp_path / "runs"
    wait([client.submit(tasks.count_run, str(log), pure=False) for _ in range(3)])
    assert log.read_text() == "xxx"


def test_a_future_is_found_again_under_a_key_of_the_users(client: Client) -> None:
    future = client.submit(tasks.inc, 1, key="my-own-key")
    assert (future.key, future.result()) == ("my-own-key", 2)


def test_a_key_may_be_a_tuple(client: Client) -> None:
    assert client.submit(tasks.inc, 1, key=("load-x", 3)).key == ("load-x", 3)


def test_actors_are_refused_with_what_there_is_instead(client: Client) -> None:
    for ask in (lambda: client.submit(list, actor=True), lambda: client.map(list, [()], actor=True)):
        with pytest.raises(
            OptionError, match="there are no actors here; keep what tasks share in a Variable or a Queue"
        ):
            ask()


def test_map_numbers_the_tasks_of_a_common_name(client: Client) -> None:
    assert [future.key for future in client.map(tasks.inc, [7, 8], key="step")] == ["step-0", "step-1"]


def test_gather_keeps_the_nesting(client: Client) -> None:
    one, two = client.map(tasks.inc, [0, 1])
    assert client.gather({"a": [one, (two, 5)], "b": "text"}) == {"a": [1, (2, 5)], "b": "text"}


def test_gather_of_a_set_is_a_set(client: Client) -> None:
    assert client.gather(set(client.map(tasks.inc, [0, 1]))) == {1, 2}


def test_gather_skips_what_failed_when_told_to(client: Client) -> None:
    futures = [client.submit(tasks.divide, 1, denominator) for denominator in (1, 0, 2)]
    assert client.gather(futures, errors="skip") == [1.0, 0.5]


def test_the_larger_priority_goes_first(tmp_path: Path) -> None:
    log = tmp_path / "order"

    def note(name: str) -> None:
        with open(log, "a") as file:
            file.write(name)

    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        blocked = client.submit(tasks.begin_and_wait, str(tmp_path / "begun"), str(tmp_path / "go"))
        eventually((tmp_path / "begun").exists)
        futures = [client.submit(note, name, priority=priority) for name, priority in (("c", -1), ("b", 0), ("a", 5))]
        eventually(lambda: client.scheduler_info()["tasks"]["ready"] == 3)
        (tmp_path / "go").touch()
        wait([blocked, *futures])
    assert log.read_text() == "abc"


def test_a_task_is_tried_again_as_often_as_retries_says(client: Client, tmp_path: Path) -> None:
    assert client.submit(tasks.fail_until, str(tmp_path / "a"), 2, retries=2).result() == 3


def test_a_task_fails_when_its_retries_are_used_up(client: Client, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="^call 3"):
        client.submit(tasks.fail_until, str(tmp_path / "b"), 5, retries=2).result()


def test_run_calls_a_function_on_every_worker(client: Client) -> None:
    pids = client.run(os.getpid)
    workers = client.scheduler_info()["workers"]
    assert pids == {name: worker["pid"] for name, worker in workers.items()}
    assert len(set(pids.values())) == 2


def test_run_raises_what_the_function_raised(client: Client) -> None:
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        client.run(tasks.divide, 1, 0)


# Futures


def test_a_futures_status_follows_its_task(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.wait_for, str(tmp_path / "go"), 3)
    assert future.status == "pending"
    (tmp_path / "go").touch()
    wait(future)
    assert (future.status, future.done(), future.nbytes) == ("finished", True, 32)


def test_result_gives_up_after_its_timeout_and_the_task_goes_on(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.wait_for, str(tmp_path / "go"), 3)
    with pytest.raises(TimeoutError, match=r"'wait_for-[0-9a-f]+' has no result after 0\.01 s; it is still pending"):
        future.result(timeout=0.01)
    (tmp_path / "go").touch()
    assert future.result() == 3


def test_wait_tells_done_from_not_done(client: Client, tmp_path: Path) -> None:
    blocked, quick = client.submit(tasks.wait_for, str(tmp_path / "go")), client.submit(tasks.inc, 1)
    done, not_done = wait([blocked, quick], return_when="FIRST_COMPLETED")
    assert (done, not_done) == ({quick}, {blocked})
    (tmp_path / "go").touch()
    assert wait([blocked, quick]) == ({blocked, quick}, set())


def test_wait_raises_after_its_timeout(client: Client, tmp_path: Path) -> None:
    futures = [client.submit(tasks.inc, 1), client.submit(tasks.wait_for, str(tmp_path / "go"))]
    futures[0].result()
    with pytest.raises(TimeoutError, match=r"^1 of 2 .* after 0\.05 s; still open: 'wait_for-[0-9a-f]+'$"):
        wait(futures, timeout=0.05)
    (tmp_path / "go").touch()


def test_wait_does_not_raise_what_tasks_raised(client: Client) -> None:
    future = client.submit(tasks.divide, 1, 0)
    assert wait([future]).done == {future}


def test_as_completed_yields_in_the_order_of_finishing(client: Client, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in "ab"]
    first, second = [client.submit(tasks.wait_for, path, path) for path in paths]
    finished = as_completed([first, second])
    Path(paths[1]).touch()
    assert next(finished) is second
    Path(paths[0]).touch()
    assert list(finished) == [first]


def test_as_completed_yields_results_when_asked(client: Client) -> None:
    futures = client.map(tasks.inc, range(4))
    assert sorted(result for _, result in as_completed(futures, with_results=True)) == [1, 2, 3, 4]


def test_as_completed_raises_after_its_timeout(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.wait_for, str(tmp_path / "go"))
    with pytest.raises(TimeoutError, match=r"^0 of 1 .* after 0\.02 s; still open: 'wait_for-[0-9a-f]+'$"):
        next(as_completed([future], timeout=0.02))
    (tmp_path / "go").touch()


def test_a_callback_is_called_with_the_future(client: Client) -> None:
    called, future = threading.Event(), client.submit(tasks.inc, 1)
    seen: list[Any] = []
    future.add_done_callback(lambda done: (seen.append(done), called.set()))
    assert called.wait(60)
    assert seen == [future]


def test_results_are_forgotten_when_the_last_future_goes(client: Client) -> None:
    future = client.submit(tasks.big, 2, 5.0)
    wait(future)
    assert client.scheduler_info()["tasks"]["memory"] == 1
    del future
    gc.collect()
    eventually(lambda: client.scheduler_info()["tasks"]["memory"] == 0)


def test_a_future_in_use_by_another_task_outlives_its_variable(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.wait_for, str(tmp_path / "go"), 41)
    result = client.submit(tasks.inc, future)
    del future
    gc.collect()
    (tmp_path / "go").touch()
    assert result.result() == 42


# Cancelling


def test_cancelling_gives_up_a_task_and_what_depends_on_it(client: Client, tmp_path: Path) -> None:
    blocked = client.submit(tasks.wait_for, str(tmp_path / "go"), 1)
    dependent = client.submit(tasks.inc, blocked)
    client.cancel(blocked)
    wait([blocked, dependent])
    assert (blocked.status, dependent.status, blocked.cancelled()) == ("cancelled", "cancelled", True)
    with pytest.raises(CancelledError, match=r"task 'inc-[0-9a-f]+' was cancelled"):
        dependent.result()
    (tmp_path / "go").touch()


def test_cancelling_the_first_of_a_long_chain_cancels_all(client: Client, tmp_path: Path) -> None:
    chain = [client.submit(tasks.wait_for, str(tmp_path / "go"), 1)]
    for _ in range(3000):
        chain.append(client.submit(tasks.inc, chain[-1]))
    chain[0].cancel()
    wait(chain)
    assert {future.status for future in chain} == {"cancelled"}
    (tmp_path / "go").touch()


def test_a_cancelled_task_can_be_submitted_again(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.wait_for, str(tmp_path / "go"), 8)
    future.cancel()
    wait(future)
    (tmp_path / "go").touch()
    assert client.submit(tasks.wait_for, str(tmp_path / "go"), 8).result() == 8


# Errors


def test_an_exception_comes_back_with_the_frames_key_and_line_of_its_task(client: Client) -> None:
    future = client.submit(tasks.divide, 1, 0)  # the line that the note names
    with pytest.raises(ZeroDivisionError, match="division by zero") as caught:
        future.result()
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.name for frame in frames if "/glassloom/" not in frame.filename] == [
        "test_an_exception_comes_back_with_the_frames_key_and_line_of_its_task",
        "divide",
    ]
    assert frames[-1].line == "return numerator / denominator"
    (note,) = caught.value.__notes__
    assert note.startswith(f"Task '{future.key}', built at {__file__}:")
    assert note.endswith("future = client.submit(tasks.divide, 1, 0)  # the line that the note names")


def test_an_exception_keeps_its_cause(client: Client) -> None:
    def fail() -> None:
        try:
            int("x")
        except ValueError as error:
            raise KeyError("outer") from error

    error = client.submit(fail).exception()
    assert isinstance(error, KeyError)
    assert isinstance(error.__cause__, ValueError)


def test_a_failure_reaches_what_depends_on_it_under_its_own_key(client: Client) -> None:
    failed = client.submit(tasks.divide, 1, 0)
    error = client.submit(tasks.inc, client.submit(tasks.inc, failed)).exception()
    assert isinstance(error, ZeroDivisionError)
    assert error.__notes__[0].startswith(f"Task '{failed.key}'")


def test_a_failed_task_gets_another_chance_when_submitted_again(client: Client, tmp_path: Path) -> None:
    path = str(tmp_path / "c")
    first = client.submit(tasks.fail_until, path, 1)
    wait(first)
    assert first.status == "error"
    assert client.submit(tasks.fail_until, path, 1).result() == 2
    assert first.status == "finished"


class Unpicklable:
    def __reduce__(self) -> Any:
        raise RuntimeError("stays here")


def test_an_unpicklable_argument_is_an_error_at_once(client: Client) -> None:
    with pytest.raises(SerialisationError, match=r"an argument of task 'same-.*Unpicklable can't be sent .*stays here"):
        client.submit(tasks.same, Unpicklable())


def test_an_unpicklable_function_is_an_error_at_once(client: Client) -> None:
    lock = threading.Lock()
    with pytest.raises(SerialisationError, match=r"the function of task 'lambda-.*cannot pickle '_thread\.lock'"):
        client.submit(lambda: lock)


def test_an_unpicklable_result_is_an_error_that_names_it(client: Client) -> None:
    future = client.submit(threading.Lock)
    with pytest.raises(SerialisationError, match=r"_thread\.lock can't be sent to another process"):
        future.result()


def test_an_unpicklable_result_can_be_used_where_it_is(client: Client) -> None:
    lock = client.submit(threading.Lock)
    assert client.submit(lambda value: value.locked(), lock).result() is False


def test_two_unpicklable_results_on_different_workers_cannot_meet(client: Client, tmp_path: Path) -> None:
    def lock_here(number: int) -> Any:
        (tmp_path / f"begun-{number}").touch()
        tasks.wait_for(str(tmp_path / "go"))
        return threading.Lock()

    locks = [client.submit(lock_here, number) for number in range(4)]
    eventually(lambda: len(list(tmp_path.glob("begun-*"))) == 4)
    (tmp_path / "go").touch()
    with pytest.raises(SerialisationError, match=r"the result of 'lock_here-.* can't be sent to another process"):
        client.submit(len, locks).result()


def test_an_exception_that_cannot_be_pickled_keeps_its_text_and_traceback(client: Client) -> None:
    def fail() -> None:
        error = ValueError("told anyway")
        error.lock = threading.Lock()
        raise error

    error = client.submit(fail).exception()
    assert isinstance(error, RemoteError)
    assert str(error) == "ValueError: told anyway"
    assert "ValueError: told anyway" in error.__notes__[0]


def test_an_exception_whose_text_cannot_be_made_is_still_an_error(client: Client) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    def fail() -> None:
        raise Mute

    assert type(client.submit(fail).exception()).__name__ == "Mute"


def test_a_result_that_breaks_when_measured_counts_as_small(client: Client) -> None:
    class Odd:
        @property
        def nbytes(self) -> int:
            raise RuntimeError("no size")

    assert client.submit(lambda odd: "fine", client.submit(Odd)).result() == "fine"


def test_a_task_may_raise_system_exit_and_the_worker_lives_on(client: Client) -> None:
    before = client.run(os.getpid)
    assert isinstance(client.submit(sys.exit, 3).exception(), SystemExit)
    assert client.run(os.getpid) == before


# Large results


def test_a_large_result_is_read_only_shared_memory(client: Client) -> None:
    array = client.submit(tasks.big, 8).result()
    assert (array.nbytes, float(array.sum())) == (8 * 2**20, float(2**20))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 2


def test_readers_of_a_large_result_map_the_same_memory(client: Client) -> None:
    future = client.submit(tasks.big, 8, 3.0)
    first, second = future.result(), future.result()
    assert [_mapping_of(array) for array in (first, second)] == [_mapping_of(first)] * 2
    assert _mapping_of(first).startswith("/dev/shm/glassloom-" + client.id)


def _mapping_of(array: np.ndarray) -> str:
    """Return the file behind the address of an array's data."""
    address = array.__array_interface__["data"][0]
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, _, stop = line.split()[0].partition("-")
        if int(start, 16) <= address < int(stop, 16):
            return line.split()[-1]
    raise AssertionError("not mapped")


def test_a_large_result_read_by_every_worker_lies_in_memory_once(client: Client) -> None:
    gc.collect()
    eventually(
        lambda: not list(Path("/dev/shm").glob(f"glassloom-{client.id}-*"))
    )  # those of the tests before are gone
    data = client.submit(tasks.big, 16, 2.0)
    means = [client.submit(lambda array, number: float(array.mean()) + number, data, number) for number in range(40)]
    assert client.gather(means) == [2.0 + number for number in range(40)]
    files = list(Path("/dev/shm").glob(f"glassloom-{client.id}-*"))
    assert sum(path.stat().st_size for path in files) < 1.1 * 16 * 2**20


def test_shared_memory_is_freed_with_the_future(client: Client) -> None:
    future = client.submit(tasks.big, 8, 4.0)
    future.result()
    assert list(Path("/dev/shm").glob(f"glassloom-{client.id}-w*")) != []
    del future
    gc.collect()
    eventually(lambda: not list(Path("/dev/shm").glob(f"glassloom-{client.id}-w*")))


def test_scattered_data_reaches_tasks_without_a_copy(client: Client) -> None:
    data = np.arange(2**20)
    future = client.scatter(data)
    files = client.submit(lambda array: _worker_mapping(array), future).result()
    assert files.startswith(f"/dev/shm/glassloom-{client.id}-c")
    assert np.array_equal(future.result(), data)


def _worker_mapping(array: np.ndarray) -> str:
    return _mapping_of(array)


def test_what_was_scattered_is_finished_at_once(client: Client) -> None:
    small, large = client.scatter([1, np.ones(10**6)])
    assert (small.status, large.status) == ("finished", "finished")
    assert large.nbytes >= 8 * 10**6
    called: list[Future] = []
    small.add_done_callback(called.append)
    assert eventually(lambda: called) == [small]
    assert client.submit(operator.add, small, 1).result() == 2
    assert client.scatter(1).status == "finished"  # the same value once more
    assert large.result().sum() == 10**6


def test_scattered_data_that_was_cancelled_can_be_scattered_again(client: Client) -> None:
    data = np.full(10**5, 3.0)
    first = client.scatter(data)
    first.cancel()
    second = client.scatter(data)
    assert second.status == "finished"
    assert client.submit(np.sum, second).result() == 3e5


def test_scatter_keeps_lists_and_dicts(client: Client) -> None:
    assert client.gather(client.scatter({"a": 1, "b": [2, 3]})) == {"a": 1, "b": [2, 3]}
    assert client.gather(client.scatter([1, "two"])) == [1, "two"]


def test_a_large_argument_is_sent_once_for_many_tasks(client: Client) -> None:
    data = np.ones(2**18)
    futures = [client.submit(lambda array, n: float(array.sum()) * n, data, n, pure=False) for n in range(3)]
    assert client.gather(futures) == [0.0, 262144.0, 524288.0]
    mapped = client.map(lambda n, array: float(array[0]) + n, range(50), array=data)
    assert client.gather(mapped) == [1.0 + n for n in range(50)]


# Collections


def test_collections_run_on_the_client_that_is_current(client: Client) -> None:
    here = os.getpid()
    assert delayed(os.getpid)().compute() == here
    assert delayed(os.getpid)().compute(scheduler=client) != here


def test_client_compute_returns_a_future(client: Client) -> None:
    assert client.compute(delayed(tasks.inc)(4)).result() == 5


def test_client_compute_waits_when_told_to(client: Client) -> None:
    assert client.compute([delayed(tasks.inc)(4), 7], sync=True) == [5, 7]


def test_persist_holds_results_on_the_cluster(client: Client, tmp_path: Path) -> None:
    log = str(tmp_path / "runs")
    (held,) = persist(delayed(tasks.count_run)(log, 5), scheduler=client)
    assert compute(held, delayed(tasks.inc)(held), scheduler=client) == (5, 6)
    assert Path(log).read_text() == "x"


def test_a_persisted_collection_can_be_waited_for(client: Client) -> None:
    (held,) = persist(delayed(tasks.inc)(1), scheduler=client)
    assert {future.status for future in wait(held).done} == {"finished"}


def test_a_task_may_compute_collections_itself(client: Client) -> None:
    def nested() -> int:
        return delayed(tasks.inc)(delayed(tasks.inc)(1)).compute()

    assert client.submit(nested).result() == 3


def test_the_newest_open_client_is_the_default() -> None:
    with pytest.raises(ClusterClosed, match="no client is open"):
        default_client()
    with LocalCluster(n_workers=1, threads_per_worker=1) as cluster:
        with Client(cluster) as outer:
            with Client(cluster) as inner:
                assert default_client() is inner
            assert default_client() is outer
        with pytest.raises(ClusterClosed, match="no client is open"):
            default_client()


# Sizes


def test_a_chain_of_ten_thousand_tasks_runs(client: Client) -> None:
    value = delayed(0)
    for _ in range(10_000):
        value = delayed(tasks.inc, pure=True)(value)
    assert value.compute(scheduler=client) == 10_000


@pytest.mark.long
def test_a_graph_of_a_hundred_thousand_tasks_runs(client: Client) -> None:
    futures = client.map(tasks.inc, range(100_000))
    assert sum(client.gather(futures)) == 5000050000
