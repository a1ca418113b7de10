"""Options and attributes of other libraries' clusters that people type by habit: each is told what takes its place here."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from glassloom.errors import OptionError

_NO_ADDRESS = "a cluster has no network address: it listens on a private socket of this user's; leave it out"
_DASHBOARD = (
    "dashboards are no part of a cluster: open them in JupyterLab's Glassloom panel, or serve them alone with "
    "`glassloom dashboard --port 8787`"
)
_LOGS = "set the level yourself: logging.getLogger('glassloom').setLevel(...)"
_WORKERS, _THREADS = "write n_workers", "write threads_per_worker"
_FIXED = "there is nothing of the kind to choose here; leave it out"

_INSTEAD: Mapping[str, str] = {
    "processes": (
        "workers are processes; to compute on threads of this process use no cluster: x.compute(scheduler='threads'), or "
        "config.set(compute__scheduler='threads')"
    ),
    "dashboard_address": _DASHBOARD,
    "dashboard": _DASHBOARD,
    "diagnostics_port": _DASHBOARD,
    "include_dashboard": _DASHBOARD,
    "silence_logs": _LOGS,
    "logging_level": _LOGS,
    "log_to_driver": _LOGS,
    "ip": _NO_ADDRESS,
    "host": _NO_ADDRESS,
    "port": _NO_ADDRESS,
    "scheduler_port": _NO_ADDRESS,
    "interface": _NO_ADDRESS,
    "protocol": _NO_ADDRESS,
    "security": "only processes of this user with the cluster's secret are let in; leave it out",
    "death_timeout": "workers end when the head process does; how long a cluster may take to start is timeout",
    "heartbeat_interval": _FIXED,
    "worker_class": _FIXED,
    "scheduler_kwargs": _FIXED,
    "worker_kwargs": _FIXED,
    "direct_to_workers": _FIXED,
    "serializers": _FIXED,
    "deserializers": _FIXED,
    "extensions": _FIXED,
    "loop": _FIXED,
    "scheduler_file": "write the name or id of a running cluster: Client('my-cluster')",
    "workers": _WORKERS,
    "num_workers": _WORKERS,
    "nprocs": _WORKERS,
    "n_procs": _WORKERS,
    "num_cpus": "write n_workers and threads_per_worker",
    "nthreads": _THREADS,
    "ncores": _THREADS,
    "num_threads": _THREADS,
    "temporary_directory": "write local_directory",
    "spill_dir": "write local_directory",
    "memory": "write memory_limit",
}
_CLIENT = "a client tells that, or does it: Client(cluster)"
_WORKERS_LOGS = "Client(cluster).get_worker_logs() tells what tasks have logged"
_ADAPTIVE = "cluster.adapt() lets the number of workers follow the work, and cluster.scale(n) sets it"
ATTRIBUTES_INSTEAD: Mapping[str, str] = {
    "get_client": "write Client(cluster)",
    "get_logs": _WORKERS_LOGS,
    "logs": _WORKERS_LOGS,
    "nannies": f"{_CLIENT}.scheduler_info()",
    "observed": _ADAPTIVE,
    "plan": _ADAPTIVE,
    "requested": _ADAPTIVE,
    "scheduler": f"{_CLIENT}.scheduler_info()",
    "scheduler_address": "processes talk over private sockets of this machine; another process connects by the name: Client(cluster.name)",
    "scheduler_info": f"{_CLIENT}.scheduler_info()",
    "sync": "a cluster has no event loop of its own: in an event loop use Client(cluster, asynchronous=True)",
    "wait_for_workers": f"{_CLIENT}.wait_for_workers(n)",
    "worker_spec": f"{_CLIENT}.scheduler_info()",
    "workers": f"{_CLIENT}.scheduler_info()",
}
"""Attributes of distributed's `LocalCluster` that this one has not, and what there is."""
_FOR_GPUS = "it is for workers on GPUs: LocalCUDACluster(...) or Client(gpu=True, ...)"
WITHOUT_GPUS: Mapping[str, str] = {
    **_INSTEAD,
    "CUDA_VISIBLE_DEVICES": _FOR_GPUS,
    "device_memory_limit": _FOR_GPUS,
    "enable_cudf_spill": _FOR_GPUS,
    "cudf_spill_stats": _FOR_GPUS,
    "rmm_pool_size": _FOR_GPUS,
    "rmm_maximum_pool_size": _FOR_GPUS,
    "rmm_managed_memory": _FOR_GPUS,
    "rmm_async": _FOR_GPUS,
    "rmm_allocator_external_lib_list": _FOR_GPUS,
    "rmm_release_threshold": _FOR_GPUS,
    "rmm_log_directory": _FOR_GPUS,
    "rmm_track_allocations": _FOR_GPUS,
    "log_spilling": _FOR_GPUS,
    "pre_import": _FOR_GPUS,
}
"""The same for clusters without GPUs."""
_NO_UCX = "workers of one machine share memory, and there is no UCX here; leave it out"
CUDA_INSTEAD: Mapping[str, str] = {
    **_INSTEAD,
    "enable_tcp_over_ucx": _NO_UCX,
    "enable_infiniband": _NO_UCX,
    "enable_nvlink": _NO_UCX,
    "enable_rdmacm": _NO_UCX,
    "ucx_net_devices": _NO_UCX,
    "data": _FIXED,
    "jit_unspill": _FIXED,
    "shared_filesystem": _FIXED,
}
"""The same for `LocalCUDACluster`, with dask-cuda's."""

_SAME_HERE: Mapping[str, tuple[Any, ...]] = {
    "processes": (True,),
    "silence_logs": (False,),
    "security": (False,),
    "enable_tcp_over_ucx": (False,),
    "enable_infiniband": (False,),
    "enable_nvlink": (False,),
    "enable_rdmacm": (False,),
    "jit_unspill": (False,),
}
"""Values that mean what happens anyway, besides None."""


def refuse_others(
    owner: str,
    others: Mapping[str, Any],
    known: Collection[str],
    instead: Mapping[str, str] = WITHOUT_GPUS,
    same_here: Mapping[str, tuple[Any, ...]] = _SAME_HERE,
) -> None:
    """Raise for options that there are not, but for those that ask for what happens anyway.

    Parameters
    ----------
    owner
        Who was called, for the message.
    others
        The options that it doesn't know.
    known
        Those that it knows.
    instead
        What there is instead of options of other libraries.
    same_here
        Values of those that mean what happens anyway, besides None.

    Raises
    ------
    OptionError
        For an option of another library's: the message says what there is instead.
    TypeError
        For any other; the message names the nearest.
    """
    for name, value in others.items():
        if name not in instead:
            near = difflib.get_close_matches(name, known, n=3)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {', '.join(known)}"
            raise TypeError(f"{owner}() got an unexpected keyword argument {name!r}; {hint}")
        if value is not None and value not in same_here.get(name, ()):
            raise OptionError(f"{name}={value!r}: {instead[name]}")
