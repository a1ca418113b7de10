"""What `MetricsPlugin` sends, as types: what doesn't fit is refused before it is used."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec


class RunNote(NamedTuple):
    """What a client of ours tells of a run, but its kind. The origins are the user's lines, by layer."""

    code: str
    notebook: str
    cell: str
    kernel: str
    origin: str
    origins: dict[str, str]
    ordinal: int = 0


class RunRow(NamedTuple):
    """How a run stands. ``info`` is told once: a `RunNote`, of a run whose client has told of it."""

    number: int
    client: str
    kind: str
    info: RunNote | None
    names: list[str]
    started_s: float
    ended_s: float | None
    outcome: str
    n_tasks: int
    n_done: int
    n_failed: int


class LayerRow(NamedTuple):
    """A layer that is new, or has grown. The key is that of one of its tasks; None if none is known."""

    number: int
    group: str
    key: Any
    total: int
    run: int
    inputs: list[int]


class WorkerRow(NamedTuple):
    """A worker that has come. ``gpu`` is the name of its GPU, None if it has none."""

    at_s: float
    number: int
    name: str
    address: str
    nthreads: int
    memory_limit_bytes: int
    gpu: str | None
    gpu_bytes: int


class Part(NamedTuple):
    """What a worker did for a task before it ran. Of a transfer: from where, and what, if it is known."""

    action: str
    start_s: float
    stop_s: float
    producer: int
    key: Any
    layer: int
    nbytes: int


class TaskRow(NamedTuple):
    """A task that has run."""

    layer: int
    key: Any
    worker: int
    thread: int
    is_ok: bool
    nbytes: int
    start_s: float
    stop_s: float
    sent_s: float | None
    queued_s: float | None
    attempt: int
    parts: list[Part] | None


class Sample(NamedTuple):
    """How a worker is: ``gpu`` is utilisation and memory in use, ``pool`` what is in use of the GPU's memory pool, and what that holds."""

    worker: int
    cpu_percent: float
    rss_bytes: int
    managed_bytes: int
    spilled_bytes: int
    executing: int
    queued: int
    is_paused: bool
    gpu: list[float | None] | None
    pool: list[float | None]


class RunningRow(NamedTuple):
    """A task that runs."""

    worker: int
    layer: int
    key: Any
    started_s: float


class Batch(NamedTuple):
    """What has happened in a tenth of a second or so. Progress: layer, `recorder.STATES`, and the size of its results."""

    at_s: float
    joined: list[WorkerRow]
    runs: list[RunRow]
    layers: list[LayerRow]
    progress: list[tuple[int, int, int, int, int, int, int, int]]
    rows: list[TaskRow]
    events: list[tuple[Any, ...]]


class Samples(NamedTuple):
    """An event ``"samples"``."""

    event: str
    at_s: float
    workers: list[Sample]
    running: list[RunningRow]
    cpu_percent: float
    rss_bytes: int
    late_s: float


class Failed(NamedTuple):
    """An event ``"error"``."""

    event: str
    at_s: float
    layer: int
    key: Any
    exception: str
    traceback: str
    worker: int


class Line(NamedTuple):
    """An event ``"log"``."""

    event: str
    at_s: float
    worker: int
    level: str
    text: str


class Left(NamedTuple):
    """An event ``"left"``."""

    event: str
    at_s: float
    worker: int
    reason: str


class Answer(msgspec.Struct):
    """The answer of the plugin to who reads. ``snapshot`` and ``batches`` are packed `Batch`es."""

    log: str
    now: float
    snapshot: bytes | None
    first: int
    batches: list[bytes]
    closing: bool


EVENTS: dict[str, type] = {"samples": Samples, "error": Failed, "log": Line, "left": Left}
_batch = msgspec.msgpack.Decoder(Batch)


def unpacked(packed: bytes) -> Batch:
    """Return a batch; raises `msgspec.DecodeError`."""
    return _batch.decode(packed)


def event_of(event: tuple[Any, ...]) -> Any:
    """Return an event as its type, None if it is of a kind that isn't known; raises `msgspec.ValidationError`."""
    kind = EVENTS.get(event[0]) if event and isinstance(event[0], str) else None
    return None if kind is None else msgspec.convert(event, kind, strict=False)
