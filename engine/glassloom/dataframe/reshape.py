"""Other shapes of the same values: `melt`, `get_dummies`; conversions; counts of rows."""

from __future__ import annotations

from functools import partial, reduce
from operator import and_
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat, sample
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.collection import compute
from glassloom.dataframe.argument_kinds import whole_number
from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.assembled import assembled, constant
from glassloom.dataframe.at_hand import lazy_rows
from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Method
from glassloom.dataframe.column_nodes import ChosenByColumns, are_some
from glassloom.dataframe.column_places import columns_at, columns_named, numeric_columns
from glassloom.dataframe.columns import has_known_categories, require_columns
from glassloom.dataframe.columnwise import instead_of
from glassloom.dataframe.downcasting import downcast_numbers
from glassloom.dataframe.kept_rows import keep_some
from glassloom.dataframe.moving.numbering import renumber
from glassloom.dataframe.nodes import BlockOp, LabelKeeping, SomeRows
from glassloom.dataframe.numbered_levels import level_at, unnamed
from glassloom.dataframe.options import is_columns, refused
from glassloom.dataframe.plain_dummies import plain_dummies
from glassloom.dataframe.predicates import MOST_CONDITIONS
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.statistics import is_text_or_object
from glassloom.dataframe.time_texts import times_of_texts
from glassloom.dataframe.two_series import both_lazy
from glassloom.dataframe.wrap import is_node, operate, wrap
from glassloom.errors import OptionError

_UNSET: Any = pd.api.extensions.no_default


class Reshaping(Frame):
    """Methods of frames."""

    def melt(self, id_vars: Any = None, value_vars: Any = None, var_name: Any = None, value_name: Any = "value",
             col_level: Any = None, ignore_index: bool = True) -> Any:  # fmt: skip
        """Return a row for each value of some columns, beside the other columns.

        The rows come partition by partition, in each of them column by column as in pandas.

        Parameters
        ----------
        id_vars, value_vars
            The columns that are repeated, and those whose values become rows. Default: none, and all others.
        var_name, value_name
            What to call the columns of names and of values.
        col_level
            Not supported.
        ignore_index
            Whether to number the rows from 0, over all partitions.
        """
        if col_level is not None:
            raise refused("melt", "col_level", col_level, "give the columns one level of names")
        kwargs = {"id_vars": id_vars, "value_vars": value_vars, "var_name": var_name, "value_name": value_name}
        frame = self
        if value_vars is not None:
            given = [[one] if pd.api.types.is_scalar(one) else one for one in (id_vars, value_vars) if one is not None]
            columns = [name for names in given for name in names]
            names = list(dict.fromkeys(columns))
            frame = wrap(columns_named(self._expr, names)) if are_some(columns, self._expr) else self
        made = operate(_melted, frame, kind=LabelKeeping, kwargs=kwargs, label="melt")
        return wrap(renumber(made.expr)) if ignore_index else made

    def value_counts(self, subset: Any = None, normalize: bool = False, sort: bool = True, ascending: bool = False,
                     dropna: bool = True, *, split_every: int | None = None) -> Any:  # fmt: skip
        """Return how often each row occurs.

        Parameters
        ----------
        subset
            The columns to look at. Default: all.
        normalize
            Whether to return fractions of the total.
        sort, ascending
            Whether to sort by frequency, and in which direction; otherwise as the installed pandas does.
        dropna
            Whether to leave rows with missing values out.
        """
        names = list(self._meta.columns) if subset is None else subset if isinstance(subset, list) else [subset]
        require_columns(names, self._meta)
        meta = self._meta.value_counts(subset=subset, normalize=normalize)
        chunk = partial(_row_counts, names)
        finish: Any = partial(_counted_rows, names, normalize, sort, ascending, dropna)
        if subset is not None and not isinstance(subset, list):
            finish = partial(_labelled_plainly, finish)
        node = columns_named(self._expr, list(names))
        return wrap(tree(node, Operation(chunk, _added_counts, finish), meta, "value-counts", split_every=split_every))

    def corrwith(
        self,
        other: Any,
        axis: Any = 0,
        drop: bool = False,
        method: Any = "pearson",
        numeric_only: bool = False,
        min_periods: int | None = None,
    ) -> Any:
        """Return the correlation of each column with a series, or with the column of the same name, of the same rows."""
        if is_columns(axis, "corrwith"):
            raise refused("corrwith", "axis", axis, "correlations of rows are computed by apply(axis=1)")
        frame: Any
        frame, other = both_lazy(self, other)
        if not is_node(other):
            raise refused("corrwith", "other", other, "it takes a frame or series")
        is_series = isinstance(other.expr.meta, pd.Series)
        if numeric_only:
            frame = wrap(numeric_columns(frame.expr))
            other = other if is_series else wrap(numeric_columns(other.expr))
        columns: pd.Index = frame.columns
        own = columns if is_series else columns[columns.isin(other.columns)]
        others = own[:0] if drop or is_series else columns.union(other.columns).difference(own)
        if not len(own):  # as of any rows
            some = sample(frame.expr.meta).corrwith(sample(other.expr.meta), drop=drop, method=method)
            return constant(frame.expr, some, "corrwith")
        periods = min_periods if is_series else None  # pandas heeds it only then
        parts = [frame[name].corr(other if is_series else other[name], method, periods).expr for name in own]
        if not HAS_COPY_ON_WRITE and not is_series and columns.names != other.columns.names:
            own = own.set_names([None] * own.nlevels)
        labels = own.append(others) if len(others) else own
        some = sample(frame.expr.meta).corrwith(sample(other.expr.meta), drop=drop, method=method)
        return assembled(partial(_row, labels, some.dtype), parts, "corrwith")

    def nlargest(self, n: int, columns: Any, keep: str = "first", *, split_every: int | None = None) -> Any:
        """Return the `n` rows with the largest values in some columns, in one partition."""
        return self._extreme("nlargest", n, columns, keep, split_every)

    def nsmallest(self, n: int, columns: Any, keep: str = "first", *, split_every: int | None = None) -> Any:
        """Return the `n` rows with the smallest values in some columns, in one partition."""
        return self._extreme("nsmallest", n, columns, keep, split_every)

    def _extreme(self, method: str, n: int, columns: Any, keep: str, split_every: int | None) -> Any:
        require_columns(columns if isinstance(columns, list) else [columns], self._meta)
        n = whole_number(method, "n", n)
        return wrap(keep_some(self._expr, method, {"n": n, "columns": columns, "keep": keep}, split_every))

    def dropna(self, *, axis: Any = 0, how: Any = _UNSET, thresh: Any = _UNSET, subset: Any = None,
               inplace: bool = False, ignore_index: bool = False) -> Any:  # fmt: skip
        """Return the rows without missing values.

        Parameters
        ----------
        axis
            With 1 or ``"columns"`` columns are left out instead, whose missing values are counted now.
        how, thresh
            ``"any"`` or ``"all"``; or how many values a row needs.
        subset
            The columns to look at.
        ignore_index
            Whether to number the result's rows from 0.
        """
        if is_columns(axis, "dropna"):
            if subset is not None:
                raise refused(
                    "dropna",
                    "subset",
                    subset,
                    "with axis=1 columns are looked at whole: frame.loc[rows].dropna(axis=1)",
                )
            return self._without_columns(how, thresh)
        kwargs = {name: value for name, value in (("how", how), ("thresh", thresh)) if value is not _UNSET}
        if subset is not None:
            kwargs["subset"] = list(subset) if pd.api.types.is_list_like(subset) else [subset]
            require_columns(kwargs["subset"], self._meta)
        looked_at = kwargs.get("subset", ()) if how in (_UNSET, "any") and thresh is _UNSET else ()
        if 0 < len(looked_at) <= MOST_CONDITIONS and are_some(looked_at, self._expr):
            made = self[reduce(and_, [self[name].notna() for name in looked_at])]  # a condition, which reads may apply
        else:
            kind = ChosenByColumns if "subset" in kwargs else SomeRows
            made = operate(Method("dropna"), self, kind=kind, kwargs=kwargs)
        return wrap(renumber(made.expr)) if ignore_index else made

    def _without_columns(self, how: Any, thresh: Any) -> Any:
        """Return the columns that have enough values, which are counted now."""
        if how not in (_UNSET, "any", "all"):
            raise OptionError(f"dropna: how={how!r} should be 'any' or 'all'")
        if how is not _UNSET and thresh is not _UNSET:
            raise TypeError(f"dropna(how={how!r}, thresh={thresh!r}): give one of them, as in pandas")
        frame: Any = self
        counts, rows = compute(frame.count(), frame.index.size)
        least = thresh if thresh is not _UNSET else min(rows, 1) if how == "all" else rows
        return wrap(columns_at(frame.expr, np.flatnonzero((counts >= least).to_numpy()).tolist()))

    def categorize(self, columns: Any = None, index: bool | None = None, split_every: int | None = None) -> Any:
        """Return the frame with text columns as categories that are known. Computes the distinct values, now.

        Parameters
        ----------
        columns
            A column or a list. Default: those of text, and those whose categories are unknown.
        index
            Whether the labels become categories too. Default: if they are categories that aren't known.
        split_every
            How many partial results are joined at a time. Default 8.
        """
        meta = self._meta
        if columns is None:
            chosen = [
                name for name in meta.columns if _is_text(meta[name].dtype) or not has_known_categories(meta[name])
            ]
        else:
            chosen = columns if isinstance(columns, list) else [columns]
        require_columns(chosen, meta)
        made = wrap(self._expr)
        for name in chosen:
            made[name] = self[name].astype("category").cat.as_known(split_every=split_every)
        labels = meta.index
        if index is None:
            index = isinstance(labels.dtype, pd.CategoricalDtype) and not len(labels.categories)
        if not index or (isinstance(labels.dtype, pd.CategoricalDtype) and len(labels.categories)):
            return made
        column = made.index.to_series().astype("category").cat.as_known(split_every=split_every)
        return operate(_with_labels, made, column, kind=BlockOp, label="categorize")


def _encoded(meta: Any) -> list[Any]:
    """Return the columns that pandas' `get_dummies` replaces if none are named."""
    numbered = meta.set_axis(range(meta.shape[1]), axis=1)
    kept = set(pd.get_dummies(numbered).columns)
    return [name for place, name in enumerate(meta.columns) if place not in kept]


def _is_of_known_categories(series: Any) -> bool:
    return isinstance(series.dtype, pd.CategoricalDtype) and has_known_categories(series)


def _with_labels(block: Any, labels: Any) -> Any:
    return block.set_axis(pd.CategoricalIndex(labels.array, name=block.index.name), axis=0)


def _is_text(dtype: Any) -> bool:
    return bool(pd.api.types.is_string_dtype(dtype)) and not isinstance(dtype, pd.CategoricalDtype)


def _melted(block: Any, **kwargs: Any) -> Any:
    return block.melt(**kwargs, ignore_index=False)


def _row_counts(names: list[Any], block: Any) -> Any:
    """Return the counts of a partition's rows. Those with missing values, too: the other values of such rows are combined with categories."""
    keys = [block[name] for name in names]
    return block.groupby(keys, sort=False, dropna=False, observed=True).size().rename("count")


def _added_counts(counts: list[Any], *, observed: bool = True, dropna: bool = False, sort: bool = False) -> Any:
    whole = concat([one for one in counts if len(one)] or counts[:1])
    levels, names = list(range(whole.index.nlevels)), whole.index.names
    if not any(level_at(whole.index, level).dtype == object for level in levels):
        whole = whole.set_axis(unnamed(whole.index), axis=0)
        made = whole.groupby(level=levels, sort=sort, dropna=dropna, observed=observed).sum()
        made.index.names = names
        return made
    # pandas finds the dtype of keys that are objects from their values, if they are a column's and not a level's.
    keys = [pd.Series(values, dtype=values.dtype) for values in (level_at(whole.index, level) for level in levels)]
    return whole.reset_index(drop=True).groupby(keys, sort=sort, dropna=dropna, observed=observed).sum()


def _labelled_plainly(count: Any, counts: list[Any]) -> Any:
    """Return counts of one column under its values, not under tuples of them."""
    counted = count(counts)
    return counted.set_axis(pd.Index(counted.index.get_level_values(0)), axis=0)


def _counted_rows(
    names: list[Any], normalize: bool, sort: bool, ascending: bool, dropna: bool, counts: list[Any]
) -> Any:
    # pandas 3 lists all combinations of categories, where before it listed all of a single column; and it keeps the order of appearance
    observed = not HAS_COPY_ON_WRITE and len(names) > 1
    joined = _added_counts(counts, observed=observed, dropna=dropna, sort=not HAS_COPY_ON_WRITE)
    if sort:
        joined = joined.sort_values(ascending=ascending, kind="stable")
    if not isinstance(joined.index, pd.MultiIndex):
        joined.index = pd.MultiIndex.from_arrays([joined.index], names=names)
    if normalize:
        return (joined / joined.sum()).rename("proportion")
    return joined.astype("int64").rename("count")


def _row(labels: pd.Index, dtype: Any, *values: Any) -> Any:
    made = pd.Series([*values, *[np.nan] * (len(labels) - len(values))], index=labels)
    return made if isinstance(dtype, np.dtype) else made.astype(dtype)


# Functions of pandas' own namespace.


def melt(frame: Any, id_vars: Any = None, value_vars: Any = None, var_name: Any = None, value_name: Any = "value",
         col_level: Any = None, ignore_index: bool = True) -> Any:  # fmt: skip
    """Return a row for each value of some columns. See `DataFrame.melt`."""
    frame = lazy_rows("melt", frame)
    return frame.melt(id_vars, value_vars, var_name, value_name, col_level, ignore_index)


def from_dummies(data: Any, sep: str | None = None, default_category: Any = None) -> Any:
    """Return the category of each row, of a frame with a column for each that is true in one of them. The reverse of `get_dummies`.

    Parameters
    ----------
    data
        A lazy frame of such columns alone.
    sep
        What stands between the name of a column of the result and a category, in the names of the columns. Default: there is one such column.
    default_category
        The category of rows without any, or a dict of them by column. Without it, such a row is an error when computed.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> frame = gd.from_pandas(pd.DataFrame({"a": [1, 0, 0], "b": [0, 1, 1]}), npartitions=2)
    >>> gd.from_dummies(frame)[""].compute().tolist()
    ['a', 'b', 'b']
    """
    data = lazy_rows("from_dummies", data)
    return operate(
        pd.from_dummies, data, kwargs={"sep": sep, "default_category": default_category}, label="from-dummies"
    )


def get_dummies(data: Any, prefix: Any = None, prefix_sep: Any = "_", dummy_na: bool = False, columns: Any = None,
                sparse: bool = False, drop_first: bool = False, dtype: Any = None) -> Any:  # fmt: skip
    """Return a column for each category of categorical columns, true where a row has it.

    Parameters
    ----------
    data
        A lazy frame or series. Distinct values of columns that aren't of known categories (`DataFrame.categorize`) are computed now.
    prefix, prefix_sep, dummy_na, drop_first, dtype
        As pandas.
    columns
        The columns to replace. Default: those of text and categories.
    sparse
        Not supported.
    """
    data = lazy_rows("get_dummies", data)
    if sparse:
        raise refused("get_dummies", "sparse", sparse, "sparse columns aren't supported")
    meta = data.expr.meta
    if isinstance(meta, pd.Series):
        chosen = [meta.name]
        if not _is_of_known_categories(meta):
            data = data.astype("category").cat.as_known()
    else:
        if not meta.columns.is_unique:
            raise NotImplementedError(
                f"get_dummies of a frame with several columns {meta.columns[meta.columns.duplicated()][0]!r}: "
                "set_axis(names, axis=1) gives them names of their own"
            )
        chosen = list(columns) if columns is not None else _encoded(meta)
        unknown = [name for name in chosen if not _is_of_known_categories(meta[name])]
        data = data.categorize(unknown) if unknown else data
    options = {
        "prefix": prefix,
        "prefix_sep": prefix_sep,
        "dummy_na": dummy_na,
        "drop_first": drop_first,
        "dtype": dtype,
    }
    extra = {"columns": columns} if isinstance(meta, pd.DataFrame) else {}
    dtypes = [meta.dtype] if isinstance(meta, pd.Series) else [meta[name].dtype for name in chosen]
    plain = [name for name, dtype in zip(chosen, dtypes, strict=True) if not isinstance(dtype, pd.CategoricalDtype)]
    function = partial(plain_dummies, chosen, plain) if plain else pd.get_dummies
    return operate(function, data, kwargs={**options, **extra}, label="get-dummies")


@with_function_arguments()
def isna(obj: Any) -> Any:
    """Return where values are missing."""
    obj = lazy_rows("isna", obj)
    return obj.isna()


isnull = isna


def notna(obj: Any) -> Any:
    """Return where values are not missing."""
    obj = lazy_rows("notna", obj)
    return obj.notna()


notnull = notna


@instead_of(pd.to_datetime)
@with_function_arguments()
def to_datetime(arg: Any, errors: str = "raise", dayfirst: bool = False, yearfirst: bool = False, utc: bool = False,
                format: str | None = None, exact: bool = True, unit: str | None = None, origin: Any = "unix") -> Any:  # fmt: skip
    """Return text or numbers as times; a frame of year, month, day... as a series.

    Without `format` texts are parsed by that of the first one, which is looked for now unless rows have moved before. A dict of lazy series
    is a frame of them. Options are pandas'; ``errors="ignore"`` isn't supported.
    """
    if isinstance(arg, dict) and any(map(is_node, arg.values())):
        arg = _frame_of(arg)
    arg = lazy_rows("to_datetime", arg)
    if errors == "ignore":
        raise refused("to_datetime", "errors", errors, "'coerce' makes missing values of what is no time")
    options = {
        "errors": errors,
        "dayfirst": dayfirst,
        "yearfirst": yearfirst,
        "utc": utc,
        "format": format,
        "unit": unit,
    }
    kwargs = {
        **options,
        **({} if origin == "unix" else {"origin": origin}),
        **({} if exact is True else {"exact": exact}),
    }
    dtype = getattr(arg.expr.meta, "dtype", None)
    if format is None and unit is None and dtype is not None and is_text_or_object(dtype):
        return times_of_texts(arg, {name: value for name, value in kwargs.items() if name != "format"})
    text = "2000-01-02" if format is None or "%" not in format else pd.Timestamp(2000, 1, 2).strftime(format)
    return _converted(_of_filled(pd.to_datetime, text, arg, kwargs), arg, kwargs, "to-datetime")


def _frame_of(columns: dict[Any, Any]) -> Any:
    """Return a frame of lazy series and constants."""
    name, first = next((name, one) for name, one in columns.items() if is_node(one))
    made = first.to_frame(name=name).assign(**{other: one for other, one in columns.items() if other != name})
    return made[list(columns)]


@instead_of(pd.to_timedelta)
def to_timedelta(arg: Any, unit: str | None = None, errors: str = "raise") -> Any:
    """Return text or numbers as durations. ``errors="ignore"`` isn't supported."""
    arg = lazy_rows("to_timedelta", arg)
    if errors == "ignore":
        raise refused("to_timedelta", "errors", errors, "'coerce' makes missing values of what is no duration")
    kwargs = {"unit": unit, "errors": errors}
    return _converted(_of_filled(pd.to_timedelta, "1 day", arg, kwargs), arg, kwargs, "to-timedelta")


@with_function_arguments()
def to_numeric(arg: Any, errors: str = "raise", downcast: Any = None, dtype_backend: str | None = None) -> Any:
    """Return text as numbers. Each partition finds out whether they are whole; only errors "raise" and "coerce".

    With `downcast` ("integer", "signed", "unsigned", "float") the smallest dtype that holds all numbers is found out now.
    """
    arg = lazy_rows("to_numeric", arg)
    if errors == "ignore":
        raise refused("to_numeric", "errors", errors, "'coerce' makes missing values of what is no number")
    if downcast is not None:
        if not isinstance(arg.expr.meta, pd.Series):
            raise refused("to_numeric", "downcast", downcast, "it is for series; astype(...) afterwards")
        return downcast_numbers(to_numeric(arg, errors, dtype_backend=dtype_backend), downcast)
    more = {} if dtype_backend is None else {"dtype_backend": dtype_backend}
    made = _converted(pd.to_numeric, arg, {"errors": errors, **more}, "to-numeric")
    is_nullable = isinstance(made.expr.meta, pd.Series) and not isinstance(made.expr.meta.dtype, np.dtype)
    if made.npartitions == 1 or not is_nullable or not is_text_or_object(arg.expr.meta.dtype):
        return made
    any_value = wrap(tree(made.expr, Operation(_has_value, any, any), False, "any-value"))
    return operate(_as_whole_if_missing, made, any_value, label="to-numeric")


def _has_value(block: Any) -> bool:
    return bool(block.notna().any())


def _as_whole_if_missing(block: Any, has_others: bool) -> Any:
    """Return numbers that are all missing as whole ones if other partitions have values: of none at all pandas makes floats."""
    if not has_others or block.notna().any():
        return block
    return block.astype("int64[pyarrow]" if isinstance(block.dtype, pd.ArrowDtype) else "Int64")


def _of_filled(function: Any, text: str, arg: Any, kwargs: dict[str, Any]) -> Any:
    """Return a function that makes times or durations, in the unit of those that have values where there are none: pandas has another."""
    dtype = getattr(arg.expr.meta, "dtype", None)
    if dtype is None or not (is_text_or_object(dtype) or dtype.kind in "iuf"):
        return function
    try:
        like = function(pd.Series([text if dtype.kind not in "iuf" else 1], dtype=dtype), **kwargs).dtype
    except (TypeError, ValueError, OverflowError):
        return function
    return partial(_in_unit_of, function, like)


def _in_unit_of(function: Any, like: Any, block: Any, **kwargs: Any) -> Any:
    made = function(block, **kwargs)
    return made if len(made) else made.astype(like)


def _converted(function: Any, arg: Any, kwargs: dict[str, Any], label: str) -> Any:
    return operate(function, arg, kwargs=kwargs, label=label)
