"""What each of a worker's task threads does: take a task, run it, keep or send what came of it, take the next."""

from __future__ import annotations

import math
from time import sleep, thread_time

from glassloom._supervision import OnCrash
from glassloom.graph.options_in_use import IN_USE
from glassloom.local.default import run_inside_task
from glassloom.local.synchronous import SynchronousRuntime
from glassloom.protocol import messages
from glassloom.protocol.clock import monotonic_s
from glassloom.protocol.failure import Failure
from glassloom.protocol.messages import RunTask
from glassloom.sampling.stack_sampler import SampledThread
from glassloom.store.device_store import DeviceStore, Results
from glassloom.store.trim import reach_arena
from glassloom.worker.device_tasks import DeviceTasks
from glassloom.worker.inputs import CallTable, InputLost, Inputs
from glassloom.worker.lane_results import LaneResults
from glassloom.worker.memory_monitor import MemoryMonitor
from glassloom.worker.sender import BATCH_S, Outbox, Sender
from glassloom.worker.slice_tasks import SliceTasks
from glassloom.worker.task_context import TaskThread, set_task_thread
from glassloom.worker.task_output import TaskOutput
from glassloom.worker.task_queue import TaskQueue
from glassloom.worker.thread_slots import ThreadSlots
from glassloom.worker.user_code import Outcome, Watch, run_slice, run_user_code

_LAST_TASK_S = 100e-6
"""How long a lane waits for the last task of a slice, if that seems to be short: two messages take the head longer."""


class TaskRunner:
    """Runs the tasks of a queue on the threads of a worker.

    Parameters
    ----------
    n_threads
        How many tasks run at once.
    on_crash
        Called in a task thread that raises.
    """

    def __init__(
        self,
        n_threads: int,
        queue: TaskQueue,
        store: Results,
        memory: MemoryMonitor,
        sender: Sender,
        outbox: Outbox,
        output: TaskOutput,
        *,
        on_crash: OnCrash,
    ) -> None:
        self.n_executing = 0
        """Tasks that run now and have not seceded. Changed without a lock: ``+=`` on an attribute calls nothing in which
        CPython would switch threads. A build without the global lock needs one."""
        self.calls = CallTable()
        self.inputs = Inputs(store, outbox.recent, outbox.note_read)
        self._threads: dict[int, TaskThread] = {}
        """By lane: those that run tasks, or did last."""
        self._queue = queue
        self._store = store
        self._memory = memory
        self._sender = sender
        self._outbox = outbox
        self._output = output
        self._device_tasks = DeviceTasks(store) if isinstance(store, DeviceStore) else None
        self._watch = Watch(queue.urgent, queue.readers, output.partial)
        self._slots = ThreadSlots(n_threads, self._run_tasks, queue.wake, on_crash=on_crash)

    def start(self) -> None:
        """Start the threads."""
        self._slots.start()

    def running(self, least_s: float) -> list[tuple[int, int, float]]:
        """Return number, lane and start of the tasks that have run for so long."""
        before_s = monotonic_s() - least_s
        threads = list(self._threads.items())
        found = [(thread.started_s, thread.number, lane) for lane, thread in threads]
        return [(number, lane, started_s) for started_s, number, lane in found if started_s <= before_s]

    def busy_threads(self) -> list[int]:
        """Return the identifiers of the threads that run a task now, those included whose tasks have seceded."""
        return [thread.ident for thread in list(self._threads.values()) if thread.started_s < math.inf]

    def sampled_threads(self) -> list[SampledThread]:
        """Return the threads that run tasks, or have. The time in which a task waits for others doesn't count."""
        now_s = monotonic_s()
        found = []
        for thread in list(self._threads.values()):
            busy_s, runs = thread.busy_s, thread.started_s < math.inf and not thread.has_seceded
            found.append(
                SampledThread(thread.ident, thread.number, busy_s + (now_s - thread.begun_s if runs else 0.0), runs)
            )
        return found

    def give_back(self, numbers: list[int]) -> None:
        """Tell the head of tasks that won't begin here."""
        if numbers:
            self._sender.send(messages.Recalled(numbers))

    def _run_tasks(self, slot: int) -> None:
        reach_arena()
        run_inside_task(SynchronousRuntime())
        thread = TaskThread(self._secede, self._rejoin)
        set_task_thread(thread)
        IN_USE.begin_thread()
        self._threads[slot] = thread
        lane = self._outbox.lane(slot)
        following: RunTask | None = None
        while not self._slots.must_end(has_seceded=thread.has_seceded):
            item = following or self._queue.get()
            if isinstance(item, SliceTasks):
                following = (self._run_slice if self._device_tasks is None else self._run_first)(
                    item, slot, thread, lane
                )
            else:
                following = None if item is None else self._run_task(item, slot, thread)
        if following is not None:
            self._queue.put_back(following)

    def _run_first(self, tasks: SliceTasks, slot: int, thread: TaskThread, _lane: LaneResults) -> RunTask | None:
        """Run the next task of a slice by itself: on a device a task may have to be run once more."""
        try:
            number, literals = tasks.todo.popitem()
        except KeyError:
            if self._queue.empty():
                self._outbox.flush()
            return None
        task = RunTask(number, tasks.call_of(number), literals, tasks.deps, tasks.priority, tasks.key_of(number))
        return self._run_task(task, slot, thread, tasks)

    def _run_task(
        self, task: RunTask, slot: int, thread: TaskThread, source: SliceTasks | None = None
    ) -> RunTask | None:
        """Run a task, which may be one of a slice; return one that has waited for it, to be run next."""
        thread.begun_s = thread.started_s = monotonic_s()
        thread.number, thread.priority = task.number, task.priority
        self.n_executing += 1
        run = run_user_code if self._device_tasks is None else self._device_tasks.run
        outcome = run(task, self.calls, self.inputs)
        self._end(thread, outcome.stop_s)
        self.n_executing -= not thread.has_seceded
        return self._ended(task.number, source or task, slot, outcome)

    def _run_slice(self, tasks: SliceTasks, slot: int, thread: TaskThread, lane: LaneResults) -> RunTask | None:
        """Run tasks of a slice for a while; return a task that has waited for the last of them, to be run next."""
        thread.priority = tasks.priority
        self.n_executing += 1
        begun_s, cpu_begun_s = monotonic_s(), thread_time()
        thread.begun_s = begun_s
        last = run_slice(tasks, self.calls, self.inputs, thread, lane, self._watch, begun_s + BATCH_S)
        ended_s = monotonic_s()
        self._end(thread, ended_s)
        lane.cpu_share = min(1.0, (thread_time() - cpu_begun_s) / max(ended_s - begun_s, 1e-9))
        self.n_executing -= not thread.has_seceded
        if last is None:
            if self._queue.empty():
                if tasks.left and lane.last_was_short:
                    sleep(_LAST_TASK_S)  # the lane that runs the last task sends the results of all
                self._outbox.flush()
            return None
        number, outcome = last
        if outcome is None:
            following = self._queue.ended(number, tasks)
            self._flush_if_due(ended_s, following)
            return following
        outcome.cpu_s = lane.cpu_share * (outcome.stop_s - outcome.start_s)
        return self._ended(number, tasks, slot, outcome)

    def _end(self, thread: TaskThread, now_s: float) -> None:
        thread.started_s = math.inf
        if IN_USE.is_active:  # asked for after that, as `busy_threads` is after it is set
            IN_USE.end_counted()
        thread.end(now_s)

    def _ended(self, number: int, source: RunTask | SliceTasks, slot: int, outcome: Outcome) -> RunTask | None:
        self._output.end_line()
        if outcome.lost is not None:
            self._input_lost(number, source, outcome.lost)
            return None
        if outcome.failure is not None:
            self._failed(number, source, slot, outcome, outcome.failure)
            return None
        return self._finished(number, source, slot, outcome)

    def _finished(self, number: int, source: RunTask | SliceTasks, slot: int, outcome: Outcome) -> RunTask | None:
        if outcome.inline is None:
            self._store.put(number, outcome.value, outcome.nbytes)
        else:
            self._outbox.recent.put(number, outcome.inline)
        outcome.value = None
        times = outcome.start_s, outcome.stop_s
        reading = outcome.fetch_s, outcome.deserialise_s
        self._outbox.add((number, slot, *times, outcome.nbytes, outcome.cpu_s, *reading, outcome.inline))
        if outcome.device_span is not None:
            self._outbox.device_times.add(number, outcome.start_s, outcome.device_span)
        following = self._queue.ended(number, source)
        self._flush_if_due(outcome.stop_s, following)
        if outcome.inline is None:
            self._memory.note_result(outcome.nbytes)
        return following

    def _flush_if_due(self, now_s: float, following: RunTask | None) -> None:
        """A task has ended: send what has waited for long, or all if there is nothing else to do."""
        if self._outbox.is_due(now_s) or (following is None and self._queue.empty()):
            self._outbox.flush()

    def _failed(self, number: int, source: RunTask | SliceTasks, slot: int, outcome: Outcome, failure: Failure) -> None:
        self._outbox.flush()
        waited_for_it = self._queue.gave_up(number, source)
        reading = outcome.fetch_s, outcome.deserialise_s
        times = outcome.start_s, outcome.stop_s
        self._sender.send(messages.Failed(number, slot, *times, failure, outcome.cpu_s, *reading))
        if outcome.device_span is not None:
            self._outbox.device_times.add(number, outcome.start_s, outcome.device_span)
        self.give_back(waited_for_it)

    def _input_lost(self, number: int, source: RunTask | SliceTasks, lost: InputLost) -> None:
        if lost.location is None:
            self._sender.send(messages.ResultsLost([lost.number], str(lost)))
        else:
            self._sender.send(messages.SharedResultLost(lost.number, lost.location, str(lost)))
        self.give_back([number, *self._queue.gave_up(number, source)])

    def _secede(self, thread: TaskThread) -> None:
        """The thread's task waits for others: first the head hears what this worker has finished."""
        self._outbox.flush()
        self._slots.secede()
        if self._device_tasks is not None:
            self._device_tasks.leave()
        thread.end(monotonic_s())
        thread.has_seceded = True
        self.n_executing -= 1
        self._sender.send(messages.Seceded(thread.number))

    def _rejoin(self, thread: TaskThread, waits: bool) -> None:
        self._slots.rejoin(waits=waits)
        if self._device_tasks is not None:
            self._device_tasks.come_back()
        thread.begun_s = monotonic_s()
        thread.has_seceded = False
        self.n_executing += 1
        self._sender.send(messages.Rejoined(thread.number))
