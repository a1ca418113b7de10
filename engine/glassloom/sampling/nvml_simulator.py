"""A simulated host with NVIDIA GPUs that presents itself as the module `pynvml`. It makes sessions where no GPU is.

``python -m glassloom.sampling.nvml_simulator two gpus.jsonl`` writes the session of a scenario; see `SCENARIOS`.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any

from glassloom.sampling.nvml import NvmlUnavailable, load_nvml
from glassloom.sampling.nvml_session import Answer, Handle, Session, record

NOT_FOUND, NOT_SUPPORTED, LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND, GPU_IS_LOST = 6, 3, 12, 13, 15
"""NVML's error codes."""
_GIB = 2**30
_DRIVER_BYTES = 600 * 2**20
_UNSIGNED_LONG_LONG = 3
"""NVML's type of a field's value."""

Load = Callable[[float], float]
"""How busy a device is, 0 to 1, at a time since the session's start."""


def waves(period_s: float = 20.0, phase_s: float = 0.0) -> Load:
    """Return a load that comes in phases: it rises, stays, falls, and rests for a quarter of the time.

    >>> [round(waves(20.0)(at_s), 2) for at_s in (0.0, 2.0, 9.0, 19.0)]
    [0.0, 1.0, 0.86, 0.0]
    """

    def load(at_s: float) -> float:
        place = ((at_s + phase_s) % period_s) / period_s
        if place > 0.75:
            return 0.0
        return min(place / 0.1, 1.0, (0.75 - place) / 0.05) * (0.93 + 0.07 * math.cos(20 * math.pi * place))

    return load


@dataclass(frozen=True)
class SimulatedPart:
    """A MIG instance of a device."""

    uuid: str
    memory_bytes: int
    load: Load = field(default_factory=waves)


@dataclass(frozen=True)
class SimulatedProcess:
    """A process on a device, with what it takes when the load is highest. `from_s` and `to_s` are when it is there."""

    pid: int
    name: str
    memory_bytes: int | None
    from_s: float = 0.0
    to_s: float = math.inf


@dataclass(frozen=True)
class SimulatedDevice:
    """A GPU.

    Parameters
    ----------
    cpus
        The CPUs that are near to it.
    unsupported
        Names of NVML's functions that this device doesn't support.
    lost_at_s
        When it falls off the bus.
    failures
        NVML's error code of functions that fail, by name.
    """

    uuid: str
    name: str = "NVIDIA H200"
    memory_bytes: int = 141 * _GIB
    load: Load = field(default_factory=waves)
    power_limit_w: float = 700.0
    sm_clock_mhz: int = 1980
    memory_clock_mhz: int = 3201
    pcie_generation: int = 5
    pcie_width: int = 16
    links: int = 18
    link_bytes_s: float = 20e9
    throttles_at_w: float = math.inf
    ecc_corrected: int = 0
    cpus: tuple[int, ...] = ()
    parts: tuple[SimulatedPart, ...] = ()
    processes: tuple[SimulatedProcess, ...] = ()
    unsupported: frozenset[str] = frozenset()
    lost_at_s: float = math.inf
    failures: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SimulatedHost:
    """A machine with devices. `init_error` is NVML's code if its library can't be opened."""

    devices: tuple[SimulatedDevice, ...] = ()
    driver: str = "580.95.05"
    init_error: int = 0


class SimulatedNvml:
    """A simulated host as the module `pynvml`.

    Parameters
    ----------
    clock
        Returns the seconds since the session's start.
    fail
        Asked before each call, with its name and arguments: an error code of NVML's to fail with, or 0. It may raise or wait.
    """

    def __init__(
        self,
        host: SimulatedHost,
        clock: Callable[[], float],
        fail: Callable[[str, tuple[Any, ...]], int] = lambda name, args: 0,
    ) -> None:
        self._pynvml = load_nvml()
        self._host = host
        self._clock = clock
        self._fail = fail

    def __getattr__(self, name: str) -> Any:
        if name in _OF_HOST or name in OF_DEVICES:
            return partial(self._call, name)
        return getattr(self._pynvml, name)

    def _call(self, name: str, *args: Any, **options: Any) -> Any:
        if code := self._fail(name, args):
            raise self._pynvml.NVMLError(code)
        if name in _OF_HOST:
            return _OF_HOST[name](self, *args)
        handle, *others = args
        place, part = divmod(handle.number, _PARTS)
        device = self._host.devices[place]
        code = self._code(device, name, is_part=bool(part))
        if code:
            raise self._pynvml.NVMLError(code)
        return OF_DEVICES[name](self, _State(device, part, self._clock()), *others, **options)

    def _code(self, device: SimulatedDevice, name: str, *, is_part: bool) -> int:
        if self._clock() >= device.lost_at_s:
            return GPU_IS_LOST
        if name in device.unsupported or (is_part and name not in _OF_PARTS):
            return NOT_SUPPORTED
        if device.parts and not is_part and name == "nvmlDeviceGetUtilizationRates":
            return NOT_SUPPORTED  # as of a device that is divided
        return device.failures.get(name, 0)

    def init(self) -> None:
        """Open the library."""
        if self._host.init_error:
            raise self._pynvml.NVMLError(self._host.init_error)

    def handle(self, index: int) -> Handle:
        """Return the handle of a device."""
        if self._clock() >= self._host.devices[index].lost_at_s:
            raise self._pynvml.NVMLError(GPU_IS_LOST)
        return Handle(index * _PARTS)

    def part(self, state: _State, place: int) -> Handle:
        """Return the handle of a MIG instance."""
        if place >= len(state.device.parts):
            raise self._pynvml.NVMLError(NOT_FOUND)
        return Handle(self._host.devices.index(state.device) * _PARTS + place + 1)

    def process_name(self, pid: int) -> str:
        """Return a program's name."""
        names = {one.pid: one.name for device in self._host.devices for one in device.processes}
        if pid not in names:
            raise self._pynvml.NVMLError(NOT_FOUND)
        return names[pid]


@dataclass(frozen=True)
class _State:
    """A device, or a part of it, at a time."""

    device: SimulatedDevice
    part: int
    at_s: float

    @property
    def load(self) -> float:
        return (self.device.parts[self.part - 1].load if self.part else self.device.load)(self.at_s)

    @property
    def memory_bytes(self) -> int:
        return self.device.parts[self.part - 1].memory_bytes if self.part else self.device.memory_bytes

    @property
    def processes(self) -> list[SimulatedProcess]:
        return [one for one in self.device.processes if one.from_s <= self.at_s < one.to_s]

    def bytes_of(self, process: SimulatedProcess) -> int | None:
        """Return what a process takes now: half of its most, and more with the load."""
        return None if process.memory_bytes is None else int(process.memory_bytes * (0.5 + 0.5 * self.load))

    @property
    def used_bytes(self) -> int:
        if self.part or not self.processes:
            return int(self.memory_bytes * (0.05 + 0.6 * self.load))
        return sum(self.bytes_of(one) or _GIB for one in self.processes)

    @property
    def power_w(self) -> float:
        return 0.12 * self.device.power_limit_w + 0.86 * self.device.power_limit_w * self.load

    @property
    def throttle_bits(self) -> int:
        if self.load < 0.02:
            return 0x1
        return 0x4 if self.power_w > self.device.throttles_at_w else 0

    def link_bytes(self, link: int, share: float) -> int:
        """Return what a link's counter shows: the load summed up, in steps of the time that passes."""
        busy_s = _busy_s(self.device.load, int(self.at_s / _COUNTER_STEP_S))
        return int(busy_s * self.device.link_bytes_s * share * (1 - 0.02 * link))


_PARTS = 16
"""Handles of a device and its parts are numbered: device x 16, and 1 and more for its parts."""
_COUNTER_STEP_S = 0.5


@lru_cache(maxsize=64)
def _busy_s(load: Load, steps: int) -> float:
    return sum(load(step * _COUNTER_STEP_S) for step in range(steps)) * _COUNTER_STEP_S


def _memory(_nvml: SimulatedNvml, state: _State, version: int = 0) -> SimpleNamespace:
    used, total = state.used_bytes, state.memory_bytes
    reserved = _DRIVER_BYTES // 10 if state.part else _DRIVER_BYTES
    if not version:
        return SimpleNamespace(total=total, used=used + reserved, free=total - used - reserved)
    return SimpleNamespace(version=version, total=total, reserved=reserved, used=used, free=total - used - reserved)


def _cpu_mask(cpus: Sequence[int], words: int) -> list[int]:
    return [sum(1 << cpu % 64 for cpu in cpus if cpu // 64 == word) for word in range(words)]


def _link_state(nvml: SimulatedNvml, state: _State, link: int) -> int:
    if link >= max(state.device.links, 1):
        raise nvml.NVMLError(2)  # invalid argument
    if not state.device.links:
        raise nvml.NVMLError(NOT_SUPPORTED)
    return 1


def _field_values(nvml: SimulatedNvml, state: _State, fields: Sequence[tuple[int, int]]) -> list[SimpleNamespace]:
    found = []
    for number, link in fields:
        share = 1.0 if number == nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX else 0.8
        code = 0 if link < state.device.links else NOT_SUPPORTED
        value = SimpleNamespace(ullVal=state.link_bytes(link, share) // 1024)
        found.append(
            SimpleNamespace(fieldId=number, scopeId=link, nvmlReturn=code, valueType=_UNSIGNED_LONG_LONG, value=value)
        )
    return found


def _processes(_nvml: SimulatedNvml, state: _State) -> list[SimpleNamespace]:
    return [SimpleNamespace(pid=one.pid, usedGpuMemory=state.bytes_of(one)) for one in state.processes]


def _pcie(nvml: SimulatedNvml, state: _State, counter: int) -> int:
    most_kb_s = 3.5e6 * state.device.pcie_width / 16 * 2 ** (state.device.pcie_generation - 4)
    rising = state.device.load(state.at_s + 1) > state.load
    share = (0.8 if rising else 0.15) if counter == nvml.NVML_PCIE_UTIL_RX_BYTES else (0.1 if rising else 0.3)
    return int(most_kb_s * share * state.load)


def _clock_mhz(nvml: SimulatedNvml, state: _State, kind: int) -> int:
    if kind == nvml.NVML_CLOCK_MEM:
        return state.device.memory_clock_mhz
    held_down = 0.82 if state.throttle_bits & 0x4 else 1.0
    return int(state.device.sm_clock_mhz * held_down) if state.load > 0.02 else 345


def _ecc(nvml: SimulatedNvml, state: _State, kind: int, _counter: int) -> int:
    return state.device.ecc_corrected if kind == nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED else 0


_OF_HOST: dict[str, Callable[..., Any]] = {
    "nvmlInit": SimulatedNvml.init,
    "nvmlDeviceGetCount": lambda nvml: len(nvml._host.devices),
    "nvmlSystemGetDriverVersion": lambda nvml: nvml._host.driver,
    "nvmlDeviceGetHandleByIndex": SimulatedNvml.handle,
    "nvmlSystemGetProcessName": SimulatedNvml.process_name,
}
OF_DEVICES: dict[str, Callable[..., Any]] = {
    "nvmlDeviceGetUUID": lambda _, state: state.device.parts[state.part - 1].uuid if state.part else state.device.uuid,
    "nvmlDeviceGetName": lambda _, state: (
        f"{state.device.name} MIG {state.memory_bytes // _GIB}gb" if state.part else state.device.name
    ),
    "nvmlDeviceGetMigMode": lambda _, state: [int(bool(state.device.parts))] * 2,
    "nvmlDeviceGetMaxMigDeviceCount": lambda _, state: 7 if state.device.parts else 0,
    "nvmlDeviceGetMigDeviceHandleByIndex": SimulatedNvml.part,
    "nvmlDeviceGetMemoryInfo": _memory,
    "nvmlDeviceGetCpuAffinity": lambda _, state, words: _cpu_mask(state.device.cpus, words),
    "nvmlDeviceGetEnforcedPowerLimit": lambda _, state: int(1000 * state.device.power_limit_w),
    "nvmlDeviceGetMaxClockInfo": lambda _, state, kind: state.device.sm_clock_mhz,
    "nvmlDeviceGetMaxPcieLinkGeneration": lambda _, state: state.device.pcie_generation,
    "nvmlDeviceGetMaxPcieLinkWidth": lambda _, state: state.device.pcie_width,
    "nvmlDeviceGetNvLinkState": _link_state,
    "nvmlDeviceGetFieldValues": _field_values,
    "nvmlDeviceGetUtilizationRates": lambda _, state: SimpleNamespace(
        gpu=round(100 * state.load), memory=round(60 * state.load)
    ),
    "nvmlDeviceGetPcieThroughput": _pcie,
    "nvmlDeviceGetPowerUsage": lambda _, state: int(1000 * state.power_w),
    "nvmlDeviceGetTemperature": lambda _, state, sensor: round(34 + 45 * state.load),
    "nvmlDeviceGetClockInfo": _clock_mhz,
    "nvmlDeviceGetCurrentClocksEventReasons": lambda _, state: state.throttle_bits,
    "nvmlDeviceGetCurrentClocksThrottleReasons": lambda _, state: state.throttle_bits,
    "nvmlDeviceGetTotalEccErrors": _ecc,
    "nvmlDeviceGetEncoderUtilization": lambda _, state: [0, 167000],
    "nvmlDeviceGetDecoderUtilization": lambda _, state: [0, 167000],
    "nvmlDeviceGetComputeRunningProcesses": _processes,
    "nvmlDeviceGetGraphicsRunningProcesses": lambda _, state: [],
}
"""What each function of NVML's answers."""
_OF_PARTS = {"nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetMemoryInfo"}
"""What NVML answers for MIG instances."""

# Scenarios


def h200s(count: int, *, pids: Sequence[int] = ()) -> tuple[SimulatedDevice, ...]:
    """Return devices of a server, each with a process of its own and one with a stranger's."""
    devices = []
    for number in range(count):
        pid = pids[number] if number < len(pids) else 41_000 + number
        mine = SimulatedProcess(pid, "/usr/bin/python3.12", 90 * _GIB)
        other = SimulatedProcess(7_700, "/opt/tritonserver/bin/tritonserver", 12 * _GIB)
        devices.append(
            SimulatedDevice(
                f"GPU-{number:08x}-5c1e-4f7a-9d2b-0242ac120002",
                load=waves(18.0 + 1.3 * (number % 5), 2.1 * number),
                throttles_at_w=650.0 if number % 3 == 1 else math.inf,
                ecc_corrected=2 if number == 1 else 0,
                processes=(mine, other) if number == 0 else (mine,),
            )
        )
    return tuple(devices)


def _laptop() -> SimulatedDevice:
    """Return a device of a notebook computer, whose driver tells little."""
    missing = ("PowerUsage", "EnforcedPowerLimit", "TotalEccErrors", "PcieThroughput", "MigMode", "EncoderUtilization")
    return SimulatedDevice(
        "GPU-0badcafe-2222-4333-8444-555555555555",
        name="NVIDIA GeForce RTX 4070 Laptop GPU",
        memory_bytes=8 * _GIB,
        links=0,
        sm_clock_mhz=2175,
        memory_clock_mhz=8001,
        pcie_generation=4,
        pcie_width=8,
        unsupported=frozenset(f"nvmlDeviceGet{name}" for name in missing),
        processes=(
            SimulatedProcess(5_151, "/usr/bin/python3.12", None),
            SimulatedProcess(1_200, "/usr/lib/xorg/Xorg", None),
        ),
    )


def _divided() -> tuple[SimulatedDevice, ...]:
    first, second = h200s(2)
    parts = tuple(
        SimulatedPart(f"MIG-{place:08x}-aaaa-4bbb-8ccc-0242ac120002", size * _GIB, waves(15.0, 4.0 * place))
        for place, size in enumerate((71, 35, 18))
    )
    return replace(first, parts=parts, processes=()), second


def _with_lost() -> tuple[SimulatedDevice, ...]:
    devices = h200s(4)
    return (*devices[:2], replace(devices[2], lost_at_s=30.0), devices[3])


SCENARIOS: dict[str, SimulatedHost] = {
    "one": SimulatedHost(h200s(1)),
    "two": SimulatedHost(h200s(2)),
    "sixteen": SimulatedHost(h200s(16)),
    "mig": SimulatedHost(_divided()),
    "lost": SimulatedHost(_with_lost()),
    "laptop": SimulatedHost((_laptop(),)),
    "silent": SimulatedHost(h200s(2)),
    "none": SimulatedHost(),
    "no-library": SimulatedHost(init_error=LIBRARY_NOT_FOUND),
    "old-driver": SimulatedHost(init_error=FUNCTION_NOT_FOUND),
}
"""Hosts by name. In "silent", NVML never answers for the power of GPU 1 from second 20 on."""


def simulate(host: SimulatedHost, seconds: float) -> Session:
    """Return what NVML answers the sampler, once a second, on a simulated host. No time passes."""
    now_s = 0.0
    session = Session({"made_by": "simulator", "started_at_s": time.time()}, length_s=seconds)

    def rounds() -> Iterator[float]:
        nonlocal now_s
        while now_s <= seconds:
            yield now_s
            now_s += 1.0

    with contextlib.suppress(NvmlUnavailable):  # a session too: what was asked, and what NVML said
        record(SimulatedNvml(host, lambda: now_s), lambda: now_s, session.answers.append, rounds())
    return session


def silenced(session: Session, call: str, device: int, from_s: float) -> Session:
    """Return a session in which a call never gets an answer for a device from a time on."""
    args = ({"handle": device * _PARTS},)
    kept = [one for one in session.answers if not (one.call == call and one.args == args and one.at_s >= from_s)]
    answers = [*kept, Answer(from_s, call, args, {}, None)]
    return Session(session.header, sorted(answers, key=lambda answer: answer.at_s), session.length_s)


def scenario(name: str, seconds: float) -> Session:
    """Return the session of a scenario."""
    session = simulate(SCENARIOS[name], seconds)
    return silenced(session, "nvmlDeviceGetPowerUsage", 1, 20.0) if name == "silent" else session


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the session of a simulated host."""
    parser = argparse.ArgumentParser(prog="python -m glassloom.sampling.nvml_simulator", description=main.__doc__)
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("file", help="such as gpus.jsonl; one that is there is replaced")
    parser.add_argument("--seconds", type=float, default=120.0, help="of the session (default: 120)")
    options = parser.parse_args(arguments)
    scenario(options.scenario, options.seconds).write(options.file)


if __name__ == "__main__":
    main()
