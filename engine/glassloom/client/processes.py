"""The runtime ``"processes"``: the newest open client, or one of a cluster that is started for it and kept until exit."""

from __future__ import annotations

import os
import threading

from glassloom.client.client import Client
from glassloom.local.default import latest, register_runtime

_lock = threading.Lock()
_kept: Client | None = None


def processes() -> Client:
    """Return the newest client that is open and the default, or this process's own.

    The own one is of a `LocalCluster` as configured (``cluster.*``). It is started when it is first needed, kept until this
    process exits, and started anew if its cluster has ended. It doesn't become the default client.
    """
    global _kept
    client = latest(Client)
    if client is not None and client.status == "running":
        return client
    with _lock:
        if _kept is None or _kept.status != "running":
            _kept = Client(set_as_default=False)
        return _kept


def _forget_in_child() -> None:
    """The cluster is the parent's."""
    global _kept, _lock
    _kept, _lock = None, threading.Lock()


register_runtime("processes", processes)
os.register_at_fork(after_in_child=_forget_in_child)
