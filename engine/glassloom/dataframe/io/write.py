"""Writing frames: one file a partition, put in place when all are complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import pandas as pd
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.io.common_types import is_same_kind, pandas_notes, stored_type
from glassloom.dataframe.io.parquet import read_parquet
from glassloom.dataframe.io.parquet_summary import Summary, summaries_there
from glassloom.dataframe.io.parquet_tables import Types, checked_schema, require_common_types, table_of
from glassloom.dataframe.io.paths import PathLike
from glassloom.dataframe.io.staging import Publish, Staging, Written, numbered, write_partitions
from glassloom.dataframe.io.targets import NameFunction, path_text, prepare, require_known
from glassloom.dataframe.options import checked_compute_kwargs
from glassloom.dataframe.widening import with_nulls_of
from glassloom.dataframe.wrap import require_lazy
from glassloom.errors import MetaError, OptionError

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@with_function_arguments(pq.write_table)
def to_parquet(
    frame: Any,
    path: PathLike,
    *,
    compression: Any = "snappy",
    write_index: bool | None = None,
    append: bool = False,
    ignore_divisions: bool = True,
    overwrite: bool = False,
    partition_on: str | Sequence[str] | None = None,
    name_function: NameFunction | None = None,
    custom_metadata: dict[str, str] | None = None,
    schema: pa.Schema | Mapping[str, Any] | str | None = "infer",
    write_metadata_file: bool | None = None,
    engine: str = "auto",
    storage_options: dict[str, Any] | None = None,
    filesystem: Any = None,
    compute: bool = True,
    compute_kwargs: dict[str, Any] | None = None,
    index: bool | None = None,
    **options: Any,
) -> Any:
    """Write a frame into a folder, one Parquet file a partition, and wait for it.

    The files are put in place when all are complete: a write that fails leaves what was there before.

    Parameters
    ----------
    frame
        A lazy frame.
    path
        The folder, or a URL of one; it is made if it doesn't exist.
    compression
        ``"snappy"``, ``"zstd"``, ``"gzip"``..., or a dict of one for each column.
    write_index
        Whether to write the index; None: as pandas, a range is only noted, but with `partition_on` it is written. `index` is the same.
    append
        Whether to add files to those that are there; they must have the same columns and types.
    ignore_divisions
        With `append`: whether rows may have labels that lie among those that are there already. False asks for known divisions
        that begin behind the last label that is there.
    overwrite
        Whether to replace the Parquet files that are there.
    partition_on
        Columns whose values become the names of folders, ``column=value``.
    name_function
        Returns the name of the file of a partition, by its number; names must be in ascending order.
    custom_metadata
        Further text in the files' footers, by key.
    schema
        Arrow types of all columns, or a dict with those of some. Default: each partition's own, which need a type for the values
        of all; None: each partition's own, whatever those of others.
    write_metadata_file
        Whether to write ``_metadata`` and ``_common_metadata``, the footers of all files together, which `read_parquet` doesn't need.
        None: where they are there already and can be.
    engine
        ``"auto"`` or ``"pyarrow"``, which are the same.
    storage_options, filesystem
        As in `read_parquet`.
    compute
        With False a lazy number of rows is returned; files are written when it is computed.
    compute_kwargs
        Arguments of `compute`, such as ``{"scheduler": "synchronous"}``.
    options
        Further options of `pyarrow.parquet.write_table`: ``row_group_size``...

    Raises
    ------
    FileExistsError
        If there are Parquet files already, and `overwrite` and `append` are False.
    MetaError
        If partitions have values of unlike types, or with `append` other columns than the files.

    Examples
    --------
    >>> import tempfile
    >>> import glassloom.dataframe as gd
    >>> folder = tempfile.mkdtemp()
    >>> gd.to_parquet(gd.datasets.timeseries(end="2000-01-03", freq="1h"), folder)
    >>> len(gd.read_parquet(folder))
    48
    """
    _require_pyarrow(engine)
    require_lazy("to_parquet", frame, pandas=False)
    compute_kwargs = checked_compute_kwargs("to_parquet", compute, compute_kwargs)
    write_index = write_index if index is None else index
    compression = "snappy" if compression == "default" else compression
    if append and overwrite:
        raise OptionError("append=True and overwrite=True: the files are either kept or replaced")
    require_known(options, pq.write_table, "to_parquet", ("table", "where", "filesystem"))
    keys = [partition_on] if isinstance(partition_on, str) else list(partition_on or ())
    require_columns(keys, frame.expr.meta)
    if len(set(keys)) < len(keys):
        raise OptionError(f"partition_on={keys!r} names a column twice")
    staging, old = prepare(
        path_text("to_parquet", path), ".parquet", filesystem, storage_options, may_exist=overwrite or append
    )
    if keys and write_index is None:
        # Rows of a folder are some of a range, whose labels would be noted or written by what they happen to be.
        write_index = not (append and old) or _has_labels(staging, old[0])
    if keys and len(keys) == len(frame.columns) and not write_index:
        raise OptionError(f"partition_on={keys!r} leaves no column for the files")
    types = checked_schema(schema, frame.expr.meta, write_index, keys)
    first = 0
    if append and old:
        _require_same_columns(
            staging, old[0], frame, table_of(frame.expr.meta.drop(columns=keys), types, write_index).schema
        )
        if not ignore_divisions:
            _require_behind(path, frame.divisions, storage_options, filesystem)
        first = _next_number(old)
    names = numbered(frame.npartitions, name_function, ".parquet", first=first)
    if append and set(names) & {name.rpartition("/")[2] for name in old}:
        raise FileExistsError(
            f"name_function returns names that are there already: {sorted(set(names) & set(old))[:3]}"
        )
    settings: dict[str, Any] = {
        "staging": staging,
        "keys": keys,
        "preserve_index": write_index,
        "metadata": custom_metadata,
        "types": types,
        "meta": None if isinstance(types, pa.Schema) else frame.expr.meta,
        "options": {"compression": compression, **options},
    }
    summaries = summaries_there(staging)
    publish = Publish(staging, [*([] if append else old), *summaries])
    publish.require_like = None if schema is None else require_common_types
    if write_metadata_file or (write_metadata_file is None and summaries):
        publish.summary = Summary(tuple(old if append else ()), bool(write_metadata_file), settings["options"])
    return write_partitions(
        frame, _write_parquet, names, settings, publish, compute=compute, compute_kwargs=compute_kwargs
    )


@with_function_arguments(orc.write_table)
def to_orc(
    frame: Any,
    path: PathLike,
    *,
    write_index: bool | None = None,
    name_function: NameFunction | None = None,
    overwrite: bool = False,
    engine: str = "pyarrow",
    storage_options: dict[str, Any] | None = None,
    filesystem: Any = None,
    compute: bool = True,
    compute_kwargs: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Write a frame into a folder, one ORC file a partition, and wait for it. Parameters as in `to_parquet`.

    Parameters
    ----------
    write_index
        Whether to write the index as a column. Default: unless it is a range of numbers.
    """
    _require_pyarrow(engine)
    require_lazy("to_orc", frame, pandas=False)
    compute_kwargs = checked_compute_kwargs("to_orc", compute, compute_kwargs)
    require_known(options, orc.write_table, "to_orc", ("table", "where"))
    if isinstance(frame.expr.meta, pd.Series):
        frame = frame.to_frame()
    staging, old = prepare(path_text("to_orc", path), ".orc", filesystem, storage_options, may_exist=overwrite)
    if write_index is None:
        write_index = not isinstance(frame.expr.meta.index, pd.RangeIndex)
    settings = {"staging": staging, "write_index": write_index, "options": options}
    names = numbered(frame.npartitions, name_function, ".orc")
    publish = Publish(staging, old)
    return write_partitions(frame, _write_orc, names, settings, publish, compute=compute, compute_kwargs=compute_kwargs)


def _require_pyarrow(engine: str) -> None:
    if engine not in ("auto", "pyarrow"):
        raise NotImplementedError(
            f"engine={engine!r}: PyArrow writes the files; give engine='pyarrow', or leave it out"
        )


def _has_labels(staging: Staging, name: str) -> bool:
    """Whether a file has columns that are the index."""
    with staging.filesystem.open_input_file(f"{staging.folder}/{name}") as file:
        there = pq.read_schema(file)
    noted = [one for one in pandas_notes(there).get("index_columns", []) if isinstance(one, str)]
    return any(one in there.names for one in noted)


def _require_same_columns(staging: Staging, name: str, frame: Any, ours: pa.Schema) -> None:
    """Check that a frame which is written with a schema has the columns of a file that is there, and their types.

    Raises
    ------
    MetaError
        If it hasn't.
    """
    with staging.filesystem.open_input_file(f"{staging.folder}/{name}") as file:
        there = pq.read_schema(file)
    columns = [column for column in there.names if not column.startswith("__index_level_")]
    if [column for column in ours.names if not column.startswith("__index_level_")] != columns:
        raise MetaError(
            f"append=True: the files in {staging.folder!r} have the columns {columns}, the frame {ours.names}"
        )
    for field in ours:
        if isinstance(frame.expr.meta.get(field.name), pd.Series) and _has_no_categories(
            frame.expr.meta[field.name].dtype
        ):
            continue  # nothing is known of the values
        other = there.field(field.name).type if field.name in there.names else field.type
        if not is_same_kind(stored_type(other), stored_type(field.type)):
            raise MetaError(
                f"append=True: column {field.name!r} is {other} in the files, but {field.type} in the frame; "
                f"schema={{{field.name!r}: pyarrow type}} writes it as the files have it"
            )


def _require_behind(path: PathLike, divisions: tuple[Any, ...], storage_options: Any, filesystem: Any) -> None:
    """Check that rows begin behind the last label of the files that are there.

    Raises
    ------
    OptionError
        If they don't, or it isn't known.
    """
    there = read_parquet(path, storage_options=storage_options, filesystem=filesystem).divisions
    if there[-1] is None or divisions[0] is None:
        whose = "the files" if there[-1] is None else "the frame"
        raise OptionError(
            f"ignore_divisions=False: the divisions of {whose} aren't known; ignore_divisions=True appends the rows"
        )
    if not divisions[0] > there[-1]:
        raise OptionError(
            f"ignore_divisions=False: the rows begin at {divisions[0]!r}, and the files that are there end with {there[-1]!r}; "
            "ignore_divisions=True appends them all the same"
        )


def _has_no_categories(dtype: Any) -> bool:
    return isinstance(dtype, pd.CategoricalDtype) and (dtype.categories is None or not len(dtype.categories))


def _next_number(old: Sequence[str]) -> int:
    numbers = [name.rpartition("/")[2].removeprefix("part-").removesuffix(".parquet") for name in old]
    return max((int(number) for number in numbers if number.isdecimal()), default=len(old) - 1) + 1


# What tasks do.


def _write_parquet(
    block: Any,
    name: str,
    *,
    staging: Staging,
    keys: list[str],
    preserve_index: bool | None,
    metadata: dict[str, str] | None,
    types: Types,
    meta: Any,
    options: dict[str, Any],
) -> Written:
    if meta is not None:
        block = with_nulls_of(block, meta)
    parts = [("", block)] if not keys else _by_folder(block, keys)
    names: list[str] = []
    schemas: list[pa.Schema] = []
    for folder, part in parts:
        table = table_of(part, types, preserve_index)
        schemas.append(table.schema)
        if metadata:
            table = table.replace_schema_metadata({**(table.schema.metadata or {}), **metadata})
        with staging.open(folder + name) as sink:
            pq.write_table(table, sink, **options)
        names.append(folder + name)
    return Written(len(block), tuple(names), _distinct(schemas))


def _distinct(schemas: Sequence[pa.Schema]) -> tuple[pa.Schema, ...]:
    """Return those of some schemas that differ in the columns' types."""
    return tuple({schema.remove_metadata(): schema for schema in schemas}.values())


def _by_folder(block: Any, keys: list[str]) -> list[tuple[str, Any]]:
    """Return the rows of each folder, without the columns that its name tells."""
    found = []
    for values, part in block.groupby(keys, dropna=False, observed=True, sort=False):
        names = (f"{quote(str(key), safe=' ')}={_folder_value(one)}" for key, one in zip(keys, values, strict=True))
        found.append(("".join(f"{name}/" for name in names), part.drop(columns=keys)))
    return found


def _folder_value(value: Any) -> str:
    return _NO_VALUE if pd.isna(value) else quote(str(value), safe=" ")


def _write_orc(block: Any, name: str, *, staging: Staging, write_index: bool, options: dict[str, Any]) -> Written:
    table = _with_orc_types(pa.Table.from_pandas(block, preserve_index=write_index).replace_schema_metadata(None))
    buffer = pa.BufferOutputStream()  # an error of the disk in the midst of ORC ends the process
    orc.write_table(table, buffer, **options)
    with staging.open(name) as sink:
        sink.write(buffer.getvalue())
    return Written(len(block), (name,))


def _with_orc_types(table: pa.Table) -> pa.Table:
    """Return a table without columns that have no type: without rows they aren't missed, as the types are those of other files.

    Raises
    ------
    MetaError
        If there are rows.
    """
    untyped = [field.name for field in table.schema if pa.types.is_null(field.type)]
    if untyped and len(table):
        raise MetaError(
            f"to_orc: columns {untyped} have no values in a partition, so that their types aren't known, which ORC needs; give them "
            "one with astype(), such as pandas.ArrowDtype(pyarrow.date32())"
        )
    return table.drop_columns(untyped) if len(untyped) < table.num_columns else table
