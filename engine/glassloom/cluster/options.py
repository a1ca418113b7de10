"""What a cluster is started with: the options that `LocalCluster` and `Client` take, checked once. Starts nothing."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from glassloom import config
from glassloom._names import checked_cluster_name
from glassloom.config import Configured, chosen
from glassloom.errors import OptionError
from glassloom.protocol.identity import kernel_id, notebook, script
from glassloom.protocol.options import SPILL_CODECS, HeadOptions, MemoryLimits, checked_worker_resources
from glassloom.sampling.limits import cpu_count, memory_limit_bytes, process_memory_limit_bytes
from glassloom.units import format_bytes, parse_bytes, parse_seconds, parse_share

_MIN_MEMORY_LIMIT_BYTES = 50 * 2**20
_PRELOADED = ("numpy", "pandas", "pyarrow", "glassloom.array", "glassloom.dataframe")


Resources = Mapping[str, float] | Sequence[Mapping[str, float]] | Mapping[int | str, Mapping[str, float]]
"""What workers have that tasks can ask for: see `LocalCluster`."""


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """The options of a new cluster as they were given: see `LocalCluster`."""

    n_workers: int | None | Configured = Configured("cluster.n-workers")
    threads_per_worker: int | None | Configured = Configured("cluster.threads-per-worker")
    memory_limit: int | float | str | None | Configured = Configured("cluster.memory-limit")
    name: str | None = None
    local_directory: str | None | Configured = Configured("cluster.local-directory")
    memory_target_fraction: float | None | Configured = Configured("cluster.memory-target-fraction")
    memory_spill_fraction: float | None | Configured = Configured("cluster.memory-spill-fraction")
    memory_pause_fraction: float | None | Configured = Configured("cluster.memory-pause-fraction")
    memory_terminate_fraction: float | None | Configured = Configured("cluster.memory-terminate-fraction")
    spill_compression: str | None | Configured = Configured("cluster.spill-compression")
    resources: Resources | None = None
    env: Mapping[str, str] | None = None
    idle_timeout: float | str | None | Configured = Configured("cluster.idle-timeout")
    timeout: float | str | Configured = Configured("cluster.start-timeout")
    detached: bool = False
    started_by: str | None = None

    def differences(self) -> dict[str, Any]:
        """Return the options that were given: those that aren't the defaults."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }

    def resolved(self) -> ClusterOptions:
        """Return the same with the configuration's values for what wasn't given, checked.

        Raises
        ------
        OptionError
            If an option has no sense; the message says which and why.
        """
        values = ClusterOptions(**{name: chosen(value) for name, value in self.values().items()})
        _check_name(values.name)
        _check_codec(chosen(values.spill_compression))
        _check_environment(values.env)
        _ = values._for_any_head, values.timeout_s  # what is wrong is raised while they are made
        return values

    @property
    def timeout_s(self) -> float:
        """How long the cluster may take to start; raises OptionError if it is no time."""
        timeout: Any = chosen(self.timeout)
        time_s = parse_seconds("timeout", timeout)
        if not time_s:
            raise OptionError(f"timeout={self.timeout!r} should be above 0")
        return time_s

    @property
    def _idle_timeout_s(self) -> float | None:
        idle_timeout: Any = chosen(self.idle_timeout)
        time_s = parse_seconds("idle_timeout", idle_timeout)
        if time_s is not None and not time_s:
            raise OptionError(f"idle_timeout={self.idle_timeout!r} should be above 0, or None for no end")
        return time_s

    def values(self) -> dict[str, Any]:
        """Return all options by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def for_head(self, name: str) -> HeadOptions:
        """Return what a head of that name is started with; raises OptionError if something has no sense."""
        return replace(self._for_any_head, name=name)

    @cached_property
    def _for_any_head(self) -> HeadOptions:
        n_workers, threads_per_worker = divide_cpus(chosen(self.n_workers), chosen(self.threads_per_worker))
        local_directory = chosen(self.local_directory)
        return HeadOptions(
            name="",
            n_workers=n_workers,
            threads_per_worker=threads_per_worker,
            memory=MemoryLimits(
                parse_memory_limit(chosen(self.memory_limit), n_workers, threads_per_worker),
                chosen(self.memory_target_fraction),
                chosen(self.memory_spill_fraction),
                chosen(self.memory_pause_fraction),
                chosen(self.memory_terminate_fraction),
                config.get("cluster.shared-memory-fraction"),
            ),
            spill_compression=chosen(self.spill_compression),
            local_directory=_absolute(local_directory),
            detached=self.detached,
            preload=tuple(module for module in _PRELOADED if module in sys.modules),
            started_by=self.started_by or ("notebook" if kernel_id() else "script"),
            kernel_id=kernel_id(),
            notebook=notebook(),
            script="" if self.started_by == "panel" else script(),
            idle_timeout_s=self._idle_timeout_s,
            resources=checked_worker_resources(self.resources, self.name),
            log_memory_bytes=config.get("metrics.log-memory"),
            nvml_session=_absolute(config.get("metrics.nvml-session")),
            profile_interval_s=config.get("metrics.profile-interval"),
        )


def _absolute(path: str | None) -> str | None:
    return None if path is None else os.path.abspath(path)


OPTION_NAMES = tuple(field.name for field in fields(ClusterOptions))
"""The names of all options, in order."""
CLIENT_OPTION_NAMES = (
    *(name for name in OPTION_NAMES if name not in ("detached", "started_by")),  # a client's own cluster ends with it
    "asynchronous",
    "set_as_default",
    "dask",
    "security",
)
"""The names of the options of a client, which starts a cluster of its own."""


def parse_memory_limit(limit: int | float | str | None, n_workers: int, threads_per_worker: int) -> int | None:
    """Return a worker's memory limit in bytes, or None for none. See `LocalCluster`.

    Raises
    ------
    OptionError
        If it is no size, negative, or too small for a Python process.
    """
    if limit is None or limit == 0:
        return None
    if limit == "auto":
        share = min(1.0, threads_per_worker / cpu_count()) if n_workers > 1 else 1.0
        fair = int(memory_limit_bytes() * min(share, 1.0 / max(n_workers, 1)))
        return min(fair, process_memory_limit_bytes() or fair)
    of_all = parse_share(limit)
    if of_all is not None:
        return int(memory_limit_bytes() * of_all)
    try:
        nbytes = parse_bytes(limit)
    except OptionError as error:
        raise OptionError(
            f"memory_limit={limit!r} is not a size: write bytes, text such as '4GB' or '500 MiB', a fraction of the "
            "memory that there is, such as 0.5, 'auto', or None for no limit"
        ) from error
    if nbytes < _MIN_MEMORY_LIMIT_BYTES:
        raise OptionError(
            f"memory_limit={limit!r} is {format_bytes(nbytes)}; a worker needs at least "
            f"{format_bytes(_MIN_MEMORY_LIMIT_BYTES)}"
        )
    return nbytes


def divide_cpus(n_workers: int | None, threads_per_worker: int | None) -> tuple[int, int]:
    """Return how many workers with how many threads use all CPUs, one or both of them given."""
    for name, value, least in (("n_workers", n_workers, 0), ("threads_per_worker", threads_per_worker, 1)):
        if value is not None:
            checked_count(name, value, least)
    cpus = cpu_count()
    if n_workers is None and threads_per_worker is None:
        # Few processes with few threads each: threads share memory, processes don't share the interpreter's lock.
        n_workers = cpus if cpus <= 4 else min(n for n in range(1, cpus + 1) if cpus % n == 0 and n >= math.sqrt(cpus))
    if n_workers is None:
        n_workers = max(1, cpus // (threads_per_worker or 1))
    return n_workers, threads_per_worker or max(1, cpus // max(n_workers, 1))


def checked_count(name: str, value: int, least: int) -> int:
    """Return a whole number; raise OptionError if it is none, or too small."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise OptionError(f"{name}={value!r} should be a whole number, {least} or more")
    return value


def checked_bounds(minimum: int, maximum: int | None) -> tuple[int, int]:
    """Return the least and the largest number of workers; raise OptionError if they have no sense. No maximum: as many as CPUs."""
    least = checked_count("minimum", minimum, 0)
    most = cpu_count() if maximum is None else checked_count("maximum", maximum, 1)
    if least > most and maximum is None:
        raise OptionError(
            f"minimum={minimum} is larger than the number of CPUs here, {most}, which is the most where no maximum is given: "
            "give a maximum too"
        )
    if least > most:
        raise OptionError(f"minimum={minimum} is larger than maximum={maximum}")
    return least, most


def checked_adaptive(minimum: int, maximum: int | None, wait_s: float | Configured) -> tuple[int, int, float]:
    """Return the options of adaptive scaling; raise OptionError if they have no sense."""
    least, most = checked_bounds(minimum, maximum)
    idle_s = chosen(wait_s)
    if not idle_s >= 0:
        raise OptionError(f"wait_s={idle_s!r} should be a number of seconds, 0 or more")
    return least, most, float(idle_s)


def _check_name(name: str | None) -> None:
    if name is not None:
        _ = checked_cluster_name(name)


def _check_codec(codec: str | None) -> None:
    if codec is not None and codec not in SPILL_CODECS:
        raise OptionError(f"spill_compression={codec!r} is none of {', '.join(map(repr, SPILL_CODECS))} and None")


def _check_environment(env: Mapping[str, str] | None) -> None:
    for variable, value in dict(env or {}).items():
        if not isinstance(variable, str) or not isinstance(value, str) or "=" in variable or "\0" in variable + value:
            raise OptionError(f"env[{variable!r}]={value!r}: names and values should be text, as in os.environ")
