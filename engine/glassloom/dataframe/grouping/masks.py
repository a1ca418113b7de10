"""Which rows of groups stay: functions of pandas' groups that return a boolean for each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from glassloom.graph import tokenize


def filter_mask(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], grouped: Any) -> Any:
    """Return which rows are in groups for which a user's function returns True."""
    verdicts: list[bool] = []

    def recorded(group: Any) -> Any:
        verdict = func(group, *args, **kwargs)
        if isinstance(verdict, (pd.DataFrame, pd.Series)):
            verdict = verdict.squeeze()  # as pandas does with that of one column
        verdicts.append(bool(not pd.isna(verdict) and verdict))
        return verdict

    grouped.filter(recorded)
    return np.array([*verdicts, False])[_numbers(grouped)]


def filter_marks(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], grouped: Any) -> Any:
    """Return for each row, as a series, what `filter_mask` does."""
    return pd.Series(filter_mask(func, args, kwargs, grouped), index=grouped.ngroup().index)


def ends_mask(method: str, n: int, grouped: Any) -> Any:
    """Return which rows ``head(n)`` or ``tail(n)`` keep of each group, for negative `n`."""
    place = grouped.cumcount(ascending=method == "tail").to_numpy()
    return (place >= -n) & (_numbers(grouped) >= 0)


def nth_mask(n: tuple[Any, ...], grouped: Any) -> Any:
    """Return which rows are at some places in their group: numbers and slices."""
    forward = grouped.cumcount().to_numpy()
    backward = -1 - grouped.cumcount(ascending=False).to_numpy()
    is_inside = _numbers(grouped) >= 0
    numbers = [one for one in n if not isinstance(one, slice)]
    found = np.isin(forward, numbers) | np.isin(backward, numbers)
    for one in n:
        if isinstance(one, slice):
            found |= _in_slice(one, forward, forward - backward, is_inside)
    return is_inside & found


def sample_mask(n: int | None, frac: float | None, seed: int, grouped: Any) -> Any:
    """Return which rows are drawn of each group, a number `n` or a fraction `frac` of them, each at most once.

    Raises
    ------
    ValueError
        If a group has fewer than `n` rows.
    """
    numbers = _numbers(grouped)
    sizes = np.bincount(numbers[numbers >= 0], minlength=1)
    if n is not None and (sizes[sizes > 0] < n).any():
        raise ValueError(
            f"groupby.sample(n={n}): a group has {sizes[sizes > 0].min()} rows; give frac=, or n= of the smallest group"
        )
    counts = np.full(len(sizes), n) if n is not None else np.round(sizes * (frac or 0.0)).astype(np.intp)
    first = next(iter(grouped), (None,))[0]  # partitions have different groups, and shall have different numbers
    random = np.random.default_rng([seed, int(tokenize(str(first))[:8], 16)])
    order = np.lexsort([random.random(len(numbers)), numbers])
    inside = order[(numbers < 0).sum() :]
    places = np.arange(len(inside)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    drawn = np.zeros(len(numbers), bool)
    drawn[inside[places < np.repeat(counts, sizes)]] = True
    return drawn


def _in_slice(chosen: slice, places: Any, lengths: Any, is_inside: Any) -> Any:
    found = np.zeros(len(places), bool)
    for length in np.unique(lengths[is_inside]):
        numbers = np.arange(int(length))[chosen]
        found |= is_inside & (lengths == length) & np.isin(places, numbers)
    return found


def _numbers(grouped: Any) -> Any:
    """Return the number of each row's group, -1 for none."""
    return grouped.ngroup().fillna(-1).to_numpy().astype(np.intp)
