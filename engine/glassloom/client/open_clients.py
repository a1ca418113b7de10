"""Which client of a cluster this process has, for futures that are unpickled in it."""

from __future__ import annotations

import itertools
import weakref
from importlib import import_module

from glassloom.client.base import ClientBase
from glassloom.errors import ClusterClosed
from glassloom.graph import Key, key_text
from glassloom.worker.task_context import current_worker

_clients: weakref.WeakValueDictionary[int, ClientBase] = weakref.WeakValueDictionary()
_numbers = itertools.count()


def note_open(client: ClientBase) -> None:
    """A client has connected."""
    _clients[next(_numbers)] = client


def client_of(cluster_id: str, cluster_name: str, key: Key) -> ClientBase:
    """Return the client for a future of a cluster that is unpickled here.

    On a worker of that cluster it is the tasks' client. Elsewhere it is an open one that holds the key, as the head may not
    have heard of the key yet, or else the newest open one.

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
    usable = [client for client in of_cluster if client.status == "running" and client._connection.owner.is_current]
    for client in usable:
        if client._connection.holds(key):
            return client
    if usable:
        return usable[0]
    for client in of_cluster:
        client._connection.owner.require()
    raise ClusterClosed(
        f"the future {key_text(key)} of cluster {cluster_name!r} can't be unpickled here: this process has no open client of that cluster; "
        f"connect first, with Client({cluster_name!r}), and keep the client until the future is unpickled"
    )


def clients_of(cluster_id: str) -> list[ClientBase]:
    """Return this process's open clients of a cluster."""
    known = [client for ref in list(_clients.valuerefs()) if (client := ref()) is not None]
    return [
        client
        for client in known
        if client.id == cluster_id and client.status == "running" and client._connection.owner.is_current
    ]
