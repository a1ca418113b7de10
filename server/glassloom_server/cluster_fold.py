"""`ClusterFold`: one cluster's stream folded into its part of the state. Pure: the time is the caller's."""

from __future__ import annotations

import os
import re
from collections import deque

from glassloom_metrics.folds import ClusterSummary
from glassloom_metrics.gpu_messages import GpuDevice, Reading
from glassloom_metrics.protocol import (
    EngineSamples,
    Hello,
    Life,
    Message,
    Pressure,
    Runs,
    Settings,
    WorkerLeft,
    WorkerSamples,
)
from glassloom_metrics.registry import ClusterRecord
from glassloom_metrics.run_row import RunRow, run_rows

from glassloom_server.notebooks import NO_PATHS, Paths
from glassloom_server.overhead import EngineFold
from glassloom_server.wire import Adaptive, ClusterState, DeviceMemory, GpuState, RunState

HISTORY_S = 60
"""How far the histories go back; they have a value for each second."""
N_RUNS = 20
SILENT_S = 5.0
"""A cluster that says nothing for so long is silent: a sign of life comes each second."""
_MAX_LABEL = 120
_LEAST_CPU_CHANGE = 5.0
"""In per cent of a core: what a few workers that do nothing are measured to take varies by 4."""
_LEAST_SHARE = 0.01
_LEAST_OFFSET_S = 0.5
"""Clocks that are off by less are taken for the same."""
_N_OFFSETS = 5
_EXPECTED_ENDS = ("retired", "restarted")
"""Reasons of a worker's end that somebody asked for."""
_WORD = re.compile(r"\w")
_COMMANDS = {"scale": "scale", "adapt": "adapt", "restart": "restart", "rename": "rename", "shutdown": "shut_down"}


class ClusterClock:
    """How far a cluster's clock is off ours. The cluster's stands still while the machine sleeps, and follows no steps of the system's.

    >>> clock = ClusterClock()
    >>> clock.note(100.0, now_s=3700.0)
    >>> clock.ours_s(40.0)
    3640.0
    """

    def __init__(self) -> None:
        self._offsets_s: deque[float] = deque(maxlen=_N_OFFSETS)
        self.offset_s = 0.0

    def note(self, at_s: float, now_s: float) -> None:
        """The cluster's clock shows `at_s`, or a moment more, and ours `now_s`."""
        self._offsets_s.append(now_s - at_s)
        least_s = min(self._offsets_s)  # of the message that took the least time
        # A later message may have come a little faster; times that are told don't move because of that.
        if abs(least_s - self.offset_s) > _LEAST_OFFSET_S:
            self.offset_s = least_s

    def ours_s(self, at_s: float) -> float:
        """Return what our clock showed when the cluster's showed `at_s`."""
        return at_s + self.offset_s


class ClusterFold:
    """What one cluster has told.

    Values that are measured are told anew when they have changed by so much that a person could see it: a cluster that does
    nothing then costs its readers nothing.

    Parameters
    ----------
    root
        The server's root, to which paths are told relative.

    Attributes
    ----------
    heard_at_s
        When it said something last, since the epoch; None: it never has.
    clock
        Tells the cluster's times by our clock.
    is_closing
        Whether it has said that it ends.
    """

    def __init__(self, record: ClusterRecord, *, root: str = "") -> None:
        self.record = record
        self._root = root
        self.summary = ClusterSummary()
        self.heard_at_s: float | None = None
        self.clock = ClusterClock()
        self.is_closing = False
        self._settings: Settings | None = None
        self._runs: dict[int, RunRow] = {}
        self._told: dict[int, tuple[RunRow, RunState]] = {}
        self._told_with: tuple[float, Paths] = 0.0, NO_PATHS
        self._pressure: dict[int, int] = {}
        self._cpu_percent = 0.0
        self._memory_bytes = 0
        self._told_devices: DeviceMemory | None = None
        self._cpu_history: deque[float] = deque(maxlen=HISTORY_S)
        self._gpu_history: deque[float] = deque(maxlen=HISTORY_S)
        self._engine = EngineFold()
        self._has_samples = False
        self._n_lost = 0

    def apply(self, message: Message) -> None:
        """Take the next message of the stream into account."""
        self.summary.problem = ""
        match message:
            case Hello():  # a snapshot follows
                self.summary = ClusterSummary()
                self._pressure.clear()
                self._engine = EngineFold()
            case Life():
                self.is_closing = self.is_closing or message.event == "closing"
            case EngineSamples():
                self._engine.add(message)
            case Settings():
                self._settings = message
            case Runs():
                self._add_runs(message)
            case WorkerLeft():
                self._n_lost += message.reason not in _EXPECTED_ENDS
                self._pressure.pop(message.worker, None)
                self.summary.apply(message)
            case WorkerSamples():
                self._has_samples = True
                if message.pressure:
                    self._pressure = dict(zip(message.workers, message.pressure, strict=True))
                self.summary.apply(message)
            case _:
                self.summary.apply(message)

    def _add_runs(self, message: Runs) -> None:
        self._runs.update((row.id, row) for row in run_rows(message))
        for number in sorted(self._runs)[:-N_RUNS]:
            del self._runs[number]

    def tick(self, now_s: float) -> None:
        """A second has passed: let the histories go on, if the cluster says something."""
        if self._has_samples and not self.is_silent(now_s):
            now = self.summary.cpu_percent
            self._cpu_percent = _steady(self._cpu_percent, now, _LEAST_CPU_CHANGE) if self._cpu_history else now
            self._cpu_history.append(round(self._cpu_percent, 1))
            if (percent := self._gpu_percent()) is not None:
                self._gpu_history.append(round(percent, 1))

    def is_silent(self, now_s: float) -> bool:
        """Tell whether it should have said something."""
        return self.heard_at_s is not None and now_s - self.heard_at_s > SILENT_S

    def state(self, now_s: float, *, start: str | None, notebooks: Paths = NO_PATHS) -> ClusterState:
        """Return its part of the state.

        Parameters
        ----------
        start
            Id of the start request that it came of.
        notebooks
            Where the notebooks of kernels are now.
        """
        record, settings, told = self.record, self._settings, self.summary.as_dict()
        memory_bytes = told["memory_bytes"]
        self._memory_bytes = round(_steady(self._memory_bytes, memory_bytes, _LEAST_SHARE * self._memory_bytes))
        return ClusterState(
            id=record.id,
            name=record.name,
            kind=record.kind,
            pid=record.pid,
            started_at=record.started_at_s,
            started_by=record.started_by,
            kernel_id=record.kernel_id,
            notebook=self._notebook(record.kernel_id, record.notebook, notebooks),
            script=path_for_people(record.script, self._root),
            start=start,
            can=self._can(),
            problem=self.summary.problem,
            state=self._state(now_s),
            heard_at=None if self.heard_at_s is None else round(self.heard_at_s, 1),
            workers=told["workers"],
            workers_lost=self._n_lost,
            threads=told["threads"],
            adaptive=_adaptive(settings),
            idle_timeout_s=settings.idle_timeout_s if settings else None,
            idle_since=self._ours_s(settings.idle_since_s) if settings else None,
            memory_bytes=self._memory_bytes,
            memory_limit_bytes=told["memory_limit_bytes"],
            spilled_bytes=self.summary.memory()["spilled"],
            cpu_percent=round(self._cpu_percent, 1),
            cpu_history=list(self._cpu_history),
            gpus=[self._gpu(device) for device in self._gpu_devices()],
            gpu_history=list(self._gpu_history),
            device_memory=self._device_memory(),
            engine=self._engine.cost,
            tasks=told["tasks"],
            errors=self.summary.n_errors,
            runs=self._told_runs(notebooks),
        )

    def _ours_s(self, at_s: float | None) -> float | None:
        return None if at_s is None else round(self.clock.ours_s(at_s), 3)

    def _notebook(self, kernel: str | None, told: str, notebooks: Paths) -> str | None:
        """Return where a kernel's notebook is now, or if that isn't known, where it was when the kernel started."""
        return notebooks.get(kernel or "") or path_for_people(told, self._root)

    def _told_runs(self, notebooks: Paths) -> list[RunState]:
        """Return the runs, the newest first; what is told of one is made once, as it is looked at each second."""
        if self._told_with != (self.clock.offset_s, notebooks):
            self._told_with = self.clock.offset_s, notebooks
            self._told.clear()
        for row in self._runs.values():
            known = self._told.get(row.id)
            if known is None or known[0] is not row:
                self._told[row.id] = row, self._run(row, notebooks)
        for number in self._told.keys() - self._runs.keys():
            del self._told[number]
        return [self._told[number][1] for number in sorted(self._runs, reverse=True)]

    def _run(self, row: RunRow, notebooks: Paths) -> RunState:
        return RunState(
            id=str(row.id),
            kind=row.kind,
            label=label_of(row.code, row.origin, row.kind),
            notebook=self._notebook(row.kernel, row.notebook, notebooks),
            cell_id=row.cell or None,
            started_at=round(self.clock.ours_s(row.started_s), 3),
            ended_at=self._ours_s(row.ended_s),
            outcome=row.outcome,
            tasks_done=row.done,
            tasks_total=row.tasks,
        )

    def _can(self) -> list[str]:
        if self.record.kind == "threads":
            return []
        is_own = self.record.kind == "processes"
        commands = self._settings.commands if self._settings else ["shutdown"] * is_own  # older clusters don't tell
        return [*(_COMMANDS[command] for command in commands if command in _COMMANDS), *["log"] * is_own]

    def _state(self, now_s: float) -> str:
        if self.heard_at_s is None:
            return "starting" if now_s - self.record.started_at_s < SILENT_S else "silent"
        if self.is_silent(now_s):
            return "silent"
        workers = self._pressure.values()
        return "paused" if workers and all(pressure >= Pressure.PAUSED for pressure in workers) else "running"

    def _gpu_devices(self) -> list[GpuDevice]:
        """Return the GPUs and MIG instances; not a GPU that is divided into instances, which are what can be used of it."""
        divided = {device.parent for device in self.summary.gpus.values()}
        return [device for device in self.summary.gpus.values() if device.id not in divided]

    def _gpu(self, device: GpuDevice) -> GpuState:
        readings = self.summary.gpu_readings.get(device.id, {})
        percent, used = _number(readings.get("utilization_percent")), _number(readings.get("memory_used_bytes"))
        total = _number(device.memory_total_bytes)
        return GpuState(
            device.name, percent, None if used is None else int(used), None if total is None else int(total)
        )

    def _device_memory(self) -> DeviceMemory | None:
        """Return where the bytes of the workers' devices are, anew if any of them has changed by so much that it shows."""
        parts, total = self.summary.device_memory(), self.summary.device_total_bytes()
        if not parts or not total:
            return None
        told = self._told_devices
        now = DeviceMemory(parts["held"], parts["pool"], parts["other"], parts["moved"], total)
        names = DeviceMemory.__struct_fields__
        if told is None or any(abs(getattr(now, name) - getattr(told, name)) > _LEAST_SHARE * total for name in names):
            self._told_devices = now
        return self._told_devices

    def _gpu_percent(self) -> float | None:
        """Return the mean utilisation of the GPUs that tell it."""
        told = [_number(readings.get("utilization_percent")) for readings in self.summary.gpu_readings.values()]
        known = [percent for percent in told if percent is not None]
        return sum(known) / len(known) if known else None


def _steady(told: float, now: float, least_change: float) -> float:
    """Return what to tell: a new value, unless it is hardly another one.

    >>> _steady(50.0, 51.0, 3.0), _steady(50.0, 60.0, 3.0), _steady(0.0, 2.0, 3.0)
    (50.0, 60.0, 0.0)
    """
    return now if abs(now - told) > least_change else told


def _number(reading: Reading | None) -> float | None:
    return None if reading is None or isinstance(reading, str) else float(reading)


def _adaptive(settings: Settings | None) -> Adaptive | None:
    if settings is None or settings.adaptive_minimum is None or settings.adaptive_maximum is None:
        return None
    return Adaptive(settings.adaptive_minimum, settings.adaptive_maximum)


def label_of(code: str, origin: str, kind: str) -> str:
    r"""Return the line that asked for a run; if that isn't known, the first line of its code that says something.

    >>> label_of("import glassloom\n\ndf.mean().compute()", "In [3], line 3: df.mean().compute()", "compute")
    'df.mean().compute()'
    >>> label_of("# the taxis\n\n  df.mean().compute()\nprint(1)", "", "compute")
    'df.mean().compute()'
    """
    lines = (line.strip() for line in [origin.partition(": ")[2], *code.splitlines(), origin, kind])
    found = next((line for line in lines if _WORD.search(line) and not line.startswith(("#", "%"))), kind)
    return found if len(found) <= _MAX_LABEL else f"{found[: _MAX_LABEL - 1]}…"


def path_for_people(path: str, root: str) -> str | None:
    """Return a path as JupyterLab knows it if it lies below the server's root, else as it is; None if there is none.

    >>> path_for_people("/srv/work/a.ipynb", "/srv"), path_for_people("/data/b.ipynb", "/srv")
    ('work/a.ipynb', '/data/b.ipynb')
    """
    if not path:
        return None
    below = os.path.relpath(path, root) if os.path.isabs(path) and root else path
    return path if below.startswith("..") else below.replace(os.sep, "/")
