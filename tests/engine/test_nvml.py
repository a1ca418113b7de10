"""What NVML says becomes readings: values, "not supported", or errors. A stand-in library: CI has no GPU."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest
from glassloom.sampling.nvml import NvmlSampler


class _Error(Exception):
    pass


class _NotSupported(_Error):
    pass


def _library(count: int = 2) -> ModuleType:
    """Return a module with the part of pynvml's API that the sampler uses; device 1 is a MIG device without counters."""
    library = ModuleType("pynvml")

    def utilization(device: int) -> SimpleNamespace:
        if device == 1:
            raise _NotSupported("Not Supported")
        return SimpleNamespace(gpu=42)

    def power(device: int) -> int:
        if device == 1:
            raise _Error("GPU is lost")
        return 250_500

    library.__dict__.update(
        NVMLError=_Error,
        NVMLError_NotSupported=_NotSupported,
        NVML_TEMPERATURE_GPU=0,
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: count,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetUUID=lambda device: f"GPU-{device}",
        nvmlDeviceGetName=lambda device: "A card",
        nvmlDeviceGetUtilizationRates=utilization,
        nvmlDeviceGetMemoryInfo=lambda device: SimpleNamespace(used=10, total=100),
        nvmlDeviceGetPowerUsage=power,
        nvmlDeviceGetTemperature=lambda device, sensor: 61,
    )
    return library


def test_each_device_is_read_once_and_keyed_by_uuid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", _library())
    first, second = NvmlSampler().sample(5.0).devices
    assert (first.uuid, second.uuid) == ("GPU-0", "GPU-1")
    assert (first.utilization_percent, first.power_w, first.temperature_c) == (42, 250.5, 61)
    assert (first.memory_used_bytes, first.memory_total_bytes) == (10, 100)


def test_a_counter_that_is_missing_says_so_instead_of_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", _library())
    second = NvmlSampler().sample(5.0).devices[1]
    assert second.utilization_percent == "not supported"
    assert second.power_w == "error: GPU is lost"


def test_a_host_without_devices_has_no_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", _library(count=0))
    with pytest.raises(OSError, match="no NVIDIA device"):
        NvmlSampler()
