"""The task stream as a table: what the threads did in a span of time, summed by layer and kind of work. Pure."""

from __future__ import annotations

import numpy as np

from glassloom_dashboards.aggregate import ClusterAggregate
from glassloom_dashboards.tables import Table
from glassloom_dashboards.task_table import ACTION_BITS, kinds_of
from glassloom_dashboards.theme import ACTION_WORDS, duration_text

COLUMNS = ("layer", "work", "events", "together", "mean", "longest", "failed")
_WORDS = {int(action): words for action, words in ACTION_WORDS.items()}


def stream_table(aggregate: ClusterAggregate, start_s: float, stop_s: float) -> Table:
    """Return one row for each layer and kind of work between two times, those that took longest first."""
    tasks = aggregate.tasks
    rows = tasks.rows_between(start_s, stop_s)
    kinds, place = np.unique(kinds_of(tasks.take("layer", rows), tasks.take("action", rows)), return_inverse=True)
    duration_s = tasks.take("stop_s", rows) - tasks.take("start_s", rows)
    count = np.bincount(place, minlength=len(kinds))
    together_s = np.bincount(place, duration_s, minlength=len(kinds))
    failed = np.bincount(place, tasks.take("ok", rows) == 0, minlength=len(kinds)).astype(int)
    longest_s = np.zeros(len(kinds))
    np.maximum.at(longest_s, place, duration_s)
    texts = []
    for kind in np.argsort(-together_s, kind="stable").tolist():
        layer, action = int(kinds[kind]) >> ACTION_BITS, int(kinds[kind]) & ((1 << ACTION_BITS) - 1)
        spans = (together_s[kind], together_s[kind] / count[kind], longest_s[kind])
        numbers = [f"{count[kind]:,}", *(duration_text(float(span)) for span in spans), f"{failed[kind]:,}"]
        texts.append([aggregate.layer_name(layer), _work(action), *numbers])
    return Table(COLUMNS, texts, texts=("work",))


def _work(action: int) -> str:
    return _WORDS.get(action, f"action {action}")
