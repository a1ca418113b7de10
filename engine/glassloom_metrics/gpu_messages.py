"""The messages about GPUs: a table of devices, columns of samples, and the processes on them.

A metric is a number, or there is a reason why there is none: `NOT_SUPPORTED`, `PENDING`, `UNREPORTED` or ``"error: ..."``.
It is never a made-up 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from glassloom_metrics.message_base import MessageBase

Reading = float | int | str
"""A measured value, or text that says why there is none: ``"not supported"`` or ``"error: ..."``. Never a made-up 0."""

NOT_SUPPORTED = "not supported"
PENDING = "not measured yet"
"""Of a rate, of which the counter has been read only once."""
UNREPORTED = "not reported"
"""Of what workers tell of their memory pools, if they don't."""
UNKNOWN_VALUE = "unknown"
"""Of a missing value for which no reason is given."""

OK, LOST, SILENT, GONE = GPU_STATES = ("ok", "lost", "silent", "gone")
"""How a device is: it answers; it has fallen off the bus; the driver doesn't answer for it; there is no such (MIG) device now."""

NO_PARENT = -1


class GpuDevices(MessageBase, frozen=True, tag="gpus"):
    """All GPUs of the host that were ever seen, each once, whoever uses it. A later message replaces an earlier one.

    ``ids`` number them in this log, ``uuids`` tell them apart everywhere. A MIG instance is a device of its own, with the
    one that it is a part of as ``parents``. ``problem`` says what was looked for and not found if there is no device.
    ``states`` are of `GPU_STATES`, ``since_s`` when that began, ``reasons`` why.
    """

    at_s: float
    driver: str
    problem: str
    ids: list[int]
    uuids: list[str]
    names: list[str]
    indices: list[int]
    parents: list[int]
    memory_total_bytes: list[Reading]
    power_limit_w: list[Reading]
    sm_clock_max_mhz: list[Reading]
    pcie_generation: list[Reading]
    pcie_width: list[Reading]
    nvlinks: list[Reading]
    mig_enabled: list[Reading]
    states: list[str]
    since_s: list[float]
    reasons: list[str]


GpuColumn = list[float | None]
"""A metric of each device of a message; None: there is no value, and `GpuSamples.missing` says why."""


class GpuSamples(MessageBase, frozen=True, tag="gpu-samples"):
    """One measurement of each listed device; those that are lost or don't answer aren't listed.

    ``missing`` tells of each reason, of each metric, for which devices there is no value because of it.
    """

    at_s: float
    devices: list[int]
    utilization_percent: GpuColumn
    memory_utilization_percent: GpuColumn
    memory_used_bytes: GpuColumn
    memory_reserved_bytes: GpuColumn
    pool_used_bytes: GpuColumn
    pool_reserved_bytes: GpuColumn
    pcie_received_bytes_s: GpuColumn
    pcie_sent_bytes_s: GpuColumn
    nvlink_received_bytes_s: GpuColumn
    nvlink_sent_bytes_s: GpuColumn
    power_w: GpuColumn
    temperature_c: GpuColumn
    sm_clock_mhz: GpuColumn
    memory_clock_mhz: GpuColumn
    throttle_reasons: GpuColumn
    ecc_corrected: GpuColumn
    ecc_uncorrected: GpuColumn
    encoder_percent: GpuColumn
    decoder_percent: GpuColumn
    processes: GpuColumn
    links_received_bytes_s: list[list[float | None]] = []
    links_sent_bytes_s: list[list[float | None]] = []
    missing: dict[str, dict[str, list[int]]] = {}


_NO_METRICS = ("at_s", "devices", "links_received_bytes_s", "links_sent_bytes_s", "missing")
GPU_METRICS = tuple(name for name in GpuSamples.__struct_fields__ if name not in _NO_METRICS)
"""The metrics of `GpuSamples`, in the order of its fields."""

METRIC_WORDS = {
    "utilization_percent": "utilisation",
    "memory_utilization_percent": "memory utilisation",
    "memory_used_bytes": "memory in use",
    "memory_reserved_bytes": "memory kept by the driver",
    "pool_used_bytes": "memory in use of pools",
    "pool_reserved_bytes": "memory held by pools",
    "pcie_received_bytes_s": "PCIe traffic from the host",
    "pcie_sent_bytes_s": "PCIe traffic to the host",
    "nvlink_received_bytes_s": "NVLink traffic in",
    "nvlink_sent_bytes_s": "NVLink traffic out",
    "power_w": "power",
    "temperature_c": "temperature",
    "sm_clock_mhz": "clock of multiprocessors",
    "memory_clock_mhz": "clock of memory",
    "throttle_reasons": "reasons of low clocks",
    "ecc_corrected": "corrected memory errors",
    "ecc_uncorrected": "uncorrected memory errors",
    "encoder_percent": "video encoder",
    "decoder_percent": "video decoder",
    "processes": "processes",
}
"""What people call each metric."""


class GpuProcesses(MessageBase, frozen=True, tag="gpu-processes"):
    """All processes that use a device, by device. What isn't in the next such message doesn't any more.

    ``workers`` are numbers of this cluster's workers, -1 for other processes. ``memory_bytes`` is what each has on the device.
    """

    at_s: float
    devices: list[int]
    pids: list[int]
    names: list[str]
    workers: list[int]
    memory_bytes: list[Reading]


OF_ALL_ROWS = -1
"""In a snapshot: the seconds are those of all rows of the layer so far."""


class DeviceTimes(MessageBase, frozen=True, tag="device-times"):
    """How long tasks took on their workers' devices: told after their rows, as devices do their work later than it is asked for.

    ``rows`` are numbers of rows of `TaskEvents`, or `OF_ALL_ROWS`; ``total_s`` is what all tasks took so far.
    """

    at_s: float
    total_s: float
    rows: list[int]
    layers: list[int]
    seconds: list[float]


THROTTLE_WORDS = {
    0x1: "idle",
    0x2: "clocks set by the user",
    0x4: "power limit",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "too hot (driver)",
    0x40: "too hot (hardware)",
    0x80: "power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability voltage",
}
"""What the bits of ``throttle_reasons`` mean (NVML's ``nvmlClocksEventReason...``)."""
_UNREMARKABLE = 0x1 | 0x2 | 0x100
"""Reasons for low clocks that don't slow down work against a person's will."""


def throttle_texts(bits: float, *, remarkable: bool = False) -> list[str]:
    """Return why the clocks aren't higher; with `remarkable` only reasons that slow down work.

    >>> throttle_texts(0x5), throttle_texts(0x5, remarkable=True)
    (['idle', 'power limit'], ['power limit'])
    """
    value = int(bits) & ~(_UNREMARKABLE if remarkable else 0)
    known = [words for bit, words in THROTTLE_WORDS.items() if value & bit]
    unknown = value & ~sum(THROTTLE_WORDS)
    return known + ([f"reason 0x{unknown:x}"] if unknown else [])


def gpu_samples(
    at_s: float,
    readings: Mapping[int, Mapping[str, Reading]],
    links: Mapping[int, tuple[Sequence[float | None], Sequence[float | None]]] | None = None,
) -> GpuSamples:
    """Return what was measured of devices: by id and metric. A metric that isn't there is `UNREPORTED`.

    Parameters
    ----------
    links
        Bytes a second that each NVLink of a device has received and sent.

    >>> samples = gpu_samples(5.0, {0: {"power_w": 90.5, "temperature_c": "not supported"}})
    >>> samples.power_w, samples.temperature_c, samples.missing["not supported"]
    ([90.5], [None], {'temperature_c': [0]})
    """
    columns: dict[str, GpuColumn] = {}
    missing: dict[str, dict[str, list[int]]] = {}
    for metric in GPU_METRICS:
        values = [known.get(metric, UNREPORTED) for known in readings.values()]
        columns[metric] = [None if isinstance(value, str) else value for value in values]
        for device, value in zip(readings, values, strict=True):
            if isinstance(value, str):
                missing.setdefault(value, {}).setdefault(metric, []).append(device)
    of_links = [(links or {}).get(device, ((), ())) for device in readings]
    received, sent = [list(one) for one, _ in of_links], [list(one) for _, one in of_links]
    return GpuSamples(
        at_s, list(readings), **columns, links_received_bytes_s=received, links_sent_bytes_s=sent, missing=missing
    )


def readings_of(message: GpuSamples) -> Iterator[tuple[int, dict[str, Reading]]]:
    """Yield each device of a message with all its metrics: numbers, or why there is none."""
    whys = {
        (device, metric): why
        for why, metrics in message.missing.items()
        for metric, devices in metrics.items()
        for device in devices
    }
    columns = {metric: getattr(message, metric) for metric in GPU_METRICS}
    for place, device in enumerate(message.devices):
        yield (
            device,
            {
                metric: sound(value)
                if (value := column[place]) is not None
                else whys.get((device, metric), UNKNOWN_VALUE)
                for metric, column in columns.items()
            },
        )


class GpuDevice(msgspec.Struct, frozen=True):
    """One row of `GpuDevices`."""

    id: int
    uuid: str
    name: str
    index: int
    parent: int
    memory_total_bytes: Reading
    power_limit_w: Reading
    sm_clock_max_mhz: Reading
    pcie_generation: Reading
    pcie_width: Reading
    nvlinks: Reading
    mig_enabled: Reading
    state: str
    since_s: float
    reason: str

    @property
    def is_part(self) -> bool:
        """Whether it is a MIG instance, a part of another device."""
        return self.parent != NO_PARENT


def sound(value: Reading) -> Reading:
    """Return a reading; a number that is none, as in a damaged message, is `UNKNOWN_VALUE`."""
    return value if isinstance(value, str) or math.isfinite(value) else UNKNOWN_VALUE


_COLUMNS = GpuDevices.__struct_fields__[3:]


def devices_of(message: GpuDevices) -> dict[int, GpuDevice]:
    """Return the devices of a message by id."""
    rows = zip(*(getattr(message, name) for name in _COLUMNS), strict=True)
    return {row[0]: GpuDevice(*row[:5], *map(sound, row[5:12]), *row[12:]) for row in rows}


def gpu_devices(at_s: float, driver: str, problem: str, devices: Sequence[GpuDevice]) -> GpuDevices:
    """Return the table of devices, the inverse of `devices_of`."""
    rows = [msgspec.structs.astuple(device) for device in devices]
    columns = map(list, zip(*rows, strict=True)) if rows else ([] for _ in _COLUMNS)
    return GpuDevices(at_s, driver, problem, *columns)
