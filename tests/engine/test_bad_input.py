"""What a person may get wrong: a clear error at once, and the cluster stays usable (the `client` fixture checks it)."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tasks
from glassloom import (
    Client,
    Event,
    LocalCluster,
    Lock,
    Queue,
    Semaphore,
    Variable,
    annotate,
    compute,
    delayed,
    wait,
)
from glassloom.client.future import futures_of
from glassloom.cluster.options import parse_memory_limit
from glassloom.errors import (
    CancelledError,
    ClusterClosed,
    ClusterNotFound,
    ClusterStartError,
    GraphError,
    OptionError,
    SerialisationError,
)
from glassloom.graph import Graph, Task, TaskRef
from glassloom.units import format_bytes, parse_bytes

# Starting a cluster


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"memory_limit": "lots"},
            r"^memory_limit='lots' is not a size: write bytes, text such as '4GB' or '500 MiB', ",
        ),
        ({"memory_limit": -1}, r"^memory_limit=-1 is not a size: "),
        ({"memory_limit": "1kB"}, r"^memory_limit='1kB' is 1000 B; a worker needs at least 50\.00 MiB$"),
        ({"memory_limit": "5 potatoes"}, r"^memory_limit='5 potatoes' is not a size: "),
        ({"memory_limit": float("nan")}, r"^memory_limit=nan is not a size: "),
        ({"memory_limit": [1]}, r"^memory_limit=\[1\] is not a size: "),
        ({"n_workers": -1}, r"^n_workers=-1 should be a whole number, 0 or more$"),
        ({"n_workers": 0.5}, r"^n_workers=0\.5 should be a whole number, 0 or more$"),
        ({"n_workers": "2"}, r"^n_workers='2' should be a whole number, 0 or more$"),
        ({"n_workers": True}, r"^n_workers=True should be a whole number, 0 or more$"),
        ({"threads_per_worker": 0}, r"^threads_per_worker=0 should be a whole number, 1 or more$"),
        ({"threads_per_worker": -3}, r"^threads_per_worker=-3 should be a whole number, 1 or more$"),
        ({"name": ""}, r"^name='' should be text of 1 to 200 characters$"),
        ({"name": "x" * 201}, r"^name='x+' should be text of 1 to 200 characters$"),
        (
            {"name": "loom\u2066"},
            r"^name='loom\\u2066' has characters that change the direction of text; leave them out$",
        ),
        ({"name": 3}, r"^name=3 should be text of 1 to 200 characters$"),
    ],
)
@pytest.mark.parametrize("start", [Client, LocalCluster])
def test_an_option_with_no_sense_is_refused_before_anything_starts(
    start: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        start(**options)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'nworkers'; did you mean 'n_workers'"):
        Client(nworkers=2)


def test_a_local_directory_that_does_not_exist_is_named() -> None:
    with pytest.raises(ClusterStartError, match=r"can't make the cluster's directory '/no/such/.*No such file"):
        LocalCluster(n_workers=1, threads_per_worker=1, local_directory="/no/such")


@pytest.mark.parametrize(
    ("limit", "expected"), [("1GB", 10**9), ("500 MiB", 500 * 2**20), (10**9, 10**9), (None, None), (0, None)]
)
def test_memory_limits_are_read(limit: Any, expected: int | None) -> None:
    assert parse_memory_limit(limit, 1, 1) == expected


@pytest.mark.parametrize("size", ["", "GB", "1.2.3 MB", "-5MB", "1 XB", "1 iB", None, True, [1], -1, float("nan")])
def test_text_that_is_no_size_is_refused(size: Any) -> None:
    with pytest.raises(OptionError, match="is not a size in bytes; write a number, or text such as '4GB' or '128 MiB'"):
        parse_bytes(size)


@pytest.mark.parametrize(
    ("size", "expected"),
    [("10", 10), ("1k", 1000), ("1 KiB", 1024), (".5 MB", 500_000), ("2 tb", 2 * 10**12), (1.9, 1), ("1b", 1)],
)
def test_sizes_are_read(size: Any, expected: int) -> None:
    assert parse_bytes(size) == expected


def test_sizes_are_written_in_binary_units() -> None:
    sizes = [0, 1023, 1024, 2**30, 2**70]
    assert [format_bytes(size) for size in sizes] == ["0 B", "1023 B", "1.00 KiB", "1.00 GiB", "1024.00 EiB"]


# Connecting


def test_an_unknown_cluster_is_an_error_that_lists_the_running_ones(client: Client) -> None:
    with pytest.raises(ClusterNotFound, match=rf"^no cluster 'c7'; running: '{client.name}'$"):
        Client("c7")


def test_an_address_that_is_no_text_is_refused() -> None:
    with pytest.raises(
        OptionError, match="address=5 should be a LocalCluster, the name or id of a running cluster, or a cluster"
    ):
        Client(5)


def test_a_closed_cluster_cannot_be_connected_to() -> None:
    cluster = LocalCluster(n_workers=1, threads_per_worker=1)
    cluster.close()
    with pytest.raises(ClusterClosed, match="the cluster can't be reached"):
        Client(cluster)


@pytest.fixture(scope="module")
def closed_client() -> Client:
    client = Client(n_workers=1, threads_per_worker=1, set_as_default=False)
    client.close()
    return client


@pytest.mark.parametrize(
    "use",
    [
        lambda client: client.submit(tasks.inc, 1),
        lambda client: client.map(tasks.inc, [1]),
        lambda client: client.scatter(1),
        lambda client: client.scatter(np.zeros(10**6)),
        lambda client: client.compute(delayed(1)),
        lambda client: client.persist(delayed(1)),
        lambda client: delayed(1).compute(scheduler=client),
        lambda client: client.scheduler_info(),
        lambda client: client.run(len, []),
        lambda client: client.who_has(),
        lambda client: client.restart(),
    ],
)
def test_a_closed_client_says_so(closed_client: Client, use: Any) -> None:
    with pytest.raises(
        ClusterClosed, match=r"^the client is closed: (client\.close\(\) was called|its `with` block has ended)$"
    ):
        use(closed_client)


# Calls


@pytest.mark.parametrize("function", [None, 3, "text"])
def test_what_cannot_be_called_is_refused(client: Client, function: Any) -> None:
    with pytest.raises(TypeError, match=r"can't be called; to send a value, use scatter\(\)"):
        client.submit(function)


@pytest.mark.parametrize("key", [5, 1.5, ("a", 1.5), (1, "a"), (), b"bytes", ("a", None), ["a"]])
def test_a_key_of_the_wrong_kind_is_refused(client: Client, key: Any) -> None:
    with pytest.raises(
        OptionError, match=r"should be text, or a tuple of text and whole numbers such as \('load', 3\)"
    ):
        client.submit(tasks.inc, 1, key=key)


@pytest.mark.parametrize("retries", [-1, 1.5, "2", True])
def test_retries_must_be_a_number_of_times(client: Client, retries: Any) -> None:
    with pytest.raises(OptionError, match=r"^retries=.* should be a whole number, 0 or more$"):
        client.submit(tasks.inc, 1, retries=retries)


@pytest.mark.parametrize("priority", [1.5, "high", 2**40])
def test_priority_must_be_a_whole_number(client: Client, priority: Any) -> None:
    with pytest.raises(OptionError, match=r"^priority=.* should be a whole number$"):
        client.map(tasks.inc, [1], priority=priority)


def test_map_without_something_to_iterate_over_says_so(client: Client) -> None:
    with pytest.raises(TypeError, match=r"map\(\) needs an iterable of arguments.*for one call use submit\(func\)"):
        client.map(len)
    with pytest.raises(
        TypeError, match="number 1 is of type int: what is the same for every call goes in as a keyword"
    ):
        client.map(pow, [1, 2], 3)


def test_map_needs_as_many_keys_as_calls(client: Client) -> None:
    with pytest.raises(ValueError, match="^key has 2 elements for 3 calls$"):
        client.map(tasks.inc, range(3), key=["a", "b"])


def test_workers_are_those_of_the_cluster(client: Client) -> None:
    with pytest.raises(OptionError, match=r"^workers=\['x'\]: there is no worker 'x'; there are: "):
        client.run(len, [], workers=["x"])
    with pytest.raises(OptionError, match=r"^workers=\['nope'\]: there is no worker 'nope'; there are: "):
        client.retire_workers("nope")


def test_gather_takes_two_ways_with_errors(client: Client) -> None:
    with pytest.raises(OptionError, match="^errors='ignore' should be 'raise' or 'skip'$"):
        client.gather([], errors="ignore")


def test_gather_refuses_an_iterator(client: Client) -> None:
    with pytest.raises(TypeError, match="^expected futures, got generator; make a list of it first$"):
        client.gather(future for future in [])


def test_wait_knows_two_ways_to_return(client: Client) -> None:
    with pytest.raises(ValueError, match="^return_when='SOMETIMES' should be 'ALL_COMPLETED' or 'FIRST_COMPLETED'$"):
        wait([], return_when="SOMETIMES")  # type: ignore[arg-type]


def test_wait_refuses_what_holds_no_futures() -> None:
    with pytest.raises(TypeError, match="^expected futures or a persisted collection, got int: 3$"):
        futures_of([3])


def test_an_unpicklable_argument_leaves_no_trace(client: Client) -> None:
    with pytest.raises(SerialisationError, match="an argument of task"):
        client.submit(tasks.same, (number for number in range(3)))
    tasks_now = client.scheduler_info()["tasks"]
    assert (tasks_now["waiting"], tasks_now["ready"], tasks_now["running"], tasks_now["erred"]) == (0, 0, 0, 0)


def test_a_graph_with_a_cycle_is_refused_by_the_cluster(client: Client) -> None:
    graph = Graph({"a": Task("a", tasks.inc, (TaskRef("b"),)), "b": Task("b", tasks.inc, (TaskRef("a"),))})
    with pytest.raises(GraphError, match="the graph has a cycle through '[ab]'"):
        client.get(graph, ["a"])


def test_a_graph_that_builds_on_an_unknown_key_is_refused_by_the_cluster(client: Client) -> None:
    graph = Graph({"a": Task("a", tasks.inc, (TaskRef("gone"),))})
    with pytest.raises(GraphError, match=r"the graph builds on 'gone', which the cluster doesn't know"):
        client.get(graph, ["a"])


def test_a_future_of_a_cancelled_task_cannot_be_used(client: Client, tmp_path: Any) -> None:
    future = client.submit(tasks.wait_for, str(tmp_path / "go"))
    future.cancel()
    wait(future)
    (tmp_path / "go").touch()
    with pytest.raises((GraphError, CancelledError), match="doesn't know|cancelled"):
        client.submit(tasks.inc, future).result()


def test_compute_of_no_collections_returns_the_arguments() -> None:
    assert compute(1, "a", [2]) == (1, "a", [2])


def test_a_worker_function_that_was_never_importable_there_is_that_tasks_error(client: Client) -> None:
    import sys
    import types

    module = types.ModuleType("only_here")
    exec("def f(): return 1", module.__dict__)
    sys.modules["only_here"] = module
    try:
        with pytest.raises(ModuleNotFoundError, match="No module named 'only_here'"):
            client.submit(module.f).result()
    finally:
        with contextlib.suppress(KeyError):
            del sys.modules["only_here"]


def test_keys_that_cannot_be_sent_are_refused_and_leave_the_client_usable(client: Client) -> None:
    with pytest.raises(OptionError, match=r"key='\\udc80'.*UTF-8"):
        client.submit(abs, -1, key="\udc80")

    def odd() -> int:
        return 5

    odd.__name__ = "\udc80"
    assert client.submit(odd).result(timeout=60) == 5
    assert delayed(odd, name="\udc81")().compute(scheduler=client) == 5


UNSENDABLE = "caf\udce9"
"""A text as Python makes it of a file name that is no UTF-8."""

NAMED_CALLS: dict[str, tuple[str, Callable[[Client, Any], Any]]] = {
    "submit": ("key", lambda client, name: client.submit(abs, 1, key=name)),
    "submit with a tuple": ("key", lambda client, name: client.submit(abs, 1, key=(name, 1))),
    "map": ("key", lambda client, name: client.map(abs, [1], key=[name])),
    "story": ("key", lambda client, name: client.story(name)),
    "call_stack": ("key", lambda client, name: client.call_stack(keys=[name])),
    "submit with resources": ("resources", lambda client, name: client.submit(abs, 1, resources={name: 1})),
    "submit with workers": ("workers", lambda client, name: client.submit(abs, 1, workers=name)),
    "get_executor": ("workers", lambda client, name: client.get_executor(workers=name)),
    "annotate with resources": ("resources", lambda _, name: annotate(resources={name: 1}).__enter__()),
    "annotate with workers": ("workers", lambda _, name: annotate(workers=[name]).__enter__()),
    "run": ("workers", lambda client, name: client.run(int, workers=[name])),
    "retire_workers": ("workers", lambda client, name: client.retire_workers([name])),
    "processing": ("workers", lambda client, name: client.processing([name])),
    "nthreads": ("workers", lambda client, name: client.nthreads([name])),
    "has_what": ("workers", lambda client, name: client.has_what([name])),
    "get_worker_logs": ("workers", lambda client, name: client.get_worker_logs(workers=[name])),
    "Lock": ("name", lambda client, name: Lock(name, client)),
    "Semaphore": ("name", lambda client, name: Semaphore(2, name, client)),
    "Event": ("name", lambda client, name: Event(name, client)),
    "Variable": ("name", lambda client, name: Variable(name, client)),
    "Queue": ("name", lambda client, name: Queue(name, client)),
    "publish_dataset": ("name", lambda client, name: client.publish_dataset(1, name=name)),
    "get_dataset": ("name", lambda client, name: client.get_dataset(name)),
    "get_dataset with a default": ("name", lambda client, name: client.get_dataset(name, 3)),
    "unpublish_dataset": ("name", lambda client, name: client.unpublish_dataset(name)),
    "datasets[]": ("name", lambda client, name: client.datasets[name]),
    "datasets[] = ": ("name", lambda client, name: client.datasets.update({name: 1})),
    "del datasets[]": ("name", lambda client, name: client.datasets.pop(name)),
    "register_plugin": ("name", lambda client, name: client.register_plugin(Plugin(), name=name)),
    "unregister_plugin": ("name", lambda client, name: client.unregister_plugin(name)),
    "LocalCluster": ("name", lambda _, name: LocalCluster(0, 1, name=name)),
    "LocalCluster with resources": ("resources", lambda _, name: LocalCluster(0, 1, resources={name: 1})),
}
"""For each public call that takes a name or a key: the argument, and the call."""


class Plugin:
    def setup(self, worker: Any) -> None:
        pass


@pytest.mark.parametrize("call", NAMED_CALLS)
def test_a_name_that_cannot_be_sent_is_refused_by_the_argument_that_has_it(client: Client, call: str) -> None:
    argument, make = NAMED_CALLS[call]
    with pytest.raises(OptionError, match=rf"^{argument}=.*caf\\udce9"):
        make(client, UNSENDABLE)


@pytest.mark.parametrize("call", NAMED_CALLS)
def test_a_name_that_is_no_text_is_refused_by_the_argument_that_has_it(client: Client, call: str) -> None:
    argument, make = NAMED_CALLS[call]
    with pytest.raises(OptionError, match=rf"^{argument}=.*b'bytes'"):
        make(client, b"bytes")


def test_the_calls_with_names_are_all_that_there_are() -> None:
    methods = {
        name
        for name in dir(Client)
        if not name.startswith("_")
        and callable(getattr(Client, name))
        and {"name", "key", "keys", "workers", "resources"} & set(inspect.signature(getattr(Client, name)).parameters)
    }
    by_other_names = {"ncores", "register_worker_plugin", "unregister_worker_plugin"}
    as_submit = {"compute", "persist"}  # they enter `annotate`
    ignored = {"get", "hold", "scatter"}  # graphs' keys; `workers` is an option of Dask's
    compared = {"profile"}  # with the names in a log: none is sent, and what no name equals gives an empty profile
    assert methods - by_other_names - as_submit - ignored - compared <= {call.split()[0] for call in NAMED_CALLS}


def test_names_may_be_of_classes_derived_from_text(client: Client) -> None:
    name = np.array(["of-numpy"])[0]
    assert type(name) is not str
    client.publish_dataset(5, name=name)
    assert client.get_dataset(name) == 5
    client.unpublish_dataset(name)
    Variable(name, client).set(3)
    assert Variable("of-numpy", client).get(timeout=60) == 3
    Variable(name, client).delete()
    assert client.submit(abs, -1, workers=np.str_(next(iter(client.nthreads())))).result(timeout=60) == 1


def test_code_whose_file_has_a_name_that_cannot_be_sent_runs(client: Client, tmp_path: Path) -> None:
    path = tmp_path / f"{UNSENDABLE}.py"
    path.write_text("def g(x): return x + 1\ndef submit(client): return client.submit(g, 1, key='in-a-file')\n")
    made: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), made)
    future = made["submit"](client)
    assert future.result(timeout=60) == 2
    assert "caf\\udce9.py:2" in client.story("in-a-file").origin
    assert client.upload_file(path) == [UNSENDABLE]


def test_what_a_call_overlooks_is_refused_when_it_is_sent(client: Client) -> None:
    graph = Graph({UNSENDABLE: Task(UNSENDABLE, abs, (-1,))})
    with pytest.raises(OptionError, match=r"^'caf\\udce9' can't be sent: it has characters that UTF-8 can't encode"):
        client.get(graph, [UNSENDABLE])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda client: client.gather(), "gather"),
        (lambda client: client.story(), "story"),
        (lambda client: client.call_stack(1, 2, 3), "call_stack"),
        (lambda client: client.wait_for_workers(1, 2, 3, 4, 5), "wait_for_workers"),
        (lambda client: client.who_has(1, 2, 3, 4), "who_has"),
    ],
)
def test_pythons_errors_name_the_class_that_users_know(client: Client, call: Any, name: str) -> None:
    with pytest.raises(TypeError, match=rf"^Client\.{name}\(\) "):
        call(client)


def test_the_options_that_an_error_lists_are_the_clients() -> None:
    with pytest.raises(TypeError, match=r"there are n_workers, ") as raised:
        Client(preload=["x"])
    listed = str(raised.value).partition("there are ")[2].split(", ")
    assert set(listed) == set(inspect.signature(Client).parameters) - {"address", "others"}


def test_a_scheduler_of_another_library_is_refused_with_what_there_is() -> None:
    with pytest.raises(
        OptionError, match=r"^scheduler='distributed' is none of .*; to compute on a cluster, make a Client"
    ):
        delayed(abs)(-1).compute(scheduler="distributed")
