"""`ProcessLog`: what a process says, in a file whose size is bounded, over its restarts."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import BinaryIO

MAX_BYTES = 1_000_000
"""How large the file may become before only its end is kept, in another file."""


class ProcessLog:
    """A file to which a process appends, and another with what was said before.

    Parameters
    ----------
    path
        The file; the older one has ``.old`` after its name.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self.path = path
        self._older = path.with_name(f"{path.name}.old")
        self._max_bytes = max_bytes
        self._marked = 0

    def open(self) -> int:
        """Return a descriptor of the file, open to be appended to."""
        return os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def mark(self) -> None:
        """Let `said` begin here."""
        with contextlib.suppress(OSError):
            self._marked = self.path.stat().st_size

    def said(self, max_bytes: int) -> str:
        """Return the end of what was said since `mark`, without the blanks around it."""
        with contextlib.suppress(OSError), open(self.path, "rb") as file:
            file.seek(max(self._marked, os.fstat(file.fileno()).st_size - max_bytes))
            return file.read(max_bytes).decode(errors="replace").strip()
        return ""

    def note(self, line: str) -> None:
        """Append a line of ours. Does nothing if there is no room."""
        with contextlib.suppress(OSError), open(self.path, "ab") as file:
            file.write(f"--- {line}\n".encode(errors="backslashreplace"))

    def trim(self) -> None:
        """Bound the file's size: the process goes on appending, so it is emptied and not replaced."""
        with contextlib.suppress(OSError):
            if self.path.stat().st_size > self._max_bytes:
                self._older.write_bytes(self.path.read_bytes()[-self._max_bytes :])
                os.truncate(self.path, 0)
                self._marked = 0

    def tail(self, max_bytes: int) -> str:
        """Return the end of what was said, at most so many bytes."""
        said = b""
        for path in (self._older, self.path):
            with contextlib.suppress(OSError), open(path, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - max_bytes))
                said += file.read(max_bytes)
        return said[-max_bytes:].decode(errors="replace")


def last_lines(path: Path, n_lines: int) -> list[str]:
    """Return the newest lines of a file, of which at most the last `MAX_BYTES` bytes are read; none if there is no such file."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return last_lines_of(file, n_lines)
    return []


def last_lines_of(file: BinaryIO, n_lines: int) -> list[str]:
    """Return as `last_lines` the newest lines of an open file, which may have been removed; raises OSError."""
    size = os.fstat(file.fileno()).st_size
    file.seek(max(0, size - MAX_BYTES))
    lines = file.read(MAX_BYTES).decode(errors="replace").splitlines()
    whole = lines[1:] if size > MAX_BYTES else lines
    return whole[-n_lines:] if n_lines > 0 else []
