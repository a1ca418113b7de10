"""Reading recordings (``.glr``): a cluster's messages in a file, as `segments.py` writes them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from glassloom_metrics.errors import RecordingError
from glassloom_metrics.framing import FrameError, FrameSplitter
from glassloom_metrics.protocol import MIN_VERSION, PROTOCOL_VERSION, Footer, Message, decode
from glassloom_metrics.segments import MAGIC

_READ_BYTES = 2**20


def read_recording(path: str | os.PathLike[str]) -> Iterator[Message]:
    """Yield the messages of a recording in order.

    A file that ends within a frame (its writer was killed) yields what is whole.

    Raises
    ------
    RecordingError
        If the file is no recording, of a version that can't be read, or damaged.
    """
    with open(path, "rb") as file:
        magic = file.read(len(MAGIC))
        if magic[:-1] != MAGIC[:-1]:
            raise RecordingError(f"{os.fspath(path)!r} is not a Glassloom recording (it begins with {magic!r})")
        if not MIN_VERSION <= magic[-1] <= PROTOCOL_VERSION:
            raise RecordingError(
                f"{os.fspath(path)!r} is a recording of version {magic[-1]}; this Glassloom reads {PROTOCOL_VERSION}"
            )
        splitter = FrameSplitter()
        try:
            while data := file.read(_READ_BYTES):
                for payload in splitter.feed(data):
                    message = decode(payload)
                    if isinstance(message, Footer):
                        return
                    yield message
        except (FrameError, msgspec.DecodeError) as error:
            raise RecordingError(f"{os.fspath(path)!r} is damaged near byte {file.tell()}: {error}") from error
