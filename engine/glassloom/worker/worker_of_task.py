"""`WorkerOfTask`: what tasks and plugins see of the worker's process in which they run."""

from __future__ import annotations

import os
import threading
from typing import Any

from glassloom.protocol.options import WorkerOptions

_lock = threading.Lock()
_workers: dict[int, WorkerOfTask] = {}


class WorkerOfTask:
    """The worker process in which a task runs. Tasks may keep things of their own in it, as attributes.

    Attributes
    ----------
    name
        What dashboards and `Client.scheduler_info` call it.
    number
        Its number on the cluster.
    pid
        Of its process.
    nthreads
        How many tasks it runs at once.
    memory_limit
        In bytes; None: no limit.
    local_directory
        The cluster's private directory, which goes when the cluster ends.
    resources
        What tasks can ask for of it, as `LocalCluster` was told: such as ``{"GPU": 1.0}``.
    """

    def __init__(self, options: WorkerOptions) -> None:
        self.name = options.name
        self.number = options.number
        self.pid = os.getpid()
        self.nthreads = options.nthreads
        self.memory_limit = options.memory.limit_bytes
        self.local_directory = options.directory
        self.resources = dict(options.resources)

    def __repr__(self) -> str:
        return f"<Worker: {self.name!r}, number={self.number}, threads={self.nthreads}, pid={self.pid}>"

    def __setattr__(self, name: str, value: Any) -> None:  # tells type checkers that tasks may add attributes
        super().__setattr__(name, value)


def worker_of(options: WorkerOptions) -> WorkerOfTask:
    """Return the one object of this process for the worker that it is."""
    with _lock:
        if options.number not in _workers:
            _workers[options.number] = WorkerOfTask(options)
        return _workers[options.number]
