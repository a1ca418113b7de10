"""Which recordings the dashboards may show: one private file each in the registry, beside those of the clusters.

A recording is no cluster: nothing that lists clusters lists it. Its file goes with the process that opened it.
"""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path

import msgspec

from glassloom_metrics.errors import ClusterNotFound
from glassloom_metrics.host import HostIdentity, Standing, process_started_s, standing, this_host
from glassloom_metrics.recording import hello_of
from glassloom_metrics.registry import read_entries, remove_entry, write_entry

RECORDING_PREFIX = "recording-"
"""What the ids of recordings begin with, and no cluster's."""


class RecordingRecord(msgspec.Struct, frozen=True):
    """A recording that dashboards may show: ``path`` is its file, ``pid`` the process that has opened it."""

    id: str
    name: str
    path: str
    started_at_s: float
    pid: int
    pid_started_s: float
    opened_at_s: float
    host: HostIdentity = msgspec.field(default_factory=this_host)


def record_of_recording(path: str | os.PathLike[str]) -> RecordingRecord:
    """Return a new record for a file; it isn't published.

    Raises
    ------
    RecordingError
        If the file is no recording, or of a version that can't be read.
    OSError
        If it can't be opened.
    """
    absolute = Path(path).absolute()
    hello = hello_of(absolute)
    return RecordingRecord(
        id=f"{RECORDING_PREFIX}{secrets.token_hex(6)}",
        name=absolute.name if hello is None else f"{hello.cluster_name} ({absolute.name})",
        path=os.fspath(absolute),
        started_at_s=0.0 if hello is None else hello.started_at_s,
        pid=os.getpid(),
        pid_started_s=process_started_s(os.getpid()),
        opened_at_s=time.time(),
    )


def publish_recording(record: RecordingRecord) -> None:
    """Let dashboards of this user find it. Raises `OSError`."""
    write_entry(record.id, record)


def withdraw_recording(record: RecordingRecord) -> None:
    """Take it back; nothing happens if it isn't published."""
    remove_entry(record.id)


def read_recording_records() -> list[RecordingRecord]:
    """Return the published recordings of this host, oldest first; those whose process has ended are removed."""
    found = []
    for record in read_entries(f"{RECORDING_PREFIX}*", RecordingRecord):
        state = standing(record.host, record.pid, record.pid_started_s)
        if state is Standing.ALIVE:
            found.append(record)
        elif state is Standing.ENDED:
            withdraw_recording(record)
    return sorted(found, key=lambda record: record.opened_at_s)


def find_recording(recording_id: str) -> RecordingRecord:
    """Return the published recording of that id; raises `ClusterNotFound`, as pages are asked for by the ids of either."""
    for record in read_recording_records():
        if record.id == recording_id:
            return record
    raise ClusterNotFound(f"no cluster and no recording {recording_id!r}")
