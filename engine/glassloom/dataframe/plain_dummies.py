"""`get_dummies` of values that were made categories to know their columns: those have the names that pandas gives values."""

from __future__ import annotations

from typing import Any

import pandas as pd


def plain_dummies(chosen: list[Any], plain: list[Any], block: Any, **options: Any) -> Any:
    """Return pandas' dummies of a block.

    Parameters
    ----------
    chosen
        The names of the columns that are replaced.
    plain
        Those of them that weren't categories.
    block
        A frame, or a series, all of whose chosen columns are categories now.
    options
        Of `pandas.get_dummies`.
    """
    made = pd.get_dummies(block, **options)
    if isinstance(block, pd.Series):
        named = pd.get_dummies(_categories(block, plain, 0), **options).columns
    else:
        length = max(len(block[name].cat.categories) for name in chosen)
        values = pd.DataFrame({name: _categories(block[name], plain, length).reset_index(drop=True) for name in chosen})
        named = pd.get_dummies(values[chosen], **options).columns
    others = made.columns[: len(made.columns) - len(named)]
    return made.set_axis(others.append(named) if len(others) else named, axis=1)


def _categories(series: Any, plain: list[Any], length: int) -> Any:
    """Return each category of a series once, as a value if it was one; missing ones up to a length."""
    categories = series.cat.categories
    values = pd.Series(categories, name=series.name)
    if series.name not in plain:
        values = values.astype(series.dtype)
    padding = max(length - len(values), 0)
    if not padding or not len(values):
        return values
    return pd.concat([values, pd.concat([values.iloc[:1]] * padding)])
