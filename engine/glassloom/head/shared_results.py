"""The files by which results are shared: how much memory they take, who wrote them, and when they go."""

from __future__ import annotations

import contextlib
from pathlib import Path

from glassloom.head.connections import WorkerConnection
from glassloom.protocol.places import ClusterPlaces
from glassloom.store.segment import Location, Segment, free_location, is_in_shared_memory
from glassloom.store.shared_memory import SHARED_MEMORY_DIR


class SharedResults:
    """The segments of one cluster that the head has heard of. Their names begin with who wrote them."""

    def __init__(self, places: ClusterPlaces) -> None:
        self._places = places
        self._writers: dict[str, WorkerConnection | None] = {}
        self.shared_memory_bytes = 0
        """How much shared memory they take; those on disk take none."""

    def add(self, location: Location, writer: WorkerConnection | None = None) -> None:
        """A worker, or a client (None), has put a result where others can reach it."""
        if not isinstance(location, Segment):
            return
        self._writers[location.path] = writer
        if is_in_shared_memory(location):
            self.shared_memory_bytes += location.nbytes
        if writer is not None:
            writer.shared_bytes += location.nbytes

    def free(self, location: Location) -> None:
        """Remove a result that isn't wanted any more."""
        if not isinstance(location, Segment):
            return
        free_location(location)
        writer = self._writers.pop(location.path, None)
        if is_in_shared_memory(location):
            self.shared_memory_bytes -= location.nbytes
        if writer is not None:
            writer.shared_bytes -= location.nbytes

    def remove_unannounced(self, writer: str) -> None:
        """Remove what a process was writing, or had written and not told of, when it died: ``"w3"``, ``"c0"``."""
        for folder in (SHARED_MEMORY_DIR, Path(self._places.directory)):
            for path in folder.glob(f"{self._places.shm_prefix}{writer}-*"):
                if str(path) not in self._writers:
                    with contextlib.suppress(OSError):
                        path.unlink()
