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
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY = range(1, 9)
_STRUCT = 12
_UNPACKED_SIZE, _SIZE, _OF_VALUES, _OF_DICTIONARY, _OF_VALUES_2 = 2, 3, 5, 7, 8
"""The numbers of fields of a header: sizes, and the structures that say how many values there are, in their first field."""
_DEEPEST = 8
_LONGEST_NUMBER = 63


class _Unsound(Exception):
    """A header isn't what it should be."""


def has_sound_pages(state: State, files: Files, groups: Sequence[int], places: Sequence[int]) -> bool:
    """Whether the headers of all pages of some columns in some row groups, of a file of this machine, fit the footer. Each is read once."""
    known = _known(state, files)
    new = [(group, place) for group in groups for place in places if (group, place) not in known]
    if new:
        metadata = footer(state, files)
        try:
            with open(state[0], "rb") as file:
                for group, place in new:
                    known[group, place] = _is_sound(file.fileno(), metadata.row_group(group).column(place))
        except OSError:
            return False
    return all(known[group, place] for group in groups for place in places)


@lru_cache(maxsize=1024)
def _known(_state: State, _files: Files) -> dict[tuple[int, int], bool]:
    """Return which columns of which row groups have been looked at, and what was found."""
    return {}


def places_of(metadata: Any, names: Sequence[str]) -> list[int] | None:
    """Return where columns are in a file; None if one isn't there as a column of plain values."""
    schema = metadata.schema
    known = {schema.column(place).path: place for place in range(len(schema))}
    found = [known[name] for name in names if name in known]
    return found if len(found) == len(names) else None


def _is_sound(file: int, chunk: Any) -> bool:
    """Whether the headers of a column's pages in a row group fit what the footer says of it."""
    start = chunk.data_page_offset
    if chunk.dictionary_page_offset:
        start = min(start, chunk.dictionary_page_offset)
    end, n_values = start + chunk.total_compressed_size, 0
    most_bytes, most_values = chunk.total_uncompressed_size, chunk.num_values
    while start < end and n_values < most_values:
        try:
            kind, size, unpacked, count, length = _header(os.pread(file, min(_HEADER_BYTES, end - start), start))
        except IndexError:  # it is longer
            try:
                kind, size, unpacked, count, length = _header(os.pread(file, end - start, start))
            except (IndexError, _Unsound):
                return False
        except _Unsound:
            return False
        start += length + size
        if start > end or unpacked > most_bytes or count > most_values:
            return False
        n_values += 0 if kind == _OF_DICTIONARY else count
    return n_values == most_values


def _header(data: bytes) -> tuple[int, int, int, int, int]:
    """Return what a header at the beginning of some bytes is of, the page's sizes, its number of values, and the header's length.

    One loop, as there may be thousands of them. Raises IndexError if the header isn't whole.
    """
    sizes = [-1] * (_SIZE + 1)
    kind = at = number = 0
    count = -1
    outer: list[int] = []
    while True:
        head = data[at]
        at += 1
        if not head:  # the end of a structure
            if not outer:
                break
            number = outer.pop()
            continue
        of_value = head & 0x0F
        if head >> 4:
            number += head >> 4
        else:
            number, at = _number(data, at)
        if _I16 <= of_value <= _I64:
            value, at = _number(data, at)
            if len(outer) == 1 and number == 1:
                count = value
            elif not outer and number <= _SIZE:
                sizes[number] = value
        elif of_value == _STRUCT and len(outer) < _DEEPEST:
            if not outer and number in (_OF_VALUES, _OF_DICTIONARY, _OF_VALUES_2):
                kind = number
            outer.append(number)
            number = 0
        elif of_value == _BINARY:
            length, at = _bits(data, at)
            at += length
        elif of_value in (_BYTE, _DOUBLE):
            at += 1 if of_value == _BYTE else 8
        elif of_value not in (_TRUE, _FALSE):  # lists and maps are in no header of a page
            raise _Unsound
    if not kind or min(count, sizes[_SIZE], sizes[_UNPACKED_SIZE]) < 0:
        raise _Unsound
    return kind, sizes[_SIZE], sizes[_UNPACKED_SIZE], count, at


def _bits(data: bytes, at: int) -> tuple[int, int]:
    """Return a whole number of a place, seven bits a byte, and the place after it."""
    byte = data[at]
    value, shift = byte & 0x7F, 7
    at += 1
    while byte > 0x7F:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if shift > _LONGEST_NUMBER:
            raise _Unsound
    return value, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number with a sign, which is the last bit, and the place after it."""
    value, at = _bits(data, at)
    return (value >> 1) ^ -(value & 1), at
