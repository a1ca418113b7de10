"""Margins of pivot tables that are computed: what each row, each column, and the whole is when all its values are aggregated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.numbered_levels import level_at, unnamed, without_levels


@dataclass(frozen=True)
class Margins:
    """What margins are made of, and how they are added.

    Parameters
    ----------
    by_rows, by_columns
        What values are aggregated to by the labels of rows and of columns; None: the table has none, or no margins of them.
    wholes
        What all values of each column are aggregated to.
    name
        What to call the margins.
    fill_value
        What stands where there is none.
    observed
        Whether names that are categories are left out if the table hasn't them.
    """

    by_rows: Any
    by_columns: Any
    wholes: dict[Any, Any]
    name: str
    fill_value: Any
    observed: bool


def add_margins(table: Any, margins: Margins) -> Any:
    """Return a table of a column for each aggregated column and label of columns, with margins.

    Raises
    ------
    ValueError
        If a label is called as the margins are.
    """
    for labels in (table.index, *([without_levels(table.columns, [0])] if table.columns.nlevels > 1 else [])):
        _require_other_labels(labels, margins.name)
    if margins.by_columns is None:
        row = pd.Series(margins.wholes, dtype=object).reindex(table.columns).infer_objects()
        return _with_row(table, row, margins.name)
    if margins.by_rows is None:
        return _with_rows_between(table, margins)
    by_columns = margins.by_columns.stack()  # noqa: PD013 - pandas' order of levels
    by_columns.index = unnamed(by_columns.index).reorder_levels(
        [by_columns.index.nlevels - 1, *range(by_columns.index.nlevels - 1)]
    )
    pieces = []
    for name, piece in table.T.groupby(level_at(table.columns, 0), observed=margins.observed):
        key = (name, margins.name, *[""] * (table.columns.nlevels - 2))
        whole = piece.T
        whole[key] = margins.by_rows[name]
        by_columns[key] = margins.wholes[name]
        pieces.append(whole)
    if not pieces:
        return table
    result = pd.concat(pieces, axis=1)
    row = by_columns.infer_objects().reindex(result.columns, fill_value=margins.fill_value)
    return _with_row(result, row, margins.name)


def _with_rows_between(table: Any, margins: Margins) -> Any:
    """Return a table without labels of rows, turned: after the rows of each first label comes a row of what they are together."""
    pieces = []
    for label, piece in table.groupby(level_at(table.index, 0), observed=margins.observed):
        row = margins.by_columns.T[label].to_frame().T
        levels = table.index.nlevels
        if levels > 1:
            row.index = pd.MultiIndex.from_tuples(
                [(label, margins.name, *[""] * (levels - 1))], names=[*table.index.names, None]
            )
        else:
            row.index = pd.Index([margins.name], name=table.index.name)
        pieces += [piece, row]
    return pd.concat(pieces) if pieces else table


def _require_other_labels(labels: pd.Index, name: str) -> None:
    for number in range(labels.nlevels):
        if name in level_at(labels, number):
            raise ValueError(f'Conflicting name "{name}" in margins; give another one as margins_name=')


def _with_row(result: Any, margins: pd.Series, name: str) -> Any:
    levels = result.index.nlevels
    label = name if levels == 1 else (name, *[""] * (levels - 1))
    row = pd.DataFrame(margins, columns=pd.Index([label])).T
    columns = [_as_exact(row.iloc[:, place], dtype) for place, dtype in enumerate(result.dtypes)]
    row = pd.DataFrame(dict(enumerate(columns)), index=row.index).set_axis(result.columns, axis=1)
    names = result.index.names
    made = pd.concat([result, row])
    made.index.names = names
    return made


def _as_exact(values: Any, dtype: Any) -> Any:
    """Return values as a dtype that holds all of them, if it does."""
    if values.dtype == dtype or pd.api.types.is_object_dtype(dtype):
        return values
    if pd.api.types.is_object_dtype(values.dtype) or not isinstance(dtype, np.dtype):
        return values.astype(dtype)
    if dtype.kind == "f":
        return values.astype(dtype) if values.dtype.kind in "iuf" else values
    if dtype.kind in "iu" and values.dtype.kind == "f" and not values.isna().any():
        made = values.astype(dtype)
        return made if (made == values).all() else values
    return values
