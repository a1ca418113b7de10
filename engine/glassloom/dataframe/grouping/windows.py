"""Windows in groups: ``groupby(...).rolling(3).mean()`` and the like. Rows move so that groups are whole; pandas computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd

from glassloom.dataframe.arguments import with_functions_by_name
from glassloom.dataframe.columns import unknown_columns
from glassloom.dataframe.grouping.spec import Call
from glassloom.dataframe.lazy_arguments import with_lazy_arguments_checked
from glassloom.dataframe.method_names import methods_named
from glassloom.dataframe.options import piped
from glassloom.dataframe.wrap import is_node

LABELLED = frozenset(["rolling", "expanding", "ewm"])
"""Windows whose results have a row for each row, under its label."""
METHODS = frozenset([
    "agg", "aggregate", "apply", "corr", "count", "cov", "first", "kurt", "last", "max", "mean", "median", "min",
    "nunique", "prod", "quantile", "rank", "sem", "size", "skew", "std", "sum", "var",
])  # fmt: skip
_WEIGHTED = frozenset(["agg", "aggregate", "mean", "sum", "std", "var", "corr", "cov"])
_BINNED = METHODS - {"corr", "cov", "rank", "skew", "kurt"} | {
    "asfreq",
    "bfill",
    "ffill",
    "interpolate",
    "nearest",
    "ohlc",
}


@with_lazy_arguments_checked("Rolling")
@with_functions_by_name("Rolling")
@methods_named("Rolling")
class Windows:
    """What ``rolling expanding ewm resample`` of groups return: aggregated by pandas' methods, in the order of groups.

    The result has as many partitions as the frame.

    Parameters
    ----------
    in_order
        Called with groups, a call and a title: returns what the call makes of whole groups.
    groups
        The groups.
    call
        The method of pandas' groups that makes the windows.
    selection
        The column, or the list of columns, that is chosen of the windows; None: all.
    """

    __iter__ = None  # by positions it would never end

    def __init__(self, in_order: Callable[..., Any], groups: Any, call: Call, selection: Any = None) -> None:
        self._in_order = in_order
        self._groups = groups
        self._call = call
        self._selection = selection

    def __repr__(self) -> str:
        return f"Windows({self._call.method}{self._call.args!r})"

    def __getitem__(self, columns: Any) -> Windows:
        if self._selection is not None:
            raise IndexError(f"Column(s) {self._selection} already selected")
        known = self._groups.value_names
        unknown = [name for name in (columns if isinstance(columns, list) else [columns]) if name not in known]
        if unknown:
            raise unknown_columns(unknown, known)
        return Windows(self._in_order, self._groups, self._call, columns)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        known = self._methods
        if name not in known:
            if name in self._groups.value_names:
                return self[name]
            raise AttributeError(f"{self._call.method}() of groups has no {name!r}; it has {', '.join(sorted(known))}")

        def method(*args: Any, **kwargs: Any) -> Any:
            if any(
                is_node(value) or isinstance(value, (pd.DataFrame, pd.Series)) for value in (*args, *kwargs.values())
            ):
                raise NotImplementedError(
                    f"{self._call.method}().{name}() of groups takes no lazy arguments and no pandas objects: give the function that needs both "
                    f"columns to apply(), as groupby(...).apply(lambda group: group.x.{self._call.method}(...).{name}(group.y))"
                )
            title = f"groupby-{self._call.method}-{name}"
            chain = Call(name, args, kwargs)
            if self._selection is None:
                return self._in_order(self._groups, replace(self._call, chain=chain), title)
            chosen = replace(self._call, chain=Call("__getitem__", (self._selection,), {}, chain))
            listed = self._selection if isinstance(self._selection, list) else [self._selection]
            times = self._call.kwargs.get("on")
            return self._in_order(self._groups, chosen, title, columns=listed if times is None else [*listed, times])

        return method

    def pipe(self, func: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Return what a function makes of these windows; ``(function, "name")`` passes them as that argument."""
        return piped(self, func, args, kwargs)

    @property
    def _methods(self) -> frozenset[str]:
        return {"ewm": _WEIGHTED, "resample": _BINNED}.get(self._call.method, METHODS)

    def __dir__(self) -> list[str]:
        columns = [name for name in self._groups.value_names if isinstance(name, str) and name.isidentifier()]
        return sorted({*self._methods, "pipe", *columns})
