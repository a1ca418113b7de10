"""Recordings as Chrome traces, which https://ui.perfetto.dev opens: a process for each worker, a thread for each lane."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from glassloom_metrics.protocol import Action, TaskEvents, WorkerSamples
from glassloom_metrics.recording import Recording
from glassloom_metrics.task_rows import task_columns

from glassloom.recordings.names import Names

RUNS_PID = 1
_RUNS_TID = 2**30
_FIRST_WORKER_PID = 2
"""Perfetto takes process 0 for the idle one."""
_ACTIONS = {action.value: action.name.lower() for action in Action}
_DATA_LANE = 2**16
_MEASURED = ("ready_wait_s", "sent_wait_s", "fetch_s", "deserialise_s", "cpu_s", "bytes_in")
_ROUNDING = 1e-6
"""How much a task's duration may be off: it has 24 bits."""
_MEMORY = ("managed", "shared", "spilled", "unmanaged")
_MICROSECONDS = 1e6
_LATEST_S = 1e12
"""What is beyond is no time: the recording is damaged there."""


class _Rows:
    """All task events, as arrays."""

    def __init__(self, recording: Recording) -> None:
        parts: dict[str, list[Any]] = {name: [] for name in ("layer", "worker", "lane", "action", "start_s", "stop_s")}
        parts |= {name: [] for name in ("row", "nbytes", "ok", *_MEASURED)}
        self.index: list[str] = []
        for message in recording:
            if isinstance(message, TaskEvents):
                columns = task_columns(message)
                self.index += columns["index"]
                for name, collected in parts.items():
                    collected.append(np.asarray(columns[name]))
        found: dict[str, Any] = {name: np.concatenate(part) if part else np.empty(0) for name, part in parts.items()}
        times = np.abs(found["start_s"]) + np.abs(found["stop_s"])
        is_time = np.isfinite(times) & (times < _LATEST_S)
        self.columns: dict[str, Any] = {name: values[is_time] for name, values in found.items()}
        if not is_time.all():
            self.index = [text for text, is_kept in zip(self.index, is_time.tolist(), strict=True) if is_kept]

    def __len__(self) -> int:
        return len(self.index)


def write_chrome_trace(recording: Recording, path: Path) -> None:
    """Write a recording as a JSON file of trace events. Times begin with the first event; they are in microseconds."""
    names, rows = Names(recording), _Rows(recording)
    begins = [float(rows.columns["start_s"].min())] if len(rows) else []
    names.runs = {number: row for number, row in names.runs.items() if _is_time(row[2]) and _is_time(row[3] or 0.0)}
    begins += [started_s for _, _, started_s, _ in names.runs.values()]
    begin_s = min(begins, default=0.0)
    encoder = msgspec.json.Encoder()
    with path.open("wb") as file:
        file.write(b'{"displayTimeUnit":"ms","traceEvents":[\n')
        separator = b""
        for event in _events(recording, names, rows, begin_s):
            file.write(separator + encoder.encode(event))
            separator = b",\n"
        file.write(b"\n]}\n")


def _events(recording: Recording, names: Names, rows: _Rows, begin_s: float) -> Iterator[dict[str, Any]]:
    yield from _task_events(names, rows, begin_s)
    yield from _run_events(names, begin_s)
    for message in recording:
        if isinstance(message, WorkerSamples) and _is_time(message.at_s):
            yield from _memory(message, begin_s)


def _task_events(names: Names, rows: _Rows, begin_s: float) -> Iterator[dict[str, Any]]:
    """Yield the tracks of each worker, and what is on them."""
    columns = rows.columns
    start_us, stop_us = (_microseconds(columns[name] - begin_s) for name in ("start_s", "stop_s"))
    # Other threads move data, while the workers' own compute.
    lane = np.where(columns["action"] == Action.COMPUTE, columns["lane"].astype(int), _DATA_LANE)
    worker = columns["worker"].astype(int)
    tids = count(1)  # unique in the whole trace
    for number in sorted({*names.workers, *worker.tolist()}):
        pid = _FIRST_WORKER_PID + number
        yield _named("process_name", pid, 0, f"{names.cluster} · {names.worker(number)}")
        yield {"ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": number}}
        of_worker = worker == number
        for track in np.unique(lane[of_worker]).tolist():
            places = np.flatnonzero(of_worker & (lane == track))
            places = places[np.argsort(start_us[places], kind="stable")]
            label = "data" if track == _DATA_LANE else f"thread {track}"
            _round_down(start_us, stop_us, places)
            tracks = _without_overlap(start_us[places].tolist(), stop_us[places].tolist())
            known = [next(tids) for _ in range(max(tracks) + 1)]
            for extra, tid in enumerate(known):
                yield _named("thread_name", pid, tid, f"{label} ({extra + 1})" if extra else label)
            for place, extra in zip(places.tolist(), tracks, strict=True):
                times = int(start_us[place]), int(stop_us[place])
                yield _task(names, rows, place, times) | {"pid": pid, "tid": known[extra]}


def _round_down(start_us: Any, stop_us: Any, places: Any) -> None:
    """Let tasks, in the order of their starts, end no later than the next begins, if they do for being rounded."""
    earlier, later = places[:-1], places[1:]
    over_us = stop_us[earlier] - start_us[later]
    is_rounded = (over_us > 0) & (over_us <= 2 + _ROUNDING * (stop_us - start_us)[earlier])
    stop_us[earlier[is_rounded]] = start_us[later[is_rounded]]


def _task(names: Names, rows: _Rows, place: int, times: tuple[int, int]) -> dict[str, Any]:
    columns = rows.columns
    layer, code, nbytes = int(columns["layer"][place]), int(columns["action"][place]), int(columns["nbytes"][place])
    action = _ACTIONS.get(code, str(code))
    name = names.layer(layer)
    args: dict[str, Any] = {"key": f"({name}, {rows.index[place]})" if rows.index[place] else name, "action": action}
    if nbytes >= 0:
        args["bytes"] = nbytes
    args |= {name: value for name in _MEASURED if not math.isnan(value := float(columns[name][place]))}
    if (device_s := names.device_s.get(int(columns["row"][place]))) is not None:
        args["device_s"] = device_s
    if origin := names.origins.get(layer):
        args["origin"] = origin
    if (run := names.runs_of_layers.get(layer, -1)) >= 0:
        args["run"] = run
    ok = bool(columns["ok"][place])
    shown = name if code == Action.COMPUTE else f"{action}: {name}"
    event = {"ph": "X", "name": shown, "cat": action, "ts": times[0], "dur": times[1] - times[0], "args": args}
    return event if ok else event | {"cname": "terrible", "args": args | {"failed": True}}


def _run_events(names: Names, begin_s: float) -> Iterator[dict[str, Any]]:
    """Yield runs, those at the same time on tracks beside each other. One that hasn't ended is an instant."""
    if not names.runs:
        return
    yield _named("process_name", RUNS_PID, 0, f"{names.cluster} · runs")
    yield {"ph": "M", "name": "process_sort_index", "pid": RUNS_PID, "args": {"sort_index": -1}}
    runs = sorted(names.runs.items(), key=lambda item: item[1][2])
    starts = [round((row[2] - begin_s) * _MICROSECONDS) for _, row in runs]
    stops = [round(((row[2] if row[3] is None else row[3]) - begin_s) * _MICROSECONDS) for _, row in runs]
    tracks = _without_overlap(starts, stops)
    for (number, (kind, line, _, ended_s)), start, stop, track in zip(runs, starts, stops, tracks, strict=True):
        event: dict[str, Any] = {
            "name": line or f"run {number}",
            "cat": "run",
            "ts": start,
            "pid": RUNS_PID,
            "tid": track + 1,
        }
        event["args"] = {"run": number, "kind": kind}
        yield event | ({"ph": "i", "s": "t"} if ended_s is None else {"ph": "X", "dur": max(stop - start, 0)})


def _memory(message: WorkerSamples, begin_s: float) -> Iterator[dict[str, Any]]:
    """Yield the parts of each worker's memory, as counters."""
    at_us = round((message.at_s - begin_s) * _MICROSECONDS)
    columns = {part: getattr(message, f"{part}_bytes") for part in _MEMORY}
    for place, worker in enumerate(message.workers):
        parts = {part: values[place] for part, values in columns.items() if values}
        yield {"ph": "C", "name": "memory", "pid": _FIRST_WORKER_PID + worker, "ts": max(at_us, 0), "args": parts}


def _without_overlap(starts: Iterable[int], stops: Iterable[int]) -> list[int]:
    """Return a track for each span, given in the order of their starts, such that no two on a track overlap.

    >>> _without_overlap([0, 1, 5], [4, 3, 6])
    [0, 1, 0]
    """
    ends: list[int] = []
    tracks = []
    for start, stop in zip(starts, stops, strict=True):
        track = next((number for number, end in enumerate(ends) if end <= start), len(ends))
        ends[track : track + 1] = [max(stop, start)]
        tracks.append(track)
    return tracks


def _is_time(at_s: float) -> bool:
    return abs(at_s) < _LATEST_S  # False for what is no number


def _microseconds(seconds: Any) -> Any:
    return np.round(seconds * _MICROSECONDS).astype(np.int64)


def _named(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    """Return what names a process or thread."""
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}
