"""GPU readings through NVML: each device once, by UUID. A reading that isn't there says why; it is never a made-up 0.

`NvmlSampler` knows no thread, clock or file: `head/gpu_samples.py` drives it. What it calls is `pynvml`, or what presents itself
as that: a recorded session (`nvml_session.py`) or a simulated host (`nvml_simulator.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
from glassloom_metrics.gpu_messages import (
    GONE,
    LOST,
    METRIC_WORDS,
    NO_PARENT,
    NOT_SUPPORTED,
    OK,
    PENDING,
    SILENT,
    GpuDevice,
    GpuDevices,
    GpuProcesses,
    GpuSamples,
    Reading,
    gpu_devices,
    gpu_samples,
)

NO_WORKER = -1
"""In `GpuProcesses.workers`: a process that is no worker of the cluster."""
_MAX_NAMES = 4096
_NOT_THERE = ("NVMLError_NotSupported", "NVMLError_FunctionNotFound")
"""What NVML says of a counter that this device, or this driver, doesn't have."""
_LOST = ("NVMLError_GpuIsLost", "NVMLError_GpuNotFound")
VALUE_FIELDS = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}
"""Where a field's value is, by NVML's ``nvmlValueType_t``."""
_ADVICE = {
    "NVMLError_LibraryNotFound": "The NVML library (libnvidia-ml.so.1) was not found. If this machine has an NVIDIA GPU, install its "
    "driver; a container must be started with its GPUs, such as with --gpus all",
    "NVMLError_DriverNotLoaded": "The NVML library is there, and the NVIDIA driver isn't loaded. The command nvidia-smi tells more",
    "NVMLError_LibRmVersionMismatch": "The NVML library is of another version than the loaded NVIDIA driver. Restart the machine",
    "NVMLError_NoPermission": "The NVIDIA driver doesn't let this user ask. Look at the permissions of /dev/nvidia*",
    "NVMLError_FunctionNotFound": "The NVIDIA driver is too old for this version of nvidia-ml-py. Install a newer driver",
}


class NvmlUnavailable(Exception):
    """There is nothing to sample on this machine; the message says what was looked for, and what to do."""


class DeviceLost(Exception):
    """A device doesn't answer any more, and won't; the message says why."""


@dataclass
class _Device:
    """What is remembered of a device between samples."""

    handle: Any
    row: GpuDevice
    links: tuple[int, ...] = ()
    counters: dict[int, tuple[float, int, int]] = field(default_factory=dict)
    """By link: when it was read last, and the bytes received and sent until then."""


@dataclass(frozen=True)
class DeviceReading:
    """One measurement of one device: its metrics, the rates of its links, and (pid, bytes) of the processes on it."""

    metrics: dict[str, Reading]
    links: tuple[list[float | None], list[float | None]]
    processes: list[tuple[int, Reading]]


def load_nvml() -> Any:
    """Return `pynvml`.

    Raises
    ------
    NvmlUnavailable
        If it isn't installed.
    """
    try:
        import pynvml  # not at the top: it isn't needed where there is no GPU, and a fault of it must not end the head
    except ImportError as error:
        raise NvmlUnavailable(f"The package nvidia-ml-py can't be imported ({error}): install it") from error
    return pynvml


def why_not_opened(error: Exception) -> str:
    """Return for people why NVML can't be opened: what was looked for, and what to do."""
    words = _ADVICE.get(type(error).__name__, "No NVIDIA GPU can be read")
    return f"{words}. NVML says: {_text(error)}"


class NvmlSampler:
    """Reads all NVIDIA devices of this host.

    Methods may take their time, or hang, as drivers do: call them in a thread. None but `begin` raises, but for `DeviceLost`.

    Parameters
    ----------
    nvml
        The module `pynvml`, or what presents itself as it.
    """

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        self._devices: dict[int, _Device] = {}
        self._ids: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._said: set[tuple[str, str]] = set()
        self._notes: list[str] = []
        self.driver = ""

    def begin(self) -> None:
        """Open NVML.

        Raises
        ------
        NvmlUnavailable
            If it can't be opened or there is no device.
        """
        count = self._call(lambda: (self._nvml.nvmlInit(), self._nvml.nvmlDeviceGetCount())[1])
        if isinstance(count, Exception):
            raise NvmlUnavailable(why_not_opened(count)) from count
        if not count:
            raise NvmlUnavailable("The NVIDIA driver is loaded, and says that there is no device")
        driver = self._call(self._nvml.nvmlSystemGetDriverVersion)
        self.driver = "" if isinstance(driver, Exception) else str(driver)

    def refresh(self, at_s: float, skip: Sequence[int] = ()) -> None:
        """Look which devices there are, and what doesn't change often; don't ask those in `skip`."""
        count = self._call(self._nvml.nvmlDeviceGetCount)
        if isinstance(count, Exception):
            return
        skipped = {self._devices[one].row.index for one in skip if not self._devices[one].row.is_part}
        found = {self._refresh_device(index, at_s) for index in range(count) if index not in skipped}
        for number, device in self._devices.items():
            is_asked = not device.row.is_part and number not in skip
            if is_asked and device.row.state == OK and number not in found:
                self.lose(number, "the driver doesn't list it any more", at_s)

    def _refresh_device(self, index: int, at_s: float) -> int | None:
        """Look at the device at an index and return its number; None if it can't be told which that is."""
        handle = self._call(lambda: self._nvml.nvmlDeviceGetHandleByIndex(index))
        uuid = handle if isinstance(handle, Exception) else self._call(lambda: self._nvml.nvmlDeviceGetUUID(handle))
        if isinstance(uuid, Exception):
            known = self._at(index)
            if known is None:
                self._note(f"GPU {index}", f"GPU {index} can't be read: {_text(uuid)}")
            else:
                self.lose(known, _text(uuid), at_s)
            return known
        number = self._ids.setdefault(uuid, len(self._ids))
        try:
            device = self._set_device(handle, number, uuid, index, NO_PARENT, at_s)
            self._refresh_parts(device, at_s)
        except DeviceLost as lost:
            if number in self._devices:
                self.lose(number, str(lost), at_s)
        return number

    def _refresh_parts(self, parent: _Device, at_s: float) -> None:
        """Look for the MIG instances of a device."""
        count = self._call(lambda: self._nvml.nvmlDeviceGetMaxMigDeviceCount(parent.handle))
        has_parts = parent.row.mig_enabled == 1 and not isinstance(count, Exception)
        found = {self._refresh_part(parent, place, at_s) for place in range(count if has_parts else 0)}
        for number, device in self._devices.items():
            if device.row.parent == parent.row.id and number not in found and device.row.state != GONE:
                self._set_state(number, GONE, "there is no such MIG instance any more", at_s)

    def _refresh_part(self, parent: _Device, place: int, at_s: float) -> int | None:
        nvml = self._nvml
        handle = self._call(lambda: nvml.nvmlDeviceGetMigDeviceHandleByIndex(parent.handle, place))
        uuid = handle if isinstance(handle, Exception) else self._call(lambda: nvml.nvmlDeviceGetUUID(handle))
        if isinstance(uuid, Exception):
            return None  # most of the possible places have no instance
        number = self._ids.setdefault(uuid, len(self._ids))
        self._set_device(handle, number, uuid, place, parent.row.id, at_s)
        return number

    def _set_device(self, handle: Any, number: int, uuid: str, index: int, parent: int, at_s: float) -> _Device:
        row = self._row(handle, number, uuid, index, parent, at_s)
        links = self._links(handle) if parent == NO_PARENT else ()
        row = msgspec.structs.replace(row, nvlinks=NOT_SUPPORTED if parent != NO_PARENT else len(links))
        known = self._devices.get(number)
        if known is None:
            known = self._devices[number] = _Device(handle, row)
        elif known.row.state == OK:
            row = msgspec.structs.replace(row, since_s=known.row.since_s)
        else:
            self._note("", f"{_name(row)} answers again", again=True)
        known.handle, known.row, known.links = handle, row, links
        return known

    def _row(self, handle: Any, number: int, uuid: str, index: int, parent: int, at_s: float) -> GpuDevice:
        nvml, read = self._nvml, self._reader(uuid, f"GPU {index}")
        name = read("name", lambda: nvml.nvmlDeviceGetName(handle))
        mig = NOT_SUPPORTED if parent != NO_PARENT else read("MIG mode", lambda: nvml.nvmlDeviceGetMigMode(handle)[0])
        return GpuDevice(
            id=number,
            uuid=uuid,
            name=str(name),
            index=index,
            parent=parent,
            memory_total_bytes=read("memory", lambda: nvml.nvmlDeviceGetMemoryInfo(handle).total),
            power_limit_w=read("power limit", lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000),
            sm_clock_max_mhz=read("highest clock", lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM)),
            pcie_generation=read("PCIe generation", lambda: nvml.nvmlDeviceGetMaxPcieLinkGeneration(handle)),
            pcie_width=read("PCIe width", lambda: nvml.nvmlDeviceGetMaxPcieLinkWidth(handle)),
            nvlinks=NOT_SUPPORTED,
            mig_enabled=mig,
            state=OK,
            since_s=at_s,
            reason="",
        )

    def _links(self, handle: Any) -> tuple[int, ...]:
        """Return the numbers of the NVLinks that are up."""
        found = []
        for link in range(getattr(self._nvml, "NVML_NVLINK_MAX_LINKS", 0)):
            state = self._call(lambda link=link: self._nvml.nvmlDeviceGetNvLinkState(handle, link))  # type: ignore[misc]
            if isinstance(state, Exception):
                break  # no NVLink, or no more of them
            if state:
                found.append(link)
        return tuple(found)

    # Measuring

    def ids(self) -> list[int]:
        """Return the devices to be read, by number."""
        return [number for number, device in self._devices.items() if device.row.state == OK]

    def read(self, number: int, at_s: float) -> DeviceReading:
        """Return one measurement of a device; takes some 50 ms, as each PCIe counter is watched for 20 ms.

        Raises
        ------
        DeviceLost
            If the device has fallen off the bus.
        """
        device = self._devices[number]
        read = self._reader(device.row.uuid, _name(device.row))
        try:
            metrics = {
                metric: read(metric, partial(one, self._nvml, device.handle)) for metric, one in _METRICS.items()
            }
            metrics |= self._memory(device, read)
            received, sent = self._link_rates(device, at_s, read, metrics)
            processes, metrics["processes"] = self._processes(device, read)
        except DeviceLost as lost:
            self.lose(number, str(lost), at_s)
            raise
        return DeviceReading(metrics, (received, sent), processes)

    def _memory(self, device: _Device, read: Callable[..., Reading]) -> dict[str, Reading]:
        """Return used and reserved bytes: the newer call tells them apart."""
        nvml = self._nvml
        answer = self._call(lambda: nvml.nvmlDeviceGetMemoryInfo(device.handle, version=nvml.nvmlMemory_v2))
        if isinstance(answer, Exception):
            used = read("memory_used_bytes", lambda: nvml.nvmlDeviceGetMemoryInfo(device.handle).used)
            return {"memory_used_bytes": used, "memory_reserved_bytes": NOT_SUPPORTED}
        return {"memory_used_bytes": answer.used, "memory_reserved_bytes": answer.reserved}

    def _link_rates(
        self, device: _Device, at_s: float, read: Callable[..., Reading], metrics: dict[str, Reading]
    ) -> tuple[list[float | None], list[float | None]]:
        """Set the traffic of all links together, and return that of each: counters' growth since they were read last."""
        names = ("nvlink_received_bytes_s", "nvlink_sent_bytes_s")
        rates: tuple[list[float | None], list[float | None]] = ([], [])
        if not device.links:
            metrics |= dict.fromkeys(names, NOT_SUPPORTED)
            return rates
        totals: list[Reading] = [0.0, 0.0]
        for link in device.links:
            counts = self._counters(device.handle, link)
            last = device.counters.get(link)
            if not isinstance(counts, str):
                device.counters[link] = (at_s, *counts)
            for direction in (0, 1):
                rate = counts if isinstance(counts, str) else _rate(last, counts, direction, at_s)
                rates[direction].append(None if isinstance(rate, str) else rate)
                total = totals[direction]
                totals[direction] = total if isinstance(total, str) else rate if isinstance(rate, str) else total + rate
        metrics |= {name: _said(read, name, total) for name, total in zip(names, totals, strict=True)}
        return rates

    def _counters(self, handle: Any, link: int) -> tuple[int, int] | str:
        """Return the bytes that a link has received and sent, or why that can't be told."""
        nvml = self._nvml
        fields = [
            (nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, link),
            (nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, link),
        ]
        answer = self._call(lambda: [self._field(one) for one in nvml.nvmlDeviceGetFieldValues(handle, fields)])
        if isinstance(answer, Exception):
            return self._why(answer)
        received, sent = answer
        return 1024 * received, 1024 * sent  # counted in KiB

    def _field(self, value: Any) -> int:
        if value.nvmlReturn:
            raise self._nvml.NVMLError(value.nvmlReturn)
        return int(getattr(value.value, VALUE_FIELDS[value.valueType]))

    def _processes(self, device: _Device, read: Callable[..., Reading]) -> tuple[list[tuple[int, Reading]], Reading]:
        """Return processes with their bytes, and how many there are, or why that isn't known."""
        nvml = self._nvml
        found: dict[int, Reading] = {}

        def collect() -> int:
            for call in (nvml.nvmlDeviceGetComputeRunningProcesses, nvml.nvmlDeviceGetGraphicsRunningProcesses):
                for process in call(device.handle):
                    nbytes = process.usedGpuMemory
                    found[int(process.pid)] = NOT_SUPPORTED if nbytes is None else int(nbytes)
            return len(found)

        count = read("processes", collect)
        return ([] if isinstance(count, str) else sorted(found.items())), count

    def process_name(self, pid: int) -> str:
        """Return the program's name of a process that uses a device; ``""`` if it can't be told."""
        if pid not in self._names:
            if len(self._names) >= _MAX_NAMES:
                self._names.clear()
            name = self._call(lambda: self._nvml.nvmlSystemGetProcessName(pid))
            self._names[pid] = "" if isinstance(name, Exception) else str(name).strip().split(" ")[0].rpartition("/")[2]
        return self._names[pid]

    # What is told

    def table(self, at_s: float) -> GpuDevices:
        """Return all devices that were ever seen."""
        return gpu_devices(at_s, self.driver, "", [device.row for device in self._devices.values()])

    def sample(self, at_s: float) -> tuple[GpuSamples, GpuProcesses]:
        """Return one measurement of each device that answers."""
        readings = {}
        for number in self.ids():
            try:
                readings[number] = self.read(number, at_s)
            except DeviceLost:
                continue
        return self.messages(at_s, readings)

    def messages(
        self,
        at_s: float,
        readings: Mapping[int, DeviceReading],
        *,
        workers: Mapping[int, int] | None = None,
        pools: Mapping[str, Mapping[str, Reading]] | None = None,
    ) -> tuple[GpuSamples, GpuProcesses]:
        """Return measurements as messages.

        Parameters
        ----------
        workers
            The worker of each process that is one.
        pools
            ``pool_used_bytes`` and ``pool_reserved_bytes`` of devices by UUID, as workers report them.
        """
        of_pools = {number: (pools or {}).get(self._devices[number].row.uuid, {}) for number in readings}
        metrics = {number: {**one.metrics, **of_pools[number]} for number, one in readings.items()}
        samples = gpu_samples(at_s, metrics, {number: one.links for number, one in readings.items()})
        rows = [(number, pid, nbytes) for number, one in readings.items() for pid, nbytes in one.processes]
        return samples, GpuProcesses(
            at_s,
            [number for number, _, _ in rows],
            [pid for _, pid, _ in rows],
            [self._names.get(pid, "") for _, pid, _ in rows],
            [(workers or {}).get(pid, NO_WORKER) for _, pid, _ in rows],
            [nbytes for _, _, nbytes in rows],
        )

    def lose(self, number: int, reason: str, at_s: float) -> None:
        """Note that a device, and the parts of it, can't be read any more."""
        for one, device in self._devices.items():
            if number in (one, device.row.parent):
                self._set_state(one, LOST, reason, at_s)

    def fall_silent(self, number: int, reason: str, at_s: float) -> None:
        """Note that the driver hasn't answered for a device for long."""
        self._set_state(number, SILENT, reason, at_s)

    def hear(self, number: int, at_s: float) -> None:
        """Note that the driver has answered for a device that was silent."""
        if self._devices[number].row.state == SILENT:
            self._set_state(number, OK, "", at_s)

    def name_of(self, number: int) -> str:
        """Return what people call a device."""
        return _name(self._devices[number].row)

    def _set_state(self, number: int, state: str, reason: str, at_s: float) -> None:
        device = self._devices[number]
        if device.row.state == state:
            return
        device.row = msgspec.structs.replace(device.row, state=state, reason=reason, since_s=at_s)
        device.counters.clear()
        words = {
            LOST: f"is lost: {reason}",
            SILENT: f"doesn't answer: {reason}",
            OK: "answers again",
            GONE: f"is gone: {reason}",
        }
        self._note("", f"{_name(device.row)} {words[state]}", again=True)

    def take_notes(self) -> list[str]:
        """Return what a person should know since the last time; errors of one kind are told once."""
        notes, self._notes = self._notes, []
        return notes

    def _note(self, about: str, text: str, *, again: bool = False) -> None:
        if again or (about, text) not in self._said:
            self._said.add((about, text))
            self._notes.append(text)

    # Asking

    def _at(self, index: int) -> int | None:
        """Return the number of the device that was at an index."""
        rows = [device.row for device in self._devices.values()]
        return next((row.id for row in rows if row.index == index and not row.is_part), None)

    def _call(self, function: Callable[[], Any]) -> Any:
        """Return what NVML answers, or what it raises."""
        try:
            return function()
        except (
            Exception
        ) as error:  # whatever a driver, its binding or its age may raise: no metric is worth a computation
            return error

    def _why(self, error: Exception) -> str:
        """Return why there is no value; raise `DeviceLost` if the whole device is gone."""
        kinds = {kind.__name__ for kind in type(error).__mro__}
        if kinds & {*_NOT_THERE, "AttributeError"}:  # the last: a pynvml that is older than the call
            return NOT_SUPPORTED
        if kinds & set(_LOST):
            raise DeviceLost(_text(error))
        return f"error: {_text(error)}"

    def _reader(self, uuid: str, name: str) -> Callable[..., Reading]:
        """Return a function that returns a reading of a device; an error is told once."""

        def read(metric: str, function: Callable[[], Any]) -> Reading:
            answer = self._call(function)
            if isinstance(answer, Exception):
                answer = self._why(answer)
                if answer != NOT_SUPPORTED:
                    words = METRIC_WORDS.get(metric, metric)
                    self._note(uuid, f"{name}: {words} can't be read: {answer.removeprefix('error: ')}")
            return answer

        return read


def _said(read: Callable[..., Reading], name: str, value: Reading) -> Reading:
    """Return a reading that was made of several, after telling of an error in it."""
    if isinstance(value, str) and value.startswith("error: "):

        def fail() -> Reading:
            raise RuntimeError(value.removeprefix("error: "))

        return read(name, fail)
    return value


def _rate(last: tuple[float, int, int] | None, counts: tuple[int, int], direction: int, at_s: float) -> Reading:
    """Return by how much a counter grows per second; it begins anew when the driver does."""
    if last is None or at_s <= last[0] or counts[direction] < last[1 + direction]:
        return PENDING
    return (counts[direction] - last[1 + direction]) / (at_s - last[0])


def _name(row: GpuDevice) -> str:
    return f"{'MIG instance' if row.is_part else 'GPU'} {row.index} ({row.uuid})"


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__


def _clock(kind: str) -> Callable[[Any, Any], float]:
    return lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, getattr(nvml, kind))


def _pcie(kind: str) -> Callable[[Any, Any], float]:
    return lambda nvml, handle: 1000 * nvml.nvmlDeviceGetPcieThroughput(handle, getattr(nvml, kind))


def _ecc(kind: str) -> Callable[[Any, Any], float]:
    return lambda nvml, handle: nvml.nvmlDeviceGetTotalEccErrors(handle, getattr(nvml, kind), nvml.NVML_VOLATILE_ECC)


def _throttle_reasons(nvml: Any, handle: Any) -> float:
    newer = getattr(nvml, "nvmlDeviceGetCurrentClocksEventReasons", None)
    try:
        return (newer or nvml.nvmlDeviceGetCurrentClocksThrottleReasons)(handle)
    except nvml.NVMLError_FunctionNotFound:
        return nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)  # the same by its name in older drivers


_METRICS: dict[str, Callable[[Any, Any], float]] = {
    "utilization_percent": lambda nvml, handle: nvml.nvmlDeviceGetUtilizationRates(handle).gpu,
    "memory_utilization_percent": lambda nvml, handle: nvml.nvmlDeviceGetUtilizationRates(handle).memory,
    "pcie_received_bytes_s": _pcie("NVML_PCIE_UTIL_RX_BYTES"),
    "pcie_sent_bytes_s": _pcie("NVML_PCIE_UTIL_TX_BYTES"),
    "power_w": lambda nvml, handle: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
    "temperature_c": lambda nvml, handle: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
    "sm_clock_mhz": _clock("NVML_CLOCK_SM"),
    "memory_clock_mhz": _clock("NVML_CLOCK_MEM"),
    "throttle_reasons": _throttle_reasons,
    "ecc_corrected": _ecc("NVML_MEMORY_ERROR_TYPE_CORRECTED"),
    "ecc_uncorrected": _ecc("NVML_MEMORY_ERROR_TYPE_UNCORRECTED"),
    "encoder_percent": lambda nvml, handle: nvml.nvmlDeviceGetEncoderUtilization(handle)[0],
    "decoder_percent": lambda nvml, handle: nvml.nvmlDeviceGetDecoderUtilization(handle)[0],
}
"""How each metric is asked for, but for those that come several at a time."""


def processes_in(readings: Mapping[int, DeviceReading]) -> Iterator[int]:
    """Yield the pids of the processes on devices."""
    for one in readings.values():
        for pid, _ in one.processes:
            yield pid
