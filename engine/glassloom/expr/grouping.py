"""Which nodes run in one task: chains of block-wise nodes, and siblings. Decides only; `fuse` builds the nodes.

A node joins its consumers' group if that is one group, reads it with one mapping only (so that no block is made twice),
and has as many blocks as the node (so that no block is needed by several tasks).

Before that, groups that read the same blocks of a node and make only small partial results of them are merged: they are
*siblings*, and their task has several results (`docs/decisions/0025-sibling-fusion.md`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from glassloom.expr.blockwise import Blockwise, Mapping, Pick, compose, without_single
from glassloom.expr.core import Expr

_IN_OTHER_WAYS: frozenset[Mapping] = frozenset([(None,), ()])
"""How a node that isn't block-wise reads another: with more than one mapping, so that they never join."""


class Group:
    """Nodes that run in one task for each index of the group. Mappings lead from that index to a node's."""

    __slots__ = ("has_siblings", "members", "numblocks", "outputs", "reads")

    def __init__(self, root: Expr) -> None:
        self.numblocks: tuple[int, ...] = root.numblocks if isinstance(root, Blockwise) else ()
        self.members = [root]
        self.has_siblings = False
        self.outputs: list[tuple[Expr, Mapping]] = [(root, tuple(range(len(self.numblocks))))]
        """The nodes whose blocks others read."""
        self.reads: dict[str, set[Mapping]] = {}
        """The nodes that members read, by name, the members among them too."""
        self.add_reads(root, self.outputs[0][1])

    def may_have_siblings(self, n_blocks: int) -> bool:
        """Whether all outputs may be made together with others, if there are so many blocks."""
        least = [node.siblings_from if isinstance(node, Blockwise) else None for node, _ in self.outputs]
        return all(number is not None and number <= n_blocks for number in least)

    def add_reads(self, node: Expr, own: Mapping) -> None:
        """Note what a member reads; `own` leads to its blocks."""
        if isinstance(node, Blockwise):
            for dependency, mapping in zip(node.dependencies, node.mappings, strict=True):
                self.reads.setdefault(dependency.name, set()).add(self._followed(own, mapping))
        else:
            for dependency in node.dependencies:
                self.reads.setdefault(dependency.name, set()).update(_IN_OTHER_WAYS)

    def add_sibling(self, other: Group, mapping: Mapping) -> None:
        """Take over all of another group; `mapping` leads from this group's index to the other's."""
        self.members += other.members
        self.outputs += [(node, compose(mapping, own)) for node, own in other.outputs]
        for name, found in other.reads.items():
            self.reads.setdefault(name, set()).update(self._followed(mapping, own) for own in found)

    def _followed(self, own: Mapping, mapping: Mapping) -> Mapping:
        composed = compose(own, mapping)
        return without_single(composed, self.numblocks) if self.has_siblings else composed

    def reindexed(self, numblocks: tuple[int, ...], mapping: Mapping) -> Group:
        """Return this group with another index, from which `mapping` leads to its own."""
        made = object.__new__(Group)
        made.numblocks, made.members, made.outputs, made.reads = numblocks, [], [], {}
        made.has_siblings = True
        made.add_sibling(self, mapping)
        return made


def group_nodes(order: Sequence[Expr], roots: Iterable[Expr]) -> dict[str, Group]:
    """Return the group of each node by the node's name.

    Parameters
    ----------
    order
        All nodes below the roots, dependencies before dependants.
    """
    return _Grouping(order, roots).group_of


class _Grouping:
    """Decides from the last consumers to the first sources."""

    def __init__(self, order: Sequence[Expr], roots: Iterable[Expr]) -> None:
        self.group_of: dict[str, Group] = {}
        self._wanted = {root.name for root in roots}
        self._n_barriers = _n_barriers(order)
        consumers: dict[str, dict[str, None]] = defaultdict(dict)
        for node in order:
            for dependency in node.dependencies:
                consumers[dependency.name][node.name] = None
        for node in reversed(order):
            self._place(node, list(consumers[node.name]))

    def _place(self, node: Expr, consumers: list[str]) -> None:
        groups = self._groups(consumers)
        if len(groups) > 1 and self._join_siblings(node, groups):
            groups = self._groups(consumers)
        if len(groups) == 1 and node.name not in self._wanted and isinstance(node, Blockwise) and node.fusible:
            (group,) = groups
            mappings = group.reads[node.name]
            (mapping, *others) = mappings
            if not others and is_one_to_one(mapping, node.numblocks, group.numblocks):
                group.members.append(node)
                group.add_reads(node, mapping)
                self.group_of[node.name] = group
                return
        self.group_of[node.name] = Group(node)

    def _groups(self, names: Iterable[str]) -> list[Group]:
        return list(dict.fromkeys(self.group_of[name] for name in names))

    def _join_siblings(self, node: Expr, groups: Sequence[Group]) -> bool:
        """Merge those of a node's consumers that are siblings; tell whether there were any."""
        numblocks = getattr(node, "numblocks", None)
        if numblocks is None:
            return False
        n_blocks = math.prod(numblocks)
        alike: dict[int, list[Group]] = defaultdict(list)
        for group in groups:
            if group.may_have_siblings(n_blocks) and _reads_straight(group, node.name, numblocks):
                alike[self._n_barriers_of(group)].append(group)
        has_merged = False
        for candidates in alike.values():
            siblings = self._independent(candidates)
            if len(siblings) > 1:
                self._merge(siblings, node.name, numblocks)
                has_merged = True
        return has_merged

    def _merge(self, siblings: Sequence[Group], name: str, numblocks: tuple[int, ...]) -> None:
        """Make one group of several; its index is that of the blocks which they all read."""
        mappings = [inverse(next(iter(group.reads[name])), len(group.numblocks)) for group in siblings]
        merged = siblings[0].reindexed(numblocks, mappings[0])
        for group, mapping in zip(siblings[1:], mappings[1:], strict=True):
            merged.add_sibling(group, mapping)
        for member in merged.members:
            self.group_of[member.name] = merged

    def _independent(self, candidates: Sequence[Group]) -> list[Group]:
        """Return groups none of which needs a result of another: as one, they would need their own results."""
        chosen: dict[Group, None] = {}
        needed: set[Group] = set()
        for group in candidates:
            below = self._below(group)
            if group not in needed and below.isdisjoint(chosen):
                chosen[group] = None
                needed |= below
        return list(chosen)

    def _below(self, group: Group) -> set[Group]:
        """Return the groups that a group needs among those that have as many barriers below.

        A way from one of these to another leads over such alone, since the number never rises from a node to its dependencies.
        What has no group yet is below all that have one.
        """
        n_barriers = self._n_barriers_of(group)
        found: set[Group] = set()
        stack = [group]
        while stack:
            for name in stack.pop().reads:
                below = self.group_of.get(name)
                if below is None or below is group or below in found or self._n_barriers[name] != n_barriers:
                    continue
                found.add(below)
                stack.append(below)
        return found

    def _n_barriers_of(self, group: Group) -> int:
        return max([self._n_barriers[node.name] for node, _ in group.outputs])


def _n_barriers(order: Sequence[Expr]) -> dict[str, int]:
    """Return, for each node, after how many steps that read many blocks its own can be made."""
    found: dict[str, int] = {}
    for node in order:
        below = node.dependencies
        highest = max([found[dependency.name] for dependency in below], default=0)
        found[node.name] = highest + (1 if below and not isinstance(node, Blockwise) else 0)
    return found


def _reads_straight(group: Group, name: str, numblocks: tuple[int, ...]) -> bool:
    """Tell whether each task of a group reads one block of a node, at an index that says which task it is."""
    (mapping, *others) = group.reads[name]
    is_plain = not others and not any(isinstance(entry, Pick) for entry in mapping)
    return is_plain and is_one_to_one(mapping, numblocks, group.numblocks)


def inverse(mapping: Mapping, ndim: int) -> Mapping:
    """Return the mapping that leads back, for one that is one to one and has no `Pick`.

    >>> inverse((1, None, 0), 2)
    (2, 0)
    """
    return tuple(mapping.index(axis) if axis in mapping else None for axis in range(ndim))


def is_one_to_one(mapping: Mapping, numblocks: tuple[int, ...], group_numblocks: tuple[int, ...]) -> bool:
    """Whether each of the group's tasks reads a block of the node that no other task of the group reads."""
    if len(mapping) != len(numblocks):
        return False
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
