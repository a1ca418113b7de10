"""What ``agg(...)`` is asked for, as one call of pandas and, where partial results can make it, as pairs of column and name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.lazy_closures import require_at_hand_values
from glassloom.dataframe.wrap import holds_lazy

NAMES = frozenset(
    [
        "all",
        "any",
        "count",
        "corr",
        "cov",
        "first",
        "idxmax",
        "idxmin",
        "kurt",
        "last",
        "max",
        "mean",
        "median",
        "min",
        "nunique",
        "prod",
        "quantile",
        "sem",
        "size",
        "skew",
        "std",
        "sum",
        "var",
        "describe",
    ]
)
"""Aggregations that `agg` knows by name."""
_FUNCTIONS: dict[Any, str] = {np.sum: "sum", np.mean: "mean", np.min: "min", np.max: "max", np.prod: "prod"}
"""Functions that pandas replaces by, or that are the same as, its own."""


_OF_USERS = frozenset(["agg", "aggregate", "apply", "transform"])
"""Methods that call users' functions."""


@dataclass(frozen=True)
class Call:
    """A call of a method of pandas' groups; with `chain`, of what that returns (``rolling(3)``, then ``mean()``)."""

    method: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    chain: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        if holds_lazy(self.args) or holds_lazy(self.kwargs.values()):
            raise TypeError(f"groupby.{self.method} takes no lazy values as arguments: compute() them before")

    def __call__(self, grouped: Any) -> Any:
        found = getattr(grouped, self.method)(*self.args, **self.kwargs)
        if self.method in _OF_USERS:
            require_at_hand_values(found, f"groupby.{self.method}", users_of(self))
        return found if self.chain is None else self.chain(found)

    @property
    def ignores_labels(self) -> bool:
        """Whether the labels of rows don't matter: those that are no positions make an error in pandas then."""
        return self.method == "resample" and self.kwargs.get("on") is not None

    def without(self, option: str) -> Call:
        """Return the call without an option."""
        kwargs = {name: value for name, value in self.kwargs.items() if name != option}
        return self if len(kwargs) == len(self.kwargs) else replace(self, kwargs=kwargs)


def users_of(call: Any) -> list[Any]:
    """Return the arguments of a call of groups, among which a user's functions are."""
    return [*getattr(call, "args", ()), getattr(call, "kwargs", {})]


_OF_ONE_COLUMN = NAMES - {"corr", "cov", "describe", "idxmax", "idxmin", "kurt", "quantile", "skew"}
"""Those that make one value of a group's column, whatever the column's index."""


@dataclass(frozen=True)
class NamedCall:
    """Named aggregations of columns, as ``agg(**named)`` makes them: by a call for each, a fifth of the time for small frames.

    With `chain`, what that makes of the result.
    """

    named: Mapping[str, tuple[Any, str]]
    chain: Callable[[Any], Any] | None = None

    def __glassloom_tokenize__(self) -> Any:
        return (dict(self.named), self.chain)

    @staticmethod
    def can_make(named: Mapping[str, Any]) -> bool:
        """Whether all are pairs of a column and the name of an aggregation of one column."""
        return bool(named) and all(
            type(one) is tuple and isinstance(one[1], str) and one[1] in _OF_ONE_COLUMN for one in named.values()
        )

    def __call__(self, grouped: Any) -> Any:
        made = {name: getattr(grouped[column], how)() for name, (column, how) in self.named.items()}
        groups = next(iter(made.values())).index
        frame = pd.DataFrame({name: values.array for name, values in made.items()}, index=groups)
        return frame if self.chain is None else self.chain(frame)

    def without(self, option: str) -> NamedCall:
        """Return the call without an option, of which it has none."""
        return self


def known_functions(spec: Any) -> Any:
    """Return a specification of `agg` with functions replaced by names where they do the same.

    Raises
    ------
    NotImplementedError
        If a name is no aggregation.
    """
    if isinstance(spec, Mapping):
        return {column: known_functions(one) for column, one in spec.items()}
    if isinstance(spec, (list, tuple)):
        return [(one[0], known_functions(one[1])) if _is_named(one) else known_functions(one) for one in spec]
    if isinstance(spec, str):
        if spec not in NAMES:
            raise NotImplementedError(
                f"groupby can't aggregate by {spec!r}; it can by {', '.join(sorted(NAMES))}, or by a function"
            )
        return spec
    if not callable(spec):
        raise TypeError(f"{spec!r} is no aggregation: give a name, a function, or a list or dict of those")
    return _FUNCTIONS.get(spec, spec) if _is_hashable(spec) else spec


def _is_named(one: Any) -> bool:
    """Whether an aggregation of a list is a pair of the name of its result and itself."""
    return isinstance(one, tuple) and len(one) == 2 and (isinstance(one[1], str) or callable(one[1]))


def _unnamed(one: Any) -> Any:
    return one[1] if _is_named(one) else one


def named_pairs(named: Mapping[str, Any], *, is_single: bool) -> dict[str, Any]:
    """Return named aggregations in the form that pandas takes, with known functions by name.

    Parameters
    ----------
    named
        Of a frame ``(column, function)`` or ``pandas.NamedAgg``, of one column functions.
    is_single
        Whether one column is aggregated.
    """
    found: dict[str, Any] = {}
    for name, one in named.items():
        if is_single:
            found[name] = known_functions(one)
            continue
        column, function = column_and_function(name, one)
        if isinstance(function, (list, tuple)):
            raise NotImplementedError(
                f"{name}={one!r}: a named aggregation has one function: name each, or give a dict of lists, as in agg({{{column!r}: {list(function)!r}}})"
            )
        if isinstance(one, tuple):
            found[name] = (column, known_functions(function))
        else:
            found[name] = one  # pandas.NamedAgg with arguments of its own
    return found


def named_alike(spec: Any) -> dict[Any, Any]:
    """Return the named aggregations that are the same as a dict of one for each column; none if it is something else."""
    if not isinstance(spec, Mapping) or not all(type(label) is str for label in spec):
        return {}
    return {label: (label, how) for label, how in spec.items()}


def column_and_function(name: str, one: Any) -> tuple[Any, Any]:
    """Return the column and the function of a named aggregation of a frame."""
    if hasattr(one, "aggfunc"):
        return one.column, one.aggfunc
    if not isinstance(one, tuple) or len(one) != 2:
        raise TypeError(f"{name}={one!r}: named aggregations of a frame are pairs, such as {name}=('column', 'sum')")
    return one[0], one[1]


def are_named(pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Whether all aggregations of `pairs_of` are given by name; the others are functions."""
    return all(isinstance(how, str) for _, how in pairs)


def pairs_of(spec: Any, named: Mapping[str, Any], columns: Sequence[Any], *, is_single: bool) -> list[tuple[Any, Any]]:
    """Return (column, name of an aggregation, or a function) for each column of the result.

    Parameters
    ----------
    spec, named
        As `known_functions` and `named_pairs` return them.
    columns
        The labels of the value columns.
    is_single
        Whether one column is aggregated.
    """
    if spec is None:
        return [(columns[0], one) for one in named.values()] if is_single else [*map(_pair, named.values())]
    if isinstance(spec, Mapping):
        lists = {column: many if isinstance(many, list) else [many] for column, many in spec.items()}
        return [(column, _unnamed(one)) for column, many in lists.items() for one in many]
    if spec == "size":
        return [(None, "size")]
    return [(column, _unnamed(one)) for column in columns for one in (spec if isinstance(spec, list) else [spec])]


def _pair(one: Any) -> tuple[Any, Any]:
    if isinstance(one, tuple) and len(one) == 2:
        return (one[0], one[1])
    has_arguments = bool(getattr(one, "args", ())) or bool(getattr(one, "kwargs", {}))
    return (one.column, None if has_arguments else one.aggfunc)


def spec_columns(spec: Any, named: Mapping[str, Any]) -> list[Any] | None:
    """Return the columns that a specification names, or None if it is of all columns."""
    if isinstance(spec, Mapping):
        return list(spec)
    if spec is None and named:
        return list(dict.fromkeys(column_and_function(name, one)[0] for name, one in named.items()))
    return None


def names_several(spec: Any, frame: Any) -> bool:
    """Whether a dict names a column of which there are several in a frame."""
    if not isinstance(spec, Mapping):
        return False
    columns = frame.columns
    return not columns.is_unique and not set(spec).isdisjoint(columns[columns.duplicated()])


def has_functions(spec: Any) -> bool:
    """Whether there are users' functions in a specification."""
    if isinstance(spec, Mapping):
        return any(map(has_functions, spec.values()))
    if isinstance(spec, (list, tuple)):
        return any(map(has_functions, spec))
    return callable(spec) or (hasattr(spec, "aggfunc") and callable(spec.aggfunc))


def _is_hashable(value: Callable[..., Any]) -> bool:
    return type(value).__hash__ is not None
