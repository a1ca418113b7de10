"""The groups of rows: the number of each row's group, the keys of each group, and sums of what its rows have."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.dataframe.arrow.taking import taken
from glassloom.dataframe.arrow.text import is_text
from glassloom.dataframe.grouping.sums import dtype_of_sum, sums_by_code, sums_of_columns
from glassloom.dataframe.grouping.tables import CodedKey, column_of

Codes = np.ndarray[Any, np.dtype[np.intp]]
NO_CODES: Codes = np.empty(0, np.intp)
_MOSTLY = 0.9
"""If there are as many groups as this times the rows, most are of one row."""
_AT_ONCE = 2**16
"""So many of those are looked at together, so that what is made of them stays in the processor's cache."""


class Column(NamedTuple):
    """A key column: the code of each row, -1 where it is missing, and the distinct values (codes that don't occur too)."""

    codes: Codes
    values: Any
    has_missing: bool


@dataclass(frozen=True)
class Groups:
    """The group of each row.

    Attributes
    ----------
    codes
        The number of each row's group, -1 for rows of none.
    count
        Number of groups. Each has a row, unless `has_unobserved`.
    columns
        The encoded keys; without the codes of the rows if `cells` are known.
    cells
        The combination of key codes of each group as one number, or None if there are too many combinations.
    has_outsiders
        Whether rows belong to no group.
    has_unobserved
        Whether there may be groups without rows, see `encode`.
    """

    codes: Codes
    count: int
    columns: tuple[Column, ...]
    cells: Codes | None
    has_outsiders: bool
    has_unobserved: bool = False

    @cached_property
    def first(self) -> Codes:
        """The first row of each group."""
        return _first_rows(self.codes, self.count)

    @cached_property
    def sizes(self) -> Codes:
        """The number of rows of each group."""
        return sums_by_code(self.codes, 1, self.count, np.intp)

    def sums(self, values: Any) -> Any:
        """Return the sum of the rows' values of each group, in their dtype: ``float64``, ``int64`` or ``uint64``."""
        return sums_by_code(self.codes, values, self.count, values.dtype)

    def sums_of_columns(self, columns: Sequence[Any], as_floats: Set[int] = frozenset()) -> list[Any]:
        """Return the sums of several columns, of any dtype of numbers: see `sums.sums_of_columns`. None in place of one is for `sizes`."""
        found = sums_of_columns(self.codes, columns, self.count, as_floats)
        for values, sums in zip(columns, found, strict=True):
            if values is None:
                self.__dict__["sizes"] = sums
        return found

    def _summed_apart(self, columns: Sequence[Any], as_floats: Set[int]) -> list[Any]:
        dtypes = [dtype_of_sum(values, place in as_floats) for place, values in enumerate(columns)]
        return [
            self.sizes if values is None else self.sums(values.astype(dtype, copy=False))
            for values, dtype in zip(columns, dtypes, strict=True)
        ]

    def counted(self, rows: Any) -> Codes:
        """Return how many of some rows are in each group."""
        return sums_by_code(self.codes[rows], 1, self.count, np.intp)

    def extreme(self, better: Any, values: Any) -> Any:
        """Return the smallest or largest value of each group, by `numpy.minimum` or `numpy.maximum`."""
        limits = np.finfo(values.dtype) if values.dtype.kind == "f" else np.iinfo(values.dtype)
        worst = limits.max if better is np.minimum else limits.min
        found = np.full(self.count, np.copysign(np.inf, worst) if values.dtype.kind == "f" else worst, values.dtype)
        if self.has_outsiders:
            inside = self.codes >= 0
            better.at(found, self.codes[inside], values[inside])
        else:
            better.at(found, self.codes, values)
        return found

    def distinct(self, place: int) -> Any:
        """Return the distinct values of a key column, to which its codes refer."""
        return self.columns[place].values

    def observed_only(self) -> tuple[Groups, Codes | None]:
        """Return the groups that have rows, and their numbers among these groups, or None if all have. Rows have no codes any more then."""
        present = np.flatnonzero(self.sizes) if self.has_unobserved else None
        if present is None or self.cells is None or len(present) == self.count:
            return self, None
        return replace(
            self, codes=NO_CODES, count=len(present), cells=self.cells[present], has_unobserved=False
        ), present

    @cached_property
    def key_codes(self) -> list[Any]:
        """The code of each group in each key column, as small integers as hold them: there may be as many groups as rows."""
        if self.cells is None:
            return [narrow_codes(column.codes[self.first], column) for column in self.columns]
        found, rest = [], self.cells
        for column in reversed(self.columns[1:]):
            size = max(len(column.values), 1)
            above = rest // size  # numpy.divmod takes five times as long
            code = above * -size
            code += rest
            found.append(narrow_codes(code, column))
            rest = above
        return [narrow_codes(rest, self.columns[0]), *reversed(found)]

    def keys(self, columns: Sequence[Any]) -> list[Any]:
        """Return the keys of each group, as arrays of their own; `columns` are the keys of the rows."""
        if (
            self.count == len(self.codes)
            and not self.has_outsiders
            and np.array_equal(self.codes, np.arange(self.count))
        ):
            return [_own(column.array) for column in columns]
        return [take(column.values, code) for column, code in zip(self.columns, self.key_codes, strict=True)]

    def key_columns(self, columns: Sequence[Any], *, arrow: bool) -> list[Any]:
        """Return the same as columns of a table. If Arrow may encode text, what there are fewer of than groups stays codes."""
        are_coded = [arrow and is_text(one.values.dtype) and len(one.values) <= self.count for one in self.columns]
        if not any(are_coded):
            return [column_of(key) for key in self.keys(columns)]
        pairs = zip(self.columns, self.key_codes, are_coded, strict=True)
        return [
            coded_key(column, code) if is_coded else column_of(take(column.values, code))
            for column, code, is_coded in pairs
        ]


def narrow_codes(codes: Codes, column: Column) -> Any:
    """Return codes of a key column in the smallest dtype that holds them."""
    return codes.astype(np.min_scalar_type(-len(column.values) - 1))


class GroupsInOrder(Groups):
    """Groups of rows that follow each other, by one key without missing values. Sums need no codes."""

    def __init__(self, values: Any, first: Codes) -> None:
        self.__dict__.update(n_rows=len(values), count=len(first), values=values[first], first=first)
        self.__dict__.update(has_outsiders=False, has_unobserved=False)

    n_rows: int
    values: Any

    @cached_property
    def codes(self) -> Codes:
        """The number of each row's group."""
        return np.repeat(np.arange(self.count), self.sizes)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The encoded key."""
        return (Column(self.codes, self.values, False),)

    @cached_property
    def cells(self) -> Codes:
        """The key's code of each group."""
        return np.arange(self.count)

    @cached_property
    def sizes(self) -> Codes:
        """The number of rows of each group."""
        return np.diff(self.first, append=self.n_rows)

    def sums(self, values: Any) -> Any:
        """See `Groups.sums`."""
        return self._reduced(np.add, values)

    def sums_of_columns(self, columns: Sequence[Any], as_floats: Set[int] = frozenset()) -> list[Any]:
        """See `Groups.sums_of_columns`. Rows in order are summed column by column."""
        return self._summed_apart(columns, as_floats)

    def extreme(self, better: Any, values: Any) -> Any:
        """See `Groups.extreme`."""
        return self._reduced(better, values)

    def _reduced(self, ufunc: Any, values: Any) -> Any:
        """Return a value for each group. Where most have one row, only the others are reduced, which is quicker."""
        if self.count < _MOSTLY * self.n_rows:
            return ufunc.reduceat(values, self.first)
        reduced = values[self.first]
        for start in range(0, self.count, _AT_ONCE):
            first = self.first[start : start + _AT_ONCE]
            end = self.first[start + _AT_ONCE] if start + _AT_ONCE < self.count else self.n_rows
            several = np.flatnonzero(np.diff(first, append=end) > 1)
            if len(several):
                ends = np.append(first, end)[several + 1]
                bounds = np.column_stack([first[several], ends]).ravel()  # what is between them are other groups
                reduced[start + several] = ufunc.reduceat(values[:end], bounds[:-1] if ends[-1] == end else bounds)[::2]
        return reduced

    @property
    def key_codes(self) -> list[Codes]:
        """The code of each group."""
        return [self.cells]

    def distinct(self, place: int) -> Any:
        """See `Groups.distinct`."""
        return self.values

    def keys(self, columns: Sequence[Any]) -> list[Any]:
        """See `Groups.keys`."""
        return [self.values]

    def key_columns(self, columns: Sequence[Any], *, arrow: bool) -> list[Any]:
        """See `Groups.key_columns`."""
        return [column_of(self.values)]


class RepeatedGroups(Groups):
    """Groups of rows that are those of `own` several times over, one after the other: what partitions have the same groups of."""

    def __init__(self, own: Groups, times: int) -> None:
        self.__dict__.update(
            own=own, times=times, count=own.count, cells=own.cells, has_outsiders=False, has_unobserved=False
        )

    own: Groups
    times: int

    @cached_property
    def codes(self) -> Codes:
        """The number of each row's group."""
        return np.tile(self.own.codes, self.times)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The encoded keys."""
        return self.own.columns

    @property
    def key_codes(self) -> list[Any]:
        """See `Groups.key_codes`."""
        return self.own.key_codes

    def sums(self, values: Any) -> Any:
        """See `Groups.sums`."""
        return self._reduced(np.add, values)

    def extreme(self, better: Any, values: Any) -> Any:
        """See `Groups.extreme`."""
        return self._reduced(better, values)

    def _reduced(self, ufunc: Any, values: Any) -> Any:
        return ufunc.reduce(values.reshape(self.times, -1), axis=0)[self.own.first]

    def sums_of_columns(self, columns: Sequence[Any], as_floats: Set[int] = frozenset()) -> list[Any]:
        """See `Groups.sums_of_columns`. They are summed column by column."""
        return self._summed_apart(columns, as_floats)

    def distinct(self, place: int) -> Any:
        """See `Groups.distinct`."""
        return self.own.distinct(place)


def _first_rows(codes: Codes, count: int) -> Codes:
    first = np.empty(count + 1, np.intp)  # the last one stands for -1
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first[:count]


def take(array: Any, rows: Any) -> Any:
    """Return the items of an array at `rows`, missing ones for row -1."""
    if type(array) is pd.arrays.NumpyExtensionArray:  # not StringArray, a subclass of it before pandas 3
        array = array.to_numpy()
    return taken(array, rows, has_missing=len(rows) > 0 and rows.min() < 0)


def coded_key(column: Column, codes: Codes) -> CodedKey:
    """Return text as codes among values none of which is missing."""
    last = len(column.values) - 1
    if not (column.has_missing and last >= 0 and pd.isna(column.values[last])):
        return CodedKey(codes, column.values)
    return CodedKey(np.where(codes == last, -1, codes), column.values[:last])


def _own(array: Any) -> Any:
    """Return an array that isn't a view of a frame's block, whose other columns it would keep."""
    if type(array) is pd.arrays.NumpyExtensionArray:
        return array.to_numpy().copy()
    return array.copy() if isinstance(array, (pd.arrays.DatetimeArray, pd.arrays.TimedeltaArray)) else array
