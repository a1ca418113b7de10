"""`pivot`: values by the labels of rows and columns that other columns hold. Which columns there are is found out before, by the data."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import of_samples
from glassloom.collection import compute
from glassloom.dataframe.assembled import Assembled
from glassloom.dataframe.at_hand import lazy_rows
from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.meta import without_rows
from glassloom.dataframe.moving.concat import concat
from glassloom.dataframe.nodes import BlockOp, empty
from glassloom.dataframe.numbered_levels import level_at, unnamed
from glassloom.dataframe.prefix import CarriedRows
from glassloom.dataframe.reduce import join_all
from glassloom.dataframe.widening import can_miss_nothing, dtypes_of
from glassloom.dataframe.wrap import operate, wrap

_UNSET: Any = pd.api.extensions.no_default


class Pivoting(Frame):
    """Methods of frames."""

    def pivot(self, *, columns: Any, index: Any = _UNSET, values: Any = _UNSET) -> Any:
        """Return the values with the labels of some columns as rows, and the distinct values of others as columns.

        The distinct values of `columns` are computed now, and where whole numbers or truth values are pivoted, whether each row has
        a value in each column. The rows move as `set_index` moves them: the divisions are known if `index` is one column without
        missing values.

        Parameters
        ----------
        columns
            The column whose values become columns, or a list of them.
        index
            The column of the rows' labels, or a list of them. Default: the index.
        values
            The column of values, or a list of them. Default: all others.

        Raises
        ------
        ValueError
            When computing, if a label has two values for a column, as in pandas; `pivot_table` aggregates them.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"day": [1, 1, 2], "what": ["a", "b", "a"], "x": [3, 4, 5]}), npartitions=2)
        >>> frame.pivot(index="day", columns="what", values="x").compute().to_dict("list")
        {'a': [3.0, 5.0], 'b': [4.0, nan]}
        """
        keys = None if index is _UNSET else _listed(index)
        names = _listed(columns)
        given = None if values is _UNSET else _listed(values)
        require_columns([*(keys or []), *names, *(given or [])], self._meta)
        shown = [name for name in self._meta.columns if name not in [*(keys or []), *names]] if given is None else given
        frame = wrap(self._expr)[list(dict.fromkeys([*(keys or []), *names, *shown]))]
        distinct, is_dense, has_missing = _asked(frame, keys, names, shown)
        some = self._meta[list(dict.fromkeys(shown))]
        template = of_samples(partial(_template, distinct, names, values, is_dense), some)
        found = _in_order(frame, keys, has_missing=has_missing)
        more = keys[1:] if keys else []
        labels = found.expr.meta.set_index(more, append=True).index if more else found.expr.meta.index
        meta = without_rows(empty(template), labels[:0])
        call = BlockCall(partial(_like, partial(_pivoted, names, values, more), meta), (Block(0),), label="pivot")
        return wrap(PivotedRows(found.expr, (), call, meta))


class PivotedRows(CarriedRows):
    """Pivoted partitions. Of several levels of labels no divisions are known."""

    @property
    def divisions(self) -> tuple[Any, ...]:
        if self.meta.index.nlevels > 1:
            return (None,) * (self.frame.npartitions + 1)
        return self.frame.divisions


def pivot(data: Any, *, columns: Any, index: Any = _UNSET, values: Any = _UNSET) -> Any:
    """Return values by the labels of rows and columns. See `DataFrame.pivot`."""
    data = lazy_rows("pivot", data)
    return data.pivot(columns=columns, index=index, values=values)


def wide_to_long(df: Any, stubnames: Any, i: Any, j: Any, sep: str = "", suffix: str = r"\d+") -> Any:
    """Return a row for each column of groups of columns whose names begin alike, such as ``x1, x2``.

    With one column `i` all rows of a suffix follow each other, as in pandas: there are as many partitions for each suffix as before.

    Parameters
    ----------
    df
        A lazy frame.
    stubnames, i, j, sep, suffix
        As pandas: how the names begin, the columns that tell rows apart, what to call the rest of the names, and what that is like.

    Raises
    ------
    ValueError
        When computing, if two rows have the same values of `i`.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> frame = gd.from_pandas(pd.DataFrame({"k": ["a", "b"], "x1": [1, 2], "x2": [3, 4]}), npartitions=2)
    >>> gd.wide_to_long(frame, "x", i="k", j="year").x.compute().to_dict()
    {('a', 1): 1, ('b', 1): 2, ('a', 2): 3, ('b', 2): 4}
    """
    df = lazy_rows("wide_to_long", df)
    options = {"stubnames": stubnames, "i": i, "j": j, "sep": sep, "suffix": suffix}
    made = of_samples(partial(_long, options), df.expr.meta)
    has_twice = df[_listed(i)].duplicated().any()
    call = BlockCall(partial(_long_or, options, empty(made)), (Block(0), Block(1)), label="wide-to-long")
    long = wrap(Assembled(df.expr, (has_twice.expr,), call, empty(made)))
    suffixes = level_at(made.index, -1).unique()
    if len(_listed(i)) > 1 or len(suffixes) <= 1:
        return long
    return concat([operate(_of_suffix, long, suffix, kind=BlockOp, label="wide-to-long") for suffix in suffixes])


def _long(options: dict[str, Any], block: Any) -> Any:
    return pd.wide_to_long(block, **options)


def _long_or(options: dict[str, Any], meta: Any, block: Any, has_twice: bool) -> Any:
    if has_twice:
        raise ValueError("the id variables need to uniquely identify each row")
    return _long(options, block) if len(block) else meta


def _of_suffix(block: Any, suffix: Any) -> Any:
    return block[level_at(block.index, -1) == suffix]


def _listed(names: Any) -> list[Any]:
    return list(names) if pd.api.types.is_list_like(names) and not isinstance(names, tuple) else [names]


def _in_order(frame: Any, keys: list[Any] | None, *, has_missing: bool) -> Any:
    """Return a frame with the first key as index, in the order of pandas' result: rows of equal labels are in one partition.

    Missing labels come first. Of categories and of several levels pandas has an order of its own: then there is one partition.
    """
    if not keys:
        labels = frame.expr.meta.index
        if isinstance(labels, (pd.MultiIndex, pd.CategoricalIndex)):
            return wrap(join_all(frame.expr))
        return frame if frame.known_divisions else frame.sort_index()
    key = keys[0]
    if isinstance(frame.expr.meta[key].dtype, pd.CategoricalDtype):
        return wrap(join_all(frame.expr)).set_index(key, sort=False)
    if not has_missing:
        return frame.set_index(key)
    is_missing = frame[key].isna()
    without = wrap(join_all(frame[is_missing].expr)).set_index(key, sort=False)
    return concat([without, frame[~is_missing].set_index(key)])


def _asked(frame: Any, keys: list[Any] | None, names: list[Any], shown: list[Any]) -> tuple[Any, bool, bool]:
    """Return the distinct values of the columns, whether each row has a value in each, and whether a row's first label is missing."""
    meta = frame.expr.meta
    wanted: dict[str, Any] = {"distinct": frame[names].drop_duplicates()}
    if any(map(can_miss_nothing, dtypes_of(meta[shown]))):
        labels = frame.index.to_series(name="labels").to_frame() if keys is None else frame[keys]
        wanted["labels"], wanted["rows"] = labels.drop_duplicates().index.size, frame.index.size
    if keys and not can_miss_nothing(meta[keys[0]].dtype):
        wanted["missing"] = frame[keys[0]].isna().any()
    found = dict(zip(wanted, compute(*wanted.values()), strict=True))
    is_dense = "rows" in found and found["rows"] == found["labels"] * len(found["distinct"])
    return found["distinct"], is_dense, bool(found.get("missing", False))


def _template(distinct: Any, names: list[Any], values: Any, is_dense: bool, some: Any) -> Any:
    """Return a pivoted frame with a row that has a value in each column, and if that isn't so of all rows, one that has one."""
    places = np.arange(len(distinct)) if is_dense or not len(distinct) else np.append(np.arange(len(distinct)), 0)
    rows = distinct.iloc[places].reset_index(drop=True)
    labels = [*[0] * len(distinct), *[1] * (len(places) - len(distinct))]
    for name in some.columns:
        rows[name] = some[name].iloc[[0] * len(places)].array
    return rows.set_axis(pd.Index(labels, dtype="int64"), axis=0).pivot(columns=names, **_given(values))


def _given(values: Any) -> dict[str, Any]:
    return {} if values is _UNSET else {"values": values}


def _pivoted(names: list[Any], values: Any, more: list[Any] | None, block: Any) -> Any:
    if not more:
        return block.pivot(columns=names, **_given(values))
    rows = block.set_index(more, append=True)
    made = rows.set_axis(unnamed(rows.index), axis=0).pivot(columns=names, **_given(values))
    made.index.names = rows.index.names
    return made


def _like(function: Any, meta: Any, block: Any) -> Any:
    """Return a pivoted partition with the columns and dtypes of all: it may lack some."""
    if not len(block):
        return meta
    made = function(block)
    places = made.columns.get_indexer(meta.columns)
    columns = [
        meta.iloc[:, number].reindex(made.index) if place < 0 else made.iloc[:, place].astype(meta.dtypes.iloc[number])
        for number, place in enumerate(places)
    ]
    found = pd.DataFrame(dict(enumerate(columns)), index=made.index)
    return found.set_axis(meta.columns, axis=1)
