"""Pages that are opened without a browser, of clusters that are made up."""

from __future__ import annotations

from functools import cache

import synthetic
from bokeh.document import Document
from bokeh.document.events import DocumentPatchedEvent
from bokeh.protocol import Protocol
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.colours import ColourBook
from glassloom_dashboards.serving.page import PageView
from glassloom_metrics.protocol import TaskEvents, decode, task_events
from synthetic import STARTED_AT_S, Shape

FRAME_BYTES = 200_000
"""No change of a page may be larger."""


def aggregate_of(shape: Shape) -> ClusterAggregate:
    aggregate = ClusterAggregate()
    for payload in synthetic.make_recorder(shape).read(0, limit=10**6)[0]:
        aggregate.apply(decode(payload))
    return aggregate


@cache
def shared_aggregate_of(shape: Shape) -> ClusterAggregate:
    """Return what all pages of a made-up cluster show, as all its viewers share it: for tests that add nothing to it."""
    return aggregate_of(shape)


def events(first: int, rows: list[tuple[float, float]], *, layer: int = 0, lane: int = 0, ok: int = 1) -> TaskEvents:
    """Return task events of one lane from (start, stop) pairs in seconds after the cluster's start."""
    count = len(rows)
    values = {
        "layer": [layer] * count, "worker": [0] * count, "lane": [lane] * count, "action": [0] * count,
        "start_s": [STARTED_AT_S + start for start, _ in rows], "duration_s": [stop - start for start, stop in rows],
        "nbytes": [8] * count, "ok": [ok] * count,
    }  # fmt: skip
    return task_events(first, [str(first + n) for n in range(count)], **values)


class Opened:
    """A page in a document, with the size of each change that a browser would be sent."""

    def __init__(self, page: str, aggregate: ClusterAggregate, theme: str = "light") -> None:
        self.now_s = 0.0
        self.view = PageView(page, aggregate, ColourBook(), theme)
        self.document = Document()
        self.view.attach(self.document)
        self.frames: list[int] = []
        self.document.on_change(self._count)

    def _count(self, event: object) -> None:
        if isinstance(event, DocumentPatchedEvent):
            message = Protocol().create("PATCH-DOC", [event])
            self.frames.append(len(message.content_json) + sum(len(buffer.to_bytes()) for buffer in message.buffers))

    def update(self, after_s: float = 1.0) -> int:
        """Draw once more, so much later; return the bytes that were sent."""
        before = sum(self.frames)
        self.now_s += after_s
        self.view.update(self.now_s)
        return sum(self.frames) - before

    def rows(self, source: str) -> int:
        found = self.document.get_model_by_name(source)
        return len(next(iter(found.data.values())))

    def card(self, name: str):
        return next(card for card in self.view.cards if card.id == name)
