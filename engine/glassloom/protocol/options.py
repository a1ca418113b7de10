"""What a cluster and a worker are started with: plain data that travels as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from glassloom.errors import OptionError
from glassloom.units import format_bytes

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
    resources: dict[str, float] = field(default_factory=dict)
    started_by: str = "script"
    kernel_id: str | None = None
    log_memory_bytes: int = 64 * 2**20


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

    def __repr__(self) -> str:
        """Return what tells it from others, without the secret."""
        return f"WorkerOptions(name={self.name!r}, number={self.number}, cluster_id={self.cluster_id!r})"


def checked_resources(resources: Mapping[str, float]) -> dict[str, float]:
    """Return resources as plain values; raise OptionError if they aren't amounts by name."""
    if not isinstance(resources, Mapping) or not all(_is_amount(*item) for item in resources.items()):
        raise OptionError(f"resources={resources!r} should be amounts of 0 or more by name, such as {{'GPU': 1}}")
    return {name: float(amount) for name, amount in resources.items()}


def _is_amount(name: Any, amount: Any) -> bool:
    is_number = isinstance(amount, (int, float)) and not isinstance(amount, bool)
    return isinstance(name, str) and is_number and isfinite(amount) and amount >= 0
