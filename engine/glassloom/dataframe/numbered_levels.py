"""Levels of an index by their number. Where a level has that number as its name, pandas takes that one: here the place alone counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd


def level_at(index: Any, number: int) -> Any:
    """Return the labels of the level at a place, under its name."""
    number %= index.nlevels
    if not isinstance(index, pd.MultiIndex) or number not in index.names:
        return index.get_level_values(number)
    return unnamed(index).get_level_values(number).rename(index.names[number])


def without_levels(index: Any, numbers: Sequence[int]) -> Any:
    """Return an index without the levels at some places."""
    kept = [name for number, name in enumerate(index.names) if number not in numbers]
    return unnamed(index).droplevel(list(numbers)).set_names(kept)


def rows_without_levels(rows: Any, numbers: Sequence[int]) -> Any:
    """Return a frame or series whose index lacks the levels at some places."""
    return rows.set_axis(without_levels(rows.index, numbers), axis=0)


def with_level(index: pd.MultiIndex, number: int, values: Any) -> pd.MultiIndex:
    """Return an index with other distinct values of the level at a place."""
    levels: list[Any] = [values if place == number else level for place, level in enumerate(index.levels)]
    return index.set_levels(levels, verify_integrity=False)


def unnamed(index: Any) -> Any:
    """Return an index whose levels have no names, so that numbers are places in all methods of pandas."""
    return index.set_names([None] * index.nlevels)
