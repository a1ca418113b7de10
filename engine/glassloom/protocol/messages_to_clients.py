"""What the head says to clients: see `messages`."""

from __future__ import annotations

import msgspec

from glassloom.graph.keys import Key
from glassloom.protocol.coordination import Outcome
from glassloom.protocol.failure import Failure
from glassloom.protocol.message import Message
from glassloom.protocol.worker_messages import DeviceReport
from glassloom.store.device_account import DeviceAccount
from glassloom.store.segment import Location

# `handled` of what is said about keys: how many messages of the client the head had handled by then. What it says of a key
# is about the task that it knew then, not about one that the client has submitted meanwhile under the same key.


class WorkerInfo(msgspec.Struct, frozen=True):
    number: int
    name: str
    pid: int
    nthreads: int
    memory_limit_bytes: int | None
    rss_bytes: int
    managed_bytes: int
    spilled_bytes: int
    shared_bytes: int
    cpu_percent: float
    running: int
    has: int
    baseline_bytes: int = 0
    """What the process had to itself when it started."""
    unmanaged_bytes: int = 0
    """What it takes besides results, as the dashboards count it: resident, less its results and those that it has shared."""
    pressure: str = "none"
    """How short of memory it is: ``"none"``, ``"high"`` or ``"paused"``."""
    resources: dict[str, float] = {}
    """What tasks can ask for of it."""
    device: DeviceReport | None = None
    device_account: DeviceAccount | None = None


class Info(Message, frozen=True, tag="info"):
    request: int
    workers: list[WorkerInfo]
    tasks: dict[str, int]
    n_wanted: int
    is_adaptive: bool
    cluster_name: str = ""
    """What the cluster is called now."""


UNASKED = -1
"""The request that an `Info` answers which nobody has asked for: the head sends one when workers have come or gone, and
when the cluster was renamed."""


class Welcome(Message, frozen=True, tag="welcome"):
    cluster_id: str
    cluster_name: str
    directory: str
    shm_prefix: str
    client: int
    info: Info
    """How the workers are now."""


class KeysFinished(Message, frozen=True, tag="keys-finished"):
    """Results are held; small ones come along."""

    keys: list[Key]
    nbytes: list[int]
    inline: list[bytes | None]
    handled: int


class KeyErred(Message, frozen=True, tag="key-erred"):
    key: Key
    failure: Failure
    handled: int


class KeysCancelled(Message, frozen=True, tag="keys-cancelled"):
    keys: list[Key]
    handled: int


class SubmitRefused(Message, frozen=True, tag="submit-refused"):
    """A graph was not taken; none of its keys will come."""

    keys: list[Key]
    failure: Failure
    handled: int


class Located(Message, frozen=True, tag="located"):
    """Where results can be reached; a failure for those that can't be."""

    request: int
    locations: list[Location | Failure]


class ClientOutput(Message, frozen=True, tag="client-output"):
    """Lines that tasks of a worker have printed or logged: see `TaskOutput`. For clients that want the topic ``task-output``.

    Numbers rise from message to message. A message has the same number for all clients, so that a process that has several
    prints it once.
    """

    worker: str
    streams: list[str]
    texts: list[str]
    number: int


class WorkerLogs(Message, frozen=True, tag="worker-logs"):
    """The last lines of each worker, oldest first: stream and text."""

    request: int
    lines: dict[str, list[tuple[str, str]]]


class RanOnWorkers(Message, frozen=True, tag="ran-on-workers"):
    request: int
    workers: list[str]
    results: list[bytes | Failure]


class RanOnHead(Message, frozen=True, tag="ran-on-head"):
    """A pickled result, what the function raised, or why there is neither."""

    request: int
    result: bytes | None
    failure: Failure | None
    reason: str
    timed_out: bool


class Ack(Message, frozen=True, tag="ack"):
    """What was asked for has happened."""

    request: int


class Holdings(Message, frozen=True, tag="holdings"):
    """Held results: key, bytes, and the name of the worker that holds it privately (None: all can reach it).

    Of a result that several workers hold, each has a row: on clusters of dask.distributed.
    """

    request: int
    keys: list[Key]
    nbytes: list[int]
    workers: list[str | None]


TASK_STATES = ("unknown", "pending", "running", "failed", "held", "in memory", "shared", "spilled")
"""What `TaskStates` tells: ``"held"`` is a result where the task has left it, ``"in memory"`` one that has come to host memory
from a device or the disk, ``"shared"`` one that all processes reach, ``"spilled"`` one on disk."""


class TaskStates(Message, frozen=True, tag="task-states"):
    """How tasks stand: of each key that was asked for, in that order, a byte, its place in `TASK_STATES`."""

    request: int
    states: bytes


class TaskEvent(msgspec.Struct, array_like=True, frozen=True):
    """Something that happened to a task: when (seconds since the epoch), a word for programs, a sentence for people."""

    at_s: float
    what: str
    text: str
    worker: str = ""


class Story(Message, frozen=True, tag="story"):
    """How a task stands, what it waits for, and what is still known of what has happened to it."""

    request: int
    state: str
    explanation: str
    origin: str
    events: list[TaskEvent]
    forgotten_before_s: float


class CancelledAll(Message, frozen=True, tag="cancelled-all"):
    """So many tasks were given up."""

    request: int
    n_tasks: int


class WorkerTasks(msgspec.Struct, array_like=True, frozen=True):
    """The tasks that a worker was sent and hasn't finished, in that order."""

    worker: str
    number: int
    pid: int
    numbers: list[int]
    keys: list[Key]


class Processing(Message, frozen=True, tag="processing"):
    """What the workers are at."""

    request: int
    workers: list[WorkerTasks]


class CoordinationReply(Message, frozen=True, tag="coordination-reply"):
    """What came of a `Coordinate`."""

    request: int
    outcome: Outcome


class Ended(Message, frozen=True, tag="ended"):
    """The cluster ends, and why. Nothing comes after it."""

    reason: str


FromHead = (
    Welcome
    | Ended
    | KeysFinished
    | KeyErred
    | KeysCancelled
    | SubmitRefused
    | Located
    | Info
    | ClientOutput
    | WorkerLogs
    | RanOnWorkers
    | RanOnHead
    | Ack
    | Holdings
    | TaskStates
    | Story
    | Processing
    | CancelledAll
    | CoordinationReply
)
