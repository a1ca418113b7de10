"""Which client of a cluster this process has, for futures that are unpickled in it."""

from __future__ import annotations

import itertools
import weakref
from importlib import import_module

from glassloom.client.base import ClientBase
from glassloom.errors import ClusterClosed
from glassloom.worker.task_context import current_worker

_clients: weakref.WeakValueDictionary[int, ClientBase] = weakref.WeakValueDictionary()
_numbers = itertools.count()


def note_open(client: ClientBase) -> None:
    """A client has connected."""
    _clients[next(_numbers)] = client


def client_of(cluster_id: str, cluster_name: str, what: str) -> ClientBase:
    """Return a client of a cluster: on a worker of that cluster the tasks' client, elsewhere the newest open one.

    Parameters
    ----------
    what
        What needs the client, for the message.

    Raises
    ------
    ClusterClosed
        If there is none.
    ForkedError
        If this process is a forked child that has only its parent's.
    """
    worker = current_worker()
    if worker is not None and worker.cluster_id == cluster_id:
        # By name: it imports `Client`, which imports what asks here.
        of_task: ClientBase = import_module("glassloom.client.worker_api").get_client()
        return of_task
    newest_first = [known for ref in reversed(_clients.valuerefs()) if (known := ref()) is not None]
    of_cluster = [client for client in newest_first if client.id == cluster_id]
    for client in of_cluster:
        if client.status == "running" and client._connection.owner.is_current:
            return client
    for client in of_cluster:
        client._connection.owner.require()
    raise ClusterClosed(
        f"{what} of cluster {cluster_name!r} can't be unpickled here: this process has no open client of that cluster; "
        f"connect first, with Client({cluster_name!r}), and keep the client until the future is unpickled"
    )
