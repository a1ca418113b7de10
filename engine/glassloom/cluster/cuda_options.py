"""The options of `LocalCUDACluster` that are about devices, checked: what they are called and may be is what dask-cuda has. Starts nothing."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from glassloom.cluster.cuda_devices import FoundDevice
from glassloom.devices.cuda_options import CudaOptions, RmmOptions
from glassloom.errors import OptionError
from glassloom.units import format_bytes, parse_bytes, parse_share

DEFAULT_LIMIT = 0.8
"""The share of a device's memory that ``device_memory_limit="default"`` means."""
ALIGNMENT_BYTES = 256
"""RMM's pools are multiples of it."""
LIBRARIES = ("torch", "cupy")
"""Libraries that can take their memory from RMM."""
_INSTALL = "install the extra that fits the driver: pip install 'glassloom[cuda12]' or 'glassloom[cuda13]'"

Size = int | float | str | None


@dataclass(frozen=True, kw_only=True)
class CudaClusterOptions:
    """The options about devices as they were given: see `LocalCUDACluster`."""

    device_memory_limit: Size = "default"
    enable_cudf_spill: bool = False
    cudf_spill_stats: int = 0
    rmm_pool_size: Size = None
    rmm_maximum_pool_size: Size = None
    rmm_managed_memory: bool = False
    rmm_async: bool = False
    rmm_allocator_external_lib_list: str | Sequence[str] | None = None
    rmm_release_threshold: Size = None
    rmm_log_directory: str | None = None
    rmm_track_allocations: bool = False
    log_spilling: bool = False
    pre_import: str | Sequence[str] | None = None

    def for_devices(
        self, devices: Sequence[FoundDevice], is_installed: Callable[[str], bool] | None = None
    ) -> tuple[CudaOptions, ...]:
        """Return what the worker of each device is told.

        Parameters
        ----------
        is_installed
            Tells whether a package can be imported; by default it is looked for, and not imported.

        Raises
        ------
        OptionError
            If an option has no sense, or not together with another; the message says which and why.
        """
        self._check_kinds()
        self._check_together()
        self._check_installed(is_installed or _can_be_imported)
        return tuple(self._for_device(device) for device in devices)

    def _check_kinds(self) -> None:
        for name in ("enable_cudf_spill", "rmm_managed_memory", "rmm_async", "rmm_track_allocations", "log_spilling"):
            if not isinstance(getattr(self, name), bool):
                raise OptionError(f"{name}={getattr(self, name)!r} should be True or False")
        stats = self.cudf_spill_stats
        if not isinstance(stats, int) or isinstance(stats, bool) or stats < 0:
            raise OptionError(f"cudf_spill_stats={stats!r} should be a whole number, 0 (none) or more")
        directory = self.rmm_log_directory
        if directory is not None and not (isinstance(directory, str) and os.path.isdir(directory)):
            raise OptionError(f"rmm_log_directory={directory!r} is no directory")
        unknown = [name for name in self._libraries if name not in LIBRARIES]
        if unknown:
            raise OptionError(
                f"rmm_allocator_external_lib_list={self.rmm_allocator_external_lib_list!r}: {unknown[0]!r} can't take its "
                f"memory from RMM; these can: {', '.join(LIBRARIES)}"
            )

    def _check_together(self) -> None:
        if self.rmm_async and self.rmm_managed_memory:
            raise OptionError(
                "rmm_async=True and rmm_managed_memory=True: RMM's asynchronous allocator has no managed memory; "
                "leave one of them out"
            )
        if self.rmm_release_threshold is not None and not self.rmm_async:
            raise OptionError(
                f"rmm_release_threshold={self.rmm_release_threshold!r} is for RMM's asynchronous allocator: write rmm_async=True too"
            )
        if self.rmm_log_directory is not None and not self._has_resource:
            raise OptionError(
                f"rmm_log_directory={self.rmm_log_directory!r}: RMM writes a log only with rmm_pool_size, "
                "rmm_managed_memory=True or rmm_async=True"
            )
        if self.rmm_async and self.rmm_pool_size is not None:
            warnings.warn(
                "rmm_pool_size isn't needed with rmm_async=True, and dask-cuda will refuse it: leave it out",
                FutureWarning,
                stacklevel=2,
            )

    @property
    def _has_resource(self) -> bool:
        """Whether a memory resource of RMM's is made."""
        return self.rmm_pool_size is not None or self.rmm_managed_memory or self.rmm_async

    def _check_installed(self, is_installed: Callable[[str], bool]) -> None:
        needs_rmm = next((name for name in _NEEDS_RMM if getattr(self, name)), None)
        for package, option in (
            ("cupy", None),
            ("rmm", needs_rmm),
            ("cudf", "enable_cudf_spill" if self.enable_cudf_spill else None),
            *((name, "rmm_allocator_external_lib_list") for name in self._libraries),
        ):
            if (package == "cupy" or option is not None) and not is_installed(package):
                reason = "workers on GPUs need it" if option is None else f"{option}={getattr(self, option)!r} needs it"
                raise OptionError(f"The package {package!r} isn't installed, and {reason}: {_INSTALL}")

    @property
    def _libraries(self) -> tuple[str, ...]:
        return _names("rmm_allocator_external_lib_list", self.rmm_allocator_external_lib_list)

    def _for_device(self, device: FoundDevice) -> CudaOptions:
        return CudaOptions(
            uuid=device.uuid,
            name=device.name,
            index=device.index,
            total_bytes=device.total_bytes,
            limit_bytes=self._limit(device),
            cpus=device.cpus,
            rmm=self._rmm(device),
            cudf_spill=self.enable_cudf_spill,
            cudf_spill_stats=self.cudf_spill_stats,
            pre_import=_names("pre_import", self.pre_import),
        )

    def limit_of_all(self, devices: Sequence[FoundDevice]) -> int | float | None:
        """Return the limit of the devices' memory, in bytes or as a share of each one's; None for none."""
        limit = self.device_memory_limit
        if limit == "auto" or any(device.total_bytes is None for device in devices):
            return None
        share = DEFAULT_LIMIT if limit == "default" else parse_share(limit)
        return device_bytes("device_memory_limit", limit, devices[0]) if share is None else share

    def _limit(self, device: FoundDevice) -> int | None:
        limit = self.device_memory_limit
        if device.total_bytes is None and self.enable_cudf_spill:
            raise OptionError(
                f"enable_cudf_spill=True: {device} has no memory of its own, so that nothing can be spilled from it"
            )
        if limit in ("default", "auto"):
            if device.total_bytes is None:
                return None
            return int(device.total_bytes * DEFAULT_LIMIT) if limit == "default" else device.total_bytes
        nbytes = device_bytes("device_memory_limit", limit, device)
        if nbytes is not None and device.total_bytes is None:
            raise OptionError(
                f"device_memory_limit={limit!r}: {device} has no memory of its own: write 'default' or None, and set memory_limit"
            )
        return nbytes

    def _rmm(self, device: FoundDevice) -> RmmOptions:
        beyond = self.rmm_managed_memory  # which may exceed the device's
        pool = device_bytes("rmm_pool_size", self.rmm_pool_size, device, aligned=True, may_exceed=beyond)
        most = device_bytes(
            "rmm_maximum_pool_size", self.rmm_maximum_pool_size, device, aligned=True, may_exceed=beyond
        )
        if pool is None and most is not None and not self.rmm_async:
            raise OptionError(
                f"rmm_maximum_pool_size={self.rmm_maximum_pool_size!r} is the largest size of a pool: write rmm_pool_size too"
            )
        if pool is not None and most is not None and most < pool:
            raise OptionError(
                f"rmm_maximum_pool_size={self.rmm_maximum_pool_size!r} is less than rmm_pool_size={self.rmm_pool_size!r} "
                f"on {device}: {format_bytes(most)} against {format_bytes(pool)}"
            )
        return RmmOptions(
            pool_bytes=pool,
            maximum_pool_bytes=most,
            managed=self.rmm_managed_memory,
            asynchronous=self.rmm_async,
            release_threshold_bytes=device_bytes(
                "rmm_release_threshold", self.rmm_release_threshold, device, aligned=True
            ),
            log_directory=None if self.rmm_log_directory is None else os.path.abspath(self.rmm_log_directory),
            track_allocations=self.rmm_track_allocations,
            libraries=self._libraries,
        )


_NEEDS_RMM = (
    "rmm_pool_size", "rmm_managed_memory", "rmm_async", "rmm_track_allocations", "rmm_allocator_external_lib_list",
)  # fmt: skip


def device_bytes(
    option: str, size: Any, device: FoundDevice, *, aligned: bool = False, may_exceed: bool = False
) -> int | None:
    """Return a size on a device in bytes: a float up to 1.0 is a share of the device's memory, and 0 and None are None.

    Raises
    ------
    OptionError
        If it is no size, or more than the device has.
    """
    if size is None:
        return None
    total = device.total_bytes
    share = parse_share(size)
    if share is not None and total is None:
        raise OptionError(f"{option}={size!r} is a share, and {device} has no memory of its own; write bytes")
    try:
        nbytes = int((total or 0) * share) if share is not None else parse_bytes(size)
    except (OptionError, OverflowError) as error:  # the latter of infinity
        raise OptionError(
            f"{option}={size!r} is not a size: write bytes, text such as '4GB' or '500 MiB', a share of the device's memory such "
            "as 0.5, or None"
        ) from error
    if total is not None and nbytes > total and not may_exceed:
        raise OptionError(f"{option}={size!r} is {format_bytes(nbytes)}; {device} has {format_bytes(total)}")
    if aligned:
        nbytes -= nbytes % ALIGNMENT_BYTES
    return nbytes or None


def _names(option: str, names: Any) -> tuple[str, ...]:
    """Return names that come as text with commas or as a list."""
    if names is None:
        return ()
    listed = names.split(",") if isinstance(names, str) else names
    if not isinstance(listed, (list, tuple)) or not all(isinstance(name, str) and name.strip() for name in listed):
        raise OptionError(f"{option}={names!r} should be names with commas between them, or a list, such as ['cupy']")
    return tuple(name.strip() for name in listed)


def _can_be_imported(package: str) -> bool:
    """Tell whether a package is installed, without importing it: CUDA libraries belong in workers alone."""
    return importlib.util.find_spec(package) is not None
