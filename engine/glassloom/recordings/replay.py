"""`replay`: shows a recording in the dashboards, Jupyter's or some of its own."""

from __future__ import annotations

import atexit
import importlib.util
import os
import select
import subprocess
import sys
import weakref
from typing import Self

from glassloom_metrics.open_recordings import (
    RecordingRecord,
    publish_recording,
    record_of_recording,
    withdraw_recording,
)

from glassloom._ownership import OwnerProcess
from glassloom.errors import ClusterStartError, GlassloomError
from glassloom.protocol.identity import jupyter_base_url
from glassloom.reprs import render

_START_TIMEOUT_S = 45.0
_END_TIMEOUT_S = 5.0


def replay(path: str | os.PathLike[str]) -> Replay:
    """Show a recording in the dashboards, as if its cluster had just ended.

    In a notebook the dashboards of its Jupyter server show it; elsewhere dashboards are started for it, which end with this
    process. ``glassloom replay run.glr`` does the same from the shell.

    Parameters
    ----------
    path
        Of the file, which `glassloom.record` or `Client.record` has made. One whose writer was killed is shown as far as it
        goes.

    Returns
    -------
    Replay
        Its `link` is where to look; in a notebook it is shown as a link.

    Raises
    ------
    RecordingError
        If the file is no recording, or one of another version.
    OSError
        If it can't be opened.
    ClusterStartError
        If the dashboards don't start.

    Examples
    --------
    >>> import glassloom
    >>> glassloom.replay("run.glr")  # doctest: +SKIP
    <Replay of 'run.glr': http://127.0.0.1:38121/recording-5b21f0c1a2d3/status?token=...>
    """
    record = record_of_recording(path)
    base_url = jupyter_base_url()
    if base_url is not None:
        publish_recording(record)
        return Replay(record, f"{base_url}glassloom/dash/{record.id}/status", None)
    process, link = _start_dashboards(record.path)
    return Replay(record, link, process)


class Replay:
    """A recording that the dashboards show, until `close` or the end of this process. Made by `replay`.

    Attributes
    ----------
    path
        Of the file.
    link
        Where to look: a path on this notebook's Jupyter server, or an address with a token in it.
    """

    def __init__(self, record: RecordingRecord, link: str, process: subprocess.Popen[bytes] | None) -> None:
        self.path = record.path
        self.link = link
        self._owner = OwnerProcess(f"replay of {record.path!r}")
        # With dashboards of its own it ends with this object. In Jupyter's it stays, though only a cell's output shows it.
        self._end = weakref.finalize(self, _end, self._owner, process) if process else None
        self._record = record
        if self._end is None:
            atexit.register(self.close)

    def close(self) -> None:
        """Show it no more."""
        if self._end is not None:
            self._end()
        elif self._owner.is_current:
            atexit.unregister(self.close)
            withdraw_recording(self._record)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Replay of {os.path.basename(self.path)!r}: {self.link}>"

    def _repr_html_(self) -> str:
        return render(
            "recording.html.j2",
            title="Replay",
            name=self._record.name,
            status="",
            tone="",
            shown=False,
            facts=[("File", self.path)],
            problem="",
            link=self.link,
            cluster="" if "://" in self.link else self._record.id,
        )


def _start_dashboards(path: str) -> tuple[subprocess.Popen[bytes], str]:
    """Start dashboards that end with this process; return them and their address."""
    command = [*dashboards_command(), "--port", "0", "--end-with-parent", "--recording", path]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None, "a pipe was asked for"
    try:
        ready, _, _ = select.select([process.stdout], [], [], _START_TIMEOUT_S)
        link = process.stdout.readline().decode().strip() if ready else ""
    except BaseException:
        _kill(process)
        raise
    if not link:
        _kill(process)
        why = f"it ended with exit code {process.returncode}" if ready else f"not ready after {_START_TIMEOUT_S:g} s"
        raise ClusterStartError(f"the dashboards for {path!r} don't start: {why}")
    return process, link


def dashboards_command() -> list[str]:
    """Return the command that runs the dashboards; raises `GlassloomError` if they aren't installed."""
    if importlib.util.find_spec("glassloom_dashboards") is None:
        raise GlassloomError("the dashboards aren't installed in this environment: pip install glassloom")
    return [sys.executable, "-m", "glassloom_dashboards"]


def _end(owner: OwnerProcess, process: subprocess.Popen[bytes]) -> None:
    if owner.is_current:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the dashboards, by force if they don't listen."""
    process.terminate()
    try:
        process.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
