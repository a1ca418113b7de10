"""`TaskState` and `WorkerState`: what the scheduler knows of a task, and of a worker."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any

from glassloom.graph.keys import Key, key_index
from glassloom.scheduler.layers import Layer
from glassloom.scheduler.ready_queue import ReadyQueue
from glassloom.scheduler.states import NO_PRESSURE, PAUSED, RELEASED, State

NO_WORKER = -1
NO_ROW = -1
DEATHS_ALLOWED = 3
"""A task whose worker died this often is blamed for it."""
LOSSES_ALLOWED = 3
"""A task whose result couldn't be read so often, where every process reads it, isn't run again."""
PREFETCH_S = 0.010
"""How much work a worker's thread has queued, so that it doesn't wait for the head between short tasks."""
MAX_QUEUED = 1000
_SHORTEST_S = 1e-7
PLACE_BITS = 64
"""Bits of a place among those of its priority: see `fairness`."""
_turn = attrgetter("turn")


class Places:
    """The places that one client's tasks of one priority have got, from one that was to be reached on: see `fairness`."""

    __slots__ = ("_is_kept", "first")

    def __init__(self, first: int) -> None:
        self.first = first
        self._is_kept = bytearray()
        """Of each place from `first` on: 1, or 0 if it was given up. The last is 1."""

    @property
    def end(self) -> int:
        """The place after the last one that wasn't given up."""
        return self.first + len(self._is_kept)

    def extend(self, next_place: int, n_places: int) -> int:
        """Add so many places after the last one, but not before `next_place`, which is to be reached; return the first."""
        n_reached = next_place - self.first
        if n_reached >= len(self._is_kept):
            self.first = next_place
            self._is_kept.clear()
        elif n_reached > len(self._is_kept) // 2:  # so that what is moved costs no more than what is forgotten
            self.first = next_place
            del self._is_kept[:n_reached]
        start = self.end
        self._is_kept += b"\1" * n_places
        return start

    def give_up(self, place: int, n_places: int = 1) -> None:
        """The tasks of places that follow each other won't run."""
        start, stop = max(0, place - self.first), min(place + n_places - self.first, len(self._is_kept))
        if start < stop:
            self._is_kept[start:stop] = bytes(stop - start)
            if stop == len(self._is_kept):
                del self._is_kept[self._is_kept.rfind(1) + 1 :]


class TaskState:
    """A task as the scheduler sees it: what it is stays opaque in `spec`.

    ``where`` is the worker that holds the result privately; ``location`` says how every process can reach it
    (inline bytes or shared memory), opaque too. A held result has one or both.
    """

    __slots__ = (
        "attempt",
        "producer",
        "ready_s",
        "row",
        "sent_number",
        "sent_s",
        "restrictions",
        "dependents",
        "deps",
        "error",
        "estimate_s",
        "key",
        "layer",
        "shared_location",
        "n_deaths",
        "n_staging",
        "n_awaited",
        "n_missing_inputs",
        "nbytes",
        "number",
        "own_origin",
        "pinned",
        "priority",
        "reads",
        "retries",
        "spec",
        "stamp",
        "state",
        "n_live_dependents",
        "clients",
        "publisher",
        "was_held",
        "owner",
        "places",
        "worker",
    )

    def __init__(self, number: int, key: Key, layer: Layer, state: State = RELEASED) -> None:
        self.number = number
        self.key = key
        self.layer = layer
        self.spec: Any = None
        self.restrictions: Any = None
        """A `Restrictions`, or None if any worker may run it."""
        self.own_origin = ""
        """The user's line that built it, if it isn't that of its layer."""
        self.state = state
        self.deps: tuple[TaskState, ...] = ()
        self.reads: list[Any] | None = None
        """All that it reads, in order, if slices of blocks are among it (`TaskSlice`); then `deps` are the others. See `read`."""
        self.dependents: dict[Any, None] | None = None
        """Known tasks that read the result, and blocks of such tasks (`TaskBlock`)."""
        self.n_missing_inputs = 0
        """Of a WAITING task: dependencies that are not held."""
        self.n_awaited = 0
        """Of a RUNNING task that was sent ahead of its inputs: dependencies that are not held yet."""
        self.n_staging = 0
        """Dependencies that are still being published."""
        self.n_live_dependents = 0
        """Dependents that are under way and will read the result."""
        self.clients: tuple[Any, ...] = ()
        """Who wants the result; see `ClientTable`."""
        self.priority = 0
        self.places: Places | None = None
        """Those of the client that is charged for it; `priority` is among them."""
        self.stamp = 0
        self.retries = 0
        self.n_deaths = 0
        self.nbytes = 0
        self.worker: WorkerState | None = None
        """Where it is staged or running."""
        self.owner: WorkerState | None = None
        self.shared_location: Any = None
        self.publisher: WorkerState | None = None
        """The worker that has put the result where every process can reach it, and still has its own copy."""
        self.was_held = False
        """There was a result, and it was let go."""
        self.pinned = False
        """The result cannot be sent anywhere: its consumers must run where it is."""
        self.error: Any = None
        self.estimate_s = 0.0
        self.attempt = 1
        """Which run of it this is."""
        self.ready_s = self.sent_s = math.nan
        """When all inputs were held, and when it was last sent: `Scheduler.now_s` then."""
        self.sent_number = -1
        """Which of all sendings was its last one; slices are sent together."""
        self.producer = NO_WORKER
        """Number of the worker that made the result."""
        self.row = NO_ROW
        """Number of the row that tells in the metrics of the run that made the result; the runtime sets it."""

    def __repr__(self) -> str:
        return f"<TaskState {self.key!r} {self.state.name.lower()}>"

    def __lt__(self, other: TaskState) -> bool:
        return self.number < other.number

    @property
    def origin(self) -> str:
        """The user's line that built the task, as text."""
        return self.own_origin or self.layer.origin

    @property
    def index(self) -> str:
        """What tells the task from the others of its layer."""
        return key_index(self.key)

    @property
    def turn(self) -> tuple[int, int, int]:
        """What orders the tasks that were sent to a worker as it begins them: priorities over 0 first, then as they came."""
        return min(0, self.priority >> PLACE_BITS), self.sent_number, self.number

    def read(self, items: list[Any]) -> None:
        """Set what the task reads, in order: tasks and slices of blocks."""
        self.deps = tuple([item for item in items if type(item) is TaskState])
        self.reads = None if len(self.deps) == len(items) else items

    @property
    def freed_in_slices_bytes(self) -> int:
        """How many bytes of results in slices of blocks nobody needs any more once the task has run."""
        return sum([item.freed_bytes for item in self.reads or () if type(item) is not TaskState])

    def add_dependent(self, dependent: Any) -> None:
        """Note a task, or a block, that reads the result."""
        if self.dependents is None:
            self.dependents = {}
        self.dependents[dependent] = None

    @property
    def is_needed(self) -> bool:
        """Whether a client or a task under way wants the result."""
        return bool(self.clients) or self.n_live_dependents > 0

    @property
    def is_on_last_chance(self) -> bool:
        """Whether the task will be blamed if its worker dies once more."""
        return self.n_deaths == DEATHS_ALLOWED - 1


class WorkerState:
    """A worker as the scheduler sees it."""

    __slots__ = (
        "asked_back",
        "claims",
        "free",
        "has",
        "is_slow",
        "n_ahead",
        "n_finished",
        "n_held_in_blocks",
        "n_in_blocks",
        "n_queued_before",
        "name",
        "nthreads",
        "number",
        "occupancy_s",
        "pressure",
        "publishing",
        "prefetch_s",
        "ready",
        "reserved",
        "resources",
        "retiring",
        "running",
        "seceded",
        "stopping",
    )

    def __init__(
        self,
        number: int,
        name: str,
        nthreads: int,
        resources: dict[str, float] | None = None,
        prefetch_s: float = PREFETCH_S,
    ) -> None:
        self.number = number
        self.name = name
        self.nthreads = nthreads
        self.prefetch_s = prefetch_s
        """How much work each of its threads has queued."""
        self.resources = dict(resources or {})
        self.free = dict(self.resources)
        """Resources that no task takes up."""
        self.claims: dict[int, tuple[tuple[str, float], ...]] = {}
        """Resources of tasks that run or are stopping, by number."""
        self.running: dict[TaskState, None] = {}
        """Sent to it or being staged for it; without those in blocks."""
        self.n_in_blocks = 0
        """Tasks in blocks that were sent to it."""
        self.stopping: dict[int, TaskState] = {}
        """Tasks by number that nobody needs any more, but that it hasn't answered for."""
        self.seceded: set[int] = set()
        """Numbers of those, running or stopping, that wait for other tasks and leave their thread to them."""
        self.n_ahead = 0
        """How many of those that run were sent ahead, and wait for the result of another that runs there."""
        self.asked_back: set[int] = set()
        """Numbers of those that it was asked to give back if it hasn't begun them."""
        self.has: dict[TaskState, None] = {}
        """Results that only it holds; without those in blocks."""
        self.n_held_in_blocks = 0
        """Results in blocks that only it holds."""
        self.publishing: dict[TaskState, None] = {}
        """Results that it was asked to publish."""
        self.ready: ReadyQueue[TaskState] = ReadyQueue()
        """Tasks that would best run here."""
        self.occupancy_s = 0.0
        """Expected duration of what is running."""
        self.n_finished = 0
        """Tasks that it has finished since it was last looked at: see `Placement.rebalance`."""
        self.n_queued_before = 0
        """Tasks that none of its threads had begun when it was last looked at."""
        self.is_slow = False
        """Its tasks take longer than was expected: none is queued there."""
        self.reserved = False
        """It runs a task that must be alone."""
        self.retiring = False
        """It gets no more tasks, and is stopped when nothing is on it that only it has."""
        self.pressure = NO_PRESSURE

    def __repr__(self) -> str:
        return f"<WorkerState {self.name} running={self.n_running} has={self.n_held}>"

    @property
    def n_running(self) -> int:
        """Tasks that were sent to it, or are being staged for it."""
        return len(self.running) + self.n_in_blocks

    def running_in_turn(self) -> list[TaskState]:
        """Return what is `running` in the order in which it begins them. Tasks come there also as they leave their blocks."""
        return sorted(self.running, key=_turn)

    @property
    def n_held(self) -> int:
        """Results that only it has."""
        return len(self.has) + self.n_held_in_blocks

    @property
    def n_busy(self) -> int:
        """Tasks that it was sent and that take a thread, or will."""
        return len(self.running) + self.n_in_blocks + len(self.stopping) - len(self.seceded) - self.n_ahead

    def has_room(self) -> bool:
        """Tell whether the worker may be given a task."""
        if self.retiring or self.reserved or self.pressure is PAUSED:
            return False
        # As `n_busy`, which would cost a call for each task.
        n_busy = len(self.running) + self.n_in_blocks + len(self.stopping) - len(self.seceded) - self.n_ahead
        return n_busy < self.nthreads or self.has_room_for_more()

    def has_room_for_more(self) -> bool:
        """Tell whether the worker may have tasks queued that none of its threads can begin yet."""
        return (
            self.occupancy_s < self.prefetch_s * self.nthreads
            and len(self.running) + self.n_in_blocks < MAX_QUEUED
            and not self.stopping  # a task that was stopped may never end: nothing shall wait behind it
            and not self.is_slow
            and not self.retiring
            and not self.reserved
        )

    def room(self, estimate_s: float) -> int:
        """Return how many tasks of this expected duration a worker that has room may be given now, at least 1."""
        n_more = 0
        if self.has_room_for_more():
            spare_s = self.prefetch_s * self.nthreads - self.occupancy_s
            n_more = min(MAX_QUEUED - self.n_running, int(spare_s / max(estimate_s, _SHORTEST_S)) + 1)
        return max(1, self.nthreads - self.n_busy, n_more)

    def leave(self, task: TaskState) -> None:
        """Take a task off the worker, which has answered for it, or needn't."""
        self.running.pop(task, None)
        if task.n_awaited:
            task.n_awaited = 0
            self.n_ahead -= 1
        if self.seceded:
            self.seceded.discard(task.number)
        if self.asked_back:
            self.asked_back.discard(task.number)
        if self.claims:
            self.unclaim(task.number)
        self.occupancy_s = max(0.0, self.occupancy_s - task.estimate_s) if self.n_running else 0.0
        if self.reserved and task.is_on_last_chance:
            self.reserved = False
        task.worker = None

    def claim(self, number: int, resources: tuple[tuple[str, float], ...]) -> None:
        """Let a task take up resources."""
        self.claims[number] = resources
        for name, amount in resources:
            self.free[name] -= amount

    def unclaim(self, number: int) -> None:
        """Free a task's resources."""
        for name, amount in self.claims.pop(number, ()):
            self.free[name] += amount
        if not self.claims:
            self.free = dict(self.resources)  # without what rounding has left
