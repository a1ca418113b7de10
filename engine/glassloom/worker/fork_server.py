"""The fork server: a small process, forked from the head before that has threads or sockets, that forks the workers.

It has imported what workers need, so that a new one is there in milliseconds and shares that memory. It outlives a
killed head just long enough to end the workers and remove what the cluster left behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from typing import Any

import msgspec
from glassloom_metrics.registry import remove_files, remove_record

from glassloom.protocol.options import WorkerOptions
from glassloom.worker import worker
from glassloom.worker.after_fork import run_after_fork

_PR_SET_PDEATHSIG = 1
_READ_BYTES = 2**16


def start(
    preload: list[str], log_path: str, directory: str, shm_prefix: str, cluster_id: str
) -> tuple[int, socket.socket]:
    """Fork the fork server; return its pid and the socket to talk to it (JSON lines).

    Requests: ``{"spawn": {options of the worker}}``, ``{"kill": pid}``. Answers: ``{"spawned": number, "pid": pid}``,
    ``{"exited": pid, "status": how}``.
    """
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid:
        theirs.close()
        return pid, ours
    try:
        ours.close()
        redirect_output(log_path)
        _ForkServer(theirs, log_path).serve(preload)
        remove_files(directory, shm_prefix)  # the head is gone; if it ended properly there is nothing to remove
        remove_record(cluster_id)
    finally:
        os._exit(0)


class _ForkServer:
    def __init__(self, head: socket.socket, log_path: str) -> None:
        self._head = head
        self._log_path = log_path
        self._children: set[int] = set()

    def serve(self, preload: list[str]) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for module in preload:
            with contextlib.suppress(ImportError):  # then tasks that need it fail with the real error
                importlib.import_module(module)
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(wake_read, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        buffered = b""
        while True:
            readable = select.select([self._head.fileno(), wake_read], [], [])[0]
            if wake_read in readable:
                with contextlib.suppress(BlockingIOError):
                    os.read(wake_read, _READ_BYTES)
                self._reap()
            if self._head.fileno() in readable:
                data = self._read()
                if not data:
                    break
                *lines, buffered = (buffered + data).split(b"\n")
                for line in lines:
                    self._handle_command(json.loads(line))
        for pid in self._children:
            _kill(pid)
        for pid in self._children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
            _kill_group(pid)

    def _read(self) -> bytes:
        try:
            return self._head.recv(_READ_BYTES)
        except ConnectionError:
            return b""

    def _handle_command(self, request: dict[str, Any]) -> None:
        if "spawn" in request:
            self._spawn(msgspec.convert(request["spawn"], WorkerOptions))
        elif "kill" in request and request["kill"] in self._children:
            _kill(request["kill"])

    def _spawn(self, options: WorkerOptions) -> None:
        fork_server = os.getpid()
        pid = os.fork()
        if pid:
            self._children.add(pid)
            self._tell({"spawned": options.number, "pid": pid})
            return
        try:
            os.setpgid(0, 0)  # what its tasks start can be ended with it
            _die_with_parent(fork_server)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._head.close()
            run_after_fork()
            worker.main(options)
        except BaseException:  # the process's last word goes to the log
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(1)

    def _reap(self) -> None:
        for pid in list(self._children):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                self._children.discard(pid)
                _kill_group(pid)
                self._tell({"exited": pid, "status": _describe_status(status)})

    def _tell(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._head.sendall(json.dumps(message).encode() + b"\n")


def _describe_status(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"killed by {signal.Signals(number).name}"
    return f"exited with code {os.waitstatus_to_exitcode(status)}"


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _kill_group(pid: int) -> None:
    """End what the tasks of a worker that has ended left running."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _die_with_parent(parent: int) -> None:
    """Ask Linux to kill this process when its parent ends; elsewhere the closed socket does it, unless code hangs."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)


def redirect_output(log_path: str) -> None:
    """Let what this process prints go to the cluster's log."""
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
