"""How many workers a cluster has: starting, scaling, retiring, restarting them, and taking note of their ends."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Iterable

from glassloom.head.connections import ClientConnection, WorkerConnection
from glassloom.head.fork_server_client import ForkServerClient
from glassloom.head.health import SILENT_S
from glassloom.head.metrics_writer import MetricsWriter
from glassloom.protocol import messages
from glassloom.protocol.options import HeadOptions, WorkerOptions
from glassloom.protocol.places import ClusterPlaces
from glassloom.sampling.process import is_stopped, own_memory_bytes
from glassloom.scheduler import Adaptive, Pressure, Scheduler, State
from glassloom.units import format_bytes

MAX_FAILED_STARTS = 5
TEARDOWN_TIMEOUT_S = 2.5
"""How long a worker's process has to end by itself that tears plugins down: a little longer than it takes for them."""


class WorkerPool:
    """The workers of one cluster.

    Parameters
    ----------
    options
        How many workers to begin with, and what each is like.
    places, secret
        What workers are told: where the cluster's files lie, and what their connection must show.
    on_lost
        Called with a worker that is gone and why, after it was taken off the list.
    on_change
        Called when workers have come or gone: not for each, but before anybody is answered who waits for that.
    on_hopeless
        Called with the reason when no worker can be started.
    has_plugins
        Tells whether workers have plugins to tear down.
    """

    def __init__(
        self,
        options: HeadOptions,
        scheduler: Scheduler,
        metrics_writer: MetricsWriter,
        *,
        places: ClusterPlaces,
        secret: str,
        on_lost: Callable[[WorkerConnection, str], None],
        on_change: Callable[[], None],
        on_hopeless: Callable[[str], None],
        has_plugins: Callable[[], bool],
    ) -> None:
        self.connections: dict[int, WorkerConnection] = {}
        self.all_ready = asyncio.Event()
        self.fork_server_client: ForkServerClient
        self._options = options
        self.cluster_name = options.name
        """What new workers are called after."""
        self._scheduler = scheduler
        self._metrics_writer = metrics_writer
        self._places, self._secret = places, secret
        self._on_lost = on_lost
        self._on_change = on_change
        self._has_changed = False
        self._on_hopeless = on_hopeless
        self._has_plugins = has_plugins
        self._starting: dict[int, WorkerOptions] = {}
        self._n_wanted = options.n_workers
        self._adaptive: Adaptive | None = None
        self._waiting: list[tuple[ClientConnection, int]] = []
        self._restarting: set[int] = set()
        self._failed_starts = 0
        self._next_number = 0

    @property
    def n_wanted(self) -> int:
        """How many workers there shall be."""
        return self._n_wanted

    @property
    def adaptive(self) -> Adaptive | None:
        """How their number follows the work; None if it doesn't."""
        return self._adaptive

    @property
    def most_workers(self) -> int | None:
        """How many workers there can be at most; None for any number."""
        return self._options.devices.most_workers

    @property
    def is_adaptive(self) -> bool:
        """Whether their number follows the work."""
        return self._adaptive is not None

    def workers_by_pid(self) -> dict[int, int]:
        """Return the number of the worker of each process that is one."""
        return {worker.pid: number for number, worker in self.connections.items()}

    def start(self, fork_server_client: ForkServerClient) -> None:
        """Start the first workers."""
        self.fork_server_client = fork_server_client
        self._approach_wanted()

    def join(self, ready: messages.WorkerReady, writer: asyncio.StreamWriter) -> WorkerConnection | None:
        """A worker has connected; returns None if it can't be let in."""
        options = self._starting.pop(ready.number, None)
        if options is None:
            return None
        limits = options.memory
        enough = limits.bytes_at(limits.pause or limits.terminate)
        if enough is not None and ready.own_bytes > enough:
            self._on_hopeless(
                f"memory_limit is {format_bytes(limits.limit_bytes or 0)} for each worker, but an idle one takes "
                f"{format_bytes(ready.own_bytes)} already; give it more"
            )
            return None
        state = self._scheduler.worker_joined(ready.number, options.name, options.nthreads, options.resources)
        worker = WorkerConnection(
            options, writer, ready.pid, state, baseline_bytes=ready.own_bytes, device=ready.device
        )
        self.connections[ready.number] = worker
        self._failed_starts = 0
        self._has_changed = True
        self._metrics_writer.worker_joined(options, ready)
        if len(self.connections) >= self._options.n_workers:
            self.all_ready.set()
        self._answer_waiting()
        return worker

    def exited(self, number: int, status: str) -> None:
        """A worker's process has ended."""
        if self._starting.pop(number, None) is not None:
            self._failed_starts += 1
            self._metrics_writer.log("error", f"worker {number} didn't start: {status}", number)
            if self._failed_starts >= MAX_FAILED_STARTS:
                self._on_hopeless(f"{MAX_FAILED_STARTS} workers in a row didn't start: {status}")
                return
        elif (worker := self.connections.pop(number, None)) is not None:
            self._has_changed = True
            self._lose(worker, worker.ending or status)
        self._approach_wanted()

    def _lose(self, worker: WorkerConnection, reason: str) -> None:
        self._restarting.discard(worker.number)
        level = "info" if worker.expected else "error"
        text = f"worker {worker.options.name} (pid {worker.pid}) is gone: {reason}"
        self._metrics_writer.log(level, text, worker.number)
        self._metrics_writer.worker_left(worker.number, reason)
        worker.writer.close()
        self._on_lost(worker, reason)

    def rename(self, cluster_name: str) -> None:
        """Call workers that are started from now on after another name, and tell clients."""
        self.cluster_name = cluster_name
        self._on_change()

    def scale(self, n_workers: int) -> None:
        """Start workers, or retire those of the last places, until there are `n_workers`. Ends adaptive scaling."""
        self._has_changed = self._has_changed or self.is_adaptive
        self._adaptive = None
        self._approach(n_workers)

    def adapt(self, adaptive: Adaptive) -> None:
        """Let the number of workers follow the work from now on."""
        self._adaptive = adaptive
        self._has_changed = True

    def retire(self, numbers: Iterable[int]) -> None:
        """Retire these workers, and have so many less from now on."""
        for number in numbers:
            worker = self.connections.get(number)
            if worker is not None and not worker.state.retiring:
                self._n_wanted -= 1
                self._retire(worker)

    def follow_work(self, now_s: float) -> bool:
        """Scale as adaptive scaling wants it; return whether that changed anything."""
        if self._adaptive is None:
            return False
        counts = self._scheduler.layer_table.counts()
        n_tasks = counts[State.READY] + counts[State.STAGING] + counts[State.RUNNING]
        target = self._adaptive.target(self._n_wanted, n_tasks, self._options.threads_per_worker, now_s)
        if target == self._n_wanted:
            return False
        self._metrics_writer.log("info", f"adaptive scaling: {self._n_wanted} -> {target} workers")
        self._approach(target)
        return True

    def restart(self) -> None:
        """Replace all workers by new ones."""
        for number, worker in self.connections.items():
            worker.ending, worker.expected = "restarted", True
            self._restarting.add(number)
            self._end(worker)

    def _end(self, worker: WorkerConnection) -> None:
        """End a worker's process, whatever it runs: at once, or when its plugins are torn down, which it has little time for."""
        if self._has_plugins():
            worker.send(messages.Stop())
            asyncio.get_running_loop().call_later(TEARDOWN_TIMEOUT_S, worker.kill)
        else:
            worker.kill()

    def answer_when_settled(self, client: ClientConnection, request: int) -> None:
        """Tell a client once there are as many workers as are wanted."""
        self._waiting.append((client, request))
        self._answer_waiting()

    def note_pressure(self, worker: WorkerConnection, message: messages.MemoryPressure) -> None:
        """A worker's memory has become short, or isn't any more."""
        before, worker.pressure = worker.pressure, Pressure(message.pressure)
        if worker.pressure is not Pressure.PAUSED:
            worker.health.note_report(0.0, is_stuck=False)
        self._scheduler.set_pressure(worker.number, worker.pressure)
        if worker.pressure is Pressure.PAUSED and message.device_bytes:
            self._metrics_writer.log("warning", explain_device(worker, message.device_bytes), worker.number)
        elif worker.pressure is Pressure.PAUSED:
            limits = worker.options.memory
            self._metrics_writer.log(
                "warning",
                f"worker {worker.options.name} gets no tasks for now: it takes {format_bytes(message.own_bytes)}, over "
                f"{limits.text(limits.pause)}; {worker.explain_memory(message.own_bytes)}",
                worker.number,
            )
        elif before is Pressure.PAUSED:
            self._metrics_writer.log("info", f"worker {worker.options.name} gets tasks again", worker.number)

    def enforce_limits(self) -> None:
        """End workers that have taken too much memory: their tasks run again elsewhere.

        The head measures: a worker may be too busy to say how it is.
        """
        for worker in self.connections.values():
            limits = worker.options.memory
            most = limits.bytes_at(limits.terminate)
            if most is None or worker.exceeded_limit:
                continue
            own_bytes = own_memory_bytes(worker.pid, unless_below=most)
            if own_bytes > most:
                worker.exceeded_limit = True
                worker.ending, worker.expected = (
                    (
                        f"it took {format_bytes(own_bytes)} of memory, over {limits.text(limits.terminate)}; "
                        f"{worker.explain_memory(own_bytes)}"
                    ),
                    False,
                )
                worker.kill()

    def replace_failing(self, now_s: float) -> bool:
        """Replace workers that can't go on as they are; their results move to where everybody can reach them first.

        Returns whether there were any.
        """
        failing = {
            worker: reason for worker in self.connections.values() if (reason := _reason_to_replace(worker, now_s))
        }
        for worker, reason in failing.items():
            worker.ending, worker.expected, worker.is_failing = f"replaced, because {reason}", True, True
            own_bytes = 0 if worker.sample is None else worker.sample.own_bytes
            self._metrics_writer.log(
                "warning",
                f"worker {worker.options.name} is replaced: {reason}; it takes {format_bytes(own_bytes)}, "
                f"{worker.explain_memory(own_bytes)}",
                worker.number,
            )
            self._scheduler.retire(worker.number)
        if failing:
            self._approach_wanted()
        for worker in self.connections.values():
            if worker.is_failing and _has_nothing_to_lose(worker, now_s):
                worker.kill()
        return bool(failing)

    def _approach(self, n_workers: int) -> None:
        n_workers = n_workers if self.most_workers is None else min(n_workers, self.most_workers)
        self._n_wanted = n_workers
        staying = [worker for worker in self.connections.values() if not worker.state.retiring]
        staying.sort(key=lambda worker: worker.options.place)
        for worker in staying[max(0, n_workers - len(self._starting)) :]:
            self._retire(worker)
        self._approach_wanted()

    def _retire(self, worker: WorkerConnection) -> None:
        worker.ending = "retired"
        worker.expected = True
        self._scheduler.retire(worker.number)

    def _approach_wanted(self) -> None:
        """Start the workers that are missing."""
        staying = sum(not worker.state.retiring for worker in self.connections.values())
        for _ in range(self._n_wanted - staying - len(self._starting)):
            self._spawn()
        self._answer_waiting()

    def _spawn(self) -> None:
        number, self._next_number = self._next_number, self._next_number + 1
        place = self._free_place()
        options = WorkerOptions(
            number=number,
            name=f"{self.cluster_name}-{number}",
            socket=self._places.socket,
            secret=self._secret,
            nthreads=self._options.threads_per_worker,
            memory=self._options.memory,
            spill_compression=self._options.spill_compression,
            directory=self._places.directory,
            shm_prefix=self._places.shm_prefix,
            cluster_id=self._places.cluster_id,
            cluster_name=self.cluster_name,
            head_pid=os.getpid(),
            spill_directory=self._places.spill_directory(number),
            place=place,
            profile_interval_s=self._options.profile_interval_s,
            resources=self._options.resources.at(place),
            device=self._options.devices.at(place),
            device_memory_limit=self._options.devices.memory_limit,
            device_settings=self._options.devices.settings,
            shares_device=not self._options.devices.is_exclusive,
            log_spilling=self._options.devices.log_spilling,
        )
        self._starting[number] = options
        self.fork_server_client.spawn(options)

    def _free_place(self) -> int:
        """Return the first place that no worker has, but for those that go."""
        staying = (worker.options for worker in self.connections.values() if not worker.state.retiring)
        taken = {options.place for options in (*self._starting.values(), *staying)}
        return next(place for place in itertools.count() if place not in taken)

    def tell_changes(self) -> None:
        """Say if workers have come or gone, or whether their number follows the work has changed, since it was said last."""
        if self._has_changed:
            self._has_changed = False
            self._on_change()

    def _answer_waiting(self) -> None:
        if len(self.connections) == self._n_wanted and not self._starting and not self._restarting:
            waiting, self._waiting = self._waiting, []
            if waiting:
                self.tell_changes()
            for client, request in waiting:
                client.send(messages.Ack(request))


def explain_device(worker: WorkerConnection, fixed_bytes: int) -> str:
    """Return for people why a worker whose device is full gets no tasks."""
    device = worker.device
    what = "its device" if device is None else f"its device, {device.name} ({format_bytes(device.total_bytes)}),"
    return (
        f"worker {worker.options.name} gets no tasks for now: {format_bytes(fixed_bytes)} of {what} are taken by what can't move "
        "to the host: what tasks work with and read, or other processes"
    )


def _reason_to_replace(worker: WorkerConnection, now_s: float) -> str:
    if worker.ending:
        return ""
    return worker.health.observe(
        now_s,
        is_stopped=is_stopped(worker.pid),
        cancelled=worker.state.stopping,
    )


def _has_nothing_to_lose(worker: WorkerConnection, now_s: float) -> bool:
    """Tell whether a worker that is replaced holds nothing more that it could still give away."""
    state = worker.state
    is_silent = worker.sample is not None and now_s - worker.sample.at_s >= SILENT_S
    is_empty = not state.n_running and not state.publishing and not state.n_held_in_blocks
    is_empty = is_empty and all(task.pinned for task in state.has)
    return is_silent or is_empty
