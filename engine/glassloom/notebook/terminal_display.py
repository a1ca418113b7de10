"""`TerminalDisplay`: progress in the last lines of a terminal, below all that is printed meanwhile."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, TextIO
from unicodedata import combining, east_asian_width

from glassloom.notebook.progress_text import lines_of, total_text

_SEPARATOR = " · "


class TerminalDisplay:
    """Writes over its own lines, which fit the terminal: a line that wraps would be two of its rows.

    While it shows something, text for `sys.stdout` and `sys.stderr` that goes to a terminal takes the place of these lines, which come again
    below it with the next message.

    Thread-safe.

    Parameters
    ----------
    size
        Returns the columns and rows of the terminal; by default asks the system, and knows of no bounds where that doesn't know.
    """

    def __init__(self, file: TextIO, size: Callable[[], tuple[int, int]] | None = None) -> None:
        self._file = file
        self._size = size or self._ask_for_size
        self._lock = threading.RLock()
        self._is_closed = False
        self._n_lines = 0
        self._is_within_line = False
        """Whether what was printed last has left the cursor behind it."""
        self._replaced: dict[str, StreamAbove] = {}

    def show(self, message: dict[str, Any], now_s: float, *, is_last: bool) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._replace_streams()
            lines = [total_text(message)] if is_last else fitting(lines_of(message), *self._size())
            begin = "\n" if self._is_within_line else self._erasing()
            self._file.write(begin + "\n".join(lines) + "\n")
            self._file.flush()
            self._n_lines, self._is_within_line = len(lines), False
        if is_last:
            self.close()

    def close(self) -> None:
        """Leave the streams as they were; ones that somebody has put in their place meanwhile stay."""
        with self._lock:
            self._is_closed = True
            self._n_lines = 0
            for name, ours in self._replaced.items():
                if getattr(sys, name) is ours:
                    setattr(sys, name, ours.stream)
            self._replaced.clear()

    def make_room(self, text: str) -> None:
        """Take the lines away: text of somebody else's is about to be written where they are."""
        with self._lock:
            if self._n_lines:
                self._file.write(self._erasing())
                self._file.flush()
                self._n_lines = 0
            if text:
                self._is_within_line = not text.endswith("\n")

    def _erasing(self) -> str:
        return f"\x1b[{self._n_lines}A\r\x1b[J" if self._n_lines else ""

    def _replace_streams(self) -> None:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if name not in self._replaced and stream is not None and stream.isatty():
                self._replaced[name] = StreamAbove(stream, self.make_room)
                setattr(sys, name, self._replaced[name])

    def _ask_for_size(self) -> tuple[int, int]:
        try:
            columns, rows = os.get_terminal_size(self._file.fileno())
        except (OSError, ValueError):  # it stands for a terminal only
            return 0, 0
        return columns, rows


class StreamAbove:
    """A terminal's stream whose text comes to stand above lines that are rewritten.

    Parameters
    ----------
    make_room
        Called with each text before it is written.
    """

    def __init__(self, stream: TextIO, make_room: Callable[[str], None]) -> None:
        self.stream = stream
        self._make_room = make_room
        self._process = os.getpid()

    def write(self, text: str) -> int:
        """Write, and flush: what stays in a buffer would be shown later, where the lines are by then."""
        if os.getpid() == self._process:  # a forked child shows no progress, and its copy of the lock may be held
            self._make_room(text)
        written = self.stream.write(text)
        self.stream.flush()
        return written

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def fitting(lines: Sequence[str], columns: int, rows: int) -> list[str]:
    """Return lines that a terminal doesn't wrap: the last, of all, continued on others, and those before it cut off; the last of them if there is no room for all.

    A number that is 0 isn't known.

    >>> fitting(["load  [####--]  4 of 9", "running · 4 of 9 tasks · 2.0 s"], 20, 9)
    ['load  [####--]  4 …', 'running', '4 of 9 tasks · 2.0 s']
    """
    *layers, total = lines
    if columns:
        layers = [cut(line, columns - 1) for line in layers]
        continued: list[str] = []
        for part in total.split(_SEPARATOR):
            if continued and width(joined := continued[-1] + _SEPARATOR + part) <= columns:
                continued[-1] = joined
            else:
                continued.append(cut(part, columns))
    else:
        continued = [total]
    return [*layers, *continued][-(rows - 1) if rows > 1 else 0 :]


def cut(line: str, columns: int) -> str:
    """Return a line without what stands beyond a column."""
    if width(line) <= columns:
        return line
    places = accumulate(map(width, line))
    return line[: sum(place < columns for place in places)] + "…"


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes: East Asian letters take two, marks on letters none."""
    return sum((2 if east_asian_width(each) in "WF" else 1) for each in text if not combining(each))
