"""Everything that users of Dask look for on a client is there, or an error names what there is instead."""

from __future__ import annotations

import asyncio
import platform
from typing import Any

import glassloom as gl
import glassloom.array as ga
import numpy as np
import pytest
import tasks
from glassloom import Client, LocalCluster
from glassloom.client.dask_names import INSTEAD, _check_equal
from glassloom.cluster.other_names import ATTRIBUTES_INSTEAD
from glassloom.errors import ClusterClosed, ClusterError, OptionError
from glassloom_metrics.protocol import WorkerSamples
from glassloom_metrics.registry import find_record
from glassloom_metrics.subscriber import subscribe

# The public names of distributed.Client (2025.4), attributes of objects included.
NAMES = [
    "amm",
    "as_current",
    "asynchronous",
    "benchmark_hardware",
    "call_stack",
    "cancel",
    "close",
    "cluster",
    "collections_to_dsk",
    "compute",
    "connection_args",
    "current",
    "dashboard_link",
    "datasets",
    "direct_to_workers",
    "dump_cluster_state",
    "extensions",
    "forward_logging",
    "futures",
    "gather",
    "generation",
    "get",
    "get_dataset",
    "get_events",
    "get_metadata",
    "get_restrictions",
    "get_scheduler_logs",
    "get_task_stream",
    "get_versions",
    "get_worker_logs",
    "handle_event",
    "has_what",
    "id",
    "io_loop",
    "list_datasets",
    "log_event",
    "loop",
    "loop_runner",
    "map",
    "name",
    "nbytes",
    "ncores",
    "normalize_collection",
    "nthreads",
    "persist",
    "preloads",
    "processing",
    "profile",
    "publish_dataset",
    "rebalance",
    "refcount",
    "register_plugin",
    "register_scheduler_plugin",
    "register_worker_callbacks",
    "register_worker_plugin",
    "replicate",
    "restart",
    "restart_workers",
    "retire_workers",
    "retry",
    "run",
    "run_on_scheduler",
    "scatter",
    "scheduler",
    "scheduler_comm",
    "scheduler_file",
    "scheduler_info",
    "security",
    "set_metadata",
    "shutdown",
    "start",
    "start_worker",
    "status",
    "story",
    "submit",
    "subscribe_topic",
    "sync",
    "unforward_logging",
    "unpublish_dataset",
    "unregister_scheduler_plugin",
    "unregister_worker_plugin",
    "unsubscribe_topic",
    "upload_environment",
    "upload_file",
    "wait_for_workers",
    "who_has",
    "write_scheduler_file",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there_or_says_what_there_is(client: Client, name: str) -> None:
    if name in INSTEAD:
        with pytest.raises(AttributeError, match=rf"^Client has no '{name}'; \w.+"):
            getattr(client, name)
    else:
        assert getattr(client, name, None) is not None or name == "cluster"


def test_no_hint_is_given_for_what_is_there(client: Client) -> None:
    assert [name for name in INSTEAD if name in dir(client)] == []
    assert sorted(set(INSTEAD) - set(NAMES)) == []
    with pytest.raises(AttributeError, match="^'Client' object has no attribute 'sbumit'"):
        client.sbumit  # type: ignore[attr-defined] # noqa: B018


def test_the_newest_client_is_the_current_one(client: Client) -> None:
    with Client(client.id) as newest:
        assert Client.current() is newest
        with client.as_current():
            assert gl.default_client() is client
            assert ga.ones(3, chunks=3).sum().compute() == 3
        assert gl.default_client() is newest
    with pytest.raises(ClusterClosed, match="no client is open"):
        Client.current()


def test_versions_are_told_and_compared(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    found = client.get_versions(check=True, packages=["no-such-package"])
    assert (found["client"]["python"], found["client"]["numpy"]) == (platform.python_version(), np.__version__)
    assert found["client"]["no-such-package"] is None
    assert found["workers"].keys() == client.scheduler_info()["workers"].keys()
    assert all(theirs == found["client"] for theirs in found["workers"].values())
    monkeypatch.setattr("platform.python_version", lambda: "2.7")
    with pytest.raises(ClusterError, match=rf"^python is 2.7 here, and {platform.sys.version.split()[0]} on worker "):
        client.get_versions(check=True)


def test_all_versions_that_differ_are_told() -> None:
    own = {"python": "3.12.1", "executable": "/here/python", "numpy": "2.4.6", "pandas": "3.1.1"}
    other = own | {"executable": "/opt/python", "numpy": "2.2.6", "pandas": None}
    with pytest.raises(
        ClusterError,
        match=r"^numpy is 2.4.6 here, and 2.2.6 on worker tcp://a:1, tcp://b:2; pandas is 3.1.1 here, and None on worker tcp://a:1, tcp://b:2$",
    ):
        _check_equal(own, {"tcp://a:1": other, "tcp://b:2": other, "tcp://c:3": own})
    _check_equal(own, {"tcp://a:1": own | {"executable": "/opt/python"}})


def test_answers_can_be_limited_to_some_workers(client: Client) -> None:
    first, _ = client.scheduler_info()["workers"]
    assert client.nthreads(workers=[first]) == {first: 2}
    assert list(client.has_what(workers=first)) == [first]
    assert list(client.processing(workers=[first])) == [first]
    with pytest.raises(OptionError, match=rf"workers=\['w9'\]: there is no worker 'w9'; there are: '{first}'"):
        client.ncores(workers=["w9"])


def test_options_that_change_nothing_here_are_taken(client: Client) -> None:
    assert client.submit(tasks.inc, 1, fifo_timeout="1s", actors=False).result() == 2
    futures = client.map(tasks.inc, range(3), batch_size=2, fifo_timeout=0)
    assert client.gather(futures, direct=True, asynchronous=False) == [1, 2, 3]
    scattered = client.scatter([1, 2], workers=["any"], direct=True, timeout="1s", asynchronous=False)
    assert client.gather(scattered) == [1, 2]

    async def gathered() -> Any:
        return await client.gather(futures, asynchronous=True)

    assert asyncio.run(gathered()) == [1, 2, 3]


def test_a_plan_may_be_run_as_it_is_written(client: Client) -> None:
    x = ga.arange(100, chunks=10)[:5]
    assert client.compute(x.sum(), optimize_graph=False, fifo_timeout="1s").result() == 10
    assert client.persist(x, optimize_graph=False).sum().compute(scheduler=client) == 10
    assert x.sum().compute(optimize_graph=False, scheduler="threads") == 10
    assert gl.compute(x.sum(), {"x": x}, optimize_graph=False, scheduler="sync")[0] == 10
    assert gl.persist(x, optimize_graph=False, scheduler="sync")[0].sum().compute(scheduler="sync") == 10


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda client: client.submit(abs, 1, actors=True), "actor=True: there are no actors here"),
        (lambda client: client.compute(ga.ones(3), actors=True), "actors=True: there are no actors here"),
        (lambda client: client.compute(ga.ones(3), traverse=False), "traverse=False: use glassloom.compute"),
        (lambda client: client.persist(ga.ones(3), optimize_kwargs={"fuse": 1}), "glassloom.config.set"),
        (lambda client: client.scatter(1, asynchronous=True), "asynchronous=True: make the client with"),
        (lambda client: client.cancel([], reason="late"), "reason='late': a cancelled task's error names the task"),
    ],
)
def test_options_that_are_not_there_say_what_there_is(client: Client, call: Any, reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        call(client)


def test_a_misspelt_option_is_told_the_right_one(client: Client) -> None:
    with pytest.raises(
        TypeError, match=r"^Client.compute\(\) got an unexpected keyword argument 'retry'; did you mean 'retries'"
    ):
        client.compute(ga.ones(3), retry=3)


def test_a_function_is_run_on_named_workers_and_its_errors_are_raised_returned_or_left_out(client: Client) -> None:
    first, second = sorted(client.scheduler_info()["workers"])

    def fail_on_one() -> int:
        number = gl.get_worker().number
        return 1 // number

    assert client.run(fail_on_one, workers=[second]) == {second: 1}
    assert client.run(fail_on_one, workers=1) == {second: 1}
    with pytest.raises(ZeroDivisionError):
        client.run(fail_on_one)
    assert client.run(fail_on_one, on_error="ignore") == {second: 1}
    returned = client.run(fail_on_one, on_error="return")
    assert type(returned[first]) is ZeroDivisionError
    with pytest.raises(OptionError, match=rf"workers=\[7\]: there is no worker 7; there are: '{first}', '{second}'"):
        client.run(fail_on_one, workers=[7])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"wait": False}, r"wait=False: run\(\) always waits"),
        ({"nanny": True}, "nanny=True: workers have no nannies"),
        ({"on_error": "log"}, "on_error='log' should be 'raise', 'return' or 'ignore'"),
    ],
)
def test_options_of_run_are_checked(client: Client, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        client.run(abs, -1, **options)


def test_a_fresh_workers_memory_is_told_and_counted_as_the_dashboards_count_it() -> None:
    with LocalCluster(0, 1) as cluster, Client(cluster, set_as_default=False) as client:
        cluster.scale(1)
        (worker,) = client.scheduler_info()["workers"].values()
        assert worker["rss"] > 10 * 2**20
        assert ">0 B of" not in client._repr_html_()
        (worker,) = client.scheduler_info()["workers"].values()
        sampled = asyncio.run(_first_sample(client.id))
        assert sampled.unmanaged_bytes[0] == sampled.own_bytes[0] - sampled.managed_bytes[0] <= sampled.rss_bytes[0]
        assert 10 * 2**20 < worker["unmanaged"] <= worker["rss"]
        assert worker["memory"] == worker["managed"] + worker["shared"] + worker["unmanaged"]


async def _first_sample(cluster: str) -> WorkerSamples:
    async with asyncio.timeout(60):
        async for message in subscribe(find_record(cluster), ["samples"]):
            if isinstance(message, WorkerSamples):
                return message
    raise AssertionError("the cluster ended")


# The public names of distributed.LocalCluster (2026.8) that aren't methods of its event loop.
CLUSTER_NAMES = [
    "adapt", "close", "dashboard_link", "get_client", "get_logs", "logs", "name", "nannies", "observed", "plan", "requested",
    "scale", "scheduler", "scheduler_address", "scheduler_info", "status", "sync", "wait_for_workers", "worker_spec", "workers",
]  # fmt: skip


def test_a_cluster_has_what_dasks_has_or_tells_what_there_is(client: Client) -> None:
    for name in CLUSTER_NAMES:
        if name not in ATTRIBUTES_INSTEAD:
            assert hasattr(client.cluster, name), name
            continue
        with pytest.raises(AttributeError, match=f"'LocalCluster' object has no attribute '{name}'; "):
            getattr(client.cluster, name)
    assert ATTRIBUTES_INSTEAD.keys() <= set(CLUSTER_NAMES)
    with pytest.raises(AttributeError, match="'LocalCluster' object has no attribute 'scales'$"):
        client.cluster.scales  # noqa: B018
    assert client.cluster.dashboard_link == client.dashboard_link
