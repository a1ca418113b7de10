"""How many pages are open at once, and which: each of them costs this process memory and time, so that there is a limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from bokeh.server.contexts import ApplicationContext
from bokeh.server.session import ServerSession

from glassloom_dashboards.serving.page_session import PageSession

RETRY_S = 5
"""A page that was refused asks again after so long: a tab that is loaded anew counts until its new page has come."""


def is_open(session: ServerSession) -> bool:
    """Tell whether a page is shown, or may be soon: Bokeh keeps sessions for a while after their browser has gone."""
    return session.connection_count > 0 or not (isinstance(session, PageSession) and session.was_shown)


class OpenPages:
    """The pages of all viewers of this process.

    Parameters
    ----------
    limit
        How many there may be.

    Attributes
    ----------
    n_opening
        How many are being made and have no session yet.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.n_opening = 0

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Count a page that is being made until the block ends, which leaves a session for it."""
        self.n_opening += 1
        try:
            yield
        finally:
            self.n_opening -= 1

    def has_room(self, contexts: Iterable[ApplicationContext]) -> bool:
        """Tell whether one more may be opened beside those in Bokeh's contexts."""
        return self.n_opening + sum(sum(map(is_open, context.sessions)) for context in contexts) < self.limit


def words(shown: Counter[tuple[str, str]]) -> list[str]:
    """Return which pages are open, as (cluster, title), those that are open most often first.

    >>> words(Counter({("demo", "Status"): 1, ("demo", "Memory"): 3}))
    ['demo: Memory, 3 times', 'demo: Status']
    """
    return [f"{cluster}: {title}" + (f", {n} times" if n > 1 else "") for (cluster, title), n in shown.most_common()]
