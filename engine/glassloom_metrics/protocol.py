"""The messages of the metrics protocol; `docs/metrics-protocol.md` is its prose.

Each message is one msgpack map whose field ``type`` names it. Task events (`task_events.py`) travel as columns: the bytes of
little-endian arrays, one element a row, or one number if all rows have the same. Times are seconds since the Unix epoch as
the head counts them: one epoch taken at start plus the monotonic clock, so a clock step moves nothing.
"""

from __future__ import annotations

from enum import IntEnum
from typing import get_args

import msgspec

from glassloom_metrics.message_base import MessageBase

# What is imported `as` itself is part of this module too.
# isort: off
from glassloom_metrics.gpu_messages import (
    NOT_SUPPORTED as NOT_SUPPORTED,
    DeviceTimes as DeviceTimes,
    GpuDevices as GpuDevices,
    GpuProcesses as GpuProcesses,
    GpuSamples as GpuSamples,
    Reading as Reading,
)
from glassloom_metrics.profile import Profile as Profile, Stacks as Stacks
from glassloom_metrics.task_events import (
    COLUMN_TYPECODES as COLUMN_TYPECODES,
    DEVICE_LANE as DEVICE_LANE,
    NO_WORKER as NO_WORKER,
    PUBLISH_LANE as PUBLISH_LANE,
    SPILL_LANE as SPILL_LANE,
    TRANSFER_LANE as TRANSFER_LANE,
    UNKNOWN as UNKNOWN,
    Action as Action,
    Column as Column,
    TaskEvents as TaskEvents,
    check_values,
    column as column,
    element_sizes,
    given_columns as given_columns,
    is_sound,
    pack_column as pack_column,
    pack_index,
    stops_s as stops_s,
    task_events as task_events,
    unpack_index,
)

# isort: on

PROTOCOL_VERSION = 2
MIN_VERSION = 2
"""The oldest version that this one can speak to: see `agreed_version`."""


class Connect(MessageBase, frozen=True, tag="connect"):
    """First frame of every connection: who calls, and proof that it is the same user's process.

    ``role`` is ``"metrics"``, ``"client"`` or ``"worker"``. ``version`` and ``min_version`` are the newest and the oldest
    version that the caller speaks. ``topics`` are the wanted message types (None: all).

    ``since`` is the number of the frame to begin with, `NOW`: with what happens from now on, after a snapshot. If the log
    isn't ``log_id`` (``""``: whichever), its numbers mean nothing here, and it begins with the first.
    """

    role: str
    secret: str
    version: int = PROTOCOL_VERSION
    topics: list[str] | None = None
    since: int = 0
    log_id: str = ""
    min_version: int = MIN_VERSION


class Command(MessageBase, frozen=True, tag="command"):
    """A subscriber asks the cluster for something: ``"ping"``, or one of `Settings.commands`, with its arguments by name.

    The cluster answers with the `Outcome` of the same ``request``, unless that is 0.
    """

    name: str
    arguments: dict[str, int | float | str | None] = {}
    request: int = 0


class Outcome(MessageBase, frozen=True, tag="outcome"):
    """What a `Command` has done, or why it was refused, as a sentence for people. In no log."""

    request: int
    text: str
    refused: bool = False


class Refused(MessageBase, frozen=True, tag="refused"):
    """The connection is not let in; it is closed after this frame.

    If that is because of the protocol's version, ``min_version`` to ``version`` are those that the cluster speaks, and
    ``engine`` is its Glassloom; else they are 0 and ``""``.
    """

    reason: str
    version: int = 0
    min_version: int = 0
    engine: str = ""


class Hello(MessageBase, frozen=True, tag="hello"):
    """First frame that a subscriber gets, and frame 0 of the log. ``log_id`` is the log's own, ``engine`` its Glassloom."""

    version: int
    cluster_id: str
    cluster_name: str
    kind: str
    started_at_s: float
    log_id: str = ""
    engine: str = ""


class Position(MessageBase, frozen=True, tag="position"):
    """How far a subscriber has read: all frames before number ``next`` that it wants were sent. In no log.

    It comes after a backlog and at least once in `HEARTBEAT_S`, so that silence means that the head doesn't answer. A
    recording that began late has the first one: it says where the snapshot ends, and when that was.
    """

    at_s: float
    next: int


class Dropped(MessageBase, frozen=True, tag="dropped"):
    """The frames ``first`` to ``last`` are gone: the log is bounded. A snapshot of how things stand follows. In no log."""

    first: int
    last: int


class Footer(MessageBase, frozen=True, tag="footer"):
    """The last frame of a file that was closed: what is where.

    ``first`` is the number of the file's first numbered frame, ``topics`` has a byte for each, its place in ``names``, and
    ``offsets`` where its payload begins (u64).
    """

    first: int
    names: list[str]
    topics: bytes
    offsets: bytes


class Runs(MessageBase, frozen=True, tag="runs"):
    """New runs, or how known ones stand: what a person has asked for at one time.

    A run is a call of ``"compute"``, ``"persist"`` or ``"map"``, or all tasks that a notebook's cell, or a line of a script,
    ``"submit"``\\ s one by one. ``codes`` is the user's code, ``cells`` the id of the notebook's cell, ``kernels`` the id
    of the kernel, or what else tells the process that asked from others, ``outcomes`` one of `OUTCOMES`. ``ended_s`` is None as
    long as any task is under way. Tasks that an earlier run has handed in are counted there. ``ordinals`` says which run of its
    process each is, from 1 on (0: not known); it may be empty: none is known.
    """

    ids: list[int]
    kinds: list[str]
    codes: list[str]
    notebooks: list[str]
    cells: list[str]
    kernels: list[str]
    origins: list[str]
    started_s: list[float]
    ended_s: list[float | None]
    outcomes: list[str]
    tasks: list[int]
    done: list[int]
    failed: list[int]
    ordinals: list[int] = []


OUTCOMES = ("running", "finished", "failed", "cancelled")


class Layers(MessageBase, frozen=True, tag="layers"):
    """New layers, or new totals of known ones: rows of id, operation name, number of tasks, the user's line.

    ``runs`` has the run of each (-1: none), ``inputs`` the ids of the layers that its tasks read from. Both may be empty: not
    known. ``prefixes`` is what the layer's keys have before the index (``""``: not known), ``tuples`` 1 if they are tuples:
    ``(prefix, *index)``, else ``prefix-index``, or ``prefix`` if there is no index.
    """

    ids: list[int]
    names: list[str]
    totals: list[int]
    origins: list[str]
    runs: list[int] = []
    inputs: list[list[int]] = []
    prefixes: list[str] = []
    tuples: list[int] = []


class Running(MessageBase, frozen=True, tag="running"):
    """All tasks that run now, and have for `LEAST_RUNNING_S`. What isn't in the next such message has ended.

    Rows of worker, lane, layer and rest of the key, as in `TaskEvents`, and when a thread took the task.
    """

    at_s: float
    workers: list[int]
    lanes: list[int]
    layers: list[int]
    indices: list[str]
    started_s: list[float]


LEAST_RUNNING_S = 0.05


class Progress(MessageBase, frozen=True, tag="progress"):
    """How many tasks of a layer are in which state, and how large its held results are, for the layers that changed."""

    at_s: float
    layers: list[int]
    waiting: list[int]
    ready: list[int]
    running: list[int]
    memory: list[int]
    released: list[int]
    erred: list[int]
    held_bytes: list[int] = []


class WorkerJoined(MessageBase, frozen=True, tag="worker-joined"):
    """A worker is there. ``baseline_bytes`` is what its process had to itself when it started.

    ``devices`` are the UUIDs of its devices; a GPU's is that of `GpuDevices`. Of each, if known, ``device_names``, the memory
    (``device_total_bytes``), and how much of it the worker's results may take (``device_limit_bytes``).
    """

    at_s: float
    worker: int
    name: str
    pid: int
    nthreads: int
    memory_limit_bytes: int | None = None
    devices: list[str] = []
    baseline_bytes: int = 0
    device_names: list[str] = []
    device_total_bytes: list[int] = []
    device_limit_bytes: list[int] = []


class WorkerLeft(MessageBase, frozen=True, tag="worker-left"):
    at_s: float
    worker: int
    reason: str


class WorkerSamples(MessageBase, frozen=True, tag="samples"):
    """One measurement of each listed worker. ``cpu_percent``: 100 is one core busy.

    What a process has resident is its own or mapped: ``rss = own + mapped``. What is its own is results that it holds
    (``managed``), or not (``unmanaged``): see `unmanaged_bytes`. Columns at the end may be empty: not known.

    Of the memory of a worker's device, its results take ``device_held_bytes``; all that its process has allocated,
    ``device_used_bytes``; with freed memory that its allocator keeps, ``device_pool_bytes``; other processes,
    ``device_other_bytes``. ``device_moved_bytes`` are results that moved to the host, and from there perhaps to disk, because
    there was no room. Workers without a device have 0; these columns are empty if none has one.
    """

    at_s: float
    workers: list[int]
    cpu_percent: list[float]
    rss_bytes: list[int]
    managed_bytes: list[int]
    shared_bytes: list[int]
    spilled_bytes: list[int]
    executing: list[int]
    queued: list[int]
    own_bytes: list[int] = []
    unmanaged_bytes: list[int] = []
    pressure: list[int] = []
    device_held_bytes: list[int] = []
    device_used_bytes: list[int] = []
    device_pool_bytes: list[int] = []
    device_other_bytes: list[int] = []
    device_moved_bytes: list[int] = []


class Pressure(IntEnum):
    """How short of memory a worker is: at `PAUSED` it begins no task."""

    NONE = 0
    HIGH = 1
    PAUSED = 2


def unmanaged_bytes(own_bytes: int, managed_bytes: int) -> int:
    """Return how much of what a process has to itself is not results: the interpreter, libraries, what tasks work with."""
    return max(0, own_bytes - managed_bytes)


class HostSamples(MessageBase, frozen=True, tag="host"):
    """What the machine of a cluster does, once for all workers on it. Rates are since the last sample.

    `Reading`s are what the system may not tell.
    """

    at_s: float
    host: str
    cpus: int
    cpu_percent: float
    memory_used_bytes: int
    memory_total_bytes: int
    swap_used_bytes: int
    disk_read_bytes_s: Reading
    disk_write_bytes_s: Reading
    network_sent_bytes_s: Reading
    network_received_bytes_s: Reading
    shared_memory_used_bytes: Reading
    shared_memory_total_bytes: Reading


class EngineSamples(MessageBase, frozen=True, tag="engine"):
    """What the cluster itself takes, since the last sample. Thread pools have none: all is in the user's process.

    ``loop_lag_s`` is the longest time that its event loop was late; ``cpu_percent`` counts the head's process.
    """

    at_s: float
    loop_lag_s: float
    cpu_percent: float
    rss_bytes: int
    log_frames: int
    log_memory_bytes: int
    log_disk_bytes: int
    subscribers: int


class Errors(MessageBase, frozen=True, tag="errors"):
    """Groups of failures, or new counts of known ones: what failed for good in one layer with one exception in one place.

    Rows of id, layer, exception, the first failure's message, traceback, key, worker and line of the user's, how many there
    were, when the first and the last came, and the keys of the first `MAX_ERROR_KEYS`. All texts are the user's own: escape
    them before showing.
    """

    ids: list[int]
    layers: list[int]
    exceptions: list[str]
    messages: list[str]
    tracebacks: list[str]
    workers: list[int]
    origins: list[str]
    counts: list[int]
    first_s: list[float]
    last_s: list[float]
    keys: list[list[str]]


MAX_ERROR_KEYS = 10


class Log(MessageBase, frozen=True, tag="log"):
    """A line that a person should see. ``worker`` is -1 for the head.

    ``level`` is ``"info"``, ``"warning"`` or such; ``"stdout"`` or ``"stderr"`` for lines that tasks have printed.
    ``layer`` and ``index`` are those of the task that has printed or logged it; -1 and ``""`` if it isn't known.
    """

    at_s: float
    worker: int
    level: str
    text: str
    layer: int = -1
    index: str = ""


class Settings(MessageBase, frozen=True, tag="settings"):
    """How the cluster is set up now; sent when that changes.

    ``commands`` are the names of `Command` that it takes. The bounds of adaptive scaling are None if it isn't on, and
    ``idle_timeout_s`` if the cluster doesn't end when idle. ``idle_since_s`` is None while it is in use.
    """

    at_s: float
    name: str
    commands: list[str]
    adaptive_minimum: int | None = None
    adaptive_maximum: int | None = None
    idle_timeout_s: float | None = None
    idle_since_s: float | None = None


class Life(MessageBase, frozen=True, tag="life"):
    """Something happened to the cluster as a whole: ``"started"``, ``"closing"``."""

    at_s: float
    event: str


Message = (
    Hello
    | Runs
    | Layers
    | TaskEvents
    | Running
    | Progress
    | WorkerJoined
    | WorkerLeft
    | WorkerSamples
    | HostSamples
    | EngineSamples
    | GpuDevices
    | GpuSamples
    | GpuProcesses
    | DeviceTimes
    | Errors
    | Stacks
    | Profile
    | Log
    | Settings
    | Life
    | Outcome
    | Refused
    | Position
    | Dropped
    | Footer
)
Request = Connect | Command

NOW = -1
"""`Connect.since` of who wants no history."""
HEARTBEAT_S = 1.0

_encoder = msgspec.msgpack.Encoder()
_message_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)
_request_decoder: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)


def encode(message: Message | Request) -> bytes:
    """Return the payload of a frame that carries `message`."""
    return _encoder.encode(pack_index(message) if isinstance(message, TaskEvents) else message)


def decode(payload: bytes) -> Message:
    """Return the message in `payload`; raises `msgspec.DecodeError` if it is none of ours."""
    try:
        message = _message_decoder.decode(payload)
    except UnicodeDecodeError as error:  # the one error that msgspec lets through as it is
        raise msgspec.DecodeError(str(error)) from error
    return unpack_index(message) if isinstance(message, TaskEvents) else message


class _Tagged(msgspec.Struct):
    type: str


_tag_decoder: msgspec.msgpack.Decoder[_Tagged] = msgspec.msgpack.Decoder(_Tagged)


def tag_of(payload: bytes) -> str:
    """Return the type's name of the message in `payload`, also of one that this version doesn't know; ``""`` if it is none."""
    try:
        return _tag_decoder.decode(payload).type
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


_KNOWN_TAGS = frozenset(str(kind.__struct_config__.tag) for kind in get_args(Message))


def decode_known(payload: bytes) -> Message | None:
    """Return the message in `payload`, or None if it is of a type that this version doesn't know: every reader's way in.

    Raises
    ------
    msgspec.DecodeError
        If it is no message, or one whose columns aren't equally long.
    """
    try:
        message = decode(payload)
    except msgspec.ValidationError:
        if _tag_decoder.decode(payload).type not in _KNOWN_TAGS:
            return None
        raise
    if isinstance(message, TaskEvents) and is_sound(message):
        return message
    if uneven := _uneven_columns(message):
        raise msgspec.DecodeError(f"a message {topic_of(message)!r} has columns of different lengths: {uneven}")
    if isinstance(message, TaskEvents):
        check_values(message)
    return message


def _uneven_columns(message: Message) -> dict[str, float]:
    """Return the number of elements by column of a message whose lists and packed columns should be equally long, and aren't.

    Columns with a default may be empty: then nothing is known of them.
    """
    lengths: dict[str, float] = {}
    names = message.__struct_fields__
    optional = names[len(names) - len(message.__struct_defaults__) :]
    for name in names:
        value = getattr(message, name)
        if isinstance(value, list) and (value or name not in optional):
            lengths[name] = len(value)
        elif isinstance(value, bytes) and name in COLUMN_TYPECODES:
            rows = len(message) if isinstance(message, TaskEvents) else 0
            is_even = len(value) in [rows * size for size in element_sizes(name)]
            lengths[name] = rows if is_even else len(value) / max(element_sizes(name))
    return lengths if len(set(lengths.values())) > 1 else {}


def decode_request(payload: bytes) -> Request:
    """Return what a connecting process asks; raises `msgspec.DecodeError` if it is none of ours."""
    try:
        return _request_decoder.decode(payload)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(str(error)) from error


def agreed_version(version: int, min_version: int) -> int | None:
    """Return the version to speak with a caller that speaks these, None if there is none."""
    agreed = min(version, PROTOCOL_VERSION)
    return agreed if agreed >= max(min_version, MIN_VERSION) else None


def topic_of(message: Message) -> str:
    """Return the message's type name, the word that subscribers name it by."""
    return str(type(message).__struct_config__.tag)
