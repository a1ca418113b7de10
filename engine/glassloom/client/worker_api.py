"""What a task may ask for: its cluster's client, its worker, and to leave its place to other tasks while it waits."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from glassloom_metrics.registry import ClusterRecord, process_started_s

from glassloom.client.client import Client
from glassloom.distributed.optional import load
from glassloom.errors import ClusterClosed, ClusterError
from glassloom.graph.options_in_use import IN_USE
from glassloom.local.default import current, latest, running_on
from glassloom.protocol.options import WorkerOptions
from glassloom.worker.task_context import TaskThread, current_worker, rejoin_here, seceded_meanwhile, task_thread
from glassloom.worker.worker_of_task import WorkerOfTask, worker_of

_lock = threading.Lock()
_clients: dict[int, Client] = {}


def get_worker() -> WorkerOfTask:
    """Return the worker in which the calling task runs.

    Raises
    ------
    ClusterError
        If this process is no worker.

    Examples
    --------
    >>> from glassloom import Client, get_worker
    >>> with Client(n_workers=1, threads_per_worker=3) as client:
    ...     client.submit(lambda: get_worker().nthreads).result()
    3
    """
    options = current_worker()
    if options is None:
        raise ClusterError("get_worker() was called outside of a cluster's workers; call it in a task")
    return worker_of(options)


def get_client() -> Client:
    """Return a client of the cluster on which the calling task runs; outside of tasks, that of the block around (`Client.as_current`), or the newest open client.

    A task may submit tasks with it and wait for them: while it waits, another task runs in its place. Tasks that a task
    submits go before those that were submitted beside it.

    Raises
    ------
    ClusterClosed
        If there is none.

    Examples
    --------
    >>> from glassloom import Client, get_client
    >>> def fibonacci(n):
    ...     if n < 2:
    ...         return n
    ...     client = get_client()
    ...     return sum(client.gather(client.map(fibonacci, [n - 1, n - 2])))
    >>> with Client(n_workers=1, threads_per_worker=1) as client:
    ...     client.submit(fibonacci, 10).result()
    55
    """
    options = current_worker()
    if options is not None:
        return _client_of(options)
    if "distributed" in sys.modules:
        of_task: Client | None = load("remote_task", "a task of dask.distributed").client_of_task()
        if of_task is not None:
            return of_task
    chosen = current()
    client = chosen if isinstance(chosen, Client) else latest(Client)
    if client is None:
        raise ClusterClosed(
            "no client is open; make one with Client(). Tasks that run on the threads of your own process have none"
        )
    return client


@contextmanager
def worker_client(timeout: float | None = None, separate_thread: bool = True) -> Iterator[Client]:
    """Give a task the client of its cluster, and let collections run there meanwhile, not in the task's own thread.

    Parameters
    ----------
    timeout
        Accepted for compatibility: connecting to a head on the same machine takes no time.
    separate_thread
        Whether the task leaves its place to other tasks for the whole block, not only while it waits.
    """
    client = get_client()
    with seceded_meanwhile() if separate_thread else nullcontext(), running_on(client):
        yield client


def secede() -> None:
    """Leave this task's place to another one: from now on it runs beside those that are counted.

    For tasks that wait for a long time by other means than a client's (for a file, for a server). What a client waits
    for in a task (`Future.result`, `Client.gather`, `wait`, locks...) leaves the place by itself, and takes one again.

    Raises
    ------
    ClusterError
        If the calling thread runs no task of a worker.
    """
    thread = _task_thread("secede")
    if not thread.has_seceded:
        thread.secede(thread)
        IN_USE.stand_aside()


def rejoin() -> None:
    """Take a place among the running tasks again after `secede`; waits until there is one.

    Raises
    ------
    ClusterError
        If the calling thread runs no task of a worker.
    """
    thread = _task_thread("rejoin")
    if thread.has_seceded:
        rejoin_here(thread)
        IN_USE.come_back()


def _task_thread(name: str) -> TaskThread:
    thread = task_thread()
    if thread is None:
        raise ClusterError(
            f"{name}() was called outside of a task on a cluster's worker; on the threads of your own process no task "
            "can leave its place"
        )
    return thread


def _client_of(options: WorkerOptions) -> Client:
    with _lock:
        client = _clients.get(options.number)
        if client is None or client.status == "closed":
            record = ClusterRecord(
                id=options.cluster_id,
                name=options.cluster_name,
                kind="processes",
                pid=options.head_pid,
                pid_started_s=process_started_s(options.head_pid),
                socket=options.socket,
                secret=options.secret,
                started_at_s=0.0,
                directory=options.directory,
                shm_prefix=options.shm_prefix,
            )
            client = _clients[options.number] = Client(record, set_as_default=False)
        return client


def _forget_in_child() -> None:
    """A process that a task forked is no worker, but may connect to the cluster as a client of its own."""
    global _lock
    _lock = threading.Lock()
    _clients.clear()


os.register_at_fork(after_in_child=_forget_in_child)
