"""The methods of frames and series that move rows between partitions: they check arguments, and return collections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.extensions import no_default

from glassloom.collection import Collection
from glassloom.dataframe.alignment import require_aligned
from glassloom.dataframe.argument_kinds import options_of, require_function
from glassloom.dataframe.call import Method
from glassloom.dataframe.columns import require_columns, some_columns, unused_name
from glassloom.dataframe.keys_of_rows import series_of_values
from glassloom.dataframe.labels import values_by_place
from glassloom.dataframe.moving.column_order import sorted_columns
from glassloom.dataframe.moving.distinct import distinct_rows
from glassloom.dataframe.moving.numbering import renumber
from glassloom.dataframe.moving.reindex import reindexed_collection
from glassloom.dataframe.moving.set_index import BY_INDEX, SetIndex, set_sorted_index, sort_by_index
from glassloom.dataframe.moving.shuffle import hash_shuffle, require_shuffle_method, shuffled_by_names, shuffled_series
from glassloom.dataframe.moving.sort import (
    Sorting,
    by_levels,
    levels_among,
    levels_of,
    require_stable,
    sort,
    sort_blocks,
    sort_order,
)
from glassloom.dataframe.nodes import FrameExpr, Projection, Relabelled
from glassloom.dataframe.options import is_columns, number_of_outputs
from glassloom.dataframe.positions import reversed_partitions
from glassloom.dataframe.wrap import bind, is_node, operate, wrap
from glassloom.errors import OptionError


class MovingRows(Collection):
    """What frames and series have in common."""

    _expr: FrameExpr

    def sort_index(
        self,
        *,
        axis: Any = 0,
        level: Any = None,
        ascending: Any = True,
        inplace: bool = False,
        kind: Any = "stable",
        na_position: str = "last",
        sort_remaining: bool = True,
        ignore_index: bool = False,
        key: Callable[[Any], Any] | None = None,
        npartitions: int | None = None,
        shuffle_method: str | None = None,
    ) -> Any:
        """Return the rows in order of their labels; rows of equal labels keep their order.

        Ascending, the result's divisions are known. If this frame's are not, the labels are read now to find them out.

        Parameters
        ----------
        axis
            0 or ``"index"``; with 1 or ``"columns"`` the columns are put in order of their names.
        level, sort_remaining
            A level of the index, or several, by number or name, to sort by first; and whether to sort by the others after them.
        ascending
            Whether small labels come first; a list for several levels.
        kind
            All kinds are stable here.
        na_position
            ``"first"`` or ``"last"``: where missing labels go.
        ignore_index
            Whether to number the result's rows from 0.
        key
            A function of the index that returns what to sort by.
        npartitions
            Number of partitions of the result. Default: as many as before.
        """
        require_stable(kind)
        require_shuffle_method(shuffle_method)
        if isinstance(self._expr.meta, pd.DataFrame) and is_columns(axis, "sort_index"):
            options = {"level": level, "sort_remaining": sort_remaining, "na_position": na_position, "key": key}
            kwargs = {"axis": 1, "ascending": ascending, "ignore_index": ignore_index, **options}
            return operate(Method("sort_index"), self, kwargs=kwargs, label="sort-columns")
        _require_usual("sort_index", "axis", axis, (0, "index", "rows"))
        if (
            level is not None
            and (levels := levels_of(self._expr.meta.index, level))
            and self._expr.meta.index.nlevels > 1
        ):
            sorting = by_levels(self._expr.meta.index, levels, ascending, na_position, sort_remaining, key)
            found = sort(self._expr, sorting, _checked_count(npartitions))
            return wrap(renumber(found) if ignore_index else found)
        npartitions = _checked_count(npartitions)
        node, index = self._expr, self._expr.meta.index
        order = sort_order(ascending, index.nlevels, na_position)
        sorting = Sorting((), order, key, by_index=True)
        has_levels = isinstance(index, pd.MultiIndex)
        is_plain = not has_levels and key is None and na_position == "last" and npartitions is None
        if is_plain and node.divisions[0] is not None:
            found = sort_blocks(node, sorting)
            found = found if order.ascending[0] else reversed_partitions(found)
        elif not has_levels and key is None and order == BY_INDEX.order:
            labels = operate(_index_as_series, wrap(node), label="index").expr
            found = sort_by_index(node, labels, npartitions)
        else:
            found = sort(node, sorting, npartitions)
        return wrap(renumber(found) if ignore_index else found)

    def drop_duplicates(
        self,
        subset: Any = None,
        *,
        keep: Any = "first",
        inplace: bool = False,
        ignore_index: bool = False,
        split_out: int | bool = 1,
        split_every: int | None = None,
        shuffle_method: str | None = None,
    ) -> Any:
        """Return the distinct rows.

        Parameters
        ----------
        subset
            The columns by which rows are compared (frames only). Default: all.
        keep
            ``"first"`` or ``"last"`` of equal rows, or False for none of them.
        ignore_index
            Whether to number the result's rows from 0.
        split_out
            Number of partitions of the result; True for as many as this frame has. With 1 the rows are in their old
            order. Otherwise, and if `keep` is False, the hash of the compared columns says in which partition a row is,
            and rows are in their old order within each.
        split_every
            How many partial results are joined at a time, with ``split_out=1``. Default 8.
        shuffle_method
            For compatibility with Dask; there is one method.
        """
        require_shuffle_method(shuffle_method)
        if keep not in ("first", "last", False):
            raise OptionError(f"keep={keep!r} should be 'first', 'last' or False")
        labels = None
        if subset is not None:
            if not isinstance(self._expr.meta, pd.DataFrame):
                raise TypeError("drop_duplicates of a series takes no subset")
            labels = some_columns("drop_duplicates", subset, self._expr.meta)
        count = number_of_outputs(split_out, self._expr.npartitions)
        return wrap(distinct_rows(self._expr, labels, keep, ignore_index, count, split_every))

    def reindex(
        self,
        labels: Any = None,
        *,
        index: Any = None,
        columns: Any = None,
        axis: Any = None,
        fill_value: Any = no_default,
        method: Any = None,
        limit: Any = None,
        tolerance: Any = None,
    ) -> Any:
        """Return the rows of some labels in their order, in one partition, and columns of some names.

        The rows of a lazy index, whose divisions are known or whose partitions correspond to this frame's, are in its partitions.

        Rows and columns that aren't there are filled with missing values, or `fill_value`.

        Parameters
        ----------
        labels, axis
            Labels of the rows; of the columns with ``axis=1`` or ``"columns"``.
        index, columns
            Labels of the rows, and of the columns (frames only).
        fill_value
            What stands where there was nothing.
        method
            Of labels at hand: ``"ffill"``, ``"bfill"`` or ``"nearest"`` for the row of the label before, after or nearest, where there is none of the label itself.
        limit, tolerance
            How many labels in succession get such a row, and how far from it they are at most.
        """
        options = {
            **({} if fill_value is no_default else {"fill_value": fill_value}),
            **{name: value for name, value in {"method": method, "limit": limit, "tolerance": tolerance}.items() if value is not None},
        }  # fmt: skip
        return reindexed_collection(self, labels, index, columns, axis, options)

    def shuffle(
        self,
        on: Any = None,
        *,
        ignore_index: bool = False,
        npartitions: int | None = None,
        shuffle_method: str | None = None,
        on_index: bool = False,
    ) -> Any:
        """Move rows so that those of equal keys are in one partition.

        A series moves by its values, or by its labels. A partition's rows keep their order: those of the first partition come first. Missing keys are equal.

        Parameters
        ----------
        on
            A column or several, of which one may be the index, by its name; or a series or index of the same rows. Of a series: nothing else than `on_index`.
        ignore_index
            Whether each partition of the result numbers its rows from 0.
        npartitions
            Number of partitions of the result. Default: as many as before.
        shuffle_method
            For compatibility with Dask; there is one method.
        on_index
            Whether the index labels are the keys.

        Examples
        --------
        >>> import glassloom.dataframe as gd
        >>> frame = gd.datasets.timeseries(end="2000-01-04", freq="1h")
        >>> frame.shuffle("name", npartitions=2).npartitions
        2
        """
        require_shuffle_method(shuffle_method)
        if isinstance(self._expr.meta, pd.Series):
            return shuffled_series(self, on, ignore_index, npartitions, on_index)
        if (on is None) != on_index:
            raise OptionError(f"shuffle needs either on=, a column or several, or on_index=True; got on={on!r}")
        count = _checked_count(npartitions)
        node = self._expr
        on = _labels_as_series(on)
        if is_node(on):
            temporary = unused_name(node.meta.columns)
            require_aligned([node, on.expr], "shuffle(on=series)")
            node = wrap(node)._assigned({temporary: on if not _is_frame(on) else on[on.columns[0]]})
            found: FrameExpr = Projection(hash_shuffle(node, (temporary,), count), list(self._expr.meta.columns))
        else:
            found = shuffled_by_names(node, [] if on_index else _listed(on), count)
        if ignore_index:
            return operate(
                Method("reset_index"), wrap(found), kind=Relabelled, kwargs={"drop": True}, label="reset-index"
            )
        return wrap(found)

    def _reset_index(self, options: dict[str, Any], inplace: bool) -> Any:
        return operate(Method("reset_index"), self, kind=Relabelled, kwargs=options, label="reset-index")

    def _sort_values(
        self, by: tuple[Any, ...], ascending: Any, na_position: str, kind: Any, ignore_index: bool, key: Any, count: Any,
        levels: tuple[Any, ...] = (),
    ) -> Any:  # fmt: skip
        require_stable(kind)
        sorting = Sorting(by, sort_order(ascending, max(len(by), 1), na_position), key, by_levels=levels)
        found = sort(self._expr, sorting, _checked_count(count))
        return wrap(renumber(found) if ignore_index else found)


class MovingSeries(MovingRows):
    """The methods of series."""

    def reset_index(
        self,
        level: Any = None,
        *,
        drop: bool = False,
        name: Any = no_default,
        inplace: bool = False,
        allow_duplicates: bool = False,
    ) -> Any:
        """Return a frame with the index as columns, or the series without it. Each partition counts its rows from 0.

        Parameters
        ----------
        level
            Which levels of the index; None for all.
        drop
            Whether to drop the labels instead of making them columns.
        name, allow_duplicates
            As in pandas: how the column of values is called.
        """
        options = {"level": level, "drop": drop, "allow_duplicates": allow_duplicates}
        return self._reset_index(options if name is no_default else {**options, "name": name}, inplace)

    def sort_values(
        self,
        *,
        axis: Any = 0,
        ascending: Any = True,
        inplace: bool = False,
        kind: Any = "stable",
        na_position: str = "last",
        ignore_index: bool = False,
        key: Callable[[Any], Any] | None = None,
        npartitions: int | None = None,
        shuffle_method: str | None = None,
    ) -> Any:
        """Return the values in order; equal ones keep their order. See `DataFrame.sort_values`."""
        require_shuffle_method(shuffle_method)
        _require_usual("sort_values", "axis", axis, (0, "index", "rows"))
        return self._sort_values((), ascending, na_position, kind, ignore_index, key, npartitions)


class MovingFrame(MovingRows):
    """The methods of frames."""

    def reset_index(
        self,
        level: Any = None,
        *,
        drop: bool = False,
        inplace: bool = False,
        col_level: Any = 0,
        col_fill: Any = "",
        allow_duplicates: bool = False,
        names: Any = None,
    ) -> Any:
        """Return the frame with the index as columns, or without it. Each partition counts its rows from 0.

        Parameters
        ----------
        level
            Which levels of the index; None for all.
        drop
            Whether to drop the labels instead of making them columns.
        col_level, col_fill, allow_duplicates, names
            As in pandas: how the new columns are called.
        """
        options = {
            "level": level, "drop": drop, "col_level": col_level, "col_fill": col_fill,
            "allow_duplicates": allow_duplicates, "names": names,
        }  # fmt: skip
        return self._reset_index(options, inplace)

    def sort_values(
        self,
        by: Any,
        *,
        axis: Any = 0,
        ascending: Any = True,
        inplace: bool = False,
        kind: Any = "stable",
        na_position: str = "last",
        ignore_index: bool = False,
        key: Callable[[Any], Any] | None = None,
        npartitions: int | None = None,
        shuffle_method: str | None = None,
        sort_function: Callable[..., Any] | None = None,
        sort_function_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Return the rows in order of some columns; rows of equal keys keep their order.

        The result is pandas' with ``kind="stable"``. Its divisions are not known: index labels go with their rows.

        Parameters
        ----------
        by
            A column or several; levels of the index too, by name. With ``axis=1`` labels of rows, which are computed now.
        axis
            0 or ``"index"``; with 1 or ``"columns"`` the columns are put in order of the values in some rows.
        ascending
            Whether small values come first; a list for several columns.
        kind
            All kinds are stable here.
        na_position
            ``"first"`` or ``"last"``: where missing values go.
        ignore_index
            Whether to number the result's rows from 0.
        key
            A function of each column that returns what to sort by: a series of as many values.
        npartitions
            Number of partitions of the result. Default: as many as before. All rows of equal keys are in one.
        sort_function
            Called with each partition, once it has its rows, and ``by``, ``ascending`` and ``na_position`` by name; returns
            them in order. Default: `pandas.DataFrame.sort_values`.
        sort_function_kwargs
            Further arguments of that function.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"x": [3, 1, 2], "y": list("abc")}), npartitions=2)
        >>> frame.sort_values("x", ascending=False).y.compute().tolist()
        ['a', 'c', 'b']
        """
        require_shuffle_method(shuffle_method)
        if is_columns(axis, "sort_values"):
            options = {"ascending": ascending, "na_position": na_position, "key": key}
            return sorted_columns(self, by, ignore_index, options)
        names = tuple(_listed(by))
        if not names:
            return wrap(self._expr)  # as pandas
        meta = self._expr.meta
        levels = () if sort_function is not None else levels_among(names, meta)
        require_columns([name for name in names if name not in levels], meta)
        more = options_of("sort_values", "sort_function_kwargs", sort_function_kwargs)
        require_function("sort_values", "sort_function", sort_function)
        if sort_function is None and not more:
            return self._sort_values(names, ascending, na_position, kind, ignore_index, key, npartitions, levels)
        if key is not None:
            raise OptionError("sort_values: give key=, or sort_function= and sort_function_kwargs=, not both")
        if own := [name for name in ("by", "ascending", "na_position", "key", "ignore_index") if name in more]:
            raise OptionError(
                f"sort_values: sort_function_kwargs= has {own}, which say where rows move: give them as arguments of sort_values"
            )
        given = {"by": list(names), "ascending": ascending, "na_position": na_position, **more}
        found = self._sort_values(names, ascending, na_position, kind, False, None, npartitions)
        made = found.map_partitions(partial(sort_function or pd.DataFrame.sort_values, **given), meta=self._expr.meta)
        return wrap(renumber(made.expr)) if ignore_index else made

    def set_index(
        self,
        keys: Any,
        *,
        drop: bool = True,
        append: bool = False,
        sorted: bool = False,
        npartitions: Any = None,
        divisions: Sequence[Any] | None = None,
        sort: bool = True,
        inplace: bool = False,
        shuffle_method: str | None = None,
    ) -> Any:
        """Make a column the index, and sort by it, so that the divisions are known.

        As in Dask, and other than in pandas, rows are moved so that they are in order of the new index; rows of equal
        labels keep their order, missing labels come last. To find the divisions the column is read now, unless they
        are given. Nothing moves if the column is in order already.

        Parameters
        ----------
        keys
            A column, or a series or index of the same rows; or several, by which rows aren't sorted: they stay where they are, as in pandas.
        drop
            Whether to drop the column.
        append
            Whether to keep the old index as further level. Then rows aren't sorted either.
        sorted
            Whether the frame is sorted by the column. Then the divisions are found out, or taken from `divisions`, and nothing
            moves but rows of equal labels that are in two partitions; partitions without rows are left out.
        npartitions
            Number of partitions of the result. Default, and ``"auto"``: as many as before. There may be fewer, since
            all rows of equal labels are in one.
        divisions
            The labels at which partitions shall begin, and the last one.
        sort
            With False the rows stay where they are, as in pandas, and divisions are not known.
        inplace
            Whether to change this frame, and return nothing.
        shuffle_method
            For compatibility with Dask; there is one method.

        Raises
        ------
        DivisionError
            If `sorted` is True and the partitions aren't in order; when computing, if a label lies outside `divisions`.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"x": [3, 1, 2, 4], "y": list("abcd")}), npartitions=2)
        >>> by_x = frame.set_index("x")
        >>> by_x.divisions
        (1, 3, 4)
        >>> by_x.loc[2:3].y.compute().tolist()
        ['c', 'a']
        """
        require_shuffle_method(shuffle_method)
        count = None if npartitions == "auto" else _checked_count(npartitions)
        names = [_index_key(self, name) for name in _keys_of_levels(keys if isinstance(keys, list) else [keys])]
        require_columns([name for name in names if not is_node(name)], self._expr.meta)
        series = [name for name in names if is_node(name)]
        is_narrow = (
            len(names) == 1 and not series and not append and _is_narrow_integer(self._expr.meta[names[0]].dtype)
        )
        nodes, call = (
            bind(Method("set_index"), (self, names), {"drop": drop, "append": append}, label="set-index")
            if not series and not is_narrow
            else bind(_set_narrow_index, (self, names[0]), {"drop": drop}, label="set-index")
            if not series
            else bind(_set_index, (self, *names), {"drop": drop, "append": append}, label="set-index")
        )
        require_aligned(nodes, "set_index(series)")
        node = SetIndex(nodes[0], tuple(nodes[1:]), call)
        is_kept = not sort or append or len(names) > 1
        if is_kept and not sorted and divisions is None:
            return wrap(node)
        for name, value in (("append", append), ("keys", len(names) > 1)):
            if value:
                shown = f"append={append}" if name == "append" else f"{len(names)} columns"
                raise NotImplementedError(f"set_index with {shown} doesn't sort; use set_index(..., sort=False)")
        labels = names[0].expr if series else Projection(self._expr, names[0])
        if sorted:
            found: FrameExpr = set_sorted_index(node, labels, labels.meta.name, divisions)
        else:
            found = sort_by_index(node, labels, count, divisions)
        return wrap(found)


def _is_narrow_integer(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "iu" and dtype != np.int64


def _set_narrow_index(frame: Any, name: Any, *, drop: bool) -> Any:
    """Set an index of the column's dtype: pandas makes a range of 64-bit integers of some partitions, and of no rows."""
    kept = frame.drop(columns=[name]) if drop else frame
    return kept.set_axis(pd.Index(frame[name].array, dtype=frame[name].dtype, name=name), axis=0)


def _set_index(frame: Any, *keys: Any, drop: bool, append: bool) -> Any:
    return frame.set_index(list(keys), drop=drop, append=append)


def _require_usual(method: str, name: str, value: Any, usual: Sequence[Any]) -> None:
    """Check an argument of pandas' of which only one value is supported."""
    if not any(value is one or (type(value) is type(one) and value == one) for one in usual):
        raise NotImplementedError(f"{method}({name}={value!r}) isn't supported; leave {name} as {usual[0]!r}")


def _checked_count(npartitions: Any) -> int | None:
    if npartitions is None:
        return None
    if isinstance(npartitions, bool) or not isinstance(npartitions, (int, np.integer)) or npartitions < 1:
        raise ValueError(f"npartitions={npartitions!r} should be a whole number, 1 or more")
    return int(npartitions)


def _listed(names: Any) -> list[Any]:
    return list(names) if isinstance(names, (list, pd.Index)) else [names]


def _labels_as_series(key: Any) -> Any:
    """Return a lazy index as the series of its labels, other keys as they are."""
    return values_by_place(key) if is_node(key) and isinstance(key.expr.meta, pd.Index) else key


def _keys_of_levels(keys: list[Any]) -> list[Any]:
    """Return the keys of `set_index` with the labels of each level in place of an index of several levels at hand."""
    levels = [
        [key.get_level_values(number) for number in range(key.nlevels)] if isinstance(key, pd.MultiIndex) else [key]
        for key in keys
    ]
    return [key for each in levels for key in each]


def _index_key(frame: Any, key: Any) -> Any:
    """Return a column's name or a lazy series that `set_index` takes; of a lazy index its labels, of values at hand the rows' by place.

    Raises
    ------
    TypeError
        If it is something else, such as a frame, or a list in a list.
    """
    if is_node(key):
        if _is_frame(key):
            raise TypeError(
                "set_index takes columns, series and indexes as keys, not a DataFrame; choose a column of it"
            )
        return _labels_as_series(key)
    if not pd.api.types.is_list_like(key) or pd.api.types.is_hashable(key) and not isinstance(key, Iterator):
        return key
    key = list(key) if isinstance(key, Iterator) else key
    if np.ndim(key) != 1 or isinstance(key, (dict, set)):
        raise TypeError(
            f"set_index takes names of columns, lazy series, and lists or arrays of a value for each row, not {key!r}"
        )
    values = pd.Index(key, tupleize_cols=False).array if isinstance(key, list) else getattr(key, "array", key)
    infers = not isinstance(key, (pd.Index, pd.Series))  # whose objects stay such
    return series_of_values(frame, values, getattr(key, "name", None), infers=infers)


def _is_frame(value: Any) -> bool:
    return isinstance(value.expr.meta, pd.DataFrame)


def _index_as_series(block: Any) -> Any:
    return pd.Series(block.index.array, index=block.index, name=block.index.name, dtype=block.index.dtype)
