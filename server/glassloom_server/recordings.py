"""`Recordings`: the ``.glr`` files that there are, and which of them the dashboards show. Files are looked for in threads."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG

from glassloom_metrics.errors import RecordingError
from glassloom_metrics.open_recordings import (
    find_recording,
    publish_recording,
    read_recording_records,
    record_of_recording,
    withdraw_recording,
)
from glassloom_metrics.recording import hello_of

from glassloom_server.errors import RecordingNotFound
from glassloom_server.wire import Opened, RecordingFile, RecordingFiles

SUFFIX = ".glr"
MAX_DEPTH = 4
"""How many folders deep files are looked for."""
MAX_FILES = 200
LOOK_S = 2.0
"""For how long files are looked for; what isn't found by then isn't listed."""
_NOT_LOOKED_INTO = frozenset(("__pycache__", "node_modules", "site-packages"))


class Recordings:
    """The recordings of this user.

    Parameters
    ----------
    root
        The server's root: files below it are told by their path from there, as JupyterLab knows them.
    directory
        Where else there are recordings; ``""``: nowhere.
    """

    def __init__(self, *, root: str, directory: str = "") -> None:
        self._root = os.path.abspath(root)
        self._directory = os.path.abspath(os.path.expanduser(directory)) if directory else self._root

    async def list(self) -> RecordingFiles:
        """Return the files below the root and the directory, the newest first."""
        return await asyncio.to_thread(self._list)

    async def open(self, path: str) -> Opened:
        """Let the dashboards show a recording for as long as this server runs; one that is shown already stays as it is.

        Raises
        ------
        RecordingNotFound
            If there is no such file where recordings may lie.
        RecordingError
            If it is no recording, or of a version that can't be read.
        """
        return await asyncio.to_thread(self._open, path)

    async def close(self, recording_id: str) -> None:
        """Let the dashboards show a recording no more; raises `ClusterNotFound` if none of that id is open."""
        record = await asyncio.to_thread(find_recording, recording_id)
        await asyncio.to_thread(withdraw_recording, record)

    def _list(self) -> RecordingFiles:
        give_up_s = time.monotonic() + LOOK_S
        found: dict[str, RecordingFile] = {}
        for top in dict.fromkeys((self._directory, self._root)):
            for path in _files_below(top, give_up_s):
                if path not in found and (described := self._describe(path)) is not None:
                    found[path] = described
                if len(found) >= MAX_FILES:
                    break
        newest_first = sorted(found.values(), key=lambda file: file.modified_at, reverse=True)
        return RecordingFiles(newest_first, self._directory)

    def _describe(self, path: str) -> RecordingFile | None:
        problem, name = "", os.path.basename(path)
        if not _is_text(path):
            return None  # JSON has no way to say it
        try:
            stat = os.stat(path)
            if not S_ISREG(stat.st_mode):
                return None  # opening a pipe would wait for who writes to it
            hello = hello_of(path)
        except RecordingError as error:
            problem = str(error)
        except OSError as error:
            if not os.path.exists(path):
                return None  # removed while we looked
            problem = error.strerror or str(error)
            stat = os.lstat(path)
        else:
            name = hello.cluster_name if hello is not None else name
        return RecordingFile(self._told(path), name, stat.st_size, stat.st_mtime, problem)

    def _told(self, path: str) -> str:
        return os.path.relpath(path, self._root).replace(os.sep, "/") if _is_below(path, self._root) else path

    def _open(self, path: str) -> Opened:
        absolute = os.path.normpath(os.path.join(self._root, path))
        allowed = _is_below(absolute, self._root) or _is_below(absolute, self._directory)
        if not allowed or not absolute.endswith(SUFFIX) or not os.path.isfile(absolute):
            raise RecordingNotFound(
                f"no recording ({SUFFIX}) {path!r} below the server's root or in {self._directory!r}"
            )
        for shown in read_recording_records():
            if shown.path == absolute and shown.pid == os.getpid():
                return Opened(shown.id)
        record = record_of_recording(absolute)
        publish_recording(record)
        return Opened(record.id)


def _is_text(path: str) -> bool:
    """Whether a path is text: names of files may be any bytes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_below(path: str, top: str) -> bool:
    """Tell whether a path lies below a folder, as it is written: links are followed, as Jupyter does."""
    return Path(path).is_relative_to(top)


def _files_below(top: str, give_up_s: float) -> Iterator[str]:
    """Yield the recordings of a folder and those in it, those of upper folders first; hidden ones aren't looked into."""
    folders = [(top, 0)]
    while folders and time.monotonic() < give_up_s:
        folder, depth = folders.pop(0)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue  # not for us to read
        for entry in entries:
            if entry.name.endswith(SUFFIX) and not entry.name.startswith("."):
                yield entry.path
            elif depth < MAX_DEPTH and _is_looked_into(entry):
                folders.append((entry.path, depth + 1))


def _is_looked_into(entry: os.DirEntry[str]) -> bool:
    is_usual = entry.name not in _NOT_LOOKED_INTO and not entry.name.startswith(".")
    return is_usual and entry.is_dir(follow_symlinks=False)
