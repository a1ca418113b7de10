"""What is held and what is equal but computed anew, in one expression: told apart by names, so that neither is taken for the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from glassloom.expr.core import Expr, Persisted


def told_apart(roots: Sequence[Expr], renamed: Callable[[str], str]) -> list[Expr]:
    """Return roots in which no node that isn't held has the name of one that is: such nodes get other names.

    Parameters
    ----------
    renamed
        Returns another name.
    """
    nodes = _each_object(roots)
    held = {node.name for node in nodes if _is_held(node)}
    if not any(node.name in held and not _is_held(node) for node in nodes):
        return list(roots)
    made: dict[int, Expr] = {}
    for node in nodes:
        new = node.substitute(lambda below: made[id(below)])
        made[id(node)] = new.renamed(renamed(node.name)) if new.name in held and not _is_held(node) else new
    return [made[id(root)] for root in roots]


def _is_held(node: Expr) -> bool:
    return isinstance(getattr(node, "source", None), Persisted)


def _each_object(roots: Sequence[Expr]) -> list[Expr]:
    """Return all nodes below `roots`, dependencies first: of equal ones each object, unlike `walk`."""
    order: list[Expr] = []
    seen: set[int] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, is_expanded = stack.pop()
        if is_expanded:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend([(below, False) for below in reversed(node.dependencies)])
    return order
