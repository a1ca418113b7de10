"""A worker's own results: in memory up to a limit, the least recently used ones on disk. Thread-safe.

Files are written and read without the lock: a worker's other threads go on meanwhile. A result that was read back keeps
its copy on disk, so that it costs nothing to let go of it once more. Small results share files.

Pickling and unpickling run users' code. What that raises when a result is written keeps the result in memory; what it
raises when a result is read is raised to those who read it.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from glassloom_metrics.protocol import Action

from glassloom.errors import DataLost, SerialisationError
from glassloom.store.pickling import dumps
from glassloom.store.spill_batch import BatchCopy, BatchFile, copy_batch, write_batch
from glassloom.store.spill_file import FileCopy, write_spill

OWN_FILE_BYTES = 64 * 1024
"""Results of this size and more have a file of their own."""
MIN_SPILL_BYTES = 512
"""Smaller results stay in memory: what is known of one takes nearly as much."""
BATCH_BYTES = 4 * 2**20
"""How much of small results goes to one file, if there is as much."""
RETRY_FULL_DISK_S = 2.0
"""How long results stay in memory after the disk was found full, before it is tried again: some times before the head replaces a worker that
can't write (`head.health.STUCK_S`)."""
READ_BOUND_S = 60.0
"""How long a reader waits for another thread that reads the same result, before it reads that itself."""

SpillEvent = Callable[[Action, int, float, float, int], None]
"""Called with what was done, the result's number (the first one's of many small ones), start and stop (monotonic
seconds), and the bytes; in the thread that wrote or read, without a lock."""

Copy = FileCopy | BatchCopy
"""A result on disk."""

_ABSENT = object()


class _Reading:
    """A thread reads a result back; others wait for it."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.error: BaseException | None = None


@dataclass(slots=True, eq=False)
class _Entry:
    """A result: its value in memory, a copy of it on disk, or both."""

    value: Any
    nbytes: int
    copy: Copy | None = None
    may_spill: bool = True
    is_spilling: bool = False
    reading: _Reading | None = None


_Victim = tuple[int, _Entry]


@dataclass(slots=True)
class _Written:
    """What was written of some results: the copies, and the results that can't be pickled."""

    copies: dict[int, Copy] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)


class Store:
    """Results by number.

    Parameters
    ----------
    target_bytes
        How much memory results may take before the least recently used ones go to disk; None: any amount.
    directory
        Where spilled results go; it is made if it isn't there.
    on_spill
        Told of every write and read.
    on_full_disk
        Told why a result could not be written, once each time that the disk becomes full. Called as `on_spill` is.
    codec
        How spilled results are compressed: ``"lz4"``, ``"zstd"`` or not at all.
    """

    def __init__(
        self,
        target_bytes: int | None,
        directory: str,
        on_spill: SpillEvent,
        on_full_disk: Callable[[OSError], None] = lambda error: None,
        codec: str | None = None,
    ) -> None:
        self.target_bytes = target_bytes
        self._directory = directory
        self._on_spill = on_spill
        self._on_full_disk = on_full_disk
        self._codec = codec
        self._entries: dict[int, _Entry] = {}
        self._recent: OrderedDict[int, _Entry] = OrderedDict()
        """What is in memory and may be spilled, least recently used first."""
        self._recent_bytes = 0
        self._spare: dict[int, _Entry] = {}
        """Those of them that have a copy on disk."""
        self._batches: dict[BatchFile, dict[int, _Entry]] = {}
        """What is wanted of each file that small results share."""
        self._sparse: set[BatchFile] = set()
        self._unremoved: list[str] = []
        """Files that could not be removed yet."""
        self._leaving_bytes = 0
        self._retry_at_s = 0.0
        self._told_of_full_disk = False
        self._file_numbers = itertools.count()
        self._lock = threading.Lock()
        self.managed_bytes = 0
        self.spilled_bytes = 0
        self.freed_bytes = 0
        """How much memory results have given back since the beginning."""

    def __contains__(self, number: int) -> bool:
        return number in self._entries

    def nbytes(self, number: int) -> int:
        """Return the size of a result; 0 if it isn't here, or lies in shared memory."""
        entry = self._entries.get(number)
        return 0 if entry is None else entry.nbytes

    @property
    def spillable_bytes(self) -> int:
        """How much memory spilling could give back now."""
        return 0 if self._disk_is_full() else self._recent_bytes

    def put(self, number: int, value: Any, nbytes: int) -> None:
        """Keep a result; others may be spilled for it."""
        with self._lock:
            self._forget(number)
            self._entries[number] = entry = _Entry(value, nbytes, may_spill=nbytes >= MIN_SPILL_BYTES)
            self._keep_in_memory(number, entry)
        self._stay_within_target(number)

    def replace(self, number: int, value: Any) -> None:
        """The result lies in shared memory now: keep `value`, a view of it, which takes no memory of our own."""
        with self._lock:
            if number in self._entries:
                self._forget(number)
                self._entries[number] = _Entry(value, 0, may_spill=False)

    def get(self, number: int) -> Any:
        """Return a result, read back from disk if it was spilled.

        Raises
        ------
        KeyError
            If it isn't here.
        DataLost
            If it was on disk, and its file is gone or damaged. It isn't here any more then.
        SerialisationError
            If it was on disk and can't be unpickled.
        """
        while True:
            with self._lock:
                entry = self._entries[number]
                if entry.value is not _ABSENT:
                    if entry.may_spill:
                        self._recent.move_to_end(number)
                    return entry.value
                reading, copy = entry.reading, entry.copy
                if reading is None:
                    entry.reading = _Reading()
            assert copy is not None
            if reading is None:
                return self._read_back(number, entry)
            if not reading.ended.wait(READ_BOUND_S):
                return copy.read()
            if isinstance(reading.error, (DataLost, SerialisationError)):
                raise type(reading.error)(*reading.error.args) from reading.error

    def get_on_host(self, number: int) -> Any:
        """Return a result as another process can have it: as it is; see `get`, and `DeviceStore`."""
        return self.get(number)

    def drop(self, number: int) -> None:
        """Forget a result; nothing happens if it isn't here."""
        with self._lock:
            self._forget(number)

    # Letting results go to disk

    def spill_down_to(self, goal_bytes: int, keep: int = -1) -> None:
        """Spill the least recently used results, but not `keep`, until those in memory take no more than this."""
        while (victims := self._choose_victims(goal_bytes, keep)) and self._spill(victims):
            pass

    def _stay_within_target(self, keep: int) -> None:
        target_bytes = self.target_bytes
        if target_bytes is not None and self.managed_bytes > target_bytes:
            self.spill_down_to(target_bytes, keep)

    def _choose_victims(self, goal_bytes: int, keep: int) -> list[_Victim]:
        """Choose what is to be spilled next: one result, or small ones for one file, even if that is more than needed."""
        with self._lock:
            too_much = self.managed_bytes - self._leaving_bytes - goal_bytes
            if too_much <= 0:
                return []
            wanted_bytes = min(BATCH_BYTES, max(too_much, self.managed_bytes // 4))
            victims: list[_Victim] = []
            for number, entry in (self._spare if self._disk_is_full() else self._recent).items():
                if number == keep or entry.is_spilling or (victims and entry.nbytes >= OWN_FILE_BYTES):
                    continue
                victims.append((number, entry))
                wanted_bytes -= entry.nbytes
                if wanted_bytes <= 0 or entry.nbytes >= OWN_FILE_BYTES:
                    break
            for _, entry in victims:
                entry.is_spilling = True
                self._leaving_bytes += entry.nbytes
            return victims

    def _spill(self, victims: Sequence[_Victim]) -> bool:
        """Let results go to disk; return False if none of them could be written."""
        written = _Written()
        try:
            self._write([victim for victim in victims if victim[1].copy is None], written)
        finally:
            with self._lock:
                n_gone = sum([self._let_go(*victim, written) for victim in victims])
        return n_gone > 0

    def _let_go(self, number: int, entry: _Entry, written: _Written) -> bool:
        """A result was written, or could not be. Return whether it need not be tried again."""
        entry.is_spilling = False
        self._leaving_bytes -= entry.nbytes
        new = written.copies.get(number)
        if self._entries.get(number) is not entry:  # dropped or shared meanwhile
            self._release(number, new or entry.copy)
            return True
        if new is not None:
            self._hold_copy(number, entry, new)
        if entry.copy is not None:
            self._leave_memory(number, entry)
            entry.value = _ABSENT
            self.spilled_bytes += entry.nbytes
            return True
        if number in written.refused:
            self._no_longer_recent(number)
            entry.may_spill = False
            return True
        return False

    def _write(self, victims: Sequence[_Victim], written: _Written) -> None:
        """Write results to disk. What isn't in `written` then stays in memory, where it is safe."""
        if not victims:
            return
        start_s = time.monotonic()
        try:
            if victims[0][1].nbytes >= OWN_FILE_BYTES:
                self._write_large(*victims[0], written)
            else:
                self._write_small(victims, written)
        except (OSError, MemoryError) as error:
            self._note_full_disk(error if isinstance(error, OSError) else OSError("no memory to pickle a result"))
            return
        self._retry_at_s, self._told_of_full_disk = 0.0, False
        if written.copies:
            nbytes = sum([entry.nbytes for number, entry in victims if number in written.copies])
            self._on_spill(Action.SPILL_WRITE, next(iter(written.copies)), start_s, time.monotonic(), nbytes)

    def _write_large(self, number: int, entry: _Entry, written: _Written) -> None:
        try:
            written.copies[number] = self._making_room(lambda path: _write_file(path, entry.value, self._codec))
        except (OSError, MemoryError):
            raise
        except BaseException:  # pickling runs the user's code
            written.refused.add(number)

    def _write_small(self, victims: Sequence[_Victim], written: _Written) -> None:
        pickles: dict[int, bytes] = {}
        for number, entry in victims:
            try:
                pickles[number] = dumps(entry.value)
            except MemoryError:
                raise
            except BaseException:  # pickling runs the user's code
                written.refused.add(number)
        if pickles:
            copies = self._making_room(lambda path: write_batch(path, list(pickles.values()), self._codec))
            written.copies.update(zip(pickles, copies, strict=True))

    def _making_room(self, write: Callable[[str], Any]) -> Any:
        """Write a file; if there is no room for it, give up the copies of what is in memory anyway, and try again."""
        try:
            return self._writing(write)
        except OSError:
            with self._lock:
                spare = {number: entry for number, entry in self._spare.items() if not entry.is_spilling}
                for number, entry in spare.items():
                    self._release(number, entry.copy)
                    entry.copy = None
                    del self._spare[number]
            if not spare:
                raise
            return self._writing(write)

    def _writing(self, write: Callable[[str], Any]) -> Any:
        """Write a new file; nothing is left of it if that fails."""
        path = os.path.join(self._directory, f"spill-{os.getpid()}-{next(self._file_numbers)}")
        try:
            os.makedirs(self._directory, 0o700, exist_ok=True)  # a full disk may have had no room for it before
            return write(path)
        except BaseException:
            with self._lock:
                self._remove(path)
            raise

    def _note_full_disk(self, error: OSError) -> None:
        self._retry_at_s = time.monotonic() + RETRY_FULL_DISK_S
        if not self._told_of_full_disk:
            self._told_of_full_disk = True
            self._on_full_disk(error)

    def _disk_is_full(self) -> bool:
        return time.monotonic() < self._retry_at_s

    # Reading them back

    def _read_back(self, number: int, entry: _Entry) -> Any:
        """Read a result; whatever happens, those who wait for it are woken."""
        reading = entry.reading
        assert reading is not None
        start_s = time.monotonic()
        try:
            value = self._read_copy(number, entry)
            with self._lock:
                is_here = self._entries.get(number) is entry
                if is_here:
                    entry.value = value
                    self.spilled_bytes -= entry.nbytes
                    self._keep_in_memory(number, entry)
        except BaseException as error:
            reading.error = error
            raise
        finally:
            with self._lock:
                entry.reading = None
            reading.ended.set()
        if is_here:
            self._on_spill(Action.SPILL_READ, number, start_s, time.monotonic(), entry.nbytes)
            self._stay_within_target(number)
        return value

    def _read_copy(self, number: int, entry: _Entry) -> Any:
        while True:
            copy = entry.copy
            assert copy is not None
            try:
                return copy.read()
            except DataLost:
                with self._lock:
                    if self._entries.get(number) is not entry:
                        raise KeyError(number) from None
                    if entry.copy is copy:  # else it was copied to another file meanwhile
                        self._forget(number)
                        raise

    # Copying what little is wanted of a file

    def compact(self) -> None:
        """Copy what is still wanted of files of which most isn't, so that they can be removed."""
        while self._sparse:
            with self._lock:
                wanted: list[tuple[int, _Entry, BatchCopy]] = []
                while self._sparse and sum([copy.stored for _, _, copy in wanted]) < BATCH_BYTES:
                    entries = self._batches.get(self._sparse.pop(), {})
                    wanted += [
                        (n, entry, entry.copy) for n, entry in entries.items() if isinstance(entry.copy, BatchCopy)
                    ]
            old_copies = [copy for _, _, copy in wanted]
            try:
                copies = self._writing(lambda path: copy_batch(path, old_copies)) if wanted else []  # noqa: B023
            except (OSError, DataLost):
                return  # they stay where they are; a damaged one is noticed by who reads it
            with self._lock:
                for (number, entry, old), new in zip(wanted, copies, strict=True):
                    if self._entries.get(number) is entry and entry.copy is old:
                        self._release(number, old)
                        self._hold_copy(number, entry, new)
                    else:
                        self._release(number, new)

    # The books; call these with the lock held

    def _keep_in_memory(self, number: int, entry: _Entry) -> None:
        self.managed_bytes += entry.nbytes
        if entry.may_spill:
            self._recent[number] = entry
            self._recent_bytes += entry.nbytes
            if entry.copy is not None:
                self._spare[number] = entry

    def _leave_memory(self, number: int, entry: _Entry) -> None:
        self._no_longer_recent(number)
        self.managed_bytes -= entry.nbytes
        self.freed_bytes += entry.nbytes

    def _no_longer_recent(self, number: int) -> None:
        entry = self._recent.pop(number, None)
        if entry is not None:
            self._recent_bytes -= entry.nbytes
            self._spare.pop(number, None)

    def _forget(self, number: int) -> None:
        entry = self._entries.pop(number, None)
        if entry is None:
            return
        if entry.value is _ABSENT:
            self.spilled_bytes -= entry.nbytes
        else:
            self._leave_memory(number, entry)
        if not entry.is_spilling:  # else whoever spills it releases the copy
            self._release(number, entry.copy)

    def _hold_copy(self, number: int, entry: _Entry, copy: Copy) -> None:
        entry.copy = copy
        if isinstance(copy, BatchCopy):
            self._batches.setdefault(copy.file, {})[number] = entry

    def _release(self, number: int, copy: Copy | None) -> None:
        """A copy isn't wanted any more: remove its file, if there is nothing else in it."""
        if copy is None:
            return
        path = copy.release()
        if isinstance(copy, BatchCopy):
            self._batches.get(copy.file, {}).pop(number, None)
            if path is not None:
                self._batches.pop(copy.file, None)
                self._sparse.discard(copy.file)
            elif copy.file.is_sparse:
                self._sparse.add(copy.file)
        if path is not None:
            self._remove(path)

    def _remove(self, path: str) -> None:
        """Remove a file, and those that could not be removed before."""
        self._unremoved = [left for left in (*self._unremoved, path) if not _is_removed(left)]


def _write_file(path: str, value: Any, codec: str | None) -> FileCopy:
    write_spill(path, value, codec)
    return FileCopy(path)


def _is_removed(path: str) -> bool:
    """Remove a file; return whether it is gone."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
