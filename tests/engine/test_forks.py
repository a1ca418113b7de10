"""Forked children of a process that has a client: nothing that they do or leave undone touches their parent's cluster."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import glassloom.array as ga
import pytest
from fault_helpers import kill, start_over
from glassloom import Client, Lock, compute, get_client, wait
from glassloom.errors import ClusterClosed, ForkedError
from leaks import Watch

IN_TIME_S = 60


@pytest.fixture(scope="module")
def of_module(nothing_is_left_behind: Watch) -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1, memory_limit="1GB") as client:
        yield client


@pytest.fixture
def own(of_module: Client) -> Client:
    """Return the client of a cluster that this process has started, and that is the default."""
    start_over(of_module, 2)
    assert get_client() is of_module
    return of_module


def in_child(function: Callable[[], Any], *, leave: Callable[[int], Any] = os._exit) -> str:
    """Call a function in a forked child; return what it returns, or what it raises, as text."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(IN_TIME_S)
        os.close(reading)
        try:
            text = f"{function()!r}"
        except BaseException as error:  # noqa: BLE001 - it is what the test looks at
            text = f"{type(error).__name__}: {error}"
        os.write(writing, text.encode())
        os.close(writing)
        leave(0)
    os.close(writing)
    with open(reading) as answer:
        text = answer.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"the child ended with status {status} after {text!r}"
    return text


@pytest.mark.fault("a process that has a cluster forks, and the child exits")
def test_a_child_that_exits_leaves_the_cluster_alone(own: Client) -> None:
    scattered = own.scatter(b"x" * 2**20)
    pid = os.fork()
    if pid == 0:
        try:
            sys.exit(0)
        except SystemExit:
            atexit._run_exitfuncs()
            os._exit(0)
    os.waitpid(pid, 0)
    assert len(scattered.result(timeout=60)) == 2**20
    assert own.submit(abs, -3).result(timeout=60) == 3
    assert Path(own._record.directory).exists()


SCRIPT = """
import os, sys
from pathlib import Path
from glassloom import Client
client = Client(n_workers=1, threads_per_worker=1, memory_limit="1GB")
kept = client.scatter(b"x" * 2**20)
pid = os.fork()
if pid == 0:
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert len(kept.result(timeout=60)) == 2**20
assert client.submit(abs, -3).result(timeout=60) == 3
assert Path(client._record.directory).exists()
print("well")
"""


@pytest.mark.fault("a process that has a cluster forks, and the child exits")
def test_a_script_whose_child_exits_goes_on(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.returncode) == ("well\n", 0), done.stderr


@pytest.mark.fault("a process that has a cluster forks, and the child leaves its `with` block")
def test_a_child_that_leaves_the_with_block_leaves_the_parents_connection_alone(own: Client) -> None:
    def leave() -> None:
        own.__exit__(None, None, None)
        own.close()
        assert own.cluster is not None
        own.cluster.close()

    assert in_child(leave) == "None"
    assert own.submit(abs, -3).result(timeout=60) == 3


def test_what_a_child_inherits_says_that_it_is_the_parents(own: Client) -> None:
    done, pending, lock = own.submit(abs, -1), own.submit(time.sleep, 20), Lock("forked")
    done.result(timeout=60)
    says = f"ForkedError: the client of cluster {own.name!r} belongs to process {os.getpid()}"
    for use in (
        done.result,
        pending.result,
        pending.exception,
        lambda: own.submit(abs, -2),
        lambda: own.gather([done]),
        lambda: own.scatter(1),
        lambda: wait([pending]),
        own.scheduler_info,
        own.shutdown,
        lambda: own.run(os.getpid),
        lambda: own.cancel([done]),
        lambda: compute(ga.ones(4), scheduler=own),
    ):
        assert in_child(use).startswith(says)
    assert in_child(lambda: own.cluster.scale(3)).startswith("ForkedError: the cluster")  # type: ignore[union-attr]
    assert in_child(get_client).startswith("ClusterClosed")
    assert in_child(lambda: (pending.done(), own.status)) == "(True, 'closed')"
    assert "closed" in in_child(lambda: repr(own))
    assert lock.client is own
    own.cancel(pending)


def test_a_child_computes_on_threads(own: Client) -> None:
    x = ga.ones((100, 100), chunks=50).sum()
    assert x.compute() == 10_000
    assert in_child(x.compute) == "np.float64(10000.0)"


def _compute_sum(n: int) -> float:
    return float(ga.ones((n, n), chunks=n // 2).sum().compute())


def test_the_workers_of_a_forked_pool_compute(own: Client) -> None:
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        assert pool.map_async(_compute_sum, [10, 20, 30]).get(IN_TIME_S) == [100.0, 400.0, 900.0]
    assert own.submit(_compute_sum, 10).result(timeout=60) == 100.0


def test_a_child_connects_for_itself(own: Client) -> None:
    def connect() -> int:
        with Client(own.name) as mine:
            result: int = mine.submit(abs, -5).result(timeout=60)
            return result

    assert in_child(connect) == "5"
    assert own.submit(abs, -3).result(timeout=60) == 3


def test_a_child_of_a_task_that_exits_does_no_harm(own: Client) -> None:
    def fork() -> tuple[int, str]:
        client = get_client()
        client.submit(abs, -1).result()
        return client.submit(abs, -2).result(), in_child(lambda: get_client().submit(abs, -7).result())

    assert own.submit(fork).result(timeout=60) == (2, "7")


@pytest.mark.fault("a client that holds a lock and has forked is killed")
def test_the_lock_of_a_killed_client_opens_although_its_child_lives(own: Client, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        mine = Client(own.name)
        Lock("of-the-killed", client=mine).acquire()
        grandchild = os.fork()
        if grandchild == 0:
            time.sleep(IN_TIME_S)
            os._exit(0)
        os.write(writing, str(grandchild).encode())
        time.sleep(IN_TIME_S)
        os._exit(0)
    grandchild = int(os.read(reading, 100))
    kill(pid)
    os.waitpid(pid, 0)
    try:
        assert Lock("of-the-killed", client=own).acquire(timeout=60)
    finally:
        kill(grandchild)
        os.close(reading)
        os.close(writing)


def test_forking_while_other_threads_use_the_client_leaves_the_child_able_to_compute(own: Client) -> None:
    stop = threading.Event()

    def use() -> None:
        while not stop.is_set():
            own.gather(own.map(abs, range(10), pure=False))

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            assert in_child(ga.ones(10, chunks=5).sum().compute) == "np.float64(10.0)"
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_errors_of_a_fork_are_cluster_errors() -> None:
    assert issubclass(ForkedError, RuntimeError)
    assert not issubclass(ForkedError, ClusterClosed)


def test_closing_does_not_wait_for_a_forked_child_that_lives(tmp_path: Path) -> None:
    script = """
        import os
        from glassloom import Client
        client = Client(n_workers=1)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(write)
            os.read(read, 1)  # until the parent has closed the client
            os._exit(0)
        client.close()
        os.close(write)
        os.waitpid(child, 0)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=300)
    assert (done.stderr, done.returncode) == (
        "",
        0,
    )  # a head that doesn't end by itself is killed, and a warning says so


def test_a_multiprocessing_child_that_computes_leaves_no_files(tmp_path: Path) -> None:
    script = """
        import multiprocessing, os, glob, tempfile
        import glassloom as gl
        def compute():
            gl.delayed(abs)(-1).compute()
        child = multiprocessing.get_context("fork").Process(target=compute)
        child.start()
        child.join()
        print(child.exitcode, glob.glob(tempfile.gettempdir() + "/glassloom-*"))
    """
    environ = {
        **os.environ,
        "TMPDIR": str(tmp_path),
        "GLASSLOOM_THREADS__PUBLISH": "1",
        "JUPYTER_RUNTIME_DIR": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=300, env=environ
    )
    assert (done.stdout, done.returncode) == ("0 []\n", 0), done.stderr
