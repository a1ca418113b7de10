"""Rows of an index of several levels by `loc`: which rows a key means, partition by partition, and what becomes of them in pandas' order."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.label_order import Run, joined_runs, run_of
from glassloom.dataframe.nodes import FrameExpr, Projection, SomeRows
from glassloom.dataframe.numbered_levels import level_at, rows_without_levels
from glassloom.dataframe.prefix import CarriedRows, scan
from glassloom.dataframe.reduce import Length, Operation, tree
from glassloom.dataframe.wrap import wrap


def is_key_of_levels(rows: Any, index: pd.Index) -> bool:
    """Whether `loc` of an index of several levels takes this for rows: a tuple, a list of tuples or of labels of the first level, or a slice."""
    if isinstance(rows, tuple):
        return len(rows) <= index.nlevels and all(map(_is_of_level, rows))
    if isinstance(rows, list):
        are_labels = all(isinstance(one, tuple) and len(one) == index.nlevels for one in rows)
        return bool(rows) and (are_labels or all(map(pd.api.types.is_scalar, rows)))
    return isinstance(rows, slice) and rows.step in (None, 1)


def _is_of_level(key: Any) -> bool:
    if isinstance(key, slice):
        return key.step in (None, 1)
    return pd.api.types.is_scalar(key) or (isinstance(key, list) and all(map(pd.api.types.is_scalar, key)))


def rows_of_key(node: FrameExpr, key: Any) -> FrameExpr:
    """Return the node of the rows of a key. Rows between labels stay in their partitions; others are in one, in pandas' order.

    A tuple of a label for each level gives the rows that have it, with all levels; of fewer labels, their rows without these levels.
    Computing it raises KeyError if no row has a label, and UnsortedIndexError if a slice is of levels that aren't in order.
    """
    chosen: FrameExpr = SomeRows(node, (), BlockCall(_having, (Block(0), key), label="loc"))
    if depth := sliced_levels(key):
        before = scan(node, partial(run_of_levels, depth), joined_runs, "order-before")
        in_order = BlockCall(partial(_having_in_order, depth), (Block(0), key, Block(1)), label="loc")
        chosen = CarriedRows(node, (before,), in_order, node.meta)
    if isinstance(key, slice):
        return chosen
    if isinstance(key, tuple) and any(isinstance(one, slice) for one in key) and not any(map(_has_order, key)):
        check = BlockCall(partial(_if_any, key), (Block(0), Block(1)), label="loc")
        return CarriedRows(chosen, (Length(chosen),), check, chosen.meta)
    finish = partial(_by_key, key)
    is_part = _is_part_of_label(key, node.meta.index)
    meta = rows_without_levels(node.meta, range(len(key))) if is_part else node.meta
    return tree(chosen, Operation(_same, concat, finish), meta, "loc")


def has_key(node: FrameExpr, key: tuple[Any, ...]) -> bool:
    """Compute whether a row has labels of the first levels."""
    found = BlockCall(partial(_count_having, key), (Block(0),), label="labels")
    labels = Projection(node, []) if isinstance(node.meta, pd.DataFrame) else node
    counted = tree(labels, Operation(found, sum, sum), 0, "labels")
    return bool(wrap(counted).compute())


def _count_having(key: Any, block: Any) -> int:
    return int(where_key(block.index, key).sum())


def may_be_key(key: Any, index: pd.Index) -> bool:
    """Whether a tuple of labels and none else may be labels of the first levels, by their dtypes."""
    if len(key) > index.nlevels or not all(map(pd.api.types.is_scalar, key)):
        return False
    return all(_may_be_among(one, level_at(index, level).dtype) for level, one in enumerate(key))


def _may_be_among(label: Any, dtype: Any) -> bool:
    if isinstance(label, str):
        return not pd.api.types.is_numeric_dtype(dtype)
    return not isinstance(dtype, pd.StringDtype) and getattr(dtype, "kind", "O") not in "mM"


def sliced_levels(key: Any) -> int:
    """Return of how many of the first levels the labels must be in order, as pandas needs them for the slices of a key."""
    if isinstance(key, slice):
        return max(len(_prefix(end) or ()) for end in (key.start, key.stop))
    if not isinstance(key, tuple):
        return 0
    return max((level + 1 for level, one in enumerate(key) if isinstance(one, slice) and one != slice(None)), default=0)


def run_of_levels(depth: int, block: Any) -> Run:
    """Return what the labels of the first levels say of their order."""
    index = block.index
    some = pd.MultiIndex(levels=index.levels[:depth], codes=index.codes[:depth], verify_integrity=False)
    return run_of(some if depth > 1 else level_at(some, 0))


def levels_not_in_order(depth: int) -> pd.errors.UnsortedIndexError:
    """Return the error of a slice of levels that aren't in order."""
    levels = "the first level" if depth == 1 else f"the first {depth} levels"
    return pd.errors.UnsortedIndexError(
        f"loc: slices need the labels of {levels} in order, and they aren't: sort_index() before, or reset_index() and filter by a condition"
    )


def require_plain_labels(key: Any, index: pd.Index) -> None:
    """Check that each part of a key can be compared with the labels of its level.

    Raises
    ------
    NotImplementedError
        If a label should stand for intervals or a stretch of time, or a slice of categories is asked for.
    """
    for level, part in enumerate(_parts_of_levels(key, index)):
        _require_plain(part, level_at(index, level), index.names[level])


def _parts_of_levels(key: Any, index: pd.Index) -> list[Any]:
    """Return what a key says of each level: a label, or a list or slice of labels."""
    if isinstance(key, tuple):
        return list(key)
    if isinstance(key, list):
        return [list(level) for level in zip(*key, strict=True)] if isinstance(key[0], tuple) else [key]
    ends = [_prefix(end) for end in (key.start, key.stop) if end is not None]
    if not any(isinstance(end, tuple) for end in (key.start, key.stop)):  # texts of times are compared as pandas does
        return [] if level_at(index, 0).dtype.kind in "mM" else [key]
    return [slice(*pair) if len(pair) == 2 else slice(pair[0], None) for pair in zip(*ends, strict=False)]


def _require_plain(part: Any, labels: pd.Index, name: Any) -> None:
    values = [part.start, part.stop] if isinstance(part, slice) else part if isinstance(part, list) else [part]
    if (kind := _other_kind(labels, values)) is not None and not any(isinstance(value, str) for value in values):
        raise NotImplementedError(
            f"loc: {part!r} among the {kind} of level {name!r}: beside other levels no label stands for those that contain it; "
            f"give {kind}, or reset_index() and filter by a condition"
        )
    are_times = isinstance(labels, (pd.DatetimeIndex, pd.PeriodIndex, pd.TimedeltaIndex))
    if are_times and any(isinstance(value, str) for value in values):
        raise NotImplementedError(
            f"loc: {part!r} among the times of level {name!r}: beside other levels a text stands for no stretch of time; give "
            "pandas.Timestamp or the like, a text for the first level alone, or xs(text, level=...)"
        )
    if isinstance(part, slice) and part != slice(None) and isinstance(labels.dtype, pd.CategoricalDtype):
        raise NotImplementedError(
            f"loc: {part!r} among the categories of level {name!r}: give a list of them, or reset_index() and a condition"
        )


def _other_kind(labels: pd.Index, values: list[Any]) -> str | None:
    """Return which kind of labels is needed, where others stand for those that contain them: numbers for intervals, times for periods."""
    given = [value for value in values if pd.api.types.is_scalar(value) and not pd.isna(value)]
    if isinstance(labels, pd.IntervalIndex) and not all(isinstance(value, pd.Interval) for value in given):
        return "intervals"
    if isinstance(labels, pd.PeriodIndex) and not all(isinstance(value, pd.Period) for value in given):
        return "periods"
    return None


def is_full_label(key: Any, index: pd.Index) -> bool:
    """Whether a key is one label of each level."""
    return isinstance(key, tuple) and len(key) == index.nlevels and all(map(pd.api.types.is_scalar, key))


def levels_left_out(key: Any) -> list[int]:
    """Return which levels pandas leaves out of a series' rows: those of labels beside levels of which all is taken."""
    if not isinstance(key, tuple) or all(map(pd.api.types.is_scalar, key)):
        return []
    if not all(pd.api.types.is_scalar(one) or one == slice(None) for one in key):
        return []
    return [level for level, one in enumerate(key) if not isinstance(one, slice)]


def _is_part_of_label(key: Any, index: pd.Index) -> bool:
    return isinstance(key, tuple) and len(key) < index.nlevels and all(map(pd.api.types.is_scalar, key))


def _prefix(label: Any) -> tuple[Any, ...] | None:
    if label is None:
        return None
    return label if isinstance(label, tuple) else (label,)


def _has_order(key: Any) -> bool:
    return isinstance(key, list) and len(key) > 1


def _having(block: Any, key: Any) -> Any:
    return block[where_key(block.index, key)]


def _having_in_order(depth: int, block: Any, key: Any, before: Run | None) -> Any:
    run = run_of_levels(depth, block)
    if not (run if before is None else joined_runs([before, run])).rises:
        raise levels_not_in_order(depth)
    return _having(block, key)


def where_key(index: Any, key: Any) -> Any:
    """Return where labels of several levels are those of a key, as an array."""
    if isinstance(key, slice):
        return _where_between(index, _prefix(key.start), _prefix(key.stop))
    if isinstance(key, list):
        return index.isin(key) if isinstance(key[0], tuple) else level_at(index, 0).isin(key)
    keep = np.ones(len(index), dtype=bool)
    for level, wanted in enumerate(key):
        values = level_at(index, level)
        if isinstance(wanted, slice):
            keep &= _at_least(index, level, wanted.start) & _at_most(index, level, wanted.stop)
        elif isinstance(wanted, list):
            keep &= np.asarray(values.isin(wanted))
        else:
            keep &= np.asarray(values.isna() if pd.isna(wanted) else values.isin([wanted]))
    return keep


def _at_least(index: Any, level: int, label: Any) -> Any:
    return True if label is None else np.asarray(level_at(index, level) >= label)


def _at_most(index: Any, level: int, label: Any) -> Any:
    return True if label is None else np.asarray(level_at(index, level) <= label)


def _where_between(index: Any, low: tuple[Any, ...] | None, high: tuple[Any, ...] | None) -> Any:
    keep = np.ones(len(index), dtype=bool)
    if low is not None:
        keep &= ~_is_before(index, low)
    if high is not None:
        keep &= ~_is_before(index, high, is_after=True)
    return keep


def _is_before(index: Any, label: tuple[Any, ...], *, is_after: bool = False) -> Any:
    """Return where the first levels come before a label, or after it."""
    found = np.zeros(len(index), dtype=bool)
    for level in reversed(range(len(label))):
        values = level_at(index, level)
        outside = values > label[level] if is_after else values < label[level]
        found = np.asarray(outside) | (np.asarray(values == label[level]) & found)
    return found


def _if_any(key: Any, rows: Any, count: int) -> Any:
    if not count:
        raise KeyError(key)
    return rows


def _by_key(key: Any, blocks: list[Any]) -> Any:
    whole = concat(blocks)
    if not len(whole):
        raise KeyError(key)
    if is_full_label(key, whole.index):
        return whole
    if _is_part_of_label(key, whole.index):
        return rows_without_levels(whole, range(len(key)))
    return whole.loc[key] if isinstance(whole, pd.Series) else whole.loc[key, :]


def _same(block: Any) -> Any:
    return block
