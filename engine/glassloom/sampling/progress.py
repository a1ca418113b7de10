"""From the scheduler's counts to the recorder's rows."""

from __future__ import annotations

from glassloom_metrics.recorder import Recorder

from glassloom.scheduler import Layer, Scheduler, State

N_KEPT = 10_000
"""How many layers a scheduler keeps at least: each takes about half a kilobyte."""


def note_layers(scheduler: Scheduler, recorder: Recorder) -> None:
    """Tell the recorder of layers that are new or have grown."""
    for layer in scheduler.layer_table.take_grown():
        recorder.add_layer(
            layer.number,
            layer.label,
            layer.total,
            layer.origin,
            layer.run,
            layer.inputs,
            prefix=layer.name,
            is_tuple=layer.is_tuple,
        )


def progress_counts(scheduler: Scheduler, recorder: Recorder) -> None:
    """Tell the recorder of layers whose tasks have moved on."""
    for layer in scheduler.layer_table.take_changed():
        recorder.set_progress(layer.number, layer_counts(layer), layer.held_bytes)


def forget_old_layers(scheduler: Scheduler, n_kept: int) -> None:
    """Forget layers of which no task is known any more, the one that ended first first, if there are too many.

    The recorder knows how they ended, so call `note_layers` and `progress_counts` before. A layer that comes again after
    that is a new one.
    """
    scheduler.layer_table.forget_ended(n_kept)


def layer_counts(layer: Layer) -> tuple[int, ...]:
    """Return the number of a layer's tasks in each state, in the order of `recorder.STATES`; a failure stays one."""
    counts = layer.counts
    return (
        counts[State.WAITING],
        counts[State.READY] + counts[State.STAGING],
        counts[State.RUNNING],
        counts[State.MEMORY],
        layer.n_released,
        counts[State.ERRED] + layer.n_failed,
    )
