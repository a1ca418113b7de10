"""How long tasks took on their workers' devices: by row of the task table, and by layer. Of clusters without devices it is empty.

>>> from glassloom_metrics.protocol import DeviceTimes as Message
>>> times = DeviceTimes()
>>> times.add(Message(5.0, 0.75, [40, 41], [2, 2], [0.25, 0.5]), n_lost=10, first_row=0)
>>> times.of_row(31), times.of_row(32), times.layers[2]
(0.5, None, (2, 0.75))
"""

from __future__ import annotations

import numpy as np
from glassloom_metrics.protocol import DeviceTimes as Message

from glassloom_dashboards.folds.growing import GrowingTable

MAX_ROWS = 2**20
"""How many rows are kept, the newest."""
_DROPPED_ROWS = 2**18


class DeviceTimes:
    """Seconds on devices.

    Attributes
    ----------
    total_s
        Of all tasks of the cluster so far; None: nothing was told of devices.
    layers
        By layer: how many tasks, and their seconds together.
    """

    def __init__(self) -> None:
        self.total_s: float | None = None
        self.layers: dict[int, tuple[int, float]] = {}
        self._rows = GrowingTable({"row": "<i8", "seconds": "<f4"})

    def add(self, message: Message, *, n_lost: int, first_row: int) -> None:
        """Take what was told into account.

        Parameters
        ----------
        n_lost
            How many rows of the log before the message's are not in the task table, which numbers those that it has.
        first_row
            The first row of the task table since rows were lost: of those before, it can't be told here which they are.
        """
        self.total_s = message.total_s
        for row, layer, seconds in zip(message.rows, message.layers, message.seconds, strict=True):
            if row < 0:
                continue  # of a snapshot: what is known of rows stays
            count, sum_s = self.layers.get(layer, (0, 0.0))
            self.layers[layer] = count + 1, sum_s + seconds
        of_log = np.array(message.rows, np.int64)
        rows = of_log - n_lost
        is_known = (of_log >= 0) & (rows >= first_row)
        if is_known.any():
            self._rows.extend({"row": rows[is_known], "seconds": np.array(message.seconds)[is_known]})
        if len(self._rows) >= MAX_ROWS + _DROPPED_ROWS:
            self._rows.drop(_DROPPED_ROWS)

    def of_row(self, row: int) -> float | None:
        """Return the seconds of a row of the task table; None if they aren't known, or not yet."""
        places = np.flatnonzero(self._rows["row"] == row)
        return float(self._rows["seconds"][places[-1]]) if len(places) else None
