"""A plan as text and HTML: the layers of an expression before and after optimising, and what it takes. Runs nothing.

How much memory a plan takes, and how much its tasks transfer, is estimated from the sizes of blocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from glassloom.array.ops.base import ArrayExpr
from glassloom.expr import Expr, Fused, lower, optimize, walk
from glassloom.expr.blockwise import map_index
from glassloom.expr.siblings import Siblings
from glassloom.graph import Key, Task
from glassloom.reprs import render
from glassloom.reprs.explanation import Explanation, explanation
from glassloom.units import format_bytes


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


_MOST_TASKS = 20_000
"""Above this an estimate takes more than about a second: longer than one may wait for a text."""


@dataclass(frozen=True)
class Layer:
    """A row of a plan."""

    n_tasks: int
    operations: tuple[str, ...]
    made_bytes: int | None
    """What all its tasks make together; None where lengths are unknown, or for what is no array."""
    place: str
    """The user's line."""


def explain(node: ArrayExpr) -> Explanation:
    """Return the layers as written and as they will run, with the number of tasks of each, and an estimate."""
    (optimized,) = optimize([node])
    before, after = _layers(node), _layers(optimized)
    takes = estimate(optimized) if sum(each.n_tasks for each in after) <= _MOST_TASKS else None
    text = f"as written\n{_table(before)}\nas it will run\n{_table(after)}"
    if takes is not None:
        text += (
            f"\n  results take about {format_bytes(takes.peak_bytes)} at most on one thread, "
            f"{format_bytes(takes.moved_bytes)} are handed from task to task"
        )
    return explanation(text, _card(node, before, after, takes))


def _layers(root: Expr) -> list[Layer]:
    return [Layer(node.n_tasks, _operations(node), _made_bytes(node), _place(node)) for node in walk([root])]


def _operations(node: Expr) -> tuple[str, ...]:
    return node.operations if isinstance(node, Fused) else (node.label,)


def _made_bytes(node: Expr) -> int | None:
    array = array_of(node)
    if array is None or math.isnan(array.size):
        return None
    return int(array.size * array.dtype.itemsize)


def _place(node: Expr) -> str:
    return str(node.origin).partition(": ")[0] if node.origin is not None else ""


def _table(layers: list[Layer]) -> str:
    rows = [(f"{layer.n_tasks:,}", " > ".join(layer.operations), layer.place) for layer in layers]
    total = sum(layer.n_tasks for layer in layers)
    count_width = max(len(f"{total:,}"), *(len(count) for count, _, _ in rows))
    name_width = max(len(name) for _, name, _ in rows)
    lines = [f"  {count:>{count_width}}  {name:<{name_width}}  {place}".rstrip() for count, name, place in rows]
    return "\n".join([*lines, f"  {total:>{count_width},}  tasks in all"])


def _card(node: ArrayExpr, before: list[Layer], after: list[Layer], takes: Estimate | None) -> str:
    facts = [("Tasks", _count(after), f"{_count(before)} as written")]
    if takes is not None:
        facts.append(("Results take", format_bytes(takes.peak_bytes), "at most on one thread, about"))
        facts.append(("Handed on", format_bytes(takes.moved_bytes), "from task to task"))
    return render("plan.html.j2", label=node.label, facts=facts, after=_cells(after), before=_cells(before))


def _count(layers: list[Layer]) -> str:
    return f"{sum(layer.n_tasks for layer in layers):,}"


def _cells(layers: list[Layer]) -> list[tuple[str, str, str, str]]:
    return [
        (
            f"{layer.n_tasks:,}",
            " › ".join(layer.operations),
            "unknown" if layer.made_bytes is None else format_bytes(layer.made_bytes),
            layer.place,
        )
        for layer in layers
    ]
