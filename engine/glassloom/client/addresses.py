"""To which cluster a client connects: one that runs, found by name or id, or a new one with its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from glassloom_metrics.errors import ClusterNotFound as _NoRecord
from glassloom_metrics.registry import ClusterRecord, find_record

from glassloom import config
from glassloom.client.cluster_link import ClusterLink
from glassloom.client.link import Link
from glassloom.cluster.cuda import CUDA_OPTION_NAMES, LocalCUDACluster
from glassloom.cluster.local import LocalCluster
from glassloom.cluster.options import CLIENT_OPTION_NAMES, ClusterOptions
from glassloom.cluster.other_names import refuse_others
from glassloom.distributed.optional import load
from glassloom.errors import ClusterNotFound, OptionError


def starter_of_new_cluster(
    address: Any, given: ClusterOptions, gpu: bool, others: Mapping[str, Any]
) -> Callable[[], LocalCluster] | None:
    """Return what starts the cluster that a client was asked for, None if there is one.

    Parameters
    ----------
    gpu
        Whether each worker has a GPU. Then `others` may be options of `LocalCUDACluster`.
    others
        Options that only clusters of other kinds, or other libraries, have.

    Raises
    ------
    OptionError
        If there is one, and options for a new one were given; if one has no sense.
    """
    of_gpus = {name: value for name, value in others.items() if gpu and name in CUDA_OPTION_NAMES}
    rest = {name: value for name, value in others.items() if name not in of_gpus}
    refuse_others("Client", rest, (*CLIENT_OPTION_NAMES, "gpu", *(CUDA_OPTION_NAMES if gpu else ())))
    if address is None and gpu:
        given.resolved()
        return partial(LocalCUDACluster, **given.differences(), **of_gpus)
    if address is None:
        return partial(LocalCluster, **given.resolved().values())
    asked = given.differences() | of_gpus | ({"gpu": True} if gpu else {})
    for name, value in asked.items():
        raise OptionError(
            f"{name}={value!r} is for a new cluster, and Client({address!r}) connects to one that runs already; leave it out"
        )
    return None


def cluster_of(address: Any) -> Any:
    """Return the object that starts the workers of what a client connects to, None if it isn't known: that of a `distributed.Client`, too."""
    if hasattr(address, "scale"):
        return address
    behind = getattr(address, "cluster", None)
    return behind if hasattr(behind, "scale") else None


def default_address(given: ClusterOptions, gpu: bool) -> str | None:
    """Return what a client connects to that is told nothing: None, for a new cluster, if options for one are given."""
    if gpu or given.differences():
        return None
    address: str | None = config.get("client.address")
    return address


def is_remote(target: Any) -> bool:
    """Tell whether something is of dask.distributed: an address, a client or a cluster. Dask need not be imported for it."""
    if isinstance(target, str):
        return "://" in target
    own = any(kind.__module__.partition(".")[0] == "distributed" for kind in type(target).__mro__)
    return own or hasattr(target, "scheduler_address")


def link_to(target: Any, security: Any) -> Link:
    """Return a link, not open yet, to a running cluster.

    Parameters
    ----------
    target
        A `ClusterRecord`, a name or id, or what `is_remote` tells.
    security
        Of a cluster of dask.distributed.
    """
    if isinstance(target, ClusterRecord):
        return ClusterLink(target)
    if is_remote(target):
        link: Link = load("remote_link", "a cluster of dask.distributed").RemoteLink(target, security)
        return link
    record = find_cluster(target)
    return link_to(record.address, security) if record.kind == "dask" else ClusterLink(record)


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
        raise OptionError(
            f"address={name_or_id!r} should be a LocalCluster, the name or id of a running cluster, or a cluster, client or "
            "address of dask.distributed"
        )
    try:
        record = find_record(name_or_id)
    except _NoRecord as error:
        raise ClusterNotFound(str(error)) from None
    if record.kind == "threads":
        raise ClusterNotFound(
            f"{name_or_id!r} is the thread pool of process {record.pid}; only that process can use it"
        )
    return record
