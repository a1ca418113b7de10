"""Conditions on columns that a source checks while it reads: as data, as Arrow masks, and against statistics.

A `Condition` is a tuple of terms that must all hold. Terms follow pandas: a missing value compares false and differs from
everything, unless the column is of a nullable dtype (`KLEENE`): then the comparison is missing too, and missing drops the row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

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
_ORDERED = {
    "==": lambda low, high, value: low <= value <= high,
    "<": lambda low, high, value: low < value,
    "<=": lambda low, high, value: low <= value,
    ">": lambda low, high, value: high > value,
    ">=": lambda low, high, value: high >= value,
}


INDEX = ("index of the frame",)
"""Stands for the index where a condition is put together; a source puts its column in its place."""


class Comparison(NamedTuple):
    """``column operator value``. Operators: ``== != < <= > >=``, ``in`` (a tuple of values), ``isna`` and ``notna``."""

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
    operator = "==" if operator == "=" else operator
    return accept(Comparison(column, operator, value)) if operator in _COMPARISONS else None


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
    value = list(term.value) if isinstance(term.value, tuple) else term.value
    return f"{term.column} {term.operator} {value if isinstance(value, datetime) else repr(value)}"


def mask_of(condition: Condition, table: pa.Table, constants: dict[Any, Any], nullable: Collection[Any]) -> Any:
    """Return where the condition holds: a boolean array, or a scalar if only `constants` decide. Missing: it doesn't.

    Parameters
    ----------
    table
        Has the columns that `constants`, which are the same in all rows, hasn't.
    nullable
        The columns whose comparisons with missing values are missing.
    """
    return _all([_term_mask(term, table, constants, nullable) for term in condition])


def _all(masks: list[Any]) -> Any:
    made = masks[0]
    for mask in masks[1:]:
        made = pc.and_kleene(made, mask)
    return made


def _term_mask(term: Term, table: pa.Table, constants: dict[Any, Any], nullable: Collection[Any]) -> Any:
    if isinstance(term, Negated):
        return pc.invert(mask_of(term.condition, table, constants, nullable))
    if isinstance(term, Either):
        made, *others = [mask_of(part, table, constants, nullable) for part in term.conditions]
        for other in others:
            made = pc.or_kleene(made, other)
        return made
    if term.column in constants:
        is_unknown = constants[term.column] is None and term.column in nullable and term.operator in _COMPARISONS
        return pa.scalar(None if is_unknown else _holds(term, constants[term.column]), type=pa.bool_())
    column = table[term.column]
    if pa.types.is_dictionary(column.type) and term.operator not in ("isna", "notna"):
        return _mask_of_codes(term, column, nullable)
    if term.operator in ("isna", "notna"):
        mask = pc.is_null(column, nan_is_null=True)
        return mask if term.operator == "isna" else pc.invert(mask)
    if term.operator == "in":
        return pc.is_in(column, value_set=pa.array(list(term.value), type=column.type))
    mask = _COMPARISONS[term.operator](column, pa.scalar(term.value, type=column.type))
    if term.column in nullable or not mask.null_count:
        return mask
    return pc.fill_null(mask, term.operator == "!=")


def _mask_of_codes(term: Comparison, column: pa.ChunkedArray, nullable: Collection[Any]) -> Any:
    """Return the mask of a comparison of text in codes of dictionaries: only their distinct values are compared."""
    masks = []
    for chunk in column.chunks:
        values = pa.table({term.column: chunk.dictionary})
        holds = _term_mask(term, values, {}, nullable)
        holds = holds.combine_chunks() if isinstance(holds, pa.ChunkedArray) else holds
        masks.append(holds.take(chunk.indices))
    mask = pa.chunked_array(masks, type=pa.bool_())
    if not mask.null_count or (term.column in nullable and term.operator != "in"):
        return mask
    return pc.fill_null(mask, term.operator == "!=")


def _holds(term: Comparison, value: Any) -> bool:
    """Whether a comparison holds for a value that is the same in all rows; None is missing."""
    if term.operator in ("isna", "notna"):
        return (value is None) == (term.operator == "isna")
    if value is None:
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
    if not bounds.may_be_present:
        return False
    if term.operator == "notna" or bounds.low is None:
        return True
    values = term.value if term.operator == "in" else (term.value,)
    ordered = _ORDERED["==" if term.operator == "in" else term.operator]
    try:
        return any(ordered(bounds.low, bounds.high, value) for value in values)
    except TypeError:  # a time with a zone and one without: then they aren't compared here
        return True
