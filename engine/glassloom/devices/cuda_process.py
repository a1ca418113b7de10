"""Sets up a worker's process for the CUDA device that it owns, before anything there loads CUDA: which device, CPUs, RMM, imports.

CUDA libraries are imported inside functions here and in `glassloom.devices.cuda` alone.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

from glassloom.devices.cuda_options import CudaOptions, RmmOptions
from glassloom.errors import OptionError

VARIABLE = "CUDA_VISIBLE_DEVICES"
CUDA_LIBRARIES = ("cupy", "cudf", "rmm", "numba.cuda", "torch", "cuda.bindings")
"""Libraries that look at `VARIABLE` when they are loaded, or hold a device from then on."""


def prepare_process(options: CudaOptions) -> None:
    """Make this process one of that device alone; called once, while it has one thread and no CUDA library.

    Raises
    ------
    OptionError
        If a CUDA library is loaded already, so that it would see other devices.
    """
    loaded = [name for name in CUDA_LIBRARIES if name in sys.modules]
    if loaded:
        raise OptionError(
            f"{', '.join(loaded)} was loaded before the worker was given its device {options.uuid}; nothing that the fork server "
            "imports may load CUDA"
        )
    os.environ[VARIABLE] = options.uuid
    _bind_to_cpus(options.cpus)
    if options.rmm.is_used:
        set_up_rmm(options.rmm)
    elif importlib.util.find_spec("rmm") is not None:
        count_rmm()
    if options.cudf_spill:
        import cudf

        cudf.set_option("spill", True)
        cudf.set_option("spill_stats", options.cudf_spill_stats)
    for module in options.pre_import:
        importlib.import_module(module)


def _bind_to_cpus(cpus: tuple[int, ...]) -> None:
    """Let this process, and threads that it starts, run on these CPUs; on all that it may use if none of them is among those."""
    if not hasattr(os, "sched_setaffinity"):
        return
    near = set(cpus) & os.sched_getaffinity(0)
    if near:
        os.sched_setaffinity(0, near)


def set_up_rmm(options: RmmOptions) -> None:
    """Make RMM's memory resource as the options say, and let other libraries take their memory from it."""
    import rmm

    resource = _resource(rmm.mr, options)
    if options.log_directory is not None:
        path = os.path.join(options.log_directory, f"rmm-{os.getpid()}.csv")
        resource = rmm.mr.LoggingResourceAdaptor(resource, log_file_name=path)
    if options.track_allocations:
        resource = rmm.mr.TrackingResourceAdaptor(resource)
    rmm.mr.set_current_device_resource(rmm.mr.StatisticsResourceAdaptor(resource))  # it tells how much is in use
    if "torch" in options.libraries:
        import torch
        from rmm.allocators.torch import rmm_torch_allocator

        torch.cuda.memory.change_current_allocator(rmm_torch_allocator)
    import cupy
    from rmm.allocators.cupy import rmm_cupy_allocator

    cupy.cuda.set_allocator(rmm_cupy_allocator)


def count_rmm() -> None:
    """Let RMM count what cuDF takes from it: else that would look like memory of other processes."""
    import rmm

    rmm.mr.set_current_device_resource(rmm.mr.StatisticsResourceAdaptor(rmm.mr.get_current_device_resource()))


def _resource(mr: Any, options: RmmOptions) -> Any:
    """Return where memory comes from."""
    if options.asynchronous:
        resource = mr.CudaAsyncMemoryResource(
            initial_pool_size=options.pool_bytes, release_threshold=options.release_threshold_bytes
        )
        if options.maximum_pool_bytes is None:
            return resource
        return mr.LimitingResourceAdaptor(resource, allocation_limit=options.maximum_pool_bytes)
    resource = mr.ManagedMemoryResource() if options.managed else mr.CudaMemoryResource()
    if options.pool_bytes is None:
        return resource
    return mr.PoolMemoryResource(
        resource, initial_pool_size=options.pool_bytes, maximum_pool_size=options.maximum_pool_bytes
    )
