"""What pandas' groups have and ours lack: why, and what to use instead."""

from __future__ import annotations

from typing import NoReturn

_INSTEAD = {
    "plot": "compute() an aggregation and plot it",
    "hist": "compute() an aggregation and plot it",
    "boxplot": "compute() an aggregation and plot it",
    "mode": "use apply(lambda group: group.mode())",
    "take": "use nth()",
    "fillna": "use ffill(), bfill() or transform()",
    "corrwith": "use apply()",
}


def refuse(name: str) -> NoReturn:
    """Raise the error of what groups don't have: what pandas' have isn't there, other names are mistakes."""
    if name in _INSTEAD:
        raise NotImplementedError(f"GroupBy.{name} isn't there: {_INSTEAD[name]}")
    raise AttributeError(
        f"GroupBy has no attribute {name!r}; it can aggregate by all, any, count, first, last, max, mean, median, min, "
        "nunique, prod, size, std, sum, var and others, and apply(), transform() and filter()"
    )
