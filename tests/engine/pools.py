"""What the tests of the pool of threads share: waiting for it, looking into it, ending it."""

from __future__ import annotations

from eventual import eventually
from glassloom.local.threads import ThreadsRuntime


def holds_nothing(runtime: ThreadsRuntime) -> None:
    """Wait until no thread of the pool runs anything; fail if the pool holds on to anything then."""
    pool = runtime._pool
    worker = pool.scheduler.workers[0]
    eventually(lambda: pool.is_idle and not worker.stopping and not worker.running)
    assert (pool.scheduler.tasks, pool.scheduler.by_number, pool.results, pool.computations) == ({}, {}, {}, {})


def end(runtime: ThreadsRuntime) -> None:
    """Close the runtime and wait for its threads."""
    pool = runtime._pool
    runtime.close()
    for slot in pool.slots:
        if slot.thread is not None:
            slot.thread.join(60)
            assert not slot.thread.is_alive()
