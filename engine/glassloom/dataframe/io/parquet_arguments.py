"""Arguments of `read_parquet`: what they may be, and what they mean."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from glassloom.dataframe.argument_kinds import whole_number
from glassloom.dataframe.io.parquet_files import FolderTypes
from glassloom.dataframe.io.parquet_polars import LEAST_VERSION, is_installed
from glassloom.errors import OptionError


def chosen_engine(engine: str) -> str:
    """Return what reads the files.

    Raises
    ------
    NotImplementedError
        If it is something else than PyArrow or Polars.
    OptionError
        If it is Polars, and no version of it that is known is installed.
    """
    if engine not in ("auto", "pyarrow", "polars"):
        raise NotImplementedError(
            f"engine={engine!r}: Parquet is read by PyArrow or Polars; give engine='pyarrow' or 'polars', or leave it out"
        )
    if engine == "polars" and not is_installed():
        raise OptionError(
            f"engine='polars' needs Polars from version {LEAST_VERSION} on: pip install 'glassloom[polars]', or leave engine= out"
        )
    return engine


def require_dtype_backend(dtype_backend: str | None) -> None:
    if dtype_backend not in (None, "numpy_nullable", "pyarrow"):
        raise OptionError(f"dtype_backend={dtype_backend!r} should be 'numpy_nullable' or 'pyarrow'")


def checked_split(split: bool | int | str, partition_by: str | None) -> bool | int | str:
    if partition_by is not None:
        if partition_by not in ("row_group", "file"):
            raise OptionError(f"partition_by={partition_by!r} should be 'row_group' or 'file'")
        return partition_by == "row_group"
    if isinstance(split, str) and split not in ("infer", "adaptive"):
        raise OptionError(f"split_row_groups={split!r} should be True, False, a number, 'infer' or 'adaptive'")
    if not isinstance(split, (str, bool)):
        return whole_number("read_parquet", "split_row_groups", split, 1)
    return split


def require_kinds(index: Any, aggregate_files: Any) -> None:
    """Check that arguments choose something.

    Raises
    ------
    OptionError
        If one doesn't.
    """
    several = list(index) if isinstance(index, (list, tuple)) else [index]
    is_none = index is None or index is False
    if not is_none and (not several or not all(isinstance(name, str) for name in several)):
        raise OptionError(
            f"read_parquet: index={index!r} should be the name of a column or a list of names, False for no index, or None for the one "
            "that pandas noted"
        )
    if not isinstance(aggregate_files, (str, bool, type(None))):
        raise OptionError(
            f"read_parquet: aggregate_files={aggregate_files!r} should be True, False or the name of a level of folders"
        )


def folder_types(partitioning: Any, dataset: Any) -> FolderTypes:
    """Return the types of columns of folders' names that are asked for: by pandas' argument, or by Dask's, a dict in which that is.

    Raises
    ------
    NotImplementedError
        If folders should be read in another way.
    OptionError
        If there is no schema where one should be.
    """
    if dataset is not None and not isinstance(dataset, dict):
        raise OptionError(
            f"read_parquet: dataset={dataset!r} should be a dict such as {{'partitioning': {{'flavor': 'hive'}}}}"
        )
    if more := [name for name in dataset or {} if name != "partitioning"]:
        raise NotImplementedError(f"read_parquet: dataset= with {more} isn't supported: it takes 'partitioning' alone")
    for given in (partitioning, (dataset or {}).get("partitioning", "hive")):
        schema = _hive_schema(given)
        if schema is not None:
            return tuple((field.name, field.type) for field in schema)
    return ()


def _hive_schema(partitioning: Any) -> pa.Schema | None:
    """Return the schema of columns of folders' names that a partitioning has; None if they have the types that they seem to have."""
    if isinstance(partitioning, ds.HivePartitioning):
        found: pa.Schema = partitioning.schema
        return found
    options = partitioning if isinstance(partitioning, dict) else {"flavor": partitioning}
    if options.get("flavor", "hive") != "hive" or options.keys() - {"flavor", "schema"}:
        raise NotImplementedError(
            f"read_parquet(partitioning={partitioning!r}) isn't supported: folders are read by names such as 'year=2024'; "
            "pyarrow.dataset.partitioning(schema, flavor='hive') gives their columns types"
        )
    schema = options.get("schema")
    if schema is not None and not isinstance(schema, pa.Schema):
        raise OptionError(
            f"read_parquet: schema={schema!r} of a partitioning should be a pyarrow.Schema of columns of folders' names"
        )
    return schema
