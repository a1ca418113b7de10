"""The static order of a graph: which of two tasks that could both run should go first.

Depth first from the outputs, so that what was loaded is reduced before more is loaded; of a task's dependencies the
one with the most work below it goes first, because its result is one block while the others' inputs aren't loaded
yet (R. Sethi and J. D. Ullman, "The generation of optimal code for arithmetic expressions", J. ACM 17(4), 1970).

Before anything else is loaded, runnable tasks follow that let go of as many results as they make: when the mean of a
column of blocks is known, all blocks of the column are used up, though the sum that they go into joins squares of blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

_FEW = 3
"""That many results of maps of one result, such as partial sums and squares, are thought to take no more room than it."""


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
    return _Order(deps).ranks() if any(deps) else list(range(len(deps)))


class _Order:
    """The state of one ordering."""

    def __init__(self, deps: Sequence[Sequence[int]]) -> None:
        self._deps = deps
        self._topological, self._readers = _topological(deps)
        self._rank = [-1] * len(deps)
        self._n_ranked = 0
        self._n_open = [len(below) for below in deps]
        """How many dependencies of each task have no rank yet."""
        self._n_readers = [len(above) for above in self._readers]
        """How many readers of each task's result have no rank yet."""
        self._n_blocked = self._n_readers.copy()
        """How many of them wait for something else."""
        self._closed: list[int] = []
        """Results all of whose readers could run since they were looked at last, in this order."""
        self._n_reads = [0] * len(deps)
        """Of each result, by how many of the readers that are being counted it is read: 0 in between."""

    def ranks(self) -> list[int]:
        """Return each task's rank."""
        weight = self._weights()
        deps, rank, n_open, n_readers, closed = self._deps, self._rank, self._n_open, self._n_readers, self._closed
        for root in range(len(deps)):
            if self._readers[root] or rank[root] >= 0:
                continue
            stack = [root]
            while stack:
                task = stack[-1]
                if rank[task] >= 0:
                    stack.pop()
                elif n_open[task]:
                    open_deps = [dep for dep in deps[task] if rank[dep] < 0]
                    if len(open_deps) > 1:
                        open_deps.sort(reverse=True)  # of equal weight, the first in the graph is the last here
                        open_deps.sort(key=weight.__getitem__)
                    stack.extend(open_deps)
                elif closed and 1 not in [n_readers[dep] for dep in deps[task]]:  # it would let go of nothing
                    stack.extend(self._that_free_room())
                else:
                    stack.pop()
                    reader = self._take(task)
                    if reader >= 0 and n_readers[task] == 1:
                        stack.append(reader)  # the only one: it takes the place of what it reads
        return rank

    def _weights(self) -> list[int]:
        """Return a capped sum over paths: exact on trees, and large enough to compare subtrees of anything else."""
        weight = [1] * len(self._deps)
        for task in self._topological:
            weight[task] = min(1 + sum([weight[dep] for dep in self._deps[task]]), 1 << 40)
        return weight

    def _take(self, task: int) -> int:
        """Give a task its rank; return a reader of its result that could run now, -1 if there is none."""
        self._rank[task] = self._n_ranked
        self._n_ranked += 1
        n_open, n_blocked, n_readers, closed = self._n_open, self._n_blocked, self._n_readers, self._closed
        for dep in self._deps[task]:
            n_readers[dep] -= 1
            if n_readers[dep] == 1 and not n_blocked[dep]:
                closed.append(dep)
        runnable = -1
        for reader in self._readers[task]:
            n_open[reader] -= 1
            if n_open[reader]:
                continue
            runnable = reader
            for dep in self._deps[reader]:
                n_blocked[dep] -= 1
                if not n_blocked[dep]:
                    closed.append(dep)
        return runnable

    def _that_free_room(self) -> list[int]:
        """Return tasks that could run where, together, they let go of as many results as they make, or are few maps; the first last."""
        found: list[int] = []
        looked_at: set[int] = set()
        for result in self._closed:
            if not self._n_readers[result] or result in looked_at:
                continue
            readers = self._waiting_readers(result)
            if len(readers) > 1 and not self._are_few_maps(readers):
                freed, read = self._freed_by(readers)
                looked_at.update(freed)
                if len(freed) < len(readers):  # not alone, but perhaps with the other readers of what they read
                    readers = self._with_readers_of(read, readers)
                    freed, _ = self._freed_by(readers)
                    looked_at.update(freed)
                if len(freed) < len(readers):
                    continue
            found += readers
        self._closed.clear()
        found.reverse()
        return found

    def _are_few_maps(self, readers: Sequence[int]) -> bool:
        """Tell whether readers read one result only, and are few."""
        return len(readers) <= _FEW and all([len(self._deps[reader]) == 1 for reader in readers])

    def _waiting_readers(self, result: int) -> list[int]:
        rank = self._rank
        return [reader for reader in self._readers[result] if rank[reader] < 0]

    def _freed_by(self, readers: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the results that nobody needs any more after some readers, and all that these read."""
        deps, n_reads, n_readers = self._deps, self._n_reads, self._n_readers
        read: list[int] = []
        for reader in readers:
            for dep in deps[reader]:
                if not n_reads[dep]:
                    read.append(dep)
                n_reads[dep] += 1
        freed = [dep for dep in read if n_reads[dep] == n_readers[dep]]
        for dep in read:
            n_reads[dep] = 0
        return freed, read

    def _with_readers_of(self, results: Sequence[int], readers: Sequence[int]) -> list[int]:
        """Return the readers and those of other results, as far as these could run."""
        rank, n_blocked = self._rank, self._n_blocked
        found = dict.fromkeys(readers)
        for result in results:
            if not n_blocked[result]:
                for reader in self._readers[result]:
                    if rank[reader] < 0:
                        found[reader] = None
        return list(found)


def _topological(deps: Sequence[Sequence[int]]) -> tuple[list[int], list[Sequence[int]]]:
    """Return the tasks with dependencies first (Kahn's algorithm), and each task's dependants."""
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
    return found, [above or () for above in dependents]
