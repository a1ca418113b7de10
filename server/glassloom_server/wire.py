"""The types of the REST API and of the stream: what requests may hold, and what answers look like. `openapi` is made of them."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from glassloom_server.errors import RequestMalformed

Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
Count = Annotated[int, Meta(ge=1, le=4096)]
CountOrNone = Annotated[int, Meta(ge=0, le=4096)]
ByteSize = Annotated[str, Meta(min_length=1, max_length=40, pattern=r"^[\w. ]+$", examples=["4 GiB"])]
TimeText = Annotated[str, Meta(min_length=1, max_length=40, pattern=r"^[\w. ]+$", examples=["30 min"])]
Request = TypeVar("Request", bound=Struct)


# Requests


class StartRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A new cluster; what is left out, the profile says, or else the engine chooses."""

    profile: Annotated[
        str | None, Meta(title="Profile", description="The named profile whose values these complete")
    ] = None
    name: Annotated[Name | None, Meta(title="Name", description="What it is called")] = None
    gpu: Annotated[
        bool | None, Meta(title="On GPUs", description="One worker for each NVIDIA GPU; Workers says how many at most")
    ] = None
    n_workers: Annotated[Count | None, Meta(title="Workers", description="Number of worker processes")] = None
    threads_per_worker: Annotated[Count | None, Meta(title="Threads per worker")] = None
    memory_limit: Annotated[
        ByteSize | None, Meta(title="Memory per worker", description="Such as 4 GiB; none for no limit")
    ] = None
    minimum: Annotated[
        CountOrNone | None,
        Meta(title="At least", description="The fewest workers there may be: their number follows the work"),
    ] = None
    maximum: Annotated[
        Count | None, Meta(title="At most", description="The most workers there may be: their number follows the work")
    ] = None
    idle_timeout: Annotated[
        TimeText | None, Meta(title="End when idle for", description="Such as 30 min; empty: never")
    ] = None
    kernel_name: Annotated[
        str | None, Meta(title="Environment", description="The kernel in whose environment it runs")
    ] = None

    def check(self) -> None:
        """Raise `RequestMalformed` if the numbers of workers contradict each other."""
        minimum, maximum, n_workers = self.minimum, self.maximum, self.n_workers
        if minimum is not None and maximum is not None and minimum > maximum:
            raise RequestMalformed(f"minimum={minimum} is larger than maximum={maximum}: exchange them, or change one")
        if n_workers is None or self.gpu:
            return
        if maximum is not None and n_workers > maximum:
            raise RequestMalformed(f"n_workers={n_workers} is larger than maximum={maximum}: lower it, or raise that")
        if minimum is not None and n_workers < minimum:
            raise RequestMalformed(f"n_workers={n_workers} is smaller than minimum={minimum}: raise it, or lower that")


class ScaleRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """How many workers there shall be."""

    n: CountOrNone


class AdaptRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds between which the number of workers follows the work; without them it stays as it is from now on."""

    minimum: CountOrNone | None = None
    maximum: Count | None = None

    def bounds(self) -> dict[str, int | float | str | None]:
        """Return the bounds, none if there are none; raises `RequestMalformed` if there is one only, or they are the wrong way."""
        if self.minimum is None and self.maximum is None:
            return {}
        if self.minimum is None or self.maximum is None:
            given, lacking = ("maximum", "minimum") if self.minimum is None else ("minimum", "maximum")
            raise RequestMalformed(
                f"{given}={getattr(self, given)} needs a {lacking} too: give both, or neither to let the number of workers stay"
            )
        if self.minimum > self.maximum:
            raise RequestMalformed(f"minimum={self.minimum} is larger than maximum={self.maximum}")
        return {"minimum": self.minimum, "maximum": self.maximum}


class RestartRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Replace all workers: no choice."""


class RenameRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What a cluster shall be called."""

    name: Name


class OpenRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A recording to be shown: a path below the server's root, or in the directory of recordings."""

    path: Annotated[str, Meta(min_length=1, max_length=4096)]


Format = Literal["perfetto", "parquet", "report", "speedscope"]


class ExportRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A recording to be written in another format: a Chrome trace, a folder of Parquet files, a page of HTML, a profile."""

    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    to: Format


class ClusterExportRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What shall be made of all that a running cluster's log has; it is recorded for it, and the recording stays."""

    to: Literal["recording"] | Format


# The state


class Adaptive(Struct, frozen=True):
    """The bounds between which the number of workers follows the work."""

    minimum: int
    maximum: int


class GpuState(Struct, frozen=True):
    """A GPU or MIG instance; null is what isn't known."""

    name: str
    percent: float | None
    memory_bytes: int | None
    memory_limit_bytes: int | None


class DeviceMemory(Struct, frozen=True):
    """Memory of the devices of a cluster's workers together: results that are held there, what the workers' allocators hold (these
    results, what tasks work with, and what was freed and is kept), what other processes have taken, results that had no room
    there and moved to the host, and how much there is.
    """

    held_bytes: int
    pool_bytes: int
    other_bytes: int
    moved_bytes: int
    total_bytes: int


class EngineCost(Struct, frozen=True):
    """What a cluster takes beside its workers, of late: its head's process, the log of its metrics, by how much the head's event loop was
    late at most in the last minute, and how many read the log.
    """

    cpu_percent: float
    memory_bytes: int
    log_memory_bytes: int
    log_disk_bytes: int
    loop_lag_s: float
    readers: int


class DashboardsCost(Struct, frozen=True):
    """What the process takes that draws the dashboards of all clusters; 100 is one core busy."""

    cpu_percent: float
    memory_bytes: int


class RunState(Struct, frozen=True):
    """What a person has asked for at one time; times are seconds since the epoch."""

    id: str
    kind: str
    label: str
    notebook: str | None
    cell_id: str | None
    started_at: float
    ended_at: float | None
    outcome: str
    tasks_done: int
    tasks_total: int


class ClusterState(Struct, frozen=True):
    """One running cluster.

    ``can`` has what may be asked of it: ``scale``, ``adapt``, ``restart``, ``rename``, ``shut_down`` and ``log``. ``state`` is
    ``running``, ``starting`` (nothing was heard of it yet), ``silent`` (it hasn't said anything for some seconds) or ``paused``
    (all its workers are short of memory and begin no task). ``heard_at``: when it said something last. Readers of the stream get
    that when something else changes: as long as ``state`` isn't ``silent``, it was heard a few seconds before the stream's last
    message at most. ``device_memory`` is null if no worker has a device, ``engine`` if the cluster has no head, or hasn't told of it. ``workers_lost`` counts workers that have ended
    unasked since the server has followed the cluster. ``start`` is the id of the start request that it came of. Paths are below the server's root if they can.
    """

    id: str
    name: str
    kind: str
    pid: int
    started_at: float
    started_by: str
    kernel_id: str | None
    notebook: str | None
    script: str | None
    start: str | None
    can: list[str]
    problem: str
    state: str
    heard_at: float | None
    workers: int
    workers_lost: int
    threads: int
    adaptive: Adaptive | None
    idle_timeout_s: float | None
    idle_since: float | None
    memory_bytes: int
    memory_limit_bytes: int | None
    spilled_bytes: int
    cpu_percent: float
    cpu_history: list[float]
    gpus: list[GpuState]
    gpu_history: list[float]
    device_memory: DeviceMemory | None
    engine: EngineCost | None
    tasks: dict[str, int]
    errors: int
    runs: list[RunState]


class RecordingState(Struct, frozen=True):
    """A recording that the dashboards show; ``path`` is what `OpenRequest` takes, null if it lies where that takes nothing."""

    id: str
    name: str
    pid: int
    started_at: float
    opened_at: float
    path: str | None = None


class ElsewhereState(Struct, frozen=True):
    """A cluster of another host or container, which can't be reached from here."""

    id: str
    name: str
    host: str
    started_at: float


class LostState(Struct, frozen=True):
    """A cluster whose head ended, ``at`` that time, though nobody had asked it to: it was killed, or ran out of memory.

    ``start`` is the id of the start request that it came of; ``has_log`` whether the end of its log is kept.
    """

    id: str
    name: str
    at: float
    start: str | None
    has_log: bool


class StartState(Struct, frozen=True):
    """A start that was asked for: ``starting``, or ``failed`` and why, with the field of `StartRequest` that the problem is
    about, if it is about one. One that has become a cluster isn't told any more.
    """

    id: str
    name: str
    state: str
    problem: str = ""
    cluster: str | None = None
    field: str = ""


class ExportState(Struct, frozen=True):
    """What a recording, or a running cluster, is being written to, or was.

    ``state`` is ``recording`` (a cluster, before it is exported), ``exporting``, ``done`` or ``failed``, and ``problem`` why.
    ``recording`` and ``output`` are paths as Jupyter's contents know them; null if there is none, or none that they know.
    Those that have ended are told until they are dismissed.
    """

    id: str
    name: str
    to: str
    state: str
    started_at: float
    problem: str = ""
    recording: str | None = None
    cluster: str | None = None
    output: str | None = None


class Clusters(Struct, frozen=True):
    """The whole state. A cluster that is asked for by ``GET`` also has ``last_heard_s`` and ``idle_for_s``, as of now.

    ``dashboards`` is null while no dashboards process runs.
    """

    clusters: list[ClusterState]
    recordings: list[RecordingState]
    elsewhere: list[ElsewhereState]
    starts: list[StartState]
    exports: list[ExportState]
    dashboards: DashboardsCost | None = None
    lost: list[LostState] = []


# The stream


class StreamSnapshot(Struct, frozen=True, tag_field="type", tag="snapshot"):
    """The first message: the whole state.

    ``version`` is `state.STREAM_VERSION`; ``now`` what the server's clock shows as it sends, in seconds since the epoch. All
    times of the state are by that clock, which may be off the browser's. Readers count by it themselves how long a cluster has
    been silent (``heard_at``) or idle (``idle_since``, of ``idle_timeout_s``): nothing is sent because time passes.
    """

    version: int
    sequence: int
    now: float
    state: Clusters


class StreamChanges(Struct, frozen=True, tag_field="type", tag="changes", omit_defaults=True):
    """What has changed since the message before, whose ``sequence`` is one less.

    ``clusters`` has for each id the fields of a `ClusterState` that changed, all of them for a new one, and null for one that is
    gone; ``order`` all ids, if their order changed. The lists that are told are told whole.
    """

    version: int
    sequence: int
    now: float
    clusters: dict[str, dict[str, Any] | None] = {}
    order: list[str] = []
    recordings: list[RecordingState] = []
    elsewhere: list[ElsewhereState] = []
    starts: list[StartState] = []
    exports: list[ExportState] = []
    dashboards: DashboardsCost | None | UnsetType = UNSET
    lost: list[LostState] | UnsetType = UNSET


class StreamAlive(Struct, frozen=True, tag_field="type", tag="alive"):
    """Nothing has changed for some seconds. ``sequence`` is that of the message before: it isn't counted."""

    version: int
    sequence: int
    now: float


StreamMessage = StreamSnapshot | StreamChanges | StreamAlive


# Other answers


class Started(Struct, frozen=True):
    """A start that was taken up: its id in the state's ``starts``, and what the cluster will be called."""

    id: str
    name: str


class ExportStarted(Struct, frozen=True):
    """An export that was taken up: its id in the state's ``exports``."""

    id: str


class Outcome(Struct, frozen=True):
    """What was done, as a sentence."""

    outcome: str


class LogLines(Struct, frozen=True):
    """The newest lines of a cluster's log, the newest last."""

    lines: list[str]


class Opened(Struct, frozen=True):
    """A recording that is shown now."""

    id: str


class RecordingFile(Struct, frozen=True):
    """A file that is, or should be, a recording; ``path`` is what to ask for to open it."""

    path: str
    name: str
    bytes: int
    modified_at: float
    problem: str


class RecordingFiles(Struct, frozen=True):
    """The recordings that there are, the newest first, and where new ones are looked for."""

    recordings: list[RecordingFile]
    directory: str


class Problem(Struct, frozen=True):
    """Why a request was refused, for the person who made it, and the field of its body that the message is about, if it is one."""

    message: str
    reason: str = ""
    field: str = ""


_FIELD = re.compile(r"(\w+)(?:=| is missing)")


def field_of(message: str) -> str:
    """Return the field that a message of ours or the engine's begins with; nothing if it begins otherwise.

    >>> field_of("memory_limit='lots' is not a size")
    'memory_limit'
    """
    found = _FIELD.match(message)
    return found[1] if found else ""


def decode(body: bytes, kind: type[Request]) -> Request:
    """Return the body of a request; raises `RequestMalformed`, which says which field has which value and what it should be."""
    if not body.strip():
        raise RequestMalformed(f"the request has no body: it should be {_object_of(kind)}")
    try:
        told = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestMalformed(f"the body can't be read as JSON ({error}): it should be {_object_of(kind)}") from error
    try:
        return msgspec.convert(told, kind)
    except msgspec.ValidationError as error:
        raise RequestMalformed(_in_words(str(error), told, kind)) from error


def _object_of(kind: type[Struct]) -> str:
    """Return what a body should be, in words."""
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    return f"a JSON object with the fields {', '.join(names)}" if names else "the JSON object {}"


def _in_words(error: str, told: Any, kind: type[Struct]) -> str:
    """Return why a body is refused: msgspec's words are about types, and don't have the value."""
    if not isinstance(told, dict):
        return f"the body is {_shown(told)}: it should be {_object_of(kind)}"
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for name in told:
        if name not in fields:
            there_are = ", ".join(fields) or "none"
            return f"there is no field {_shown(name)}; there are: {there_are}"
    schemas = msgspec.json.schema(kind)["$defs"][kind.__name__]["properties"]
    for name, field in fields.items():
        if field.required and name not in told:
            return f"{name} is missing: it should be {_rule(schemas[name])}"
    name = error.rpartition("`$.")[2].rstrip("`")
    return f"{name}={_shown(told[name])} should be {_rule(schemas[name])}" if name in told else error


def _rule(schema: dict[str, Any]) -> str:
    """Return in words what a JSON Schema lets pass, of those that our requests have.

    >>> _rule({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 9}, {"type": "null"}]})
    'a whole number from 1 to 9'
    """
    for option in schema.get("anyOf", []):
        if option != {"type": "null"}:
            return _rule(option)
    if "enum" in schema:
        return f"one of {', '.join(map(repr, schema['enum']))}"
    if schema.get("type") == "integer":
        return f"a whole number{_bounds(schema)}"
    if schema.get("type") == "boolean":
        return "true or false"
    if "examples" in schema:
        return f"text such as {schema['examples'][0]!r}"
    length = f" of {schema['minLength']} to {schema['maxLength']} characters" if "maxLength" in schema else ""
    return f"text{length}{', none of them a control character' if 'pattern' in schema else ''}"


def _bounds(schema: dict[str, Any]) -> str:
    """Return in words from where to where a number may be.

    >>> _bounds({"minimum": 1, "maximum": 9}), _bounds({"minimum": 1}), _bounds({"maximum": 9}), _bounds({})
    (' from 1 to 9', ', 1 or more', ', 9 or less', '')
    """
    match schema:
        case {"minimum": least, "maximum": most}:
            return f" from {least} to {most}"
        case {"minimum": least}:
            return f", {least} or more"
        case {"maximum": most}:
            return f", {most} or less"
    return ""


def _shown(value: Any) -> str:
    """Return a value of JSON for people, text as Python writes it."""
    text = repr(value) if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


_LONGEST_SHOWN = 60


def to_json(value: Any) -> bytes:
    """Return the JSON of an answer."""
    return msgspec.json.encode(value)
