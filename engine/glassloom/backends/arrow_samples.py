"""Two made-up values of each of Arrow's types, of which results' dtypes are found out."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa


def samples_of_type(kind: Any) -> Any:
    """Return an Arrow array of two values that a type can hold; None of a type of which pandas makes them of texts or numbers."""
    values = _values_of_type(kind)
    return None if values is None else pa.array(values, type=kind)


def _values_of_type(kind: Any) -> list[Any] | None:
    types = pa.types
    if types.is_decimal(kind):
        return [Decimal((0, (digit,), -kind.scale)) for digit in (1, 2)]
    if types.is_list(kind) or types.is_large_list(kind):
        return [[value] for value in _inner(kind.value_type)]
    if types.is_fixed_size_list(kind):
        return [[value] * kind.list_size for value in _inner(kind.value_type)]
    if types.is_struct(kind):
        inner = [(field.name, _inner(field.type)) for field in kind]
        return [{name: values[place] for name, values in inner} for place in (0, 1)]
    if types.is_map(kind):
        return [[pair] for pair in zip(_inner(kind.key_type), _inner(kind.item_type), strict=True)]
    if types.is_dictionary(kind):
        return _inner(kind.value_type)
    if types.is_time(kind):
        return [datetime.time(1), datetime.time(2)]
    if types.is_fixed_size_binary(kind):
        return [letter * kind.byte_width for letter in (b"a", b"b")]
    if types.is_binary(kind) or types.is_large_binary(kind):
        return [b"a", b"b"]
    return [None, None] if types.is_null(kind) else None


def _inner(kind: Any) -> list[Any]:
    """Return two values of a type inside another one."""
    values = _values_of_type(kind)
    if values is not None:
        return values
    for given in (["a", "b"], [1, 2], [True, False]):
        try:
            return pa.array(given, type=kind).to_pylist()
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            continue
    return [None, None]
