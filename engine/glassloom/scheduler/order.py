"""The static order of a graph: which of two tasks that could both run should go first.

Depth first from the outputs, so that what was loaded is reduced before more is loaded; of a task's dependencies the
one with the most work below it goes first, because its result is one block while the others' inputs aren't loaded
yet (R. Sethi and J. D. Ullman, "The generation of optimal code for arithmetic expressions", J. ACM 17(4), 1970).
"""

from __future__ import annotations

from collections.abc import Sequence


class Cycle(ValueError):
    """The graph has a cycle; `task` is the position of a task on it or behind it."""

    def __init__(self, task: int) -> None:
        super().__init__(f"the graph has a cycle through task {task}")
        self.task = task


def order(deps: Sequence[Sequence[int]]) -> list[int]:
    """Return each task's rank, 0 first; a dependency always ranks before its dependants.

    Parameters
    ----------
    deps
        For each task the positions of its dependencies in the same sequence.

    Raises
    ------
    Cycle
        If there is one.

    Examples
    --------
    >>> order([[], [], [0, 1]])  # two loads, one sum
    [0, 1, 2]
    """
    n_tasks = len(deps)
    if not any(deps):
        return list(range(n_tasks))
    topological, n_dependents = _topological(deps)
    weight = [1] * n_tasks
    for task in topological:
        # Capped sum over paths: exact on trees, and large enough to compare subtrees of anything else.
        weight[task] = min(1 + sum(weight[dep] for dep in deps[task]), 1 << 40)
    rank = [-1] * n_tasks
    next_rank = 0
    for root in range(n_tasks):
        if n_dependents[root] or rank[root] >= 0:
            continue
        stack = [root]
        while stack:
            task = stack[-1]
            if rank[task] >= 0:
                stack.pop()
                continue
            open_deps = [dep for dep in deps[task] if rank[dep] < 0]
            if open_deps:
                if len(open_deps) > 1:
                    open_deps.sort(key=lambda dep: (weight[dep], -dep))
                stack.extend(open_deps)
                continue
            rank[task] = next_rank
            next_rank += 1
            stack.pop()
    return rank


def _topological(deps: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Return the tasks with dependencies first (Kahn's algorithm), and each task's number of dependants."""
    n_tasks = len(deps)
    dependents: list[list[int] | None] = [None] * n_tasks
    n_open = [0] * n_tasks
    for task, below in enumerate(deps):
        n_open[task] = len(below)
        for dep in below:
            above = dependents[dep]
            if above is None:
                dependents[dep] = [task]
            else:
                above.append(task)
    found = [task for task in range(n_tasks) if not n_open[task]]
    for task in found:
        for dependent in dependents[task] or ():
            n_open[dependent] -= 1
            if not n_open[dependent]:
                found.append(dependent)
    if len(found) < n_tasks:
        raise Cycle(next(task for task in range(n_tasks) if n_open[task]))
    return found, [len(above) if above else 0 for above in dependents]
