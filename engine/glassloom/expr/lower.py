"""From expressions to a graph: simplify, fuse, make the tasks, cull."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from glassloom import config
from glassloom._gc import gc_paused
from glassloom.expr.blockwise import Fused, same_block
from glassloom.expr.core import Expr, walk
from glassloom.expr.fuse import fuse
from glassloom.expr.memo import remembering
from glassloom.expr.rules import simplify
from glassloom.expr.siblings import Parts, SiblingOutput
from glassloom.graph import Graph, Key, Task, cull, key_layer


def optimize(roots: Sequence[Expr], *, fuse_blocks: bool | None = None, keeps_blocks: bool = True) -> list[Expr]:
    """Return equivalent roots that need fewer tasks and less memory. All roots are optimised together.

    Parameters
    ----------
    fuse_blocks
        Whether block-wise nodes become part of their only consumer's task; None: the option ``compute.fuse``.
    keeps_blocks
        Whether the roots' blocks are asked for, not only what they are together.
    """
    if _are_opaque(walk(roots)):
        return list(roots)
    fuses = config.get("compute.fuse") if fuse_blocks is None else fuse_blocks
    with gc_paused():
        return remembering(lambda: _optimized(roots, fuses, keeps_blocks))


def _optimized(roots: Sequence[Expr], fuses: bool, keeps_blocks: bool) -> list[Expr]:
    simple = simplify(roots, keeps_blocks=keeps_blocks)
    return fuse(simple) if fuses else simple


def lower(roots: Sequence[Expr], *, shares_memory: bool = False) -> tuple[Graph, list[list[Key]]]:
    """Return the graph of the roots as they are, and the keys of each root's blocks.

    Blocks that a cluster holds (of persisted nodes) are referred to, not made. With `shares_memory` the graph is for a
    runtime whose tasks read each other's results where they are.
    """
    with gc_paused():
        return _lower(roots, shares_memory)


def _lower(roots: Sequence[Expr], shares_memory: bool) -> tuple[Graph, list[list[Key]]]:
    graph = Graph()
    held: set[Key] = set()
    aliases: dict[Key, Key] = {}
    parts = Parts()
    nodes = walk(roots)
    for node in nodes:
        task = node.only_task()
        if task is not None:
            graph.tasks.setdefault(task.key, task)
            if node.origin is not None:
                graph.origins[key_layer(task.key)] = node.origin
            continue
        tasks = node.tasks_in_shared_memory() if shares_memory else node.tasks()
        if not node.dependencies:
            held.update([key for key in node.output_keys() if key not in tasks])
        if aliases:
            tasks = {key: task.reading(aliases) for key, task in tasks.items()}
        own = node.aliases()
        aliases.update((key, aliases.get(source, source)) for key, source in own.items())
        parts.add(node)
        if parts and (aliases or any(type(below) is SiblingOutput for below in node.dependencies)):
            tasks = _taking_parts(tasks, parts, graph)
        graph.add(tasks)
        _note_layers(graph, node, tasks)
    keys = [root.output_keys() for root in roots]
    if aliases:
        _pass_on(graph, roots, aliases, parts)
    if parts:
        _yield_parts(graph, parts, parts.yielding(key for group in keys for key in group))
    if not held and _are_opaque(nodes):
        return graph, keys  # all is needed
    wanted = [key for group in keys for key in group]
    return cull(graph, wanted, held), keys


def _taking_parts(tasks: Mapping[Key, Task], parts: Parts, graph: Graph) -> dict[Key, Task]:
    """Return tasks that get parts of others' results; add to the graph what they need for it."""
    made: dict[Key, Task] = {}
    for key, task in tasks.items():
        made[key], yielding = parts.read_by(task)
        _yield_parts(graph, parts, yielding)
    return made


def _yield_parts(graph: Graph, parts: Parts, tasks: Mapping[Key, Task]) -> None:
    graph.add(tasks)
    for layer in {key_layer(key) for key in tasks}:
        if layer in parts.origins:
            graph.origins[layer] = parts.origins[layer]


def _pass_on(graph: Graph, roots: Sequence[Expr], aliases: Mapping[Key, Key], parts: Parts) -> None:
    """Make tasks for the roots' blocks that are others' blocks, since the caller asks for them by the roots' keys."""
    for root in roots:
        own = {key: aliases[key] for key in root.output_keys() if key in aliases}
        made = {key: Task.of_blocks(key, same_block, [source]) for key, source in own.items()}
        made = _taking_parts(made, parts, graph)
        graph.add(made)
        _note_layers(graph, root, made)


def _note_layers(graph: Graph, node: Expr, tasks: Iterable[Key]) -> None:
    """Note what is known of the layers of a node's tasks."""
    origin, label = node.origin, node.label if isinstance(node, Fused) else None
    if origin is None and label is None:
        return
    layer = None
    for key in tasks:
        if type(key) is tuple and key[0] == layer:  # as that of the task before
            continue
        layer = key_layer(key)
        if origin is not None:
            graph.origins[layer] = origin
        if label is not None:
            graph.labels[layer] = label


def _are_opaque(nodes: Iterable[Expr]) -> bool:
    return all([node.is_opaque for node in nodes])
