"""What tasks print or log: still written to the cluster's log, and sent to the head line by line, bounded and throttled.

`sys.stdout`, `sys.stderr` and the last resort of `logging` are replaced, so that what Python code prints is known by
task. What programs and C code write to the descriptors goes to the cluster's log alone.
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
from collections.abc import Callable
from typing import Any, TextIO

from glassloom._text import encodable, text_of
from glassloom.protocol import messages
from glassloom.protocol.clock import monotonic_s
from glassloom.worker.task_context import task_thread

WINDOW_S = 1.0
MAX_LINES = 1000
"""How many lines of a worker are sent in a `WINDOW_S`; the rest are only counted."""
MAX_CHARS = 2**20
"""How many characters of a worker are sent in a `WINDOW_S`."""
MAX_LINE_CHARS = 16 * 1024
"""Longer lines are cut."""
PARTIAL_S = 1.0
"""How long a line that hasn't ended is kept back while its task runs."""
NO_TASK = -1


class TaskOutput:
    """Lines that are to be sent, and those that haven't ended yet.

    Thread-safe, also where the garbage collector calls a function that prints while the lock is held: it is reentrant.

    Attributes
    ----------
    partial
        What of a line was printed so far, by thread and stream: the text, the task and since when.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._rows: list[tuple[int, str, str, float]] = []
        self.partial: dict[tuple[int, str], tuple[str, int, float]] = {}
        self._window_ends_s = 0.0
        self._lines_left = self._chars_left = 0
        self._n_left_out = 0
        self._is_off = False
        self._originals: list[TextIO] = []

    def install(self) -> None:
        """Capture what this process prints and logs from now on."""
        for name in ("stdout", "stderr"):
            original = getattr(sys, name)
            # Whole lines at once, also under PYTHONUNBUFFERED: processes share the log.
            original.reconfigure(line_buffering=True, write_through=False, errors="backslashreplace")
            self._originals.append(original)
            setattr(sys, name, CapturedStream(name, original, self))
        logging.lastResort = _LastResort(self, sys.__stderr__ or sys.stderr)

    def turn_off(self) -> None:
        """Send nothing any more: this is a forked child. Takes no lock, which may be held by a thread that isn't here."""
        self._is_off = True

    def write(self, stream: str, text: str) -> None:
        """Take what the calling thread has printed. Whole lines are sent; the rest waits for its end."""
        if self._is_off:
            return
        thread, now_s = task_thread(), monotonic_s()
        number = NO_TASK if thread is None else thread.number
        key = (threading.get_ident(), stream)
        with self._lock:
            before, _, since_s = self.partial.pop(key, ("", number, now_s))
            *lines, rest = (before + text[: 2 * MAX_CHARS]).split("\n")
            for line in lines:
                self._add(number, stream, line, now_s)
            if len(rest) > MAX_LINE_CHARS:
                self._add(number, stream, rest, now_s)
            elif rest:
                self.partial[key] = (rest.rpartition("\r")[2] or rest, number, since_s)

    def end_line(self) -> None:
        """The calling thread's task has ended, and with it the line that it has begun, if any."""
        if self.partial:
            thread_id = threading.get_ident()
            self._end_lines(lambda key, since_s: key[0] == thread_id)

    def is_due(self, now_s: float) -> bool:
        """Tell whether there is something to send. Ends lines that have waited for their end for long."""
        if self.partial:
            self._end_lines(lambda key, since_s: now_s - since_s > PARTIAL_S)
        return bool(self._rows) or (self._n_left_out > 0 and now_s >= self._window_ends_s)

    def take(self) -> messages.TaskOutput | None:
        """Return what is to be sent; None if there is nothing."""
        if not self._rows and not self._n_left_out:
            return None
        with self._lock:
            self._begin_window(monotonic_s())
            rows, self._rows = self._rows, []
        if not rows:
            return None
        numbers, streams, texts, at_s = map(list, zip(*rows, strict=True))
        return messages.TaskOutput(numbers, streams, texts, at_s)

    def _end_lines(self, is_meant: Callable[[tuple[int, str], float], bool]) -> None:
        with self._lock:
            for key, (text, number, since_s) in list(self.partial.items()):
                if is_meant(key, since_s):
                    del self.partial[key]
                    self._add(number, key[1], text, since_s)
        for original in self._originals:
            with contextlib.suppress(OSError, ValueError):
                original.flush()

    def _add(self, number: int, stream: str, line: str, now_s: float) -> None:
        self._begin_window(now_s)
        line = line.rstrip("\r").rpartition("\r")[2]  # as a terminal shows it
        n_chars = min(len(line), MAX_LINE_CHARS)
        if not self._lines_left or self._chars_left < n_chars:
            self._n_left_out += 1
            return
        self._lines_left -= 1
        self._chars_left -= n_chars
        if len(line) > MAX_LINE_CHARS:
            line = f"{line[:MAX_LINE_CHARS]} ... ({len(line) - MAX_LINE_CHARS} characters left out)"
        self._rows.append((number, stream, encodable(line), now_s))

    def _begin_window(self, now_s: float) -> None:
        if now_s < self._window_ends_s:
            return
        self._window_ends_s = now_s + WINDOW_S
        self._lines_left, self._chars_left = MAX_LINES, MAX_CHARS
        n_left_out, self._n_left_out = self._n_left_out, 0
        if n_left_out:
            text = f"{n_left_out} lines left out: at most {MAX_LINES} lines a second are sent; cluster.log has them all"
            self._rows.append((NO_TASK, "warning", text, now_s))


class CapturedStream(io.TextIOBase):
    """Stands for `sys.stdout` or `sys.stderr`: writes to the original, which is the cluster's log, and captures the text.

    A full disk keeps nobody from printing.
    """

    def __init__(self, name: str, original: TextIO, output: TaskOutput) -> None:
        self._name = name
        self._original = original
        self._output = output

    def write(self, text: str) -> int:
        """Write text; return its length."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        with contextlib.suppress(OSError):
            self._original.write(text)
        self._output.write(self._name, text)
        return len(text)

    def flush(self) -> None:
        """Flush the original."""
        with contextlib.suppress(OSError, ValueError):
            self._original.flush()

    def writable(self) -> bool:
        """Return True."""
        return True

    def isatty(self) -> bool:
        """Return False."""
        return False

    def fileno(self) -> int:
        """Return the original's descriptor. What is written there goes to the cluster's log alone."""
        return self._original.fileno()

    def close(self) -> None:
        """Do nothing: other tasks print too."""

    @property
    def name(self) -> str:
        """The original's name."""
        return self._original.name

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The original's encoding."""
        return self._original.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """How the original handles what it can't encode."""
        return self._original.errors

    @property
    def buffer(self) -> Any:
        """The original's buffer. What is written there goes to the cluster's log alone."""
        return self._original.buffer

    def reconfigure(self, **options: Any) -> None:
        """Reconfigure the original."""
        self._original.reconfigure(**options)  # type: ignore[attr-defined]


class _LastResort(logging.Handler):
    """What `logging` uses where nobody has configured it: warnings and errors, with their level."""

    def __init__(self, output: TaskOutput, original: TextIO) -> None:
        super().__init__(logging.WARNING)
        self._output = output
        self._original = original

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record. Doesn't raise, whatever its arguments are."""
        try:
            text = self.format(record)
        except Exception:  # the arguments are the user's
            text = f"{text_of(record.msg)} (its arguments don't fit)"
        with contextlib.suppress(OSError):
            self._original.write(f"{text}\n")
        self._output.write(record.levelname.lower(), f"{text}\n")
