"""`progress`: how far computations are, for terminals, notebooks and logs."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any, Self, TextIO

import msgspec
from glassloom_metrics.errors import MetricsError
from glassloom_metrics.protocol import NOW, Hello, Position, decode_known
from glassloom_metrics.registry import ClusterRecord
from glassloom_metrics.run_row import RunRow
from glassloom_metrics.subscriber import subscribe_frames
from glassloom_metrics.time_limit import time_limit

from glassloom._supervision import Crash, start_thread
from glassloom.client.future import Future, futures_of, wait
from glassloom.errors import OptionError
from glassloom.graph import key_layer, layer_name
from glassloom.graph.run_info import n_runs_begun
from glassloom.notebook.cell_progress import CellProgress, Following, Rate
from glassloom.notebook.cluster_fold import TOPICS, ClusterFold, Since
from glassloom.notebook.progress_display import Display, choose_display
from glassloom.protocol.clock import Clock
from glassloom.protocol.identity import asker_id
from glassloom.recordings.recording import current_record

EVERY_S = 0.25
SETTLE_S = 0.5
"""How long after a block what its last tasks did may take to be told."""
_BLOCK = "the block"


def progress(work: Any = None, *, file: TextIO | None = None, everyone: bool = False) -> Any:
    """Show how far computations are: a bar for each operation in a terminal or notebook, a line now and then in a log.

    In a terminal the bars are its last lines; what is printed to `sys.stdout` and `sys.stderr` meanwhile stands above them.

    Parameters
    ----------
    work
        Futures, or collections that were persisted with a client: it returns when they are done, whatever came of them.
        None: returns a context manager, which shows what its block computes.
    file
        Where to write; default: stderr, or in a notebook the cell's output.
    everyone
        For a block: also show what other processes compute on the cluster meanwhile. By default it shows what this process does.

    Raises
    ------
    TypeError
        If `work` is something else.
    OptionError
        If nothing is told of what the block computes, as it runs in the calling thread or isn't published.

    Examples
    --------
    >>> import glassloom as gl, io
    >>> log = io.StringIO()
    >>> with gl.Client(n_workers=1, threads_per_worker=1) as client:
    ...     gl.progress(client.map(abs, [-1, -2]), file=log)
    ...     with gl.progress(file=log):
    ...         gl.delayed(sum)([1, 2]).compute()
    3
    >>> [line.partition(" · ")[2].partition(" · ")[0] for line in log.getvalue().splitlines() if "done" in line]
    ['2 of 2 tasks', '1 of 1 tasks']
    """
    if work is None:
        return ProgressBlock(choose_display(file), everyone=everyone)
    show_futures(futures_of(work), choose_display(file))
    return None


def show_futures(futures: Sequence[Future], display: Display) -> None:
    """Show how far futures are until all are done. It asks nobody: the client hears of each as it is done."""
    clock = Clock()
    started_s = clock.now_s()
    rates: dict[str, Rate] = {}
    with contextlib.closing(display):
        while True:
            message = _futures_message(futures, rates, started_s, clock.now_s())
            is_last = message["outcome"] != "running"
            display.show(message, monotonic(), is_last=is_last)
            if is_last:
                return
            with contextlib.suppress(TimeoutError):
                wait([future for future in futures if not future.done()], timeout=EVERY_S)


def _futures_message(
    futures: Sequence[Future], rates: dict[str, Rate], started_s: float, now_s: float
) -> dict[str, Any]:
    layers: dict[str, Counter[str]] = {}
    for future in futures:
        layers.setdefault(layer_name(key_layer(future.key)), Counter())[future.status] += 1
    every: Counter[str] = sum(layers.values(), Counter())
    words = {"pending": "running", "error": "failed", "lost": "lost", "cancelled": "cancelled"}
    outcome = next((word for status, word in words.items() if every[status]), "finished")
    rows = [{"name": name, **_counts(name, counts, rates, started_s, now_s)} for name, counts in layers.items()]
    return {
        "outcome": outcome,
        "started_at": started_s,
        "ended_at": now_s,
        "at": now_s,
        "tasks": _counts("", every, rates, started_s, now_s),
        "layers": rows[:12],
        "n_layers": len(rows),
        "clusters": [],
        "peak_bytes": 0,
        "peak_spilled_bytes": 0,
    }


def _counts(name: str, counts: Counter[str], rates: dict[str, Rate], started_s: float, now_s: float) -> dict[str, Any]:
    total = counts.total()
    done = total - counts["pending"]
    rate = rates.setdefault(name, Rate(started_s))
    rate.add(now_s, done)
    per_second = rate.per_second()
    return {
        "total": total,
        "done": done,
        "running": 0,
        "failed": counts["error"],
        "rate": per_second,
        "eta_s": (total - done) / per_second if per_second and done < total else None,
    }


class ProgressBlock:
    """Shows what a ``with`` block computes, from a thread of its own. What it runs is never waited for but at the end.

    The thread may begin late, or be late to end, as when the machine is busy: it ends all the same, and shows nothing more.
    """

    def __init__(self, display: Display, *, everyone: bool = False) -> None:
        self._display = display
        self._everyone = everyone
        self._clock = Clock()
        self._asker = asker_id()
        self._ended = threading.Event()
        self._ready = threading.Event()
        self._lock = threading.Lock()
        self._wake: Callable[[], object] | None = None
        self._is_over = False
        self._is_given_up = False
        self._n_begun = 0
        self._known: set[int] = set()
        """The runs of this process that began in the block."""

    def __enter__(self) -> Self:
        try:
            record = current_record()
        except OptionError as error:
            raise OptionError(f"progress() has nothing to show: {error}") from error
        self._began_s, self._n_before = self._clock.now_s(), n_runs_begun()
        self._following = Following(record, ClusterFold(self._cell_of))
        self._following.fold.begin_cell(_BLOCK, Since(self._began_s))
        self._progress = CellProgress(_BLOCK, 0, self._began_s, clusters={record.id})
        start_thread("glassloom-progress", self._run, record, on_crash=self._crashed)
        self._ready.wait(SETTLE_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._n_begun = n_runs_begun() - self._n_before
        with self._lock:
            self._is_over = True
            wake = self._wake
        if wake is not None:  # else the thread finds that it is over as it begins
            with contextlib.suppress(RuntimeError):  # it has ended: the cluster has
                wake()
        self._is_given_up = not self._ended.wait(4 * SETTLE_S)
        self._display.close()

    def _cell_of(self, run: RunRow) -> str:
        if run.kernel != self._asker:
            return _BLOCK if self._everyone else ""
        if 0 < run.ordinal <= self._n_before:
            return ""
        self._known.add(run.id)
        return _BLOCK

    def _knows_all_runs(self) -> bool:
        """Whether all that was begun in the block is told of. What was begun on other clusters isn't told of here."""
        return len(self._known) >= self._n_begun

    def _run(self, record: ClusterRecord) -> None:
        try:
            asyncio.run(self._watch(record))
        finally:
            self._ready.set()
            self._ended.set()

    def _crashed(self, crash: Crash) -> None:
        """Nothing more is shown; the block goes on."""
        self._display.close()

    async def _watch(self, record: ClusterRecord) -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        with self._lock:
            self._wake = partial(loop.call_soon_threadsafe, stop.set)
            if self._is_over:
                stop.set()
        reading = asyncio.create_task(self._read(record))
        self._ready.set()
        stopped_s: float | None = None
        while True:
            message = self._progress.message({record.id: self._following})
            is_over = message is not None and message["outcome"] != "running"
            now_s = monotonic()
            if stop.is_set():
                stopped_s = now_s if stopped_s is None else stopped_s
            is_last = stopped_s is not None and (
                (self._knows_all_runs() and (is_over or not self._n_begun)) or now_s - stopped_s > SETTLE_S
            )
            if message is not None and not self._is_given_up:
                self._display.show(message, now_s, is_last=is_last)
            if is_last or self._is_given_up:
                break
            with contextlib.suppress(TimeoutError):
                async with time_limit(EVERY_S if stopped_s is None else EVERY_S / 5):
                    await (stop.wait() if stopped_s is None else asyncio.Event().wait())
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)

    async def _read(self, record: ClusterRecord) -> None:
        try:
            async with contextlib.aclosing(subscribe_frames(record, TOPICS, since=NOW)) as payloads:
                async for payload in payloads:
                    message = decode_known(payload)
                    if isinstance(message, Position):
                        self._following.hear(message.at_s, self._clock.now_s())
                    if message is not None and not isinstance(message, Hello):
                        self._following.fold.apply(message)
        except (OSError, MetricsError, msgspec.DecodeError):
            pass  # it has ended, as is shown
        self._following.fold.has_ended = True
