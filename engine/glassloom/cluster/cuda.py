"""`LocalCUDACluster`: a cluster on this machine with one worker for each NVIDIA GPU. Loads no CUDA library itself; its workers do."""

from __future__ import annotations

import os
import queue
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from typing import Any

from glassloom import config
from glassloom._supervision import start_thread
from glassloom.cluster.cuda_devices import Chosen, FoundDevice, chosen_devices, found_devices, no_device
from glassloom.cluster.cuda_options import CudaClusterOptions, Size
from glassloom.cluster.local import LocalCluster
from glassloom.cluster.options import OPTION_NAMES, ClusterOptions, checked_count
from glassloom.cluster.other_names import CUDA_INSTEAD, refuse_others
from glassloom.config import Configured
from glassloom.errors import OptionError
from glassloom.protocol.options import DeviceOptions, HeadOptions
from glassloom.sampling.limits import memory_limit_bytes, process_memory_limit_bytes
from glassloom.sampling.nvml import NvmlUnavailable
from glassloom.sampling.nvml_session import open_nvml

VARIABLE = "CUDA_VISIBLE_DEVICES"
_NVML_DEADLINE_S = 60.0
"""How long NVML may take: without persistence mode the driver wakes all devices first."""


class LocalCUDACluster(LocalCluster):
    """A head process with one worker for each NVIDIA GPU of this machine.

    A worker sees its own device only: its ``CUDA_VISIBLE_DEVICES`` is the device's UUID, set before anything loads CUDA. It runs on
    the CPUs near to the device. Neither this process nor the head opens the device.

    Parameters
    ----------
    CUDA_VISIBLE_DEVICES
        The devices, in this order: indices and UUIDs of GPUs and MIG instances as text with commas or as a list. Indices are those of
        ``nvidia-smi``; of a UUID its beginning is enough. Default: the environment variable of that name, or else all devices.
    n_workers
        Number of workers, of which each has the next device of that list. Default: one for each.
    threads_per_worker
        Threads of each worker.
    memory_limit
        Host memory of each worker, as in `LocalCluster`. ``"auto"`` divides the machine's memory evenly among the workers.
    device_memory_limit
        Device memory that a worker's results may take before the least recently used go to the host's memory: bytes, text such as
        ``"4GiB"``, or a share of the device's memory such as 0.8. ``"default"`` is 0.8; ``"auto"`` all of it; None or 0: no limit.
        On a device without memory of its own, ``"default"`` and ``"auto"`` are no limit.
    rmm_pool_size
        Size of the pool of memory that RMM takes at once in each worker: bytes, text, or a share of the device's memory. Default no pool.
    rmm_maximum_pool_size
        The size up to which the pool grows. Default: the device's memory.
    rmm_managed_memory
        Whether RMM takes managed memory, which may exceed the device's. Not together with `rmm_async`.
    rmm_async
        Whether RMM uses CUDA's asynchronous allocator.
    rmm_release_threshold
        Size beyond which the asynchronous allocator gives unused memory back. Only with `rmm_async`.
    rmm_allocator_external_lib_list
        Libraries that take their memory from RMM, besides cuDF: ``"cupy"``, ``"torch"``, as text with commas or as a list. CuPy does
        so anyway if RMM has a pool or another allocator of these options.
    rmm_log_directory
        Where each worker writes a log of RMM's allocations.
    rmm_track_allocations
        Whether RMM counts allocations, which costs time.
    enable_cudf_spill
        Whether cuDF spills by itself, besides what `device_memory_limit` does.
    cudf_spill_stats
        How much cuDF notes of that; no effect without `enable_cudf_spill`.
    log_spilling
        Whether each result that moves between device, host and disk is written to the cluster's log.
    pre_import
        Modules that workers import before their first task, as text with commas or as a list.
    others
        The other options of `LocalCluster`. For those of dask-cuda that are about networks an error says what there is instead.

    Raises
    ------
    DeviceNotFound
        If there is no device, or not the one that is named. The message says what was looked for.
    OptionError
        If an option has no sense, or not together with another.
    ClusterStartError
        If the head or its workers don't start.

    Examples
    --------
    >>> from glassloom import Client, LocalCUDACluster
    >>> with LocalCUDACluster(rmm_pool_size=0.5) as cluster, Client(cluster) as client:  # doctest: +SKIP
    ...     ga.random.default_rng(backend="cupy").random((100_000, 100_000)).mean().compute()
    """

    def __init__(
        self,
        CUDA_VISIBLE_DEVICES: Chosen | None = None,
        n_workers: int | None = None,
        threads_per_worker: int = 1,
        memory_limit: int | float | str | None | Configured = Configured("cluster.memory-limit"),
        device_memory_limit: Size = "default",
        *,
        rmm_pool_size: Size = None,
        rmm_maximum_pool_size: Size = None,
        rmm_managed_memory: bool = False,
        rmm_async: bool = False,
        rmm_release_threshold: Size = None,
        rmm_allocator_external_lib_list: str | Sequence[str] | None = None,
        rmm_log_directory: str | None = None,
        rmm_track_allocations: bool = False,
        enable_cudf_spill: bool = False,
        cudf_spill_stats: int = 0,
        log_spilling: bool = False,
        pre_import: str | Sequence[str] | None = None,
        **others: Any,
    ) -> None:
        unknown = {name: value for name, value in others.items() if name not in OPTION_NAMES}
        refuse_others("LocalCUDACluster", unknown, (*CUDA_OPTION_NAMES, *OPTION_NAMES), CUDA_INSTEAD)
        of_devices = CudaClusterOptions(
            device_memory_limit=device_memory_limit,
            enable_cudf_spill=enable_cudf_spill,
            cudf_spill_stats=cudf_spill_stats,
            rmm_pool_size=rmm_pool_size,
            rmm_maximum_pool_size=rmm_maximum_pool_size,
            rmm_managed_memory=rmm_managed_memory,
            rmm_async=rmm_async,
            rmm_allocator_external_lib_list=rmm_allocator_external_lib_list,
            rmm_release_threshold=rmm_release_threshold,
            rmm_log_directory=rmm_log_directory,
            rmm_track_allocations=rmm_track_allocations,
            log_spilling=log_spilling,
            pre_import=pre_import,
        )
        checked_count("threads_per_worker", threads_per_worker, 1)
        if n_workers is not None:
            checked_count("n_workers", n_workers, 1)
        devices = devices_for(CUDA_VISIBLE_DEVICES, n_workers)
        told = of_devices.for_devices(devices)
        self._devices = DeviceOptions(
            names=tuple(f"cuda:{one.uuid}" for one in told),
            memory_limit=of_devices.limit_of_all(devices),
            settings={one.uuid: asdict(one) for one in told},
            is_exclusive=True,
            log_spilling=log_spilling,
        )
        options = ClusterOptions(
            n_workers=len(devices),
            threads_per_worker=threads_per_worker,
            memory_limit=memory_limit,
            **{name: value for name, value in others.items() if name in OPTION_NAMES},
        ).resolved()
        if options.memory_limit == "auto":
            options = replace(options, memory_limit=_even_share_bytes(len(devices)))
        self._start(options)

    def _head_options(self, options: ClusterOptions, name: str) -> HeadOptions:
        return replace(super()._head_options(options, name), devices=self._devices)

    def scale(self, n: int) -> None:
        """Start or retire workers until there are `n`; see `LocalCluster.scale`. There are no more than devices."""
        self._check_most("n", checked_count("n", n, 0))
        super().scale(n)

    def adapt(
        self,
        minimum: int = 0,
        maximum: int | None = None,
        *,
        wait_s: float | Configured = Configured("cluster.adapt-wait"),
    ) -> None:
        """Let the number of workers follow the work; see `LocalCluster.adapt`. By default there is at most one for each device."""
        self._check_most("minimum", minimum)
        self._check_most("maximum", maximum or 0)
        super().adapt(minimum, maximum or self._devices.most_workers, wait_s=wait_s)

    def _check_most(self, name: str, n: int) -> None:
        if n > len(self._devices.names):
            listed = ", ".join(self._devices.settings)
            raise OptionError(
                f"{name}={n!r} is more than the cluster has devices, of which each has one worker: {listed}"
            )


CUDA_OPTION_NAMES = ("CUDA_VISIBLE_DEVICES", *(field.name for field in fields(CudaClusterOptions)))
"""The names of the options that a cluster without devices doesn't have."""


def devices_for(chosen: Chosen | None, n_workers: int | None) -> list[FoundDevice]:
    """Return the device of each worker; see `LocalCUDACluster`."""
    option = VARIABLE
    if chosen is None and VARIABLE in os.environ:
        chosen, option = os.environ[VARIABLE], f"the environment variable {VARIABLE}"
    devices = chosen_devices(_found_in_time(), chosen, option=option)
    if n_workers is not None and n_workers > len(devices):
        listed = ", ".join(map(str, devices))
        raise OptionError(
            f"n_workers={n_workers} is more than there are devices, of which each has one worker: {listed}"
        )
    return devices[:n_workers]


def _found_in_time() -> list[FoundDevice]:
    """Return this machine's devices, or those of the recorded session that the configuration names; not later than the deadline."""
    session = config.get("metrics.nvml-session")
    answers: queue.SimpleQueue[list[FoundDevice] | BaseException] = queue.SimpleQueue()
    start_thread(
        "glassloom-find-gpus",
        lambda: answers.put(found_devices(open_nvml(session))),
        on_crash=lambda crash: answers.put(crash.error),
    )
    try:
        answer = answers.get(timeout=_NVML_DEADLINE_S)
    except queue.Empty:
        raise no_device(f"NVML, the library of the NVIDIA driver, hasn't answered for {_NVML_DEADLINE_S:g} s") from None
    if isinstance(answer, NvmlUnavailable):
        raise no_device(str(answer)) from answer
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _even_share_bytes(n_workers: int) -> int:
    """Return the host memory of each worker; its threads don't count, as the work is on devices."""
    fair = memory_limit_bytes() // n_workers
    return min(fair, process_memory_limit_bytes() or fair)
