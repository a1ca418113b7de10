"""Rules that bring a node below its operand, applied from the top of a plan to its bottom.

What is asked for is so brought down once: on its way a slice joins those that it meets, and each node is rebuilt once.
From the bottom to the top, as other rules are applied, each slice of a chain would go down through all that the ones
before it have rebuilt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from glassloom.expr.core import Expr, walk

Rewrite = Callable[[Expr, Callable[[Expr], bool]], Expr | None]
"""Called with a node, and with what says whether several nodes need another one; returns a better node or None."""

_MAX_REWRITES = 1000


def push_down(roots: Sequence[Expr], rewrite: Rewrite) -> list[Expr]:
    """Return the roots with nodes replaced by what `rewrite` makes of them until it makes nothing, consumers first.

    Raises
    ------
    RuntimeError
        If that doesn't come to an end, which is a mistake in the rules.
    """
    plan = _Plan(roots)
    limit = _MAX_REWRITES + 100 * len(plan.n_consumers)
    becomes: dict[str, Expr] = {}
    done: dict[str, Expr] = {}
    stack = list(roots)
    while stack:
        node = stack[-1]
        if node.name in done:
            stack.pop()
            continue
        best = becomes.get(node.name)
        if best is None:
            best = node
            while (better := rewrite(best, plan.is_shared)) is not None:
                plan.replace(best, better)
                best = better
                if plan.n_replaced > limit:
                    raise RuntimeError(f"rewrite rules don't come to an end at {best!r}")
            becomes[node.name] = best
        if pending := [child for child in best.dependencies if child.name not in done]:
            stack.extend(pending)
        else:
            done[node.name] = best.substitute(lambda child: done[child.name])
    return [done[root.name] for root in roots]


class _Plan:
    """How many nodes need each node, while nodes are replaced."""

    def __init__(self, roots: Sequence[Expr]) -> None:
        self.n_consumers = Counter({root.name for root in roots})  # the caller
        self.n_replaced = 0
        for node in walk(roots):
            self.n_consumers.update(_names_below(node))

    def is_shared(self, node: Expr) -> bool:
        """Tell whether several nodes, or a node and the caller, need a node."""
        return self.n_consumers[node.name] > 1

    def replace(self, old: Expr, new: Expr) -> None:
        """Let `new` have the consumers of `old`."""
        self.n_replaced += 1
        count = self.n_consumers[old.name]
        if not self.n_consumers[new.name]:
            self._add_below(new)
        self.n_consumers[new.name] += count
        self.n_consumers[old.name] = 0
        self._drop_below(old)

    def _add_below(self, node: Expr) -> None:
        stack = [node]
        while stack:
            for below in {child.name: child for child in stack.pop().dependencies}.values():
                if not self.n_consumers[below.name]:
                    stack.append(below)
                self.n_consumers[below.name] += 1

    def _drop_below(self, node: Expr) -> None:
        stack = [node]
        while stack:
            for below in {child.name: child for child in stack.pop().dependencies}.values():
                self.n_consumers[below.name] -= 1
                if not self.n_consumers[below.name]:
                    stack.append(below)


def _names_below(node: Expr) -> set[str]:
    return {child.name for child in node.dependencies}
