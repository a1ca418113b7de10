"""The plan of a frame as a tree, before and after optimising: what is read, how many tasks that takes. Runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from markupsafe import Markup

from glassloom.dataframe.io.conditions import condition_text
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.io.read_by_results import ReadByResults
from glassloom.dataframe.nodes import Filter, FrameExpr, runs_on_arrow
from glassloom.expr import Expr, Fused, optimize, walk
from glassloom.reprs import render
from glassloom.reprs.explanation import Explanation, explanation
from glassloom.units import format_bytes

_MOST_COLUMNS = 4
_TEXT_BYTES = 32
"""About what a value of text takes."""
_SEPARATOR = " > "


class Explainable:
    """The method that shows a plan."""

    expr: Any

    def explain(self) -> Explanation:
        """Return the plan as written and as it will run, as a tree: each line is made from the more indented ones below.

        Of each step it has the number of partitions and of tasks, of those that read also the columns and row groups
        that are read, and by what, of fused operations those that compute on Arrow's columns and those left to pandas (Arrow may
        leave single partitions to pandas), and about how much memory all partitions of the result take together, where that is known.

        Examples
        --------
        >>> import glassloom.dataframe as gd
        >>> frame = gd.datasets.timeseries(end="2000-01-03", freq="1h")
        >>> print(str(frame[frame.x > 0].y.sum().explain()).split("as it will run")[1].split(" tasks in all")[0].split()[-1])
        3
        """
        return explain(self.expr)


@dataclass(frozen=True)
class Step:
    """A row of a plan."""

    depth: int
    operations: tuple[str, ...]
    n_partitions: int | None
    n_tasks: int
    columns: str
    groups: str
    form: str
    """By what it is read: Arrow or pandas."""
    on_arrow: str
    """Which of the operations compute on Arrow's columns: "all", or all but those named."""
    nbytes: int | None
    """About what the partitions take together, of fused operations the largest result; None if it isn't known."""
    is_bound: bool
    """Whether that is the most they may take: a filter leaves fewer rows."""
    place: str

    @property
    def memory(self) -> str:
        if self.nbytes is None:
            return ""
        return ("at most " if self.is_bound else "") + format_bytes(self.nbytes)


def explain(node: FrameExpr) -> Explanation:
    """Return the plan of a node, as text and as a card."""
    (optimized,) = optimize([node], keeps_blocks=False)
    before, after = _steps(node), _steps(optimized)
    text = "\n".join(["as written", *_lines(before), "as it will run", *_lines(after)])
    facts = [("Tasks", _count(after), f"{_count(before)} as written")]
    read = [step for step in after if step.columns]
    if read:
        facts.append(("Columns read", "; ".join(step.columns for step in read), ""))
    groups = "; ".join(step.groups for step in read if step.groups)
    if groups:
        facts.append(("Row groups read", groups, ""))
    forms = sorted({step.form for step in read if step.form})
    if forms:
        facts.append(("Read by", "; ".join(forms), ""))
    html = render("frame_plan.html.j2", label=node.label, facts=facts, after=_cells(after), before=_cells(before))
    return explanation(text, html)


def _count(steps: Sequence[Step]) -> str:
    return f"{sum(step.n_tasks for step in steps):,}"


def _steps(root: Expr) -> list[Step]:
    """Return the nodes from the result to the sources; one that several need, where it is needed first."""
    made: list[Step] = []
    sizes = _sizes(root)
    seen: set[str] = set()
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if node.name in seen:
            continue
        seen.add(node.name)
        known = [sizes[one.name] for one in _members(node) if sizes[one.name][0] is not None]
        made.append(_step(node, depth, max(known, key=lambda size: size[0] or 0, default=(None, False))))
        stack.extend((below, depth + 1) for below in reversed(node.dependencies))
    return made


def _step(node: Expr, depth: int, size: tuple[int | None, bool]) -> Step:
    outer = _outer(node)
    reads = [one for one in _members(node) if isinstance(one, (Read, ReadByResults))]
    columns = "; ".join(_columns(read) + _condition(read) for read in reads)
    groups = "; ".join(filter(None, (_groups(read) for read in reads)))
    form = "; ".join(filter(None, (read.source.form_of(read.columns, read.condition) for read in reads)))
    place = str(node.origin).partition(": ")[0] if node.origin is not None else ""
    partitions = outer.npartitions if isinstance(outer, FrameExpr) else None
    operations = node.operations if isinstance(node, Fused) else (_label(node),)
    on_arrow = _on_arrow(node) if isinstance(node, Fused) else ""
    return Step(depth, operations, partitions, _n_tasks(node), columns, groups, form, on_arrow, *size, place)


def _on_arrow(node: Fused) -> str:
    """Return which of fused operations work on Arrow's columns: "all", "all but" those named; nothing if none does."""
    members = [member for member, _ in node.members if not member.is_made_by_fusion]
    done: set[str] = set()
    for member in members:
        if runs_on_arrow(node.root, member) and (
            member.makes_blocks or any(one.name in done for one in member.dependencies)  # type: ignore[attr-defined]
        ):
            done.add(member.name)
    left = dict.fromkeys(_label(member) for member in members if member.name not in done)
    if not done:
        return ""
    return "all but " + ", ".join(left) if left else "all"


def _label(node: Expr) -> str:
    return "filter" if isinstance(node, Filter) else node.label


def _n_tasks(node: Expr) -> int:
    """Return the number of a node's tasks; of one that is rewritten before it runs, 0."""
    try:
        return node.n_tasks
    except NotImplementedError:
        return 0


def _outer(node: Expr) -> Expr:
    return node.root if isinstance(node, Fused) else node


def _members(node: Expr) -> list[Expr]:
    return [member for member, _ in node.members] if isinstance(node, Fused) else [node]


def _columns(read: Read | ReadByResults) -> str:
    names = list(read.meta.columns) if isinstance(read.meta, pd.DataFrame) else []
    every = getattr(read.source.meta, "columns", names)
    shown = ", ".join(map(str, names[:_MOST_COLUMNS])) + (", ..." if len(names) > _MOST_COLUMNS else "")
    return f"{len(names)} of {len(every)}: {shown}" if names else f"0 of {len(every)}"


def _condition(read: Read | ReadByResults) -> str:
    parts = [condition_text(read.condition)] if read.condition else []
    if isinstance(read, ReadByResults):
        parts += [
            f"{one.column} {one.operator} {value.label}" for one, value in zip(read.compared, read.values, strict=True)
        ]
    return f" where {' and '.join(parts)}" if parts else ""


def _groups(read: Read | ReadByResults) -> str:
    found = read.source.groups_read(_numbers(read), read.condition)
    return "" if found is None else f"{found[0]:,} of {found[1]:,}"


def _numbers(read: Read | ReadByResults) -> Sequence[int]:
    return range(len(read.source.divisions) - 1) if read.numbers is None else read.numbers


# Memory: rows are known of what is read; a row's bytes are those of its dtypes.


def _sizes(root: Expr) -> dict[str, tuple[int | None, bool]]:
    """Return by name about how many bytes each node's partitions take, and whether that is only a bound."""
    rows: dict[str, tuple[int, bool]] = {}
    sizes: dict[str, tuple[int | None, bool]] = {}
    for node in walk([root]):
        for one in dict.fromkeys([*_members(node), _outer(node)]):
            counted = _rows(one, rows)
            if counted is not None:
                rows[one.name] = counted
            sizes[one.name] = (None, False) if counted is None else (_bytes(one, counted[0]), counted[1])
    return sizes


def _rows(node: Expr, known: dict[str, tuple[int, bool]]) -> tuple[int, bool] | None:
    if not isinstance(node, FrameExpr):
        return None
    if node.lengths is not None:
        return sum(node.lengths), False
    if isinstance(node, (Read, ReadByResults)):
        lengths = node.source.lengths
        return None if lengths is None else (sum(lengths[number] for number in _numbers(node)), True)
    below = known.get(node.dependencies[0].name) if node.dependencies else None
    if below is None:
        return None
    if node.rows == getattr(node.dependencies[0], "rows", None):
        return below
    return (below[0], True) if isinstance(node, Filter) else None


def _bytes(node: Expr, n_rows: int) -> int:
    meta = node.meta  # type: ignore[attr-defined]
    dtypes = list(meta.dtypes) if isinstance(meta, pd.DataFrame) else [getattr(meta, "dtype", None)]
    return sum(_itemsize(dtype) for dtype in dtypes) * n_rows


def _itemsize(dtype: Any) -> int:
    if isinstance(dtype, pd.CategoricalDtype):
        return 4
    is_text = dtype is None or pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.StringDtype)
    return _TEXT_BYTES if is_text else int(getattr(dtype, "itemsize", 8))


# As text and as cells.


def _lines(steps: Sequence[Step]) -> list[str]:
    rows = [
        (
            "  " * step.depth + _SEPARATOR.join(step.operations),
            "" if step.n_partitions is None else f"{step.n_partitions:,}",
            f"{step.n_tasks:,}",
            step.columns,
            step.groups,
            step.form,
            step.on_arrow,
            step.memory,
            step.place,
        )
        for step in steps
    ]
    header = ("", "partitions", "tasks", "columns read", "row groups", "read by", "on Arrow", "memory", "line")
    shown = [place for place in range(len(header)) if place < 3 or any(row[place] for row in rows)]
    widths = {place: max(len(row[place]) for row in [header, *rows]) for place in shown}
    lines = []
    for row in [header, *rows]:
        cells = [
            row[place].rjust(widths[place]) if place in (1, 2) else row[place].ljust(widths[place]) for place in shown
        ]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return [*lines, f"  {_count(steps)} tasks in all"]


_INDENTED = Markup('<div style="padding-left: {}em">{}</div>')
"""Lines of many operations are as far in as the first one."""


def _cells(steps: Sequence[Step]) -> list[tuple[str, ...]]:
    return [
        (
            _INDENTED.format(step.depth, " › ".join(step.operations)),
            "" if step.n_partitions is None else f"{step.n_partitions:,}",
            f"{step.n_tasks:,}",
            step.columns,
            step.groups,
            step.form,
            step.on_arrow,
            step.memory,
            step.place,
        )
        for step in steps
    ]
