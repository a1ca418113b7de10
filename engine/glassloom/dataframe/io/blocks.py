"""Files of text in blocks that begin and end at line ends, outside quotes."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, NamedTuple

from glassloom.array.sources.versions import file_version
from glassloom.dataframe.io.filesystems import Files, State

_SCAN_BYTES = 1 << 19
_LINE_BYTES = 1 << 13
_SAMPLE_BYTES = 1 << 16
_THREADS = 8


class Header(NamedTuple):
    """The lines before the first row: some that are skipped, then so many, not counting blank lines and comments."""

    skipped: int = 0
    lines: int = 0
    comment: bytes = b""
    skips_blank: bool = False

    def counts(self, line: bytes) -> bool:
        """Whether a line behind those that are skipped is counted."""
        if self.skips_blank and not line.strip():
            return False
        return not (self.comment and line.startswith(self.comment))


NO_HEADER = Header()


class TextBlock(NamedTuple):
    """Some bytes of a file; `end` None: to its end, and the file may be compressed. `state`: the version that it is of."""

    path: str
    start: int
    end: int | None
    state: State | None = None


def has_lines_of_bytes(encoding: str | None) -> bool:
    """Whether lines of text in an encoding end where bytes do that are a line feed, so that files can be cut there.

    >>> has_lines_of_bytes("latin-1"), has_lines_of_bytes("utf-8-sig"), has_lines_of_bytes("utf-16")
    (True, True, False)
    """
    signs = b'\n,"a\n'
    try:
        return signs.decode(encoding or "utf-8") == signs.decode("ascii")
    except UnicodeDecodeError:
        return False


def encoded_text(text: str, encoding: str | None) -> bytes:
    """Return the bytes of a text in the midst of a file, where no mark of the encoding is."""
    encoder = codecs.getincrementalencoder(encoding or "utf-8")()
    encoder.encode("a")
    return encoder.encode(text, final=True)


def cut_files(
    states: Sequence[State], files: Files, size: int | None, header: Header, quote: bytes, *, whole: Sequence[bool]
) -> tuple[dict[str, bytes], list[TextBlock]]:
    """Return the header of each file that was cut, and the blocks of all files.

    Parameters
    ----------
    size
        About how many bytes a block has; None: each file is one.
    whole
        Of each file, whether it can't be cut.
    """

    def cut(place: int) -> tuple[bytes, list[TextBlock]]:
        path, nbytes, _ = states[place]
        if size is None or whole[place] or nbytes <= size:
            return b"", [TextBlock(path, 0, None, states[place])]
        cut_of_version = _known_cut if files.arrow is None else _cut
        version = file_version(path) if files.arrow is None else ""
        header_bytes, blocks = cut_of_version(version, states[place], files, size, header, quote)
        return header_bytes, [block._replace(state=states[place]) for block in blocks]

    with ThreadPoolExecutor(min(_THREADS, len(states))) as pool:
        cuts = list(pool.map(cut, range(len(states))))
    equal: dict[bytes, bytes] = {}  # one object for all, as they are pickled with each task
    paths = [state[0] for state in states]
    headers = {path: equal.setdefault(head, head) for path, (head, _) in zip(paths, cuts, strict=True) if head}
    return headers, [block for _, blocks in cuts for block in blocks]


def likely_rows(blocks: Sequence[TextBlock], states: Sequence[State], files: Files) -> tuple[float, ...] | None:
    """Return about how many rows each block has: as many as lines like the first ones of the first file would fill it.

    None if nothing can be said, as of an empty file. The files must not be compressed.
    """
    sizes = {path: nbytes for path, nbytes, _ in states}
    start = files.read(states[0][0], 0, min(_SAMPLE_BYTES, states[0][1]))
    line_bytes = len(start) / max(start.count(b"\n"), 1)
    if not line_bytes:
        return None
    return tuple(((sizes[one.path] if one.end is None else one.end) - one.start) / line_bytes for one in blocks)


def first_line(block: TextBlock, files: Files) -> int:
    """Return the number of a block's first line in its file, counted from 1. Reads all that is before it."""
    count, left = 1, block.start
    with files.open(block.path) as file:
        while left > 0 and (data := file.read(min(left, _SCAN_BYTES))):
            count += data.count(b"\n")
            left -= len(data)
    return count


def _cut(
    version: str, state: State, files: Files, size: int, lines: Header, quote: bytes
) -> tuple[bytes, list[TextBlock]]:
    """Return the header of a file of this version, and the blocks that follow it."""
    path, nbytes, _ = state
    with files.open(path) as file:
        header = _first_lines(file, lines)
        starts = [len(header)]
        starts += (
            _outside_quotes(file, len(header), size, quote) if quote else _line_starts(file, len(header), nbytes, size)
        )
    if starts[-1] >= nbytes and len(starts) > 1:
        starts.pop()
    ends = [*starts[1:], nbytes]
    return header, [TextBlock(path, *block) for block in zip(starts, ends, strict=True)]


_known_cut = lru_cache(maxsize=256)(_cut)
"""Kept, because looking for quotes reads the whole file, and who runs a cell again reads the same again."""


def _first_lines(file: Any, wanted: Header) -> bytes:
    """Return the first lines of an open file, and leave it after them."""
    found: list[bytes] = []
    data, counted = b"", 0
    while wanted.lines or len(found) < wanted.skipped:
        if b"\n" not in data:
            more = file.read(1 << 16)
            if not more:
                found.append(data)
                break
            data += more
            continue
        line, _, data = data.partition(b"\n")
        found.append(line + b"\n")
        if len(found) > wanted.skipped:
            counted += wanted.counts(line)
            if counted == wanted.lines:
                break
    header = b"".join(found)
    file.seek(len(header))
    return header


def _line_starts(file: Any, start: int, nbytes: int, size: int) -> list[int]:
    """Return where blocks begin after the first one, looking at the places alone where they might."""
    starts: list[int] = []
    wanted = start + size
    while wanted < nbytes:
        file.seek(wanted)
        while data := file.read(_LINE_BYTES):
            found = data.find(b"\n")
            if found >= 0:
                wanted += found + 1
                starts.append(wanted)
                break
            wanted += len(data)
        wanted += size
    return starts


def _outside_quotes(file: Any, position: int, size: int, quote: bytes) -> list[int]:
    """Return where blocks begin after the first one: after line ends that are in no quotes. Reads the whole file."""
    starts: list[int] = []
    buffer = bytearray(_SCAN_BYTES)
    wanted, is_open = position + size, False
    while count := file.readinto(buffer):
        place = 0
        while wanted < position + count:
            place, is_open = _next_line(buffer, place, max(wanted - position, place), count, quote, is_open)
            if place < 0:
                break
            starts.append(position + place)
            wanted = position + place + size
        if place >= 0:
            is_open ^= _is_odd(buffer, quote, place, count)
        position += count
    return starts


def _next_line(buffer: bytearray, place: int, wanted: int, stop: int, quote: bytes, is_open: bool) -> tuple[int, bool]:
    """Return where the first line begins after `wanted` (-1: not before `stop`), and whether a quote is open there.

    `is_open` is whether one is open at `place`.
    """
    while True:
        end = buffer.find(b"\n", wanted, stop)
        is_open ^= _is_odd(buffer, quote, place, stop if end < 0 else end)
        if end < 0:
            return -1, is_open
        if not is_open:
            return end + 1, False
        place = wanted = end + 1


def _is_odd(buffer: bytearray, quote: bytes, start: int, end: int) -> bool:
    """Whether the number of quotes is odd. Finding that there is none takes a tenth of counting."""
    return buffer.find(quote, start, end) >= 0 and buffer.count(quote, start, end) % 2 == 1
