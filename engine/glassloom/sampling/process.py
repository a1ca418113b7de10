"""CPU and memory of this process."""

from __future__ import annotations

import psutil
from glassloom_metrics.protocol import WorkerSamples


class ProcessSampler:
    """Measures the process in which it was made."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._process.cpu_percent()  # the first call only sets the mark

    def cpu_percent(self) -> float:
        """Return CPU use since the last call; 100 is one core busy."""
        return float(self._process.cpu_percent())

    def rss_bytes(self) -> int:
        """Return the resident set size."""
        return int(self._process.memory_info().rss)

    def sample(self, worker: int, at_s: float) -> WorkerSamples:
        """Return CPU and memory as a message; what the store holds is not known here and counts as unmanaged."""
        return WorkerSamples(at_s, [worker], [self.cpu_percent()], [self.rss_bytes()], [0], [0], [0], [0], [0])
