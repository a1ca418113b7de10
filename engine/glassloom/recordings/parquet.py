"""Recordings as Parquet files: a table for the tasks, and one for each other type of message."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from glassloom_metrics.gpu_messages import GPU_METRICS, readings_of
from glassloom_metrics.protocol import (
    UNKNOWN,
    Action,
    EngineSamples,
    Errors,
    GpuDevices,
    GpuProcesses,
    GpuSamples,
    HostSamples,
    Layers,
    Log,
    Profile,
    Progress,
    Reading,
    Running,
    Runs,
    Stacks,
    TaskEvents,
    WorkerJoined,
    WorkerLeft,
    WorkerSamples,
)
from glassloom_metrics.recording import Recording
from glassloom_metrics.task_rows import task_columns

from glassloom.recordings.names import Names

GROUP_ROWS = 100_000
"""How many rows are written at once."""
TABLES: dict[type, str] = {
    Runs: "runs",
    Layers: "layers",
    Progress: "progress",
    Errors: "errors",
    WorkerJoined: "workers_joined",
    WorkerLeft: "workers_left",
    WorkerSamples: "workers",
    HostSamples: "host",
    EngineSamples: "engine",
    GpuDevices: "gpu_devices",
    GpuSamples: "gpus",
    GpuProcesses: "gpu_processes",
    Stacks: "stacks",
    Profile: "profile",
    Log: "log",
    Running: "running",
}
COLUMNAR = (Runs, Layers, Progress, Errors, WorkerSamples, GpuDevices, GpuProcesses, Stacks, Profile)
"""Those whose lists are columns, and not values."""
_TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string()}


def write_parquet(recording: Recording, directory: Path) -> list[Path]:
    """Write ``tasks.parquet`` and a table for each other type of message that there is, into a folder; return the files.

    A message that came twice, such as a run when it began and when it ended, has two rows: the later one counts.
    """
    names = Names(recording)
    with ExitStack() as stack:
        tables = {name: _Table(directory / f"{name}.parquet", stack) for name in ("tasks", *TABLES.values())}
        for message in recording:
            if isinstance(message, TaskEvents):
                tables["tasks"].add(_tasks(message, names))
            elif type(message) in TABLES:
                tables[TABLES[type(message)]].add(_rows(message, names))
        for table in tables.values():
            table.flush()
    return [table.path for table in tables.values() if table.path.exists()]


class _Table:
    """One file, made with the first row."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.path = path
        self._stack = stack
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []
        self._rows = 0

    def add(self, table: pa.Table) -> None:
        self._waiting.append(table)
        self._rows += len(table)
        if self._rows >= GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        if not self._rows:
            return
        table = pa.concat_tables(self._waiting)
        if self._writer is None:
            self._writer = self._stack.enter_context(pq.ParquetWriter(self.path, table.schema))
        self._writer.write_table(table)
        self._waiting, self._rows = [], 0


def _tasks(events: TaskEvents, names: Names) -> pa.Table:
    """Return task events with the names that their numbers stand for."""
    columns = task_columns(events)
    actions = {action.value: action.name.lower() for action in Action}
    named: dict[str, Sequence[Any]] = {
        "layer_name": [names.layer(layer) for layer in columns["layer"]],
        "run": [names.runs_of_layers.get(layer, -1) for layer in columns["layer"]],
        "worker_name": [names.worker(worker) for worker in columns["worker"]],
        "action": [actions.get(action, str(action)) for action in columns["action"]],
        "ok": [bool(ok) for ok in columns["ok"]],
    }
    seconds = [names.device_s.get(row) for row in columns["row"]] if names.device_s else [None] * len(events)
    arrays = {
        name: _with_nulls(name, values)
        for name, values in (dict(columns) | named).items()
        if name not in ("index", "ok")
    }
    return pa.table(
        {"index": pa.array(events.index, pa.string()), "ok": pa.array(named["ok"], pa.bool_())}
        | arrays
        | {"device_s": pa.array(seconds, pa.float64())}
    )


def _with_nulls(name: str, values: Sequence[Any]) -> pa.Array:
    """Return a column in which what isn't known is null."""
    unknown = UNKNOWN.get(name)
    if unknown is None or name == "attempt":
        return pa.array(values)
    found = np.asarray(values)
    return pa.array(found, mask=np.isnan(found) if math.isnan(unknown) else found == unknown)


def _rows(message: Any, names: Names) -> pa.Table:
    """Return a message as rows: one for each element of its columns, or for each of its devices, or one."""
    if isinstance(message, GpuSamples):
        return _gpu_rows(message, names)
    hints = get_type_hints(type(message))
    if type(message) not in COLUMNAR:
        return _table(hints, [msgspec.structs.asdict(message)])
    values = {name: getattr(message, name) for name in hints}
    count = max(len(value) for value in values.values() if isinstance(value, list))
    columns = {
        name: (value or [None] * count) if isinstance(value, list) else [value] * count
        for name, value in values.items()
    }
    elements = {name: get_args(hint)[0] if get_origin(hint) is list else hint for name, hint in hints.items()}
    return _table(elements, [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)])


def _gpu_rows(message: GpuSamples, names: Names) -> pa.Table:
    links = {
        name: dict(zip(message.devices, getattr(message, name), strict=False))
        for name in ("links_received_bytes_s", "links_sent_bytes_s")
    }
    rows = [
        {"at_s": message.at_s, "device": device, "uuid": names.gpus.get(device, "")}
        | readings
        | {name: values.get(device) for name, values in links.items()}
        for device, readings in readings_of(message)
    ]
    hints = {"at_s": float, "device": int, "uuid": str} | dict.fromkeys(GPU_METRICS, Reading)
    return _table(hints | dict.fromkeys(links, list[float]), rows)


def _table(hints: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table. A reading that isn't a number is null, and a column of its own says why."""
    columns: dict[str, pa.Array] = {}
    for name, hint in hints.items():
        values = [row[name] for row in rows]
        if hint == Reading:
            numbers = [None if isinstance(value, str) else float(value) for value in values]
            columns[name] = pa.array(numbers, pa.float64())
            columns[f"{name}_why_not"] = pa.array([v if isinstance(v, str) else None for v in values], pa.string())
        else:
            columns[name] = pa.array(values, _arrow_type(hint))
    return pa.table(columns)


def _arrow_type(hint: Any) -> pa.DataType:
    """Return the type of values of which the protocol says `hint`."""
    if get_origin(hint) is list:
        return pa.list_(_arrow_type(get_args(hint)[0]))
    kinds = [kind for kind in get_args(hint) if kind is not type(None)] or [hint]
    return _TYPES[kinds[0]]
