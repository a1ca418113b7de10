"""Locks between all threads and processes of this machine, by locking a file."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from glassloom.graph import random_token


@contextmanager
def locked(path: str | Path) -> Iterator[None]:
    """Hold the lock of an existing file or folder; wait while another thread or process holds it."""
    opened = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)  # closing it gives the lock up, as does the end of the process
        yield
    finally:
        os.close(opened)


@contextmanager
def read_locked(path: str | Path) -> Iterator[None]:
    """Keep writers out that use `locked`, but no other readers. File systems without locks are read without."""
    opened = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_SH)
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
        yield
    finally:
        os.close(opened)


class ProcessLock:
    """A lock that can be pickled: it holds threads of one process, and each process has its own."""

    _of_process: ClassVar[WeakValueDictionary[str, ProcessLock]] = WeakValueDictionary()

    def __new__(cls, token: str | None = None) -> ProcessLock:
        token = token or random_token()
        found = cls._of_process.get(token)
        if found is None:
            found = super().__new__(cls)
            found._token, found._lock = token, threading.Lock()
            found = cls._of_process.setdefault(token, found)
        return found

    _token: str
    _lock: threading.Lock

    def __reduce__(self) -> tuple[Any, ...]:
        return (ProcessLock, (self._token,))

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock.release()


class TemporaryLock:
    """A lock that can be pickled, for as long as its maker is in its `with` block: it owns the file."""

    def __init__(self) -> None:
        self.path = ""

    def __enter__(self) -> TemporaryLock:
        opened, self.path = tempfile.mkstemp(prefix="glassloom-lock-")
        os.close(opened)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        Path(self.path).unlink(missing_ok=True)

    def held(self) -> Any:
        """Return a context in which no other thread or process holds the lock."""
        return locked(self.path)
