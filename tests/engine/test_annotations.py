"""Priority, retries, resources and chosen workers: on real workers, from every place where users can ask for them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import glassloom.array as ga
import leaks
import pytest
import tasks
from glassloom import Client, annotate, delayed, wait
from glassloom.errors import NoSuchWorker, OptionError
from glassloom.local.threads import ThreadsRuntime


@pytest.fixture(scope="module")
def client(nothing_is_left_behind: leaks.Watch) -> Iterator[Client]:
    options = {"memory_limit": None, "resources": {"slot": 1, "share": 1.0}, "set_as_default": False}
    with Client(n_workers=2, threads_per_worker=2, name="pair", **options) as client:
        yield client


def pids(client: Client) -> dict[str, int]:
    return {name: worker["pid"] for name, worker in client.scheduler_info()["workers"].items()}


def note_company(directory: str, number: int, duration_s: float) -> int:
    """Return how many such tasks run in this process, this one included."""
    mark = Path(directory, f"{os.getpid()}-{number}")
    mark.touch()
    tasks.nap(duration_s)
    company = len(list(Path(directory).glob(f"{os.getpid()}-*")))
    mark.unlink()
    return company


def test_no_more_tasks_run_on_a_worker_than_its_resources_allow(client: Client, tmp_path: Path) -> None:
    futures = client.map(note_company, [str(tmp_path)] * 6, range(6), [0.05] * 6, resources={"slot": 1}, pure=False)
    assert client.gather(futures) == [1] * 6


def test_fractions_of_a_resource_add_up(client: Client, tmp_path: Path) -> None:
    futures = client.map(note_company, [str(tmp_path)] * 6, range(6), [0.05] * 6, resources={"share": 0.5}, pure=False)
    assert max(client.gather(futures)) <= 2


def test_asking_for_more_than_any_worker_has_is_an_error_at_once(client: Client) -> None:
    message = (
        r"^resources=\{'GPU': 1.0\}: each worker of this cluster has \{'slot': 1.0, 'share': 1.0\}, so that no worker"
    )
    with pytest.raises(OptionError, match=message):
        client.submit(os.getpid, resources={"GPU": 1}, pure=False).result()


@pytest.mark.parametrize("by", ["name", "number", "list"])
def test_tasks_run_on_the_workers_that_are_named(client: Client, by: str) -> None:
    info = client.scheduler_info()["workers"]
    for name, worker in info.items():
        workers = {"name": name, "number": worker["number"], "list": [name]}[by]
        futures = client.map(tasks.nap, [0.0] * 5, range(5), workers=workers, pure=False)
        assert set(client.gather(futures)) == {worker["pid"]}


def test_a_worker_that_is_not_there_is_an_error_unless_others_may_do_it(client: Client) -> None:
    with pytest.raises(NoSuchWorker, match=r"^task 'getpid-.*' may run on workers \['nobody'\] only, and none of them"):
        client.submit(os.getpid, workers="nobody", pure=False).result()
    future = client.submit(os.getpid, workers="nobody", allow_other_workers=True, pure=False)
    assert future.result() in pids(client).values()


def test_annotate_says_it_for_all_that_is_started_in_a_block(client: Client) -> None:
    name, pid = max(pids(client).items())
    call = delayed(os.getpid, pure=False)
    with annotate(workers=name):
        found = {client.submit(os.getpid, pure=False).result(), call().compute(scheduler=client)}
        found |= {client.compute(call(), sync=True)}
        persisted = client.persist(call())
    assert found | {persisted.compute(scheduler=client)} == {pid}


@pytest.mark.parametrize("start", ["compute", "persist"])
def test_compute_and_persist_take_the_same_options(client: Client, start: str) -> None:
    for name, pid in pids(client).items():
        call = delayed(os.getpid, pure=False)()
        if start == "compute":
            assert client.compute(call, workers=name).result() == pid
        else:
            assert client.persist(call, workers=name).compute(scheduler=client) == pid


def test_blocks_are_nested_and_what_is_given_wins() -> None:
    from glassloom.protocol.annotations import current_annotations

    with annotate(priority=1, retries=2), annotate(retries=3):
        handling = current_annotations(priority=7)
        assert (handling.priority, handling.retries) == (7, 3)
    assert (current_annotations().priority, current_annotations().retries) == (0, 0)


def test_retries_of_a_block_count_for_collections(client: Client, tmp_path: Path) -> None:
    with annotate(retries=2):
        assert delayed(tasks.fail_until)(str(tmp_path / "calls"), 2).compute(scheduler=client) == 3


def test_retries_of_a_block_count_without_a_client(tmp_path: Path) -> None:
    runtime = ThreadsRuntime(2, publish=False)
    with annotate(retries=1):
        assert delayed(tasks.fail_until)(str(tmp_path / "calls"), 1).compute(scheduler=runtime) == 2
    runtime.close()


def test_arrays_are_computed_where_they_are_told_to(client: Client) -> None:
    name = max(pids(client))
    with annotate(workers=name):
        array = client.persist(ga.arange(1000, chunks=100) + 1)
        wait(array)
    assert {worker for workers in client.who_has(array).values() for worker in workers} <= {name}
    assert int(array.sum().compute(scheduler=client)) == 500500


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priority": 1.5}, r"^priority=1\.5 should be a whole number$"),
        ({"retries": -1}, r"^retries=-1 should be a whole number, 0 or more$"),
        ({"resources": {"GPU": -1}}, r"^resources=\{'GPU': -1\} should be amounts of 0 or more by name"),
        ({"resources": ["GPU"]}, r"^resources=\['GPU'\] should be amounts"),
        ({"workers": 1.5}, r"^workers=1\.5 should be numbers or names of workers$"),
        ({"allow_other_workers": True}, r"^allow_other_workers=True says something only together with workers=$"),
    ],
)
def test_options_without_sense_are_refused_where_they_are_given(options: dict, message: str) -> None:
    with pytest.raises(OptionError, match=message), annotate(**options):
        pass


def test_a_cluster_refuses_resources_that_are_no_amounts() -> None:
    with pytest.raises(OptionError, match=r"^resources=\{'GPU': 'two'\} should be amounts of 0 or more by name"):
        Client(n_workers=1, resources={"GPU": "two"})
