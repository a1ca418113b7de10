"""How many workers a cluster has: starting, scaling, retiring, restarting them, and taking note of their ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from glassloom.runtime import messages
from glassloom.runtime.chronicle import Chronicle
from glassloom.runtime.nursery import Nursery
from glassloom.runtime.options import HeadOptions, WorkerOptions
from glassloom.runtime.peers import ClientPeer, WorkerPeer
from glassloom.scheduler import Adaptive, Scheduler, State
from glassloom.units import format_bytes

TERMINATE_FRACTION = 0.95
"""Share of its memory limit at which a worker is ended and replaced."""
MAX_FAILED_STARTS = 5


class Workforce:
    """The workers of one cluster.

    Parameters
    ----------
    options
        How many workers to begin with, and what each is like.
    socket, secret, directory, shm_prefix
        What workers are told.
    on_lost
        Called with a worker that is gone and why, after it was taken off the list.
    on_hopeless
        Called with the reason when no worker can be started.
    """

    def __init__(
        self,
        options: HeadOptions,
        scheduler: Scheduler,
        chronicle: Chronicle,
        *,
        socket: str,
        secret: str,
        directory: str,
        shm_prefix: str,
        on_lost: Callable[[WorkerPeer, str], None],
        on_hopeless: Callable[[str], None],
    ) -> None:
        self.peers: dict[int, WorkerPeer] = {}
        self.all_ready = asyncio.Event()
        self.nursery: Nursery
        self._options = options
        self._scheduler = scheduler
        self._chronicle = chronicle
        self._socket, self._secret, self._directory, self._prefix = socket, secret, directory, shm_prefix
        self._on_lost = on_lost
        self._on_hopeless = on_hopeless
        self._starting: dict[int, WorkerOptions] = {}
        self._n_wanted = options.n_workers
        self._adaptive: Adaptive | None = None
        self._waiting: list[tuple[ClientPeer, int]] = []
        self._restarting: set[int] = set()
        self._failed_starts = 0
        self._next_number = 0

    def start(self, nursery: Nursery) -> None:
        """Start the first workers."""
        self.nursery = nursery
        self._approach_wanted()

    def join(self, ready: messages.WorkerReady, writer: asyncio.StreamWriter) -> WorkerPeer | None:
        """A worker has connected; returns None if it can't be let in."""
        options = self._starting.pop(ready.number, None)
        if options is None:
            return None
        limit = options.memory_limit_bytes
        if limit is not None and ready.rss_bytes > TERMINATE_FRACTION * limit:
            self._on_hopeless(
                f"memory_limit is {format_bytes(limit)} for each worker, but an idle one takes "
                f"{format_bytes(ready.rss_bytes)} already; give it more"
            )
            return None
        state = self._scheduler.worker_joined(ready.number, options.name, options.nthreads)
        worker = self.peers[ready.number] = WorkerPeer(options, writer, ready.pid, state)
        self._failed_starts = 0
        self._chronicle.worker_joined(options, ready.pid)
        if len(self.peers) >= self._options.n_workers:
            self.all_ready.set()
        self._answer_waiting()
        return worker

    def exited(self, number: int, status: str) -> None:
        """A worker's process has ended."""
        if self._starting.pop(number, None) is not None:
            self._failed_starts += 1
            self._chronicle.log("error", f"worker {number} didn't start: {status}", number)
            if self._failed_starts >= MAX_FAILED_STARTS:
                self._on_hopeless(f"{MAX_FAILED_STARTS} workers in a row didn't start: {status}")
                return
        elif (worker := self.peers.pop(number, None)) is not None:
            self._lose(worker, worker.ending or status)
        self._approach_wanted()

    def _lose(self, worker: WorkerPeer, reason: str) -> None:
        self._restarting.discard(worker.number)
        level = "info" if worker.expected else "error"
        text = f"worker {worker.options.name} (pid {worker.pid}) is gone: {reason}"
        self._chronicle.log(level, text, worker.number)
        self._chronicle.worker_left(worker.number, reason)
        worker.writer.close()
        self._on_lost(worker, reason)

    def scale(self, n_workers: int) -> None:
        """Start workers, or retire the youngest, until there are `n_workers`. Ends adaptive scaling."""
        self._adaptive = None
        self._approach(n_workers)

    def adapt(self, adaptive: Adaptive) -> None:
        """Let the number of workers follow the work from now on."""
        self._adaptive = adaptive

    def follow_work(self, now_s: float) -> bool:
        """Scale as adaptive scaling wants it; return whether that changed anything."""
        if self._adaptive is None:
            return False
        counts = [layer.counts for layer in self._scheduler.layers.values()]
        n_tasks = sum(count[State.READY] + count[State.STAGING] + count[State.RUNNING] for count in counts)
        target = self._adaptive.target(self._n_wanted, n_tasks, self._options.threads_per_worker, now_s)
        if target == self._n_wanted:
            return False
        self._chronicle.log("info", f"adaptive scaling: {self._n_wanted} -> {target} workers")
        self._approach(target)
        return True

    def restart(self) -> None:
        """Replace all workers by new ones."""
        for number, worker in self.peers.items():
            worker.ending, worker.expected = "restarted", True
            self._restarting.add(number)
            self.nursery.kill(worker.pid)

    def answer_when_settled(self, client: ClientPeer, request: int) -> None:
        """Tell a client once there are as many workers as are wanted."""
        self._waiting.append((client, request))
        self._answer_waiting()

    def enforce_limit(self, worker: WorkerPeer, sample: messages.Sample) -> None:
        """End a worker that has taken too much memory: its tasks run again elsewhere."""
        limit = worker.options.memory_limit_bytes
        own_bytes = sample.rss_bytes - worker.shared_bytes
        if limit is not None and not worker.ending and own_bytes > TERMINATE_FRACTION * limit:
            worker.ending = (
                f"it took {own_bytes / 2**20:.0f} MiB of memory, over {TERMINATE_FRACTION:.0%} of its limit of "
                f"{limit / 2**20:.0f} MiB"
            )
            self.nursery.kill(worker.pid)

    def _approach(self, n_workers: int) -> None:
        self._n_wanted = n_workers
        staying = [number for number, worker in sorted(self.peers.items()) if not worker.state.retiring]
        for number in staying[max(0, n_workers - len(self._starting)) :]:
            self.peers[number].ending = "retired"
            self.peers[number].expected = True
            self._scheduler.retire(number)
        self._approach_wanted()

    def _approach_wanted(self) -> None:
        """Start the workers that are missing."""
        staying = sum(not worker.state.retiring for worker in self.peers.values())
        for _ in range(self._n_wanted - staying - len(self._starting)):
            self._spawn()
        self._answer_waiting()

    def _spawn(self) -> None:
        number, self._next_number = self._next_number, self._next_number + 1
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
        self.nursery.spawn(options)

    def _answer_waiting(self) -> None:
        if len(self.peers) == self._n_wanted and not self._starting and not self._restarting:
            waiting, self._waiting = self._waiting, []
            for client, request in waiting:
                client.tell(messages.Done(request))
