"""`pivot_table`: aggregated values by the labels of rows and columns. Which columns there are depends on the values: they are computed now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import guarded
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.collection import compute
from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.assembled import Assembled, assembled
from glassloom.dataframe.at_hand import at_hand, lazy_rows
from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.margins import Margins, add_margins
from glassloom.dataframe.numbered_levels import level_at, unnamed, without_levels
from glassloom.dataframe.options import is_listed, refused
from glassloom.dataframe.reduce import Length, join_all
from glassloom.dataframe.reduction_names import is_reduction, reduction_name
from glassloom.dataframe.wrap import is_node, wrap
from glassloom.errors import OptionError


class PivotTables(Frame):
    """Methods of frames."""

    def pivot_table(self, values: Any = None, index: Any = None, columns: Any = None, aggfunc: Any = "mean",
                    fill_value: Any = None, margins: bool = False, dropna: bool = True, margins_name: Any = "All",
                    observed: bool = True, sort: bool = True, **kwargs: Any) -> Any:  # fmt: skip
        """Return aggregated values with the labels of some columns as rows, and those of others as columns.

        Which columns there are depends on all values: with `columns` or `margins` the table is computed now. Without them it is
        lazy, what `groupby` makes; there a column stays if all its aggregated values are missing.

        Parameters
        ----------
        values
            The column to aggregate, or a list of them. Default: all that aren't labels.
        index
            The column of the rows' labels, a lazy series, an array or pandas series with a value for each row, a function of the
            index, a `pandas.Grouper`, or a list of those. Without it, the names of `values` are the labels.
        columns
            The same of the columns' labels. Without it there is a column for each of `values`.
        aggfunc
            The name of an aggregation or a function of a group's values, a list of those, or a dict of them by column.
        fill_value
            What to put where there is none.
        dropna
            Whether to leave out labels that are missing, and rows and columns without any value; and for `margins`, rows of the
            data in which a value is missing.
        observed
            Whether to leave out combinations of categories that no row has; with False their number is 0, and so is their sum.
        margins, margins_name
            Whether to add a row and a column of what all values are aggregated to, and what to call them. A function gets all
            values of a column at once.
        sort
            Whether rows and columns are sorted; with False, labels are in order of appearance.
        kwargs
            Further arguments of `aggfunc`.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"day": [1, 1, 2], "what": ["a", "b", "a"], "x": [3, 4, 5]}), npartitions=2)
        >>> frame.pivot_table("x", "day", "what", "sum", fill_value=0).compute().to_dict("list")
        {'a': [3, 5], 'b': [4, 0]}
        """
        if is_node(fill_value):
            raise TypeError(
                "pivot_table: fill_value should be a value that is known, not a lazy one: compute() it before"
            )
        rows, labels = _keys(index, self._meta), _keys(columns, self._meta)
        pivot = Pivot(
            values,
            rows,
            labels,
            aggfunc,
            fill_value,
            bool(dropna),
            margins_name,
            bool(observed),
            sort is True,
            kwargs,
        )
        if not isinstance(aggfunc, list):
            return _table(self, pivot, has_margins=bool(margins))
        parts = [_table(self, replace(pivot, aggfunc=how), has_margins=bool(margins)).expr for how in aggfunc]
        names = [how if isinstance(how, str) else getattr(how, "__name__", repr(how)) for how in aggfunc]
        return assembled(partial(_side_by_side, names), parts, "pivot-table")


@with_function_arguments()
def pivot_table(data: Any, values: Any = None, index: Any = None, columns: Any = None, aggfunc: Any = "mean",
                fill_value: Any = None, margins: bool = False, dropna: bool = True, margins_name: Any = "All",
                observed: bool = True, sort: bool = True, **kwargs: Any) -> Any:  # fmt: skip
    """Return aggregated values, rows by one column and columns by another. See `DataFrame.pivot_table`."""
    data = lazy_rows("pivot_table", data)
    return data.pivot_table(
        values, index, columns, aggfunc, fill_value, margins, dropna, margins_name, observed, sort, **kwargs
    )


@dataclass(frozen=True)
class Pivot:
    """The arguments of ``pivot_table``, with one aggregation, or a dict of them by column."""

    values: Any
    rows: tuple[Any, ...]
    columns: tuple[Any, ...]
    aggfunc: Any
    fill_value: Any
    dropna: bool
    margins_name: Any
    observed: bool
    sort: bool
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def keys(self) -> list[Any]:
        return [*self.rows, *self.columns]

    @property
    def is_single(self) -> bool:
        """Whether one column is aggregated, and isn't named in the result."""
        return self.values is not None and not is_listed(self.values)

    def names(self, meta: pd.DataFrame) -> list[Any]:
        """Return the columns that are aggregated."""
        if self.values is not None:
            names = list(self.values) if is_listed(self.values) else [self.values]
        else:
            keys = [label for label in map(_label, self.keys) if label is not None]
            names = [name for name in meta.columns if name not in keys]
        return [name for name in names if name in self.aggfunc] if isinstance(self.aggfunc, dict) else names

    def require_columns(self, meta: pd.DataFrame) -> None:
        """Check that there are the columns that are named, and something to group by and to aggregate.

        Raises
        ------
        KeyError
            If a column isn't there.
        OptionError
            If there is nothing to group by.
        NotImplementedError
            If there is nothing to aggregate.
        """
        if not self.keys:
            raise OptionError("pivot_table: columns=None and index=None should name a column, one at least")
        listed = [] if self.values is None else list(self.values) if is_listed(self.values) else [self.values]
        named = self.aggfunc if isinstance(self.aggfunc, dict) else []
        require_columns([*[one for one in map(_label, self.keys) if one is not None], *listed, *named], meta)
        if not self.names(meta) and not isinstance(self.aggfunc, dict) and self.aggfunc != "size":
            raise refused(
                "pivot_table", "values", self.values, "all columns are labels; groupby(keys).size() counts rows"
            )


def _keys(by: Any, meta: pd.DataFrame) -> tuple[Any, ...]:
    """Return the keys of rows or columns. A tuple lists several, as in pandas, unless it is a column."""
    if by is None:
        return ()
    if isinstance(by, tuple):
        return (by,) if by in meta.columns else by
    return tuple(by) if is_listed(by) and not _is_no_label(by) else (by,)


def _is_no_label(key: Any) -> bool:
    """Whether a key is a lazy series, an array or pandas object with a value for each row, or a function of labels."""
    is_values = isinstance(key, (np.ndarray, pd.Series, pd.Index, pd.api.extensions.ExtensionArray))
    return is_node(key) or is_values or callable(key)


def _label(key: Any) -> Any:
    """Return the column that a key names; None if it is other values, or the times of the index."""
    return None if _is_no_label(key) else key.key if isinstance(key, pd.Grouper) else key


def _side_by_side(names: list[Any], *tables: Any) -> Any:
    return pd.concat(list(tables), axis=1, keys=names)


def _table(frame: Any, pivot: Pivot, *, has_margins: bool) -> Any:
    pivot.require_columns(frame.expr.meta)
    _require_aggregations(pivot, has_margins=has_margins)
    if has_margins or pivot.columns or not pivot.dropna:
        return at_hand(_computed(frame, pivot, has_margins=has_margins))
    grouped = _grouped(frame, pivot.keys, pivot)
    if isinstance(grouped.expr.meta, pd.Series):
        return grouped
    made = grouped.dropna(how="all") if len(grouped.columns) else grouped
    made = made[list(made.columns.sort_values())] if pivot.sort else made
    if pivot.is_single and made.columns.nlevels > 1:
        made = made.set_axis(without_levels(made.columns, [0]), axis=1)
    return made if pivot.fill_value is None else made.fillna(pivot.fill_value)


def _require_aggregations(pivot: Pivot, *, has_margins: bool) -> None:
    one_by_one = list(pivot.aggfunc.values()) if isinstance(pivot.aggfunc, dict) else [pivot.aggfunc]
    is_nested = isinstance(pivot.aggfunc, dict) and any(map(is_listed, one_by_one))
    every = [how for one in one_by_one for how in (one if is_listed(one) else [one])]
    if not all(isinstance(how, str) or callable(how) for how in every):
        instead = "name an aggregation, such as 'mean', a list of them, or one by column"
        raise refused("pivot_table", "aggfunc", pivot.aggfunc, instead)
    if has_margins and is_nested:
        instead = "with margins=True a column has one aggregation, in pandas too; give a list of them for all columns, or one by column"
        raise refused("pivot_table", "aggfunc", pivot.aggfunc, instead)
    if pivot.aggfunc == "size" and (has_margins or (pivot.is_single and not pivot.columns)):
        instead = "without columns= or with margins pandas has none either; groupby(keys).size() has the sizes, and aggfunc='count' the number of values"
        raise refused("pivot_table", "aggfunc", pivot.aggfunc, instead)
    if has_margins and pivot.columns and any(isinstance(key, pd.Grouper) or _is_no_label(key) for key in pivot.keys):
        instead = "assign() the labels as columns before, as dt.floor() makes them: pandas too has no other ones beside columns="
        raise refused("pivot_table", "margins", True, instead)


def _grouped(frame: Any, by: list[Any], pivot: Pivot, *, observed: bool | None = None) -> Any:
    is_observed = pivot.observed if observed is None else observed
    groups = frame.groupby(by, observed=is_observed, dropna=pivot.dropna, sort=pivot.sort)
    if pivot.aggfunc == "size":
        return groups.size()
    if isinstance(pivot.aggfunc, dict):
        return groups.agg(pivot.aggfunc, **pivot.options)
    return groups[pivot.names(frame.expr.meta)].agg(pivot.aggfunc, **pivot.options)


def _computed(frame: Any, pivot: Pivot, *, has_margins: bool) -> Any:
    """Return a pivot table: its groups, and what its margins are made of, are computed together."""
    wanted: dict[Any, Any] = {"grouped": _grouped(frame, pivot.keys, pivot)}
    if not pivot.sort and len(pivot.keys) > 1:
        wanted["order"] = frame.groupby(pivot.keys, observed=True, sort=False, dropna=False).size()
    margins = _margins(frame, pivot) if has_margins else {}
    wanted |= margins
    found = dict(zip(wanted, compute(*wanted.values()), strict=True))
    table = found["grouped"]
    if "order" in found:
        table = table.set_axis(_in_order_of_appearance(table.index, found["order"].index, dropna=pivot.dropna), axis=0)
    table = _shaped(table, pivot)
    if has_margins:
        wholes = {name: found["whole", name] for name in pivot.names(frame.expr.meta)}
        table = add_margins(
            table,
            Margins(
                found.get("rows"), found.get("columns"), wholes, pivot.margins_name, pivot.fill_value, pivot.dropna
            ),
        )
    return _finished(table, pivot)


def _margins(frame: Any, pivot: Pivot) -> dict[Any, Any]:
    """Return what margins are made of: what is aggregated by rows, by columns, and of whole columns of values."""
    if not isinstance(pivot.margins_name, str):
        raise ValueError(f"margins_name argument must be a string, not {pivot.margins_name!r}")
    names = pivot.names(frame.expr.meta)
    keys = [label for label in map(_label, pivot.keys) if label is not None]
    data = frame if pivot.values is None else frame[list(dict.fromkeys([*keys, *names]))]
    data = data.dropna() if pivot.dropna else data
    by_columns = (
        pivot.columns if pivot.rows else pivot.columns[:1]
    )  # without rows pandas has a margin of the first level
    # pandas sorts margins in any case, and before version 3 leaves missing labels out
    sorted_ = replace(pivot, sort=True, dropna=pivot.dropna or not HAS_COPY_ON_WRITE)
    made: dict[Any, Any] = {
        place: _grouped(data, list(by), sorted_, observed=pivot.dropna)
        for place, by in (("rows", pivot.rows if pivot.columns else ()), ("columns", by_columns))
        if by
    }
    for name in names:
        how = pivot.aggfunc[name] if isinstance(pivot.aggfunc, dict) else pivot.aggfunc
        made["whole", name] = _whole(data[name], how, pivot.options)
    return made


def _whole(column: Any, how: Any, options: dict[str, Any]) -> Any:
    """Return what a whole column is aggregated to."""
    if how is len or how is np.size:
        return wrap(Length(column.expr))
    if callable(how) and (options or not is_reduction(how)):
        call = BlockCall(partial(_called, partial(how, **options)), (Block(0),), label="pivot-table")
        return wrap(Assembled(join_all(column.expr), (), call, 0.0))
    return getattr(column, reduction_name(how))(**options)


def _called(function: Callable[[Any], Any], column: Any) -> Any:
    return function(guarded(column))


def _in_order_of_appearance(groups: pd.MultiIndex, rows: pd.MultiIndex, *, dropna: bool) -> pd.MultiIndex:
    """Return labels of groups whose levels are in the order in which their values come among the rows."""
    values = [level_at(rows, number).unique() for number in range(rows.nlevels)]
    levels: list[Any] = [one.dropna() if dropna else one for one in values]
    codes: list[Any] = [level.get_indexer(level_at(groups, number)) for number, level in enumerate(levels)]
    return pd.MultiIndex(
        levels, codes, names=groups.names, verify_integrity=False
    )  # which would take missing labels out of levels


def _shaped(grouped: Any, pivot: Pivot) -> Any:
    """Return the table of what is grouped by its rows and columns."""
    is_frame = isinstance(grouped, pd.DataFrame)
    table = grouped.dropna(how="all") if pivot.dropna and is_frame and len(grouped.columns) else grouped
    if pivot.rows and pivot.columns:
        table = _unstacked(table, len(pivot.rows), pivot.fill_value)
    if not pivot.dropna:
        for axis in (0, 1)[: table.ndim]:
            labels = table.axes[axis]
            if isinstance(labels, pd.MultiIndex):
                every = pd.MultiIndex.from_product(labels.levels, names=labels.names)
                table = table.reindex(every, axis=axis, fill_value=pivot.fill_value)
    if pivot.sort and table.ndim == 2:
        table = table.sort_index(axis=1)
    if pivot.fill_value is None:
        return table
    table = table.fillna(pivot.fill_value)
    is_counted = pivot.aggfunc is len and not pivot.observed and pd.api.types.is_integer(pivot.fill_value)
    return table.astype("int64") if is_counted else table


def _unstacked(table: Any, depth: int, fill_value: Any) -> Any:
    """Return a table with the levels of its rows from a place on as columns."""
    names, of_columns = list(table.index.names), list(table.columns.names) if table.ndim == 2 else []
    made = table.set_axis(unnamed(table.index), axis=0).unstack(list(range(depth, len(names))), fill_value=fill_value)
    made.index.names, made.columns.names = names[:depth], [*of_columns, *names[depth:]]
    return made


def _finished(table: Any, pivot: Pivot) -> Any:
    if table.ndim == 1:
        return table
    if pivot.is_single and table.columns.nlevels > 1:
        table = table.set_axis(without_levels(table.columns, [0]), axis=1)
    if not pivot.rows:
        table = table.T
    return table.dropna(how="all", axis=1) if pivot.dropna else table
