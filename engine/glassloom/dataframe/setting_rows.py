"""Which rows of a lazy frame or series `loc`, `iloc`, `at` and `iat` set, as a lazy series of booleans; `setting_values.py` sets them.

What can't be known before partitions are there, such as a label that no row has, is an error when the frame is computed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import sample
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.category_order import require_categories, require_known_order
from glassloom.dataframe.column_at_hand import with_column_at_hand
from glassloom.dataframe.key_levels import (
    is_key_of_levels,
    levels_not_in_order,
    require_plain_labels,
    run_of_levels,
    sliced_levels,
    where_key,
)
from glassloom.dataframe.keys_at_hand import are_booleans
from glassloom.dataframe.keys_of_rows import as_series
from glassloom.dataframe.label_order import Run, joined_runs, not_in_order, order_of_labels
from glassloom.dataframe.label_ranges import is_between
from glassloom.dataframe.nodes import FrameExpr, Projection
from glassloom.dataframe.partitions import Partitions
from glassloom.dataframe.prefix import Carried, scan
from glassloom.dataframe.reduce import Length, Operation, tree
from glassloom.dataframe.text_labels import are_texts_of_times, check_of_text, labels_of_texts
from glassloom.dataframe.times_of_day import is_of_times_of_day, where_times_of_day
from glassloom.dataframe.wrap import is_node, operate, wrap


@dataclass(frozen=True)
class RowsToSet:
    """Which rows are set, as a lazy boolean series, and for each of these rows the number of its value if there is one for each.

    `is_one` says that they were given as one label. If several rows may have it, `of_one_row` returns the condition that raises ValueError then.
    """

    condition: Any
    numbers: Callable[[int], Any]
    is_one: bool = False
    of_one_row: Callable[[], Any] | None = None

    def as_one_row(self) -> RowsToSet:
        """Return these rows, which are an error if one label was given that several have."""
        return self if self.of_one_row is None else replace(self, condition=self.of_one_row())


def rows_to_set(frame: Any, rows: Any, what: str) -> RowsToSet | None:
    """Return the rows that ``loc[rows]`` means; None for all.

    Raises
    ------
    NotImplementedError
        If `rows` are given in a way that isn't supported.
    """
    meta = frame.expr.meta
    if isinstance(rows, slice) and rows == slice(None):
        return None
    if isinstance(rows, slice) and rows.start is None and rows.stop is None:
        return positions_to_set(frame, rows, what)
    if is_node(rows):
        return _where(as_series(frame, rows))
    if is_mask(rows):
        return _where(wrap(mask_of_rows(frame, rows, what)))
    if meta.index.nlevels > 1 and is_key_of_levels(
        rows if isinstance(rows, (tuple, list, slice)) else (rows,), meta.index
    ):
        return _where(_of_key(frame, rows if isinstance(rows, (tuple, list, slice)) else (rows,), what))
    if isinstance(meta.index, pd.DatetimeIndex) and is_of_times_of_day(rows):
        return _where(where_times_of_day(frame, rows))
    if isinstance(rows, str) and isinstance(meta.index, (pd.DatetimeIndex, pd.PeriodIndex)):
        checked = wrap(check_of_text(frame.expr, rows, "rows are added by concat()"))
        low, high = bounds(meta.index, slice(rows, rows))
        return _where(operate(_is_between, frame, low, high, None, what, False, checked, label="between"))
    if isinstance(rows, slice) and rows.step is None:
        return _where(_between(frame, rows, what))
    if isinstance(rows, (list, range, np.ndarray, pd.Index)) or pd.api.types.is_scalar(rows):
        return labels_to_set(frame, rows, what)
    raise NotImplementedError(
        f"{what} = ...: values are set for the rows of a label, a list or slice of labels, or a condition, as in "
        "frame.loc[frame.x > 1, 'x'] = 0"
    )


def _of_key(frame: Any, key: Any, what: str) -> Any:
    """Return where rows have a key of several levels. Computing it raises KeyError if none has, or not each of a list."""
    require_plain_labels(key, frame.expr.meta.index)
    if isinstance(key, list):
        return reduce(operator.or_, [_of_key(frame, one if isinstance(one, tuple) else (one,), what) for one in key])
    found = operate(_where_key, frame, key, label="labels")
    if depth := sliced_levels(key):
        steps = Operation(partial(run_of_levels, depth), joined_runs, joined_runs)
        order = wrap(tree(frame.expr, steps, run_of_levels(depth, frame.expr.meta), "order-of-labels"))
        found = operate(_if_in_order, found, depth, order, label="labels")
    count = wrap(tree(found.expr, Operation(_count_true, sum, partial(_require_any, what)), 0, "labels"))
    return operate(_checked, found, count, label="labels")


def _where_key(block: Any, key: Any) -> Any:
    return pd.Series(where_key(block.index, key), index=block.index)


def _if_in_order(found: Any, depth: int, order: Run) -> Any:
    if not order.rises:
        raise levels_not_in_order(depth)
    return found


def _require_any(what: str, totals: list[int]) -> int:
    if not sum(totals):
        raise KeyError(f"{what} = ...: no row has such labels; rows are added by concat()")
    return 0


def _checked(found: Any, count: int) -> Any:
    return found


def _between(frame: Any, rows: slice, what: str) -> Any:
    """Return where rows are between two labels. If the divisions aren't known, the labels must be in order, as `loc` needs them."""
    node: FrameExpr = frame.expr
    if node.divisions[0] is None:
        require_known_order(node.meta.index, what)
    order = wrap(order_of_labels(node)) if node.divisions[0] is None else None
    are_texts = are_texts_of_times(node.meta.index, rows)
    return operate(_is_between, frame, *bounds(node.meta.index, rows), order, what, are_texts, label="between")


def labels_to_set(frame: Any, rows: Any, what: str, *, may_lack: bool = False) -> RowsToSet:
    """Return the rows of one label, or of a list of labels.

    Computing them raises KeyError if a label is nowhere, unless `may_lack`: pandas adds a row then, for one label; see `setting_new_rows.py`.
    """
    node: FrameExpr = frame.expr
    if node.meta.index.nlevels > 1:
        raise NotImplementedError(f"{what} = ...: the index has several levels; reset_index() makes them columns")
    is_one = pd.api.types.is_scalar(rows)
    listed = labels_of_texts(node.meta.index, [rows] if is_one else rows)
    last = np.flatnonzero(~listed.duplicated(keep="last"))  # of a label's values
    labels = listed[last]

    def places(are_single: bool) -> Any:
        finish = partial(_check_counts, labels, what, (are_single, is_one, may_lack))
        counts = tree(
            partitions_with(node, list(labels)), Operation(partial(_count_each, labels), sum, finish), 0, "labels"
        )
        return operate(_places_among, frame, labels, last, wrap(counts), label="labels")

    def numbers(count: int) -> Any:
        if is_one:
            return _where(places(False) >= 0).numbers(count)
        if count > len(listed) > 0:  # several rows have a label
            return _numbers_of_rows(frame, labels, listed, what, count)
        if count != len(listed) and not (count == 1 and not len(listed)):
            raise ValueError(f"{what} = {count} values: there are {len(listed)} labels, and each takes one")
        return places(True)

    return RowsToSet(places(False) >= 0, numbers, is_one, (lambda: places(True) >= 0) if is_one else None)


def _numbers_of_rows(frame: Any, labels: pd.Index, listed: pd.Index, what: str, count: int) -> Any:
    """Return for each row of a list of labels the number of its value: all rows of the first label come first, in their order."""
    node: FrameExpr = frame.expr
    chunk = partial(_count_each, labels)
    finish = partial(_first_numbers, labels, listed, what, count)
    firsts = tree(partitions_with(node, list(labels)), Operation(chunk, sum, finish), 0, "labels")
    call = BlockCall(partial(_numbers_among, labels), (Block(0), Block(1), Block(2)), label="labels")
    meta = pd.Series(index=node.meta.index, dtype="int64")
    return wrap(Carried(node, (firsts, scan(node, chunk, sum, "labels-before")), call, meta, None))


def positions_to_set(frame: Any, rows: Any, what: str) -> RowsToSet | None:
    """Return the rows that ``iloc[rows]`` means; None for all. Computing them raises IndexError if there are fewer rows."""
    if isinstance(rows, slice) and rows == slice(None):
        return None
    if is_node(rows):
        raise NotImplementedError(f"{what} = ...: a condition is for loc: frame.loc[frame.x > 1, 'x'] = 0")
    if is_mask(rows):
        return _where(wrap(mask_of_rows(frame, by_place(rows), what)))
    is_one = isinstance(rows, (int, np.integer))
    if not (is_one or are_positions(rows) or isinstance(rows, slice)):
        raise NotImplementedError(f"{what} = ...: rows are set by positions, lists and slices of them, and booleans")
    wanted = rows if isinstance(rows, slice) else np.array([rows] if is_one else list(rows), dtype="int64")
    node: FrameExpr = frame.expr
    others = (scan(node, len, sum, "rows-before"), Length(node))
    meta = pd.Series(index=node.meta.index, dtype="int64")

    def places(count: int | None) -> Any:
        call = BlockCall(
            partial(_places_of_positions, wanted, count), (Block(0), Block(1), Block(2)), label="positions"
        )
        return wrap(Carried(node, others, call, meta, None))

    condition = places(None) >= 0
    return RowsToSet(condition, _where(condition).numbers if is_one else places, is_one)


def condition_at_hand(frame: Any, values: Any) -> Any:
    """Return booleans that are at hand as a lazy series of the frame's rows: a pandas series by label, others by position.

    Raises
    ------
    ValueError
        If it is an array of several axes.
    """
    if np.ndim(values) != 1:
        raise ValueError(
            f"a condition of shape {np.shape(values)}: it needs a value for each row; where() takes one for each row and column"
        )
    base = wrap(Projection(frame.expr, [])) if isinstance(frame.expr.meta, pd.DataFrame) else frame.to_frame()[[]]
    if isinstance(getattr(values, "dtype", None), pd.api.extensions.ExtensionDtype):  # a missing value isn't true
        values = values.fillna(False)
    column = values.astype("boolean") if isinstance(values, pd.Series) else pd.Series(list(values), dtype=bool).array
    named = wrap(with_column_at_hand(base, "condition", column))["condition"]
    return operate(_as_condition, named, label="condition")


def mask_of_rows(frame: Any, rows: Any, name: str) -> FrameExpr:
    """Return the node of booleans for the rows of a frame.

    Raises
    ------
    IndexError
        If an array or list isn't as long as the frame.
    """
    try:
        node: FrameExpr = condition_at_hand(frame, rows).expr
    except ValueError as error:
        if isinstance(rows, pd.Series) or np.ndim(rows) != 1:
            raise
        raise IndexError(f"{name}: Boolean index has wrong length: {len(rows)}; {error}") from error
    return node


def shown(name: str, key: Any) -> str:
    """Return what is set as messages show it.

    >>> shown("loc", (5, "x"))
    "loc[5, 'x']"
    """
    parts = key if isinstance(key, tuple) else (key,)
    return f"{name}[{', '.join('condition' if is_node(part) else repr(part) for part in parts)}]"


def is_mask(rows: Any) -> bool:
    """Whether a list, array or series at hand is of booleans, which may be objects.

    Raises
    ------
    ValueError
        If some of such objects are missing.
    """
    if isinstance(rows, list):
        return bool(rows) and all(isinstance(one, (bool, np.bool_)) for one in rows)
    if not isinstance(rows, (np.ndarray, pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        return False
    if not are_booleans(rows):
        return False
    if rows.dtype == object and pd.isna(rows).any():
        raise ValueError("a condition: Cannot mask with non-boolean array containing NA / NaN values; fillna() before")
    return True


def are_positions(rows: Any) -> bool:
    """Whether rows are a list of positions."""
    is_list = isinstance(rows, (list, tuple, range, np.ndarray, pd.Index))
    return is_list and all(isinstance(one, (int, np.integer)) for one in rows)


def by_place(rows: Any) -> Any:
    """Return booleans at hand without labels."""
    return rows.array if isinstance(rows, (pd.Series, pd.Index)) else rows


def bounds(index: Any, rows: slice) -> tuple[Any, Any]:
    """Return the labels of a slice as labels of the index: text becomes a time, "2000-01" the whole month.

    Raises
    ------
    KeyError
        If one isn't among the known categories of an index that has such.
    """
    some: Any = sample(index) if isinstance(index, (pd.DatetimeIndex, pd.PeriodIndex, pd.TimedeltaIndex)) else None
    if some is None:
        require_categories(index, rows.start, rows.stop)
        return rows.start, rows.stop
    low = None if rows.start is None else some._maybe_cast_slice_bound(rows.start, "left")
    high = None if rows.stop is None else some._maybe_cast_slice_bound(rows.stop, "right")
    return low, high


def partitions_with(node: FrameExpr, labels: Sequence[Any]) -> FrameExpr:
    """Return the node of the partitions that may have rows of some labels: all, if the divisions aren't known."""
    if node.divisions[0] is None or isinstance(node.meta.index, pd.IntervalIndex):  # a number may be in any interval
        return node
    known = list(node.divisions)
    numbers = sorted({number for label in labels for number in _partitions_of(known, label)})
    return Partitions(node, tuple(numbers)) if numbers and len(numbers) < node.npartitions else node


def _where(condition: Any) -> RowsToSet:
    def numbers(count: int) -> Any:
        places = condition.astype("int64").cumsum() - 1
        check = Operation(_count_true, sum, partial(_check_total, count))
        return operate(_places_where, places, condition, wrap(tree(condition.expr, check, 0, "len")), label="numbers")

    return RowsToSet(condition, numbers)


# What is done with partitions.


def _is_between(
    block: Any, low: Any, high: Any, order: Run | None, what: str, needs_rising: bool, checked: int = 0
) -> Any:
    if order is not None and not order.rises:
        if not order.falls or needs_rising:
            raise not_in_order(what)
        low, high = high, low
    return pd.Series(is_between(block.index, low, high), index=block.index)


def _count_each(labels: pd.Index, block: Any) -> Any:
    places = labels.get_indexer(block.index)
    return np.bincount(places[places >= 0], minlength=len(labels))


def _check_counts(labels: pd.Index, what: str, how: tuple[bool, bool, bool], counts: Any) -> int:
    are_single, is_one, may_lack = how
    found = sum(counts)
    missing = labels[found == 0].tolist()
    if missing and not may_lack:
        raise KeyError(
            f"{what} = ...: no row has the label {missing[0]!r}"
            + (f", nor have any {missing[1:20]!r}" if len(missing) > 1 else "")
            + "; rows are added by concat()"
            + (", by loc[label] = a whole row, and of a series after clear_divisions()" if is_one else "")
        )
    if are_single and (found > 1).any():
        raise ValueError(
            f"{what} = values, one for each label: several rows have the label {labels[found > 1].tolist()[0]!r}; "
            "one value, or one list of a value for each column, is set in all of them"
        )
    return 0


def _first_numbers(labels: pd.Index, listed: pd.Index, what: str, count: int, counts: Any) -> Any:
    """Return the number of the first value of each label, where it is in the list for the last time."""
    _check_counts(labels, what, (False, False, False), counts)
    places = labels.get_indexer(listed)
    each = sum(counts)[places]
    _check_total(count, [int(each.sum())])
    firsts = np.zeros(len(labels), dtype="int64")
    firsts[places] = np.cumsum(each) - each  # of several assignments the last one counts
    return firsts


def _numbers_among(labels: pd.Index, block: Any, firsts: Any, before: Any) -> Any:
    places = labels.get_indexer(block.index)
    found = places >= 0
    own = pd.Series(places[found]).groupby(places[found]).cumcount().to_numpy()
    numbers = np.full(len(block), -1, dtype="int64")
    numbers[found] = firsts[places[found]] + own + (0 if before is None else before[places[found]])
    return pd.Series(numbers, index=block.index)


def _places_among(block: Any, labels: pd.Index, numbers: Any, checked: Any) -> Any:
    """Return for each row the number of its label, or -1."""
    return pd.Series(np.append(numbers, -1)[labels.get_indexer(block.index)], index=block.index, dtype="int64")


def _places_of_positions(wanted: Any, n_values: int | None, block: Any, before: int | None, count: int) -> Any:
    """Return for each row the number of its position among those wanted, or -1."""
    own = np.arange(len(block)) + (before or 0)
    n_wanted = len(range(*wanted.indices(count))) if isinstance(wanted, slice) else len(wanted)
    if n_values is not None and n_values != n_wanted:
        _check_total(n_values, [n_wanted])
    if isinstance(wanted, slice):
        chosen = range(*wanted.indices(count))
        return pd.Series(pd.RangeIndex(chosen).get_indexer(pd.Index(own)).astype("int64"), index=block.index)
    outside = wanted[(wanted >= count) | (wanted < -count)]
    if len(outside):
        raise IndexError(f"iloc[{outside[0]}] = ...: iloc cannot enlarge its target object, which has {count} rows")
    places = pd.Index(np.where(wanted < 0, wanted + count, wanted))
    last = np.flatnonzero(~places.duplicated(keep="last"))  # of a position's values
    return pd.Series(np.append(last, -1)[places[last].get_indexer(own)], index=block.index, dtype="int64")


def _places_where(places: Any, condition: Any, checked: Any) -> Any:
    return places.where(condition.fillna(False), -1)


def _count_true(condition: Any) -> int:
    return int(condition.fillna(False).sum())


def _check_total(count: int, totals: list[int]) -> int:
    if sum(totals) != count and not (count == 1 and not sum(totals)):  # one value for no row is none too many
        raise ValueError(
            f"cannot set using a list-like indexer with a different length than the value: {count} values for {sum(totals)} rows"
        )
    return 0


def _as_condition(column: Any) -> Any:
    if column.isna().any():
        raise ValueError("the index of the boolean series doesn't match that of the frame: rows of it have no value")
    return column.astype(bool)


def _partitions_of(divisions: list[Any], label: Any) -> range:
    index = pd.Index(divisions)
    try:
        first = min(max(int(index.searchsorted(label, side="left")) - 1, 0), len(divisions) - 2)
        last = min(int(index.searchsorted(label, side="right")) - 1, len(divisions) - 2)
    except (TypeError, ValueError):  # a label of another type is in none
        return range(1)
    return range(first, max(last, first) + 1)
