"""Runs graphs on a pool of this process's threads, under the same scheduler as the worker processes.

Whichever thread finishes a task drives the scheduler, under a lock and for a batch of tasks at a time: no thread is
woken only to decide. Thread-safe: several threads may compute at once and share the pool.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any

from glassloom_metrics.protocol import TaskError
from glassloom_metrics.recorder import Recorder

from glassloom import config
from glassloom._gc import gc_paused
from glassloom.backends import blas
from glassloom.backends.sharing import private_copy, read_only_view
from glassloom.backends.sizeof import sizeof
from glassloom.errors import DataLost, WorkerLost
from glassloom.graph import Graph, Key, key_text
from glassloom.local.default import refuse_held, register_runtime, run_inside_task
from glassloom.local.synchronous import SynchronousRuntime
from glassloom.local.threads_metrics import ThreadsMetrics
from glassloom.protocol import failure
from glassloom.protocol.annotations import current_annotations
from glassloom.protocol.clock import monotonic_s
from glassloom.sampling.limits import cpu_count
from glassloom.sampling.progress import note_layers, progress_counts
from glassloom.scheduler import Actions, Scheduler, TaskState
from glassloom.scheduler.state import RUNNING

_WORKER = 0
_NO_INPUTS: Mapping[Key, Any] = {}
_BATCH_S = 0.002
"""How long a thread collects results before it tells the scheduler, as long as it has other tasks to run."""


class _Computation:
    """One call of `get` or `hold`: the scheduler's client."""

    def __init__(self, n_keys: int) -> None:
        self.n_open = n_keys
        self.error: tuple[TaskState, BaseException] | None = None
        self.done = threading.Event()
        if not n_keys:
            self.done.set()


class _Finished:
    """What one thread has run since it last told the scheduler."""

    def __init__(self) -> None:
        self.start_again()

    def start_again(self) -> None:
        """Forget what has been told; the lists belong to those who were told."""
        self.tasks: list[TaskState] = []
        self.nbytes: list[int] = []
        self.starts: list[float] = []
        self.stops: list[float] = []


class ThreadsRuntime:
    """A pool of threads and its scheduler.

    Parameters
    ----------
    nthreads
        Number of threads; default the number of CPUs that this process may use, containers and batch systems
        considered (`glassloom.sampling.limits.cpu_count`).
    publish
        Whether to publish metrics, as a cluster that dashboards and the panel can find.
    """

    shares_memory = True

    def __init__(self, nthreads: int | None = None, *, publish: bool = True) -> None:
        self.nthreads = nthreads or cpu_count()
        self._lock = threading.Lock()
        self._scheduler = Scheduler(_make_error, sends_ahead=False)
        self._scheduler.worker_joined(_WORKER, "threads", self.nthreads)
        self._results: dict[int, Any] = {}
        self._queue: SimpleQueue[TaskState | None] = SimpleQueue()
        self._busy = bytearray(self.nthreads)
        self._metrics = ThreadsMetrics(self.nthreads, self._note_progress) if publish else None
        self._threads = [
            threading.Thread(target=self._work, args=(lane,), name=f"glassloom-{lane}", daemon=True)
            for lane in range(self.nthreads)
        ]
        for thread in self._threads:
            thread.start()
        blas.watch_lanes(self._n_busy, cpu_count())

    def get(self, graph: Graph, keys: Sequence[Key]) -> list[Any]:
        held = self.hold(graph, keys)
        return [private_copy(held[key]) for key in keys]

    def hold(self, graph: Graph, keys: Sequence[Key]) -> Mapping[Key, Any]:
        refuse_held(graph)
        handling = current_annotations()
        unique = list(dict.fromkeys(keys))
        computation = _Computation(len(unique))
        with gc_paused():
            positions = {key: position for position, key in enumerate(graph.tasks)}
            deps = [[positions[dep] for dep in task.deps] for task in graph.tasks.values()]
            tasks = list(graph.tasks.values())
            with self._lock:
                self._scheduler.submit(
                    computation,
                    list(graph.tasks),
                    tasks,
                    deps,
                    wanted=unique,
                    priority=handling.priority,
                    retries=handling.retries,
                    labels=graph.layer_texts(),
                )
                self._carry_out(self._scheduler.take_actions())
        try:
            computation.done.wait()
        except BaseException:
            self._release(computation, unique)
            raise
        if computation.error is not None:
            self._release(computation, unique)
            task, error = computation.error
            raise failure.harmless(failure.annotate(error, key_text(task.key), task.origin))
        with self._lock:
            values = {key: self._results[self._scheduler.tasks[key].number] for key in unique}
        self._release(computation, unique)
        return values

    def _n_busy(self) -> int:
        """Return how many lanes have something to do, or are about to."""
        return sum(self._busy) + self._queue.qsize()

    def close(self) -> None:
        """Stop the threads when they have finished what they run, and take the cluster out of the registry."""
        for _ in self._threads:
            self._queue.put(None)
        blas.forget_lanes(self._n_busy)
        if self._metrics is not None:
            self._metrics.close()

    def _release(self, computation: _Computation, keys: list[Key]) -> None:
        """Let go of results; what is still on its way to them, and for nobody else, is stopped."""
        with self._lock:
            self._scheduler.release(computation, keys)
            self._carry_out(self._scheduler.take_actions())

    def _work(self, lane: int) -> None:
        run_inside_task(SynchronousRuntime())
        finished = _Finished()
        results = self._results
        told_s = monotonic_s()
        while (task := self._take(lane, finished)) is not None:
            if task.state is not RUNNING:  # recalled while it was in the queue
                finished = self._flush(finished, lane)
                with self._lock:
                    self._scheduler.recalled(_WORKER, [task.number])
                    self._carry_out(self._scheduler.take_actions())
                continue
            if finished.tasks and task.estimate_s > _BATCH_S:
                finished = self._flush(finished, lane)  # what others wait for shall not wait for a long task
            start_s = monotonic_s()
            try:
                value = task.spec.run(
                    {dep.key: read_only_view(results[dep.number]) for dep in task.deps} if task.deps else _NO_INPUTS
                )
            except BaseException as error:  # whatever the user's code raises is the task's result
                finished = self._flush(finished, lane)  # the next task may be long in coming
                failure.explain_read_only(error)
                self._fail(task, error, lane, start_s)
                continue
            stop_s = monotonic_s()
            results[task.number] = value
            finished.tasks.append(task)
            finished.nbytes.append(sizeof(value))
            finished.starts.append(start_s)
            finished.stops.append(stop_s)
            del value
            if stop_s - told_s > _BATCH_S:
                finished = self._flush(finished, lane)
                told_s = stop_s

    def _take(self, lane: int, finished: _Finished) -> TaskState | None:
        """Return the next task as soon as there is one, or None if the pool is closed.

        A thread that has to wait first tells what it has finished: others may wait for that. Whether it has to is only
        known by trying; a queue that wasn't empty a moment ago may be empty now.
        """
        try:
            return self._queue.get_nowait()
        except Empty:
            if finished.tasks:
                self._tell(finished, lane)
                finished.start_again()
        self._busy[lane] = 0
        task = self._queue.get()
        self._busy[lane] = 1
        return task

    def _flush(self, finished: _Finished, lane: int) -> _Finished:
        """Tell the scheduler of what a thread has finished, if anything; return an empty list to go on with."""
        if finished.tasks:
            self._tell(finished, lane)
        return _Finished()

    def _tell(self, finished: _Finished, lane: int) -> None:
        tasks = finished.tasks
        durations = [stop - start for start, stop in zip(finished.starts, finished.stops, strict=True)]
        if self._metrics is not None:
            epoch_s = self._metrics.clock.epoch_s
            with self._metrics.lock:
                self._metrics.recorder.add_tasks(
                    [task.layer.number for task in tasks],
                    [task.index for task in tasks],
                    worker=_WORKER,
                    lanes=[lane] * len(tasks),
                    starts_s=[epoch_s + start for start in finished.starts],
                    stops_s=[epoch_s + stop for stop in finished.stops],
                    nbytes=finished.nbytes,
                )
        with self._lock:
            numbers = [task.number for task in tasks]
            self._scheduler.finished(_WORKER, numbers, finished.nbytes, durations, [None] * len(tasks))
            self._carry_out(self._scheduler.take_actions())

    def _fail(self, task: TaskState, error: BaseException, lane: int, start_s: float) -> None:
        frames = error.__traceback__
        if frames is not None:
            error.__traceback__ = frames.tb_next  # without the runtime's own call
        with self._lock:
            was_wanted = task.state is RUNNING
            final = self._scheduler.failed(_WORKER, task.number, (task, error))
            self._carry_out(self._scheduler.take_actions())
        if self._metrics is not None and was_wanted:
            described = failure.describe(error)
            clock = self._metrics.clock
            with self._metrics.lock:
                recorder = self._metrics.recorder
                recorder.add_task(
                    task.layer.number,
                    task.index,
                    worker=_WORKER,
                    lane=lane,
                    start_s=start_s + clock.epoch_s,
                    stop_s=clock.now_s(),
                    ok=False,
                )
                if final:
                    recorder.record(
                        TaskError(
                            clock.now_s(),
                            key_text(task.key),
                            task.layer.number,
                            _WORKER,
                            described.exception,
                            described.message,
                            described.traceback,
                            task.origin,
                        )
                    )

    def _carry_out(self, actions: Actions) -> None:
        """Do what the scheduler wants; called with the lock held."""
        for numbers in actions.drop.values():
            for number in numbers:
                self._results.pop(number, None)
        for computation, tasks in actions.finished.items():
            computation.n_open -= len(tasks)
            if not computation.n_open:
                computation.done.set()
        for computation, tasks in actions.erred.items():
            computation.error = tasks[0].error
            computation.done.set()
        for tasks in actions.run.values():
            for task in tasks:
                self._queue.put(task)

    def _note_progress(self, recorder: Recorder) -> None:
        with self._lock:
            note_layers(self._scheduler, recorder)
            progress_counts(self._scheduler, recorder)


def _make_error(kind: str, task: TaskState) -> tuple[TaskState, BaseException]:
    errors = {
        "worker-lost": WorkerLost(f"the thread that ran {task.key!r} is gone"),
        "data-lost": DataLost(f"the value of {task.key!r} is gone, and it was not computed but handed in"),
    }
    return task, errors[kind]


def default_threads() -> ThreadsRuntime:
    """Return this process's pool of as many threads as are configured, made when it is first needed."""
    return _pool_of(config.get("threads.n-threads"))


@cache
def _pool_of(nthreads: int | None) -> ThreadsRuntime:
    """Return the pool of so many threads. A pool of another size stays: something may be running on it."""
    runtime = ThreadsRuntime(nthreads, publish=config.get("threads.publish"))
    atexit.register(runtime.close)
    return runtime


register_runtime("threads", default_threads)
os.register_at_fork(after_in_child=_pool_of.cache_clear)
