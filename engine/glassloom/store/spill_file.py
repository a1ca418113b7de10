"""Spilled results that have a file each, with checksums: a damaged file is noticed and never read as a wrong result.

A file is the parts (pickle, then each of its buffers), a msgpack footer that describes them, and eight bytes with the
footer's length and checksum. What wasn't written to its end has no footer that fits.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any, BinaryIO

import msgspec

from glassloom.errors import DataLost
from glassloom.store.mapping import open_own_file
from glassloom.store.pickling import dump_buffers, loads_result

_MIN_COMPRESSED_BYTES = 4096
_END = struct.Struct("<II")


class _Part(msgspec.Struct, frozen=True, array_like=True):
    """Lengths in memory and in the file (shorter: compressed), and the checksum of what is in the file."""

    nbytes: int
    stored: int
    checksum: int


class _Footer(msgspec.Struct, frozen=True, array_like=True):
    codec: str
    parts: list[_Part]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Footer)


@dataclass(frozen=True, slots=True, eq=False)
class FileCopy:
    """A result that has a file of its own."""

    path: str

    def read(self) -> Any:
        """Return the value; see `read_spill`."""
        return read_spill(self.path)

    def release(self) -> str | None:
        """The result isn't wanted any more. Return the path: the file can be removed."""
        return self.path


def write_spill(path: str, value: Any, codec: str | None) -> int:
    """Write a value to a new file; return the file's size.

    Raises
    ------
    SerialisationError
        If it can't be pickled.
    OSError
        If the file can't be written, most likely because the disk is full. Nothing is left of it then.
    """
    return write_parts(path, *dump_buffers(value), codec)


def write_parts(path: str, head: bytes, buffers: list[memoryview], codec: str | None) -> int:
    """Write a pickled value to a new file; return the file's size.

    Raises
    ------
    OSError
        As for `write_spill`.
    """
    try:
        with open(path, "xb", buffering=0) as file:
            parts = [_write_part(file, part, codec) for part in (memoryview(head), *buffers)]
            footer = _encoder.encode(_Footer(codec or "", parts))
            write_all(file, memoryview(footer + _END.pack(len(footer), zlib.crc32(footer))))
            return file.tell()
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise


def read_spill(path: str) -> Any:
    """Return the value in a file. Arrays in it are read-only.

    Raises
    ------
    DataLost
        If the file is gone, damaged or not ours.
    SerialisationError
        If the value can't be unpickled.
    """
    try:
        with open(open_own_file(path), "rb", buffering=0) as file:
            footer = _read_footer(file)
            parts = [_read_part(file, part, footer.codec) for part in footer.parts]
    except (OSError, msgspec.DecodeError, DataLost) as error:
        raise DataLost(f"a spilled result can't be read from {path}: {error}") from error
    return loads_result(parts[0], parts[1:])


@cache
def codec_is_available(codec: str) -> bool:
    """Tell whether the installed pyarrow can compress so."""
    try:
        return bool(_pyarrow().Codec.is_available(codec))
    except (ImportError, ValueError):
        return False


def compress(data: memoryview, codec: str | None) -> memoryview:
    """Return data compressed, or as it is if that isn't shorter, or can't be done."""
    if codec is None or data.nbytes < _MIN_COMPRESSED_BYTES or not codec_is_available(codec):
        return data
    buffer = _pyarrow().compress(data, codec=codec)
    compressed = memoryview(buffer)[: buffer.size]  # it was made large enough for the worst case
    return compressed if compressed.nbytes < data.nbytes else data


def decompress(data: memoryview, nbytes: int, codec: str | None) -> memoryview:
    """Return the `nbytes` bytes of which `data` was made."""
    return memoryview(_pyarrow().decompress(data, decompressed_size=nbytes, codec=codec))


def write_all(file: BinaryIO, data: memoryview) -> None:
    """Write it all: a full disk may take a part of it before it refuses the rest."""
    written = 0
    while written < data.nbytes:
        written += os.write(file.fileno(), data[written:])


def _write_part(file: BinaryIO, part: memoryview, codec: str | None) -> _Part:
    data = compress(part.cast("B") if part.nbytes else memoryview(b""), codec)
    write_all(file, data)
    return _Part(part.nbytes, data.nbytes, zlib.crc32(data))


def _read_footer(file: BinaryIO) -> _Footer:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END.size))
    end = file.read(_END.size)
    length, checksum = _END.unpack(end) if len(end) == _END.size else (size + 1, 0)
    if length + _END.size > size:
        raise OSError("it is shorter than it was written")
    file.seek(size - _END.size - length)
    footer = file.read(length)
    if zlib.crc32(footer) != checksum:
        raise OSError("it has changed since it was written")
    file.seek(0)
    return _decoder.decode(footer)


def _read_part(file: BinaryIO, part: _Part, codec: str) -> memoryview:
    data = memoryview(bytearray(part.stored))
    filled = 0
    while filled < part.stored and (count := file.readinto(data[filled:])):  # type: ignore[attr-defined]
        filled += count
    if filled < part.stored or zlib.crc32(data) != part.checksum:
        raise OSError("it has changed since it was written")
    if part.stored == part.nbytes:
        return data.toreadonly()
    return decompress(data, part.nbytes, codec)


def _pyarrow() -> Any:
    import pyarrow  # not needed unless results are compressed

    return pyarrow
