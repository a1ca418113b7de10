"""The numbers of clusters in Prometheus' text format (version 0.0.4). Pure.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from glassloom_metrics.folds import ClusterSummary
from glassloom_metrics.prometheus_gpus import GPU_FAMILIES, gpu_values
from glassloom_metrics.registry import ClusterRecord

EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]
Cluster = tuple[ClusterRecord, ClusterSummary]

_FAMILIES = {
    "glassloom_up": ("gauge", "1 if the cluster answers and its numbers can be read, 0 if not."),
    "glassloom_workers": ("gauge", "Workers."),
    "glassloom_threads": ("gauge", "Threads of all workers."),
    "glassloom_tasks": ("gauge", "Tasks by state: waiting, ready, running and memory as of now; released, erred and cancelled counted over the life of the cluster."),
    "glassloom_cpu_busy_cores": ("gauge", "Cores that the workers keep busy."),
    "glassloom_resident_memory_bytes": ("gauge", "Resident memory of the workers; what they share is counted for each."),
    "glassloom_memory_bytes": ("gauge", "Memory and disk of the workers by part: results that are managed, shared or spilled, and unmanaged."),
    "glassloom_memory_limit_bytes": ("gauge", "Memory limit of all workers together, if each has one."),
    "glassloom_device_memory_bytes": ("gauge", "Memory of the workers' devices by part: results that are held there, all that is used, the allocators' pools, what other processes take, and results that have moved to the host or disk."),
    "glassloom_task_device_seconds_total": ("counter", "Seconds that tasks took on the workers' devices."),
    "glassloom_task_errors_total": ("counter", "Tasks that failed for good, of the groups of errors that the cluster still tells."),
} | GPU_FAMILIES  # fmt: skip
"""Type and help of each metric."""


def exposition_text(clusters: Sequence[Cluster], silent: Collection[str] = ()) -> str:
    """Return the numbers of clusters; those of each carry the labels ``cluster``, its name, and ``cluster_id``.

    Of those with an id in `silent` it is only told that they don't answer: their numbers are old.

    >>> record = ClusterRecord("c1", "loom", "processes", 1, 1.0, "", "", 1.0, "", "")
    >>> print(exposition_text([(record, ClusterSummary())]).splitlines()[2])
    glassloom_up{cluster="loom",cluster_id="c1"} 1
    """
    samples: dict[str, list[str]] = {name: [] for name in _FAMILIES}
    for record, summary in clusters:
        labels = {"cluster": record.name, "cluster_id": record.id}
        for name, more, value in _samples(summary, is_up=not summary.problem and record.id not in silent):
            samples[name].append(f"{name}{_labels_text(labels | dict(more))} {_number(value)}")
    return "".join(_family_text(name, lines) for name, lines in samples.items() if lines)


def _samples(summary: ClusterSummary, *, is_up: bool) -> Iterator[tuple[str, Labels, float]]:
    told: dict[str, Any] = summary.as_dict()
    yield "glassloom_up", {}, int(is_up)
    if not is_up:
        return
    yield "glassloom_workers", {}, told["workers"]
    yield "glassloom_threads", {}, told["threads"]
    for state, count in told["tasks"].items():
        yield "glassloom_tasks", {"state": state}, count
    yield "glassloom_tasks", {"state": "cancelled"}, summary.n_cancelled
    yield "glassloom_cpu_busy_cores", {}, summary.cpu_percent / 100
    yield "glassloom_resident_memory_bytes", {}, summary.resident_bytes
    for part, nbytes in summary.memory().items():
        yield "glassloom_memory_bytes", {"part": part}, nbytes
    if told["memory_limit_bytes"] is not None:
        yield "glassloom_memory_limit_bytes", {}, told["memory_limit_bytes"]
    for part, nbytes in summary.device_memory().items():
        yield "glassloom_device_memory_bytes", {"part": part}, nbytes
    if summary.task_device_s is not None:
        yield "glassloom_task_device_seconds_total", {}, summary.task_device_s
    yield "glassloom_task_errors_total", {}, summary.n_errors
    yield from gpu_values(summary)


def _family_text(name: str, lines: Iterable[str]) -> str:
    kind, help_text = _FAMILIES[name]
    return "\n".join([f"# HELP {name} {help_text}", f"# TYPE {name} {kind}", *lines, ""])


def _labels_text(labels: Labels) -> str:
    r"""Return labels with their values escaped.

    >>> _labels_text({"cluster": 'a "b"\n\\'})
    '{cluster="a \\"b\\"\\n\\\\"}'
    """
    escaped = (
        (name, value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')) for name, value in labels.items()
    )
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"


def _number(value: float) -> str:
    return repr(round(value, 6)) if isinstance(value, float) else str(value)
