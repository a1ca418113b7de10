"""What the scheduler knows of tasks, layers and workers. Data only; `core` decides."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from glassloom.graph.keys import Key, key_index

UNKNOWN_DURATION_S = 0.5
_SMOOTHING = 0.3
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


class Layer:
    """Tasks of one operation: what progress is counted by, and durations are learnt from."""

    __slots__ = ("counts", "duration_s", "label", "n_failed", "n_released", "name", "number", "origin", "total")

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

    def count(self, state: State, change: int) -> None:
        """Count tasks that come to the layer, or leave it."""
        self.total += change
        self.counts[state] += change

    def learn_duration(self, duration_s: float) -> None:
        """Take one more measurement into the moving average."""
        if self.duration_s == UNKNOWN_DURATION_S:
            self.duration_s = duration_s
        else:
            self.duration_s += _SMOOTHING * (duration_s - self.duration_s)


class TaskState:
    """A task as the scheduler sees it: what it is stays opaque in `spec`.

    ``where`` is the worker that holds the result privately; ``location`` says how every process can reach it
    (inline bytes or shared memory), opaque too. A held result has one or both.
    """

    __slots__ = (
        "dependents",
        "deps",
        "error",
        "estimate_s",
        "key",
        "layer",
        "location",
        "n_deaths",
        "n_staging",
        "n_waiting",
        "nbytes",
        "number",
        "own_origin",
        "pinned",
        "priority",
        "retries",
        "spec",
        "stamp",
        "state",
        "waiters",
        "wanted_by",
        "was_held",
        "where",
        "worker",
    )

    def __init__(self, number: int, key: Key, layer: Layer) -> None:
        self.number = number
        self.key = key
        self.layer = layer
        self.spec: Any = None
        self.own_origin = ""
        """The user's line that built it, if it isn't that of its layer."""
        self.state = State.RELEASED
        self.deps: tuple[TaskState, ...] = ()
        self.dependents: dict[TaskState, None] | None = None
        self.n_waiting = 0
        """Dependencies that are not held yet."""
        self.n_staging = 0
        """Dependencies that are still being published."""
        self.waiters = 0
        """Dependents that are under way and will read the result."""
        self.wanted_by: set[Any] | None = None
        self.priority = 0
        self.stamp = 0
        self.retries = 0
        self.n_deaths = 0
        self.nbytes = 0
        self.worker: WorkerState | None = None
        """Where it is staged or running."""
        self.where: WorkerState | None = None
        self.location: Any = None
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
    def needed(self) -> bool:
        """Whether a client or a task under way wants the result."""
        return bool(self.wanted_by) or self.waiters > 0


class WorkerState:
    """A worker as the scheduler sees it."""

    __slots__ = (
        "has",
        "name",
        "nthreads",
        "number",
        "occupancy_s",
        "publishing",
        "ready",
        "reserved",
        "retiring",
        "running",
        "stopping",
    )

    def __init__(self, number: int, name: str, nthreads: int) -> None:
        self.number = number
        self.name = name
        self.nthreads = nthreads
        self.running: dict[TaskState, None] = {}
        """Sent to it or being staged for it."""
        self.stopping: dict[int, TaskState] = {}
        """Tasks by number that nobody needs any more, but that it hasn't answered for."""
        self.has: dict[TaskState, None] = {}
        """Results that only it holds."""
        self.publishing: dict[TaskState, None] = {}
        """Results that it was asked to publish."""
        self.ready: list[tuple[int, int, TaskState]] = []
        """Heap of tasks that would best run here."""
        self.occupancy_s = 0.0
        """Expected duration of what is running."""
        self.reserved = False
        """It runs a task that must be alone."""
        self.retiring = False
        """It gets no more tasks, and is stopped when nothing is on it that only it has."""

    def __repr__(self) -> str:
        return f"<WorkerState {self.name} running={len(self.running)} has={len(self.has)}>"
