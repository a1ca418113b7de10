"""What the scheduler knows of tasks, layers and workers, and in which queues tasks wait. `Scheduler` decides."""

from __future__ import annotations

import heapq
from collections import deque
from enum import IntEnum
from typing import Any

from glassloom.graph.keys import Key, key_index

UNKNOWN_DURATION_S = 0.5
DEATHS_ALLOWED = 3
"""A task whose worker died this often is blamed for it."""
_SMOOTHING = 0.3
NEGLIGIBLE_BYTES = 4096
"""A result that is larger than what its task frees by no more than this doesn't count as growth."""
DATA_LAYER = -1
"""Number of the layer of values that clients hand in: they are no tasks, and no progress is counted by them."""


class State(IntEnum):
    """Where a task is on its way."""

    RELEASED = 0
    """Known, but neither held nor under way."""
    WAITING = 1
    """Some dependencies are not there yet."""
    READY = 2
    """Can run; held back at the head until a worker has room."""
    STAGING = 3
    """Given to a worker; a dependency is still being published for it."""
    RUNNING = 4
    """Sent to a worker."""
    MEMORY = 5
    """The result is held."""
    ERRED = 6
    """Failed for good, or something that it needs did."""
    FORGOTTEN = 7
    """Nobody needs it any more."""


RELEASED, WAITING, READY, STAGING, RUNNING, MEMORY, ERRED, FORGOTTEN = State
"""The states by themselves: looking them up in the class costs a tenth of the scheduler's time."""
UNDER_WAY = frozenset([WAITING, READY, STAGING, RUNNING])


class Pressure(IntEnum):
    """How short a worker is of memory."""

    NONE = 0
    HIGH = 1
    """It gets only tasks that are expected to free more memory than they take."""
    PAUSED = 2
    """It gets no tasks."""


NO_PRESSURE, HIGH_PRESSURE, PAUSED = Pressure
"""By themselves, as the states are, and for the same reason."""


class Layer:
    """Tasks of one operation: what progress is counted by, and durations and sizes are learnt from."""

    __slots__ = (
        "counts",
        "duration_s",
        "label",
        "n_failed",
        "n_released",
        "name",
        "nbytes",
        "number",
        "origin",
        "total",
    )

    def __init__(self, number: int, name: str, label: str, origin: str) -> None:
        self.number = number
        self.name = name
        self.label = label
        self.origin = origin
        self.total = 0
        self.counts = [0] * len(State)
        self.n_released = 0
        """Tasks whose result was held once and isn't any more, forgotten ones too; those given up before are no part."""
        self.n_failed = 0
        """Forgotten tasks that had failed."""
        self.duration_s = UNKNOWN_DURATION_S
        self.nbytes: float | None = None
        """Size of a result, on average; None: there was none yet."""

    def count(self, state: State, change: int) -> None:
        """Count tasks that come to the layer, or leave it."""
        self.total += change
        self.counts[state] += change

    def learn(self, duration_s: float, nbytes: int) -> None:
        """Take one more measurement into the moving averages."""
        if self.nbytes is None:
            self.duration_s, self.nbytes = duration_s, nbytes
        else:
            self.duration_s += _SMOOTHING * (duration_s - self.duration_s)
            self.nbytes += _SMOOTHING * (nbytes - self.nbytes)


class TaskState:
    """A task as the scheduler sees it: what it is stays opaque in `spec`.

    ``where`` is the worker that holds the result privately; ``location`` says how every process can reach it
    (inline bytes or shared memory), opaque too. A held result has one or both.
    """

    __slots__ = (
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
        "n_missing_inputs",
        "nbytes",
        "number",
        "own_origin",
        "pinned",
        "priority",
        "retries",
        "spec",
        "stamp",
        "state",
        "n_live_dependents",
        "clients",
        "was_held",
        "owner",
        "worker",
    )

    def __init__(self, number: int, key: Key, layer: Layer) -> None:
        self.number = number
        self.key = key
        self.layer = layer
        self.spec: Any = None
        self.restrictions: Any = None
        """A `Restrictions`, or None if any worker may run it."""
        self.own_origin = ""
        """The user's line that built it, if it isn't that of its layer."""
        self.state = RELEASED
        self.deps: tuple[TaskState, ...] = ()
        self.dependents: dict[TaskState, None] | None = None
        self.n_missing_inputs = 0
        """Dependencies that are not held yet; of a running task, those that it was sent ahead of."""
        self.n_staging = 0
        """Dependencies that are still being published."""
        self.n_live_dependents = 0
        """Dependents that are under way and will read the result."""
        self.clients: set[Any] | None = None
        self.priority = 0
        self.stamp = 0
        self.retries = 0
        self.n_deaths = 0
        self.nbytes = 0
        self.worker: WorkerState | None = None
        """Where it is staged or running."""
        self.owner: WorkerState | None = None
        self.shared_location: Any = None
        self.was_held = False
        """There was a result, and it was let go."""
        self.pinned = False
        """The result cannot be sent anywhere: its consumers must run where it is."""
        self.error: Any = None
        self.estimate_s = 0.0

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
    def is_needed(self) -> bool:
        """Whether a client or a task under way wants the result."""
        return bool(self.clients) or self.n_live_dependents > 0

    @property
    def is_on_last_chance(self) -> bool:
        """Whether the task will be blamed if its worker dies once more."""
        return self.n_deaths == DEATHS_ALLOWED - 1


Entry = tuple[int, int, TaskState]
"""Priority, stamp, task: an entry counts as long as its task is READY and has that stamp."""


class ReadyQueue:
    """Ready tasks, best first. Entries whose task has moved on are thrown away when they come to the top.

    Those that come in their order, as independent tasks do, wait in a line, which costs a tenth of a heap; the others in a heap.
    """

    __slots__ = ("_heap", "_held_back", "_line")

    def __init__(self) -> None:
        self._line: deque[Entry] = deque()
        self._heap: list[Entry] = []
        self._held_back: list[Entry] = []
        """Tasks that a worker short of memory has passed over; any other worker may take them."""

    def __len__(self) -> int:
        return len(self._line) + len(self._heap) + len(self._held_back)

    def push(self, task: TaskState) -> None:
        """Add a task that has just become ready."""
        entry = task.priority, task.stamp, task
        line = self._line
        if not line or line[-1] < entry:
            line.append(entry)
        else:
            heapq.heappush(self._heap, entry)

    def first(self, shrinking: bool) -> Entry | None:
        """Return the best entry; with `shrinking`, the best of those that don't need more memory than they free."""
        best = self._best()
        if shrinking:
            while best is not None and would_grow_memory(best[2]):
                self.take(best)
                heapq.heappush(self._held_back, best)
                best = self._best()
            return best
        if self._held_back:
            held_back = _top(self._held_back)
            if held_back is not None and (best is None or held_back < best):
                return held_back
        return best

    def take(self, entry: Entry) -> TaskState:
        """Remove what `first` has just returned."""
        if self._line and self._line[0] is entry:
            self._line.popleft()
        else:
            heapq.heappop(self._heap if self._heap and self._heap[0] is entry else self._held_back)
        return entry[2]

    def take_all(self) -> list[TaskState]:
        """Empty the queue; return its tasks."""
        entries = [*self._line, *self._heap, *self._held_back]
        self._line.clear()
        self._heap, self._held_back = [], []
        return [task for _, stamp, task in entries if task.state is READY and task.stamp == stamp]

    def reconsider(self) -> None:
        """Look again at the tasks that were held back: what they free may have become more."""
        if self._held_back:
            self._heap += self._held_back
            heapq.heapify(self._heap)
            self._held_back = []

    def _best(self) -> Entry | None:
        """Return the best entry of line and heap."""
        line = self._line
        while line and (line[0][2].state is not READY or line[0][2].stamp != line[0][1]):
            line.popleft()
        top = _top(self._heap) if self._heap else None
        if line and (top is None or line[0] < top):
            return line[0]
        return top


def would_grow_memory(task: TaskState) -> bool:
    """Tell whether the task's result is expected to take more memory than is freed by its end.

    What isn't known yet is taken to be large for a task that reads nothing, and to be small for any other.
    """
    expected = task.layer.nbytes
    if expected is None:
        return not task.deps
    freed = 0
    for dep in task.deps:
        if dep.n_live_dependents == 1 and not dep.clients:
            freed += dep.nbytes
    return expected > freed + NEGLIGIBLE_BYTES


def _top(heap: list[Entry]) -> Entry | None:
    while heap:
        entry = heap[0]
        if entry[2].state is READY and entry[2].stamp == entry[1]:
            return entry
        heapq.heappop(heap)
    return None


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
        "name",
        "nthreads",
        "number",
        "occupancy_s",
        "pressure",
        "publishing",
        "ready",
        "reserved",
        "resources",
        "retiring",
        "running",
        "seceded",
        "stopping",
    )

    def __init__(self, number: int, name: str, nthreads: int, resources: dict[str, float] | None = None) -> None:
        self.number = number
        self.name = name
        self.nthreads = nthreads
        self.resources = dict(resources or {})
        self.free = dict(self.resources)
        """Resources that no task takes up."""
        self.claims: dict[int, tuple[tuple[str, float], ...]] = {}
        """Resources of tasks that run or are stopping, by number."""
        self.running: dict[TaskState, None] = {}
        """Sent to it or being staged for it."""
        self.stopping: dict[int, TaskState] = {}
        """Tasks by number that nobody needs any more, but that it hasn't answered for."""
        self.seceded: set[int] = set()
        """Numbers of those, running or stopping, that wait for other tasks and leave their thread to them."""
        self.n_ahead = 0
        """How many of those that run were sent ahead, and wait for the result of another that runs there."""
        self.asked_back: set[int] = set()
        """Numbers of those that it was asked to give back if it hasn't begun them."""
        self.has: dict[TaskState, None] = {}
        """Results that only it holds."""
        self.publishing: dict[TaskState, None] = {}
        """Results that it was asked to publish."""
        self.ready = ReadyQueue()
        """Tasks that would best run here."""
        self.occupancy_s = 0.0
        """Expected duration of what is running."""
        self.n_finished = 0
        """Tasks that it has finished since it was last looked at: see `Placement.rebalance`."""
        self.is_slow = False
        """Its tasks take longer than was expected: none is queued there."""
        self.reserved = False
        """It runs a task that must be alone."""
        self.retiring = False
        """It gets no more tasks, and is stopped when nothing is on it that only it has."""
        self.pressure = NO_PRESSURE

    def __repr__(self) -> str:
        return f"<WorkerState {self.name} running={len(self.running)} has={len(self.has)}>"

    @property
    def n_busy(self) -> int:
        """Tasks that it was sent and that take a thread, or will."""
        return len(self.running) + len(self.stopping) - len(self.seceded) - self.n_ahead
