"""`set_index`, and divisions that are found out by reading the keys."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.category_order import can_divide
from glassloom.dataframe.moving.boundaries import (
    SAMPLES_PER_PARTITION,
    Order,
    Samples,
    choose_boundaries,
    join_samples,
    sample_keys,
)
from glassloom.dataframe.moving.bounds_in_files import bounds_in_files
from glassloom.dataframe.moving.shape import SetDivisions
from glassloom.dataframe.moving.sort import NearlySorted, Sorting, sort, sort_at, sort_blocks
from glassloom.dataframe.nodes import FrameExpr, Rowwise, SomeRows
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import wrap
from glassloom.errors import DivisionError

BY_INDEX = Sorting((), Order((True,)), None, by_index=True)


class SetIndex(Rowwise):
    """A frame with columns or a series as the index: the same rows under other labels."""

    @property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (self.frame.npartitions + 1)

    @property
    def layout(self) -> str:
        return self.name

    @property
    def has_unique_labels(self) -> bool:
        return False


@dataclass(frozen=True)
class _Ends:
    """What is known of a partition's keys: the smallest and largest, if any; whether they are in order, none missing."""

    low: Any
    high: Any
    is_sorted: bool


def set_sorted_index(node: FrameExpr, keys: FrameExpr, name: Any, divisions: Sequence[Any] | None) -> FrameExpr:
    """Return a frame whose rows are in order of its index, with its divisions, which are found out if not given.

    Parameters
    ----------
    node
        The frame with its new index.
    keys
        The index labels as a series.
    name
        What messages call them.
    """
    if divisions is not None:
        return SetDivisions(node, _checked_divisions(divisions, node, node.npartitions))
    ends = _sorted_ends(keys, name)
    if _are_in_order(ends):
        return SetDivisions(node, _divisions_of(ends))
    with_rows = [end for end in ends if end is not None]
    return _one_partition_a_label(node, with_rows) if with_rows else node


def with_divisions(node: FrameExpr) -> FrameExpr:
    """Return a frame or series whose rows are in order of its labels, with its divisions, which are found out."""
    return set_sorted_index(node, wrap(node).index.to_series().expr, "label", None)


def current_divisions(keys: FrameExpr, name: Any) -> tuple[Any, ...]:
    """Compute the divisions of partitions that are in order of some keys.

    Raises
    ------
    DivisionError
        If they aren't in order, one has no rows, or rows of equal keys are in two.
    """
    ends = _sorted_ends(keys, name)
    if None in ends:
        raise DivisionError(
            f"partition {ends.index(None)} has no rows, so its first {name!r} isn't known; set_index(..., sorted=True) leaves it out"
        )
    for number, (before, after) in enumerate(pairwise(ends)):
        if not before.high < after.low:
            raise DivisionError(
                f"partitions {number} and {number + 1} both have rows of {name}={after.low}; set_index(..., sorted=True) brings them together"
            )
    return _divisions_of(ends)


def _divisions_of(ends: Sequence[Any]) -> tuple[Any, ...]:
    return (*(end.low for end in ends), ends[-1].high)


def _sorted_ends(keys: FrameExpr, name: Any) -> list[Any]:
    """Compute the ends of each partition's keys, None where there are no rows.

    Raises
    ------
    DivisionError
        If keys aren't in order, or are missing.
    """
    if isinstance(keys.meta.dtype, pd.CategoricalDtype):
        raise DivisionError(
            f"divisions of categories can't be found out: set_index({name!r}) without sorted=True, or divisions= of categories in ascending order"
        )
    ends, _ = _look_at(keys, keys.npartitions)
    with_rows = {number: end for number, end in enumerate(ends) if end is not None}
    for number, end in with_rows.items():
        if not end.is_sorted:
            raise DivisionError(f"partition {number} isn't sorted by {name!r}, or values are missing")
    for (number, before), (following, after) in pairwise(with_rows.items()):
        if after.low < before.high:
            raise DivisionError(
                f"partitions {number} and {following} overlap: one ends at {name}={before.high}, the next begins at "
                f"{after.low}; without sorted=True rows are sorted"
            )
    return ends


def _one_partition_a_label(node: FrameExpr, ends: Sequence[_Ends]) -> FrameExpr:
    """Return a sorted frame without its empty partitions, and with all rows of a label in one partition."""
    low, high = ends[0].low, ends[-1].high
    lows = pd.Series([end.low for end in ends], dtype=node.meta.index.dtype).drop_duplicates()
    lows = lows[lows > low]
    boundaries = pd.DataFrame({0: lows.reset_index(drop=True)})
    return sort_at(node, BY_INDEX, boundaries, (low, *lows.tolist(), high))


def sort_by_index(
    node: FrameExpr, keys: FrameExpr, npartitions: int | None = None, divisions: Sequence[Any] | None = None
) -> FrameExpr:
    """Return a frame sorted by its index, with known divisions. Reads the keys now, unless the divisions are given, or follow from what files say.

    Missing labels come last. Rows don't move if they are sorted already.
    """
    if divisions is not None:
        return _sort_at_divisions(node, _checked_divisions(divisions, node, None))
    dtype = keys.meta.dtype
    if (
        isinstance(dtype, pd.CategoricalDtype) or dtype.kind == "c"
    ):  # their order isn't that of the labels, or Python has none
        return sort(node, BY_INDEX, npartitions)
    bounds = bounds_in_files(keys) if npartitions is None else None
    if bounds is not None:
        return _sort_within_bounds(node, bounds)
    count = npartitions or node.npartitions
    ends, samples = _look_at(keys, count)
    if npartitions is None and _are_in_order(ends):
        return SetDivisions(node, _divisions_of(ends))
    known = [end for end in ends if end is not None and end.low is not None]
    if not known:
        return sort_blocks(node, BY_INDEX)
    low, high = min(end.low for end in known), max(end.high for end in known)
    boundaries = choose_boundaries(samples, count, BY_INDEX.order)
    column = boundaries[0]
    boundaries = boundaries[column.notna() & (column > low)].drop_duplicates(ignore_index=True)
    return sort_at(node, BY_INDEX, boundaries, (low, *boundaries[0].tolist(), high))


def _sort_within_bounds(node: FrameExpr, bounds: Sequence[tuple[Any, Any]]) -> FrameExpr:
    """Return a frame sorted by its index, whose partitions are in order: rows of one label may be in two of them."""
    lows, high = [low for low, _ in bounds], bounds[-1][1]
    if all(before < low for (_, before), (low, _) in pairwise(bounds)):
        return SetDivisions(sort_blocks(node, BY_INDEX), (*lows, high))
    column = pd.Series(lows, dtype=node.meta.index.dtype).drop_duplicates(ignore_index=True)
    begins = column.tolist()
    made = sort_at(node, BY_INDEX, pd.DataFrame({0: column[1:].reset_index(drop=True)}), (*begins, high))
    ends = [before for _, before in bounds]
    sources = tuple([(bisect_left(ends, begin), bisect_left(lows, end)) for begin, end in pairwise(begins)])
    sources = (*sources, (bisect_left(ends, begins[-1]), len(bounds)))
    return NearlySorted(*made.operands, sources, len(bounds))


def _sort_at_divisions(node: FrameExpr, divisions: tuple[Any, ...]) -> FrameExpr:
    boundaries = pd.DataFrame({0: pd.Series(list(divisions[1:-1]), dtype=node.meta.index.dtype)})
    sorted_node = sort_at(node, BY_INDEX, boundaries, divisions)
    call = BlockCall(_require_between, (Block(0), divisions[0], divisions[-1]), label="check-divisions")
    return SomeRows(sorted_node, (), call)


def _require_between(block: Any, low: Any, high: Any) -> Any:
    labels = block.index.dropna()
    ends = labels[[0, -1]].tolist() if len(labels) else [low, high]
    if ends[0] < low or ends[1] > high:
        wrong = ends[0] if ends[0] < low else ends[1]
        raise DivisionError(f"label {wrong!r} lies outside of the divisions, which go from {low!r} to {high!r}")
    return block


def _checked_divisions(divisions: Sequence[Any], node: FrameExpr, npartitions: int | None) -> tuple[Any, ...]:
    """Return divisions as labels of a node's index."""
    if not can_divide(node.meta):
        raise DivisionError(
            f"divisions={divisions!r} of categories that aren't known to be in ascending order don't tell where rows are: leave them out"
        )
    found = tuple(pd.Series(list(divisions), dtype=node.meta.index.dtype).tolist())
    if len(found) < 2 or (npartitions is not None and len(found) != npartitions + 1):
        expected = "at least 2 labels" if npartitions is None else f"{npartitions + 1} labels"
        raise DivisionError(f"divisions={divisions!r} should have {expected}: where partitions begin, and the last one")
    for place, (before, after) in enumerate(pairwise(found)):
        is_last = place == len(found) - 2
        if not (before <= after if is_last else before < after):
            raise DivisionError(f"divisions={divisions!r} should increase; {after!r} follows {before!r}")
    return found


def _are_in_order(ends: Sequence[_Ends | None]) -> bool:
    if not all(end is not None and end.is_sorted for end in ends):
        return False
    return all(before.high < after.low for before, after in pairwise(ends))  # type: ignore[union-attr]


def _look_at(keys: FrameExpr, count: int) -> tuple[list[Any], Samples]:
    """Compute what is known of each partition's keys, and samples of them for `count` partitions."""
    n_samples = max(SAMPLES_PER_PARTITION, SAMPLES_PER_PARTITION * count // keys.npartitions)
    found: tuple[list[Any], Samples] = wrap(
        tree(keys, Operation(partial(_look, n_samples), _join, _join), 0, "divisions")
    ).compute()
    return found


def _look(n_samples: int, column: Any) -> tuple[list[_Ends | None], Samples]:
    samples = sample_keys(pd.DataFrame({0: column.array}), n_samples)
    if not len(column):
        return [None], samples
    known = column.dropna()
    is_sorted = len(known) == len(column) and bool(column.is_monotonic_increasing)
    if not len(known) or isinstance(column.dtype, pd.CategoricalDtype):
        low = high = None
    elif is_sorted:
        low, high = known.iloc[[0, -1]].tolist()
    else:
        low, high = known.iloc[[known.argmin(), known.argmax()]].tolist()
    return [_Ends(low, high, is_sorted)], samples


def _join(several: Sequence[tuple[list[_Ends | None], Samples]]) -> tuple[list[_Ends | None], Samples]:
    return [end for ends, _ in several for end in ends], join_samples([samples for _, samples in several])
