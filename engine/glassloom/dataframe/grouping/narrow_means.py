"""Means of 32-bit floats beside aggregations that need whole groups: since version 3.1 pandas makes 64-bit ones of sorted keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.grouping.spec import Call, NamedCall


def with_narrow_means(
    call: Call | NamedCall, meta: Any, pairs: Sequence[tuple[Any, Any]], known: Any
) -> tuple[Callable[[Any], Any], Any]:
    """Return a call, and its meta, of which means of 32-bit floats have these, whether or not the moved rows happen to be sorted by key.

    Parameters
    ----------
    pairs
        Column and aggregation of each column of the result, of which the last ones are these.
    known
        The meta of what is grouped.
    """
    count = len(pairs)
    places = tuple(
        place - count for place, (column, how) in enumerate(pairs) if how == "mean" and _is_narrow(known, column)
    )
    if not places or call.chain is not None:
        return call, meta
    narrowing = partial(_narrowed, places)
    return replace(call, chain=narrowing), narrowing(meta)


def _is_narrow(known: Any, column: Any) -> bool:
    values = known if isinstance(known, pd.Series) else known[column]
    return all(dtype == np.float32 for dtype in ([values.dtype] if isinstance(values, pd.Series) else values.dtypes))


def _narrowed(places: Sequence[int], made: Any) -> Any:
    if isinstance(made, pd.Series):
        return made.astype("float32") if made.dtype == "float64" else made
    wide = [place for place in places if made.dtypes.iloc[place] == "float64"]
    if wide:
        made = made.copy(deep=False)
    for place in wide:
        made.isetitem(made.shape[1] + place, made.iloc[:, place].astype("float32"))
    return made
