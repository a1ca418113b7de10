"""Conditions on columns that a source checks while it reads: as data, as Arrow masks, and against statistics.

A `Condition` is a tuple of terms that must all hold. Terms follow pandas: a missing value compares false and differs from
everything, unless the column is of a nullable dtype (`KLEENE`): then the comparison is missing too, and missing drops the row.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import partial, reduce
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_IN_NUMPY: dict[str, Callable[[Any, Any], Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_ORDERED = {
    "==": lambda low, high, value: low <= value <= high,
    "<": lambda low, high, value: low < value,
    "<=": lambda low, high, value: low <= value,
    ">": lambda low, high, value: high > value,
    ">=": lambda low, high, value: high >= value,
}


MISSING_TESTS = {"is": "isna", "is not": "notna"}
"""Operators of filters that take only a missing value, and the comparisons that they are."""
_MOST_LISTED = 8
"""Of more values that a column may have, a text of a condition has the first ones."""
_OF_VALUES = (*_COMPARISONS, "never")
"""Operators that are missing for missing values of nullable columns."""
INDEX = ("index of the frame",)
"""Stands for the index where a condition is put together; a source puts its column in its place."""


class Comparison(NamedTuple):
    """``column operator value``. Operators: ``== != < <= > >=``, ``in`` (a tuple of values), ``isna``, ``notna``, and ``never``.

    ``never`` holds for no value; of a missing one it is what the others are.
    """

    column: Any
    operator: str
    value: Any = None

    def __glassloom_tokenize__(self) -> Any:
        """Return its parts: a token is made of each read of a condition, and pickling is the longer way."""
        return (self.column, self.operator, self.value)


class Either(NamedTuple):
    """Holds where any of the conditions does."""

    conditions: tuple[Condition, ...]


class Negated(NamedTuple):
    """Holds where the condition doesn't."""

    condition: Condition


Term: TypeAlias = Comparison | Either | Negated
Condition: TypeAlias = tuple[Term, ...]


class Columns(Protocol):
    """Columns by name: a table, or what reads them when they are asked for."""

    def __getitem__(self, name: Any, /) -> pa.ChunkedArray: ...


class Bounds(NamedTuple):
    """What is known of the values of a column in some rows. `low` and `high` are None where they aren't known."""

    low: Any
    high: Any
    may_be_missing: bool
    may_be_present: bool


def condition_of_filters(filters: Any, accept: Callable[[Comparison], Term | None]) -> Condition | None:
    """Return filters as PyArrow takes them, lists of tuples, as a condition; None if they can't be one.

    A missing value fulfils none of them but ``not in``: all columns are to be taken as nullable.
    """
    if not isinstance(filters, (list, tuple)) or not filters:
        return None
    if all(isinstance(one, tuple) and len(one) == 3 and isinstance(one[0], str) for one in filters):
        terms = [_filter_term(column, operator, value, accept) for column, operator, value in filters]
        return None if None in terms else tuple(term for term in terms if term is not None)
    parts = [condition_of_filters(one, accept) for one in filters]
    if None in parts:
        return None
    known = tuple(part for part in parts if part is not None)
    return known[0] if len(known) == 1 else (Either(known),)


def _filter_term(column: str, operator: str, value: Any, accept: Callable[[Comparison], Term | None]) -> Term | None:
    if operator in ("in", "not in"):
        if isinstance(value, str) or not isinstance(value, Iterable):
            return None
        term = accept(Comparison(column, "in", tuple(value)))
        return term if term is None or operator == "in" else Negated((term,))
    if operator in MISSING_TESTS:
        return accept(Comparison(column, MISSING_TESTS[operator])) if is_missing_value(value) else None
    operator = "==" if operator == "=" else operator
    return accept(Comparison(column, operator, value)) if operator in _COMPARISONS else None


def is_missing_value(value: Any) -> bool:
    """Whether a value of a filter stands for what is missing."""
    return (
        value is None
        or value is pd.NA
        or value is pd.NaT
        or (isinstance(value, (float, np.floating)) and value != value)
    )


def columns_of(condition: Condition) -> list[Any]:
    """Return the columns that a condition reads, each once.

    >>> columns_of((Comparison("x", ">", 1), Either(((Comparison("y", "isna"),), (Comparison("x", "==", 0),)))))
    ['x', 'y']
    """
    found: dict[Any, None] = {}
    for term in condition:
        if isinstance(term, Comparison):
            found[term.column] = None
        elif isinstance(term, Either):
            found.update(dict.fromkeys(name for part in term.conditions for name in columns_of(part)))
        else:
            found.update(dict.fromkeys(columns_of(term.condition)))
    return list(found)


def condition_text(condition: Condition) -> str:
    """Return a condition as people read it.

    >>> condition_text((Comparison("x", ">", 1), Negated((Comparison("y", "isna"),))))
    'x > 1 and not (y isna)'
    """
    return " and ".join(map(_term_text, condition))


def _term_text(term: Term) -> str:
    if isinstance(term, Negated):
        return f"not ({condition_text(term.condition)})"
    if isinstance(term, Either):
        return "(" + " or ".join(condition_text(part) for part in term.conditions) + ")"
    if term.value is None:
        return f"{term.column} {term.operator}"
    return f"{term.column} {term.operator} {_value_text(term.value)}"


def _value_text(value: Any) -> str:
    """Return a value, or several, as people read it: of a long text its begin, of many values the first ones."""
    if not isinstance(value, tuple):
        return str(value) if isinstance(value, datetime) else reprlib.repr(value)
    if len(value) <= _MOST_LISTED:
        return f"[{', '.join(map(reprlib.repr, value))}]"
    return f"[{', '.join(map(reprlib.repr, value[:3]))}, ... {len(value):,} values]"


Mask: TypeAlias = "np.ndarray | pa.ChunkedArray | pa.Scalar"
"""Where rows fulfil a condition: NumPy's booleans, or Arrow's where it may be missing whether they do; a scalar for all rows."""


def mask_of(condition: Condition, columns: Columns, constants: dict[Any, Any], nullable: Collection[Any]) -> Mask:
    """Return where the condition holds; a scalar if only `constants` decide. Where it is missing, it doesn't.

    Terms are checked in order until no row is left. So a column that is asked for may not be needed any more.

    Parameters
    ----------
    columns
        Has the columns that `constants`, which are the same in all rows, hasn't.
    nullable
        The columns whose comparisons with missing values are missing.
    """
    mask = _term_mask(condition[0], columns, constants, nullable)
    for term in condition[1:]:
        if isinstance(mask, np.ndarray) and not mask.any():
            return mask
        mask = all_of([mask, _term_mask(term, columns, constants, nullable)])
    return mask


def all_of(masks: Sequence[Mask]) -> Mask:
    """Return where all masks hold."""
    return reduce(partial(_combined, np.logical_and, pc.and_kleene), masks)


def _combined(of_numpy: Callable[..., Any], of_arrow: Callable[..., Any], one: Mask, other: Mask) -> Mask:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return of_numpy(one, other)
    return of_arrow(*(pa.chunked_array([mask]) if isinstance(mask, np.ndarray) else mask for mask in (one, other)))


def _without_missing(mask: Any) -> Mask:
    """Return a mask of Arrow's as NumPy's, if no row is missing in it."""
    return mask if mask.null_count else mask.to_numpy()


def _inverted(mask: Mask) -> Mask:
    return ~mask if isinstance(mask, np.ndarray) else pc.invert(mask)


def _term_mask(term: Term, columns: Columns, constants: dict[Any, Any], nullable: Collection[Any]) -> Mask:
    if isinstance(term, Negated):
        return _inverted(mask_of(term.condition, columns, constants, nullable))
    if isinstance(term, Either):
        masks = [mask_of(part, columns, constants, nullable) for part in term.conditions]
        return reduce(partial(_combined, np.logical_or, pc.or_kleene), masks)
    if term.column in constants:
        is_unknown = constants[term.column] is None and term.column in nullable and term.operator in _OF_VALUES
        return pa.scalar(None if is_unknown else _holds(term, constants[term.column]), type=pa.bool_())
    column = columns[term.column]
    if pa.types.is_dictionary(column.type) and term.operator not in ("isna", "notna"):
        return _mask_of_codes(term, column, nullable)
    return _mask_of_values(term, column, nullable)


def _mask_of_values(term: Comparison, column: pa.ChunkedArray, nullable: Collection[Any]) -> Mask:
    if term.operator in ("isna", "notna"):
        mask = _without_missing(pc.is_null(column, nan_is_null=True))
        return mask if term.operator == "isna" else _inverted(mask)
    if term.operator == "in":
        if not term.value:
            return np.zeros(len(column), dtype=bool)
        return _without_missing(pc.is_in(column, value_set=arrow_values(term.value, column.type)))
    if term.operator == "never":
        return _false(column, term.column in nullable)
    value = arrow_values([term.value], column.type)[0]
    numbers = _as_numbers(column)
    if numbers is not None:
        return _IN_NUMPY[term.operator](numbers, value.value if pa.types.is_temporal(column.type) else value.as_py())
    mask = _COMPARISONS[term.operator](column, value)
    if term.column not in nullable and mask.null_count:
        mask = pc.fill_null(mask, term.operator == "!=")
    return _without_missing(mask)


def arrow_values(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return constants as Arrow has them. It knows no times beyond those of Python, and takes pandas' for others."""
    if pa.types.is_timestamp(kind):
        values = [int(value.as_unit(kind.unit).asm8.view("int64")) for value in map(pd.Timestamp, values)]
    return pa.array(list(values), type=kind)


def _false(column: pa.ChunkedArray, is_nullable: bool) -> Mask:
    """Return a mask of no row; where a value is missing, missing if the column is nullable."""
    if not is_nullable or not column.null_count:
        return np.zeros(len(column), dtype=bool)
    return pa.chunked_array([pa.array(np.zeros(len(column), dtype=bool), mask=pc.is_null(column).to_numpy())])


def _as_numbers(column: pa.ChunkedArray) -> np.ndarray | None:
    """Return the numbers of a column, of times too, as they lie in memory: NumPy compares them in a quarter of Arrow's time.

    None if the column has missing values, is of another type, or is in pieces.
    """
    kind = column.type
    if column.num_chunks != 1 or column.null_count:
        return None
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return column.chunk(0).to_numpy()
    if pa.types.is_timestamp(kind):
        return column.chunk(0).view(pa.int64()).to_numpy()
    return column.chunk(0).view(pa.int32()).to_numpy() if pa.types.is_date32(kind) else None


def _mask_of_codes(term: Comparison, column: pa.ChunkedArray, nullable: Collection[Any]) -> Mask:
    """Return the mask of a comparison of text in codes of dictionaries: only their distinct values are compared."""
    masks: list[Any] = [_mask_of_codes_in(chunk, term, nullable) for chunk in column.chunks]
    if masks and all(isinstance(mask, np.ndarray) for mask in masks):
        return masks[0] if len(masks) == 1 else np.concatenate(masks)
    mask = pa.chunked_array(masks, type=pa.bool_())
    if mask.null_count and (term.column not in nullable or term.operator == "in"):
        mask = pc.fill_null(mask, term.operator == "!=")
    return _without_missing(mask)


def _mask_of_codes_in(chunk: pa.DictionaryArray, term: Comparison, nullable: Collection[Any]) -> Any:
    """Return the mask of text in codes of one dictionary: NumPy's, in a third of Arrow's time, if nothing is missing."""
    holds = _mask_of_values(term, pa.chunked_array([chunk.dictionary]), nullable)
    if isinstance(holds, np.ndarray) and not chunk.indices.null_count and len(holds):
        return holds.take(chunk.indices.to_numpy())
    holds = pa.array(holds) if isinstance(holds, np.ndarray) else holds.combine_chunks()
    return holds.take(chunk.indices)


def _holds(term: Comparison, value: Any) -> bool:
    """Whether a comparison holds for a value that is the same in all rows; None is missing."""
    if term.operator in ("isna", "notna"):
        return (value is None) == (term.operator == "isna")
    if value is None or term.operator == "never":
        return term.operator == "!="
    if term.operator == "in":
        return value in term.value
    return bool((value == term.value) == (term.operator == "=="))


def may_hold(condition: Condition, bounds_of: Callable[[Any], Bounds | None]) -> bool:
    """Whether the condition may hold in any row, by what is known of the columns; None: nothing."""
    return all(_term_may_hold(term, bounds_of) for term in condition)


def _term_may_hold(term: Term, bounds_of: Callable[[Any], Bounds | None]) -> bool:
    if isinstance(term, Negated):
        return True
    if isinstance(term, Either):
        return any(may_hold(part, bounds_of) for part in term.conditions)
    bounds = bounds_of(term.column)
    if bounds is None or term.operator == "!=":
        return True
    if term.operator == "isna":
        return bounds.may_be_missing
    if not bounds.may_be_present or term.operator == "never":
        return False
    if term.operator == "notna" or bounds.low is None:
        return True
    values = term.value if term.operator == "in" else (term.value,)
    ordered = _ORDERED["==" if term.operator == "in" else term.operator]
    try:
        return any(ordered(bounds.low, bounds.high, value) for value in values)
    except TypeError:  # a time with a zone and one without: then they aren't compared here
        return True
