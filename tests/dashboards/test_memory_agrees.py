"""How much memory workers take is one number, wherever it is said: of a real cluster that spills and shares results."""

from __future__ import annotations

from pathlib import Path

import glassloom.array as ga
import pytest
from bokeh.document import Document
from glassloom import Client, wait
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.colours import ColourBook
from glassloom_dashboards.parts.strip import facts
from glassloom_dashboards.parts.theme import bytes_text
from glassloom_dashboards.report import read_aggregate
from glassloom_dashboards.serving.page import PageView
from glassloom_dashboards.views.overview import headroom_of
from glassloom_dashboards.views.worker_rows import memory_bar, select, worker_rows
from glassloom_metrics.folds import ClusterSummary
from glassloom_metrics.protocol import decode
from glassloom_metrics.recording import Recording
from waiting import eventually

MIB = 2**20


def spills_and_shares(path: Path) -> bool:
    samples = read_aggregate(path).aggregate.samples.values()
    return all(one.spilled_bytes for one in samples) and any(one.shared_bytes for one in samples)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record two workers that hold more than their memory, and read each other's results."""
    path = tmp_path_factory.mktemp("spilling") / "run.glr"
    with (
        Client(n_workers=2, threads_per_worker=1, memory_limit=224 * MIB, set_as_default=False) as client,
        client.record(path, since_start=True),
    ):
        held = client.persist(ga.ones((64, MIB), chunks=(1, MIB)))  # 512 MiB
        wait(held)
        sums = client.persist(held[0] + held[1] + held[2] + held[3] + held[4])
        wait(sums)
        eventually(lambda: spills_and_shares(path), "samples of workers that have spilled and share")
    return path


@pytest.fixture
def aggregate(recording: Path) -> ClusterAggregate:
    return read_aggregate(recording).aggregate


def test_every_page_says_the_same_memory(recording: Path, aggregate: ClusterAggregate):
    rows = worker_rows(aggregate)
    whole = sum(row.memory_bytes for row in rows)
    limit = 2 * 224 * MIB
    resident = sum(one.rss_bytes for one in aggregate.samples.values())
    assert 0 < whole != resident, "what is mapped of others isn't a worker's own: else this would test nothing"
    bars = {bar["name"]: str(bar["words"]) for bar in headroom_of(aggregate)}
    assert bars["Memory"].startswith(f"{bytes_text(whole)} of {bytes_text(limit)}, ")
    assert dict(facts(aggregate))["memory"] == f"{bytes_text(whole)} of {bytes_text(limit)}"
    assert aggregate.memory.columns()["total"][-1] == whole
    assert memory_bar(rows[0])["words"].startswith(bytes_text(rows[0].memory_bytes))
    summary = ClusterSummary()
    for _, payload in Recording(recording).frames():
        summary.apply(decode(payload))
    assert summary.as_dict()["memory_bytes"] == whole


def test_memory_by_worker_draws_and_tells_what_the_list_of_workers_does(aggregate: ClusterAggregate):
    view = PageView("workers-memory", aggregate, ColourBook(), "light")
    document = Document()
    view.attach(document)
    view.update(0.0)
    rows = select(worker_rows(aggregate), "", "name", is_descending=False)  # workers join in any order
    source = document.get_model_by_name("workers-memory-source").data
    assert source["in_memory"] == source["shared_stop"] == [row.memory_bytes for row in rows]
    assert [text.split(",")[0] for text in source["text"]] == [
        memory_bar(row)["words"].replace(" MiB of", " of") for row in rows
    ]
