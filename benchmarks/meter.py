"""What contenders measure themselves with."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import psutil

Figures = dict[str, float]
"""Plain numbers by name, with their unit in the name; for all of them less is better."""
Contender = Callable[[], Figures]


@dataclass
class Seen:
    """What was last seen of a process.

    Attributes
    ----------
    parent
        Number of the process that started it, if that is one of those looked at.
    own_s
        Its CPU time.
    reaped_s
        The CPU time of its children that have ended and that it has waited for, with that of their own children.
    reaped_at_first_s
        The same when the process was seen first.
    has_ended
        Whether it is gone.
    """

    parent: int | None
    own_s: float
    reaped_s: float
    reaped_at_first_s: float
    has_ended: bool = False


class Meter:
    """Wall and CPU seconds, of this process and its descendants, since it was made.

    Descendants that start later count too. A descendant that has ended counts with what its parent knows of it, if its
    parent has waited for it, or else with what was last seen of it.
    """

    def __init__(self) -> None:
        self._processes: dict[int, psutil.Process] = {}
        self._seen: dict[int, Seen] = {}
        self._n_seen = 0
        self._add([psutil.Process()])
        self._add_descendants()
        self._read()
        self._cpu_s = sum_cpu_s(self._seen)
        self._start_s = time.perf_counter()

    def wall_s(self) -> float:
        return time.perf_counter() - self._start_s

    def cpu_s(self) -> float:
        self._read()  # before it looks for others, as that takes CPU time itself
        self._add_descendants()
        return sum_cpu_s(self._seen) - self._cpu_s

    def _read(self) -> None:
        """Look again at the processes that are known."""
        for number, process in list(self._processes.items()):
            seen = self._seen[number]
            try:
                seen.own_s, seen.reaped_s = _cpu_times_s(process)
            except psutil.NoSuchProcess:
                seen.has_ended = True
                del self._processes[number]

    def _add_descendants(self) -> None:
        """Look for descendants that aren't known, also for those of processes whose parent has ended."""
        known = set(self._processes.values())
        found: dict[psutil.Process, None] = {}
        for process in list(self._processes.values()):
            if process not in found:
                found |= dict.fromkeys(_descendants(process))
        self._add(process for process in found if process not in known)

    def _add(self, processes: Iterable[psutil.Process]) -> None:
        numbers = {process.pid: number for number, process in self._processes.items()}
        for process in processes:  # parents before children
            try:
                own_s, reaped_s = _cpu_times_s(process)
                parent = numbers.get(process.ppid())
            except psutil.NoSuchProcess:
                continue  # its parent may know what it used
            number = numbers[process.pid] = self._n_seen
            self._n_seen += 1
            self._processes[number] = process
            self._seen[number] = Seen(parent, own_s, reaped_s, reaped_s)


def sum_cpu_s(processes: dict[int, Seen]) -> float:
    """Return the CPU time that processes and their ended children have used.

    What a process has waited for is added to its own account by the system. Children that ended without being waited
    for aren't in it: then the children's last figures are more than the account has grown by.
    """
    ended_children: dict[int | None, list[int]] = {}
    for number, seen in processes.items():
        if seen.has_ended:
            ended_children.setdefault(seen.parent, []).append(number)

    def total_s(number: int) -> float:
        seen = processes[number]
        ended_s = sum(map(total_s, ended_children.get(number, ())))
        return seen.own_s + seen.reaped_at_first_s + max(seen.reaped_s - seen.reaped_at_first_s, ended_s)

    alive = [number for number, seen in processes.items() if not seen.has_ended]
    return sum(map(total_s, [*alive, *ended_children.get(None, ())]))


def _cpu_times_s(process: psutil.Process) -> tuple[float, float]:
    """Return the CPU time of a process itself, and that of its children that it has waited for."""
    times = process.cpu_times()
    if not process.is_running():  # another process has its number by now
        raise psutil.NoSuchProcess(process.pid)
    return times.user + times.system, times.children_user + times.children_system


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        found: list[psutil.Process] = process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return found


def per_task(meter: Meter, n_tasks: int) -> Figures:
    """Return the meter's figures divided by a number of tasks."""
    wall_s = meter.wall_s()  # first, as looking for processes takes a while
    return {"cpu_us_per_task": meter.cpu_s() / n_tasks * 1e6, "wall_us_per_task": wall_s / n_tasks * 1e6}


def peak_rss_mib() -> float:
    """Return the largest resident set that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cpu_count() -> int:
    """Return how many CPUs this process may use, where the system tells."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
