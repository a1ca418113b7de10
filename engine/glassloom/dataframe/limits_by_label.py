"""`clip` by series of other rows, which are aligned by label: they become columns beside the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.divisions import has_no_rows
from glassloom.dataframe.options import refused
from glassloom.dataframe.wrap import is_node

_LIMIT = "__limit-"
"""How columns of limits are named."""


def limits_of_rows(lower: Any, upper: Any) -> dict[str, Any]:
    """Return those of the limits that are lazy series."""
    limits = {"lower": lower, "upper": upper}
    return {
        name: limit
        for name, limit in limits.items()
        if is_node(limit) and limit.expr.has_rows and isinstance(limit.expr.meta, pd.Series)
    }


def takes_limits(frame: Any, axis: Any) -> bool:
    """Whether series of limits are laid along the rows, and can be columns beside the values."""
    meta = frame.expr.meta
    return isinstance(meta, pd.Series) or (
        axis in (0, "index") and meta.columns.nlevels == 1 and meta.columns.is_unique
    )


def clipped_by_label(frame: Any, limits: dict[str, Any], options: dict[str, Any]) -> Any:
    """Return the values clipped by limits. Where a limit lacks the label of a row, they are missing, as in pandas.

    Limits that are all missing are none.

    Parameters
    ----------
    limits
        The lazy series among the limits, by the names of the options.
    options
        The arguments of `clip`.

    Raises
    ------
    NotImplementedError
        If limits or values are neither plain numbers nor times: pandas compares some of them otherwise.
    """
    meta = frame.expr.meta
    are_plain = all(map(_is_plain, [meta.dtype] if isinstance(meta, pd.Series) else meta.dtypes))
    for name, limit in limits.items():
        if not (are_plain and _is_plain(limit.dtype)):
            raise refused(
                "clip",
                name,
                limit,
                "it has other rows, which is for limits and values that are numbers or times of NumPy: convert them by astype(), or "
                "assign() it as a column of the same frame before",
            )
    is_series = isinstance(meta, pd.Series)
    lazy: Any = frame.to_frame("values") if is_series else frame
    columns, along = list(lazy.columns), {} if is_series else {"axis": 0}
    used = {name: limit for name, limit in limits.items() if not has_no_rows(limit.expr)}
    if has_no_rows(frame.expr):  # which gets none
        used = {}
    for name, limit in used.items():
        known = limit.fillna(-np.inf if name == "lower" else np.inf) if limit.dtype.kind == "f" else limit
        lazy = lazy.assign(**{f"{_LIMIT}{name}": limit, f"{_LIMIT}{name}-known": known})
    made = own = lazy["values"].rename(meta.name) if is_series else lazy[columns]
    for name in ("lower", "upper"):
        if name not in limits:
            made = made.clip(**{name: options[name], "axis": options["axis"]})
        if name not in used:
            continue
        limit, known = lazy[f"{_LIMIT}{name}"], lazy[f"{_LIMIT}{name}-known"]
        is_within = (
            own.ge(known, **along) if name == "lower" else own.le(known, **along)
        )  # as pandas asks, of the values before
        made = made.where(is_within | made.isna() | used[name].isna().all(), limit, **along)
    return made


def _is_plain(dtype: Any) -> bool:
    return isinstance(dtype, (np.dtype, pd.DatetimeTZDtype)) and dtype.kind in "iufmM"
