"""The text that Prometheus reads: its form, and that nothing in it is made up."""

from __future__ import annotations

import re

from glassloom_metrics.folds import ClusterSummary
from glassloom_metrics.prometheus import exposition_text
from glassloom_metrics.protocol import (
    NOT_SUPPORTED,
    Errors,
    GpuSample,
    GpuSamples,
    Message,
    Progress,
    WorkerJoined,
    WorkerSamples,
)
from glassloom_metrics.registry import ClusterRecord
from hypothesis import given
from hypothesis import strategies as st

MESSAGES: list[Message] = [
    WorkerJoined(0.0, 0, "w0", 1, nthreads=2, memory_limit_bytes=100),
    WorkerJoined(0.0, 1, "w1", 1, nthreads=2, memory_limit_bytes=100),
    WorkerSamples(1.0, [0, 1], [150.0, 25.0], [10, 20], [1, 2], [3, 4], [5, 6], [0, 0], [0, 0], unmanaged_bytes=[7, 8]),
    Progress(1.0, [0], [1], [2], [3], [4], [5], [6]),
    Errors([1, 2], [0, 0], ["E"] * 2, [""] * 2, [""] * 2, [0, 0], [""] * 2, [4, 5], [0.0] * 2, [0.0] * 2, [[], []]),
    GpuSamples(1.0, [GpuSample("u0", "H200", 50, 10, 20, NOT_SUPPORTED, "error: lost")]),
]
LINE = re.compile(r'([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (-?[0-9.e+-]+|NaN)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"')


def text_of(name: str = "loom", cluster_id: str = "c1", messages: list[Message] = MESSAGES, problem: str = "") -> str:
    summary = ClusterSummary()
    for message in messages:
        summary.apply(message)
    summary.problem = problem
    record = ClusterRecord(cluster_id, name, "processes", 1, 1.0, "", "", 1.0, "", "")
    return exposition_text([(record, summary)])


def parsed(text: str) -> dict[tuple[str, ...], float]:
    """Return the samples by name and values of labels; fail if the text isn't in the format."""
    found, families, family = {}, set(), ""
    assert not text or text.endswith("\n")
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP "):
            family = line.split(" ")[2]
            assert family not in families, "each once, and its samples together"
            families.add(family)
        elif line.startswith("# TYPE "):
            assert line.split(" ")[2:] in ([family, "gauge"], [family, "counter"])
        else:
            match = LINE.fullmatch(line)
            assert match and match[1] == family, line
            values = [
                re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), value)
                for _, value in LABEL.findall(match[2])
            ]
            key = (match[1].removeprefix("glassloom_"), *values)
            assert key not in found, "each series once"
            found[key] = float(match[3])
    return found


def test_the_numbers_of_a_cluster_are_told_with_its_name_and_id():
    loom = ("loom", "c1")
    states = dict(zip(("waiting", "ready", "running", "memory", "released", "erred"), range(1, 7), strict=True))
    assert parsed(text_of()) == {
        ("up", *loom): 1,
        ("workers", *loom): 2,
        ("threads", *loom): 4,
        **{("tasks", *loom, state): count for state, count in states.items()},
        ("cpu_busy_cores", *loom): 1.75,
        ("resident_memory_bytes", *loom): 30,
        ("memory_bytes", *loom, "managed"): 3,
        ("memory_bytes", *loom, "shared"): 7,
        ("memory_bytes", *loom, "spilled"): 11,
        ("memory_bytes", *loom, "unmanaged"): 15,
        ("memory_limit_bytes", *loom): 200,
        ("task_errors_total", *loom): 9,
        ("gpu_utilization_ratio", *loom, "u0", "H200"): 0.5,
        ("gpu_memory_used_bytes", *loom, "u0", "H200"): 10,
        ("gpu_memory_total_bytes", *loom, "u0", "H200"): 20,
    }


def test_of_a_cluster_that_cannot_be_read_only_that_is_told_and_of_none_nothing():
    assert parsed(text_of(problem="another version")) == {("up", "loom", "c1"): 0}
    assert exposition_text([]) == ""


def test_clusters_of_one_name_are_told_apart():
    records = [ClusterRecord(id_, "loom", "processes", 1, 1.0, "", "", 1.0, "", "") for id_ in ("c1", "c2")]
    found = parsed(exposition_text([(record, ClusterSummary()) for record in records]))
    assert {key[1:3] for key in found} == {("loom", "c1"), ("loom", "c2")}


@given(st.text(st.characters(blacklist_categories=["Cs"])))
def test_any_name_comes_back_whole(name):
    assert {key[1] for key in parsed(text_of(name=name, messages=[]))} == {name}
