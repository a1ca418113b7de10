"""The pages of GPUs, on recordings of what the real sampler tells of recorded NVML sessions."""

from __future__ import annotations

import math
import re
from functools import cache

import gpu_recordings
import numpy as np
import pytest
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.gpu_history import COLUMNS, KEEP_ROWS, GpuHistory, merged
from glassloom_dashboards.parts.badge import Attention, badge_of
from glassloom_dashboards.parts.theme import DARK, LIGHT
from glassloom_dashboards.report import report_html
from glassloom_dashboards.views.gpu_drawing import KINDS, drawn
from glassloom_dashboards.views.gpu_over_time import ALL_METRICS, MAX_LANES
from glassloom_dashboards.views.health import alerts_of
from glassloom_dashboards.views.overview import headroom_of
from glassloom_metrics.gpu_messages import GPU_METRICS, GpuProcesses, gpu_devices, gpu_samples
from glassloom_metrics.protocol import Hello, decode, encode
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples
from opened_pages import FRAME_BYTES, Opened
from synthetic import HOSTILE_NAMES, STARTED_AT_S, gpu_device, write_recording

SECONDS = 60
GIB = 2**30


@cache
def payloads(name: str, *, pools: bool = False) -> list[bytes]:
    return gpu_recordings.recorder_of(name, SECONDS, workers=2, pools=pools).read(0, limit=10**6)[0]


def cluster(name: str, *, pools: bool = False) -> ClusterAggregate:
    aggregate = ClusterAggregate()
    for payload in payloads(name, pools=pools):
        aggregate.apply(decode(payload))
    return aggregate


def source(opened: Opened, name: str) -> dict:
    return opened.document.get_model_by_name(f"gpu-time-source-{name}").data


def choose(opened: Opened, kind: str, device: str = "") -> None:
    card = opened.card("gpu-time")
    card.kind.value = kind
    if device:
        card.device.value = device
    opened.update()


# Over time


def test_one_device_shows_all_its_metrics_and_several_one_metric_of_all():
    one, several = Opened("gpu", cluster("one")), Opened("gpu", cluster("sixteen"))
    assert [lane.name for lane in one.card("gpu-time")._drawn.lanes] == [kind.words for kind in KINDS.values()]
    assert not one.card("gpu-time").device.visible
    assert [lane.name for lane in several.card("gpu-time")._drawn.lanes] == [f"GPU {n}" for n in range(16)]
    choose(several, ALL_METRICS, "3")
    lanes = several.card("gpu-time")._drawn.lanes
    assert {lane.device.id for lane in lanes} == {3} and len(lanes) == len(KINDS)
    assert several.card("gpu-time").device.visible
    assert several.card("gpu-time").plot.y_range.start == len(KINDS)


def test_what_is_drawn_is_what_was_measured():
    aggregate = cluster("two")
    opened = Opened("gpu-time", aggregate)
    rows = aggregate.gpus.rows(1)
    busy = source(opened, "busy")
    mine = busy["bottom"] > 1
    shares = (1.9 - busy["top"][mine]) / 0.8
    measured = rows[:, COLUMNS.index("utilization_percent")] / 100
    assert shares == pytest.approx(measured[measured > 0], abs=1e-6)
    assert np.diff(busy["right"][mine] - busy["left"][mine]) == pytest.approx(0, abs=1e-4)
    assert opened.card("gpu-time").plot.yaxis[0].major_label_overrides == {0.5: "GPU 0", 1.5: "GPU 1"}
    last = f"{aggregate.gpus.readings[1]['utilization_percent']:.0f} %"
    assert opened.card("gpu-time").plot.yaxis[1].major_label_overrides[1.5] == last


def test_memory_is_stacked_by_whose_it_is_and_adds_up():
    opened = Opened("gpu-time", cluster("two", pools=True))
    choose(opened, "memory")
    parts = {name: source(opened, name) for name in ("pool_used", "pool_free", "workers", "others", "driver", "used")}
    assert len(parts.pop("used")["left"]) == 0
    height = {name: (rows["bottom"] - rows["top"]) / 0.8 * 141 for name, rows in parts.items()}
    assert height["pool_used"] == pytest.approx(30, abs=0.01)
    assert height["pool_free"] == pytest.approx(10, abs=0.01)
    rows = opened.view._aggregate.gpus.rows(0)
    strangers = (rows[:, COLUMNS.index("memory_used_bytes")] - rows[:, COLUMNS.index("workers_bytes")]) / GIB
    assert height["others"] == pytest.approx(strangers, abs=0.01)
    assert (
        "other processes" in opened.card("gpu-time").legend.text and "pool, free" in opened.card("gpu-time").legend.text
    )


def test_traffic_goes_both_ways_from_the_middle():
    opened = Opened("gpu-time", cluster("one"))
    received, sent = source(opened, "received"), source(opened, "sent")
    middle = {2.5, 3.5}
    assert set(received["bottom"].tolist()) == middle and set(sent["top"].tolist()) == middle


def test_a_metric_that_is_not_supported_is_said_and_not_drawn_as_0():
    opened = Opened("gpu", cluster("laptop"))
    lanes = {lane.kind: lane for lane in opened.card("gpu-time")._drawn.lanes}
    assert {kind for kind, lane in lanes.items() if lane.why == "not supported"} == {"pcie", "nvlink", "power"}
    assert [lanes[kind].now for kind in ("power", "temperature")] == ["not supported", lanes["temperature"].now]
    notes = source(opened, "notes")
    assert notes["text"] == ["not supported"] * 3 and notes["y"] == [2.5, 3.5, 4.5]
    assert len(source(opened, "received")["left"]) == 0
    assert "not supported" in opened.card("gpu-devices").view.text
    table = {row[0]: row[1:] for row in opened.card("gpu-time").table().rows}
    assert table["Power"] == ("not supported", "unknown", "unknown")


def test_a_lost_device_is_shown_with_when_and_why_and_the_others_go_on():
    opened = Opened("gpu", cluster("lost"))
    outages = source(opened, "outages")
    assert outages["left"] == [30.0] and outages["name"] == ["GPU 2"]
    assert outages["text"] == ["lost at 30 s: GPU is lost"]
    busy = source(opened, "busy")
    assert busy["right"][busy["top"].astype(int) == 2].max() < 30 < busy["right"][busy["top"].astype(int) == 3].max()
    text = opened.card("gpu-devices").view.text
    assert "1 lost" in text and re.search(r"lost</span> <small>since \S+( \S+)*: GPU is lost</small>", text)
    opened.card("gpu-devices").view.ask("open", "2")
    opened.update()
    detail = opened.card("gpu-devices").view.text
    assert "the device doesn&#39;t answer" in detail and "Memory busy" not in detail
    assert "GPU 2 lost at 30 s" in opened.card("gpu-time").summary()
    assert "1 not answering" in opened.view.strip.div.text
    bars = {str(bar["name"]): bar for bar in headroom_of(cluster("lost"))}
    assert (bars["GPU 2 memory"]["part"], bars["GPU 2 memory"]["words"]) == (None, "lost"), "not how full it was before"
    assert bars["GPU 3 memory"]["part"]


def test_what_needs_attention_is_told_with_the_page_that_tells_more():
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    states = ("ok", "lost", "lost", "silent")
    aggregate.apply(gpu_devices(STARTED_AT_S, "", "", [gpu_device(n, state=state) for n, state in enumerate(states)]))
    aggregate.apply(gpu_samples(STARTED_AT_S, {0: {"ecc_uncorrected": 2}}))
    alerts = alerts_of(aggregate, badge_of(aggregate, Attention(), 0.0))
    assert [(alert.kind, alert.words, alert.page) for alert in alerts] == [
        ("bad", "2 GPUs lost: GPU 1, GPU 2.", "gpu"),
        ("bad", "Memory errors that could not be corrected on GPU 0.", "gpu"),
        ("warning", "1 GPU not answering: GPU 3.", "gpu"),
    ]


def test_low_clocks_and_their_reason_are_told():
    opened = Opened("gpu-time", cluster("two"))
    choose(opened, "clock")
    held = source(opened, "held")
    assert len(held["left"]) and (held["top"] > 1).all(), "only the second device is at its power limit"
    assert "power limit" in " ".join(map(str, source(opened, "hovers")["text"]))
    assert "clock held down" in opened.card("gpu-time").legend.text


def test_a_gap_in_time_is_not_filled():
    history = GpuHistory(0.0)
    history.apply(gpu_devices(0.0, "", "", [gpu_device(0, since_s=0.0)]))
    for at_s in (1.0, 2.0, 30.0, 31.0):
        history.apply(gpu_samples(at_s, {0: {"utilization_percent": 50}}))
    now = drawn(history, 0.0, 60.0, "utilization", None, 8)
    assert now.parts["busy"]["left"].tolist() == [0.0, 1.0, 29.0, 30.0]
    assert now.parts["busy"]["right"].tolist() == [1.0, 2.0, 30.0, 31.0]


def test_a_device_that_was_silent_for_a_while_has_an_outage_that_ended():
    history = GpuHistory(0.0)
    for at_s, state in ((0.0, "ok"), (10.0, "silent"), (20.0, "ok"), (25.0, "ok")):
        history.apply(gpu_devices(at_s, "", "", [gpu_device(0, state=state, since_s=min(at_s, 20.0), reason="slow")]))
    (outage,) = history.outages[0]
    assert (outage.start_s, outage.stop_s, outage.state) == (10.0, 20.0, "silent")


def test_frames_are_small_with_sixteen_devices():
    aggregate = cluster("sixteen")
    readings = aggregate.gpus.readings
    for second in range(SECONDS, 1200):
        aggregate.gpus.apply(gpu_samples(STARTED_AT_S + second, readings))
    aggregate._saw(STARTED_AT_S + 1200, "gpus")
    opened = Opened("gpu-time", aggregate)
    for kind in KINDS:
        choose(opened, kind)
    assert 0 < max(opened.frames) <= FRAME_BYTES


def test_a_theme_changes_colours_and_nothing_else():
    opened = Opened("gpu-time", cluster("two"))
    card = opened.card("gpu-time")
    before = card.plot.renderers[1].glyph.fill_color
    card.set_palette(DARK)
    opened.update()
    assert (before, card.plot.renderers[1].glyph.fill_color) == (LIGHT.cpu, DARK.cpu)


def test_of_very_many_devices_the_first_are_drawn_and_that_is_said():
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    aggregate.apply(gpu_devices(STARTED_AT_S, "", "", [gpu_device(n) for n in range(300)]))
    aggregate.apply(gpu_samples(STARTED_AT_S + 1, {n: {"utilization_percent": 50} for n in range(300)}))
    opened = Opened("gpu", aggregate)
    assert len(opened.card("gpu-time")._drawn.lanes) == MAX_LANES
    assert f"{300 - MAX_LANES} more devices are in the table" in opened.card("gpu-time").legend.text
    assert "1–64 of 300" in opened.card("gpu-devices").view.text


# History


@settings(max_examples=examples(23), deadline=None)
@given(st.integers(1, 4000), st.randoms(use_true_random=False))
def test_history_is_bounded_ordered_and_keeps_means_and_peaks(count, random):
    history = GpuHistory(0.0)
    powers = [random.uniform(0, 700) if random.random() > 0.1 else "not supported" for _ in range(count)]
    for at_s, power in enumerate(powers):
        history.apply(gpu_samples(float(at_s), {0: {"power_w": power, "temperature_c": at_s % 90}}))
    rows = history.rows(0)
    assert len(rows) <= (KEEP_ROWS + 2) * (1 + max(0, math.ceil(math.log2(max(count / KEEP_ROWS, 1)))))
    first, at = rows[:, COLUMNS.index("first")], rows[:, COLUMNS.index("at")]
    assert (np.diff(at) > 0).all() and (first <= at).all() and (first[1:] == at[:-1] + 1).all()
    assert (first[0], at[-1]) == (0, count - 1), "every sample is in one row"
    temperature = rows[:, COLUMNS.index("temperature_c")]
    assert temperature.max() == max(second % 90 for second in range(count))
    known = [power for power in powers if not isinstance(power, str)]
    power = rows[:, COLUMNS.index("power_w")]
    assert np.isnan(power).all() == (not known)
    if known:
        assert min(known) - 1e-9 <= np.nanmin(power) and np.nanmax(power) <= max(known) + 1e-9


def test_rows_together_have_means_of_what_is_known_and_all_reasons():
    rows = np.full((3, len(COLUMNS)), np.nan)
    rows[:, 0] = rows[:, 1] = [1.0, 2.0, 3.0]
    place = {
        name: COLUMNS.index(name) for name in ("power_w", "memory_used_bytes", "throttle_reasons", "encoder_percent")
    }
    rows[:2, place["power_w"]] = [100, 200]
    rows[1:, place["memory_used_bytes"]] = [7, 5]
    rows[:, place["throttle_reasons"]] = [4, np.nan, 1]
    ((*_,),) = together = merged(rows, np.zeros(1, np.int64))
    values = {name: together[0, at] for name, at in place.items()}
    assert (values["power_w"], values["memory_used_bytes"], values["throttle_reasons"]) == (150, 7, 5)
    assert np.isnan(values["encoder_percent"])
    assert together[0, :2].tolist() == [3.0, 1.0]


def test_memory_of_workers_is_known_only_with_the_processes_of_the_same_moment():
    history = GpuHistory(0.0)
    history.apply(gpu_devices(0.0, "", "", [gpu_device(0)]))
    readings = {"memory_used_bytes": 10.0, "processes": 2}
    history.apply(GpuProcesses(1.0, [0, 0], [1, 2], ["a", "b"], [0, -1], [4, 5]))
    history.apply(gpu_samples(1.0, {0: readings}))
    assert history.workers_bytes(0) == 4
    history.apply(gpu_samples(2.0, {0: readings}))
    assert math.isnan(history.workers_bytes(0))
    history.apply(GpuProcesses(3.0, [0, 0], [1, 2], ["a", "b"], [0, -1], ["not supported", 5]))
    history.apply(gpu_samples(3.0, {0: readings}))
    assert math.isnan(history.workers_bytes(0))
    assert history.rows(0)[:, COLUMNS.index("workers_bytes")].tolist()[0] == 4


# Devices


def test_a_device_is_opened_with_its_processes_links_and_errors():
    opened = Opened("gpu-devices", cluster("two"))
    card = opened.card("gpu-devices")
    card.view.ask("open", "1")
    opened.update()
    text = card.view.text
    for words in ("GPU-00000001-5c1e", "580.95.05", "generation 5, 16 lanes", "loom-1", "41001", "python3.12", "GiB/s"):
        assert words in text, words
    assert re.search(r"corrected</dt><dd>2</dd>", text)
    assert text.count("<tr data-key") == 1 + 18
    card.view.ask("open", "0")
    opened.update()
    assert re.search(r"tritonserver</th><td><small>no</small>", card.view.text)
    assert card.view.text.index("loom-0") < card.view.text.index("tritonserver"), "our own first"
    card.view.ask("close")
    opened.update()
    assert "2 × NVIDIA H200" in card.view.text


def test_parts_of_a_device_follow_it():
    opened = Opened("gpu", cluster("mig"))
    names = re.findall(r'data-value="\d+">(GPU[^<]*)</button>', opened.card("gpu-devices").view.text)
    assert names == ["GPU 0", "GPU 0 MIG 0", "GPU 0 MIG 1", "GPU 0 MIG 2", "GPU 1"]
    assert [lane.name for lane in opened.card("gpu-time")._drawn.lanes] == names
    assert "3 MIG instances" in opened.card("gpu-devices").view.text


def said_of(opened: Opened) -> dict[str, str]:
    """Return what is said of each card for screen readers."""
    return {card: words for card, words, _ in opened.view.summaries.tags}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no-library", r"libnvidia-ml\.so\.1.* was not found"),
        ("none", "no device"),
        ("old-driver", "Install a newer driver"),
    ],
)
def test_without_a_gpu_the_page_says_what_was_looked_for(name: str, words: str):
    opened = Opened("gpu", cluster(name))
    for card in opened.view.cards:
        assert re.search(rf"<b>No GPU</b>.*{words}", card.empty.text) and card.empty.visible
    time = opened.card("gpu-time")
    assert not time.plot.visible and not time.kind.visible and not time.device.visible
    assert all(is_empty for _, _, is_empty in opened.view.summaries.tags), "the browser hides their controls"
    assert said_of(opened)["gpu-time"] == "", "the browser hides the card that says no more"
    assert "No GPU" in said_of(Opened("gpu-time", cluster(name)))["gpu-time"]


def test_a_cluster_that_tells_nothing_of_gpus_says_why():
    for kind, words in (("threads", "No GPU readings"), ("processes", "Waiting for GPU readings")):
        aggregate = ClusterAggregate()
        aggregate.apply(Hello(2, "c1", "demo", kind, STARTED_AT_S))
        assert words in Opened("gpu", aggregate).card("gpu-devices").empty.text


def test_names_of_devices_and_processes_are_text():
    aggregate = cluster("one")
    for name in HOSTILE_NAMES:
        device = gpu_device(0, name=name, uuid=name, reason=name, state="silent", power_limit_w=name)
        aggregate.apply(gpu_devices(STARTED_AT_S, name, "", [device]))
        aggregate.apply(GpuProcesses(STARTED_AT_S, [0], [1], [name], [-1], [name]))
        for opened in (Opened("gpu", aggregate), Opened("status", aggregate)):
            texts = [opened.view.strip.div.text, *(card.legend.text for card in opened.view.cards)]
            if opened.view.page == "gpu":
                card = opened.card("gpu-devices")
                texts.append(card.view.text)
                card.view.ask("open", "0")
                opened.update()
                texts.append(card.view.text)
            assert not re.search(r"<(img|script|b onclick|iframe)", "".join(map(str, texts)))


READINGS = st.dictionaries(
    st.sampled_from(GPU_METRICS), st.one_of(st.floats(), st.integers(-(2**62), 2**62), st.text(max_size=5)), max_size=30
)


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(st.dictionaries(st.integers(0, 3), READINGS, max_size=4), max_size=4), READINGS)
def test_whatever_a_damaged_recording_says_the_page_is_drawn(samples, facts):
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    odd = dict(
        zip(("memory_total_bytes", "power_limit_w", "sm_clock_max_mhz", "mig_enabled"), facts.values(), strict=False)
    )
    aggregate.apply(decode(encode(gpu_devices(STARTED_AT_S, "", "", [gpu_device(0, **odd), gpu_device(1, parent=0), gpu_device(2, parent=2)]))))  # fmt: skip
    for second, readings in enumerate(samples):
        aggregate.apply(decode(encode(gpu_samples(STARTED_AT_S + second, readings))))
    opened = Opened("gpu", aggregate)
    for kind in (ALL_METRICS, *KINDS):
        choose(opened, kind)
    opened.card("gpu-devices").view.ask("open", "0")
    opened.update()
    assert opened.view._failures == {}
    opened.document.to_json()


# Reports


def test_a_report_has_the_gpus_if_there_are_any(tmp_path):
    for name, is_there in (("lost", True), ("none", False)):
        path = tmp_path / f"{name}.glr"
        write_recording(path, gpu_recordings.recorder_of(name, SECONDS))
        html = report_html(path)
        assert ('id="card-gpu-time"' in html) == is_there
        assert ("since " in html and "GPU is lost" in html) == is_there
