"""Keys as group numbers: each key column is encoded once, and all aggregations of the same rows use the numbers.

Groups are those that ``DataFrame.groupby`` makes: which values are equal, missing ones and the order are pandas'
(``pandas.factorize``). Whole numbers that are close together need no hashing, text is encoded by Arrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from glassloom.backends.pandas_ import concat
from glassloom.dataframe.arrow.blocks import TextKey
from glassloom.dataframe.arrow.text import encode_text, is_text, sorted_codes
from glassloom.dataframe.grouping.groups import NO_CODES, Codes, Column, Groups, GroupsInOrder, narrow_codes, take
from glassloom.dataframe.grouping.sums import as_unsigned
from glassloom.dataframe.grouping.tables import CodedKey, column_of
from glassloom.dataframe.numbered_levels import level_at
from glassloom.dataframe.sorting import are_mostly_distinct, is_in_order, is_nearly_sorted, run_numbers, sorted_runs

_DENSE = 1024
_DENSE_FACTOR = 4
"""As many cells as this times the rows are looked up in a table; with more, groups are found by hashing."""
_HEAD, _FROM = 2**12, 2**12
"""So many rows tell whether other keys may follow from the first one; fewer are encoded in as little time."""
_FEW_GROUPS = 16
"""If a key has fewer values than one in so many rows, encoding the other keys takes little time."""
_MOST_CELLS = 2**62


class GroupsByFirstKey(Groups):
    """Groups of rows by their first key, from which the others follow: these are looked at in the first row of each group."""

    def __init__(self, by_first: Groups, others: Sequence[Any], *, sort: bool, arrow: bool) -> None:
        self.__dict__.update(by_first=by_first, others=tuple(others), sort=sort, arrow=arrow)
        self.__dict__.update(
            count=by_first.count, first=by_first.first, cells=None, has_outsiders=False, has_unobserved=False
        )

    by_first: Groups
    others: tuple[Any, ...]
    sort: bool
    arrow: bool

    @cached_property
    def codes(self) -> Codes:
        """The number of each row's group."""
        return self.by_first.codes

    @cached_property
    def sizes(self) -> Codes:
        """The number of rows of each group."""
        return self.by_first.sizes

    def sums(self, values: Any) -> Any:
        """See `Groups.sums`."""
        return self.by_first.sums(values)

    def sums_of_columns(self, columns: Sequence[Any], as_floats: Set[int] = frozenset()) -> list[Any]:
        """See `Groups.sums_of_columns`."""
        return self.by_first.sums_of_columns(columns, as_floats)

    def extreme(self, better: Any, values: Any) -> Any:
        """See `Groups.extreme`."""
        return self.by_first.extreme(better, values)

    @cached_property
    def _encoded_others(self) -> list[Column]:
        """The other keys of each group."""
        series = [pd.Series(_some_of(key, self.first), copy=False) for key in self.others]
        return [_encode_column(one, False, sort=self.sort, arrow=self.arrow) for one in series]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The encoded keys, without the codes of the rows."""
        return (*self.by_first.columns, *(one._replace(codes=NO_CODES) for one in self._encoded_others))

    @cached_property
    def key_codes(self) -> list[Any]:
        """See `Groups.key_codes`."""
        return [*self.by_first.key_codes, *(narrow_codes(one.codes, one) for one in self._encoded_others)]

    def keys(self, columns: Sequence[Any]) -> list[Any]:
        """See `Groups.keys`."""
        return [*self.by_first.keys(columns[:1]), *(_some_of(key, self.first) for key in columns[1:])]

    def key_columns(self, columns: Sequence[Any], *, arrow: bool) -> list[Any]:
        """See `Groups.key_columns`."""
        made = self.by_first.key_columns(columns[:1], arrow=arrow)
        for key in columns[1:]:
            coded = _codes_of(key)
            if coded is not None and len(coded[1]) <= self.count:
                made.append(CodedKey(coded[0][self.first], coded[1]))
            else:
                made.append(column_of(_some_of(key, self.first)))
        return made


def encode(
    keys: Sequence[Any], *, dropna: bool, order: str = "any", arrow: bool = True, keeps_unobserved: bool = False
) -> Groups:
    """Return the groups of rows.

    Parameters
    ----------
    keys
        Series or indexes of equal length.
    dropna
        Whether rows with a missing key belong to no group; if not, missing is a value of its own, and the last.
    order
        ``"sorted"`` by the keys, in order of ``"appearance"``, ``"any"``, which is quickest, or ``"runs"``: the same, but by
        the keys where most rows are a group of their own, so that sorting several such results together is quick.
    arrow
        Whether Arrow may encode text.
    keeps_unobserved
        Whether there may be groups without rows, where it takes no time to find these: `Groups.observed_only` leaves them out.
    """
    in_order = _encode_in_order(keys[0]) if len(keys) == 1 else None
    if in_order is not None:
        return in_order
    if len(keys) > 1 and _may_follow_from_first(keys, arrow):
        by_first = encode(keys[:1], dropna=dropna, order=order, arrow=arrow)
        if by_first.count * _FEW_GROUPS >= len(keys[0]) and _follow_from_first(keys, by_first):
            return GroupsByFirstKey(by_first, keys[1:], sort=order == "sorted", arrow=arrow)
    from_zero = keeps_unobserved and len(keys) == 1
    columns = tuple(
        _encode_column(key, dropna, sort=order == "sorted", arrow=arrow, from_zero=from_zero) for key in keys
    )
    cells, size, is_whole = _cells(columns)
    outside = _outside(columns) if dropna else None
    is_sparse = size > _DENSE + _DENSE_FACTOR * len(cells)
    if order == "runs" and is_sparse and outside is None and are_mostly_distinct(cells):
        columns, order = tuple(map(_sorted_text, columns)), "sorted"
        cells, size, is_whole = _cells(columns)
    if outside is not None:
        cells = np.where(outside, -1, cells)
    has_unobserved = order != "appearance" and keeps_unobserved and is_whole and size * _DENSE_FACTOR <= len(cells)
    if has_unobserved:
        codes, occurring = cells, np.arange(size)
    elif order != "appearance" and not is_sparse:
        codes, occurring = _look_up(cells, size)
    else:
        codes, occurring = _hash(cells, outside, is_sorted=order == "sorted", in_order=order == "appearance")
    if is_whole:  # the codes' memory is free for aggregations
        columns = tuple(one._replace(codes=NO_CODES) for one in columns)
    return Groups(codes, len(occurring), columns, occurring if is_whole else None, outside is not None, has_unobserved)


def _may_follow_from_first(keys: Sequence[Any], arrow: bool) -> bool:
    """Whether all other keys follow from the first one in the first rows, and are of dtypes of which that can be told."""
    if len(keys[0]) < _FROM or not isinstance(keys[0].dtype, np.dtype) or keys[0].dtype.kind not in "iu":
        return False
    if not all(_is_compared(key, arrow) for key in keys[1:]):
        return False
    _, first, codes = np.unique(keys[0].to_numpy()[:_HEAD], return_index=True, return_inverse=True)
    if len(first) * _FEW_GROUPS < len(codes):
        return False
    return all(_repeats(_values_of(key)[:_HEAD], first, codes) for key in keys[1:])


def _is_compared(key: Any, arrow: bool) -> bool:
    """Whether values of a key are equal if and only if they are of one group, but for missing ones."""
    if isinstance(key.dtype, np.dtype):
        return key.dtype.kind in "iufbmM"
    return _codes_of(key) is not None or (arrow and is_text(key.dtype))


def _follow_from_first(keys: Sequence[Any], groups: Groups) -> bool:
    """Whether all rows of a group have equal keys, and none is missing."""
    for key in keys[1:]:
        values = _values_of(key)
        missing = values < 0 if _codes_of(key) is not None else pd.isna(values)
        if missing.any() or not _repeats(values, groups.first, groups.codes):
            return False
    return True


def _repeats(values: Any, first: Codes, codes: Codes) -> bool:
    """Whether all rows have the value of the first row of their group."""
    repeated = values.take(first).take(codes)
    if isinstance(values, np.ndarray):
        return bool((repeated == values).all())
    return bool(pc.all(pc.equal(pa.array(repeated), pa.array(values)), min_count=0).as_py())


def _codes_of(key: Any) -> tuple[Any, Any] | None:
    """Return the codes and the distinct values of text that is held as such."""
    return (key.codes, key.values) if isinstance(key, CodedKey) else key.coded if isinstance(key, TextKey) else None


def _values_of(key: Any) -> Any:
    """Return what tells whether values of a key are equal: codes of text, NumPy's arrays, or Arrow's text."""
    coded = _codes_of(key)
    if coded is not None:
        return coded[0]
    return key.to_numpy() if isinstance(key.dtype, np.dtype) else key.array


def _some_of(key: Any, rows: Codes) -> Any:
    """Return the values of a key in some rows."""
    coded = _codes_of(key)
    return take(key.array, rows) if coded is None else take(coded[1], coded[0][rows])


def _encode_in_order(key: Any) -> Groups | None:
    """Return the groups of whole numbers that never decrease, as keys of sorted files do not: without a table or hashing."""
    if not isinstance(key.dtype, np.dtype) or key.dtype.kind not in "iu" or not is_in_order(key.to_numpy()):
        return None
    values = key.to_numpy()
    begins = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    return GroupsInOrder(values, np.flatnonzero(begins))


def _encode_column(key: Any, dropna: bool, *, sort: bool, arrow: bool, from_zero: bool = False) -> Column:
    codes, values = _codes(key, sort=sort, arrow=arrow, from_zero=from_zero)
    may_miss = not isinstance(key.dtype, np.dtype) or key.dtype.kind not in "iub"
    has_missing = may_miss and bool(len(codes)) and bool(codes.min() < 0)
    if not dropna and has_missing:
        missing = codes < 0
        place = int(missing.argmax())
        codes = np.where(missing, len(values), codes)
        values = pd.concat([pd.Series(values), pd.Series(_missing_of(key, place))]).array
    return Column(codes, values, has_missing)


def _sorted_text(column: Column) -> Column:
    """Return a column with codes in the order of the values if it is text. Other values have them, or stay as they are."""
    if not is_text(column.values.dtype):
        return column
    return Column(*sorted_codes(column.codes, column.values), column.has_missing)


def _missing_of(key: Any, place: int) -> Any:
    """Return the missing value of keys, as an array of one. Among objects it is NaN, as in pandas, also for None."""
    if isinstance(key, CodedKey):
        return key.values.take([-1], allow_fill=True)
    if key.dtype == object:
        return np.array([np.nan], dtype=object)
    return key.array[place : place + 1]


def _codes(key: Any, *, sort: bool, arrow: bool, from_zero: bool = False) -> tuple[Codes, Any]:
    if isinstance(key, CodedKey):
        codes = key.codes.astype(np.intp, copy=False)
        return sorted_codes(codes, key.values) if sort else (codes, key.values)
    if isinstance(key, TextKey):
        if not sort:
            return key.coded[0].astype(np.intp), key.coded[1]
        key = pd.Series(key.array, copy=False)
    dtype = key.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return key.array.codes.astype(np.intp), pd.Categorical.from_codes(np.arange(len(dtype.categories)), dtype=dtype)
    if isinstance(dtype, np.dtype) and dtype.kind in "iub" and len(key):
        near = _near_numbers(key.to_numpy(), from_zero)
        if near is not None:
            return near
    encoded = encode_text(key, sort=sort) if arrow else None
    if encoded is not None:
        return encoded
    try:
        codes, values = pd.factorize(key, sort=sort)
    except TypeError:  # values that can't be compared stay in order of appearance, as in pandas
        codes, values = pd.factorize(key)
    return codes.astype(np.intp, copy=False), values.array if isinstance(values, pd.Index) else values


def _near_numbers(values: Any, from_zero: bool) -> tuple[Codes, Any] | None:
    """Return whole numbers as their distance from the least, if the range isn't much longer than the column; `from_zero`: from 0, if
    they are small.
    """
    if values.dtype.kind == "b":
        return values.astype(np.intp), np.array([False, True])
    if from_zero:
        most = int(as_unsigned(values).max())  # numbers below 0 seem large
        if most * _DENSE_FACTOR < len(values):
            return values.astype(np.intp, copy=False), np.arange(most + 1).astype(values.dtype)
    least, most = int(values.min()), int(values.max())
    if most - least > _DENSE + _DENSE_FACTOR * len(values):
        return None
    distances = values - values.dtype.type(least) if least else values
    if values.dtype.itemsize < 8:  # the difference may not fit in the dtype
        distances = values.astype(np.intp) - least
    numbers = np.arange(most - least + 1).astype(values.dtype) + values.dtype.type(least)
    return distances.astype(np.intp, copy=False), numbers


def _cells(columns: Sequence[Column]) -> tuple[Codes, int, bool]:
    """Return one number for each row, in the order of the keys' codes, the number of possible ones, and whether these
    are the combinations of the codes.
    """
    cells, size, is_whole = columns[0].codes, max(len(columns[0].values), 1), True
    for codes, values, _ in columns[1:]:
        if size * max(len(values), 1) > _MOST_CELLS:
            distinct, cells = np.unique(cells, return_inverse=True)
            size, is_whole = len(distinct), False
        cells = cells * max(len(values), 1) + codes
        size *= max(len(values), 1)
    return cells, size, is_whole


def _outside(columns: Sequence[Column]) -> Any:
    """Return which rows have a missing key, or None if none has."""
    found = None
    for codes, _, has_missing in columns:
        if has_missing:
            found = codes < 0 if found is None else found | (codes < 0)
    return found


def _look_up(cells: Codes, size: int) -> tuple[Codes, Codes]:
    """Return group numbers in the order of the cells, by a table of all cells; and the cells that occur."""
    occurs = np.zeros(size + 1, bool)  # the last one stands for -1
    occurs[cells] = True
    occurring = np.flatnonzero(occurs[:-1])
    if len(occurring) == size:
        return cells, occurring
    numbers = np.full(size + 1, -1, np.intp)
    numbers[occurring] = np.arange(len(occurring))
    return numbers[cells], occurring


def _hash(cells: Codes, outside: Any, *, is_sorted: bool, in_order: bool) -> tuple[Codes, Codes]:
    """Return group numbers in order of appearance, or of the cells, if it matters; and the cells that occur."""
    if not in_order and outside is None and (is_nearly_sorted(cells) or are_mostly_distinct(cells)):
        order, begins = sorted_runs(cells)
        codes = np.empty(len(cells), np.intp)
        codes[order] = run_numbers(begins)
        return codes, cells[order[begins]]
    inside = cells if outside is None else cells[~outside]
    codes, distinct = pd.factorize(inside, sort=is_sorted)
    if outside is not None:
        placed = np.full(len(cells), -1, np.intp)
        placed[~outside] = codes
        codes = placed
    return codes.astype(np.intp, copy=False), distinct


def find_groups(index: Any, keys: Sequence[Any], *, arrow: bool = True) -> Codes:
    """Return the place in the index of a grouped result of each row, -1 for rows that have no group in it.

    Parameters
    ----------
    index
        Distinct labels; a `MultiIndex` for several keys.
    keys
        The keys of the rows: series of equal length.
    arrow
        Whether Arrow may encode text.
    """
    if not len(index) or not len(keys[0]):
        return np.full(len(keys[0]), -1, np.intp)
    groups = encode(keys, dropna=False, arrow=arrow)
    by_level = _found_by_level(index, keys, groups) if isinstance(index, pd.MultiIndex) else None
    if by_level is not None:
        return by_level[groups.codes]
    levels = [level_at(index, level) for level in range(index.nlevels)]
    pairs = zip(levels, groups.keys(keys), strict=True)
    both = [concat([pd.Series(level.array), pd.Series(own)]) for level, own in pairs]
    codes = encode(both, dropna=False, arrow=arrow).codes
    places = np.full(codes.max() + 1, -1, np.intp)
    places[codes[: len(index)]] = np.arange(len(index))
    return places[codes[len(index) :]][groups.codes]


def _found_by_level(index: pd.MultiIndex, keys: Sequence[Any], groups: Groups) -> Codes | None:
    """Return the place in the index of each group, -1 if it isn't there, by a table of all combinations of the levels' values.

    None if there are many more of them than labels, or if values could be equal that are of unlike dtypes, or missing.
    """
    sizes = [max(len(level), 1) for level in index.levels]
    if math.prod(sizes) > _DENSE + _DENSE_FACTOR * len(index):
        return None
    cells, own = np.zeros(len(index), np.intp), np.zeros(groups.count, np.intp)
    is_there = np.ones(groups.count, bool)
    for number, (level, codes) in enumerate(zip(index.levels, index.codes, strict=True)):
        dtype, values = keys[number].dtype, groups.distinct(number)
        is_plain = dtype.kind in "iub" if isinstance(dtype, np.dtype) else is_text(dtype)
        if not (is_plain and dtype == level.dtype) or groups.columns[number].has_missing or bool((codes < 0).any()):
            return None
        places = level.get_indexer(pd.Index(values))[groups.key_codes[number]]
        is_there &= places >= 0
        cells, own = cells * sizes[number] + codes, own * sizes[number] + places
    found = np.full(math.prod(sizes), -1, np.intp)
    found[cells] = np.arange(len(index))
    return np.where(is_there, found[np.where(is_there, own, 0)], -1)
