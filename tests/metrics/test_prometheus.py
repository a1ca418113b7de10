"""The text that Prometheus reads: its form, and that nothing in it is made up."""

from __future__ import annotations

import re

import msgspec
from glassloom_metrics.folds import ClusterSummary
from glassloom_metrics.gpu_messages import NOT_SUPPORTED, GpuDevice, GpuProcesses, gpu_devices, gpu_samples
from glassloom_metrics.prometheus import exposition_text
from glassloom_metrics.protocol import (
    DeviceTimes,
    Errors,
    Hello,
    Layers,
    Message,
    Progress,
    WorkerJoined,
    WorkerSamples,
)
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.registry import ClusterRecord
from hypothesis import given
from hypothesis import strategies as st

MESSAGES: list[Message] = [
    WorkerJoined(0.0, 0, "w0", 1, nthreads=2, memory_limit_bytes=100),
    WorkerJoined(0.0, 1, "w1", 1, nthreads=2, memory_limit_bytes=100),
    WorkerSamples(1.0, [0, 1], [150.0, 25.0], [10, 20], [1, 2], [3, 4], [5, 6], [0, 0], [0, 0], unmanaged_bytes=[7, 8]),
    Progress(1.0, [0], [1], [2], [3], [4], [5], [6]),
    Errors([1, 2], [0, 0], ["E"] * 2, [""] * 2, [""] * 2, [0, 0], [""] * 2, [4, 5], [0.0] * 2, [0.0] * 2, [[], []]),
    gpu_devices(
        1.0, "580", "", [GpuDevice(0, "u0", "H200", 3, -1, 20, NOT_SUPPORTED, 1980, 5, 16, 2, 0, "ok", 0.0, "")]
    ),
    GpuProcesses(1.0, [0, 0], [7, 8], ["python", "other"], [1, -1], [10, NOT_SUPPORTED]),
    gpu_samples(
        1.0,
        {
            0: {
                "utilization_percent": 50,
                "memory_used_bytes": 10,
                "power_w": NOT_SUPPORTED,
                "temperature_c": "error: x",
            }
        },
        {0: ([1.5, None], [])},
    ),
]
LINE = re.compile(r'([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (-?[0-9.e+-]+|NaN)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"')


def text_of(
    name: str = "loom",
    cluster_id: str = "c1",
    messages: list[Message] = MESSAGES,
    problem: str = "",
    silent: tuple[str, ...] = (),
) -> str:
    summary = ClusterSummary()
    for message in messages:
        summary.apply(message)
    summary.problem = problem
    record = ClusterRecord(cluster_id, name, "processes", 1, 1.0, "", "", 1.0, "", "")
    return exposition_text([(record, summary)], silent)


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
    loom, gpu = ("loom", "c1"), ("u0", "3", "H200")
    states = dict(zip(("waiting", "ready", "running", "memory", "released", "erred"), range(1, 7), strict=True))
    states["cancelled"] = 0
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
        ("gpu_up", *loom, *gpu): 1,
        ("gpu_memory_total_bytes", *loom, *gpu): 20,
        ("gpu_utilization_ratio", *loom, *gpu): 0.5,
        ("gpu_memory_used_bytes", *loom, *gpu): 10,
        ("gpu_link_received_bytes_per_second", *loom, *gpu, "0"): 1.5,
        ("gpu_process_memory_bytes", *loom, *gpu, "7", "python", "w1"): 10,
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


def test_of_a_lost_gpu_only_that_is_told_and_what_it_is():
    lost = GpuDevice(0, "u0", "H200", 3, -1, 20, 700, 1980, 5, 16, 2, 0, "lost", 2.0, "GPU is lost")
    found = parsed(text_of(messages=[*MESSAGES, gpu_devices(2.0, "580", "", [lost])]))
    gpu = ("loom", "c1", "u0", "3", "H200")
    assert {key: value for key, value in found.items() if key[0].startswith("gpu")} == {
        ("gpu_up", *gpu): 0, ("gpu_memory_total_bytes", *gpu): 20, ("gpu_power_limit_watts", *gpu): 700,
    }  # fmt: skip


def test_a_part_of_a_gpu_names_the_whole_and_low_clocks_their_reason():
    whole = GpuDevice(0, "u0", "H200", 0, -1, 20, 700, 1980, 5, 16, 2, 1, "ok", 0.0, "")
    part = GpuDevice(1, "m0", "H200", 0, 0, 5, 700, 1980, 5, 16, 2, 0, "ok", 0.0, "")
    readings = {0: {"throttle_reasons": 0x4, "ecc_corrected": 2}, 1: {"memory_used_bytes": 3}}
    found = parsed(text_of(messages=[gpu_devices(1.0, "", "", [whole, part]), gpu_samples(1.0, readings)]))
    gpu = ("loom", "c1", "u0", "0", "H200")
    assert found["gpu_memory_used_bytes", "loom", "c1", "m0", "0", "H200", "u0"] == 3
    assert found["gpu_throttled", *gpu, "power limit"] == 1 and found["gpu_throttled", *gpu, "idle"] == 0
    assert found["gpu_ecc_errors_total", *gpu, "corrected"] == 2
    assert ("gpu_ecc_errors_total", *gpu, "uncorrected") not in found


def test_the_states_of_tasks_add_up_with_those_cancelled():
    summary = ClusterSummary()
    summary.apply(Layers([0, 1], ["a", "b"], [30, 5], ["", ""]))
    summary.apply(Progress(1.0, [0], [1], [2], [3], [4], [5], [6]))
    record = ClusterRecord("c1", "loom", "processes", 1, 1.0, "", "", 1.0, "", "")
    assert 'state="cancelled"} 9\n' in exposition_text([(record, summary)])


def test_what_is_on_devices_is_summed_of_the_workers_that_have_one() -> None:
    joined = WorkerJoined(0.0, 0, "w0", 1, nthreads=1, devices=["GPU-1"])
    other = WorkerJoined(0.0, 1, "w1", 1, nthreads=1, devices=["GPU-2"])
    plain = WorkerJoined(0.0, 2, "w2", 1, nthreads=1)
    none = [0] * 3
    sample = WorkerSamples(1.0, [0, 1, 2], [0.0] * 3, none, none, none, none, none, none)
    columns = {"held": [1, 2, 0], "used": [3, 4, 0], "pool": [5, 6, 0], "other": [7, 8, 0], "moved": [9, 10, 0]}
    device = {f"device_{name}_bytes": values for name, values in columns.items()}
    text = text_of(messages=[joined, other, plain, msgspec.structs.replace(sample, **device)])
    found = dict(re.findall(r'glassloom_device_memory_bytes\{[^}]*part="(\w+)"\} (\d+)', text))
    assert found == {"held": "3", "used": "7", "pool": "11", "other": "15", "moved": "19"}
    assert "glassloom_device_memory_bytes" not in text_of(messages=[plain, sample])


def test_time_on_devices_is_counted_over_the_life_of_the_cluster() -> None:
    assert "glassloom_task_device_seconds_total" not in text_of()
    recorder = Recorder(Hello(2, "c1", "loom", "processes", 0.0))
    recorder.record(DeviceTimes(1.0, 0.25, [0], [0], [0.25]))
    recorder.record(DeviceTimes(2.0, 1.25, [1, 2, 3], [0, 7, 0], [0.25, 0.5, 0.25]))
    (snapshot,) = recorder.snapshot()
    assert snapshot == DeviceTimes(2.0, 1.25, [-1, -1], [0, 7], [0.75, 0.5])
    assert parsed(text_of(messages=[snapshot]))["task_device_seconds_total", "loom", "c1"] == 1.25


def test_of_a_cluster_that_does_not_answer_no_old_numbers_are_told():
    assert parsed(text_of(silent=("c1",))) == {("up", "loom", "c1"): 0}
    assert parsed(text_of(silent=("c2",))) == parsed(text_of())
