"""Length-prefixed frames: four bytes of length (little-endian), then that many bytes. Pure: no sockets here.

>>> splitter = FrameSplitter()
>>> splitter.feed(frame(b"abc") + frame(b"")[:2])
[b'abc']
>>> splitter.feed(frame(b"")[2:])
[b'']
"""

from __future__ import annotations

import struct

_LENGTH = struct.Struct("<I")
HEADER_BYTES = _LENGTH.size
MAX_FRAME_BYTES = 2**31


class FrameError(ValueError):
    """The byte stream cannot be a stream of frames."""


def frame(payload: bytes) -> bytes:
    """Return `payload` with its length before it.

    Raises
    ------
    FrameError
        If the payload is larger than `MAX_FRAME_BYTES`.
    """
    if len(payload) > MAX_FRAME_BYTES:
        raise FrameError(f"a frame holds at most {MAX_FRAME_BYTES} bytes, got {len(payload)}")
    return _LENGTH.pack(len(payload)) + payload


class FrameSplitter:
    """Cuts a byte stream into the payloads of its frames. Not thread-safe."""

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._buffer = bytearray()
        self._max_frame_bytes = max_frame_bytes

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """Take the next bytes of the stream; return the payloads that are now complete.

        Raises
        ------
        FrameError
            If a length is larger than the limit: the stream is not ours.
        """
        buffer = self._buffer
        buffer += data
        payloads = []
        start, size = 0, len(buffer)
        while size - start >= HEADER_BYTES:
            (length,) = _LENGTH.unpack_from(buffer, start)
            if length > self._max_frame_bytes:
                raise FrameError(f"a frame of {length} bytes is over the limit of {self._max_frame_bytes}")
            stop = start + HEADER_BYTES + length
            if stop > size:
                break
            payloads.append(bytes(memoryview(buffer)[start + HEADER_BYTES : stop]))
            start = stop
        if start:
            del buffer[:start]
        return payloads
