"""`SilentWorkers`: which workers of a scheduler that answers aren't heard of. Pure: it is told what the scheduler says, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SILENT_S = 10.0
"""For how long a worker may say nothing; dask.distributed's do every half a second, those of many less often."""
_HEARTBEATS_S = 4 / 200
"""Four heartbeats of a cluster's workers, for each of its workers."""
_MOST_NAMED = 3


class SilentWorkers:
    """Keeps when each worker was heard of last. The scheduler's clock need not be ours: a time that doesn't change is what counts."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, float]] = {}
        """By address: what the scheduler says, and since when it has said that."""
        self.are_none = False
        """Whether the scheduler has said that it has no workers."""

    def note(self, workers: Mapping[str, Mapping[str, Any]], now_s: float) -> None:
        """The scheduler has told of its workers."""
        newest = max((worker.get("last_seen", 0.0) for worker in workers.values()), default=0.0)
        seen = {}
        for address, worker in workers.items():
            last = worker.get("last_seen", 0.0)
            before = self._seen.get(address)
            seen[address] = before if before is not None and before[0] == last else (last, now_s - (newest - last))
        self._seen, self.are_none = seen, not seen

    def silent(self, now_s: float) -> dict[str, float]:
        """Return for how many seconds those that are silent have been."""
        bound_s = max(SILENT_S, _HEARTBEATS_S * len(self._seen))
        return {address: now_s - since for address, (_, since) in self._seen.items() if now_s - since >= bound_s}

    def describe(self, now_s: float) -> str:
        """Return a sentence about them, "" if there is none."""
        silent = self.silent(now_s)
        if not silent:
            return ""
        named = [f"{address} for {silent_s:.0f} s" for address, silent_s in list(silent.items())[:_MOST_NAMED]]
        more = f" and {len(silent) - _MOST_NAMED} more" if len(silent) > _MOST_NAMED else ""
        return f"nothing has been heard of the worker{'s' if len(silent) > 1 else ''} at {', '.join(named)}{more}"
