"""Arguments of pandas' and Dask's methods that ours have no use for: taken at the values that change nothing, otherwise refused by name.

Also other names of arguments, and the order of those that are given by position, where a method's own differ from pandas'. A class gets
all of that by `with_arguments`. `docs/dataframe-support.md` shows the table.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar, cast

import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.by_name import places_by_name, with_places_filled
from glassloom.dataframe.lazy_arguments import hiding_as, with_lazy_arguments_checked
from glassloom.dataframe.method_names import methods_named
from glassloom.dataframe.options import refused
from glassloom.dataframe.whole_numbers import WholeNumbers

_Function = TypeVar("_Function", bound=Callable[..., Any])
ANY: tuple[Any, ...] = ("any",)
"""Stands for all values: the argument never changes a result here."""


class Untaken(NamedTuple):
    """An argument that a method doesn't compute with: the values that change nothing, the usual one first, and what to do instead."""

    usual: tuple[Any, ...]
    instead: str

    def allows(self, value: Any) -> bool:
        """Whether a value changes nothing."""
        if self.usual is ANY or type(value).__name__ in ("_NoDefault", "NoDefault"):
            return True
        return any(value is one or (type(value) is type(one) and value == one) for one in self.usual)


_OPERATORS = "add sub mul div divide truediv floordiv mod pow multiply subtract radd rsub rmul rdiv rtruediv rfloordiv rmod rpow eq ne lt le gt ge"
_COMPARISONS = "eq ne lt le gt ge"
_REDUCTIONS = "sum prod product mean std var sem min max any all"
_ONE_LEVEL = "divisions are of one level; reset_index() makes levels columns"
_NO_COPY = "partitions are never copied unless they have to be"
_INTO_ARRAY = "results are new objects"
_EXACT = "quantiles are exact"
_ENGINE = "pandas' own loops run in all threads; map_partitions() runs a function of Numba's"
_CYTHON = (None, "cython")
_MOVED_BY_TASKS = "there is one way to move rows; leave it out"
_METHODS = (None, True, False, "tasks", "disk", "p2p")
_WITHOUT_BIAS = "it is computed without bias, as pandas has it"

_ROWS: tuple[tuple[str, str, str, tuple[Any, ...], str], ...] = (
    # Of frames and series.
    ("Series", "divmod rdivmod", "level", (None,), _ONE_LEVEL),
    ("DataFrame Series", "align reindex", "level", (None,), _ONE_LEVEL),
    ("DataFrame Series", "align astype infer_objects reindex rename rename_axis swaplevel to_period to_timestamp truncate tz_convert tz_localize", "copy", ANY, _NO_COPY),
    ("DataFrame Series", _REDUCTIONS + " cumsum cumprod cummin cummax median", "out", (None,), _INTO_ARRAY),
    ("DataFrame Series", _REDUCTIONS + " cumsum cumprod cummin cummax median", "dtype", (None,), "astype() before, or of the result"),
    ("DataFrame Series", "round clip", "out", (None,), _INTO_ARRAY),
    ("Series", "argmax argmin", "out", (None,), _INTO_ARRAY),
    ("DataFrame", "apply", "by_row", ("compat", False), "give one function"),
    ("DataFrame", "apply", "engine", (None, "python"), _ENGINE),
    ("DataFrame", "apply", "engine_kwargs", (None,), _ENGINE),
    ("Series", "apply", "axis", (0, "index"), "a series has rows alone"),
    ("DataFrame", "map", "engine", (None,), _ENGINE),
    ("Series", "map", "engine", (None,), _ENGINE),
    ("DataFrame", "transpose", "copy", ANY, _NO_COPY),
    ("DataFrame", "dot", "meta", ANY, "the result's dtypes are known"),
    ("DataFrame Series", "describe", "percentiles_method", ("default", "dask", "tdigest"), _EXACT),
    ("DataFrame Series", "skew kurt kurtosis", "bias", (False,), _WITHOUT_BIAS),
    ("DataFrame Series", "skew kurt kurtosis", "nan_policy", ("omit",), "skipna=False makes the result missing where a value is"),
    ("DataFrame Series", "kurt kurtosis", "fisher", (True,), "add 3 for Pearson's"),
    ("DataFrame Series", "reindex_like", "method", (None,), "merge_asof()"),
    ("DataFrame Series", "reindex_like", "copy", ANY, _NO_COPY),
    ("DataFrame Series", "reindex_like", "limit", (None,), "ffill(limit=...) or bfill(limit=...) afterwards"),
    ("DataFrame Series", "reindex_like", "tolerance", (None,), "merge_asof(tolerance=...)"),
    ("DataFrame Series", "filter", "na", (False,), "fillna(True) of the condition"),
    ("DataFrame Series", "sample", "axis", (None, 0, "index", "rows"), "choose columns by frame[[...]]"),
    ("DataFrame", "set_index", "verify_integrity", (False,), "frame.index.is_unique tells"),
    ("DataFrame", "set_index sort_values", "upsample", ANY, "borders of partitions are chosen by a sample of a fixed size"),
    ("DataFrame", "set_index sort_values", "partition_size", ANY, "npartitions= says how many partitions there are; repartition(partition_size=...) of the result cuts it"),
    ("DataFrame", "set_index", "max_branch compute", ANY, "rows move once, whatever their number; persist() the result to compute it now"),
    ("DataFrame Series", "shuffle", "max_branch", ANY, "rows move once, whatever their number"),
    ("DataFrame Series", "shuffle", "force", ANY, "rows move if they have to"),
    ("DataFrame Series Index Scalar", "persist", "fuse", ANY, "plans are fused in any case"),
    ("DataFrame Series Index Scalar", "compute", "fuse", ANY, "plans are fused in any case"),
    ("DataFrame Series Index Scalar", "compute persist", "num_workers", (None,), "set the option threads.n-threads, or start a LocalCluster(n_workers=...)"),
    ("DataFrame Series Index Scalar", "compute", "concatenate", (True,), "to_delayed() gives one value a partition"),
    ("DataFrame Series", "to_dask_array", "optimize", ANY, "plans are optimised in any case"),
    ("DataFrame Series Index", "visualize", "tasks", ANY, "the graph of tasks is drawn in any case"),
    ("DataFrame Series Index", "explain", "stage", (None, "fused"), "it shows the plan before and after"),
    ("DataFrame Series Index", "explain", "format", (None,), "visualize() draws the graph"),
    ("DataFrame Series Index", "map_partitions", "parent_meta", ANY, "the result is described by meta="),
    ("DataFrame Series Index", "map_partitions", "required_columns", ANY, "choose the columns before: frame[[...]].map_partitions(...)"),
    ("Series", "divmod rdivmod", "axis", (0, "index"), "a series has rows alone"),
    ("Series", "nunique", "split_out", ANY, "the result is one number"),
    ("Index", "nunique", "split_out", ANY, "the result is one number"),
    ("Series", "map", "is_monotonic", ANY, "the labels stay the same"),
    ("Index", "map", "is_monotonic", (False,), "set_index(sorted=True) finds out the divisions again"),
    # Of indexes.
    ("Index", "astype", "copy", ANY, _NO_COPY),
    ("Index", "take", "allow_fill", (True, None), "positions are those of labels that are there"),
    ("Index", "take", "fill_value", (None,), "positions are those of labels that are there"),
    ("Index", "min max", "axis", (None, 0), "an index has rows alone"),
    ("Index", "min max", "skipna", (True,), "hasnans tells whether a label is missing"),
    ("Index", "min max", "numeric_only", (False,), "there is one column of labels"),
    ("Index", "any all", "axis", (None, 0), "an index has rows alone"),
    ("Index", "any all", "skipna", (True,), "hasnans tells whether a label is missing"),
    ("Index", "fillna", "axis", (None, 0), "an index has rows alone"),
    ("Index", "rename set_names", "inplace", (False,), "index.name = ... sets the name of this index"),
    ("Index", "rename", "sorted_index", (False,), "set_index(sorted=True) finds out the divisions again"),
    ("Index", "intersection", "sort", (False,), "to_series().sort_values().index sorts the labels"),
    ("Index", "drop_duplicates", "keep", ("first",), "to_series().drop_duplicates(keep=...).index"),
    ("Index", "drop_duplicates", "ignore_index", (False,), "labels aren't numbered"),
    ("Index", "to_series", "index", (None,), "to_frame() with other labels, by assigning .index"),
    ("Index", "to_frame", "index", (True,), "to_frame().reset_index(drop=True)"),
    # Of groups.
    ("GroupBy", "agg aggregate max mean min std sum transform var", "engine", _CYTHON, _ENGINE),
    ("GroupBy", "agg aggregate max mean min std sum transform var", "engine_kwargs", (None,), _ENGINE),
    ("GroupBy", "apply bfill ffill shift transform corr cov unique value_counts", "shuffle_method", _METHODS, _MOVED_BY_TASKS),
    ("GroupBy", "corr cov head tail unique value_counts", "split_every", ANY, "rows of a group are brought together at once"),
    ("GroupBy", "head tail", "split_out", (None, 1, True, False), "rows stay in their partitions"),
    ("GroupBy", "first last", "sort", (None, True), "groupby(sort=False)"),
    ("GroupBy", "expanding rolling ewm", "method", ("single",), "columns are computed one by one"),
    ("GroupBy", "ewm", "times", (None,), "apply() of a function that calls ewm(times=...) with each group's"),
    ("GroupBy", "rolling", "axis", (0, "index"), "windows are over rows"),
    ("GroupBy", "resample", "convention", (None, "start"), "periods become times by to_timestamp()"),
    ("GroupBy", "resample", "offset", (None,), "origin= moves the bins"),
    ("GroupBy", "resample", "group_keys", (False, None), "the keys of groups come first in the result"),
    ("GroupBy", "resample", "include_groups", (False,), "the keys of groups aren't among the values"),
    ("GroupBy", "shift", "meta", ANY, "the result's dtypes are known"),
    ("GroupBy", "value_counts", "bins", (None,), "glassloom.dataframe.cut(series, bins) before"),
    # Of functions.
    ("function", "to_datetime to_numeric", "meta", ANY, "the result's dtype is known"),
    ("function", "factorize", "size_hint", ANY, "the distinct values are brought together in any case"),
    ("function", "read_csv read_table read_fwf read_json", "sample", ANY, "columns and dtypes are taken from the first thousand rows"),
    ("function", "read_csv read_table read_fwf", "sample_rows", ANY, "columns and dtypes are taken from the first thousand rows"),
    ("function", "read_csv read_table read_fwf", "enforce", ANY, "a file that lacks columns of the first one is an error in any case"),
    ("function", "read_json", "typ", ("frame",), "choose a column of the frame"),
    ("function", "read_orc", "aggregate_files", (None, False), "repartition() joins small partitions"),
    ("function", "read_parquet", "calculate_divisions gather_statistics", ANY, "divisions are taken from the footers' statistics where these have them"),
    ("function", "read_parquet", "ignore_metadata_file", ANY, "_metadata files are never read; the footers of the files are"),
    ("function", "read_parquet", "metadata_task_size", ANY, "footers are read at once, by threads"),
    ("function", "read_parquet", "read_from_paths", (None, True, False), "files are read by themselves in any case"),
    ("function", "read_parquet", "parquet_file_extension", (None, (".parq", ".parquet", ".pq"), ".parquet"), "give a glob such as 'folder/*.data'"),
    ("function", "read_parquet", "use_nullable_dtypes", (False, None), "give dtype_backend='numpy_nullable'"),
    ("function", "read_parquet", "to_pandas_kwargs arrow_to_pandas", (None, {}), "dtype_backend= chooses dtypes; astype() changes them"),
    ("function", "read_sql read_sql_query read_sql_table", "chunksize", (None,), "set npartitions or bytes_per_chunk"),
    ("function", "read_sql read_sql_query read_sql_table", "coerce_float", (True,), "astype(object) of the columns"),
    ("function", "to_json", "errors", ("strict",), "encoding= says how text is written"),
    ("function", "to_csv", "scheduler", (None,), "give compute_kwargs={'scheduler': ...}"),
    ("function", "to_orc", "engine_kwargs", (None,), "give PyArrow's options as arguments"),
    ("function", "concat", "levels", (None,), "the levels are those that keys= has; set_levels() of the computed index has others"),
    ("function", "concat", "copy", ANY, _NO_COPY),
    ("function", "concat", "ignore_order", ANY, "the order of unlike categories never matters"),
    ("function", "to_datetime", "cache infer_datetime_format", ANY, "pandas decides by itself"),
    ("function", "to_numeric", "meta", ANY, "the result's dtype is tried out"),
    ("function", "from_array from_dask_array", "meta", ANY, "the array's dtype is known"),
    ("function", "from_delayed", "prefix", ANY, "tasks are named by what they are made of"),
    ("function", "from_dict", "constructor", (pd.DataFrame, None), "to_backend() moves partitions to another library"),
    ("function", "from_map", "label", ANY, "tasks are called as the function is"),
    # Of windows.
    ("Rolling", "corr cov", "numeric_only", (False,), "they are of two series"),
    ("Exponential", "mean sum", "engine", _CYTHON, _ENGINE),
    ("Exponential", "mean sum", "engine_kwargs", (None,), _ENGINE),
)  # fmt: skip


def _table() -> dict[tuple[str, str], dict[str, Untaken]]:
    table: dict[tuple[str, str], dict[str, Untaken]] = {}
    for kinds, methods, arguments, usual, instead in _ROWS:
        for kind in kinds.split():
            for method in methods.split():
                rules = table.setdefault((kind, method), {})
                rules.update({argument: Untaken(usual, instead) for argument in arguments.split()})
    return table


UNTAKEN: dict[tuple[str, str], dict[str, Untaken]] = _table()
"""By ``(class, method)`` and argument."""

OTHER_NAMES: dict[tuple[str, str], dict[str, str]] = {
    ("DataFrame", "apply"): {"function": "func"},
    ("Series", "apply"): {"function": "func"},
    ("Series", "map"): {"arg": "func"},
    ("Index", "map"): {"arg": "mapper"},
    ("DataFrame", "astype"): {"dtypes": "dtype"},
    ("Series", "astype"): {"dtypes": "dtype"},
    ("Index", "astype"): {"dtypes": "dtype"},
    ("Index", "rename"): {"index": "name"},
    ("Index", "set_names"): {"names": "name"},
    ("DataFrame", "set_index"): {"other": "keys"},
    ("GroupBy", "get_group"): {"key": "name"},
    **{
        ("function", name): {"filepath_or_buffer": "path", "urlpath": "path"}
        for name in ("read_csv", "read_table", "read_fwf")
    },
    ("function", "read_json"): {"path_or_buf": "path", "url_path": "path", "errors": "encoding_errors"},
    ("function", "to_csv"): {"path_or_buf": "path", "filename": "path", "df": "frame"},
    ("function", "to_json"): {"path_or_buf": "path", "filename": "path", "url_path": "path", "df": "frame"},
    ("function", "to_parquet"): {"df": "frame", "partition_cols": "partition_on"},
    ("function", "to_orc"): {"df": "frame", "index": "write_index"},
    ("function", "to_sql"): {"df": "frame", "uri": "con"},
    ("function", "to_bag"): {"df": "frame"},
    ("function", "to_records"): {"df": "frame"},
    ("function", "repartition"): {"df": "frame"},
    ("function", "map_overlap"): {"df": "frame"},
    ("function", "concat"): {"dfs": "objs", "frames": "objs"},
    ("function", "isna"): {"arg": "obj"},
    ("function", "pivot_table"): {"df": "data"},
    ("function", "from_array"): {"arr": "x"},
    ("function", "from_delayed"): {"dfs": "parts"},
    ("function", "from_map"): {"function": "func"},
}
"""What arguments are called in other libraries, or in other versions of pandas, and here."""

_OF_FRAMES, _OF_SERIES = "other axis level fill_value", "other level fill_value axis"
ORDERS: dict[tuple[str, str], str] = {
    **{("DataFrame", name): _OF_FRAMES for name in _OPERATORS.split() if name not in _COMPARISONS.split()},
    **{("DataFrame", name): "other axis level" for name in _COMPARISONS.split()},
    **{("Series", name): _OF_SERIES for name in (_OPERATORS + " divmod rdivmod").split()},
    **{(kind, "align"): "other join axis level copy fill_value" for kind in ("DataFrame", "Series")},
    **{(kind, "astype"): "dtype copy errors" for kind in ("DataFrame", "Series")},
    **{(kind, "tz_convert"): "tz axis level copy" for kind in ("DataFrame", "Series")},
    **{(kind, "tz_localize"): "tz axis level copy ambiguous nonexistent" for kind in ("DataFrame", "Series")},
    **{(kind, "truncate"): "before after axis copy" for kind in ("DataFrame", "Series")},
    **{(kind, "infer_objects"): "copy" for kind in ("DataFrame", "Series")},
    ("DataFrame", "to_period"): "freq axis copy",
    ("DataFrame", "to_timestamp"): "freq how axis copy",
    ("Series", "to_period"): "freq copy",
    ("Series", "to_timestamp"): "freq how copy",
    ("Series", "swaplevel"): "i j copy",
    ("Series", "quantile"): "q interpolation",
    ("Series", "map"): "func na_action engine",
    ("DataFrame", "sample"): "n frac replace weights random_state axis ignore_index",
    ("Series", "sample"): "n frac replace weights random_state axis ignore_index",
    ("Index", "take"): "indices axis allow_fill fill_value",
    ("DataFrame", "apply"): "func axis raw result_type args by_row engine engine_kwargs",
    ("DataFrame", "corrwith"): "other axis drop method numeric_only min_periods",
    **{(kind, "reindex_like"): "other method copy limit tolerance" for kind in ("DataFrame", "Series")},
    ("Index", "intersection"): "other sort",
    ("Index", "min"): "axis skipna",
    ("Index", "max"): "axis skipna",
    ("Index", "astype"): "dtype copy",
    ("Index", "to_series"): "index name",
    **{("GroupBy", name): "skipna numeric_only" for name in ("idxmax", "idxmin", "skew", "kurt")},
    **{("GroupBy", name): "numeric_only min_count skipna engine engine_kwargs" for name in ("max", "min", "sum")},
    **{("GroupBy", name): "ddof engine engine_kwargs numeric_only skipna" for name in ("std", "var")},
    ("GroupBy", "mean"): "numeric_only skipna engine engine_kwargs",
    ("GroupBy", "ewm"): "com span halflife alpha min_periods adjust ignore_na times method",
    ("GroupBy", "expanding"): "min_periods method",
    ("GroupBy", "rolling"): "window min_periods center win_type on closed method",
    ("GroupBy", "resample"): "rule closed label convention on origin offset group_keys",
    ("Rolling", "corr"): "other pairwise ddof numeric_only",
    ("Rolling", "cov"): "other pairwise ddof numeric_only",
    ("Exponential", "mean"): "numeric_only engine engine_kwargs",
    ("Exponential", "sum"): "numeric_only engine engine_kwargs",
    ("function", "factorize"): "values sort use_na_sentinel size_hint",
    ("function", "read_orc"): "path columns dtype_backend filesystem",
    ("function", "to_datetime"): "arg errors dayfirst yearfirst utc format exact unit origin cache",
}
"""Which arguments can be given by position, in pandas' order, where it isn't the order of ours."""


_STABLE = "all sorts are stable"
_WITHOUT_PATH = "pandas returns bytes without a path; frames are written to files"
_DIFFERENT: tuple[tuple[str, str, str, str], ...] = (
    ("DataFrame Series", "fillna", "value", "a frame without one says how to fill from neighbours"),
    ("DataFrame Series", "groupby", "sort", "True sorts partitions of a result among each other, too, if there are several"),
    ("DataFrame Series", "info", "memory_usage", "bytes are computed only if asked for"),
    ("DataFrame Series", "info", "show_counts", "values are counted only if asked for"),
    ("DataFrame Series", "reindex", "fill_value", "the default is the missing value of each dtype"),
    ("DataFrame Series", "sort_index sort_values", "kind", _STABLE),
    ("DataFrame function", "to_orc to_parquet", "path", _WITHOUT_PATH),
    ("DataFrame Series", "to_csv to_json", "path_or_buf", _WITHOUT_PATH),
    ("DataFrame Series", "to_csv", "encoding", "None is UTF-8 too"),
    ("DataFrame Series", "to_csv to_json", "compression", "the default, 'infer', goes by the name that is given"),
    ("DataFrame", "to_parquet", "engine", "PyArrow writes the files"),
    ("function", "read_csv read_table read_fwf", "lineterminator compression", "they are passed on to pandas"),
    ("function", "read_json", "orient lines", "by default a record a line, so that files can be read in blocks"),
    ("function", "read_parquet", "", "pandas has engine= second, Dask columns=; give both by name"),
    ("function", "read_parquet", "engine", "PyArrow reads the files"),
    ("function", "read_sql read_sql_query", "", "index_col= is needed, to cut by; give what follows by name"),
    ("function", "read_sql_table", "", "Dask has index_col= third, as here; pandas schema="),
    ("function", "read_sql read_sql_query read_sql_table", "index_col", "it is needed, to cut by"),
    ("function", "to_datetime", "cache", "pandas decides by itself"),
    ("function", "compute", "get", "scheduler= says where to run"),
    ("function", "map_overlap", "meta enforce_metadata transform_divisions clear_divisions align_dataframes", "they are passed on to the method"),
    ("DataFrame Series", "to_json", "orient lines", "by default a record a line, so that files can be read in blocks"),
    ("Series", "sum prod product std sem var", "axis", "0 and None are the same for a series"),
    ("Series", "reindex", "", "labels= and index= are the same for a series"),
    ("DataFrame Series", "filter", "arg", "pandas takes it by position only"),
    ("DataFrame Series", "filter", "", "items= is the first argument too"),
    ("DataFrame", "query", "parser engine local_dict global_dict resolvers level", "they are passed on to pandas.eval"),
    ("Index", "astype", "copy", _NO_COPY),
    ("Index", "round", "", "numbers are rounded to decimals=, times to freq=: either comes first"),
    ("Index", "round", "freq", "numbers are rounded to decimals=, times to freq=: either comes first"),
    ("Index", "to_series", "name", "None is a name"),
    ("GroupBy SeriesGroupBy", "agg aggregate", "arg", "it is the name of a result, as in pandas; give the function first, or as func="),
    ("GroupBy SeriesGroupBy", "transform", "func", "it needs a function"),
    ("SeriesGroupBy", "corr", "min_periods", "1 and None are the same"),
    ("SeriesGroupBy", "corr cov", "other", "frame.groupby(keys)[[one, other]].corr() has all pairs"),
    ("SeriesGroupBy", "corr cov", "", "frame.groupby(keys)[[one, other]].corr() has all pairs"),
    ("SeriesGroupBy", "value_counts", "", "groups of frames and of series have the order of frames'; give options by name"),
)  # fmt: skip
DIFFERENT: dict[tuple[str, str, str], str] = {
    (kind, method, argument): reason
    for kinds, methods, names, reason in _DIFFERENT
    for kind in kinds.split()
    for method in methods.split()
    for argument in names.split() or [""]
}
"""What differs from pandas' signatures, and why: by ``(class, method, argument)``; without an argument it is their order."""


def with_arguments(kind: str) -> Callable[[type], type]:
    """Return a class decorator that lets the class's methods take what the tables list for a class of this name.

    Errors name the methods as those of it, too.
    """

    def change(cls: type) -> type:
        methods_named(kind)(cls)
        for method in dict.fromkeys(name for of, name in (*UNTAKEN, *OTHER_NAMES, *ORDERS) if of == kind):
            if method not in dir(cls):
                raise TypeError(f"{cls.__name__} has no method {method}, whose arguments are listed")
            setattr(cls, method, _taking(getattr(cls, method), kind, method))
        with_functions_by_name(kind)(cls)
        for method in dir(cls) if kind in ("DataFrame", "Series") else ():
            if not method.startswith("_") and method not in _LOOK_AT_CALLER and _has_inplace(getattr(cls, method)):
                setattr(cls, method, _changing(getattr(cls, method), f"{kind}.{method}"))
        return with_lazy_arguments_checked(kind)(cls)

    return change


def with_functions_by_name(kind: str) -> Callable[[type], type]:
    """Return a class decorator for methods that call users' functions: what they take by position only can be given by name, too."""

    def change(cls: type) -> type:
        for name in dir(cls):
            method = inspect.getattr_static(cls, name)
            if name.startswith("_") or not inspect.isfunction(method) or getattr(method, "takes_by_name", False):
                continue
            if inspect.unwrap(method).__code__.co_posonlyargcount > 1:  # a signature takes longer
                setattr(cls, name, _taking(method, kind, name))
        return cls

    return change


_LOOK_AT_CALLER = ("query", "eval")
"""Methods that look for variables where they are called."""


_RETURN_SELF = ("bfill", "clip", "ffill", "fillna", "interpolate", "mask", "replace", "where")
"""Methods that since pandas 3 return what they have changed; others return nothing."""


_OTHERS_IN_PLACE = ("mask", "where")
"""Methods whose result is another one in place: rows of which the condition says nothing stay as they are."""


def _has_inplace(method: Any) -> bool:
    return inspect.isfunction(method) and "inplace" in inspect.signature(method).parameters


def _changing(method: Callable[..., Any], where: str) -> Callable[..., Any]:
    """Return a method of frames or series that with ``inplace=True`` changes its collection.

    Only this collection changes: others that were made of it stay as they are.
    """

    @functools.wraps(method)
    def changing(self: Any, *args: Any, **kwargs: Any) -> Any:
        wanted = kwargs.get("inplace")
        if wanted is None or wanted is False:
            return method(self, *args, **kwargs)
        if not pd.api.types.is_bool(wanted):
            raise ValueError(
                f'{where}: For argument "inplace" expected type bool, received type {type(wanted).__name__}'
            )
        if not wanted:
            return method(self, *args, **kwargs)
        made = method(self, *args, **{**kwargs, "inplace": method.__name__ in _OTHERS_IN_PLACE})
        if type(made) is not type(self):
            raise TypeError(f"{where}(inplace=True) would make a {type(made).__name__} of a {type(self).__name__}")
        self._expr = made.expr
        return self if returns_self else None

    returns_self = HAS_COPY_ON_WRITE and method.__name__ in _RETURN_SELF
    return changing


def with_function_arguments(options_of: Callable[..., Any] | None = None) -> Callable[[_Function], _Function]:
    """Return a decorator that lets a function take what the tables list for one of its name.

    Parameters
    ----------
    options_of
        The function that its ``**options`` are passed on to, whose arguments the signature shows.
    """

    def change(function: _Function) -> _Function:
        taking = _taking(function, "function", function.__name__, options_of)
        numbers = WholeNumbers(taking)

        @functools.wraps(taking)
        def with_numbers(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = numbers.taken(args, kwargs)
            return taking(*args, **kwargs)

        return cast(_Function, hiding_as(taking, with_numbers))

    return change


def as_method(function: _Function) -> _Function:
    """Return a function of a frame as a method of frames."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    first, *others = inspect.signature(function).parameters.values()
    method.__signature__ = inspect.Signature([first.replace(name="self"), *others])  # type: ignore[attr-defined]
    return cast(_Function, method)


def _taking(
    method: Callable[..., Any], kind: str, name: str, options_of: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Return a method that also takes what the tables list for it."""
    where = name if kind == "function" else f"{kind}.{name}"
    untaken = UNTAKEN.get((kind, name), {})
    names = OTHER_NAMES.get((kind, name), {})
    own = list(inspect.signature(method).parameters.values())
    places = _places(own)
    if (kind, name) in ORDERS:
        places = [*([] if kind == "function" else ["self"]), *ORDERS[kind, name].split()]
    untouched = sum(1 for _ in _alike(places, _places(own)))
    takes_more = any(one.kind is one.VAR_POSITIONAL for one in own)
    by_name = places_by_name(own)
    others = {other: name for other, name in names.items() if name in {one.name for one in by_name}}
    n_before = int(places[:1] == ["self"])
    listed = {*untaken, *names} - {*others}

    @functools.wraps(method)
    def taking(*args: Any, **kwargs: Any) -> Any:
        if kwargs and len(args) < n_before + len(by_name):
            args = with_places_filled(args, kwargs, by_name, others, n_before)
        if len(args) <= untouched and listed.isdisjoint(kwargs):
            return method(*args, **kwargs)
        if len(args) > untouched and not takes_more:
            args, kwargs = args[:untouched], _named(where, places, args, untouched, kwargs)
        for argument in listed.intersection(kwargs):
            value = kwargs.pop(argument)
            if argument in untaken:
                if not untaken[argument].allows(value):
                    raise refused(where, argument, value, untaken[argument].instead)
            elif names[argument] in kwargs:
                raise TypeError(f"{where} got {argument}= and {names[argument]}=, which are the same")
            else:
                kwargs[names[argument]] = value
        return method(*args, **kwargs)

    taking.__signature__ = _signature(own, places, untaken, options_of)  # type: ignore[attr-defined]
    taking.__qualname__ = where
    taking.takes_by_name = True  # type: ignore[attr-defined]
    return hiding_as(method, taking)


def _places(parameters: list[inspect.Parameter]) -> list[str]:
    return [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]


def _alike(one: list[str], other: list[str]) -> Iterator[str]:
    """Yield the names with which both lists begin."""
    for name, theirs in zip(one, other, strict=False):
        if name != theirs:
            return
        yield name


def _named(where: str, places: list[str], args: tuple[Any, ...], kept: int, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return keyword arguments with those that were given by position behind the first ones."""
    own = int(places[0] == "self")
    if len(args) > len(places):
        raise TypeError(
            f"{where} takes {len(places) - own} arguments by position ({', '.join(places[own:])}), got {len(args) - own}"
        )
    moved = dict(zip(places[kept:], args[kept:], strict=False))
    twice = [name for name in moved if name in kwargs]
    if twice:
        raise TypeError(f"{where} got {twice[0]}= twice: by position and by name")
    return {**kwargs, **moved}


def _by_position(parameter: inspect.Parameter) -> inspect.Parameter:
    is_alone = parameter.kind is parameter.POSITIONAL_ONLY
    return parameter if is_alone else parameter.replace(kind=parameter.POSITIONAL_OR_KEYWORD)


def _signature(
    own: list[inspect.Parameter],
    places: list[str],
    untaken: dict[str, Untaken],
    options_of: Callable[..., Any] | None,
) -> inspect.Signature:
    """Return the signature with the arguments that aren't used, at their places, and those that are passed on."""
    theirs = [] if options_of is None else list(inspect.signature(options_of).parameters.values())[1:]
    is_open = options_of is None or any(one.kind is one.VAR_KEYWORD for one in theirs)
    named = {one.name: one for one in own if is_open or one.kind is not one.VAR_KEYWORD}
    for one in theirs:
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            named.setdefault(one.name, one.replace(kind=one.KEYWORD_ONLY))
    for name, argument in untaken.items():
        default = None if argument.usual is ANY else argument.usual[0]
        named.setdefault(name, inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default))
    kinds = inspect.Parameter
    first = [_by_position(named[name]) for name in places if name in named]
    ordered = sorted(first, key=lambda one: one.default is not kinds.empty)
    rest = [one for one in named.values() if one.name not in places]
    others = [
        one.replace(kind=kinds.KEYWORD_ONLY) if one.kind is kinds.POSITIONAL_OR_KEYWORD else one
        for one in rest
        if one.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
    ]
    several = [one for one in rest if one.kind is kinds.VAR_POSITIONAL]
    options = [one for one in rest if one.kind is kinds.VAR_KEYWORD]
    return inspect.Signature([*ordered, *several, *others, *options])
