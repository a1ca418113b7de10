"""`Recordings`: the ``.glr`` files that there are, and which of them the dashboards show. Files are looked for in threads."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG

from glassloom_metrics.errors import ClusterNotFound, RecordingError
from glassloom_metrics.open_recordings import (
    RECORDING_PREFIX,
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
UNSEEN_S = 300.0
"""For how long a recording stays open that no page has shown yet: the dashboards may have to start first."""
LEFT_S = 10.0
"""For how long it stays open after its last page: a tab may be loaded again. One that comes later opens the file again."""
_NOT_LOOKED_INTO = frozenset(("__pycache__", "node_modules", "site-packages"))


class Recordings:
    """The recordings of this user. Belongs to one event loop.

    Parameters
    ----------
    root
        The server's root: files below it are told by their path from there, as JupyterLab knows them.
    directory
        Where else there are recordings; ``""``: nowhere.
    unseen_s, left_s
        For how long a recording stays open that no page has shown yet, and after its last page.
    """

    def __init__(self, *, root: str, directory: str = "", unseen_s: float = UNSEEN_S, left_s: float = LEFT_S) -> None:
        self._root = os.path.abspath(root)
        self._directory = os.path.abspath(os.path.expanduser(directory)) if directory else self._root
        self._unseen_s, self._left_s = unseen_s, left_s
        self._n_pages: Counter[str] = Counter()
        self._closing: dict[str, asyncio.Task[None]] = {}
        self._listing: asyncio.Task[RecordingFiles] | None = None
        self._described: dict[str, tuple[tuple[int, int], RecordingFile]] = {}
        """By path: what tells a file from an earlier one, and what is told of it. Used by one thread at a time."""

    async def list(self) -> RecordingFiles:
        """Return the files below the root and the directory, the newest first. Who asks meanwhile gets the same answer."""
        if self._listing is None or self._listing.done():
            self._listing = asyncio.create_task(asyncio.to_thread(self._list), name="glassloom-recordings")
        return await asyncio.shield(self._listing)

    async def open(self, path: str) -> Opened:
        """Let the dashboards show a recording; one that is shown already stays as it is.

        It stays open while any page shows it, of whichever browser, and `left_s` longer; or until it is closed.

        Raises
        ------
        RecordingNotFound
            If there is no such file where recordings may lie.
        RecordingError
            If it is no recording, or of a version that can't be read.
        """
        opened = await asyncio.to_thread(self._open, path)
        self._close_later(opened.id, self._unseen_s)
        return opened

    async def close(self, recording_id: str) -> None:
        """Let the dashboards show a recording no more, whoever looks at it; raises `ClusterNotFound` if none of that id is open."""
        self._keep(recording_id)
        record = await asyncio.to_thread(find_recording, recording_id)
        await asyncio.to_thread(withdraw_recording, record)

    def page_opened(self, recording_id: str) -> None:
        """Take note that a page shows a recording; ids that aren't a recording's of this server are counted too, and no more."""
        self._n_pages[recording_id] += 1
        self._keep(recording_id)

    def page_closed(self, recording_id: str) -> None:
        """Take note that a page shows it no more, after `page_opened`."""
        self._n_pages[recording_id] -= 1
        if self._n_pages[recording_id] <= 0:
            del self._n_pages[recording_id]
            self._close_later(recording_id, self._left_s)

    async def stop(self) -> None:
        """Close none from now on: this process ends, and with it its recordings."""
        closing, self._closing = list(self._closing.values()), {}
        for task in closing:
            task.cancel()
        await asyncio.gather(*closing, return_exceptions=True)

    def _keep(self, recording_id: str) -> None:
        closing = self._closing.pop(recording_id, None)
        if closing is not None:
            closing.cancel()

    def _close_later(self, recording_id: str, after_s: float) -> None:
        """Close it after a while, unless a page shows it by then."""
        is_recording = recording_id.startswith(RECORDING_PREFIX)
        if is_recording and not self._n_pages[recording_id] and recording_id not in self._closing:
            closing = asyncio.create_task(self._close_unused(recording_id, after_s), name="glassloom-close-recording")
            self._closing[recording_id] = closing

    async def _close_unused(self, recording_id: str, after_s: float) -> None:
        await asyncio.sleep(after_s)
        with contextlib.suppress(ClusterNotFound):  # it was closed, or its process has ended
            record = await asyncio.to_thread(find_recording, recording_id)
            if record.pid == os.getpid():  # others open some too, such as a kernel by `glassloom.replay`
                await asyncio.to_thread(withdraw_recording, record)
        self._closing.pop(recording_id, None)

    def _list(self) -> RecordingFiles:
        give_up_s = time.monotonic() + LOOK_S
        found: dict[str, RecordingFile] = {}
        for top in dict.fromkeys((self._directory, self._root)):
            for path in _files_below(top, give_up_s):
                if path not in found and (described := self._describe(path)) is not None:
                    found[path] = described
                if len(found) >= MAX_FILES:
                    break
        self._described = {path: known for path, known in self._described.items() if path in found}
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
            known = self._described.get(path)
            if known is not None and known[0] == (stat.st_mtime_ns, stat.st_size):
                return known[1]
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
        described = RecordingFile(self._told(path), name, stat.st_size, stat.st_mtime, problem)
        if not problem:
            self._described[path] = (stat.st_mtime_ns, stat.st_size), described
        return described

    def _told(self, path: str) -> str:
        return os.path.relpath(path, self._root).replace(os.sep, "/") if _is_below(path, self._root) else path

    def find_file(self, path: str) -> str:
        """Return where a recording lies, of a path that was listed; raises `RecordingNotFound`. Looks for the file."""
        absolute = os.path.normpath(os.path.join(self._root, path))
        allowed = _is_below(absolute, self._root) or _is_below(absolute, self._directory)
        if not allowed or not absolute.endswith(SUFFIX) or not os.path.isfile(absolute):
            raise RecordingNotFound(
                f"no recording ({SUFFIX}) {path!r} below the server's root or in {self._directory!r}"
            )
        return absolute

    def is_in_contents(self, path: str) -> bool:
        """Tell whether Jupyter's contents reach a path."""
        return _is_below(path, self._root)

    def told(self, path: str) -> str | None:
        """Return a path as Jupyter's contents know it; None if they don't reach it."""
        return self._told(path) if self.is_in_contents(path) and _is_text(path) else None

    @property
    def home(self) -> str:
        """Where new files go: the directory of recordings if Jupyter's contents reach it, else the server's root."""
        return self._directory if self.is_in_contents(self._directory) else self._root

    def _open(self, path: str) -> Opened:
        absolute = self.find_file(path)
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
