"""Frames cut at other divisions, so that several can be combined partition by partition."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat, rows_between, sample
from glassloom.dataframe.alignment import describe_divisions, require_aligned
from glassloom.dataframe.category_order import comparable
from glassloom.dataframe.nodes import Filter, FrameExpr, Projection, Rowwise
from glassloom.dataframe.widening import concat_promised
from glassloom.errors import DivisionError
from glassloom.graph import Key, Task, TaskRef, tokenize


class Redivide(FrameExpr):
    """A frame whose divisions are known, cut at others. Rows keep their order."""

    parameters = ("frame", "new_divisions")
    operation = "repartition"

    frame: FrameExpr
    new_divisions: tuple[Any, ...]

    keeps_memory = True

    @cached_property
    def meta(self) -> Any:
        return self.frame.meta

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return self.new_divisions

    @property
    def rows(self) -> str:
        return f"divided-{tokenize(self.frame.rows, self.frame.layout, self.new_divisions)}"

    @property
    def has_unique_labels(self) -> bool:
        return self.frame.has_unique_labels

    @property
    def frame_divisions(self) -> tuple[Any, ...]:
        """The labels at which the partitions begin that are cut."""
        return self.frame.divisions

    def tasks(self) -> dict[Key, Task]:
        tasks: dict[Key, Task] = {}
        below, old = self.frame.output_keys(), self.frame_divisions
        final = len(self.new_divisions) - 2
        start = 0
        for number, (low, high) in enumerate(pairwise(self.new_divisions)):
            is_last = number == final
            while start < len(below) - 1 and old[start + 1] <= low:
                start += 1
            end = start
            while end < len(below) and (old[end] < high or (is_last and old[end] <= high) or end == start):
                end += 1
            end = len(below) if is_last else end
            key: Key = (self.name, number)
            bounds = (None if number == 0 else low, None if is_last else high)
            tasks[key] = Task(key, _between, ([TaskRef(one) for one in below[start:end]], *bounds))
        return tasks


class _Single(Redivide):
    """A frame of one partition cut where others are: what its own labels are isn't known."""

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * len(self.new_divisions)

    @property
    def frame_divisions(self) -> tuple[Any, ...]:
        return (self.new_divisions[0], self.new_divisions[-1])


class _Nothing(Redivide):
    """A frame known to have no rows, cut where others are."""

    @property
    def rows(self) -> str:
        return self.name

    @cached_property
    def lengths(self) -> tuple[int, ...] | None:
        return (0,) * self.npartitions

    @property
    def has_unique_labels(self) -> bool:
        return True

    def tasks(self) -> dict[Key, Task]:
        first = TaskRef(self.frame.output_keys()[0])
        return {key: Task(key, _between, ([first], None, None)) for key in self.output_keys()}


class _Gathered(Redivide):
    """All rows of a frame, whose divisions aren't known, in one partition."""

    @property
    def has_unique_labels(self) -> bool:
        return False

    def tasks(self) -> dict[Key, Task]:
        below = [TaskRef(one) for one in self.frame.output_keys()]
        return {key: Task(key, concat_promised, (self.meta, below)) for key in self.output_keys()}


def redivide(node: FrameExpr, divisions: Sequence[Any]) -> FrameExpr:
    """Return a frame cut at divisions that include its own range.

    Raises
    ------
    DivisionError
        If its divisions aren't known.
    """
    if node.divisions[0] is None:
        raise DivisionError(
            f"the frame has {describe_divisions(node)}; set_index() sorts by a column and finds the divisions"
        )
    return node if node.divisions == tuple(divisions) else Redivide(node, tuple(divisions))


def cut_together(
    nodes: Sequence[FrameExpr], what: str, align: bool | None, *, takes_first: bool = False
) -> tuple[list[FrameExpr], list[FrameExpr]]:
    """Return some nodes, and those of them that are taken partition by partition. Others are no frames, or have one partition for all.

    Parameters
    ----------
    align
        Whether frames of unlike known divisions are cut anew, so that rows of equal labels meet; with False the partitions of one
        number meet, whatever their labels. With None frames must be cut alike already.
    takes_first
        Whether `align` cuts the first frame where the others are, too, if it has one partition.

    Raises
    ------
    DivisionError
        If they are cut differently, and can't be cut anew; or, with False, have different numbers of partitions.
    """
    is_first_cut = takes_first and align and nodes[0].divisions[0] is not None
    cut = [one for one in nodes if one.has_rows and (one.npartitions != 1 or (is_first_cut and one is nodes[0]))]
    cut = cut or list(nodes[:1])
    if align is None:
        try:
            require_aligned(cut, what)
        except DivisionError as error:
            raise DivisionError(
                f"{error}. Or give align_dataframes=True, which cuts frames of known divisions alike, or align_dataframes=False, which takes "
                "the partitions of one number together"
            ) from None
        return list(nodes), cut
    if align:
        alike = dict(zip([node.name for node in cut], cut_alike(cut, what), strict=True))
        return [alike.get(node.name, node) for node in nodes], list(alike.values())
    counts = sorted({node.npartitions for node in cut})
    if len(counts) > 1:
        raise DivisionError(
            f"{what}: with align_dataframes=False frames have the same number of partitions or one, not {' and '.join(map(str, counts))}"
        )
    return list(nodes), cut


def require_first_among(cut: Sequence[FrameExpr], first: FrameExpr, what: str) -> None:
    """Check that a method is called on a frame that is taken partition by partition if any is.

    Raises
    ------
    DivisionError
        If not.
    """
    if first.npartitions < cut[0].npartitions:
        raise DivisionError(f"{what}: call it on the frame with {cut[0].npartitions} partitions")


def cut_alike(
    nodes: Sequence[FrameExpr], what: str, *, ignore_unknown: bool = False, takes_single: bool = False
) -> list[FrameExpr]:
    """Return frames that can be combined partition by partition, by label: those of other known divisions are cut anew.

    Indexes and arrays are combined by position: they must correspond.

    Parameters
    ----------
    takes_single
        Whether a frame of one partition, other than the first one, is cut where the others are, also if its own divisions aren't known.
        Its labels may lie outside of theirs.

    Raises
    ------
    DivisionError
        If their partitions don't correspond, and the divisions aren't known, or labels of one can't be compared with those of another.
    """
    if all(node.layout == nodes[0].layout and node.npartitions == nodes[0].npartitions for node in nodes):
        return list(nodes)
    known = [node for node in nodes if node.divisions[0] is not None]
    have_labels = not any(isinstance(node.meta, (pd.Index, np.ndarray)) for node in nodes)
    without_rows = [node for node in nodes if node not in known and has_no_rows(node)]
    are_single = (
        takes_single
        and nodes[0] in (*known, *without_rows)
        and all(node in known or node in without_rows or node.npartitions == 1 for node in nodes)
    )
    if known and have_labels and (are_single or len(known) + len(without_rows) == len(nodes)):
        divisions = _common_divisions(known, [node for node in nodes if node not in without_rows], what)
        return [
            redivide(node, divisions)
            if node in known
            else (_Nothing if node in without_rows else _Single)(node, divisions)
            for node in nodes
        ]
    if ignore_unknown and len({node.npartitions for node in nodes}) == 1:
        return list(nodes)
    if have_labels and all(node.npartitions == 1 or _is_of_groups(node) for node in nodes):
        return [node if node.npartitions == 1 else _Gathered(node, (None, None)) for node in nodes]
    require_aligned(nodes, what)
    return list(nodes)


def _is_of_groups(node: FrameExpr) -> bool:
    """Whether a node is what was made of groups, or some rows or columns of that: it has few rows, as aggregations in one partition have."""
    while isinstance(node, (Projection, Filter, Rowwise)):
        node = node.frame
    return getattr(node, "is_of_groups", False)


def has_no_rows(node: FrameExpr) -> bool:
    """Whether it is known that a frame has no rows."""
    return node.lengths is not None and not any(node.lengths)


def _common_divisions(known: Sequence[FrameExpr], nodes: Sequence[FrameExpr], what: str) -> tuple[Any, ...]:
    try:
        divisions = union_of_divisions(known)
        for node in nodes:
            labels, first = comparable(sample(node.meta).index, divisions[0])
            _ = labels < first
    except TypeError as error:
        shown = " and ".join(describe_divisions(node) for node in nodes)
        raise DivisionError(f"{what}: labels of {shown} have no common order: {error}") from None
    return divisions


def union_of_divisions(nodes: Sequence[FrameExpr]) -> tuple[Any, ...]:
    """Return divisions at which all nodes can be cut: about as many as the finest has, over the range of all."""
    found = sorted({label for node in nodes for label in node.divisions})
    if len(found) == 1:
        return (found[0], found[0])
    most = max(node.npartitions for node in nodes)
    if len(found) - 1 <= 2 * most:
        return tuple(found)
    chosen = np.unique(np.linspace(0, len(found) - 1, most + 1).round().astype(int))
    return tuple(found[place] for place in chosen)


def _between(blocks: list[Any], low: Any, high: Any) -> Any:
    """Return the rows with labels from `low` to before `high`. Missing labels are at the end of the last partition."""
    return concat([_cut(block, low, high) for block in blocks])


def _cut(block: Any, low: Any, high: Any) -> Any:
    index, low, high = comparable(block.index, low, high)
    if index.is_monotonic_increasing:
        start = 0 if low is None else index.searchsorted(low, side="left")
        end = len(index) if high is None else index.searchsorted(high, side="left")
        return rows_between(block, int(start), int(end))
    keep = np.ones(len(index), bool)
    if low is not None:
        keep &= ~_holds(index < low)  # so that missing labels are kept
    if high is not None:
        keep &= _holds(index < high)
    return block[keep]


def _holds(compared: Any) -> Any:
    """Return where a comparison of labels is true: with missing ones of nullable dtypes it is missing."""
    return compared if isinstance(compared, np.ndarray) else compared.to_numpy(dtype=bool, na_value=False)
