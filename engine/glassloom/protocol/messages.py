"""What the head, its workers and its clients say to each other: msgpack arrays in length-prefixed frames.

User data and code are opaque bytes here: the head passes them on and never unpickles them. The messages of clients are
defined here, the others in `worker_messages` and `messages_to_clients`; all of them are found here.
"""

from __future__ import annotations

import msgspec
from glassloom_metrics.framing import frame

from glassloom.graph.keys import Key
from glassloom.protocol.coordination import Op
from glassloom.protocol.message import Message as _Message
from glassloom.protocol.messages_to_clients import (
    TASK_STATES,
    UNASKED,
    Ack,
    CancelledAll,
    ClientOutput,
    CoordinationReply,
    Ended,
    FromHead,
    Holdings,
    Info,
    KeyErred,
    KeysCancelled,
    KeysFinished,
    Located,
    Processing,
    RanOnHead,
    RanOnWorkers,
    Story,
    SubmitRefused,
    TaskEvent,
    TaskStates,
    Welcome,
    WorkerInfo,
    WorkerLogs,
    WorkerTasks,
)
from glassloom.protocol.worker_messages import (
    Calls,
    DeviceReport,
    DeviceTimes,
    Drop,
    DropCalls,
    Failed,
    Finished,
    FromWorker,
    Invoke,
    Invoked,
    MemoryPressure,
    ProfileSamples,
    Publish,
    Published,
    Recall,
    Recalled,
    Rejoined,
    ResultsLost,
    Run,
    RunSlice,
    RunTask,
    Sample,
    Seceded,
    SharedResultLost,
    Stop,
    StoreEvents,
    TaskOutput,
    ToWorker,
    WorkerCrashed,
    WorkerLog,
    WorkerReady,
)
from glassloom.store.segment import Location

__all__ = [
    "Ack",
    "Adapt",
    "Attach",
    "Calls",
    "Cancel",
    "CancelAll",
    "CancelledAll",
    "Claim",
    "ClientOutput",
    "Coordinate",
    "CoordinationReply",
    "DefineCall",
    "DeviceReport",
    "DeviceTimes",
    "Drop",
    "DropCalls",
    "Ended",
    "Failed",
    "Finished",
    "FireAndForget",
    "ForgetCalls",
    "FromClient",
    "FromHead",
    "FromWorker",
    "GetInfo",
    "GetProcessing",
    "GetStory",
    "GetTaskStates",
    "GetWorkerLogs",
    "Holdings",
    "Info",
    "Invoke",
    "Invoked",
    "KeyErred",
    "KeysCancelled",
    "KeysFinished",
    "Locate",
    "Located",
    "MemoryPressure",
    "NO_MAKER",
    "OUTPUT_TOPIC",
    "PLUGIN_PREFIX",
    "ProfileSamples",
    "Ping",
    "Processing",
    "Publish",
    "Published",
    "RanOnHead",
    "RanOnWorkers",
    "Recall",
    "Recalled",
    "Rejoined",
    "Release",
    "ReportLost",
    "Restart",
    "ResultsLost",
    "Retire",
    "Retry",
    "Run",
    "RunOnHead",
    "RunOnWorkers",
    "RunSlice",
    "RunTask",
    "Sample",
    "Scale",
    "Scatter",
    "Seceded",
    "SharedResultLost",
    "Shutdown",
    "Stop",
    "StoreEvents",
    "Story",
    "Submit",
    "SubmitRefused",
    "TASK_STATES",
    "TaskEvent",
    "TaskOutput",
    "TaskStates",
    "ToWorker",
    "UNASKED",
    "Welcome",
    "WhoHas",
    "Withdraw",
    "WorkerCrashed",
    "WorkerInfo",
    "WorkerLog",
    "WorkerLogs",
    "WorkerReady",
    "WorkerTasks",
    "framed",
    "from_client_decoder",
    "from_head_decoder",
    "from_worker_decoder",
    "to_worker_decoder",
]

OUTPUT_TOPIC = "task-output"
"""The topic of a client's `Connect` that asks for `ClientOutput`."""


PLUGIN_PREFIX = "plugin-"
"""How the names of those setups begin that have something to tear down: see `RunOnWorkers`."""


# Client to head


class Submit(_Message, frozen=True, tag="submit"):
    """A graph, as columns: see `Scheduler.submit`. ``calls[i]`` is the position of task i's call in ``code``; a single
    element of ``deps`` is that of all tasks.

    Code is a pickled call, or the number of a `DefineCall` before. ``wanted`` None: all of ``keys``.
    """

    keys: list[Key]
    calls: list[int]
    literals: list[bytes]
    deps: list[list[int]]
    code: list[bytes | int]
    external: list[Key]
    wanted: list[Key] | None
    labels: dict[str, tuple[str, str]]
    priority: int = 0
    retries: int = 0
    resources: dict[str, float] = {}
    workers: list[int | str] = []
    allow_other_workers: bool = False
    is_merged: bool = False
    """Whether the tasks were submitted one by one, so that each is refused for itself: see `merging`."""
    run: int = -1
    """The client's number of the run that the tasks belong to: see `BeginRun`."""

    @property
    def wanted_keys(self) -> list[Key]:
        """The keys whose results the client wants."""
        return self.keys if self.wanted is None else self.wanted


class DefineCall(_Message, frozen=True, tag="define-call"):
    """The client refers to a pickled call by this number from now on."""

    number: int
    call: bytes


class BeginRun(_Message, frozen=True, tag="begin-run"):
    """The client will hand in tasks of this run: see `glassloom_metrics.protocol.Runs`."""

    number: int
    kind: str
    code: str
    notebook: str
    cell: str
    kernel: str
    origin: str
    ordinal: int = 0


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
    """Gives up all unfinished tasks that the client wants; with `force` those of all clients. Answered by `CancelledAll`.

    With ``runs``, the cluster's numbers of runs, only those of these runs.
    """

    request: int
    force: bool = False
    runs: list[int] | None = None


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


class GetTaskStates(_Message, frozen=True, tag="get-task-states"):
    """Asks how tasks stand and where their results are; answered by `TaskStates`."""

    request: int
    keys: list[Key]


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
    | BeginRun
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
    | GetTaskStates
    | GetStory
    | GetProcessing
    | Coordinate
    | Withdraw
    | Claim
    | Attach
    | ReportLost
    | Shutdown
)


_encoder = msgspec.msgpack.Encoder()
to_worker_decoder: msgspec.msgpack.Decoder[ToWorker] = msgspec.msgpack.Decoder(ToWorker)
from_worker_decoder: msgspec.msgpack.Decoder[FromWorker] = msgspec.msgpack.Decoder(FromWorker)
from_client_decoder: msgspec.msgpack.Decoder[FromClient] = msgspec.msgpack.Decoder(FromClient)
from_head_decoder: msgspec.msgpack.Decoder[FromHead] = msgspec.msgpack.Decoder(FromHead)


def framed(message: ToWorker | FromWorker | FromClient | FromHead) -> bytes:
    """Return the frame of a message."""
    return frame(_encoder.encode(message))
