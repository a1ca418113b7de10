"""Recorded NVML sessions: what the sampler says of a replayed one is what it said of the devices."""

from __future__ import annotations

import ctypes
import json
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from glassloom.sampling import nvml_session, nvml_simulator
from glassloom.sampling.nvml import NvmlSampler, NvmlUnavailable, load_nvml
from glassloom.sampling.nvml_session import (
    Answer,
    Handle,
    NotRecorded,
    RecordingNvml,
    ReplayedNvml,
    Session,
    SessionError,
    read_session,
)
from glassloom.sampling.nvml_simulator import SCENARIOS, SimulatedNvml, scenario, simulate
from hypothesis import given
from hypothesis import strategies as st

pynvml = load_nvml()
DOCUMENT = Path(__file__).parents[2] / "docs" / "nvml-sessions.md"


def sampled(nvml: Any, seconds: int, clock: list[float]) -> list[Any]:
    """Return all that the sampler tells of so many seconds."""
    sampler = NvmlSampler(nvml)
    sampler.begin()
    sampler.refresh(0.0)
    told = []
    for second in range(seconds):
        clock[0] = float(second)
        samples, processes = sampler.sample(clock[0])
        for pid in processes.pids:
            sampler.process_name(pid)
        told += [samples, processes, sampler.table(clock[0]), sampler.take_notes()]
    return told


@pytest.mark.parametrize("name", ["one", "mig", "lost", "laptop"])
def test_a_replayed_session_tells_the_sampler_what_the_devices_told(name: str, tmp_path: Path):
    clock = [0.0]
    right = sampled(SimulatedNvml(SCENARIOS[name], lambda: clock[0]), 40, clock)
    simulate(SCENARIOS[name], 40.0).write(tmp_path / "gpus.jsonl")
    clock[0] = 0.0
    replayed = ReplayedNvml(read_session(tmp_path / "gpus.jsonl"), clock=lambda: clock[0])
    assert sampled(replayed, 40, clock) == right


def test_a_real_device_is_read_as_its_session_says():
    """An NVIDIA H200, driver 580.159, while `tests/gpu` ran on it: 40 s of 27 November 2026; programs' paths were replaced."""
    clock = [0.0]
    session = ReplayedNvml(read_session(Path(__file__).parent / "recorded-h200.jsonl"), clock=lambda: clock[0])
    told = sampled(session, 40, clock)
    samples, processes, (*_, devices), notes = told[::4], told[1::4], told[2::4], told[3::4]
    assert (devices.names, devices.driver) == (["NVIDIA H200"], "580.159.04") and not any(notes)
    assert devices.memory_total_bytes == [150_754_820_096]
    reasons = {reason for sample in samples for reason in sample.missing}
    assert reasons == {"not supported", "not reported"}, "links, which it has none of, and pools, of which workers tell"
    busiest = max(sample.utilization_percent[0] for sample in samples)
    most = max(sample.memory_used_bytes[0] for sample in samples)
    assert 10 < busiest <= 100 and 30 * 2**30 < most < devices.memory_total_bytes[0], (
        "a pool of a quarter, and others' memory"
    )
    assert {sample.nvlink_received_bytes_s[0] for sample in samples} == {None}, "it has no links"
    assert max(len(one.pids) for one in processes) >= 8 and not processes[0].pids
    assert all(sample.power_w[0] > 50 and 20 < sample.temperature_c[0] < 90 for sample in samples)


@pytest.mark.parametrize("name", ["no-library", "old-driver", "none"])
def test_a_host_without_devices_replays_as_one(name: str):
    problems = []
    for nvml in (SimulatedNvml(SCENARIOS[name], lambda: 0.0), ReplayedNvml(simulate(SCENARIOS[name], 5.0))):
        with pytest.raises(NvmlUnavailable) as found:
            NvmlSampler(nvml).begin()
        problems.append(str(found.value))
    assert problems[0] == problems[1]


def test_a_session_that_repeats_begins_anew_and_one_that_does_not_stays():
    clock = [0.0]
    session = simulate(SCENARIOS["one"], 40.0)
    for repeat, at_s in ((True, 52.0), (False, 40.0)):
        clock[0] = 0.0
        replayed = ReplayedNvml(session, clock=lambda: clock[0], repeat=repeat)
        handle = replayed.nvmlDeviceGetHandleByIndex(0)
        clock[0] = 92.0
        late = replayed.nvmlDeviceGetUtilizationRates(handle).gpu
        clock[0] = at_s % 40.0 if repeat else at_s
        assert replayed.nvmlDeviceGetUtilizationRates(handle).gpu == late


def test_what_was_not_recorded_is_an_error_and_no_value():
    replayed = ReplayedNvml(simulate(SCENARIOS["one"], 5.0))
    with pytest.raises(NotRecorded, match="nvmlDeviceGetFanSpeed was not called so"):
        replayed.nvmlDeviceGetFanSpeed(Handle(0))
    assert replayed.NVML_CLOCK_SM == pynvml.NVML_CLOCK_SM
    assert issubclass(replayed.NVMLError_GpuIsLost, pynvml.NVMLError)
    with pytest.raises(AttributeError, match="pynvml has no 'nothing_such'"):
        _ = replayed.nothing_such


def test_an_answer_that_took_long_takes_as_long_and_one_that_never_came_never_comes():
    waited: list[float | None] = []
    answers = [
        Answer(0.0, "nvmlDeviceGetCount", (), {"value": 1}, 2.5),
        Answer(5.0, "nvmlDeviceGetCount", (), {}, None),
    ]
    clock = [0.0]
    replayed = ReplayedNvml(Session({}, answers, 10.0), clock=lambda: clock[0], wait=waited.append)
    assert replayed.nvmlDeviceGetCount() == 1
    clock[0] = 6.0
    replayed.nvmlDeviceGetCount()
    assert waited == [2.5, None]


# Recording


class Structure(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("name", ctypes.c_char * 8)]


def binding(**functions: Any) -> SimpleNamespace:
    """Return a module such as pynvml, with real error classes."""
    return SimpleNamespace(NVMLError=pynvml.NVMLError, NVML_CLOCK_SM=1, **functions)


def test_structures_handles_and_errors_of_the_binding_are_written_down():
    kept: list[Answer] = []
    pointers = [ctypes.pointer(pynvml.struct_c_nvmlDevice_t()) for _ in range(2)]
    values = (pynvml.c_nvmlFieldValue_t * 1)()
    values[0].fieldId, values[0].valueType, values[0].value.ullVal = 138, 3, 2**40

    def lost(device: Any) -> int:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)

    def broken(device: Any) -> int:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    nvml = RecordingNvml(
        binding(
            nvmlDeviceGetHandleByIndex=lambda index: pointers[index],
            nvmlDeviceGetMemoryInfo=lambda device, version=0: Structure(5, b"H200"),
            nvmlDeviceGetFieldValues=lambda device, fields: values,
            nvmlDeviceGetPowerUsage=lost,
            nvmlDeviceGetName=broken,
        ),
        kept.append,
        lambda: 1.5,
    )
    devices = [nvml.nvmlDeviceGetHandleByIndex(index) for index in (0, 1, 0)]
    assert nvml.nvmlDeviceGetMemoryInfo(devices[1], version=2).total == 5
    nvml.nvmlDeviceGetFieldValues(devices[0], [(138, 0)])
    for call in (nvml.nvmlDeviceGetPowerUsage, nvml.nvmlDeviceGetName):
        with pytest.raises((pynvml.NVMLError_GpuIsLost, UnicodeDecodeError)):
            call(devices[0])
    lines = [answer.as_json() for answer in kept]
    assert json.loads(json.dumps(lines)) == [
        {"at_s": 1.5, "call": "nvmlDeviceGetHandleByIndex", "args": [0], "value": {"handle": 0}},
        {"at_s": 1.5, "call": "nvmlDeviceGetHandleByIndex", "args": [1], "value": {"handle": 1}},
        {
            "at_s": 1.5, "call": "nvmlDeviceGetMemoryInfo", "args": [{"handle": 1}, {"version": 2}],
            "value": {"fields": {"total": 5, "name": "H200"}},
        },
        {
            "at_s": 1.5, "call": "nvmlDeviceGetFieldValues", "args": [{"handle": 0}, [[138, 0]]],
            "value": [{"fields": {"fieldId": 138, "scopeId": 0, "valueType": 3, "nvmlReturn": 0, "value": {"fields": {"ullVal": 2**40}}}}],
        },
        {"at_s": 1.5, "call": "nvmlDeviceGetPowerUsage", "args": [{"handle": 0}], "error": 15},
        {
            "at_s": 1.5, "call": "nvmlDeviceGetName", "args": [{"handle": 0}],
            "raises": "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        },
    ]  # fmt: skip
    assert nvml.NVML_CLOCK_SM == 1


def test_only_answers_that_differ_from_the_last_are_kept_and_slow_ones_with_their_time():
    kept: list[Answer] = []
    now = iter([0.0, 0.1, 1.0, 1.1, 2.0, 5.0, 6.0, 6.1])
    counts = iter([1, 1, 1, 2])
    nvml = RecordingNvml(binding(nvmlDeviceGetCount=lambda: next(counts)), kept.append, lambda: next(now))
    for _ in range(4):
        nvml.nvmlDeviceGetCount()
    assert [(answer.at_s, answer.outcome["value"], answer.took_s) for answer in kept] == [
        (0.0, 1, 0.1), (2.0, 1, 3.0), (6.0, 2, pytest.approx(0.1)),
    ]  # fmt: skip
    assert "took_s" not in kept[0].as_json() and kept[1].as_json()["took_s"] == 3.0


def test_the_command_records_this_machine_or_says_why_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "gpus.jsonl"
    try:
        nvml_session.main(["record", str(path), "--seconds", "0.1"])
    except SystemExit as problem:
        assert "NVML" in str(problem)
    assert re.search(r"gpus\.jsonl: \d+ answers in", capsys.readouterr().err)
    session = read_session(path)
    assert session.header["made_by"] == "recorder"
    assert session.answers[0].call == "nvmlInit"


def test_the_simulator_has_a_command(tmp_path: Path):
    nvml_simulator.main(["two", str(tmp_path / "gpus.jsonl"), "--seconds", "3"])
    session = read_session(tmp_path / "gpus.jsonl")
    assert (session.header["made_by"], session.length_s) == ("simulator", 3.0)
    with pytest.raises(SystemExit):
        nvml_simulator.main(["three", str(tmp_path / "gpus.jsonl")])


def test_in_the_silent_scenario_one_call_never_gets_an_answer():
    session = scenario("silent", 30.0)
    assert [answer.at_s for answer in session.answers if answer.took_s is None] == [20.0]


# Files


def lines_of(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines))
    return path


HEADER = '{"nvml_session":1,"made_by":"test"}'


def test_a_file_that_was_cut_within_a_line_is_read_up_to_there(tmp_path: Path):
    good = '{"at_s":1,"call":"nvmlDeviceGetCount","args":[],"value":2}'
    session = read_session(lines_of(tmp_path / "a", HEADER, good, good[:30]))
    assert [answer.outcome for answer in session.answers] == [{"value": 2}]
    assert session.length_s == 1.0


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([""], "is empty"),
        (["[]"], "line 1: ValueError: this is no NVML session of format 1"),
        (['{"nvml_session":2}'], "this is no NVML session of format 1"),
        ([HEADER, "nonsense", ""], "line 2: JSONDecodeError"),
        (
            [HEADER, '{"at_s":1,"call":"x","args":[]}', ""],
            "line 2: ValueError: an answer is one of value, error and raises",
        ),
        ([HEADER, '{"at_s":1,"call":"x","args":[],"value":1,"error":2}', ""], "line 2: ValueError"),
        ([HEADER, '{"at_s":NaN,"call":"x","args":[],"value":1}', ""], "line 2: ValueError"),
        ([HEADER, '{"at_s":1,"call":5,"args":[],"value":1}', ""], "line 2: ValueError: a call has a name"),
        ([HEADER, '{"call":"x","args":[],"value":1}', ""], "line 2: KeyError"),
    ],
)
def test_a_damaged_file_says_where(tmp_path: Path, lines: list[str], words: str):
    with pytest.raises(SessionError, match=words):
        read_session(lines_of(tmp_path / "a", *lines))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3).map(
        lambda fields: SimpleNamespace(**fields)
    ),
    max_leaves=8,
)  # fmt: skip


@given(VALUES)
def test_any_value_that_the_binding_may_return_comes_back(value: Any):
    kept: list[Answer] = []
    RecordingNvml(binding(nvmlX=lambda: value), kept.append, lambda: 0.0).nvmlX()
    session = Session({}, [Answer(0.0, "nvmlX", (), json.loads(json.dumps(kept[0].outcome)))], 0.0)
    assert ReplayedNvml(session).nvmlX() == value


def test_numbers_that_json_does_not_have_are_left_out():
    kept: list[Answer] = []
    RecordingNvml(binding(nvmlX=lambda: [math.nan, b"a\xff"]), kept.append, lambda: 0.0).nvmlX()
    assert kept[0].outcome == {"value": [None, "a\ufffd"]}


def test_the_document_has_every_word_of_the_format():
    text = DOCUMENT.read_text()
    for word in (
        "nvml_session",
        "at_s",
        "call",
        "args",
        "value",
        "error",
        "raises",
        "took_s",
        "handle",
        "fields",
        "end",
        "made_by",
    ):
        assert f"`{word}`" in text or f'"{word}"' in text, word
    for name in SCENARIOS:
        assert f"`{name}`" in text, name
