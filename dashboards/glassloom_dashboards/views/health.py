"""Whether a cluster is healthy, and what needs attention. Pure: it draws nothing and has no clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from glassloom_metrics.gpu_messages import LOST, SILENT
from glassloom_metrics.protocol import Pressure
from glassloom_metrics.worker_memory import limited_bytes

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.badge import Badge
from glassloom_dashboards.parts.strip import notices, sentence
from glassloom_dashboards.parts.theme import bytes_text, ellipsis
from glassloom_dashboards.parts.times import duration_text

MAX_NAMES = 3
NEAR_LIMIT = 0.8
"""The share of its limit from which a worker is said to be near it."""
LATE_S = 1.0
"""The head's event loop isn't as late as that unless something is wrong: requests wait as long."""
_FULL = 0.9
_NORMAL_ENDS = ("retired", "restarted", "closed")
_MAX_LENGTH = 160
_MAX_ERRORS = 2


@dataclass(frozen=True)
class Alert:
    """What needs attention: ``"bad"`` or ``"warning"``, in words, with the page that tells more (or none)."""

    kind: str
    words: str
    page: str = ""


def alerts_of(aggregate: ClusterAggregate, badge: Badge) -> list[Alert]:
    """Return what needs attention, the worst first."""
    found = [
        *_life(aggregate, badge),
        *_failures(aggregate),
        *_memory(aggregate),
        *_gpus(aggregate),
        *_engine(aggregate),
    ]
    found += [Alert("warning", words) for words in notices(aggregate)]
    return sorted(found, key=lambda alert: alert.kind != "bad")


def _life(aggregate: ClusterAggregate, badge: Badge) -> Iterator[Alert]:
    if badge.look == "silent":
        yield Alert("bad", f"The cluster is silent: {badge.words}. What is shown is as old.")
    if badge.look == "reconnecting":
        yield Alert("warning", "The connection to the cluster is lost. It is tried again.")
    if aggregate.state == "ended" and aggregate.ended_reason not in ("", "the cluster was closed"):
        yield Alert("bad", sentence(aggregate.ended_reason))
    died = [left for left in aggregate.left_workers.values() if left.reason not in _NORMAL_ENDS]
    if died:
        names = _names([aggregate.worker_name(left.worker) for left in died])
        yield Alert("bad", f"{_count(len(died), 'worker')} died: {names}. {sentence(died[-1].reason)}", "workers")
    counts = aggregate.task_counts
    if not aggregate.workers and counts["waiting"] + counts["ready"] and aggregate.state == "live":
        yield Alert("bad", "Tasks wait, and there is no worker to run them.", "workers")


def _failures(aggregate: ClusterAggregate) -> Iterator[Alert]:
    if aggregate.error_count:
        yield Alert("bad", f"{_count(aggregate.error_count, 'task')} failed{_why(aggregate)}", "logs")


def _why(aggregate: ClusterAggregate) -> str:
    """Return the most frequent errors, each with its own count if there is more than one; of equally many the newest first."""
    counts: Counter[str] = Counter()
    for group in reversed(aggregate.errors.values()):
        counts[ellipsis(f"{group.exception}: {group.message}", _MAX_LENGTH)] += group.count
    if list(counts.values()) == [aggregate.error_count]:
        return f": {next(iter(counts))}"
    told = counts.most_common(_MAX_ERRORS)
    others = aggregate.error_count - sum(count for _, count in told)
    parts = [f"{count:,} with {error}" for error, count in told]
    parts += [f"{others:,} with others"] if others > 0 and told else []
    return f": {'; '.join(parts)}" if parts else ""


def _memory(aggregate: ClusterAggregate) -> Iterator[Alert]:
    paused = [worker for worker, sample in aggregate.samples.items() if sample.pressure >= Pressure.PAUSED]
    near = [worker for worker in aggregate.samples if worker not in paused and _is_near_limit(aggregate, worker)]
    over = [worker for worker in near if _part_of_limit(aggregate, worker) > 1]
    near = [worker for worker in near if worker not in over]
    if paused:
        names = _names(map(aggregate.worker_name, paused))
        yield Alert("bad", f"{_count(len(paused), 'worker')} paused for want of memory: {names}.", "memory")
    if over:
        names = _names(map(aggregate.worker_name, over))
        yield Alert("warning", f"{_count(len(over), 'worker')} over the memory limit: {names}.", "memory")
    if near:
        names = _names(map(aggregate.worker_name, near))
        yield Alert("warning", f"{_count(len(near), 'worker')} near the memory limit: {names}.", "memory")
    spilled = sum(sample.spilled_bytes for sample in aggregate.samples.values())
    if spilled:
        yield Alert("warning", f"{bytes_text(spilled)} of results are on disk: they don't fit into memory.", "memory")


def _is_near_limit(aggregate: ClusterAggregate, worker: int) -> bool:
    return aggregate.samples[worker].pressure == Pressure.HIGH or _part_of_limit(aggregate, worker) >= NEAR_LIMIT


def _part_of_limit(aggregate: ClusterAggregate, worker: int) -> float:
    """Return how much of its limit a worker takes, 0 if it has none."""
    joined = aggregate.workers.get(worker)
    limit = joined.memory_limit_bytes if joined else None
    return limited_bytes(aggregate.samples[worker]) / limit if limit else 0.0


def _gpus(aggregate: ClusterAggregate) -> Iterator[Alert]:
    devices = [gpu for gpu in aggregate.gpus.in_order() if not gpu.is_part]
    for state, kind, words in ((LOST, "bad", "lost"), (SILENT, "warning", "not answering")):
        if names := [f"GPU {gpu.index}" for gpu in devices if gpu.state == state]:
            yield Alert(kind, f"{_count(len(names), 'GPU')} {words}: {_names(names)}.", "gpu")
    errors = {gpu.index: aggregate.gpus.readings.get(gpu.id, {}).get("ecc_uncorrected", "") for gpu in devices}
    if names := [f"GPU {index}" for index, count in errors.items() if not isinstance(count, str) and count > 0]:
        yield Alert("bad", f"Memory errors that could not be corrected on {_names(names)}.", "gpu")


def _engine(aggregate: ClusterAggregate) -> Iterator[Alert]:
    lag_s = aggregate.engine.longest_lag_s
    if lag_s > LATE_S:
        yield Alert("warning", f"The head was late by up to {duration_text(lag_s)}: everything waits for it.")
    for host in aggregate.engine.hosts.values():
        parts = [
            ("memory", host.memory_used_bytes, host.memory_total_bytes),
            ("shared memory", host.shared_memory_used_bytes, host.shared_memory_total_bytes),
        ]
        for words, used, total in parts:
            if not isinstance(used, str) and not isinstance(total, str) and total and used > _FULL * total:
                yield Alert("warning", f"The {words} of {ellipsis(host.host, 60)} is {100 * used / total:.0f} % full.")


def headline_of(aggregate: ClusterAggregate, alerts: list[Alert]) -> tuple[str, str]:
    """Return an icon's kind and what to say first."""
    worst = "bad" if any(alert.kind == "bad" for alert in alerts) else "warning" if alerts else "good"
    problems = {0: ""}.get(len(alerts), f"{_count(len(alerts), 'thing')} to look at")
    if aggregate.state in ("ended", "recording"):
        words = "This cluster has ended" if aggregate.state == "ended" else "This is a recording"
        return ("stopped" if worst == "good" else worst), f"{words}{f': {problems}' if problems else ''}"
    if problems:
        return worst, problems
    if aggregate.state != "live":
        return "busy", "Waiting for the cluster to answer"
    counts = aggregate.task_counts
    if counts["running"] + counts["waiting"] + counts["ready"]:
        return "good", "Healthy, and at work"
    return "good", "Healthy, waiting for tasks" if aggregate.workers else "Waiting for workers"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _names(names: Iterable[str]) -> str:
    listed = [ellipsis(name, 40) for name in names]
    more = f" and {len(listed) - MAX_NAMES} more" if len(listed) > MAX_NAMES else ""
    return f"{', '.join(listed[:MAX_NAMES])}{more}"
