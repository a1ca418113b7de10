"""Samples of GPUs as columns: what isn't there has a reason, and none is made up on the way."""

from __future__ import annotations

import math

from glassloom_metrics.gpu_messages import (
    GPU_METRICS,
    UNKNOWN_VALUE,
    UNREPORTED,
    GpuDevice,
    GpuSamples,
    devices_of,
    gpu_devices,
    gpu_samples,
    readings_of,
    throttle_texts,
)
from glassloom_metrics.protocol import WorkerJoined, decode_known, encode
from glassloom_metrics.snapshot import Snapshot
from hypothesis import given
from hypothesis import strategies as st

READINGS = st.one_of(
    st.floats(0, 1e15),
    st.integers(0, 2**50),
    st.sampled_from(["not supported", "not measured yet", "error: Unknown Error"]),
)


@given(
    st.dictionaries(
        st.integers(0, 30), st.dictionaries(st.sampled_from(GPU_METRICS), READINGS, max_size=30), max_size=5
    )
)
def test_what_is_put_in_comes_out(readings):
    message = decode_known(encode(gpu_samples(5.0, readings)))
    assert isinstance(message, GpuSamples)
    assert dict(readings_of(message)) == {
        device: {metric: known.get(metric, UNREPORTED) for metric in GPU_METRICS} for device, known in readings.items()
    }


def test_a_value_that_is_none_and_without_a_reason_is_unknown():
    samples = gpu_samples(5.0, {3: {"power_w": math.nan, "temperature_c": math.inf}})
    ((device, readings),) = readings_of(samples)
    assert device == 3
    assert readings["power_w"] == readings["temperature_c"] == UNKNOWN_VALUE


def test_the_table_of_devices_comes_out_as_it_was_put_in():
    whole = GpuDevice(0, "u0", "H200", 0, -1, 20, "not supported", 1980, 5, 16, 2, 1, "ok", 0.0, "")
    part = GpuDevice(4, "m0", "H200 MIG", 0, 0, 5, 700, 1980, 5, 16, "not supported", 0, "lost", 8.5, "GPU is lost")
    message = decode_known(encode(gpu_devices(9.0, "580", "", [whole, part])))
    assert devices_of(message) == {0: whole, 4: part}
    assert (whole.is_part, part.is_part) == (False, True)
    assert devices_of(gpu_devices(9.0, "", "no driver", [])) == {}


def test_reasons_of_low_clocks_are_told_also_those_of_newer_drivers():
    assert throttle_texts(0x44 | 0x4000) == ["power limit", "too hot (hardware)", "reason 0x4000"]
    assert throttle_texts(0x103, remarkable=True) == []


def test_a_snapshot_tells_devices_before_what_was_measured_of_them():
    snapshot = Snapshot()
    samples = gpu_samples(5.0, {0: {}})
    table = gpu_devices(4.0, "580", "", [])
    for message in (samples, table, WorkerJoined(1.0, 0, "w0", 1, 2)):
        snapshot.apply(message)
    assert snapshot.messages()[-2:] == [table, samples]
