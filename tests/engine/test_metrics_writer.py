"""What the head writes down of a batch of finished tasks when it doesn't know all of them: the rows of the others, whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from glassloom.head.metrics_writer import MetricsWriter
from glassloom.protocol.clock import Clock
from glassloom.protocol.finished import FinishedTasks, finished_message
from glassloom.scheduler import Scheduler
from glassloom_metrics.protocol import COLUMN_TYPECODES, PROTOCOL_VERSION, Hello, TaskEvents, column, decode
from glassloom_metrics.recorder import Recorder

UNKNOWN = 10**6
OWN_COLUMNS = ("lane", "duration_s", "nbytes", "cpu_s", "fetch_s", "deserialise_s")


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    recorder = Recorder(Hello(PROTOCOL_VERSION, "c", "c", "processes", 0.0), directory=tmp_path)
    yield recorder
    recorder.close()


def batch(numbers: list[int]) -> FinishedTasks:
    """Return a report in which each task's place in it tells all its columns."""
    places = [float(place) for place in range(len(numbers))]
    ints = [int(place) for place in places]
    starts_s = [100 + place for place in places]
    stops_s = [100 + 2 * place for place in places]
    results = [b"result"] * len(numbers)
    return FinishedTasks(finished_message(numbers, ints, starts_s, stops_s, ints, places, places, places, results))


def rows(recorder: Recorder) -> list[dict[str, Any]]:
    recorder.flush(1.0)
    events = [decode(payload) for payload in recorder.read(0, limit=1000)[0]]
    return [
        {"index": index} | {name: column(message, name)[place] for name in COLUMN_TYPECODES}
        for message in events
        if isinstance(message, TaskEvents)
        for place, index in enumerate(message.index)
    ]


@pytest.mark.parametrize("n_tasks", [1, 3, 100], ids=["one", "few", "in a block"])
@pytest.mark.parametrize("unknown_at", ["first", "middle", "last"])
def test_only_the_row_of_an_unknown_task_is_left_out(recorder: Recorder, n_tasks: int, unknown_at: str) -> None:
    scheduler = Scheduler(lambda kind, task: kind)
    worker = scheduler.worker_joined(0, "w", n_tasks)
    writer = MetricsWriter(recorder, scheduler, Clock())
    keys: list[Any] = [("layer", number) for number in range(n_tasks)]
    scheduler.submit("me", keys, ["spec"] * n_tasks, [()] * n_tasks, wanted=keys)
    scheduler.take_actions()
    numbers = list(scheduler.numbers_of(keys))
    place = {"first": 0, "middle": n_tasks // 2, "last": n_tasks}[unknown_at]
    numbers.insert(place, UNKNOWN)
    writer.finished(worker, batch(numbers))
    told = rows(recorder)
    known = [at for at in range(n_tasks + 1) if at != place]
    assert [row["index"] for row in told] == [str(number) for number in range(n_tasks)]
    assert [tuple(row[name] for name in OWN_COLUMNS) for row in told] == [(at,) * len(OWN_COLUMNS) for at in known]
    assert len({row["layer"] for row in told}) == 1 and all(row["worker"] == 0 for row in told)


def test_a_task_that_was_given_up_while_it_ran_has_its_row(recorder: Recorder) -> None:
    scheduler = Scheduler(lambda kind, task: kind)
    worker = scheduler.worker_joined(0, "w", 3)
    writer = MetricsWriter(recorder, scheduler, Clock())
    keys: list[Any] = [("layer", number) for number in range(3)]
    scheduler.submit("me", keys, ["spec"] * 3, [()] * 3, wanted=keys)
    scheduler.take_actions()
    numbers = list(scheduler.numbers_of(keys))
    scheduler.cancel(keys[1:2])
    scheduler.take_actions()
    writer.finished(worker, batch([numbers[0], UNKNOWN, *numbers[1:]]))
    assert [(row["index"], row["nbytes"]) for row in rows(recorder)] == [("0", 0), ("1", 2), ("2", 3)]
