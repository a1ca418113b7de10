"""Reading recordings (``.glr``): a cluster's messages in a file, as `segments.py` writes them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from glassloom_metrics.errors import RecordingError
from glassloom_metrics.framing import HEADER_BYTES
from glassloom_metrics.outputs import kind_of
from glassloom_metrics.protocol import MIN_VERSION, PROTOCOL_VERSION, Hello, Message, decode_known, tag_of
from glassloom_metrics.segments import MAGIC


class Recording:
    """The messages of a recording in order, as far as they can be read.

    A message of a type that this version doesn't know is left out. One that can't be read is left out and counted. A
    file that ends within a frame, because its writer was killed, gives what is whole. Of a file that is still being
    written each iteration gives what was there when it began.

    Parameters
    ----------
    path
        The file; it is opened anew for each iteration.

    Attributes
    ----------
    unreadable
        How many messages the latest iteration could not read.
    damage
        What is wrong with the file and at which byte it begins, as the latest iteration found it; ``""`` if nothing is.

    Raises
    ------
    RecordingError
        If the file is no recording, or of a version that can't be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self.unreadable = 0
        self.damage = ""
        kind = kind_of(mode := self._path.stat().st_mode)
        if kind and not stat.S_ISDIR(mode):  # opening a FIFO would wait for somebody who writes to it
            raise RecordingError(f"{os.fspath(self._path)!r} is not a Glassloom recording: it is {kind}")
        with self._path.open("rb") as file:
            self._check_magic(file)

    def __iter__(self) -> Iterator[Message]:
        """Yield the messages."""
        self.unreadable, self.damage = 0, ""
        for start, payload in self.frames():
            message = self._decode(payload, start)
            if message is not None:
                yield message

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """Yield the payload of each frame but the footer, and at which byte the frame begins; sets `damage` at a cut."""
        self.damage = ""
        with self._path.open("rb") as file:
            self._check_magic(file)
            size = _size(file)
            while file.tell() < size:
                start, header = file.tell(), file.read(HEADER_BYTES)
                length = int.from_bytes(header, "little")
                if len(header) < HEADER_BYTES or length > _size(file) - file.tell():
                    self._note(f"it ends within a frame that begins at byte {start:,} of {_size(file):,}")
                    return
                payload = file.read(length)
                if tag_of(payload) == "footer":
                    return
                yield start, payload

    def _decode(self, payload: bytes, start: int) -> Message | None:
        try:
            return decode_known(payload)
        except msgspec.DecodeError as error:
            self.unreadable += 1
            self._note(f"the message at byte {start:,} cannot be read: {error}")
            return None

    def _note(self, damage: str) -> None:
        self.damage = self.damage or f"{os.fspath(self._path)!r} is damaged: {damage}"

    def _check_magic(self, file: BinaryIO) -> None:
        magic = file.read(len(MAGIC))
        if magic[:-1] != MAGIC[:-1]:
            raise RecordingError(f"{os.fspath(self._path)!r} is not a Glassloom recording (it begins with {magic!r})")
        if not MIN_VERSION <= magic[-1] <= PROTOCOL_VERSION:
            raise RecordingError(
                f"{os.fspath(self._path)!r} is a recording of version {magic[-1]}; this Glassloom reads {PROTOCOL_VERSION}"
            )


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def hello_of(path: str | os.PathLike[str]) -> Hello | None:
    """Return the first message of a recording, None if it ends before that.

    Raises
    ------
    RecordingError
        If the file is no recording, or of a version that can't be read.
    OSError
        If it can't be opened.
    """
    first = next(iter(Recording(path)), None)
    return first if isinstance(first, Hello) else None


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Return the recording in a file; iterate over it for its messages (see `Recording`)."""
    return Recording(path)
