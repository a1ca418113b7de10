"""Lazy frames: pandas' interface on many partitions, in parallel.

>>> import glassloom.dataframe as gd
>>> frame = gd.datasets.timeseries(end="2000-01-08", freq="1min", seed=1)
>>> len(frame), frame.npartitions
(10080, 7)
>>> bool(abs(frame.x.mean().compute()) < 0.1)
True
"""

from glassloom.dataframe import datasets
from glassloom.dataframe import plan as _plan  # noqa: F401 - registers its passes
from glassloom.dataframe import rules as _rules  # noqa: F401 - registers its rules
from glassloom.dataframe.frame import DataFrame
from glassloom.dataframe.index import Index
from glassloom.dataframe.io.csv import read_csv
from glassloom.dataframe.io.from_array import from_array
from glassloom.dataframe.io.from_map import from_delayed, from_map
from glassloom.dataframe.io.from_pandas import from_pandas
from glassloom.dataframe.io.parquet import read_parquet
from glassloom.dataframe.io.write import to_csv, to_parquet
from glassloom.dataframe.moving.join import concat, map_partitions
from glassloom.dataframe.moving.merge import merge
from glassloom.dataframe.scalar import Scalar
from glassloom.dataframe.series import Series

__all__ = [
    "DataFrame",
    "Index",
    "Scalar",
    "Series",
    "concat",
    "datasets",
    "from_array",
    "from_delayed",
    "from_map",
    "from_pandas",
    "map_partitions",
    "merge",
    "read_csv",
    "read_parquet",
    "to_csv",
    "to_parquet",
]
