"""Filters as PyArrow takes them, and Dask: lists of tuples, lists of such lists, or expressions of `pyarrow.compute`."""

from __future__ import annotations

from copy import deepcopy
from datetime import date, time
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from glassloom.dataframe.columns import unknown_columns
from glassloom.dataframe.io.conditions import MISSING_TESTS, is_missing_value
from glassloom.errors import OptionError
from glassloom.graph import tokenize

_OPERATORS = ("=", "==", "!=", "<", "<=", ">", ">=", "in", "not in", *MISSING_TESTS)
_PLAIN = (type(None), str, bytes, bool, int, float, date, time, Decimal, np.generic)
_MOST_VALUES = 1000


def filter_expression(filters: Any) -> Any:
    """Return filters as an expression of PyArrow's."""
    if not isinstance(filters, (list, tuple)):
        return filters
    if not any(operator in MISSING_TESTS for _, operator, _ in _terms(filters)):
        return pq.filters_to_expression(filters)
    alternatives = filters if all(isinstance(one, list) for one in filters) else [filters]
    return reduce(or_, (reduce(and_, map(_term_expression, every)) for every in alternatives))


def _term_expression(term: tuple[str, str, Any]) -> Any:
    column, operator, _ = term
    if operator not in MISSING_TESTS:
        return pq.filters_to_expression([term])
    is_missing = ds.field(column).is_null(nan_is_null=True)
    return is_missing if operator == "is" else ~is_missing


def require_known_filters(filters: Any, schema: pa.Schema) -> None:
    """Check the columns and operators of filters that are lists of tuples, or lists of such lists.

    Raises
    ------
    UnknownColumn
        If there is no such column.
    OptionError
        If an operator isn't one, or a value none that it takes.
    """
    if not isinstance(filters, (list, tuple)):
        return
    terms = _terms(filters)
    unknown = [name for name, _, _ in terms if isinstance(name, str) and name not in schema.names]
    if unknown:
        raise unknown_columns(unknown, schema.names)
    for _, operator, value in terms:
        if operator not in _OPERATORS:
            raise OptionError(f"filters={filters!r}: {operator!r} should be one of {', '.join(map(repr, _OPERATORS))}")
        if operator in MISSING_TESTS and not is_missing_value(value):
            raise OptionError(f"filters={filters!r}: {operator!r} tells what is missing, so {value!r} should be None")


def _terms(filters: list[Any] | tuple[Any, ...]) -> list[tuple[Any, Any, Any]]:
    listed = [one for many in filters for one in (many if isinstance(many, list) else [many])]
    return [one for one in listed if isinstance(one, tuple) and len(one) == 3]


class KnownFilters:
    """A copy of filters, equal to others with the same columns, operators, values and types of values.

    So a result can be looked up by it, as it can't by lists, which may change; 1 and True are not the same.
    """

    def __init__(self, filters: Any) -> None:
        self.filters = deepcopy(filters)
        self._token = tokenize(filters)

    def __hash__(self) -> int:
        return hash(self._token)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownFilters) and other._token == self._token


_NO_FILTERS = KnownFilters(None)


def known_filters(filters: Any) -> KnownFilters | None:
    """Return filters to look up by; None if they are of other things than a few plain values in lists and tuples."""
    if filters is None:
        return _NO_FILTERS
    return KnownFilters(filters) if _n_plain(filters) <= _MOST_VALUES else None


def _n_plain(value: Any) -> float:
    """Return how many plain values there are in lists and tuples: infinitely many if others are there, too."""
    if isinstance(value, (list, tuple)):
        return sum(map(_n_plain, value)) if len(value) <= _MOST_VALUES else float("inf")
    return 1 if isinstance(value, _PLAIN) else float("inf")
