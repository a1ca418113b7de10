"""Writing frames: one file a partition, put in place when all are complete."""

from __future__ import annotations

import inspect
import io
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import pandas as pd
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.io.common_types import is_same_kind, stored_type
from glassloom.dataframe.io.filesystems import LOCAL, locate
from glassloom.dataframe.io.paths import PathLike
from glassloom.dataframe.io.staging import Publish, Staging, Written, numbered, staging_in, write_partitions
from glassloom.dataframe.io.unlike_texts import Rewriting, places_of_numbers, write_and_keep
from glassloom.dataframe.options import refused
from glassloom.dataframe.widening import with_nulls_of
from glassloom.errors import MetaError, OptionError

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
NameFunction = Callable[[int], str]


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
    schema: pa.Schema | Mapping[str, Any] | str | None = None,
    engine: str = "auto",
    storage_options: dict[str, Any] | None = None,
    filesystem: Any = None,
    compute: bool = True,
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
        Whether to write the index; None: as pandas, a range is only noted. `index` is the same.
    append
        Whether to add files to those that are there; they must have the same columns and types.
    ignore_divisions
        Only True: with `append`, rows may have labels that are there already.
    overwrite
        Whether to replace the Parquet files that are there.
    partition_on
        Columns whose values become the names of folders, ``column=value``.
    name_function
        Returns the name of the file of a partition, by its number; names must be in ascending order.
    custom_metadata
        Further text in the files' footers, by key.
    schema
        Arrow types of all columns, or a dict with those of some. Default, and ``"infer"``: each partition's own.
    engine
        ``"auto"`` or ``"pyarrow"``, which are the same.
    storage_options, filesystem
        As in `read_parquet`.
    compute
        With False a lazy number of rows is returned; files are written when it is computed.
    options
        Further options of `pyarrow.parquet.write_table`: ``row_group_size``...

    Raises
    ------
    FileExistsError
        If there are Parquet files already, and `overwrite` and `append` are False.

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
    schema = _checked_schema(schema, frame.expr.meta)
    compression = "snappy" if compression == "default" else compression
    if append and overwrite:
        raise OptionError("append=True and overwrite=True: the files are either kept or replaced")
    if not ignore_divisions:
        raise refused("to_parquet", "ignore_divisions", ignore_divisions, "compare the frames' divisions before")
    _require_known(options, pq.write_table, "to_parquet", ("table", "where", "filesystem"))
    keys = [partition_on] if isinstance(partition_on, str) else list(partition_on or ())
    require_columns(keys, frame.expr.meta)
    if keys and len(keys) == len(frame.columns):
        raise OptionError(f"partition_on={keys!r} leaves no column for the files")
    staging, old = _prepare(path, ".parquet", filesystem, storage_options, may_exist=overwrite or append)
    first = 0
    if append and old:
        _require_same_columns(staging, old[0], frame, keys)
        first = _next_number(old)
    names = numbered(frame.npartitions, name_function, ".parquet", first=first)
    if append and set(names) & {name.rpartition("/")[2] for name in old}:
        raise FileExistsError(
            f"name_function returns names that are there already: {sorted(set(names) & set(old))[:3]}"
        )
    settings: dict[str, Any] = {
        "staging": staging,
        "keys": keys,
        "preserve_index": write_index if index is None else index,
        "metadata": custom_metadata,
        "schema": schema,
        "meta": None if isinstance(schema, pa.Schema) else frame.expr.meta,
        "options": {"compression": compression, **options},
    }
    publish = Publish(staging, [] if append else old)
    return write_partitions(frame, _write_parquet, names, settings, publish, compute=compute)


@with_function_arguments(pd.DataFrame.to_csv)
def to_csv(
    frame: Any,
    path: PathLike,
    *,
    single_file: bool = False,
    name_function: NameFunction | None = None,
    header: bool | Sequence[str] = True,
    mode: str = "w",
    encoding: str | None = "utf-8",
    compression: Any = None,
    overwrite: bool = False,
    header_first_partition_only: bool | None = None,
    storage_options: dict[str, Any] | None = None,
    filesystem: Any = None,
    compute: bool = True,
    **options: Any,
) -> Any:
    """Write a frame into a folder, one CSV file a partition, or into a single file, and wait for it.

    The files are put in place when all are complete: a write that fails leaves what was there before.

    Parameters
    ----------
    frame
        A lazy frame or series.
    path
        The folder, made if it doesn't exist; a name with ``*`` in it, which stands for the number of the partition; or
        the file, if `single_file`.
    single_file
        Whether to write one file. Partitions are written side by side and joined at the end.
    name_function
        Returns what ``*`` stands for, or the name of the file of a partition, by its number.
    header
        Whether to write the columns' names first; or other names.
    mode
        ``"w"``; ``"x"`` with `single_file`: the file must not exist.
    encoding, compression
        As in `pandas.DataFrame.to_csv`; ``compression="infer"`` goes by the name, as it does by default if `single_file` is set.
    overwrite
        Whether to replace the CSV files that are there.
    header_first_partition_only
        Whether only the first file has the names. Default: if `single_file`.
    storage_options, filesystem
        As in `read_parquet`.
    compute
        With False a lazy number of rows is returned; files are written when it is computed.
    options
        Further options of `pandas.DataFrame.to_csv`: ``index``, ``sep``...

    Raises
    ------
    FileExistsError
        If there are CSV files already and `overwrite` is False; if the file exists and `mode` is ``"x"``.
    """
    if mode not in ("w", "wt", "x", "xt"):
        raise NotImplementedError(f"mode={mode!r}: files are replaced as a whole; write to new files")
    _require_known(options, pd.DataFrame.to_csv, "to_csv", ("path_or_buf", "storage_options"))
    text = _path_text("to_csv", path)
    compression = _compression(text, "infer" if single_file and compression is None else compression)
    first_only = single_file if header_first_partition_only is None else header_first_partition_only
    settings = {"header": header, "first_only": first_only, "encoding": encoding or "utf-8", "compression": compression}
    where = {"filesystem": filesystem, "storage_options": storage_options}
    place = _Place(text, ".csv", single_file, name_function, overwrite, mode.startswith("x"), where)
    return _write_texts(frame, place, _write_csv, {**settings, "options": options}, compute)


@with_function_arguments(pd.DataFrame.to_json)
def to_json(
    frame: Any,
    path: PathLike,
    *,
    orient: str = "records",
    lines: bool | None = None,
    name_function: NameFunction | None = None,
    encoding: str | None = "utf-8",
    compression: Any = None,
    overwrite: bool = False,
    storage_options: dict[str, Any] | None = None,
    filesystem: Any = None,
    compute: bool = True,
    **options: Any,
) -> Any:
    """Write a frame into a folder, one JSON file a partition, and wait for it. Parameters as in `to_csv`.

    Parameters
    ----------
    orient, lines
        As in `pandas.DataFrame.to_json`. Default: a record a line.
    """
    by_line = orient == "records" if lines is None else lines
    if by_line and orient != "records":
        raise OptionError(f"lines=True needs orient='records', got orient={orient!r}")
    _require_known(options, pd.DataFrame.to_json, "to_json", ("path_or_buf", "storage_options"))
    text = _path_text("to_json", path)
    compression = _compression(text, compression)
    settings = {"encoding": encoding or "utf-8", "compression": compression}
    where = {"filesystem": filesystem, "storage_options": storage_options}
    place = _Place(text, ".json", False, name_function, overwrite, False, where)
    how = {"orient": orient, "lines": by_line, **options}
    return _write_texts(frame, place, _write_json, {**settings, "options": how}, compute)


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
    **options: Any,
) -> Any:
    """Write a frame into a folder, one ORC file a partition, and wait for it. Parameters as in `to_parquet`.

    Parameters
    ----------
    write_index
        Whether to write the index as a column. Default: unless it is a range of numbers.
    """
    _require_pyarrow(engine)
    _require_known(options, orc.write_table, "to_orc", ("table", "where"))
    if isinstance(frame.expr.meta, pd.Series):
        frame = frame.to_frame()
    staging, old = _prepare(path, ".orc", filesystem, storage_options, may_exist=overwrite)
    if write_index is None:
        write_index = not isinstance(frame.expr.meta.index, pd.RangeIndex)
    settings = {"staging": staging, "write_index": write_index, "options": options}
    names = numbered(frame.npartitions, name_function, ".orc")
    return write_partitions(frame, _write_orc, names, settings, Publish(staging, old), compute=compute)


def _path_text(method: str, path: Any) -> str:
    """Return a path as text.

    Raises
    ------
    TypeError
        If it is none, as where pandas returns the text, or writes into a buffer.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"{method}: path={path!r} should be the path of a folder or a file; for text or a buffer: compute().{method}(...)"
        )
    return os.fspath(path)


def _require_known(options: dict[str, Any], function: Callable[..., Any], method: str, own: Sequence[str]) -> None:
    """Check that a function that tasks call takes some options; `own` are those that tasks give.

    Raises
    ------
    TypeError
        If not: before anything is computed.
    """
    known = [name for name in inspect.signature(function).parameters if name not in (*own, "self", "kwargs")]
    for name in options:
        if name not in known:
            raise TypeError(f"{method}() got an unexpected keyword argument {name!r}; there are {', '.join(known)}")


def _require_pyarrow(engine: str) -> None:
    if engine not in ("auto", "pyarrow"):
        raise NotImplementedError(
            f"engine={engine!r}: PyArrow writes the files; give engine='pyarrow', or leave it out"
        )


def _prepare(
    path: PathLike, suffix: str, filesystem: Any, storage_options: dict[str, Any] | None, *, may_exist: bool
) -> tuple[Staging, list[str]]:
    """Return where to write, and the names of the files that are there."""
    files, (folder,) = locate(path, filesystem, storage_options)
    staging = staging_in(files, os.path.abspath(folder) if files == LOCAL else folder)
    old = staging.found(suffix)
    if old and not may_exist:
        raise FileExistsError(
            f"folder {staging.folder!r} holds {len(old)} {suffix[1:]} files already; give overwrite=True to replace them"
        )
    return staging, old


class _Place:
    """Where text files go: a folder, a name with a star in it, or a single file."""

    def __init__(
        self,
        path: str,
        suffix: str,
        single_file: bool,
        name_function: NameFunction | None,
        overwrite: bool,
        exclusive: bool,
        where: dict[str, Any],
    ) -> None:
        self.single_file, self.exclusive = single_file, exclusive
        folder, _, self.pattern = path.rpartition("/") if single_file or "*" in path else (path, "", "")
        self.suffix, self.name_function = suffix, name_function
        self.staging, old = _prepare(folder or ".", suffix, **where, may_exist=overwrite or bool(self.pattern))
        self.old = [] if self.pattern else old

    def names(self, count: int) -> list[str]:
        """Return the names of the partitions' files."""
        if "*" not in self.pattern or self.single_file:
            return numbered(count, self.name_function, self.suffix)
        digits = len(str(count - 1))
        name = self.name_function or (lambda number: f"{number:0{digits}}")
        return [self.pattern.replace("*", str(name(number))) for number in range(count)]

    def publish(self) -> Publish:
        """Return the last step.

        Raises
        ------
        FileExistsError
            If the file is there and must not be.
        """
        if self.single_file and self.exclusive:
            info = self.staging.filesystem.get_file_info(f"{self.staging.folder}/{self.pattern}")
            if info.is_file:
                raise FileExistsError(f"file {info.path!r} exists already; mode='w' replaces it")
        return Publish(self.staging, self.old, self.pattern if self.single_file else None)


def _write_texts(
    frame: Any, place: _Place, write: Callable[..., Written], settings: dict[str, Any], compute: bool
) -> Any:
    names = place.names(frame.npartitions)
    options = {**settings, "first": names[0]}
    publish = place.publish()
    places = places_of_numbers(frame.expr) if frame.expr.has_rows else ()
    if places:
        publish.rewrite = Rewriting(write, places, place.staging, options)
        write, options = write_and_keep, {"write": write, "places": places, "options": options}
    return write_partitions(frame, write, names, {**options, "staging": place.staging}, publish, compute=compute)


def _compression(path: str, compression: Any) -> Any:
    if compression != "infer":
        return compression
    by_suffix = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}
    return next((name for suffix, name in by_suffix.items() if path.endswith(suffix)), None)


def _require_same_columns(staging: Staging, name: str, frame: Any, keys: Sequence[str]) -> None:
    with staging.filesystem.open_input_file(f"{staging.folder}/{name}") as file:
        there = pq.read_schema(file)
    ours = pa.Schema.from_pandas(frame.expr.meta.drop(columns=list(keys)))
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
                f"append=True: column {field.name!r} is {other} in the files, but {field.type} in the frame"
            )


def _has_no_categories(dtype: Any) -> bool:
    return isinstance(dtype, pd.CategoricalDtype) and (dtype.categories is None or not len(dtype.categories))


def _next_number(old: Sequence[str]) -> int:
    numbers = [name.rpartition("/")[2].removeprefix("part-").removesuffix(".parquet") for name in old]
    return max((int(number) for number in numbers if number.isdigit()), default=len(old) - 1) + 1


# What tasks do.


def _write_parquet(
    block: Any,
    name: str,
    *,
    staging: Staging,
    keys: list[str],
    preserve_index: bool | None,
    metadata: dict[str, str] | None,
    schema: pa.Schema | dict[str, Any] | None,
    meta: Any,
    options: dict[str, Any],
) -> Written:
    if meta is not None:
        block = with_nulls_of(block, meta)
    parts = [("", block)] if not keys else _by_folder(block, keys)
    names = []
    for folder, part in parts:
        types = _with_types(part, schema, preserve_index) if isinstance(schema, dict) else schema
        table = pa.Table.from_pandas(part, schema=types, preserve_index=preserve_index)
        if metadata:
            table = table.replace_schema_metadata({**(table.schema.metadata or {}), **metadata})
        with staging.open(folder + name) as sink:
            pq.write_table(table, sink, **options)
        names.append(folder + name)
    return Written(len(block), tuple(names))


def _checked_schema(schema: Any, meta: Any) -> pa.Schema | dict[str, Any] | None:
    """Return the schema that was given, or the types of some columns; None if partitions have their own.

    Raises
    ------
    OptionError
        If it is something else.
    """
    if schema is None or isinstance(schema, pa.Schema):
        return schema
    if isinstance(schema, str) and schema == "infer":  # Dask's word for the default
        return None
    if not isinstance(schema, Mapping) or not all(isinstance(one, pa.DataType) for one in schema.values()):
        raise OptionError(
            f"schema={schema!r} should be a pyarrow.Schema, a dict from columns to types such as "
            "{'x': pyarrow.float32()}, or 'infer'"
        )
    require_columns([name for name in schema if name not in meta.index.names], meta)
    return dict(schema)


def _with_types(part: Any, types: dict[str, Any], preserve_index: bool | None) -> pa.Schema:
    """Return the Arrow schema of a pandas frame with other types of some columns."""
    schema = pa.Schema.from_pandas(part, preserve_index=preserve_index)
    for name, dtype in types.items():
        place = schema.get_field_index(name)
        if place >= 0:
            schema = schema.set(place, pa.field(name, dtype))
    return schema


def _by_folder(block: Any, keys: list[str]) -> list[tuple[str, Any]]:
    """Return the rows of each folder, without the columns that its name tells."""
    found = []
    for values, part in block.groupby(keys, dropna=False, observed=True, sort=False):
        names = (f"{quote(str(key), safe=' ')}={_folder_value(one)}" for key, one in zip(keys, values, strict=True))
        found.append(("".join(f"{name}/" for name in names), part.drop(columns=keys)))
    return found


def _folder_value(value: Any) -> str:
    return _NO_VALUE if pd.isna(value) else quote(str(value), safe=" ")


def _write_csv(
    block: Any,
    name: str,
    *,
    staging: Staging,
    first: str,
    header: Any,
    first_only: bool,
    encoding: str,
    compression: Any,
    options: dict[str, Any],
) -> Written:
    shown = False if first_only and name != first else header
    return _write_text(block.to_csv, name, staging, encoding, compression, {"header": shown, **options}, len(block))


def _write_json(
    block: Any, name: str, *, staging: Staging, first: str, encoding: str, compression: Any, options: dict[str, Any]
) -> Written:
    return _write_text(block.to_json, name, staging, encoding, compression, options, len(block))


def _write_text(
    write: Callable[..., Any],
    name: str,
    staging: Staging,
    encoding: str,
    compression: Any,
    options: dict[str, Any],
    n_rows: int,
) -> Written:
    with staging.open(name) as sink:
        if compression is None:
            text = write(None, **options)
            sink.write((text or "").encode(encoding, options.get("errors", "strict")))
        else:
            buffer = io.BytesIO()
            write(buffer, compression=compression, **({"encoding": encoding} if "header" in options else {}), **options)
            sink.write(buffer.getvalue())
    return Written(n_rows, (name,))


def _write_orc(block: Any, name: str, *, staging: Staging, write_index: bool, options: dict[str, Any]) -> Written:
    table = pa.Table.from_pandas(block, preserve_index=write_index).replace_schema_metadata(None)
    buffer = pa.BufferOutputStream()  # an error of the disk in the midst of ORC ends the process
    orc.write_table(table, buffer, **options)
    with staging.open(name) as sink:
        sink.write(buffer.getvalue())
    return Written(len(block), (name,))
