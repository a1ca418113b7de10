"""Who looks at what: counts the viewers of each cluster by Bokeh's sessions, and lets sessions end cheaply.

Bokeh runs a full garbage collection for each session that ends (twice if its document has callbacks for that). Closing
twenty tabs then blocks every other page for seconds. Here none is run: the interpreter collects when it finds it due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import bokeh.document.document as bokeh_document
from bokeh.application.application import SessionContext
from bokeh.application.handlers.handler import Handler
from bokeh.document import Document
from glassloom_metrics.errors import ClusterNotFound

from glassloom_dashboards.serving.hub import Watched

ClusterOf = Callable[[Any], Watched]


class _NoCollector:
    """Stands in for the module `gc` where Bokeh ends a document."""

    @staticmethod
    def collect() -> int:
        return 0


@contextmanager
def _without_collection() -> Iterator[None]:
    name = "gc"
    before = vars(bokeh_document).get(name)
    setattr(bokeh_document, name, _NoCollector)
    try:
        yield
    finally:
        setattr(bokeh_document, name, before)


class PageDocument(Document):
    """A document whose end runs no garbage collection."""

    def destroy(self, session: Any) -> None:
        """Let go of everything; called by Bokeh's session."""
        with _without_collection():
            super().destroy(session)


class Viewers(Handler):
    """Counts the sessions of an application in the `Watched.viewers` of the clusters that they show.

    Parameters
    ----------
    cluster_of
        Returns the cluster that a request names; raises `ClusterNotFound`.
    """

    def __init__(self, cluster_of: ClusterOf) -> None:
        super().__init__()
        self._cluster_of = cluster_of
        self._watched: dict[str, Watched] = {}

    def modify_document(self, doc: Document) -> None:
        """Do nothing: `FunctionHandler` fills documents."""

    async def on_session_created(self, session_context: SessionContext) -> None:
        """Count a viewer. This comes before the document is filled."""
        # Bokeh makes the document itself, and asks nobody of which class.
        session_context._document.__class__ = PageDocument
        try:
            watched = self._cluster_of(session_context.request)
        except ClusterNotFound:  # it has just gone; filling the document says so
            return
        self._watched[session_context.id] = watched
        watched.viewers += 1

    async def on_session_destroyed(self, session_context: SessionContext) -> None:
        """Count a viewer less, and let others have their turn: Bokeh ends all sessions that are due in one go."""
        watched = self._watched.pop(session_context.id, None)
        if watched is not None:
            watched.viewers -= 1
        await asyncio.sleep(0)
