"""Who runs where: one private file a cluster, under Jupyter's runtime directory. It starts and stops nothing.

A record is JSON of mode 0600 in a directory of mode 0700. Whoever reads the registry sweeps records whose process is
gone, with everything such a cluster left behind: its private directory and its shared-memory files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path

import msgspec
import psutil

from glassloom_metrics.errors import ClusterAmbiguous, ClusterNotFound

SHARED_MEMORY_DIR = Path("/dev/shm")
NAME_PREFIX = "glassloom-"
"""How every directory and shared-memory file of a cluster begins; nothing else is ever removed."""

_NO_WORDS = ("no", "n", "false", "off", "0", "0.0")

_START_TIME_TOLERANCE_S = 5.0
_START_TICKS = 19
"""Place of the start time among the fields of ``/proc/PID/stat`` that follow the command's name."""


class ClusterRecord(msgspec.Struct, frozen=True):
    """What another process of the same user needs in order to find a cluster and be let in.

    ``kind`` is ``"processes"`` or ``"threads"``; ``socket`` the path of the head's UNIX socket; ``secret`` what a
    connection must show; ``directory`` and ``shm_prefix`` where all its files lie; ``started_by`` is ``"notebook"``,
    ``"script"`` or ``"panel"``.
    """

    id: str
    name: str
    kind: str
    pid: int
    pid_started_s: float
    socket: str
    secret: str
    started_at_s: float
    directory: str
    shm_prefix: str
    started_by: str = "script"
    kernel_id: str | None = None
    python: str = sys.executable
    version: str = ""


def jupyter_runtime_dir() -> Path:
    """Return Jupyter's runtime directory by Jupyter's own rules, without importing Jupyter.

    The rules are those of ``jupyter_core.paths.jupyter_runtime_dir``; a test compares the two.
    """
    environ = os.environ
    if directory := environ.get("JUPYTER_RUNTIME_DIR"):
        return Path(directory)
    if directory := environ.get("JUPYTER_DATA_DIR"):
        return Path(directory) / "runtime"
    if sys.platform == "darwin":
        of_platform = environ.get("JUPYTER_PLATFORM_DIRS", "no").lower() not in _NO_WORDS
        library = Path.home() / "Library"
        return (library / "Application Support" if of_platform else library) / "Jupyter" / "runtime"
    data = environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "jupyter" / "runtime"


def runtime_dir() -> Path:
    """Return the directory of the records; it is made, for this user alone, if it isn't there."""
    path = jupyter_runtime_dir() / "glassloom"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


def process_started_s(pid: int) -> float:
    """Return when process `pid` began; raises `psutil.Error` if there is none.

    On Linux in seconds since the machine was booted, which no change of the clock moves; elsewhere since the epoch.
    """
    if sys.platform != "linux":
        return psutil.Process(pid).create_time()
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        raise psutil.NoSuchProcess(pid) from None
    return int(stat.rpartition(b") ")[2].split()[_START_TICKS]) / os.sysconf("SC_CLK_TCK")


def is_alive(record: ClusterRecord) -> bool:
    """Tell whether the record's process still runs (and is not another one that got its pid)."""
    try:
        process = psutil.Process(record.pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return abs(process_started_s(record.pid) - record.pid_started_s) < _START_TIME_TOLERANCE_S
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def write_record(record: ClusterRecord) -> Path:
    """Publish `record` (at once, whole) and return its path."""
    directory = runtime_dir()
    path = directory / f"cluster-{record.id}.json"
    draft = directory / f".cluster-{record.id}.{os.getpid()}.part"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(record), indent=2))
    draft.replace(path)
    return path


def remove_record(cluster_id: str) -> None:
    """Take a cluster out of the registry; nothing happens if it is not in it."""
    (runtime_dir() / f"cluster-{cluster_id}.json").unlink(missing_ok=True)


def read_records() -> list[ClusterRecord]:
    """Return the records of all running clusters of this user, oldest first; sweep those whose process is gone."""
    alive = []
    for path in sorted(runtime_dir().glob("cluster-*.json")):
        try:
            record = msgspec.json.decode(path.read_bytes(), type=ClusterRecord)
        except FileNotFoundError:
            continue  # ended while we read
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # of another version of Glassloom; not ours to remove
        if is_alive(record):
            alive.append(record)
        else:
            sweep(record)
    return sorted(alive, key=lambda record: record.started_at_s)


def find_record(name_or_id: str) -> ClusterRecord:
    """Return the running cluster of that id, or else of that name.

    Raises
    ------
    ClusterNotFound
        If there is none; the message lists the running ones.
    ClusterAmbiguous
        If several have that name; the message lists their ids.
    """
    records = read_records()
    for record in records:
        if record.id == name_or_id:
            return record
    of_name = [record for record in records if record.name == name_or_id]
    if len(of_name) == 1:
        return of_name[0]
    if of_name:
        ids = ", ".join(f"{record.id!r} (pid {record.pid})" for record in of_name)
        raise ClusterAmbiguous(f"{len(of_name)} clusters are called {name_or_id!r}; say which by its id: {ids}")
    running = ", ".join(repr(record.name) for record in records) or "none"
    raise ClusterNotFound(f"no cluster {name_or_id!r}; running: {running}")


def sweep(record: ClusterRecord) -> None:
    """Remove what a cluster left behind: shared memory, private directory, record. Its processes must be gone."""
    remove_files(record.directory, record.shm_prefix)
    remove_record(record.id)


def remove_files(directory: str, shm_prefix: str) -> None:
    """Remove a cluster's private directory and shared-memory files; only names that begin with ours are touched."""
    if shm_prefix.startswith(NAME_PREFIX) and len(shm_prefix) > len(NAME_PREFIX):
        for path in SHARED_MEMORY_DIR.glob(f"{shm_prefix}*"):
            with contextlib.suppress(OSError):
                path.unlink()
    if Path(directory).name.startswith(NAME_PREFIX):
        shutil.rmtree(directory, ignore_errors=True)
