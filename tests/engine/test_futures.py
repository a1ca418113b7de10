"""What futures offer besides their results: callbacks, retries, cancelling for oneself or for all, in order of finishing."""

from __future__ import annotations

import logging
import threading
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tasks
from glassloom import Client, as_completed, wait
from glassloom.client.blocking import Signal, WaitFor, run_sync
from glassloom.errors import CancelledError, OptionError
from glassloom.units import parse_seconds
from test_client import eventually

# Timeouts


def test_timeouts_may_be_text(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.wait_for, str(tmp_path / "go"))
    with pytest.raises(TimeoutError, match=r"no result after 0\.02 s"):
        future.result(timeout="20ms")
    (tmp_path / "go").touch()


@pytest.mark.parametrize("timeout", [-1, "soon", "5 parsecs", True, object()])
def test_a_timeout_that_is_no_time_is_refused(client: Client, timeout: Any) -> None:
    with pytest.raises(OptionError, match=r"^timeout=.* is no time; write seconds, 0 or more, or text such as '500ms'"):
        client.submit(tasks.inc, 1).result(timeout=timeout)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90.0), ("1.5 h", 5400.0), ("3 min", 180.0), (timedelta(minutes=1), 60.0), (0, 0.0)]
)
def test_times_are_parsed(text: Any, seconds: float) -> None:
    assert parse_seconds("timeout", text) == seconds


def test_a_timeout_names_the_first_of_many_open_futures(client: Client, tmp_path: Path) -> None:
    futures = client.map(tasks.wait_for, [str(tmp_path / "go")] * 8, range(8), key="open")
    with pytest.raises(
        TimeoutError, match=r"0 of 8 .*; still open: 'open-0', 'open-1', 'open-2', 'open-3', 'open-4' and 3 more$"
    ):
        wait(futures, timeout=0.01)
    (tmp_path / "go").touch()


def test_waiting_again_and_again_leaves_nothing_behind(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.wait_for, str(tmp_path / "go"))
    for _ in range(5):
        with pytest.raises(TimeoutError, match="no result after"):
            future.result(timeout=0.001)
    assert future._state.callbacks == ()
    (tmp_path / "go").touch()


def test_waiting_where_there_is_no_worker_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassloom.client.blocking.WATCH_S", 0.01)
    with Client(n_workers=0, threads_per_worker=1, name="empty") as client:
        future = client.submit(tasks.inc, 1)
        with warnings.catch_warnings():  # as errors, so that each wait ends with its warning, however late that comes
            warnings.simplefilter("error", UserWarning)
            with pytest.raises(UserWarning, match="'empty' has no workers, so nothing will be computed; client.scale"):
                future.result(timeout=60)
            with pytest.raises(UserWarning, match="'empty' has no workers"):
                next(as_completed([future], timeout=60))
        with warnings.catch_warnings(action="ignore"):
            with pytest.raises(TimeoutError, match="no result"):
                future.result(timeout=0.05)
            with pytest.raises(TimeoutError, match="0 of 1 futures are done"):
                next(as_completed([future], timeout=0.05))
        assert client.cluster is not None
        client.cluster.scale(1)
        assert future.result(timeout=60) == 2


def test_waiting_for_adaptive_workers_does_not_warn(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr("glassloom.client.blocking.WATCH_S", 0.01)
    with Client(n_workers=0, threads_per_worker=1) as client:
        assert client.cluster is not None
        client.cluster.adapt(0, 1)
        assert client.submit(tasks.inc, 1).result(timeout=60) == 2
    assert [str(warning.message) for warning in recwarn if "no workers" in str(warning.message)] == []


# Callbacks


def test_a_callback_may_wait_for_a_large_result(client: Client) -> None:
    results: list[float] = []
    done = threading.Event()
    future = client.submit(tasks.big, 2, 3.0, pure=False)
    future.add_done_callback(lambda f: (results.append(float(f.result()[0])), done.set()))
    assert done.wait(60)
    assert results == [3.0]


def test_a_callback_that_raises_is_logged_and_the_client_goes_on(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="glassloom"):
        future = client.submit(tasks.inc, 41, pure=False)
        future.add_done_callback(lambda f: 1 // 0)
        eventually(lambda: caplog.messages)
    assert caplog.messages == ["a callback of a future raised"]
    assert client.submit(tasks.inc, 1, pure=False).result() == 2


# Exceptions, retries


def test_exception_and_traceback_are_none_for_a_result(client: Client) -> None:
    future = client.submit(tasks.inc, 1)
    assert (future.exception(), future.traceback()) == (None, None)


def test_gather_raises_the_first_failure_without_waiting_for_the_others(client: Client, tmp_path: Path) -> None:
    slow = client.submit(tasks.wait_for, str(tmp_path / "go"))
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        client.gather([slow, client.submit(tasks.divide, 1, 0)])
    assert (slow.status, slow._state.callbacks) == ("pending", ())
    (tmp_path / "go").touch()


def test_traceback_is_the_tasks(client: Client) -> None:
    trace = client.submit(tasks.divide, 1, 0).traceback()
    while trace.tb_next is not None:
        trace = trace.tb_next
    assert trace.tb_frame.f_code.co_name == "divide"


def test_a_failed_task_can_be_tried_again(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.fail_until, str(tmp_path / "a"), 1)
    wait(future)
    assert future.status == "error"
    future.retry()
    assert future.result(timeout=60) == 2


def test_trying_again_begins_with_the_task_that_failed_first(client: Client, tmp_path: Path) -> None:
    first = client.submit(tasks.fail_until, str(tmp_path / "b"), 1)
    last = client.submit(tasks.inc, client.submit(tasks.inc, first))
    del first
    wait(last)
    assert last.status == "error"
    client.retry([last])
    assert last.result(timeout=60) == 4


def test_a_task_that_fails_again_says_so_again(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.fail_until, str(tmp_path / "c"), 5)
    wait(future)
    future.retry()
    with pytest.raises(ValueError, match="call 2"):
        future.result(timeout=60)


def test_trying_again_leaves_results_as_they_are(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.count_run, str(tmp_path / "runs"), 1)
    future.result()
    future.retry()
    assert (future.result(), (tmp_path / "runs").read_text()) == (1, "x")


# Letting go, cancelling


def test_release_lets_go_of_the_result_like_deleting_the_future(client: Client) -> None:
    future = client.submit(tasks.big, 1, pure=False)
    wait(future)
    assert future.key in client.who_has()
    future.release()
    future.release()
    eventually(lambda: future.key not in client.who_has())


def test_a_future_that_was_released_before_it_had_a_result_is_cancelled(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.wait_for, str(tmp_path / "go"), pure=False)
    future.release()
    with pytest.raises(CancelledError, match="^the future of task .* was released before the task had a result$"):
        future.result()
    (tmp_path / "go").touch()


def test_a_task_that_this_client_cancelled_says_so(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.wait_for, str(tmp_path / "go"), pure=False)
    future.cancel()
    with pytest.raises(CancelledError, match="^task .* was cancelled by this client$"):
        future.result(timeout=60)
    (tmp_path / "go").touch()


def test_cancelling_leaves_the_tasks_of_other_clients_alone(client: Client, tmp_path: Path) -> None:
    with Client(client.cluster, set_as_default=False) as other:
        mine, theirs = (c.submit(tasks.wait_for, str(tmp_path / "go"), 5, key="shared") for c in (client, other))
        dependent = other.submit(tasks.inc, theirs)
        mine.cancel()
        wait(mine)
        assert mine.status == "cancelled"
        (tmp_path / "go").touch()
        assert (theirs.result(timeout=60), dependent.result(timeout=60)) == (5, 6)


def test_cancelling_leaves_alone_what_others_build_upon(client: Client, tmp_path: Path) -> None:
    with Client(client.cluster, set_as_default=False) as other:
        mine = client.submit(tasks.wait_for, str(tmp_path / "go"), 7, key="foundation")
        theirs = other.submit(tasks.inc, other.submit(tasks.wait_for, str(tmp_path / "go"), 7, key="foundation"))
        other.submit(tasks.inc, 0).result()  # by now the head knows of all this
        client.cancel([mine])
        (tmp_path / "go").touch()
        assert theirs.result(timeout=60) == 8


def test_force_cancels_for_all(client: Client, tmp_path: Path) -> None:
    with Client(client.cluster, set_as_default=False) as other:
        mine, theirs = (c.submit(tasks.wait_for, str(tmp_path / "go"), 5, key="shared-2") for c in (client, other))
        other.submit(tasks.inc, 0).result()
        client.cancel(mine, force=True)
        with pytest.raises(CancelledError, match="'shared-2' was cancelled"):
            theirs.result(timeout=60)
        (tmp_path / "go").touch()


# In the order of finishing


def test_as_completed_takes_more_while_it_runs(client: Client) -> None:
    completed = as_completed(client.map(tasks.inc, [1, 2]), with_results=True)
    seen = []
    for _, result in completed:
        seen.append(result)
        if result < 10:
            completed.add(client.submit(tasks.add, result, 10))
    assert sorted(seen) == [2, 3, 12, 13]
    assert completed.is_empty()


def test_as_completed_tells_how_many_are_left_and_whether_one_is_ready(client: Client, tmp_path: Path) -> None:
    quick, slow = client.submit(tasks.inc, 1), client.submit(tasks.wait_for, str(tmp_path / "go"))
    completed = as_completed([quick, slow])
    quick.result()
    eventually(completed.has_ready)
    assert completed.count() == 2
    assert next(completed) is quick
    assert (completed.count(), completed.has_ready()) == (1, False)
    (tmp_path / "go").touch()
    assert list(completed) == [slow]


def test_as_completed_gives_batches(client: Client, tmp_path: Path) -> None:
    quick = client.map(tasks.inc, range(3))
    wait(quick)
    slow = client.submit(tasks.wait_for, str(tmp_path / "go"))
    batches = as_completed([*quick, slow]).batches()
    assert set(next(batches)) == set(quick)
    (tmp_path / "go").touch()
    assert list(batches) == [[slow]]


def test_next_batch_need_not_wait(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.wait_for, str(tmp_path / "go"), 4)
    completed = as_completed([future], with_results=True)
    assert completed.next_batch(block=False) == []
    (tmp_path / "go").touch()
    assert completed.next_batch() == [(future, 4)]
    assert completed.next_batch() == []


def test_as_completed_raises_the_error_when_its_turn_comes_and_goes_on(client: Client) -> None:
    completed = as_completed([client.submit(tasks.divide, 1, 0)], with_results=True)
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        next(completed)
    assert list(completed) == []


def test_as_completed_gives_errors_instead_of_raising_them(client: Client) -> None:
    future = client.submit(tasks.divide, 1, 0)
    ((given, error),) = as_completed([future], with_results=True, raise_errors=False)
    assert given is future
    assert isinstance(error, ZeroDivisionError)


def test_as_completed_of_a_generator_and_of_nothing(client: Client) -> None:
    assert len(list(as_completed(client.submit(tasks.inc, n) for n in range(3)))) == 3
    assert list(as_completed([])) == list(as_completed()) == []


def test_as_completed_forgets_what_is_cleared(client: Client, tmp_path: Path) -> None:
    completed = as_completed([client.submit(tasks.wait_for, str(tmp_path / "go"))])
    completed.clear()
    assert list(completed) == []
    (tmp_path / "go").touch()


def test_results_of_a_collection_are_given_block_by_block(client: Client) -> None:
    import glassloom.array as ga

    blocks = client.persist(ga.arange(6, chunks=2))
    results = [result for _, result in as_completed(blocks, with_results=True)]
    assert sorted(np.concatenate(results)) == list(range(6))


# Waiting by itself


def test_steps_clean_up_when_waiting_is_interrupted() -> None:
    cleaned: list[str] = []

    def steps() -> Any:
        try:
            yield WaitFor(Signal(), 0.0)
            yield _Interrupts()
        except KeyboardInterrupt:
            cleaned.append("up")
            raise

    with pytest.raises(KeyboardInterrupt):
        run_sync(steps())
    assert cleaned == ["up"]


class _Interrupts:
    """A wait during which somebody presses Ctrl-C."""

    for_tasks, timeout_s = False, None

    @property
    def signal(self) -> Any:
        raise KeyboardInterrupt


def test_a_signal_calls_once_whoever_asked_before_or_after() -> None:
    signal, seen = Signal(), []
    signal.add_callback(lambda: seen.append("before"))
    forgotten = lambda: seen.append("forgotten")  # noqa: E731
    signal.add_callback(forgotten)
    signal.remove_callback(forgotten)
    signal.set()
    signal.set()
    signal.add_callback(lambda: seen.append("after"))
    assert (seen, signal.is_set) == (["before", "after"], True)
