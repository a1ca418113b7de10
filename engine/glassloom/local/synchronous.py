"""Runs a graph in the calling thread, one task after the other: for debugging. No scheduler, no metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from glassloom.backends.sharing import private_copy, read_only_view
from glassloom.errors import GraphError
from glassloom.graph import Graph, Key
from glassloom.local.default import refuse_held, register_runtime


class SynchronousRuntime:
    """Runs tasks depth first; an exception leaves as it is, with the debugger's frames intact."""

    shares_memory = True

    def get(self, graph: Graph, keys: Sequence[Key]) -> list[Any]:
        held = self.hold(graph, keys)
        return [private_copy(held[key]) for key in keys]

    def hold(self, graph: Graph, keys: Sequence[Key]) -> Mapping[Key, Any]:
        refuse_held(graph)
        results: dict[Key, Any] = {}
        uses: dict[Key, int] = dict.fromkeys(keys, 1)
        for task in graph.tasks.values():
            for dep in task.deps:
                uses[dep] = uses.get(dep, 0) + 1
        stack: list[Key] = list(reversed(keys))
        open_keys: set[Key] = set()
        while stack:
            key = stack[-1]
            if key in results:
                stack.pop()
                continue
            task = graph.tasks[key]
            missing = [dep for dep in task.deps if dep not in results]
            if missing:
                if key in open_keys:
                    raise GraphError(f"the graph has a cycle through {key!r} and {missing[0]!r}")
                open_keys.add(key)
                stack.extend(reversed(missing))
                continue
            stack.pop()
            open_keys.discard(key)
            results[key] = task.run({dep: read_only_view(results[dep]) for dep in task.deps})
            for dep in task.deps:
                uses[dep] -= 1
                if not uses[dep]:
                    del results[dep]
        return {key: results[key] for key in keys}


register_runtime("synchronous", SynchronousRuntime)
