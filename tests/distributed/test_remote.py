"""The same client on clusters of dask.distributed: workers in processes that haven't Glassloom, and in this process."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import distributed
import glassloom
import glassloom.array as ga
import glassloom.dataframe as gdf
import numpy as np
import pandas as pd
import pytest
from calls import add, attempts, fail, inc, process, total
from free_ports import free_port
from glassloom import Client
from glassloom.distributed import connecting, remote_workers
from glassloom.errors import (
    CancelledError,
    ClusterClosed,
    ClusterError,
    ClusterNotFound,
    NoSuchWorker,
    OptionError,
    SerialisationError,
)

QUIET = {"dashboard_address": ":0", "silence_logs": 50}


@pytest.fixture(scope="module")
def processes(own_folders: None) -> Iterator[distributed.LocalCluster]:
    """Start two workers that find no Glassloom where it is installed."""
    hide = str(Path(__file__).parent / "hide_glassloom.py")
    with (
        dask.config.set({"distributed.scheduler.active-memory-manager.start": False}),  # it would drop copies after 2 s
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", preload=[hide], resources={"FORGE": 1}, **QUIET
        ) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module")
def remote(processes: distributed.LocalCluster) -> Iterator[Client]:
    with Client(processes.scheduler_address, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def inproc(own_folders: None) -> Iterator[distributed.LocalCluster]:
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, **QUIET) as cluster:
        yield cluster


def test_our_code_travels_to_workers_that_have_none(remote: Client, processes: distributed.LocalCluster) -> None:
    where = remote.run(lambda: __import__("glassloom").__file__)
    assert len(where) == 2 and all("glassloom_code.zip" in path for path in where.values())
    assert remote.submit(process).result() not in {process(), None}


def doubled_by_others(n: int) -> int:
    """A task that has a client: there it is made by the code in the archive."""
    client = glassloom.get_client()
    return sum(client.gather(client.map(inc, range(n))))


def test_tasks_have_a_client_where_our_code_has_travelled(remote: Client) -> None:
    assert remote.submit(doubled_by_others, 4).result(timeout=60) == 10


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:cluster .* has no workers")
def test_our_code_travels_to_a_scheduler_and_to_workers_that_come_later(own_folders: None) -> None:
    hide = ["--preload", str(Path(__file__).parent / "hide_glassloom.py")]
    address = f"tcp://127.0.0.1:{free_port()}"
    options = {"scheduler": ["--host", "127.0.0.1", "--port", address.rpartition(":")[2]], "worker": [address, "--nthreads", "1"]}  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with ExitStack() as stack:

        def start(role: str) -> None:
            command = [sys.executable, "-m", f"distributed.cli.dask_{role}", *options[role], "--no-dashboard", *hide]
            process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.terminate)

        start("scheduler")
        stack.enter_context(distributed.Client(address, timeout=60, set_as_default=False))  # it waits for the scheduler
        with Client(address, set_as_default=False) as client:
            future = client.compute((ga.ones(10, chunks=5) + 1).sum())
            start("worker")
            assert future.result(timeout=60) == 20
            where = client.run(lambda: __import__("glassloom").__file__)
            assert len(where) == 1 and all("glassloom_code.zip" in path for path in where.values())


def place_and_item(number: int, table: np.ndarray) -> tuple[int, int]:
    return table.__array_interface__["data"][0], int(table[number])


def test_a_large_argument_of_all_calls_is_held_once_by_each_worker(remote: Client) -> None:
    table = np.arange(300_000)
    found = remote.gather(remote.map(place_and_item, range(12), table=table))
    assert [item for _, item in found] == list(range(12))
    assert len({place for place, _ in found}) <= 2  # workers


def test_calls_and_futures(remote: Client) -> None:
    futures = remote.map(inc, range(10))
    assert remote.gather(futures) == list(range(1, 11))
    assert remote.submit(total, futures).result() == 55
    assert remote.submit(add, {"a": [futures[0]]}["a"][0], right=futures[1]).result() == 3
    assert sorted(future.result() for future in glassloom.as_completed(futures)) == list(range(1, 11))
    assert glassloom.wait(futures).not_done == set()
    assert {future.status for future in futures} == {"finished"}


def test_collections(remote: Client) -> None:
    x = ga.from_array(np.arange(10_000.0).reshape(100, 100), chunks=(25, 50))
    frame = gdf.from_pandas(pd.DataFrame({"a": range(100), "b": np.arange(100) % 3}), npartitions=4)
    with remote.as_current():
        assert (x + x.T.T).sum().compute() == 2 * np.arange(10_000).sum()
        assert frame.a.sum().compute() == 4950
        assert frame.groupby("b").a.sum().compute().tolist() == [1683, 1617, 1650]
        assert glassloom.delayed(add)(glassloom.delayed(inc)(1), [2][0]).compute() == 4


def test_workers_are_seen_while_their_client_looks_without_them(
    remote: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    dask = remote._connection.dask
    look = dask._update_scheduler_info

    async def look_twice(n_workers: int = 0) -> None:
        await look(n_workers)
        await look(0)  # as it does by itself from time to time, so perhaps just then

    monkeypatch.setattr(dask, "_update_scheduler_info", look_twice)
    assert len(dask.scheduler_info(n_workers=-1)["workers"]) == 0
    assert len(remote.scheduler_info()["workers"]) == 2


def test_persisted_results_stay_there(remote: Client) -> None:
    persisted = remote.persist(ga.ones(1000, chunks=100) + 1)
    glassloom.wait(persisted)
    keys = [future.key for future in glassloom.client.future.futures_of(persisted)]
    assert set(remote.who_has()) >= set(keys)
    assert remote.compute(persisted.sum(), sync=True) == 2000
    remote.publish_dataset(twos=persisted)
    assert list(remote.list_datasets()) == ["twos"]
    assert remote.compute(remote.get_dataset("twos").sum(), sync=True) == 2000
    remote.unpublish_dataset("twos")
    assert list(remote.list_datasets()) == []


class SentBytes:
    """How many bytes a client sends to its scheduler from now on."""

    def __init__(self, dask: distributed.Client, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n = 0
        comm = dask.scheduler_comm.comm  # type: ignore[union-attr]
        write = comm.write

        async def counted(*args: Any, **kwargs: Any) -> int:
            n: int = await write(*args, **kwargs)
            self.n += n
            return n

        monkeypatch.setattr(comm, "write", counted)

    def taken(self) -> int:
        """Return how many there were since the last call."""
        n, self.n = self.n, 0
        return n


def test_a_graph_goes_to_the_scheduler_once(remote: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    n_chunks, values = 300, np.random.default_rng(1).random(300_000)
    sent = SentBytes(remote._connection.dask, monkeypatch)
    persisted = remote.persist(ga.from_array(values, chunks=len(values) // n_chunks) * 2)
    glassloom.wait(persisted)
    first = sent.taken()
    assert values.nbytes < first < 1.3 * values.nbytes
    for _ in range(2):
        assert remote.compute(persisted.sum(), sync=True) == pytest.approx(2 * values.sum())
        # refers to the blocks, by keys: 67 bytes a chunk for a sum of blocks that its own tasks make
        assert sent.taken() < 200 * n_chunks < first / 10


def test_scattered_values(remote: Client) -> None:
    values = np.arange(10)
    future = remote.scatter(values, broadcast=True)
    (holders,) = remote.who_has([future]).values()
    assert sorted(holders) == sorted(remote.scheduler_info()["workers"]), "each worker has it"
    assert (
        all(future.key in keys for keys in remote.has_what().values()) and remote.submit(np.sum, future).result() == 45
    )
    named = remote.scatter({"a": 1, "b": [2]})
    assert remote.gather(named) == {"a": 1, "b": [2]}


def test_an_error_keeps_its_key_its_traceback_and_the_users_line(remote: Client) -> None:
    failing = remote.submit(fail, 7)
    above = remote.submit(inc, failing)  # the user's line
    with pytest.raises(ValueError, match="no 7") as raised:
        above.result()
    text = "".join(traceback.format_exception(raised.value))
    assert f"Task {failing.key!r}" in text and "# the user's line" in text and "in fail" in text
    assert above.status == "error" and isinstance(failing.exception(), ValueError)


def test_what_cannot_be_sent_is_named_with_its_task(remote: Client, caplog: pytest.LogCaptureFixture) -> None:
    lock = threading.Lock()
    with pytest.raises(
        SerialisationError, match=r"^an argument of task 'add-\w+': a value of type _thread.lock can't be sent"
    ):
        remote.submit(add, 1, lock)
    with pytest.raises(
        SerialisationError, match=r"^the function of task 'hold-\w+': a value of type builtins.function can't"
    ):
        remote.map(holding(lock), range(3))
    assert not caplog.records, "dask.distributed logs the whole graph"
    with pytest.raises(
        SerialisationError, match=r"^the result of task 'new_lock-\w+': a value of type lock can't be sent from"
    ):
        remote.submit(new_lock).result()
    caplog.clear()  # what dask.distributed says of a result
    assert remote.submit(inc, 1).result() == 2


def new_lock() -> Any:
    return threading.Lock()


def holding(lock: Any) -> Callable[[int], bool]:
    def hold(_: int) -> bool:
        return bool(lock.locked())

    return hold


def test_tasks_are_tried_again(remote: Client, tmp_path: Path) -> None:
    assert remote.submit(attempts, str(tmp_path / "a"), 3, retries=2).result() == 3
    failing = remote.submit(attempts, str(tmp_path / "b"), 2)
    assert failing.exception() is not None
    failing.retry()
    assert failing.result() == 2


def test_tasks_go_where_they_are_told(remote: Client) -> None:
    pids = remote.run(process)
    chosen = list(pids)[1]
    assert set(remote.gather(remote.map(process, range(4), workers=[chosen], pure=False))) == {pids[chosen]}
    assert remote.submit(inc, 1, resources={"FORGE": 1}, priority=3).result() == 2


def test_workers_are_chosen_by_number_name_and_host(remote: Client, processes: distributed.LocalCluster) -> None:
    pids = remote.run(process)
    info = remote.scheduler_info()["workers"]
    assert sorted(worker["number"] for worker in info.values()) == sorted(processes.workers) == [0, 1], "Dask's names"
    for address, worker in info.items():
        for name in (worker["number"], str(worker["number"]), address):
            assert remote.submit(process, workers=name, pure=False).result() == pids[address]
        assert remote.run(process, workers=[worker["number"]]) == {address: pids[address]}
    assert remote.submit(process, workers="127.0.0.1", pure=False).result() in pids.values()


def test_a_worker_that_is_not_there_is_an_error_and_not_waited_for(remote: Client) -> None:
    nowhere = remote.submit(inc, 1, workers="elsewhere", pure=False)  # the user's line
    with pytest.raises(
        NoSuchWorker, match=r"may run on workers \['elsewhere'\] only, and none of them is there"
    ) as raised:
        nowhere.result()
    assert "test_remote.py" in "".join(raised.value.__notes__) and nowhere.status == "error"
    with pytest.raises(NoSuchWorker, match=r"may run on workers \[7\] only"):
        remote.gather(remote.map(inc, range(3), workers=7, pure=False))
    assert remote.submit(inc, 1, workers="elsewhere", allow_other_workers=True, pure=False).result() == 2


def test_resources_that_no_worker_has_are_told_of(remote: Client) -> None:
    with pytest.warns(UserWarning, match=r"no worker there has resources={'ANVIL': 1.0}.*--resources ANVIL=1"):
        waiting = remote.submit(inc, 1, resources={"ANVIL": 1}, pure=False)
    remote.cancel(waiting)


def test_cancelled_tasks(remote: Client) -> None:
    event = distributed.Event("gate", client=remote._link.dask)  # type: ignore[union-attr]
    waiting = remote.submit(wait_for_gate, event)
    after = remote.submit(inc, waiting)
    remote.cancel([after, waiting])
    assert after.status == waiting.status == "cancelled"
    with pytest.raises(CancelledError):
        after.result()
    event.set()


def wait_for_gate(event: distributed.Event) -> bool:
    return bool(event.wait(60))


def fibonacci(n: int) -> int:
    if n < 2:
        return n
    client = glassloom.get_client()
    return int(sum(client.gather(client.map(fibonacci, [n - 1, n - 2]))))


def test_tasks_submit_tasks_and_wait_for_them(inproc: distributed.LocalCluster) -> None:
    with Client(inproc, set_as_default=False) as client:
        assert client.submit(fibonacci, 5).result() == 5


def test_an_executor_and_dasks_collections_run_there_too(remote: Client) -> None:
    with remote.get_executor() as executor:
        assert list(executor.map(inc, [1, 2])) == [2, 3]


def test_what_cannot_be_is_an_error_that_says_so(remote: Client) -> None:
    with pytest.raises(
        ClusterError, match=r"run_on_head\(\) isn't there on a cluster of dask.distributed; use client.run_on_scheduler"
    ):
        remote.run_on_head(len)
    with pytest.raises(
        ClusterError, match=r"^story\(\) isn't there on a cluster of dask.distributed; use client.story"
    ):
        remote.story("x")
    with pytest.raises(ClusterError, match=r"^what runs, processing\(\) and call_stack\(\), isn't there"):
        remote.processing()
    with pytest.raises(ClusterError, match="^what is agreed on by name isn't there"):
        glassloom.Event("x", client=remote).set()
    with pytest.raises(
        ClusterError, match="isn't attached, so that nothing is known of it: set the option distributed.attach to true"
    ):
        remote.record("x.glr")
    with pytest.raises(ClusterError, match="use distributed.Lock"):
        glassloom.Lock("x", client=remote).acquire()


def test_a_client_shows_the_cluster(remote: Client, processes: distributed.LocalCluster) -> None:
    assert processes.scheduler_address in repr(remote) and "workers=2" in repr(remote)
    assert len(remote.scheduler_info()["workers"]) == 2 and sum(remote.ncores().values()) == 2
    assert "workers" in remote._repr_html_().lower()


def test_clients_and_clusters_of_distributed_are_taken(inproc: distributed.LocalCluster) -> None:
    with distributed.Client(inproc, set_as_default=False) as theirs:
        with Client(theirs, set_as_default=False) as client:
            assert client.submit(inc, 1).result() == 2
        assert theirs.submit(inc, 2).result() == 3, "it is still open"
    with Client(inproc, set_as_default=False) as client:
        assert client.cluster is inproc
        future = client.submit(inc, 1)
    with pytest.raises(ClusterClosed):
        client.submit(inc, 3)
    assert future.status in ("finished", "lost")


def test_results_are_released_with_their_futures(inproc: distributed.LocalCluster) -> None:
    with Client(inproc, set_as_default=False) as client:
        future = client.submit(inc, 100)
        assert future.result() == 101 and future.key in client.who_has()
        key = future.key
        del future
        while key in client.who_has():
            client.submit(inc, 1).result()


def test_a_name_that_was_let_go_of_is_another_task_the_next_time(inproc: distributed.LocalCluster) -> None:
    with Client(inproc, set_as_default=False) as client:
        for number in range(3):
            assert client.get({"x": number, "y": (inc, "x")}, ["x", "y"]) == (number, number + 1)
            assert client.submit(inc, number, key="same", pure=False).result() == number + 1
            with dask.annotate(priority=number):
                named = dask.delayed(inc)(number, dask_key_name="named")
            lazy = dask.delayed(inc)(named, dask_key_name="top")
            assert lazy.compute(scheduler=client, optimize_graph=False) == number + 2


def test_futures_of_another_client_are_arguments(inproc: distributed.LocalCluster) -> None:
    with Client(inproc, set_as_default=False) as one, Client(inproc, set_as_default=False) as other:
        gate = distributed.Event("two clients", client=one._link.dask)  # type: ignore[union-attr]
        waiting = other.submit(total, [one.submit(inc, 41), one.submit(wait_for_gate, gate)])
        gate.set()
        assert waiting.result() == 43
        assert other.gather([one.submit(inc, 50)]) == [51]


def test_the_answer_about_a_future_of_another_client_may_come_at_once(
    inproc: distributed.LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(inproc, set_as_default=False) as one, Client(inproc, set_as_default=False) as other:
        future = one.submit(inc, 60)
        assert future.result() == 61
        dask = other._link.dask  # type: ignore[union-attr]
        send, hear, heard = dask._send_to_scheduler, dask._handle_key_in_memory, threading.Event()

        def hear_and_tell(**options: Any) -> None:
            hear(**options)
            heard.set()

        def send_and_hear(message: dict[str, Any]) -> None:
            send(message)
            if message["op"] == "client-desires-keys":
                assert heard.wait(60)

        monkeypatch.setattr(dask, "_send_to_scheduler", send_and_hear)
        monkeypatch.setitem(dask._stream_handlers, "key-in-memory", hear_and_tell)
        assert other.gather([future]) == [61]


def test_errors_whose_attributes_are_lost_on_the_way_have_their_text(inproc: distributed.LocalCluster) -> None:
    with Client(inproc, set_as_default=False) as client, pytest.raises(np.exceptions.AxisError) as raised:
        client.submit(np.sum, [1], axis=5).result()
    assert str(raised.value) == "axis 5 is out of bounds for array of dimension 1"


def test_a_client_of_distributeds_that_is_closed_is_said_to_be(inproc: distributed.LocalCluster) -> None:
    theirs = distributed.Client(inproc, set_as_default=False)
    with Client(theirs, set_as_default=False) as client:
        future = client.submit(inc, 1)
        assert future.result() == 2
        theirs.close()
        for use in (future.result, client.ncores, lambda: client.submit(inc, 2)):
            with pytest.raises(
                ClusterClosed, match="the distributed.Client that it was made from was closed, or lost its"
            ):
                use()


async def _in_a_loop(address: str) -> tuple[int, int]:
    async with Client(address, asynchronous=True, set_as_default=False) as client:
        return await client.submit(inc, 1), await client.gather(client.submit(inc, 2))


def test_an_asynchronous_client(inproc: distributed.LocalCluster) -> None:
    assert asyncio.run(_in_a_loop(inproc.scheduler_address)) == (2, 3)


# What goes wrong


def test_a_scheduler_that_ends_ends_what_waits(own_folders: None) -> None:
    with distributed.LocalCluster(n_workers=0, processes=False, **QUIET) as cluster:
        client = Client(cluster.scheduler_address, set_as_default=False)
        future = client.submit(inc, 1)
    with pytest.raises(ClusterClosed, match="the connection to the scheduler was lost"):
        future.result(60)
    assert client.status == "closed"
    client.close()


def test_what_listens_and_says_nothing_is_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "TIMEOUT_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ClusterNotFound, match="within 0.5 s: what listens there doesn't say that it is one"):
            Client(address)


def test_what_greets_by_another_protocol_is_no_scheduler() -> None:
    """dask.distributed takes the first bytes for a size, of 2.8 EiB here."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            connection, _ = server.accept()
            connection.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n" * 10)
            connection.recv(1)
            connection.close()

        thread = threading.Thread(target=greet)
        thread.start()
        with pytest.raises(ClusterNotFound, match="no scheduler of dask.distributed answers at"):
            Client(f"tcp://127.0.0.1:{server.getsockname()[1]}")
        thread.join()


def test_an_address_where_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "TIMEOUT_S", 3)
    with pytest.raises(
        ClusterNotFound, match=r"no scheduler of dask.distributed answers at tcp://127.0.0.1:9 within 3 s: .*refused"
    ):
        Client("tcp://127.0.0.1:9")


def test_why_there_is_no_connection_is_said_although_time_ended_the_last_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def time_out(address: str, **_options: Any) -> None:
        raise OSError(f"Timed out trying to connect to {address} after 1 s") from TimeoutError()

    monkeypatch.setattr(connecting, "open_comm", time_out)
    with pytest.raises(ClusterNotFound, match=r"ConnectionRefusedError: .*refused"):
        Client("tcp://127.0.0.1:9")
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(ClusterNotFound, match="Timed out trying"):
        Client(f"tcp://127.0.0.1:{listener.getsockname()[1]}")


def test_the_address_of_a_worker_is_said_to_be_one(processes: distributed.LocalCluster) -> None:
    worker = next(iter(processes.scheduler_info["workers"]))
    with pytest.raises(
        OptionError,
        match=f"{worker} is the address of a Worker, not that of the scheduler; its scheduler is at {processes.scheduler_address}",
    ):
        Client(worker)


def test_a_security_that_is_none_is_an_error() -> None:
    with pytest.raises(
        OptionError, match=r"^security='ca.pem' should be a distributed.Security, such as Security\(tls_ca_file="
    ):
        Client("tls://127.0.0.1:1", security="ca.pem")


def test_addresses_that_cannot_be() -> None:
    with pytest.raises(OptionError, match="'tcp://127.0.0.1:99999': the port 99999 should be between 1 and 65535"):
        Client("tcp://127.0.0.1:99999")
    with pytest.raises(
        OptionError, match=r"'tls://127.0.0.1:9' needs certificates: Client\('tls://127.0.0.1:9', security="
    ):
        Client("tls://127.0.0.1:9")
    with pytest.raises(OptionError, match="can't connect to bogus://x"):
        Client("bogus://x")
    with pytest.raises(OptionError, match="n_workers=2 is for a new cluster"):
        Client("tcp://127.0.0.1:9", n_workers=2)


class WithWorkers:
    """A client of distributed's whose workers, and scheduler, have what it is told."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self._answers, self.sent = list(answers), 0

    def run_on_scheduler(self, _: Any) -> Any:
        return self._scheduler

    scheduler = SimpleNamespace(identity=None)

    def sync(self, _: Any, n_workers: int) -> dict[str, Any]:
        assert n_workers == -1
        return {"workers": {"w": {"last_seen": 1.0}}}

    def run(self, _: Any, workers: list[str], on_error: str) -> dict[str, Any]:
        assert (workers, on_error) == (["w"], "return")
        answer = {"s": (HERE, glassloom.__version__, ""), **self._answers.pop(0)}
        self._scheduler = answer.pop("s")
        return answer

    def register_plugin(self, plugin: Any, name: str) -> None:
        self.sent += 1


HERE = f"{__import__('sys').version_info[0]}.{__import__('sys').version_info[1]}"


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([{"w": ("2.7", None, "")}], "worker w of tcp://s runs Python 2.7, and this process Python 3"),
        (
            [{"w": (HERE, "9.9", "")}],
            f"worker w of tcp://s has glassloom 9.9, .*install glassloom=={glassloom.__version__}",
        ),
        (
            [{"w": (HERE, None, "")}, {"w": (HERE, None, "ModuleNotFoundError: No module named 'msgspec'")}],
            f"worker w of tcp://s can't run .*'msgspec'; install glassloom=={glassloom.__version__} there",
        ),
        ([{"s": ("2.7", None, "")}], "the scheduler of tcp://s runs Python 2.7, and this process Python 3"),
        (
            [{"s": (HERE, None, "")}, {"s": (HERE, None, "ModuleNotFoundError: No module named 'numpy'")}],
            f"the scheduler of tcp://s can't run .*'numpy'; install glassloom=={glassloom.__version__} there",
        ),
    ],
)
def test_workers_that_cannot_run_our_code_are_an_error_that_says_what_to_install(
    answers: list[Any], message: str
) -> None:
    with pytest.raises(ClusterError, match=message):
        remote_workers.prepare(WithWorkers(*answers), "tcp://s")  # type: ignore[arg-type]


def test_nothing_is_sent_to_workers_that_have_our_code() -> None:
    client = WithWorkers({"w": (HERE, glassloom.__version__, "")})
    remote_workers.prepare(client, "tcp://s")  # type: ignore[arg-type]
    assert client.sent == 0
