"""Runs a graph in the calling thread, one task after the other: for debugging. No metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from glassloom.backends.sharing import private_copy, read_only_view
from glassloom.errors import GraphError
from glassloom.graph import Graph, Key, Task
from glassloom.local.default import refuse_held, register_runtime
from glassloom.sampling.limits import own_memory_bytes
from glassloom.scheduler.order import Cycle, order


class SynchronousRuntime:
    """Runs tasks in the scheduler's order; an exception leaves as it is, with the debugger's frames intact."""

    shares_memory = True

    @property
    def process_memory_bytes(self) -> int | None:
        """See `glassloom.local.default.Runtime`."""
        return own_memory_bytes()

    def get(self, graph: Graph, keys: Sequence[Key]) -> list[Any]:
        held = self.hold(graph, keys)
        return [private_copy(held[key]) for key in keys]

    def hold(self, graph: Graph, keys: Sequence[Key]) -> Mapping[Key, Any]:
        refuse_held(graph)
        wanted = set(keys)
        results: dict[Key, Any] = {}
        tasks = _in_order(graph, keys)
        uses = Counter(dep for task in tasks for dep in task.deps)
        for task in tasks:
            results[task.key] = task.run({dep: read_only_view(results[dep]) for dep in task.deps})
            for dep in task.deps:
                uses[dep] -= 1
                if not uses[dep] and dep not in wanted:
                    del results[dep]
        return {key: results[key] for key in keys}


def _in_order(graph: Graph, keys: Sequence[Key]) -> list[Task]:
    """Return the tasks that keys need, in the order of the scheduler, which holds few results at a time."""
    position: dict[Key, int] = dict.fromkeys(keys, 0)
    for key in (found := list(position)):
        found += (new := [dep for dep in graph.tasks[key].deps if dep not in position])
        position.update(dict.fromkeys(new, 0))
    needed = [task for key, task in graph.tasks.items() if key in position]
    position.update({task.key: number for number, task in enumerate(needed)})
    try:
        ranks = order([[position[dep] for dep in task.deps] for task in needed])
    except Cycle as error:
        raise GraphError(f"the graph has a cycle through {needed[error.task].key!r}") from None
    return [task for _, task in sorted(zip(ranks, needed, strict=True), key=itemgetter(0))]


register_runtime("synchronous", SynchronousRuntime)
