"""What the cluster itself and its hosts take: the latest samples, and the engine's of the last minutes. Bounded; no plot.

>>> history = EngineHistory()
>>> history.add(EngineSamples(10.0, 0.004, 3.0, 2**27, 1000, 2**20, 2**22, 1))
>>> history.add(EngineSamples(11.0, 0.030, 5.0, 2**27, 1100, 2**20, 2**22, 1))
>>> history.longest_lag_s, history.mean_cpu_percent
(0.03, 4.0)
"""

from __future__ import annotations

from collections import deque

from glassloom_metrics.protocol import EngineSamples, HostSamples

MAX_SAMPLES = 120
"""How many of the engine's samples are kept: those of the last one or two minutes."""
MAX_HOSTS = 64


class EngineHistory:
    """A fold of `HostSamples` and `EngineSamples`.

    Attributes
    ----------
    hosts
        The latest sample of each host.
    """

    def __init__(self) -> None:
        self._samples: deque[EngineSamples] = deque(maxlen=MAX_SAMPLES)
        self.hosts: dict[str, HostSamples] = {}

    def add(self, message: EngineSamples | HostSamples) -> None:
        """Take a sample into account."""
        if isinstance(message, EngineSamples):
            self._samples.append(message)
        elif message.host in self.hosts or len(self.hosts) < MAX_HOSTS:
            self.hosts[message.host] = message

    @property
    def last(self) -> EngineSamples | None:
        """The engine's latest sample, None of a cluster that is its user's process."""
        return self._samples[-1] if self._samples else None

    @property
    def longest_lag_s(self) -> float:
        """The longest time that the head's event loop was late, in the last minutes."""
        return max((sample.loop_lag_s for sample in self._samples), default=0.0)

    @property
    def mean_cpu_percent(self) -> float:
        """What the head took of a core, in the last minutes."""
        return sum(sample.cpu_percent for sample in self._samples) / max(len(self._samples), 1)
