"""Files of text in blocks that begin and end at line ends, outside quotes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from glassloom.dataframe.io.filesystems import Files, State

_SCAN_BYTES = 1 << 22
_THREADS = 8


class TextBlock(NamedTuple):
    """Some bytes of a file; `end` None: to its end, and the file may be compressed. `first_line` is counted from 1."""

    path: str
    start: int
    end: int | None
    first_line: int


def cut_files(
    states: Sequence[State], files: Files, size: int | None, header_lines: int, quote: bytes, *, whole: Sequence[bool]
) -> tuple[bytes, list[TextBlock]]:
    """Return the first header, empty if no file was cut, and the blocks of all files.

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
            return b"", [TextBlock(path, 0, None, 1)]
        return _cut(path, files, size, header_lines, quote)

    with ThreadPoolExecutor(min(_THREADS, len(states))) as pool:
        cuts = list(pool.map(cut, range(len(states))))
    header = next((head for head, _ in cuts if head), b"")
    return header, [block for _, blocks in cuts for block in blocks]


def _cut(path: str, files: Files, size: int, header_lines: int, quote: bytes) -> tuple[bytes, list[TextBlock]]:
    """Return a file's header and the blocks that follow it. Counts the quotes, to cut only where none is open."""
    with files.open(path) as file:
        header = _first_lines(file, header_lines)
        starts, lines = [len(header)], [header_lines + 1]
        wanted, position, is_open, n_lines = len(header) + size, len(header), False, header_lines
        while chunk := file.read(_SCAN_BYTES):
            place = 0
            while wanted < position + len(chunk):
                found, is_open = _next_line(chunk, place, max(wanted - position, place), quote, is_open)
                if found < 0:
                    place = len(chunk)
                    break
                place = found
                starts.append(position + found)
                lines.append(n_lines + chunk.count(b"\n", 0, found) + 1)
                wanted = position + found + size
            if quote and place < len(chunk):
                is_open ^= chunk.count(quote, place) % 2 == 1
            position += len(chunk)
            n_lines += chunk.count(b"\n")
    if starts[-1] >= position and len(starts) > 1:
        starts.pop()
    ends = [*starts[1:], position]
    return header, [TextBlock(path, *block) for block in zip(starts, ends, lines, strict=False)]


def _first_lines(file: object, count: int) -> bytes:
    """Return the first lines of an open file, and leave it after them."""
    data = b""
    while data.count(b"\n") < count:
        more = file.read(1 << 16)  # type: ignore[attr-defined]
        if not more:
            break
        data += more
    end = 0
    for _ in range(count):
        found = data.find(b"\n", end)
        end = len(data) if found < 0 else found + 1
    file.seek(end)  # type: ignore[attr-defined]
    return data[:end]


def _next_line(chunk: bytes, place: int, wanted: int, quote: bytes, is_open: bool) -> tuple[int, bool]:
    """Return where the first line begins after `wanted` (-1: not in this chunk), and whether a quote is open there.

    `is_open` is whether one is open at `place`.
    """
    while True:
        end = chunk.find(b"\n", wanted)
        stop = len(chunk) if end < 0 else end
        if quote:
            is_open ^= chunk.count(quote, place, stop) % 2 == 1
        if end < 0:
            return -1, is_open
        if not is_open:
            return end + 1, False
        place = wanted = end + 1
