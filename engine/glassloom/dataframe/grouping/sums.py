"""Sums of the rows of each group. Those of several columns are made together.

NumPy adds one row after the other, and no other thread runs Python meanwhile. So columns of whole numbers become fields of one number,
as long as floats are exact, and two columns of floats one of complex numbers, whose parts are added each for itself: the additions and
their order are those of each column alone, so are the results, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import zip_longest
from typing import Any

import numpy as np

Codes = np.ndarray[Any, np.dtype[np.intp]]
_EXACT_BITS = 53
"""Whole numbers of so many bits are exact as floats, the sign included."""
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
        That of the sums, of 64 bits or complex. Whole numbers wrap around, as pandas' do.
    """
    sums = np.zeros(count + 1, dtype)
    np.add.at(
        sums, codes, values
    )  # of equal dtypes in two thirds of the time of `numpy.bincount`, and whole numbers are exact
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
    lanes: list[_Lane] = []
    for place, (values, dtype) in enumerate(zip(columns, dtypes, strict=True)):
        bits = _bits(values, len(codes)) if len(columns) > 1 and len(codes) >= _FEWEST else None
        if bits is None:  # alone
            own = 1 if values is None else values.astype(dtype, copy=False)
            found[place] = sums_by_code(codes, own, count, dtype)
            continue
        lane = next((lane for lane in lanes if lane.bits + bits <= _EXACT_BITS), None)
        if lane is None:
            lanes.append(lane := _Lane())
        lane.add(place, bits)
    for one, other in zip_longest(lanes[::2], lanes[1::2]):
        if other is None:
            numbers = one.packed(columns)
            one.unpack(sums_by_code(codes, numbers, count, numbers.dtype), found)
        else:
            pairs = np.empty(len(codes), np.complex128)
            pairs.real, pairs.imag = one.packed(columns), other.packed(columns)
            sums = sums_by_code(codes, pairs, count, pairs.dtype)
            one.unpack(sums.real, found)
            other.unpack(sums.imag, found)
    return [sums.astype(dtype, copy=False) for sums, dtype in zip(found, dtypes, strict=True)]


class _Lane:
    """What is summed as one number: columns of whole numbers as fields of it, lowest first, or one of floats, which needs all bits."""

    def __init__(self) -> None:
        self.fields: list[tuple[int, int]] = []
        """The place of each column, and how many bits are its own."""
        self.bits = 0

    def add(self, place: int, bits: int) -> None:
        """Add a column as the highest field."""
        self.fields.append((place, bits))
        self.bits += bits

    def packed(self, columns: Sequence[Any]) -> Any:
        """Return the number of each row, ``int64`` or ``float64``; one for all if they are equal."""
        own = [columns[place] for place, _ in self.fields]
        if len(own) == 1 and own[0] is not None:
            return own[0].astype(np.float64 if own[0].dtype.kind == "f" else np.int64, copy=False)
        made: Any = 0
        for values, (_, bits) in zip(reversed(own), reversed(self.fields), strict=True):
            made *= 1 << bits
            if values is None:
                made += 1
            elif isinstance(made, int):
                made += values.astype(np.int64)
            else:
                made += values.astype(np.int64, copy=False)
        return made if isinstance(made, np.ndarray) else np.int64(made)

    def unpack(self, sums: Any, found: list[Any]) -> None:
        """Put the sums of the columns at their places."""
        if len(self.fields) == 1:
            found[self.fields[0][0]] = np.ascontiguousarray(sums)
            return
        rest = sums.astype(np.int64)
        for place, bits in self.fields:
            half = 1 << (bits - 1)
            found[place] = low = ((rest & (2 * half - 1)) ^ half) - half  # with its sign
            rest = (rest - low) >> bits


def _bits(values: Any, n_rows: int) -> int | None:
    """Return how many bits any sum of some of the values takes, with its sign; None if the column can't be summed with others."""
    if values is None or values.dtype.kind == "b":
        return n_rows.bit_length() + 1
    if values.dtype.kind == "f":
        return _EXACT_BITS
    most = int(values.view(f"u{values.dtype.itemsize}").max())  # numbers below 0 seem large
    if values.dtype.kind == "i" and most >= 1 << (8 * values.dtype.itemsize - 1):
        most = max(int(values.max()), -int(values.min()))
    bits = (most * n_rows).bit_length() + 1
    return bits if bits <= _EXACT_BITS else None


def dtype_of_sum(values: Any, as_float: bool) -> np.dtype[Any]:
    """Return the dtype of a column's sums, see `sums_of_columns`."""
    if as_float or (values is not None and values.dtype.kind == "f"):
        return np.dtype(np.float64)
    return np.dtype(np.uint64 if values is not None and values.dtype.kind == "u" else np.int64)
