"""Boolean series as conditions: which comparisons of columns with constants a predicate consists of."""

from __future__ import annotations

from collections.abc import Callable, Collection
from operator import and_
from typing import Any

from glassloom.dataframe.call import Attribute, Block, BlockCall, Method
from glassloom.dataframe.column_nodes import Renamed
from glassloom.dataframe.io.conditions import INDEX, Comparison, Condition, Either, Negated, Term
from glassloom.dataframe.nodes import FrameExpr, Projection, Rowwise
from glassloom.expr import Expr

_OPERATORS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_MISSING = {"isna": "isna", "isnull": "isna", "notna": "notna", "notnull": "notna"}
_INCLUSIVE = {"both": (">=", "<="), "left": (">=", "<"), "right": (">", "<="), "neither": (">", "<")}
MOST_CONDITIONS = 8
"""Columns of `dropna` that are conditions: with more, pandas looks at them all at once."""
Accept = Callable[[Comparison], "Term | None"]
"""Returns what a source makes of a comparison; None if it can't do it exactly as pandas does."""


def conjuncts(node: Expr) -> list[Expr]:
    """Return the series that must all be true for the predicate to be true."""
    operands = _conditions_in(node)
    return [node] if operands is None else [*conjuncts(operands[0]), *conjuncts(operands[1])]


def _conditions_in(node: Expr) -> tuple[FrameExpr, FrameExpr] | None:
    """Return the two series of a predicate that is true where both are: each is a predicate by itself, as series of objects aren't."""
    operands = _operands(node) if _operation(node) == "and_" else None
    if operands is None or not all(getattr(one.meta.dtype, "kind", "O") == "b" for one in operands):
        return None
    return operands


def both_hold(left: FrameExpr, right: FrameExpr) -> FrameExpr:
    """Return the node of the rows for which two conditions are true."""
    return Rowwise(left, (right,), BlockCall(and_, (Block(0), Block(1))))


def without(node: Expr, done: Collection[str]) -> Expr | None:
    """Return what of a predicate is left to check when the `conjuncts` of these names have been; None: nothing."""
    if node.name in done:
        return None
    operands = _conditions_in(node)
    if operands is None:
        return node
    left, right = (without(operand, done) for operand in operands)
    if left is None or right is None:
        return left or right
    return node.substitute(lambda child: left if child.name == operands[0].name else right)


def condition_of(node: Expr, sources: Collection[str], accept: Accept) -> Condition | None:
    """Return a predicate on columns of nodes with names among `sources` as a condition; None if it isn't of that kind."""
    if isinstance(node, Projection):
        label = _label(node, sources) if str(getattr(node.meta, "dtype", "")) == "bool" else None
        return None if label is None else _single(accept(Comparison(label[0], "==", True)))
    if not isinstance(node, Rowwise):
        return None
    operation = _operation(node)
    if operation in ("and_", "or_"):
        parts = [condition_of(operand, sources, accept) for operand in _operands(node) or ()]
        if len(parts) != 2 or parts[0] is None or parts[1] is None:
            return None
        return (Either((parts[0], parts[1])),) if operation == "or_" else (*parts[0], *parts[1])
    if operation == "invert":
        inner = condition_of(node.frame, sources, accept)
        return None if inner is None else (Negated(inner),)
    column = _label(node.frame, sources)
    return None if column is None or node.others else _of_column(node, column[0], accept)


def is_index_of(node: Expr) -> bool:
    """Whether a node is the index of a frame."""
    is_attribute = isinstance(node, Rowwise) and isinstance(node.call.function, Attribute)
    return is_attribute and node.call.function.path == ("index",)  # type: ignore[attr-defined]


def _single(term: Term | None) -> Condition | None:
    return None if term is None else (term,)


def _of_column(node: Rowwise, column: Any, accept: Accept) -> Condition | None:
    call = node.call
    operation = _operation(node)
    if operation in _OPERATORS and len(call.args) == 2 and not call.kwargs:
        operator = _OPERATORS[operation]
        is_first = isinstance(call.args[0], Block)
        value = call.args[1] if is_first else call.args[0]
        return _single(accept(Comparison(column, operator if is_first else _MIRRORED[operator], value)))
    if not isinstance(call.function, Method) or not call.args or not isinstance(call.args[0], Block):
        return None
    if operation in _MISSING and len(call.args) == 1 and not call.kwargs:
        return _single(accept(Comparison(column, _MISSING[operation])))
    if operation == "isin" and len(call.args) == 2 and not call.kwargs and isinstance(call.args[1], (list, tuple)):
        return _single(accept(Comparison(column, "in", tuple(call.args[1]))))
    if operation == "between":
        return _between(column, accept, *call.args[1:], **call.kwargs)
    return None


def _between(column: Any, accept: Accept, left: Any, right: Any, inclusive: str = "both") -> Condition | None:
    above, below = _INCLUSIVE[inclusive]
    low, high = accept(Comparison(column, above, left)), accept(Comparison(column, below, right))
    return None if low is None or high is None else (low, high)


def _operation(node: Expr) -> str:
    return str(getattr(node.call.function, "__name__", "")) if isinstance(node, Rowwise) else ""


def _operands(node: Expr) -> tuple[FrameExpr, FrameExpr] | None:
    """Return the two operands of a binary operation of series."""
    if not isinstance(node, Rowwise) or len(node.call.args) != 2 or node.call.kwargs:
        return None
    if not all(isinstance(arg, Block) for arg in node.call.args):
        return None
    nodes = node.operand_nodes
    left, right = (nodes[arg.number] for arg in node.call.args)
    return left, right


def _label(node: Expr, sources: Collection[str]) -> tuple[Any] | None:
    """Return the label of a column of one of the sources in a tuple, or that of its index."""
    if is_index_of(node) and node.dependencies[0].name in sources:
        return (INDEX,)
    if not isinstance(node, Projection) or isinstance(node.columns, list):
        return None
    frame: Any = node.frame
    label = node.columns
    while isinstance(frame, Renamed) and frame.has_own_labels:
        frame, label = frame.frame, frame.old_label(label)
    return (label,) if frame.name in sources else None
