"""`client_of_task`: what a task on a worker of dask.distributed gets for a client."""

from __future__ import annotations

import threading
from contextlib import suppress

import distributed

from glassloom.client.client import Client
from glassloom.worker.task_context import TaskThread, set_task_thread, task_thread

_lock = threading.Lock()
_clients: dict[str, Client] = {}


def client_of_task() -> Client | None:
    """Return a client of the cluster whose task runs in the calling thread, None if none does.

    A task that waits with it leaves its place to other tasks meanwhile, as on a cluster of ours.
    """
    try:
        worker = distributed.get_worker()
    except ValueError:
        return None
    with _lock:
        client = _clients.get(worker.address)
        if client is None or client.status == "closed":
            client = _clients[worker.address] = Client(distributed.get_client(), set_as_default=False)
    if task_thread() is None:
        set_task_thread(TaskThread(_secede, _rejoin))
    return client


def _secede(thread: TaskThread) -> None:
    with suppress(ValueError, AttributeError):  # the thread runs no task any more, or has seceded by itself
        distributed.secede()
        thread.has_seceded = True


def _rejoin(thread: TaskThread, waits: bool) -> None:
    if thread.has_seceded:
        distributed.rejoin()
        thread.has_seceded = False
