"""Who runs where: one private file a cluster, under Jupyter's runtime directory. It starts and stops nothing.

A record is JSON of mode 0600 in a directory of mode 0700. Whoever reads the registry removes records whose process has
surely ended. Records of other hosts and containers that share the directory are left alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from pathlib import Path
from typing import TypeVar

import msgspec

from glassloom_metrics.errors import ClusterAmbiguous, ClusterNotFound
from glassloom_metrics.host import HostIdentity, Standing, standing, this_host
from glassloom_metrics.host import process_started_s as process_started_s

Entry = TypeVar("Entry", bound=msgspec.Struct)

CLUSTER_LOG = "cluster.log"
"""What a cluster's log is called in its directory."""
_FOLDER = "glassloom"
_MOST_BYTES = 2**20
"""How much of a file in the registry is read: records have a kilobyte, and all are read each second."""
_NO_WORDS = ("no", "n", "false", "off", "0", "0.0")


class ClusterRecord(msgspec.Struct, frozen=True):
    """What another process of the same user needs in order to find a cluster and be let in.

    ``kind`` is ``"processes"``, ``"threads"``, or ``"dask"`` for a cluster of dask.distributed that ``pid`` watches: ``address`` is
    that of its scheduler, and ``scheduler`` what that calls itself. ``socket`` the path of the head's UNIX socket; ``secret`` what a
    connection must show (``repr`` doesn't); ``directory`` and ``shm_prefix`` where its files lie; ``started_by`` is
    ``"notebook"``, ``"script"`` or ``"panel"``; ``host`` is where ``pid`` and ``socket`` mean something. ``notebook`` and
    ``script`` are the files that it was started in, of which one at most is known.
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
    host: HostIdentity = msgspec.field(default_factory=this_host)
    notebook: str = ""
    script: str = ""
    address: str = ""
    scheduler: str = ""

    def __repr__(self) -> str:
        """Return all fields but the secret: notebooks save what their cells show."""
        values = ((name, getattr(self, name)) for name in self.__struct_fields__)
        shown = (f"{name}={'...' if name == 'secret' else repr(value)}" for name, value in values)
        return f"ClusterRecord({', '.join(shown)})"


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


def registry_path() -> Path:
    """Return the directory of the records, whether it is there or not."""
    return jupyter_runtime_dir() / _FOLDER


def runtime_dir() -> Path:
    """Return the directory of the records; it is made, for this user alone, if it isn't there."""
    path = registry_path()
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


def is_alive(record: ClusterRecord) -> bool:
    """Tell whether the record's process still runs on this host (and is not another one that got its pid)."""
    return _standing(record) is Standing.ALIVE


def write_record(record: ClusterRecord) -> Path:
    """Publish `record` (at once, whole) and return its path; raises OSError, and leaves nothing, if there is no room."""
    return write_entry(f"cluster-{record.id}", record)


def write_entry(name: str, entry: msgspec.Struct) -> Path:
    """Write `entry` as the private file ``name.json`` of the registry, at once and whole; raises OSError, and leaves nothing."""
    directory = runtime_dir()
    path = directory / f"{name}.json"
    draft = directory / f".{name}.{os.getpid()}.part"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(entry), indent=2))
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    return path


def remove_record(cluster_id: str) -> None:
    """Take a cluster out of the registry; nothing happens if it is not in it."""
    remove_entry(f"cluster-{cluster_id}")


def remove_entry(name: str) -> None:
    """Remove the file ``name.json`` of the registry; nothing happens if there is none."""
    with contextlib.suppress(OSError):
        (registry_path() / f"{name}.json").unlink()


def read_records() -> list[ClusterRecord]:
    """Return the records of all running clusters of this user on this host, oldest first.

    Records whose process has surely ended are removed. What such clusters have left behind is the engine's to remove:
    see ``glassloom.protocol.places``.
    """
    running = []
    for record in _read_all():
        found = _standing(record)
        if found is Standing.ALIVE:
            running.append(record)
        elif found is Standing.ENDED:
            remove_record(record.id)
    return running


def read_foreign_records() -> list[ClusterRecord]:
    """Return the records of clusters on other hosts and in other containers that share this registry, oldest first.

    Whether they still run can't be told from here, nor can they be reached; their records are never removed.
    """
    return [record for record in _read_all() if _standing(record) is Standing.FOREIGN]


def _read_all() -> list[ClusterRecord]:
    return sorted(read_entries("cluster-*", ClusterRecord), key=lambda record: record.started_at_s)


def read_entries(pattern: str, kind: type[Entry]) -> list[Entry]:
    """Return what the files of the registry hold whose names fit a pattern; those that can't be read are left out."""
    entries = []
    for path in sorted(registry_path().glob(f"{pattern}.json")):
        try:
            entries.append(msgspec.json.decode(_content(path), type=kind))
        except OSError:
            continue  # ended while we read, not for us to read, or nothing that could be a record
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # of another version of Glassloom; not ours to remove
    return entries


def _content(path: Path) -> bytes:
    """Return what a file holds that may be anything: it is never waited for, and no more of it is read than a record can have."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{str(path)!r} is no file")
        return file.read(_MOST_BYTES)


def _standing(record: ClusterRecord) -> Standing:
    return standing(record.host, record.pid, record.pid_started_s)


_ADDRESS = re.compile(r"[\w.-]+:\d{2,5}")
"""A host and a port, as Dask's clients take them."""


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
    hint = f". A scheduler of dask.distributed is 'tcp://{name_or_id}'" if _ADDRESS.fullmatch(name_or_id) else ""
    raise ClusterNotFound(f"no cluster {name_or_id!r}; running: {running}{_elsewhere(name_or_id)}{hint}")


def _elsewhere(name_or_id: str) -> str:
    """Return for people that a cluster of that name or id is, or was, somewhere else."""
    places = [record.host.name for record in read_foreign_records() if name_or_id in (record.id, record.name)]
    return f". There is one on {', '.join(map(repr, places))}: it can be reached only there" if places else ""
