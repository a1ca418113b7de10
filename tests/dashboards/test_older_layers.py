"""Layers are bounded: the oldest that are done are counted together, and all accounts stay what they would be without that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from glassloom_dashboards.folds import aggregate as aggregate_module
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.durations import joined
from glassloom_dashboards.folds.layers import Layer
from glassloom_dashboards.folds.older_layers import MAX_NAMES, OLDER, OLDER_NAME, OlderLayers
from glassloom_dashboards.folds.task_finding import rows_of_key
from glassloom_dashboards.folds.task_sums import NONE
from glassloom_dashboards.views.run_comparison import busy_s
from glassloom_metrics.protocol import Hello, Layers, Message, Progress, Runs, WorkerJoined, task_events
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples
from opened_pages import Opened
from synthetic import STARTED_AT_S

RELEASED, ERRED, MEMORY, RUNNING = 4, 5, 3, 2


@contextmanager
def bound(layers: int, at_once: int = 1) -> Iterator[None]:
    with patch.object(aggregate_module, "MAX_LAYERS", layers), patch.object(aggregate_module, "AT_ONCE", at_once):
        yield


def new_aggregate() -> ClusterAggregate:
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    aggregate.apply(WorkerJoined(STARTED_AT_S, 0, "w0", 1, 4))
    return aggregate


def announced(layer: int, run: int, total: int) -> Layers:
    return Layers([layer], [f"op{layer % 3}"], [total], ["x.py:1"], [run], [[]], [f"op-{layer:08x}"], [0])


def progress(layer: int, state: int, count: int, held: int = 0) -> Progress:
    columns = [[count if place == state else 0] for place in range(6)]
    return Progress(STARTED_AT_S + layer, [layer], *columns, [held])


def run_row(run: int, tasks: int, *, ended: bool) -> Runs:
    at_s = STARTED_AT_S + run
    outcome = "finished" if ended else "running"
    return Runs([run], ["compute"], ["c"], [""], [""], [""], ["x.py:1"], [at_s], [at_s + 1 if ended else None], [outcome], [tasks], [tasks], [0])  # fmt: skip


def compute(number: int, first: int, tasks: int = 2, state: int = RELEASED, held: int = 0) -> list[Message]:
    """Return what a run of one layer tells; `first` is the number of its first event."""
    start_s = [STARTED_AT_S + number + place / 10 for place in range(tasks)]
    rows = task_events(
        first, [str(place) for place in range(tasks)], layer=number, worker=0, lane=0, action=0, start_s=start_s,
        duration_s=[0.01 * (number % 7 + 1)] * tasks, nbytes=8, ok=1,
    )  # fmt: skip
    ended = state in (RELEASED, MEMORY, ERRED)
    return [
        announced(number, number, tasks), rows, progress(number, state, tasks, held), run_row(number, tasks, ended=ended)
    ]  # fmt: skip


def all_messages(states: list[tuple[int, int]]) -> list[Message]:
    found: list[Message] = []
    first = 0
    for number, (state, tasks) in enumerate(states):
        found += compute(number, first, tasks, state, held=8 if state == MEMORY else 0)
        first += tasks
    return found


def accounts(aggregate: ClusterAggregate) -> dict[str, object]:
    """Return every number that is a sum over all layers."""
    sums = [aggregate.sums.layers[layer] for layer in aggregate.layers]
    durations = joined(aggregate.durations[layer] for layer in aggregate.layers)
    total = sum(sums, NONE)
    return {
        "tasks": aggregate.task_counts,
        "by layer": [sum(column) for column in zip(*aggregate.progress.values(), strict=True)],
        "total": sum(layer.total for layer in aggregate.layers.values()),
        "run": (total.count, total.failed, pytest.approx(total.busy_s), total.longest_s, total.first_s, total.last_s),
        "durations": (durations.count, durations.shortest_s, durations.longest_s, dict(durations._bins)),
        "held": sum(aggregate.held.now.values()),
        "runs": dict(aggregate.runs.outcomes),
    }


STATES_OF_RUNS = st.tuples(st.sampled_from([RELEASED] * 4 + [ERRED, MEMORY, RUNNING]), st.integers(1, 3))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(STATES_OF_RUNS, min_size=1, max_size=40), st.integers(0, 6), st.data())
def test_accounts_are_the_same_with_and_without_the_bound(states, most, data):
    with bound(10**6):
        without = new_aggregate()
        for message in all_messages(states):
            without.apply(message)
    with bound(most):
        bounded = new_aggregate()
        for message in all_messages(states):
            bounded.apply(message)
        open_layers = sum(state in (RUNNING, MEMORY) for state, _ in states)
        assert len(bounded.layers) <= most + 3 + open_layers
        assert accounts(bounded) == accounts(without)
        again = data.draw(st.integers(0, len(states) - 1), label="told of again")
        for one in (bounded, without):
            one.apply(progress(again, ERRED, states[again][1]))
        assert accounts(bounded) == accounts(without), "a layer that comes again is counted once"
    for layer in range(len(states)):
        assert bounded.layer_name(layer) == without.layer_name(layer) == f"op{layer % 3}"
        for place in range(states[layer][1]):
            assert rows_of_key(bounded.tasks, layer, str(place)) == rows_of_key(without.tasks, layer, str(place))
    for run in bounded.runs.newest_first():
        assert bounded.runs.layers_of(run.id) == without.runs.layers_of(run.id)
        assert busy_s(bounded, run) == busy_s(without, run), "a run that is kept is kept with its layers"


def test_what_is_under_way_or_held_stays_however_old_it_is():
    with bound(3):
        aggregate = new_aggregate()
        states = [(RUNNING, 1), (MEMORY, 1), *[(RELEASED, 1)] * 20]
        for message in all_messages(states):
            aggregate.apply(message)
    assert {0, 1} <= aggregate.layers.keys()
    assert {run.id for run in aggregate.runs.newest_first()} >= {0, 1}
    aggregate.apply(run_row(0, 1, ended=True))
    assert aggregate.runs.get(0).outcome == "finished", "an old run that was under way ends like any other"
    aggregate.apply(run_row(5, 1, ended=True))
    assert aggregate.runs.get(5) is None, "a run that was forgotten doesn't come again"


def test_the_layer_that_stands_for_the_older_ones_says_so_on_the_pages():
    with bound(3):
        aggregate = new_aggregate()
        for message in all_messages([(RELEASED, 2)] * 30):
            aggregate.apply(message)
        older = aggregate.layers[OLDER]
        assert (older.name, next(iter(aggregate.layers))) == (OLDER_NAME, OLDER)
        assert f"{aggregate.older.count} layers of runs long ended" in older.origin
        opened = Opened("progress", aggregate)
        card = opened.card("progress")
        rows = [(row[0], int(row[2])) for row in card.table().rows]
        assert rows[-1] == (OLDER_NAME, 2 * aggregate.older.count) and sum(tasks for _, tasks in rows) == 60
        assert Opened("stages", aggregate).view._failures == {}


def test_the_page_of_a_task_of_an_older_layer_tells_what_is_still_true():
    with bound(3):
        aggregate = new_aggregate()
        for message in all_messages([(RELEASED, 2)] * 30):
            aggregate.apply(message)
        assert [aggregate.is_older(layer) for layer in (1, 29, 99, OLDER)] == [True, False, False, False]
        opened = Opened("task", aggregate)
        card = opened.card("task")
        card.view.ask("open", "1:0")
        opened.update()
        assert "Its result is no longer held" in card.view.text and "op1" in card.view.text
        card.view.ask("open", "1:77")
        opened.update()
        assert "Its run has ended long ago" in card.view.text


def test_names_of_folded_layers_are_bounded():
    older = OlderLayers(6)
    for number in range(MAX_NAMES + 10):
        older.add(Layer(number, f"name {number}", 1, ""), (0, 0, 0, 0, 1, 0))
    assert (older.name(7), older.name(MAX_NAMES + 5), older.name(10**9)) == ("name 7", "", "")
    assert (older.has(7), older.has(MAX_NAMES + 5), older.has(10**9), older.has(OLDER)) == (True, True, False, False)
    assert (older.count, older.counts[RELEASED]) == (MAX_NAMES + 10, MAX_NAMES + 10)
