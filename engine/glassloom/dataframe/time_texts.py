"""Texts that become times: those of all partitions by one format, that of the first value, as pandas guesses it.

Each partition's own first value could have days and months change places, and make times of what pandas calls an error.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from glassloom.dataframe.io.date_formats import format_of, known_texts
from glassloom.dataframe.nodes import SomeRows
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import operate, wrap
from glassloom.expr import Blockwise, walk

_ISO = "2000-01-02"


def times_of_texts(texts: Any, kwargs: dict[str, Any]) -> Any:
    """Return lazy texts as times. The first value is looked for now if no rows had to move or come together before, and lazily else.

    Parameters
    ----------
    kwargs
        Those of `pandas.to_datetime`, without `format`.
    """
    first: Any
    if all(isinstance(node, Blockwise) for node in walk([texts.expr])):
        series = texts.to_series() if isinstance(texts.expr.meta, pd.Index) else texts
        found = operate(known_texts, series, kind=SomeRows, label="known-texts").head(1)
        first = found.iloc[0] if len(found) else None
    else:
        first = wrap(tree(texts.expr, Operation(_first_known, _first_of, _first_of), _ISO, "first-value"))
    return operate(_like_first, texts, first, kwargs=kwargs, label="to-datetime")


def _first_known(block: Any) -> Any:
    known = known_texts(block)
    return (known if isinstance(known, pd.Index) else known.array)[0] if len(known) else None


def _first_of(found: list[Any]) -> Any:
    return next((one for one in found if one is not None), None)


def _like_first(block: Any, first: Any, **kwargs: Any) -> Any:
    """Return times by the format of the first value of all; of missing ones alone of the dtype that this one makes."""
    options = kwargs
    if isinstance(first, str):
        options = {**kwargs, "format": format_of(pd.Series([first]), dayfirst=bool(kwargs.get("dayfirst")))}
    made = pd.to_datetime(block, **options)
    like = _dtype_of(first, options)
    if made.dtype == like or (first is None and len(block)):
        return made
    if made.isna().all():
        missing = pd.DatetimeIndex([pd.NaT] * len(block), dtype=like, name=block.name)
        return missing if isinstance(block, pd.Index) else pd.Series(missing, index=block.index, name=block.name)
    if getattr(made.dtype, "tz", None) != getattr(like, "tz", None):
        raise ValueError(
            f"to_datetime: Mixed timezones detected: {made.dtype} beside {like}, which the first value {first!r} makes. Pass utc=True"
        )
    return made


def _dtype_of(first: Any, options: dict[str, Any]) -> Any:
    usual = pd.to_datetime(pd.Series([_ISO]), utc=bool(options.get("utc"))).dtype
    if first is None:
        return usual
    try:
        made = pd.to_datetime(pd.Series([first]), **options)
    except (TypeError, ValueError, OverflowError):  # as computing all will say
        return usual
    return made.dtype if made.notna().all() else usual
