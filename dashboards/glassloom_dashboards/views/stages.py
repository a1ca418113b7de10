"""The layers of a run as stages: how far, how fast, how long still, how long tasks take, and which take much longer. Pure."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from glassloom_metrics.protocol import Action

from glassloom_dashboards.folds.aggregate import ClusterAggregate, Layer
from glassloom_dashboards.folds.durations import LEAST_TASKS, LayerDurations
from glassloom_dashboards.folds.layer_table import Places
from glassloom_dashboards.folds.running_tasks import RunningTask
from glassloom_dashboards.parts.task_links import task_href, task_words
from glassloom_dashboards.parts.theme import ellipsis, middle_cut
from glassloom_dashboards.parts.times import about_text, duration_text
from glassloom_dashboards.views.layer_rows import Row, row_of
from glassloom_dashboards.views.progress import ids_of, ordered_places

RATE_S = 5.0
"""The rate is that of the last seconds."""
_LEAST_S = 0.5
_SHORT_S = RATE_S / 4
"""Tasks that take no longer on average are short beside `RATE_S`."""
_MOST_UNKNOWN = 0.1
_NAME_LENGTH, _KEY_LENGTH = 60, 40


@dataclass(frozen=True)
class Straggler:
    """A task that took much longer than its layer's others, or ``runs`` for so long already."""

    seconds: float
    layer: int
    index: str
    worker: int
    href: str = ""
    runs: bool = False


@dataclass(frozen=True)
class WorkLeft:
    """What is left to do: in seconds of one thread, by so many threads; no task alone takes longer than ``longest_s`` still."""

    work_s: float
    threads: float
    longest_s: float

    @property
    def seconds(self) -> float:
        """How long it takes still."""
        return max(self.work_s / self.threads, self.longest_s)


@dataclass(frozen=True)
class Stage:
    """One layer, or several that share a row.

    ``rate`` is in tasks per second; ``left`` is None if nothing is left, or nothing can be said. ``stragglers`` is how
    many there are, ``longest`` some of them. ``running_s`` is for how long the longest of its tasks that run has.
    """

    row: Row
    counts: dict[str, int]
    rate: float
    left: WorkLeft | None
    durations: LayerDurations
    stragglers: int
    longest: tuple[Straggler, ...]
    running_s: float | None = None

    @property
    def layer(self) -> Layer:
        """The only layer, or the first."""
        return self.row.layer

    @property
    def done(self) -> int:
        """Tasks that have had a result."""
        return self.counts["memory"] + self.counts["released"]

    @property
    def unfinished(self) -> int:
        """Tasks that are still to end."""
        return self.counts["waiting"] + self.counts["ready"] + self.counts["running"]


def places_of_latest_run(aggregate: ClusterAggregate, notebook: str = "") -> Places:
    """Return the layers of the latest run (see `RunTable.latest`), and of all that are under way, as it may wait for them.

    They are in the order of `ordered_places`; all layers if those of its runs aren't known. With a notebook, of its runs alone.
    """
    newest_first = aggregate.runs.newest_first()
    under_way = [run for run in newest_first if run.ended_s is None and notebook in ("", run.notebook)]
    runs = [*aggregate.runs.latest(notebook), *under_way]
    found = {layer for run in runs for layer in aggregate.runs.layers_of(run.id)} & aggregate.layers.keys()
    return ordered_places(aggregate, found or ids_of(aggregate, notebook))


def layers_of_latest_run(aggregate: ClusterAggregate) -> list[Layer]:
    """Return the layers at `places_of_latest_run`."""
    return [aggregate.layers[layer] for layer in aggregate.layer_table.ids(places_of_latest_run(aggregate))]


def recent_counts(aggregate: ClusterAggregate, now_s: float) -> dict[int, int]:
    """Return how many tasks of each layer have ended in the last `RATE_S`."""
    tasks = aggregate.tasks
    rows = tasks.rows_between(now_s - RATE_S, now_s)
    is_new = (tasks.take("stop_s", rows) > now_s - RATE_S) & (tasks.take("action", rows) == Action.COMPUTE)
    layers, counts = np.unique(tasks.take("layer", rows[is_new]), return_counts=True)
    return dict(zip(layers.tolist(), counts.tolist(), strict=True))


def stages_of(aggregate: ClusterAggregate, layers: Iterable[Layer]) -> list[Stage]:
    """Return the stages of `layers`, in their order."""
    table = aggregate.layer_table
    return stages_of_rows(aggregate, [row_of(aggregate, table.places([layer.id])) for layer in layers])


def stages_of_rows(aggregate: ClusterAggregate, rows: Iterable[Row]) -> list[Stage]:
    """Return the stages of rows, in their order."""
    now_s = max(aggregate.last_at_s, aggregate.tasks.stop_s)
    recent = recent_counts(aggregate, now_s)
    running: dict[int, list[RunningTask]] = {}
    for task in aggregate.running.now if is_under_way(aggregate) else ():
        running.setdefault(task.layer, []).append(task)
    return [
        _folded_stage(aggregate, row) if len(row.layers) > 1 else _stage(aggregate, row, recent, now_s, running)
        for row in rows
    ]


def is_under_way(aggregate: ClusterAggregate) -> bool:
    """Tell whether what runs may still run: the cluster hasn't ended."""
    return aggregate.state not in ("ended", "recording")


def _folded_stage(aggregate: ClusterAggregate, row: Row) -> Stage:
    """Return the stage of layers that are done and small: their tasks together; none of so few is a straggler."""
    return Stage(row, row.counts, 0.0, None, aggregate.durations.joined(row.layers), 0, ())


def _stage(
    aggregate: ClusterAggregate,
    row: Row,
    all_recent: Mapping[int, int],
    now_s: float,
    all_running: Mapping[int, list[RunningTask]],
) -> Stage:
    layer = row.layer
    recent, running = all_recent.get(layer.id, 0), all_running.get(layer.id, [])
    counts, durations = row.counts, aggregate.durations[layer.id]
    sums = aggregate.sums.layers[layer.id]
    since_s = max(now_s - sums.first_s, _LEAST_S) if sums.count else np.inf
    unfinished = counts["waiting"] + counts["ready"] + counts["running"]
    is_over = not unfinished or not is_under_way(aggregate)
    rate = 0.0 if is_over else recent / min(RATE_S, since_s)
    at_work = min(counts["running"], aggregate.threads)
    run_s = [now_s - task.started_s for task in running]
    number, longest = durations.stragglers()
    late = [_running_straggler(aggregate, task) for task in running]
    late = [one for one in late if one.seconds > durations.straggler_s]
    return Stage(
        row, counts, rate, None if is_over else work_left(unfinished, durations.mean_s if durations.count else None, rate, at_work, run_s),
        durations, number + len(late),
        (*late, *(Straggler(task.seconds, layer.id, task.text, task.worker, _href(layer.id, task.text, task.row)) for task in longest)),
        max((until_s(aggregate) - task.started_s for task in running), default=None),
    )  # fmt: skip


def work_left(
    unfinished: int, mean_s: float | None, rate: float, at_work: int, run_s: Sequence[float]
) -> WorkLeft | None:
    """Return what is left of a layer; None if that can't be told.

    Of short tasks many end in `RATE_S`: their rate says how many threads they have, with all that lies between them. Long ones
    end in groups, so that their rate is anything: they go on as many threads as are at work, for as long as others took.

    Parameters
    ----------
    unfinished, mean_s, rate
        Tasks that are to end, how long those that have ended took (None: none has), and how many end in a second.
    at_work, run_s
        On how many threads tasks run, and for how long those have run of which that is known.

    >>> work_left(4, 20.0, 0.8, 4, [10.0] * 4).seconds
    10.0
    """
    if mean_s is None or mean_s <= 0.0:
        return None
    if rate and mean_s <= _SHORT_S:
        return WorkLeft(unfinished * mean_s, rate * mean_s, 0.0)
    still_s = [max(mean_s - seconds, 0.0) for seconds in run_s]
    others = max(unfinished - len(still_s), 0)
    work_s = sum(still_s) + others * mean_s
    threads = max(at_work, len(still_s))
    return WorkLeft(work_s, threads, mean_s if others else max(still_s)) if threads and work_s else None


def time_left_s(stages: Sequence[Stage]) -> float | None:
    """Return how long several stages take still; None if nothing is left, or too little is known.

    Few tasks of layers of which none has ended are taken for such as the others.
    """
    known = [(stage.unfinished, stage.left) for stage in stages if stage.left is not None]
    if not known:
        return None
    unfinished, counted = sum(stage.unfinished for stage in stages), sum(count for count, _ in known)
    if unfinished - counted > _MOST_UNKNOWN * unfinished:
        return None
    work_s = sum(left.work_s for _, left in known) * unfinished / counted
    return max(work_s / sum(left.threads for _, left in known), *(left.longest_s for _, left in known), 0.0)


def until_s(aggregate: ClusterAggregate) -> float:
    """Return until when what runs has run for sure: when it was told last."""
    return aggregate.running.at_s or aggregate.last_at_s


_href = functools.lru_cache(maxsize=4096)(task_href)


def _running_straggler(aggregate: ClusterAggregate, task: RunningTask) -> Straggler:
    seconds = until_s(aggregate) - task.started_s
    href = _href(task.layer, task.index)
    return Straggler(seconds, task.layer, task.index, task.worker, href, runs=True)


def straggler_words(aggregate: ClusterAggregate, one: Straggler) -> str:
    """Return what a straggler is called, as everywhere."""
    return task_words(aggregate, one.layer, one.index, name_length=_NAME_LENGTH, index_length=_KEY_LENGTH)


def rate_text(rate: float) -> str:
    """Return a rate for people.

    >>> rate_text(1234.5), rate_text(3.21), rate_text(0.0)
    ('1,234/s', '3.2/s', '')
    """
    if not rate:
        return ""
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s" if rate >= 0.1 else f"{60 * rate:.1f}/min"


def pace_text(stage: Stage) -> str:
    """Return how fast a stage is and how long it takes still, or nothing."""
    left = f"{about_text(stage.left.seconds)} left" if stage.left is not None else ""
    return " · ".join(part for part in (rate_text(stage.rate), left) if part)


def durations_text(stage: Stage, room: int) -> str:
    """Return how long a stage's tasks take, and for how long the longest that runs has: what fits into so many characters.

    What says least is left out first.
    """
    said = _durations_said(stage)
    while len(_joined(said)) > room and len(said) > 1:
        said.remove(max(said))
    return ellipsis(_joined(said), max(room, 1))


def _joined(said: Sequence[tuple[int, int, str]]) -> str:
    return " · ".join(words for _, _, words in sorted(said, key=lambda one: one[1]))


def _durations_said(stage: Stage) -> list[tuple[int, int, str]]:
    """Return what can be said, each with its rank, the most important first, and its place."""
    durations, said = stage.durations, []
    if stage.running_s is not None:
        count = stage.counts["running"]
        whose = f"{count:,} run, the longest for" if count > 1 else "one runs for"
        said.append((0, 0, f"{whose} {duration_text(stage.running_s)}"))
    if durations.count == 1:
        said.append((1, 1, f"took {duration_text(durations.longest_s)}"))
    if durations.count <= 1:
        return said
    said += [
        (1, 1, f"mean {duration_text(durations.mean_s)}"),
        (4, 2, f"median {duration_text(durations.quantile(0.5))}"),
    ]
    if durations.count < LEAST_TASKS:
        said.append((2, 3, f"at most {duration_text(durations.longest_s)}"))
    else:
        said.append((2, 3, f"95 % within {duration_text(durations.quantile(0.95))}"))
    if stage.stragglers:
        said.append((3, 4, f"{stage.stragglers:,} straggler{'s' * (stage.stragglers > 1)}"))
    return said


def stragglers_text(aggregate: ClusterAggregate, stages: Sequence[Stage], count: int) -> str:
    """Return the longest stragglers of all stages in words, or nothing."""
    found = sorted((one for stage in stages for one in stage.longest), key=lambda one: -one.seconds)
    return ", ".join(
        f"{straggler_words(aggregate, one)} {took_text(one)} on {middle_cut(aggregate.worker_name(one.worker), 24)}"
        for one in found[:count]
    )


def took_text(one: Straggler) -> str:
    """Return how long a straggler took, or that it runs.

    >>> took_text(Straggler(10.0, 0, "3", 0)), took_text(Straggler(10.0, 0, "3", 0, runs=True))
    ('10 s', '10 s so far')
    """
    return f"{duration_text(one.seconds)} so far" if one.runs else duration_text(one.seconds)
