"""Results that have values of a device in them: how large they are there, and how they get to the host and back.

A result may be a device's value, or hold some: a tuple, list, dict or set of them, nested a little, or an object of ours whose ``__glassloom_parts__()``
returns them.
"""

from __future__ import annotations

import importlib
import io
import pickle
from collections.abc import Iterator
from typing import Any

import cloudpickle

from glassloom.backends.sizeof import register_sizeof, sizeof
from glassloom.devices.device import Device, current_device
from glassloom.errors import DataLost, NoDevice

_DEPTH = 4
"""Values nested more deeply aren't looked for: they are pickled as their library does it."""
_ATOMS = frozenset([int, float, bool, complex, str, bytes, type(None)])


class HostForm:
    """A result on the host, and how it becomes what it was on a device.

    Attributes
    ----------
    kind
        Of the device, as in `DeviceIdentity`.
    device_bytes
        How much memory of the device it takes there.
    parts
        What `Device.to_host` has made of each of the device's values.
    pickled
        The rest of the result; None if the result is the only part.
    uuid, handles
        The device that has the result too, and by which handles another process on that device can copy each part there (see
        `Device.export`); no handles if it can't.
    """

    __slots__ = ("device_bytes", "handles", "kind", "parts", "pickled", "uuid")

    def __init__(
        self,
        kind: str,
        device_bytes: int,
        parts: list[Any],
        pickled: bytes | None,
        uuid: str = "",
        handles: tuple[bytes, ...] = (),
    ) -> None:
        self.kind, self.device_bytes, self.parts, self.pickled = kind, device_bytes, parts, pickled
        self.uuid, self.handles = uuid, handles

    def __reduce__(self) -> tuple[Any, ...]:
        return HostForm, (self.kind, self.device_bytes, self.parts, self.pickled, self.uuid, self.handles)

    def __repr__(self) -> str:
        return f"HostForm({self.kind!r}, {self.device_bytes})"


@register_sizeof(HostForm)
def _sizeof(form: HostForm) -> int:
    return sum(map(sizeof, form.parts)) + len(form.pickled or b"")


def device_bytes(value: Any, device: Device) -> int:
    """Return how much memory of `device` a result keeps; 0 if none of it is there."""
    if type(value) in _ATOMS:
        return 0
    if device.owns(value):
        return max(device.nbytes(value), 1)
    found = {id(each): each for each in _values_in(value, device, _DEPTH)}
    return sum(max(device.nbytes(each), 1) for each in found.values())


def _values_in(value: Any, device: Device, depth: int) -> Iterator[Any]:
    if device.owns(value):
        yield value
    elif depth and isinstance(value, (list, tuple, set, frozenset, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            if type(item) not in _ATOMS:
                yield from _values_in(item, device, depth - 1)
    elif depth and hasattr(type(value), "__glassloom_parts__"):
        for item in value.__glassloom_parts__():
            yield from _values_in(item, device, depth - 1)


def on_host(value: Any, device: Device, *, exports: bool = False) -> HostForm:
    """Return a result copied to the host. Raises what pickling raises.

    Parameters
    ----------
    exports
        Whether other processes on the device shall have handles on it, which stay valid as long as the result is kept there.
    """
    nbytes, identity = device_bytes(value, device), device.identity
    if device.owns(value):
        form = HostForm(identity.kind, nbytes, [device.to_host(value)], None, identity.uuid)
        values = [value]
    else:
        file = io.BytesIO()
        pickler = _Pickler(file, device)
        pickler.dump(value)
        form = HostForm(identity.kind, nbytes, pickler.parts, file.getvalue(), identity.uuid)
        values = pickler.values
    if exports:
        handles = [device.export(each) for each in values]
        if None not in handles:  # a result is copied as a whole
            form.handles = tuple(handle for handle in handles if handle is not None)
    return form


def fetched(form: HostForm, device: Device) -> Any:
    """Return a result copied from where another process has it on this device; None if it can't be had that way."""
    if form.uuid != device.identity.uuid or not form.handles or len(form.handles) != len(form.parts):
        return None
    try:
        parts = [device.fetch(handle) for handle in form.handles]
    except DataLost:
        return None
    return parts[0] if form.pickled is None else _Unpickler(io.BytesIO(form.pickled), parts).load()


def on_device(form: HostForm, device: Device) -> Any:
    """Return a result copied to `device`; raises what its `is_out_of_memory` knows if there is no room."""
    if form.kind != device.identity.kind:
        raise _no_device(form, f"its device is {device.identity.name}, of kind {device.identity.kind!r}")
    return _rebuilt(form, device.to_device)


def on_any_device(form: HostForm) -> Any:
    """Return a result as what it was, in a process that needn't have opened a device, such as a client's.

    Raises
    ------
    NoDevice
        If that can't be: there is no such device here, or its library isn't installed.
    """
    device = current_device()
    if device is not None:
        return on_device(form, device)
    try:
        return _rebuilt(form, importlib.import_module(f"glassloom.devices.{form.kind}").restored)
    except Exception as error:  # libraries of devices raise errors of their own, and may not be there at all
        raise _no_device(form, f"{type(error).__name__}: {error}") from error


def _no_device(form: HostForm, reason: str) -> NoDevice:
    return NoDevice(
        f"this result lies on a device of kind {form.kind!r} and takes {form.device_bytes} bytes there; this process can't hold "
        f"it: {reason}. Copy it to the host where it is, in a task: x.map_blocks(lambda block: block.get()), or "
        "client.submit(lambda value: value.get(), future)"
    )


def _rebuilt(form: HostForm, restore: Any) -> Any:
    parts = [restore(part) for part in form.parts]
    return parts[0] if form.pickled is None else _Unpickler(io.BytesIO(form.pickled), parts).load()


class _Pickler(cloudpickle.Pickler):
    """Leaves the device's values out, each once, and keeps what they are on the host."""

    def __init__(self, file: io.BytesIO, device: Device) -> None:
        super().__init__(file, 5)
        self.parts: list[Any] = []
        self.values: list[Any] = []
        self._device = device
        self._places: dict[int, int] = {}

    def persistent_id(self, obj: Any) -> int | None:
        """Return the place of one of the device's values among `parts`."""
        if not self._device.owns(obj):
            return None
        if id(obj) not in self._places:
            self._places[id(obj)] = len(self.parts)
            self.parts.append(self._device.to_host(obj))
            self.values.append(obj)
        return self._places[id(obj)]


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, parts: list[Any]) -> None:
        super().__init__(file)
        self._parts = parts

    def persistent_load(self, place: int) -> Any:
        """Return the part at a place."""
        return self._parts[place]
