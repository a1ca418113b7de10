"""Results that are held, told apart from nodes of their names that are computed anew: by names that no other node has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from glassloom.expr.core import Expr, Persisted, renamed_key
from glassloom.graph import Key


class ToldApart(NamedTuple):
    """Expressions whose held nodes have other names.

    Attributes
    ----------
    held
        The keys of their blocks, with those under which the runtime holds them.
    originals
        The nodes as they were, by their names here.
    """

    roots: list[Expr]
    held: dict[Key, Key]
    originals: dict[str, Expr]

    def original(self, node: Expr) -> Expr:
        """Return a node as it was."""
        return self.originals.get(node.name, node)


def told_apart(roots: Sequence[Expr], renamed: Callable[[str], str]) -> ToldApart:
    """Return expressions whose held nodes have other names, which `renamed` makes of theirs."""
    nodes = _each_object(roots)
    held: dict[Key, Key] = {}
    originals: dict[str, Expr] = {}
    made: dict[int, Expr] = {}
    for node in nodes:
        if isinstance(getattr(node, "source", None), Persisted):
            new = made[id(node)] = _held_as(node, renamed(node.name))
            originals[new.name] = node
            held.update(zip(new.output_keys(), node.output_keys(), strict=True))
        else:
            made[id(node)] = node.substitute(lambda below: made[id(below)]) if originals else node
    return ToldApart([made[id(root)] for root in roots], held, originals)


def _held_as(node: Expr, name: str) -> Expr:
    """Return a node whose blocks are held under another name, and under keys of that name."""

    def renamed(parameter: str, operand: Any) -> Any:
        if isinstance(operand, Persisted):
            return operand.under(name)
        if parameter == "key":
            return renamed_key(operand, name)
        return name if parameter == "key_name" else operand

    return node.rebuild(list(map(renamed, node.parameters, node.operands)))


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
