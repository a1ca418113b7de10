"""`ThreadPool`: threads that run tasks, and drive one scheduler in turn. Callers post computations and wait.

Only the pool's own threads and its watchdog touch the scheduler, one at a time, under a lock that no caller takes. None
of them is the main thread, so no Ctrl-C strikes them. A thread that has finished tasks tells the scheduler of a batch
of them at a time, so that no thread is woken only to decide.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat
from queue import Empty, SimpleQueue
from typing import Any

from glassloom_metrics.recorder import Recorder
from glassloom_metrics.registry import ClusterRecord

from glassloom._gc import gc_paused
from glassloom._ownership import exit_forked_child
from glassloom._supervision import Crash, start_thread
from glassloom.backends import blas
from glassloom.backends.sharing import read_only_view
from glassloom.errors import DataLost, GraphError, ThreadPoolEnded, WorkerLost
from glassloom.graph import Key, Task
from glassloom.local.computation import Computation, TaskError
from glassloom.local.default import run_inside_task
from glassloom.local.held import TaskOfValues
from glassloom.local.slot import Finished, SliceRun, Slot
from glassloom.local.synchronous import SynchronousRuntime
from glassloom.local.task_call import explain, measure
from glassloom.local.threads_metrics import ThreadsMetrics, start_metrics
from glassloom.local.watchdog import Watchdog
from glassloom.protocol.clock import monotonic_s
from glassloom.protocol.tracebacks import is_engine_file
from glassloom.sampling.limits import cpu_count
from glassloom.sampling.progress import forget_old_layers, note_layers, progress_counts
from glassloom.sampling.stack_sampler import SampledThread, StackSampler
from glassloom.sampling.task_stacks import TaskStacks
from glassloom.scheduler import MIN_TASKS, NO_RUN, Actions, Scheduler, TaskSlice, TaskState
from glassloom.scheduler.states import RUNNING

BATCH_S = 0.002
"""How long a thread collects results before it tells the scheduler, as long as it has other tasks to run."""
N_LAYERS_KEPT = 1000
PREFETCH_S = 0.002
"""How much work a thread has queued: no message has to come before the next task, but others may have to be told of."""
_SHORTEST_S = 1e-7
_WORKER = 0
_NO_INPUTS: Mapping[Key, Any] = {}

_generation = 0
"""How many forks lead from the first process to this one."""

PIECE_S = 0.005
"""How much work a thread takes at once of a block of short tasks."""


class ThreadPool:
    """Threads and their scheduler. Its watchdog starts them, looks after them, and ends them.

    Parameters
    ----------
    nthreads
        Number of threads. A thread whose task waits for another computation is replaced meanwhile: see `Watchdog`.
    log_bytes
        How much memory the log of the pool's metrics may take; None: no metrics are published.
    profile_interval_s
        How often the metrics sample what tasks are doing; None: never.
    """

    def __init__(self, nthreads: int, *, log_bytes: int | None = None, profile_interval_s: float | None = None) -> None:
        self.nthreads = nthreads
        self.slots: list[Slot] = []
        """Changed under the lock only."""
        self.results: dict[int, Any] = {}
        self.scheduler = Scheduler(_make_error, sends_ahead=False, min_block=MIN_TASKS)
        self.computations: dict[int, Computation] = {}
        """By number: those that have begun and not ended. Who takes one out ends it."""
        self._worker = self.scheduler.worker_joined(_WORKER, "threads", nthreads, prefetch_s=PREFETCH_S)
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._mailbox: deque[Computation] = deque()
        self._queue: SimpleQueue[TaskState | TaskSlice | None] = SimpleQueue()
        """Tasks to run; None wakes a thread, so that it looks into the mailbox."""
        self._end_reason: str | None = None
        self._generation = _generation
        self._log_bytes = log_bytes
        self._profile_interval_s = profile_interval_s
        self._metrics: ThreadsMetrics | None = None
        self._has_begun = threading.Event()
        """Set once there are metrics, or it is known that there will be none."""
        self._may_start = threading.Lock()
        self._watchdog = Watchdog(self, BATCH_S)
        self._watchdog_thread: threading.Thread | None = None

    # Called by any thread, the main thread too: these may be interrupted at any place.

    @property
    def is_usable(self) -> bool:
        """Whether computations may be posted: the pool has not ended, and isn't the copy in a forked child."""
        return self._end_reason is None and not self._is_copy

    def start(self) -> None:
        """Start the pool if it hasn't been started. May be called again and again, and be interrupted."""
        if self._watchdog_thread is None:
            start_thread("glassloom-watchdog", self._run_watchdog, on_crash=self._crashed)

    def post(self, computation: Computation) -> None:
        """Ask for a computation, for whose end the caller then waits."""
        self._mailbox.append(computation)
        self._queue.put(None)
        if self._end_reason is not None:  # the pool may have ended just before, when the mailbox was empty
            self._refuse_all()

    def close(self) -> None:
        """Stop the threads as soon as they have finished what they run, and take the cluster out of the registry."""
        if not self.is_usable:
            return
        self._end("the pool of threads was closed")
        if self._watchdog_thread is not None:
            self._watchdog_thread.join(timeout=3.0)

    def cluster_record(self, timeout_s: float) -> ClusterRecord | None:
        """Return how the pool's metrics are reached, once they are published; None if they aren't."""
        if self._has_begun.wait(timeout_s) and self._metrics is not None and self._metrics.served.wait(timeout_s):
            return self._metrics.record
        return None

    def n_busy(self) -> int:
        """Return how many threads have something to do, or are about to."""
        return sum(slot.item is not None for slot in self.slots) + self._queue.qsize()

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs, waits or is about to be told."""
        if self.computations or self._mailbox or len(self.slots) > self._n_slots():
            return False
        return not any(slot.item is not None or slot.finished for slot in self.slots)

    @property
    def _is_copy(self) -> bool:
        return self._generation != _generation

    # Called by the pool's threads and its watchdog only.

    def _run_watchdog(self) -> None:
        if not self._may_start.acquire(blocking=False):
            return  # the pool has been started twice at the same time
        self._watchdog_thread = threading.current_thread()
        run_inside_task(SynchronousRuntime())  # what is let go of here may run the user's code
        if self._log_bytes is not None:
            sampler = self._make_sampler(self._profile_interval_s)
            self._metrics = start_metrics(self.nthreads, self._log_bytes, self._note_progress, self._running, sampler)
        self._has_begun.set()
        blas.watch_lanes(self.n_busy, cpu_count())
        try:
            with self._lock:
                self._start_threads()
            while self._end_reason is None:
                self._watchdog.look()
        finally:
            blas.forget_lanes(self.n_busy)
            if self._metrics is not None:
                self._metrics.close()

    def read_mailbox(self) -> None:
        """Begin the computations that were posted."""
        with self._lock:
            while (computation := self._next_message()) is not None:
                self._begin(computation)
            self._carry_out()
        if self._end_reason is not None:  # it may have ended before the computations were in the table
            self._refuse_all()

    def flush(self, slot: Slot) -> None:
        """Tell the scheduler of what a thread has finished, if anything."""
        if not slot.finished:
            return
        with self._lock:
            finished = slot.take_finished()
            if finished.numbers:
                self._tell(slot, finished)
            slot.told_s = monotonic_s()

    def _flush_own(self, slot: Slot) -> None:
        """Flush the calling thread's slot, with the CPU time that its tasks took."""
        slot.note_cpu_share()
        self.flush(slot)
        slot.begin_cpu_share()

    def release_abandoned(self) -> None:
        """Release what interrupted callers have asked for. Tasks that have begun go on; their results are dropped."""
        abandoned = [number for number, computation in list(self.computations.items()) if computation.is_abandoned]
        if abandoned:
            with self._lock:
                for number in abandoned:
                    if (computation := self.computations.pop(number, None)) is not None:
                        self.scheduler.release(number, computation.keys)
                self._carry_out()

    def share_rest(self, slot: Slot) -> None:
        """Let other threads run what a thread hasn't begun of its slice, because its task takes longer than expected."""
        item = slot.item
        if isinstance(item, SliceRun):
            rest: list[int] = []
            with suppress(IndexError):
                while True:
                    rest.append(item.todo.pop())
            if rest:
                self._queue.put(TaskSlice(item.block, rest[-1], rest[0] + 1))

    def replace_blocked(self, tasks: Sequence[int], interval_s: float) -> None:
        """Let other tasks run in place of these, which wait for something; queue all anew that hasn't begun.

        Threads that are missing for it are started.
        """
        with self._lock:
            for task in tasks:
                self.scheduler.seceded(_WORKER, task)
            self.scheduler.rebalance(interval_s)  # no more than can begin is queued while the pool is slow
            self.scheduler.recalled(_WORKER, self._queued())
            self._carry_out()
            self._start_threads()

    def has_seceded(self, task: int) -> bool:
        """Whether other tasks run in place of the one of this number already."""
        return task in self._worker.seceded

    def tidy(self) -> None:
        """Forget layers whose tasks are all forgotten, if nobody watches them; let threads go that aren't needed."""
        layers = self.scheduler.layer_table
        if self._metrics is None and len(layers.changed) > N_LAYERS_KEPT:
            with self._lock:
                layers.take_grown()
                layers.take_changed()
                forget_old_layers(self.scheduler, N_LAYERS_KEPT)
        if len(self.slots) > self._n_slots():
            self._queue.put(None)

    def _start_threads(self) -> None:
        """Start the threads that are missing; called with the lock held."""
        numbers = {slot.number for slot in self.slots}
        while len(self.slots) < self._n_slots() and self._end_reason is None:
            number = next(number for number in itertools.count() if number not in numbers)
            numbers.add(number)
            slot = Slot(number)
            self.slots.append(slot)
            slot.thread = start_thread(f"glassloom-{number}", self._work, slot, on_crash=self._crashed)

    def _n_slots(self) -> int:
        return self.nthreads + len(self._worker.seceded)

    def _work(self, slot: Slot) -> None:
        """Run tasks until the pool ends, or until the thread isn't needed any more."""
        run_inside_task(SynchronousRuntime())
        if hasattr(time, "pthread_getcpuclockid"):  # not on macOS
            slot.cpu_clock = time.pthread_getcpuclockid(threading.get_ident())
        slot.told_s = monotonic_s()
        while self._end_reason is None:
            if self._mailbox:
                self.read_mailbox()
            slot.end()
            item = self._take(slot)
            if isinstance(item, TaskSlice):
                run = SliceRun(item)
                slot.begin(run)
                self._run_slice(slot, run)
                del run
            elif item is not None:
                slot.begin(item)
                self._run(slot, item)
            elif len(self.slots) > self._n_slots() and self._has_left(slot):
                return
            item = None  # it is not held while the thread waits for the next one

    def _take(self, slot: Slot) -> TaskState | TaskSlice | None:
        """Wait for the thread's next task; there is none if it was only woken.

        A thread that has to wait first tells what it has finished: others may wait for that. Whether it has to is only
        known by trying; a queue that wasn't empty a moment ago may be empty now.
        """
        try:
            return self._queue.get_nowait()
        except Empty:
            slot.item = None
            self._flush_own(slot)
            item = self._queue.get()
            slot.begin_cpu_share()
            return item

    def _has_left(self, slot: Slot) -> bool:
        """Take the thread out of the pool if it isn't needed any more."""
        self.flush(slot)
        with self._lock:
            is_surplus = len(self.slots) > self._n_slots()
            if is_surplus:
                self.slots.remove(slot)
        return is_surplus

    def _run(self, slot: Slot, task: TaskState) -> None:
        """Run a task. Whatever the user's code raises is its result."""
        if task.state is not RUNNING:  # recalled while it was in the queue
            self._give_back(task.number)
            return
        if slot.finished and task.estimate_s > BATCH_S:
            self._flush_own(slot)  # what others wait for shall not wait for a long task
        results = self.results
        slot.started_s = start_s = monotonic_s()
        try:
            value = task.spec.run(
                {dep.key: read_only_view(results[dep.number]) for dep in task.deps} if task.deps else _NO_INPUTS
            )
        except BaseException as error:
            if self._is_copy:
                exit_forked_child(error)  # only its parent has the pool
            explain(error)
            self._fail(slot, task.number, task.key, task.origin, error, start_s)
            del task  # it has the error, and the error has this frame: they would hold each other
            return
        stop_s = monotonic_s()
        if self._generation != _generation:
            exit_forked_child(None)
        results[task.number] = value
        slot.finished += (task.number, measure(value), start_s, stop_s)
        if stop_s - slot.told_s > BATCH_S:
            self._flush_own(slot)

    def _run_slice(self, slot: Slot, run: SliceRun) -> None:
        """Run tasks of a block, as `_run` runs one. What is looked up once here takes a third of such a task's time."""
        block, todo, results, finished = run.block, run.todo, self.results, slot.finished
        states, specs, first, running, now_s = block.states, block.specs, block.first, int(RUNNING), monotonic_s
        if finished and block.layer.duration_s > BATCH_S:
            self._flush_own(slot)
        while todo and self._end_reason is None:
            try:
                run.position = position = todo.popleft()
            except IndexError:
                return  # others have taken the last ones
            if states[position] != running:  # recalled, or in the block no longer
                self._give_back(first + position)
                continue
            slot.started_s = start_s = now_s()
            try:
                value = specs[position].run(_NO_INPUTS)
            except BaseException as error:
                if self._is_copy:
                    exit_forked_child(error)
                explain(error)
                origin = block.own_origin or block.layer.origin
                self._fail(slot, first + position, block.keys[position], origin, error, start_s)
                continue
            stop_s = now_s()
            if self._generation != _generation:
                exit_forked_child(None)
            results[first + position] = value
            finished += (first + position, measure(value), start_s, stop_s)
            if stop_s - slot.told_s > BATCH_S:
                self._flush_own(slot)

    def _give_back(self, number: int) -> None:
        with self._lock:
            self.scheduler.recalled(_WORKER, [number])
            self._carry_out()

    def _fail(self, slot: Slot, number: int, key: Key, origin: str, error: BaseException, start_s: float) -> None:
        self.flush(slot)
        with self._lock:
            task = self.scheduler.by_number.get(number)
            was_wanted = task is not None and task.state is RUNNING
            attempt = {} if task is None or self._metrics is None else self._metrics.attempt_of(task, start_s)
            self.scheduler.now_s = monotonic_s()
            is_final = self.scheduler.failed(_WORKER, number, (key, origin, error))
            self._carry_out()
        if self._metrics is not None and task is not None and was_wanted:
            self._metrics.add_failure(task, attempt, error, lane=slot.number, start_s=start_s, is_final=is_final)

    # Called with the lock held.

    def _begin(self, computation: Computation) -> None:
        """Hand a computation to the scheduler."""
        if computation.is_abandoned:
            return
        number = next(self._numbers)
        self.scheduler.now_s = monotonic_s()
        self.computations[number] = computation
        if self._watchdog.is_asleep:
            self._watchdog.wake()
        annotations = computation.annotations
        run = NO_RUN if self._metrics is None else self._metrics.begin_run(computation.run_info)
        try:
            with gc_paused():
                self.scheduler.submit(
                    number,
                    list(computation.tasks),
                    list(computation.tasks.values()),
                    computation.deps,
                    wanted=computation.keys,
                    priority=annotations.priority,
                    retries=annotations.retries,
                    labels=computation.labels,
                    run=run,
                )
            if self._metrics is not None and run not in self.scheduler.layer_table.runs:
                self._metrics.end_run(run)  # others have handed in its tasks before
        except GraphError as error:
            if self.computations.pop(number, None) is not None:
                computation.refuse(error)

    def _tell(self, slot: Slot, finished: Finished) -> None:
        numbers = finished.numbers
        if self._metrics is not None:
            self._metrics.add_tasks(self.scheduler.items_of(numbers), finished, lane=slot.number)
        self.scheduler.now_s = monotonic_s()
        self.scheduler.finished(_WORKER, numbers, finished.nbytes, finished.durations_s, [None] * len(numbers))
        self._carry_out()

    def _carry_out(self) -> None:
        """Do what the scheduler wants, until it wants nothing more."""
        tell: list[Callable[[], None]] = []
        try:
            while True:
                self.scheduler.now_s = monotonic_s()
                actions = self.scheduler.take_actions()
                for numbers in actions.drop.values():
                    deque(map(self.results.pop, numbers, repeat(None)), maxlen=0)
                for tasks in actions.run.values():
                    for item in tasks:
                        for piece in self._pieces(item) if isinstance(item, TaskSlice) else (item,):
                            self._queue.put(piece)
                if not actions.finished and not actions.erred:
                    return
                tell += self._end_computations(actions)
        finally:
            for wake in tell:  # now that the scheduler has let go of what they asked for
                wake()

    def _pieces(self, item: TaskSlice) -> Iterator[TaskSlice]:
        """Cut a slice so that all threads have something to run, and none more than others might wait for."""
        share = -(-len(item) // self.nthreads)
        return item.split(max(1, min(share, int(PIECE_S / max(item.block.layer.duration_s, _SHORTEST_S)))))

    def _end_computations(self, actions: Actions) -> Iterator[Callable[[], None]]:
        """Release computations that have all their results, or failed; yield how to tell their callers."""
        for number, tasks in actions.finished.items():
            computation = self.computations.get(number)
            if computation is None:
                continue  # its caller was interrupted, or one of its tasks has failed
            computation.n_open -= sum(len(item) if isinstance(item, TaskSlice) else 1 for item in tasks)
            if not computation.n_open and self.computations.pop(number, None) is not None:
                numbers = self.scheduler.numbers_of(computation.keys)
                yield partial(computation.succeed, list(map(self.results.__getitem__, numbers)))
                self.scheduler.release(number, computation.keys)
        for number, failed in actions.erred.items():
            computation = self.computations.pop(number, None)
            if computation is not None:
                yield partial(computation.fail, failed[0].error)
                self.scheduler.release(number, computation.keys)

    def _queued(self) -> list[int]:
        """Take the tasks back that no thread has begun; return their numbers."""
        items: list[TaskState | TaskSlice | None] = []
        try:
            while True:
                items.append(self._queue.get_nowait())
        except Empty:
            pass
        for _ in range(items.count(None)):
            self._queue.put(None)
        numbers: list[int] = []
        for item in items:
            if item is not None:
                numbers += item.numbers if isinstance(item, TaskSlice) else [item.number]
        return numbers

    def _note_progress(self, recorder: Recorder, lock: threading.Lock) -> None:
        metrics = self._metrics
        with self._lock, lock:
            if metrics is not None:
                metrics.runs.note_counts(self.scheduler, metrics.clock.now_s())
            note_layers(self.scheduler, recorder)
            progress_counts(self.scheduler, recorder)
            if len(self.scheduler.layer_table) > 2 * N_LAYERS_KEPT:
                forget_old_layers(self.scheduler, N_LAYERS_KEPT)

    def _running(self, before_s: float) -> list[tuple[int, int, str, float]]:
        """Return lane, layer, index and start of the tasks that began before a time and run."""
        found = [(slot.number, slot.running_since(before_s)) for slot in list(self.slots)]
        return [(lane, *task) for lane, task in found if task is not None]

    def _make_sampler(self, interval_s: float | None) -> StackSampler | None:
        if interval_s is None:
            return None
        stacks = TaskStacks([Task.run.__code__, TaskOfValues.run.__code__], is_engine_file)
        return StackSampler(interval_s, self._sampled, lambda: bool(self.computations), stacks)

    def _sampled(self) -> list[SampledThread]:
        """Return the threads that run tasks, or have; without those that wait for others."""
        waiting = self._worker.seceded
        slots = [slot for slot in list(self.slots) if not waiting or (slot.running() or (-1,))[0] not in waiting]
        return [thread for slot in slots if (thread := slot.sampled()) is not None]

    # Called by any thread of the pool, with the lock or without.

    def _crashed(self, crash: Crash) -> None:
        """One of the pool's threads has crashed outside the user's code: end the pool, tell who waits."""
        self._end(f"the pool of threads has ended, because its thread {crash.reason}\n{crash.traceback}")

    def _end(self, reason: str) -> None:
        self._end_reason = reason
        self._watchdog.wake()
        for _ in range(len(self.slots) + 1):
            self._queue.put(None)
        self._refuse_all()

    def _refuse_all(self) -> None:
        """Tell everyone who waits that the pool has ended."""
        waiting: list[Computation | None] = [self.computations.pop(number, None) for number in list(self.computations)]
        while (computation := self._next_message()) is not None:
            waiting.append(computation)
        for computation in waiting:
            if computation is not None:
                text = f"{self._end_reason}\nThe next computation starts a new pool."
                computation.refuse(ThreadPoolEnded(text))

    def _next_message(self) -> Computation | None:
        try:
            return self._mailbox.popleft()
        except IndexError:
            return None


def _make_error(kind: str, task: TaskState) -> TaskError:
    errors = {
        "worker-lost": WorkerLost(f"the thread that ran {task.key!r} is gone"),
        "data-lost": DataLost(f"the value of {task.key!r} is gone, and it was not computed but handed in"),
    }
    return task.key, task.origin, errors[kind]


def _count_fork() -> None:
    global _generation
    _generation += 1


os.register_at_fork(after_in_child=_count_fork)
