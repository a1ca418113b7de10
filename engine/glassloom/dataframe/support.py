"""What of pandas' public names isn't there: why, and what to use instead. `docs/dataframe-support.md` is made of it.

A name that is listed here and gets a method is there: the table is asked only for attributes that a class lacks.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, NamedTuple

import pandas as pd

from glassloom.errors import NotSupported

PANDAS: dict[str, type] = {"DataFrame": pd.DataFrame, "Series": pd.Series, "Index": pd.Index}
"""pandas' class for each of ours."""


class Missing(NamedTuple):
    """Why a name isn't there, and the nearest thing that is."""

    reason: str
    instead: str


_WHOLE = "it needs all rows at once"
_FRAMES = ("DataFrame", "Series")
_ALL = ("DataFrame", "Series", "Index")
_COMPUTE = "compute() first, if the rows fit in memory"

_ROWS: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    # Of all kinds: memory, metadata and conversions of concrete objects.
    (_ALL, "T transpose", "rows would become columns, and there are many", "compute().T, or repartition(npartitions=1).T, or melt() of frames"),
    (_FRAMES, "attrs flags set_flags", "blocks keep no metadata", "a variable beside the frame"),
    (_FRAMES, "from_arrow", "concrete objects are converted by functions", "glassloom.dataframe.from_pandas(table.to_pandas())"),
    (_FRAMES, "plot hist", "drawing needs concrete values", "sample(frac=...).compute().plot, or aggregate and draw that"),
    (("DataFrame",), "boxplot style", "drawing needs concrete values", "head() or describe().compute(), and draw that"),
    (_FRAMES, "sparse", "sparse columns aren't supported", "map_partitions(lambda block: block.sparse...)"),
    (("Series",), "list struct", "the accessors of Arrow's nested types aren't there", "map_partitions(lambda s: s.list..., meta=...)"),
    (_FRAMES, "to_clipboard to_excel to_markdown to_latex to_xarray", "it writes one object in one piece", "compute() and then write it"),
    (("DataFrame",), "to_html to_xml to_stata to_feather to_iceberg", "it writes one object in one piece", "to_parquet(), to_csv(), or compute() first"),
    (_FRAMES, "to_hdf", "HDF5 can't be written in parallel", "to_parquet()"),
    (_FRAMES, "to_pickle", "a pickle is one object", "to_parquet()"),
    (_FRAMES, "to_string", "it shows all rows", "head().to_string()"),
    # Order and labels of rows.
    (_FRAMES, "iat", "positions across partitions need their lengths", "at[...] by label, or iloc[...].compute()"),
    (_FRAMES, "to_period to_timestamp tz_convert tz_localize", "it isn't there yet", "map_partitions(), or the methods of .dt on a column"),
    (_FRAMES, "transform", "it isn't there yet", "map_partitions(), apply(axis=1)"),
    # Series.
    (("Series",), "array", "a series in partitions has no one array", "values, or to_array()"),
    (("Series",), "is_unique is_monotonic_increasing is_monotonic_decreasing hasnans", "it isn't there yet", "nunique(), diff(), isna().any()"),
    # Index.
    (("Index",), "get_indexer_for get_indexer_non_unique get_slice_bound slice_locs slice_indexer", "positions across partitions need their lengths", "loc[...] of the frame"),
    (("Index",), "asof asof_locs searchsorted", "it looks labels up in all partitions", "loc[...] of the frame"),
    (("Index",), "insert delete putmask where", "an index in partitions belongs to its frame", "to_series() or to_frame(), and then concat()"),
    (("Index",), "union symmetric_difference join", "rows of all partitions would have to move", "merge() of the frames on their index"),
    (("Index",), "reindex sortlevel", "rows of all partitions would have to move", "to_series(), and then sort it"),
    (("Index",), "drop_duplicates duplicated unique has_duplicates is_unique factorize", "codes would depend on all labels", "glassloom.dataframe.factorize(index)"),
    (("Index",), "groupby value_counts", "it is a series' method here", "to_series().value_counts(), to_series().groupby(...)"),
    (("Index",), "is_", "comparing computes", "equals() or identical()"),
    (("Index",), "view ravel", "there is no one array", "values, or to_array()"),
    (("Index",), "infer_objects", "dtypes would depend on all labels", "astype(...)"),
    (("Index",), "item to_list tolist hasnans", "it needs all labels at hand", "compute().tolist()"),
    (("Index",), "is_monotonic_increasing is_monotonic_decreasing", "it needs all labels", "known_divisions says whether partitions are sorted"),
    (("Index",), "all any array astype copy diff dropna empty fillna isna isnull notna notnull memory_usage", "it isn't there yet", "the series' method, of to_series()"),
    (("Index",), "inferred_type map names nbytes ndim nlevels rename replace round set_names shape shift size", "it isn't there yet", "the series' method, of to_series()"),
    (("Index",), "str to_frame to_numpy values", "it isn't there yet", "the series' method, of to_series()"),
    # Only of pandas before version 3.
    (("DataFrame",), "applymap", "it is called map since pandas 2.1", "map()"),
    (_FRAMES, "backfill pad", "pandas has renamed it", "bfill() or ffill()"),
    (_FRAMES, "first last", "pandas has removed it", "loc[...] with times"),
    (_ALL, "bool ravel view swapaxes to_gbq", "pandas has removed it", "values, or compute() first"),
    (("Index",), "format sort holds_integer is_boolean is_categorical is_floating is_integer is_interval is_numeric is_object", "pandas has removed it", "dtype, and functions of pandas.api.types"),
    # Not there yet.
    (_FRAMES, "add_prefix add_suffix agg aggregate at at_time axes between_time bfill combine_first cummax cummin", "it isn't there yet", "map_partitions(), for what each partition can do alone"),
    (_FRAMES, "cumprod cumsum describe diff divide expanding explode ffill filter first_valid_index", "it isn't there yet", "map_partitions(), for what each partition can do alone"),
    (_FRAMES, "idxmax idxmin iloc info items keys kurt kurtosis last_valid_index map median memory_usage", "it isn't there yet", "map_partitions(), for what each partition can do alone"),
    (_FRAMES, "mode multiply pct_change pipe pop product quantile rename_axis replace resample rolling", "it isn't there yet", "map_partitions(), for what each partition can do alone"),
    (_FRAMES, "shift skew subtract to_numpy values corr cov", "it isn't there yet", "map_partitions(), for what each partition can do alone"),
    (("DataFrame",), "corrwith insert isetitem iterrows itertuples melt pivot_table value_counts", "it isn't there yet", "map_partitions(), for what each partition can do alone"),
    (("Series",), "autocorr case_when divmod drop dtypes item nbytes rdivmod repeat to_list tolist", "it isn't there yet", "map_partitions(), for what each partition can do alone"),
)  # fmt: skip


_PLAN = "plans are rewritten and fused when they are computed", "explain(), or visualize()"
_OF_DASK: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (_ALL, "analyze pprint tree_repr", "it shows Dask's own expressions", "explain(), or visualize()"),
    (_ALL, "dependencies find_operations fuse lower_completely lower_once operand rewrite simplify simplify_once substitute substitute_parameters walk finalize_compute", *_PLAN),
    (_ALL, "enforce_runtime_divisions", "divisions are checked where they are found out", "compute_current_divisions()"),
    (_ALL, "to_hdf", "HDF5 can't be written in parallel", "to_parquet()"),
    (_FRAMES, "append", "pandas has removed it", "glassloom.dataframe.concat([one, other])"),
    (("DataFrame",), "applymap", "it is called map since pandas 2.1", "map()"),
    (_FRAMES, "backfill pad", "pandas has renamed it", "bfill() or ffill()"),
    (_FRAMES, "first last", "pandas has removed it", "loc[...] with times"),
    (_FRAMES, "iteritems", "pandas has removed it", "items()"),
    (_FRAMES, "ix", "pandas has removed it", "loc[...] by label, or iloc[...] by position"),
    (_FRAMES, "mad", "pandas has removed it", "(x - x.mean()).abs().mean()"),
    (("DataFrame",), "lookup", "pandas has removed it", "melt() and merge()"),
    (_FRAMES, "to_pandas to_dask_dataframe to_polars", "it is a method of other libraries", "compute(), which returns a pandas object"),
    (("Series", "Index"), "to_records", "it has no fields", "to_frame().to_records()"),
    (("Series", "Index"), "from_dict", "concrete objects are converted by functions", "glassloom.dataframe.from_dict()"),
    (("Series", "Index"), "columns", "it is of one column", "name"),
    (("Index",), "clear_divisions map_overlap median_approximate memory_usage_per_partition nunique_approx reduction shuffle to_backend to_bag to_dask_array to_orc", "it is a series' method", "the series' method, of to_series()"),
)  # fmt: skip
"""Names of Dask's that ours don't have."""


def _table(rows: Iterable[tuple[tuple[str, ...], str, str, str]]) -> dict[tuple[str, str], Missing]:
    table: dict[tuple[str, str], Missing] = {}
    for kinds, names, reason, instead in rows:
        for name in names.split():
            for kind in kinds:
                table.setdefault((kind, name), Missing(reason, instead))
    return table


NOT_THERE: dict[tuple[str, str], Missing] = _table(_ROWS)
"""By ``(class, name)``. What pandas' class doesn't have is listed too: names come and go with pandas' versions."""
NOT_THERE_OF_DASK: dict[tuple[str, str], Missing] = _table(_OF_DASK)


_ONE_OBJECT = "it takes or makes one object in memory"
_FUNCTIONS: tuple[tuple[str, str, str], ...] = (
    ("read_hdf to_hdf", "HDF5 can't be read or written in parallel", "read_parquet() and to_parquet(); from_map() calls pandas.read_hdf for each of several files"),
    ("read_excel read_feather read_html read_iceberg read_pickle read_sas read_spss read_stata read_xml read_clipboard read_gbq ExcelFile HDFStore", _ONE_OBJECT, "from_map() of pandas' function for several files, or from_pandas() of what it returns"),
    ("to_pickle ExcelWriter", _ONE_OBJECT, "to_parquet()"),
    ("json_normalize", _ONE_OBJECT, "from_pandas(pandas.json_normalize(...)), or a bag's to_dataframe()"),
    ("unique value_counts", "it is a method here", "series.unique() or series.value_counts()"),
    ("eval", "it takes variables of several frames", "frame.eval(...), or operators"),
    ("lreshape merge_ordered infer_freq", "it isn't there yet", "map_partitions(), or compute() first"),
    ("assert_eq", "it is for tests of Dask", "pandas.testing with compute()"),
    ("from_graph get_collection_type", "it is for Dask's own collections", "from_delayed() or from_map()"),
    ("from_legacy_dataframe to_delayed", "it is a method here, or of older versions of Dask", "frame.to_delayed(), from_delayed()"),
    ("date_range bdate_range period_range timedelta_range interval_range array set_option get_option option_context reset_option describe_option col NA NaT NamedAgg Grouper IndexSlice Timestamp Timedelta Period Interval Categorical CategoricalDtype CategoricalIndex DatetimeIndex MultiIndex RangeIndex", "it is pandas' own", "that of pandas, which works with lazy frames where it fits"),
)  # fmt: skip
NO_FUNCTIONS: dict[str, Missing] = {
    name: Missing(reason, instead) for names, reason, instead in _FUNCTIONS for name in names.split()
}
"""Functions of pandas and Dask that aren't there."""


def function_not_supported(name: str) -> NotSupported | None:
    """Return the error for a function of pandas or Dask that isn't there; None if it isn't known."""
    why = NO_FUNCTIONS.get(name)
    return (
        None
        if why is None
        else NotSupported(f"glassloom.dataframe.{name} isn't there: {why.reason}. Use {why.instead}")
    )


def unknown_function(name: str, known: Iterable[str]) -> AttributeError:
    """Return the error for a name that no library has.

    >>> print(unknown_function("read_parqet", ["read_csv", "read_parquet"]))
    module 'glassloom.dataframe' has no attribute 'read_parqet'; did you mean 'read_parquet'?
    """
    return AttributeError(f"module 'glassloom.dataframe' has no attribute {name!r}{_hint(name, known)}")


def _hint(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, known, 1, 0.75)
    return f"; did you mean {close[0]!r}?" if close else ""


def did_you_mean(name: str, lazy: Any) -> str:
    """Return the hint at a method whose name is nearly this one; ``""`` if there is none."""
    return _hint(name, [one for one in dir(type(lazy)) if not one.startswith("_") and one != name])


def not_supported(kind: str, name: str) -> NotSupported | None:
    """Return the error for a public name of pandas' class, or Dask's, that ours lacks; None if they haven't got it either.

    >>> print(not_supported("DataFrame", "to_pickle"))
    DataFrame.to_pickle isn't supported: a pickle is one object. Use to_parquet()
    """
    theirs = PANDAS.get(kind)
    if theirs is None or name.startswith("_"):
        return None
    if not hasattr(theirs, name):
        why_not = NOT_THERE_OF_DASK.get((kind, name))
        if why_not is None and kind == "Index" and hasattr(pd.Series, name):
            why_not = Missing("it is a series' method", f"index.to_series().{name}")
        return (
            None
            if why_not is None
            else NotSupported(f"{kind}.{name} isn't supported: {why_not.reason}. Use {why_not.instead}")
        )
    why = NOT_THERE.get((kind, name), Missing("this version has no form of it for partitions", "map_partitions()"))
    return NotSupported(f"{kind}.{name} isn't supported: {why.reason}. Use {why.instead}")
