"""Small results that the head holds itself: up to a bound; past it the oldest go to files that every process can read.

Workers send results of up to 32 KiB inside messages, and the head passes them on in the same way. That costs no file and
no system call for each of a hundred thousand small results, but as much memory of the head as there are of them.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from glassloom.protocol.places import ClusterPlaces
from glassloom.scheduler import TaskState
from glassloom.store.packed_file import Packed, write_packed
from glassloom.store.shared_memory import SHARED_MEMORY_DIR
from glassloom.units import format_bytes

LIMIT_BYTES = 64 * 2**20
"""How much memory of the head small results may take."""
FILE_BYTES = 8 * 2**20
"""Size of a file: the head does nothing else while it writes one."""
MIN_BYTES = 256
"""Smaller results are not counted: their tasks take more."""


@dataclass(eq=False)
class _File:
    """A packed file, and how many of its results are still wanted."""

    path: str
    n_wanted: int


class InlineResults:
    """The small results of one cluster.

    Parameters
    ----------
    log
        Called with a level and a text for people.
    """

    def __init__(self, places: ClusterPlaces, log: Callable[[str, str], None]) -> None:
        self._places = places
        self._log = log
        self._held: dict[int, TaskState] = {}
        """Tasks by number, the one whose result came first first."""
        self._files: dict[str, _File] = {}
        self._numbers = itertools.count()
        self._next_try_bytes = 0
        self.held_bytes = 0

    def add(self, task: TaskState | None) -> None:
        """A task may have a small result now: hold it, and write the oldest to a file if that is too much."""
        if task is None or not _is_counted(task.shared_location) or task.number in self._held:
            return
        self._held[task.number] = task
        self.held_bytes += len(task.shared_location)
        while self.held_bytes > max(LIMIT_BYTES, self._next_try_bytes):
            self._write_oldest()

    def free(self, number: int, location: bytes | Packed) -> None:
        """The result of a task is not wanted any more."""
        if isinstance(location, bytes):
            if self._held.pop(number, None) is not None:
                self.held_bytes -= len(location)
        elif (file := self._files.get(location.path)) is not None:
            file.n_wanted -= 1
            if not file.n_wanted:
                del self._files[location.path]
                with contextlib.suppress(OSError):
                    os.unlink(location.path)

    def write(self, tasks: Iterable[TaskState]) -> None:
        """Write these results to files, so that a message that tells where they are stays small."""
        chosen = {task.number: task for task in tasks if task.number in self._held}
        while chosen and self._write(_first(chosen.values())):
            chosen = {number: task for number, task in chosen.items() if number in self._held}

    def _write_oldest(self) -> None:
        """Write the oldest; if there is no room, say so, and try again once there is as much more."""
        if self._write(_first(self._held.values())):
            self._next_try_bytes = 0
        else:
            self._next_try_bytes = self.held_bytes + FILE_BYTES

    def _write(self, tasks: list[TaskState]) -> bool:
        """Move results to one file; return False if there is no room for it."""
        name = f"{self._places.shm_prefix}head-{next(self._numbers)}-{secrets.token_hex(8)}"
        for folder in (self._places.directory, str(SHARED_MEMORY_DIR)):
            path = os.path.join(folder, name)
            try:
                packed = write_packed(path, [task.shared_location for task in tasks])
            except OSError as error:
                reason = f"{folder}: {error.strerror or error}"
                continue
            self._files[path] = _File(path, len(tasks))
            for task, place in zip(tasks, packed, strict=True):
                task.shared_location = place
                self.held_bytes -= place.nbytes
                del self._held[task.number]
            return True
        text = f"small results take {format_bytes(self.held_bytes)} of the head's memory and can't be written to disk"
        self._log("warning", f"{text} ({reason}); make room there, or start the cluster with another local_directory")
        return False


def _is_counted(location: object) -> bool:
    return isinstance(location, bytes) and len(location) >= MIN_BYTES


def _first(tasks: Iterable[TaskState]) -> list[TaskState]:
    """Return the first tasks whose results fill a file."""
    chosen, nbytes = [], 0
    for task in tasks:
        chosen.append(task)
        nbytes += len(task.shared_location)
        if nbytes >= FILE_BYTES:
            break
    return chosen
