"""BLAS uses one thread while tasks multiply side by side, and as many as before afterwards."""

import threading

import glassloom.array as ga
import numpy as np
from glassloom.backends import blas


def counts():
    return [get_count() for get_count, _ in blas._controls()]


def test_the_number_of_threads_is_one_inside_and_as_before_outside():
    before = counts()
    assert before  # NumPy's own BLAS is found
    seen, both_inside = [], threading.Barrier(2)

    def task():
        with blas.one_blas_thread():
            both_inside.wait(10)
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
