"""A worker process: runs tasks on its threads, keeps their results, answers the head. Started by the fork server.

Threads: the main thread reads frames from the head; `TaskRunner` has the threads that run tasks; the publisher writes
results that others need; the housekeeper sends results that no task thread had a reason to send yet, and samples the
process twice a second; the memory thread keeps the process within its limit. All of them are supervised: if one raises,
the process ends, with what its tasks have started, and the head hears why.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading

from glassloom_metrics.framing import FrameSplitter, frame
from glassloom_metrics.peer import require_own
from glassloom_metrics.protocol import LEAST_RUNNING_S, Action, Connect, encode

from glassloom._supervision import Crash, start_thread
from glassloom._text import encodable
from glassloom.devices.device import Device, current_device, set_current_device
from glassloom.devices.opening import open_device
from glassloom.graph.caller_options import WITH_OPTIONS
from glassloom.graph.options_in_use import IN_USE
from glassloom.local.default import run_inside_task
from glassloom.local.synchronous import SynchronousRuntime
from glassloom.protocol import messages
from glassloom.protocol.calls import Call
from glassloom.protocol.clock import monotonic_s
from glassloom.protocol.options import WorkerOptions
from glassloom.protocol.tracebacks import is_engine_file
from glassloom.sampling.process import ProcessSampler
from glassloom.sampling.stack_sampler import StackSampler
from glassloom.sampling.task_stacks import TaskStacks
from glassloom.scheduler import Pressure
from glassloom.store.device_store import DeviceStore, Results
from glassloom.store.segment import SegmentWriter
from glassloom.store.spill_file import codec_is_available
from glassloom.store.store import RETRY_FULL_DISK_S, Store
from glassloom.store.trim import reach_arena
from glassloom.worker import plugins, user_code
from glassloom.worker.device_watch import DeviceWatch
from glassloom.worker.forked_child import on_fork
from glassloom.worker.memory_monitor import MemoryMonitor
from glassloom.worker.process_end import end_with_children
from glassloom.worker.publisher import Publisher
from glassloom.worker.sender import Outbox, Sender
from glassloom.worker.spill_log import SpillLog
from glassloom.worker.task_context import set_worker
from glassloom.worker.task_output import TaskOutput
from glassloom.worker.task_queue import TaskQueue
from glassloom.worker.task_runner import TaskRunner

_HOUSEKEEPING_S = 0.005
_HOUSEKEEPING_IDLE_S = 0.02
_SAMPLE_S = 0.5
_WATCH_BUSY_S = 0.02
_WATCH_IDLE_S = 0.1
_READ_BYTES = 2**16
"""Larger buffers come from the system and go back to it, each time: three more system calls and new pages for each read."""


class Worker:
    """The worker of this process."""

    def __init__(self, options: WorkerOptions) -> None:
        self._options = options
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sender = Sender(self._socket)
        self._output = TaskOutput()
        self._queue = TaskQueue()
        self._profiler = self._make_profiler(options.profile_interval_s)
        self._outbox = Outbox(self._sender, self._output, self._profiler)
        self._stopping = threading.Event()
        self._spill_log = SpillLog(self._log_spilling) if options.log_spilling else None
        self._store = Store(
            options.memory.bytes_at(options.memory.target),
            options.spill_directory,
            self._note_spill,
            self._note_full_disk,
            options.spill_compression,
        )
        device = current_device()
        self._on_device = None if device is None else self._device_store(device)
        self._results: Results = self._store if self._on_device is None else self._on_device
        self._memory = MemoryMonitor(options.memory, self._store, self._note_pressure)
        self._pressure = Pressure.NONE
        self._telling_pressure = threading.Lock()
        self._device_watch = (
            None if self._on_device is None else DeviceWatch(self._on_device, self._note_device_pressure)
        )
        self._runner = TaskRunner(
            options.nthreads,
            self._queue,
            self._results,
            self._memory,
            self._sender,
            self._outbox,
            self._output,
            on_crash=self._crashed,
        )
        segments = SegmentWriter(options.shm_prefix, options.directory, f"w{options.number}")
        self._publisher = Publisher(self._results, segments, self._sender)

    def _device_store(self, device: Device) -> DeviceStore:
        limit = self._options.device_memory_limit
        if limit is not None:
            device.limit_bytes = int(device.total_bytes * limit) if isinstance(limit, float) else limit
        return DeviceStore(
            device, self._store, self._note_spill, self._note_refusal, shares_device=self._options.shares_device
        )

    def _make_profiler(self, interval_s: float | None) -> StackSampler | None:
        if interval_s is None:
            return None
        stacks = TaskStacks([Call.__call__.__code__, *WITH_OPTIONS], is_engine_file)
        return StackSampler(interval_s, lambda: self._runner.sampled_threads(), lambda: bool(self._queue), stacks)

    def run(self) -> None:
        """Serve until the head says stop or is gone."""
        options = self._options
        self._socket.connect(options.socket)
        require_own(self._socket)
        self._socket.sendall(frame(encode(Connect("worker", options.secret))))
        on_fork(self._become_child)
        self._output.install()
        set_worker(options)
        IN_USE.running = self._runner.busy_threads
        try:
            self._runner.start()
            start_thread("publisher", self._publisher.run, on_crash=self._crashed)
            self._sender.send(
                messages.WorkerReady(options.number, os.getpid(), self._memory.own_bytes, self._device_report())
            )
            # From here on: the head lets nobody in whose first message is another, such as a sample.
            start_thread("housekeeping", self._housekeeping, on_crash=self._crashed)
            if self._profiler is not None:
                start_thread("profiler", self._profiler.run, on_crash=self._crashed)
            start_thread("memory", self._watch_memory, on_crash=self._crashed)
            if self._device_watch is not None:
                start_thread("device", self._device_watch.run, self._stopping, on_crash=self._crashed)
            self._read()
        except BaseException as error:  # the main thread is supervised like the others
            self._crashed(Crash("reader", error))
        self._stopping.set()

    def _become_child(self) -> None:
        """This is the child of a task that has forked: it is no worker."""
        self._output.turn_off()
        self._sender.close_in_child()

    def _crashed(self, crash: Crash) -> None:
        """End the process, and say why: in the cluster's log, and to the head if it listens."""
        try:
            reason = encodable(crash.reason)
            with contextlib.suppress(Exception):  # a closed or full log
                print(f"worker {self._options.name}: {reason}\n{crash.traceback}", file=sys.__stderr__, flush=True)
            self._sender.try_last_words(messages.WorkerCrashed(reason))
        finally:
            end_with_children()

    # The reading thread

    def _read(self) -> None:
        splitter = FrameSplitter()
        while data := self._receive():
            for payload in splitter.feed(data):
                self._handle(messages.to_worker_decoder.decode(payload))

    def _receive(self) -> bytes:
        try:
            return self._socket.recv(_READ_BYTES)
        except ConnectionError:
            return b""  # the head is gone: so are we

    def _handle(self, message: messages.ToWorker) -> None:
        match message:
            case messages.Run():
                self._queue.put_all(message.tasks)
                self._tasks_came()
            case messages.RunSlice():
                self._queue.put_slice(message)
                self._tasks_came()
            case messages.Calls():
                self._runner.calls.add(message.calls)
            case messages.DropCalls():
                self._runner.calls.drop(message.calls)
            case messages.Drop():
                for number in message.numbers:
                    self._drop(number)
            case messages.Publish():
                self._publisher.publish(message.numbers, on_disk=message.on_disk)
            case messages.Recall():
                self._runner.give_back(self._queue.recall(message.numbers))
            case messages.Invoke(is_setup=True):
                self._invoke(message)  # here, so that no task which comes later begins before
                self._runner.calls.unload()
            case messages.Invoke():
                start_thread("invoke", self._invoke, message, on_crash=self._crashed)
            case messages.Stop():
                self._stopping.set()
                plugins.tear_down_all()
                end_with_children()  # threads may be in the middle of a task; nothing here outlives the process

    def _tasks_came(self) -> None:
        if self._profiler is not None:
            self._profiler.wake()
        # They may have been on their way when the head was told that this worker takes none.
        if self._pressure is Pressure.PAUSED:
            self._runner.give_back(self._queue.recall_all())

    def _drop(self, number: int) -> None:
        self._publisher.drop(number)
        self._runner.inputs.drop(number)
        self._results.drop(number)

    def _invoke(self, message: messages.Invoke) -> None:
        run_inside_task(SynchronousRuntime())
        with IN_USE.beside_tasks():
            answer = user_code.invoke(message.call)
        self._output.end_line()
        self._outbox.flush()
        if isinstance(answer, bytes):
            self._sender.send(messages.Invoked(message.request, answer, None))
        else:
            self._sender.send(messages.Invoked(message.request, None, answer))

    # Called by the store and the memory monitor, in whichever thread uses them

    def _note_spill(self, action: Action, number: int, start_s: float, stop_s: float, nbytes: int) -> None:
        self._sender.send(messages.StoreEvents([action], [number], [start_s], [stop_s], [nbytes]))
        if self._spill_log is not None:
            self._spill_log.note(action, nbytes, stop_s - start_s)

    def _log_spilling(self, text: str) -> None:
        self._sender.send(messages.WorkerLog(text, "info"))

    def _note_refusal(self, reason: str) -> None:
        self._sender.send(
            messages.WorkerLog(f"a result can't move from the device to the host, and stays there: {reason}")
        )

    def _note_full_disk(self, error: OSError) -> None:
        self._sender.send(
            messages.WorkerLog(
                f"results can't be written to {self._options.directory}: {error.strerror or error}; they stay in memory, "
                f"and it is tried again every {RETRY_FULL_DISK_S:.0f} s. Make room there, or start the cluster with "
                "another local_directory"
            )
        )

    def _note_pressure(self, pressure: Pressure, own_bytes: int) -> None:
        """The host's memory has become short, or isn't any more."""
        of_device = Pressure.NONE if self._device_watch is None else self._device_watch.pressure
        self._tell_pressure(max(pressure, of_device), own_bytes, 0)

    def _note_device_pressure(self, pressure: Pressure, fixed_bytes: int) -> None:
        self._tell_pressure(max(pressure, self._memory.pressure), self._memory.own_bytes, fixed_bytes)

    def _tell_pressure(self, pressure: Pressure, own_bytes: int, device_bytes: int) -> None:
        with self._telling_pressure:  # of several threads that tell, the last one has to be right
            if pressure is self._pressure:
                return
            self._pressure = pressure
            self._sender.send(messages.MemoryPressure(pressure, own_bytes, device_bytes))
        if pressure is Pressure.PAUSED:
            self._runner.give_back(self._queue.recall_all())

    # The memory thread

    def _watch_memory(self) -> None:
        reach_arena()
        self._check_codec()
        is_busy = False
        while not self._stopping.wait(_WATCH_BUSY_S if is_busy else _WATCH_IDLE_S):
            has_waiting = bool(self._queue)
            self._memory.look(is_idle=not has_waiting and not self._runner.n_executing)
            self._store.compact()
            is_busy = has_waiting or self._pressure is not Pressure.NONE

    def _check_codec(self) -> None:
        codec = self._options.spill_compression
        if codec is not None and not codec_is_available(codec):
            text = f"spilled results aren't compressed: there is no pyarrow with {codec!r} in this environment"
            self._sender.send(messages.WorkerLog(text))

    # The housekeeping thread

    def _housekeeping(self) -> None:
        sampler = ProcessSampler()
        next_sample_s = 0.0
        while not self._stopping.wait(self._until_next_look_s()):
            now_s = monotonic_s()
            if (self._outbox and self._outbox.is_due(now_s)) or self._output.is_due(now_s):
                self._outbox.flush()
            if self._spill_log is not None:
                self._spill_log.flush_due()
            if now_s >= next_sample_s or not self._runner.n_executing:  # the head soon forgets what has ended
                self._send_profile()
            if now_s >= next_sample_s:
                next_sample_s = now_s + _SAMPLE_S
                if self._device_watch is not None:
                    self._device_watch.require_answer(now_s)
                self._sender.send(self._sample(sampler, now_s))

    def _send_profile(self) -> None:
        if self._profiler is not None and self._profiler.has_samples:
            self._outbox.flush()

    def _until_next_look_s(self) -> float:
        return _HOUSEKEEPING_S if self._runner.n_executing or self._outbox else _HOUSEKEEPING_IDLE_S

    def _sample(self, sampler: ProcessSampler, now_s: float) -> messages.Sample:
        n_executing, memory = self._runner.n_executing, sampler.memory()
        return messages.Sample(
            now_s,
            sampler.cpu_percent(),
            memory.resident_bytes,
            self._store.managed_bytes,
            self._store.spilled_bytes,
            n_executing,
            max(0, len(self._queue) - n_executing),
            memory.own_bytes,
            self._store.spillable_bytes,
            self._runner.running(LEAST_RUNNING_S),
            None if self._device_watch is None else self._device_watch.account,
        )

    def _device_report(self) -> messages.DeviceReport | None:
        if self._on_device is None:
            return None
        device = self._on_device.device
        identity = device.identity
        return messages.DeviceReport(
            identity.kind, identity.uuid, identity.index, identity.name, device.total_bytes, device.limit_bytes
        )


def main(options: WorkerOptions) -> None:
    """Be a worker until the head ends; called in a process that was just forked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is the client's affair
    if options.device is not None:
        set_current_device(open_device(options.device, options.device_settings))
    Worker(options).run()
    end_with_children()
