"""Lazy frames: pandas' interface on many partitions, in parallel.

>>> import glassloom.dataframe as gd
>>> frame = gd.datasets.timeseries(end="2000-01-08", freq="1min", seed=1)
>>> len(frame), frame.npartitions
(10080, 7)
>>> bool(abs(frame.x.mean().compute()) < 0.1)
True
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from glassloom.collection import compute
from glassloom.dataframe import datasets
from glassloom.dataframe import fewer_results as _fewer_results  # noqa: F401 - registers its rules
from glassloom.dataframe import grouping as _grouping  # noqa: F401 - registers its rules
from glassloom.dataframe import missing_in_files as _missing_in_files  # noqa: F401 - registers its rules
from glassloom.dataframe import moving as _moving  # noqa: F401 - registers its rules, before those of reading
from glassloom.dataframe import parts_of_texts as _parts_of_texts  # noqa: F401 - registers its rule
from glassloom.dataframe import passes as _passes  # noqa: F401 - registers the passes over whole plans
from glassloom.dataframe import rules as _rules  # noqa: F401 - registers its rules
from glassloom.dataframe.crosstab import crosstab
from glassloom.dataframe.cutting import cut, qcut
from glassloom.dataframe.factorizing import factorize
from glassloom.dataframe.frame import DataFrame
from glassloom.dataframe.grouping.stepwise import Aggregation
from glassloom.dataframe.index import Index
from glassloom.dataframe.io.csv import read_csv, read_fwf, read_table
from glassloom.dataframe.io.from_array import from_array, from_dask_array
from glassloom.dataframe.io.from_map import from_delayed, from_map
from glassloom.dataframe.io.from_pandas import from_pandas
from glassloom.dataframe.io.in_memory import from_arrow, from_dict, from_records
from glassloom.dataframe.io.json_lines import read_json
from glassloom.dataframe.io.orc import read_orc
from glassloom.dataframe.io.parquet import read_parquet
from glassloom.dataframe.io.sql import read_sql, read_sql_query, read_sql_table
from glassloom.dataframe.io.sql_writing import to_sql
from glassloom.dataframe.io.write import to_orc, to_parquet
from glassloom.dataframe.io.write_text import to_csv, to_json
from glassloom.dataframe.io.writers import to_bag, to_records
from glassloom.dataframe.moving.concat import concat, map_overlap, map_partitions, repartition
from glassloom.dataframe.moving.merge import merge
from glassloom.dataframe.moving.merge_asof import merge_asof
from glassloom.dataframe.pivot_tables import pivot_table
from glassloom.dataframe.pivoting import pivot, wide_to_long
from glassloom.dataframe.reshape import (
    from_dummies,
    get_dummies,
    isna,
    isnull,
    melt,
    notna,
    notnull,
    to_datetime,
    to_numeric,
    to_timedelta,
)
from glassloom.dataframe.row_arrays import RowArray
from glassloom.dataframe.scalar import Scalar
from glassloom.dataframe.series import Series
from glassloom.dataframe.support import function_not_supported as _function_not_supported
from glassloom.dataframe.support import unknown_function as _unknown_function

__all__ = [
    "Aggregation",
    "DataFrame",
    "Index",
    "RowArray",
    "Scalar",
    "Series",
    "compute",
    "concat",
    "crosstab",
    "cut",
    "datasets",
    "factorize",
    "from_array",
    "from_arrow",
    "from_dask_array",
    "from_delayed",
    "from_dict",
    "from_map",
    "from_pandas",
    "from_records",
    "from_dummies",
    "get_dummies",
    "isna",
    "isnull",
    "map_overlap",
    "map_partitions",
    "melt",
    "merge",
    "merge_asof",
    "notna",
    "notnull",
    "pivot",
    "pivot_table",
    "qcut",
    "read_csv",
    "read_fwf",
    "read_json",
    "read_orc",
    "read_parquet",
    "read_sql",
    "read_sql_query",
    "read_sql_table",
    "read_table",
    "repartition",
    "to_bag",
    "to_csv",
    "to_datetime",
    "to_json",
    "to_numeric",
    "to_orc",
    "to_parquet",
    "to_records",
    "to_sql",
    "to_timedelta",
    "wide_to_long",
]


if not _TYPE_CHECKING:  # type checkers would take any name for one of this module's

    def __getattr__(name: str) -> _Any:
        raise _function_not_supported(name) or _unknown_function(name, __all__)
