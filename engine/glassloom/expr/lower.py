"""From expressions to a graph: simplify, fuse, make the tasks, cull."""

from __future__ import annotations

from collections.abc import Sequence

from glassloom import config
from glassloom._gc import gc_paused
from glassloom.expr.blockwise import Fused
from glassloom.expr.core import Expr, walk
from glassloom.expr.fuse import fuse
from glassloom.expr.rules import simplify
from glassloom.graph import Graph, Key, cull, key_layer


def optimize(roots: Sequence[Expr], *, fuse_blocks: bool | None = None) -> list[Expr]:
    """Return equivalent roots that need fewer tasks and less memory. All roots are optimised together.

    Parameters
    ----------
    fuse_blocks
        Whether block-wise nodes become part of their only consumer's task; None: the option ``compute.fuse``.
    """
    simple = simplify(roots)
    return fuse(simple) if (config.get("compute.fuse") if fuse_blocks is None else fuse_blocks) else simple


def lower(roots: Sequence[Expr]) -> tuple[Graph, list[list[Key]]]:
    """Return the graph of the roots as they are, and the keys of each root's blocks.

    Blocks that a cluster holds (of persisted nodes) are referred to, not made.
    """
    with gc_paused():
        return _lower(roots)


def _lower(roots: Sequence[Expr]) -> tuple[Graph, list[list[Key]]]:
    graph = Graph()
    held: set[Key] = set()
    for node in walk(roots):
        tasks = node.tasks()
        if not node.dependencies:
            held.update(key for key in node.output_keys() if key not in tasks)
        graph.add(tasks)
        for layer in {str(key[0]) if type(key) is tuple else key_layer(key) for key in tasks}:
            if node.origin is not None:
                graph.origins[layer] = node.origin
            if isinstance(node, Fused):
                graph.labels[layer] = node.label
    keys = [root.output_keys() for root in roots]
    wanted = [key for group in keys for key in group]
    return cull(graph, wanted, held), keys
