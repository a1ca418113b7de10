"""Futures inside nested lists, tuples, sets and dicts: finding them, and putting results in their places."""

from __future__ import annotations

from typing import Any

from glassloom.client.future import Future
from glassloom.graph import Key


def find_futures(value: Any, found: list[Future]) -> None:
    if isinstance(value, Future):
        found.append(value)
    elif isinstance(value, dict):
        for item in value.values():
            find_futures(item, found)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            find_futures(item, found)
    elif hasattr(value, "__next__"):
        raise TypeError(f"expected futures, got {type(value).__name__}; make a list of it first")


def replace_futures(value: Any, results: dict[Key, Any], errors: str) -> Any:
    if isinstance(value, Future):
        return results[value.key]
    if isinstance(value, dict):
        return {
            name: replace_futures(item, results, errors) for name, item in value.items() if _is_there(item, results)
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return type(value)(replace_futures(item, results, errors) for item in value if _is_there(item, results))
    return value


def _is_there(value: Any, results: dict[Key, Any]) -> bool:
    return not isinstance(value, Future) or value.key in results
