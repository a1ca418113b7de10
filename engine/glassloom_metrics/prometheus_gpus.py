"""The numbers of GPUs for Prometheus, each with the device's UUID as a label. What isn't a number isn't there. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from glassloom_metrics.folds import ClusterSummary
from glassloom_metrics.gpu_messages import OK, THROTTLE_WORDS, GpuDevice, Reading

Labels = Mapping[str, str]

GPU_FAMILIES = {
    "glassloom_gpu_up": ("gauge", "1 if the device answers, 0 if it is lost or silent."),
    "glassloom_gpu_utilization_ratio": ("gauge", "Share of time in which the device ran any kernel."),
    "glassloom_gpu_memory_utilization_ratio": ("gauge", "Share of time in which device memory was read or written."),
    "glassloom_gpu_memory_used_bytes": ("gauge", "Device memory in use by all processes."),
    "glassloom_gpu_memory_reserved_bytes": ("gauge", "Device memory that the driver keeps to itself."),
    "glassloom_gpu_memory_total_bytes": ("gauge", "Device memory."),
    "glassloom_gpu_pool_used_bytes": ("gauge", "Device memory that results and tasks take of the workers' memory pools."),
    "glassloom_gpu_pool_reserved_bytes": ("gauge", "Device memory that the workers' memory pools hold."),
    "glassloom_gpu_pcie_received_bytes_per_second": ("gauge", "Traffic from the host to the device."),
    "glassloom_gpu_pcie_sent_bytes_per_second": ("gauge", "Traffic from the device to the host."),
    "glassloom_gpu_nvlink_received_bytes_per_second": ("gauge", "NVLink traffic to the device, all links."),
    "glassloom_gpu_nvlink_sent_bytes_per_second": ("gauge", "NVLink traffic from the device, all links."),
    "glassloom_gpu_link_received_bytes_per_second": ("gauge", "NVLink traffic to the device by link."),
    "glassloom_gpu_link_sent_bytes_per_second": ("gauge", "NVLink traffic from the device by link."),
    "glassloom_gpu_power_watts": ("gauge", "Power that the device draws."),
    "glassloom_gpu_power_limit_watts": ("gauge", "Power that the device may draw."),
    "glassloom_gpu_temperature_celsius": ("gauge", "Temperature of the device."),
    "glassloom_gpu_sm_clock_hertz": ("gauge", "Clock of the multiprocessors."),
    "glassloom_gpu_memory_clock_hertz": ("gauge", "Clock of the device memory."),
    "glassloom_gpu_throttled": ("gauge", "1 if the clocks are held down for this reason, else 0."),
    "glassloom_gpu_ecc_errors_total": ("counter", "Memory errors since the driver was loaded."),
    "glassloom_gpu_encoder_ratio": ("gauge", "Share of time in which the video encoder was busy."),
    "glassloom_gpu_decoder_ratio": ("gauge", "Share of time in which the video decoder was busy."),
    "glassloom_gpu_processes": ("gauge", "Processes that use the device."),
    "glassloom_gpu_process_memory_bytes": ("gauge", "Device memory of each process; worker is empty if it is none of the cluster's."),
}  # fmt: skip
"""Type and help of each metric."""

_MHZ = 1e6
_READINGS = (
    ("glassloom_gpu_utilization_ratio", "utilization_percent", 0.01),
    ("glassloom_gpu_memory_utilization_ratio", "memory_utilization_percent", 0.01),
    ("glassloom_gpu_memory_used_bytes", "memory_used_bytes", 1),
    ("glassloom_gpu_memory_reserved_bytes", "memory_reserved_bytes", 1),
    ("glassloom_gpu_pool_used_bytes", "pool_used_bytes", 1),
    ("glassloom_gpu_pool_reserved_bytes", "pool_reserved_bytes", 1),
    ("glassloom_gpu_pcie_received_bytes_per_second", "pcie_received_bytes_s", 1),
    ("glassloom_gpu_pcie_sent_bytes_per_second", "pcie_sent_bytes_s", 1),
    ("glassloom_gpu_nvlink_received_bytes_per_second", "nvlink_received_bytes_s", 1),
    ("glassloom_gpu_nvlink_sent_bytes_per_second", "nvlink_sent_bytes_s", 1),
    ("glassloom_gpu_power_watts", "power_w", 1),
    ("glassloom_gpu_temperature_celsius", "temperature_c", 1),
    ("glassloom_gpu_sm_clock_hertz", "sm_clock_mhz", _MHZ),
    ("glassloom_gpu_memory_clock_hertz", "memory_clock_mhz", _MHZ),
    ("glassloom_gpu_encoder_ratio", "encoder_percent", 0.01),
    ("glassloom_gpu_decoder_ratio", "decoder_percent", 0.01),
    ("glassloom_gpu_processes", "processes", 1),
)
_FACTS = (
    ("glassloom_gpu_memory_total_bytes", "memory_total_bytes"),
    ("glassloom_gpu_power_limit_watts", "power_limit_w"),
)
_LINKS = (
    ("glassloom_gpu_link_received_bytes_per_second", 0),
    ("glassloom_gpu_link_sent_bytes_per_second", 1),
)


def gpu_values(summary: ClusterSummary) -> Iterator[tuple[str, Labels, float]]:
    """Yield name, labels and value of each number that is known of a cluster's GPUs."""
    for device in summary.gpus.values():
        labels = _labels(summary, device)
        yield "glassloom_gpu_up", labels, 1 if device.state == OK else 0
        for name, field in _FACTS:
            if not isinstance(value := getattr(device, field), str):
                yield name, labels, value
        readings = summary.gpu_readings.get(device.id)
        if readings is not None and device.state == OK:
            yield from _values(labels, readings)
            yield from _link_values(labels, summary.gpu_links.get(device.id, ([], [])))
    yield from _process_values(summary)


def _labels(summary: ClusterSummary, device: GpuDevice) -> dict[str, str]:
    parent = summary.gpus.get(device.parent)
    labels = {"uuid": device.uuid, "gpu": str(device.index), "model": device.name}
    return labels | ({"parent": parent.uuid} if parent else {})


def _values(labels: Labels, readings: Mapping[str, Reading]) -> Iterator[tuple[str, Labels, float]]:
    for name, metric, factor in _READINGS:
        if not isinstance(value := readings[metric], str):
            yield name, labels, value * factor
    for kind in ("corrected", "uncorrected"):
        if not isinstance(value := readings[f"ecc_{kind}"], str):
            yield "glassloom_gpu_ecc_errors_total", {**labels, "type": kind}, value
    if not isinstance(bits := readings["throttle_reasons"], str):
        for bit, words in THROTTLE_WORDS.items():
            yield "glassloom_gpu_throttled", {**labels, "reason": words}, int(bool(int(bits) & bit))


def _link_values(
    labels: Labels, links: tuple[list[float | None], list[float | None]]
) -> Iterator[tuple[str, Labels, float]]:
    for name, direction in _LINKS:
        for link, value in enumerate(links[direction]):
            if value is not None:
                yield name, {**labels, "link": str(link)}, value


def _process_values(summary: ClusterSummary) -> Iterator[tuple[str, Labels, float]]:
    message = summary.gpu_processes
    if message is None:
        return
    rows = zip(message.devices, message.pids, message.names, message.workers, message.memory_bytes, strict=True)
    for device, pid, name, worker, nbytes in rows:
        known = summary.gpus.get(device)
        if known is not None and known.state == OK and not isinstance(nbytes, str):
            labels = {"pid": str(pid), "process": name, "worker": summary.worker_name(worker)}
            yield "glassloom_gpu_process_memory_bytes", _labels(summary, known) | labels, nbytes
