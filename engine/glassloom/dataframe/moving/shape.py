"""Nodes that change the partitions of a frame, or concatenate frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import rows_between, sample
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.category_order import can_divide
from glassloom.dataframe.nodes import FrameBlockwise, FrameExpr, OfSameLabels, empty
from glassloom.dataframe.widening import concat_promised
from glassloom.expr import Expr
from glassloom.graph import Key, Task, TaskRef, tokenize


class Repartition(FrameExpr):
    """A frame cut into another number of partitions: neighbours are joined, or each partition is cut in pieces."""

    parameters = ("frame", "count")

    frame: FrameExpr
    count: int

    keeps_memory = True

    adds_no_rows = True

    @cached_property
    def meta(self) -> Any:
        return self.frame.meta

    @cached_property
    def bounds(self) -> list[int]:
        """The old partitions at which the new ones begin."""
        old, new = self.frame.npartitions, self.count
        return [old * number // new for number in range(new + 1)]

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        if self.count > self.frame.npartitions:
            return (None,) * (self.count + 1)
        return tuple(self.frame.divisions[bound] for bound in self.bounds)

    @property
    def rows(self) -> str:
        return f"repartition-{tokenize(self.frame.rows, self.count)}"

    @property
    def layout(self) -> str:
        return f"repartition-{tokenize(self.frame.layout, self.rows, self.count)}"

    @property
    def lengths(self) -> tuple[int, ...] | None:
        lengths = self.frame.lengths
        if lengths is None:
            return None
        if self.count <= len(lengths):
            return tuple(sum(lengths[a:b]) for a, b in zip(self.bounds, self.bounds[1:], strict=False))
        return tuple(
            lengths[old] * (piece + 1) // pieces - lengths[old] * piece // pieces
            for old, pieces in enumerate(self._pieces())
            for piece in range(pieces)
        )

    @property
    def has_unique_labels(self) -> bool:
        return self.frame.has_unique_labels and (self.count >= self.frame.npartitions or _has_all_apart(self.frame))

    def _pieces(self) -> list[int]:
        """Return into how many pieces each old partition is cut."""
        old = self.frame.npartitions
        return [self.count * (number + 1) // old - self.count * number // old for number in range(old)]

    def tasks(self) -> dict[Key, Task]:
        below = self.frame.output_keys()
        keys: list[Key] = [(self.name, number) for number in range(self.count)]
        if self.count <= len(below):
            joined = partial(concat_promised, self.meta)
            return {
                key: Task(key, joined, ([TaskRef(one) for one in below[start:end]],))
                for key, start, end in zip(keys, self.bounds, self.bounds[1:], strict=False)
            }
        cuts = [(old, piece, pieces) for old, pieces in enumerate(self._pieces()) for piece in range(pieces)]
        return {
            key: Task(key, _piece, (TaskRef(below[old]), piece, pieces))
            for key, (old, piece, pieces) in zip(keys, cuts, strict=True)
        }


class Concat(FrameExpr):
    """Frames, concatenated: all partitions of the first, then all of the second..."""

    parameters = ("frames", "join", "sorts_columns")

    frames: tuple[FrameExpr, ...]
    join: str
    sorts_columns: bool

    @cached_property
    def meta(self) -> Any:
        return empty(pd.concat([sample(frame.meta) for frame in self.frames], join=self.join, sort=self.sorts_columns))  # type: ignore[call-overload]

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        unknown = (None,) * (sum(frame.npartitions for frame in self.frames) + 1)
        joined: list[Any] = []
        if not can_divide(self.meta):
            return unknown
        for frame in self.frames:
            if _has_other_categories(frame.meta.index, self.meta.index):  # whose order was another one
                return unknown
            if frame.divisions[0] is None or (joined and not _is_before(joined[-1], frame.divisions[0])):
                return unknown
            joined = [*joined[:-1], *frame.divisions] if joined else list(frame.divisions)
        return tuple(joined)

    @property
    def rows(self) -> str:
        return f"concat-{tokenize([frame.rows for frame in self.frames])}"

    @property
    def lengths(self) -> tuple[int, ...] | None:
        found = [frame.lengths for frame in self.frames]
        return None if None in found else tuple(length for one in found if one is not None for length in one)

    @property
    def has_unique_labels(self) -> bool:
        return _has_all_apart(self) and all(frame.has_unique_labels for frame in self.frames)

    def tasks(self) -> dict[Key, Task]:
        tasks: dict[Key, Task] = {}
        below = [key for frame in self.frames for key in frame.output_keys()]
        for number, source in enumerate(below):
            key = (self.name, number)
            tasks[key] = Task(key, conform, (TaskRef(source), self.meta))
        return tasks


def _is_before(label: Any, other: Any) -> bool:
    """Whether a label is before another one; of kinds that can't be compared none is."""
    try:
        return bool(label < other)
    except TypeError:
        return False


class Sample(OfSameLabels):
    """A random fraction of each partition's rows."""

    parameters = ("frame", "fraction", "replace", "seed")

    frame: FrameExpr
    fraction: float
    replace: bool
    seed: int

    @cached_property
    def meta(self) -> Any:
        return self.frame.meta

    @property
    def function(self) -> Callable[..., Any]:
        return BlockCall(_sample, (Block(0), Block(1), self.fraction, self.replace, self.seed), label="sample")

    @property
    def has_unique_labels(self) -> bool:
        return not self.replace and self.frame.has_unique_labels

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return index


class SetDivisions(FrameBlockwise):
    """A frame whose divisions have been found out."""

    parameters = ("frame", "found")
    operation = "divisions"

    frame: FrameExpr
    found: tuple[Any, ...]

    keeps_memory = True

    adds_no_rows = True

    @cached_property
    def meta(self) -> Any:
        return self.frame.meta

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return self.found

    @property
    def rows(self) -> str:
        """Those of the frame, unless their labels may be others: now that divisions are known, they are aligned by label."""
        rows, layout = self.frame.rows, self.frame.layout
        return rows if rows == layout else f"divided-{tokenize(rows, layout)}"

    @property
    def layout(self) -> str:
        return self.frame.layout

    @property
    def lengths(self) -> tuple[int, ...] | None:
        return self.frame.lengths

    @property
    def has_unique_labels(self) -> bool:
        return self.frame.has_unique_labels

    @property
    def function(self) -> Callable[..., Any]:
        return _same


def concat_nodes(frames: Sequence[Expr], join: str, *, sorts_columns: bool = False) -> Concat:
    """Return the node of frames one after the other."""
    return Concat(tuple(frames), join, sorts_columns)


def _has_all_apart(frame: FrameExpr) -> bool:
    """Whether equal labels are in one partition."""
    return frame.divisions[0] is not None


def _same(block: Any) -> Any:
    return block


def _piece(block: Any, piece: int, pieces: int) -> Any:
    length = len(block)
    return rows_between(block, length * piece // pieces, length * (piece + 1) // pieces)


def conform(block: Any, meta: Any) -> Any:
    """Return a block with the columns of `meta`, and its dtypes where concatenating blocks has changed them."""
    if block.index.names != meta.index.names:
        block = block.rename_axis(index=meta.index.names)
    if _has_other_categories(block.index, meta.index):
        block = block.set_axis(_with_joined_categories(block.index, meta.index), axis=0)
    if isinstance(meta, pd.Series):
        return (
            _as_joined(block.rename(meta.name), meta.dtype)
            if _changes(block.dtype, meta.dtype)
            else block.rename(meta.name)
        )
    missing = [name for name in meta.columns if name not in block.columns]
    block = block.reindex(columns=meta.columns) if missing or list(block.columns) != list(meta.columns) else block
    if block.columns.names != meta.columns.names:
        block = block.rename_axis(columns=meta.columns.names)
    if not meta.columns.is_unique:
        return _conform_each(block, meta)
    changes = {
        name: dtype
        for name, dtype in meta.dtypes.items()
        if _changes(block[name].dtype, dtype) or (name in missing and not isinstance(dtype, np.dtype))
    }
    return _with_dtypes(block, changes) if changes else block


def _has_other_categories(labels: Any, joined: Any) -> bool:
    """Whether labels are categories of which joining has made values, as others are unlike them, or has changed the order."""
    if isinstance(labels, pd.MultiIndex):
        own, wanted = list(labels.dtypes), list(getattr(joined, "dtypes", ()))
        return len(own) == len(wanted) and any(map(_changes_categories, own, wanted))
    return not isinstance(joined, pd.MultiIndex) and _changes_categories(labels.dtype, joined.dtype)


def _changes_categories(own: Any, joined: Any) -> bool:
    if not isinstance(own, pd.CategoricalDtype):
        return False
    return not isinstance(joined, pd.CategoricalDtype) or _is_in_another_order(own, joined)


def _is_in_another_order(own: Any, joined: Any) -> bool:
    """Whether equal categories follow each other in another order, by which rows are sorted."""
    return bool(own == joined) and not own.categories.equals(joined.categories)


def _with_joined_categories(labels: Any, joined: Any) -> Any:
    """Return labels with the categories, or the values in place of them, that joining has made."""
    if not isinstance(labels, pd.MultiIndex):
        return _joined_labels(labels, joined.dtype)
    levels: Any = [
        _joined_labels(level, dtype) if _changes_categories(level.dtype, dtype) else level
        for level, dtype in zip(labels.levels, joined.dtypes, strict=True)
    ]
    return labels.set_levels(levels, verify_integrity=False)


def _joined_labels(labels: Any, dtype: Any) -> Any:
    if isinstance(dtype, pd.CategoricalDtype):
        return labels.set_categories(dtype.categories)
    is_missing = getattr(dtype, "kind", "O") in "iub" and labels.hasnans
    return labels.astype("float64" if is_missing else dtype)


def _with_dtypes(block: Any, changes: dict[Any, Any]) -> Any:
    block = block.copy(deep=False)
    for name, dtype in changes.items():
        block[name] = _as_joined(block[name], dtype)
    return block


def _conform_each(block: Any, meta: Any) -> Any:
    """Return a block of the same columns, some of them of one name, with the dtypes of `meta`."""
    names, dtypes = block.columns, list(meta.dtypes)
    numbered = block.set_axis(range(len(names)), axis=1)
    changes = {place: dtype for place, dtype in enumerate(dtypes) if _changes(numbered[place].dtype, dtype)}
    return _with_dtypes(numbered, changes).set_axis(names, axis=1) if changes else block


def _changes(own: Any, joined: Any) -> bool:
    """Whether joining has made another dtype; categories that stay some are left to the end, when all of them are known.

    Floats and objects where whole numbers or booleans were promised have missing values among them, or other objects.
    """
    if isinstance(joined, pd.CategoricalDtype):
        return isinstance(own, pd.CategoricalDtype) and _is_in_another_order(own, joined)
    is_wider = isinstance(own, np.dtype) and own.kind in "fO" and getattr(joined, "kind", "O") in "iub"
    return bool(own != joined) and not is_wider


def _as_joined(column: Any, dtype: Any) -> Any:
    """Return a column of a dtype that joining has made. Whole numbers that were categories are floats where some are missing."""
    if isinstance(dtype, pd.CategoricalDtype) and column.dtype == dtype:  # for astype they are the same
        return column.cat.set_categories(dtype.categories)
    if isinstance(dtype, (pd.StringDtype, pd.ArrowDtype)) and not column.notna().any():  # pandas looks at each value
        whole: Any = dtype
        missing: Any = pd.array([None], dtype=whole).take(np.zeros(len(column), np.intp))
        return pd.Series(missing, index=column.index, name=column.name)
    is_missing = isinstance(column.dtype, pd.CategoricalDtype) and getattr(dtype, "kind", "O") in "iub"
    return column.astype("float64" if is_missing and column.hasnans else dtype)


def _sample(block: Any, number: int, fraction: float, replace: bool, seed: int) -> Any:
    return block.sample(frac=fraction, replace=replace, random_state=np.random.default_rng([seed, number]))
