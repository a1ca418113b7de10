"""Clients of one cluster: several, in other processes, after Ctrl-C, closed, and how they show themselves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import tasks
from eventual import eventually
from glassloom import Client, LocalCluster
from glassloom.errors import ClusterClosed


def run_script(tmp_path: Path, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "script.py"
    path.write_text(text)
    return subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )


def test_several_threads_may_use_one_client(client: Client) -> None:
    results: dict[int, int] = {}

    def use(number: int) -> None:
        results[number] = sum(client.gather(client.map(tasks.add, range(100), [number] * 100)))

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {number: 4950 + 100 * number for number in range(8)}


def test_clients_of_one_cluster_share_results_and_hold_them_apart(client: Client, tmp_path: Path) -> None:
    log = str(tmp_path / "runs")
    with Client(client.cluster, set_as_default=False) as other:
        mine, theirs = client.submit(tasks.count_run, log, 6), other.submit(tasks.count_run, log, 6)
        assert (mine.result(), theirs.result()) == (6, 6)
    assert Path(log).read_text() == "x"
    assert client.submit(tasks.inc, mine).result() == 7
    assert theirs.result() == 6  # small results are with the client


def test_another_process_attaches_by_name(client: Client, tmp_path: Path) -> None:
    script = "import sys\nfrom glassloom import Client\nprint(Client(sys.argv[1]).submit(sum, [1, 2]).result())"
    path = tmp_path / "attach.py"
    path.write_text(script)
    for address in (client.name, client.id):
        done = subprocess.run([sys.executable, str(path), address], capture_output=True, text=True, timeout=300)
        assert (done.stdout, done.stderr) == ("3\n", "")


def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    done = run_script(
        tmp_path,
        """
from glassloom import Client
class Point:
    def __init__(self, x): self.x = x
def double(point): return Point(2 * point.x)
client = Client(n_workers=1, threads_per_worker=1)
print(client.submit(double, client.submit(double, Point(3))).result().x)
""",
    )
    assert (done.stdout, done.stderr, done.returncode) == ("12\n", "", 0)


def test_a_script_that_never_closes_its_client_leaves_nothing(tmp_path: Path, nothing_is_left_behind: Any) -> None:
    outside = set(nothing_is_left_behind.cluster_ids())
    done = run_script(
        tmp_path,
        "from glassloom import Client\nprint(Client(n_workers=1, threads_per_worker=1).id)\nraise SystemExit(3)",
    )
    assert done.returncode == 3
    (new,) = nothing_is_left_behind.cluster_ids() - outside
    assert new == done.stdout.strip()
    eventually(lambda: not [line for line in nothing_is_left_behind.left_outside() if new in line])


INTERRUPTED = """
import os, sys, threading
sys.path.insert(0, {tests!r})
import tasks
from glassloom import Client, delayed
client = Client(n_workers=1, threads_per_worker=1)
lazy = delayed(tasks.begin_and_wait)({begun!r}, {go!r})
try:
    delayed(tasks.inc)(lazy).compute()
except KeyboardInterrupt:
    open({go!r}, "w").close()
    print("interrupted", client.submit(tasks.inc, 1).result(), client.scheduler_info()["tasks"]["waiting"])
"""


def test_ctrl_c_cancels_compute_and_leaves_the_cluster_usable(tmp_path: Path) -> None:
    path, begun, go = tmp_path / "script.py", tmp_path / "begun", tmp_path / "go"
    path.write_text(INTERRUPTED.format(tests=str(Path(__file__).parent), begun=str(begun), go=str(go)))
    process = subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        eventually(begun.exists)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the whole group
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (output, process.returncode) == ("interrupted 2 0\n", 0)


def test_closing_a_client_loses_its_futures_and_wakes_who_waits(tmp_path: Path) -> None:
    client = Client(n_workers=1, threads_per_worker=1, set_as_default=False)
    future = client.submit(tasks.wait_for, str(tmp_path / "never"))
    raised: list[BaseException] = []

    def wait_for_it() -> None:
        try:
            future.result()
        except BaseException as error:
            raised.append(error)

    waiting = threading.Thread(target=wait_for_it)
    waiting.start()
    client.close()
    waiting.join(60)
    assert [type(error) for error in raised] == [ClusterClosed]
    assert str(raised[0]) == f"'{future.key}' is lost: client.close() was called"
    assert (future.status, client.status) == ("lost", "closed")


def test_closing_twice_does_nothing_more() -> None:
    client = Client(n_workers=1, threads_per_worker=1)
    client.close()
    client.close()
    assert repr(client) == f"<Client: {client.name!r}, closed (client.close() was called)>"


def test_an_open_client_shows_what_its_workers_memory_is_made_of(client: Client) -> None:
    looks = client._repr_html_()
    for column in ("Memory", "Results", "Unmanaged", "On disk"):
        assert f'<th scope="col">{column}</th>' in looks
    assert looks.count(" of 953.67 MiB") == 2


def test_a_client_without_workers_has_no_memory() -> None:
    with Client(n_workers=0) as client:
        assert repr(client) == f"<Client: {client.name!r}, workers=0, threads=0, memory=0 B>"


def test_a_closed_client_shows_why_and_no_workers_or_limits() -> None:
    client = Client(n_workers=1, threads_per_worker=1)
    client.close()
    looks = client._repr_html_()
    assert "client.close() was called" in looks
    assert not any(words in looks for words in ("Workers", "Threads", "no limit"))


def test_closing_a_client_leaves_a_cluster_that_it_did_not_start() -> None:
    with LocalCluster(n_workers=1, threads_per_worker=1) as cluster:
        Client(cluster).close()
        assert cluster.status == "running"
        with Client(cluster) as client:
            assert client.submit(tasks.inc, 1).result() == 2


def test_shutdown_ends_a_cluster_that_the_client_did_not_start() -> None:
    cluster = LocalCluster(n_workers=1, threads_per_worker=1)
    Client(cluster.name).shutdown()
    cluster.wait()
    assert cluster.status == "closed"
    cluster.close()


def test_scheduler_info_tells_of_workers_and_tasks(client: Client) -> None:
    info = client.scheduler_info()
    assert [worker["nthreads"] for worker in info["workers"].values()] == [2, 2]
    assert [worker["memory_limit"] for worker in info["workers"].values()] == [10**9, 10**9]
    assert set(info["tasks"]) == {
        "released", "waiting", "ready", "staging", "running", "memory", "erred", "forgotten"
    }  # fmt: skip
    assert client.ncores() == {f"{client.name}-0": 2, f"{client.name}-1": 2}


def test_the_repr_names_cluster_workers_and_memory(client: Client) -> None:
    assert repr(client) == f"<Client: {client.name!r}, workers=2, threads=4, memory=1.86 GiB>"
