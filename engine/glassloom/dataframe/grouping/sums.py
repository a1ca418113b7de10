"""Sums of the rows of each group. Those of several columns of whole numbers are made together.

NumPy adds one row after the other, and no other thread runs Python meanwhile. So several columns of whole numbers become fields of one
number of 64 bits, as many as fit, whatever the rows of a group are.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, NamedTuple

import numpy as np

Codes = np.ndarray[Any, np.dtype[np.intp]]
_BITS = 63
"""So many bits of a number are fields: without its sign."""
_EXACT_BITS = 53
"""Whole numbers of so many bits are exact as floats."""
_FEWEST = 2**13
"""Of fewer rows, columns are summed one by one in less time."""


def sums_by_code(codes: Codes, values: Any, count: int, dtype: Any) -> Any:
    """Return the sum of the values of each code below `count`, in their order. The code -1 is that of rows which don't count.

    Parameters
    ----------
    codes
        The code of each row.
    values
        A value for each row, of `dtype`, or one for all of them.
    count
        Number of codes.
    dtype
        That of the sums, of 64 bits. Whole numbers wrap around, as pandas' do.
    """
    sums = np.zeros(count + 1, dtype)
    # Of equal dtypes it takes two thirds of the time of `numpy.bincount`, and whole numbers are exact.
    np.add.at(sums, codes, values)
    return sums[:-1]


def sums_of_columns(codes: Codes, columns: Sequence[Any], count: int, as_floats: Set[int] = frozenset()) -> list[Any]:
    """Return the sums of several columns by code, see `sums_by_code`.

    Parameters
    ----------
    codes
        The code of each row.
    columns
        Arrays of numbers or truth values; None in place of one counts rows.
    count
        Number of codes.
    as_floats
        Of which columns, by their places, the sums are floats whatever their dtype, so that they can't wrap around.

    Returns
    -------
        Of each column an array: ``float64`` of floats, ``uint64`` of unsigned numbers, else ``int64``.
    """
    dtypes = [dtype_of_sum(values, place in as_floats) for place, values in enumerate(columns)]
    found: list[Any] = [None] * len(columns)
    packs: list[_Pack] = []
    for place, (values, dtype) in enumerate(zip(columns, dtypes, strict=True)):
        sums = _range_of_sums(values, len(codes)) if len(columns) > 1 and len(codes) >= _FEWEST else None
        if sums is None or (place in as_floats and sums.bits > _EXACT_BITS):  # alone
            own = 1 if values is None else values.astype(dtype, copy=False)
            found[place] = sums_by_code(codes, own, count, dtype)
            continue
        pack = next((pack for pack in packs if pack.bits + sums.bits <= _BITS), None)
        if pack is None:
            packs.append(pack := _Pack())
        pack.add(place, sums)
    for pack in packs:
        pack.unpack(sums_by_code(codes, pack.numbers(columns), count, np.int64), found)
    return [sums.astype(dtype, copy=False) for sums, dtype in zip(found, dtypes, strict=True)]


class _Range(NamedTuple):
    """How many bits sums take, with their sign if some may be below 0."""

    bits: int
    is_signed: bool


class _Pack:
    """Columns of whole numbers that are summed as one: fields of it, lowest first."""

    def __init__(self) -> None:
        self.fields: list[tuple[int, _Range]] = []
        """The place of each column, and the range of its sums."""
        self.bits = 0

    def add(self, place: int, sums: _Range) -> None:
        """Add a column as the highest field."""
        self.fields.append((place, sums))
        self.bits += sums.bits

    def numbers(self, columns: Sequence[Any]) -> Any:
        """Return the number of each row, or one for all if they are equal."""
        own = [columns[place] for place, _ in self.fields]
        if len(own) == 1 and own[0] is not None:
            return own[0].astype(np.int64, copy=False)
        made: Any = 0
        for values, (_, range_) in zip(reversed(own), reversed(self.fields), strict=True):
            made *= 1 << range_.bits
            if values is None:
                made += 1
            elif isinstance(made, int):
                made += values.astype(np.int64)
            else:
                made += values.astype(np.int64, copy=False)
        return made

    def unpack(self, sums: Any, found: list[Any]) -> None:
        """Put the sums of the columns at their places."""
        for place, (bits, is_signed) in self.fields[:-1]:
            low = sums & ((1 << bits) - 1)
            if is_signed:
                sign = 1 << (bits - 1)
                low = (low ^ sign) - sign
            found[place] = low
            sums = (sums - low) >> bits
        found[self.fields[-1][0]] = sums


def _range_of_sums(values: Any, n_rows: int) -> _Range | None:
    """Return the range of sums of some of the values, whichever; None if the column can't be summed with others."""
    if values is None or values.dtype.kind == "b":
        return _Range(n_rows.bit_length(), False)
    if values.dtype.kind == "f":
        return None
    most = int(as_unsigned(values).max())  # numbers below 0 seem large
    is_signed = values.dtype.kind == "i" and most >= 1 << (8 * values.dtype.itemsize - 1)
    if is_signed:
        most = max(int(values.max()), -int(values.min()))
    found = _Range(max((most * n_rows).bit_length(), 1) + is_signed, is_signed)
    return found if found.bits <= _BITS else None


def as_unsigned(values: Any) -> Any:
    """Return a view of whole numbers as ones that aren't below 0."""
    return values.view(values.dtype.str.replace("i", "u"))


def dtype_of_sum(values: Any, as_float: bool) -> np.dtype[Any]:
    """Return the dtype of a column's sums, see `sums_of_columns`."""
    if as_float or (values is not None and values.dtype.kind == "f"):
        return np.dtype(np.float64)
    return np.dtype(np.uint64 if values is not None and values.dtype.kind == "u" else np.int64)
