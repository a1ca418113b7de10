"""The head process: owns the scheduler, the recorder and the workers, and serves clients and subscribers.

One event loop on one thread; every decision is the scheduler's. The head never unpickles user data and never runs user
code, so nothing that a user does in a kernel or a task can stall it. Run as ``python -m glassloom.runtime.head OPTIONS``
with the options as JSON; prints one line of JSON when the cluster is ready, or why it isn't.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import secrets
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from glassloom_metrics.framing import FrameSplitter
from glassloom_metrics.protocol import (
    PROTOCOL_VERSION,
    Action,
    Connect,
    Hello,
    Life,
    Log,
    TaskError,
    WorkerJoined,
    WorkerLeft,
    WorkerSamples,
    decode_request,
)
from glassloom_metrics.publisher import Publisher, read_frame, refusal
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.registry import (
    SHARED_MEMORY_DIR,
    ClusterRecord,
    process_started_s,
    remove_files,
    remove_record,
    write_record,
)

from glassloom.errors import DataLost, GraphError, SerialisationError, WorkerLost
from glassloom.graph.keys import Key, key_text
from glassloom.runtime import failure, forkserver, messages
from glassloom.runtime.clock import Clock
from glassloom.runtime.failure import Failure
from glassloom.runtime.identity import cluster_directory, new_cluster_id, shm_prefix, version
from glassloom.runtime.messages import RunTask, framed
from glassloom.runtime.nursery import Nursery
from glassloom.runtime.options import HeadOptions, WorkerOptions
from glassloom.runtime.progress import note_layers, progress_counts
from glassloom.sampling.nvml import NvmlSampler
from glassloom.scheduler import Actions, Adaptive, Scheduler, State, TaskState, WorkerState
from glassloom.store.segment import Location, Segment, free_location, location_bytes
from glassloom.units import format_bytes

FLUSH_S = 0.1
SAMPLE_S = 0.5
GPU_SAMPLE_S = 1.0
TERMINATE_FRACTION = 0.95
"""Share of its memory limit at which a worker is ended and replaced."""
MAX_FAILED_STARTS = 5
LOG_NAME = "cluster.log"
_HEAD = object()
"""The head as the scheduler's client: it wants what was fired and forgotten, until it is done."""
_READ_BYTES = 2**20
_CONNECT_TIMEOUT_S = 10.0


@dataclass(eq=False)
class _WorkerConnection:
    """A worker process as the head sees it."""

    options: WorkerOptions
    writer: asyncio.StreamWriter
    pid: int
    state: WorkerState
    known_calls: set[int] = field(default_factory=set)
    sample: messages.Sample | None = None
    shared_bytes: int = 0
    ending: str = ""
    """Why it is being ended, if it is."""
    expected: bool = False
    """Whether its end is no accident."""


@dataclass(eq=False)
class _ClientConnection:
    """A client as the head sees it; also the scheduler's name for it."""

    number: int
    writer: asyncio.StreamWriter


@dataclass
class _Locating:
    """A client's question that is still missing some answers."""

    client: _ClientConnection
    request: int
    keys: list[Any]
    answers: list[Any]
    n_open: int


@dataclass
class _Invocation:
    """A function that is being called on workers for a client."""

    client: _ClientConnection
    request: int
    workers: list[int]
    names: list[str]
    results: dict[int, bytes | Failure] = field(default_factory=dict)


class Head:
    """The head of one cluster; made and run by `main`."""

    def __init__(self, options: HeadOptions, cluster_id: str, directory: str) -> None:
        self._options = options
        self._id = cluster_id
        self._directory = directory
        self._prefix = shm_prefix(cluster_id)
        self._secret = secrets.token_hex(16)
        self._socket = os.path.join(directory, "head.sock")
        self._clock = Clock()
        hello = Hello(PROTOCOL_VERSION, cluster_id, options.name, "processes", self._clock.now_s())
        self._recorder = Recorder(hello, spool_path=Path(directory) / "spool.glr")
        self._scheduler = Scheduler(_make_error)
        self._publisher = Publisher(self._recorder, self._secret, self._obey)
        self._ended = asyncio.Event()
        self._end_reason = ""
        self._workers: dict[int, _WorkerConnection] = {}
        self._starting: dict[int, WorkerOptions] = {}
        self._n_wanted = options.n_workers
        self._adaptive: Adaptive | None = None
        self._waiting_for_scale: list[tuple[_ClientConnection, int]] = []
        self._restarting: set[int] = set()
        self._failed_starts = 0
        self._next_worker = 0
        self._next_client = 0
        self._next_invocation = 0
        self._clients: dict[int, _ClientConnection] = {}
        self._calls: dict[bytes, int] = {}
        self._code: list[bytes] = []
        self._segment_owner: dict[str, int] = {}
        self._locating: dict[TaskState, list[tuple[_Locating, int]]] = {}
        self._invocations: dict[int, _Invocation] = {}
        self._settling = False
        self._all_ready = asyncio.Event()
        self._nursery: Nursery

    async def run(self, fork_server: tuple[int, Any]) -> None:
        """Start the workers, say that the cluster is ready, serve until it shall end, clean up."""
        loop = asyncio.get_running_loop()
        self._nursery = Nursery(*fork_server, on_exit=self._worker_exited, on_lost=self._fork_server_lost)
        self._nursery.start()
        server = await asyncio.start_unix_server(self._accept, self._socket)
        os.chmod(self._socket, 0o600)
        for _ in range(self._options.n_workers):
            self._spawn_worker()
        loop.add_signal_handler(signal.SIGTERM, self._end, "terminated")
        timers = [loop.create_task(self._tick()), loop.create_task(self._sample_gpus())]
        try:
            await self._become_ready()
            await self._ended.wait()
        finally:
            self._recorder.record(Life(self._clock.now_s(), "closing"))
            remove_record(self._id)
            server.close()
            for timer in timers:
                timer.cancel()
            await self._publisher.close()
            for client in self._clients.values():
                client.writer.close()
            await self._nursery.close()
            remove_files(self._directory, self._prefix)

    async def _become_ready(self) -> None:
        waits = [asyncio.ensure_future(event.wait()) for event in (self._all_ready, self._ended)]
        if self._options.n_workers:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if self._ended.is_set():
            _say({"error": self._end_reason})
            return
        self._recorder.record(Life(self._clock.now_s(), "started"))
        record = ClusterRecord(
            id=self._id,
            name=self._options.name,
            kind="processes",
            pid=os.getpid(),
            pid_started_s=process_started_s(os.getpid()),
            socket=self._socket,
            secret=self._secret,
            started_at_s=self._clock.now_s(),
            directory=self._directory,
            shm_prefix=self._prefix,
            started_by=self._options.started_by,
            kernel_id=self._options.kernel_id,
            version=version(),
        )
        write_record(record)
        _say(msgspec.to_builtins(record))
        forkserver.redirect_output(os.path.join(self._directory, LOG_NAME))
        if not self._options.detached:
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read_lifeline)

    # Life and death

    def _end(self, reason: str) -> None:
        self._end_reason = self._end_reason or reason
        self._ended.set()

    async def _obey(self, command: str) -> None:
        if command == "shutdown":
            self._end("shut down")

    def _read_lifeline(self) -> None:
        if not os.read(sys.stdin.fileno(), 1024):
            self._end("the process that started the cluster has ended")

    def _fork_server_lost(self) -> None:
        self._log("error", "the fork server was killed; the cluster ends")
        self._end("the fork server was killed")

    def _log(self, level: str, text: str, worker: int = -1) -> None:
        self._recorder.record(Log(self._clock.now_s(), worker, level, text))
        print(f"{level}: {text}", file=sys.stderr, flush=True)

    def _spawn_worker(self) -> None:
        number, self._next_worker = self._next_worker, self._next_worker + 1
        options = WorkerOptions(
            number=number,
            name=f"{self._options.name}-{number}",
            socket=self._socket,
            secret=self._secret,
            nthreads=self._options.threads_per_worker,
            memory_limit_bytes=self._options.memory_limit_bytes,
            directory=self._directory,
            shm_prefix=self._prefix,
        )
        self._starting[number] = options
        self._nursery.spawn(options)

    def _worker_exited(self, number: int, status: str) -> None:
        if self._ended.is_set():
            return
        if self._starting.pop(number, None) is not None:
            self._failed_starts += 1
            self._log("error", f"worker {number} didn't start: {status}", number)
            if self._failed_starts >= MAX_FAILED_STARTS:
                self._end(f"{MAX_FAILED_STARTS} workers in a row didn't start: {status}")
                return
        else:
            self._lose_worker(number, status)
        self._approach_wanted()

    def _lose_worker(self, number: int, status: str) -> None:
        worker = self._workers.pop(number, None)
        if worker is None:
            return
        reason = worker.ending or status
        self._restarting.discard(number)
        self._log(
            "info" if worker.expected else "error",
            f"worker {worker.options.name} (pid {worker.pid}) is gone: {reason}",
            number,
        )
        self._recorder.record(WorkerLeft(self._clock.now_s(), number, reason))
        worker.writer.close()
        self._remove_unannounced_segments(number)
        self._scheduler.worker_left(number, blame=not worker.expected)
        for invocation in list(self._invocations):
            self._invoked(invocation, number, _own(WorkerLost(f"worker {worker.options.name} is gone: {reason}")))
        self._settle_soon()

    def _remove_unannounced_segments(self, number: int) -> None:
        """Remove what a worker was writing, or had written and not told of, when it died."""
        for path in SHARED_MEMORY_DIR.glob(f"{self._prefix}w{number}-*"):
            if str(path) not in self._segment_owner:
                with contextlib.suppress(OSError):
                    path.unlink()

    # The number of workers

    def _scale(self, n_workers: int) -> None:
        """Start workers, or retire the youngest, until there are `n_workers`."""
        self._n_wanted = n_workers
        staying = [number for number, worker in sorted(self._workers.items()) if not worker.state.retiring]
        for number in staying[max(0, n_workers - len(self._starting)) :]:
            self._workers[number].ending = "retired"
            self._workers[number].expected = True
            self._scheduler.retire(number)
        self._approach_wanted()
        self._settle_soon()

    def _approach_wanted(self) -> None:
        """Start the workers that are missing."""
        staying = sum(not worker.state.retiring for worker in self._workers.values())
        for _ in range(self._n_wanted - staying - len(self._starting)):
            self._spawn_worker()
        self._answer_scaled()

    def _answer_scaled(self) -> None:
        """Tell clients that wait for a number of workers once it is reached."""
        if len(self._workers) == self._n_wanted and not self._starting and not self._restarting:
            waiting, self._waiting_for_scale = self._waiting_for_scale, []
            for client, request in waiting:
                self._tell(client, messages.Done(request))

    def _adapt(self, now_s: float) -> None:
        if self._adaptive is None:
            return
        counts = [layer.counts for layer in self._scheduler.layers.values()]
        n_tasks = sum(count[State.READY] + count[State.STAGING] + count[State.RUNNING] for count in counts)
        target = self._adaptive.target(self._n_wanted, n_tasks, self._options.threads_per_worker, now_s)
        if target != self._n_wanted:
            self._log("info", f"adaptive scaling: {self._n_wanted} -> {target} workers")
            self._scale(target)

    def _restart(self) -> None:
        """Begin anew: no task, no result, new processes."""
        self._scheduler.cancel([key for key, task in self._scheduler.tasks.items() if task.wanted_by])
        for number, worker in self._workers.items():
            worker.ending, worker.expected = "restarted", True
            self._restarting.add(number)
            self._nursery.kill(worker.pid)
        self._settle_soon()

    # Connections

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT_S):
                connect = decode_request(await read_frame(reader, _READ_BYTES))
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError, msgspec.DecodeError):
            writer.close()
            return
        if not isinstance(connect, Connect) or refusal(connect, self._secret) or connect.role == "metrics":
            if isinstance(connect, Connect):
                await self._publisher.admit(connect, reader, writer)
            writer.close()
            return
        try:
            if connect.role == "worker":
                await self._serve_worker(reader, writer)
            elif connect.role == "client":
                await self._serve_client(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side is gone; what that means is decided where it is noticed
        finally:
            writer.close()

    async def _serve_worker(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ready = messages.from_worker_decoder.decode(await read_frame(reader))
        if not isinstance(ready, messages.WorkerReady) or ready.number not in self._starting:
            return
        options = self._starting.pop(ready.number)
        limit = options.memory_limit_bytes
        if limit is not None and ready.rss_bytes > TERMINATE_FRACTION * limit:
            self._end(
                f"memory_limit is {format_bytes(limit)} for each worker, but an idle one takes "
                f"{format_bytes(ready.rss_bytes)} already; give it more"
            )
            return
        state = self._scheduler.worker_joined(ready.number, options.name, options.nthreads)
        worker = self._workers[ready.number] = _WorkerConnection(options, writer, ready.pid, state)
        self._failed_starts = 0
        self._recorder.record(
            WorkerJoined(
                self._clock.now_s(),
                ready.number,
                options.name,
                ready.pid,
                options.nthreads,
                options.memory_limit_bytes,
            )
        )
        if len(self._workers) >= self._options.n_workers:
            self._all_ready.set()
        self._answer_scaled()
        self._settle_soon()
        splitter = FrameSplitter()
        while data := await reader.read(_READ_BYTES):
            for payload in splitter.feed(data):
                if self._workers.get(ready.number) is not worker:
                    return  # it is counted as dead, and what it wrote is removed
                self._hear_worker(worker, messages.from_worker_decoder.decode(payload))
            self._settle_soon()

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, self._next_client = self._next_client, self._next_client + 1
        client = self._clients[number] = _ClientConnection(number, writer)
        self._tell(client, messages.Welcome(self._id, self._options.name, self._directory, self._prefix, number))
        splitter = FrameSplitter()
        try:
            while data := await reader.read(_READ_BYTES):
                for payload in splitter.feed(data):
                    self._hear_client(client, messages.from_client_decoder.decode(payload))
                self._settle_soon()
        finally:
            del self._clients[number]
            self._scheduler.client_left(client)
            self._settle_soon()

    # What workers say

    def _hear_worker(self, worker: _WorkerConnection, message: messages.FromWorker) -> None:
        number = worker.options.number
        match message:
            case messages.Finished():
                self._record_finished(worker, message)
                durations = [stop - start for start, stop in zip(message.starts_s, message.stops_s, strict=True)]
                self._scheduler.finished(number, message.numbers, message.nbytes, durations, message.results)
            case messages.Failed():
                self._task_failed(number, message)
            case messages.Published():
                self._result_published(worker, message)
            case messages.Recalled():
                self._scheduler.recalled(number, message.numbers)
            case messages.Sample():
                worker.sample = message
                self._enforce_limit(worker, message)
            case messages.StoreEvents():
                self._record_spills(number, message)
            case messages.Invoked():
                answer = message.failure if message.result is None else message.result
                if answer is not None:
                    self._invoked(message.request, number, answer)

    def _record_finished(self, worker: _WorkerConnection, message: messages.Finished) -> None:
        by_number, stopping, epoch_s = self._scheduler.by_number, worker.state.stopping, self._clock.epoch_s
        tasks = [by_number.get(number) or stopping.get(number) for number in message.numbers]
        known = [task for task in tasks if task is not None]
        if len(known) < len(tasks):  # reported twice: the first report was recorded
            return
        self._recorder.add_tasks(
            [task.layer.number for task in known],
            [task.index for task in known],
            worker=worker.options.number,
            lanes=message.lanes,
            starts_s=[epoch_s + start for start in message.starts_s],
            stops_s=[epoch_s + stop for stop in message.stops_s],
            nbytes=message.nbytes,
        )

    def _task_failed(self, number: int, message: messages.Failed) -> None:
        task = self._scheduler.by_number.get(message.number)
        if task is None:
            self._scheduler.failed(number, message.number, message.failure)
            return
        epoch_s = self._clock.epoch_s
        layer = task.layer
        error = msgspec.structs.replace(message.failure, key=key_text(task.key), origin=task.origin)
        self._recorder.add_task(
            layer.number,
            task.index,
            worker=number,
            lane=message.lane,
            start_s=epoch_s + message.start_s,
            stop_s=epoch_s + message.stop_s,
            ok=False,
        )
        if self._scheduler.failed(number, message.number, error):
            self._record_error(task, number, error)

    def _record_error(self, task: TaskState, worker: int, error: Failure) -> None:
        self._recorder.record(
            TaskError(
                self._clock.now_s(),
                key_text(task.key),
                task.layer.number,
                worker,
                error.exception,
                error.message,
                error.traceback,
                task.origin,
            )
        )

    def _result_published(self, worker: _WorkerConnection, message: messages.Published) -> None:
        number = worker.options.number
        task = self._scheduler.by_number.get(message.number)
        if message.location is None:
            self._log("warning", f"a result stays on worker {worker.options.name}: {message.reason}", number)
            for waiting, position in self._locating.pop(task, []) if task is not None else []:
                self._answer(waiting, position, _own(SerialisationError(message.reason)))
        elif isinstance(message.location, Segment):
            self._segment_owner[message.location.path] = number
            worker.shared_bytes += message.location.nbytes
        if task is not None:
            self._record_event(
                Action.SERIALISE, task, number, message.start_s, message.stop_s, location_bytes(message.location or b"")
            )
        self._scheduler.published(number, message.number, message.location)

    def _record_spills(self, number: int, message: messages.StoreEvents) -> None:
        rows = zip(message.actions, message.numbers, message.starts_s, message.stops_s, message.nbytes, strict=True)
        for action, task_number, start_s, stop_s, nbytes in rows:
            task = self._scheduler.by_number.get(task_number)
            if task is not None:
                self._record_event(Action(action), task, number, start_s, stop_s, nbytes)

    def _record_event(
        self, action: Action, task: TaskState, worker: int, start_s: float, stop_s: float, nbytes: int
    ) -> None:
        self._recorder.add_task(
            task.layer.number,
            task.index,
            worker=worker,
            lane=0,
            start_s=self._clock.epoch_s + start_s,
            stop_s=self._clock.epoch_s + stop_s,
            nbytes=nbytes,
            action=action,
        )

    def _enforce_limit(self, worker: _WorkerConnection, sample: messages.Sample) -> None:
        limit = worker.options.memory_limit_bytes
        if limit is None or worker.ending:
            return
        own_bytes = sample.rss_bytes - worker.shared_bytes
        if own_bytes > TERMINATE_FRACTION * limit:
            worker.ending = (
                f"it took {own_bytes / 2**20:.0f} MiB of memory, over {TERMINATE_FRACTION:.0%} of its limit of "
                f"{limit / 2**20:.0f} MiB"
            )
            self._nursery.kill(worker.pid)

    # What clients say

    def _hear_client(self, client: _ClientConnection, message: messages.FromClient) -> None:
        match message:
            case messages.Submit():
                self._submit(client, message)
            case messages.Release():
                self._scheduler.release(client, message.keys)
            case messages.Cancel():
                self._scheduler.cancel(message.keys)
            case messages.Scatter():
                for key, location, nbytes in zip(message.keys, message.locations, message.nbytes, strict=True):
                    self._scheduler.add_data(client, key, location, nbytes)
            case messages.Locate():
                self._locate(client, message)
            case messages.Inform():
                self._tell(client, self._info(message.request))
            case messages.RunOnWorkers():
                self._invoke(client, message)
            case messages.Scale():
                self._adaptive = None
                self._scale(message.n_workers)
                self._waiting_for_scale.append((client, message.request))
                self._answer_scaled()
            case messages.Adapt():
                self._adaptive = Adaptive(message.minimum, message.maximum, message.wait_s)
                self._tell(client, messages.Done(message.request))
            case messages.Restart():
                self._restart()
                self._waiting_for_scale.append((client, message.request))
                self._answer_scaled()
            case messages.FireAndForget():
                self._scheduler.want(_HEAD, message.keys)
            case messages.WhoHas():
                self._tell(client, self._holdings(message))
            case messages.Shutdown():
                self._end("shut down by its client")

    def _submit(self, client: _ClientConnection, message: messages.Submit) -> None:
        numbers = [self._call_number(code) for code in message.code]
        specs = [(numbers[call], literals) for call, literals in zip(message.calls, message.literals, strict=True)]
        try:
            self._scheduler.submit(
                client,
                message.keys,
                specs,
                message.deps,
                external=message.external,
                wanted=message.wanted,
                priority=message.priority,
                retries=message.retries,
                labels=message.labels,
            )
        except GraphError as error:
            self._tell(client, messages.SubmitRefused(message.wanted, _own(error)))

    def _call_number(self, code: bytes) -> int:
        number = self._calls.get(code)
        if number is None:
            number = self._calls[code] = len(self._code)
            self._code.append(code)
        return number

    def _locate(self, client: _ClientConnection, message: messages.Locate) -> None:
        waiting = _Locating(client, message.request, message.keys, [None] * len(message.keys), len(message.keys))
        for position, key in enumerate(message.keys):
            task = self._scheduler.locate(key)
            answer = _not_held(key) if task is None else _location_or_failure(task)
            if task is None or answer is not None:
                self._answer(waiting, position, answer)
            else:
                self._locating.setdefault(task, []).append((waiting, position))
        if not message.keys:
            self._tell(client, messages.Located(message.request, []))

    def _answer(self, waiting: _Locating, position: int, answer: Any) -> None:
        waiting.answers[position] = answer
        waiting.n_open -= 1
        if not waiting.n_open:
            self._tell(waiting.client, messages.Located(waiting.request, waiting.answers))

    def _info(self, request: int) -> messages.Info:
        workers = [
            messages.WorkerInfo(
                number=worker.options.number,
                name=worker.options.name,
                pid=worker.pid,
                nthreads=worker.options.nthreads,
                memory_limit_bytes=worker.options.memory_limit_bytes,
                rss_bytes=worker.sample.rss_bytes if worker.sample else 0,
                managed_bytes=worker.sample.managed_bytes if worker.sample else 0,
                spilled_bytes=worker.sample.spilled_bytes if worker.sample else 0,
                shared_bytes=worker.shared_bytes,
                cpu_percent=worker.sample.cpu_percent if worker.sample else 0.0,
                running=len(worker.state.running),
                has=len(worker.state.has),
            )
            for _, worker in sorted(self._workers.items())
        ]
        counts = {state.name.lower(): 0 for state in State}
        for layer in self._scheduler.layers.values():
            for state in State:
                counts[state.name.lower()] += layer.counts[state]
        return messages.Info(request, workers, counts)

    def _holdings(self, message: messages.WhoHas) -> messages.Holdings:
        tasks = self._scheduler.tasks
        asked = tasks.values() if message.keys is None else [tasks[key] for key in message.keys if key in tasks]
        held = [task for task in asked if task.state is State.MEMORY]
        workers = [task.where.name if task.where is not None else None for task in held]
        return messages.Holdings(message.request, [task.key for task in held], [t.nbytes for t in held], workers)

    def _invoke(self, client: _ClientConnection, message: messages.RunOnWorkers) -> None:
        chosen = [
            worker for number, worker in self._workers.items() if message.workers is None or number in message.workers
        ]
        number, self._next_invocation = self._next_invocation, self._next_invocation + 1
        numbers, names = [w.options.number for w in chosen], [w.options.name for w in chosen]
        self._invocations[number] = _Invocation(client, message.request, numbers, names)
        for worker in chosen:
            worker.writer.write(framed(messages.Invoke(number, message.call)))
        if not chosen:
            self._finish_invocation(number)

    def _invoked(self, number: int, worker: int, result: bytes | Failure) -> None:
        invocation = self._invocations.get(number)
        if invocation is not None and worker in invocation.workers:
            invocation.results[worker] = result
            if len(invocation.results) == len(invocation.workers):
                self._finish_invocation(number)

    def _finish_invocation(self, number: int) -> None:
        invocation = self._invocations.pop(number)
        results = [invocation.results[worker] for worker in invocation.workers]
        self._tell(invocation.client, messages.RanOnWorkers(invocation.request, invocation.names, results))

    # Carrying out what the scheduler wants

    def _settle_soon(self) -> None:
        """Let the scheduler act once all that has arrived by now is taken in."""
        if not self._settling:
            self._settling = True
            asyncio.get_running_loop().call_soon(self._settle)

    def _settle(self) -> None:
        self._settling = False
        actions = self._scheduler.take_actions()
        self._free(actions)
        for state, tasks in actions.recall.items():
            self._tell_worker(state, messages.Recall([task.number for task in tasks]))
        for state, dropped in actions.drop.items():
            self._tell_worker(state, messages.Drop(dropped))
        for state, tasks in actions.run.items():
            self._run(state, tasks)
        for state, tasks in actions.publish.items():
            self._tell_worker(state, messages.Publish([task.number for task in tasks]))
        for state in actions.stop:
            self._tell_worker(state, messages.Stop())
        for task in actions.located:
            for waiting, position in self._locating.pop(task, ()):
                self._answer(waiting, position, _location_or_failure(task) or _not_held(task.key))
        self._tell_clients(actions)

    def _free(self, actions: Actions) -> None:
        numbers = []
        for number, location in actions.free:
            if isinstance(location, Segment):
                numbers.append(number)
                free_location(location)
                owner = self._workers.get(self._segment_owner.pop(location.path, -1))
                if owner is not None:
                    owner.shared_bytes -= location.nbytes
        if numbers:
            drop = framed(messages.Drop(numbers))
            for worker in self._workers.values():
                worker.writer.write(drop)

    def _run(self, state: WorkerState, tasks: list[TaskState]) -> None:
        worker = self._workers.get(state.number)
        if worker is None:
            return
        new_calls = {task.spec[0] for task in tasks} - worker.known_calls
        if new_calls:
            worker.known_calls |= new_calls
            worker.writer.write(framed(messages.Calls({number: self._code[number] for number in new_calls})))
        run = [
            RunTask(
                task.number,
                task.spec[0],
                task.spec[1],
                [(dep.number, dep.location) for dep in task.deps],
            )
            for task in tasks
        ]
        worker.writer.write(framed(messages.Run(run)))

    def _tell_worker(self, state: WorkerState, message: messages.ToWorker) -> None:
        worker = self._workers.get(state.number)
        if worker is not None:
            worker.writer.write(framed(message))

    def _tell(self, client: _ClientConnection, message: messages.FromHead) -> None:
        if not client.writer.is_closing():
            client.writer.write(framed(message))

    def _tell_clients(self, actions: Actions) -> None:
        for ended in (actions.finished.pop(_HEAD, []), actions.erred.pop(_HEAD, [])):
            self._scheduler.release(_HEAD, [task.key for task in ended])
            if ended:
                self._settle_soon()
        actions.cancelled.pop(_HEAD, None)
        for client, tasks in actions.finished.items():
            inline = [task.location if isinstance(task.location, bytes) else None for task in tasks]
            keys, nbytes = [task.key for task in tasks], [task.nbytes for task in tasks]
            self._tell(client, messages.KeysFinished(keys, nbytes, inline))
        for client, tasks in actions.erred.items():
            for task in tasks:
                self._tell(client, messages.KeyErred(task.key, task.error))
        for client, keys in actions.cancelled.items():
            self._tell(client, messages.KeysCancelled(keys))

    # Timers

    async def _tick(self) -> None:
        parent = os.getppid()
        next_sample_s = 0.0
        while True:
            await asyncio.sleep(FLUSH_S)
            now_s = self._clock.now_s()
            before = len(self._recorder)
            note_layers(self._scheduler, self._recorder)
            progress_counts(self._scheduler, self._recorder)
            if now_s >= next_sample_s:
                next_sample_s = now_s + SAMPLE_S
                self._record_samples(now_s)
                self._adapt(now_s)
                if not self._options.detached and os.getppid() != parent:
                    self._end("the process that started the cluster has ended")
            self._recorder.flush(now_s)
            if len(self._recorder) > before:
                self._publisher.notify()

    def _record_samples(self, now_s: float) -> None:
        rows = [(number, w.sample, w.shared_bytes) for number, w in self._workers.items() if w.sample is not None]
        if rows:
            samples = [sample for _, sample, _ in rows]
            self._recorder.record(
                WorkerSamples(
                    now_s,
                    [number for number, _, _ in rows],
                    [sample.cpu_percent for sample in samples],
                    [sample.rss_bytes for sample in samples],
                    [sample.managed_bytes for sample in samples],
                    [shared for _, _, shared in rows],
                    [sample.spilled_bytes for sample in samples],
                    [sample.executing for sample in samples],
                    [sample.queued for sample in samples],
                )
            )

    async def _sample_gpus(self) -> None:
        try:
            sampler = NvmlSampler()
        except (ImportError, OSError):
            return  # no GPU: nothing to sample
        while True:
            sample = await asyncio.to_thread(sampler.sample, self._clock.now_s())
            self._recorder.record(sample)
            await asyncio.sleep(GPU_SAMPLE_S)


def _own(error: Any) -> Failure:
    return failure.own_failure(error)


def _not_held(key: Key) -> Failure:
    return _own(DataLost(f"the result of {key_text(key)} isn't held any more"))


def _location_or_failure(task: TaskState) -> Location | Failure | None:
    """Return how a result can be reached, or why never; None if it is still on its way."""
    if task.location is not None:
        location: Location = task.location
        return location
    if task.pinned:
        return _own(SerialisationError(f"the result of {key_text(task.key)} can't be sent to another process"))
    if task.state is State.ERRED:
        error: Failure = task.error
        return error
    return _not_held(task.key) if task.state in (State.RELEASED, State.FORGOTTEN) else None


def _make_error(kind: str, task: TaskState) -> Failure:
    """Return what a task's error is when the scheduler has given it up."""
    key = key_text(task.key)
    errors = {
        "worker-lost": WorkerLost(
            f"task {key} was running on {task.n_deaths} workers when they died, so it is blamed for it: it may take "
            "more memory than memory_limit, crash the process, or call os._exit"
        ),
        "data-lost": DataLost(f"the value of {key} is gone, and it was not computed but handed in: scatter it again"),
        "pinned": SerialisationError(
            f"the result of {key} can't be sent to another process, and a task needs it together with another such "
            "result that lives elsewhere"
        ),
    }
    return msgspec.structs.replace(_own(errors[kind]), key=key, origin=task.origin)


def _say(message: dict[str, Any]) -> None:
    """Tell the process that started us, which reads one line."""
    with contextlib.suppress(OSError):
        print(json.dumps(message), flush=True)


def main(arguments: list[str]) -> None:
    """Run a cluster until it is shut down."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(100_000, 100, 100)  # a full pass over a million tasks would stall the head, to free nothing
    options = HeadOptions(**json.loads(arguments[0]))
    cluster_id = new_cluster_id()
    directory = cluster_directory(cluster_id, options.local_directory)
    log_path = os.path.join(directory, LOG_NAME)
    fork_server = forkserver.start(list(options.preload), log_path, directory, shm_prefix(cluster_id), cluster_id)
    asyncio.run(Head(options, cluster_id, directory).run(fork_server))


if __name__ == "__main__":
    main(sys.argv[1:])
