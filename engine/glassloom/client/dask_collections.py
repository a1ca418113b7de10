"""Which arguments of a client's methods are Dask's, and what runs them: a module that is imported for these only."""

from __future__ import annotations

from typing import Any

from glassloom.distributed.optional import load


def dask_scheduler() -> Any:
    """Return the module that runs graphs of Dask's. It imports Dask, so nothing imports it at the top."""
    return load("dask_scheduler", "a graph of Dask's")


def dask_scheduler_for(value: Any) -> Any:
    """Return the module that runs collections of Dask's if `value` is one, or has some in lists, tuples, sets or dicts; else None."""
    return dask_scheduler() if _is_of_dask(value) else None


def _is_of_dask(value: Any) -> bool:
    kind = type(value)
    if hasattr(kind, "__dask_graph__"):
        return True
    if kind is dict:
        value = value.values()
    elif kind not in (list, tuple, set, frozenset):
        return False
    return any(map(_is_of_dask, value))
