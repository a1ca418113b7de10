"""The fork server: a small process, forked from the head before that has threads or sockets, that forks the workers.

It has imported what workers need, so that a new one is there in milliseconds and shares that memory. It outlives a
killed head just long enough to end the workers and remove what the cluster left behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from dataclasses import dataclass
from typing import Any

import msgspec
from glassloom_metrics.registry import remove_record

from glassloom._process_title import set_process_title
from glassloom._text import encodable
from glassloom.protocol.options import WorkerOptions
from glassloom.protocol.places import ClusterPlaces
from glassloom.worker import worker
from glassloom.worker.after_fork import run_after_fork

_PR_SET_PDEATHSIG = 1
_READ_BYTES = 2**16
_MOST_LAST_WORDS = 2000


@dataclass(frozen=True, kw_only=True)
class ForkServerOptions:
    """What a fork server is told at its start.

    Attributes
    ----------
    preload
        Modules that workers will need.
    worker_path
        Where workers look for modules. The fork server itself looks where the head does.
    """

    places: ClusterPlaces
    cluster_name: str
    log_path: str
    preload: list[str]
    worker_path: list[str]


def start(options: ForkServerOptions) -> tuple[int, socket.socket]:
    """Fork the fork server; return its pid and the socket to talk to it (JSON lines).

    Requests: ``{"spawn": {options of the worker}}``, ``{"ping": true}``. Answers: ``{"spawned": number, "pid": pid}`` or
    ``{"refused": number, "status": why}``, ``{"exited": pid, "status": how}``, ``{"pong": true}``, ``{"crashed": why}``.
    """
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid:
        theirs.close()
        return pid, ours
    try:
        ours.close()
        redirect_output(options.log_path, 1, 2)
        _detach_from_stdin()
        set_process_title(f"glassloom fork-server {options.cluster_name}", "glassloom-fork")
        _serve(theirs, options)
        options.places.remove()  # the head is gone; nothing is there if it ended properly
        remove_record(options.places.cluster_id)
    finally:
        os._exit(0)


def _serve(head: socket.socket, options: ForkServerOptions) -> None:
    """Serve until the head is gone. After an error of its own the fork server ends, and all workers; the head hears why."""
    fork_server = _ForkServer(head, options)
    try:
        fork_server.serve()
    except BaseException as error:
        with contextlib.suppress(OSError):
            traceback.print_exc()
        fork_server.tell({"crashed": f"{type(error).__name__}: {error}"})
    fork_server.end_workers()


class _ForkServer:
    def __init__(self, head: socket.socket, options: ForkServerOptions) -> None:
        self._head = head
        self._options = options
        self._children: dict[int, str] = {}
        """By pid: the file where a worker that couldn't begin says why."""
        self._lifeline, self._held = os.pipe()
        """A pipe of which only this process has the writable end: that closes when it ends."""
        self._closing_signals = _closing_a_pipe_signals()

    def serve(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for module in self._options.preload:
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

    def end_workers(self) -> None:
        """Kill all workers, with what their tasks have started.

        Each group in one step: this process may be killed between any two, and a worker that has ended before the rest of
        its group takes the lifeline with it (see `_die_with_parent`).
        """
        for pid in self._children:
            _kill_group(pid)
        for pid in self._children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)

    def _read(self) -> bytes:
        try:
            return self._head.recv(_READ_BYTES)
        except ConnectionError:
            return b""

    def _handle_command(self, request: dict[str, Any]) -> None:
        if "spawn" in request:
            self._spawn(msgspec.convert(request["spawn"], WorkerOptions))
        elif "ping" in request:
            self.tell({"pong": True})

    def _spawn(self, options: WorkerOptions) -> None:
        fork_server = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            self.tell({"refused": options.number, "status": f"no process could be made: {error.strerror or error}"})
            return
        if pid:
            with contextlib.suppress(OSError):  # it has ended already
                os.setpgid(pid, pid)  # the child does so too: now the group is there, whichever of the two is first
            self._children[pid] = _last_words_path(options)
            self.tell({"spawned": options.number, "pid": pid})
            return
        try:
            os.setpgid(0, 0)  # what its tasks start can be ended with it
            os.close(self._held)
            _die_with_parent(fork_server, self._lifeline, closing_signals=self._closing_signals)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._head.close()
            set_process_title(f"glassloom worker {options.name}", f"glassloom-w{options.number}")
            sys.path[:] = self._options.worker_path
            run_after_fork()
            with contextlib.suppress(OSError):  # the disk is full: the store tries again
                os.mkdir(options.spill_directory, 0o700)
            worker.main(options)
        except BaseException as error:  # the process's last words go to the log, and to who asked for it
            traceback.print_exc()
            _leave_last_words(_last_words_path(options), error)
        finally:
            with contextlib.suppress(OSError):  # no room for the log
                sys.stderr.flush()
            os._exit(1)  # it has run no task

    def _reap(self) -> None:
        for pid in list(self._children):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                last_words = _take_last_words(self._children.pop(pid))
                _kill_group(pid)
                self.tell({"exited": pid, "status": _describe_status(status) + last_words})

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message to the head, if it is there."""
        with contextlib.suppress(OSError):
            self._head.sendall(json.dumps(message).encode() + b"\n")


def _last_words_path(options: WorkerOptions) -> str:
    return f"{options.spill_directory}.failed"


def _leave_last_words(path: str, error: BaseException) -> None:
    text = encodable(f"{type(error).__name__}: {error}"[:_MOST_LAST_WORDS])
    with contextlib.suppress(OSError), open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _take_last_words(path: str) -> str:
    """Return why a worker couldn't begin, after a colon; "" if it did."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        os.unlink(path)
    except OSError:
        return ""
    return f": {text}"


def _describe_status(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"killed by {signal.Signals(number).name}"
    return f"exited with code {os.waitstatus_to_exitcode(status)}"


def _kill_group(pid: int) -> None:
    """End a worker, unless it has ended, and what its tasks left running. No process of the group can fork meanwhile."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _closing_a_pipe_signals() -> bool:
    """Tell whether the kernel signals the owner of a pipe's end when the other end is closed. gVisor's doesn't.

    Called before there are other threads: the signal could be theirs, and is one that is ignored.
    """
    if sys.platform != "linux":
        return False
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGURG})
    readable, writable = os.pipe()
    try:
        _own(readable, os.getpid(), signal.SIGURG)
        os.close(writable)
        return signal.sigtimedwait({signal.SIGURG}, 0) is not None
    except OSError:
        return False
    finally:
        os.close(readable)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _own(descriptor: int, owner: int, number: int) -> None:
    """Let a process, or a group if `owner` is negative, get the signal `number` when something happens at a pipe's end."""
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, number)
    fcntl.fcntl(descriptor, fcntl.F_SETOWN, owner)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)


def _die_with_parent(parent: int, lifeline: int, *, closing_signals: bool) -> None:
    """Ask Linux to kill this process's group when its parent ends; elsewhere the closed socket ends this process.

    When the other end of the lifeline, which only the parent holds, is closed, the kernel sends the signal that
    `F_SETSIG` names to the group that `F_SETOWN` names. So the programs that tasks have started die too, whatever they
    do. `PR_SET_PDEATHSIG` is for kernels that don't do that, for it ends this process alone; and it may come first if the
    parent has several threads, as NumPy's libraries make them: then nobody would be there any more to own the lifeline.
    """
    if closing_signals:
        own = os.open(f"/proc/self/fd/{lifeline}", os.O_RDONLY | os.O_NONBLOCK)  # with an owner of its own
        _own(own, -os.getpid(), signal.SIGKILL)
        with contextlib.suppress(BlockingIOError):
            os.read(own, 1)  # doesn't block if the parent has ended meanwhile
            os._exit(0)
    elif sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)
    os.close(lifeline)


def _detach_from_stdin() -> None:
    """Read nothing: what the head was given as standard input is its lifeline, and no task's business."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def redirect_output(log_path: str, *descriptors: int) -> None:
    """Let what this process prints go to the cluster's log, or nowhere if there is no room for that file."""
    try:
        log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        log = os.open(os.devnull, os.O_WRONLY)
    for descriptor in descriptors:
        os.dup2(log, descriptor)
    os.close(log)
