"""Rewrite rules: each is a function of a node that returns a better one or None.

    @rule(Slice, Elementwise)
    def push_slice_through_elementwise(parent, child): ...

A rule is registered for a class of nodes and, if it looks below, for the class of its first operand. What needs to
know who else uses a node is a pass over the whole plan, made when no rule fits any more:

    @whole_plan
    def read_once(roots): ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from glassloom.expr.core import Expr

Rule = Callable[..., Expr | None]

_rules: list[tuple[type[Expr], type[Expr] | None, Rule]] = []
Pass = Callable[[Sequence[Expr]], list[Expr]]

_passes: list[Pass] = []
_MAX_REWRITES = 1000


def whole_plan(function: Pass) -> Pass:
    """Register a function from roots to equivalent roots, to be called after the rules, in order of registration."""
    _passes.append(function)
    return function


def rule(parent: type[Expr], child: type[Expr] | None = None) -> Callable[[Rule], Rule]:
    """Register a rule for nodes of class `parent` (whose first operand is of class `child`, if given).

    The function gets the node, and with `child` its first operand too. Rules are tried in the order of registration.
    """

    def register(function: Rule) -> Rule:
        _rules.append((parent, child, function))
        return function

    return register


def simplify(roots: Sequence[Expr]) -> list[Expr]:
    """Return the roots with all rules applied until none fits (node by node, dependencies first), then all passes.

    Raises
    ------
    RuntimeError
        If the rules don't come to an end, which is a mistake in the rules.
    """
    done: dict[str, Expr] = {}
    for root in roots:
        _simplify_into(done, root)
    simple = [done[root.name] for root in roots]
    for improve in _passes:
        simple = improve(simple)
    return simple


def _simplify_into(done: dict[str, Expr], root: Expr) -> None:
    """Add to `done` what `root` and all below it become. An explicit stack: expressions may be deeper than Python's."""
    becomes: dict[str, str] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if node.name in done:
            stack.pop()
        elif node.name in becomes:
            done[node.name] = done[becomes[node.name]]
        elif pending := [child for child in node.dependencies if child.name not in done]:
            stack.extend(pending)
        else:
            rebuilt = node.substitute(lambda child: done[child.name])
            better = _apply_first_rule(rebuilt)
            if better is None:
                done[rebuilt.name] = done[node.name] = rebuilt
                continue
            becomes[node.name] = better.name
            if len(becomes) > _MAX_REWRITES + 10 * len(done):
                raise RuntimeError(f"rewrite rules don't come to an end at {rebuilt!r}")
            stack.append(better)


def _apply_first_rule(node: Expr) -> Expr | None:
    first: Any = node.operands[0] if node.operands else None
    for parent, child, function in _rules:
        if not isinstance(node, parent):
            continue
        if child is None:
            better = function(node)
        elif isinstance(first, child):
            better = function(node, first)
        else:
            continue
        if better is not None and better.name != node.name:
            return better
    return None
