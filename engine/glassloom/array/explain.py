"""A plan as text: the layers of an expression before and after optimising, and what it takes. Runs nothing."""

from __future__ import annotations

from glassloom.array.estimates import estimate
from glassloom.array.nodes.base import ArrayExpr
from glassloom.expr import Expr, Fused, optimize, walk
from glassloom.units import format_bytes

_MOST_TASKS = 200_000
"""Above this an estimate takes longer than one may wait for a text."""


def explain(node: ArrayExpr) -> str:
    """Return a table of layers as written and as they will run, with the number of tasks of each, and an estimate."""
    (optimized,) = optimize([node])
    before, after = walk([node]), walk([optimized])
    tables = f"as written\n{_table(before)}\nas it will run\n{_table(after)}"
    if sum(each.n_tasks for each in after) > _MOST_TASKS:
        return tables
    found = estimate(optimized)
    return (
        f"{tables}\n  about {format_bytes(found.peak_bytes)} held at most by one thread, "
        f"{format_bytes(found.moved_bytes)} handed from task to task"
    )


def _table(nodes: list[Expr]) -> str:
    rows = [(f"{node.n_tasks:,}", _operations(node), _place(node)) for node in nodes]
    total = sum(node.n_tasks for node in nodes)
    count_width = max(len(f"{total:,}"), *(len(count) for count, _, _ in rows))
    name_width = max(len(name) for _, name, _ in rows)
    lines = [f"  {count:>{count_width}}  {name:<{name_width}}  {place}".rstrip() for count, name, place in rows]
    return "\n".join([*lines, f"  {total:>{count_width},}  tasks in all"])


def _operations(node: Expr) -> str:
    if isinstance(node, Fused):
        return " > ".join(member.label for member, _ in node.members)
    return node.label


def _place(node: Expr) -> str:
    return str(node.origin).partition(": ")[0] if node.origin is not None else ""
