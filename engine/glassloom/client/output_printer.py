"""`OutputPrinter`: prints in the client's process what tasks have printed, each line once and with its worker's name.

All clients that a process has on a cluster share its printer, and each hands it all that it is sent. So any of them may
close, and each finds what its tasks have printed to be there before their results.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections import deque
from collections.abc import Iterable

from glassloom import config
from glassloom._supervision import Crash, start_thread
from glassloom.protocol import messages
from glassloom.worker.task_context import current_worker

MAX_WAITING = 10_000
"""How many lines may wait to be printed, where printing is slow; the oldest are left out."""
CLOSE_TIMEOUT_S = 2.0
SHOW_TIMEOUT_S = 0.1
"""How long messages that came later wait for lines to be printed, so that these are there before a cell ends."""
_STREAMS = {"stdout": "stdout"}


class OutputPrinter:
    """Prints in a thread of its own, which is there as long as there is something to print: a terminal may be stopped.

    Thread-safe.

    In a notebook, lines appear below the cell that runs, or ran last.
    """

    def __init__(self) -> None:
        self._lines: deque[tuple[str, str]] = deque(maxlen=MAX_WAITING)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_idle = threading.Event()
        self._is_idle.set()
        self._is_slow = False
        self._last_number = -1

    def show(self, output: messages.ClientOutput) -> None:
        """Print these lines, if no client has handed them in before.

        Called in a connection's reading thread, which waits a moment unless printing is slow.
        """
        with self._lock:
            if output.number > self._last_number:
                self._last_number = output.number
                self._add(output)
        if not self._is_slow:
            self._is_slow = not self._is_idle.wait(SHOW_TIMEOUT_S)

    def _add(self, output: messages.ClientOutput) -> None:
        lines = [
            (_STREAMS.get(stream, "stderr"), f"({output.worker}) {text}\n")
            for stream, text in zip(output.streams, output.texts, strict=True)
        ]
        if lines:
            self._is_idle.clear()
            self._lines.extend(lines)
            if self._thread is None:
                self._thread = start_thread("glassloom-output", self._print_all, on_crash=self._on_crash)

    def close(self) -> None:
        """Wait a moment until all is printed."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(CLOSE_TIMEOUT_S)

    def _print_all(self) -> None:
        while True:
            with self._lock:
                if not self._lines:
                    self._thread = None
                    self._is_slow = False
                    self._is_idle.set()
                    return
                name, text = self._lines.popleft()
                while self._lines and self._lines[0][0] == name and len(text) < 64 * 1024:
                    text += self._lines.popleft()[1]
            _print(name, text)

    def _on_crash(self, crash: Crash) -> None:
        """Go on with the next output: what ended the thread was raised by what stands for `sys.stdout`."""
        with self._lock:
            self._thread = None
            self._is_idle.set()


class _ProcessPrinters:
    """The printers of this process, by cluster, and which clusters' output another process prints in its place."""

    def __init__(self, elsewhere: Iterable[str] = ()) -> None:
        self.lock = threading.Lock()
        self.by_cluster: weakref.WeakValueDictionary[str, OutputPrinter] = weakref.WeakValueDictionary()
        self.elsewhere = frozenset(elsewhere)


_process_printers = _ProcessPrinters()


def printer_of(cluster_id: str) -> OutputPrinter:
    """Return this process's printer for a cluster; there is one as long as something refers to it."""
    with _process_printers.lock:
        printer = _process_printers.by_cluster.get(cluster_id)
        if printer is None:
            printer = _process_printers.by_cluster[cluster_id] = OutputPrinter()
        return printer


def is_printed_by_parent(cluster_id: str) -> bool:
    """Whether this is a forked child, and a process that it comes from printed the cluster's output when it forked."""
    return cluster_id in _process_printers.elsewhere


def leave_to_parent(cluster_ids: Iterable[str]) -> None:
    """This is a forked child, whose parent prints the output of these clusters: its printers and locks are copies."""
    global _process_printers
    _process_printers = _ProcessPrinters(_process_printers.elsewhere.union(cluster_ids))


def _print(name: str, text: str) -> None:
    """Print to what `sys.stdout` or `sys.stderr` is now."""
    stream = getattr(sys, name)
    with contextlib.suppress(Exception):  # it may be the user's, closed, or a broken pipe
        try:
            stream.write(text)
        except UnicodeEncodeError:
            stream.write(text.encode("ascii", "backslashreplace").decode())
        stream.flush()


def prints_output_of(cluster_id: str) -> bool:
    """Whether this process prints what tasks print. A task's own client doesn't: the worker would capture it again."""
    return (
        current_worker() is None
        and not is_printed_by_parent(cluster_id)
        and bool(config.get("cluster.print-task-output"))
    )
