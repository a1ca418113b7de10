"""Freed memory is kept for the next blocks, unless the environment or an option says otherwise; trimming returns it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from glassloom import Client, LocalCluster, config
from glassloom._allocators import settings_for_processes

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator and /proc")

_POOL = """
import sys
import pyarrow
import glassloom, glassloom.array as ga
ga.ones(3, chunks=3).sum().compute(scheduler="threads")
print(pyarrow.default_memory_pool().backend_name)
"""
_FAULTS = """
import resource
import numpy as np
import glassloom, glassloom.array as ga
ga.ones(3, chunks=3).sum().compute(scheduler="threads")
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    blocks = [np.ones(2**18) for _ in range(20)]  # of 2 MiB, which go all at once
    del blocks
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def _printed(code: str, **environ: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**inherited, **environ},
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.stdout.strip()


@linux
def test_arrow_allocates_as_numpy_does_once_something_was_computed() -> None:
    assert _printed(_POOL) == "system"


@linux
@pytest.mark.parametrize(
    "environ", [{"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}, {"GLASSLOOM_COMPUTE__TUNE_ALLOCATORS": "false"}]
)
def test_what_the_environment_says_of_arrow_stays(environ: dict[str, str]) -> None:
    if "mimalloc" not in _printed("import pyarrow; print(pyarrow.supported_memory_backends())"):
        pytest.skip("PyArrow was built without mimalloc")
    assert _printed(_POOL, **environ) == "mimalloc"


@linux
def test_blocks_are_given_the_pages_of_freed_ones() -> None:
    pages_of_blocks = 50 * 20 * 512
    assert int(_printed(_FAULTS)) < pages_of_blocks / 10
    assert int(_printed(_FAULTS, MALLOC_MMAP_THRESHOLD_="65536")) > pages_of_blocks / 2  # the user's word counts


_FREED = """
import os
import numpy as np
from glassloom.sampling.process import memory_of
from glassloom.store.trim import trim_freed_memory
blocks = [np.ones(2**18) for _ in range(100)]  # 200 MiB
del blocks
kept = memory_of(os.getpid()).own_bytes
trim_freed_memory()
print((kept - memory_of(os.getpid()).own_bytes) // 2**20)
"""


@linux
def test_trimming_returns_what_is_kept() -> None:
    """In a process of its own: after a while the main thread of this one may have got another arena than the first."""
    assert int(_printed(_FREED, **settings_for_processes({}))) > 150


_FREED_IN_THREADS = """
import ctypes, os, threading
from glassloom.sampling.process import memory_of
from glassloom.store.trim import reach_arena, trim_freed_memory

def use() -> None:
    reach_arena()
    before.wait()
    blocks = [malloc(2**22) for _ in range(10)]
    for block in blocks:
        ctypes.memset(block, 1, 2**22)
    for block in reversed(blocks):
        free(block)
    freed.wait()
    ended.wait()

malloc, free = ctypes.CDLL(None).malloc, ctypes.CDLL(None).free
malloc.argtypes, malloc.restype, free.argtypes = [ctypes.c_size_t], ctypes.c_void_p, [ctypes.c_void_p]

before, freed, ended = (threading.Barrier(3) for _ in range(3))
threads = [threading.Thread(target=use) for _ in range(2)]
for thread in threads:
    thread.start()
sizes = [memory_of(os.getpid()).own_bytes]  # before the threads go on, which would have begun to allocate
before.wait()
freed.wait()
sizes.append(memory_of(os.getpid()).own_bytes)
trim_freed_memory()
sizes.append(memory_of(os.getpid()).own_bytes)
ended.wait()
print(*((size - sizes[0]) // 2**20 for size in sizes[1:]))
"""


@linux
def test_trimming_returns_what_threads_have_freed() -> None:
    kept, left = map(int, _printed(_FREED_IN_THREADS, **settings_for_processes({})).split())
    assert kept > 64 and left < 8


def _pool_in_task() -> Any:
    import pyarrow

    return pyarrow.default_memory_pool().backend_name


@linux
def test_workers_do_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    with LocalCluster(n_workers=1, threads_per_worker=1) as cluster, Client(cluster) as client:
        assert client.submit(_pool_in_task).result() == "system"


@linux
def test_an_option_set_in_the_program_reaches_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    with (
        config.set({"compute.tune-allocators": False}),
        LocalCluster(n_workers=1, threads_per_worker=1) as cluster,
        Client(cluster) as client,
    ):
        assert client.submit(_environment).result() is None


def _environment() -> str | None:
    return os.environ.get("ARROW_DEFAULT_MEMORY_POOL")


_FORKED = """
import os, threading
from glassloom.store import trim

def thread():
    trim.reach_arena()
    began.set()
    over.wait()

began, over = threading.Event(), threading.Event()
threading.Thread(target=thread, daemon=True).start()
began.wait()
with trim._lock:  # as a thread has it that trims
    child = os.fork()
if not child:
    trim.reach_arena()
    trim.trim_freed_memory()
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
over.set()
"""


@linux
def test_a_forked_child_waits_for_no_thread_that_trimmed() -> None:
    assert _printed(_FORKED) == "7"
