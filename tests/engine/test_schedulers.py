"""Where `compute` and `persist` run: by the names that people type, by the configuration, by the client that is open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import glassloom
import pytest
from glassloom import Client, config, delayed
from glassloom.client import processes
from glassloom.errors import OptionError
from tasks import where


@pytest.fixture(autouse=True)
def no_cluster_is_kept() -> Iterator[None]:
    yield
    config.refresh()
    if processes._kept is not None:
        processes._kept.close()
        processes._kept = None


def run_where(scheduler: str | None) -> tuple[int, str]:
    return tuple(delayed(where, pure=False)().compute(scheduler=scheduler))


@pytest.mark.parametrize("name", ["synchronous", "sync", "single-threaded", "inline"])
def test_synchronous_is_the_calling_thread(name: str) -> None:
    assert run_where(name) == where()


@pytest.mark.parametrize("name", ["threads", "threading"])
def test_threads_are_this_processs_pool(name: str) -> None:
    pid, thread = run_where(name)
    assert pid == os.getpid()
    assert thread.startswith("glassloom-")


def test_an_unknown_scheduler_is_told_which_there_are() -> None:
    with pytest.raises(
        OptionError, match="scheduler='thread' is none of 'processes', 'synchronous', 'threads' and no Client"
    ):
        run_where("thread")
    with pytest.raises(OptionError, match="scheduler=3 is none of"):
        delayed(where)().compute(scheduler=3)


@pytest.mark.parametrize("name", ["processes", "multiprocessing"])
def test_processes_are_a_cluster_that_is_kept(name: str) -> None:
    with config.set(cluster__n_workers=1, cluster__threads_per_worker=1):
        first, second = run_where(name), run_where(name)
    assert first[0] == second[0] != os.getpid()
    assert processes._kept is not None
    with pytest.raises(glassloom.errors.ClusterClosed, match="no client is open"):
        glassloom.default_client()


def test_processes_are_the_open_client_if_there_is_one() -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:
        (worker,) = client.run(os.getpid).values()
        assert run_where("processes")[0] == worker
    assert processes._kept is None


def test_a_kept_cluster_that_has_ended_is_replaced() -> None:
    with config.set(cluster__n_workers=1, cluster__threads_per_worker=1):
        first = run_where("processes")
        assert processes._kept is not None
        processes._kept.shutdown()
        assert run_where("processes")[0] not in (first[0], os.getpid())


def test_persisted_blocks_stay_in_the_kept_cluster() -> None:
    with config.set(cluster__n_workers=1, cluster__threads_per_worker=1):
        held = delayed(where, pure=False)().persist(scheduler="processes")
        assert held.compute(scheduler="processes")[0] != os.getpid()


def test_a_kept_cluster_ends_with_its_process() -> None:
    script = """
import glassloom as gl, os
gl.config.set(cluster__n_workers=1)
print(gl.delayed(os.getpid, pure=False)().compute(scheduler="processes"))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True)
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), signal.SIGCONT)


def test_the_configured_scheduler_counts_if_none_is_given() -> None:
    with config.set(compute__scheduler="synchronous"):
        assert run_where(None) == where()
        assert run_where("threads") != where()
    assert run_where(None) != where()


def test_the_configured_scheduler_goes_before_the_client() -> None:
    with Client(n_workers=1, threads_per_worker=1):
        assert run_where(None)[0] != os.getpid()
        with config.set(compute__scheduler="synchronous"):
            assert run_where(None) == where()


def test_a_task_computes_in_its_own_thread_whatever_is_configured() -> None:
    config.set(compute__scheduler="threads")
    outer, inner = delayed(lambda: (where(), run_where(None)), pure=False)().compute()
    assert tuple(outer) == tuple(inner)
