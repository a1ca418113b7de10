"""How much is held at once: the order's quality on the graphs that people compute, in blocks, when tasks take equal time.

The bounds have reasons, which each test gives; `n_workers` workers have one thread each, and step together.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from glassloom.graph import Graph, Task, TaskRef
from glassloom.local.synchronous import SynchronousRuntime
from glassloom.scheduler import Scheduler, State, order

LONG_S = 1.0
Deps = dict[str, list[str]]


def peak_held(graph: Deps, wanted: Sequence[str], n_workers: int = 1, nthreads: int = 1) -> int:
    """Run a graph; return the largest number of results that were held or being made at once, what is wanted apart."""
    scheduler = Scheduler(lambda kind, task: (kind, task.key))
    workers = [scheduler.worker_joined(number, f"w{number}", nthreads) for number in range(n_workers)]
    position = {key: number for number, key in enumerate(graph)}
    deps = [[position[dep] for dep in below] for below in graph.values()]
    scheduler.submit("me", list(graph), list(graph), deps, wanted=wanted)
    peak, kept = 0, set(wanted)
    while True:
        actions = scheduler.take_actions()
        for tasks in actions.publish.values():
            for task in tasks:
                scheduler.published(task.owner.number, task.number, f"place of {task.key}")
        if actions.publish:
            continue
        running = [task for worker in workers for task in worker.running]
        if not running:
            break
        held = sum(task.state is State.MEMORY and task.key not in kept for task in scheduler.tasks.values())
        peak = max(peak, held + len(running))
        for task in running:
            scheduler.finished(task.worker.number, [task.number], [1], [LONG_S], [None])
    assert all(scheduler.tasks[key].state is State.MEMORY for key in wanted)
    return peak


def tree_above(leaves: list[str], name: str, width: int = 2) -> Deps:
    """Return a tree of sums above `leaves`; its top is ``{name}-top``."""
    graph: Deps = {}
    level, row = 0, leaves
    while len(row) > 1:
        groups = [row[first : first + width] for first in range(0, len(row), width)]
        names = [f"{name}-{level}-{number}" for number in range(len(groups))] if len(groups) > 1 else [f"{name}-top"]
        graph |= dict(zip(names, groups, strict=True))
        level, row = level + 1, names
    return graph


def tree_reduction(n_leaves: int) -> Deps:
    leaves = [f"load-{n}" for n in range(n_leaves)]
    return {leaf: [] for leaf in leaves} | tree_above(leaves, "sum")


def map_overlap(n_blocks: int) -> Deps:
    """Each block is read with both its neighbours; the results are summed in a tree."""
    graph: Deps = {f"load-{n}": [] for n in range(n_blocks)}
    for n in range(n_blocks):
        graph[f"overlap-{n}"] = [f"load-{m}" for m in (n - 1, n, n + 1) if 0 <= m < n_blocks]
    return graph | tree_above([f"overlap-{n}" for n in range(n_blocks)], "sum")


def transpose_add(n: int) -> Deps:
    """``(x + x.T).sum()`` of n by n blocks, summed row by row."""
    graph: Deps = {f"x-{i}-{j}": [] for i in range(n) for j in range(n)}
    for i in range(n):
        for j in range(n):
            graph[f"add-{i}-{j}"] = list(dict.fromkeys([f"x-{i}-{j}", f"x-{j}-{i}"]))
            graph[f"part-{i}-{j}"] = [f"add-{i}-{j}"]
        graph[f"row-{i}"] = [f"part-{i}-{j}" for j in range(n)]
    graph["total"] = [f"row-{i}" for i in range(n)]
    return graph


def anomaly(n_times: int, n_places: int) -> Deps:
    """``x - x.mean(axis=time)``, reduced: the mean of each place needs all its times, and then they are read again."""
    graph: Deps = {}
    for place in range(n_places):
        times = [f"load-{place}-{t}" for t in range(n_times)]
        graph |= {key: [] for key in times} | {f"part-{place}-{t}": [key] for t, key in enumerate(times)}
        graph |= tree_above([f"part-{place}-{t}" for t in range(n_times)], f"mean-{place}", 4)
        graph |= {f"diff-{place}-{t}": [key, f"mean-{place}-top"] for t, key in enumerate(times)}
        graph |= {f"square-{place}-{t}": [f"diff-{place}-{t}"] for t in range(n_times)}
    return graph | tree_above([f"square-{p}-{t}" for p in range(n_places) for t in range(n_times)], "sum", 4)


def climatology(n_years: int, n_months: int = 12) -> Deps:
    """Group by month, subtract each month's mean from its blocks, store them: a month needs all years."""
    graph: Deps = {f"load-{y}-{m}": [] for y in range(n_years) for m in range(n_months)}
    for month in range(n_months):
        graph |= {f"part-{y}-{month}": [f"load-{y}-{month}"] for y in range(n_years)}
        graph |= tree_above([f"part-{y}-{month}" for y in range(n_years)], f"mean-{month}", 8)
        for year in range(n_years):
            graph[f"anomaly-{year}-{month}"] = [f"load-{year}-{month}", f"mean-{month}-top"]
            graph[f"store-{year}-{month}"] = [f"anomaly-{year}-{month}"]
    return graph


def tsqr(n_blocks: int) -> Deps:
    """QR of a tall and narrow array: each block's q is needed again once the small factors are put together."""
    graph: Deps = {}
    for n in range(n_blocks):
        graph |= {f"load-{n}": [], f"qr-{n}": [f"load-{n}"], f"q-{n}": [f"qr-{n}"], f"r-{n}": [f"qr-{n}"]}
    graph["stack"] = [f"r-{n}" for n in range(n_blocks)]
    graph["qr-of-r"] = ["stack"]
    for n in range(n_blocks):
        graph |= {f"piece-{n}": ["qr-of-r"], f"final-{n}": [f"q-{n}", f"piece-{n}"], f"norm-{n}": [f"final-{n}"]}
    return graph | tree_above([f"norm-{n}" for n in range(n_blocks)], "sum")


def rechunk(n: int) -> Deps:
    """All to all: each of n rows is cut into n pieces, each of n columns put together from them, then reduced."""
    graph: Deps = {f"row-{i}": [] for i in range(n)}
    for i in range(n):
        graph |= {f"cut-{i}-{j}": [f"row-{i}"] for j in range(n)}
    for j in range(n):
        graph |= {f"column-{j}": [f"cut-{i}-{j}" for i in range(n)], f"part-{j}": [f"column-{j}"]}
    return graph | tree_above([f"part-{j}" for j in range(n)], "sum")


def elementwise(n_blocks: int) -> Deps:
    graph: Deps = {}
    for n in range(n_blocks):
        graph |= {f"load-{n}": [], f"inc-{n}": [f"load-{n}"], f"dec-{n}": [f"inc-{n}"]}
    return graph


CASES = {
    # Per level of the tree one block that waits for its neighbour, and the two that are summed now.
    "tree-reduction": (tree_reduction(256), ["sum-top"], 8 + 2),
    # The tree above, and of the overlapping blocks three inputs each, two of which the neighbours still read.
    "map-overlap": (map_overlap(128), ["sum-top"], 7 + 2 + 5),
    # Summed row by row, the sums of the lower triangle wait for their rows: n * n / 2, and two rows under way.
    "transpose-add": (transpose_add(16), ["total"], 16 * 16 // 2 + 2 * 16),
    # One place's 20 times are held until its mean is known; three partial sums a level of the two trees, width 4.
    "anomaly-mean": (anomaly(20, 10), ["sum-top"], 20 + 3 * 2 + 3 * 2),
    # One month's 10 years, not all twelve months', are held until its mean is known; of their parts 7 before the 8th sums.
    "climatology": (climatology(10), [f"store-{y}-{m}" for y in range(10) for m in range(12)], 10 + 7),
    # Each block's q waits for all r: nothing less is possible.
    "tall-and-skinny-qr": (tsqr(32), ["sum-top"], 32 + 32 + 1),
    # All rows are there before the first column is whole; of the columns only one is cut out at a time.
    "rechunk-all-to-all": (rechunk(12), ["sum-top"], 12 + 12 + 4),
    "elementwise-chains": (elementwise(100), [f"dec-{n}" for n in range(100)], 2),
}


@pytest.mark.parametrize("case", CASES)
def test_one_thread_holds_no_more_than_the_graph_makes_it_hold(case: str) -> None:
    graph, wanted, bound = CASES[case]
    assert peak_held(graph, wanted) <= bound


@pytest.mark.pairwise
@pytest.mark.parametrize(("n_workers", "nthreads"), [(1, 4), (4, 1), (4, 2)])
@pytest.mark.parametrize("case", CASES)
def test_further_threads_hold_a_few_blocks_more_each(case: str, n_workers: int, nthreads: int) -> None:
    """A thread works on a part of its own, of which it holds what one thread would hold of a part of that size."""
    graph, wanted, bound = CASES[case]
    own_part = {"anomaly-mean": 5, "rechunk-all-to-all": 12}.get(case, 4)  # a place; a column's pieces
    assert peak_held(graph, wanted, n_workers, nthreads) <= bound + own_part * (n_workers * nthreads)


class Counted:
    """A result that knows how many there are."""

    alive = most = 0

    def __init__(self, *read: Counted) -> None:
        Counted.alive += 1
        Counted.most = max(Counted.most, Counted.alive)

    def __del__(self) -> None:
        Counted.alive -= 1


@pytest.mark.parametrize("case", CASES)
def test_tasks_in_the_calling_thread_hold_no_more(case: str) -> None:
    graph, wanted, bound = CASES[case]
    tasks = {key: Task(key, Counted, tuple(map(TaskRef, below))) for key, below in graph.items()}
    Counted.alive = Counted.most = 0
    held = SynchronousRuntime().hold(Graph(tasks), wanted)
    assert len(held) == Counted.alive == len(wanted)
    assert Counted.most <= bound + len(wanted)


@pytest.mark.parametrize("case", CASES)
def test_a_task_ranks_after_all_that_it_reads(case: str) -> None:
    graph, _, _ = CASES[case]
    position = {key: number for number, key in enumerate(graph)}
    deps = [[position[dep] for dep in below] for below in graph.values()]
    ranks = order(deps)
    assert sorted(ranks) == list(range(len(graph)))
    assert all(ranks[dep] < ranks[number] for number, below in enumerate(deps) for dep in below)


def test_a_deep_and_a_wide_graph_are_ordered_without_recursion() -> None:
    n_tasks = 100_000
    assert order([[number - 1] if number else [] for number in range(n_tasks)]) == list(range(n_tasks))
    assert order([*([] for _ in range(n_tasks)), list(range(n_tasks))]) == list(range(n_tasks + 1))
