"""What a cluster and a worker are started with: plain data that travels as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from glassloom._names import checked_name
from glassloom.errors import OptionError
from glassloom.units import format_bytes

MAX_PLACES = 10_000
"""Resources can be said of no more workers than these."""
SPILL_CODECS = ("lz4", "zstd")
"""How spilled results can be compressed."""


@dataclass(frozen=True)
class MemoryLimits:
    """A worker's memory limit and the shares of it at which something happens; None: it never does.

    Attributes
    ----------
    limit_bytes
        The limit; None for none.
    target
        Share that results may take before the least recently used ones go to disk.
    spill
        Share that the process may take, measured, before results go to disk even though they are within `target`.
    pause
        Share that the process may take, measured, before the worker gets no more tasks.
    terminate
        Share that the process may take, measured, before the head ends it.
    shared
        Share of all workers' limits together that results in shared memory may take before further ones go to disk.
    """

    limit_bytes: int | None = None
    target: float | None = 0.6
    spill: float | None = 0.7
    pause: float | None = 0.8
    terminate: float | None = 0.95
    shared: float | None = 0.3

    def __post_init__(self) -> None:
        """Check the shares.

        Raises
        ------
        OptionError
            If one of them is no share, or they are in the wrong order.
        """
        before_name, before = "", 0.0
        for name in ("target", "spill", "pause", "terminate"):
            share = getattr(self, name)
            if share is None:
                continue
            option = f"memory_{name}_fraction"
            if not isinstance(share, (int, float)) or isinstance(share, bool) or not 0 < share <= 1:
                raise OptionError(f"{option}={share!r} should be a number above 0, up to 1, or None for never")
            if share < before:
                raise OptionError(f"{option}={share!r} should be at least {before_name}={before!r}")
            before_name, before = option, share

    def bytes_at(self, share: float | None) -> int | None:
        """Return the bytes of a share of the limit; None if there is no limit or no share."""
        return None if self.limit_bytes is None or share is None else int(self.limit_bytes * share)

    def text(self, share: float | None) -> str:
        """Return a share of the limit for people: ``"95% of its limit of 1.00 GiB"``."""
        return f"{share or 1:.0%} of its limit of {format_bytes(self.limit_bytes or 0)}"


@dataclass(frozen=True)
class WorkerResources:
    """What workers have that tasks can ask for: amounts by name.

    Attributes
    ----------
    by_place
        Of the workers of the first places: the first worker has place 0, and a worker that replaces another has its place.
    others
        Of all others.
    """

    by_place: tuple[dict[str, float], ...] = ()
    others: dict[str, float] = field(default_factory=dict)

    def at(self, place: int) -> dict[str, float]:
        """Return what the worker of a place has."""
        return self.by_place[place] if place < len(self.by_place) else self.others

    def are_enough_for(self, asked: Mapping[str, float]) -> bool:
        """Tell whether the worker of some place has all that is asked for."""
        return any(
            all(has.get(name, 0.0) >= amount for name, amount in asked.items()) for has in (*self.by_place, self.others)
        )

    def __str__(self) -> str:
        """Return for people what each worker has."""
        if not self.by_place:
            return f"each worker of this cluster has {self.others or 'none'}"
        return f"the workers of this cluster have {', '.join(str(has or 'none') for has in self.by_place)}, others none"


@dataclass(frozen=True)
class DeviceOptions:
    """The devices of a cluster's workers; no option of `LocalCluster` itself.

    Attributes
    ----------
    names
        What `glassloom.devices.opening.open_device` is told in the worker of the first place, the second and so on. Workers
        beyond the last name begin with the first again. None: no worker has a device.
    memory_limit
        How much of a device's memory the results of a worker may take before the least recently used move to the host:
        bytes, or a share of the device's memory; None: all.
    settings
        What `open_device` is told besides. For CUDA: `glassloom.devices.cuda_options.CudaOptions` as plain data, by UUID.
    is_exclusive
        Whether a device has one worker, so that there are no more workers than names.
    log_spilling
        Whether workers tell the cluster's log what moves between device, host and disk.
    """

    names: tuple[str, ...] = ()
    memory_limit: int | float | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    is_exclusive: bool = False
    log_spilling: bool = False

    @property
    def most_workers(self) -> int | None:
        """How many workers there can be at most; None for any number."""
        return len(self.names) if self.is_exclusive else None

    def at(self, place: int) -> str | None:
        """Return the device of the worker of a place; None if there is none."""
        return self.names[place % len(self.names)] if self.names else None


@dataclass(frozen=True)
class HeadOptions:
    """What a cluster is started with."""

    name: str
    n_workers: int
    threads_per_worker: int
    memory: MemoryLimits
    spill_compression: str | None = None
    local_directory: str | None = None
    detached: bool = False
    preload: tuple[str, ...] = ()
    resources: WorkerResources = field(default_factory=WorkerResources)
    started_by: str = "script"
    kernel_id: str | None = None
    notebook: str = ""
    script: str = ""
    idle_timeout_s: float | None = None
    """How long it may be idle before it ends; None: for ever."""
    log_memory_bytes: int = 64 * 2**20
    nvml_session: str | None = None
    profile_interval_s: float | None = None
    """How often the stacks of running tasks are sampled; None: never."""
    devices: DeviceOptions = field(default_factory=DeviceOptions)


@dataclass(frozen=True)
class WorkerOptions:
    """What a worker is told at its start."""

    number: int
    name: str
    socket: str
    secret: str
    nthreads: int
    memory: MemoryLimits
    spill_compression: str | None
    directory: str
    shm_prefix: str
    cluster_id: str
    cluster_name: str
    head_pid: int
    spill_directory: str
    place: int = 0
    """A worker that replaces another has its place; numbers are never used again."""
    resources: dict[str, float] = field(default_factory=dict)
    profile_interval_s: float | None = None
    device: str | None = None
    """The device that the worker has, as `open_device` takes it; None: none."""
    device_memory_limit: int | float | None = None
    """Bytes of the device that results may take, or a share of its memory; None: all."""
    device_settings: dict[str, Any] = field(default_factory=dict)
    shares_device: bool = False
    """Whether other workers may be on the same device."""
    log_spilling: bool = False
    """Whether the cluster's log is told what moves between device, host and disk."""

    def __repr__(self) -> str:
        """Return what tells it from others, without the secret."""
        return f"WorkerOptions(name={self.name!r}, number={self.number}, cluster_id={self.cluster_id!r})"


def checked_resources(resources: Mapping[str, float]) -> dict[str, float]:
    """Return resources as plain values; raise OptionError if they aren't amounts by name."""
    if not isinstance(resources, Mapping) or not all(_is_amount(*item) for item in resources.items()):
        raise OptionError(f"resources={resources!r} should be amounts of 0 or more by name, such as {{'GPU': 1}}")
    return {checked_name("resources", name): float(amount) for name, amount in resources.items()}


def checked_worker_resources(resources: Any, cluster_name: str | None) -> WorkerResources:
    """Return the resources of a cluster's workers as `LocalCluster` takes them: for all alike, in a list, or by worker.

    Raises
    ------
    OptionError
        If they are none of those.
    """
    if isinstance(resources, (list, tuple)):
        return WorkerResources(tuple(checked_resources(each) for each in resources))
    if isinstance(resources, Mapping) and resources and all(isinstance(has, Mapping) for has in resources.values()):
        places = {_place_of(worker, cluster_name): checked_resources(has) for worker, has in resources.items()}
        return WorkerResources(tuple(places.get(place, {}) for place in range(max(places) + 1)))
    return WorkerResources(others=checked_resources(resources or {}))


def _place_of(worker: Any, cluster_name: str | None) -> int:
    """Return the place of a worker that is named by its number, or by the name that it has at first."""
    number = worker
    if isinstance(worker, str) and cluster_name is not None and worker.startswith(f"{cluster_name}-"):
        digits = worker.removeprefix(f"{cluster_name}-")
        number = int(digits) if digits.isdecimal() else worker
    if type(number) is not int or not 0 <= number < MAX_PLACES:
        example = "0" if cluster_name is None else f"0 or {cluster_name + '-0'!r}"
        raise OptionError(
            f"resources: {worker!r} is no worker; write its number or, if the cluster has a name, its name: {example}"
        )
    return number


def _is_amount(name: Any, amount: Any) -> bool:
    is_number = isinstance(amount, (int, float)) and not isinstance(amount, bool)
    return isinstance(name, str) and is_number and isfinite(amount) and amount >= 0
