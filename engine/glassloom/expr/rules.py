"""Rewrite rules: each is a function of a node that returns a better one or None.

    @rule(Slice, Elementwise)
    def push_slice_through_elementwise(parent, child): ...

A rule is registered for a class of nodes and, if it looks below, for the class of its first operand. What needs to
know who else uses a node is a pass over the whole plan, made when no rule fits any more:

    @whole_plan
    def read_once(roots): ...
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from glassloom.expr.core import Expr, walk
from glassloom.expr.pushdown import push_down

Rule = Callable[..., Expr | None]


class _Registered(NamedTuple):
    parent: type[Expr]
    child: type[Expr] | None
    unshared: bool
    function: Rule


_rules: list[_Registered] = []
_rules_by_class: dict[type[Expr], list[_Registered]] = {}
"""Those that may apply to nodes of a class."""
Pass = Callable[[Sequence[Expr]], list[Expr]]

_passes: list[Pass] = []
_result_passes: list[Pass] = []
_MAX_REWRITES = 1000


def whole_plan(function: Pass) -> Pass:
    """Register a function from roots to equivalent roots, to be called after the rules, in order of registration."""
    _passes.append(function)
    return function


def whole_results(function: Pass) -> Pass:
    """Register a function from roots to roots with the same concrete values, whose blocks may be others.

    It is called after the other passes, where nothing but these values is asked for.
    """
    _result_passes.append(function)
    return function


def rule(parent: type[Expr], child: type[Expr] | None = None, *, unshared: bool = False) -> Callable[[Rule], Rule]:
    """Register a rule for nodes of class `parent` (whose first operand is of class `child`, if given).

    The function gets the node, and with `child` its first operand too. Rules are tried in the order of registration.
    A rule that is `unshared` applies only if no other node needs the operand, so that nothing is made twice. A rule that
    brings `parent` below `child` must be, unless the child is a leaf: what lies below would get a further consumer.
    """

    def register(function: Rule) -> Rule:
        _rules.append(_Registered(parent, child, unshared, function))
        _rules_by_class.clear()
        return function

    return register


def simplify(roots: Sequence[Expr], *, keeps_blocks: bool = True) -> list[Expr]:
    """Return the roots with all rules applied until none fits, then all passes.

    Parameters
    ----------
    roots
        Nodes.
    keeps_blocks
        Whether the roots' blocks are asked for, not only what they are together.

    Raises
    ------
    RuntimeError
        If the rules don't come to an end, which is a mistake in the rules.
    """
    simple = apply_rules(roots)
    for improve in _passes if keeps_blocks else [*_passes, *_result_passes]:
        simple = improve(simple)
    return simple


def apply_rules(roots: Sequence[Expr]) -> list[Expr]:
    """Return the roots with all rules applied until none fits, without the passes.

    What is `unshared` is applied from top to bottom first (`pushdown`), then all rules node by node, dependencies first.
    """
    done: dict[str, Expr] = {}
    if any(registered.unshared for node in walk(roots) for registered in _rules_for(type(node))):
        roots = push_down(roots, _apply_first_unshared_rule)
    shared = _shared_names(roots)
    for root in roots:
        _simplify_into(done, root, shared)
    return [done[root.name] for root in roots]


def _shared_names(roots: Sequence[Expr]) -> set[str]:
    """Return the names of the nodes that several others, or another and the caller, need."""
    wanted = [name for node in walk(roots) for name in {dependency.name for dependency in node.dependencies}]
    counts = Counter([*wanted, *{root.name for root in roots}])
    return {name for name, count in counts.items() if count > 1}


def _simplify_into(done: dict[str, Expr], root: Expr, shared: set[str]) -> None:
    """Add to `done` what `root` and all below it become. An explicit stack: expressions may be deeper than Python's."""
    becomes: dict[str, str] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if node.name in done:
            stack.pop()
        elif node.name in becomes:
            done[node.name] = done[becomes[node.name]]
            if node.name in shared:
                shared.add(done[node.name].name)
        elif pending := [child for child in node.dependencies if child.name not in done]:
            stack.extend(pending)
        else:
            rebuilt = node.substitute(lambda child: done[child.name])
            if node.name in shared:
                shared.add(rebuilt.name)
            better = _apply_first_rule(rebuilt, shared)
            if better is None:
                done[rebuilt.name] = done[node.name] = rebuilt
                continue
            becomes[node.name] = better.name
            if len(becomes) > _MAX_REWRITES + 10 * len(done):
                raise RuntimeError(f"rewrite rules don't come to an end at {rebuilt!r}")
            stack.append(better)


def _apply_first_rule(node: Expr, shared: set[str]) -> Expr | None:
    first: Any = node.operands[0] if node.operands else None
    for _, child, unshared, function in _rules_for(type(node)):
        if unshared and getattr(first, "name", None) in shared:
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


def _apply_first_unshared_rule(node: Expr, is_shared: Callable[[Expr], bool]) -> Expr | None:
    first: Any = node.operands[0] if node.operands else None
    for _, child, unshared, function in _rules_for(type(node)):
        if not unshared or child is None or not isinstance(first, child) or is_shared(first):
            continue
        better = function(node, first)
        if better is not None and better.name != node.name:
            return better
    return None


def _rules_for(kind: type[Expr]) -> list[_Registered]:
    rules = _rules_by_class.get(kind)
    if rules is None:
        rules = _rules_by_class[kind] = [registered for registered in _rules if issubclass(kind, registered.parent)]
    return rules
