"""Passes over a whole plan: filters are pushed into reads, and reads of the same rows are merged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from glassloom.dataframe.call import Block
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.nodes import Filter, Projection, Rowwise
from glassloom.expr import Expr, walk, whole_plan

Condition = tuple[tuple[Any, str, Any], ...]
_OPERATORS = {"eq": "==", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_MIRRORED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@whole_plan
def filter_while_reading(roots: Sequence[Expr]) -> list[Expr]:
    """Let sources apply filters that compare columns with constants, if all that is read from them is so filtered.

    If not, the unfiltered rows are needed anyway, and reading them twice would cost more.
    """
    order = walk(roots)
    consumers: dict[str, list[Expr]] = defaultdict(list)
    for node in order:
        for dependency in node.dependencies:
            consumers[dependency.name].append(node)
    root_names = {root.name for root in roots}
    by_rows = _reads_by_rows(order)
    new: dict[str, Expr] = {}
    for reads in by_rows.values():
        if reads[0].source.can_filter:
            new.update(_filtered_reads(reads, consumers, root_names))
    return _rebuilt(roots, order, new) if new else list(roots)


@whole_plan
def read_once(roots: Sequence[Expr]) -> list[Expr]:
    """Merge reads of different columns of the same rows."""
    order = walk(roots)
    new: dict[str, Expr] = {}
    for reads in _reads_by_rows(order).values():
        if len(reads) < 2:
            continue
        names = [reads[0].source.meta.columns if read.columns is None else read.columns for read in reads]
        wanted = {name for columns in names for name in columns}
        union = tuple(name for name in reads[0].source.meta.columns if name in wanted)
        whole = reads[0].with_columns(union)
        for read, columns in zip(reads, names, strict=True):
            if tuple(columns) != union:
                new[read.name] = Projection(whole, list(columns), origin=read.origin)
            else:
                new[read.name] = whole
    return _rebuilt(roots, order, new) if new else list(roots)


def _reads_by_rows(order: Sequence[Expr]) -> dict[str, list[Read]]:
    """Return the reads, grouped by the rows that they read."""
    by_rows: dict[str, list[Read]] = defaultdict(list)
    for node in order:
        if isinstance(node, Read) and node.source.can_project:
            by_rows[node.rows].append(node)
    return by_rows


def _filtered_reads(reads: list[Read], consumers: dict[str, list[Expr]], root_names: set[str]) -> dict[str, Expr]:
    """Return what replaces the filters above reads of the same rows; nothing unless all of them can be pushed."""
    names = {read.name for read in reads}
    below = [node for read in reads for node in consumers[read.name]]
    filters = {node.name: node for node in below if isinstance(node, Filter)}
    columns = {node.name for node in below if isinstance(node, Projection)}
    filters.update(
        {
            node.name: node
            for name in columns
            for node in consumers[name]
            if isinstance(node, Filter) and node.frame.name == name
        }
    )
    predicates = {node.predicate.name: node.predicate for node in filters.values()}
    if len(predicates) != 1:
        return {}
    (predicate,) = predicates.values()
    condition = _condition(predicate, names, reads[0])
    if condition is None:
        return {}
    inside = names | columns | {node.name for node in walk([predicate])}
    users = {user.name for name in inside for user in consumers[name]}
    if inside & root_names or not users <= inside | set(filters):
        return {}
    return {name: _filtered(node.frame, condition) for name, node in filters.items()}


def _filtered(frame: Expr, condition: Condition) -> Expr:
    """Return a read, or a column of one, with only the rows that fulfil the condition."""
    if isinstance(frame, Read):
        return frame.with_condition(condition)
    return frame.substitute(lambda read: _filtered(read, condition))


def _condition(node: Expr, names: set[str], read: Read) -> Condition | None:
    """Return a predicate as comparisons that must all hold, or None if it isn't that or the source can't do it."""
    if not isinstance(node, Rowwise):
        return None
    operation = getattr(node.call.function, "__name__", "")
    args = node.call.args
    if operation == "and_" and len(args) == 2 and all(isinstance(arg, Block) for arg in args):
        nodes = node.operand_nodes
        parts = [_condition(nodes[arg.number], names, read) for arg in args]
        return None if None in parts else tuple(one for part in parts if part is not None for one in part)
    operator = _OPERATORS.get(operation)
    if operator is None or node.others or len(args) != 2 or node.call.kwargs:
        return None
    column = node.frame
    is_column = isinstance(column, Projection) and not isinstance(column.columns, list) and column.frame.name in names
    if not is_column:
        return None
    value = args[1] if isinstance(args[0], Block) else args[0]
    if not isinstance(args[0], Block):
        operator = _MIRRORED[operator]
    label = column.columns  # type: ignore[attr-defined]
    return ((label, operator, value),) if read.source.accepts(label, operator, value) else None


def _rebuilt(roots: Sequence[Expr], order: Sequence[Expr], new: dict[str, Expr]) -> list[Expr]:
    """Return the roots with nodes replaced by `new` ones."""
    done: dict[str, Expr] = {}
    look_up: Callable[[Expr], Expr] = lambda child: done[child.name]  # noqa: E731
    for node in order:
        done[node.name] = new[node.name] if node.name in new else node.substitute(look_up)
    return [done[root.name] for root in roots]
