"""`DataFrame`: lazy columns side by side."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, KeysView, Sequence, ValuesView
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.array.api.array import Array
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.arguments import with_arguments
from glassloom.dataframe.at_hand import FrameAtHand
from glassloom.dataframe.chosen_columns import selected
from glassloom.dataframe.column_at_hand import (
    is_column,
    is_lazy_mask,
    rows_by_lazy_array,
    with_column_at_hand,
)
from glassloom.dataframe.column_expressions import evaluated
from glassloom.dataframe.column_nodes import renamed_columns
from glassloom.dataframe.column_places import columns_at, columns_of_levels, places_chosen, places_without
from glassloom.dataframe.columns import require_columns, unknown_columns
from glassloom.dataframe.columnwise import applied_by_several, applied_to_columns, called_by_name, listed
from glassloom.dataframe.divisions import has_no_rows
from glassloom.dataframe.dropping import dropped_rows
from glassloom.dataframe.expressions import rows_where, value_of
from glassloom.dataframe.for_each import call_user
from glassloom.dataframe.grouping.bins import only_bins, resampled
from glassloom.dataframe.grouping.groupby import GroupBy
from glassloom.dataframe.io.from_pandas import from_pandas
from glassloom.dataframe.io.in_memory import Constructors
from glassloom.dataframe.io.writers import FrameWriters
from glassloom.dataframe.keys_at_hand import key_at_hand
from glassloom.dataframe.keys_of_rows import with_keys_of_its_rows
from glassloom.dataframe.lazy_closures import of_samples_at_hand
from glassloom.dataframe.levels import FrameLevels
from glassloom.dataframe.measuring import FrameMeasuring
from glassloom.dataframe.moving.among_all import FrameAmongAll
from glassloom.dataframe.moving.joins import Joins
from glassloom.dataframe.moving.methods import MovingFrame
from glassloom.dataframe.moving.values_by_label import with_rows_of
from glassloom.dataframe.moving.with_other import WithOther
from glassloom.dataframe.nodes import Assign, Filter, FrameExpr, Projection
from glassloom.dataframe.options import is_columns, is_of_positions, refused, require_one_mapper
from glassloom.dataframe.pivot_tables import PivotTables
from glassloom.dataframe.pivoting import Pivoting
from glassloom.dataframe.reduce import Length
from glassloom.dataframe.renamed_labels import with_renamed_labels
from glassloom.dataframe.repeated_labels import filtered, paired
from glassloom.dataframe.reshape import Reshaping
from glassloom.dataframe.rowwise import FrameRowByRow
from glassloom.dataframe.series import Series
from glassloom.dataframe.setting import Setting
from glassloom.dataframe.setting_rows import condition_at_hand, is_mask
from glassloom.dataframe.statistics import FrameStatistics
from glassloom.dataframe.support import did_you_mean, not_supported
from glassloom.dataframe.text import frame_html, frame_text
from glassloom.dataframe.unlike_dtypes import of_all_rows
from glassloom.dataframe.values import Reductions
from glassloom.dataframe.wrap import is_node, lazy_value, operate, wrap, wraps
from glassloom.reprs.live_blocks import show_blocks


@wraps("frame")
@with_arguments("DataFrame")
class DataFrame(
    MovingFrame,
    Joins,
    FrameAmongAll,
    WithOther,
    FrameLevels,
    FrameRowByRow,
    FrameStatistics,
    FrameMeasuring,
    FrameAtHand,
    Reshaping,
    PivotTables,
    Pivoting,
    Setting,
    Reductions,
    FrameWriters,
    Constructors,
):
    """A lazy pandas DataFrame, cut into partitions.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> frame = gd.from_pandas(pd.DataFrame({"k": ["a", "b", "a"], "x": [1, 2, 3]}), npartitions=2)
    >>> frame[frame.x > 1].groupby("k").x.sum().compute().to_dict()
    {'a': 3, 'b': 2}
    """

    def __repr__(self) -> str:
        return frame_text(self)

    def _repr_html_(self) -> str:
        return frame_html(self)

    def _ipython_display_(self) -> None:
        show_blocks(self, frame_html)

    @property
    def name(self) -> Any:
        """The column called ``name``, if there is one. The name of the expression is ``frame.expr.name``."""
        if "name" not in self._meta.columns:
            raise AttributeError("DataFrame has no attribute 'name'")
        return self["name"]

    @property
    def _expr(self) -> Any:
        """The node. If the index of the columns that was given out has another name since, the frame has it too."""
        node, columns = self.__dict__["_expr"], self.__dict__.get("_columns")
        if columns is not None and columns.names != node.meta.columns.names:
            node = self.__dict__["_expr"] = renamed_columns(node, columns.copy())
        return node

    @_expr.setter
    def _expr(self, node: Any) -> None:
        self.__dict__["_expr"] = node
        self.__dict__.pop("_columns", None)

    @property
    def columns(self) -> pd.Index:
        """The names of the columns. Setting them, or the name that they have together, changes this frame alone."""
        columns = self._expr.meta.columns
        return self.__dict__.setdefault("_columns", columns.copy())

    @columns.setter
    def columns(self, names: Any) -> None:
        self._expr = renamed_columns(self._expr, names)

    @property
    def dtypes(self) -> pd.Series:
        """The dtype of each column."""
        return self._meta.dtypes

    @property
    def shape(self) -> tuple[Any, int]:
        """The number of rows, lazily, and the number of columns."""
        return (wrap(Length(self._expr)), len(self._meta.columns))

    def __dir__(self) -> list[str]:
        return [
            *super().__dir__(),
            *(name for name in self._meta.columns if isinstance(name, str) and name.isidentifier()),
        ]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._meta.columns)

    def __contains__(self, name: object) -> bool:
        return name in self._expr.meta.columns

    def _ipython_key_completions_(self) -> list[Any]:
        return list(self._expr.meta.columns)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_expr":
            raise AttributeError(name)
        if name in self._expr.meta.columns:
            return self[name]
        error = not_supported("DataFrame", name)
        if error is not None:
            raise error
        hint = f" ({unknown_columns([name], self._expr.meta.columns)})" if not name.startswith("_") else ""
        raise AttributeError(f"DataFrame has no attribute {name!r}{did_you_mean(name, self)}{hint}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "_expr" and name in self._expr.meta.columns and (name == "name" or not hasattr(type(self), name)):
            self[name] = value
        else:
            super().__setattr__(name, value)

    def __getitem__(self, key: Any) -> Any:
        key = evaluated(key, self)
        key = list(key) if isinstance(key, (Iterator, KeysView, ValuesView)) else key_at_hand(key)
        if isinstance(key, (DataFrame, pd.DataFrame)):
            return self.where(key)
        if is_node(key):
            return wrap(filtered(self._expr, key.expr, "frame[condition]"))
        if isinstance(key, slice):
            return self.iloc[key] if is_of_positions(key, self._meta.index) else self.loc[key]
        if is_lazy_mask(key):
            return wrap(rows_by_lazy_array(self, key))
        if is_mask(key):
            return wrap(Filter(self._expr, condition_at_hand(self, key).expr))
        if self._meta.columns.nlevels > 1:
            return wrap(columns_of_levels(self._expr, key))
        if isinstance(key, (list, pd.Index)):
            require_columns(key, self._expr.meta)
            return wrap(Projection(self._expr, list(key)))
        require_columns([key], self._expr.meta)
        return wrap(Projection(self._expr, key))

    def assign(self, **columns: Any) -> Any:
        """Return the frame with columns added or replaced: by lazy series of its rows, constants, or functions of it.

        Examples
        --------
        >>> import glassloom.dataframe as gd
        >>> frame = gd.datasets.timeseries()
        >>> list(frame.assign(z=frame.x + frame.y, one=1).columns)
        ['id', 'name', 'x', 'y', 'z', 'one']
        """
        frame = self
        for name, value in columns.items():
            frame = wrap(frame._assigned({name: evaluated(value, frame)}))
        return frame

    def _assigned(self, columns: dict[Any, Any]) -> Any:
        values = []
        columns = {name: lazy_value(_plain_value(one)) for name, one in columns.items()}
        for name, value in columns.items():
            if is_node(value):
                values.append(value.expr)
            elif pd.api.types.is_scalar(value):
                values.append(value)
            elif is_column(value):
                return self._assigned_at_hand(columns)
            else:
                raise TypeError(
                    f"column {name!r} can be assigned a lazy series of the same rows, an array or list of as many values, "
                    f"a pandas series or a constant, not a {type(value).__name__}"
                )
        node = _with_columns(self._expr, tuple(columns), values)
        _ = node.meta  # what pandas objects to is raised here
        return node

    def _assigned_at_hand(self, columns: dict[Any, Any]) -> Any:
        """Return the node with columns added of which some are of values at hand."""
        frame: Any = self
        for name, value in columns.items():
            if is_column(value) and not isinstance(value, Array) and len(value) and has_no_rows(frame.expr):
                series = value if isinstance(value, pd.Series) else pd.Series(value)
                value = from_pandas(series, npartitions=1, sort=False)  # whose rows the frame gets
            frame = wrap(
                with_column_at_hand(frame, name, value) if is_column(value) else frame._assigned({name: value})
            )
        return frame.expr

    def rename(
        self,
        mapper: Any = None,
        *,
        index: Any = None,
        columns: Any = None,
        axis: Any = None,
        inplace: bool = False,
        level: Any = None,
        errors: Any = "ignore",
    ) -> Any:
        """Return the frame with columns renamed, or labels of rows: by a dict or function.

        Parameters
        ----------
        mapper, axis
            What renames, and what: ``axis=1`` or ``"columns"`` the columns, otherwise the labels.
        index, columns
            What renames labels, and columns.
        errors
            For columns: ``"raise"`` if one isn't there.
        """
        require_one_mapper(mapper, index, columns, axis)
        if level is not None:
            raise refused("rename", "level", level, "divisions are of one level")
        if mapper is not None:
            index, columns = (index, mapper) if is_columns(axis or 0, "rename") else (mapper, columns)
        if index is not None and errors != "ignore":
            raise refused("rename", "errors", errors, "a label may be in any partition")
        if callable(index):
            of_samples_at_hand(lambda some: some.rename(index=index), self._meta, who="rename", users=index)
        made = self
        if columns is not None:
            names = self._meta.rename(columns=columns, errors=errors).columns
            made = wrap(renamed_columns(self._expr, names, "rename"))
        return made if index is None else wrap(with_renamed_labels(made, index))

    def drop(
        self,
        labels: Any = None,
        *,
        axis: Any = 0,
        index: Any = None,
        columns: Any = None,
        level: Any = None,
        inplace: bool = False,
        errors: str = "raise",
    ) -> Any:
        """Return the frame without some columns, or without the rows of some labels.

        Parameters
        ----------
        labels, axis
            What to drop, and which: ``axis=1`` or ``"columns"`` columns, otherwise rows.
        index, columns
            Labels of rows, and columns. Rows: also a lazy index or series of labels, such as ``frame[condition].index``, whose
            distinct labels are brought together in one block.
        level
            The level of the `MultiIndex` that has the labels.
        errors
            ``"ignore"`` if what isn't there is no error. Otherwise all partitions that may have a label are looked at before
            any row is returned: those that the known divisions say, or all.

        Raises
        ------
        KeyError
            If a label lies outside the known divisions; when computing, if no row has it.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"x": [1, 2, 3], "y": list("abc")}), npartitions=2)
        >>> frame.drop(frame[frame.x > 2].index).drop(columns="y").x.compute().tolist()
        [1, 2]
        """
        has_names = index is not None or columns is not None
        if has_names and (labels is not None or is_columns(axis, "drop")):
            given = "labels" if labels is not None else "axis"
            raise ValueError(f"drop: Cannot specify both {given!r} and 'index'/'columns'")
        if labels is not None:
            index, columns = (None, labels) if is_columns(axis, "drop") else (labels, None)
        made = self
        if columns is not None:
            made = wrap(columns_at(self._expr, places_without(self._meta, columns, level, errors)))
        return made if index is None and columns is not None else dropped_rows(made, index, level, errors)

    def pop(self, item: Any) -> Series:
        """Remove a column from this frame, and return it."""
        column = self[item]
        self._expr = self.drop(columns=[item]).expr
        return column

    def select(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return columns by name, and columns that are computed, in the order in which they are given.

        Parameters
        ----------
        args
            Names of columns, or expressions such as ``pandas.col("x") + 1``, whose series has a name; or a list of those.
        kwargs
            Columns to compute, as in `assign`. They can refer to those before.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"x": [1, 2], "y": [3, 4], "z": 5}), npartitions=2)
        >>> frame.select("y", w=lambda rows: rows.x + rows.y).compute().to_dict("list")
        {'y': [3, 4], 'w': [4, 6]}
        """
        return selected(self, args, kwargs)

    def select_dtypes(self, include: Any = None, exclude: Any = None) -> Any:
        """Return the columns of some dtypes."""
        places = places_chosen(self._meta, lambda meta: meta.select_dtypes(include=include, exclude=exclude))
        return wrap(columns_at(self._expr, places))

    def apply(
        self,
        func: Callable[..., Any],
        /,
        axis: Any = 0,
        raw: bool = False,
        result_type: Any = None,
        args: tuple[Any, ...] = (),
        *,
        meta: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Call a function with each column as a lazy series, or with ``axis=1`` with each row.

        Parameters
        ----------
        func
            With ``axis=0``: gets each column as a lazy `Series`, now, and returns a value, lazy or not, or a series of the same rows.
            Nothing is gathered. Also the name of a method, or a list or dict as `agg` takes them.
            With ``axis=1``: gets a row as a pandas Series, or with `raw` as an array.
        axis
            0 or ``"index"``, 1 or ``"columns"``.
        raw
            Of rows only.
        result_type
            As pandas has it: ``"expand"`` makes columns of lists. Of rows only.
        args, kwargs
            Further arguments of the function.
        meta
            What the function makes of all rows, as in `map_partitions`. Default: it is tried, as there.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"x": [1, 2, 4], "y": [10, 20, 25]}), npartitions=2)
        >>> frame.apply(lambda column: column.max() - column.min()).compute().to_dict()
        {'x': 3, 'y': 15}
        """
        if not is_columns(axis, "apply"):
            if isinstance(func, str) and not args:
                return called_by_name(self, func, **kwargs)
            if not callable(func):
                several = listed(func)
                is_several = isinstance(several, (list, dict))
                return (
                    applied_by_several(self, several, args, kwargs)
                    if is_several
                    else self.agg(func, 0, *args, **kwargs)
                )
            for name, value in (("raw", raw), ("result_type", result_type)):
                if value:
                    raise refused("apply", name, value, "with axis=0 the function gets lazy series; axis=1 takes it")
            return applied_to_columns(self, func, args, kwargs)
        options = {"raw": raw or None, "result_type": result_type, "args": args or None}
        given = {name: value for name, value in options.items() if value is not None}
        return call_user("apply", self, func, (), {"axis": 1, **given, **kwargs}, meta)

    def query(self, expr: str, *, inplace: bool = False, **kwargs: Any) -> Any:
        """Return the rows for which an expression of column names holds, as `pandas.DataFrame.query` does.

        ``@name`` is a variable of the caller, which may be lazy; ``x.mean()`` and the like are of all rows. Functions of the caller
        (``@name(x)``) are called once, with lazy columns: those that know none, such as `numpy.percentile`, make them be computed then.
        As with pandas, text from strangers may do harm. `kwargs` are those of `pandas.eval`; its engines make no difference here.
        """
        made = rows_where(self, expr, kwargs, sys._getframe(1))
        if not inplace:
            return made
        self._expr = made.expr
        return None

    def eval(self, expr: str, *, inplace: bool = False, **kwargs: Any) -> Any:
        """Return the value of an expression of column names, as `pandas.DataFrame.eval` does.

        ``@name`` is a variable of the caller, which may be lazy; ``x.mean()`` and the like are of all rows. Functions of the caller
        (``@name(x)``) are called once, with lazy columns: those that know none, such as `numpy.percentile`, make them be computed then.
        As with pandas, text from strangers may do harm. `kwargs` are those of `pandas.eval`; its engines make no difference here.
        """
        made = value_of(self, expr, kwargs, sys._getframe(1))
        if not inplace:
            return made
        if not isinstance(made, DataFrame):
            raise ValueError(f"eval(inplace=True): {expr!r} assigns no column")
        self._expr = made.expr
        return None

    def groupby(
        self,
        by: Any = None,
        level: Any = None,
        *,
        as_index: bool = True,
        sort: bool | None = None,
        group_keys: bool = True,
        observed: bool | None = HAS_COPY_ON_WRITE,
        dropna: bool = True,
    ) -> Any:
        """Group rows by the values of columns.

        Parameters
        ----------
        by
            A column, an index level, a lazy series of the same rows, a function or dict of index labels, or a list of those.
            Values at hand: an array with one for each row, or a pandas series, by label. Also a `pandas.Grouper`; with ``freq=`` alone the groups are those of `resample`, and beside other keys each
            row has the label of its stretch of time.
        level
            Instead of `by`: the name or number of an index level, or a list of those.
        as_index
            Whether the keys become the index of aggregations; if not, columns.
        sort
            Whether to sort the result by key; with False, groups come in order of appearance. By default groups are sorted
            within each partition of a result, which are one unless an aggregation is given `split_out`; with True, partitions follow each other in order, too.
        group_keys
            Whether `apply` puts the keys before the labels of rows.
        observed
            For categories: whether to leave out those that don't occur. Default: as the installed pandas. None is False.
        dropna
            Whether to leave out rows whose key is missing; with False, missing is a key of its own.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"k": ["a", None, "a"], "x": [1, 2, 3]}), npartitions=2)
        >>> frame.groupby("k").x.mean().compute().to_dict()
        {'a': 2.0}
        """
        if (bins := only_bins(by)) is not None:
            return resampled(self, bins, as_index=as_index, group_keys=group_keys)
        frame, by = with_keys_of_its_rows(self, by)
        return GroupBy(
            frame,
            by,
            level=level,
            as_index=as_index,
            sort=sort,
            group_keys=group_keys,
            observed=observed,
            dropna=dropna,
        )


def _plain_value(value: Any) -> Any:
    """Return what is assigned to a column as a list, series or array of one axis, or a constant, if it is like one of these."""
    if isinstance(value, (range, tuple, KeysView, ValuesView)):
        return list(value)
    if isinstance(value, dict):
        return pd.Series(value)
    if isinstance(value, np.ndarray) and value.ndim != 1:
        return value[()] if value.ndim == 0 else value[:, 0] if value.shape[1:] == (1,) else value
    return value


def _with_columns(node: FrameExpr, names: Sequence[Any], values: Sequence[Any]) -> FrameExpr:
    """Return the node of a frame with columns of other nodes, aligned by label, and of constants."""
    values = [
        of_all_rows(value, node) if isinstance(value, FrameExpr) and isinstance(value.meta, pd.Series) else value
        for value in values
    ]
    lazy = [value for value in values if isinstance(value, FrameExpr) and value.has_rows]
    if lazy and has_no_rows(node) and not has_no_rows(lazy[0]):  # pandas gives it the rows of its first column
        node = operate(partial(_with_labels_of, node.meta), wrap(lazy[0]), label="reindex").expr
    shown = ", ".join(repr(name) for name, value in zip(names, values, strict=True) if isinstance(value, FrameExpr))
    what = f"assigning column {shown}"
    aligned = {value.name: with_rows_of(node, value, what) for value in lazy}
    values = [aligned.get(value.name, value) if isinstance(value, FrameExpr) else value for value in values]
    lazy = list(aligned.values())
    pairs = paired([node, *lazy], what, takes_single=True)
    frame, *cut = pairs.nodes
    made = dict(zip([value.name for value in lazy], cut, strict=True))
    assigned = tuple(made.get(value.name, value) if isinstance(value, FrameExpr) else value for value in values)
    return pairs.result(Assign(frame, tuple(names), assigned))


def _with_labels_of(meta: Any, block: Any) -> Any:
    made = meta.reindex(block if isinstance(block, pd.Index) else getattr(block, "index", None))
    return made if meta.index.name is None else made.rename_axis(index=meta.index.names)
