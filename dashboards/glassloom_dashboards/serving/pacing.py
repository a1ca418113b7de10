"""How often a viewer's page is drawn: often while drawing is cheap and the browser keeps up, never ahead of it. Pure.

Each frame has a number that the browser sends back when it has shown it (see `static/page.js`). Until then no other frame
is sent: a browser that is slow, asleep or gone costs no memory on the way. A hidden page answers without being drawn for.
"""

from __future__ import annotations

PERIOD_S = 0.1
"""How often a page asks whether it should draw."""

MAX_SHARE = 0.1
LONGEST_WAIT_S = 2.0

LOADING_WAIT_S = 1.0
"""While a log is still being read, frames are at least so far apart: each of them delays the reading. The first after it comes at once."""

BEAT_S = 2.0
"""A frame is sent at least so often, though it be empty: it tells the browser that this process lives."""


class Pacer:
    """Keeps drawing below a tenth of one core for each viewer, and to one frame at a time: frames are shed, never tasks.

    >>> pacer = Pacer()
    >>> pacer.drew(started_s=0.0, stopped_s=0.05)
    >>> pacer.is_due(0.3), pacer.is_due(0.51)
    (False, True)
    >>> number = pacer.send(0.51)
    >>> pacer.is_due(9.9)
    False
    >>> pacer.acknowledge(number, is_visible=True)
    >>> pacer.is_due(9.9)
    True
    """

    def __init__(self) -> None:
        self._due_s = float("-inf")
        self._drawn_at_s = float("-inf")
        self._sent = 0
        self._sent_at_s = float("-inf")
        self._shown = 0
        self._is_visible = True
        self._drew_while_loading = False

    def opened(self, now_s: float, *, is_loading: bool) -> None:
        """Note that the page's document was drawn: it is a frame itself, which needs no answer."""
        self._sent_at_s = now_s
        self.drew(started_s=now_s, stopped_s=now_s, is_loading=is_loading)

    @property
    def waits(self) -> bool:
        """Whether a frame is still on its way."""
        return self._shown < self._sent

    def is_due(self, now_s: float, *, is_loading: bool = False) -> bool:
        """Tell whether to draw now, given whether the log is still being read."""
        if is_loading:
            due_s = max(self._due_s, self._drawn_at_s + LOADING_WAIT_S)
        else:
            due_s = float("-inf") if self._drew_while_loading else self._due_s
        return not self.waits and self._is_visible and now_s >= due_s

    def is_beat_due(self, now_s: float) -> bool:
        """Tell whether to send a frame now even if there is nothing in it."""
        return not self.waits and now_s - self._sent_at_s >= BEAT_S

    def drew(self, *, started_s: float, stopped_s: float, is_loading: bool = False) -> None:
        """Note that drawing a frame took from `started_s` to `stopped_s`, and whether the log was still being read then."""
        wait_s = (stopped_s - started_s) * (1 / MAX_SHARE - 1)
        self._drawn_at_s, self._drew_while_loading = stopped_s, is_loading
        self._due_s = stopped_s + min(wait_s, LONGEST_WAIT_S)

    def hurry(self) -> None:
        """Let the next frame come as soon as the browser has the last one: what is shown is half of what its viewer has chosen."""
        self._due_s = self._drawn_at_s = float("-inf")

    def send(self, now_s: float) -> int:
        """Note that a frame is sent now, and return its number."""
        self._sent += 1
        self._sent_at_s = now_s
        return self._sent

    def acknowledge(self, number: int, *, is_visible: bool) -> None:
        """Note that the browser has got the frame `number`, and whether anybody can see the page there."""
        self._shown = max(self._shown, min(number, self._sent))
        self._is_visible = is_visible
