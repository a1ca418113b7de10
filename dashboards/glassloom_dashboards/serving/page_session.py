"""A page's session, which sends what changes in one frame as one message.

Bokeh sends a message for each property that changes, and for each of them lists all models of the page, of which there are some
hundred: with ten changes a frame that takes longer than what the frame says.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bokeh.document import Document
from bokeh.document.events import DocumentPatchedEvent
from bokeh.server.connection import ServerConnection
from bokeh.server.session import ServerSession


class PageSession(ServerSession):
    """A session whose changes may be put together: see `as_one_message`.

    Attributes
    ----------
    was_shown
        Whether a browser has ever been connected.
    """

    was_shown = False
    _together: list[DocumentPatchedEvent] | None = None

    def subscribe(self, connection: ServerConnection) -> None:
        """Take note of a browser that connects."""
        self.was_shown = True
        super().subscribe(connection)

    def _document_patched(self, event: DocumentPatchedEvent) -> None:
        """Send a change, or keep it for the message of the frame."""
        if self._together is None or event.setter is self:
            super()._document_patched(event)
        else:
            self._together.append(event)

    def begin(self) -> None:
        """Keep all that changes from now on."""
        self._together = []

    def send(self) -> None:
        """Send what was kept, to each browser in one message. The caller holds the document's lock."""
        events, self._together = self._together, None
        if not events or self._pending_writes is None:
            return
        for connection in self._subscribed_connections:
            message = connection.protocol.create("PATCH-DOC", events)
            self._pending_writes.append(connection._socket.send_message(message))


@contextmanager
def as_one_message(document: Document | None) -> Iterator[None]:
    """Send what changes in the document until the block ends together. What is sent of a model's data is what it is then."""
    context = document.session_context if document is not None else None
    session = getattr(context, "session", None)
    if not isinstance(session, PageSession) or session._together is not None:
        yield
        return
    session.begin()
    try:
        yield
    finally:
        session.send()
