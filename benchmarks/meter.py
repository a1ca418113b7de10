"""What contenders measure themselves with."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable

import psutil

Figures = dict[str, float]
"""Plain numbers by name, with their unit in the name; for all of them less is better."""
Contender = Callable[[], Figures]


class Meter:
    """Wall and CPU seconds, of this process and its descendants, since it was made."""

    def __init__(self) -> None:
        self._processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        self._cpu_s = self._sum_cpu_s()
        self._start_s = time.perf_counter()

    def wall_s(self) -> float:
        return time.perf_counter() - self._start_s

    def cpu_s(self) -> float:
        return self._sum_cpu_s() - self._cpu_s

    def _sum_cpu_s(self) -> float:
        return sum(sum(process.cpu_times()[:2]) for process in self._processes)


def per_task(meter: Meter, n_tasks: int) -> Figures:
    """Return the meter's figures divided by a number of tasks."""
    return {"cpu_us_per_task": meter.cpu_s() / n_tasks * 1e6, "wall_us_per_task": meter.wall_s() / n_tasks * 1e6}


def peak_rss_mib() -> float:
    """Return the largest resident set that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cpu_count() -> int:
    """Return how many CPUs this process may use, where the system tells."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
