"""To which cluster a client connects: one that runs, found by name or id, or a new one with its options."""

from __future__ import annotations

from typing import Any

from glassloom_metrics.errors import ClusterNotFound as _NoRecord
from glassloom_metrics.registry import ClusterRecord, find_record

from glassloom.cluster.options import ClusterOptions
from glassloom.errors import ClusterNotFound, OptionError


def options_of_new_cluster(address: Any, given: ClusterOptions) -> ClusterOptions | None:
    """Return the options of the cluster to start, None if there is one.

    Raises
    ------
    OptionError
        If there is one, and options for a new one were given.
    """
    if address is None:
        return given.resolved()
    for name, value in given.differences().items():
        raise OptionError(
            f"{name}={value!r} is for a new cluster, and Client({address!r}) connects to one that runs already; leave it out"
        )
    return None


def find_cluster(name_or_id: Any) -> ClusterRecord:
    """Return the record of the running cluster of this name or id.

    Raises
    ------
    ClusterNotFound
        If there is none that a client can connect to; the message lists those that run.
    OptionError
        If it is no name.
    """
    if not isinstance(name_or_id, str):
        raise OptionError(f"address={name_or_id!r} should be a LocalCluster, or the name or id of a running cluster")
    if "://" in name_or_id:
        raise OptionError(
            f"address={name_or_id!r}: clusters of dask.distributed are not supported yet; "
            "use a LocalCluster, or the name or id of a running Glassloom cluster"
        )
    try:
        record = find_record(name_or_id)
    except _NoRecord as error:
        raise ClusterNotFound(str(error)) from None
    if record.kind != "processes":
        raise ClusterNotFound(
            f"{name_or_id!r} is the thread pool of process {record.pid}; only that process can use it"
        )
    return record
