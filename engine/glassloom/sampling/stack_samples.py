"""`StackSamples`: samples of stacks until they are sent, and the table of stacks that is sent once. Bounded; pure."""

from __future__ import annotations

from collections.abc import Sequence

from glassloom_metrics.profile import OTHER

from glassloom.sampling.taken_samples import TakenSamples
from glassloom.sampling.task_stacks import Frame, Stack

MAX_STACKS = 5000
"""How large the table of stacks becomes before it begins anew."""
MAX_ROWS = 1000
"""How many pairs of task and stack are told apart until they are taken; others count as of stack `OTHER`."""
MAX_NAME = 500
"""How many characters of the name of a function or file are told, the last ones."""


class StackSamples:
    """Samples that wait to be sent. Not thread-safe.

    >>> samples = StackSamples()
    >>> samples.add(7, (("f", "a.py", 3), ("g", "a.py", 9)), 1.0, 0.25)
    >>> samples.add(7, (("f", "a.py", 3),), 1.5, 0.5)
    >>> taken = samples.take()
    >>> taken.functions, taken.parents, taken.stacks, taken.seconds
    (['f', 'g'], [-1, 0], [1, 0], [0.25, 0.5])
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, Frame], int] = {}
        self._new: list[tuple[int, Frame]] = []
        self._rows: dict[tuple[int, int], list[float]] = {}
        self._start_s = self._stop_s = 0.0

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return bool(self._rows)

    def add(self, task: int, stack: Stack, at_s: float, seconds: float) -> None:
        """Add a sample that stands for some time before `at_s`."""
        if not self._rows:
            self._start_s = at_s - seconds
        self._stop_s = at_s
        row = (task, self._number(stack))
        if row not in self._rows and len(self._rows) >= MAX_ROWS:
            row = (task, OTHER) if len(self._rows) < 2 * MAX_ROWS else (OTHER, OTHER)
        sums = self._rows.setdefault(row, [0, 0.0])
        sums[0] += 1
        sums[1] += seconds

    def take(self) -> TakenSamples | None:
        """Take out what there is; None if there is nothing."""
        if not self._rows:
            return None
        first = len(self._numbers) - len(self._new)
        parents = [parent for parent, _ in self._new]
        functions, files, lines = columns(self._new)
        tasks, stacks = map(list, zip(*self._rows, strict=True))
        samples, seconds = map(list, zip(*self._rows.values(), strict=True))
        taken = TakenSamples(
            self._start_s,
            self._stop_s,
            first,
            parents,
            functions,
            files,
            lines,
            tasks,
            stacks,
            samples,
            seconds,
        )
        self._new, self._rows = [], {}
        if len(self._numbers) > MAX_STACKS:
            self._numbers = {}
        return taken

    def _number(self, stack: Stack) -> int:
        number = OTHER
        for frame in stack:
            place = (number, frame)
            known = self._numbers.get(place)
            if known is None:
                known = self._numbers[place] = len(self._numbers)
                self._new.append(place)
            number = known
        return number


def columns(places: Sequence[tuple[int, Frame]]) -> tuple[list[str], list[str], list[int]]:
    """Return functions, files and lines of stacks' innermost frames."""
    return (
        [_valid(function) for _, (function, _, _) in places],
        [_valid(file) for _, (_, file, _) in places],
        [line for _, (_, _, line) in places],
    )


def _valid(name: str) -> str:
    """Return a name of bounded length that is valid Unicode: those of files may not be, and code can have any."""
    return name[-MAX_NAME:].encode("utf-8", "backslashreplace").decode()
