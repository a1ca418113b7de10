"""Windows in groups: ``groupby(...).rolling(3).mean()`` and the like. Rows move so that groups are whole; pandas computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from glassloom.dataframe.grouping.spec import Call

METHODS = frozenset(
    [
        "agg",
        "count",
        "sum",
        "mean",
        "median",
        "min",
        "max",
        "std",
        "var",
        "sem",
        "skew",
        "kurt",
        "quantile",
        "first",
        "last",
        "size",
        "nunique",
        "prod",
        "apply",
    ]
)


class Windows:
    """What ``rolling expanding resample`` of groups return: aggregated by any of pandas' methods, in the order of groups.

    The result has as many partitions as the frame.
    """

    def __init__(self, in_order: Callable[..., Any], call: Call) -> None:
        self._in_order = in_order
        self._call = call

    def __repr__(self) -> str:
        return f"Windows({self._call.method}{self._call.args!r})"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in METHODS:
            raise AttributeError(f"windows of groups have no {name!r}; they have {', '.join(sorted(METHODS))}")

        def method(*args: Any, **kwargs: Any) -> Any:
            call = Call(self._call.method, self._call.args, self._call.kwargs, Call(name, args, kwargs))
            return self._in_order(call, f"groupby-{self._call.method}-{name}")

        return method

    def __dir__(self) -> list[str]:
        return sorted(METHODS)
