"""Starting a cluster's head as a process of its own, learning that it is ready, ending it.

A thread starts it, and the caller waits for the thread: an interrupt of the caller, or a fork, finds a `HeadProcess` that
can be ended at any time, never a process that nothing knows of.
"""

from __future__ import annotations

import contextlib
import contextvars
import json
import logging
import os
import selectors
import subprocess
import sys
import time
import warnings
import weakref
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import msgspec
import psutil
from glassloom_metrics.host import is_stopped
from glassloom_metrics.kill_note import note_kill
from glassloom_metrics.registry import CLUSTER_LOG, ClusterRecord, read_records, remove_record

from glassloom import config
from glassloom._allocators import settings_for_processes
from glassloom._ownership import OwnerProcess
from glassloom._supervision import Crash, start_thread
from glassloom.client.blocking import Signal, run_sync, until
from glassloom.errors import ClusterStartError
from glassloom.protocol.options import HeadOptions
from glassloom.protocol.places import directory_of, remove_files, remove_what_the_dead_left

END_TIMEOUT_S = 10.0
_LOOK_EVERY_S = 0.05
_MAX_OUTPUT_LENGTH = 2000
"""How much of what a head said is told when its cluster doesn't start."""
_STACKLEVEL = 4
"""From `HeadProcess.start` to the line that made the `LocalCluster`."""
_BLAS_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_NEEDED = ("glassloom", "glassloom_metrics", "cloudpickle", "msgspec", "numpy", "psutil")
"""Packages that a head can't do without."""

_log = logging.getLogger("glassloom")
_started: weakref.WeakSet[HeadProcess] = weakref.WeakSet()

BOOTSTRAP = """\
import json, sys
start = json.loads(sys.argv.pop())
sys.path[:] = start["path"]
from glassloom.head.main import main
main(start["options"], start["worker_path"])
"""
"""What the head's interpreter runs. It is started with ``-P``: nothing is imported from the folder that it happens to be in."""


class HeadProcess:
    """The head that this process starts for a cluster. It is nothing to a forked child of this process.

    Parameters
    ----------
    options
        The head's.
    env
        Environment variables besides this process's own.
    timeout_s
        How long it may take to be ready.
    """

    def __init__(self, options: HeadOptions, env: Mapping[str, str], timeout_s: float) -> None:
        self.owner = OwnerProcess(f"cluster {options.name!r}")
        self._options = options
        self._env = env
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._record: ClusterRecord | None = None
        self._warning = ""
        self._error: BaseException | None = None
        self._has_answered = Signal()
        self._has_begun = False
        self._is_given_up = False

    @property
    def is_running(self) -> bool:
        """Whether there is such a process, as far as this one can know."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> ClusterRecord:
        """Start the head and return its record once it is ready. An interrupt ends it.

        Raises
        ------
        ClusterStartError
            If the head or its workers don't start, or not in time; the message says why.
        """
        try:
            context = contextvars.copy_context()  # options that are set for this thread alone
            start_thread("glassloom-start", context.run, self._start, on_crash=self._failed)
            run_sync(until(self._has_answered))
            if self._record is None:
                raise self._error or ClusterStartError("the start was given up")
            if self._warning:
                warnings.warn(self._warning, RuntimeWarning, stacklevel=_STACKLEVEL)
        except BaseException:
            self.end(even_if_detached=True)
            raise
        return self._record

    def wait(self) -> None:
        """Return when the head has ended."""
        self.owner.require()
        if self._process is not None:
            self._process.wait()

    def end(self, *, even_if_detached: bool = False) -> None:
        """End the head and what belongs to it; returns when nothing is left. Nothing happens in a forked child.

        A head that is stopped by a signal is killed at once, and one that doesn't end is killed after `END_TIMEOUT_S`; a
        warning in the log says so.
        """
        self._is_given_up = True
        if not self.owner.is_current or not self._has_begun:
            return
        run_sync(until(self._has_answered))  # soon: the thread sees that it is given up
        if self._process is not None:
            _end(self._process, self._record, is_left_running=self._options.detached and not even_if_detached)
            self._process = None  # last: an interrupt leaves it to the finaliser

    def abandon(self) -> None:
        """This is the copy in a forked child: close its ends of the pipes, so that the parent alone holds the lifeline."""
        process = self._process
        for stream in (process.stdin, process.stdout, process.stderr) if process is not None else ():
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _start(self) -> None:
        """In the thread: start the process, and read what it says."""
        self._has_begun = True
        if self._is_given_up:  # looked at after, as `end` does it the other way round: one of the two sees the other
            self._has_answered.set()
            return
        process = self._process = _start_process(self._options, self._env)
        _started.add(self)
        answer = _read_record(process, self._timeout_s, lambda: self._is_given_up)
        if answer is not None:
            self._record, self._warning = msgspec.convert(answer["record"], ClusterRecord), answer["warning"]
        self._has_answered.set()

    def _failed(self, crash: Crash) -> None:
        self._error = crash.error
        self._has_answered.set()


def _start_process(options: HeadOptions, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a head; `_read_record` tells when it is ready.

    Its search path for modules is this process's, without the current directory: whatever lies there is not run by the
    head. Workers have the whole of it, after the ``PYTHONPATH`` in `env`. Nothing of it is exported to what tasks start.
    """
    environ = {**os.environ, **config.environment(), **env}
    for variable in _BLAS_VARIABLES:
        environ.setdefault(variable, str(config.get("cluster.blas-threads")))
    # Otherwise Polars starts a thread for each CPU in each worker.
    environ.setdefault("POLARS_MAX_THREADS", str(options.threads_per_worker))
    if config.get("compute.tune-allocators"):
        environ.update(settings_for_processes(environ))
    start = {"path": _head_path(), "worker_path": _worker_path(env), "options": asdict(options)}
    try:
        return subprocess.Popen(
            [sys.executable, *_interpreter_options(), "-c", BOOTSTRAP, json.dumps(start)],
            stdin=subprocess.DEVNULL if options.detached else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            start_new_session=True,  # Ctrl-C in the terminal is the client's affair
        )
    except OSError as error:
        raise ClusterStartError(f"{sys.executable} can't be started: {error}") from error


def _read_record(
    process: subprocess.Popen[bytes], timeout_s: float, is_given_up: Callable[[], bool]
) -> dict[str, Any] | None:
    """Wait for the head's line, and return it; raise what it says went wrong. Return None if the start is given up first."""
    assert process.stdout is not None and process.stderr is not None
    deadline_s = time.monotonic() + timeout_s
    line = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not line.endswith(b"\n") and time.monotonic() < deadline_s:
            if is_given_up():
                return None
            if selector.select(_LOOK_EVERY_S):
                data = os.read(process.stdout.fileno(), 2**16)
                if not data:
                    break
                line += data
    if not line.endswith(b"\n"):
        raise ClusterStartError(_kill_unready(process, timeout_s if time.monotonic() >= deadline_s else None))
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        process.wait(END_TIMEOUT_S)
        raise ClusterStartError(f"the cluster didn't start: {answer['error']}")
    return answer


def _kill_unready(process: subprocess.Popen[bytes], waited_s: float | None) -> str:
    """Kill a head that hasn't said that it is ready; return what is known of why: what of it is stopped, and what it has said."""
    stopped = [f"{each.pid} ({each.name()})" for each in _session(process.pid) if is_stopped(each.pid)]
    log = _read_log(process.pid)
    _kill(process, _registered(process.pid), "it took too long to start")
    assert process.stderr is not None
    said = process.stderr.read() + log
    _close(process)
    if waited_s is None:
        problem = f"the cluster didn't start: its head process ended with exit code {process.returncode}"
    else:
        problem = f"the cluster didn't start within {waited_s:g} s"
    if stopped:
        which, are = ("process", "is") if len(stopped) == 1 else ("processes", "are")
        problem += f": {which} {', '.join(stopped)} {are} stopped by a signal"
    output = said.decode(errors="replace")[-_MAX_OUTPUT_LENGTH:].strip()
    return f"{problem}; its output:\n{output}" if output else problem


def _read_log(pid: int) -> bytes:
    """Return the end of the log of the head of that pid; nothing if there is none."""
    directory = directory_of(pid)
    if directory is not None:
        with contextlib.suppress(OSError), open(os.path.join(directory, CLUSTER_LOG), "rb") as log:
            log.seek(max(log.seek(0, os.SEEK_END) - _MAX_OUTPUT_LENGTH, 0))
            return log.read()
    return b""


def _registered(pid: int) -> ClusterRecord | None:
    """Return the record of the cluster whose head is of that pid: it may be there before the head has said so."""
    return next((record for record in read_records() if record.pid == pid), None)


def _end(process: subprocess.Popen[bytes], record: ClusterRecord | None, *, is_left_running: bool) -> None:
    """End a head by closing its lifeline; see to it that nothing is left even if it was killed. One that isn't ready is killed."""
    _close(process)
    if record is None:
        _kill(process, _registered(process.pid), "its start was given up")
        return
    if is_left_running:
        return
    if process.stdin is None:
        process.terminate()
    _wait_or_kill(process, record)
    remove_files(record.id, [record.directory, os.path.dirname(record.socket)])
    remove_record(record.id)


def _close(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _wait_or_kill(process: subprocess.Popen[bytes], record: ClusterRecord) -> None:
    deadline_s = time.monotonic() + END_TIMEOUT_S
    while True:
        try:
            process.wait(_LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            was_stopped = is_stopped(process.pid)
            if not was_stopped and time.monotonic() < deadline_s:
                continue
        else:
            return
        reason = "it was stopped by a signal" if was_stopped else f"it didn't end within {END_TIMEOUT_S:g} s"
        _log.warning("the head of a cluster, process %d, was killed with its workers: %s", process.pid, reason)
        _kill(process, record, f"it was closed, and {reason}")
        return


def _kill(process: subprocess.Popen[bytes], record: ClusterRecord | None, reason: str) -> None:
    """Kill a head and its session, to which its fork server, workers and what tasks start belong; remove what is left of it."""
    if record is not None:
        note_kill(record, reason)
    if process.returncode is None:  # else its number may be another's by now
        for each in _session(process.pid):
            with contextlib.suppress(psutil.Error):
                each.kill()
        process.kill()
        process.wait()
    if record is not None:
        remove_record(record.id)
    remove_what_the_dead_left()


def _session(leader: int) -> list[psutil.Process]:
    """Return the processes of a session."""
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getsid(pid) == leader:
                found.append(psutil.Process(pid))
    return found


def _interpreter_options() -> list[str]:
    return [
        "-P",
        *["-E"] * bool(sys.flags.ignore_environment),
        *["-s"] * bool(sys.flags.no_user_site),
    ]


def _worker_path(env: Mapping[str, str]) -> list[str]:
    first = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
    return [*first, *_search_path()]


def _head_path() -> list[str]:
    """Return this process's search path without the current directory, but with the folders of what the head needs."""
    here = os.path.realpath(os.getcwd())
    path = [os.path.abspath(entry) for entry in _search_path() if entry and os.path.realpath(entry) != here]
    files = [getattr(sys.modules.get(name), "__file__", None) for name in _NEEDED]
    needed = [os.path.dirname(os.path.dirname(os.path.abspath(file))) for file in files if file]
    return list(dict.fromkeys([*path, *needed]))


def _search_path() -> list[str]:
    return [entry for entry in sys.path if isinstance(entry, str)]


def _abandon_all() -> None:
    """This is a forked child: the heads are its parent's."""
    for head in list(_started):
        head.abandon()
    _started.clear()


os.register_at_fork(after_in_child=_abandon_all)
