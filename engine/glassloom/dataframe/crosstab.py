"""`crosstab`: how often values of several series occur together, or what is aggregated of others where they do, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from glassloom.dataframe.at_hand import at_hand
from glassloom.dataframe.wrap import is_node

_VALUES = "values"


def crosstab(index: Any, columns: Any, values: Any = None, rownames: Any = None, colnames: Any = None, aggfunc: Any = None,
             margins: bool = False, margins_name: Any = "All", dropna: bool = True, normalize: Any = False) -> Any:  # fmt: skip
    """Return how often each pair of values of two series occurs, as a table. Computes the counts, now.

    Parameters
    ----------
    index, columns
        Lazy series of the same rows, or lists of those.
    values, aggfunc
        A further series, and what its values are aggregated by where pairs occur: the name of an aggregation, or a function of them.
    rownames, colnames
        Lists of what to call rows and columns. Default: the names of the series.
    margins, margins_name, dropna, normalize
        As pandas.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> frame = gd.from_pandas(pd.DataFrame({"k": ["a", "b", "a"], "n": [1, 1, 2]}), npartitions=2)
    >>> gd.crosstab(frame.k, frame.n).compute().to_numpy().tolist()
    [[1, 1], [1, 0]]
    """
    if values is None and aggfunc is not None:
        raise ValueError("crosstab: aggfunc cannot be used without values.")
    if values is not None and aggfunc is None:
        raise ValueError("crosstab: values cannot be used without an aggfunc.")
    rows, labels = _series("index", index), _series("columns", columns)
    names = (_names("rownames", rownames, rows, "row"), _names("colnames", colnames, labels, "col"))
    keys = {f"row{number}": one for number, one in enumerate(rows)}
    keys |= {f"column{number}": one for number, one in enumerate(labels)}
    options = {"margins": margins, "margins_name": margins_name, "dropna": dropna}
    if values is None:
        return at_hand(_counted(keys, names, {**options, "normalize": normalize}))
    frame = _frame({**keys, _VALUES: _series("values", values)[0]})
    by = [list(keys)[: len(rows)], list(keys)[len(rows) :]]
    table = frame.pivot_table(_VALUES, *by, aggfunc, observed=dropna, **options).compute()
    called = [dict(zip(own, wanted, strict=True)) for own, wanted in zip(by, names, strict=True)]
    named = table.rename_axis(index=called[0]).rename_axis(columns=called[1])
    return at_hand(named if normalize is False else _normalized(named, normalize, margins_name if margins else None))


def _counted(keys: dict[str, Any], names: tuple[list[Any], list[Any]], options: dict[str, Any]) -> pd.DataFrame:
    """Return the table of pandas, made of how often each combination of keys occurs."""
    sizes = _frame(keys).groupby(list(keys), observed=True, dropna=options["dropna"]).size().compute()
    counts = sizes.reset_index(name="count")
    columns = [counts[key] for key in keys]
    n_rows = len(names[0])
    made = pd.crosstab(
        columns[:n_rows], columns[n_rows:], counts["count"], aggfunc="sum",
        rownames=names[0], colnames=names[1], **options,
    )  # fmt: skip
    return made if options["normalize"] is not False else made.fillna(0).astype("int64")


def _normalized(table: pd.DataFrame, normalize: Any, total: Any) -> pd.DataFrame:
    """Return a table divided by its sum (`normalize` True or ``"all"``), or each row or column by its own (``"index"``, ``"columns"``).

    `total` is what the last row and column are called, which say what is aggregated of all; None: there are none.
    """
    by = "all" if normalize is True else {0: "index", 1: "columns"}.get(normalize, normalize)
    if by not in ("all", "index", "columns"):
        raise ValueError("Not a valid normalize argument")
    if total is None:
        return _shares(table, by).fillna(0)
    last: Any = table.iloc[-1].name
    if total != (last[0] if isinstance(last, tuple) else last):
        raise ValueError(f"{total} not in pivoted DataFrame")
    made = table.astype("float64")
    made.iloc[:-1, :-1] = _shares(table.iloc[:-1, :-1], by)
    made.iloc[:-1, -1] = table.iloc[:-1, -1] / table.iloc[:-1, -1].sum()
    made.iloc[-1, :-1] = table.iloc[-1, :-1] / table.iloc[-1, :-1].sum()
    made.iloc[-1, -1] = 1
    rows, columns = (slice(None, -1) if by == one else slice(None) for one in ("columns", "index"))
    return made.iloc[rows, columns].fillna(0)


def _shares(table: pd.DataFrame, by: str) -> pd.DataFrame:
    if by == "index":
        return table.div(table.sum(axis=1), axis=0)
    return table / (table.sum() if by == "columns" else table.sum(axis=1).sum(axis=0))


def _frame(series: dict[str, Any]) -> Any:
    """Return a lazy frame of series of the same rows."""
    (name, first), *others = series.items()
    return first.rename(name).to_frame().assign(**dict(others))


def _series(name: str, given: Any) -> list[Any]:
    series = list(given) if isinstance(given, (list, tuple)) else [given]
    for one in series:
        if not is_node(one) or not isinstance(one.expr.meta, pd.Series):
            kind = f"holds a {type(one).__name__}" if isinstance(given, (list, tuple)) else f"is a {type(one).__name__}"
            raise TypeError(f"crosstab takes lazy series; {name}= {kind}")
    if not series:
        raise ValueError(f"crosstab: {name}= is an empty list")
    return series


def _names(what: str, given: Any, series: Sequence[Any], prefix: str) -> list[Any]:
    """Return what to call series: as pandas, those without a name by their number."""
    if given is None:
        return [one.name if one.name is not None else f"{prefix}_{number}" for number, one in enumerate(series)]
    if len(given) != len(series):
        raise AssertionError(f"arrays and names must have the same length: {what}={given!r} names {len(series)} series")
    return list(given)
