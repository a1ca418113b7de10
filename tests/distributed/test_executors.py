"""A client as an executor of `concurrent.futures`, and as a backend of joblib."""

from __future__ import annotations

import concurrent.futures as cf
import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import threadpoolctl
from calls import add, fail, inc, process
from glassloom import Client, Event, get_client
from glassloom.distributed import register_joblib
from glassloom.distributed.joblib_backend import _limited_threads
from glassloom.errors import OptionError


def wait_for(event: Event) -> bool:
    return event.wait(60)


def test_calls_run_on_the_cluster(client: Client) -> None:
    with client.get_executor() as executor:
        futures = [executor.submit(add, number, right=1) for number in range(5)]
        assert isinstance(futures[0], cf.Future)
        assert sorted(future.result(60) for future in cf.as_completed(futures)) == [1, 2, 3, 4, 5]
        done, rest = cf.wait([executor.submit(inc, 1), executor.submit(fail, 1)])
        assert len(done) == 2 and not rest
        assert executor.submit(process).result() in {w["pid"] for w in client.scheduler_info()["workers"].values()}


def test_a_map_keeps_the_order_and_raises_at_its_place(client: Client) -> None:
    executor = client.get_executor()
    assert list(executor.map(add, range(4), [10] * 3, chunksize=2)) == [10, 11, 12]
    assert list(executor.map(inc, [])) == []
    results = executor.map(fail, [1, 2])
    with pytest.raises(ValueError, match="no 1"):
        next(results)


def test_a_map_with_a_buffer_reads_no_more_than_it_holds(client: Client) -> None:
    numbers = itertools.count()
    with client.get_executor() as executor:
        results = executor.map(inc, numbers, buffersize=3)
        assert [next(results) for _ in range(5)] == [1, 2, 3, 4, 5]
        assert next(numbers) == 8, "three at first, and one for each that was taken"
        results.close()
        assert list(executor.map(add, range(5), itertools.count(), buffersize=2)) == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"chunksize": 0}, ValueError, "chunksize=0 should be 1 or more"),
        ({"chunksize": 1.5}, TypeError, "chunksize=1.5 should be a whole number"),
        ({"buffersize": 0}, ValueError, "buffersize=0 should be 1 or more"),
        ({"buffersize": "many"}, TypeError, "buffersize='many' should be a whole number"),
    ],
)
def test_sizes_that_cannot_be_are_errors_before_anything_runs(
    client: Client, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=f"^{text}$"):
        client.get_executor().map(inc, [1], **options)


def test_an_error_is_the_tasks_own(client: Client) -> None:
    future = client.get_executor().submit(fail, 3)
    error = future.exception(60)
    assert isinstance(error, ValueError) and "fail" in str(error.__notes__)


def test_a_call_that_waits_can_be_given_up(client: Client) -> None:
    gate, executor = Event(client=client), client.get_executor()
    futures = [executor.submit(wait_for, gate) for _ in range(6)]
    assert futures[-1].cancel() and futures[-1].cancelled()
    with pytest.raises(TimeoutError):
        futures[0].result(0.01)
    executor.shutdown(wait=True, cancel_futures=True)
    gate.set()
    assert all(future.cancelled() for future in futures)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(inc, 1)
    assert client.submit(inc, 1).result() == 2


def test_a_shutdown_waits_for_the_calls(client: Client) -> None:
    executor = client.get_executor(priority=1)
    futures = [executor.submit(inc, number) for number in range(20)]
    executor.shutdown()
    assert all(future.done() for future in futures)


def calls_inside(number: int) -> tuple[list[int], int, bool]:
    with get_client().get_executor() as executor:
        mapped = list(executor.map(inc, range(number)))
        had_none = executor.submit(inc, 1).exception() is None
        left_to_the_end = executor.submit(inc, number)
    return mapped, left_to_the_end.result(), had_none


def test_a_task_that_waits_for_calls_leaves_its_place_to_them(client: Client) -> None:
    futures = client.get_executor().map(calls_inside, range(8), timeout=60)
    assert list(futures) == [(list(range(1, number + 1)), number + 1, True) for number in range(8)]


def test_the_client_of_the_block_around_counts_before_the_newest(client: Client) -> None:
    with client.as_current():
        assert get_client() is client


# joblib


@pytest.fixture
def backend(client: Client) -> Iterator[dict[str, Any]]:
    """Return what chooses the backend."""
    register_joblib()
    yield {"backend": "glassloom", "client": client}


def doubled(number: int) -> int:
    return 2 * number


def nested(number: int) -> int:
    return sum(joblib.Parallel()(joblib.delayed(doubled)(each) for each in range(number)))


def first_of(values: np.ndarray, position: int) -> tuple[float, bool]:
    return float(values[position]), values.flags.writeable


def test_joblib_runs_on_the_cluster(client: Client, backend: dict[str, Any]) -> None:
    with joblib.parallel_config(**backend):
        pids = joblib.Parallel()(joblib.delayed(process)(number) for number in range(20))
        assert joblib.effective_n_jobs() == 4
    assert set(pids) <= {worker["pid"] for worker in client.scheduler_info()["workers"].values()}
    with joblib.parallel_backend("glassloom", client=client):
        assert joblib.Parallel(batch_size=3)(joblib.delayed(inc)(number) for number in range(10)) == list(range(1, 11))
        assert sorted(joblib.Parallel(return_as="generator_unordered")(joblib.delayed(inc)(n) for n in range(5))) == [1, 2, 3, 4, 5]  # fmt: skip


def test_calls_inside_calls_do_not_wait_for_each_other_for_ever(backend: dict[str, Any]) -> None:
    with joblib.parallel_config(**backend):
        assert joblib.Parallel()(joblib.delayed(nested)(number) for number in range(12)) == [
            n * (n - 1) for n in range(12)
        ]


def test_large_arguments_are_sent_once(client: Client, backend: dict[str, Any]) -> None:
    values = np.arange(50_000.0)
    with joblib.parallel_config(**backend):
        found = joblib.Parallel(batch_size=1)(joblib.delayed(first_of)(values, position) for position in range(10))
    assert found == [(float(position), False) for position in range(10)]


def openblas_threads(_: int) -> set[int]:
    return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}


def test_calls_use_as_many_threads_inside_as_they_may(backend: dict[str, Any]) -> None:
    with joblib.parallel_config(**backend, inner_max_num_threads=3):
        assert joblib.Parallel()(joblib.delayed(openblas_threads)(number) for number in range(2)) == [{3}, {3}]


def test_who_leaves_first_does_not_take_the_threads_of_those_still_inside() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))  # BLAS is loaded
    before = openblas_threads(0)
    first, second = _limited_threads(3), _limited_threads(3)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert openblas_threads(0) == {3}
    second.__exit__(None, None, None)
    assert openblas_threads(0) == before


def test_an_option_that_there_is_not_is_an_error(backend: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="has no option 'retrys'; it has client, priority, retries, "):
        joblib.parallel_config(**backend, retrys=2)


def test_an_error_of_a_call_is_raised(client: Client, backend: dict[str, Any]) -> None:
    with joblib.parallel_config(**backend), pytest.raises(ValueError, match="no 1"):
        joblib.Parallel(batch_size=1)(joblib.delayed(fail)(1) for _ in range(50))
    assert client.submit(inc, 1).result() == 2


def test_joblib_finds_the_backend_by_its_name_once_there_is_a_client(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(joblib.parallel.BACKENDS, "glassloom", raising=False)
    monkeypatch.delitem(joblib.parallel.EXTERNAL_BACKENDS, "glassloom", raising=False)
    with Client(client.id, set_as_default=False) as again, joblib.parallel_backend("glassloom", client=again):
        assert joblib.Parallel()(joblib.delayed(abs)(number) for number in (-1, -2)) == [1, 2]


IMPORTED_LATER = """
import sys
from glassloom import Client
if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=1):
        assert "joblib" not in sys.modules
        n_finders = len(sys.meta_path)
        import joblib
        assert len(sys.meta_path) == n_finders - 1 and type(joblib.parallel.__loader__).__name__ == "SourceFileLoader"
        with joblib.parallel_backend("glassloom"):
            print(joblib.Parallel()(joblib.delayed(abs)(number) for number in (-1, -2)))
"""


def test_joblib_finds_the_backend_also_if_it_is_imported_after_the_client_was_made(tmp_path: Path) -> None:
    script = tmp_path / "later.py"
    script.write_text(IMPORTED_LATER)
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert (ran.stdout, ran.returncode) == ("[1, 2]\n", 0), ran.stderr


def test_without_joblib_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib", None)
    monkeypatch.delitem(sys.modules, "glassloom.distributed.joblib_backend", raising=False)
    with pytest.raises(
        OptionError, match=r"register_joblib\(\) needs joblib, which isn't installed: pip install joblib"
    ):
        register_joblib()
