"""How many blocks exist at once when tasks run in their static order: counted on the graph, nothing is run."""

import heapq

import glassloom.array as ga
import numpy as np
import pytest
from glassloom.array.optimize.explain import nbytes_of_block
from glassloom.expr import lower, optimize, walk
from glassloom.scheduler.order import order

SIDE = 12
"""Blocks along each axis of a square array."""
LENGTH = 100
"""Elements along each side of a block."""


@pytest.fixture
def x():
    return ga.random.default_rng(0).random((SIDE * LENGTH, SIDE * LENGTH), chunks=LENGTH)


def most_blocks_held(*arrays, n_threads=1):
    """Return the most bytes of results that exist at once, those of running tasks too, in blocks of `LENGTH` squared."""
    roots = optimize([array.expr for array in arrays])
    graph, keys = lower(roots)
    place = {key: number for number, key in enumerate(graph.tasks)}
    deps = [[place[key] for key in task.deps] for task in graph.tasks.values()]
    nbytes = [sizes.get(key, 0) for sizes in [nbytes_of_results(roots)] for key in graph.tasks]
    return peak(deps, nbytes, [place[key] for group in keys for key in group], n_threads) / (8 * LENGTH**2)


def nbytes_of_results(roots):
    found = {}
    for node in walk(roots):
        for key in node.output_keys():
            found[key] = nbytes_of_block(node, key[1:])
    return found


def peak(deps, nbytes, wanted, n_threads):
    ranks = order(deps)
    readers = [0] * len(deps)
    dependents = [[] for _ in deps]
    for task, below in enumerate(deps):
        for dep in below:
            readers[dep] += 1
            dependents[dep].append(task)
    for task in wanted:
        readers[task] += 1
    n_open = list(map(len, deps))
    ready = [(ranks[task], task) for task in range(len(deps)) if not n_open[task]]
    heapq.heapify(ready)
    running = []
    held = most = 0
    while ready or running:
        while ready and len(running) < n_threads:
            running.append(heapq.heappop(ready)[1])
            held += nbytes[running[-1]]
        most = max(most, held)
        done = running.pop(0)
        for dep in deps[done]:
            readers[dep] -= 1
            held -= 0 if readers[dep] else nbytes[dep]
        for task in dependents[done]:
            n_open[task] -= 1
            if not n_open[task]:
                heapq.heappush(ready, (ranks[task], task))
    return most


PERMUTED = np.random.default_rng(1).permutation(SIDE * LENGTH)

BY_COLUMN = {
    "centred along axis 0": lambda x: abs(x - x.mean(axis=0)).sum(),
    "centred along axis 1": lambda x: abs(x - x.mean(axis=1, keepdims=True)).sum(),
    "squares of what is centred": lambda x: ((x - x.mean(axis=0)) ** 2).mean(),
    "standardised": lambda x: (((x - x.mean(axis=0)) / x.std(axis=0)) ** 2).mean(),
    "in another order of rows": lambda x: x[PERMUTED].sum(),
    "in another order of columns": lambda x: x[:, PERMUTED].sum(),
}


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("name", BY_COLUMN)
def test_a_full_reduction_of_what_works_on_columns_holds_one_column(x, name, n_threads):
    assert most_blocks_held(BY_COLUMN[name](x), n_threads=n_threads) <= SIDE + 2 * n_threads


@pytest.mark.parametrize("n_threads", [1, 4])
def test_a_column_and_its_blocks_joined_exist_together_for_a_median(x, n_threads):
    assert most_blocks_held(abs(x - ga.median(x, axis=0)).mean(), n_threads=n_threads) <= 2 * SIDE + 3 * n_threads


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_running_sum_holds_a_few_blocks(x, axis, n_threads):
    assert most_blocks_held(ga.cumsum(x, axis).mean(), n_threads=n_threads) <= 1 + 3 * n_threads


@pytest.mark.parametrize("n_threads", [1, 4])
def test_a_block_and_its_mirror_image_are_used_up_together(x, n_threads):
    assert most_blocks_held((x + x.T).sum(), n_threads=n_threads) <= 3 * n_threads


@pytest.mark.parametrize("n_threads", [1, 4])
def test_a_difference_of_neighbours_holds_a_few_blocks(n_threads):
    x = ga.random.default_rng(0).random(100 * LENGTH**2, chunks=LENGTH**2)
    assert most_blocks_held((x[1:] - x[:-1]).sum(), n_threads=n_threads) <= 3 + 2 * n_threads


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("key", [(0,), (slice(None), 0)])
def test_a_difference_of_neighbours_along_one_of_two_axes_holds_a_few_blocks(x, key, n_threads):
    inside = (slice(None),) * (len(key) - 1)
    difference = x[*inside, 1:] - x[*inside, :-1]
    assert most_blocks_held(abs(difference * 2).sum(), n_threads=n_threads) <= 3 + 3 * n_threads


def test_a_product_of_matrices_holds_no_more_products_than_before(x):
    assert most_blocks_held((x @ x).sum()) <= SIDE**2 + SIDE + 2


@pytest.mark.parametrize("n_threads", [1, 4])
def test_two_statistics_of_an_array_use_up_each_block_when_it_is_made(x, n_threads):
    assert most_blocks_held(x.mean(), x.std(), n_threads=n_threads) <= n_threads + 1


def test_statistics_that_are_made_together_hold_partial_results_alone(x):
    assert most_blocks_held(x.mean(), x.std(), x.max(axis=0)) < 2
