"""Scaling, adapting, restarting, and asking where results are: on real processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from fault_helpers import start_over
from glassloom import Client, fire_and_forget, wait
from glassloom.errors import OptionError
from glassloom.scheduler import Adaptive
from leaks import Watch

_ELEMENTS = 50_000


@pytest.fixture(scope="module")
def cluster_to_scale(nothing_is_left_behind: Watch) -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1, memory_limit="500MB", set_as_default=False) as client:
        yield client


@pytest.fixture
def scalable(cluster_to_scale: Client) -> Client:
    start_over(cluster_to_scale, 2)
    return cluster_to_scale


def _fill(number: int) -> np.ndarray:
    return np.full(_ELEMENTS, number)


def _touch(path: str) -> None:
    Path(path).touch()


def _wait_until(condition: Callable[[], bool], timeout_s: float = 60.0) -> None:
    pause = threading.Event()
    for _ in range(int(timeout_s / 0.05)):
        if condition():
            return
        pause.wait(0.05)
    raise TimeoutError(f"{condition} isn't so after {timeout_s} s")


def test_a_retired_worker_leaves_its_results_to_the_others(scalable: Client) -> None:
    futures = scalable.map(_fill, range(6))
    wait(futures)
    assert scalable.cluster is not None
    scalable.cluster.scale(1)
    assert list(scalable.ncores().values()) == [1]
    assert [int(future.result()[-1]) for future in futures] == [0, 1, 2, 3, 4, 5]
    _, kept = max(scalable.has_what().items())
    assert len(kept) < 6


def test_scaling_to_zero_keeps_results_and_scaling_up_goes_on_with_what_waits(scalable: Client) -> None:
    assert scalable.cluster is not None
    future = scalable.submit(_fill, 7)
    wait(future)
    scalable.cluster.scale(0)
    assert scalable.ncores() == {}
    total = scalable.submit(np.sum, future)
    assert not total.done()
    scalable.cluster.scale(1)
    assert total.result(timeout=60) == 7 * _ELEMENTS


def test_restart_cancels_what_there_was_and_gives_new_workers(scalable: Client) -> None:
    future = scalable.submit(_fill, 1)
    wait(future)
    before = {worker["pid"] for worker in scalable.scheduler_info()["workers"].values()}
    scalable.restart()
    after = {worker["pid"] for worker in scalable.scheduler_info()["workers"].values()}
    assert future.status == "cancelled"
    assert len(after) == 2 and not after & before
    assert scalable.submit(pow, 2, 5).result(timeout=60) == 32


def test_an_adaptive_cluster_grows_with_the_work_and_shrinks_after_it(scalable: Client, tmp_path: Path) -> None:
    assert scalable.cluster is not None
    gate = tmp_path / "go"
    scalable.cluster.adapt(minimum=1, maximum=4, wait_s=0.2)
    futures = scalable.map(_wait_for_file, [str(gate)] * 8, pure=False)
    _wait_until(lambda: len(scalable.ncores()) == 4)
    gate.touch()
    wait(futures)
    _wait_until(lambda: len(scalable.ncores()) == 1)


def _wait_for_file(path: str) -> None:
    _wait_until(Path(path).exists)


@pytest.mark.parametrize(
    ("minimum", "maximum", "message"),
    [(5, 2, "minimum=5 is larger than maximum=2"), (-1, 2, r"minimum=-1 should be a whole number, 0 or more")],
)
def test_bounds_without_sense_are_refused(scalable: Client, minimum: int, maximum: int, message: str) -> None:
    assert scalable.cluster is not None
    with pytest.raises(OptionError, match=message):
        scalable.cluster.adapt(minimum, maximum)


def test_a_number_of_workers_must_be_one(scalable: Client) -> None:
    assert scalable.cluster is not None
    with pytest.raises(OptionError, match=r"n=1\.5 should be a whole number, 0 or more"):
        scalable.cluster.scale(1.5)  # type: ignore[arg-type]


def test_who_has_and_nbytes_tell_where_results_are_and_how_large(scalable: Client) -> None:
    future = scalable.submit(_fill, 3)
    wait(future)
    (worker,) = scalable.who_has(future)[future.key]
    assert future.key in scalable.has_what()[worker]
    assert scalable.nbytes(future) == {future.key: 8 * _ELEMENTS}
    future.result()  # which puts it into shared memory
    assert scalable.who_has(future) == {future.key: []}


def test_what_is_fired_and_forgotten_runs_without_a_future(scalable: Client, tmp_path: Path) -> None:
    path = tmp_path / "fired"
    blocker = scalable.submit(_wait_for_file, str(tmp_path / "go"))
    future = scalable.submit(lambda _, target: _touch(target), blocker, str(path))
    fire_and_forget(future)
    del future, blocker
    assert not path.exists()
    (tmp_path / "go").touch()
    _wait_until(path.exists)


def test_adaptive_goes_up_at_once_and_down_only_after_a_while() -> None:
    adaptive = Adaptive(minimum=1, maximum=6, wait_s=3.0)
    assert adaptive.target(2, n_tasks=9, threads_per_worker=2, now_s=0.0) == 5
    assert adaptive.target(5, n_tasks=100, threads_per_worker=2, now_s=1.0) == 6
    assert adaptive.target(6, n_tasks=2, threads_per_worker=2, now_s=2.0) == 6
    assert adaptive.target(6, n_tasks=12, threads_per_worker=2, now_s=4.0) == 6
    assert adaptive.target(6, n_tasks=2, threads_per_worker=2, now_s=4.5) == 6
    assert adaptive.target(6, n_tasks=2, threads_per_worker=2, now_s=7.6) == 1
