"""A worker process: runs tasks on its threads, keeps their results, answers the head. Started by the fork server.

Threads: the main thread reads frames from the head; `nthreads` lanes run tasks, and more while tasks wait for others
(`lanes.py`); one keeps house: it flushes results that a lane had no reason to send yet, and samples the process twice a
second; one watches over memory.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import threading
from typing import Any

from glassloom_metrics.framing import FrameSplitter, frame
from glassloom_metrics.protocol import Action, Connect, encode

from glassloom.backends.sharing import read_only_view
from glassloom.backends.sizeof import sizeof
from glassloom.errors import DataLost, GlassloomError
from glassloom.local.default import run_inside_task
from glassloom.local.synchronous import SynchronousRuntime
from glassloom.protocol import failure, messages
from glassloom.protocol.calls import Call
from glassloom.protocol.clock import monotonic_s
from glassloom.protocol.messages import RunTask, framed
from glassloom.protocol.options import WorkerOptions
from glassloom.sampling.process import ProcessSampler
from glassloom.scheduler import MAX_QUEUED, Pressure
from glassloom.store.segment import SegmentWriter, read_location
from glassloom.store.store import RETRY_FULL_DISK_S, Store
from glassloom.worker.memory_monitor import MemoryMonitor
from glassloom.worker.task_context import TaskThread, set_task_thread, set_worker
from glassloom.worker.task_queue import TaskQueue
from glassloom.worker.thread_slots import ThreadSlots

_BATCH_S = 0.002
_HOUSEKEEPING_S = 0.005
_SAMPLE_S = 0.5
_WATCH_BUSY_S = 0.02
_WATCH_IDLE_S = 0.1
_READ_BYTES = 2**20
_INLINE_TYPES = frozenset([int, float, bool, complex, type(None)])
_INLINE_BYTES = 1024


_Row = tuple[int, int, float, float, int, bytes | None]
"""What `messages.Finished` says of one result."""


class _Recent:
    """Small results, pickled, that have left with their messages: for tasks that were sent before those arrived.

    The head sends a task ahead only of tasks that it takes to be unfinished, and no worker has more than `MAX_QUEUED` of
    those, so the results of twice as many are enough.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._new: dict[int, bytes] = {}
        self._old: dict[int, bytes] = {}

    def put(self, number: int, pickled: bytes) -> None:
        self._new[number] = pickled
        if len(self._new) > 2 * MAX_QUEUED:
            with self._lock:
                if len(self._new) > 2 * MAX_QUEUED:
                    self._old, self._new = self._new, {}

    def get(self, number: int) -> bytes | None:
        return self._new.get(number) or self._old.get(number)


class Worker:
    """The worker of this process."""

    def __init__(self, options: WorkerOptions) -> None:
        self._options = options
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._send_lock = threading.Lock()
        self._flush_lock = threading.Lock()
        self._outbox_lock = threading.Lock()
        self._outbox: list[_Row] = []
        """Results that are not sent yet."""
        self._last_flush_s = 0.0
        self._queue = TaskQueue()
        self._calls: dict[int, Call | bytes] = {}
        self._recent = _Recent()
        self._mapped: dict[int, Any] = {}
        self._executing = 0
        self._stopping = threading.Event()
        self._lanes = ThreadSlots(options.nthreads, self._work, self._queue.wake)
        self._store = Store(
            options.memory.bytes_at(options.memory.target),
            options.directory,
            self._note_spill,
            self._note_full_disk,
            options.spill_compression,
        )
        self._memory = MemoryMonitor(options.memory, self._store, self._note_pressure)
        self._segments = SegmentWriter(options.shm_prefix, options.directory, f"w{options.number}")

    def run(self) -> None:
        """Serve until the head says stop or is gone."""
        options = self._options
        self._socket.connect(options.socket)
        self._socket.sendall(frame(encode(Connect("worker", options.secret))))
        set_worker(options)
        self._lanes.start()
        threading.Thread(target=self._housekeeping, name="housekeeping", daemon=True).start()
        self._send(messages.WorkerReady(options.number, os.getpid(), self._memory.own_bytes))
        threading.Thread(target=self._watch_memory, name="memory", daemon=True).start()
        splitter = FrameSplitter()
        try:
            while data := self._socket.recv(_READ_BYTES):
                for payload in splitter.feed(data):
                    self._handle(messages.to_worker_decoder.decode(payload))
        except ConnectionError:
            pass  # the head is gone: so are we
        self._stopping.set()

    # The reading thread

    def _handle(self, message: messages.ToWorker) -> None:
        match message:
            case messages.Run():
                for task in message.tasks:
                    self._queue.put(task)
                if self._memory.pressure is Pressure.PAUSED:  # they were on their way when the head was told
                    self._give_back(self._queue.recall_all())
            case messages.Calls():
                self._calls.update(message.calls)
            case messages.DropCalls():
                for number in message.calls:
                    self._calls.pop(number, None)
            case messages.Drop():
                for number in message.numbers:
                    self._mapped.pop(number, None)
                    self._store.drop(number)
            case messages.Publish():
                for number in message.numbers:
                    self._publish(number, message.on_disk)
            case messages.Recall():
                self._give_back(self._queue.recall(message.numbers))
            case messages.Invoke(is_setup=True):
                self._invoke(message)  # here, so that no task which comes later begins before
                self._calls = {number: _code(call) for number, call in self._calls.items()}
            case messages.Invoke():
                threading.Thread(target=self._invoke, args=(message,), name="invoke", daemon=True).start()
            case messages.Stop():
                self._stopping.set()
                os._exit(0)  # lanes may be in the middle of a task; nothing here outlives the process

    def _publish(self, number: int, on_disk: bool) -> None:
        start_s = monotonic_s()
        try:
            value = self._store.get(number)
        except KeyError:
            return  # dropped meanwhile: nobody waits for it
        except DataLost as lost:
            self._send(messages.ResultsLost([number], str(lost)))
            return
        try:
            location = self._segments.place(value, on_disk=on_disk)
            view = None if isinstance(location, bytes) else read_location(location)  # now: the head may free it soon
            reason = ""
        except (GlassloomError, OSError) as error:
            location, view, reason = None, None, f"{type(error).__name__}: {error}"
        self._send(messages.Published(number, location, reason, start_s, monotonic_s()))
        if view is not None:
            self._store.replace(number, view)

    def _invoke(self, message: messages.Invoke) -> None:
        run_inside_task(SynchronousRuntime())
        try:
            function, args, kwargs = pickle.loads(message.call)
            result = self._segments.place(function(*args, **kwargs))
            if not isinstance(result, bytes):
                value, result = read_location(result), b""
                raise GlassloomError(f"client.run returns small values; this one has {sizeof(value)} bytes")
        except BaseException as error:  # the function is the user's
            self._send(messages.Invoked(message.request, None, failure.describe(error)))
        else:
            self._send(messages.Invoked(message.request, result, None))

    # The lanes

    def _work(self, lane: int) -> None:
        run_inside_task(SynchronousRuntime())
        thread = TaskThread(self._secede, self._rejoin)
        set_task_thread(thread)
        following: RunTask | None = None
        while not self._lanes.must_end(has_seceded=thread.has_seceded):
            task = following or self._queue.get()
            following = None
            if task is None:
                continue
            thread.number, thread.priority = task.number, task.priority
            self._executing += 1
            start_s = monotonic_s()
            try:
                call = self._calls[task.call]
                if isinstance(call, bytes):  # unpickled here, so that its errors are the task's
                    call = self._calls[task.call] = Call(call)
                    start_s = monotonic_s()  # what was imported for it says nothing about the next such task
                value = call(task.literals, self._inputs(task))
            except _InputLost as lost:
                self._executing -= not thread.has_seceded
                self._send(messages.ResultsLost([lost.number], str(lost)))
                self._give_back([task.number, *self._queue.gave_up(task)])
                continue
            except BaseException as error:  # whatever the user's code raises is the task's result
                self._executing -= not thread.has_seceded
                self._flush()
                failure.explain_read_only(error)
                described = failure.describe(_without_our_frame(error))
                waited_for_it = self._queue.gave_up(task)
                self._send(messages.Failed(task.number, lane, start_s, monotonic_s(), described))
                self._give_back(waited_for_it)
                continue
            stop_s = monotonic_s()
            self._executing -= not thread.has_seceded
            nbytes = sizeof(value)
            inline = _inline(value, nbytes)
            if inline is None:
                self._store.put(task.number, value, nbytes)
            else:
                self._recent.put(task.number, inline)
            del value
            with self._outbox_lock:
                self._outbox.append((task.number, lane, start_s, stop_s, nbytes, inline))
            following = self._queue.ended(task)
            if stop_s - self._last_flush_s > _BATCH_S or (following is None and self._queue.empty()):
                self._flush()
            if inline is None:
                self._memory.note_result(nbytes)
        if following is not None:
            self._queue.put_back(following)

    def _secede(self, thread: TaskThread) -> None:
        """The thread's task waits for others: first they shall hear what this worker has finished."""
        self._flush()
        self._lanes.secede()
        thread.has_seceded = True
        self._executing -= 1
        self._send(messages.Seceded(thread.number))

    def _rejoin(self, thread: TaskThread, waits: bool) -> None:
        self._lanes.rejoin(waits=waits)
        thread.has_seceded = False
        self._executing += 1
        self._send(messages.Rejoined(thread.number))

    def _inputs(self, task: RunTask) -> list[Any]:
        values = []
        for number, location in task.deps:
            if location is None:
                values.append(self._local(number))
            elif isinstance(location, bytes):
                values.append(read_only_view(read_location(location)))
            else:
                if number not in self._mapped:
                    self._mapped[number] = read_location(location)
                values.append(read_only_view(self._mapped[number]))
        return values

    def _local(self, number: int) -> Any:
        try:
            return read_only_view(self._store.get(number))
        except KeyError:
            inline = self._recent.get(number)
            if inline is not None:
                return read_location(inline)
            raise _InputLost(number, "it isn't in this worker's memory") from None
        except DataLost as error:
            raise _InputLost(number, str(error)) from None

    # Sending

    def _send(self, message: messages.FromWorker) -> None:
        data = framed(message)
        try:
            with self._send_lock:
                self._socket.sendall(data)
        except OSError:
            os._exit(0)  # the head is gone: so are we

    def _give_back(self, numbers: list[int]) -> None:
        if numbers:
            self._send(messages.Recalled(numbers))

    def _flush(self) -> None:
        with self._flush_lock:  # a result goes before those of the tasks that have read it
            with self._outbox_lock:
                rows, self._outbox = self._outbox, []
            self._last_flush_s = monotonic_s()
            if rows:
                numbers, lanes, starts, stops, nbytes, results = map(list, zip(*rows, strict=True))
                self._send(messages.Finished(numbers, lanes, starts, stops, nbytes, results))

    def _note_spill(self, action: Action, number: int, start_s: float, stop_s: float, nbytes: int) -> None:
        self._send(messages.StoreEvents([action], [number], [start_s], [stop_s], [nbytes]))

    def _note_full_disk(self, error: OSError) -> None:
        self._send(
            messages.WorkerLog(
                f"results can't be written to {self._options.directory}: {error.strerror or error}; they stay in memory, "
                f"and it is tried again every {RETRY_FULL_DISK_S:.0f} s. Make room there, or start the cluster with "
                "another local_directory"
            )
        )

    # Memory

    def _watch_memory(self) -> None:
        is_busy = False
        while not self._stopping.wait(_WATCH_BUSY_S if is_busy else _WATCH_IDLE_S):
            is_idle = not self._queue
            self._memory.look(is_idle=is_idle)
            is_busy = not is_idle or self._memory.pressure is not Pressure.NONE

    def _note_pressure(self, pressure: Pressure, own_bytes: int) -> None:
        self._send(messages.MemoryPressure(pressure, own_bytes))
        if pressure is Pressure.PAUSED:
            self._give_back(self._queue.recall_all())

    def _housekeeping(self) -> None:
        sampler = ProcessSampler()
        next_sample_s = 0.0
        while not self._stopping.wait(_HOUSEKEEPING_S if self._executing or self._outbox else 0.02):
            now_s = monotonic_s()
            if self._outbox and now_s - self._last_flush_s > _BATCH_S:
                self._flush()
            if now_s >= next_sample_s:
                next_sample_s = now_s + _SAMPLE_S
                self._send(
                    messages.Sample(
                        now_s,
                        sampler.cpu_percent(),
                        sampler.rss_bytes(),
                        self._store.managed_bytes,
                        self._store.spilled_bytes,
                        self._executing,
                        max(0, len(self._queue) - self._executing),
                        self._memory.own_bytes,
                        self._store.spillable_bytes,
                    )
                )


class _InputLost(Exception):
    """A task can't begin: an input that only this worker had is gone."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(reason)
        self.number = number


def _code(call: Call | bytes) -> bytes:
    """Return a call as it came: what it refers to may be another by now."""
    return call.code if isinstance(call, Call) else call


def _inline(value: Any, nbytes: int) -> bytes | None:
    """Return the pickle of a value so small that it travels with the message, else None."""
    kind = type(value)
    if kind in _INLINE_TYPES or (kind in (str, bytes) and nbytes <= _INLINE_BYTES):
        return pickle.dumps(value, 5)
    if kind.__module__ == "numpy" and nbytes <= _INLINE_BYTES and hasattr(value, "dtype") and not value.dtype.hasobject:
        return pickle.dumps(value, 5)
    return None


def _without_our_frame(error: BaseException) -> BaseException:
    """Return the exception with the runtime's own calls cut from the beginning of its traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None and trace.tb_next.tb_frame.f_code.co_filename == _CALLS_FILE:
        trace = trace.tb_next
    return error.with_traceback(trace)


_CALLS_FILE = Call.__call__.__code__.co_filename


def main(options: WorkerOptions) -> None:
    """Be a worker until the head ends; called in a process that was just forked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is the client's affair
    Worker(options).run()
    os._exit(0)
