"""A backlog is folded in batches: the aggregate is the same as if each message had been folded by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from glassloom_dashboards.folds import task_table
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.bins import KIND_BITS, MAX_KINDS
from glassloom_dashboards.serving import hub
from glassloom_dashboards.serving.hub import Watched
from glassloom_metrics.open_recordings import RecordingRecord
from glassloom_metrics.protocol import (
    Action,
    Hello,
    Layers,
    Message,
    Progress,
    Running,
    TaskEvents,
    WorkerJoined,
    WorkerLeft,
    encode,
    task_events,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples
from synthetic import STARTED_AT_S

LAYERS, WORKERS, LANES = 3, 2, 2

times = st.integers(0, 400).map(lambda tenths: STARTED_AT_S + tenths / 10)
row = st.tuples(
    st.integers(0, LAYERS - 1), st.integers(0, WORKERS - 1), st.integers(0, LANES - 1), st.sampled_from([0, 0, 0, 1]),
    st.integers(0, 50), st.integers(1, 30), st.integers(0, 3), st.integers(0, 1),
)  # fmt: skip
"""Layer, worker, lane, action, tenths of seconds before it and of its own, distance of the last input, and success."""


def events(first: int, rows: list[tuple[Any, ...]], reached: dict[Any, int]) -> TaskEvents:
    """Return a message; `reached` has how far each thread has come, as none runs two tasks at a time."""
    layer, worker, lane, action, before, tenths, last_input, ok = map(list, zip(*rows, strict=True))
    start_s = []
    for thread, pause, took in zip(zip(worker, lane, action, strict=True), before, tenths, strict=True):
        start_s.append(STARTED_AT_S + (reached.get(thread, 0) + pause) / 10)
        reached[thread] = reached.get(thread, 0) + pause + took
    return task_events(
        first, [str(n % 5) for n in range(first, first + len(rows))], layer=layer, worker=worker, lane=lane, action=action,
        start_s=start_s, duration_s=[n / 10 for n in tenths], ok=ok, nbytes=8, last_input=last_input, ready_wait_s=0.25,
        sent_wait_s=0.125,
    )  # fmt: skip


running = st.lists(st.tuples(st.integers(0, WORKERS - 1), st.integers(0, 4), times), max_size=3)
part = st.one_of(
    st.lists(row, min_size=1, max_size=12),
    running.map(lambda tasks: ("running", tasks)),
    st.integers(0, WORKERS - 1).map(lambda worker: ("left", worker)),
    st.integers(1, 3).map(lambda count: ("lost", count)),
    st.integers(0, 9).map(lambda done: ("progress", done)),
)


def messages_of(parts: list[Any]) -> list[Message]:
    """Return a log."""
    log: list[Message] = [Hello(2, "c", "c", "processes", STARTED_AT_S, "log")]
    log += [WorkerJoined(STARTED_AT_S, n, f"w{n}", 100 + n, LANES, 2**30) for n in range(WORKERS)]
    log.append(Layers(list(range(LAYERS)), [f"layer-{n}" for n in range(LAYERS)], [9] * LAYERS, [""] * LAYERS))
    number, reached = 0, dict[Any, int]()
    for one in parts:
        if isinstance(one, list):
            log.append(events(number, one, reached))
            number += len(one)
            continue
        kind, value = one
        at_s = STARTED_AT_S + 40
        if kind == "lost":
            number += value
        elif kind == "left":
            log.append(WorkerLeft(at_s, value, "gone"))
        elif kind == "progress":
            log.append(Progress(at_s, [0], [0], [0], [0], [value], [0], [0]))
        else:
            workers, indices, started_s = map(list, zip(*value, strict=True)) if value else ([], [], [])
            texts, zeros = [str(index) for index in indices], [0] * len(value)
            log.append(Running(at_s, workers, zeros, zeros, texts, started_s))
    return log


def told(aggregate: ClusterAggregate) -> dict[str, Any]:
    """Return what pages show of an aggregate."""
    tasks, sums = aggregate.tasks, aggregate.sums
    said: dict[str, Any] = {
        name: tasks[name].tolist() for name in ("layer", "action", "start_s", "stop_s", "link", "worker")
    }
    said |= {name: tasks[name].astype(float).round(3).tolist() for name in ("ready_s", "sent_s")}
    said["held_up_s"] = tasks["held_up_s"][tasks["action"] == Action.COMPUTE].tolist()
    said["index"] = tasks.index.take(np.arange(tasks.next_row))
    said["threads"] = [tasks.threads[number] for number in tasks["thread"].tolist()]
    said["tasks"] = (sorted(tasks.threads), tasks.start_s, tasks.stop_s, tasks.latest_run_start_s, tasks.compute_tasks)
    said["sums"] = [
        (one.count, one.failed, round(one.busy_s, 6)) for one in map(sums.layers.__getitem__, range(LAYERS))
    ]
    said["durations"] = [
        (d.count, d.quantile(0.5) if d.count else 0) for d in map(aggregate.durations.__getitem__, range(LAYERS))
    ]
    said["running"] = (aggregate.running.now, aggregate.running.lost, aggregate.running.at_s)
    said["counts"] = (aggregate.task_counts, aggregate.lost_events, aggregate.last_at_s, aggregate.unreadable_messages)
    names = {"bins": (tasks.pyramid, tasks.threads), "by worker": (tasks.by_worker, list(range(WORKERS)))}
    for name, (pyramid, series) in names.items():
        for width_us in (10**5, 10**6, 5 * 10**7):
            gathered = pyramid.gather(0, 10**8, tasks.first_row, tasks.next_row, width_us)
            summed = gathered.bins.summed()
            rest = [column.tolist() for column in summed[1:]]
            whose = [series[number] for number in (summed.key >> KIND_BITS).tolist()]
            kind = summed.key & MAX_KINDS - 1
            kinds = (pyramid.kinds(kind) if pyramid is tasks.pyramid else kind).tolist()
            said[f"{name} of {width_us} us"] = sorted(zip(whose, kinds, *rest, strict=True))
            said[f"{name} spans of {width_us} us"] = sorted(gathered.spans.row.tolist())
    return said


def watched() -> Watched:
    record = RecordingRecord("r", "r", "", STARTED_AT_S, 1, 0.0, 0.0)
    found = Watched(record)
    found._since_begin = None
    return found


@settings(deadline=None, max_examples=examples(40))
@given(st.lists(part, min_size=1, max_size=12), st.integers(1, 40), st.integers(1, 4))
def test_a_log_that_is_folded_in_batches_tells_what_it_tells_message_by_message(parts, rows_at_once, block_rows):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(task_table, "_BLOCK_ROWS", block_rows)
        patched.setattr(hub, "_ROWS_AT_ONCE", rows_at_once)
        log = messages_of(parts)
        one_by_one, batched = ClusterAggregate(), watched()
        for message in log:
            one_by_one.apply(message)
            one_by_one.tasks.pyramid.gather(0, 10**8, 0, 0, 10**7)  # what has been looked at doesn't differ either
            batched.take(encode(message))
        batched.settle()
        assert told(batched.aggregate) == told(one_by_one)
