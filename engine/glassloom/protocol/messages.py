"""What the head, its workers and its clients say to each other: msgpack arrays in length-prefixed frames.

User data and code are opaque bytes here: the head passes them on and never unpickles them.
"""

from __future__ import annotations

import msgspec
from glassloom_metrics.framing import frame

from glassloom.graph.keys import Key
from glassloom.protocol.coordination import Op, Outcome
from glassloom.protocol.failure import Failure
from glassloom.store.segment import Location

_Location = Location | None
OUTPUT_TOPIC = "task-output"
"""The topic of a client's `Connect` that asks for `ClientOutput`."""


PLUGIN_PREFIX = "plugin-"
"""How the names of those setups begin that have something to tear down: see `RunOnWorkers`."""


class _Message(msgspec.Struct, array_like=True, frozen=True):
    pass


# Head to worker


class RunTask(msgspec.Struct, array_like=True, frozen=True):
    """One task to run: its number, its call, the pickled literals, and its dependencies.

    A dependency is a number and how to reach its value; None: the worker holds it, or will: a task that was sent to it
    before makes it. What the task submits itself goes before others of its `priority`.
    """

    number: int
    call: int
    literals: bytes
    deps: list[tuple[int, _Location]]
    priority: int = 0


class Calls(_Message, frozen=True, tag="calls"):
    """Code, pickled once: calls by number, see `calls.CallEncoder`."""

    calls: dict[int, bytes]


class DropCalls(_Message, frozen=True, tag="drop-calls"):
    """No task will use these calls any more."""

    calls: list[int]


class Run(_Message, frozen=True, tag="run"):
    tasks: list[RunTask]


class RunSlice(_Message, frozen=True, tag="run-slice"):
    """Tasks to run that have no dependencies and consecutive numbers.

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
    """

    first: int
    calls: int | list[int]
    literals: list[bytes]
    priority: int = 0


class Publish(_Message, frozen=True, tag="publish"):
    """Put these results where every process can reach them: in shared memory, or on disk if that has its share."""

    numbers: list[int]
    on_disk: bool = False


class Drop(_Message, frozen=True, tag="drop"):
    """Nobody will ask for these results any more."""

    numbers: list[int]


class Recall(_Message, frozen=True, tag="recall"):
    """Don't begin these tasks if you haven't."""

    numbers: list[int]


class Invoke(_Message, frozen=True, tag="invoke"):
    """Call a function beside the tasks and send back what it returns; if `is_setup`, before any task sent later begins."""

    request: int
    call: bytes
    is_setup: bool = False


class Stop(_Message, frozen=True, tag="stop"):
    """End the process."""


ToWorker = Calls | DropCalls | Run | RunSlice | Publish | Drop | Recall | Invoke | Stop


# Worker to head


class WorkerReady(_Message, frozen=True, tag="ready"):
    """The worker can run tasks; this is the memory that it takes before the first (see `Sample.own_bytes`)."""

    number: int
    pid: int
    own_bytes: int


class Finished(_Message, frozen=True, tag="finished"):
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
    results
        The pickles of small ones, None for those that the worker keeps.
    """

    runs: list[int]
    lanes: int | list[int]
    starts_s: bytes
    stops_s: bytes
    nbytes: int | list[int]
    results: list[bytes | None]


class Failed(_Message, frozen=True, tag="failed"):
    number: int
    lane: int
    start_s: float
    stop_s: float
    failure: Failure


class Published(_Message, frozen=True, tag="published"):
    """Where a result can be reached; None and a reason if it can't be."""

    number: int
    location: _Location
    reason: str
    start_s: float
    stop_s: float


class Recalled(_Message, frozen=True, tag="recalled"):
    """Tasks that this worker hasn't begun and won't."""

    numbers: list[int]


class Seceded(_Message, frozen=True, tag="seceded"):
    """A running task waits for others: another may run in its place."""

    number: int


class Rejoined(_Message, frozen=True, tag="rejoined"):
    """A task that stood aside goes on."""

    number: int


class Invoked(_Message, frozen=True, tag="invoked"):
    request: int
    result: bytes | None
    failure: Failure | None


class Sample(_Message, frozen=True, tag="sample"):
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


class MemoryPressure(_Message, frozen=True, tag="memory-pressure"):
    """Memory has become short, or isn't any more: a `scheduler.Pressure`, and what the process has to itself."""

    pressure: int
    own_bytes: int


class ResultsLost(_Message, frozen=True, tag="results-lost"):
    """Results that only this worker had can't be read any more."""

    numbers: list[int]
    reason: str


class SharedResultLost(_Message, frozen=True, tag="shared-result-lost"):
    """A result can't be read where every process reads it."""

    number: int
    location: Location
    reason: str


class WorkerLog(_Message, frozen=True, tag="worker-log"):
    """Something that people should know of."""

    text: str


class WorkerCrashed(_Message, frozen=True, tag="worker-crashed"):
    """A thread of the engine's own has raised: the worker's process ends, and this is why."""

    reason: str


class TaskOutput(_Message, frozen=True, tag="task-output"):
    """Lines that tasks have printed or logged, as columns: the task's number (-1: none's), the stream, text, monotonic time.

    The stream is ``"stdout"``, ``"stderr"`` or the level of a log record, such as ``"warning"``.
    """

    numbers: list[int]
    streams: list[str]
    texts: list[str]
    at_s: list[float]


class StoreEvents(_Message, frozen=True, tag="store-events"):
    """Spills, as columns: action, result's number, monotonic start and stop, bytes."""

    actions: list[int]
    numbers: list[int]
    starts_s: list[float]
    stops_s: list[float]
    nbytes: list[int]


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
    | MemoryPressure
    | ResultsLost
    | SharedResultLost
    | WorkerLog
    | WorkerCrashed
    | TaskOutput
)


# Client to head


class Submit(_Message, frozen=True, tag="submit"):
    """A graph, as columns: see `Scheduler.submit`. ``calls[i]`` is the position of task i's call in ``code``.

    Code is a pickled call, or the number of a `DefineCall` before.
    """

    keys: list[Key]
    calls: list[int]
    literals: list[bytes]
    deps: list[list[int]]
    code: list[bytes | int]
    external: list[Key]
    wanted: list[Key]
    labels: dict[str, tuple[str, str]]
    priority: int = 0
    retries: int = 0
    resources: dict[str, float] = {}
    workers: list[int | str] = []
    allow_other_workers: bool = False
    is_merged: bool = False
    """Whether the tasks were submitted one by one, so that each is refused for itself: see `merging`."""


class DefineCall(_Message, frozen=True, tag="define-call"):
    """The client refers to a pickled call by this number from now on."""

    number: int
    call: bytes


class ForgetCalls(_Message, frozen=True, tag="forget-calls"):
    """The client won't refer to these numbers any more."""

    numbers: list[int]


class Release(_Message, frozen=True, tag="release"):
    keys: list[Key]


class Cancel(_Message, frozen=True, tag="cancel"):
    """Gives tasks up; with `force` even those that others want."""

    keys: list[Key]
    force: bool = False


class CancelAll(_Message, frozen=True, tag="cancel-all"):
    """Gives up all unfinished tasks that the client wants; with `force` those of all clients. Answered by `CancelledAll`."""

    request: int
    force: bool = False


class Retry(_Message, frozen=True, tag="retry"):
    """Tries failed tasks again, with the failed ones that they depend on."""

    keys: list[Key]


class Scatter(_Message, frozen=True, tag="scatter"):
    """Values that the client has placed already."""

    keys: list[Key]
    locations: list[Location]
    nbytes: list[int]


class Locate(_Message, frozen=True, tag="locate"):
    """Asks where results can be reached; answered by `Located`."""

    request: int
    keys: list[Key]


class ReportLost(_Message, frozen=True, tag="report-lost"):
    """Couldn't read a result where the head has `Located` it."""

    key: Key
    location: Location
    reason: str


class GetInfo(_Message, frozen=True, tag="get-info"):
    """Asks for the state of the cluster; answered by `Info`."""

    request: int


class Ping(_Message, frozen=True, tag="ping"):
    """Asks for a sign of life; answered by `Ack`."""

    request: int


class GetWorkerLogs(_Message, frozen=True, tag="get-worker-logs"):
    """Asks for the last `n` lines (None: all that are kept) that tasks of workers have printed; answered by `WorkerLogs`."""

    request: int
    n: int | None
    workers: list[str] | None


class RunOnWorkers(_Message, frozen=True, tag="run-on-workers"):
    """Asks to call a function on workers (None: all), beside the tasks; answered by `RanOnWorkers`.

    With `setup` workers that come later call it too, before their first task; one of the same name takes its place. Later
    workers don't call any more what was known as `forgets`.
    """

    request: int
    call: bytes
    workers: list[int] | None
    setup: str = ""
    forgets: str = ""


class RunOnHead(_Message, frozen=True, tag="run-on-head"):
    """Asks to call a function on a snapshot of the head; answered by `RanOnHead`."""

    request: int
    call: bytes
    timeout_s: float


class Retire(_Message, frozen=True, tag="retire"):
    """Asks to retire these workers, for good. Answered by `Ack` when they are gone."""

    request: int
    workers: list[int]


class Scale(_Message, frozen=True, tag="scale"):
    """Asks for a number of workers; ends adaptive scaling. Answered by `Ack` when they are there, or gone."""

    request: int
    n_workers: int


class Adapt(_Message, frozen=True, tag="adapt"):
    """Lets the number of workers follow the work, between two bounds. Answered by `Ack`."""

    request: int
    minimum: int
    maximum: int
    wait_s: float


class Restart(_Message, frozen=True, tag="restart"):
    """Cancels all tasks, forgets all results, replaces all workers. Answered by `Ack` when new ones are there."""

    request: int


class Shutdown(_Message, frozen=True, tag="shutdown"):
    """Ends the cluster."""


class FireAndForget(_Message, frozen=True, tag="fire-and-forget"):
    """Runs these tasks even if nobody holds a future of them."""

    keys: list[Key]


class Coordinate(_Message, frozen=True, tag="coordinate"):
    """Asks for something that is agreed on by name; answered by `CoordinationReply`, at once or when it can be."""

    request: int
    op: Op


class Withdraw(_Message, frozen=True, tag="withdraw"):
    """Waits no longer for an agreement; with `undo`, what was granted or sent meanwhile isn't wanted either."""

    request: int
    undo: bool


class Claim(_Message, frozen=True, tag="claim"):
    """Has received the parcels that answered a request; the client holds the results in them itself from now on."""

    request: int


NO_MAKER = (-1, 0)
"""The `Attach.maker` of a key that the head has heard of before."""


class Attach(_Message, frozen=True, tag="attach"):
    """Wants the results of keys that it has unpickled, and to be told how their tasks stand.

    ``maker`` is the client that pickled them, and the number of the message in which that asked for them: the head handles
    that message first.
    """

    keys: list[Key]
    maker: tuple[int, int] = NO_MAKER


class WhoHas(_Message, frozen=True, tag="who-has"):
    """Asks which results are held, how large they are and where; answered by `Holdings`."""

    request: int
    keys: list[Key] | None


class GetStory(_Message, frozen=True, tag="get-story"):
    """Asks what has happened to a task, and what it waits for; answered by `Story`."""

    request: int
    key: Key


class GetProcessing(_Message, frozen=True, tag="get-processing"):
    """Asks which tasks the workers were sent and haven't finished; answered by `Processing`."""

    request: int


FromClient = (
    Submit
    | DefineCall
    | ForgetCalls
    | Release
    | Cancel
    | CancelAll
    | Retry
    | Scatter
    | Locate
    | GetInfo
    | GetWorkerLogs
    | Ping
    | RunOnWorkers
    | RunOnHead
    | Retire
    | Scale
    | Adapt
    | Restart
    | FireAndForget
    | WhoHas
    | GetStory
    | GetProcessing
    | Coordinate
    | Withdraw
    | Claim
    | Attach
    | ReportLost
    | Shutdown
)


# Head to client
#
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


class Info(_Message, frozen=True, tag="info"):
    request: int
    workers: list[WorkerInfo]
    tasks: dict[str, int]
    n_wanted: int
    is_adaptive: bool


class Welcome(_Message, frozen=True, tag="welcome"):
    cluster_id: str
    cluster_name: str
    directory: str
    shm_prefix: str
    client: int


class KeysFinished(_Message, frozen=True, tag="keys-finished"):
    """Results are held; small ones come along."""

    keys: list[Key]
    nbytes: list[int]
    inline: list[bytes | None]
    handled: int


class KeyErred(_Message, frozen=True, tag="key-erred"):
    key: Key
    failure: Failure
    handled: int


class KeysCancelled(_Message, frozen=True, tag="keys-cancelled"):
    keys: list[Key]
    handled: int


class SubmitRefused(_Message, frozen=True, tag="submit-refused"):
    """A graph was not taken; none of its keys will come."""

    keys: list[Key]
    failure: Failure
    handled: int


class Located(_Message, frozen=True, tag="located"):
    """Where results can be reached; a failure for those that can't be."""

    request: int
    locations: list[Location | Failure]


class ClientOutput(_Message, frozen=True, tag="client-output"):
    """Lines that tasks of a worker have printed or logged: see `TaskOutput`. For clients that want the topic ``task-output``."""

    worker: str
    streams: list[str]
    texts: list[str]


class WorkerLogs(_Message, frozen=True, tag="worker-logs"):
    """The last lines of each worker, oldest first: stream and text."""

    request: int
    lines: dict[str, list[tuple[str, str]]]


class RanOnWorkers(_Message, frozen=True, tag="ran-on-workers"):
    request: int
    workers: list[str]
    results: list[bytes | Failure]


class RanOnHead(_Message, frozen=True, tag="ran-on-head"):
    """A pickled result, what the function raised, or why there is neither."""

    request: int
    result: bytes | None
    failure: Failure | None
    reason: str
    timed_out: bool


class Ack(_Message, frozen=True, tag="ack"):
    """What was asked for has happened."""

    request: int


class Holdings(_Message, frozen=True, tag="holdings"):
    """Held results: key, bytes, and the name of the worker that holds it privately (None: all can reach it)."""

    request: int
    keys: list[Key]
    nbytes: list[int]
    workers: list[str | None]


class TaskEvent(msgspec.Struct, array_like=True, frozen=True):
    """Something that happened to a task: when (seconds since the epoch), a word for programs, a sentence for people."""

    at_s: float
    what: str
    text: str
    worker: str = ""


class Story(_Message, frozen=True, tag="story"):
    """How a task stands, what it waits for, and what is still known of what has happened to it."""

    request: int
    state: str
    explanation: str
    origin: str
    events: list[TaskEvent]
    forgotten_before_s: float


class CancelledAll(_Message, frozen=True, tag="cancelled-all"):
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


class Processing(_Message, frozen=True, tag="processing"):
    """What the workers are at."""

    request: int
    workers: list[WorkerTasks]


class CoordinationReply(_Message, frozen=True, tag="coordination-reply"):
    """What came of a `Coordinate`."""

    request: int
    outcome: Outcome


class Ended(_Message, frozen=True, tag="ended"):
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
    | Story
    | Processing
    | CancelledAll
    | CoordinationReply
)

_encoder = msgspec.msgpack.Encoder()
to_worker_decoder: msgspec.msgpack.Decoder[ToWorker] = msgspec.msgpack.Decoder(ToWorker)
from_worker_decoder: msgspec.msgpack.Decoder[FromWorker] = msgspec.msgpack.Decoder(FromWorker)
from_client_decoder: msgspec.msgpack.Decoder[FromClient] = msgspec.msgpack.Decoder(FromClient)
from_head_decoder: msgspec.msgpack.Decoder[FromHead] = msgspec.msgpack.Decoder(FromHead)


def framed(message: ToWorker | FromWorker | FromClient | FromHead) -> bytes:
    """Return the frame of a message."""
    return frame(_encoder.encode(message))
