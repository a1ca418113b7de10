"""What diagnostics take: of a cluster its head and the log of its metrics, and of this server the dashboards process.

Values vary by chance. They are told anew only when they have changed by so much that a person would mind.
"""

from __future__ import annotations

from collections import deque

import psutil
from glassloom_metrics.protocol import EngineSamples

from glassloom_server.wire import DashboardsCost, EngineCost

_MEAN_OF = 10
"""CPU use is the mean of so many samples, one a second."""
_LAG_OF = 60
_LEAST_CPU_PERCENT = 0.5
_LEAST_BYTES = 2**20
_LEAST_LAG_S = 0.02
_LEAST_SHARE = 0.2


class EngineFold:
    """What the head of a cluster takes, as it has told of late. Pure.

    >>> fold = EngineFold()
    >>> fold.add(EngineSamples(10.0, 0.004, 3.0, 2**27, 1000, 2**20, 0, 1))
    >>> fold.cost.cpu_percent, fold.cost.loop_lag_s
    (3.0, 0.004)
    """

    def __init__(self) -> None:
        self.cost: EngineCost | None = None
        """What to tell of it; None as long as nothing is known."""
        self._cpu_percent: deque[float] = deque(maxlen=_MEAN_OF)
        self._lags_s: deque[float] = deque(maxlen=_LAG_OF)

    def add(self, sample: EngineSamples) -> None:
        """Take the next sample into account."""
        self._cpu_percent.append(sample.cpu_percent)
        self._lags_s.append(sample.loop_lag_s)
        now = EngineCost(
            cpu_percent=_mean(self._cpu_percent),
            memory_bytes=sample.rss_bytes,
            log_memory_bytes=sample.log_memory_bytes,
            log_disk_bytes=sample.log_disk_bytes,
            loop_lag_s=round(max(self._lags_s), 3),
            readers=sample.subscribers,
        )
        told = self.cost
        if (
            told is None
            or now.readers != told.readers
            or _is_other(told.cpu_percent, now.cpu_percent, _LEAST_CPU_PERCENT)
            or _is_other(told.loop_lag_s, now.loop_lag_s, _LEAST_LAG_S)
            or _is_other(told.memory_bytes, now.memory_bytes, _LEAST_BYTES)
            or _is_other(told.log_memory_bytes, now.log_memory_bytes, _LEAST_BYTES)
            or _is_other(told.log_disk_bytes, now.log_disk_bytes, _LEAST_BYTES)
        ):
            self.cost = now


class ProcessMeter:
    """Measures what a process takes, when it is asked to: about once a second. Not thread-safe."""

    def __init__(self) -> None:
        self.cost: DashboardsCost | None = None
        """What to tell of it; None if it doesn't run."""
        self._process: psutil.Process | None = None
        self._cpu_percent: deque[float] = deque(maxlen=_MEAN_OF)

    def look(self, pid: int | None) -> DashboardsCost | None:
        """Measure the process with this id, and return what to tell of it; None: it doesn't run, or was not measured twice yet."""
        try:
            return self._look(pid)
        except psutil.Error:  # it has just ended
            self._process = self.cost = None
            return None

    def _look(self, pid: int | None) -> DashboardsCost | None:
        if pid is None or self._process is None or self._process.pid != pid:
            self.cost = None
            self._cpu_percent.clear()
            self._process = None if pid is None else psutil.Process(pid)
            if self._process is not None:
                self._process.cpu_percent()  # from when on the next call counts
            return None
        with self._process.oneshot():
            self._cpu_percent.append(self._process.cpu_percent())
            now = DashboardsCost(_mean(self._cpu_percent), self._process.memory_info().rss)
        told = self.cost
        if (
            told is None
            or _is_other(told.cpu_percent, now.cpu_percent, _LEAST_CPU_PERCENT)
            or _is_other(told.memory_bytes, now.memory_bytes, _LEAST_BYTES)
        ):
            self.cost = now
        return self.cost


def _mean(values: deque[float]) -> float:
    return round(sum(values) / len(values), 1)


def _is_other(told: float, now: float, least: float) -> bool:
    """Tell whether a value is worth telling anew.

    >>> _is_other(0.4, 0.8, 0.5), _is_other(0.4, 1.0, 0.5), _is_other(50.0, 55.0, 0.5)
    (False, True, False)
    """
    return abs(now - told) > max(least, _LEAST_SHARE * told)
