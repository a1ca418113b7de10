"""Constants that columns are compared with, as values of the columns' Arrow types: only where nothing is lost by that."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from glassloom.dataframe.io.conditions import Comparison

_EXACT_IN_FLOATS = 1 << 53


def adapted(comparison: Comparison, kind: pa.DataType, *, nullable: bool) -> Comparison | None:
    """Return a comparison with its constants as the column has them; None if Arrow wouldn't do what pandas does."""
    column, operator, value = comparison
    if operator in ("isna", "notna"):
        return None if nullable and pa.types.is_floating(kind) else comparison
    if operator == "in":
        literals = [_literal(one, kind) for one in value]
        if pa.types.is_timestamp(kind) and any(isinstance(one, str) for one in value):
            return None  # whether text is among times depends on the version of pandas
        return None if None in literals else Comparison(column, "in", tuple(one[0] for one in literals if one))
    if pa.types.is_integer(kind) and isinstance(value, float):
        return _of_whole_numbers(comparison, kind)
    literal = _literal(value, kind)
    return None if literal is None else Comparison(column, operator, literal[0])


def _literal(value: Any, kind: pa.DataType) -> tuple[Any] | None:
    """Return a constant in a tuple; None if it isn't of the column's kind."""
    if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
        value = value.item()
    if pa.types.is_timestamp(kind):
        return _time(value, kind)
    if isinstance(value, bool):
        return (value,) if pa.types.is_boolean(kind) else None
    if isinstance(value, str):
        return (value,) if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None
    if isinstance(value, int) and pa.types.is_integer(kind):
        return (value,) if _can_hold(kind, value) else None
    if isinstance(value, (int, float)) and pa.types.is_float64(kind):
        is_exact = isinstance(value, float) or abs(value) <= _EXACT_IN_FLOATS
        return (float(value),) if is_exact and value == value else None
    return (value,) if pa.types.is_date32(kind) and type(value) is datetime.date else None


def _time(value: Any, kind: pa.DataType) -> tuple[Any] | None:
    if not isinstance(value, (str, datetime.datetime, np.datetime64)):
        return None
    try:
        stamp = pd.Timestamp(value)
        exact = stamp.as_unit(kind.unit)
    except (ValueError, OverflowError):
        return None
    same_zone = (stamp.tzinfo is None) == (kind.tz is None)
    return (exact,) if same_zone and not pd.isna(stamp) and exact == stamp else None


def _of_whole_numbers(comparison: Comparison, kind: pa.DataType) -> Comparison | None:
    """Return ``x > 5.5`` as ``x > 5``, and so on: equal for whole numbers."""
    column, operator, value = comparison
    if not math.isfinite(value) or abs(value) >= _EXACT_IN_FLOATS:
        return None
    if value == int(value):
        return Comparison(column, operator, int(value)) if _can_hold(kind, int(value)) else None
    if operator in ("==", "!="):
        return Comparison(column, "in", ()) if operator == "==" else None
    whole = math.floor(value) if operator in (">", "<=") else math.ceil(value)
    return Comparison(column, operator, whole) if _can_hold(kind, whole) else None


def _can_hold(kind: pa.DataType, value: int) -> bool:
    bits = kind.bit_width
    low, high = (
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if pa.types.is_signed_integer(kind) else (0, (1 << bits) - 1)
    )
    return low <= value <= high
