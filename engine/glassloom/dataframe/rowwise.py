"""Methods that compute each row, or choose it, from itself alone: they are run partition by partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.array.api.array import Array
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.config import Configured, chosen
from glassloom.dataframe.argument_kinds import collection_of, whole_number
from glassloom.dataframe.backend import to_backend
from glassloom.dataframe.call import Attribute, Method
from glassloom.dataframe.column_expressions import evaluated
from glassloom.dataframe.column_nodes import ByLabel, renamed_columns
from glassloom.dataframe.column_places import columns_at, columns_named
from glassloom.dataframe.columns import unused_name
from glassloom.dataframe.columnwise import applied_by_several, called_by_name, listed, of_whole_series, transformed
from glassloom.dataframe.dropping import dropped_rows
from glassloom.dataframe.filtering import rows_of_condition
from glassloom.dataframe.for_each import call_user
from glassloom.dataframe.label_nodes import NewLabels
from glassloom.dataframe.limits_by_label import clipped_by_label, limits_of_rows, takes_limits
from glassloom.dataframe.moving.numbering import renumber
from glassloom.dataframe.moving.shape import Repartition
from glassloom.dataframe.nodes import Columnwise, FrameExpr, LabelKeeping, Rowwise, SomeRows
from glassloom.dataframe.operands_at_hand import limit_of_rows, operand_of_rows, value_of_rows, with_lazy_arrays
from glassloom.dataframe.options import is_columns, piped, refused
from glassloom.dataframe.replaced_values import replaced
from glassloom.dataframe.replacing import clipping, has_fractions, objects_beside_list, replacing
from glassloom.dataframe.rows_of_label import is_of_label
from glassloom.dataframe.time_labels import TimeLabels, require_rows
from glassloom.dataframe.widening import can_miss_nothing, dtypes_of
from glassloom.dataframe.wrap import is_node, lazy_value, operate, wrap

_UNSET: Any = pd.api.extensions.no_default
_MANY = 1000
"""Items of a dict that values are looked up in; of fewer it takes no time to make a series for each partition."""
_PLAIN = frozenset([int, float, str, bool, type(None)])


def _are_rows_of(frame: Any, other: Any, axis: Any) -> bool:
    """Whether a lazy object has the rows of a frame or series, or is a row of values by column."""
    is_row = (
        other.expr.npartitions == 1
        and isinstance(other.expr.meta, pd.Series)
        and isinstance(frame.expr.meta, pd.DataFrame)
        and axis not in (0, "index", "rows")
    )
    return is_row or is_of_label(other.expr) or other.expr.rows == frame.expr.rows


class RowByRow(TimeLabels):
    """Methods of frames and series."""

    def _of_rows(self, method: str, kwargs: dict[str, Any], kind: Any = Rowwise) -> Any:
        return operate(Method(method), self, kind=kind, kwargs=kwargs, label=method.replace("_", "-"))

    def to_backend(self, backend: str | Configured = Configured("dataframe.backend")) -> Any:
        """Return the same rows with partitions of another library: ``"cudf"`` moves them to the device, ``"pandas"`` to the host.

        Parameters
        ----------
        backend
            The name of the library. Default: the option ``dataframe.backend``.
        """
        return to_backend(self, chosen(backend))

    def pipe(self, func: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Return what a function makes of this object; ``(function, "name")`` passes it as that argument."""
        return piped(self, func, args, kwargs)

    def transform(self, func: Any, /, axis: Any = 0, *args: Any, **kwargs: Any) -> Any:
        """Return the values changed by functions, as many as there are.

        Parameters
        ----------
        func
            The name of a method of as many rows, such as ``"abs"`` or ``"cumsum"``; a function such as `numpy.sqrt`; a function of
            yours, which gets each column of a frame as a lazy series, and of a series each value, or if it doesn't take these, the
            lazy series; a list of those, or of a frame a dict from column to those.

        Raises
        ------
        ValueError
            If a function returns other rows, or a value.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"x": [1, 2, 6], "y": [10, 20, 30]}), npartitions=2)
        >>> frame.transform(lambda column: column - column.mean()).compute().to_dict("list")
        {'x': [-2.0, -1.0, 3.0], 'y': [-10.0, 0.0, 10.0]}
        """
        require_rows("transform", axis)
        return transformed(self, func, args, kwargs)

    def where(
        self, cond: Any, other: Any = _UNSET, *, inplace: bool = False, axis: Any = None, level: Any = None
    ) -> Any:
        """Return the values where a condition holds, elsewhere `other` (missing unless given).

        Parameters
        ----------
        cond
            A lazy object of the same rows, or a function of this one that returns one; also an array or list of booleans for all rows, or
            a lazy array with a block for each partition.
        other
            A constant, a lazy object of the same rows, an array with a value for each, or a function of this one. Where it is missing, whole numbers become floats
            and booleans objects in all partitions, also if nothing is replaced (pandas keeps them then); but not where `cond` says
            just which values are missing (``x.where(x.notna(), None)``), as theirs never are.
        axis
            How a series `other` is laid along a frame.
        """
        return self._chosen("where", cond, other, inplace, axis, level)

    def mask(
        self, cond: Any, other: Any = _UNSET, *, inplace: bool = False, axis: Any = None, level: Any = None
    ) -> Any:
        """Return the values where a condition doesn't hold, elsewhere `other` (missing unless given). See `where`."""
        return self._chosen("mask", cond, other, inplace, axis, level)

    def _chosen(self, method: str, cond: Any, other: Any, inplace: bool, axis: Any, level: Any) -> Any:
        if level is not None:
            raise refused(method, "level", level, "divisions are of one level; align the operands before")
        condition, value = (lazy_value(evaluated(one, self)) for one in (cond, other))
        if isinstance(condition, Array) or isinstance(value, Array):
            self, (condition, value) = with_lazy_arrays(self, (condition, value), method)
        if inplace:
            condition = _of_all_rows(self, condition, method == "where")
        lazy, value = (self, value) if inplace and HAS_COPY_ON_WRITE else objects_beside_list(self, value)
        are_of_rows = not is_node(value) or value.expr.rows == self.expr.rows
        if not is_node(condition):
            condition = operand_of_rows(self, condition, f"{method}(cond)")
        if not is_node(value) and not _is_one_value(lazy, value):
            value = operand_of_rows(lazy, value, f"{method}(other)", replaces=True)
        args = () if value is _UNSET else (value,)
        kwargs = {} if axis is None else {"axis": axis}
        if axis is not None and isinstance(value, pd.DataFrame):
            raise NotImplementedError(
                f"{method}(axis={axis!r}) with a pandas frame: pandas aligns it along that axis alone; leave axis out, and it is aligned along both"
            )
        if inplace and HAS_COPY_ON_WRITE and are_of_rows and _keeps_dtypes(self, value):
            return operate(partial(_set_in_place, method, kwargs), self, condition, *args, kind=InPlace, label=method)
        return operate(replacing(method, (lazy, condition, *args), kwargs), lazy, condition, *args, kwargs=kwargs)

    def clip(self, lower: Any = None, upper: Any = None, *, axis: Any = None, inplace: bool = False) -> Any:
        """Return the values with those outside the limits set to them.

        Parameters
        ----------
        lower, upper
            Constants, lazy objects of the same rows, lazy series of other ones, which are aligned by label, or lists and arrays with a value
            for each row, or row and column; with ``axis=1`` of a frame, for each column.
        axis
            How a series of limits is laid along a frame.
        """
        given = limits_of_rows(lower, upper)
        if any(not _are_rows_of(self, limit, axis) for limit in given.values()) and takes_limits(self, axis):
            return clipped_by_label(self, given, {"lower": lower, "upper": upper, "axis": axis})
        for name, limit in (("lower", lower), ("upper", upper)):
            if is_node(limit) and limit.expr.has_rows and not _are_rows_of(self, limit, axis):
                raise refused(
                    "clip", name, limit, "it has other rows: assign() it as a column of the same frame before"
                )
        limits = [
            limit_of_rows(self, limit, axis, f"clip({name})") for name, limit in (("lower", lower), ("upper", upper))
        ]
        call = clipping(
            self._meta,
            *(0.5 if has_fractions(given) else limit for given, limit in zip((lower, upper), limits, strict=True)),
        )
        are_numbers = type(call) is Method and all(pd.api.types.is_scalar(limit) for limit in limits)
        kind = Columnwise if are_numbers else Rowwise
        return operate(call, self, *limits, kind=kind, kwargs={} if axis is None else {"axis": axis})

    def fillna(self, value: Any = None, *, axis: Any = None, inplace: bool = False, limit: int | None = None) -> Any:
        """Return the values with missing ones replaced.

        Parameters
        ----------
        value
            A constant, a lazy scalar, a dict or pandas series by column, or a lazy object of the same rows.
        axis
            With 1 pandas puts all columns into one dtype before. `value` is a constant then, or a frame.
        limit
            How many missing values of each column are filled at most, from the first one on, over all partitions; with ``axis=1`` of each row.
        """
        if value is None:
            raise refused("fillna", "value", value, "give a value; ffill() and bfill() fill from neighbours")
        if axis is not None and is_columns(axis, "fillna") and isinstance(self._meta, pd.DataFrame):
            if not is_node(value) and pd.api.types.is_scalar(value):
                return operate(Method("fillna"), self, value, kwargs={"axis": 1, "limit": limit})
            if not isinstance(getattr(value, "_meta", value), pd.DataFrame):
                raise refused(
                    "fillna",
                    "axis",
                    axis,
                    "with it the value is a constant or a frame: where() takes series along rows",
                )
        plain = not isinstance(value, (dict, pd.Series)) and not is_node(value)
        is_dict = isinstance(value, dict) and isinstance(self._meta, pd.DataFrame)
        filled = operate(Method("fillna"), self, value, kind=Columnwise if plain else ByLabel if is_dict else Rowwise)
        return filled if limit is None else self._up_to(limit, filled)

    def _up_to(self, limit: Any, filled: Any) -> Any:
        """Return these values with the first missing ones of each column as in `filled`."""
        if not isinstance(limit, (int, np.integer)) or isinstance(limit, bool) or limit < 1:
            raise ValueError(f"fillna(limit={limit!r}): Limit must be greater than 0, and a whole number")
        missing = self.isna()
        return self.mask(missing & (missing.astype("int64").cumsum() <= int(limit)), filled)

    def replace(self, to_replace: Any = None, value: Any = _UNSET, *, inplace: bool = False, regex: Any = False) -> Any:
        """Return the values with some replaced: constants, lists, dicts or regular expressions, as pandas has them."""
        if isinstance(to_replace, pd.Series) and value is _UNSET:
            to_replace = dict(to_replace.items())
        kwargs: dict[str, Any] = {"to_replace": to_replace, "regex": regex}
        if value is not _UNSET:
            kwargs["value"] = value
        elif not isinstance(to_replace, dict) and not isinstance(regex, (dict, list, str)):
            raise refused("replace", "value", None, "say what to put; ffill() fills from the row before")
        return replaced(self, kwargs)

    def rename_axis(self, mapper: Any = _UNSET, *, index: Any = _UNSET, columns: Any = _UNSET, axis: Any = 0, inplace: bool = False) -> Any:  # fmt: skip
        """Return the same rows with another name of the index (or of the columns' index)."""
        options = {"mapper": mapper, "index": index, "columns": columns}
        kwargs = {name: value for name, value in options.items() if value is not _UNSET}
        return self._of_rows("rename_axis", {**kwargs, **({"axis": 1} if is_columns(axis, "rename_axis") else {})})

    def get(self, key: Any, default: Any = None) -> Any:
        """Return a column, or `default` if there is none; of a series the value of a label, or of several, which are looked for now."""
        if isinstance(self._meta, pd.Series) and isinstance(key, (list, pd.Index, np.ndarray)):
            labels, series = pd.Index(key), wrap(self._expr)
            if labels.dtype != bool and not labels.isin(series.index.compute()).all():
                return default
        if isinstance(self._meta, pd.Series) and not is_node(key) and pd.api.types.is_hashable(key):
            lazy: Any = self
            return lazy[key] if key in lazy.index else default
        try:
            return self[key]
        except KeyError:
            return default

    def to_numpy(self, dtype: Any = None, copy: bool = False, na_value: Any = _UNSET) -> Any:
        """Compute, and return the values as a NumPy array. `values` is the lazy array."""
        return self._computed_by_pandas().to_numpy(dtype=dtype, copy=copy, na_value=na_value)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        made = np.asarray(self._computed_by_pandas(), dtype=dtype)
        return made.copy() if copy else made

    @property
    def axes(self) -> list[Any]:
        """The lazy index, and of a frame the columns."""
        index = operate(Attribute("index"), self)
        return [index, self._meta.columns] if isinstance(self._meta, pd.DataFrame) else [index]

    def _explode(self, kwargs: dict[str, Any], ignore_index: bool) -> Any:
        made = self._of_rows("explode", kwargs, LabelKeeping)
        return wrap(renumber(made.expr)) if ignore_index else made


class InPlace(Rowwise):
    """Values set in place: they fit into their dtypes, or it is an error when computing."""

    @property
    def meta(self) -> Any:
        return self.frame.meta


def _keeps_dtypes(frame: Any, value: Any) -> bool:
    """Whether `where` and `mask` in place keep all dtypes: only whole numbers become others, if a missing value comes among them."""
    are_whole = [isinstance(dtype, np.dtype) and dtype.kind in "iu" for dtype in dtypes_of(frame.expr.meta)]
    if not any(are_whole):
        return True
    if value is _UNSET or not is_node(value) or not value.expr.has_rows:
        return value is not _UNSET and pd.api.types.is_scalar(value) and not pd.isna(value)
    return all(can_miss_nothing(dtype) for dtype in dtypes_of(value.expr.meta))


def _set_in_place(method: str, kwargs: dict[str, Any], block: Any, condition: Any, *value: Any) -> Any:
    made = block.copy()
    getattr(made, method)(condition, *value, inplace=True, **kwargs)
    return made


def _is_one_value(frame: Any, other: Any) -> bool:
    """Whether a list for a series has one value, which is for all rows."""
    return frame.ndim == 1 and pd.api.types.is_list_like(other) and hasattr(other, "__len__") and len(other) == 1


def _of_all_rows(frame: Any, condition: Any, otherwise: bool) -> Any:
    """Return a condition that says `otherwise` of the rows, and columns, that it says nothing of."""
    is_at_hand = isinstance(condition, (pd.DataFrame, pd.Series))
    if not is_at_hand and (not is_node(condition) or not condition.expr.has_rows or _says_all(condition, frame)):
        return condition
    return operate(_said_of_rows, frame, condition, otherwise, label="condition")


def _says_all(condition: Any, frame: Any) -> bool:
    """Whether a condition of the same rows, and columns, has no missing values."""
    meta, own = condition.expr.meta, frame.expr.meta
    if condition.expr.rows != frame.expr.rows or not isinstance(meta, (pd.DataFrame, pd.Series)):
        return bool(condition.expr.rows == frame.expr.rows)
    if isinstance(meta, pd.Series):
        return bool(meta.dtype == np.dtype(bool))
    has_columns = isinstance(own, pd.DataFrame) and meta.columns.equals(own.columns)
    return has_columns and all(dtype == np.dtype(bool) for dtype in meta.dtypes)


def _said_of_rows(block: Any, condition: Any, otherwise: bool) -> Any:
    if not isinstance(condition, (pd.DataFrame, pd.Series)):
        return condition
    are_frames = isinstance(condition, pd.DataFrame) and isinstance(block, pd.DataFrame)
    said: Any = condition.astype("boolean")
    said = said.reindex(index=block.index, columns=block.columns) if are_frames else said.reindex(index=block.index)
    return said.fillna(otherwise).astype(bool)


def renamed_labels(frame: Any, kwargs: dict[str, Any], node: FrameExpr) -> Any:
    """Return a frame or series whose row labels are renamed, and its columns with them."""
    return operate(Method("rename"), wrap(node), kind=NewLabels, kwargs=kwargs, label="rename")


class FrameRowByRow(RowByRow):
    """Methods of frames."""

    def map(self, func: Any, /, na_action: Any = None, *, meta: Any = None, **kwargs: Any) -> Any:
        """Replace each value by a function's result.

        Parameters
        ----------
        func
            Gets a value; `kwargs` are passed on.
        na_action
            ``"ignore"`` to leave missing values as they are, without calling the function.
        meta
            The result, as in `map_partitions`. Default: the function is tried on two made-up rows, or on the first ones of the data.
        """
        return call_user("map", self, func, (), {"na_action": na_action, **kwargs}, meta)

    def squeeze(self, axis: Any = None) -> Any:
        """Return the only column as a series; with several columns the frame. Never a row: how many there are isn't known.

        Parameters
        ----------
        axis
            ``"columns"``, 1 or None.
        """
        if axis is not None and not is_columns(axis, "squeeze"):
            raise refused("squeeze", "axis", axis, "compute() first: the number of rows isn't known")
        return self[self._meta.columns[0]] if len(self._meta.columns) == 1 else self

    def explode(self, column: Any, ignore_index: bool = False) -> Any:
        """Return a row for each element of lists in a column or several, under the label of their row."""
        return self._explode({"column": column}, ignore_index)

    def isetitem(self, loc: int, value: Any) -> None:
        """Set the column at a position, in this frame alone."""
        names = list(self._meta.columns)
        place = whole_number("isetitem", "loc", loc)
        if not -len(names) <= place < len(names):
            raise IndexError(f"isetitem: loc={loc!r} is no place of a column; there are {len(names)}, from 0 on")
        self[names[place]] = value

    def insert(self, loc: int, column: Any, value: Any, allow_duplicates: bool = False) -> None:
        """Add a column at a position, in this frame alone; of a name that is there already if `allow_duplicates`."""
        names = self._meta.columns
        is_there = column in names
        if is_there and not allow_duplicates:
            raise ValueError(
                f"cannot insert {column!r}, which is there already; allow_duplicates=True adds another one"
            )
        loc = whole_number("insert", "loc", loc)
        if not 0 <= loc <= len(names):
            raise IndexError(f"loc={loc} should be 0 to {len(names)}")
        added = column
        if is_there:
            added = unused_name(names) if names.nlevels == 1 else (unused_name(names), *[""] * (names.nlevels - 1))
        made = self.assign(**{added: value}) if isinstance(added, str) else _with_column(self, added, value)
        node = columns_at(made.expr, [*range(loc), len(names), *range(loc, len(names))])
        self._expr = renamed_columns(node, names.insert(loc, column)) if is_there else node

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Yield each column's name and lazy series."""
        return ((name, self[name]) for name in self._meta.columns)

    def keys(self) -> Any:
        """Return the names of the columns."""
        return self._meta.columns

    def iterrows(self) -> Iterator[tuple[Any, Any]]:
        """Yield label and row, computing one partition after the other."""
        for part in self.partitions:
            yield from part._computed_by_pandas().iterrows()

    def itertuples(self, index: bool = True, name: Any = "Pandas") -> Iterator[Any]:
        """Yield rows as named tuples, computing one partition after the other."""
        for part in self.partitions:
            yield from part._computed_by_pandas().itertuples(index=index, name=name)

    def add_prefix(self, prefix: str, axis: Any = None) -> Any:
        """Return the frame with a text put before the columns' names."""
        _require_names("add_prefix", axis)
        return wrap(renamed_columns(self._expr, self._meta.add_prefix(prefix).columns, "add-prefix"))

    def add_suffix(self, suffix: str, axis: Any = None) -> Any:
        """Return the frame with a text put after the columns' names."""
        _require_names("add_suffix", axis)
        return wrap(renamed_columns(self._expr, self._meta.add_suffix(suffix).columns, "add-suffix"))

    def filter(
        self, items: Any = None, like: Any = None, regex: Any = None, axis: Any = None, *, cond: Any = None
    ) -> Any:
        """Return the columns that are listed, contain a text, or match a regular expression; with ``axis=0`` rows.

        A boolean series `cond`, or a function of the frame that returns one, chooses rows, as ``frame[cond]`` does.
        """
        if cond is None and (callable(items) or is_node(items)):
            items, cond = None, items
        if cond is not None:
            return rows_of_condition(self, cond, (items, like, regex), axis)
        kwargs = {"items": items, "like": like, "regex": regex}
        chosen = {name: value for name, value in kwargs.items() if value is not None}
        if axis is not None and not is_columns(axis, "filter"):
            if items is not None:
                raise refused("filter", "axis", axis, "rows of labels are chosen by loc[[...]]")
            return self._of_rows("filter", {**chosen, "axis": 0}, SomeRows)
        kept = self._meta.filter(**chosen).columns
        if items is not None:  # in their order
            return wrap(columns_named(self._expr, list(kept)))
        return wrap(columns_at(self._expr, np.flatnonzero(self._meta.columns.isin(kept)).tolist()))


def _require_names(method: str, axis: Any) -> None:
    if axis is not None and not is_columns(axis, method):
        raise refused(method, "axis", axis, "rename(index=...) changes the labels of rows")


def _with_column(frame: Any, column: Any, value: Any) -> Any:
    made = frame.copy()
    made[column] = value
    return made


class SeriesRowByRow(RowByRow):
    """Methods of series."""

    def map(self, func: Any = None, /, na_action: Any = None, *, meta: Any = None, **kwargs: Any) -> Any:
        """Replace each value by a function's result, or look it up in a dict or series.

        Parameters
        ----------
        func
            A function, dict or series; all rows of a lazy series are brought together. `kwargs` are passed on to a function.
        na_action
            ``"ignore"`` to leave missing values as they are, without calling the function.
        meta
            The result's ``("name", dtype)`` or empty series. Default: the function is tried as in `map_partitions`. Where it returns
            None or several kinds of values for these, what it returns in all partitions decides on the dtype.
        """
        if is_node(func) and func.expr.npartitions > 1:
            func = wrap(Repartition(func.expr, 1))
        is_large = type(func) is dict and len(func) > _MANY and not isinstance(self._meta.dtype, pd.CategoricalDtype)
        if is_large and {*map(type, func), *map(type, func.values())} <= _PLAIN:
            func = pd.Series(func, index=pd.Index(func.keys(), tupleize_cols=False))  # pandas would for each partition
        return call_user("map", self, func, (), {"na_action": na_action, **kwargs}, meta)

    def apply(
        self, func: Callable[..., Any], /, args: tuple[Any, ...] = (), *, by_row: Any = "compat", meta: Any = None, **kwargs: Any
    ) -> Any:  # fmt: skip
        """Replace each value by a function's result. See `map`. The name of a method is called; lists and dicts are those of `agg`, or with functions such as `numpy.sqrt` of `transform`."""
        if isinstance(func, str):
            return called_by_name(self, func, *args, **kwargs)
        func = listed(func)
        if isinstance(func, (list, dict)):
            return applied_by_several(self, func, args, kwargs)
        if by_row is False:
            return of_whole_series(self, func, args, kwargs)
        options = {} if by_row == "compat" else {"by_row": by_row}
        return call_user("apply", self, func, (), {"args": args, **options, **kwargs}, meta)

    def squeeze(self, axis: Any = None) -> Any:
        """Return the series itself, also if it has one row: how many there are isn't known."""
        require_rows("squeeze", axis)
        return self

    def explode(self, ignore_index: bool = False) -> Any:
        """Return a row for each element of lists, under the label of their row."""
        return self._explode({}, ignore_index)

    def repeat(self, repeats: Any, axis: None = None) -> Any:
        """Return each value several times: a number, or a lazy series of numbers."""
        if not is_node(repeats) and not isinstance(repeats, (int, np.integer)):
            repeats = operand_of_rows(self, repeats, "repeat")
            if not is_node(repeats):
                raise refused("repeat", "repeats", repeats, "give a number, or one for each row")
        return operate(Method("repeat"), self, repeats, kind=LabelKeeping)

    def case_when(self, caselist: Any) -> Any:
        """Return the values replaced where conditions hold: the first that does counts.

        Conditions and values are lazy objects of the same rows, functions of this one, arrays, lists, pandas series by label, or constants.
        """
        pairs = collection_of("case_when", "caselist", caselist, "pairs of a condition and a value")
        for number, pair in enumerate(pairs):
            if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                raise ValueError(f"case_when: caselist[{number}]={pair!r} should be a pair of a condition and a value")
        flat = [value_of_rows(self, one, "case_when") for pair in pairs for one in pair]
        return operate(_case_when, self, *flat, label="case-when")

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Yield label and value, computing one partition after the other."""
        for part in self.partitions:
            yield from part._computed_by_pandas().items()

    def __iter__(self) -> Iterator[Any]:
        for part in self.partitions:
            yield from part._computed_by_pandas()

    def __contains__(self, label: object) -> bool:
        """Compute whether a row has a label, as pandas does."""
        return label in self.keys()

    def keys(self) -> Any:
        """Return the lazy index."""
        return operate(Attribute("index"), self)

    def tolist(self) -> list[Any]:
        """Compute, and return the values as a list."""
        return list(self._computed_by_pandas().tolist())

    to_list = tolist

    def item(self) -> Any:
        """Compute, and return the only value."""
        return self._computed_by_pandas().item()

    def add_prefix(self, prefix: str, axis: Any = None) -> Any:
        """Return the series with a text put before the labels."""
        require_rows("add_prefix", axis)
        return self._of_rows("add_prefix", {"prefix": prefix}, NewLabels)

    def add_suffix(self, suffix: str, axis: Any = None) -> Any:
        """Return the series with a text put after the labels."""
        require_rows("add_suffix", axis)
        return self._of_rows("add_suffix", {"suffix": suffix}, NewLabels)

    def filter(
        self, items: Any = None, like: Any = None, regex: Any = None, axis: Any = None, *, cond: Any = None
    ) -> Any:
        """Return the rows whose label contains a text or matches a regular expression, or where `cond` holds."""
        if cond is None and (callable(items) or is_node(items)):
            items, cond = None, items
        if cond is not None:
            return rows_of_condition(self, cond, (items, like, regex), axis)
        if items is not None:
            raise refused("filter", "items", items, "rows of labels are chosen by loc[[...]]")
        kwargs = {"like": like, "regex": regex}
        return self._of_rows("filter", {name: value for name, value in kwargs.items() if value is not None}, SomeRows)

    @property
    def dtypes(self) -> Any:
        """The values' dtype."""
        return self._meta.dtype

    def drop(self, labels: Any = None, *, axis: Any = 0, index: Any = None, columns: Any = None, level: Any = None,
             inplace: bool = False, errors: str = "raise") -> Any:  # fmt: skip
        """Return the rows without those of some labels. See `DataFrame.drop`."""
        return dropped_rows(self, labels if index is None else index, level, errors)


def _case_when(block: Any, *flat: Any) -> Any:
    return block.case_when(list(zip(flat[::2], flat[1::2], strict=True)))
