"""How many CPUs and how much memory this process may use: the machine, its control groups, ``ulimit`` and affinity.

In a container or a batch job the machine has more than the process may take: a pod of 2 CPUs and 4 GB on a host of 64 and
256 GB. A pool of 64 threads is slow there, and a worker that counts on 256 GB is killed by the kernel.

Sources, of which the smallest counts:

========  =====================================================================================================
CPUs      ``os.cpu_count()``; CPU affinity (``taskset``), where the system has it; cgroup ``cpuset``; cgroup CPU
          quota (v2 ``cpu.max``, v1 ``cpu.cfs_quota_us`` / ``cpu.cfs_period_us``), rounded up
memory    the machine's memory; cgroup v2 ``memory.max`` and ``memory.high``; cgroup v1 ``memory.limit_in_bytes``
          and ``hierarchical_memory_limit`` of ``memory.stat``
========  =====================================================================================================

A group is bound by all groups above it, so each one up to the root of its mount is read. What can't be read sets no limit.
Nothing is cached: limits can change while a process runs.
"""

from __future__ import annotations

import math
import os
import re
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

_ROOT = Path("/")
_RESOURCES = ("RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_RSS")
_USUAL_MOUNTS = (
    ("cgroup2", "/sys/fs/cgroup", ""),
    ("cgroup2", "/sys/fs/cgroup/unified", ""),
    ("cgroup", "/sys/fs/cgroup/memory", "memory"),
    ("cgroup", "/sys/fs/cgroup/cpu,cpuacct", "cpu"),
    ("cgroup", "/sys/fs/cgroup/cpu", "cpu"),
    ("cgroup", "/sys/fs/cgroup/cpuset", "cpuset"),
)
"""Where hierarchies are if ``/proc/self/mountinfo`` can't be read: type, mount point, controller."""


def cpu_count(root: Path = _ROOT) -> int:
    """Return the number of CPUs that this process may use, at least 1.

    A quota that isn't a whole number is rounded up, as dask.distributed does: 1.5 CPUs count as 2, because one thread
    would leave a third of the quota unused and two use all of it.

    Parameters
    ----------
    root
        The folder that has ``proc`` and ``sys``.
    """
    allowed = [_affinity()]
    in_set, quota = cgroup_cpuset(root), cgroup_cpu_quota(root)
    if in_set is not None:
        allowed.append(in_set)
    if quota is not None:
        allowed.append(math.ceil(quota))
    return max(1, min(allowed))


def memory_limit_bytes(root: Path = _ROOT) -> int:
    """Return the bytes of memory that this process and all others of its control group may use together.

    Parameters
    ----------
    root
        The folder that has ``proc`` and ``sys``.
    """
    machine = int(psutil.virtual_memory().total)
    group = cgroup_memory_bytes(root)
    return machine if group is None else min(machine, group)


@cache
def own_memory_bytes() -> int:
    """Return `memory_limit_bytes` as it was at the first call: reading it takes a millisecond."""
    return memory_limit_bytes()


def process_memory_limit_bytes() -> int | None:
    """Return the bytes of memory that each process may use by itself, None for no limit: ``ulimit -v``, ``-d`` and ``-m``.

    These are RLIMIT_AS, RLIMIT_DATA and RLIMIT_RSS, of which the soft limit counts. Child processes inherit them, and
    each has the whole of them. Linux doesn't enforce the last one; it counts all the same, as it is set on purpose.
    """
    names = [name for name in _RESOURCES if hasattr(resource, name)]
    soft = [resource.getrlimit(getattr(resource, name))[0] for name in names]
    return min((limit for limit in soft if limit != resource.RLIM_INFINITY), default=None)


def cgroup_memory_bytes(root: Path = _ROOT) -> int | None:
    """Return the smallest memory limit of this process's control groups in bytes, None if they set none."""
    limits = []
    for directory in _group_directories("memory", root):
        limits += [_number(_text(directory / name)) for name in ("memory.max", "memory.high", "memory.limit_in_bytes")]
        above = re.search(r"^hierarchical_memory_limit (\d+)$", _text(directory / "memory.stat"), re.MULTILINE)
        limits.append(_number(above[1]) if above else None)
    # 0 is a group whose limit is being set up, or that is about to be ended: no size to plan with.
    return min((limit for limit in limits if limit), default=None)


def cgroup_cpu_quota(root: Path = _ROOT) -> float | None:
    """Return the smallest CPU quota of this process's control groups in CPUs, None if they set none."""
    quotas = []
    for directory in _group_directories("cpu", root):
        quota, _, period = _text(directory / "cpu.max").strip().partition(" ")
        quotas.append(_ratio(quota, period))
        quotas.append(_ratio(_text(directory / "cpu.cfs_quota_us"), _text(directory / "cpu.cfs_period_us")))
    return min((quota for quota in quotas if quota is not None), default=None)


def cgroup_cpuset(root: Path = _ROOT) -> int | None:
    """Return the number of CPUs in the smallest ``cpuset`` of this process's control groups, None if there is none."""
    counts = []
    for directory in _group_directories("cpuset", root):
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
            counts.append(_count_listed(_text(directory / name)))
    return min((count for count in counts if count), default=None)


def _affinity() -> int:
    """Return the number of CPUs that the scheduler of the operating system may run this process on."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class _Mount:
    """Where a hierarchy of control groups is mounted: `top` is the group that one finds at `point`."""

    is_v2: bool
    controllers: frozenset[str]
    top: str
    point: str


def _group_directories(controller: str, root: Path) -> Iterator[Path]:
    """Yield the folders of this process's groups that may limit what `controller` controls, and of those above them.

    A group that isn't below what is mounted is taken to be the mounted one: so it is in containers that see the
    host's ``/proc/self/cgroup`` but mount only their own group.
    """
    groups = _own_groups(root)
    for mount in _mounts(root):
        if not mount.is_v2 and controller not in mount.controllers:
            continue
        group = groups.get("" if mount.is_v2 else controller)
        if group is None:
            continue
        point = root / mount.point.lstrip("/")
        below = _relative(group, mount.top)
        for depth in range(len(below), -1, -1):
            yield point.joinpath(*below[:depth])


def _own_groups(root: Path) -> dict[str, str]:
    """Return the path of this process's group for each v1 controller, and for ``""`` that of v2.

    All are ``/`` if ``/proc/self/cgroup`` can't be read.
    """
    lines = [line.split(":", 2) for line in _text(root / "proc/self/cgroup").splitlines() if line.count(":") >= 2]
    if not lines:
        return dict.fromkeys(("", "memory", "cpu", "cpuset"), "/")
    return {controller: path for _, controllers, path in lines for controller in controllers.split(",")}


def _mounts(root: Path) -> list[_Mount]:
    found = []
    lines = _text(root / "proc/self/mountinfo").splitlines()
    for line in [line for line in lines if " - cgroup" in line]:
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.partition(" ")
        if kind in ("cgroup", "cgroup2") and len(fields.split()) >= 5:
            top, point = map(_unescaped, fields.split()[3:5])
            controllers = frozenset(options.rpartition(" ")[2].split(","))
            found.append(_Mount(kind == "cgroup2", controllers, top, point))
    return found or [_Mount(kind == "cgroup2", frozenset([name]), "/", point) for kind, point, name in _USUAL_MOUNTS]


def _relative(group: str, top: str) -> tuple[str, ...]:
    """Return the names from `top` down to `group`; none if it isn't below."""
    names, above = _names(group), _names(top)
    if ".." in names or names[: len(above)] != above:
        return ()
    return names[len(above) :]


def _names(path: str) -> tuple[str, ...]:
    return tuple(name for name in path.split("/") if name)


def _unescaped(text: str) -> str:
    """Return a path of ``mountinfo``, where blanks are written as ``\\040``."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _text(path: Path) -> str:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read().decode(errors="replace")
    except (OSError, ValueError):  # not there, not ours to read, or a name that can't be a path
        return ""


def _number(text: str) -> int | None:
    """Return a whole number of 0 or more; None for ``"max"``, ``"-1"`` and what is no number."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() else None


def _ratio(quota: str, period: str) -> float | None:
    above, below = _number(quota), _number(period)
    return above / below if above and below else None


def _count_listed(text: str) -> int:
    """Return how many CPUs a list such as ``0-3,8`` has; 0 if it is none."""
    ranges = re.findall(r"(\d+)(?:-(\d+))?", text) if re.fullmatch(r"[\d,\-\s]*", text) else []
    return sum(int(last or first) - int(first) + 1 for first, last in ranges)
