"""The task stream as a table: what the threads did in a span of time, summed by layer and kind of work. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from glassloom_metrics.protocol import Action
from numpy.typing import NDArray

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.bins import KIND_BITS, sum_by
from glassloom_dashboards.folds.lod import MAX_LOOKED_AT, View, allowed_grid
from glassloom_dashboards.folds.task_table import ACTION_BITS, TaskTable, kinds_of
from glassloom_dashboards.parts.tables import Table
from glassloom_dashboards.parts.theme import ACTION_WORDS
from glassloom_dashboards.parts.times import duration_text
from glassloom_dashboards.views.stream_drawing import OTHERS, is_other

COLUMNS = ("layer", "work", "events", "together", "mean", "longest", "failed", "run now")
_WORDS = {int(action): words for action, words in ACTION_WORDS.items()}


@dataclass(frozen=True)
class KindSums:
    """Sums over the events of a span of time by kind, layers of one name together; ``longest_s`` is NaN where the events themselves are no longer kept."""

    kind: NDArray[np.int64]
    count: NDArray[np.float64]
    failed: NDArray[np.float64]
    together_s: NDArray[np.float64]
    longest_s: NDArray[np.float64]


def stream_table(aggregate: ClusterAggregate, start_s: float, stop_s: float) -> Table:
    """Return one row for each layer and kind of work between two times, those that took longest first; then what only runs."""
    rows = aggregate.tasks.few_rows_between(start_s, stop_s, MAX_LOOKED_AT)
    sums = _sums_of_bins(aggregate.tasks, start_s, stop_s) if rows is None else _sums_of_rows(aggregate.tasks, rows)
    layers = np.array([task.layer for task in aggregate.running.now], np.int64)
    running = Counter(aggregate.tasks.named(layers << ACTION_BITS | Action.COMPUTE).tolist())
    texts = []
    for place in np.argsort(-sums.together_s, kind="stable").tolist():
        kind, count, together_s = int(sums.kind[place]), int(sums.count[place]), float(sums.together_s[place])
        numbers = [f"{count:,}", duration_text(together_s), duration_text(together_s / max(count, 1))]
        numbers += [_longest_text(float(sums.longest_s[place])), f"{int(sums.failed[place]):,}"]
        numbers.append(f"{running.pop(kind, 0):,}")
        texts.append([*_words(kind, aggregate), *numbers])
    for kind, count in running.items():
        texts.append([*_words(kind, aggregate), "0", *[""] * 3, "0", f"{count:,}"])
    return Table(COLUMNS, texts, texts=("work",))


def _sums_of_rows(tasks: TaskTable, rows: NDArray[np.int64]) -> KindSums:
    kind = kinds_of(tasks.take("layer", rows), tasks.take("action", rows))
    kinds, place = np.unique(tasks.named(kind), return_inverse=True)
    size, duration_s = len(kinds), tasks.take("stop_s", rows) - tasks.take("start_s", rows)
    longest_s = np.zeros(size)
    np.maximum.at(longest_s, place, duration_s)
    failed = sum_by(place, tasks.take("ok", rows) == 0, size)
    return KindSums(kinds, sum_by(place, np.ones(len(rows)), size), failed, sum_by(place, duration_s, size), longest_s)


def _sums_of_bins(tasks: TaskTable, start_s: float, stop_s: float) -> KindSums:
    """Return the sums over whole bins, of all lanes: of too many events to look at each, or of events that have gone."""
    grid = allowed_grid(tasks, View(start_s, stop_s, 0, 1))
    found = tasks.pyramid.gather(grid.start_us, grid.stop_us, tasks.first_row, tasks.next_row, grid.width_us)
    size, mask = tasks.pyramid.n_kinds, (1 << KIND_BITS) - 1
    middle_us = (found.spans.start_us + found.spans.stop_us) // 2
    spans = found.spans.take((middle_us >= grid.start_us) & (middle_us < grid.stop_us))
    bin_kind, span_kind = found.bins.key & mask, spans.key & mask
    count = sum_by(bin_kind, found.bins.events, size) + np.bincount(span_kind, minlength=size)
    failed = sum_by(bin_kind, found.bins.failed, size) + sum_by(span_kind, spans.failed, size)
    busy_us = sum_by(bin_kind, found.bins.busy_us, size) + sum_by(span_kind, spans.stop_us - spans.start_us, size)
    known = np.flatnonzero((count > 0) | (busy_us > 0))
    kinds, place = np.unique(tasks.named(tasks.pyramid.kinds(known)), return_inverse=True)
    count, failed, busy_us = (sum_by(place, column[known], len(kinds)) for column in (count, failed, busy_us))
    return KindSums(kinds, count, failed, busy_us / 1e6, np.full(len(kinds), np.nan))


def _longest_text(seconds: float) -> str:
    return "not kept" if np.isnan(seconds) else duration_text(seconds)


def _words(kind: int, aggregate: ClusterAggregate) -> tuple[str, str]:
    """Return the layer's name and what the work is."""
    layer, action = kind >> ACTION_BITS, kind & (1 << ACTION_BITS) - 1
    return OTHERS if is_other(kind) else aggregate.layer_name(layer), _WORDS.get(action, f"action {action}")
