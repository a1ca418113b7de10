"""`open_device`: makes the device that a worker is told to use. What knows the device is imported here, not before."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from glassloom.devices.device import Device
from glassloom.errors import OptionError

KINDS = ("cuda", "simulated")
"""Modules of `glassloom.devices` with a function ``open_device(name, settings)``."""


def open_device(text: str, settings: Mapping[str, Any] | None = None) -> Device:
    """Return the device that `text` names. Called once in a worker, before anything there uses the device.

    Parameters
    ----------
    text
        The kind, a colon, and what the kind's module makes of the rest: ``"cuda:GPU-6c3f..."``, ``"simulated:64MiB"``.
    settings
        What the kind's module is told besides, such as the size of a pool.

    Raises
    ------
    OptionError
        If there is no such kind.
    """
    kind, _, name = text.partition(":")
    if kind not in KINDS:
        raise OptionError(f"device={text!r} should begin with one of {', '.join(repr(f'{each}:') for each in KINDS)}")
    opened: Device = importlib.import_module(f"glassloom.devices.{kind}").open_device(name, dict(settings or {}))
    return opened
