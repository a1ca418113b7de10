"""Clusters whose workers have simulated devices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from glassloom import LocalCluster
from glassloom.cluster.options import ClusterOptions
from glassloom.protocol.options import DeviceOptions, HeadOptions


class SimulatedCluster(LocalCluster):
    """A cluster whose workers have a simulated device each, of a memory such as ``"64MiB"``."""

    def __init__(
        self,
        memory: str,
        *,
        devices: int = 1,
        device_memory_limit: int | float | None = None,
        log_spilling: bool = False,
        **options: Any,
    ):
        names = tuple(f"simulated:{memory}#{index}" for index in range(devices))
        is_exclusive = devices >= options.get("n_workers", 1)
        self._devices = DeviceOptions(names, device_memory_limit, is_exclusive=is_exclusive, log_spilling=log_spilling)
        super().__init__(**options)

    def _head_options(self, options: ClusterOptions, name: str) -> HeadOptions:
        return replace(super()._head_options(options, name), devices=self._devices)
