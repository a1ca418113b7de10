"""A store with a simulated device, beside books of the test's own of what it has told."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from glassloom.backends.simulated_ import set_memory, xp
from glassloom.devices.simulated import SimulatedDevice
from glassloom.store.device_store import DeviceStore
from glassloom.store.store import Store
from glassloom.worker.spill_log import SpillLog
from glassloom_metrics.protocol import Action

KIB = 1024
CHUNK = 8 * KIB
LIMIT = 10 * CHUNK


class Books:
    """A store with a device of 16 chunks, of which results may take 10, on a host that may hold 5; and what it has told."""

    def __init__(self, folder: Path, host_bytes: int | None = 5 * CHUNK) -> None:
        self.events: list[tuple[Action, int, int]] = []
        self.lines: list[str] = []
        self.now_s = 0.0
        self.log = SpillLog(self.lines.append, lambda: self.now_s)
        self.refusals: list[str] = []
        self.device = SimulatedDevice(16 * CHUNK, LIMIT)
        set_memory(self.device.memory)
        self.host = Store(host_bytes, str(folder), self.note)
        self.store = DeviceStore(self.device, self.host, self.note, self.refusals.append)

    def note(self, action: Action, number: int, start_s: float, stop_s: float, nbytes: int) -> None:
        assert start_s <= stop_s
        self.events.append((action, number, nbytes))
        self.now_s += 0.05
        self.log.note(action, nbytes, stop_s - start_s)

    def logged(self) -> dict[str, int]:
        """Return how often results have moved by the log: on each way."""
        self.now_s += 10.0
        self.log.flush_due()
        moves = [re.findall(r"(\w+ to \w+): (\d+) x", line) for line in self.lines]
        return dict(sum((Counter({way: int(count)}) for line in moves for way, count in line), Counter()))

    def put(self, *numbers: int) -> None:
        for number in numbers:
            self.store.put(number, chunk(number), CHUNK)


def chunk(number: int) -> Any:
    return xp.full(CHUNK // 8, float(number))
