"""Estimates how much memory a plan takes, and how much its tasks transfer, from the sizes of blocks. Runs nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from glassloom.array.nodes.base import ArrayExpr
from glassloom.expr import Expr, Fused, lower, walk
from glassloom.expr.blockwise import map_index
from glassloom.expr.siblings import Siblings
from glassloom.graph import Key, Task


@dataclass(frozen=True)
class Estimate:
    """What running a plan on one thread takes.

    ``peak_bytes`` is the most that results hold at once if tasks run depth first and a result is let go when the last
    task has read it; ``moved_bytes`` is what tasks read of other tasks' results. Blocks of unknown length count as none.
    """

    peak_bytes: int
    moved_bytes: int


def estimate(root: Expr) -> Estimate:
    """Return an estimate for an optimised expression."""
    graph, (wanted,) = lower([root])
    nbytes = _nbytes_of_results(root)
    moved = sum(nbytes.get(dep, 0) for task in graph.tasks.values() for dep in task.deps)
    return Estimate(_peak(graph.tasks, wanted, nbytes), moved)


def _nbytes_of_results(root: Expr) -> dict[Key, int]:
    found: dict[Key, int] = {}
    for node in walk([root]):
        for key in (*node.tasks(), *node.aliases()):
            nbytes = nbytes_of_block(node, key[1:] if isinstance(key, tuple) else ())  # type: ignore[arg-type]
            if nbytes is not None:
                found[key] = nbytes
    return found


def nbytes_of_block(node: Expr, index: tuple[int, ...]) -> int | None:
    """Return how large a block of a node is, 0 if a length isn't known; None if it is no array's."""
    root = node.root if isinstance(node, Fused) else node
    if isinstance(root, Siblings):
        parts = [nbytes_of_block(each, map_index(via, index)) for each, via in zip(root.nodes, root.via, strict=True)]
        return sum(part for part in parts if part is not None)
    source = array_of(node)
    if source is None or len(index) != source.ndim:
        return None
    lengths = source.block_shape(index)
    return 0 if any(map(math.isnan, lengths)) else math.prod(lengths) * source.dtype.itemsize


def array_of(node: Expr) -> ArrayExpr | None:
    """Return the array that a node stands for: what fusing makes has it as its first operand."""
    if isinstance(node, ArrayExpr):
        return node
    first = node.operands[0] if node.operands else None
    return array_of(first) if isinstance(first, Expr) else None


def _peak(tasks: Mapping[Key, Task], wanted: list[Key], nbytes: Mapping[Key, int]) -> int:
    """Return the most bytes held at once, depth first: the results that are wanted in the end are kept."""
    readers: dict[Key, int] = dict.fromkeys(wanted, 1)
    for task in tasks.values():
        for dep in task.deps:
            readers[dep] = readers.get(dep, 0) + 1
    held = peak = 0
    done: set[Key] = set()
    stack = list(reversed(wanted))
    while stack:
        key = stack[-1]
        waiting = [dep for dep in tasks[key].deps if dep in tasks and dep not in done] if key not in done else []
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        if key in done:
            continue
        done.add(key)
        held += nbytes.get(key, 0)
        peak = max(peak, held)
        for dep in tasks[key].deps:
            readers[dep] -= 1
            if not readers[dep]:
                held -= nbytes.get(dep, 0)
    return peak
