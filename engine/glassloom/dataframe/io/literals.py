"""Constants that columns are compared with, as values of the columns' Arrow types: only where nothing is lost by that.

Whole numbers and times are whole multiples of a unit, between a lowest and a highest one. A constant beyond those, or between two
multiples, decides the comparison or moves to a neighbour.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from glassloom.dataframe.io.conditions import Comparison, Negated, Term

_EXACT_IN_FLOATS = 1 << 53
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class _Multiples(NamedTuple):
    """The values of a type: `value_of` a count of its units from `low` to `high`."""

    low: int
    high: int
    value_of: Callable[[int], Any]

    def holds(self, count: Fraction | float) -> bool:
        """Whether a count of units is one of the values."""
        return self.low <= count <= self.high and count == math.floor(count)


def adapted(comparison: Comparison, kind: pa.DataType, *, nullable: bool, exact: bool = False) -> Term | None:
    """Return a comparison with its constants as the column has them; None if Arrow wouldn't do what pandas does.

    Parameters
    ----------
    nullable
        Whether comparisons with missing values of the column are missing.
    exact
        Whether to compare as PyArrow's filters do where pandas doesn't: large whole numbers with floats, which pandas rounds, as they
        are, and times with dates.
    """
    column, operator, value = comparison
    if operator in ("isna", "notna"):
        return None if nullable and pa.types.is_floating(kind) else comparison
    if operator == "in":
        return _among(column, value, kind, nullable, exact)
    multiples = _multiples(kind)
    count = None if multiples is None else _count(value, kind, exact)
    if multiples is not None and count is not None:
        return _of_multiples(comparison, count, multiples, nullable)
    literal = _literal(value, kind)
    return None if literal is None else Comparison(column, operator, literal[0])


def _among(column: Any, values: Iterable[Any], kind: pa.DataType, nullable: bool, exact: bool) -> Comparison | None:
    """Return the test whether a column is one of some values; those that it can't have are left out."""
    multiples = _multiples(kind)
    found: list[Any] = []
    for value in values:
        if pa.types.is_timestamp(kind) and isinstance(value, str):
            return None  # whether text is among times depends on the version of pandas
        if nullable and isinstance(value, float) and math.isnan(value):
            return None  # it stands for what is missing in some dtypes
        count = None if multiples is None else _count(value, kind, exact)
        if multiples is not None and count is not None:
            found += [multiples.value_of(int(count))] if multiples.holds(count) else []
            continue
        literal = _literal(value, kind)
        if literal is None:
            return None
        is_zero = pa.types.is_floating(kind) and literal[0] == 0
        if is_zero and nullable:
            return None  # whether the other zero is among them depends on the dtype
        found += [0.0, -0.0] if is_zero else literal  # Arrow looks them up by their bits
    return Comparison(column, "in", tuple(found))


def _multiples(kind: pa.DataType) -> _Multiples | None:
    """Return the values of a type of whole numbers or times; None for others."""
    if pa.types.is_integer(kind):
        bits = kind.bit_width
        if pa.types.is_signed_integer(kind):
            return _Multiples(-(1 << (bits - 1)), (1 << (bits - 1)) - 1, int)
        return _Multiples(0, (1 << bits) - 1, int)
    if pa.types.is_timestamp(kind):
        return _Multiples(1 - (1 << 63), (1 << 63) - 1, lambda count: _stamp(count, kind))
    return None


def _stamp(count: int, kind: pa.DataType) -> pd.Timestamp:
    made = pd.Timestamp(np.datetime64(count, kind.unit))
    return made if kind.tz is None else made.tz_localize("UTC")


def _count(value: Any, kind: pa.DataType, exact: bool) -> Fraction | float | None:
    """Return a constant as a number of a type's units, which may be infinite or no number; None if it isn't of the type's kind."""
    if pa.types.is_timestamp(kind):
        return _count_of_time(value, kind, exact)
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, int):
        return Fraction(value)
    if not math.isfinite(value):
        return value
    # pandas makes floats of the column, and rounds large numbers by that: they may then be equal to others.
    is_as_in_pandas = kind.bit_width <= 32 or abs(value) < _EXACT_IN_FLOATS or abs(value) > 1 << 64
    return Fraction(value) if exact or is_as_in_pandas else None


def _count_of_time(value: Any, kind: pa.DataType, exact: bool) -> Fraction | None:
    is_day = exact and type(value) is datetime.date and kind.tz is None  # pandas compares no times with dates
    if not is_day and not isinstance(value, (str, datetime.datetime, np.datetime64)):
        return None
    try:
        stamp = pd.Timestamp(value)
    except (ValueError, OverflowError):
        return None
    if pd.isna(stamp) or (stamp.tzinfo is None) != (kind.tz is None):
        return None
    return Fraction(int(stamp.asm8.view("int64")) * _PER_SECOND[kind.unit], _PER_SECOND[stamp.unit])


def _of_multiples(comparison: Comparison, count: Fraction | float, values: _Multiples, nullable: bool) -> Term:
    """Return ``x > 5.5`` as ``x > 5``, what holds for no value as that, and so on."""
    column, operator, _ = comparison
    never = Comparison(column, "never")
    if operator in ("==", "!="):
        if values.holds(count):
            return Comparison(column, operator, values.value_of(int(count)))
        return never if operator == "==" else Negated((never,))
    if math.isnan(count):
        return never
    if not values.low <= count <= values.high:
        holds = (count < values.low) == (operator in (">", ">="))
        always = Negated((never,)) if nullable else Comparison(column, "notna")
        return always if holds else never
    whole = math.floor(count) if operator in (">", "<=") else math.ceil(count)
    return Comparison(column, operator, values.value_of(whole))


def _plain(value: Any) -> Any:
    """Return a number of NumPy's as Python's."""
    return (
        value.item()
        if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64))
        else value
    )


def _literal(value: Any, kind: pa.DataType) -> tuple[Any] | None:
    """Return a constant of a type that isn't of multiples in a tuple; None if it isn't of the column's kind."""
    value = _plain(value)
    if isinstance(value, bool):
        return (value,) if pa.types.is_boolean(kind) else None
    if isinstance(value, str):
        return (value,) if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None
    if isinstance(value, (int, float)) and pa.types.is_float64(kind):
        return _float(value)
    return (value,) if pa.types.is_date32(kind) and type(value) is datetime.date else None


def _float(value: int | float) -> tuple[float] | None:
    """Return a number as pandas compares floats with it."""
    try:
        made = float(value)
    except OverflowError:
        return None
    return (made,) if made == made else None
