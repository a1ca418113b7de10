"""The runs of a cluster, newest last, each with its layers; what those hold. A fold of the protocol's messages."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator, Sequence

from glassloom_metrics.protocol import Layers, Progress, Runs
from glassloom_metrics.run_row import RunRow, run_rows

from glassloom_dashboards.folds.places import short_place

MAX_RUNS = 10_000
"""How many runs are kept: the newest."""
MAX_CODE_CHARACTERS = 8_000_000
"""How much code of all runs is kept; past that the oldest keep their first line."""
MAX_LINE_LENGTH = 200
RUN_GAP_S = 2.0
"""Runs of one place that begin no later than this after the one before belong together."""
_MAX_BETWEEN = 100
"""Behind so many runs of other places in a row no further one of the same place is looked for."""


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
        place = short_place(place if line and line in self.code else self.origin)
        notebook = self.notebook.rsplit("/", 1)[-1]
        return " · ".join(part for part in (notebook, place or self.cell) if part)

    @property
    def place(self) -> tuple[str, ...]:
        """What runs of one notebook cell, or else of one line, have in common; empty if neither is known."""
        if self.cell:
            return self.kernel, self.cell
        return (self.notebook, self.origin) if self.origin else ()

    def duration_s(self, now_s: float) -> float:
        """Return how long it has taken until it ended, or until `now_s`."""
        return max((now_s if self.ended_s is None else self.ended_s) - self.started_s, 0.0)


def joined_runs(newest_first: Iterable[Run]) -> list[Run]:
    """Return the newest run, and those before it that belong together with it, newest first.

    They are of the same place, and each began within `RUN_GAP_S` after the end of the one before, or while that was under
    way: a loop that calls ``compute()`` a thousand times is one thing to its user.
    """
    joined: list[Run] = []
    between = 0
    for run in newest_first:
        if not joined:
            joined.append(run)
        elif run.place != joined[0].place:
            between += 1
        elif run.ended_s is not None and joined[-1].started_s - run.ended_s > RUN_GAP_S:
            break
        else:
            joined.append(run)
            between = 0
        if between > _MAX_BETWEEN or not joined[0].place:
            break
    return joined


def summed(runs: Sequence[Run]) -> Run:
    """Return runs that belong together, the newest first, as one: with their tasks, from the first start to the last end."""
    newest = runs[0]
    ends = [run.ended_s for run in runs if run.ended_s is not None]
    outcomes = {run.outcome for run in runs}
    return newest._replace(
        started_s=min(run.started_s for run in runs),
        ended_s=max(ends) if len(ends) == len(runs) else None,
        outcome=next((outcome for outcome in ("running", "failed") if outcome in outcomes), newest.outcome),
        tasks=sum(run.tasks for run in runs),
        done=sum(run.done for run in runs),
        failed=sum(run.failed for run in runs),
    )


def joined_text(runs: Sequence[Run]) -> str:
    """Return how many runs belong together, and of which cell or line; nothing if it is one.

    >>> run = Run(0, "compute", "", "", "c", "k", "cell 4, line 2: x.compute()", 0.0)
    >>> joined_text([run] * 3), joined_text([run]), joined_text([run._replace(cell="", origin="/tmp/a.py:7")] * 2)
    ('3 runs of cell 4', '', '2 runs of a.py:7')
    """
    if len(runs) == 1:
        return ""
    place = runs[0].origin.partition(": ")[0].rsplit("/", 1)[-1]
    if runs[0].cell:
        place = place.partition(", line")[0] if place.startswith("cell ") else "one cell"
    return f"{len(runs):,} runs of {place}"


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
        self._newest_forgotten = -1
        self._notebooks: Counter[str] = Counter()
        self._latest: dict[str, list[Run]] = {}  # by notebook: what was looked for
        self._latest_as_one: dict[str, Run | None] = {}
        self._layers_of_notebook: dict[str, set[int]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, run: int) -> Run | None:
        """Return a run by id, None if it isn't known or no longer kept."""
        return self._rows.get(run)

    def newest_first(self) -> list[Run]:
        """Return all runs that are kept."""
        return list(reversed(self._rows.values()))

    def notebooks(self) -> list[str]:
        """Return the paths of the notebooks whose runs are kept; who began last is last."""
        return [notebook for notebook, count in self._notebooks.items() if notebook and count]

    def latest(self, notebook: str = "") -> list[Run]:
        """Return the newest run (of a notebook) and those that belong together with it (see `joined_runs`), newest first.

        Runs without tasks of their own are passed over if there is any other: all that they asked for was under way already.
        """
        found = self._latest.get(notebook)
        if found is None:
            own = (run for run in self._of_notebook(notebook) if run.tasks or run.id in self._layers)
            found = self._latest[notebook] = joined_runs(own) or joined_runs(self._of_notebook(notebook))
        return found

    def latest_as_one(self, notebook: str = "") -> Run | None:
        """Return the runs of `latest` as one, None if there are none."""
        if notebook not in self._latest_as_one:
            runs = self.latest(notebook)
            self._latest_as_one[notebook] = summed(runs) if runs else None
        return self._latest_as_one[notebook]

    def layers_of_notebook(self, notebook: str) -> set[int]:
        """Return the layers of all runs of a notebook that are kept."""
        found = self._layers_of_notebook.get(notebook)
        if found is None:
            runs = self._of_notebook(notebook)
            found = self._layers_of_notebook[notebook] = {one for run in runs for one in self._layers.get(run.id, ())}
        return found

    def _of_notebook(self, notebook: str) -> Iterator[Run]:
        """Yield the runs of a notebook, or all, newest first."""
        return (run for run in reversed(self._rows.values()) if notebook in ("", run.notebook))

    def _changed(self) -> None:
        """Forget what was looked for among the runs."""
        for found in (self._latest, self._latest_as_one, self._layers_of_notebook):
            found.clear()

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
        self._changed()
        for row in run_rows(message):
            run = Run(*row)
            if self._is_forgotten(run.id):
                continue
            known = self._rows.get(run.id)
            if known is None:
                self._notebooks[run.notebook] += 1
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
        self._changed()
        for layer, run in zip(message.ids, message.runs, strict=False):  # no runs: not known
            if run >= 0 and not self._is_forgotten(run):
                self._layers.setdefault(run, {})[layer] = None
                self._run_of[layer] = run

    def forget_oldest(self, done: Container[int], n_layers: int) -> list[int]:
        """Forget the oldest runs that have ended and have no layers but `done` ones, until these are so many; return them."""
        gone: list[int] = []
        for run in list(self._rows.values()):
            if len(gone) >= n_layers:
                break
            layers = self._layers.get(run.id, ())
            if layers and run.ended_s is not None and all(layer in done for layer in layers):
                gone += layers
                self._forget_run(run.id)
        return gone

    def _forget_run(self, run: int) -> None:
        gone = self._rows.pop(run)
        self._notebooks[gone.notebook] -= 1
        self._code_characters -= len(gone.code)
        for layer in self._layers.pop(run, ()):
            self._run_of.pop(layer, None)
        self._threads.pop(run, None)
        self._cut.discard(run)
        self._newest_forgotten = max(self._newest_forgotten, run)
        self._changed()
        self.forgotten += 1

    def _is_forgotten(self, run: int) -> bool:
        return run <= self._newest_forgotten and run not in self._rows

    def _forget(self) -> None:
        while len(self._rows) > MAX_RUNS:
            self._forget_run(
                next((run.id for run in self._rows.values() if run.ended_s is not None), next(iter(self._rows)))
            )
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

    def forget(self, layers: Iterable[int]) -> None:
        """Forget layers that hold nothing any more."""
        for layer in layers:
            self.now.pop(layer, None)
            self.peak.pop(layer, None)
