"""What is said where there is no GPU to show: what was looked for, and what to do."""

from __future__ import annotations

from glassloom_dashboards.folds.aggregate import ClusterAggregate


def nothing_words(aggregate: ClusterAggregate) -> tuple[str, str]:
    """Return a title and a sentence for a cluster of which no GPU is known."""
    gpus = aggregate.gpus
    if gpus.problem:
        return "No GPU", gpus.problem
    if aggregate.kind == "threads":
        return (
            "No GPU readings",
            "Tasks that run on the threads of a script or notebook tell none; start a cluster with glassloom.Client().",
        )
    if aggregate.state in ("recording", "ended"):
        return (
            "No GPU readings",
            "This cluster has told nothing of GPUs: NVIDIA's are looked for, through NVML (libnvidia-ml.so.1).",
        )
    return (
        "Waiting for GPU readings",
        "The cluster looks for NVIDIA GPUs through NVML (libnvidia-ml.so.1) once a second; this takes a moment at its start.",
    )
