"""Which processes have memory on a device."""

from __future__ import annotations

from glassloom.sampling.nvml import load_nvml


def processes_on_devices() -> set[int]:
    """Return the ids of all processes with a context on a device, as NVML tells them."""
    nvml = load_nvml()
    nvml.nvmlInit()
    handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
    return {one.pid for handle in handles for one in nvml.nvmlDeviceGetComputeRunningProcesses(handle)}
