"""Methods that look at nothing but the values of each group: rows are grouped by numbers, and pandas' own way from keys to groups isn't taken.

Of several partitions only the values move, with the number of each row's group among all groups, whose labels are known before: keys
are encoded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from glassloom.dataframe.grouping.encode import encode
from glassloom.dataframe.grouping.recipe import Recipe
from glassloom.dataframe.grouping.spec import Call
from glassloom.dataframe.grouping.tree import index_of

_OF_NUMBERS = frozenset(["kurt", "median", "skew"])
"""Methods that give a row for each group and look at nothing but the values."""


def is_of_numbers(recipe: Recipe, call: Callable[..., Any], keys: Sequence[Any], *, is_series: bool) -> bool:
    """Whether groups may be numbered for a call, by `keys`, or empty series like them: pandas would give the same."""
    if not (type(call) is Call and call.method in _OF_NUMBERS and call.chain is None):
        return False
    if not (recipe.sort and recipe.as_index and (is_series or recipe.selection is not None)):
        return False
    return not any(isinstance(key.dtype, pd.CategoricalDtype) for key in keys)


def by_numbers(recipe: Recipe, call: Callable[..., Any], block: Any, blocks: Sequence[Any]) -> Any:
    """Return what a call makes of the groups of all rows; None if it could be something else than pandas'."""
    keys = recipe.key_values(block, blocks)
    if not len(block) or not is_of_numbers(recipe, call, keys, is_series=isinstance(block, pd.Series)):
        return None
    groups = encode(keys, dropna=recipe.dropna, order="sorted", arrow=recipe.arrow)
    index = index_of([key.name for key in recipe.keys], groups)
    return _called(call, _values(recipe, block), groups.codes, index)


def with_numbers(recipe: Recipe, block: Any, numbers: Any) -> Any:
    """Return the values of rows as a frame with numbered columns, of which the last is the number of each row's group."""
    values = _values(recipe, block)
    frame = values.to_frame() if isinstance(values, pd.Series) else values
    frame = frame.set_axis(range(frame.shape[1]), axis=1)
    frame[frame.shape[1]] = numbers
    return frame


def of_numbered(recipe: Recipe, call: Callable[..., Any], like: Any, meta: Any, frame: Any, sizes: Any) -> Any:
    """Return what a call makes of whole groups.

    Parameters
    ----------
    recipe
        How the rows were grouped.
    call
        Gets pandas' groups.
    like
        An empty object like the rows that were grouped.
    meta
        An empty object like the result.
    frame
        What `with_numbers` made of rows: all those of groups that follow each other.
    sizes
        The number of rows of each of all groups.
    """
    if not len(frame):
        return meta.set_axis(sizes.index[:0])
    numbers = frame.iloc[:, -1].to_numpy()
    first, last = int(numbers.min()), int(numbers.max())
    like = _values(recipe, like)
    values = (
        frame[0].rename(like.name) if isinstance(like, pd.Series) else frame.iloc[:, :-1].set_axis(like.columns, axis=1)
    )
    return _called(call, values, numbers - first, sizes.index[first : last + 1])


def _values(recipe: Recipe, block: Any) -> Any:
    return block if isinstance(block, pd.Series) else block[recipe.selection]


def _called(call: Callable[..., Any], values: Any, numbers: Any, index: pd.Index) -> Any:
    groups: Any = pd.Categorical.from_codes(numbers, categories=pd.RangeIndex(len(index)), validate=False)
    return call(values.reset_index(drop=True).groupby(groups, observed=False)).set_axis(index)
