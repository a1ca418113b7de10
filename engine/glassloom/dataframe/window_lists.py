"""`agg` of windows over all rows up to each one: each aggregation by its name, side by side under pandas' labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from glassloom.dataframe.by_name import with_own_arguments
from glassloom.dataframe.columnwise import require_distinct_names
from glassloom.dataframe.grouping.spec import known_functions
from glassloom.dataframe.nodes import Rowwise
from glassloom.dataframe.wrap import operate


def aggregated_by_name(
    windows: Any, frame: Any, func: Any, names: Sequence[str], what: str, options: dict[str, Any]
) -> Any:
    """Return what windows make by one name, a list of names, or a dict of those by column.

    Parameters
    ----------
    windows
        They have a method of each name, and ``windows[column]`` those of a column.
    frame
        The lazy frame or series that they are over.
    func
        What is asked for.
    names
        The methods that there are.
    what
        The windows' name in errors.
    options
        Further arguments of each method.

    Raises
    ------
    NotImplementedError
        If something else is asked for.
    """
    func, options = with_own_arguments(func, options)
    is_frame = isinstance(frame.expr.meta, pd.DataFrame)
    if isinstance(func, Mapping) and is_frame:
        many = {column: _listed(one, names, what) for column, one in func.items()}
    elif isinstance(func, Mapping):
        raise NotImplementedError(f"{what}.agg({func!r}) of a series: give a list of names")
    else:
        found = _listed(func, names, what)
        if not isinstance(func, (list, tuple)):
            return getattr(windows, found[0])(**options)
        if not is_frame:
            return _beside([getattr(windows, one)(**options) for one in found], pd.Index(found))
        many = dict.fromkeys(frame.columns, found)
    pairs = [(column, one) for column, listed in many.items() for one in listed]
    parts = [getattr(windows[column], one)(**options) for column, one in pairs]
    is_flat = isinstance(func, Mapping) and not any(isinstance(one, (list, tuple)) for one in func.values())
    return _beside(parts, pd.Index([column for column, _ in pairs]) if is_flat else pd.MultiIndex.from_tuples(pairs))


def _listed(func: Any, names: Sequence[str], what: str) -> list[str]:
    listed = list(func) if isinstance(func, (list, tuple)) else [func]
    found = [one if isinstance(one, str) else known_functions(one) for one in listed]
    for one in found:
        if not isinstance(one, str) or one not in names:
            raise NotImplementedError(f"{what}.agg() of {one!r} isn't supported; it takes {', '.join(names)} by name")
    require_distinct_names(f"{what}.agg", found)
    return found


def _beside(parts: Sequence[Any], columns: pd.Index) -> Any:
    return operate(_columns_of, columns, *parts, kind=Rowwise, label="agg")


def _columns_of(columns: pd.Index, *parts: Any) -> Any:
    made = pd.DataFrame(dict(enumerate(part.array for part in parts)), index=parts[0].index)
    return made.set_axis(columns, axis=1)
