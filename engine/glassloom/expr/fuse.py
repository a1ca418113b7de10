"""Fusion: block-wise nodes become part of their only consumer's task. Decides what; `blockwise.Fused` says how."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from glassloom.expr.blockwise import Blockwise, Fused, Mapping, Pick, compose
from glassloom.expr.core import Expr, walk
from glassloom.graph import Key, Task


def fuse(roots: Sequence[Expr]) -> list[Expr]:
    """Return the roots with groups of block-wise nodes fused.

    A node joins its consumer's group if that group is its only consumer, reads it with one mapping only (so that no
    block is computed twice), and has as many blocks as the node (so that no block is needed by several tasks).
    """
    order = walk(roots)
    consumers: dict[str, set[str]] = defaultdict(set)
    for node in order:
        for dependency in node.dependencies:
            consumers[dependency.name].add(node.name)
    for root in roots:
        consumers[root.name].add("")  # the caller
    group_of = _assign_groups(order, consumers)
    done: dict[str, Expr] = {}
    for node in order:
        if group_of[node.name] == node.name:
            done[node.name] = _build(node, group_of, done)
    return [done[root.name] for root in roots]


def _assign_groups(order: list[Expr], consumers: dict[str, set[str]]) -> dict[str, str]:
    """Return, for each node, the name of the node whose group it belongs to: consumers first."""
    group_of: dict[str, str] = {}
    reads: dict[str, set[Mapping]] = defaultdict(set)  # mappings from the group's index to the node's blocks
    blocks: dict[str, tuple[int, ...]] = {}
    for node in reversed(order):
        groups = {group_of.get(consumer, "") for consumer in consumers[node.name]}
        (group,) = groups if len(groups) == 1 else {""}
        joins = (
            group != ""
            and isinstance(node, Blockwise)
            and node.fusible
            and len(reads[node.name]) == 1
            and _is_one_to_one(next(iter(reads[node.name])), node.numblocks, blocks[group])
        )
        if not joins:
            group = node.name
        group_of[node.name] = group
        if isinstance(node, Blockwise):
            if not joins:
                blocks[group] = node.numblocks
                reads[node.name] = {tuple(range(len(node.numblocks)))}
            (own,) = reads[node.name]
            for dependency, mapping in zip(node.dependencies, node.mappings, strict=True):
                reads[dependency.name].add(compose(own, mapping))
        else:
            for dependency in node.dependencies:
                reads[dependency.name].update([(None,), ()])  # read in some other way: never fused
    return group_of


def _is_one_to_one(mapping: Mapping, numblocks: tuple[int, ...], group_numblocks: tuple[int, ...]) -> bool:
    """Whether each of the group's tasks reads a block of the node that no other task of the group reads."""
    followed: list[int] = []
    for count, entry in zip(numblocks, mapping, strict=True):
        if isinstance(entry, Pick):
            if len(set(entry.blocks)) != len(entry.blocks):
                return False
            axis = entry.axis
        else:
            axis = entry
            if count != (1 if axis is None else group_numblocks[axis]):
                return False
        if axis is not None:
            followed.append(axis)
    if len(set(followed)) != len(followed):
        return False
    return all(count == 1 for axis, count in enumerate(group_numblocks) if axis not in followed)


def _build(root: Expr, group_of: dict[str, str], done: dict[str, Expr]) -> Expr:
    """Return `root` with its group fused into it and everything below replaced by what is done."""
    if not isinstance(root, Blockwise):
        return _Replaced.around(root, done)
    members: list[tuple[Blockwise, Mapping]] = []
    sources: dict[tuple[str, Mapping], tuple[Expr, Mapping]] = {}
    inside = [node for node in walk_group(root, group_of) if isinstance(node, Blockwise)]
    mapping_of: dict[str, Mapping] = {root.name: tuple(range(len(root.numblocks)))}
    for node in reversed(inside):
        own = mapping_of[node.name]
        members.append((node, own))
        for dependency, mapping in zip(node.dependencies, node.mappings, strict=True):
            composed = compose(own, mapping)
            if group_of[dependency.name] == root.name:
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


def walk_group(root: Expr, group_of: dict[str, str]) -> list[Expr]:
    """Return the members of the root's group, dependencies before dependants."""
    order: list[Expr] = []
    seen: set[str] = set()
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
        elif node.name not in seen:
            seen.add(node.name)
            stack.append((node, True))
            stack.extend((d, False) for d in reversed(node.dependencies) if group_of[d.name] == root.name)
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

    def aliases(self) -> dict[Key, Key]:
        return self.node.aliases()

    def assemble(self, blocks: list[Any]) -> Any:
        return self.node.assemble(blocks)

    def in_place(self, source: Expr) -> Expr:
        return self.node.in_place(source)

    def persisted(self, held: Any = None) -> Expr:
        return self.node.persisted(held)
