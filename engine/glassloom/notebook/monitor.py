"""`monitor`: a small dashboard of a cluster as an output of a notebook, over the kernel's own connection.

It needs no port, no server extension and no script, so that it works where notebooks are run without JupyterLab's panel, as in
VS Code, in Colab, or on a kernel elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import weakref
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Any

import msgspec
from glassloom_metrics.errors import MetricsError
from glassloom_metrics.protocol import NOW, Hello, Position, decode_known
from glassloom_metrics.registry import ClusterRecord
from glassloom_metrics.subscriber import subscribe_frames

from glassloom._supervision import Crash, start_thread
from glassloom.client.base import ClientBase
from glassloom.notebook.monitor_display import facts_of, monitor_html, monitor_text
from glassloom.notebook.monitor_fold import TOPICS, MonitorFold
from glassloom.recordings.recording import current_record
from glassloom.reprs.live_card import LiveCard

EVERY_S = 1.0
_READY_S = 1.0
"""How long the first display waits for the cluster's first words."""
_SILENT_S = 5.0

_log = logging.getLogger("glassloom")

_monitors: weakref.WeakValueDictionary[str, Monitor] = weakref.WeakValueDictionary()
"""Those that follow a cluster, by its id."""


def monitor(cluster: Any = None) -> Monitor:
    """Return a small dashboard of a cluster, which a notebook shows and keeps current.

    It shows the workers with their CPU and memory, how far computations are, rates and failures. In a notebook the output is
    replaced about once a second while something changes, until the cluster has ended or the monitor is closed. Of several outputs
    of one cluster the newest is kept current. Elsewhere its ``repr`` says how the cluster is at the moment.

    Parameters
    ----------
    cluster
        A `Client` or a `LocalCluster`; default: what collections compute on.

    Raises
    ------
    OptionError
        If there is no cluster, or it tells nothing.
    TypeError
        If `cluster` is something else.

    Examples
    --------
    >>> import glassloom as gl
    >>> with gl.Client(n_workers=1, threads_per_worker=2, name="small") as client:
    ...     print(str(gl.monitor(client)).splitlines()[0])
    Cluster 'small', running: 1 worker, 2 threads
    """
    record = _record_of(cluster)
    known = _monitors.get(record.id)
    if known is None or known.status != "running":
        known = _monitors[record.id] = Monitor(record)
    return known


def _record_of(cluster: Any) -> ClusterRecord:
    if cluster is None:
        return current_record()
    if isinstance(cluster, ClientBase):
        return cluster._published_record()
    record = getattr(cluster, "record", None)
    if isinstance(record, ClusterRecord):
        return record
    raise TypeError(f"monitor() takes a Client or a LocalCluster, not {type(cluster).__name__!r}")


class Monitor:
    """A small dashboard of a cluster: see `monitor`. Thread-safe.

    It follows the cluster's stream in a thread of its own.
    """

    def __init__(self, record: ClusterRecord) -> None:
        self._record = record
        self._fold = MonitorFold(record.name)
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._heard_s = monotonic()
        self._has_ended = False
        self._is_closed = False
        self._cancel: Callable[[], object] | None = None
        self._card = LiveCard(self._facts, self._bundle, next_look_s=self._next_look_s, max_shown=1)
        start_thread("glassloom-monitor", self._run, on_crash=self._crashed)

    @property
    def status(self) -> str:
        """``"running"``, ``"not answering"``, ``"ended"`` (the cluster) or ``"closed"`` (the monitor)."""
        if self._is_closed:
            return "closed"
        if self._has_ended:
            return "ended"
        return "not answering" if monotonic() - self._heard_s > _SILENT_S else "running"

    def close(self) -> None:
        """Follow the cluster no more. The output stays as it is."""
        with self._lock:
            self._is_closed = True
            cancel = self._cancel
        if cancel is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: the cluster has ended
                cancel()
        self._card.refresh()

    def __repr__(self) -> str:
        self._ready.wait(_READY_S)
        with self._lock:
            view = self._fold.view()
        return monitor_text(view, self.status)

    def _repr_html_(self) -> str:
        self._ready.wait(_READY_S)
        with self._lock:
            view = self._fold.view()
        return monitor_html(view, self.status)

    def _ipython_display_(self) -> None:
        self._card.show()

    def _facts(self) -> Hashable:
        with self._lock:
            view = self._fold.view()
        return self.status, facts_of(view)

    def _bundle(self) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _next_look_s(self) -> float | None:
        return None if self.status in ("closed", "ended") else EVERY_S

    def _run(self) -> None:
        asyncio.run(self._read())

    async def _read(self) -> None:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        with self._lock:
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
            if self._is_closed:
                return
        try:
            async with contextlib.aclosing(subscribe_frames(self._record, TOPICS, since=NOW)) as payloads:
                async for payload in payloads:
                    self._take(payload)
        except asyncio.CancelledError:
            return  # `close` has been called
        except (OSError, MetricsError, msgspec.DecodeError):
            pass  # it has ended, as is shown
        self._end()

    def _take(self, payload: bytes) -> None:
        message = decode_known(payload)
        self._heard_s = monotonic()
        if message is not None and not isinstance(message, Hello):
            with self._lock:
                self._fold.apply(message)
        if isinstance(message, Position):
            self._ready.set()

    def _end(self) -> None:
        self._has_ended = True
        self._ready.set()
        self._card.refresh()

    def _crashed(self, crash: Crash) -> None:
        """The output says that the cluster has ended: nothing more is known of it."""
        _log.warning("the monitor of %r has stopped: %s\n%s", self._record.name, crash.reason, crash.traceback)
        self._end()


os.register_at_fork(after_in_child=_monitors.clear)
