"""How many workers a cluster should have, from what there is to do. Pure; the head asks it twice a second.

Up at once, down only after the cluster has had too many workers for a while: starting one costs milliseconds, but
ending one means moving its results.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass
class Adaptive:
    """Bounds and memory of adaptive scaling.

    Parameters
    ----------
    minimum, maximum
        Least and largest number of workers.
    wait_s
        How long fewer workers must have been enough before some are retired.
    """

    minimum: int
    maximum: int
    wait_s: float = 3.0
    _enough_since_s: float | None = field(default=None, init=False)

    def target(self, n_workers: int, n_tasks: int, threads_per_worker: int, now_s: float) -> int:
        """Return the number of workers wanted.

        Parameters
        ----------
        n_workers
            How many there are, starting ones included.
        n_tasks
            Tasks that run or could run now.

        Examples
        --------
        >>> adaptive = Adaptive(minimum=1, maximum=10, wait_s=3.0)
        >>> adaptive.target(n_workers=1, n_tasks=8, threads_per_worker=2, now_s=0.0)
        4
        >>> adaptive.target(4, 0, 2, now_s=1.0), adaptive.target(4, 0, 2, now_s=4.5)
        (4, 1)
        """
        is_needed = min(self.maximum, max(self.minimum, math.ceil(n_tasks / threads_per_worker)))
        if is_needed >= n_workers:
            self._enough_since_s = None
            return is_needed
        if self._enough_since_s is None:
            self._enough_since_s = now_s
        if now_s - self._enough_since_s < self.wait_s:
            return min(n_workers, self.maximum)
        return is_needed
