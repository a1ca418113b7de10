"""The frames of a log: the newest in memory, older ones in files, the oldest dropped past a bound.

Frames are numbered from 0, the `Hello`, which is always there. Past `memory_bytes` the oldest frames go to segments in a
directory (see `segments.py`); past `disk_bytes`, or when the disk is full, the oldest segment is deleted. If nothing can be
written, the oldest frames are dropped at twice the bound, those in segments first. So what is kept follows each other:
frame 0, and `first` to the newest. Nothing here raises because of a disk. Thread-safe.
"""

from __future__ import annotations

import errno
import math
import re
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import accumulate
from pathlib import Path

from glassloom_metrics.segments import Segment

DEFAULT_MEMORY_BYTES = 64 * 2**20
DEFAULT_DISK_BYTES = 2 * 2**30
SEGMENT_BYTES = 32 * 2**20
WRITE_BYTES = 2**20
"""How much is written at once: a head does nothing else meanwhile."""
_MAX_TOPICS = 255
_DISK_FULL = frozenset([errno.ENOSPC, errno.EDQUOT])


class _Room:
    """For how much there is room in what is read at a time.

    Attributes
    ----------
    frames
        How many more.
    """

    def __init__(self, frames: int, nbytes: float) -> None:
        self.frames = frames
        self._bytes = nbytes

    @property
    def is_taken(self) -> bool:
        return self.frames <= 0 or self._bytes <= 0

    def take(self, numbers: Sequence[int], lengths: Iterable[int]) -> Sequence[int]:
        """Return the first of `numbers`, as many as there is room for."""
        if self._bytes == math.inf:
            self.frames -= len(numbers)
            return numbers
        count = 0
        for length in lengths:
            if self.is_taken:
                break
            count += 1
            self.frames -= 1
            self._bytes -= length
        return numbers[:count]


class FrameLog:
    """The frames of one log.

    Parameters
    ----------
    hello
        Topic and payload of frame 0.
    memory_bytes, disk_bytes
        How many bytes of frames are kept in memory, and in files.
    directory
        Where segments are made; without one there are none, and nothing is dropped.
    preamble
        Returns the payloads that a segment begins with, after the hello, so that it can be read alone.
    """

    def __init__(
        self,
        hello: tuple[str, bytes],
        *,
        memory_bytes: int = DEFAULT_MEMORY_BYTES,
        disk_bytes: int = DEFAULT_DISK_BYTES,
        directory: Path | None = None,
        preamble: Callable[[], Sequence[bytes]] = tuple,
    ) -> None:
        self._hello = hello
        self._memory_limit = memory_bytes
        self._disk_limit = disk_bytes
        self._directory = directory
        self._preamble = preamble
        self._lock = threading.RLock()
        self._topic_ids: dict[str, int] = {}
        self._topic_names: list[str] = []
        self._topics = bytearray()
        self._payloads: list[bytes] = []
        self._first_in_memory = 1
        self._segments: list[Segment] = []
        self._n_segments = 0
        self._next_write_bytes = memory_bytes
        self._closed = False
        self.memory_bytes = 0
        """Size of the frames that are in memory."""

    def replace_hello(self, payload: bytes) -> None:
        """Begin with another hello from now on, also where a log that began before is read."""
        self._hello = self._hello[0], payload

    def __len__(self) -> int:
        """Return how many frames there have been."""
        return self._first_in_memory + len(self._payloads)

    @property
    def first(self) -> int:
        """Number of the oldest frame after the hello that is kept; `len(self)` if there is none."""
        return self._segments[0].first if self._segments else self._first_in_memory

    @property
    def disk_bytes(self) -> int:
        """Size of the segments."""
        return sum(segment.nbytes for segment in self._segments)

    @property
    def n_dropped(self) -> int:
        """How many frames are gone."""
        return self.first - 1

    def append(self, topic: str, payload: bytes) -> None:
        """Add a frame."""
        with self._lock:
            self._topics.append(self._topic_id(topic))
            self._payloads.append(payload)
            self.memory_bytes += len(payload)
            if self.memory_bytes > self._next_write_bytes and self._directory is not None:
                self._move_oldest(self._directory)

    def read(
        self, start: int, *, limit: int, topics: Collection[str] | None = None, enough_bytes: float = math.inf
    ) -> tuple[list[bytes], int]:
        """Return up to `limit` payloads of frames from number `start` on, and the number of the frame to go on with.

        Parameters
        ----------
        topics
            Which are wanted; the others are passed over without being read. None: all.
        enough_bytes
            The frame with which there are so many is the last.

        Raises
        ------
        ValueError
            If the log is closed.
        """
        with self._lock:
            if self._closed:
                raise ValueError("the recorder is closed")
            if start <= 0 < limit:
                payloads, following = self.read(1, limit=limit - 1, topics=topics, enough_bytes=enough_bytes)
                return [self._hello[1], *payloads], following
            start = max(start, self.first)
            found: list[bytes] = []
            room = _Room(limit, enough_bytes)
            for segment in self._segments:
                if start < segment.stop and not room.is_taken:
                    wanted = self._wanted(segment.topics, start - segment.first, topics, room.frames)
                    numbers = room.take(wanted, map(segment.length, wanted))
                    found += segment.read(numbers)
                    start = segment.first + numbers[-1] + 1 if room.is_taken else segment.stop
            if start >= self._first_in_memory and not room.is_taken:
                wanted = self._wanted(self._topics, start - self._first_in_memory, topics, room.frames)
                numbers = room.take(wanted, (len(self._payloads[number]) for number in wanted))
                found += [self._payloads[number] for number in numbers]
                start = self._first_in_memory + numbers[-1] + 1 if room.is_taken else len(self)
            return found, start

    def close(self) -> None:
        """Delete the segments. Nothing can be read any more."""
        with self._lock:
            self._closed = True
            self._delete_segments()

    def _topic_id(self, topic: str) -> int:
        number = self._topic_ids.get(topic)
        if number is None:
            number = self._topic_ids[topic] = len(self._topic_names)
            assert number < _MAX_TOPICS, topic
            self._topic_names.append(topic)
        return number

    def _wanted(self, topics: bytearray, start: int, names: Collection[str] | None, limit: int) -> Sequence[int]:
        """Return the positions from `start` on of up to `limit` frames of these topics."""
        if names is None:
            return range(start, min(start + limit, len(topics)))
        wanted = bytes(self._topic_ids[name] for name in names if name in self._topic_ids)
        if not wanted:
            return ()
        positions = []
        for match in re.compile(b"[" + re.escape(wanted) + b"]").finditer(topics, start):
            positions.append(match.start())
            if len(positions) == limit:
                break
        return positions

    # Moving frames out of memory

    def _move_oldest(self, directory: Path) -> None:
        """Write the oldest frames to a segment; make room for them by deleting old ones, or drop them, if need be."""
        while (reason := self._write_oldest(directory)) is not None:
            if self._segments and not self._segments[-1].topics:
                self._segments.pop().delete()  # new, and of no use
            elif reason == errno.EFBIG and self._segments and not self._segments[-1].is_sealed:
                self._segments[-1].seal(self._topic_names)  # a new one may take what this one can't
                continue
            if reason in _DISK_FULL and self._segments:
                self._segments.pop(0).delete()
                continue
            if self.memory_bytes > 2 * self._memory_limit:
                self._delete_segments()  # what is kept follows each other
                self._forget(self._count(self.memory_bytes - self._memory_limit))
            self._next_write_bytes = self.memory_bytes + min(WRITE_BYTES, self._memory_limit)
            return
        self._next_write_bytes = self._memory_limit
        while len(self._segments) > 1 and self.disk_bytes > self._disk_limit:
            self._segments.pop(0).delete()

    def _write_oldest(self, directory: Path) -> int | None:
        """Write the oldest frames; return None, or the number of the system's error if that can't be done."""
        count = self._count(max(self.memory_bytes - self._memory_limit, min(WRITE_BYTES, self._memory_limit // 2)))
        try:
            segment = self._open_segment(directory)
            segment.append(self._topics[:count], self._payloads[:count])
        except OSError as error:
            return error.errno or errno.EIO
        self._forget(count)
        if segment.nbytes >= SEGMENT_BYTES:
            segment.seal(self._topic_names)
        return None

    def _open_segment(self, directory: Path) -> Segment:
        if self._segments and not self._segments[-1].is_sealed:
            return self._segments[-1]
        path = directory / f"journal-{self._n_segments:06}.glr"
        segment = Segment.create(path, self._first_in_memory, [self._hello[1], *self._preamble()])
        self._n_segments += 1
        self._segments.append(segment)
        return segment

    def _delete_segments(self) -> None:
        for segment in self._segments:
            segment.delete()
        self._segments.clear()

    def _count(self, nbytes: int) -> int:
        """Return how many of the oldest frames have so many bytes together; never all of them, but one at least."""
        count = 0
        for total in accumulate(map(len, self._payloads)):
            count += 1
            if total >= nbytes:
                break
        return max(1, min(count, len(self._payloads) - 1))

    def _forget(self, count: int) -> None:
        """Take the oldest frames out of memory."""
        self.memory_bytes -= sum(map(len, self._payloads[:count]))
        del self._payloads[:count], self._topics[:count]
        self._first_in_memory += count
