"""Where a cluster's files lie, who owns them, and their removal: by the cluster itself, or by others after its death.

A cluster has a private directory (mode 0700) with its log, its recording, what is spilled and what shared memory has no
room for; a second, short one for its socket if the path of the first is too long for a socket; and files in shared
memory. All their names begin with ``glassloom-<id>``. Each place has an owner file that names the process to which the
cluster belongs, so that the next engine of the same user can remove what a cluster that was killed has left behind,
whether or not anything else knows of it. Nothing is removed unless that process has surely ended on this host.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from glassloom_metrics.host import HostIdentity, Standing, process_started_s, standing, this_host

from glassloom.errors import ClusterStartError
from glassloom.store.shared_memory import SHARED_MEMORY_DIR

NAME_PREFIX = "glassloom-"
"""How every directory and shared-memory file of a cluster begins; nothing else is ever removed."""
OWNER_NAME = "owner"
_SOCKET_NAME = "head.sock"
_MAX_SOCKET_PATH_BYTES = 100
"""A UNIX socket's path may have 107 bytes on Linux, 103 on macOS."""
_MAX_OWNER_BYTES = 2**16


class Owner(msgspec.Struct, frozen=True):
    """To whom a cluster's files belong."""

    cluster_id: str
    pid: int
    pid_started_s: float
    host: HostIdentity
    directories: list[str]


@dataclass(frozen=True)
class ClusterPlaces:
    """Where one cluster's files lie.

    Attributes
    ----------
    directory
        Its private directory.
    socket_directory
        Where its socket is; the same, unless that path is too long.
    """

    cluster_id: str
    directory: str
    socket_directory: str

    @property
    def socket(self) -> str:
        """The path of the head's socket."""
        return os.path.join(self.socket_directory, _SOCKET_NAME)

    @property
    def shm_prefix(self) -> str:
        """How the names of all its shared-memory files begin."""
        return shm_prefix(self.cluster_id)

    def spill_directory(self, worker: int) -> str:
        """Return where a worker spills its results: a directory that goes with the worker."""
        return os.path.join(self.directory, f"spill-w{worker}")

    def remove(self) -> None:
        """Remove everything."""
        remove_files(self.cluster_id, [self.directory, self.socket_directory])


def make_places(cluster_id: str, base: str | None = None) -> ClusterPlaces:
    """Make the directories of a new cluster that belongs to this process.

    Parameters
    ----------
    base
        Where its private directory shall be; default the system's folder for temporary files.

    Raises
    ------
    ClusterStartError
        If one can't be made.
    """
    name = f"{NAME_PREFIX}{cluster_id}"
    try:
        temporary = tempfile.gettempdir()
    except FileNotFoundError as error:  # it tries them all, by writing a file
        raise ClusterStartError(f"can't make the cluster's directory: {error.strerror}") from error
    directory = os.path.join(base or temporary, name)
    candidates = [directory, os.path.join(temporary, name), os.path.join("/tmp", name)]
    places = ClusterPlaces(cluster_id, directory, next(filter(_fits_a_socket, candidates)))
    for path in dict.fromkeys([places.directory, places.socket_directory]):
        try:
            os.mkdir(path, 0o700)
        except OSError as error:
            places.remove()
            raise ClusterStartError(f"can't make the cluster's directory {path!r}: {error.strerror}") from error
    _write_owner(places)
    return places


def shm_prefix(cluster_id: str) -> str:
    """Return how the names of all shared-memory files of a cluster begin."""
    return f"{NAME_PREFIX}{cluster_id}-"


def remove_files(cluster_id: str, directories: Iterable[str]) -> None:
    """Remove a cluster's shared memory and directories; other names than the cluster's own are not touched."""
    if not cluster_id.isalnum():
        return
    for path in (*SHARED_MEMORY_DIR.glob(f"{shm_prefix(cluster_id)}*"), _shared_owner(cluster_id)):
        with contextlib.suppress(OSError):
            path.unlink()
    for directory in directories:
        if os.path.basename(directory) == f"{NAME_PREFIX}{cluster_id}":
            shutil.rmtree(directory, ignore_errors=True)


def remove_what_the_dead_left() -> list[str]:
    """Remove the files of clusters of this user that have surely ended on this host; return their ids.

    It is called when a cluster starts, and when clusters are listed.
    """
    removed = []
    for owner in _owners():
        if standing(owner.host, owner.pid, owner.pid_started_s) is Standing.ENDED:
            remove_files(owner.cluster_id, owner.directories)
            removed.append(owner.cluster_id)
    return removed


def directory_of(pid: int) -> str | None:
    """Return the private directory of the cluster whose head a running process of this host is; None if it has made none."""
    for owner in _owners():
        if owner.pid == pid and standing(owner.host, pid, owner.pid_started_s) is Standing.ALIVE:
            return owner.directories[0]
    return None


def _shared_owner(cluster_id: str) -> Path:
    """Return where shared memory tells whose it is."""
    return SHARED_MEMORY_DIR / f"{NAME_PREFIX}{cluster_id}.{OWNER_NAME}"


def _fits_a_socket(directory: str) -> bool:
    return len(os.fsencode(os.path.join(directory, _SOCKET_NAME))) <= _MAX_SOCKET_PATH_BYTES


def _write_owner(places: ClusterPlaces) -> None:
    """Say whose the places are. Where there is no room for that, they are removed when the cluster ends, or by hand."""
    pid = os.getpid()
    directories = list(dict.fromkeys([places.directory, places.socket_directory]))
    owner = Owner(places.cluster_id, pid, process_started_s(pid), this_host(), directories)
    paths = [Path(directory, OWNER_NAME) for directory in directories]
    for path in (*paths, _shared_owner(places.cluster_id)):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.encode(owner))


def _owners() -> list[Owner]:
    """Return the owners of all clusters' places of this user that there are, each once."""
    folders = {Path("/tmp"): None}
    with contextlib.suppress(FileNotFoundError):  # there is none with any room
        folders[Path(tempfile.gettempdir())] = None
    paths = [path for folder in folders for path in folder.glob(f"{NAME_PREFIX}*/{OWNER_NAME}")]
    paths += SHARED_MEMORY_DIR.glob(f"{NAME_PREFIX}*.{OWNER_NAME}")
    owners = (_read_owner(path) for path in paths)
    return list({owner.cluster_id: owner for owner in owners if owner is not None}.values())


def _read_owner(path: Path) -> Owner | None:
    """Return what an owner file says, if it is this user's and says what its place is called by."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.getuid() or not stat.S_ISREG(status.st_mode):
                return None
            owner = msgspec.json.decode(file.read(_MAX_OWNER_BYTES), type=Owner)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    named = f"{NAME_PREFIX}{owner.cluster_id}"
    return owner if named in (path.parent.name, path.name.removesuffix(f".{OWNER_NAME}")) else None
