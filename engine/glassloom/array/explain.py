"""A plan as text and HTML: the layers of an expression before and after optimising, and what it takes. Runs nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from glassloom.array.estimates import Estimate, array_of, estimate
from glassloom.array.nodes.base import ArrayExpr
from glassloom.expr import Expr, Fused, optimize, walk
from glassloom.reprs import render
from glassloom.reprs.explanation import Explanation, explanation
from glassloom.units import format_bytes

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
