"""What runs and their layers took, and how two runs differ. Pure: it draws nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glassloom_dashboards.folds.aggregate import STATES, ClusterAggregate
from glassloom_dashboards.folds.runs import Run
from glassloom_dashboards.folds.task_sums import NONE, TaskSum
from glassloom_dashboards.parts.theme import bytes_text
from glassloom_dashboards.parts.times import duration_text


@dataclass(frozen=True)
class RunLayer:
    """A layer of a run: how far it is, what its tasks took, what it holds and has held at most."""

    id: int
    name: str
    origin: str
    total: int
    done: int
    erred: int
    running: int
    tasks: TaskSum
    held_bytes: int | None
    peak_bytes: int | None


def layer_of(aggregate: ClusterAggregate, layer: int) -> RunLayer:
    """Return what is known of a layer."""
    known = aggregate.layers.get(layer)
    counts = dict(zip(STATES, aggregate.progress.get(layer, (0,) * len(STATES)), strict=True))
    return RunLayer(
        id=layer,
        name=aggregate.layer_name(layer),
        origin=known.origin if known else "",
        total=known.total if known else 0,
        done=counts["memory"] + counts["released"],
        erred=counts["erred"],
        running=counts["running"],
        tasks=aggregate.sums.layers[layer],
        held_bytes=aggregate.held.now.get(layer),
        peak_bytes=aggregate.held.peak.get(layer),
    )


def busy_s(aggregate: ClusterAggregate, run: Run) -> float:
    """Return how long threads computed tasks of a run, one after another, with those that haven't ended or were lost."""
    layers = aggregate.runs.layers_of(run.id)
    return aggregate.sums.layers.of(layers).busy_s + aggregate.running.busy_s(layers)


def threads_share(aggregate: ClusterAggregate, run: Run) -> float | None:
    """Return which part of the threads' time computed the run's tasks (0 to 1); None if that can't be told."""
    could_s = run.duration_s(aggregate.last_at_s) * aggregate.runs.threads_of(run.id)
    return min(busy_s(aggregate, run) / could_s, 1.0) if could_s > 0 else None


@dataclass(frozen=True)
class Difference:
    """One line of a comparison: a number of each run in words, and how the second differs; ``sign`` is 0 if it doesn't."""

    words: str
    first: str
    second: str
    difference: str
    sign: int


UNKNOWN = "–"


def difference(
    words: str, pair: Sequence[float | None], text: Callable[[float], str], *, is_share: bool = False
) -> Difference:
    """Return how two numbers differ.

    >>> difference("duration", (2.0, 3.0), duration_text)
    Difference(words='duration', first='2.0 s', second='3.0 s', difference='+1.0 s (+50 %)', sign=1)
    >>> difference("tasks", (5, 5), str).difference, difference("failed", (0, 2), str).difference
    ('same', '+2')
    """
    first, second = pair
    first_text, second_text = (UNKNOWN if value is None else text(value) for value in pair)
    if first is None or second is None:
        only = UNKNOWN if first is second else "only in A" if second is None else "only in B"
        return Difference(words, first_text, second_text, only, 0)
    if first_text == second_text:
        return Difference(words, first_text, second_text, "same", 0)
    sign = 1 if second > first else -1
    mark = "+" if sign > 0 else "−"
    apart = f"{mark}{text(abs(second - first))}"
    if is_share:
        apart = apart.replace("%", "points")
    elif first:
        apart += f" ({mark}{100 * abs(second - first) / first:,.0f} %)"
    return Difference(words, first_text, second_text, apart, sign)


def count_text(count: float) -> str:
    """Return a whole number."""
    return f"{count:,.0f}"


def compare_runs(aggregate: ClusterAggregate, first: Run, second: Run) -> list[Difference]:
    """Return how two runs differ as a whole."""
    now_s = aggregate.last_at_s
    runs = (first, second)
    shares = [threads_share(aggregate, run) for run in runs]
    whole = [None if share is None else round(share, 2) for share in shares]  # so that the shown difference is right
    return [
        difference("Duration", [run.duration_s(now_s) for run in runs], duration_text),
        difference("Tasks", [run.tasks for run in runs], count_text),
        difference("Failed tasks", [run.failed for run in runs], count_text),
        difference("Time in tasks", [busy_s(aggregate, run) for run in runs], duration_text),
        difference("Threads' share", whole, _percent_text, is_share=True),
        difference("Held at most, sum of layers", [_peak_bytes(aggregate, run) for run in runs], bytes_text),
    ]


def _percent_text(share: float) -> str:
    return f"{100 * share:.0f} %"


def _peak_bytes(aggregate: ClusterAggregate, run: Run) -> int | None:
    return _sum([aggregate.held.peak.get(layer) for layer in aggregate.runs.layers_of(run.id)])


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


@dataclass(frozen=True)
class LayerComparison:
    """Layers of the same name in two runs: their number of tasks, the time in all and by task, and held bytes."""

    name: str
    differences: tuple[Difference, Difference, Difference, Difference]


def compare_layers(aggregate: ClusterAggregate, first: Run, second: Run) -> list[LayerComparison]:
    """Return how two runs differ by layer, in the order of what differs most in time. Layers of one name are one."""
    found: list[dict[str, list[int]]] = []
    for run in (first, second):
        by_name: dict[str, list[int]] = {}
        for layer in aggregate.runs.layers_of(run.id):
            by_name.setdefault(aggregate.layer_name(layer), []).append(layer)
        found.append(by_name)
    rows = []
    for name in dict.fromkeys([*found[0], *found[1]]):
        sums = [aggregate.sums.layers.of(layers[name]) if name in layers else None for layers in found]
        known = [one or NONE for one in sums]
        peaks = [_sum([aggregate.held.peak.get(layer) for layer in layers.get(name, [])]) for layers in found]
        apart_s = abs(known[1].busy_s - known[0].busy_s)
        differences = (
            difference("Tasks", [None if one is None else one.count for one in sums], count_text),
            difference("Time in tasks", [None if one is None else one.busy_s for one in sums], duration_text),
            difference("Mean", [None if one is None else one.mean_s for one in sums], duration_text),
            difference("Held at most", peaks, bytes_text),
        )
        rows.append((apart_s, LayerComparison(name, differences)))
    return [row for _, row in sorted(rows, key=lambda row: -row[0])]
