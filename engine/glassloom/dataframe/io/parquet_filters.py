"""Filters as PyArrow takes them, and Dask: lists of tuples, lists of such lists, or expressions of `pyarrow.compute`."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from glassloom.dataframe.columns import unknown_columns
from glassloom.dataframe.io.conditions import MISSING_TESTS, is_missing_value
from glassloom.errors import OptionError

_OPERATORS = ("=", "==", "!=", "<", "<=", ">", ">=", "in", "not in", *MISSING_TESTS)


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
