"""`CellWatcher`: follows the clusters that cells of this kernel's notebooks run on, and sends how far the cells are.

One thread, a `CellFollower`, is there from a cell's first run until nothing has run for `LINGER_S`. It reads the clusters' metrics
streams, as dashboards do: nothing is asked of a head, and the thread that computes is never waited for. It sends a cell's
message when that has changed, `MOST_PER_S` times a second at most, and that of a cell that runs again every `TELL_AGAIN_S`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

import msgspec
from glassloom_metrics.errors import MetricsError
from glassloom_metrics.protocol import NOW, Hello, Position, decode_known
from glassloom_metrics.registry import ClusterRecord
from glassloom_metrics.run_row import RunRow
from glassloom_metrics.subscriber import subscribe_frames
from glassloom_metrics.time_limit import time_limit

from glassloom._supervision import Crash, start_task, start_thread
from glassloom.graph.notebook import Cell
from glassloom.graph.run_info import n_runs_begun
from glassloom.notebook.cancelling import cancel_runs
from glassloom.notebook.cell_comm import CellComm
from glassloom.notebook.cell_progress import CellProgress, Following
from glassloom.notebook.cluster_fold import TOPICS, ClusterFold
from glassloom.protocol.clock import Clock
from glassloom.protocol.identity import asker_id

MOST_PER_S = 4
LINGER_S = 10.0
"""How long after the last run a cluster is still listened to: another cell may be next."""
MAX_CELLS = 200
"""How many cells are known, for pages that are opened later."""
TELL_AGAIN_S = 5.0
"""How often a cell that runs is told of though nothing has changed: a busy kernel answers no page that was loaded meanwhile."""
_SILENT_S = 5.0
_LOOK_S = 1.0

FindRecord = Callable[[], ClusterRecord | None]
"""Returns the record of the cluster that a run is on; it may take a moment, and is called in the follower's thread."""
Note = tuple[Cell, float, int, FindRecord]
"""A cell that is about to begin a run on a cluster, when, and how many runs the kernel has begun before."""

_log = logging.getLogger("glassloom")


class CellWatcher:
    """What a kernel knows of its cells, whichever thread follows them: see the module.

    Parameters
    ----------
    make_comm
        Makes what cells are sent with, given what is called with what front ends ask.
    """

    def __init__(self, make_comm: Callable[[Callable[[dict[str, Any]], None]], CellComm] = CellComm) -> None:
        self.clock = Clock()
        self.comm = make_comm(self._asked)
        self.executing: str | None = None
        """The cell that runs."""
        self._is_in_cell = True
        """Whether a cell runs, as IPython tells it: runs may begin afterwards, too, in threads and callbacks."""
        self.sent: dict[str, dict[str, Any]] = {}
        """The newest message of each cell. Replaced as a whole, so that all threads may read it."""
        self._lock = threading.Lock()
        self._notes: deque[Note] = deque()
        self._follower: CellFollower | None = None
        self._noted: set[tuple[str, int, Hashable]] = set()
        """What the follower knows of already: a cell may begin thousands of runs."""

    # In the thread that computes

    def note(self, cell: Cell, cluster: Hashable, find_record: FindRecord) -> None:
        """A cell is about to begin a run."""
        if self._is_in_cell:
            self.executing = cell.id
        place = cell.id, cell.execution, cluster
        if not self.comm.is_there:
            return
        with self._lock:
            if place in self._noted:
                return
            self._noted.add(place)
            self._notes.append((cell, self.clock.now_s(), n_runs_begun(), find_record))
            follower = self._follower
            if follower is None:
                self._follower = CellFollower(self)
                self._follower.start()
        if follower is not None:
            follower.call(follower.wake)

    def cell_begins(self, *_: Any) -> None:
        """IPython is about to run a cell."""
        self._is_in_cell = True

    def cell_ended(self, *_: Any) -> None:
        """IPython has run a cell to its end."""
        self._is_in_cell = False
        self.executing = None
        follower = self._follower
        if follower is not None:
            follower.call(follower.wake)

    # In the kernel's thread that handles messages

    def _asked(self, data: dict[str, Any]) -> None:
        follower = self._follower
        if data.get("ask") == "cells":
            self.comm.send(list(self.sent.values()), self.clock.now_s())
        elif data.get("ask") == "cancel" and follower is not None:
            follower.call(follower.cancel, str(data.get("cell")))

    # In the follower's thread

    def take_notes(self) -> list[Note]:
        """Return what was noted since."""
        with self._lock:
            notes = list(self._notes)
            self._notes.clear()
        return notes

    def keep(self, messages: list[dict[str, Any]]) -> None:
        """Keep the newest message of each cell for front ends that come later."""
        with self._lock:
            sent = {
                cell: message for cell, message in self.sent.items() if all(cell != new["cell"] for new in messages)
            }
            sent |= {message["cell"]: message for message in messages}
            self.sent = dict(list(sent.items())[-MAX_CELLS:])

    def let_go(self, follower: CellFollower, *, has_crashed: bool = False) -> bool:
        """Tell whether a follower may end: not while there is something to follow. If so, the next note begins another one."""
        with self._lock:
            if not has_crashed and (self._notes or self.executing is not None):
                return False
            if self._follower is follower:
                self._follower = None
                self._noted.clear()
            return True


class CellFollower:
    """Follows clusters in a thread of its own until nothing has run for a while. All of its state is that thread's.

    The next one may begin while this one is still ending: they share what `CellWatcher` guards, and nothing else.
    """

    def __init__(self, watcher: CellWatcher) -> None:
        self._watcher = watcher
        self._kernel = asker_id()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._cells: dict[str, CellProgress] = {}
        self._followings: dict[str, Following] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._heard_s: dict[str, float] = {}
        self._last_run_s = time.monotonic()

    # In any thread

    def start(self) -> None:
        """Begin to follow what was noted."""
        start_thread("glassloom-cells", self._run, on_crash=self._crashed)

    def call(self, function: Callable[..., None], *args: Any) -> None:
        """Call a method in the follower's thread; nothing happens if it hasn't begun, and so has seen nothing, or has ended."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # it has just ended, with the thread
                loop.call_soon_threadsafe(function, *args)

    # In the thread

    def wake(self) -> None:
        """Look at once."""
        self._wake.set()

    def cancel(self, cell: str) -> None:
        """Give up what a cell has started and isn't over."""
        known = self._cells.get(cell)
        if known is not None:
            cancel_runs(known.open_runs(self._followings))

    def _run(self) -> None:
        asyncio.run(self._watch())

    def _crashed(self, crash: Crash) -> None:
        """Strips stand still; computations don't care, and the next one starts another thread."""
        _log.warning("progress below cells has stopped: %s\n%s", crash.reason, crash.traceback)
        self._watcher.let_go(self, has_crashed=True)

    async def _watch(self) -> None:
        self._loop = asyncio.get_running_loop()
        try:
            while not self._may_end():
                await self._take_notes()
                self._send_changes()
                await asyncio.sleep(1 / MOST_PER_S)
                with contextlib.suppress(TimeoutError):
                    async with time_limit(_LOOK_S):
                        await self._wake.wait()
                self._wake.clear()
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _may_end(self) -> bool:
        """Whether nothing runs, and hasn't for some time; then the next note starts another thread."""
        return time.monotonic() - self._last_run_s >= LINGER_S and self._watcher.let_go(self)

    async def _take_notes(self) -> None:
        for cell, began_s, n_before, find_record in self._watcher.take_notes():
            self._last_run_s = time.monotonic()
            known = self._cells.get(cell.id)
            if known is None or known.execution != cell.execution:
                known = self._begin(CellProgress(cell.id, cell.execution, began_s, n_before=n_before))
            record = await asyncio.to_thread(find_record)
            if record is not None:
                known.clusters.add(record.id)
                self._follow(record)

    def _begin(self, cell: CellProgress) -> CellProgress:
        self._cells.pop(cell.id, None)
        for following in self._followings.values():
            following.fold.begin_cell(cell.id, cell.since(following))
        self._cells[cell.id] = cell
        while len(self._cells) > MAX_CELLS:
            del self._cells[next(iter(self._cells))]
        return cell

    def _send_changes(self) -> None:
        now_s = time.monotonic()
        for cluster, following in self._followings.items():
            following.is_silent = now_s - self._heard_s[cluster] > _SILENT_S and not following.fold.has_ended
        changed = []
        for cell in self._cells.values():
            cell.is_executing = cell.id == self._watcher.executing
            before = self._watcher.sent.get(cell.id)
            if cell.is_executing:
                self._last_run_s = now_s
            if before is not None and not self._may_have_changed(cell, before, now_s):
                continue
            message = cell.message(self._followings)
            if message is None:
                continue
            if message["outcome"] == "running":
                self._last_run_s = now_s
            has_changed = before is None or _without_time(message) != _without_time(before)
            if has_changed:
                cell.changed_s = now_s
            runs = cell.is_executing or message["outcome"] == "running"
            if has_changed or (runs and now_s - cell.told_s >= TELL_AGAIN_S):
                cell.told_s = now_s
                changed.append(message)
        if changed:
            self._watcher.keep(changed)
            self._watcher.comm.send(changed, self._watcher.clock.now_s())

    def _may_have_changed(self, cell: CellProgress, before: dict[str, Any], now_s: float) -> bool:
        """Whether it is worth while to look at a cell. One that has ended may be told more of, or begin anew."""
        return (
            before["outcome"] == "running"
            or before["execution"] != cell.execution
            or before["executing"]
            or cell.is_executing
            or now_s - cell.changed_s < LINGER_S
            or bool(cell.open_runs(self._followings))
        )

    def _cell_of(self, run: RunRow) -> str:
        return run.cell if run.kernel == self._kernel else ""

    def _follow(self, record: ClusterRecord) -> None:
        following = self._followings.get(record.id)
        if following is None or following.fold.has_ended:
            following = self._followings[record.id] = Following(record, ClusterFold(self._cell_of))
            for cell in self._cells.values():
                following.fold.begin_cell(cell.id, cell.since(following))
            self._heard_s[record.id] = time.monotonic()
            name = f"glassloom-cells-{record.name}"
            self._tasks[record.id] = start_task(name, self._read(following), on_crash=self._reading_crashed)

    async def _read(self, following: Following) -> None:
        record = following.record
        try:
            async with contextlib.aclosing(subscribe_frames(record, TOPICS, since=NOW)) as payloads:
                async for payload in payloads:
                    message = decode_known(payload)
                    self._heard_s[record.id] = time.monotonic()
                    if isinstance(message, Position):
                        following.hear(message.at_s, self._watcher.clock.now_s())
                    if message is not None and not isinstance(message, Hello):
                        following.fold.apply(message)
                        self._wake.set()
        except (OSError, MetricsError, msgspec.DecodeError) as error:
            _log.info("progress of cluster %r can't be read: %s", record.name, error)
        following.fold.has_ended = True
        self._wake.set()

    def _reading_crashed(self, crash: Crash) -> None:
        _log.warning("progress below cells is incomplete: %s\n%s", crash.reason, crash.traceback)


def _without_time(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "at": None}


_watcher: CellWatcher | None = None


def cell_began_run(cell: Cell, cluster: Hashable, find_record: FindRecord) -> None:
    """A cell of a notebook is about to begin a run: see `graph.cell_runs`. The thread that calls goes on at once."""
    global _watcher
    if _watcher is None:
        _watcher = CellWatcher()
        shell = sys.modules["IPython"].get_ipython()
        shell.events.register("pre_run_cell", _watcher.cell_begins)
        shell.events.register("post_run_cell", _watcher.cell_ended)
    _watcher.note(cell, cluster, find_record)


def _forget_in_child() -> None:
    """A forked child has no thread, and the kernel's sockets are its parent's."""
    global _watcher
    _watcher = None


os.register_at_fork(after_in_child=_forget_in_child)
