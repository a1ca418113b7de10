"""Which NVIDIA devices a cluster uses: what NVML lists, and what ``CUDA_VISIBLE_DEVICES`` names of it. Loads no CUDA library.

Indices are NVML's: the order of the PCI bus, as ``nvidia-smi`` prints it. Workers are given UUIDs, which mean the same to everybody.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from glassloom.errors import DeviceNotFound, OptionError
from glassloom.sampling.nvml import NvmlUnavailable, load_nvml, why_not_opened

Chosen = str | int | Sequence[int | str]
"""What ``CUDA_VISIBLE_DEVICES`` may be."""
_CPUS_PER_WORD = 64
CPU_ALTERNATIVE = "To compute on this machine's CPUs, use glassloom.LocalCluster(), Client() without gpu=True, and the backends 'numpy' and 'pandas'"


@dataclass(frozen=True)
class FoundDevice:
    """A device as NVML lists it: a GPU, or a MIG instance of one.

    Attributes
    ----------
    index
        The GPU's, also of an instance.
    part
        The place of the instance within its GPU; None for a whole GPU.
    total_bytes
        Its memory; None where it has none of its own, as on a system on a chip.
    is_divided
        Whether this GPU is divided into MIG instances, so that only these can be used.
    cpus
        The CPUs that are near to it; empty if NVML doesn't know.
    """

    uuid: str
    name: str
    index: int
    part: int | None = None
    total_bytes: int | None = None
    is_divided: bool = False
    cpus: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Return what people call it."""
        kind = f"GPU {self.index}" if self.part is None else f"MIG instance {self.index}:{self.part}"
        return f"{kind} ({self.name}, {self.uuid})"


def found_devices(nvml: Any) -> list[FoundDevice]:
    """Return all devices of this machine: each GPU, followed by its MIG instances.

    Parameters
    ----------
    nvml
        The module `pynvml`, or what presents itself as it.

    Raises
    ------
    DeviceNotFound
        If NVML can't be opened or lists no device; the message says what was looked for.
    """
    try:
        nvml.nvmlInit()
        count = nvml.nvmlDeviceGetCount()
    except Exception as error:  # whatever a driver, or its binding, may raise
        raise no_device(why_not_opened(error)) from error
    devices: list[FoundDevice] = []
    for index in range(count):
        devices += _devices_at(nvml, index)
    if not devices:
        told = "lists no device" if not count else f"lists {count} devices, none of which answers"
        raise no_device(f"NVML, the library of the NVIDIA driver, {told}")
    return devices


def no_device(found: str) -> DeviceNotFound:
    """Return the error for a machine without a device: what was looked for and found, and what to use instead."""
    return DeviceNotFound(f"There is no NVIDIA GPU to compute on. {found}. {CPU_ALTERNATIVE}")


def _devices_at(nvml: Any, index: int) -> Iterator[FoundDevice]:
    """Yield the GPU at an index and its MIG instances; nothing if it doesn't answer, such as one that is lost."""
    handle = _asked(lambda: nvml.nvmlDeviceGetHandleByIndex(index))
    uuid = None if handle is None else _asked(lambda: nvml.nvmlDeviceGetUUID(handle))
    if uuid is None:
        return
    is_divided = _asked(lambda: nvml.nvmlDeviceGetMigMode(handle)[0]) == 1
    cpus = _near_cpus(nvml, handle)
    yield FoundDevice(str(uuid), _name(nvml, handle), index, None, _total_bytes(nvml, handle), is_divided, cpus)
    places = _asked(lambda: nvml.nvmlDeviceGetMaxMigDeviceCount(handle)) if is_divided else 0
    for place in range(places or 0):
        instance = _asked(partial(nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, place))
        uuid = None if instance is None else _asked(partial(nvml.nvmlDeviceGetUUID, instance))
        if uuid is not None:
            yield FoundDevice(str(uuid), _name(nvml, instance), index, place, _total_bytes(nvml, instance), cpus=cpus)


def _asked(function: Callable[[], Any]) -> Any:
    """Return what NVML answers, None where it has no answer."""
    try:
        return function()
    except Exception:  # whatever a driver, or its binding, may raise: what it doesn't tell isn't known
        return None


def _name(nvml: Any, handle: Any) -> str:
    return str(_asked(lambda: nvml.nvmlDeviceGetName(handle)) or "NVIDIA device")


def _total_bytes(nvml: Any, handle: Any) -> int | None:
    memory = _asked(lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
    return None if memory is None else int(memory.total)


def _near_cpus(nvml: Any, handle: Any) -> tuple[int, ...]:
    words = -(-(os.cpu_count() or 1) // _CPUS_PER_WORD)
    mask = _asked(lambda: list(nvml.nvmlDeviceGetCpuAffinity(handle, words)))
    return () if mask is None else cpus_of_mask(mask)


def cpus_of_mask(words: Sequence[int]) -> tuple[int, ...]:
    """Return the CPUs of a bit mask as NVML has it, lowest first.

    >>> cpus_of_mask([0b1011, 0b1])
    (0, 1, 3, 64)
    """
    return tuple(
        word * _CPUS_PER_WORD + bit
        for word, bits in enumerate(words)
        for bit in range(_CPUS_PER_WORD)
        if int(bits) >> bit & 1
    )


def chosen_devices(found: Sequence[FoundDevice], chosen: Chosen | None, *, option: str) -> list[FoundDevice]:
    """Return the devices that are named, in that order; without names all that can be used.

    Parameters
    ----------
    chosen
        Indices and UUIDs of GPUs and MIG instances, or beginnings of UUIDs that fit one device only: text with commas, a sequence,
        or one index.
    option
        What to call it in messages.

    Raises
    ------
    OptionError
        If it names no device, one twice, or a GPU that is divided.
    DeviceNotFound
        If there is no such device; the message says which there are.
    """
    if chosen is None:
        return [device for device in found if not device.is_divided]
    devices = [_named(found, name, option, chosen) for name in _names(chosen, option)]
    if not devices:
        raise OptionError(f"{option}={chosen!r} names no device; {_listed(found)}. {CPU_ALTERNATIVE}")
    twice = {str(device) for device in devices if devices.count(device) > 1}
    if twice:
        raise OptionError(f"{option}={chosen!r} names {' and '.join(sorted(twice))} twice; each device has one worker")
    return devices


def _names(chosen: Any, option: str) -> list[Any]:
    if isinstance(chosen, str):
        return [name.strip() for name in chosen.split(",")] if chosen.strip() else []
    if isinstance(chosen, int) and not isinstance(chosen, bool):
        return [chosen]
    if isinstance(chosen, Iterable):
        return [name.strip() if isinstance(name, str) else name for name in chosen]
    raise OptionError(f"{option}={chosen!r} should be indices or UUIDs, such as '0,3' or ['GPU-8a2f...']")


def _named(found: Sequence[FoundDevice], name: Any, option: str, chosen: Any) -> FoundDevice:
    """Return the device of one name."""
    is_index = (isinstance(name, int) and not isinstance(name, bool)) or (isinstance(name, str) and name.isdecimal())
    if not is_index and not (isinstance(name, str) and name.startswith(("GPU-", "MIG-"))):
        raise OptionError(
            f"{option}={chosen!r}: {name!r} is neither an index nor a UUID that begins with 'GPU-' or 'MIG-'; {_listed(found)}"
        )
    if is_index:
        fitting = [device for device in found if device.part is None and device.index == int(name)]
    else:
        fitting = [device for device in found if device.uuid == name] or [
            device for device in found if device.uuid.startswith(name)
        ]
    if not fitting:
        raise DeviceNotFound(f"{option}={chosen!r}: there is no device {name!r}; {_listed(found)}. {CPU_ALTERNATIVE}")
    if len(fitting) > 1:
        raise OptionError(
            f"{option}={chosen!r}: {name!r} fits {' and '.join(map(str, fitting))}; write more of the UUID"
        )
    if fitting[0].is_divided:
        parts = [device.uuid for device in found if device.part is not None and device.index == fitting[0].index]
        told = f"name these: {', '.join(parts)}" if parts else "and has none so far"
        raise OptionError(f"{option}={chosen!r}: {fitting[0]} is divided into MIG instances, {told}")
    return fitting[0]


def _listed(found: Sequence[FoundDevice]) -> str:
    return f"there are {', '.join(map(str, found))}"


def main() -> int:
    """Print this machine's devices, or why there is none; return the exit status."""
    try:
        devices = found_devices(load_nvml())
    except (DeviceNotFound, NvmlUnavailable) as error:
        print(error, file=sys.stderr)
        return 1
    print(*devices, sep="\n")
    return 0
