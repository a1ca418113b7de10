"""How many CPUs and how much memory a process may use, read from made-up trees of control groups and from real limits."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from glassloom.cluster import options
from glassloom.local import threads
from glassloom.sampling import limits

GIB = 2**30
V1_UNLIMITED = 9223372036854771712
V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"

Tree = Callable[..., Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Return a function that writes files and returns the folder that stands for ``/``."""

    def write(cgroup: str, mountinfo: str, **files: str) -> Path:
        everything = {"proc/self/cgroup": cgroup, "proc/self/mountinfo": mountinfo, **files}
        for name, text in everything.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        return tmp_path

    return write


def v1_mount(controllers: str, top: str = "/", point: str = "") -> str:
    return f"35 31 0:32 {top} {point or f'/sys/fs/cgroup/{controllers}'} rw,relatime shared:9 - cgroup cgroup rw,{controllers}"


def test_a_v2_group_limits_memory_and_cpus(tree: Tree) -> None:
    files = {
        "sys/fs/cgroup/user/job/memory.max": str(4 * GIB),
        "sys/fs/cgroup/user/job/cpu.max": "300000 100000",
        "sys/fs/cgroup/user/job/cpuset.cpus.effective": "0-3,8",
    }
    root = tree("0::/user/job", V2_MOUNT, **files)
    assert limits.cgroup_memory_bytes(root) == 4 * GIB
    assert limits.cgroup_cpu_quota(root) == 3.0
    assert limits.cgroup_cpuset(root) == 5


def test_a_v2_group_that_says_max_has_no_limit(tree: Tree) -> None:
    files = {
        "sys/fs/cgroup/job/memory.max": "max",
        "sys/fs/cgroup/job/memory.high": "max",
        "sys/fs/cgroup/job/cpu.max": "max 100000",
        "sys/fs/cgroup/job/cpuset.cpus.effective": "",
    }
    root = tree("0::/job", V2_MOUNT, **files)
    assert limits.cgroup_memory_bytes(root) is None
    assert limits.cgroup_cpu_quota(root) is None
    assert limits.cgroup_cpuset(root) is None
    assert limits.memory_limit_bytes(root) == psutil.virtual_memory().total


def test_a_stricter_group_above_counts(tree: Tree) -> None:
    files = {
        "sys/fs/cgroup/pod/memory.max": str(2 * GIB),
        "sys/fs/cgroup/pod/cpu.max": "100000 100000",
        "sys/fs/cgroup/pod/container/memory.max": str(8 * GIB),
        "sys/fs/cgroup/pod/container/cpu.max": "400000 100000",
    }
    root = tree("0::/pod/container", V2_MOUNT, **files)
    assert limits.cgroup_memory_bytes(root) == 2 * GIB
    assert limits.cgroup_cpu_quota(root) == 1.0


def test_a_group_beside_ours_does_not_count(tree: Tree) -> None:
    root = tree("0::/ours", V2_MOUNT, **{"sys/fs/cgroup/other/memory.max": str(GIB)})
    assert limits.cgroup_memory_bytes(root) is None


def test_the_bound_at_which_v2_slows_a_group_down_counts_as_its_limit(tree: Tree) -> None:
    files = {"sys/fs/cgroup/job/memory.max": str(4 * GIB), "sys/fs/cgroup/job/memory.high": str(3 * GIB)}
    assert limits.cgroup_memory_bytes(tree("0::/job", V2_MOUNT, **files)) == 3 * GIB


def test_v1_groups_limit_memory_and_cpus_each_in_its_hierarchy(tree: Tree) -> None:
    files = {
        "sys/fs/cgroup/memory/job/memory.limit_in_bytes": str(GIB),
        "sys/fs/cgroup/cpu,cpuacct/other/cpu.cfs_quota_us": "250000",
        "sys/fs/cgroup/cpu,cpuacct/other/cpu.cfs_period_us": "100000",
        "sys/fs/cgroup/cpuset/cpuset.cpus": "2,4-5",
    }
    cgroup = "4:memory:/job\n3:cpuset:/\n2:cpu,cpuacct:/other\n1:name=systemd:/x"
    mounts = "\n".join(v1_mount(name) for name in ("memory", "cpu,cpuacct", "cpuset"))
    root = tree(cgroup, mounts, **files)
    assert limits.cgroup_memory_bytes(root) == GIB
    assert limits.cgroup_cpu_quota(root) == 2.5
    assert limits.cgroup_cpuset(root) == 3


def test_a_v1_group_that_was_never_limited_has_the_machines_memory(tree: Tree) -> None:
    files = {
        "sys/fs/cgroup/memory/memory.limit_in_bytes": str(V1_UNLIMITED),
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
    }
    root = tree("4:memory:/\n1:cpu:/", v1_mount("memory") + "\n" + v1_mount("cpu"), **files)
    assert limits.memory_limit_bytes(root) == psutil.virtual_memory().total
    assert limits.cgroup_cpu_quota(root) is None


def test_v1_tells_of_limits_above_what_is_mounted(tree: Tree) -> None:
    files = {
        "sys/fs/cgroup/memory/memory.limit_in_bytes": str(8 * GIB),
        "sys/fs/cgroup/memory/memory.stat": f"cache 0\nhierarchical_memory_limit {5 * GIB}\ntotal_cache 1",
    }
    assert limits.cgroup_memory_bytes(tree("4:memory:/", v1_mount("memory"), **files)) == 5 * GIB


@pytest.mark.parametrize("own", ["/docker/abc", "/", "/docker/another"])
def test_in_a_container_the_mounted_group_is_the_own_one(tree: Tree, own: str) -> None:
    mount = v1_mount("memory", "/docker/abc")
    root = tree(f"4:memory:{own}", mount, **{"sys/fs/cgroup/memory/memory.limit_in_bytes": str(GIB)})
    assert limits.cgroup_memory_bytes(root) == GIB


def test_a_group_below_what_a_container_has_mounted_is_found(tree: Tree) -> None:
    files = {
        "sys/fs/cgroup/memory/memory.limit_in_bytes": str(4 * GIB),
        "sys/fs/cgroup/memory/job/memory.limit_in_bytes": str(GIB),
    }
    assert (
        limits.cgroup_memory_bytes(tree("4:memory:/docker/abc/job", v1_mount("memory", "/docker/abc"), **files)) == GIB
    )


def test_without_the_own_group_the_mounted_ones_count(tree: Tree) -> None:
    """The host's path in ``/proc/self/cgroup`` doesn't exist in a container that mounts its own group as the root."""
    root = tree("0::/kubepods/pod1/abc", V2_MOUNT, **{"sys/fs/cgroup/memory.max": str(GIB)})
    assert limits.cgroup_memory_bytes(root) == GIB


def test_in_a_hybrid_tree_both_versions_count(tree: Tree) -> None:
    mounts = v1_mount("memory") + "\n42 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"
    files = {
        "sys/fs/cgroup/memory/job/memory.limit_in_bytes": str(2 * GIB),
        "sys/fs/cgroup/unified/job/cpu.max": "150000 100000",
    }
    root = tree("4:memory:/job\n0::/job", mounts, **files)
    assert limits.cgroup_memory_bytes(root) == 2 * GIB
    assert limits.cgroup_cpu_quota(root) == 1.5


def test_a_mount_point_with_a_blank_is_found(tree: Tree) -> None:
    mount = v1_mount("memory", point=r"/sys/my\040groups")
    root = tree("4:memory:/", mount, **{"sys/my groups/memory.limit_in_bytes": str(GIB)})
    assert limits.cgroup_memory_bytes(root) == GIB


def test_without_proc_the_usual_places_are_read(tmp_path: Path) -> None:
    path = tmp_path / "sys/fs/cgroup/memory/memory.limit_in_bytes"
    path.parent.mkdir(parents=True)
    path.write_text(str(GIB))
    assert limits.cgroup_memory_bytes(tmp_path) == GIB


def test_what_cannot_be_read_sets_no_limit(tree: Tree) -> None:
    files = {
        "sys/fs/cgroup/job/memory.max/is a folder": "",
        "sys/fs/cgroup/job/memory.high": "lots",
        "sys/fs/cgroup/job/cpu.max": "100000",
        "sys/fs/cgroup/job/cpuset.cpus": "all of them",
    }
    root = tree("0::/job\nnonsense", V2_MOUNT + "\nnonsense", **files)
    assert limits.cgroup_memory_bytes(root) is None
    assert limits.cgroup_cpu_quota(root) is None
    assert limits.cgroup_cpuset(root) is None


def test_a_machine_without_control_groups_has_its_own_limits(tmp_path: Path) -> None:
    assert limits.cpu_count(tmp_path) == limits._affinity()
    assert limits.memory_limit_bytes(tmp_path) == psutil.virtual_memory().total


@pytest.mark.parametrize(("quota", "expected"), [("150000", 2), ("10000", 1), ("400000", 4), ("9900000", 64)])
def test_part_of_a_cpu_counts_as_one(tree: Tree, monkeypatch: pytest.MonkeyPatch, quota: str, expected: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(64)), raising=False)
    assert limits.cpu_count(tree("0::/", V2_MOUNT, **{"sys/fs/cgroup/cpu.max": f"{quota} 100000"})) == expected


def test_the_smallest_number_of_cpus_counts(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"sys/fs/cgroup/cpu.max": "700000 100000", "sys/fs/cgroup/cpuset.cpus.effective": "0-4"}
    root = tree("0::/", V2_MOUNT, **files)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(64)), raising=False)
    assert limits.cpu_count(root) == 5
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {1, 7, 9}, raising=False)
    assert limits.cpu_count(root) == 3


def test_a_system_without_affinity_counts_its_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # as on macOS
    monkeypatch.setattr(os, "cpu_count", lambda: 10)
    assert limits.cpu_count(tmp_path) == 10
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert limits.cpu_count(tmp_path) == 1


@pytest.mark.parametrize("option", ["-v", "-d", "-m"])
def test_a_process_knows_its_own_memory_limit(option: str) -> None:
    script = "from glassloom.sampling.limits import process_memory_limit_bytes as limit; print(limit())"
    command = f"ulimit -S {option} 6000000; exec {sys.executable} -c '{script}'"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == f"{6000000 * 1024}\n"


def test_a_process_without_a_memory_limit_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    infinity = resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda _resource: (infinity, 10 * GIB))
    assert limits.process_memory_limit_bytes() is None  # what counts is the soft limit


# What they are for


@pytest.fixture
def pod(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process see 8 CPUs and 16 GiB for all, and 3 GiB for each process."""
    monkeypatch.setattr(options, "cpu_count", lambda: 8)
    monkeypatch.setattr(options, "memory_limit_bytes", lambda: 16 * GIB)
    monkeypatch.setattr(options, "process_memory_limit_bytes", lambda: 3 * GIB)


@pytest.mark.usefixtures("pod")
def test_workers_share_the_memory_and_none_gets_more_than_a_process_may_have() -> None:
    assert options.parse_memory_limit("auto", 8, 1) == 2 * GIB
    assert options.parse_memory_limit("auto", 4, 2) == 3 * GIB
    assert options.parse_memory_limit(0.5, 4, 2) == 8 * GIB
    assert options.parse_memory_limit("0.5", 4, 2) == 8 * GIB


def test_workers_without_limits_of_their_own_share_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "memory_limit_bytes", lambda: 16 * GIB)
    monkeypatch.setattr(options, "process_memory_limit_bytes", lambda: None)
    monkeypatch.setattr(options, "cpu_count", lambda: 8)
    assert options.parse_memory_limit("auto", 4, 2) == 4 * GIB


def test_the_pool_has_a_thread_for_each_cpu_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cpu_count", lambda: 3)
    runtime = threads.ThreadsRuntime(publish=False)
    runtime.close()
    assert runtime.nthreads == 3


def test_arrays_are_computed_on_systems_without_affinity() -> None:
    script = "import os; vars(os).pop('sched_getaffinity', None); import glassloom.array as ga; print(ga.ones(10, chunks=5).sum().compute())"
    environment = {**os.environ, "GLASSLOOM_THREADS__PUBLISH": "false"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, env=environment)
    assert done.stdout == "10.0\n", done.stderr
