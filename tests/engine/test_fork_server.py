"""The head and its fork server: no request is lost, and a fork server that is stopped stops nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import time
from pathlib import Path

import psutil
import pytest
import tasks
from fault_helpers import both_workers, eventually, fork_server_of, kill, worker_pids
from glassloom import Client
from glassloom.cluster import head_process
from glassloom.errors import ClusterClosed, ClusterStartError
from glassloom.head.fork_server_client import ForkServerClient
from glassloom.head.health import GONE_S, UNANSWERED_S, Heartbeat, Pulse
from glassloom.protocol.options import MemoryLimits, WorkerOptions

# Requests


def worker_options(number: int) -> WorkerOptions:
    return WorkerOptions(
        number, "w" * 300, "/socket", "secret", 1, MemoryLimits(), None, "/d", "p", "id", "name", 1, "/d/w"
    )


@pytest.mark.fault("a fork server that is busy while many workers are asked for")
def test_requests_to_a_busy_fork_server_all_arrive_and_whole() -> None:
    n_workers = 3000  # some MB: far more than fits into the socket

    async def ask() -> list[int]:
        ours, theirs = socket.socketpair()
        client = ForkServerClient(os.getpid(), ours, lambda *_: None)
        await client.start()
        for number in range(n_workers):
            client.spawn(worker_options(number))
        reader, writer = await asyncio.open_unix_connection(sock=theirs)  # only now does it begin to read
        found = [json.loads(await reader.readline())["spawn"]["number"] for _ in range(n_workers)]
        writer.close()
        client._writer.close()
        return found

    assert asyncio.run(ask()) == list(range(n_workers))


# Signs of life


def waited(heartbeat: Heartbeat, seconds: float) -> Pulse:
    """Let a heartbeat's time pass in half seconds."""
    start_s = heartbeat._last_s
    for step in range(1, int(seconds * 2) + 1):
        heartbeat.beat(start_s + step / 2)
    return heartbeat.pulse


def test_a_process_that_does_not_answer_is_noticed_and_in_the_end_given_up() -> None:
    heartbeat = Heartbeat()
    heartbeat.beat(0.0)
    heartbeat.answered()
    assert waited(heartbeat, UNANSWERED_S) is Pulse.ALIVE
    assert waited(heartbeat, 1.0) is Pulse.UNANSWERED
    heartbeat.answered()
    assert waited(heartbeat, UNANSWERED_S) is Pulse.ALIVE
    assert waited(heartbeat, GONE_S) is Pulse.GONE


def test_a_pause_of_the_head_is_not_held_against_the_fork_server() -> None:
    heartbeat = Heartbeat()
    heartbeat.beat(0.0)
    heartbeat.answered()
    heartbeat.beat(1.0)
    heartbeat.beat(1000.0)
    assert heartbeat.pulse is Pulse.ALIVE


def test_a_fork_server_may_take_its_time_to_start() -> None:
    assert waited(Heartbeat(), 3 * GONE_S) is Pulse.ALIVE


# Stopped


def leave_a_child() -> None:
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)


@pytest.mark.fault("SIGSTOP of the fork server, kill -9 of a worker")
@pytest.mark.parametrize("has_forked", [False, True])
def test_a_workers_tasks_run_elsewhere_at_once_although_the_fork_server_is_stopped(
    client: Client, tmp_path: Path, has_forked: bool
) -> None:
    pids = both_workers(client)
    if has_forked:
        client.run(leave_a_child)  # which holds the worker's connection, so it doesn't close
    begun, go = tmp_path / "begun", tmp_path / "go"
    future = client.submit(tasks.begin_and_wait, str(begun), str(go), 5)
    first = int(eventually(lambda: begun.exists() and begun.read_text()))
    begun.unlink()
    fork_server = fork_server_of(client)
    fork_server.suspend()
    try:
        kill(first)
        second = int(eventually(lambda: begun.exists() and begun.read_text(), 60))
        go.touch()
        assert (future.result(timeout=60), second in pids, second != first) == (5, True, True)
    finally:
        fork_server.resume()
    assert first not in eventually(lambda: len(pids := worker_pids(client)) == 2 and pids)


@pytest.mark.long
@pytest.mark.fault("SIGSTOP of the fork server for good")
def test_a_cluster_whose_fork_server_stays_stopped_says_so_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import glassloom.head.health as health\nhealth.UNANSWERED_S, health.GONE_S = 0.5, 10.0\n"
    change_the_head(monkeypatch, code)
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        assert client.submit(tasks.inc, 1).result() == 2
        log = Path(client._record.directory, "cluster.log")
        fork_server = fork_server_of(client)
        waiting = client.submit(time.sleep, 1000, pure=False)
        fork_server.suspend()
        eventually(lambda: f"fork server (pid {fork_server.pid}) hasn't answered for" in log.read_text())
        with pytest.raises(ClusterClosed, match="the cluster has ended: the fork server .* it is stopped, or"):
            waiting.result(timeout=60)
        eventually(lambda: not psutil.pid_exists(fork_server.pid), 60)


def test_a_fork_server_that_goes_on_again_is_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    change_the_head(monkeypatch, "import glassloom.head.health as health\nhealth.UNANSWERED_S = 0.5\n")
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        log = Path(client._record.directory, "cluster.log")
        fork_server = fork_server_of(client)
        assert client.submit(tasks.inc, 1).result() == 2
        fork_server.send_signal(signal.SIGSTOP)
        eventually(lambda: "hasn't answered for" in log.read_text())
        fork_server.send_signal(signal.SIGCONT)
        eventually(lambda: "answers again" in log.read_text())
        (pid,) = worker_pids(client)
        kill(pid)
        eventually(lambda: worker_pids(client) not in ([], [pid]))


@pytest.mark.fault("no more processes can be made")
def test_a_worker_that_cannot_be_forked_is_an_error_and_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import os, itertools\nforks, fork = itertools.count(), os.fork\n"
    code += "def failing():\n    if next(forks): raise BlockingIOError(11, os.strerror(11))\n    return fork()\n"
    change_the_head(monkeypatch, code + "os.fork = failing\n")
    reason = "5 workers in a row didn't start: no process could be made: Resource temporarily unavailable"
    with pytest.raises(ClusterStartError, match=reason):
        Client(n_workers=1, threads_per_worker=1, set_as_default=False)


def change_the_head(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let the heads of this test run `code` before they begin."""
    first, last = head_process.BOOTSTRAP.rsplit("main(start", 1)
    monkeypatch.setattr(head_process, "BOOTSTRAP", f"{first}{code}main(start{last}")


@pytest.mark.fault("an error in the fork server's own code")
def test_an_error_in_the_fork_server_ends_the_cluster_and_the_user_learns_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch = tmp_path / "broken"
    code = "import os\nfrom glassloom.worker import fork_server\ncommand = fork_server._ForkServer._handle_command\n"
    code += "def broken(self, request):\n"
    code += f"    if os.path.exists({str(switch)!r}): raise RuntimeError('injected')\n    command(self, request)\n"
    change_the_head(monkeypatch, code + "fork_server._ForkServer._handle_command = broken\n")
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        waiting = client.submit(time.sleep, 1000, pure=False)
        (worker,) = worker_pids(client)
        switch.touch()
        reason = r"the cluster has ended: the fork server crashed: RuntimeError: injected \(a fault of Glassloom's own"
        with pytest.raises(ClusterClosed, match=reason):
            waiting.result(timeout=60)
        eventually(lambda: not psutil.pid_exists(worker))
