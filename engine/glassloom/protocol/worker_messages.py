"""What the head and its workers say to each other: see `messages`."""

from __future__ import annotations

import msgspec

from glassloom.protocol.failure import Failure
from glassloom.protocol.message import Message
from glassloom.sampling.taken_samples import TakenSamples
from glassloom.store.device_account import DeviceAccount
from glassloom.store.segment import Location

# Head to worker


class RunTask(msgspec.Struct, array_like=True, frozen=True):
    """One task to run: its number, its call, the pickled literals, and its dependencies.

    A dependency is a number and how to reach its value; None: the worker holds it, or will: a task that was sent to it
    before makes it. What the task submits itself goes before others of its `priority`. The `key` is told to workers with a
    device, which mark their tasks for profilers; else "".
    """

    number: int
    call: int
    literals: bytes
    deps: list[tuple[int, Location | None]]
    priority: int = 0
    key: str = ""


class Calls(Message, frozen=True, tag="calls"):
    """Code, pickled once: calls by number, see `calls.CallEncoder`."""

    calls: dict[int, bytes]


class DropCalls(Message, frozen=True, tag="drop-calls"):
    """No task will use these calls any more."""

    calls: list[int]


class Run(Message, frozen=True, tag="run"):
    tasks: list[RunTask]


class RunSlice(Message, frozen=True, tag="run-slice"):
    """Tasks to run that have consecutive numbers and the same dependencies.

    Attributes
    ----------
    first
        Number of the first task.
    calls
        The call that all of them make, or that of each.
    literals
        Of each task, pickled.
    priority
        As that of `RunTask`.
    deps
        Of each task, as those of `RunTask`; all of them are there.
    keys
        Of each task, as those of `RunTask`; empty if the worker has no device.
    """

    first: int
    calls: int | list[int]
    literals: list[bytes]
    priority: int = 0
    deps: list[tuple[int, Location | None]] = []
    keys: list[str] = []


class Publish(Message, frozen=True, tag="publish"):
    """Put these results where every process can reach them: in shared memory, or on disk if that has its share."""

    numbers: list[int]
    on_disk: bool = False


class Drop(Message, frozen=True, tag="drop"):
    """Nobody will ask for these results any more."""

    numbers: list[int]


class Recall(Message, frozen=True, tag="recall"):
    """Don't begin these tasks if you haven't."""

    numbers: list[int]


class Invoke(Message, frozen=True, tag="invoke"):
    """Call a function beside the tasks and send back what it returns; if `is_setup`, before any task sent later begins."""

    request: int
    call: bytes
    is_setup: bool = False


class Stop(Message, frozen=True, tag="stop"):
    """End the process."""


ToWorker = Calls | DropCalls | Run | RunSlice | Publish | Drop | Recall | Invoke | Stop


# Worker to head


class DeviceReport(msgspec.Struct, array_like=True, frozen=True):
    """Which device a worker has (see `DeviceIdentity`), its memory, and how much of it results may take."""

    kind: str
    uuid: str
    index: int
    name: str
    total_bytes: int
    limit_bytes: int


class WorkerReady(Message, frozen=True, tag="ready"):
    """The worker can run tasks; this is the memory that it takes before the first (see `Sample.own_bytes`)."""

    number: int
    pid: int
    own_bytes: int
    device: DeviceReport | None = None


class Finished(Message, frozen=True, tag="finished"):
    """Results, as columns: made by `finished.finished_message`, read by `finished.FinishedTasks`.

    Attributes
    ----------
    runs
        The tasks' numbers: the first of some that follow each other, how many these are, and so on.
    lanes
        The lane on which all of them ran, or that of each.
    starts_s, stops_s
        When each began and ended, monotonic; packed as `array("d")`.
    nbytes
        The size of all results, or that of each.
    cpu_s, fetch_s, deserialise_s
        How much CPU time each took, and how long it took to get its inputs and to unpickle them: packed as `array("f")`,
        or what is true of all; not a number: unknown.
    results
        The pickles of small ones, None for those that the worker keeps.
    """

    runs: list[int]
    lanes: int | list[int]
    starts_s: bytes
    stops_s: bytes
    nbytes: int | list[int]
    cpu_s: bytes | float
    fetch_s: bytes | float
    deserialise_s: bytes | float
    results: list[bytes | None]


class Failed(Message, frozen=True, tag="failed"):
    number: int
    lane: int
    start_s: float
    stop_s: float
    failure: Failure
    cpu_s: float
    fetch_s: float
    deserialise_s: float


class Published(Message, frozen=True, tag="published"):
    """Where a result can be reached; None and a reason if it can't be."""

    number: int
    location: Location | None
    reason: str
    start_s: float
    stop_s: float


class Recalled(Message, frozen=True, tag="recalled"):
    """Tasks that this worker hasn't begun and won't."""

    numbers: list[int]


class Seceded(Message, frozen=True, tag="seceded"):
    """A running task waits for others: another may run in its place."""

    number: int


class Rejoined(Message, frozen=True, tag="rejoined"):
    """A task that stood aside goes on."""

    number: int


class Invoked(Message, frozen=True, tag="invoked"):
    request: int
    result: bytes | None
    failure: Failure | None


class Sample(Message, frozen=True, tag="sample"):
    at_s: float
    cpu_percent: float
    rss_bytes: int
    managed_bytes: int
    spilled_bytes: int
    executing: int
    queued: int
    own_bytes: int = 0
    """What the process has to itself: resident, without results that it only maps."""
    spillable_bytes: int = 0
    """Memory that spilling could still give back."""
    running: list[tuple[int, int, float]] = []
    """Of tasks that have run for a while the number, the lane, and when that began, monotonic."""
    device: DeviceAccount | None = None


class MemoryPressure(Message, frozen=True, tag="memory-pressure"):
    """Memory has become short, or isn't any more: a `scheduler.Pressure`, and what the process has to itself.

    ``device_bytes`` is what can't move away from its device, if that is what is short; else 0.
    """

    pressure: int
    own_bytes: int
    device_bytes: int = 0


class ResultsLost(Message, frozen=True, tag="results-lost"):
    """Results that only this worker had can't be read any more."""

    numbers: list[int]
    reason: str


class SharedResultLost(Message, frozen=True, tag="shared-result-lost"):
    """A result can't be read where every process reads it."""

    number: int
    location: Location
    reason: str


class WorkerLog(Message, frozen=True, tag="worker-log"):
    """Something that people should know of."""

    text: str
    level: str = "error"


class WorkerCrashed(Message, frozen=True, tag="worker-crashed"):
    """A thread of the engine's own has raised: the worker's process ends, and this is why."""

    reason: str


class TaskOutput(Message, frozen=True, tag="task-output"):
    """Lines that tasks have printed or logged, as columns: the task's number (-1: none's), the stream, text, monotonic time.

    The stream is ``"stdout"``, ``"stderr"`` or the level of a log record, such as ``"warning"``.
    """

    numbers: list[int]
    streams: list[str]
    texts: list[str]
    at_s: list[float]


class StoreEvents(Message, frozen=True, tag="store-events"):
    """Spills, and results that were read from files, as columns: action, result's number, monotonic start and stop, bytes."""

    actions: list[int]
    numbers: list[int]
    starts_s: list[float]
    stops_s: list[float]
    nbytes: list[int]


class DeviceTimes(Message, frozen=True, tag="device-times"):
    """How long tasks took on the worker's device, as columns: the task's number, its monotonic start, seconds.

    The head has been told before that the tasks have ended.
    """

    numbers: list[int]
    starts_s: list[float]
    seconds: list[float]


class ProfileSamples(Message, frozen=True, tag="profile-samples"):
    """What tasks were doing, since the last message of this kind."""

    taken: TakenSamples


FromWorker = (
    WorkerReady
    | Finished
    | Failed
    | Published
    | Recalled
    | Seceded
    | Rejoined
    | Invoked
    | Sample
    | StoreEvents
    | DeviceTimes
    | ProfileSamples
    | MemoryPressure
    | ResultsLost
    | SharedResultLost
    | WorkerLog
    | WorkerCrashed
    | TaskOutput
)
