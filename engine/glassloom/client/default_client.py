"""`default_client`: the client that collections run on."""

from __future__ import annotations

from glassloom.client.client import Client
from glassloom.errors import ClusterClosed
from glassloom.local.default import current


def default_client() -> Client:
    """Return the client that collections run on.

    Raises
    ------
    ClusterClosed
        If there is none.
    """
    client = current()
    if not isinstance(client, Client):
        raise ClusterClosed("no client is open; make one with Client()")
    return client
