"""`RowColumn`: a numeric column of task events while it grows. As long as all rows have one value it is no more than that."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from glassloom_metrics.protocol import Column, pack_column

_MAX_INT = 2**63 - 1


class RowColumn:
    """One column of `TaskEvents`.

    Parameters
    ----------
    name
        The column's, as in `COLUMN_TYPECODES`.
    typecode
        Its `array` typecode.
    default
        The value of rows that were given none.

    >>> column = RowColumn("lane", "H", 0)
    >>> column.extend(3, 0, 2)
    >>> column.take(2)
    3
    """

    __slots__ = ("_default", "_n", "_name", "_typecode", "_value", "_values")

    def __init__(self, name: str, typecode: str, default: float) -> None:
        self._name = name
        self._typecode = typecode
        self._default = self._value = default
        self._n = 0
        self._values: array[float] | None = None
        """None: all rows so far have `_value`."""

    def extend(self, values: Sequence[float] | float, start: int, n_rows: int) -> None:
        """Set the values of so many rows from number `start` on, the next ones: one for each, or one for all.

        Rows between that were given no value get the default. If this raises, the column is as it was before.
        """
        if self._n != start:
            self._align(start)
        if isinstance(values, (int, float)):
            if self._values is None and values == self._value and self._n:
                self._n += n_rows
            else:
                self._add_alike(values, n_rows)
            return
        packed = self._packed()
        if self._typecode == "q" and not isinstance(values, array) and max(values, default=0) > _MAX_INT:
            values = [min(value, _MAX_INT) for value in values]
        try:
            packed.extend(values)
        except BaseException:
            del packed[self._n :]
            raise
        self._n += n_rows

    def take(self, n_rows: int) -> Column:
        """Return the column with so many rows, and begin anew."""
        self._align(n_rows)
        column = (
            array(self._typecode, [self._value])[0] if self._values is None else pack_column(self._name, self._values)
        )
        self._value, self._n, self._values = self._default, 0, None
        return column

    def _align(self, n_rows: int) -> None:
        """Have so many rows: what is missing has the default, and what is too much was never wanted."""
        if self._n < n_rows:
            self._add_alike(self._default, n_rows - self._n)
        elif self._values is not None:
            del self._values[n_rows:]
        self._n = n_rows

    def _add_alike(self, value: float, n_rows: int) -> None:
        if self._typecode == "q":
            value = min(value, _MAX_INT)
        if self._values is None:
            if not self._n:
                array(self._typecode, [value])  # raises if it doesn't fit
                self._value = value
            if value is self._value or value == self._value:
                self._n += n_rows
                return
        self._packed().extend(array(self._typecode, [value]) * n_rows)
        self._n += n_rows

    def _packed(self) -> array[float]:
        if self._values is None:
            self._values = array(self._typecode, [self._value]) * self._n
        return self._values
