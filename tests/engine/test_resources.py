"""Resources of single workers: said in a list or by worker, kept by whoever takes a worker's place, on real processes."""

from __future__ import annotations

import os
from typing import Any

import pytest
from fault_helpers import eventually, kill
from glassloom import Client, LocalCluster, get_worker
from glassloom.errors import OptionError
from glassloom.protocol.options import WorkerResources, checked_worker_resources


def resources_of(client: Client) -> list[dict[str, float]]:
    return [worker["resources"] for worker in client.scheduler_info()["workers"].values()]


def where_the_gpu_is(client: Client) -> set[int]:
    return set(client.gather(client.map(lambda _: os.getpid(), range(4), resources={"GPU": 1}, pure=False)))


def test_tasks_run_on_the_workers_that_have_what_they_ask_for() -> None:
    resources = [{"GPU": 1}, {"GPU": 0, "disk": 2}]
    with LocalCluster(2, 2, resources=resources) as cluster, Client(cluster, set_as_default=False) as client:
        assert sorted(resources_of(client), key=len) == [{"GPU": 1.0}, {"GPU": 0.0, "disk": 2.0}]
        workers = client.scheduler_info()["workers"]
        assert where_the_gpu_is(client) == {workers[f"{cluster.name}-0"]["pid"]}
        seen = client.submit(lambda: dict(get_worker().resources), resources={"disk": 1}).result()
        assert seen == {"GPU": 0.0, "disk": 2.0}
        with pytest.raises(
            OptionError,
            match=r"^resources=\{'GPU': 1.0, 'disk': 1.0\}: the workers of this cluster have \{'GPU': 1.0\}, "
            r"\{'GPU': 0.0, 'disk': 2.0\}, others none, so that no worker could ever run such a task",
        ):
            client.submit(abs, -1, resources={"GPU": 1, "disk": 1}).result()


@pytest.mark.fault("kill the only worker that has a resource")
def test_a_worker_that_takes_the_place_of_another_has_its_resources() -> None:
    with LocalCluster(2, 1, resources=[{"GPU": 1}]) as cluster, Client(cluster, set_as_default=False) as client:
        (pid,) = where_the_gpu_is(client)
        kill(pid)
        (new,) = where_the_gpu_is(client)
        assert new != pid
        eventually(lambda: sorted(resources_of(client), key=len) == [{}, {"GPU": 1.0}])


def test_workers_beyond_the_list_have_none_and_the_last_places_are_retired_first() -> None:
    with (
        LocalCluster(1, 1, resources=[{"GPU": 1}, {"GPU": 2}]) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        cluster.scale(3)
        assert sorted(map(str, resources_of(client))) == ["{'GPU': 1.0}", "{'GPU': 2.0}", "{}"]
        cluster.scale(1)
        assert resources_of(client) == [{"GPU": 1.0}]
        cluster.scale(2)
        assert sorted(map(str, resources_of(client))) == ["{'GPU': 1.0}", "{'GPU': 2.0}"]


def test_a_task_that_waits_for_a_worker_that_is_not_there_says_so() -> None:
    with LocalCluster(1, 1, resources=[{}, {"GPU": 2}]) as cluster, Client(cluster, set_as_default=False) as client:
        future = client.submit(abs, -2, resources={"GPU": 2})
        story = eventually(lambda: (told := client.story(future)).state == "ready" and told)
        assert story.explanation == "needs resources {'GPU': 2.0}; no worker has them"
        cluster.scale(2)
        assert future.result(timeout=60) == 2


def test_resources_may_be_said_by_number_or_name() -> None:
    chosen = checked_worker_resources({1: {"GPU": 1}, "mine-3": {"GPU": 2}}, "mine")
    assert chosen == WorkerResources(({}, {"GPU": 1.0}, {}, {"GPU": 2.0}))
    assert checked_worker_resources({"GPU": 1}, None) == WorkerResources(others={"GPU": 1.0})
    assert checked_worker_resources(None, None) == WorkerResources()
    assert [chosen.at(place) for place in (0, 3, 4)] == [{}, {"GPU": 2.0}, {}]


@pytest.mark.parametrize(
    ("resources", "reason"),
    [
        ([{"GPU": -1}], r"resources=\{'GPU': -1\} should be amounts of 0 or more by name"),
        ([1, 0], r"resources=1 should be amounts"),
        ({"GPU": 1, 0: {"GPU": 1}}, r"should be amounts of 0 or more by name"),
        ({-1: {"GPU": 1}}, r"resources: -1 is no worker; write its number"),
        ({"w0": {"GPU": 1}}, r"resources: 'w0' is no worker; .*: 0 or 'mine-0'$"),
        ("GPU", r"resources='GPU' should be amounts"),
    ],
)
def test_what_says_nothing_about_workers_is_refused(resources: Any, reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        LocalCluster(1, 1, name="mine", resources=resources)
