"""The runs of a cluster, newest last, each with its layers; what those hold. A fold of the protocol's messages."""

from __future__ import annotations

from collections import Counter, deque

from glassloom_metrics.protocol import Layers, Progress, Runs
from glassloom_metrics.run_row import RunRow

MAX_RUNS = 10_000
"""How many runs are kept: the newest."""
MAX_CODE_CHARACTERS = 8_000_000
"""How much code of all runs is kept; past that the oldest keep their first line."""
MAX_LINE_LENGTH = 200


class Run(RunRow):
    """A row of `protocol.Runs`, and what is read out of it."""

    __slots__ = ()

    @property
    def first_line(self) -> str:
        """The first line of the code that isn't empty."""
        return next((line.strip() for line in self.code.splitlines() if line.strip()), "")

    @property
    def title(self) -> str:
        """The line that asked for it, if it is known; else the first line of the code, which may be an import."""
        return self.origin.partition(": ")[2].strip() or self.first_line

    @property
    def where(self) -> str:
        """The notebook and what is known of the place in it, or the file and line, without what the code says already."""
        place, _, line = self.origin.partition(": ")
        place = (place if line and line in self.code else self.origin).rsplit("/", 1)[-1]
        notebook = self.notebook.rsplit("/", 1)[-1]
        return " · ".join(part for part in (notebook, place or self.cell) if part)

    def duration_s(self, now_s: float) -> float:
        """Return how long it has taken until it ended, or until `now_s`."""
        return max((now_s if self.ended_s is None else self.ended_s) - self.started_s, 0.0)


class RunTable:
    """The newest runs.

    Attributes
    ----------
    outcomes
        How many runs there are of each outcome, also of those that are no longer kept.
    forgotten
        How many are no longer kept.
    """

    def __init__(self) -> None:
        self._rows: dict[int, Run] = {}
        self._layers: dict[int, dict[int, None]] = {}  # in order
        self._run_of: dict[int, int] = {}
        self._threads: dict[int, int] = {}
        self._whole: deque[int] = deque()  # the runs with all of their code
        self._cut: set[int] = set()
        self._code_characters = 0
        self.outcomes: Counter[str] = Counter()
        self.forgotten = 0
        self._oldest = 0

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, run: int) -> Run | None:
        """Return a run by id, None if it isn't known or no longer kept."""
        return self._rows.get(run)

    def newest_first(self) -> list[Run]:
        """Return all runs that are kept."""
        return list(reversed(self._rows.values()))

    def layers_of(self, run: int) -> list[int]:
        """Return the ids of a run's layers, in the order in which they were announced."""
        return list(self._layers.get(run, ()))

    def of_layer(self, layer: int) -> Run | None:
        """Return the run of a layer, None if it isn't known or no longer kept."""
        return self._rows.get(self._run_of.get(layer, -1))

    def threads_of(self, run: int) -> int:
        """Return the most threads that the cluster had when it told of the run; 0 if none are known."""
        return self._threads.get(run, 0)

    def add(self, message: Runs, threads: int = 0) -> None:
        """Take new runs, or how known ones stand now, into account; the cluster has so many threads meanwhile."""
        for row in zip(*(getattr(message, name) for name in message.__struct_fields__), strict=True):
            run = Run(*row)
            if run.id < self._oldest:
                continue
            known = self._rows.get(run.id)
            if known is None:
                self._whole.append(run.id)
                self._code_characters += len(run.code)
            else:
                self.outcomes[known.outcome] -= 1
                if run.id in self._cut:
                    run = run._replace(code=known.code)
                self._code_characters += len(run.code) - len(known.code)
            self._rows[run.id] = run
            self._threads[run.id] = max(threads, self._threads.get(run.id, 0))
            self.outcomes[run.outcome] += 1
        self._forget()

    def add_layers(self, message: Layers) -> None:
        """Note which run new layers belong to."""
        for layer, run in zip(message.ids, message.runs, strict=False):  # no runs: not known
            if run >= self._oldest:
                self._layers.setdefault(run, {})[layer] = None
                self._run_of[layer] = run

    def _forget(self) -> None:
        while len(self._rows) > MAX_RUNS:
            oldest = next(iter(self._rows))
            self._code_characters -= len(self._rows.pop(oldest).code)
            for layer in self._layers.pop(oldest, ()):
                self._run_of.pop(layer, None)
            self._threads.pop(oldest, None)
            self._cut.discard(oldest)
            self._oldest = max(self._oldest, oldest + 1)
            self.forgotten += 1
        while self._code_characters > MAX_CODE_CHARACTERS and self._whole:
            run = self._rows.get(self._whole.popleft())
            if run is not None:
                short = run._replace(code=run.first_line[:MAX_LINE_LENGTH])
                self._code_characters -= len(run.code) - len(short.code)
                self._rows[run.id] = short
                self._cut.add(run.id)


class HeldBytes:
    """The size of the results that each layer holds, and the most it has held."""

    def __init__(self) -> None:
        self.now: dict[int, int] = {}
        self.peak: dict[int, int] = {}

    def add(self, message: Progress) -> None:
        """Take what layers hold now into account; nothing if the cluster doesn't know."""
        for layer, nbytes in zip(message.layers, message.held_bytes, strict=False):
            self.now[layer] = nbytes
            self.peak[layer] = max(nbytes, self.peak.get(layer, 0))
