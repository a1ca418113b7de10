"""`repartition`: the same rows, in their order, in other partitions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from glassloom import units
from glassloom.backends.pandas_ import concat, rows_between
from glassloom.backends.sizeof import sizeof
from glassloom.dataframe.alignment import describe_divisions
from glassloom.dataframe.argument_kinds import collection_of, distance
from glassloom.dataframe.divisions import redivide
from glassloom.dataframe.moving.shape import Repartition
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import wrap
from glassloom.errors import DivisionError
from glassloom.graph import Key, Task, TaskRef

Piece = tuple[int, int, int]
"""A part of a partition's rows: the partition, the part, and into how many equal parts it is cut."""


class Regroup(FrameExpr):
    """A frame each of whose partitions is made of parts of some that follow each other."""

    parameters = ("frame", "groups")
    operation = "repartition"

    frame: FrameExpr
    groups: tuple[tuple[Piece, ...], ...]

    keeps_memory = True

    @cached_property
    def meta(self) -> Any:
        return self.frame.meta

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        if any(parts > 1 for group in self.groups for _, _, parts in group):
            return (None,) * (len(self.groups) + 1)
        return (*(self.frame.divisions[group[0][0]] for group in self.groups), self.frame.divisions[-1])

    def tasks(self) -> dict[Key, Task]:
        below = self.frame.output_keys()
        tasks: dict[Key, Task] = {}
        for number, group in enumerate(self.groups):
            key: Key = (self.name, number)
            refs = [TaskRef(below[old]) for old, _, _ in group]
            tasks[key] = Task(key, _joined_parts, (refs, [piece[1:] for piece in group]))
        return tasks


def repartition(
    node: FrameExpr,
    npartitions: Any,
    divisions: Sequence[Any] | None,
    partition_size: Any,
    freq: Any,
    force: bool,
) -> FrameExpr:
    """Return the node of ``frame.repartition(...)``; see `Frame.repartition`."""
    if isinstance(npartitions, (list, tuple)) and divisions is None:  # by place, as Dask takes them
        npartitions, divisions = None, npartitions
    given = {"npartitions": npartitions, "divisions": divisions, "partition_size": partition_size, "freq": freq}
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) != 1:
        raise ValueError(f"repartition takes one of {', '.join(given)}; got {' and '.join(chosen) or 'none'}")
    if divisions is not None:
        return _at_divisions(node, tuple(collection_of("repartition", "divisions", divisions, "labels")), force)
    if freq is not None:
        return redivide(node, _divisions_of_period(node, freq))
    if partition_size is not None:
        return _by_size(node, units.parse_bytes(partition_size))
    if callable(npartitions):
        npartitions = npartitions(node.npartitions)
    if isinstance(npartitions, bool) or not isinstance(npartitions, (int, np.integer)) or npartitions < 1:
        raise ValueError(f"npartitions={npartitions!r} should be a whole number, 1 or more")
    return node if npartitions == node.npartitions else Repartition(node, int(npartitions))


def _at_divisions(node: FrameExpr, divisions: tuple[Any, ...], force: bool) -> FrameExpr:
    if node.divisions[0] is None:
        return redivide(node, divisions)  # which raises
    if len(divisions) < 2 or any(after < before for before, after in zip(divisions, divisions[1:], strict=False)):
        raise DivisionError(f"divisions={list(divisions)!r} should be two or more labels that increase")
    own = (node.divisions[0], node.divisions[-1])
    try:
        wider = divisions[0] <= own[0] and divisions[-1] >= own[1]
    except TypeError as error:
        raise DivisionError(
            f"divisions={list(divisions)!r} can't be compared with the frame's labels, from {own[0]!r} to {own[1]!r}: {error}"
        ) from None
    if not wider or (not force and (divisions[0], divisions[-1]) != own):
        hint = "should include them" if force else "should begin and end there, or force=True widen them"
        raise DivisionError(
            f"the frame's divisions go from {own[0]!r} to {own[1]!r}; divisions={list(divisions)!r} {hint}"
        )
    return redivide(node, divisions)


def _divisions_of_period(node: FrameExpr, freq: Any) -> tuple[Any, ...]:
    labels = node.meta if isinstance(node.meta, pd.Index) else node.meta.index
    if not isinstance(labels, pd.DatetimeIndex):
        raise TypeError(f"repartition(freq={freq!r}) needs times as index labels, not {labels.dtype}")
    if node.divisions[0] is None:
        raise DivisionError(f"repartition(freq={freq!r}): the frame has {describe_divisions(node)}; use set_index()")
    first, last = pd.Timestamp(node.divisions[0]), pd.Timestamp(node.divisions[-1])
    offset = distance("repartition", "freq", freq)
    is_short = isinstance(offset, pd.tseries.offsets.Tick) and pd.Timedelta(offset) < pd.Timedelta("1D")
    start = first.floor(offset) if is_short else offset.rollback(first.normalize())
    between = [label for label in pd.date_range(start, last, freq=offset) if first < label <= last]
    return (first, *between, last)  # where a period begins at the last label, that is a partition of its own


def _by_size(node: FrameExpr, size_bytes: int) -> FrameExpr:
    """Return partitions of at most about this size. Computes the sizes of the present ones."""
    if size_bytes < 1:
        raise ValueError(f"partition_size={size_bytes!r} should be 1 byte or more")
    sizes: list[int] = wrap(tree(node, Operation(_sizes, _flat, _flat), 0, "sizes")).compute()
    groups: list[list[Piece]] = []
    room = 0
    for number, size in enumerate(sizes):
        parts = max(1, -(-size // size_bytes))
        if parts == 1 and groups and size <= room:
            groups[-1].append((number, 0, 1))
            room -= size
            continue
        groups.extend([[(number, part, parts)] for part in range(parts)])
        room = size_bytes - size if parts == 1 else 0
    return Regroup(node, tuple(map(tuple, groups)))


def _sizes(block: Any) -> list[int]:
    return [sizeof(block)]


def _flat(lists: list[list[int]]) -> list[int]:
    return [item for one in lists for item in one]


def _joined_parts(blocks: list[Any], parts: list[tuple[int, int]]) -> Any:
    return concat([_part(block, part, count) for block, (part, count) in zip(blocks, parts, strict=True)])


def _part(block: Any, part: int, count: int) -> Any:
    length = len(block)
    return rows_between(block, length * part // count, length * (part + 1) // count)
