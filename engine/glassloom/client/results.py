"""Reading results in the client's process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassloom.devices.values import HostForm, on_any_device
from glassloom.errors import NoDevice, SerialisationError
from glassloom.graph import Key, key_text
from glassloom.protocol import failure
from glassloom.store.pickling import loads_all
from glassloom.store.segment import Location, read_location


def read_small_results(keys: Sequence[Key], pickles: Sequence[bytes]) -> list[Any]:
    """Return results that came with the news that they are there. Raises as `read_result`."""
    try:
        values = loads_all(pickles)
        return [_local(value) for value in values] if HostForm in map(type, values) else values
    except Exception:  # unpickling runs the user's code; one by one, the error says which task's result it is
        return [read_result(key, data) for key, data in zip(keys, pickles, strict=True)]


def read_result(key: Key, location: Location) -> Any:
    """Return a result.

    Raises
    ------
    DataLost
        If it is gone.
    SerialisationError
        If it can't be unpickled here; it names the task.
    NoDevice
        If it is a device's, and this process can't hold it; it names the task.
    """
    try:
        return _local(read_location(location))
    except NoDevice as error:
        raise failure.annotate(error, key_text(key), "") from error.__cause__
    except SerialisationError as error:
        raise failure.annotate(error, key_text(key), "") from error.__cause__


def _local(value: Any) -> Any:
    """Return a result on this process's device if it is of one."""
    return on_any_device(value) if type(value) is HostForm else value
