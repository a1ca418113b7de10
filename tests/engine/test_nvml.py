"""What NVML says becomes readings: values, "not supported", or errors. Hosts are simulated: CI has no GPU."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from glassloom.sampling.nvml import DeviceLost, NvmlSampler, NvmlUnavailable, load_nvml
from glassloom.sampling.nvml_simulator import (
    OF_DEVICES,
    SCENARIOS,
    SimulatedDevice,
    SimulatedHost,
    SimulatedNvml,
    SimulatedPart,
    SimulatedProcess,
    h200s,
)
from glassloom_metrics.gpu_messages import GPU_METRICS, devices_of, readings_of
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

pynvml = load_nvml()
GIB = 2**30


class Host:
    """A simulated host, its clock, and the sampler of it."""

    def __init__(self, host: SimulatedHost, fail: Any = lambda name, args: 0) -> None:
        self.now_s = 0.0
        self.nvml = SimulatedNvml(host, lambda: self.now_s, fail)
        self.sampler = NvmlSampler(self.nvml)
        self.sampler.begin()
        self.sampler.refresh(0.0)

    def sample(self, at_s: float) -> dict[int, dict[str, Any]]:
        self.now_s = at_s
        samples, self.processes = self.sampler.sample(at_s)
        self.samples = samples
        return dict(readings_of(samples))

    @property
    def devices(self) -> dict[int, Any]:
        return devices_of(self.sampler.table(self.now_s))


def device(**options: Any) -> SimulatedDevice:
    return SimulatedDevice("GPU-a", **{"load": lambda at_s: 0.5, "links": 2, **options})


def test_each_device_is_told_once_with_what_it_is():
    host = Host(SimulatedHost(h200s(2)))
    host.sampler.refresh(60.0)
    first, second = host.devices.values()
    assert (first.id, first.index, first.name, first.parent) == (0, 0, "NVIDIA H200", -1)
    assert first.uuid != second.uuid
    assert (first.memory_total_bytes, first.power_limit_w, first.sm_clock_max_mhz) == (141 * GIB, 700, 1980)
    assert (first.pcie_generation, first.pcie_width, first.nvlinks, first.mig_enabled) == (5, 16, 18, 0)
    assert (first.state, first.since_s) == ("ok", 0.0)
    assert host.sampler.driver == "580.95.05"


def test_all_metrics_of_a_device_are_read():
    host = Host(SimulatedHost((device(processes=(SimulatedProcess(7, "/usr/bin/python3", 40 * GIB),)),)))
    host.sample(1.0)
    (readings,) = host.sample(2.0).values()
    assert readings == {
        "utilization_percent": 50,
        "memory_utilization_percent": 30,
        "memory_used_bytes": 30 * GIB,
        "memory_reserved_bytes": 600 * 2**20,
        "pool_used_bytes": "not reported",
        "pool_reserved_bytes": "not reported",
        "pcie_received_bytes_s": pytest.approx(0.15 * 0.5 * 7e9),
        "pcie_sent_bytes_s": pytest.approx(0.3 * 0.5 * 7e9),
        "nvlink_received_bytes_s": pytest.approx(0.5 * 20e9 * 1.98, rel=1e-6),
        "nvlink_sent_bytes_s": pytest.approx(0.5 * 20e9 * 1.98 * 0.8, rel=1e-6),
        "power_w": 0.12 * 700 + 0.86 * 350,
        "temperature_c": 56,
        "sm_clock_mhz": 1980,
        "memory_clock_mhz": 3201,
        "throttle_reasons": 0,
        "ecc_corrected": 0,
        "ecc_uncorrected": 0,
        "encoder_percent": 0,
        "decoder_percent": 0,
        "processes": 1,
    }
    assert host.samples.links_received_bytes_s == [[pytest.approx(10e9), pytest.approx(9.8e9)]]
    assert (host.processes.pids, host.processes.memory_bytes) == ([7], [30 * GIB])
    assert host.sampler.process_name(7) == "python3" and host.sampler.process_name(8) == ""


def test_rates_are_not_measured_at_first_and_after_counters_began_anew():
    host = Host(SimulatedHost((device(),)))
    assert host.sample(5.0)[0]["nvlink_received_bytes_s"] == "not measured yet"
    assert host.sample(6.0)[0]["nvlink_received_bytes_s"] == pytest.approx(0.5 * 20e9 * 1.98, rel=1e-6)
    assert host.samples.links_sent_bytes_s[0][0] == pytest.approx(8e9)
    host.now_s = 1.0
    samples, _ = host.sampler.sample(7.0)
    assert dict(readings_of(samples))[0]["nvlink_received_bytes_s"] == "not measured yet"


def test_what_a_device_does_not_have_is_not_supported_and_nothing_is_said_of_it():
    host = Host(SCENARIOS["laptop"])
    (readings,) = host.sample(5.0).values()
    missing = {metric for metric, value in readings.items() if value == "not supported"}
    assert missing == {
        "power_w", "ecc_corrected", "ecc_uncorrected", "pcie_received_bytes_s", "pcie_sent_bytes_s", "encoder_percent",
        "nvlink_received_bytes_s", "nvlink_sent_bytes_s",
    }  # fmt: skip
    assert readings["processes"] == 2 and host.processes.memory_bytes == ["not supported"] * 2
    assert host.devices[0].power_limit_w == host.devices[0].mig_enabled == "not supported"
    assert host.sampler.take_notes() == []


def test_an_error_is_a_reading_and_is_said_once():
    host = Host(SimulatedHost((device(failures={"nvmlDeviceGetTemperature": pynvml.NVML_ERROR_UNKNOWN}),)))
    for at_s in (1.0, 2.0, 3.0):
        readings = host.sample(at_s)[0]
        assert (readings["temperature_c"], readings["utilization_percent"]) == ("error: Unknown Error", 50)
    assert host.sampler.take_notes() == ["GPU 0 (GPU-a): temperature can't be read: Unknown Error"]
    assert host.sampler.take_notes() == []


@pytest.mark.fault("a GPU falls off the bus")
def test_one_lost_device_does_not_silence_the_others():
    host = Host(SCENARIOS["lost"])
    assert list(host.sample(29.0)) == [0, 1, 2, 3]
    assert list(host.sample(30.0)) == list(host.sample(31.0)) == [0, 1, 3]
    lost = host.devices[2]
    assert (lost.state, lost.since_s, lost.reason) == ("lost", 30.0, "GPU is lost")
    host.now_s = 60.0
    host.sampler.refresh(60.0)
    assert host.devices[2] == lost
    assert host.sampler.take_notes() == [f"GPU 2 ({lost.uuid}) is lost: GPU is lost"]


def test_a_device_that_the_driver_no_longer_lists_is_lost_and_one_that_is_back_goes_on():
    devices = list(h200s(3))
    host = Host(SimulatedHost(tuple(devices)))
    whole = host.nvml._host
    host.nvml._host = SimulatedHost((devices[0], devices[2]))
    host.sampler.refresh(60.0)
    assert [(one.state, one.index) for one in host.devices.values()] == [("ok", 0), ("lost", 1), ("ok", 1)]
    host.nvml._host = whole
    host.sampler.refresh(120.0)
    assert [(one.state, one.since_s) for one in host.devices.values()] == [("ok", 0.0), ("ok", 120.0), ("ok", 0.0)]
    assert [note.partition(") ")[2] for note in host.sampler.take_notes()] == [
        "is lost: the driver doesn't list it any more", "answers again",
    ]  # fmt: skip


def test_parts_of_a_divided_device_are_devices_with_a_parent():
    host = Host(SCENARIOS["mig"])
    whole, *parts, other = sorted(host.devices.values(), key=lambda one: one.id)
    assert (whole.mig_enabled, other.mig_enabled) == (1, 0)
    assert [(part.parent, part.index, part.memory_total_bytes) for part in parts] == [
        (0, 0, 71 * GIB), (0, 1, 35 * GIB), (0, 2, 18 * GIB),
    ]  # fmt: skip
    readings = host.sample(5.0)
    assert readings[whole.id]["utilization_percent"] == readings[parts[0].id]["utilization_percent"] == "not supported"
    assert readings[parts[0].id]["memory_used_bytes"] > 0 and readings[other.id]["utilization_percent"] > 0
    divided = host.nvml._host.devices[0]
    host.nvml._host = SimulatedHost((replace(divided, parts=divided.parts[:1]), *host.nvml._host.devices[1:]))
    host.sampler.refresh(60.0)
    assert [host.devices[part.id].state for part in parts] == ["ok", "gone", "gone"]


def test_with_its_device_its_parts_are_lost():
    divided = replace(device(), parts=(SimulatedPart("MIG-a", GIB),), lost_at_s=10.0)
    host = Host(SimulatedHost((divided, *h200s(1))))
    assert list(host.sample(9.0)) == [0, 1, 2]
    assert list(host.sample(10.0)) == [2]
    assert [one.state for one in host.devices.values()] == ["lost", "lost", "ok"]


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("no-library", r"libnvidia-ml\.so\.1\) was not found\. .*driver.* NVML says: NVML Shared Library Not Found"),
        ("old-driver", r"too old .* Install a newer driver\. NVML says: Function Not Found"),
        ("none", r"says that there is no device"),
    ],
)
def test_a_machine_without_a_usable_device_says_what_was_looked_for(scenario: str, words: str):
    with pytest.raises(NvmlUnavailable, match=words):
        Host(SCENARIOS[scenario])


def test_the_machine_that_runs_this_is_read_or_says_why_not():
    try:
        sampler = NvmlSampler(load_nvml())
        sampler.begin()
    except NvmlUnavailable as problem:
        assert "NVML" in str(problem)
    else:
        sampler.refresh(0.0)
        samples, _ = sampler.sample(0.0)
        assert samples.devices == sampler.ids()


def test_memory_that_an_older_driver_does_not_tell_apart_counts_as_used():
    host = Host(SimulatedHost((device(),)))
    plain = host.nvml.nvmlDeviceGetMemoryInfo
    host.nvml.nvmlDeviceGetMemoryInfo = lambda handle, version=0: _without_version(plain, handle, version)
    readings = host.sample(1.0)[0]
    assert readings["memory_reserved_bytes"] == "not supported"
    assert readings["memory_used_bytes"] == int(141 * GIB * 0.35) + 600 * 2**20


def _without_version(plain: Any, handle: Any, version: int) -> Any:
    if version:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
    return plain(handle)


CODES = [
    pynvml.NVML_ERROR_UNKNOWN,
    pynvml.NVML_ERROR_NOT_SUPPORTED,
    pynvml.NVML_ERROR_TIMEOUT,
    pynvml.NVML_ERROR_NO_PERMISSION,
]
ODD = [ValueError("odd"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "odd"), TypeError("odd")]


@settings(max_examples=examples(60), deadline=None)
@given(
    wrong=st.dictionaries(
        st.tuples(st.sampled_from(sorted(OF_DEVICES)), st.integers(0, 2)),
        st.sampled_from([*CODES, *ODD]),
        max_size=25,
    ),
    lost=st.none() | st.integers(0, 2),
)
def test_whatever_fails_the_others_are_read_and_no_value_is_made_up(wrong, lost):
    """Readings with failures are those without, but where NVML fails: there the reading is text."""
    began = False

    def fail(name: str, args: tuple[Any, ...]) -> int:
        device = args[0].number // 16 if args and hasattr(args[0], "number") else None
        problem = wrong.get((name, device)) if began else None
        if isinstance(problem, Exception):
            raise problem
        if began and device is not None and device == lost:
            return pynvml.NVML_ERROR_GPU_IS_LOST
        return problem or 0

    well, ill = Host(SimulatedHost(h200s(3))), Host(SimulatedHost(h200s(3)), fail)
    began = True
    for at_s in (3.0, 4.0):
        right, found = well.sample(at_s), ill.sample(at_s)
        assert set(found) == set(right) - ({lost} if lost is not None else set())
        for number, readings in found.items():
            touched = {name for (name, place) in wrong if place == number}
            for metric in GPU_METRICS:
                value = readings[metric]
                assert isinstance(value, str) or (value == right[number][metric] and math.isfinite(value)), metric
                assert touched or value == right[number][metric], metric
    ill.sampler.refresh(60.0)
    assert {one.state for one in ill.devices.values()} <= {"ok", "lost"}
    notes = ill.sampler.take_notes()
    assert len(notes) == len(set(notes))


def test_reading_a_lost_device_says_so_to_the_caller():
    host = Host(SCENARIOS["lost"])
    host.now_s = 31.0
    with pytest.raises(DeviceLost, match="GPU is lost"):
        host.sampler.read(2, 31.0)
