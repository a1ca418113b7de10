"""What a worker is told of the CUDA device that it owns: plain data that travels as JSON. Imports no CUDA library."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RmmOptions:
    """How RAPIDS Memory Manager is set up in a worker, with sizes in bytes. See `glassloom.LocalCUDACluster`.

    Attributes
    ----------
    pool_bytes
        The pool's size at first; None for no pool.
    libraries
        The libraries that take their memory from RMM, besides those that always do.
    """

    pool_bytes: int | None = None
    maximum_pool_bytes: int | None = None
    managed: bool = False
    asynchronous: bool = False
    release_threshold_bytes: int | None = None
    log_directory: str | None = None
    track_allocations: bool = False
    libraries: tuple[str, ...] = ()

    @property
    def is_used(self) -> bool:
        """Whether anything is to be set up."""
        return self != RmmOptions()


@dataclass(frozen=True)
class CudaOptions:
    """A worker's device, and what is set up for it before the first task.

    Attributes
    ----------
    uuid
        The GPU or MIG instance, as ``CUDA_VISIBLE_DEVICES`` takes it.
    name, index, total_bytes
        What NVML says of it; the index is the GPU's.
    limit_bytes
        Memory that results may take before the least recently used go to the host; None for no limit.
    cpus
        The CPUs that the worker runs on; empty for all.
    pre_import
        Modules to import before the first task.
    """

    uuid: str
    name: str
    index: int
    total_bytes: int | None
    limit_bytes: int | None
    cpus: tuple[int, ...] = ()
    rmm: RmmOptions = RmmOptions()
    cudf_spill: bool = False
    cudf_spill_stats: int = 0
    pre_import: tuple[str, ...] = ()
