"""Where tasks run, on real workers: ahead of their inputs, and away from a worker that is slower than was expected."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leaks
import numpy as np
import pytest
import tasks
from fault_helpers import eventually
from glassloom import Client, Future, wait
from glassloom.graph import Graph, Task, TaskRef
from glassloom.scheduler.state import PREFETCH_S


@pytest.fixture(scope="module")
def client(nothing_is_left_behind: leaks.Watch) -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1, memory_limit=None, set_as_default=False) as client:
        yield client


def extend(values: np.ndarray, n_more: int) -> np.ndarray:
    return np.append(values, np.arange(n_more))


def chain(name: str, function: object, n_tasks: int, *, first: object, more: object) -> tuple[Graph, list]:
    keys = [(name, number) for number in range(n_tasks)]
    graph = Graph({keys[0]: Task(keys[0], function, (first, more))})
    for before, key in zip(keys, keys[1:], strict=False):
        graph.tasks[key] = Task(key, function, (TaskRef(before), more))
    return graph, keys


@pytest.mark.parametrize("n_more", [0, 1, 100], ids=["tiny", "growing-past-what-travels-with-messages", "large"])
def test_chains_give_the_same_result_whatever_the_size_of_what_is_handed_on(client: Client, n_more: int) -> None:
    graph, keys = chain(f"chain-{n_more}", extend, 400, first=np.arange(3), more=n_more)
    (last,) = client.get(graph, keys[-1:])
    assert last.tolist() == [0, 1, 2] + [*range(n_more)] * 400


def test_every_link_of_a_chain_is_run_once(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.count_run, str(tmp_path / "runs"), 0)
    for _ in range(200):
        future = client.submit(tasks.count_run, str(tmp_path / "runs"), future, pure=False)
    assert future.result() == 0
    assert len((tmp_path / "runs").read_text()) == 201


def fail_first(directory: str, number: int) -> int:
    """Fail the first time that each of some numbers is seen."""
    mark = Path(directory, str(number))
    if number % 7 == 3 and not mark.exists():
        mark.touch()
        raise RuntimeError(f"{number} for the first time")
    return number + 1


def test_what_was_sent_ahead_of_a_task_that_fails_once_runs_after_it_was_tried_again(
    client: Client, tmp_path: Path
) -> None:
    future = client.submit(fail_first, str(tmp_path), 0, retries=1)
    for _ in range(99):
        future = client.submit(fail_first, str(tmp_path), future, retries=1)
    assert future.result() == 100


def test_what_was_sent_ahead_of_a_task_that_fails_for_good_has_its_error(client: Client, tmp_path: Path) -> None:
    future = client.submit(fail_first, str(tmp_path), 0)
    followers = []
    for _ in range(20):
        future = client.submit(fail_first, str(tmp_path), future)
        followers.append(future)
    with pytest.raises(RuntimeError, match="3 for the first time"):
        future.result()
    wait(followers)
    assert [follower.status for follower in followers[:4]] == ["finished", "finished", "error", "error"]


def test_a_chain_that_is_cancelled_leaves_the_workers_free(client: Client, tmp_path: Path) -> None:
    begun, go_on = str(tmp_path / "begun"), str(tmp_path / "go-on")
    client.gather(client.map(tasks.nap, [0.0] * 5, range(5)))
    first = client.submit(tasks.begin_and_wait, begun, go_on, 0.0)
    chained = first
    for _ in range(10):
        chained = client.submit(tasks.nap, 0.0, chained, pure=False)
    tasks.wait_for(begun)
    client.cancel([first])
    Path(go_on).touch()
    # The cancelled task may take a moment more.
    eventually(lambda: len(set(client.gather(client.map(tasks.nap, [0.2, 0.2], range(2), pure=False)))) == 2)


def pid_once_there(begun: str | None, go_on: str | None, *_: object) -> int:
    """Return the worker's pid: at once, or said in a file, and once another is there."""
    if begun is not None:
        tasks.begin_and_wait(begun, go_on)
    return os.getpid()


def seems_to_be_short(client: Client, large: Future) -> bool:
    """Run it many times; tell whether six are less work than a worker has queued: on a busy machine many of them are preempted."""
    client.gather([client.submit(pid_once_there, None, None, large, number, pure=False) for number in range(200)])

    def learnt_s(head: Any) -> float:
        duration_s: float = head.scheduler.layer_table.by_name["pid_once_there"].duration_s
        return duration_s

    return client.run_on_head(learnt_s) < PREFETCH_S / 8


def test_an_idle_worker_takes_over_what_a_slow_one_has_queued(client: Client, tmp_path: Path) -> None:
    client.run(pid_once_there, None, None)  # both import it
    large = client.submit(tasks.big, 1)
    owner_pid = client.submit(pid_once_there, None, None, large).result()
    for number in itertools.count():
        eventually(lambda: seems_to_be_short(client, large))
        (folder := tmp_path / str(number)).mkdir()
        if has_taken_over(client, large, owner_pid, folder):
            return


def has_taken_over(client: Client, large: Future, owner_pid: int, folder: Path) -> bool:
    """Let the owner of `large` queue six tasks, and the other worker be idle then; False if the owner, taken for slow, isn't sent all."""
    blocked = [(str(folder / f"begun-{number}"), str(folder / f"go-on-{number}")) for number in range(2)]
    blockers = client.map(tasks.begin_and_wait, *zip(*blocked, strict=True))
    for begun, _ in blocked:
        tasks.wait_for(begun)
    owner = next(number for number, (begun, _) in enumerate(blocked) if Path(begun).read_text() == str(owner_pid))
    begun = [str(folder / f"queued-{number}") for number in range(6)]
    go_on = folder / "go-on"
    queued = client.map(pid_once_there, begun, [str(go_on)] * 6, [large] * 6, range(6), pure=False)
    Path(blocked[owner][1]).touch()
    wait(blockers[owner : owner + 1])

    def running() -> list[int]:
        return sorted(worker["running"] for worker in client.scheduler_info()["workers"].values())

    try:
        eventually(lambda: running() == [1, 6], timeout_s=5)  # the owner of `large` has got them all
        has_all = True
    except AssertionError:
        has_all = False
    Path(blocked[1 - owner][1]).touch()
    if has_all:
        eventually(lambda: len({Path(path).read_text() for path in begun if Path(path).exists()}) == 2)
    go_on.touch()
    pids = set(client.gather(queued))
    wait(blockers)
    assert len(pids) == 2 or not has_all
    return has_all
