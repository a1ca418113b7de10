"""What clients say, and how soon, when a scheduler of dask.distributed or its workers are killed, stopped or cut off: real processes."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attached import Told, attached
from calls import inc, slow_inc, when_there_is
from distributed.utils import LoopRunner
from eventual import eventually
from glassloom import Client, config
from glassloom.client import head_watch
from glassloom.distributed import attachment, connecting, remote_workers, silent_workers
from glassloom.errors import ClusterClosed, ClusterError
from glassloom_metrics.protocol import Life, Log, WorkerJoined, WorkerLeft
from processes import Processes, processes
from proxies import proxy_of

SOON_S = 25.0
"""How long `Client.close()` may take, whatever the other side does, on a machine that is busy: 30 s if it waited for answers."""
BOUND_S = 60.0
"""Of each error, with the short timeouts of these tests, on a machine that is busy."""


@contextmanager
def little_time(request_s: float = 2.0) -> Iterator[None]:
    """Ask and complain sooner than by default: only where the other side is stopped, as one that is well may be slow on a busy machine."""
    with pytest.MonkeyPatch.context() as patch, config.set({"timeouts.request": request_s}):
        patch.setattr(head_watch, "PING_AFTER_S", 0.2)
        patch.setattr(head_watch, "WARN_AFTER_S", 0.5)
        yield


@pytest.fixture
def cluster(own_folders: None, tmp_path: Path) -> Iterator[Processes]:
    """Start a scheduler that gives up no worker that it doesn't hear of: on a busy machine it may be one that is well."""
    with processes(2, tmp_path) as started:
        yield started


@pytest.fixture
def impatient(own_folders: None, tmp_path: Path) -> Iterator[Processes]:
    """Start a scheduler that soon gives up a worker that is stopped."""
    with processes(2, tmp_path, DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="15s") as started:
        yield started


def closes_soon(client: Client) -> None:
    began_s = time.monotonic()
    client.close()
    assert time.monotonic() - began_s < SOON_S


@pytest.mark.fault("a worker of dask.distributed's is killed while tasks run and results are gathered")
def test_what_a_killed_worker_ran_and_had_is_made_by_the_other(cluster: Processes) -> None:
    client = Client(cluster.address, set_as_default=False)
    done = client.map(inc, range(20))
    assert len(client.gather(done)) == 20
    running = client.map(slow_inc, range(100, 110))
    eventually(lambda: any(future.done() for future in running))
    cluster.workers[0].kill()
    assert client.gather(running) == list(range(101, 111))
    assert client.gather(done) == list(range(1, 21))
    closes_soon(client)


@pytest.mark.fault("the last worker of dask.distributed's is killed")
def test_without_workers_the_wait_says_that_there_are_none(cluster: Processes) -> None:
    client = Client(cluster.address, set_as_default=False)
    done = client.submit(inc, 1)
    assert done.result() == 2
    for worker in cluster.workers:
        worker.kill()
    eventually(lambda: not client.scheduler_info()["workers"])
    how = f"has no workers, so nothing will be computed; this command starts a worker.*: dask worker {cluster.address}$"
    with little_time(request_s=BOUND_S):
        with pytest.warns(UserWarning, match=how), pytest.raises(TimeoutError, match="no result after 5.0 s"):
            client.submit(inc, 5).result(timeout=5)
        with pytest.raises(TimeoutError, match=r"didn't answer \(results\) within 3 s; it has no workers"):
            done.result(timeout=3)
    closes_soon(client)


@pytest.mark.long
@pytest.mark.fault("a worker of dask.distributed's is stopped (SIGSTOP)")
def test_of_a_stopped_worker_the_wait_warns_and_its_results_are_made_again(
    impatient: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silent_workers, "SILENT_S", 2.0)
    client = Client(impatient.address, set_as_default=False)
    done = client.map(inc, range(20))
    assert len(client.gather(done)) == 20
    holders = [address for address, keys in client.has_what().items() if keys]
    os.kill(client.run(os.getpid)[holders[0]], signal.SIGSTOP)
    with pytest.raises(TimeoutError, match=r"no result after|nothing has been heard of the worker at tcp://"):
        client.submit(sum, done).result(timeout=3.5)
    heard_of = pytest.warns(UserWarning, match="nothing has been heard of the worker at tcp://127.0.0.1:")
    with little_time(request_s=BOUND_S), heard_of:
        assert client.gather(done) == list(range(1, 21))  # once the scheduler has given it up
    closes_soon(client)


@pytest.mark.long
@pytest.mark.fault("a client connects while a worker of dask.distributed's is stopped (SIGSTOP)")
def test_who_connects_beside_a_stopped_worker_is_told_or_served(
    cluster: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    Client(cluster.address, set_as_default=False).close()  # workers import our code once
    monkeypatch.setattr(silent_workers, "SILENT_S", 4.0)
    monkeypatch.setattr(remote_workers, "PROBE_S", 2.0)
    cluster.workers[0].send_signal(signal.SIGSTOP)
    with pytest.raises(
        ClusterError, match=r"a worker of tcp\S+ didn't say which Python .* within 2 s: one of them is stopped"
    ):
        Client(cluster.address, set_as_default=False)
    time.sleep(3)
    monkeypatch.setattr(remote_workers, "PROBE_S", 20.0)
    client = Client(cluster.address, set_as_default=False)
    closes_soon(client)


CALLS: dict[str, Callable[[Client, Any], Any]] = {
    "result": lambda client, future: future.result(),
    "submit": lambda client, future: client.submit(inc, 77).result(),
    "gather": lambda client, future: client.gather([future]),
    "scatter": lambda client, future: client.scatter([1, 2]),
    "run": lambda client, future: client.run(os.getpid),
    "cancel": lambda client, future: client.cancel(future),
    "who_has": lambda client, future: client.who_has(),
    "restart": lambda client, future: client.restart(),
    "publish_dataset": lambda client, future: client.publish_dataset(kept=future),
}


@pytest.mark.long
@pytest.mark.fault("a scheduler of dask.distributed's is stopped (SIGSTOP)")
def test_each_call_to_a_stopped_scheduler_ends_in_bounded_time(cluster: Processes, tmp_path: Path) -> None:
    go = tmp_path / "go"
    client = Client(cluster.address, set_as_default=False)
    future = client.submit(when_there_is, str(go), 5)
    cluster.scheduler.send_signal(signal.SIGSTOP)
    for name, call in CALLS.items():
        began_s = time.monotonic()
        with _any_warnings(), little_time():
            try:
                call(client, future)
            except TimeoutError as error:
                raised = error
            else:
                assert name == "cancel", name  # which is no question
                continue
        assert cluster.address in str(raised) and "answer" in str(raised), name
        assert time.monotonic() - began_s < BOUND_S, name
    closes_soon(client)


@pytest.mark.fault("a scheduler of dask.distributed's is stopped (SIGSTOP), and continued")
def test_a_continued_scheduler_serves_the_same_client(cluster: Processes) -> None:
    client = Client(cluster.address, set_as_default=False)
    assert client.submit(inc, 1).result() == 2
    cluster.scheduler.send_signal(signal.SIGSTOP)
    with _any_warnings(), little_time(), pytest.raises(TimeoutError, match="hasn't answered for"):
        client.submit(inc, 2).result()
    cluster.scheduler.send_signal(signal.SIGCONT)
    assert client.submit(inc, 3).result() == 4
    closes_soon(client)


@pytest.mark.fault("a scheduler of dask.distributed's is killed")
def test_a_killed_scheduler_ends_what_waits_and_what_comes(
    cluster: Processes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = _event_loops()
    client = Client(cluster.address, set_as_default=False)
    future = client.submit(when_there_is, str(tmp_path / "never"), 5)
    threading.Timer(0.5, cluster.scheduler.kill).start()
    with pytest.raises(ClusterClosed, match="is lost: the connection to the scheduler was lost"):
        future.result(timeout=BOUND_S)
    for name, call in CALLS.items():
        with pytest.raises(ClusterClosed, match="the connection to the scheduler was lost"):
            call(client, future)
            pytest.fail(name)
    closes_soon(client)
    eventually(lambda: _event_loops() <= before)
    assert [record for record in caplog.records if record.name == "distributed.client"] == []


def test_that_a_closed_client_reconnects_no_more_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("distributed.client")

    class Reconnecting:
        _loop_runner = LoopRunner()

        def close(self) -> None:
            log.error("Failed to reconnect to scheduler after %.2f seconds, closing client", 8.0)
            log.error("something else")

    connecting.close(Reconnecting())  # type: ignore[arg-type]
    assert [record.getMessage() for record in caplog.records] == ["something else"]


@pytest.mark.long
@pytest.mark.fault("a scheduler of dask.distributed's is killed while nothing waits for it")
def test_the_first_question_to_a_killed_scheduler_says_that_it_is_lost(cluster: Processes) -> None:
    before = _event_loops()
    client = Client(cluster.address, set_as_default=False)
    assert client.submit(inc, 1).result() == 2
    cluster.scheduler.kill()
    cluster.scheduler.wait()
    with (
        _any_warnings(),
        config.set({"timeouts.request": BOUND_S}),  # longer than the client tries to reach it
        pytest.raises(ClusterError, match=r"the connection to the scheduler( was lost|.* broke off)"),
    ):
        client.who_has()
    closes_soon(client)
    eventually(lambda: _event_loops() <= before)


@pytest.mark.long
@pytest.mark.fault("a client of dask.distributed's has given up a killed scheduler")
@pytest.mark.parametrize("ask", [False, True])
def test_a_client_that_has_closed_itself_is_closed_whole(
    cluster: Processes, ask: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "TIMEOUT_S", 2.0)  # also how long the client tries to reach it again
    before = _event_loops()
    client = Client(cluster.address, set_as_default=False)
    cluster.scheduler.kill()
    eventually(lambda: client._link.dask.status == "closed")  # type: ignore[union-attr]
    if ask:
        with pytest.raises(ClusterClosed, match="the connection to the scheduler was lost"):
            client.submit(inc, 1)
    closes_soon(client)
    assert _event_loops() <= before


def _event_loops() -> set[threading.Thread]:
    """Return the threads in which clients of dask.distributed run."""
    return {thread for thread in threading.enumerate() if thread.name == "IO loop"}


@pytest.mark.fault("the network between a client and dask.distributed's scheduler drops everything")
def test_a_client_behind_a_network_that_drops_closes_soon(cluster: Processes, tmp_path: Path) -> None:
    with proxy_of(cluster.address) as proxy:
        client = Client(proxy.address, set_as_default=False)
        future = client.submit(when_there_is, str(tmp_path / "never"), 5)
        proxy.hold()
        with _any_warnings(), little_time():
            with pytest.raises(TimeoutError, match=r"the scheduler .* hasn't answered for"):
                future.result()
            closes_soon(client)


@pytest.mark.fault("the network between a client and dask.distributed's scheduler closes the connections")
def test_a_client_whose_connections_are_closed_says_so(cluster: Processes, tmp_path: Path) -> None:
    with proxy_of(cluster.address) as proxy:
        client = Client(proxy.address, set_as_default=False)
        future = client.submit(when_there_is, str(tmp_path / "never"), 5)
        threading.Timer(0.5, proxy.close).start()
        with pytest.raises(ClusterClosed, match="is lost: the connection to the scheduler was lost"):
            future.result(timeout=BOUND_S)
        with pytest.raises(ClusterClosed, match="the client is closed"):
            client.submit(inc, 1).result()
        closes_soon(client)


def _any_warnings() -> Any:
    return warnings.catch_warnings(action="ignore")


def _lines(told: Told) -> str:
    return "\n".join(line.text for line in told.of(Log))


@pytest.mark.long
@pytest.mark.fault(
    "the network between an attachment and dask.distributed's scheduler drops everything, goes on, and closes the connections"
)
def test_what_is_shown_of_a_cluster_says_what_has_happened(
    cluster: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachment, "REFUSED_S", 1.0)
    with proxy_of(cluster.address) as proxy, attached(proxy.address, timeout_s=2.0) as told:
        cluster.workers[0].kill()
        eventually(lambda: told.of(WorkerLeft), 60.0)
        proxy.hold()
        eventually(lambda: "the connection to the scheduler" in _lines(told) and "was lost" in _lines(told), 60.0)
        proxy.go_on()
        eventually(lambda: "the scheduler answers again" in _lines(told), 60.0)
        proxy.close()
        assert told.ended.wait(60)
        assert told.of(Life)[-1].event == "closing"
        assert f"its scheduler has ended: nothing answers at {proxy.address}" in _lines(told)
        assert len(told.of(WorkerLeft)) == len(told.of(WorkerJoined))
