"""Categories of made-up rows: where those of a frame aren't known, what an operation makes of made-up ones says nothing of them."""

from __future__ import annotations

from typing import Any, TypeGuard

import pandas as pd

_MARK = "categories that aren't known"
MADE_UP = pd.Index(["a", "b"], name=_MARK)
"""The categories of made-up rows where none are known. Their name, which they keep in what is made of them, tells them from others."""


def with_unknown_categories(made: Any) -> Any:
    """Return an object without rows whose made-up categories are unknown again.

    >>> made = pd.Series([], dtype=pd.CategoricalDtype(MADE_UP))
    >>> made.cat.categories.tolist(), with_unknown_categories(made).cat.categories.tolist()
    (['a', 'b'], [])
    """
    if isinstance(made, pd.Index):
        return _labels(made)
    if isinstance(made, (pd.DataFrame, pd.Series)) and any(map(_is_made_up, _dtypes(made.index))):
        made = made.set_axis(_labels(made.index), axis=0)
    if isinstance(made, pd.Series):
        return made.astype(_unknown(made.dtype)) if _is_made_up(made.dtype) else made
    places = [place for place, dtype in enumerate(getattr(made, "dtypes", ())) if _is_made_up(dtype)]
    if places:
        made = made.copy(deep=False)
        for place in places:
            made.isetitem(place, made.iloc[:, place].astype(_unknown(made.dtypes.iloc[place])))
    return made


def with_categories_as_made_up(block: Any, meta: Any) -> Any:
    """Return rows whose categories, where the meta knows none, are marked: `with_unknown_categories` makes them unknown in what is made of them."""
    if isinstance(block, pd.Series):
        return _marked(block) if _are_unknown(meta.dtype) else block
    if isinstance(block, pd.DataFrame):
        for place, dtype in enumerate(meta.dtypes):
            if _are_unknown(dtype):
                block.isetitem(place, _marked(block.iloc[:, place]))
    return block


def _are_unknown(dtype: Any) -> bool:
    return isinstance(dtype, pd.CategoricalDtype) and not len(dtype.categories)


def _marked(column: pd.Series) -> Any:
    categories = column.cat.categories.rename(_MARK)
    made = pd.Categorical.from_codes(column.cat.codes, categories=categories, ordered=column.cat.ordered)
    return pd.Series(made, index=column.index, name=column.name)


def _dtypes(labels: Any) -> list[Any]:
    return [level.dtype for level in labels.levels] if isinstance(labels, pd.MultiIndex) else [labels.dtype]


def _labels(labels: Any) -> Any:
    if not any(map(_is_made_up, _dtypes(labels))):
        return labels
    if not isinstance(labels, pd.MultiIndex):
        return labels.astype(_unknown(labels.dtype))
    levels: list[Any] = [level[:0] for level in labels.levels]
    levels = [level.astype(_unknown(level.dtype)) if _is_made_up(level.dtype) else level for level in levels]
    return pd.MultiIndex.from_arrays(levels, names=labels.names)


def _is_made_up(dtype: Any) -> TypeGuard[pd.CategoricalDtype]:
    return isinstance(dtype, pd.CategoricalDtype) and dtype.categories.name == _MARK


def _unknown(dtype: pd.CategoricalDtype) -> pd.CategoricalDtype:
    return pd.CategoricalDtype(pd.Index([], dtype=object), ordered=dtype.ordered)
