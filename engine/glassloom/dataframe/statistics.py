"""Statistics that combine reductions: quantiles, `describe`, correlations, `agg`, and where extremes lie."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import columns_of, of_samples, sample
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION
from glassloom.dataframe.aggregated_tables import (
    described_columns,
    description_of_numbers,
    description_of_text,
    dtype_of,
    frame_of_quantiles,
    named_parts,
    named_rows,
    reduced_rows,
    reductions_of_rows,
    row_of_scalars,
    rows_by_column,
    stacked,
)
from glassloom.dataframe.all_values import flattened
from glassloom.dataframe.argument_kinds import collection_of, fraction
from glassloom.dataframe.assembled import assembled, constant
from glassloom.dataframe.at_hand import computed_now
from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Method
from glassloom.dataframe.column_places import columns_at, numeric_columns, places_chosen
from glassloom.dataframe.column_steps import numbers_of_objects
from glassloom.dataframe.columns import require_columns, require_distinct
from glassloom.dataframe.columnwise import (
    aggregated,
    aggregation_names,
    applied_to_columns,
    is_of_each_column,
    listed,
    require_distinct_names,
)
from glassloom.dataframe.correlation import correlation, correlation_of_two
from glassloom.dataframe.modes import mode_of, modes_side_by_side
from glassloom.dataframe.nodes import BlockOp, FrameExpr, Projection
from glassloom.dataframe.options import is_columns, refused
from glassloom.dataframe.python_functions import is_of_python
from glassloom.dataframe.quantiles import Wanted, column_quantiles, fractions_of
from glassloom.dataframe.rank_correlation import (
    matrix_by_pandas,
    matrix_of_ranks,
    pair_by_pandas,
    ranks_of_two,
    require_method,
)
from glassloom.dataframe.reduce import Length, join_all, value_counts
from glassloom.dataframe.reduction_names import is_reduction
from glassloom.dataframe.two_series import both_lazy, products, rows_of_both
from glassloom.dataframe.wrap import is_node, operate, wrap
from glassloom.errors import OptionError


class Statistics(Frame):
    """Methods of frames and series."""

    def quantile(self, q: Any = 0.5, axis: Any = 0, numeric_only: bool = False, interpolation: str = "linear",
                 method: str = "single", *, split_every: int | None = None) -> Any:  # fmt: skip
        """Return quantiles, exactly: partitions send histograms, and then the values near those that are wanted.

        Parameters
        ----------
        q
            A fraction, 0 to 1, or a list of them.
        axis
            0 or ``"index"``: of each column. 1 or ``"columns"``: of each row; a list of fractions makes columns of the rows, and is
            computed now, as in `transpose`.
        numeric_only
            Whether to leave out columns that aren't numbers.
        interpolation
            What to do between two values: as pandas.
        method
            Only ``"single"``, or for compatibility with Dask ``"default"``, ``"dask"``, ``"tdigest"``: it is exact.
        split_every
            How many partial results are joined at a time. Default 8.
        """
        _require_quantile_method("quantile", method)
        node = numeric_columns(self._expr) if numeric_only else self._expr
        if is_columns(axis, "quantile"):
            kwargs = {"q": q, "axis": 1, "interpolation": interpolation}
            if pd.api.types.is_list_like(q):
                instead = "quantile(axis=1) of each fraction by itself"
                return computed_now(wrap(node), "quantile(axis=1)", lambda block: block.quantile(**kwargs), instead)
            return operate(Method("quantile"), wrap(node), kwargs=kwargs)
        fractions, is_list = fractions_of(q)
        wanted = Wanted("quantile", fractions, interpolation, True)
        return self._ranked(node, wanted, partial(frame_of_quantiles, fractions, is_list), split_every, is_list)

    def median(
        self, axis: Any = 0, skipna: bool = True, numeric_only: bool = False, *, split_every: int | None = None
    ) -> Any:
        """Return the median, exactly: of a frame for each column, of a series as a scalar. See `quantile`."""
        node = numeric_columns(self._expr) if numeric_only else self._expr
        if axis is None and isinstance(node.meta, pd.DataFrame):
            node = flattened(node, "median")
        if axis is not None and is_columns(axis, "median"):
            return self._reduce("median", axis, {"skipna": skipna}, numeric_only, split_every)
        wanted = Wanted("median", (0.5,), "linear", skipna)
        numbers = numbers_of_objects(node.meta)
        like = of_samples(lambda some: some.median(skipna=skipna), numbers)
        if numbers is not node.meta:
            node = operate(numbers_of_objects, wrap(node), label="numbers").expr
            like = like.astype(object) if isinstance(like, pd.Series) else like
        return self._ranked(node, wanted, partial(row_of_scalars, getattr(like, "dtype", None)), split_every, True)

    def _ranked(
        self, node: FrameExpr, wanted: Wanted, join: Callable[..., Any], split_every: int | None, is_list: bool
    ) -> Any:
        if isinstance(node.meta, pd.DataFrame):
            names = node.meta.columns
            require_distinct(wanted.how, node.meta)
            parts = [column_quantiles(Projection(node, name), wanted, split_every) for name in names]
            meta = None
            if not parts:
                options = (
                    {"q": list(wanted.fractions) if is_list else wanted.fractions[0]}
                    if wanted.how == "quantile"
                    else {}
                )
                meta = getattr(node.meta, wanted.how)(**options)
            return (
                assembled(partial(join, names), parts, wanted.how, meta) if parts else constant(node, meta, wanted.how)
            )
        series = wrap(column_quantiles(node, wanted, split_every))
        return series if is_list else operate(_first_value, series, kind=BlockOp, label="quantile")

    def median_approximate(
        self, axis: Any = 0, method: str = "default", numeric_only: bool = False, *, split_every: int | None = None
    ) -> Any:
        """Return the median, which is exact here. Dask's name for a quicker one; see `median`."""
        _require_quantile_method("median_approximate", method)
        return self.median(axis, numeric_only=numeric_only, split_every=split_every)

    def nunique_approx(self, split_every: int | None = None) -> Any:
        """Return the number of distinct rows of a frame, or values of a series, missing ones among them: exactly. Dask's name."""
        return wrap(Length(self.drop_duplicates(split_out=True).expr))

    def skew(
        self, axis: Any = 0, skipna: bool = True, numeric_only: bool = False, *, split_every: int | None = None
    ) -> Any:
        """Return the skewness, without bias: of a frame for each column, of a series as a scalar."""
        return self._reduce("skew", axis, {"skipna": skipna}, numeric_only, split_every)

    def kurt(
        self, axis: Any = 0, skipna: bool = True, numeric_only: bool = False, *, split_every: int | None = None
    ) -> Any:
        """Return the excess kurtosis, without bias: of a frame for each column, of a series as a scalar."""
        return self._reduce("kurt", axis, {"skipna": skipna}, numeric_only, split_every)

    kurtosis = kurt

    def idxmin(
        self, axis: Any = 0, skipna: bool = True, numeric_only: bool = False, *, split_every: int | None = None
    ) -> Any:
        """Return the label of the first row with the smallest value: of a frame for each column."""
        return self._reduce("idxmin", axis, {"skipna": skipna}, numeric_only, split_every)

    def idxmax(
        self, axis: Any = 0, skipna: bool = True, numeric_only: bool = False, *, split_every: int | None = None
    ) -> Any:
        """Return the label of the first row with the largest value: of a frame for each column."""
        return self._reduce("idxmax", axis, {"skipna": skipna}, numeric_only, split_every)

    def describe(self, percentiles: Any = None, include: Any = None, exclude: Any = None, *, split_every: int | None = None) -> Any:  # fmt: skip
        """Return numbers of values, means, deviations, extremes and exact quantiles, or of text the most frequent value.

        Parameters
        ----------
        percentiles
            The fractions. Default: quarters.
        include, exclude
            Dtypes of the columns to describe; ``"all"`` for all. Default: numbers, and without any, all.
        split_every
            How many partial results are joined at a time. Default 8.
        """
        given = (
            (0.25, 0.5, 0.75)
            if percentiles is None
            else collection_of("describe", "percentiles", percentiles, "numbers")
        )
        fractions = tuple(fraction("describe", "percentiles", one) for one in given)
        fractions = tuple(
            sorted({*fractions, *(() if HAS_COPY_ON_WRITE else (0.5,))})
        )  # until pandas 3 always the median
        if isinstance(self._meta, pd.DataFrame):
            chosen = _described_places(self._meta, include, exclude)
            if not len(chosen):
                raise ValueError(
                    f"describe: the frame has no columns to describe; it has {list(self._meta.columns)[:20]!r}"
                )
            columns = [wrap(columns_at(self._expr, place)) for place in chosen]
        else:
            columns = [self]
        parts = [_description(column, fractions, split_every) for column in columns]
        if not isinstance(self._meta, pd.DataFrame):
            return parts[0]
        names = self._meta.columns[chosen]
        return assembled(partial(described_columns, names), [part.expr for part in parts], "describe")

    def agg(self, func: Any = None, /, axis: Any = 0, *args: Any, **kwargs: Any) -> Any:
        """Return one or several reductions.

        Parameters
        ----------
        func
            The name of a reduction or NumPy's function, a function of yours, a list of them, or of a frame a dict from column to those.
            Your functions get each column as a lazy series, and return a value, lazy or not.
        axis
            0, or of a frame 1 for reductions of each row; then your functions get each row as a pandas series.
        args, kwargs
            Passed on to each function. Without `func`, of a frame: ``name=(column, reduction)`` for a row of each.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"x": [1, 2, 4], "y": [10, 20, 25]}), npartitions=2)
        >>> frame.agg(["min", "max"]).compute().to_dict("list")
        {'x': [1, 4], 'y': [10, 25]}
        >>> frame.agg(lambda column: column.max() - column.min()).compute().to_dict()
        {'x': 3, 'y': 15}
        """
        if func is None:
            return self._agg_named(kwargs)
        if is_columns(axis, "agg"):
            return self._agg_of_rows(listed(func), args, kwargs)
        func = listed(func)
        if isinstance(func, dict):
            return self._agg_by_column(func) if isinstance(self._meta, pd.DataFrame) else self._agg_by_name(func)
        if isinstance(func, list):
            if not func:
                raise OptionError("agg: func=[] names no reduction; give some, such as ['sum', 'mean']")
            names = aggregation_names(func)
            if isinstance(self._meta, pd.DataFrame):
                return self._agg_list(func, args, kwargs)
            parts = [aggregated(self, one, args, kwargs).expr for one in func]
            return assembled(partial(stacked, names, self._meta.name), parts, "agg")
        if isinstance(self._meta, pd.DataFrame) and func == "size":
            require_distinct("agg", self._meta)
            return self._agg_by_column(dict.fromkeys(self._meta.columns, "size"))
        if isinstance(self._meta, pd.DataFrame) and callable(func) and not is_reduction(func):
            return applied_to_columns(self, func, args, kwargs, "agg")
        is_plain = not args and not kwargs and isinstance(self._meta, pd.DataFrame) and len(self._meta.columns) > 0
        if is_plain and (is_of_python(func) or is_of_each_column(func, self._meta)):
            require_distinct("agg", self._meta)
            return self._agg_by_column(dict.fromkeys(self._meta.columns, func))
        return aggregated(self, func, args, kwargs)

    aggregate = agg

    def _agg_of_rows(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return reductions of each row."""
        frame: Any = self
        if isinstance(func, str) and is_reduction(func):
            return reduced_rows(frame, func, args, kwargs)
        if isinstance(func, list) and func and all(isinstance(one, str) and is_reduction(one) for one in func):
            return reductions_of_rows(frame, func, aggregation_names(func), args, kwargs)
        if callable(func):
            return frame.apply(func, axis=1, args=args, **kwargs)
        raise refused("agg", "axis", 1, "with axis=1 give the name of a reduction, a list of names, or a function")

    def _agg_named(self, wanted: dict[str, Any]) -> Any:
        """Return a frame with a row for each named reduction of a column."""
        pairs = {name: named_parts(one) for name, one in wanted.items()}
        if not isinstance(self._meta, pd.DataFrame):
            return self._agg_by_name(wanted)
        if not pairs or any(len(pair) not in (2, 4) for pair in pairs.values()):
            raise TypeError(f"agg needs a reduction, or name=(column, reduction); got {wanted!r}")
        columns = [pair[0] for pair in pairs.values()]
        require_columns(columns, self._meta)
        parts = [aggregated(wrap(Projection(self._expr, column)), *how).expr for column, *how in pairs.values()]
        return assembled(partial(named_rows, list(pairs), columns), parts, "agg")

    def _agg_by_name(self, functions: dict[Any, Any]) -> Any:
        """Return a series of some reductions of this one under names of the caller's."""
        if not functions or any(isinstance(listed(one), (list, dict)) for one in functions.values()):
            raise refused(
                "agg", "func", functions, "of a series give a reduction, a list of those, or one for each name"
            )
        parts = [aggregated(self, how).expr for how in functions.values()]
        return assembled(partial(stacked, list(functions), self._meta.name), parts, "agg")

    def _agg_list(self, functions: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return a frame with a row for each of some reductions of each column."""
        frame: Any = self
        is_limited = bool(kwargs.get("numeric_only") or kwargs.get("bool_only"))
        if is_limited and PANDAS_VERSION < (3, 1):  # it asks the method of each column, which refuses it or ignores it
            sample(self._meta).agg(functions, 0, *args, **kwargs)
        elif kwargs.get("numeric_only"):
            frame = wrap(numeric_columns(self._expr))
        elif kwargs.get("bool_only"):
            frame = self.select_dtypes("bool")
        if not len(frame.columns):  # as of any rows
            return constant(self._expr, sample(self._meta).agg(functions, 0, *args, **kwargs), "agg")
        require_distinct("agg", frame.expr.meta)
        others = {name: value for name, value in kwargs.items() if name not in ("numeric_only", "bool_only")}
        return frame._agg_by_column(dict.fromkeys(frame.columns, functions), args, others, is_list=True)

    def _agg_by_column(
        self,
        functions: dict[Any, Any],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        *,
        is_list: bool = False,
    ) -> Any:
        if not functions:
            return constant(self._expr, sample(self._meta).agg(functions), "agg")
        require_columns(functions, self._meta)
        require_distinct("agg", self._meta.loc[:, self._meta.columns.isin(list(functions))])
        functions = {name: listed(one) for name, one in functions.items()}
        lists = {name: one if isinstance(one, list) else [one] for name, one in functions.items()}
        names = {name: tuple(aggregation_names(one)) for name, one in lists.items()}
        for every in names.values():
            require_distinct_names("agg", every)
        parts = [aggregated(self[column], how, args, kwargs).expr for column, every in lists.items() for how in every]
        are_single = not any(isinstance(one, list) for one in functions.values())
        dtypes = (
            {}
            if are_single
            else {
                column: dtype_of(columns_of(self._meta, [column]), every, is_list, args, kwargs or {})
                for column, every in lists.items()
                if all(map(is_reduction, every))
            }
        )
        columns = self._meta.columns
        labels = columns if is_list else pd.Index(list(names))
        if labels.nlevels == columns.nlevels:
            labels = labels.set_names(columns.names)
        return assembled(partial(rows_by_column, names, are_single, dtypes, labels), parts, "agg")


def _require_quantile_method(of: str, method: Any) -> None:
    if method not in ("single", "default", "dask", "tdigest"):
        raise refused(of, "method", method, "each column is ranked by itself, exactly")


def is_text_or_object(dtype: Any) -> bool:
    """Whether a dtype holds text or Python objects."""
    return pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype)


def _first_value(series: Any) -> Any:
    return series.iloc[0] if len(series) else np.nan


def _described_places(meta: Any, include: Any, exclude: Any) -> list[int]:
    """Return the places of the columns that `describe` is of."""
    every = list(range(meta.shape[1]))
    if include is None and exclude is None:  # times of a zone aren't among them, as in pandas
        return places_chosen(meta, lambda some: some.select_dtypes(include=[np.number, "datetime"])) or every
    if isinstance(include, str) and include == "all":
        if exclude is not None:
            raise ValueError("exclude must be None when include is 'all'")
        return every
    lists = [list(one) if pd.api.types.is_list_like(one) else one for one in (include, exclude)]
    return places_chosen(meta, lambda some: some.select_dtypes(*lists))


def _description(column: Any, fractions: tuple[float, ...], split_every: int | None) -> Any:
    meta = column.expr.meta
    name, dtype = meta.name, meta.dtype
    is_time = dtype.kind in "mM"
    if dtype.kind == "b" or not (is_time or pd.api.types.is_numeric_dtype(dtype)):
        counts = value_counts(
            column.expr, sort=True, ascending=False, dropna=True, normalize=False, split_every=split_every
        )
        return assembled(
            partial(description_of_text, name, dtype),
            [counts],
            "describe",
            description_of_text(name, dtype, meta.value_counts()),
        )
    parts = [column.count(split_every=split_every), column.mean(split_every=split_every)]
    parts += [column.min(split_every=split_every)]
    parts += [column.quantile(list(fractions), split_every=split_every)] if fractions else []
    parts += [column.max(split_every=split_every)]
    if dtype.kind != "M":
        parts.insert(2, column.std(split_every=split_every))
    labels = _labels(fractions, dtype.kind == "M")
    like = sample(meta).describe(percentiles=list(fractions))
    call = partial(description_of_numbers, labels, name, like.dtype)
    return assembled(call, [part.expr for part in parts], "describe", like.iloc[:0])


def _labels(fractions: tuple[float, ...], is_time: bool) -> list[str]:
    index = list(pd.Series([1.0]).describe(percentiles=list(fractions)).index)
    return [label for label in index if label != "std"] if is_time else index


class FrameStatistics(Statistics):
    """Methods of frames."""

    def corr(self, method: Any = "pearson", min_periods: int = 1, numeric_only: bool = False, *, split_every: int | None = None) -> Any:  # fmt: skip
        """Return the correlations of all pairs of columns.

        Parameters
        ----------
        method
            ``"pearson"``; ``"spearman"``, for which a column is ranked once for each other one that may have missing values; or
            ``"kendall"`` or a function of two arrays, for which all rows move to one partition.
        min_periods
            The number of rows with both values that a correlation needs.
        numeric_only
            Whether to leave out columns that aren't numbers.
        """
        if method == "kendall" or callable(method):
            whole = join_all(numeric_columns(self._expr) if numeric_only else self._expr)
            return assembled(partial(matrix_by_pandas, {"method": method, "min_periods": min_periods}), [whole], "corr")
        require_method("corr", method)
        matrix = self._matrix("corr", min_periods, 1, numeric_only, split_every)
        if method == "pearson":
            return matrix
        frame = wrap(numeric_columns(self._expr) if numeric_only else self._expr)
        require_distinct("corr", frame._meta)
        function, parts = matrix_of_ranks(frame, lambda one, other: one.corr(other, "spearman", min_periods))
        return assembled(function, parts, "corr", matrix._meta) if parts else matrix

    def cov(self, min_periods: int | None = None, ddof: int | None = 1, numeric_only: bool = False, *, split_every: int | None = None) -> Any:  # fmt: skip
        """Return the covariances of all pairs of columns."""
        return self._matrix("cov", min_periods or 1, 1 if ddof is None else ddof, numeric_only, split_every)

    def _matrix(self, how: str, min_periods: int, ddof: int, numeric_only: bool, split_every: int | None) -> Any:
        node = numeric_columns(self._expr) if numeric_only else self._expr
        if not len(node.meta.columns):
            return constant(node, getattr(node.meta, how)(), how)
        kept = [name for name, dtype in node.meta.dtypes.items() if not is_text_or_object(dtype)]
        getattr(
            columns_of(sample(node.meta), kept), how
        )()  # what pandas objects to is raised here; text may be of numbers
        return wrap(correlation(node, how, min_periods, ddof, split_every))

    def mode(
        self, axis: Any = 0, numeric_only: bool = False, dropna: bool = True, *, split_every: int | None = None
    ) -> Any:
        """Return the most frequent values of each column, sorted; columns with fewer are filled up with missing ones."""
        if is_columns(axis, "mode"):
            raise refused("mode", "axis", axis, "apply(lambda row: row.mode()..., axis=1, meta=...)")
        frame = wrap(numeric_columns(self._expr) if numeric_only else self._expr)
        names = frame.columns
        if not len(names):
            return constant(frame.expr, frame.expr.meta.mode(), "mode")
        require_distinct("mode", frame._meta)
        parts = [mode_of(frame[name].expr, dropna, split_every) for name in names]
        return assembled(partial(modes_side_by_side, names), parts, "mode")

    def dot(self, other: Any) -> Any:
        """Return the matrix product with values at hand: for each row a sum over the columns.

        Parameters
        ----------
        other
            A pandas series or frame whose labels are this frame's columns, or an array of as many rows as there are columns.
        """
        if is_node(other):
            raise refused("dot", "other", other, "compute() it first: each row is multiplied by all of it")
        if not isinstance(other, (pd.Series, pd.DataFrame, np.ndarray)):
            other = np.asarray(other)
        return operate(Method("dot"), self, other)

    def __matmul__(self, other: Any) -> Any:
        return self.dot(other)

    def nunique(self, axis: Any = 0, dropna: bool = True, *, split_every: int | None = None) -> Any:
        """Return the number of distinct values of each column, or with ``axis=1`` of each row."""
        return self._reduce("nunique", axis, {"dropna": dropna}, False, split_every)


class SeriesStatistics(Statistics):
    """Methods of series."""

    def corr(self, other: Any, method: Any = "pearson", min_periods: int | None = None, *, split_every: int | None = None) -> Any:  # fmt: skip
        """Return the correlation with another series: Pearson's, or as `DataFrame.corr` has others."""
        if isinstance(other, pd.Series):
            lazy, other = both_lazy(self, other)
            return lazy.corr(other, method, min_periods, split_every=split_every)
        if method == "kendall" or callable(method):
            pair = self._pair("corr", other)
            return assembled(
                partial(pair_by_pandas, method, min_periods), [join_all(pair.expr)], "corr", np.float64(0.5)
            )
        require_method("corr", method)
        if method == "spearman" and is_node(other) and isinstance(other.expr.meta, pd.Series):
            one: Any = self
            if other.expr.rows != self.expr.rows:
                pair = self._pair("corr", other)
                one, other = pair["one"], pair["other"]
            ranks, others = ranks_of_two(one, other)
            return ranks.corr(others, "pearson", min_periods, split_every=split_every)
        return self._with_other("corr", other, min_periods, 1, split_every)

    def cov(
        self, other: Any, min_periods: int | None = None, ddof: int | None = 1, *, split_every: int | None = None
    ) -> Any:
        """Return the covariance with another series."""
        return self._with_other("cov", other, min_periods, 1 if ddof is None else ddof, split_every)

    def autocorr(self, lag: int = 1, *, split_every: int | None = None) -> Any:
        """Return the correlation with the values `lag` rows before, also over borders of partitions."""
        return self.corr(self.shift(lag), split_every=split_every)

    def dot(self, other: Any, *, meta: Any = None) -> Any:
        """Return the sum of the products with another series of the same rows; with a frame, one sum a column.

        Parameters
        ----------
        other
            A lazy or pandas series or frame of the same rows, or an array of a value for each row.
        meta
            Taken for compatibility with Dask: the result's dtype is known.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> x = gd.from_pandas(pd.Series([1, 2, 3]), npartitions=2)
        >>> int(x.dot(x).compute())
        14
        """
        if isinstance(other, (pd.Series, pd.DataFrame)):
            one, other = both_lazy(self, other)
            return one.dot(other)
        if isinstance(other, np.ndarray) and other.ndim == 1:
            return (self * other).sum(skipna=False)
        if not is_node(other) or not isinstance(other.expr.meta, (pd.Series, pd.DataFrame)):
            raise TypeError(f"dot needs a lazy series or frame of the same rows, got {type(other).__name__}")
        if other.expr.rows != self.expr.rows:
            total = operate(products, self, other, kwargs={"axis": 0}, label="dot").sum(skipna=False)
            return total if isinstance(other.expr.meta, pd.Series) else total.rename(self._meta.name)
        if isinstance(other.expr.meta, pd.DataFrame):
            return other.mul(self, axis=0).sum(skipna=False).rename(self._meta.name)
        return (self * other).sum(skipna=False)

    def __matmul__(self, other: Any) -> Any:
        return self.dot(other)

    def _with_other(self, how: str, other: Any, min_periods: int | None, ddof: int, split_every: int | None) -> Any:
        return wrap(correlation_of_two(self._pair(how, other).expr, how, min_periods or 1, ddof, split_every))

    def _pair(self, how: str, other: Any) -> Any:
        one, other = both_lazy(self, other)
        if not is_node(other) or not isinstance(other.expr.meta, pd.Series):
            raise refused(how, "other", other, "it takes a series")
        return operate(rows_of_both, one, other, label="pair")

    def mode(self, dropna: bool = True, *, split_every: int | None = None) -> Any:
        """Return the most frequent values, sorted."""
        return wrap(mode_of(self._expr, dropna, split_every))

    def nunique(self, dropna: bool = True, *, split_every: int | None = None) -> Any:
        """Return the number of distinct values."""
        return self._reduce("nunique", 0, {"dropna": dropna}, False, split_every)
