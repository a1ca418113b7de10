"""Pivot tables with margins (what each row, each column, and the whole is when all its values are aggregated) or several levels of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import of_samples, sample
from glassloom.dataframe.at_hand import at_hand
from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.nodes import empty
from glassloom.dataframe.options import is_listed, refused
from glassloom.dataframe.reduce import Length
from glassloom.dataframe.statistics import assembled, reduction_name
from glassloom.dataframe.wrap import wrap


@dataclass(frozen=True)
class Pivot:
    """The arguments of ``pivot_table``: which columns, and one aggregation, or one for each column."""

    values: Any
    rows: tuple[Any, ...]
    columns: tuple[Any, ...]
    aggfunc: Any
    fill_value: Any
    dropna: bool
    margins_name: Any

    @property
    def is_single(self) -> bool:
        """Whether one column is aggregated, and isn't named in the result."""
        return self.values is not None and not is_listed(self.values)

    def names(self, meta: pd.DataFrame) -> list[Any]:
        """Return the columns that are aggregated."""
        keys = (*self.rows, *self.columns)
        others = [name for name in meta.columns if name not in keys]
        names = others if self.values is None else list(self.values) if is_listed(self.values) else [self.values]
        return [name for name in names if name in self.aggfunc] if isinstance(self.aggfunc, dict) else names


def with_margins(frame: Any, table: Any, pivot: Pivot) -> Any:
    """Return a pivot table of a lazy frame with a row and a column for all values.

    Raises
    ------
    NotImplementedError
        If the table has no labels of rows, or values are aggregated by a function of the user's, which needs all of them at once.
    """
    if not pivot.rows:
        raise refused("pivot_table", "margins", True, "give index=; without it the whole is frame[values].agg(aggfunc)")
    if not isinstance(pivot.margins_name, str):
        raise ValueError(f"margins_name argument must be a string, not {pivot.margins_name!r}")
    names = pivot.names(frame.expr.meta)
    keys = [*pivot.rows, *pivot.columns]
    data = frame if pivot.values is None else frame[list(dict.fromkeys([*keys, *names]))]
    data = data.dropna() if pivot.dropna else data
    wholes = [_whole(data[name], _how(pivot.aggfunc, name)).expr for name in names]
    by = [list(one) for one in (pivot.rows, pivot.columns) if one]
    margins = [_grouped(data, one, names, pivot, observed=pivot.dropna).expr for one in by]
    add = _Margins(pivot, tuple(names), len(margins))
    samples = [table.expr.meta, *[one.meta for one in margins]]
    values = [sample(one.meta) for one in wholes]
    meta = of_samples(lambda *some: add(*_with_all_columns(*some), *values), *samples)
    return assembled(add, [table.expr, *margins, *wholes], "pivot-table", empty(meta))


def _how(aggfunc: Any, name: Any) -> Any:
    return aggfunc[name] if isinstance(aggfunc, dict) else aggfunc


def _grouped(data: Any, by: list[Any], names: list[Any], pivot: Pivot, *, observed: bool) -> Any:
    groups = data.groupby(by, observed=observed, dropna=pivot.dropna)
    return groups.agg(pivot.aggfunc) if isinstance(pivot.aggfunc, dict) else groups[names].agg(pivot.aggfunc)


def table_at_hand(frame: Any, pivot: Pivot, *, observed: bool) -> Any:
    """Return a pivot table, lazily, whose columns have several levels: its values are computed now."""
    keys = [*pivot.rows, *pivot.columns]
    require_columns([*keys, *pivot.names(frame.expr.meta)], frame.expr.meta)
    table = _grouped(frame, keys, pivot.names(frame.expr.meta), pivot, observed=observed).compute()
    if pivot.dropna and len(table.columns):
        table = table.dropna(how="all")
    if pivot.rows:
        table = table.unstack(list(range(len(pivot.rows), len(keys))), fill_value=pivot.fill_value)
    if not pivot.dropna:
        table = _with_all_pairs(_with_all_pairs(table.T).T)
    table = table.sort_index(axis=1)
    table = table if pivot.fill_value is None else table.fillna(pivot.fill_value)
    if pivot.is_single and table.columns.nlevels > 1:
        table = table.droplevel(0, axis=1)
    table = table if pivot.rows else table.T
    return at_hand(table.dropna(how="all", axis=1) if pivot.dropna else table)


def _with_all_pairs(table: Any) -> Any:
    """Return a table with a row for each combination of its labels."""
    if not isinstance(table.index, pd.MultiIndex):
        return table
    return table.reindex(pd.MultiIndex.from_product(table.index.levels, names=table.index.names))


def _whole(column: Any, how: Any) -> Any:
    if how is len:
        return wrap(Length(column.expr))
    try:
        name = reduction_name(how)
    except NotImplementedError:
        instead = "with margins=True name an aggregation that a series has, such as 'mean': the margins are of all rows"
        raise refused("pivot_table", "aggfunc", how, instead) from None
    return getattr(column, name)()


@dataclass(frozen=True)
class _Margins:
    """Adds margins to a table: those of its rows, those of its columns, if it has any, and the whole of each column of values."""

    pivot: Pivot
    names: tuple[Any, ...]
    count: int

    def __call__(self, table: Any, *parts: Any) -> Any:
        wholes = dict(zip(self.names, parts[self.count :], strict=True))
        if self.count < 2:
            return self._with_row(table, pd.Series(wholes, dtype=object).reindex(table.columns).infer_objects())
        if self.pivot.is_single:
            table = pd.concat({self.pivot.values: table}, axis=1)
        by_rows, by_columns = parts[:2]
        margins = by_columns.stack()  # noqa: PD013 - pandas' order of levels
        margins.index = margins.index.reorder_levels([by_columns.index.nlevels, *range(by_columns.index.nlevels)])
        pieces = []
        for name, piece in table.T.groupby(level=0, observed=self.pivot.dropna):
            key = (name, self.pivot.margins_name, *[""] * (by_columns.index.nlevels - 1))
            whole = piece.T
            whole[key] = by_rows[name]
            margins[key] = wholes[name]
            pieces.append(whole)
        if not pieces or not len(table):
            return table.droplevel(0, axis=1) if self.pivot.is_single else table
        result = pd.concat(pieces, axis=1)
        made = self._with_row(result, margins.infer_objects().reindex(result.columns, fill_value=self.pivot.fill_value))
        return made.droplevel(0, axis=1) if self.pivot.is_single else made

    def _with_row(self, result: Any, margins: pd.Series) -> Any:
        for labels in map(result.index.get_level_values, range(result.index.nlevels)):
            if self.pivot.margins_name in labels:
                raise ValueError(
                    f'Conflicting name "{self.pivot.margins_name}" in margins; give another one as margins_name='
                )
        levels = result.index.nlevels
        label = self.pivot.margins_name if levels == 1 else (self.pivot.margins_name, *[""] * (levels - 1))
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


def _with_all_columns(table: Any, *margins: Any) -> Any:
    """Return samples of a table and its margins, in which each column has a margin."""
    if len(margins) < 2:
        return table, *margins
    columns = table.columns
    labels = (columns.droplevel(0) if columns.nlevels > margins[1].index.nlevels else columns).unique()
    by_columns = margins[1].iloc[[0] * len(labels)].set_axis(labels, axis=0)
    return table, margins[0].set_axis(table.index, axis=0), by_columns
