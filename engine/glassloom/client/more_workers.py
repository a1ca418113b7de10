"""What a user can do where a cluster has no workers, as text. Starts nothing."""

from __future__ import annotations

from typing import Any

from glassloom_metrics.registry import ClusterRecord

_TLS_FILES = " --tls-ca-file FILE --tls-cert FILE --tls-key FILE"


def way_to_more_workers(record: ClusterRecord, cluster: Any) -> str:
    """Return what starts workers of a client's cluster.

    Parameters
    ----------
    record
        The cluster's.
    cluster
        The object that the client was made from, or started; None if there is none.
    """
    if record.kind != "distributed" or cluster is not None:
        return "client.scale(n) starts some"
    return start_of_a_worker(record.socket)


def start_of_a_worker(scheduler: str) -> str:
    """Return how a worker of a scheduler of dask.distributed is started by hand."""
    if scheduler.startswith("inproc://"):
        return f"a worker must be in the scheduler's own process: await distributed.Worker({scheduler!r})"
    files = _TLS_FILES if scheduler.startswith("tls://") else ""
    return f"this command starts a worker, on any machine that reaches the scheduler: dask worker {scheduler}{files}"
