"""The head's ends of its connections: to workers and to clients. Data, and how to write to them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from glassloom_metrics.protocol import unmanaged_bytes

from glassloom.graph.keys import Key, key_text
from glassloom.head.call_cache import PickledCall
from glassloom.head.health import Health
from glassloom.head.task_specs import TaskSpec, TaskSpecs
from glassloom.protocol import messages
from glassloom.protocol.messages import RunTask, framed
from glassloom.protocol.options import WorkerOptions
from glassloom.sampling.process import has_ended, started_s_or_none
from glassloom.scheduler import Pressure, TaskSlice, TaskState, WorkerState
from glassloom.store.segment import Location
from glassloom.units import format_bytes

_MAX_OUTPUT_BYTES = 8 * 2**20
"""What may wait for a client that doesn't read before the output of tasks is left out."""

_MIN_SLICE = 4
"""Shorter slices, as long tasks are sent in, are sent as single tasks."""


@dataclass(eq=False)
class WorkerConnection:
    """A worker process as the head sees it."""

    options: WorkerOptions
    writer: asyncio.StreamWriter
    pid: int
    state: WorkerState
    known_code: set[int] = field(default_factory=set)
    sample: messages.Sample | None = None
    shared_bytes: int = 0
    """Size of the segments that it wrote and that are still there."""
    baseline_bytes: int = 0
    """What its process had to itself when it started."""
    device: messages.DeviceReport | None = None
    """The device that it has."""
    pressure: Pressure = Pressure.NONE
    health: Health = field(default_factory=Health)
    is_failing: bool = False
    """Whether it is being replaced because it can't go on as it is."""
    exceeded_limit: bool = False
    """Whether it is being ended because of the memory that it took."""
    ending: str = ""
    """Why it is being ended, if it is."""
    expected: bool = False
    """Whether its end is no accident."""
    is_disconnected: bool = False
    """Whether its process is known to have ended, but not yet how."""
    started_s: float | None = field(init=False)

    def __post_init__(self) -> None:
        """Note when its process began, which tells it from one that gets its pid later."""
        self.started_s = started_s_or_none(self.pid)

    def has_ended(self) -> bool:
        """Tell whether its process is gone, although the head may not know yet how it ended."""
        return self.is_disconnected or has_ended(self.pid, self.started_s)

    def kill(self) -> None:
        """End its process and what its tasks have started, at once. The fork server tells when it is gone.

        Nothing else needs to answer for that: not the worker, nor the fork server.
        """
        if started_s_or_none(self.pid) in (self.started_s, None):  # a group outlives its leader
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)

    @property
    def number(self) -> int:
        """The worker's number on the cluster."""
        return self.options.number

    def send(self, message: messages.ToWorker) -> None:
        """Send a message; it is buffered, and lost if the worker is gone."""
        self.writer.write(framed(message))

    def send_calls(self, codes: list[PickledCall]) -> None:
        """Send code that it doesn't have yet."""
        new = {code.number: code.data for code in codes if code.number not in self.known_code}
        if new:
            self.known_code.update(new)
            self.send(messages.Calls(new))

    def run(self, tasks: Sequence[TaskState | TaskSlice]) -> None:
        """Send tasks in this order, after code that is new to it."""
        batch: list[messages.ToWorker] = []
        run: list[RunTask] = []
        calls: dict[PickledCall, None] = {}
        for item in tasks:
            if isinstance(item, TaskSlice) and len(item) >= _MIN_SLICE:
                if run:
                    batch.append(messages.Run(run))
                    run = []
                batch.append(_run_slice(item, calls, self._texts_of(item)))
                continue
            texts = self._texts_of(item)
            for (number, spec, deps), text in zip(_single_tasks(item), texts or repeat(""), strict=False):
                calls[spec.call] = None
                run.append(RunTask(number, spec.call.number, spec.literals, deps, spec.priority, text))
        if run:
            batch.append(messages.Run(run))
        self.send_calls(list(calls))
        self.writer.write(b"".join(map(framed, batch)))

    def _texts_of(self, item: TaskState | TaskSlice) -> list[str]:
        """Return the keys of tasks for a worker that marks them for its device's profilers; none for others."""
        return [] if self.options.device is None else [key_text(key) for key in keys_of(item)]

    def note_sample(self, sample: messages.Sample) -> None:
        """The worker has told how it is."""
        self.sample = sample
        is_busy = sample.executing or sample.queued or sample.spillable_bytes or self.state.publishing
        self.health.note_report(sample.at_s, is_stuck=self.pressure is Pressure.PAUSED and not is_busy)

    def info(self) -> messages.WorkerInfo:
        """Return what is known of it, for clients."""
        first = messages.Sample(0.0, 0.0, self.baseline_bytes, 0, 0, 0, 0, self.baseline_bytes)
        options, sample = self.options, self.sample or first
        return messages.WorkerInfo(
            number=options.number,
            name=options.name,
            pid=self.pid,
            nthreads=options.nthreads,
            memory_limit_bytes=options.memory.limit_bytes,
            rss_bytes=sample.rss_bytes,
            managed_bytes=sample.managed_bytes,
            spilled_bytes=sample.spilled_bytes,
            shared_bytes=self.shared_bytes,
            cpu_percent=sample.cpu_percent,
            running=self.state.n_running,
            has=self.state.n_held,
            baseline_bytes=self.baseline_bytes,
            unmanaged_bytes=unmanaged_bytes(sample.own_bytes, sample.managed_bytes),
            pressure=self.pressure.name.lower(),
            resources=options.resources,
            device=self.device,
            device_account=sample.device,
        )

    def grown_bytes(self, own_bytes: int) -> int:
        """Return how much of `own_bytes` is neither results nor what it took when it started."""
        managed_bytes = 0 if self.sample is None else self.sample.managed_bytes
        return max(0, unmanaged_bytes(own_bytes, managed_bytes) - self.baseline_bytes)

    def explain_memory(self, own_bytes: int) -> str:
        """Return for people what the process's memory is made of."""
        managed_bytes = 0 if self.sample is None else self.sample.managed_bytes
        return (
            f"of it {format_bytes(self.baseline_bytes)} when it started, {format_bytes(managed_bytes)} in results when it last "
            f"told, and {format_bytes(self.grown_bytes(own_bytes))} unmanaged: what its tasks work with or leave behind"
        )


@dataclass(eq=False)
class ClientConnection:
    """A client as the head sees it; also the scheduler's name for it."""

    number: int
    writer: asyncio.StreamWriter
    n_handled: int = 0
    """How many of its messages were handled so far, the one being handled included."""
    pid: int = 0
    """Of the process that connected; 0 if that can't be told."""
    wants_output: bool = False
    """Whether it prints what tasks print."""
    calls: dict[int, PickledCall] = field(default_factory=dict)
    """The calls that it refers to by number."""
    started_s: float | None = field(init=False)
    _progress: asyncio.Event | None = None

    def __post_init__(self) -> None:
        """Note when its process began, which tells it from one that gets its pid later."""
        self.started_s = started_s_or_none(self.pid) if self.pid else None

    async def progress(self) -> None:
        """Wait until more of its messages were handled, or it has left."""
        if self._progress is None:
            self._progress = asyncio.Event()
        await self._progress.wait()

    def has_progressed(self) -> None:
        """Messages of its were handled, or it has left: wake what waits for that."""
        if self._progress is not None:
            self._progress.set()
            self._progress = None

    def has_ended(self) -> bool:
        """Tell whether its process is gone, although a fork of it may still hold the connection."""
        return self.started_s is not None and has_ended(self.pid, self.started_s)

    def send(self, message: messages.FromHead) -> None:
        """Send a message; it is buffered, and lost if the client is gone."""
        if not self.writer.is_closing():
            self.writer.write(framed(message))

    def tell(self, message: messages.FromHead) -> None:
        """Send what nobody waits for, if the client reads what it is sent."""
        if self.writer.transport.get_write_buffer_size() < _MAX_OUTPUT_BYTES:
            self.send(message)

    def show(self, output: messages.ClientOutput) -> None:
        """Send what tasks have printed, if it wants that and reads what it is sent."""
        if self.wants_output:
            self.tell(output)


def _single_tasks(item: TaskState | TaskSlice) -> Iterator[tuple[int, TaskSpec, list[tuple[int, Location | None]]]]:
    """Yield the number, specification and dependencies of a task, or of each task of a slice."""
    if isinstance(item, TaskSlice):
        deps = _places_of(item.block.deps)
        for number, spec in zip(item.numbers, item.block.specs[item.start : item.stop], strict=True):
            yield number, spec, deps
    else:
        yield item.number, item.spec, _places_of(item.deps if item.reads is None else item.reads)


def _places_of(items: Sequence[TaskState | TaskSlice]) -> list[tuple[int, Location | None]]:
    """Return the numbers of tasks, and how their results can be reached; those of slices one by one."""
    places: list[tuple[int, Location | None]] = []
    for item in items:
        if isinstance(item, TaskSlice):
            places += zip(item.numbers, item.locations, strict=True)
        else:
            places.append((item.number, item.shared_location))
    return places


def _run_slice(tasks: TaskSlice, calls: dict[PickledCall, None], texts: list[str]) -> messages.RunSlice:
    """Return how a worker is told of the tasks of a slice; add what they call to `calls`."""
    specs: TaskSpecs = tasks.block.specs
    positions = specs.positions[tasks.start : tasks.stop]
    literals = specs.literals[tasks.start : tasks.stop]
    first, deps = tasks.numbers.start, _places_of(tasks.block.deps)
    if positions.count(positions[0]) == len(positions):
        call = specs.calls[positions[0]]
        calls[call] = None
        return messages.RunSlice(first, call.number, literals, specs.priority, deps, texts)
    used = [specs.calls[position] for position in positions]
    calls.update(dict.fromkeys(used))
    return messages.RunSlice(first, [call.number for call in used], literals, specs.priority, deps, texts)


def keys_of(task: TaskState | TaskSlice) -> Sequence[Key]:
    """Return the key of a task, or the keys of a slice of a block."""
    return task.keys if isinstance(task, TaskSlice) else (task.key,)


def keys_finished(tasks: Sequence[TaskState | TaskSlice], n_handled: int) -> messages.KeysFinished:
    """Return what a client is told of tasks that have results; small results go with it."""
    keys: list[Key] = []
    nbytes: list[int] = []
    inline: list[bytes | None] = []
    for item in tasks:
        if isinstance(item, TaskSlice):
            keys += item.keys
            nbytes += item.nbytes
            inline += item.locations  # the scheduler keeps results in shared memory out of blocks
        else:
            keys.append(item.key)
            nbytes.append(item.nbytes)
            inline.append(item.shared_location if isinstance(item.shared_location, bytes) else None)
    return messages.KeysFinished(keys, nbytes, inline, n_handled)
