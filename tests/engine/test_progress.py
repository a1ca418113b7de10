"""What the head remembers of computations that are over: no more than a bound, while their progress stays recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from glassloom.head.metrics_writer import MetricsWriter
from glassloom.protocol.clock import Clock
from glassloom.sampling.progress import forget_old_layers, layer_counts
from glassloom.scheduler import Scheduler
from glassloom_metrics.folds import ClusterSummary
from glassloom_metrics.protocol import PROTOCOL_VERSION, Hello, decode
from glassloom_metrics.recorder import Recorder


def run(scheduler: Scheduler, name: str) -> Any:
    """Run a task of a layer and let go of its result; return the layer."""
    key = (name, 0)
    scheduler.submit("me", [key], ["spec"], [()], wanted=[key])
    for tasks_of_worker in scheduler.take_actions().run.values():
        scheduler.finished(0, [task.number for task in tasks_of_worker], [8], [0.1], [b"result"])
    layer = scheduler.layers[name]
    scheduler.release("me", [key])
    return layer


def test_old_layers_are_forgotten_beyond_a_bound() -> None:
    scheduler = Scheduler(lambda kind, task: kind)
    scheduler.worker_joined(0, "w", 1)
    layers = [run(scheduler, f"layer-{number}") for number in range(20)]
    forget_old_layers(scheduler, 5)
    assert list(scheduler.layers) == [f"layer-{number}" for number in range(15, 20)]
    assert {layer_counts(layer) for layer in layers} == {(0, 0, 0, 0, 1, 0)}


def test_a_layer_that_comes_again_has_a_number_of_its_own() -> None:
    scheduler = Scheduler(lambda kind, task: kind)
    scheduler.worker_joined(0, "w", 1)
    numbers = [run(scheduler, f"layer-{number}").number for number in range(4)]
    forget_old_layers(scheduler, 1)
    numbers.append(run(scheduler, "layer-0").number)
    assert numbers == [0, 1, 2, 3, 4]


def test_layers_of_known_tasks_stay_however_old() -> None:
    scheduler = Scheduler(lambda kind, task: kind)
    scheduler.worker_joined(0, "w", 1)
    scheduler.submit("me", [("held-first", 0)], ["spec"], [()], wanted=[("held-first", 0)])
    for number in range(3):
        run(scheduler, f"layer-{number}")
    forget_old_layers(scheduler, 0)
    assert list(scheduler.layers) == ["held-first"]


def test_values_that_clients_hand_in_are_no_layer_that_could_be_forgotten() -> None:
    scheduler = Scheduler(lambda kind, task: kind)
    scheduler.worker_joined(0, "w", 1)
    scheduler.add_data("me", "value", b"inline", 8)
    scheduler.release("me", ["value"])
    for number in range(3):
        run(scheduler, f"layer-{number}")
    forget_old_layers(scheduler, 0)
    assert list(scheduler.layers) == []


def test_what_was_forgotten_stays_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassloom.head.metrics_writer.N_KEPT", 2)
    scheduler = Scheduler(lambda kind, task: kind)
    scheduler.worker_joined(0, "w", 1)
    recorder = Recorder(Hello(PROTOCOL_VERSION, "c", "c", "processes", 0.0), directory=tmp_path)
    metrics_writer = MetricsWriter(recorder, scheduler, Clock())
    summary = ClusterSummary()
    for number in range(6):
        run(scheduler, f"layer-{number}")
        metrics_writer.flush()
    for payload in recorder.read(0, limit=1000)[0]:
        summary.apply(decode(payload))
    recorder.close()
    assert len(scheduler.layers) == 2
    assert summary.as_dict()["tasks"]["released"] == 6
