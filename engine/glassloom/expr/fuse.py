"""Fusion: block-wise nodes become part of one task. `grouping` decides what; `blockwise.Fused` says how it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassloom.expr.blockwise import Blockwise, Fused, Mapping, followed
from glassloom.expr.core import Expr, walk
from glassloom.expr.grouping import Group, group_nodes
from glassloom.expr.siblings import SiblingOutput, Siblings
from glassloom.graph import Key, Task


def fuse(roots: Sequence[Expr]) -> list[Expr]:
    """Return the roots with groups of block-wise nodes fused; `grouping` says which."""
    order = walk(roots)
    group_of = group_nodes(order, roots)
    done: dict[str, Expr] = {}
    for group in dict.fromkeys(group_of[node.name] for node in order):
        if not _is_built(group, done):
            _build_with_all_below(group, group_of, done)
    return [done[root.name] for root in roots]


def _build_with_all_below(wanted: Group, group_of: dict[str, Group], done: dict[str, Expr]) -> None:
    """Add to `done` what a group becomes. An explicit stack: chains may be deeper than Python's."""
    stack = [wanted]
    while stack:
        group = stack[-1]
        below = [group_of[name] for name in group.reads if name not in done]
        pending = [each for each in below if each is not group]
        if pending:
            stack.extend(pending)
            continue
        stack.pop()
        if not _is_built(group, done):
            done.update(_built(group, group_of, done))


def _is_built(group: Group, done: dict[str, Expr]) -> bool:
    return group.outputs[0][0].name in done


def _built(group: Group, group_of: dict[str, Group], done: dict[str, Expr]) -> dict[str, Expr]:
    """Return what stands for each output of a group, above what is done."""
    if len(group.outputs) == 1:
        ((root, _),) = group.outputs
        node = _fused(root, group, group_of, done) if isinstance(root, Blockwise) else _Replaced.around(root, done)
        return {root.name: node}
    nodes, mappings = zip(*group.outputs, strict=True)
    siblings = _fused(Siblings(nodes, mappings, group.numblocks), group, group_of, done)
    return {
        node.name: SiblingOutput(node, siblings, place, mapping) for place, (node, mapping) in enumerate(group.outputs)
    }


def _fused(root: Blockwise, group: Group, group_of: dict[str, Group], done: dict[str, Expr]) -> Expr:
    """Return `root` with its group fused into it and everything below replaced by what is done."""
    members: list[tuple[Blockwise, Mapping]] = []
    sources: dict[tuple[str, Mapping], tuple[Expr, Mapping]] = {}
    mapping_of: dict[str, Mapping] = {root.name: tuple(range(len(root.numblocks)))}
    for node in reversed(_walk_group(root, group, group_of)):
        own = mapping_of[node.name]
        members.append((node, own))
        for dependency, mapping in zip(node.dependencies, node.mappings, strict=True):
            composed = followed(root, own, mapping)
            if group_of[dependency.name] is group:
                mapping_of[dependency.name] = composed
            else:
                sources.setdefault((dependency.name, composed), (done[dependency.name], composed))
    if len(members) == 1 and all(source is dependency for (source, _), dependency in _pairs(root, sources)):
        return root
    return Fused(root, tuple(reversed(members)), tuple(sources.values()))


def _pairs(
    root: Blockwise, sources: dict[tuple[str, Mapping], tuple[Expr, Mapping]]
) -> list[tuple[tuple[Expr, Mapping], Expr]]:
    by_name = {dependency.name: dependency for dependency in root.dependencies}
    return [(source, by_name[name]) for (name, _), source in sources.items()]


def _walk_group(root: Blockwise, group: Group, group_of: dict[str, Group]) -> list[Blockwise]:
    """Return the members of the root's group, dependencies before dependants."""
    order: list[Blockwise] = []
    seen: set[str] = set()
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
        elif node.name not in seen:
            seen.add(node.name)
            stack.append((node, True))
            stack.extend((d, False) for d in reversed(node.dependencies) if group_of[d.name] is group)
    return order


class _Replaced(Expr):
    """A node that isn't block-wise, above dependencies that have been fused. They kept their names, so it is unchanged."""

    parameters = ("node", "below")

    node: Expr
    below: tuple[Expr, ...]

    def __init__(self, node: Expr, below: tuple[Expr, ...]) -> None:
        self.operands = (node, below)
        self.origin = node.origin
        self.name = node.name

    @classmethod
    def around(cls, node: Expr, done: dict[str, Expr]) -> Expr:
        below = tuple(done[dependency.name] for dependency in node.dependencies)
        if all(new is old for new, old in zip(below, node.dependencies, strict=True)):
            return node
        return cls(node, below)

    @property
    def label(self) -> str:
        return self.node.label

    @property
    def dependencies(self) -> list[Expr]:
        return list(self.below)

    @property
    def n_tasks(self) -> int:
        return self.node.n_tasks

    def output_keys(self) -> list[Key]:
        return self.node.output_keys()

    def tasks(self) -> dict[Key, Task]:
        return self.node.tasks()

    def tasks_in_shared_memory(self) -> dict[Key, Task]:
        return self.node.tasks_in_shared_memory()

    def aliases(self) -> dict[Key, Key]:
        return self.node.aliases()

    def assemble(self, blocks: list[Any]) -> Any:
        return self.node.assemble(blocks)

    def in_place(self, source: Expr) -> Expr:
        return self.node.in_place(source)

    def persisted(self, held: Any = None, name: str | None = None) -> Expr:
        return self.node.persisted(held, name)
