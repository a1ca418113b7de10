"""Recordings on disk: frames after eight bytes that say so, and a footer that says what is where (``.glr``).

A segment of a cluster's log and a recording that a person keeps have the same form, so either can be opened with
`recording.read_recording`. A file whose writer was killed has no footer, and is read as far as it goes.
"""

from __future__ import annotations

import contextlib
import errno
import os
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from glassloom_metrics.framing import HEADER_BYTES, frame
from glassloom_metrics.protocol import PROTOCOL_VERSION, Footer, encode

MAGIC = b"glsloom" + bytes([PROTOCOL_VERSION])

_DISK_FULL = frozenset([errno.ENOSPC, errno.EDQUOT, errno.EFBIG])


def is_disk_full(error: OSError) -> bool:
    """Tell whether a write failed for lack of room: of the disk, of the user's share of it, or of a file."""
    return error.errno in _DISK_FULL


class Segment:
    """A file with the frames from number `first` on. Made with `create`; not thread-safe.

    Parameters
    ----------
    path
        Of the file.
    descriptor
        Of the file, for reading and writing.
    first
        Number of the first frame.
    nbytes
        What the file has already.
    max_indexed
        Past so many frames it is not kept where each is: nothing can be read, and the footer is empty. None: no bound.
    """

    def __init__(self, path: Path, descriptor: int, first: int, nbytes: int, max_indexed: int | None = None) -> None:
        self._path = path
        self._descriptor = descriptor
        self._max_indexed = max_indexed
        self._offsets = array("L")
        self._lengths = array("L")
        self.first = first
        self.topics = bytearray()
        """The number of each frame's topic."""
        self.is_indexed = True
        self.nbytes = nbytes
        self.is_sealed = False
        """Whether it has a footer, and nothing is added any more."""

    @classmethod
    def create(
        cls, path: Path, first: int, preamble: Iterable[bytes], *, replaces: bool = True, max_indexed: int | None = None
    ) -> Self:
        """Make a file that begins with these frames, which have no numbers. Raises `OSError`, and then leaves none.

        A file that is there is emptied, or, unless it `replaces` it, `FileExistsError` raised.
        """
        data = MAGIC + b"".join(map(frame, preamble))
        how = os.O_TRUNC if replaces else os.O_EXCL
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | how | os.O_CLOEXEC, 0o600)
        try:
            _write_all(descriptor, data, 0)
        except OSError:
            os.close(descriptor)
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        return cls(path, descriptor, first, len(data), max_indexed)

    @property
    def stop(self) -> int:
        """Number of the frame after the last."""
        return self.first + len(self.topics)

    def append_preamble(self, payloads: Sequence[bytes]) -> None:
        """Add frames that have no numbers, before the first that has one. Raises `OSError`, and then adds none."""
        data = b"".join(map(frame, payloads))
        self._write(data)
        self.nbytes += len(data)

    def append(self, topics: bytes | bytearray, payloads: Sequence[bytes]) -> None:
        """Add frames, all or none. Raises `OSError`."""
        frames = list(map(frame, payloads))
        self._write(b"".join(frames))
        if self._max_indexed is not None and len(self._offsets) + len(frames) > self._max_indexed:
            self._drop_index()
        if not self.is_indexed:
            self.nbytes += sum(map(len, frames))
            return
        for data in frames:
            self._offsets.append(self.nbytes + HEADER_BYTES)
            self._lengths.append(len(data) - HEADER_BYTES)
            self.nbytes += len(data)
        self.topics += topics

    def _drop_index(self) -> None:
        self.is_indexed = False
        del self._offsets[:], self._lengths[:], self.topics[:]

    def length(self, position: int) -> int:
        """Return how many bytes a payload has."""
        return self._lengths[position]

    def read(self, positions: Iterable[int]) -> list[bytes]:
        """Return the payloads of frames by their position in the segment; those that can't be read are left out."""
        found = []
        for position in positions:
            with contextlib.suppress(OSError):
                payload = os.pread(self._descriptor, self._lengths[position], self._offsets[position])
                if len(payload) == self._lengths[position]:
                    found.append(payload)
        return found

    def seal(self, topic_names: Sequence[str]) -> None:
        """Write the footer, if there is room for it; add nothing any more."""
        self.is_sealed = True
        data = footer(self.first, self._offsets, self.topics, topic_names if self.is_indexed else (), self.nbytes)
        with contextlib.suppress(OSError):
            self._write(data)
            self.nbytes += len(data)

    def _write(self, data: bytes) -> None:
        """Write at the end; if that fails, take back what was written of it."""
        try:
            _write_all(self._descriptor, data, self.nbytes)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self.nbytes)
            raise

    def close(self) -> None:
        """Close the file, which stays."""
        with contextlib.suppress(OSError):
            os.close(self._descriptor)

    def delete(self) -> None:
        """Close and remove the file."""
        for step in (lambda: os.close(self._descriptor), self._path.unlink):
            with contextlib.suppress(OSError):
                step()


def footer(first: int, offsets: array[int], topics: bytes | bytearray, topic_names: Sequence[str], at: int) -> bytes:
    """Return what ends a file: a frame with a `Footer`, and 16 bytes that say where it begins."""
    rows = encode(Footer(first, list(topic_names), bytes(topics), array("Q", offsets).tobytes()))
    return frame(rows) + at.to_bytes(8, "little") + END


END = b"glr-end" + bytes([PROTOCOL_VERSION])
"""The last eight bytes of a file that has a footer."""


def _write_all(descriptor: int, data: bytes, offset: int) -> None:
    """Write it all at an offset: a full disk may take a part of it before it refuses the rest."""
    view, written = memoryview(data), 0
    while written < len(view):
        written += os.pwrite(descriptor, view[written:], offset + written)
