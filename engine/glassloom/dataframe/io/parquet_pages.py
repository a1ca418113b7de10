"""Whether the headers of the pages in a Parquet file fit what its footer says: for a reader that trusts them.

Headers are structures of Thrift's compact protocol (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md), their
fields those of `PageHeader` in https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from glassloom.dataframe.io.filesystems import Files, State
from glassloom.dataframe.io.parquet_files import footer

_HEADER_BYTES = 512
"""Most headers are shorter; those with long texts as statistics aren't."""
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_COMPRESSED_SIZE, _OF_VALUES = 3, (5, 7, 8)
"""The numbers of fields of a header: the size, and the headers of pages of values, of dictionaries and of values in version 2."""
_DICTIONARY = 7
_UNCOMPRESSED_SIZE = 2
_DEEPEST = 8


class _Unsound(Exception):
    """A header isn't what it should be."""


@lru_cache(maxsize=4096)
def has_sound_pages(state: State, files: Files, groups: tuple[int, ...], places: tuple[int, ...]) -> bool:
    """Whether the headers of all pages of some columns in some row groups, of a file of this machine, fit the footer."""
    metadata = footer(state, files)
    try:
        with open(state[0], "rb") as file:
            for group in groups:
                row_group = metadata.row_group(group)
                for place in places:
                    _check(file.fileno(), row_group.column(place))
    except (_Unsound, OSError):
        return False
    return True


def places_of(metadata: Any, names: Sequence[str]) -> tuple[int, ...] | None:
    """Return where columns are in a file; None if one isn't there as a column of plain values."""
    schema = metadata.schema
    known = {schema.column(place).path: place for place in range(len(schema))}
    found = [known.get(name) for name in names]
    return None if None in found else tuple(place for place in found if place is not None)


def _check(file: int, chunk: Any) -> None:
    """Check the headers of a column's pages in a row group."""
    start = chunk.data_page_offset
    if chunk.dictionary_page_offset:
        start = min(start, chunk.dictionary_page_offset)
    end, n_values = start + chunk.total_compressed_size, 0
    while start < end and n_values < chunk.num_values:
        data = os.pread(file, min(_HEADER_BYTES, end - start), start)
        try:
            fields, length = _header(data)
        except IndexError:  # it is longer
            fields, length = _whole_header(os.pread(file, end - start, start))
        size, unpacked = fields.get(_COMPRESSED_SIZE), fields.get(_UNCOMPRESSED_SIZE)
        kinds = [kind for kind in _OF_VALUES if kind in fields]
        count = fields[kinds[0]].get(1) if len(kinds) == 1 else 0
        if size is None or unpacked is None or count is None or size < 0 or count < 0:
            raise _Unsound
        if (
            start + length + size > end
            or not 0 <= unpacked <= chunk.total_uncompressed_size
            or count > chunk.num_values
        ):
            raise _Unsound
        n_values += 0 if kinds == [_DICTIONARY] else count
        start += length + size
    if n_values != chunk.num_values:
        raise _Unsound


def _header(data: bytes) -> tuple[dict[int, Any], int]:
    """Return the fields of a structure at the beginning of some bytes, and how many it takes. Raises IndexError if it isn't whole."""
    return _struct(data, 0, 0)


def _whole_header(data: bytes) -> tuple[dict[int, Any], int]:
    try:
        return _header(data)
    except IndexError:
        raise _Unsound from None


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    if depth > _DEEPEST:
        raise _Unsound
    fields: dict[int, Any] = {}
    number = 0
    while (head := data[at]) != 0:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _signed(data, at)
        fields[number], at = _value(data, at, head & 0x0F, depth)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind == _BYTE:
        return data[at], at + 1
    if kind in (_I16, _I32, _I64):
        return _signed(data, at)
    if kind == _DOUBLE:
        return None, at + 8
    if kind == _BINARY:
        length, at = _unsigned(data, at)
        return None, at + length
    if kind == _STRUCT:
        return _struct(data, at, depth + 1)
    raise _Unsound  # lists and maps are in no header of a page


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise _Unsound


def _signed(data: bytes, at: int) -> tuple[int, int]:
    value, at = _unsigned(data, at)
    return (value >> 1) ^ -(value & 1), at
