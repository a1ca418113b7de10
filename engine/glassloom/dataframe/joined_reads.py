"""A pass over a whole plan: small partitions that only reductions read, or that become one frame, are read several at a time.

What a partition costs beside its rows (calls of pandas, a task, a partial result) is then paid less often. Only what no result
shows may change: partitions of a result stay as they were written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pandas as pd

from glassloom.dataframe.column_nodes import Renamed, is_of_values
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.moving.lookup import LookupJoin, LookupTable
from glassloom.dataframe.moving.size import row_bytes
from glassloom.dataframe.nodes import Assign, Columnwise, Filter, FrameExpr, Projection, Rowwise
from glassloom.dataframe.plan import rebuilt
from glassloom.dataframe.reduction_nodes import SIBLINGS_FROM, Chunk, RowsChunk, TreeReduce, ValuesChunk
from glassloom.expr import Expr, walk

JOINED_BYTES = 24 * 2**20
"""Partitions are joined up to about so many bytes of the columns that are read."""
LEAST_PARTITIONS = 8
"""So many are left, that all threads have work; of those that several reductions read, as many as make siblings of these."""


class WholeFrame(Expr):
    """All rows of a frame in order, whatever partitions they are in. It stands for a root during the last pass."""

    parameters = ("frame",)

    frame: FrameExpr


def read_results_together(roots: Sequence[Expr]) -> list[Expr]:
    """Join partitions of files whose rows become one frame; see `read_several_partitions`."""
    if not any(isinstance(root, FrameExpr) and root.npartitions > LEAST_PARTITIONS for root in roots):
        return list(roots)
    wrapped = [WholeFrame(root, origin=root.origin) if isinstance(root, FrameExpr) else root for root in roots]
    read = read_several_partitions(wrapped)
    return [root.frame if isinstance(root, WholeFrame) else root for root in read]


def read_several_partitions(roots: Sequence[Expr]) -> list[Expr]:
    """Join partitions of files whose rows only reductions, tables for look-up and whole results read; leave out those without rows.

    Row groups that can't have rows that fulfil the condition are known from the footers.
    """
    order = walk(roots)
    if not any(isinstance(node, Read) and node.npartitions > LEAST_PARTITIONS for node in order):
        return list(roots)
    new: dict[str, Expr] = {}
    for region in _regions(order, {root.name for root in roots}):
        new.update(_joined(region))
    return rebuilt(roots, order, new) if new else list(roots)


def _regions(order: Sequence[Expr], root_names: set[str]) -> list[list[FrameExpr]]:
    """Return sets of nodes that are computed partition by partition from reads, and that others need only as a whole."""
    parent: dict[str, str] = {}
    refused: set[str] = set()

    def representative(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    inside: dict[str, FrameExpr] = {}
    for node in order:
        below = [one for one in node.dependencies if one.name in inside]
        if not (isinstance(node, FrameExpr) and node.npartitions > LEAST_PARTITIONS and _is_of_rows(node)):
            refused.update(one.name for one in below if not takes_all(node, one))
            continue
        parent[node.name] = node.name
        inside[node.name] = node
        if node.name in root_names:
            refused.add(node.name)
        for one in node.dependencies:
            if one.name not in inside:
                if isinstance(one, FrameExpr) and one.npartitions > 1 and not isinstance(one, LookupTable):
                    refused.add(node.name)
            elif inside[one.name].npartitions != node.npartitions or isinstance(one, Chunk):
                refused.update((node.name, one.name))
            else:
                parent[representative(one.name)] = representative(node.name)
    regions: dict[str, list[FrameExpr]] = defaultdict(list)
    for name, node in inside.items():
        regions[representative(name)].append(node)
    bad = {representative(name) for name in refused}
    shown = {
        representative(node.frame.name) for node in order if isinstance(node, WholeFrame) and node.frame.name in inside
    }
    return [
        region
        for name, region in regions.items()
        if name not in bad and _may_be_joined(region) and (name not in shown or all(map(_may_be_shown, region)))
    ]


def _is_of_rows(node: FrameExpr) -> bool:
    """Whether the rows of several partitions at once give what those of each give, one after the other."""
    if isinstance(node, Rowwise):
        return node.keeps_rows
    return isinstance(node, (Read, Projection, Assign, Filter, LookupJoin, RowsChunk))


def takes_all(node: Expr, below: Expr) -> bool:
    """Whether a node takes all partitions of what is below, however many there are."""
    return isinstance(node, (LookupTable, WholeFrame)) or (
        isinstance(node, TreeReduce) and isinstance(below, RowsChunk)
    )


def _may_be_joined(region: Sequence[FrameExpr]) -> bool:
    reads = [node for node in region if isinstance(node, Read)]
    if not reads or any(read.layout != reads[0].layout or read.source.most_rows is None for read in reads):
        return False
    joined: set[str] = set()
    for node in region:  # after what it reads
        if isinstance(node, LookupJoin) or any(one.name in joined for one in node.dependencies):
            joined.add(node.name)
            if not ignores_labels(node):  # they count the rows of each partition after a join
                return False
    return True


def ignores_labels(node: FrameExpr) -> bool:
    if isinstance(node, RowsChunk):
        return isinstance(node, ValuesChunk)
    return not isinstance(node, Rowwise) or isinstance(node, (Columnwise, Renamed)) or is_of_values(node)


def _may_be_shown(node: FrameExpr) -> bool:
    """Whether one can't tell from the result of a node how the rows were partitioned."""
    if isinstance(node, Rowwise):
        return isinstance(node, Renamed) or is_of_values(node)
    return isinstance(node, (Assign, Filter, Projection, Read)) and not _has_unknown_categories(node.meta)


def _joined(region: Sequence[FrameExpr]) -> dict[str, Expr]:
    """Return what replaces the reads of a region; nothing if they stay as they are."""
    reads = [node for node in region if isinstance(node, Read)]
    n_chunks = sum(isinstance(node, RowsChunk) for node in region)
    groups = _groups(reads, SIBLINGS_FROM if n_chunks > 1 else LEAST_PARTITIONS)
    if len(groups) == reads[0].npartitions:
        return {}
    source = reads[0].source.joined(groups)
    if source is None:
        return {}
    return {read.name: Read(source, read.columns, None, read.condition, origin=read.origin) for read in reads}


def _groups(reads: Sequence[Read], least: int) -> list[tuple[int, ...]]:
    """Return the numbers of the source's partitions that are read together, in their order; `least` groups, if there are as many."""
    first = reads[0]
    numbers = list(_numbers(first))
    if not any(_has_unknown_categories(read.meta) for read in reads):  # those are in the data of all partitions
        numbers = [number for number in numbers if any(_may_have_rows(read, number) for read in reads)] or numbers[:1]
    bytes_of_row = max(row_bytes(read.meta) for read in reads)
    lengths = first.source.most_rows
    assert lengths is not None
    total = max(sum(lengths[number] for number in numbers), 1)
    least = least if first.npartitions >= least else LEAST_PARTITIONS
    count = max(least, -(-total * bytes_of_row // JOINED_BYTES))
    count = _even(count, total / max(1, *(lengths[number] for number in numbers)), least)
    if count >= len(numbers):
        return [(number,) for number in numbers]
    groups: dict[int, list[int]] = defaultdict(list)
    before = 0
    for number in numbers:
        groups[(before + lengths[number] // 2) * count // total].append(number)
        before += lengths[number]
    return [tuple(group) for group in groups.values()]


def _even(count: int, n_partitions: float, least: int) -> int:
    """Return the number of groups nearest to `count` that have equally many partitions, if that is `least` or more; else `count`.

    Where some groups have one partition and others two, threads wait at the end for those that got a group of two last.

    >>> _even(21, 24.0, 8), _even(14, 24.0, 8), _even(10, 24.0, 8), _even(8, 20.0, 8)
    (24, 12, 12, 8)
    """
    each = max(int(n_partitions / count + 0.5), 1)
    even = round(n_partitions / each)
    return even if even >= least else count


def _numbers(read: Read) -> Sequence[int]:
    return range(len(read.source.divisions) - 1) if read.numbers is None else read.numbers


def _may_have_rows(read: Read, number: int) -> bool:
    found = read.source.groups_read([number], read.condition) if read.condition else None
    return found is None or found[0] > 0


def _has_unknown_categories(meta: Any) -> bool:
    dtypes = meta.dtypes if isinstance(meta, pd.DataFrame) else [meta.dtype]
    return any(isinstance(dtype, pd.CategoricalDtype) and not len(dtype.categories) for dtype in dtypes)
