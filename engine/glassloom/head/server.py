"""The head process: owns the scheduler, the recorder and the workers, and serves clients and subscribers.

One event loop on one thread; every decision is the scheduler's. The head never unpickles user data and never runs user
code, so nothing that a user does in a kernel or a task can stall it. `head.main` runs it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec
from glassloom_metrics.framing import FrameError, FrameSplitter
from glassloom_metrics.peer import peer_of
from glassloom_metrics.protocol import PROTOCOL_VERSION, Command, Connect, Hello
from glassloom_metrics.publisher import TOLD_APART_S, Publisher, read_frame
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.registry import CLUSTER_LOG, remove_record
from glassloom_metrics.time_limit import time_limit

from glassloom._supervision import Crash
from glassloom.errors import WorkerLost
from glassloom.head.call_cache import CallCache
from glassloom.head.client_requests import HEAD_ITSELF, ClientRequests
from glassloom.head.client_runs import ClientRuns
from glassloom.head.cluster_activity import Activity
from glassloom.head.cluster_commands import ClusterCommands
from glassloom.head.connections import ClientConnection, WorkerConnection, keys_finished, keys_of
from glassloom.head.coordinator import Coordinator
from glassloom.head.fork_server_client import ForkServerClient
from glassloom.head.fork_server_watch import ForkServerWatch
from glassloom.head.gpu_samples import GpuSampling
from glassloom.head.inline_results import InlineResults
from glassloom.head.listener import Listener
from glassloom.head.message_order import MessageOrder
from glassloom.head.metrics_writer import MetricsWriter
from glassloom.head.queries import ClientQueries
from glassloom.head.registration import print_json, register
from glassloom.head.result_places import ResultPlaces
from glassloom.head.shared_results import SharedResults
from glassloom.head.submission import ASKING_FOR_KEYS
from glassloom.head.supervised_tasks import SupervisedTasks
from glassloom.head.task_errors import WorkerLoss, make_error
from glassloom.head.task_history import TaskHistory
from glassloom.head.worker_logs import WorkerLogs
from glassloom.head.worker_pool import TEARDOWN_TIMEOUT_S, WorkerPool
from glassloom.head.worker_reports import NO_REQUEST, WorkerReports
from glassloom.protocol import failure, messages
from glassloom.protocol.clock import Clock, monotonic_s
from glassloom.protocol.failure import Failure
from glassloom.protocol.identity import version
from glassloom.protocol.options import HeadOptions
from glassloom.protocol.places import ClusterPlaces, remove_what_the_dead_left
from glassloom.sampling.host import HostSampler
from glassloom.sampling.process import has_ended
from glassloom.scheduler import MIN_TASKS, Actions, Scheduler, TaskState
from glassloom.store.segment import Segment
from glassloom.store.shared_memory import SHARED_MEMORY_DIR
from glassloom.worker import fork_server

FLUSH_S = 0.1
SAMPLE_S = 0.5
_READ_BYTES = 2**20
_STATUS_TIMEOUT_S = 0.5
"""How long the head waits to be told how a worker has ended."""
_LAST_WORDS_S, _LOOK_EVERY_S = 0.2, 0.005
"""How long what a worker has sent is waited for when its process has ended: a fork of it may keep the connection open."""
_LOOK_AGAIN_S = 0.02
_PARTING_TIMEOUT_S = 1.0
"""How long the head waits at its end for clients to read why."""


class Head:
    """The head of one cluster; made and run by `head.main`."""

    def __init__(self, options: HeadOptions, places: ClusterPlaces) -> None:
        self._options = options
        self._places = places
        self._secret = secrets.token_hex(16)
        self._clock = Clock()
        hello = Hello(
            PROTOCOL_VERSION, places.cluster_id, options.name, "processes", self._clock.now_s(), engine=version()
        )
        self._recorder = Recorder(hello, memory_bytes=options.log_memory_bytes, directory=Path(places.directory))
        self._scheduler = Scheduler(self._give_up, min_block=MIN_TASKS)
        self._metrics_writer = MetricsWriter(self._recorder, self._scheduler, self._clock)
        self._publisher = Publisher(self._recorder, self._secret, self._obey, self._clock.now_s)
        self._worker_pool = WorkerPool(
            options,
            self._scheduler,
            self._metrics_writer,
            places=places,
            secret=self._secret,
            on_lost=self._worker_lost,
            on_change=lambda: self._queries.tell_of_workers(self._clients.values(), self._worker_pool),
            on_hopeless=self._end,
            has_plugins=self._has_plugins,
        )
        self._inline_results = InlineResults(places, self._metrics_writer.log)
        self._result_places = ResultPlaces(self._scheduler)
        self._queries = ClientQueries(self._scheduler, self._inline_results, self._result_places)
        self._history = TaskHistory(self._scheduler, self._clock)
        self._coordinator = Coordinator()
        self._worker_logs = WorkerLogs()
        self._setups: dict[str, bytes] = {}
        """What every new worker calls first, by name; pickled."""
        self._tasks = SupervisedTasks(self._crashed)
        self._listener = Listener(
            self._secret,
            self._publisher,
            self._metrics_writer,
            serve_client=self._serve_client,
            serve_worker=self._serve_worker,
            on_crash=self._crashed,
            on_metrics_crash=self._log_crash,
        )
        self._call_cache = CallCache()
        self._client_runs = ClientRuns(self._scheduler, self._metrics_writer)
        self._clients: dict[int, ClientConnection] = {}
        self._next_client = 0
        self._message_order = MessageOrder(self._clients, self._settle_soon)
        self._shared_results = SharedResults(places)
        self._worker_reports = WorkerReports(
            self._scheduler,
            worker_pool=self._worker_pool,
            metrics_writer=self._metrics_writer,
            queries=self._queries,
            history=self._history,
            shared_results=self._shared_results,
            inline_results=self._inline_results,
            result_places=self._result_places,
            worker_logs=self._worker_logs,
            clients=self._clients,
            settle=self._settle,
        )
        self._client_requests = ClientRequests(
            options,
            self._scheduler,
            call_cache=self._call_cache,
            client_runs=self._client_runs,
            queries=self._queries,
            history=self._history,
            coordinator=self._coordinator,
            worker_pool=self._worker_pool,
            worker_logs=self._worker_logs,
            shared_results=self._shared_results,
            inline_results=self._inline_results,
            setups=self._setups,
            clients=self._clients,
            tasks=self._tasks,
            now_s=self._clock.now_s,
            settle=self._settle,
            shared_result_lost=self._worker_reports.shared_result_lost,
            end=self._end,
        )
        self._commands = ClusterCommands(
            options,
            places.cluster_id,
            self._worker_pool,
            self._metrics_writer,
            is_used=Activity(self._scheduler, self._queries, self._clients).is_seen,
            restart=self._client_requests.restart,
            settle=self._settle_soon,
            end=self._end,
        )
        self._settling = False
        self._ended = asyncio.Event()
        self._end_reason = ""
        self._last_loss = WorkerLoss("")
        self._fork_server_watch: ForkServerWatch

    async def run(self, fork_server_process: tuple[int, Any]) -> None:
        """Start the workers, say that the cluster is ready, serve until it shall end, clean up."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._on_loop_error)
        fork_server_client = ForkServerClient(*fork_server_process, self._worker_exited)
        await fork_server_client.start()
        self._fork_server_watch = ForkServerWatch(fork_server_client, self._metrics_writer, self._end)
        self._tasks.start("fork server", self._fork_server_watch.run())
        await self._listener.start(self._places.socket)
        self._worker_pool.start(fork_server_client)
        loop.add_signal_handler(signal.SIGTERM, self._end, "terminated")
        self._tasks.start("ticks", self._tick())
        gpus = GpuSampling(
            self._clock, self._metrics_writer, self._options.nvml_session, self._worker_pool.workers_by_pid
        )
        self._tasks.start("GPU samples", gpus.run(), on_crash=self._log_crash)
        if not self._options.detached:
            loop.add_reader(sys.stdin.fileno(), self._read_lifeline)
        try:
            await self._become_ready()
            await self._ended.wait()
        finally:
            self._metrics_writer.life("closing")
            remove_record(self._places.cluster_id)
            self._listener.close()
            self._tasks.cancel()
            await self._part_from_clients()
            await self._publisher.close()
            await self._tear_plugins_down()
            await fork_server_client.close()
            self._places.remove()

    def _has_plugins(self) -> bool:
        return any(name.startswith(messages.PLUGIN_PREFIX) for name in self._setups)

    async def _tear_plugins_down(self) -> None:
        """If there are plugins, let workers end by themselves, so that they are torn down; but not for long."""
        workers = self._worker_pool.connections.values()
        if self._has_plugins():
            for worker in workers:
                worker.send(messages.Stop())
            with contextlib.suppress(TimeoutError):
                async with time_limit(TEARDOWN_TIMEOUT_S):
                    while not all(has_ended(worker.pid) for worker in workers):
                        await asyncio.sleep(_LOOK_AGAIN_S)

    async def _part_from_clients(self) -> None:
        """Tell the clients why the cluster ends, and close their connections."""
        for client in self._clients.values():
            client.send(messages.Ended(self._end_reason))
            client.writer.close()
        closing = [asyncio.ensure_future(_closed(client.writer)) for client in self._clients.values()]
        if closing:
            await asyncio.wait(closing, timeout=_PARTING_TIMEOUT_S)

    async def _become_ready(self) -> None:
        waits = [asyncio.ensure_future(event.wait()) for event in (self._worker_pool.all_ready, self._ended)]
        if self._options.n_workers:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if self._ended.is_set():
            print_json({"error": self._end_reason})
            return
        self._metrics_writer.life("started")
        warning = register(self._options, self._places, self._secret, self._clock.now_s())
        if warning:
            self._metrics_writer.log("warning", warning)
        fork_server.redirect_output(os.path.join(self._places.directory, CLUSTER_LOG), 1)
        self._tasks.start_in_thread("clean-up", remove_what_the_dead_left, on_crash=self._log_crash)

    # Life and death

    def _end(self, reason: str) -> None:
        self._end_reason = self._end_reason or reason
        self._ended.set()

    def _crashed(self, crash: Crash) -> None:
        """Something of the head's own has raised: its state can't be trusted, so the cluster ends and says why."""
        self._log_crash(crash)
        self._end(f"{crash.reason} (a fault of Glassloom's own; please report it)")

    def _log_crash(self, crash: Crash) -> None:
        self._metrics_writer.log("error", f"{crash.reason}\n{crash.traceback}")

    def _on_loop_error(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A callback of the event loop has raised, or the loop complains of something."""
        error = context.get("exception")
        if error is None or (isinstance(error, OSError) and "socket" in context):  # such as: no descriptor for a caller
            self._metrics_writer.log("error", f"{context.get('message')}: {error}")
        else:
            self._crashed(Crash(str(context.get("handle") or context.get("message")), error))

    async def _obey(self, command: Command) -> str:
        return await self._commands.handle(command)

    def _read_lifeline(self) -> None:
        if not os.read(sys.stdin.fileno(), 1024):
            self._end("the process that started the cluster has ended")

    def _worker_exited(self, number: int, status: str) -> None:
        worker = self._worker_pool.connections.get(number)
        if worker is not None and not worker.is_disconnected and not worker.ending:
            self._tasks.start("worker's last words", self._lose_when_read(worker, status))
        else:
            self._lose(number, status)

    async def _lose_when_read(self, worker: WorkerConnection, status: str) -> None:
        """Count a worker as lost once what it has sent is read, which may say why: the fork server's message may be read before."""
        deadline_s = monotonic_s() + _LAST_WORDS_S
        while not worker.is_disconnected and monotonic_s() < deadline_s:
            await asyncio.sleep(_LOOK_EVERY_S)
        if self._worker_pool.connections.get(worker.number) is worker:
            self._lose(worker.number, status)

    def _lose(self, number: int, status: str) -> None:
        if not self._ended.is_set():
            self._worker_pool.exited(number, status)
            self._settle_soon()

    async def _follow_end_of(self, worker: WorkerConnection) -> None:
        """A worker's connection is closed, or its process has ended: see that it is gone, and that its tasks run again.

        The fork server tells how it ended, if it is there to tell.
        """
        worker.is_disconnected = True
        worker.kill()
        await asyncio.sleep(_STATUS_TIMEOUT_S)
        if self._worker_pool.connections.get(worker.number) is worker:
            self._lose(worker.number, "its process has ended; the fork server doesn't say how")

    def _worker_lost(self, worker: WorkerConnection, reason: str) -> None:
        self._last_loss = WorkerLoss(reason, worker.exceeded_limit)
        self._shared_results.remove_unannounced(f"w{worker.number}")
        spilled = self._places.spill_directory(worker.number)
        self._tasks.start_in_thread("clean-up", shutil.rmtree, spilled, True, on_crash=self._log_crash)
        self._scheduler.now_s = monotonic_s()
        self._history.worker_left(worker.options.name, *self._scheduler.tasks_on(worker.number), reason)
        self._scheduler.worker_left(worker.number, blame=not worker.expected)
        lost = failure.own_failure(WorkerLost(f"worker {worker.options.name} is gone: {reason}"))
        self._queries.worker_lost(worker.number, lost)

    # Connections

    async def _serve_worker(
        self, _connect: Connect, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        ready = messages.from_worker_decoder.decode(await read_frame(reader))
        worker = self._worker_pool.join(ready, writer) if isinstance(ready, messages.WorkerReady) else None
        if worker is None:
            return
        for setup in self._setups.values():
            worker.send(messages.Invoke(NO_REQUEST, setup, True))
        self._settle_soon()
        try:
            await self._read_worker(worker, reader)
        except ConnectionError:
            pass  # its process was killed; the log says how it ended when that is known
        except (msgspec.DecodeError, FrameError) as error:
            self._metrics_writer.log("error", f"worker {worker.options.name}: {type(error).__name__}: {error}")
        if not worker.is_disconnected:
            self._tasks.start("worker's end", self._follow_end_of(worker))

    async def _read_worker(self, worker: WorkerConnection, reader: asyncio.StreamReader) -> None:
        splitter = FrameSplitter()
        while data := await reader.read(_READ_BYTES):
            for payload in splitter.feed(data):
                self._scheduler.now_s = monotonic_s()
                if self._worker_pool.connections.get(worker.number) is not worker:
                    return  # it is counted as dead, and what it wrote is removed
                self._on_worker_message(worker, messages.from_worker_decoder.decode(payload))
            self._settle_soon()

    async def _serve_client(self, connect: Connect, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, self._next_client = self._next_client, self._next_client + 1
        peer = peer_of(writer.get_extra_info("socket"))
        client = self._clients[number] = ClientConnection(
            number, writer, pid=peer.pid if peer else 0, wants_output=messages.OUTPUT_TOPIC in (connect.topics or ())
        )
        self._queries.welcome(client, self._places, self._commands.name, self._worker_pool)
        splitter = FrameSplitter()
        try:
            while data := await reader.read(_READ_BYTES):
                for payload in splitter.feed(data):
                    message = messages.from_client_decoder.decode(payload)
                    if isinstance(message, messages.Attach):
                        await self._message_order.wait_for(client, *message.maker)
                    if isinstance(message, ASKING_FOR_KEYS) and self._scheduler.has_ended_keys_of(client):
                        self._settle()  # what is said of these keys is about their former tasks
                    client.n_handled += 1
                    self._scheduler.now_s = monotonic_s()
                    self._on_client_message(client, message)
                self._settle_soon()
                client.has_progressed()
        except (ConnectionError, msgspec.DecodeError, FrameError):
            self._client_left(client)
            raise
        self._client_left(client)

    def _client_left(self, client: ClientConnection) -> None:
        del self._clients[client.number]
        client.has_progressed()
        self._shared_results.remove_unannounced(f"c{client.number}")
        self._scheduler.client_left(client)
        self._client_runs.client_left(client)
        self._coordinator.left(client)
        self._client_requests.send_coordination_replies()
        self._settle_soon()

    # What workers and clients say

    def _on_worker_message(self, worker: WorkerConnection, message: messages.FromWorker) -> None:
        self._history.note_worker_message(worker.options.name, message)
        self._worker_reports.take(worker, message)

    def _on_client_message(self, client: ClientConnection, message: messages.FromClient) -> None:
        self._history.note_client_message(client.number, message)
        self._client_requests.handle(client, message)

    # Carrying out what the scheduler wants

    def _settle_soon(self) -> None:
        """Let the scheduler act once all that has arrived by now is taken in."""
        if not self._settling:
            self._settling = True
            asyncio.get_running_loop().call_soon(self._settle)

    def _settle(self) -> None:
        self._settling = False
        self._scheduler.now_s = monotonic_s()
        actions = self._scheduler.take_actions()
        self._free(actions)
        peers = self._worker_pool.connections
        for state, recalled in actions.recall.items():
            if state.number in peers:
                peers[state.number].send(messages.Recall([task.number for task in recalled]))
        for state, dropped in actions.drop.items():
            if state.number in peers:
                peers[state.number].send(messages.Drop(dropped))
        for state, tasks in actions.run.items():
            if state.number in peers:
                self._history.sent(state.name, tasks)
                peers[state.number].run(tasks)
        on_disk = bool(actions.publish) and self._has_shared_its_part()
        for state, held in actions.publish.items():
            if state.number in peers:
                peers[state.number].send(messages.Publish([task.number for task in held], on_disk))
        for state in actions.stop:
            if state.number in peers:
                peers[state.number].send(messages.Stop())
        for task in actions.located:
            self._queries.located(task)
        self._tell_clients(actions)

    def _has_shared_its_part(self) -> bool:
        """Tell whether results take so much shared memory that the next ones must go to disk."""
        memory = self._options.memory
        most = memory.bytes_at(memory.shared)
        return most is not None and self._shared_results.shared_memory_bytes >= most * max(
            1, len(self._worker_pool.connections)
        )

    def _free(self, actions: Actions) -> None:
        """Remove what nobody will read again. Only files are kept open by workers that have read them.

        Results of tasks in blocks are so small that nothing but the block has them.
        """
        numbers = []
        for number, location in actions.free:
            if isinstance(location, Segment):
                numbers.append(number)
                self._shared_results.free(location)
            else:
                self._inline_results.free(number, location)
        if numbers:
            for worker in self._worker_pool.connections.values():
                worker.send(messages.Drop(numbers))

    def _give_up(self, kind: str, task: TaskState) -> Failure:
        """The scheduler gives a task up: make its error, and show it to who watches."""
        error = make_error(kind, task, self._last_loss)
        self._metrics_writer.error(task, error)
        return error

    def _tell_clients(self, actions: Actions) -> None:
        for ended in (actions.finished.pop(HEAD_ITSELF, []), actions.erred.pop(HEAD_ITSELF, [])):
            self._scheduler.release(HEAD_ITSELF, [key for task in ended for key in keys_of(task)])
            if ended:
                self._settle_soon()
        for client, tasks in actions.finished.items():
            if not isinstance(client, ClientConnection):
                continue  # a parcel, or this head: they need not know
            client.send(keys_finished(tasks, client.n_handled))
        for client, failed in actions.erred.items():
            for task in failed if isinstance(client, ClientConnection) else ():
                client.send(messages.KeyErred(task.key, task.error, client.n_handled))
        for client, keys in actions.cancelled.items():
            if isinstance(client, ClientConnection):
                client.send(messages.KeysCancelled(keys, client.n_handled))

    # Timers

    async def _tick(self) -> None:
        parent = os.getppid()
        next_sample_s = 0.0
        host = HostSampler(SHARED_MEMORY_DIR)
        lag_s = 0.0
        while True:
            before_s = monotonic_s()
            await asyncio.sleep(FLUSH_S)
            lag_s = max(lag_s, monotonic_s() - before_s - FLUSH_S)
            if self._scheduler.rebalance(FLUSH_S):
                self._settle_soon()
            now_s = self._clock.now_s()
            if now_s >= next_sample_s:
                next_sample_s = now_s + SAMPLE_S
                self._collect_samples(now_s)
                if (sample := host.sample(now_s)) is not None:
                    self._metrics_writer.host(sample)
                self._metrics_writer.engine(lag_s, self._publisher.n_subscribers)
                lag_s = 0.0
                if not self._options.detached and os.getppid() != parent:
                    self._end("the process that started the cluster has ended")
            self._worker_pool.enforce_limits()
            self._worker_pool.tell_changes()
            self._metrics_writer.flush()
            self._publisher.notify(apart_s=TOLD_APART_S)

    def _collect_samples(self, now_s: float) -> None:
        """Write down how the workers are, let their number follow the work, forget code that no task uses."""
        peers = self._worker_pool.connections
        self._fork_server_watch.check(monotonic_s())
        for client in self._clients.values():
            if client.has_ended():  # a fork of it may still hold the connection, and with it locks
                client.writer.transport.abort()
        for worker in peers.values():
            if not worker.is_disconnected and has_ended(worker.pid):  # a child of its may still hold the connection
                self._tasks.start("worker's end", self._follow_end_of(worker))
        self._commands.observe(now_s)
        self._metrics_writer.samples(peers.values())
        self._metrics_writer.running(peers.values())
        if self._worker_pool.follow_work(now_s) | self._worker_pool.replace_failing(monotonic_s()):
            self._settle_soon()
        forgotten = self._call_cache.take_unused()
        for worker in peers.values() if forgotten else ():
            known = [number for number in forgotten if number in worker.known_code]
            worker.known_code.difference_update(known)
            worker.send(messages.DropCalls(known))


async def _closed(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        await writer.wait_closed()
