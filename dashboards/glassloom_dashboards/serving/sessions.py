"""Who looks at what: makes a page for each session, counts the viewers of each cluster by them, and lets sessions end cheaply.

Bokeh runs a full garbage collection for each session that ends (twice if its document has callbacks for that). Closing
twenty tabs then blocks every other page for seconds. Here none is run while pages are open (`garbage.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import bokeh.document.document as bokeh_document
from bokeh.application.application import SessionContext
from bokeh.application.handlers.handler import Handler
from bokeh.core.types import ID
from bokeh.document import Document
from bokeh.server.contexts import ApplicationContext
from bokeh.server.session import ServerSession
from tornado.httputil import HTTPServerRequest

from glassloom_dashboards.serving.garbage import Garbage, take_apart
from glassloom_dashboards.serving.hub import Watched
from glassloom_dashboards.serving.page import PageView
from glassloom_dashboards.serving.page_session import PageSession
from glassloom_dashboards.serving.turns import Turns

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
    """A document whose end runs no garbage collection, and leaves nothing to collect."""

    view: PageView | None = None

    def destroy(self, session: Any) -> None:
        """Let go of everything; called by Bokeh's session."""
        models = list(self.models)
        with _without_collection():
            super().destroy(session)
        self.models._new_models.clear()
        for model in models:
            take_apart(model)
        if self.view is not None:
            self.view.close()
            self.view = None


async def session_of(
    context: ApplicationContext, session_id: ID, request: HTTPServerRequest, token: str
) -> ServerSession:
    """Return a session, which is made if there is none. If that fails, all who wait for it are told, and the next makes it anew."""
    try:
        session = await context.create_session_if_needed(session_id, request, token)
        if type(session) is ServerSession:  # Bokeh makes it itself, and asks nobody of which class
            session.__class__ = PageSession
        return session
    except Exception as error:
        waiting = context._pending_sessions.pop(session_id, None)
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)
            waiting.exception()  # whether or not anybody waits
        raise


class Viewers(Handler):
    """Makes the page of each session, and counts the sessions of a page in the `Watched.viewers` of the clusters that they show.

    Parameters
    ----------
    page
        Id of the page.
    cluster_of
        Returns the cluster that a request names; raises `ClusterNotFound`.
    turns
        Told of each page that is being made.
    garbage
        Told of each page that was made, and that has ended.
    """

    def __init__(self, page: str, cluster_of: ClusterOf, turns: Turns, garbage: Garbage) -> None:
        super().__init__()
        self._garbage = garbage
        self._turns = turns
        self._page = page
        self._cluster_of = cluster_of
        self._watched: dict[str, Watched] = {}
        self._views: dict[str, PageView] = {}

    def modify_document(self, doc: Document) -> None:
        """Put the page into the document of its session, for which `on_session_created` made it."""
        view = self._views.pop(doc.session_context.id, None)
        if view is None:  # Bokeh has logged why
            raise RuntimeError(f"page {self._page!r} could not be made")
        assert isinstance(doc, PageDocument)
        doc.view = view
        view.attach(doc)

    async def on_session_created(self, session_context: SessionContext) -> None:
        """Make the page, and count a viewer. This comes before the document is filled."""
        # Bokeh makes the document itself, and asks nobody of which class.
        session_context._document.__class__ = PageDocument
        request = session_context.request
        watched = self._cluster_of(request)
        arguments = text_arguments(request)
        watched.viewers += 1
        try:
            with self._turns.documents.taken():
                view = await PageView.opened(
                    self._page, watched.aggregate, watched.colours, arguments, self._turns.give_way_to_files
                )
        except BaseException:
            watched.viewers -= 1
            raise
        self._views[session_context.id], self._watched[session_context.id] = view, watched
        self._garbage.page_made()

    async def on_session_destroyed(self, session_context: SessionContext) -> None:
        """Count a viewer less, and let others have their turn: Bokeh ends all sessions that are due in one go."""
        watched = self._watched.pop(session_context.id, None)
        if watched is not None:
            watched.viewers -= 1
            self._garbage.page_ended()
        await asyncio.sleep(0)


def text_arguments(request: HTTPServerRequest) -> dict[str, str]:
    """Return the first value of each argument of an address."""
    return {name: _text(values[0]) for name, values in request.arguments.items() if values}


def _text(argument: bytes | str) -> str:
    return argument if isinstance(argument, str) else argument.decode("utf-8", "replace")
