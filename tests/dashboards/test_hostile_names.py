"""Names, keys, code, lines and reasons with characters that aren't seen or turn the text: every view shows them as escapes."""

from __future__ import annotations

import json
import re

import pytest
import synthetic
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.task_table import ACTION_BITS
from glassloom_dashboards.parts.theme import cut_apart, visible
from glassloom_dashboards.views.stages import stages_of, straggler_words
from glassloom_dashboards.views.stream_drawing import name_columns
from glassloom_metrics.gpu_messages import gpu_devices, gpu_samples
from glassloom_metrics.pages import PAGES
from glassloom_metrics.protocol import (
    Errors,
    Hello,
    HostSamples,
    Layers,
    Life,
    Log,
    Progress,
    Runs,
    WorkerJoined,
    WorkerLeft,
    WorkerSamples,
    task_events,
)
from markupsafe import escape
from opened_pages import Opened, aggregate_of
from synthetic import STARTED_AT_S
from test_running_tasks import running as running_now

NASTY = "a\u202eb\u2066\x07\u200b\ufeff\u2028"
SHOWN = r"a\u202eb\u2066\x07\u200b\ufeff\u2028"
HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
SHOWN_29 = f"{SHOWN}['{SHOWN}29']"
COUNT = 30


def hostile() -> ClusterAggregate:
    """Return a cluster where everything that a person may name is called `NASTY`."""
    at_s = STARTED_AT_S
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", NASTY, "processes", at_s))
    for worker in (0, 1):
        aggregate.apply(WorkerJoined(at_s, worker, f"{NASTY}{worker}", worker + 1, 1, 2**30))
    runs = Runs(
        [7], ["compute"], [NASTY], [NASTY], [NASTY], [NASTY], [NASTY], [at_s], [None], ["running"], [40], [1], [1]
    )
    aggregate.apply(runs)
    aggregate.apply(
        Layers(
            [0, 1],
            [NASTY, f"{NASTY}\nb"],
            [40, 5],
            [NASTY] * 2,
            [7, 7],
            [[], [0]],
            [f"{NASTY}-1", f"{NASTY}-2"],
            [1, 0],
        )
    )
    seconds = [0.1] * (COUNT - 1) + [9.0]
    rows = {
        "layer": [0] * COUNT, "worker": [0] * COUNT, "lane": [0] * COUNT, "action": [0] * COUNT,
        "start_s": [at_s + place for place in range(COUNT)], "duration_s": seconds, "nbytes": [8] * COUNT,
        "ok": [1] * (COUNT - 1) + [0],
    }  # fmt: skip
    aggregate.apply(task_events(0, [f"'{NASTY}{place}'" for place in range(COUNT)], **rows))
    aggregate.apply(running_now(40.0, (1, 0, 1, NASTY, 30.0)))
    aggregate.apply(Progress(at_s + 40, [0, 1], [5, 3], [0, 0], [0, 1], [COUNT - 1, 0], [0, 0], [1, 0], [100, 50]))
    zeros = [0, 0]
    aggregate.apply(
        WorkerSamples(at_s + 40, [0, 1], [50.0, 0.0], [2**28] * 2, [2**20] * 2, zeros, zeros, [0, 1], zeros)
    )
    aggregate.apply(
        Errors([1], [0], [NASTY], [NASTY], [f"Traceback\n{NASTY}"], [0], [NASTY], [1], [at_s], [at_s], [[f"'{NASTY}'"]])
    )
    aggregate.apply(Log(at_s + 3, 0, "error", NASTY, 0, f"'{NASTY}0'"))
    aggregate.apply(HostSamples(at_s + 40, NASTY, 2, 50.0, 2**33, 2**34, 2**30, 0.0, 0.0, 0.0, 0.0, 2**33, 2**33))
    lost = synthetic.gpu_device(1, state="lost", reason=NASTY)
    aggregate.apply(gpu_devices(at_s, NASTY, NASTY, [synthetic.gpu_device(0, name=NASTY), lost]))
    aggregate.apply(gpu_samples(at_s + 1, {0: {"utilization_percent": 50.0, "memory_used_bytes": f"error: {NASTY}"}}))
    return aggregate


OPENS = {
    "runs": ("open", "7"),
    "workers": ("open", "0"),
    "logs": ("open", "1"),
    "gpu-devices": ("open", "0"),
    "task": ("open", "0:'pay"),
}


def views(page: str, aggregate: ClusterAggregate) -> list[str]:
    """Return everything that a page sends: as it is, with tables, and with what can be opened."""
    opened = Opened(page, aggregate)
    sent = [opened.document.title, *_texts(opened.document.to_json())]
    for name in opened.view.tables.tags or [card.id for card in opened.view.cards]:
        if name in opened.view.table_views:
            opened.view.table_views[name].show(True)
    for card in opened.view.cards:
        view = getattr(card, "view", None)
        if card.id in OPENS and view is not None:
            view.ask(*OPENS[card.id])
        if card.id == "task":
            card.open(f"0:'{NASTY}0'")
        if card.id == "task-stream":
            card._choose((0, f"'{NASTY}0'", STARTED_AT_S))
    opened.update()
    return sent + _texts(opened.document.to_json())


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in _texts(one)]
    return [text for one in value for text in _texts(one)] if isinstance(value, (list, tuple)) else []


@pytest.mark.each_choice
@pytest.mark.parametrize("page", [page.id for page in PAGES])
@pytest.mark.parametrize("is_over", [False, True], ids=["live", "ended"])
def test_every_view_shows_hidden_characters_as_escapes(page, is_over):
    aggregate = hostile()
    if is_over:
        aggregate.apply(WorkerLeft(STARTED_AT_S + 41, 1, NASTY))
        aggregate.apply(Life(STARTED_AT_S + 42, "closing"))
        aggregate.end(NASTY)
    texts = views(page, aggregate)
    wrong = [text for text in texts if HIDDEN.search(text)]
    assert wrong == []
    assert any("u202e" in text for text in texts), "the page shows none of the names, so this tells nothing"


def test_a_task_has_one_name_in_hover_cards_stragglers_and_its_own_page():
    aggregate = hostile()
    (stage,) = [stage for stage in stages_of(aggregate, aggregate.layers.values()) if stage.layer.id == 0]
    assert straggler_words(aggregate, stage.longest[0]) == SHOWN_29
    opened = Opened("stages", aggregate)
    late = opened.document.get_model_by_name("stages-stragglers-source").data
    assert late["name"][0] == SHOWN_29
    page = Opened("task", aggregate)
    page.card("task").open(f"0:'{NASTY}29'")
    page.update()
    assert escape(SHOWN_29) in page.card("task").view.text


def test_a_task_whose_key_is_a_text_is_called_so_in_hover_cards():
    names = name_columns([0 << ACTION_BITS, 1 << ACTION_BITS], hostile())
    assert names["is_text"] == [False, True]
    assert names["first"] == [SHOWN, f"{SHOWN}-2"]


def test_names_of_several_lines_are_one_line_in_labels():
    opened = Opened("progress", hostile())
    labels = opened.document.get_model_by_name("progress-source").data["label"]
    assert len(labels) == 2 and not any("\n" in label for label in labels)


def test_names_that_differ_in_the_middle_are_cut_where_they_differ():
    names = [f"the daily report of {shop} and of all the shops beside it" for shop in ("Paris", "Rome", "Oslo")]
    cuts = cut_apart(names, [24] * 3)
    assert len(set(cuts)) == 3 and all(len(cut) <= 24 for cut in cuts)
    assert [shop in cut for shop, cut in zip(("Paris", "Rome", "Oslo"), cuts, strict=True)] == [True] * 3


def test_of_names_cut_to_different_lengths_those_that_would_be_alike_show_where_they_differ():
    names = [
        f"lambda frame: frame.assign(total=frame.{column} * frame.quantity).sum()" for column in ("price", "costs")
    ]
    cuts = cut_apart(names, [30, 34])
    assert "price" in cuts[0] and "costs" in cuts[1]


def test_what_is_seen_stays_as_it_is():
    assert visible("名前 é 👩‍🔬 a\nb") == "名前 é 👩‍🔬 a\nb"
    assert json.loads(json.dumps(visible("\ud800"))) == r"\ud800"


def test_synthetic_names_are_no_hidden_ones():
    assert not any(HIDDEN.search(name) for name in aggregate_of(synthetic.Shape()).worker_names.values())
