"""The newest lines of a cluster's log, of its workers' and of what tasks print. A fold of `Log` messages.

>>> table = LogTable()
>>> table.add(Log(1.0, 0, "stdout", "hello"))
>>> [line.text for line in table.select(groups={"stdout"})]
['hello']
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from glassloom_metrics.protocol import Log

MAX_LINES = 10_000
MAX_CHARACTERS = 4_000_000
MAX_LINE_LENGTH = 4_000
LAST_LINES = 50
"""How many lines are kept of each worker by itself, so that they outlive both the worker and busier ones' lines."""
MAX_WORKERS = 2_000

GROUPS = ("messages", "warnings", "stdout", "stderr")
"""What a reader chooses from: levels in groups."""
_WARNINGS = frozenset(["warning", "error", "critical"])
HEAD = -1
"""The number that stands for the head where there is a worker's."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line; ``number`` counts all lines of the cluster. ``layer`` and ``index`` are its task's, -1 and ``""``: unknown."""

    number: int
    at_s: float
    worker: int
    level: str
    text: str
    layer: int = -1
    index: str = ""

    @property
    def group(self) -> str:
        """The one of `GROUPS` that its level belongs to."""
        return group_of(self.level)


def group_of(level: str) -> str:
    """Return the one of `GROUPS` that a level belongs to.

    >>> group_of("ERROR"), group_of("debug"), group_of("stderr")
    ('warnings', 'messages', 'stderr')
    """
    if level in GROUPS:
        return level
    return "warnings" if level.lower() in _WARNINGS else "messages"


class LogTable:
    """The newest lines, and the last ones of each worker.

    Attributes
    ----------
    counts
        How many lines of each group there were, also of those that are no longer kept.
    knows_tasks
        Whether any line has told of its task: earlier clusters don't.
    """

    def __init__(self) -> None:
        self._lines: deque[Line] = deque()
        self._last: dict[int, deque[Line]] = {}
        self._characters = 0
        self.total = 0
        self.knows_tasks = False
        self.counts: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, message: Log) -> None:
        """Take the next line."""
        text = message.text[:MAX_LINE_LENGTH]
        line = Line(self.total, message.at_s, message.worker, message.level, text, message.layer, message.index)
        self.knows_tasks |= message.layer >= 0
        self.total += 1
        self.counts[line.group] += 1
        self._lines.append(line)
        self._characters += len(line.text)
        while len(self._lines) > MAX_LINES or self._characters > MAX_CHARACTERS:
            self._characters -= len(self._lines.popleft().text)
        last = self._last.pop(line.worker, None)
        self._last[line.worker] = last = deque(maxlen=LAST_LINES) if last is None else last
        last.append(line)
        if len(self._last) > MAX_WORKERS:
            del self._last[next(iter(self._last))]

    def last_of(self, worker: int) -> list[Line]:
        """Return the last lines of a worker, also of one that has left."""
        return list(self._last.get(worker, ()))

    def select(
        self, *, groups: Collection[str] = GROUPS, is_wanted: Callable[[int], bool] | None = None, text: str = ""
    ) -> list[Line]:
        """Return the kept lines of some groups and workers that contain `text`, whatever the case; the newest last."""
        lines: Iterable[Line] = self._lines
        if set(groups) != set(GROUPS):
            lines = (line for line in lines if line.group in groups)
        if is_wanted is not None:
            lines = (line for line in lines if is_wanted(line.worker))
        if text:
            wanted = text.casefold()
            lines = (line for line in lines if wanted in line.text.casefold())
        return list(lines)
