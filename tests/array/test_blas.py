"""BLAS uses one thread while tasks multiply side by side, and as many as before afterwards."""

import threading

import glassloom.array as ga
import numpy as np
import pytest
from glassloom.backends import blas
from glassloom.graph import Graph, Task
from glassloom.local import thread_pool
from glassloom.local.threads import ThreadsRuntime


@pytest.fixture
def no_pools(monkeypatch):
    """Forget the pools of other tests."""
    monkeypatch.setattr(blas, "_lanes", {})


def counts():
    return [get_count() for get_count, _ in blas._controls()]


def test_the_number_of_threads_is_one_inside_and_as_before_outside():
    before = counts()
    assert before  # NumPy's own BLAS is found
    seen, both_inside = [], threading.Barrier(2)

    def task():
        with blas.one_blas_thread():
            both_inside.wait(60)
            seen.append(counts())

    threads = [threading.Thread(target=task) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [[1] * len(before)] * 2
    assert counts() == before


def test_products_on_threads_leave_the_users_setting_alone():
    before = counts()
    x = ga.ones((40, 40), chunks=10)
    np.testing.assert_array_equal((x @ x).compute(), np.full((40, 40), 40.0))
    assert counts() == before


def counts_inside(context, n_busy, n_cpus=None):
    """What BLAS may use inside a context of a thread, while so many lanes are busy."""

    def busy():
        return n_busy

    seen = []

    def task():
        with context():
            seen.append(counts())

    blas.watch_lanes(busy, n_cpus)
    try:
        thread = threading.Thread(target=task)
        thread.start()
        thread.join()
    finally:
        blas.forget_lanes(busy)
    return seen[0]


@pytest.mark.usefixtures("no_pools")
def test_a_product_that_is_alone_keeps_all_threads_and_a_factorisation_never_does():
    before = counts()
    blas.set_blas_threads(3)
    try:
        assert counts_inside(blas.sharing_blas, n_busy=1) == [3] * len(before)
        assert counts_inside(blas.sharing_blas, n_busy=2) == [1] * len(before)
        assert counts_inside(blas.one_blas_thread, n_busy=1) == [1] * len(before)
        assert counts() == [3] * len(before)
    finally:
        blas.set_blas_threads(before[0])


def test_a_pool_says_how_many_of_its_lanes_are_busy():
    runtime = ThreadsRuntime(3, publish=False)
    both_run, may_end = threading.Barrier(3), threading.Event()

    def wait(number):
        both_run.wait(60)
        may_end.wait(60)
        return number

    graph = Graph({f"wait-{n}": Task(f"wait-{n}", wait, (n,)) for n in range(2)})
    caller = threading.Thread(target=runtime.get, args=(graph, list(graph.tasks)))
    caller.start()
    both_run.wait(60)
    assert runtime.pool().n_busy() == 2
    may_end.set()
    caller.join()
    runtime.close()


@pytest.mark.usefixtures("no_pools")
def test_a_product_that_is_alone_uses_no_more_threads_than_there_are_cpus():
    before = counts()
    blas.set_blas_threads(8)
    try:
        allowed = counts_inside(blas.sharing_blas, n_busy=1)
        assert counts_inside(blas.sharing_blas, n_busy=1, n_cpus=2) == [min(2, count) for count in allowed]
        assert counts_inside(blas.sharing_blas, n_busy=1, n_cpus=100) == allowed
        assert counts() == allowed
    finally:
        for (_, set_count), count in zip(blas._controls(), before, strict=True):
            set_count(count)


def test_a_pool_says_how_many_cpus_there_are(monkeypatch):
    monkeypatch.setattr(thread_pool, "cpu_count", lambda: 5)
    runtime = ThreadsRuntime(3, publish=False)
    runtime.get(Graph({"x": Task("x", int)}), ["x"])
    assert blas._lanes[runtime.pool().n_busy] == 5
    runtime.close()
    assert runtime._pool.n_busy not in blas._lanes
