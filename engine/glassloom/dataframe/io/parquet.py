"""Parquet: files, folders and hive folders, read by row groups. Only the footers are read when the frame is made."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any

import pandas as pd
import pyarrow as pa

from glassloom.config import Configured, chosen
from glassloom.dataframe.argument_kinds import collection_of
from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.backend import to_backend
from glassloom.dataframe.columns import require_columns, unknown_columns
from glassloom.dataframe.io.common_types import CommonSchema, common_schema, without_labels
from glassloom.dataframe.io.conditions import condition_of_filters
from glassloom.dataframe.io.filesystems import Files, State, locate
from glassloom.dataframe.io.noted_index import NotedIndex, chosen_index, levels_of, noted_index
from glassloom.dataframe.io.parquet_arguments import (
    checked_split,
    chosen_engine,
    folder_types,
    require_dtype_backend,
    require_kinds,
)
from glassloom.dataframe.io.parquet_files import (
    FilePiece,
    FolderTypes,
    HiveColumn,
    Partition,
    casts_of_folders,
    divisions_of,
    folder_names,
    footer,
    footer_digest,
    hive_columns,
)
from glassloom.dataframe.io.parquet_filters import KnownFilters, filter_expression, known_filters, require_known_filters
from glassloom.dataframe.io.parquet_missing import columns_with_missing, columns_with_no_times
from glassloom.dataframe.io.parquet_rows import (
    fragment_of,
    may_match,
    whole_schema,
)
from glassloom.dataframe.io.parquet_source import ParquetSource, accepted, merged_pieces
from glassloom.dataframe.io.parquet_summary import without_summaries
from glassloom.dataframe.io.parquet_to_pandas import Layout, nullable_columns
from glassloom.dataframe.io.paths import PathLike
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.wrap import wrap
from glassloom.errors import OptionError, ReadError
from glassloom.graph import tokenize
from glassloom.graph.caller_options import CallerOptions, caller_options
from glassloom.units import parse_bytes

_SUFFIXES = (".parquet", ".parq", ".pq")
_BLOCK_SIZE = Configured("dataframe.parquet-block-size")
_ENGINE = Configured("dataframe.parquet-engine")
_FOOTER_THREADS = 8
_MOST_FILES_KEPT = 256
"""Files: what is known of more of them is found anew each time, so that little memory is kept."""
_JOINED_FROM = 64
"""Row groups: fewer become a partition each, however small, so that all cores have work."""


@with_function_arguments()
def read_parquet(
    path: PathLike | Sequence[PathLike],
    *,
    columns: str | Sequence[str] | None = None,
    filters: Any = None,
    index: str | Sequence[str] | bool | None = None,
    engine: str | Configured = _ENGINE,
    split_row_groups: bool | int | str = "infer",
    aggregate_files: bool | str | None = None,
    blocksize: int | str | None | Configured = _BLOCK_SIZE,
    dtype_backend: str | None = None,
    backend: str | Configured = Configured("dataframe.backend"),
    storage_options: dict[str, Any] | None = None,
    filesystem: Any = None,
    partition_by: str | None = None,
    categories: str | Sequence[str] | None = None,
    partitioning: Any = "hive",
    dataset: dict[str, Any] | None = None,
) -> Any:
    """Read Parquet files into a frame. Only the footers are read at once.

    Where footers don't say how many values are missing, columns of whole numbers and booleans are read once to find out whether any is: they
    are floats, or objects, then. `columns` and `dtype_backend` make that less, or needless.

    Parameters
    ----------
    path
        A file, a glob, a folder of Parquet files, or a list of those; or URLs such as ``s3://...``. Columns of unlike numbers,
        units of time or forms of text get the type that holds all values, as with `pandas.concat`; values of a column that a file
        lacks are missing.
        Folders named ``column=value`` add a categorical column, the last ones; partitions that a filter on such a
        column leaves out are not read.
    columns
        The columns to read, in this order; a name alone gives a series. Default: all. Columns that turn out not to be
        needed aren't read anyway.
    filters
        Rows to read, as pyarrow takes them: ``[("x", ">", 0), ("name", "in", ["a", "b"])]``, or a list of such lists,
        of which one must be fulfilled, or an expression of `pyarrow.compute`. The remaining rows keep the numbers that
        they have without `filters`. Row groups that can't have such rows are no partitions.
    index
        The column to make the index, or a list of columns that become its levels; False for none. Default: what pandas noted when
        it wrote the files.
        Without such a column, rows are numbered through all files, or as pandas noted if there is one file.
    engine
        What reads the files; the result is the same. ``"auto"``: Polars where it is installed (the extra ``polars``), there is much
        to read and rows are filtered meanwhile, as it leaves out of other columns what filters leave out of their rows; PyArrow otherwise, also on file systems other
        than this machine's, and columns of types other than numbers, times without a zone, dates and text. ``"polars"``: also where there is little to
        read. ``"pyarrow"``: never Polars. Default: the option ``dataframe.parquet-engine`` (``"auto"``).
    split_row_groups
        What becomes a partition. True: each row group. A number: so many row groups. False: each file. ``"adaptive"``:
        as many row groups of a file as `blocksize` holds. ``"infer"``: each row group; where there are more than 64,
        small ones are joined as far as `blocksize` and 64 partitions allow.
    aggregate_files
        Whether row groups of several files may be joined to one partition: default for ``"infer"`` and ``"adaptive"``. The name of a
        column of folders: only those of files for which this and the columns of the folders above have the same values.
    blocksize
        Bytes in a partition, uncompressed; default the option ``dataframe.parquet-block-size`` (128 MiB).
    dtype_backend
        ``"numpy_nullable"`` or ``"pyarrow"``: pandas' dtypes with missing values of their own. Default: NumPy's.
    backend
        The library of the partitions: ``"pandas"``, or ``"cudf"`` to move what was read to the device. Default: the option
        ``dataframe.backend``.
    storage_options
        Options of fsspec's file system for URLs.
    filesystem
        A file system of fsspec or `pyarrow.fs`, or ``"pyarrow"`` to have PyArrow find the one of the URLs.
    partition_by
        ``"row_group"`` or ``"file"``: short for ``split_row_groups=True`` and False.
    categories
        Columns that become categorical, their categories the values that there are.
    partitioning
        ``pyarrow.dataset.partitioning(schema, flavor="hive")`` gives columns of folders' names the types of a schema, of which
        dictionaries are categories. Default: categories of whole numbers or of text.
    dataset
        ``{"partitioning": ...}``, as Dask takes it: the same, or ``{"flavor": "hive", "schema": schema}``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ReadError
        If a file is damaged or isn't Parquet; if there is no type for all files' values of a column; when computing: if a file has
        changed, or the type for a column of all files doesn't hold a value.
    UnknownColumn
        If a column in `columns` or `index` doesn't exist.

    Examples
    --------
    >>> import pandas as pd
    >>> import tempfile
    >>> import glassloom.dataframe as gd
    >>> file = tempfile.mkdtemp() + "/a.parquet"
    >>> pd.DataFrame({"x": [1, 2], "y": [3, 4]}).to_parquet(file)
    >>> len(gd.read_parquet(file))
    2
    """
    reader = chosen_engine(chosen(engine))
    require_dtype_backend(dtype_backend)
    split = checked_split(split_row_groups, partition_by)
    require_kinds(index, aggregate_files)
    files, names = locate(path, filesystem, storage_options)
    states = without_summaries(files.find(names, _SUFFIXES))
    selected = (columns,) if isinstance(columns, str) else None if columns is None else tuple(columns)
    size = parse_bytes(chosen(_BLOCK_SIZE if blocksize == "default" else blocksize) or "128 MiB")
    types = folder_types(partitioning, dataset)
    asked = (selected, index, dtype_backend, split, size, aggregate_files, types, reader)
    known = known_filters(filters) if _may_keep(states, index) else None
    if known is None:
        source = _source(files, states, *asked, filters)
    else:
        source = _kept_source(files, states, known, caller_options(), *asked)
    frame = to_backend(wrap(Read(source, None, None, None)), chosen(backend))
    if source.levels:
        frame = frame.set_index([level.column for level in source.levels])
        frame = frame.rename_axis(index=[level.name for level in source.levels])
    if source.labels is not None:
        frame = frame.set_axis(source.labels, axis=1)
    frame = _with_categories(frame, categories)
    return frame[columns] if isinstance(columns, str) else frame


def _with_categories(frame: Any, categories: str | Sequence[str] | None) -> Any:
    given = [categories] if isinstance(categories, str) else () if categories is None else categories
    names = collection_of("read_parquet", "categories", given, "columns")
    require_columns(names, frame.expr.meta)
    plain = [name for name in names if not isinstance(frame.expr.meta[name].dtype, pd.CategoricalDtype)]
    return frame.astype(dict.fromkeys(plain, "category")) if plain else frame


def _may_keep(states: Sequence[State], index: Any) -> bool:
    return not isinstance(index, (list, tuple)) and len(states) <= _MOST_FILES_KEPT


@lru_cache(maxsize=64)
def _kept_source(
    files: Files, states: tuple[State, ...], filters: KnownFilters, _options: CallerOptions | None, *asked: Any
) -> ParquetSource:
    """Return the source of some versions of files; kept, as the same files are often read again in a session.

    Its dtypes follow from pandas' options.
    """
    selected, index, dtype_backend, split, size, aggregate_files, types, engine = asked
    filtered = filters.filters
    return _source(files, states, selected, index, dtype_backend, split, size, aggregate_files, types, engine, filtered)


def _source(
    files: Files,
    states: Sequence[State],
    selected: Sequence[str] | None,
    index: Any,
    dtype_backend: str | None,
    split: bool | int | str,
    size: int,
    aggregate_files: bool | str | None,
    types: FolderTypes,
    engine: str,
    filters: Any,
) -> ParquetSource:
    """Return what the footers of files say. See `read_parquet`."""
    with ThreadPoolExecutor(min(_FOOTER_THREADS, len(states))) as pool:
        read = list(pool.map(lambda state: (footer(state, files), footer_digest(state, files)), states))
    footers, digests = [one for one, _ in read], [digest for _, digest in read]
    paths = [state[0] for state in states]
    schemas = [one.schema.to_arrow_schema() for one in footers]
    common, labels = without_labels(common_schema(paths, schemas))
    index = chosen_index(index, paths, schemas, [one.num_rows for one in footers])
    levels = levels_of(schemas, index)
    asked = selected
    if levels:
        index = False
        read_too = [level.column for level in levels if selected is not None and level.column not in selected]
        selected = None if selected is None else (*selected, *read_too)
    noted = (
        NotedIndex(None, None) if index is not None else noted_index(paths, schemas, [one.num_rows for one in footers])
    )
    hive, values = hive_columns(paths, common.schema.names, types)
    layout = _layout(common, hive, schemas, states, footers, selected, index, noted, filters, files, dtype_backend)
    layout = layout._replace(engine=engine)
    _require_in_all(paths, schemas, layout, noted)
    pieces = _pieces(states, footers, values, digests, noted.ranges)
    if layout.where:
        pieces = [piece for piece in pieces if may_match(piece, layout, layout.where)] or _first(pieces)
    elif filters is not None:
        pieces = _pruned(pieces, layout)
    shared = _n_shared(aggregate_files, hive)
    partitions = _partitions(pieces, files, split, size, may_join=bool(shared) or aggregate_files, shared=shared)
    kind = layout.schema.field(layout.index_column).type if layout.index_column in layout.schema.names else None
    divisions = divisions_of(partitions, files, layout.index_column, layout.start, layout.step, kind)
    # Partitions and layout follow from these, and are long.
    token = tokenize(files, states, asked, selected, index, dtype_backend, split, size, aggregate_files, types, filters)
    source = ParquetSource(partitions, layout, divisions, token)
    source.levels = levels
    own = [level.column for level in levels]
    source.labels = None if labels is None else labels.of(tuple(name for name in layout.columns if name not in own))
    return source


def _require_in_all(paths: Sequence[str], schemas: Sequence[pa.Schema], layout: Layout, noted: NotedIndex) -> None:
    """Check that the column of the index and those of folders' names are no column that only some files have.

    Raises
    ------
    ReadError
        If one is.
    """
    names = {layout.index_column} - {column.name for column in layout.hive} - {None}
    for path, schema in zip(paths, schemas, strict=True) if not noted.ranges else ():
        for name in names.difference(schema.names):
            raise ReadError(
                f"{path!r} lacks column {name!r}, which is the index of other files; choose another one with index="
            )
    if noted.ranges and not pa.types.is_integer(kind := layout.schema.field(layout.index_column).type):
        path = next(path for path, own in zip(paths, noted.ranges, strict=True) if own is not None)
        raise ReadError(
            f"the index of {path!r} is a range of numbers, that of other files {kind}; choose index=False, or a column"
        )
    folders = {name: path for path in paths for name in folder_names(path)}
    for path, schema in zip(paths, schemas, strict=True):
        for name in folders.keys() & set(layout.schema.names) - set(schema.names):
            raise ReadError(f"column {name!r} is in the names of folders, and not in {path!r} though in other files")


def _pieces(
    states: Sequence[State],
    footers: list[Any],
    hive: list[tuple[Any, ...]],
    digests: Sequence[str],
    ranges: Sequence[range | None],
) -> list[FilePiece]:
    """Return a piece for each row group, and one for each file that has none. `ranges` are those of `NotedIndex`."""
    pieces: list[FilePiece] = []
    row = 0
    for place, (state, one, values) in enumerate(zip(states, footers, hive, strict=True)):
        own = ranges[place] if ranges else None
        labels = None if own is None else (own.start - own.step * row, own.step)
        whole = FilePiece(state[0], state, (), row, 0, values, digests[place], labels)
        if one.num_row_groups == 0:
            pieces.append(whole)
        for group in range(one.num_row_groups):
            n_rows = one.row_group(group).num_rows
            pieces.append(whole._replace(groups=(group,), first_row=row, n_rows=n_rows))
            row += n_rows
    return pieces


def _first(pieces: list[FilePiece]) -> list[FilePiece]:
    """Return a piece of which no row will be left: one with values, as they tell the categories of a column."""
    return [next((piece for piece in pieces if piece.groups), pieces[0])]


def _pruned(pieces: list[FilePiece], layout: Layout) -> list[FilePiece]:
    """Return the pieces that may have rows that fulfil the user's filters; the first one if none may.

    Raises
    ------
    OptionError
        If the filters can't be understood, or name a column that there isn't.
    """
    schema = whole_schema(layout)
    require_known_filters(layout.filters, schema)
    kept: list[FilePiece] = []
    try:
        expression = filter_expression(layout.filters)
        for _, group in groupby(pieces, key=attrgetter("path")):
            of_file = list(group)
            whole = fragment_of(merged_pieces(of_file)[0], layout) if of_file[0].groups else None
            some = [] if whole is None else whole.split_by_row_group(expression, schema=schema)
            numbers = {part.row_groups[0].id for part in some}
            kept.extend(piece for piece in of_file if numbers.intersection(piece.groups))
    except (pa.ArrowException, TypeError, ValueError) as error:
        first = str(error).partition("\n")[0]  # PyArrow adds the whole schema
        raise OptionError(f"filters={layout.filters!r} can't be applied: {first}") from error
    return kept or _first(pieces)


def _n_shared(aggregate_files: bool | str | None, hive: Sequence[HiveColumn]) -> int:
    """Return how many columns of folders files that are joined must have in common."""
    if not isinstance(aggregate_files, str):
        return 0
    names = [column.name for column in hive]
    if aggregate_files not in names:
        raise OptionError(f"aggregate_files={aggregate_files!r} should be True, False, or a column of folders: {names}")
    return names.index(aggregate_files) + 1


def _partitions(
    pieces: list[FilePiece],
    files: Files,
    split: bool | int | str,
    size: int,
    *,
    may_join: bool | str | None,
    shared: int,
) -> list[Partition]:
    """Return the pieces of each partition. Files that are joined have the same values of the first `shared` columns of folders."""
    if split is True or (split == "infer" and len(pieces) <= _JOINED_FROM):
        return [(piece,) for piece in pieces]
    sizes = [_piece_bytes(piece, files) for piece in pieces]
    if split == "infer":
        size = min(size, -(-sum(sizes) // _JOINED_FROM))
    most = 1 << 62 if isinstance(split, (bool, str)) else split
    joins_files = split in ("infer", "adaptive") if may_join is None else may_join
    if split is False:
        size = size if may_join else 1 << 62
    groups: list[list[FilePiece]] = []
    taken = 0
    for piece, nbytes in zip(pieces, sizes, strict=True):
        last = groups[-1] if groups else []
        is_same_file = bool(last) and last[-1].path == piece.path and last[-1].state is piece.state
        fits = bool(last) and taken + nbytes <= size and len(last) < most
        is_near = is_same_file or (joins_files and bool(last) and last[-1].hive[:shared] == piece.hive[:shared])
        if last and is_near and (fits or (split is False and is_same_file)):
            last.append(piece)
            taken += nbytes
        else:
            groups.append([piece])
            taken = nbytes
    return [merged_pieces(group) for group in groups]


def _piece_bytes(piece: FilePiece, files: Files) -> int:
    one = footer(piece.state, files)
    return sum(one.row_group(group).total_byte_size for group in piece.groups)


def _layout(
    common: CommonSchema,
    hive: list[HiveColumn],
    schemas: Sequence[pa.Schema],
    states: Sequence[State],
    footers: list[Any],
    columns: Sequence[str] | None,
    index: str | bool | None,
    noted: NotedIndex,
    filters: Any,
    files: Files,
    backend: str | None,
) -> Layout:
    schema = common.schema
    names = [*schema.names, *(column.name for column in hive)]
    if isinstance(index, (list, tuple)):
        (index,) = index  # of several `levels_of` has made levels
    if isinstance(index, str):
        if index not in names:
            raise unknown_columns([index], names)
        noted = NotedIndex(index, index)
    everything = [name for name in names if name != noted.column and name not in noted.levels]
    if noted.ranges:
        schema = _with_labels(schema, str(noted.column))
    if columns is not None:
        unknown = [name for name in columns if name not in names]
        if unknown:
            raise unknown_columns(unknown, everything)
        everything = list(columns)
    layout = Layout(
        columns=tuple(everything),
        index_column=noted.column,
        index_name=noted.name,
        start=noted.start,
        step=noted.step,
        casts={}
        if backend
        else {**_casts(schema, schemas, states, footers, everything, files), **casts_of_folders(hive)},
        filters=filters,
        where=(),
        schema=schema,
        hive=tuple(hive),
        files=files,
        backend=backend,
        like=common.like,
        no_times=_no_times(schema, footers, [*everything, noted.column]),
    )
    where = condition_of_filters(filters, lambda comparison: accepted(comparison, layout, exact=True))
    return layout if where is None else layout._replace(filters=None, where=where)


def _with_labels(schema: pa.Schema, name: str) -> pa.Schema:
    """Return a schema with a column of labels, whole numbers if no file with rows has one."""
    place = schema.get_field_index(name)
    if place < 0:
        return schema.append(pa.field(name, pa.int64()))
    is_untyped = pa.types.is_null(schema.field(place).type)
    return schema.set(place, pa.field(name, pa.int64())) if is_untyped else schema


def _casts(
    schema: pa.Schema,
    schemas: Sequence[pa.Schema],
    states: Sequence[State],
    footers: list[Any],
    columns: list[str],
    files: Files,
) -> dict[str, str]:
    """Return what pandas makes of integer and boolean columns that have missing values somewhere, or aren't in all files."""
    nullable = nullable_columns(schema, None)
    unlike = [own for own, one in zip(schemas, footers, strict=True) if one.num_rows and not own.equals(schema)]
    places = {
        field.name: place
        for place, field in enumerate(schema)
        if field.name in columns and field.name not in nullable and _may_not_miss(field.type)
    }
    missing = {name for name in places if any(_has_no_value(own, name) for own in unlike)}
    asked = {name: place for name, place in places.items() if name not in missing}
    missing |= columns_with_missing(asked, states, footers, files)
    kinds = {name: schema.field(place).type for name, place in places.items() if name in missing}
    return {name: "object" if pa.types.is_boolean(kind) else "float64" for name, kind in kinds.items()}


def _may_not_miss(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _no_times(schema: pa.Schema, footers: Sequence[Any], names: Sequence[Any]) -> frozenset[str]:
    fields = [(place, field) for place, field in enumerate(schema) if field.name in names]
    places = {field.name: place for place, field in fields if pa.types.is_timestamp(field.type)}
    return columns_with_no_times(places, footers) if places else frozenset()


def _has_no_value(schema: pa.Schema, name: str) -> bool:
    place = schema.get_field_index(name)
    return place < 0 or bool(pa.types.is_null(schema.field(place).type))
