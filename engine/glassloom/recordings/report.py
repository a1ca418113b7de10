"""`performance_report`: what ran inside a ``with`` block as one HTML file. The dashboards, a process of their own, draw it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path
from types import TracebackType
from typing import Self

from glassloom_metrics.outputs import output_path

from glassloom.errors import ClusterError, GlassloomError
from glassloom.recordings.cluster_recording import ClusterRecording, start_recording
from glassloom.recordings.recording import current_record
from glassloom.recordings.replay import dashboards_command

_TIMEOUT_S = 120.0


class performance_report:  # noqa: N801 - used like a function, and called so by Dask's users
    """Write what runs inside a ``with`` block to one HTML file: its numbers, the plots of the dashboards, and errors.

    The file needs neither a network nor a cluster. It holds names and error texts of the tasks, and the code of the cells.

    Parameters
    ----------
    path
        Of the file. One that is there is replaced.
    title
        Heading of the report.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, OSError
        If there is no such folder, `path` is one, or nothing can be written there; at once, not when the work is done.
    ClusterError
        If the report can't be drawn or written; it names the recording of the block, which is kept then. If the block has
        raised, a warning says so instead.

    Examples
    --------
    >>> import glassloom
    >>> with glassloom.performance_report("report.html"):  # doctest: +SKIP
    ...     x.sum().compute()
    """

    def __init__(self, path: str | os.PathLike[str] = "glassloom-report.html", *, title: str = "") -> None:
        self._path = Path(path).absolute()
        self._title = title
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._recording: ClusterRecording | None = None

    def __enter__(self) -> Self:
        _require_writable(self._path)
        dashboards_command()  # raises if they aren't installed
        record = current_record()
        self._directory = tempfile.TemporaryDirectory(prefix="glassloom-report-")
        try:
            path = Path(self._directory.name) / "run.glr"
            self._recording = start_recording(record, path, since_start=False, overwrite=False)
        except BaseException:
            self._directory.cleanup()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._recording is not None and self._directory is not None, "made by __enter__"
        with self._directory:
            self._recording.stop()
            try:
                make_report(self._recording.path, self._path, title=self._title)
            except BaseException as problem:  # also Ctrl-C: the work is done, and can't be had again
                kept = _kept_words(self._recording.path, self._path)
                if not isinstance(problem, GlassloomError):
                    problem.add_note(kept)
                    raise
                if error is None:
                    raise ClusterError(f"{problem}; {kept}") from None
                warnings.warn(f"{problem}; {kept}", stacklevel=2)

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, traceback)


def _require_writable(path: Path) -> None:
    """Raise `OSError` if no report can be written there."""
    target = output_path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"can't write a report to {os.fspath(path)!r}: there is no such folder")
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}."):
            pass
    except OSError as error:
        raise OSError(error.errno, f"can't write a report to {os.fspath(path)!r}: {error.strerror}") from None


def _kept_words(recording: Path, report: Path) -> str:
    """Move a recording out of its temporary folder; return where it is, for people, or that it is lost where there is no room for it."""
    with contextlib.suppress(OSError):  # then it is lost, as is said
        descriptor, kept = tempfile.mkstemp(prefix="glassloom-report-", suffix=".glr")
        os.close(descriptor)
        shutil.move(recording, kept)
        return f"what was recorded is kept: glassloom report {shlex.quote(kept)} {shlex.quote(report.name)}"
    return "the recording is lost"


def make_report(recording: str | os.PathLike[str], path: str | os.PathLike[str], *, title: str = "") -> None:
    """Write the report of a recording; raises `ClusterError` if it can't be drawn or written."""
    command = [*dashboards_command()[:-1], "glassloom_dashboards.report", os.fspath(recording), os.fspath(path)]
    try:
        done = subprocess.run(
            [*command, f"--title={title}"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise ClusterError(f"the report {os.fspath(path)!r} wasn't drawn within {_TIMEOUT_S:.0f} s") from None
    if done.returncode:
        raise ClusterError(f"the report {os.fspath(path)!r} can't be written: {done.stderr.strip()}")
