"""From the scheduler's counts to the recorder's rows."""

from __future__ import annotations

from glassloom_metrics.recorder import Recorder

from glassloom.scheduler import Scheduler, State
from glassloom.scheduler.state import DATA_LAYER


def note_layers(scheduler: Scheduler, recorder: Recorder) -> None:
    """Tell the recorder of layers that are new or have grown."""
    for layer in scheduler.grown_layers:
        recorder.add_layer(layer.number, layer.label, layer.total, layer.origin)
    scheduler.grown_layers = {}


def progress_counts(scheduler: Scheduler, recorder: Recorder) -> None:
    """Tell the recorder of layers whose tasks have moved on."""
    for layer in scheduler.changed_layers:
        if layer.number == DATA_LAYER:
            continue
        counts = layer.counts
        recorder.set_progress(
            layer.number,
            (
                counts[State.WAITING],
                counts[State.READY] + counts[State.STAGING],
                counts[State.RUNNING],
                counts[State.MEMORY],
                counts[State.RELEASED] + counts[State.FORGOTTEN],
                counts[State.ERRED],
            ),
        )
    scheduler.changed_layers = set()
