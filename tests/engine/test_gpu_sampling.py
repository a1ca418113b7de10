"""The head samples GPUs beside its work: whatever drivers do, it goes on, and tells what it knows."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from glassloom import Client, config
from glassloom.head import gpu_samples
from glassloom.head.gpu_samples import GpuSampling
from glassloom.protocol.clock import Clock
from glassloom.sampling import nvml_session
from glassloom.sampling.nvml_session import ReplayedNvml
from glassloom.sampling.nvml_simulator import (
    SCENARIOS,
    SimulatedDevice,
    SimulatedHost,
    SimulatedNvml,
    SimulatedProcess,
    scenario,
)
from glassloom_metrics.gpu_messages import GpuDevices, GpuProcesses, GpuSamples, devices_of
from glassloom_metrics.registry import find_record
from glassloom_metrics.subscriber import subscribe


class Writer:
    """Takes what is told, as `MetricsWriter` does."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.lines: list[str] = []

    def gpus(self, message: Any) -> None:
        self.messages.append(message)

    def log(self, level: str, text: str) -> None:
        self.lines.append(text)

    def of(self, kind: type) -> list[Any]:
        return [message for message in self.messages if isinstance(message, kind)]

    @property
    def states(self) -> list[str]:
        return self.of(GpuDevices)[-1].states


class StandingClock:
    """A clock that goes on only while a driver lets a call wait: a machine that is busy makes no device silent."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> StandingClock:
    made = StandingClock()
    monkeypatch.setattr(gpu_samples, "time", made)
    return made


class Gate:
    """A driver that doesn't answer one call while it is closed."""

    def __init__(self, clock: StandingClock, call: str, device: int | None) -> None:
        self.clock = clock
        self.wanted = (call, device)
        self.is_closed = False
        self.opened = threading.Event()

    def __call__(self, name: str, args: tuple[Any, ...]) -> int:
        device = args[0].number // 16 if args and hasattr(args[0], "number") else None
        if self.is_closed and (name, device) == self.wanted:
            self.clock.now_s += 1.0
            self.opened.wait()
        return 0


def until(condition: Callable[[], Any]) -> Any:
    async def wait() -> None:
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0.005)

    return wait()


def run(
    monkeypatch: pytest.MonkeyPatch,
    nvml: Any,
    play: Callable[[Writer], Any],
    *,
    workers: dict[int, int] | None = None,
    **deadlines: float,
) -> Writer:
    """Sample a simulated host, and meanwhile let `play` go on; return what was told."""
    writer = Writer()
    monkeypatch.setattr(nvml_session, "load_nvml", lambda: nvml)

    async def main() -> None:
        sampling = GpuSampling(
            Clock(), writer, None, lambda: workers or {}, period_s=0.01, **{"deadline_s": 0.2, **deadlines}
        )
        task = asyncio.create_task(sampling.run())
        await play(writer)
        assert not task.done() or task.exception() is None
        task.cancel()

    asyncio.run(main())
    return writer


def two() -> SimulatedHost:
    processes = (SimulatedProcess(41, "/usr/bin/python3", 2**30), SimulatedProcess(42, "/usr/bin/other", 2**30))
    first = SimulatedDevice("GPU-a", load=lambda at_s: 0.5, links=2, processes=processes)
    return SimulatedHost((first, SimulatedDevice("GPU-b", load=lambda at_s: 0.5, links=2)))


def test_devices_are_told_once_and_measured_again_and_again(monkeypatch: pytest.MonkeyPatch):
    nvml = SimulatedNvml(two(), lambda: 1.0)
    told = run(monkeypatch, nvml, lambda writer: until(lambda: len(writer.of(GpuSamples)) > 3), workers={41: 7})
    assert [message.uuids for message in told.of(GpuDevices)] == [["GPU-a", "GPU-b"]]
    assert {tuple(message.devices) for message in told.of(GpuSamples)} == {(0, 1)}
    processes = told.of(GpuProcesses)[0]
    assert (processes.pids, processes.workers, processes.names) == ([41, 42], [7, -1], ["python3", "other"])
    kinds = [type(message) for message in told.messages[:3]]
    assert kinds == [GpuDevices, GpuProcesses, GpuSamples], "a process is known before its memory"
    assert told.lines == []


@pytest.mark.fault("NVML doesn't answer for a GPU")
@pytest.mark.parametrize("call", ["nvmlDeviceGetPowerUsage", "nvmlDeviceGetMemoryInfo"])
def test_a_device_for_which_nvml_does_not_answer_is_left_out_until_it_does(
    monkeypatch: pytest.MonkeyPatch, clock: StandingClock, call: str
):
    gate = Gate(clock, call, 0)

    async def play(writer: Writer) -> None:
        await until(lambda: writer.of(GpuSamples))
        gate.is_closed = True
        await until(lambda: writer.states == ["silent", "ok"])
        heard = len(writer.of(GpuSamples))
        await until(lambda: len(writer.of(GpuSamples)) > heard + 3)
        assert {tuple(message.devices) for message in writer.of(GpuSamples)[heard:]} == {(1,)}
        gate.is_closed = False
        gate.opened.set()
        await until(lambda: writer.states == ["ok", "ok"])
        await until(lambda: writer.of(GpuSamples)[-1].devices == [0, 1])

    told = run(monkeypatch, SimulatedNvml(two(), lambda: 1.0, gate), play)
    assert told.lines == [
        "GPU 0 (GPU-a) doesn't answer: NVML has not answered for 0.2 s",
        "GPU 0 (GPU-a) answers again",
    ]
    assert len(told.of(GpuDevices)) == 3


def test_the_event_loop_goes_on_and_ends_while_nvml_never_answers(
    monkeypatch: pytest.MonkeyPatch, clock: StandingClock
):
    gate = Gate(clock, "nvmlInit", None)
    gate.is_closed = True
    run(monkeypatch, SimulatedNvml(two(), lambda: 1.0, gate), lambda _: asyncio.sleep(0.05))
    gate.opened.set()


def test_nvml_that_takes_long_to_open_is_said_and_waited_for(monkeypatch: pytest.MonkeyPatch, clock: StandingClock):
    gate = Gate(clock, "nvmlInit", None)
    gate.is_closed = True

    async def play(writer: Writer) -> None:
        await until(lambda: writer.of(GpuDevices))
        assert writer.of(GpuDevices)[0].problem == "NVML has not answered for 0.05 s; it is still waited for"
        gate.opened.set()
        await until(lambda: writer.of(GpuSamples))

    told = run(monkeypatch, SimulatedNvml(two(), lambda: 1.0, gate), play, begin_deadline_s=0.05)
    assert told.of(GpuDevices)[-1].problem == "" and told.states == ["ok", "ok"]


def test_nvml_that_does_not_say_which_devices_there_are_is_said_and_waited_for(
    monkeypatch: pytest.MonkeyPatch, clock: StandingClock
):
    monkeypatch.setattr(gpu_samples, "REFRESH_S", 0.5)
    gate = Gate(clock, "nvmlDeviceGetName", 1)
    gate.is_closed = True

    async def play(writer: Writer) -> None:
        await until(lambda: writer.lines)
        gate.is_closed = False
        gate.opened.set()
        await until(lambda: writer.of(GpuSamples) and writer.of(GpuSamples)[-1].devices == [0, 1])

    told = run(monkeypatch, SimulatedNvml(two(), lambda: 1.0, gate), play)
    assert told.lines == ["GPUs: NVML has not answered for 0.2 s when asked which devices there are"]


@pytest.mark.fault("NVML is missing, or its driver is too old")
@pytest.mark.parametrize("name", ["none", "no-library", "old-driver"])
def test_without_a_device_it_is_told_once_why(monkeypatch: pytest.MonkeyPatch, name: str):
    nvml = SimulatedNvml(SCENARIOS[name], lambda: 0.0)
    told = run(monkeypatch, nvml, lambda writer: until(lambda: writer.messages))
    (message,) = told.messages
    assert message.problem and devices_of(message) == {}


def test_a_session_that_cannot_be_read_is_told(tmp_path: Path):
    (tmp_path / "gpus.jsonl").write_text("nonsense\n")
    writer = Writer()
    sampling = GpuSampling(Clock(), writer, str(tmp_path / "gpus.jsonl"), dict)
    asyncio.run(sampling.run())
    assert "gpus.jsonl, line 1: JSONDecodeError" in writer.messages[0].problem


def test_a_replayed_device_falls_silent_and_the_other_does_not(monkeypatch: pytest.MonkeyPatch, clock: StandingClock):
    ended, now_s = threading.Event(), [10.0]
    session = scenario("silent", 30.0)

    def wait(_took_s: float) -> None:
        clock.now_s += 1.0
        ended.wait()

    nvml = ReplayedNvml(session, clock=lambda: now_s[0], wait=wait)

    async def play(writer: Writer) -> None:
        await until(lambda: writer.of(GpuSamples))
        now_s[0] = 25.0
        await until(lambda: writer.states == ["ok", "silent"])
        ended.set()

    run(monkeypatch, nvml, play)


# On a cluster


async def heard(cluster: str, is_enough: Callable[[list[Any]], bool]) -> list[Any]:
    """Return what a cluster tells of GPUs, until that is enough."""
    found: list[Any] = []
    async with asyncio.timeout(60):
        async for message in subscribe(find_record(cluster), ["gpus", "gpu-samples", "gpu-processes", "log"]):
            found.append(message)
            if is_enough(found):
                break
    return found[1:]


def test_a_cluster_shows_a_recorded_session(tmp_path: Path):
    scenario("two", 20.0).write(tmp_path / "gpus.jsonl")
    with (
        config.set({"metrics.nvml-session": str(tmp_path / "gpus.jsonl")}),
        Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client,
    ):
        told = asyncio.run(heard(client.id, lambda found: isinstance(found[-1], GpuSamples)))
        assert client.submit(sum, [1, 2]).result(timeout=60) == 3
    devices, *_, samples = told
    assert devices.names == ["NVIDIA H200"] * 2 and samples.devices == [0, 1]
