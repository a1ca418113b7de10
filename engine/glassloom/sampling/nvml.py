"""GPU readings through NVML: each device once, by UUID. A reading that isn't there says so; it is never a made-up 0."""

from __future__ import annotations

from collections.abc import Callable

from glassloom_metrics.protocol import NOT_SUPPORTED, GpuSample, GpuSamples, Reading


class NvmlSampler:
    """Samples all NVIDIA devices of this host.

    Raises
    ------
    ImportError
        If the ``nvidia-ml-py`` package isn't installed.
    OSError
        If there is no driver or no device.
    """

    def __init__(self) -> None:
        import pynvml  # optional: only hosts with a driver can load the library behind it

        self._nvml = pynvml
        try:
            pynvml.nvmlInit()
            count = pynvml.nvmlDeviceGetCount()
        except pynvml.NVMLError as error:
            raise OSError(f"no NVIDIA device can be read: {error}") from error
        if not count:
            raise OSError("no NVIDIA device")
        self._devices = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]

    def sample(self, at_s: float) -> GpuSamples:
        """Return one reading of every device; takes some milliseconds a device."""
        return GpuSamples(at_s, [self._read_device(device) for device in self._devices])

    def _read_device(self, device: object) -> GpuSample:
        nvml = self._nvml
        return GpuSample(
            uuid=str(self._read(lambda: nvml.nvmlDeviceGetUUID(device))),
            name=str(self._read(lambda: nvml.nvmlDeviceGetName(device))),
            utilization_percent=self._read(lambda: nvml.nvmlDeviceGetUtilizationRates(device).gpu),
            memory_used_bytes=self._read(lambda: nvml.nvmlDeviceGetMemoryInfo(device).used),
            memory_total_bytes=self._read(lambda: nvml.nvmlDeviceGetMemoryInfo(device).total),
            power_w=self._read(lambda: nvml.nvmlDeviceGetPowerUsage(device) / 1000),
            temperature_c=self._read(lambda: nvml.nvmlDeviceGetTemperature(device, nvml.NVML_TEMPERATURE_GPU)),
        )

    def _read(self, reading: Callable[[], Reading]) -> Reading:
        try:
            return reading()
        except self._nvml.NVMLError_NotSupported:
            return NOT_SUPPORTED
        except self._nvml.NVMLError as error:
            return f"error: {error}"
