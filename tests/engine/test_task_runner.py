"""A worker's lanes and slices of tasks: who runs what, what is told when, and what a single task of a slice does to the others."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_helpers import eventually
from glassloom.protocol import messages
from glassloom.protocol.finished import FinishedTasks
from glassloom.store.segment import Location, Segment
from glassloom.store.store import Store
from glassloom.worker.sender import Outbox
from glassloom.worker.task_context import task_thread
from glassloom.worker.task_output import TaskOutput
from glassloom.worker.task_queue import TaskQueue
from glassloom.worker.task_runner import TaskRunner

CALL, OTHER_CALL, CALL_OF_DEPS = 0, 1, 2
TIMEOUT_S = 60


class Lanes:
    """The lanes of a worker whose messages go into a list. A task calls `does` with its number."""

    def __init__(self, folder: Path, n_threads: int) -> None:
        self.sent: list[Any] = []
        self.noted: list[int] = []
        self.crashes: list[Any] = []
        self.does: Callable[[int], Any] = lambda number: number
        self.does_with: Callable[..., Any] = lambda number, *inputs: number + sum(inputs)
        self.output = TaskOutput()
        self.queue = TaskQueue()
        self.store = Store(None, str(folder), lambda *_: None)
        self.outbox = Outbox(self, self.output)  # type: ignore[arg-type]
        self.runner = TaskRunner(
            n_threads,
            self.queue,
            self.store,
            self,  # type: ignore[arg-type]
            self,  # type: ignore[arg-type]
            self.outbox,
            self.output,
            on_crash=self.crashes.append,
        )
        self.runner.calls.loaded[CALL] = lambda literals, deps: self.does(int(literals))  # type: ignore[assignment]
        self.runner.calls.loaded[OTHER_CALL] = lambda literals, deps: -int(literals)  # type: ignore[assignment]
        self.runner.calls.loaded[CALL_OF_DEPS] = lambda literals, deps: self.does_with(int(literals), *deps)  # type: ignore[assignment]
        self.n_threads = n_threads

    # What the runner sees of its worker

    def send(self, message: Any) -> None:
        self.sent.append(message)

    def send_all(self, batch: list[Any]) -> None:
        self.sent += batch

    def note_result(self, nbytes: int) -> None:
        self.noted.append(nbytes)

    # What tests see

    def start(self) -> None:
        self.runner.start()

    def put(self, first: int, n: int, calls: int | list[int] = CALL, priority: int = 0) -> None:
        literals = [b"%d" % number for number in range(first, first + n)]
        self.queue.put_slice(messages.RunSlice(first, calls, literals, priority))

    def put_reading(self, first: int, n: int, deps: list[tuple[int, Location | None]]) -> None:
        """Put tasks that all read the same."""
        literals = [b"%d" % number for number in range(first, first + n)]
        self.queue.put_slice(messages.RunSlice(first, CALL_OF_DEPS, literals, deps=deps))

    def results(self) -> dict[int, Any]:
        """Return the pickles that were sent so far, by task; None for what the store keeps."""
        told = [FinishedTasks(message) for message in self.sent if isinstance(message, messages.Finished)]
        return {number: result for each in told for number, result in zip(each.numbers, each.results, strict=True)}

    def of_kind(self, kind: type) -> list[Any]:
        return [message for message in self.sent if isinstance(message, kind)]

    def end(self) -> None:
        self.runner._slots.must_end = lambda **_: True  # type: ignore[method-assign]
        for _ in range(2 * self.n_threads):
            self.queue.wake()
        assert not self.crashes


@pytest.fixture
def lanes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lanes]:
    """Two lanes, or as many as the test is marked with; `start` them."""
    made = Lanes(tmp_path, getattr(request, "param", 2))
    yield made
    made.end()


one_lane = pytest.mark.parametrize("lanes", [1], indirect=True)


def test_all_tasks_of_a_slice_run_once(lanes: Lanes) -> None:
    ran: list[int] = []
    lanes.does = ran.append
    lanes.put(10, 500)
    lanes.put(600, 3, calls=[CALL, OTHER_CALL, CALL])
    lanes.start()
    eventually(lambda: len(lanes.results()) == 503)
    assert sorted(ran) == [*range(10, 510), 600, 602]
    assert (len(lanes.queue), lanes.runner.n_executing) == (0, 0)
    for message in lanes.of_kind(messages.Finished):
        told = FinishedTasks(message)
        assert all(duration >= 0 for duration in told.times.durations_s)
        assert set(told.lanes) <= {0, 1}


def test_a_lane_that_is_stuck_leaves_the_rest_of_its_slice_to_others(lanes: Lanes) -> None:
    go_on = threading.Event()
    lanes.does = lambda number: go_on.wait(TIMEOUT_S) if number == 10 else number
    lanes.put(10, 50)
    lanes.start()
    eventually(lambda: set(lanes.results()) == set(range(11, 60)))  # and its neighbours' results aren't held back
    assert (len(lanes.queue), lanes.runner.n_executing) == (1, 1)
    go_on.set()
    eventually(lambda: 10 in lanes.results())


@one_lane
def test_results_before_a_long_task_can_be_sent_meanwhile(lanes: Lanes) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def does(number: int) -> int:
        if number == 19:
            begun.set()
            assert go_on.wait(TIMEOUT_S)
        return number

    lanes.does = does
    lanes.put(10, 10)
    lanes.start()
    assert begun.wait(TIMEOUT_S)
    lanes.outbox.flush()  # as the housekeeper does
    assert set(lanes.results()) == set(range(10, 19))
    assert not lanes.outbox
    go_on.set()
    eventually(lambda: 19 in lanes.results())


@one_lane
def test_a_task_that_fails_in_the_middle_leaves_the_others_alone(lanes: Lanes) -> None:
    def does(number: int) -> int:
        if number == 13:
            raise ValueError(f"not {number}")
        return number

    lanes.does = does
    lanes.put(10, 8)
    lanes.start()
    eventually(lambda: set(lanes.results()) == {10, 11, 12, 14, 15, 16, 17})
    (failed,) = lanes.of_kind(messages.Failed)
    assert (failed.number, failed.failure.message) == (13, "not 13")
    assert len(lanes.queue) == 0


@one_lane
def test_tasks_are_recalled_while_a_lane_runs_the_slice(lanes: Lanes) -> None:
    recalled: list[list[int]] = []

    def does(number: int) -> int:
        if number == 12:
            recalled.append(lanes.queue.recall([11, 12, 14, 15]))
            recalled.append(sorted(lanes.queue.recall_all()))
        return number

    lanes.does = does
    lanes.put(10, 10)
    lanes.start()
    eventually(lambda: set(lanes.results()) == {10, 11, 12})
    assert recalled == [[14, 15], [13, 16, 17, 18, 19]]


@one_lane
def test_an_urgent_task_goes_before_the_rest_of_a_slice(lanes: Lanes) -> None:
    ran: list[int] = []

    def does(number: int) -> int:
        ran.append(number)
        if number == 11:
            lanes.queue.put(messages.RunTask(99, CALL, b"99", [], 1))
        return number

    lanes.does = does
    lanes.put(10, 4)
    lanes.start()
    eventually(lambda: len(lanes.results()) == 5)
    assert ran == [10, 11, 99, 12, 13]


@one_lane
def test_a_task_that_waits_for_one_of_a_slice_reads_its_result_before_it_is_sent(lanes: Lanes) -> None:
    read: list[Any] = []

    def add(literals: bytes, deps: list[Any]) -> None:
        read.extend(deps)

    add.n_read = 3  # type: ignore[attr-defined]
    lanes.runner.calls.loaded[OTHER_CALL] = add  # type: ignore[assignment]

    def does(number: int) -> Any:
        if number == 10:
            lanes.queue.put(messages.RunTask(99, OTHER_CALL, b"", [(10, None), (11, None), (13, None)]))
        return number

    lanes.does = does
    lanes.put(10, 5)
    lanes.start()
    eventually(lambda: len(lanes.results()) == 6)
    assert read == [10, 11, 13]
    told = [number for m in lanes.of_kind(messages.Finished) for number in FinishedTasks(m).numbers]
    assert told.index(99) > max(told.index(10), told.index(11), told.index(13))


def test_a_result_of_a_slice_is_found_before_and_after_it_was_sent(lanes: Lanes) -> None:
    lanes.does = lambda number: number
    lanes.put(10, 3)
    lanes.start()
    eventually(lambda: len(lanes.results()) == 3)
    assert lanes.runner.inputs.read([(10, None), (12, None)])[0] == [10, 12]
    lane = lanes.outbox.lane(7)
    for column, value in ((lane.starts_s, 0.0), (lane.stops_s, 0.0), (lane.nbytes, 8), (lane.results, b"I5\n.")):
        column.append(value)  # type: ignore[attr-defined]
    lane.numbers.append(77)
    assert lanes.runner.inputs.read([(77, None)])[0] == [5]
    lanes.outbox.flush()
    assert lanes.runner.inputs.read([(77, None)])[0] == [5]


@one_lane
def test_large_results_stay_in_the_store(lanes: Lanes) -> None:
    lanes.does = lambda number: np.full(10_000, number) if number % 2 else number
    lanes.put(10, 6)
    lanes.start()
    eventually(lambda: len(lanes.results()) == 6)
    assert [number for number, result in lanes.results().items() if result is None] == [11, 13, 15]
    assert lanes.store.get(13)[0] == 13
    assert len(lanes.noted) == 3


@one_lane
def test_a_task_of_a_slice_that_secedes_leaves_the_rest_to_another_thread(lanes: Lanes) -> None:
    go_on = threading.Event()

    def does(number: int) -> int:
        thread = task_thread()
        if number == 11:
            assert thread is not None
            thread.secede(thread)
            assert go_on.wait(TIMEOUT_S)
            thread.rejoin(thread, True)
        if number == 14:
            go_on.set()
        return 0 if thread is None else thread.number

    lanes.does = does
    lanes.put(10, 200)
    lanes.start()
    eventually(lambda: len(lanes.results()) == 200)
    assert lanes.of_kind(messages.Seceded) == [messages.Seceded(11)]
    assert lanes.of_kind(messages.Rejoined) == [messages.Rejoined(11)]
    eventually(lambda: lanes.runner.n_executing == 0)
    assert [lanes.runner.inputs.read([(number, None)])[0] for number in (11, 150)] == [[11], [150]]


@one_lane
def test_a_thread_whose_task_does_not_come_back_runs_no_other(lanes: Lanes) -> None:
    threads: dict[int, int] = {}

    def does(number: int) -> int:
        thread = task_thread()
        if number == 11 and thread is not None:
            thread.secede(thread)
        threads[number] = threading.get_ident()
        return number

    lanes.does = does
    lanes.put(10, 100)
    lanes.start()
    eventually(lambda: len(lanes.results()) == 100)
    assert list(threads.values()).count(threads[11]) <= 2  # its own, and the one before
    eventually(lambda: lanes.runner.n_executing == 0)


@one_lane
def test_what_a_task_of_a_slice_prints_is_its_own_and_goes_before_its_result(lanes: Lanes) -> None:
    lanes.does = lambda number: lanes.output.write("stdout", f"{number} " if number % 2 else f"{number}\n")
    lanes.put(10, 4)
    lanes.start()
    eventually(lambda: len(lanes.results()) == 4)
    rows = [row for m in lanes.of_kind(messages.TaskOutput) for row in zip(m.numbers, m.texts, strict=True)]
    assert rows == [(10, "10"), (11, "11 "), (12, "12"), (13, "13 ")]
    kinds = [type(message) for message in lanes.sent]
    assert kinds[0] is messages.TaskOutput
    assert kinds[-1] is messages.Finished


def test_results_of_several_lanes_are_told_in_the_order_of_their_numbers(lanes: Lanes) -> None:
    for number, of_lane in ((4, [1, 3]), (2, [0, 2])):
        lane = lanes.outbox.lane(number)
        lane.starts_s += [1.0, 2.0]
        lane.stops_s += [1.5, 2.5]
        lane.nbytes += [8, 8]
        lane.results += [b"%d" % task for task in of_lane]
        lane.numbers += of_lane
    lanes.outbox.add((99, 0, 3.0, 3.5, 8, 0.5, 0.0, 0.0, b"99"))
    lanes.outbox.flush()
    first, second = lanes.of_kind(messages.Finished)
    told = FinishedTasks(first)
    assert (told.numbers, told.lanes.tolist()) == (range(4), [2, 4, 2, 4])
    assert told.results == [b"0", b"1", b"2", b"3"]
    assert told.times.starts_s.tolist() == [1.0, 1.0, 2.0, 2.0]
    assert FinishedTasks(second).numbers == range(99, 100)


def test_tasks_of_a_slice_read_what_cannot_be_changed_once(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Any] = []
    read = lanes.runner.inputs.read
    monkeypatch.setattr(lanes.runner.inputs, "read", lambda deps: reads.append(deps) or read(deps))
    lanes.put_reading(10, 300, [(1, pickle.dumps(5)), (2, pickle.dumps(7))])
    lanes.start()
    eventually(lambda: len(lanes.results()) == 300)
    assert {number: pickle.loads(result) for number, result in lanes.results().items()} == {
        number: number + 12 for number in range(10, 310)
    }
    assert 1 <= len(reads) <= lanes.n_threads


def test_each_task_of_a_slice_has_a_value_that_it_may_change_to_itself(lanes: Lanes) -> None:
    lengths: list[int] = []
    lanes.does_with = lambda number, values: (values.append(number), lengths.append(len(values)))[0]
    lanes.put_reading(10, 100, [(1, pickle.dumps([0, 0]))])
    lanes.start()
    eventually(lambda: len(lanes.results()) == 100)
    assert lengths == [3] * 100


def test_tasks_of_a_slice_whose_input_is_gone_are_given_back(lanes: Lanes, tmp_path: Path) -> None:
    gone = Segment(str(tmp_path / "gone"), 8, [8])
    lanes.put_reading(10, 20, [(1, gone)])
    lanes.put(100, 20)
    lanes.start()
    eventually(lambda: len(lanes.results()) == 20 and len(lanes.of_kind(messages.Recalled)) == 20)
    assert set(lanes.results()) == set(range(100, 120))
    assert sorted(number for told in lanes.of_kind(messages.Recalled) for number in told.numbers) == [*range(10, 30)]
    assert all((lost.number, lost.location) == (1, gone) for lost in lanes.of_kind(messages.SharedResultLost))
    assert lanes.of_kind(messages.SharedResultLost)
    assert len(lanes.queue) == 0


@one_lane
def test_the_task_of_a_slice_that_reads_its_inputs_for_long_tells_how_long(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = lanes.runner.inputs.read
    monkeypatch.setattr(lanes.runner.inputs, "read", lambda deps: (read(deps)[0], 0.25, 0.5))
    lanes.put_reading(10, 20, [(1, pickle.dumps(5))])
    lanes.start()
    eventually(lambda: len(lanes.results()) == 20)
    told = [FinishedTasks(message) for message in lanes.of_kind(messages.Finished)]
    assert sorted((each.fetch_s, each.deserialise_s, len(each.numbers)) for each in told if each.fetch_s) == [
        (0.25, 0.5, 1)
    ]
