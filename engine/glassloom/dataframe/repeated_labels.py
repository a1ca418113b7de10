"""Frames cut alike whose labels repeat: rows are paired as pandas pairs those of whole frames, by place or by label.

pandas pairs rows by place if all labels of two frames are equal, in the same order. Otherwise each row of a label is paired with each row of
the same label in the other frame, or that is an error. Two partitions of equal labels don't say which of both holds: the frames may differ in
other partitions. So it is found out first whether they differ in any (`_compared`, of the labels alone), and by which labels. Then partitions
of equal labels get a row more under each of these (`Extended`), which makes them differ as the frames do, and pandas pairs their rows as those
of the frames. The rows are taken out of the result (`Restored`).

Where no divisions are known, equal labels may be in several partitions. Then frames that differ can't be paired partition by partition, which is
an error (`Hashes`). Labels are hashed only after it is known that frames differ: mostly they don't.

Nothing of this is needed where labels are known not to repeat, or all frames have the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.divisions import Redivide, cut_alike
from glassloom.dataframe.names_of_labels import have_unlike_names, named_as_whole
from glassloom.dataframe.nodes import (
    Assign,
    BlockOp,
    Columnwise,
    Filter,
    FrameExpr,
    LabelKeeping,
    Projection,
    Rowwise,
    SomeRows,
)
from glassloom.dataframe.reduction_nodes import Chunk, TreeReduce, TreeSteps
from glassloom.errors import DivisionError
from glassloom.expr import Expr, rule, walk
from glassloom.graph import tokenize

_SPLIT_EVERY = 8
_MOST_OF_LABEL = 2
"""Rows of one label of which pandas finds out that it repeats."""


class Hashes(NamedTuple):
    """The hashes of the labels of some partitions. Of many those up to a limit: enough of them to find that labels are in several partitions."""

    values: Any
    limit: int
    repeated: int | None
    """One that two partitions have."""
    numbered: int = 0
    """How many rows of a partition are numbered from 0, at most, whose labels aren't hashed."""

    @staticmethod
    def of(indexes: Sequence[pd.Index], are_users: bool) -> Hashes:
        """Return those of the labels of a partition of several frames.

        `are_users`: a user's function makes the partitions. Then labels from 0 on count a partition's rows, as `reset_index` does: several
        partitions may have them.
        """
        if are_users and any(isinstance(index, pd.RangeIndex) and index.start == 0 for index in indexes):
            return Hashes(np.empty(0, np.uint64), _NO_LIMIT, None, max(map(len, indexes)))
        return Hashes(np.unique(np.concatenate([_hashed(index) for index in indexes])), _NO_LIMIT, None)._few()

    @staticmethod
    def joined(found: Sequence[Hashes]) -> Hashes:
        """Return those of several partitions."""
        limit = min(one.limit for one in found)
        values, counts = np.unique(np.concatenate([one.values for one in found]), return_counts=True)
        several = values[(counts > 1) & (values <= limit)]
        repeated = [one.repeated for one in found if one.repeated is not None] + several[:1].tolist()
        numbered = max(one.numbered for one in found)
        if numbered and len(values) and not repeated:
            repeated = np.intersect1d(values, _hashed(pd.RangeIndex(numbered)))[:1].tolist()
        return Hashes(values[values <= limit], limit, repeated[0] if repeated else None, numbered)._few()

    def _few(self) -> Hashes:
        if self.repeated is not None:
            return self._replace(values=self.values[:0])
        if len(self.values) <= _MOST_HASHES:
            return self
        return Hashes(self.values[:_MOST_HASHES], int(self.values[_MOST_HASHES - 1]), None, self.numbered)


_NO_LIMIT = 2**64 - 1
_MOST_HASHES = 1_000_000


class Compared(NamedTuple):
    """What partitions of some frames say of each other's labels."""

    differing: frozenset[int]
    """The numbers of the frames whose labels differ from those of the first one."""
    labels: tuple[pd.Index, ...]
    """Labels of each frame, of those by which they differ. They differ as the frames do."""
    is_plain: bool
    """Whether the first one's labels are in order and none repeats: then rows are paired alike by place and by label."""
    indexes: tuple[pd.Index, ...]
    """All labels of the frames, those that are equal once; none if other partitions have other labels."""


class Different(NamedTuple):
    """By what frames differ."""

    partitions: tuple[Compared, ...]
    """The comparisons of the first partitions in which each of the frames that differ does so."""


class Extended(LabelKeeping):
    """Partitions with rows under labels by which frames differ in other partitions."""

    @property
    def meta(self) -> Any:
        return self.frame.meta

    @property
    def rows(self) -> str:
        return _extended_rows(self.frame, self.others[1])


class Restored(SomeRows):
    """What was made of extended partitions, without the rows that these got. `identity` is that of the rows if they are a frame's."""

    parameters = ("frame", "others", "call", "identity")

    identity: tuple[str, tuple[int, ...] | None] | None

    @property
    def meta(self) -> Any:
        return self.frame.meta

    @property
    def rows(self) -> str:
        return self.name if self.identity is None else self.identity[0]

    @property
    def lengths(self) -> tuple[int, ...] | None:
        return None if self.identity is None else self.identity[1]

    @property
    def has_unique_labels(self) -> bool:
        return False


class FilterByLabel(Filter):
    """The rows for whose labels a series of other rows is true."""

    @property
    def function(self) -> Callable[..., Any]:
        return _filtered


@rule(Projection, Extended)
@rule(Projection, Restored)
def project_before_extending(node: Projection, inner: Extended | Restored) -> Expr | None:
    """Add no rows to columns that aren't needed, and remove none."""
    return inner.rebuild([Projection(inner.frame, node.columns, origin=node.origin), *inner.operands[1:]])


@dataclass(frozen=True)
class Paired:
    """Frames whose partitions are combined one by one, and what is made of the result."""

    nodes: list[FrameExpr]
    given: list[FrameExpr]
    found: tuple[FrameExpr, FrameExpr] | None = None
    """The comparison of each partition, and that of all; None if labels needn't be compared."""

    def result(self, made: FrameExpr, *, tried: Callable[..., Any] | None = None) -> FrameExpr:
        """Return the node of a combination of `nodes` as that of the frames that were given. `tried` is what shows pandas' name of its labels."""
        shown = self._without_added_rows(made)
        if (
            (made.npartitions == 1 and tried is None)
            or not isinstance(made, BlockOp)
            or not have_unlike_names(self.given)
        ):
            return shown
        labels = {node.name: _labels_alone(given) for node, given in zip(self.nodes, self.given, strict=True)}
        return named_as_whole(made, shown, tried or made.call, labels)

    def _without_added_rows(self, made: FrameExpr) -> FrameExpr:
        if self.found is None:
            return made
        place = next((place for place, node in enumerate(self.nodes) if node.rows == made.rows), None)
        identity = None if place is None else (self.given[place].rows, self.given[place].lengths)
        return Restored(made, self.found, BlockCall(_restored, _THREE, label="paired"), identity)


_THREE = (Block(0), Block(1), Block(2))


def paired(
    nodes: Sequence[FrameExpr], what: str, *, ignore_unknown: bool = False, takes_single: bool = False
) -> Paired:
    """Return frames cut alike, whose partitions are paired by label as whole frames are. See `cut_alike`."""
    return pair(cut_alike(nodes, what, ignore_unknown=ignore_unknown, takes_single=takes_single))


def pair(cut: list[FrameExpr]) -> Paired:
    """Return frames that are cut alike, whose partitions are paired by label as whole frames are."""
    have_labels = all(isinstance(node.meta, (pd.DataFrame, pd.Series)) for node in cut)
    if len(cut) < 2 or cut[0].npartitions == 1 or not have_labels:
        return Paired(cut, cut)
    distinct = {_labels_of_rows(node): node for node in cut}
    if len(distinct) == 1 or sum(not node.has_unique_labels for node in distinct.values()) < 2:
        return Paired(cut, cut)  # where one frame's labels repeat, its rows are paired by label in any case
    each = {one: number for number, one in enumerate(distinct)}
    first, *others = map(_labels_alone, distinct.values())
    are_apart = any(node.divisions[0] is not None for node in cut)
    blocks = tuple(map(Block, range(len(distinct))))
    own = _Comparison(first, tuple(others), BlockCall(partial(_compared, are_apart), blocks, label="compare-labels"))
    whole = TreeReduce(own, TreeSteps(_different, _different, None), _SPLIT_EVERY, "compare-labels")
    found: tuple[FrameExpr, ...] = (own, whole)
    if not are_apart:
        hashing = BlockCall(partial(_hashed_labels, _are_users(cut)), (Block(0), Block(1)), label="hash-labels")
        hashes = TreeSteps(_joined_hashes, _repeated_hash, None)
        found = (own, whole, TreeReduce(_Hashing(own, (whole,), hashing), hashes, _SPLIT_EVERY, "hash-labels"))
    extended: list[FrameExpr] = []
    for node in cut:
        number = each[_labels_of_rows(node)]
        call = BlockCall(partial(_extended, number), tuple(map(Block, range(1 + len(found)))), label="paired")
        extended.append(Extended(node, found, call))
    return Paired(extended, cut, (own, whole))


def filtered(node: FrameExpr, condition: FrameExpr, what: str) -> FrameExpr:
    """Return the node of the rows for which a series of booleans is true, by label."""
    pairs = paired([node, condition], what, takes_single=True)
    is_of_others = isinstance(condition.meta, pd.Series) and _labels_of_rows(node) != _labels_of_rows(condition)
    kind = FilterByLabel if is_of_others else Filter
    return pairs.result(kind(*pairs.nodes))


class _Hashing(Chunk):
    """The hashes of each partition's labels, if frames differ. They aren't computed with reductions of a frame."""

    @property
    def siblings_from(self) -> int | None:
        return None


class _Comparison(Chunk):
    """What each partition says of labels. It isn't fused with other reductions of a frame: partitions need it, too."""

    reads_apart = True

    @property
    def siblings_from(self) -> int | None:
        return None


def _extended_rows(frame: FrameExpr, whole: FrameExpr) -> str:
    return f"extended-{tokenize(frame.rows, whole.name)}"


def _labels_of_rows(node: FrameExpr) -> tuple[str, str]:
    """Return what nodes of equal labels in each partition have in common."""
    return (node.rows, node.layout)


def _are_users(nodes: Sequence[FrameExpr]) -> bool:
    """Whether a user's function makes partitions of which some nodes are made."""
    return any(
        (isinstance(one, BlockOp) and one.call.is_users)
        or getattr(getattr(one, "source", one), "makes_unlike_dtypes", False)
        for one in walk(nodes)
    )


def _labels_alone(node: FrameExpr) -> FrameExpr:
    """Return a node of the same labels that computes as little as possible."""
    while type(node) in _OF_SAME_LABELS:
        if isinstance(node, Rowwise) and not node.keeps_rows:
            break
        node = node.frame  # type: ignore[attr-defined]
    if isinstance(node, Filter):
        return Filter(_labels_alone(node.frame), node.predicate, origin=node.origin)
    if isinstance(node, Redivide):
        return node.rebuild([_labels_alone(node.frame), *node.operands[1:]])
    return Projection(node, []) if isinstance(node.meta, pd.DataFrame) else node


_OF_SAME_LABELS: tuple[type, ...] = (Projection, Assign, Rowwise, Columnwise)


# What is done with partitions.


def _compared(are_apart: bool, *blocks: Any) -> Compared:
    """Compare the labels of partitions with those of the first one. `are_apart`: other partitions have other labels."""
    first, *others = (block.index for block in blocks)
    differing = [number for number, labels in enumerate(others, 1) if not labels.equals(first)]
    is_plain = bool(first.is_monotonic_increasing and first.is_unique)
    indexes = [first, *others]
    # Slices, as what pandas has looked up in an index is kept with it.
    unlike = () if are_apart else tuple(indexes[number][:] for number in (0, *differing))
    if not differing:
        return Compared(frozenset(), (), is_plain, unlike)
    wanted = [label for number in differing for label in _first_difference(first, indexes[number])]
    labels = [index[:0] for index in indexes]
    for label in _distinct(wanted):
        places = [np.flatnonzero(index.isin(label)) for index in indexes]
        counts = _few([len(found) for found in places])
        labels = [
            one.append(index[found[:1].repeat(count)])
            for one, index, found, count in zip(labels, indexes, places, counts, strict=True)
        ]
    for number in differing:
        if labels[number].equals(labels[0]):  # as often, in another order
            labels[number] = labels[number][::-1]
    return Compared(frozenset(differing), tuple(labels), is_plain, unlike)


def _first_difference(one: pd.Index, other: pd.Index) -> list[pd.Index]:
    """Return the labels at the first place at which two indexes differ, each alone in an index."""
    low, high = 0, min(len(one), len(other)) + 1  # they are equal up to `low`, and differ up to `high`
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle].equals(other[low:middle]):
            low = middle
        else:
            high = middle
    return [labels[low : low + 1] for labels in (one, other) if low < len(labels)]


def _distinct(labels: Sequence[pd.Index]) -> list[pd.Index]:
    found: list[pd.Index] = []
    for label in labels:
        if not any(label.isin(one)[0] for one in found):
            found.append(label)
    return found


def _few(counts: Sequence[int]) -> list[int]:
    """Return small numbers that are equal, 0 or 1 where those given are."""
    several = sorted({count for count in counts if count >= _MOST_OF_LABEL})
    return [count if count < _MOST_OF_LABEL else _MOST_OF_LABEL + several.index(count) for count in counts]


def _hashed(labels: pd.Index) -> Any:
    return pd.util.hash_pandas_object(labels, index=False).to_numpy()


def _different(found: Sequence[Compared | Different]) -> Different:
    """Return by what frames differ of what partitions, or several of them, say."""
    kept: list[Compared] = []
    known: frozenset[int] = frozenset()
    for one in found:
        for compared in one.partitions if isinstance(one, Different) else [one]:
            if not compared.differing <= known:
                known |= compared.differing
                kept.append(compared._replace(indexes=()))
    return Different(tuple(kept))


def _hashed_labels(are_users: bool, own: Compared, whole: Different) -> Hashes | None:
    """Return the hashes of a partition's labels if frames differ; else rows are paired by place, and they don't matter."""
    return Hashes.of(own.indexes, are_users) if whole.partitions else None


def _joined_hashes(found: Sequence[Hashes | None]) -> Hashes | None:
    hashes = [one for one in found if one is not None]
    return Hashes.joined(hashes) if hashes else None


def _repeated_hash(found: Sequence[Hashes | None]) -> int | None:
    """Return the hash of a label that several partitions have, if there is one."""
    made = _joined_hashes(found)
    return None if made is None else made.repeated


def _needed(own: Compared, whole: Different) -> list[Compared]:
    """Return the comparisons of other partitions by which frames differ that don't differ in this one."""
    return [] if own.is_plain else [one for one in whole.partitions if not one.differing <= own.differing]


def _extended(number: int, block: Any, own: Compared, whole: Different, repeated: int | None = None) -> Any:
    if repeated is not None:
        _refuse(block.index[_hashed(block.index) == repeated])
    needed = _needed(own, whole)
    if not needed or not len(block):
        return block
    labels = block.index
    for one in needed:
        for added in one.labels:  # not all labels are hashed
            is_own = block.index.isin(added)
            if is_own.any():
                _refuse(block.index[is_own])
        labels = labels.append(one.labels[number])
    places = np.zeros(len(labels), dtype=np.intp)
    places[: len(block)] = np.arange(len(block))
    made = block.take(places)
    made.index = labels.rename(block.index.names if labels.nlevels > 1 else block.index.name)
    return made


def _refuse(found: pd.Index) -> None:
    """Raise the error for labels of a partition that others have, too."""
    shown = f"such as {found[:1].tolist()[0]!r} " if len(found) else ""
    raise DivisionError(
        f"frames of other rows are combined by label, and their divisions aren't known: equal labels {shown}are in several partitions. "
        "sort_index() or set_index() of the frame that both are made of bring them together"
    )


def _restored(block: Any, own: Compared, whole: Different) -> Any:
    needed = _needed(own, whole)
    if not needed:
        return block
    is_added = np.zeros(len(block), dtype=bool)
    for one in needed:
        for labels in one.labels:
            is_added |= block.index.isin(labels)
    return block[~is_added]


def _filtered(frame: Any, condition: Any) -> Any:
    """Return the rows for whose labels a condition is true. (pandas takes those at other places for labels of which it says several things.)"""
    labels, own = condition.index, frame.index
    if not labels.equals(own) and not labels.is_unique and own.isin(labels[labels.duplicated()]).any():
        shown = own[own.isin(labels[labels.duplicated()])][0]
        raise pd.errors.IndexingError(
            f"Unalignable boolean Series provided as indexer: it has several values for the label {shown!r}, and other labels than "
            "what it chooses from: groupby(level=0).any() of it has one for each label"
        )
    return frame[condition]
