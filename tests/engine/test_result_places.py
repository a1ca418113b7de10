"""Where results are, as the head tells it: what workers have moved, what all reach, and what isn't there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from glassloom.head import result_places
from glassloom.head.result_places import ResultPlaces
from glassloom.protocol import messages
from glassloom.scheduler import Scheduler
from glassloom.store.packed_file import Packed
from glassloom.store.segment import Segment
from glassloom_metrics.protocol import Action

KEYS = [f"x-{number}" for number in range(8)]


class Head:
    """A scheduler with a block of eight tasks on one worker, and what the head knows of their results."""

    def __init__(self) -> None:
        self.scheduler = Scheduler(lambda kind, task: (kind, task.key), min_block=4)
        self.scheduler.worker_joined(0, "w0", 10)
        self.places = ResultPlaces(self.scheduler)
        self.scheduler.submit("me", KEYS, [f"spec {key}" for key in KEYS], [[]], wanted=KEYS)
        self.scheduler.take_actions()

    def moved(self, key: str, action: Action, worker: int = 0) -> None:
        number = self.scheduler.number_of(key)
        assert number is not None
        self.places.note(worker, messages.StoreEvents([action], [number], [0.0], [0.1], [8]))

    def states(self, keys: Sequence[str] = KEYS) -> list[str]:
        return [messages.TASK_STATES[code] for code in self.places.states_of(keys)]

    def finish(self, keys: Sequence[str], location: bytes | Segment | Packed | None = None) -> None:
        numbers = [self.scheduler.number_of(key) for key in keys]
        n = len(keys)
        self.scheduler.finished(0, numbers, [8] * n, [1e-3] * n, [location] * n)  # type: ignore[arg-type]


def test_tasks_of_a_block_are_told_and_stay_in_it() -> None:
    head = Head()
    assert set(head.states()) == {"running"}
    assert head.states(["nothing"]) == ["unknown"]
    head.finish(KEYS[:2])
    head.finish(KEYS[2:3], b"small")
    head.finish(KEYS[3:4], Segment("/dev/shm/glassloom-x", 8, [8]))
    head.finish(KEYS[4:5], Segment("/tmp/glassloom-x", 8, [8]))
    head.finish(KEYS[5:6], Packed("/tmp/glassloom-x", 0, 8))
    told = ["held", "held", "held", "shared", "spilled", "spilled", "running", "running"]
    assert head.states() == told
    assert not head.scheduler.individual_tasks


def test_a_result_is_where_its_worker_has_moved_it_last() -> None:
    head = Head()
    head.finish(KEYS)
    head.moved(KEYS[0], Action.SPILL_WRITE)
    head.moved(KEYS[1], Action.DEVICE_TO_HOST)
    head.moved(KEYS[2], Action.SPILL_WRITE)
    head.moved(KEYS[2], Action.SPILL_READ)
    head.moved(KEYS[3], Action.DEVICE_TO_HOST)
    head.moved(KEYS[3], Action.HOST_TO_DEVICE)
    head.moved(KEYS[4], Action.SPILL_WRITE, worker=7)  # one that has had it before
    head.moved(KEYS[5], Action.TRANSFER)  # read by another
    assert head.states()[:6] == ["spilled", "in memory", "in memory", "held", "held", "held"]


def test_what_is_forgotten_takes_no_memory_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_places, "_FIRST_CLEANING", 2)
    head = Head()
    head.finish(KEYS)
    for key in KEYS[:2]:
        head.moved(key, Action.SPILL_WRITE)
    head.scheduler.release("me", KEYS[:2])
    head.moved(KEYS[2], Action.SPILL_WRITE)
    assert len(head.places._moved) == 1
    assert head.states()[:3] == ["unknown", "unknown", "spilled"]
