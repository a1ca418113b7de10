"""`sort_values(axis=1)`: columns in order of the values in some rows."""

from __future__ import annotations

from typing import Any

from glassloom.dataframe.column_places import columns_at
from glassloom.dataframe.moving.numbering import renumber
from glassloom.dataframe.wrap import wrap


def sorted_columns(frame: Any, by: Any, ignore_index: bool, options: dict[str, Any]) -> Any:
    """Return a lazy frame whose columns are in order of the values in rows, which are computed now.

    Parameters
    ----------
    by
        The label of a row, or a list of labels.
    ignore_index
        Whether to number the rows, as pandas does here too.
    options
        Others of pandas' `sort_values`.

    Raises
    ------
    KeyError
        If no row has a label.
    ValueError
        If several rows have it.
    """
    labels = by if isinstance(by, list) else [by]
    if named := [label for label in labels if label in frame.columns.names and label is not None]:
        raise NotImplementedError(
            f"sort_values(axis=1) by {named[0]!r}, a level of the columns: sort_index(axis=1, level=...) sorts by it"
        )
    rows = frame.loc[labels].compute()
    numbered = rows.set_axis(range(rows.shape[1]), axis=1)
    order = numbered.sort_values(by=by, axis=1, kind="stable", **options).columns
    node = columns_at(frame.expr, order.tolist())
    return wrap(renumber(node) if ignore_index else node)
