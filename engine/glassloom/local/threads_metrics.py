"""Publishes the metrics of computations that run on this process's own threads, as a cluster like any other.

A daemon thread with an event loop of its own; the pool hands it rows and is never waited for. Metrics never fail a
computation: if they can't be kept or published, they end, and a warning is logged.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from glassloom_metrics.errors import CommandRefused
from glassloom_metrics.protocol import LEAST_RUNNING_S, PROTOCOL_VERSION, Command, Hello, Life, Running, WorkerJoined
from glassloom_metrics.publisher import TOLD_APART_S, Publisher
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.registry import ClusterRecord, process_started_s, remove_record, write_record

from glassloom._supervision import Crash, start_thread
from glassloom._text import encodable
from glassloom.errors import ClusterStartError
from glassloom.graph import key_text
from glassloom.graph.run_info import RunInfo
from glassloom.local.slot import Finished
from glassloom.protocol import failure
from glassloom.protocol.clock import Clock
from glassloom.protocol.identity import kernel_id, new_cluster_id, notebook, script, version
from glassloom.protocol.places import make_places
from glassloom.sampling.host import HostSampler
from glassloom.sampling.process import ProcessSampler
from glassloom.sampling.profile_writer import ProfileWriter
from glassloom.sampling.runs import RunTable
from glassloom.sampling.stack_sampler import StackSampler
from glassloom.sampling.task_rows import add_finished, attempt_columns
from glassloom.scheduler import TaskSlice, TaskState

FLUSH_S = 0.1
SAMPLE_S = 0.5
_WORKER = 0
_log = logging.getLogger("glassloom")

BeforeFlush = Callable[[Recorder, threading.Lock], None]
"""Called in the metrics' thread before each flush, to add progress: with the recorder, and the lock to take for it."""


RunningTasks = Callable[[float], list[tuple[int, int, str, float]]]
"""Called in the metrics' thread: returns lane, layer, index and monotonic start of tasks that run and began before a time."""


def start_metrics(
    nthreads: int,
    log_bytes: int,
    before_flush: BeforeFlush,
    running: RunningTasks,
    sampler: StackSampler | None = None,
) -> ThreadsMetrics | None:
    """Return the running metrics of a pool, or None if there can be none here."""
    try:
        return ThreadsMetrics(nthreads, log_bytes, before_flush, running, sampler)
    except (ClusterStartError, OSError) as error:  # the disk or home may be full or read-only
        _log.warning("computations on threads publish no metrics: %s", error)
        return None


class ThreadsMetrics:
    """One in-process cluster: recorder, socket and registry record.

    Parameters
    ----------
    nthreads
        Size of the thread pool.
    log_bytes
        How much memory the log may take before its oldest part goes to a file.
    before_flush
        See `BeforeFlush`.
    running
        See `RunningTasks`.
    sampler
        Samples what tasks are doing: the tasks are their layers' numbers. None: nothing does.

    Raises
    ------
    ClusterStartError, OSError
        If there is no place for the cluster's socket and files.
    """

    def __init__(
        self,
        nthreads: int,
        log_bytes: int,
        before_flush: BeforeFlush,
        running: RunningTasks,
        sampler: StackSampler | None = None,
    ) -> None:
        self.clock = Clock()
        self.id = new_cluster_id()
        self.name = f"threads-{os.getpid()}"
        self._places = make_places(self.id)
        self._secret = secrets.token_hex(16)
        self.served = threading.Event()
        """Set once subscribers are let in."""
        self._before_flush = before_flush
        self._running = running
        self._told_running = False
        started_at_s = self.clock.now_s()
        self.record = self._make_record(started_at_s)
        hello = Hello(PROTOCOL_VERSION, self.id, self.name, "threads", started_at_s, engine=version())
        self.recorder = Recorder(hello, memory_bytes=log_bytes, directory=Path(self._places.directory))
        self.runs = RunTable(self.recorder)
        self.recorder.record(Life(started_at_s, "started"))
        self.recorder.record(WorkerJoined(started_at_s, _WORKER, self.name, os.getpid(), nthreads))
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._sampler = ProcessSampler()
        self._host = HostSampler()
        self._profiler = sampler
        self._profile = ProfileWriter(self.recorder, self.clock.epoch_s)
        if sampler is not None:
            start_thread("glassloom-profiler", sampler.run, on_crash=self._crashed)
        self._thread = start_thread("glassloom-metrics", self._run, on_crash=self._crashed)

    def _make_record(self, started_at_s: float) -> ClusterRecord:
        pid = os.getpid()
        return ClusterRecord(
            id=self.id,
            name=self.name,
            kind="threads",
            pid=pid,
            pid_started_s=process_started_s(pid),
            socket=self._places.socket,
            secret=self._secret,
            started_at_s=started_at_s,
            directory=self._places.directory,
            shm_prefix="",
            started_by="notebook" if kernel_id() else "script",
            kernel_id=kernel_id(),
            version=version(),
            notebook=notebook(),
            script=script(),
        )

    def begin_run(self, info: RunInfo) -> int:
        """A computation begins; return the number of its run."""
        if self._profiler is not None:
            self._profiler.wake()
        with self._lock:
            return self.runs.begin(info, self.clock.now_s())

    def end_run(self, number: int) -> None:
        """A computation has no tasks of its own."""
        with self._lock:
            self.runs.end(number, "finished", self.clock.now_s())

    def close(self) -> None:
        """End the cluster: subscribers get the rest, files and record go."""
        if self._profiler is not None:
            self._profiler.end()
        self._stop.set()
        self._thread.join(timeout=3.0)

    def add_tasks(
        self,
        items: Iterable[TaskState | TaskSlice | None],
        finished: Finished,
        *,
        lane: int,
    ) -> None:
        """Add tasks that a thread has finished.

        Parameters
        ----------
        items
            The tasks, as `Scheduler.items_of` gives them: slices of blocks as one, None for those that nobody wants any more.
        finished
            How they ran.
        """
        with self._lock:
            add_finished(
                self.recorder,
                items,
                finished.starts_s,
                epoch_s=self.clock.epoch_s,
                worker=_WORKER,
                lane=lane,
                duration_s=finished.durations_s,
                nbytes=finished.nbytes,
                cpu_s=finished.cpu_s,
                fetch_s=0.0,
                deserialise_s=0.0,
            )

    def attempt_of(self, task: TaskState, start_s: float) -> dict[str, float]:
        """Return what is to be told of a task that has raised, before the scheduler lets it run again."""
        return attempt_columns(task, start_s, self.recorder.rows)

    def add_failure(
        self,
        task: TaskState,
        attempt: dict[str, float],
        error: BaseException,
        *,
        lane: int,
        start_s: float,
        is_final: bool,
    ) -> None:
        """Add a task that has raised; it began at `start_s` by the monotonic clock. Never raises."""
        now_s = self.clock.now_s()
        layer = task.layer.number
        try:
            described = failure.describe(error)
            with self._lock:
                self.recorder.add_task(
                    task.index,
                    worker=_WORKER,
                    lane=lane,
                    start_s=start_s + self.clock.epoch_s,
                    stop_s=now_s,
                    ok=False,
                    **attempt,
                )
                if is_final:
                    self.recorder.add_error(
                        now_s,
                        layer=layer,
                        exception=described.exception,
                        message=described.message,
                        traceback=described.traceback,
                        worker=_WORKER,
                        origin=encodable(task.origin),
                        key=encodable(key_text(task.key)),
                    )
        except BaseException as problem:  # describing runs the user's code, and the recorder may write to a full disk
            _log.warning("the failure of task %r could not be published: %r", task.key, problem)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            remove_record(self.id)
            self._places.remove()

    def _crashed(self, crash: Crash) -> None:
        _log.warning("computations on threads publish no more metrics: %s", crash.reason)

    async def _serve(self) -> None:
        publisher = Publisher(self.recorder, self._secret, _refuse, self.clock.now_s)
        await publisher.serve(self._places.socket)
        write_record(self.record)
        self.served.set()
        next_sample_s = 0.0
        while not self._stop.is_set():
            await asyncio.sleep(FLUSH_S)
            self._flush(publisher, sample=self.clock.now_s() >= next_sample_s)
            if self.clock.now_s() >= next_sample_s:
                next_sample_s = self.clock.now_s() + SAMPLE_S
        self._flush(publisher, sample=True)
        self.recorder.record(Life(self.clock.now_s(), "closing"))
        await publisher.close()

    def _flush(self, publisher: Publisher, *, sample: bool) -> None:
        self._before_flush(self.recorder, self._lock)
        with self._lock:
            if sample:
                now_s = self.clock.now_s()
                self.recorder.record(self._sampler.sample(_WORKER, now_s))
                if (host := self._host.sample(now_s)) is not None:
                    self.recorder.record(host)
                self._note_running(now_s)
            self._note_profile(at_once=self._stop.is_set())
            self.recorder.flush(self.clock.now_s())
        publisher.notify(apart_s=TOLD_APART_S)

    def _note_profile(self, *, at_once: bool) -> None:
        taken = None if self._profiler is None or not self._profiler.has_samples else self._profiler.take()
        if taken is not None:
            self._profile.add(_WORKER, taken, taken.tasks)
        self._profile.flush(self.clock.now_s(), at_once=at_once)

    def _note_running(self, now_s: float) -> None:
        epoch_s = self.clock.epoch_s
        rows = self._running(now_s - epoch_s - LEAST_RUNNING_S)
        if rows or self._told_running:
            lanes, layers, indices, started_s = zip(*rows, strict=True) if rows else ((),) * 4
            begun_s = [epoch_s + each for each in started_s]
            workers = [_WORKER] * len(rows)
            self.recorder.record(Running(now_s, workers, list(lanes), list(layers), list(indices), begun_s))
        self._told_running = bool(rows)


async def _refuse(command: Command) -> str:
    """The user's own process is not shut down from outside."""
    raise CommandRefused(f"a pool of threads ends with its process, and can't be asked for {command.name!r}")
