"""What a cluster and a worker are started with: plain data that travels as JSON."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HeadOptions:
    """What a cluster is started with."""

    name: str
    n_workers: int
    threads_per_worker: int
    memory_limit_bytes: int | None
    local_directory: str | None = None
    detached: bool = False
    preload: tuple[str, ...] = ()
    started_by: str = "script"
    kernel_id: str | None = None


@dataclass(frozen=True)
class WorkerOptions:
    """What a worker is told at its start."""

    number: int
    name: str
    socket: str
    secret: str
    nthreads: int
    memory_limit_bytes: int | None
    directory: str
    shm_prefix: str
