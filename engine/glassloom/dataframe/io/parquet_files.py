"""What Parquet files say of themselves: footers, schemas, statistics, and the values in hive folders' names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from glassloom.dataframe.io.conditions import Bounds
from glassloom.dataframe.io.filesystems import Files, State
from glassloom.errors import OptionError, ReadError

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
NOT_A_TIME = -(2**63)
"""The number by which pandas marks a missing time."""
_MOST_STATISTICS = 200_000
"""Of row groups' columns, that are looked at: half a second."""
_WHOLE_NUMBER = re.compile("-?[0-9]+")


class FilePiece(NamedTuple):
    """Some row groups of a file. `state` tells the version of the file whose footer was read, `hive` its folders' values.

    `digest` identifies the footer. Where the file has no column of labels, though others do, those of its rows are
    ``labels[0] + labels[1] * number``, by their numbers in all files.
    """

    path: str
    state: State
    groups: tuple[int, ...]
    first_row: int
    n_rows: int
    hive: tuple[Any, ...] = ()
    digest: str = ""
    labels: tuple[int, int] | None = None


_DICTIONARY = frozenset(["RLE_DICTIONARY", "PLAIN_DICTIONARY"])
_CODE_BYTES, _DICTIONARY_BYTES = 1.5, 4096
"""Codes of up to 12 bits, and their dictionary, take at most this."""
Partition = tuple[FilePiece, ...]
"""The pieces that are read into one partition, in their order."""


class HiveColumn(NamedTuple):
    """A column whose values are in the names of folders, such as ``year=2024``; `kind` is the Arrow type that was asked for."""

    name: str
    values: tuple[Any, ...]
    kind: Any = None
    has_missing: bool = False


FolderTypes = tuple[tuple[str, Any], ...]
"""The Arrow types of columns of folders' names, by name."""


def small_pieces(piece: FilePiece, metadata: Any, n_rows: int) -> list[FilePiece]:
    """Return a piece as pieces of as few row groups as have `n_rows` rows together."""
    pieces: list[FilePiece] = []
    groups: list[int] = []
    first_row = row = piece.first_row
    for group in piece.groups:
        groups.append(group)
        row += metadata.row_group(group).num_rows
        if row - first_row >= n_rows or group == piece.groups[-1]:
            pieces.append(piece._replace(groups=tuple(groups), first_row=first_row, n_rows=row - first_row))
            groups, first_row = [], row
    return pieces


@lru_cache(maxsize=1024)
def footer(state: State, files: Files) -> Any:
    """Return a file's metadata; kept, because each of its row groups needs it.

    Raises
    ------
    ReadError
        If the file isn't Parquet.
    """
    return read_footer(state[0], files)


def read_footer(path: str, files: Files) -> Any:
    """Return a file's metadata as it is now. Raises as `footer`."""
    try:
        return pq.read_metadata(files.source(path))
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"{path!r} can't be read as Parquet: {error}") from error


@lru_cache(maxsize=1024)
def footer_digest(state: State, files: Files) -> str:
    """Return what tells a file's footer from others; kept as that is."""
    return digest_of(footer(state, files))


def digest_of(metadata: Any) -> str:
    """Return what tells metadata from other ones, in every process."""
    sink = pa.BufferOutputStream()
    metadata.write_metadata_file(sink)
    return hashlib.blake2b(sink.getvalue(), digest_size=16).hexdigest()


def require_unchanged(piece: FilePiece, files: Files) -> None:
    """Check that a file is the one that pieces were made of. On another machine it may be a copy, of another time.

    Raises
    ------
    ReadError
        If it isn't.
    FileNotFoundError
        If it is gone.
    """
    try:
        found = files.state(piece.path)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{piece.path!r} is gone since read_parquet() looked at it") from error
    is_known = footer_digest(piece.state, files) == piece.digest  # no: another process read the footer before
    if is_known and found == piece.state:
        return
    if not is_known or found[1] != piece.state[1] or digest_of(read_footer(piece.path, files)) != piece.digest:
        raise ReadError(f"{piece.path!r} has changed since read_parquet() looked at it: call read_parquet() again")


@contextmanager
def unchanged(piece: FilePiece, files: Files) -> Iterator[None]:
    """Check that what is read meanwhile is the file that pieces were made of. Raises as `require_unchanged`."""
    if files.arrow is None:  # elsewhere it takes a request
        require_unchanged(piece, files)
    try:
        yield
    except Exception:  # the reader may raise anything over a file that changes while it is read
        require_unchanged(piece, files)
        raise
    require_unchanged(piece, files)


# Folders such as ``year=2024/month=3``.


def hive_columns(
    paths: Sequence[str], names_in_files: Sequence[str], types: FolderTypes = ()
) -> tuple[list[HiveColumn], list[tuple[Any, ...]]]:
    """Return the columns that folders' names yield, and their values for each file. None: the value is missing.

    As with PyArrow a column has the type that was asked for, else is of whole numbers if all values are, and of text otherwise.

    Raises
    ------
    ReadError
        If files lie in folders of different columns.
    """
    found = [folder_names(path) for path in paths]
    names = list(found[0])
    for path, pairs in zip(paths, found, strict=True):
        if list(pairs) != names:
            raise ReadError(f"{path!r} lies in folders of {list(pairs)}, but {paths[0]!r} in folders of {names}")
    names = [name for name in names if name not in names_in_files]
    kinds = dict(types)
    if unknown := [name for name in kinds if name not in names]:
        raise OptionError(f"dataset= gives types of {unknown}; the columns of folders' names are {names}")
    columns, by_column = [], []
    for name in names:
        texts = [pairs[name] for pairs in found]
        kind = kinds.get(name)
        values = _as_numbers(texts) if kind is None else _as_type(name, texts, kind)
        found_values = tuple(dict.fromkeys(value for value in values if value is not None))
        columns.append(HiveColumn(name, found_values, kind, None in values))
        by_column.append(values)
    return columns, [tuple(values[place] for values in by_column) for place in range(len(paths))]


def folder_names(path: str) -> dict[str, str | None]:
    """Return the names and values of the folders of a file, such as ``year=2024``.

    >>> folder_names("data/year=2024/city=S%C3%A3o/part-0.parquet")
    {'year': '2024', 'city': 'São'}
    """
    pairs: dict[str, str | None] = {}
    for folder in path.replace("\\", "/").split("/")[:-1]:
        name, sign, value = folder.partition("=")
        if sign and name:
            pairs[unquote(name)] = None if value == _NO_VALUE else unquote(value)
    return pairs


def _as_numbers(texts: list[str | None]) -> list[Any]:
    """Return texts as numbers if all are whole ones of 32 bits, and no two are the same number, as "1" and "01"."""
    if not all(text is None or _WHOLE_NUMBER.fullmatch(text) for text in texts):
        return list(texts)
    numbers = [None if text is None else int(text) for text in texts]
    is_int32 = all(number is None or -(1 << 31) <= number < 1 << 31 for number in numbers)
    return list(numbers) if is_int32 and len(set(numbers)) == len(set(texts)) else list(texts)


def _as_type(name: str, texts: list[str | None], kind: Any) -> list[Any]:
    """Return texts as values of an Arrow type.

    Raises
    ------
    OptionError
        If one isn't one.
    """
    wanted = kind.value_type if pa.types.is_dictionary(kind) else kind
    try:
        return list(pa.array(texts, pa.string()).cast(wanted).to_pylist())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise OptionError(f"dataset= says that the folders' values of {name!r} are {wanted}: {error}") from error


def casts_of_folders(columns: Sequence[HiveColumn]) -> dict[str, str]:
    """Return what pandas makes of columns of folders' names of whole numbers or booleans that are missing in some folders."""
    of_numbers = {
        column.name: column.kind
        for column in columns
        if column.has_missing and column.kind is not None and not pa.types.is_dictionary(column.kind)
    }
    return {
        name: "object" if pa.types.is_boolean(kind) else "float64"
        for name, kind in of_numbers.items()
        if pa.types.is_boolean(kind) or pa.types.is_integer(kind)
    }


def hive_type(column: HiveColumn) -> pa.DataType:
    """Return the Arrow type of a column of folders' names, as codes of its values."""
    if column.kind is not None:
        return pa.dictionary(pa.int32(), column.kind.value_type if pa.types.is_dictionary(column.kind) else column.kind)
    is_text = any(isinstance(value, str) for value in column.values) or not column.values
    return pa.dictionary(pa.int32(), pa.string() if is_text else pa.int32())


# Statistics.


def statistics(one: Any, group: int, name: str, place: int | None = None) -> Any:
    """Return the statistics of a column in a row group of a footer, or None. `place`: where the column probably is."""
    row_group = one.row_group(group)
    found = place_in_group(row_group, name, place)
    if found is None:
        return None
    column = row_group.column(found)
    return column.statistics if column.is_stats_set else None


def place_in_group(row_group: Any, name: str, place: int | None = None) -> int | None:
    """Return the place of a column in a row group, or None. `place`: where it probably is."""
    places = range(row_group.num_columns) if place is None or place >= row_group.num_columns else (place,)
    for candidate in places:
        if row_group.column(candidate).path_in_schema == name:
            return candidate
    return None if place is None else place_in_group(row_group, name)


def is_dictionary_encoded(one: Any, groups: Sequence[int], name: str, place: int) -> bool:
    """Whether a footer says that a column of some row groups is, as it seems, codes of few distinct values."""
    for group in groups:
        row_group = one.row_group(group)
        chunk = row_group.column(place) if place < row_group.num_columns else None
        if chunk is None or chunk.path_in_schema != name or not _DICTIONARY.intersection(chunk.encodings):
            return False
        if chunk.total_uncompressed_size > _CODE_BYTES * chunk.num_values + _DICTIONARY_BYTES:
            return False
    return bool(groups)


def group_bounds(one: Any, group: int, name: str, kind: pa.DataType, place: int | None = None) -> Bounds | None:
    """Return what a footer says of the values of a column in a row group; None: nothing."""
    found = statistics(one, group, name, place)
    if found is None:
        return None if _has_column(one, group, name) else Bounds(None, None, True, False)
    may_be_missing = bool(not found.has_null_count or found.null_count or pa.types.is_floating(kind))
    may_be_present = found.num_values > 0 or not found.has_null_count
    try:
        low, high = (found.min, found.max) if found.has_min_max else (None, None)
    except OverflowError:  # times that Python's don't reach to
        low, high = None, None
    if low is None or high is None or pd.isna(low):
        return Bounds(None, None, may_be_missing, may_be_present)
    if pa.types.is_timestamp(kind):
        low, high = (_timestamp(value, kind) for value in (low, high))
    return Bounds(low, high, may_be_missing, may_be_present)


def _has_column(one: Any, group: int, name: str) -> bool:
    """Whether a row group has a column, which may consist of others."""
    row_group = one.row_group(group)
    paths = (row_group.column(place).path_in_schema for place in range(row_group.num_columns))
    return any(path == name or path.startswith(f"{name}.") for path in paths)


def _timestamp(value: Any, kind: pa.DataType) -> pd.Timestamp:
    stamp = pd.Timestamp(value)
    if kind.tz is None:
        return stamp.tz_localize(None)
    return stamp.tz_localize("UTC") if stamp.tzinfo is None else stamp


def divisions_of(
    partitions: Sequence[Partition], files: Files, index_column: str | None, start: int, step: int, kind: Any
) -> tuple[Any, ...]:
    """Return the divisions that row numbers or the footers' statistics of the index column yield; None if nothing does."""
    unknown = (None,) * (len(partitions) + 1)
    if any(piece.n_rows == 0 for partition in partitions for piece in partition):
        return unknown
    if index_column is None:
        if step < 1:
            return unknown
        last = partitions[-1][-1].first_row + partitions[-1][-1].n_rows - 1
        return tuple(start + step * row for row in [*(partition[0].first_row for partition in partitions), last])
    bounds = bounds_of(partitions, files, index_column, kind)
    if bounds is None or any(one.high >= other.low for one, other in pairwise(bounds)):
        return unknown
    return tuple(_label(value) for value in [*(one.low for one in bounds), bounds[-1].high])


def bounds_of(partitions: Sequence[Partition], files: Files, column: str, kind: Any) -> list[Bounds] | None:
    """Return between what the values of a column lie in each partition, by the footers' statistics; None if some don't say, or values are missing."""
    found = []
    for partition in partitions:
        groups = [(footer(piece.state, files), group) for piece in partition for group in piece.groups]
        bounds = [group_bounds(one, group, column, kind) for one, group in groups]
        known = [one for one in bounds if one is not None and one.low is not None]
        if len(known) < len(bounds) or not known:
            return None
        of_groups = [statistics(one, group, column) for one, group in groups]
        if any(not one.has_null_count or one.null_count for one in of_groups):
            return None
        found.append(Bounds(min(one.low for one in known), max(one.high for one in known), False, True))
    return found


def complete_columns(partitions: Sequence[Partition], files: Files, kinds: Mapping[str, pa.DataType]) -> frozenset[str]:
    """Return the columns, among those of these types, of which footers say that no value is missing; none if there are many row groups."""
    groups = [(piece.state, group) for partition in partitions for piece in partition for group in piece.groups]
    left = {name for name, kind in kinds.items() if _has_no_nan(kind)}
    if len(groups) * len(kinds) > _MOST_STATISTICS:
        return frozenset()
    for state, group in groups:
        if not left:
            break
        row_group = footer(state, files).row_group(group)
        chunks = [row_group.column(place) for place in range(row_group.num_columns)]
        left &= {chunk.path_in_schema for chunk in chunks if _is_complete(chunk, kinds)}
    return frozenset(left)


def _has_no_nan(kind: pa.DataType) -> bool:
    """Whether what pandas takes for missing among values of a type is null in a file, too."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_number = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return is_number or is_text or pa.types.is_date(kind) or pa.types.is_timestamp(kind)


def _is_complete(chunk: Any, kinds: Mapping[str, pa.DataType]) -> bool:
    kind = kinds.get(chunk.path_in_schema)
    found = chunk.statistics if kind is not None and chunk.is_stats_set else None
    if found is None or not found.has_null_count or found.null_count:
        return False
    return not pa.types.is_timestamp(kind) or (found.has_min_max and found.min_raw > NOT_A_TIME)


def _label(value: Any) -> Any:
    return pd.Timestamp(value) if hasattr(value, "year") else value


def hive_array(column: HiveColumn, pieces: Sequence[tuple[Any, int]]) -> pa.Array:
    """Return the values of a column of folders' names: of each piece the value and the number of rows."""
    kind = hive_type(column)
    codes = [(-1 if value is None else column.values.index(value), count) for value, count in pieces]
    indices = np.repeat([code for code, _ in codes], [count for _, count in codes]).astype("int32")
    made = pa.DictionaryArray.from_arrays(
        pa.array(indices, mask=indices < 0), pa.array(column.values, type=kind.value_type)
    )
    is_plain = column.kind is not None and not pa.types.is_dictionary(column.kind)
    return made.dictionary_decode() if is_plain else made
