"""Who keeps an attachment: one process for each scheduler, which lives as long as one of the processes that hold it does.

A lock in the registry's directory makes one of all processes that want to attach the one that does. Holders are files in that
process's private directory, one a client: those of processes that have ended count for nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
from glassloom_metrics.host import process_started_s
from glassloom_metrics.registry import ClusterRecord, read_records, runtime_dir

from glassloom.distributed.attachment import KIND

_PREFIX = "holder-"


@contextlib.contextmanager
def attaching(scheduler: str) -> Iterator[bool]:
    """Hold the lock of a scheduler meanwhile; yield whether there was nobody else who has it."""
    name = hashlib.sha256(scheduler.encode()).hexdigest()[:16]
    descriptor = os.open(runtime_dir() / f"attach-{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def find_attachment(scheduler: str) -> ClusterRecord | None:
    """Return the record of an attachment of this user's to a scheduler, by what that calls itself."""
    found = [record for record in read_records() if record.kind == KIND and record.scheduler == scheduler]
    return found[0] if found else None


def new_holder() -> str:
    """Return a name for who holds an attachment: this process, as one of perhaps several clients in it."""
    return f"{os.getpid()}-{uuid.uuid4().hex[:8]}"


def hold(record: ClusterRecord, holder: str) -> None:
    """Let an attachment live as long as the holder's process does, or until that calls `release`."""
    with contextlib.suppress(OSError, psutil.Error):
        _file(record, holder).write_text(str(process_started_s(_pid_of(holder))))


def release(record: ClusterRecord, holder: str) -> None:
    """Let it end if nobody else holds it."""
    with contextlib.suppress(OSError):
        _file(record, holder).unlink()


def _file(record: ClusterRecord, holder: str) -> Path:
    return Path(record.directory, f"{_PREFIX}{holder}")


def _pid_of(holder: str) -> int:
    return int(holder.partition("-")[0])


def is_held(directory: Path) -> bool:
    """Tell whether a process that runs holds the attachment with this directory."""
    return any(_runs(path) for path in directory.glob(f"{_PREFIX}*"))


def _runs(path: Path) -> bool:
    try:
        return process_started_s(_pid_of(path.name.removeprefix(_PREFIX))) == float(path.read_text())
    except (OSError, ValueError, psutil.Error):
        return False
