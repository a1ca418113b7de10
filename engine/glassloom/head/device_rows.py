"""`DeviceRows`: which rows of the metrics tell of tasks whose time on a device isn't known yet. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from glassloom_metrics.gpu_messages import DeviceTimes

from glassloom.protocol import messages
from glassloom.scheduler import TaskSlice, TaskState

MAX_ROWS = 10_000
"""How many rows of a worker wait for their time at most; the oldest go."""
_Item = TaskState | TaskSlice | None


class DeviceRows:
    """The rows of workers that have a device, and how long tasks took on devices so far.

    >>> rows = DeviceRows()
    >>> rows.add_worker(0)
    >>> rows.note_row(0, 7, 1.5, row=40, layer=2)
    >>> rows.note_times(0, messages.DeviceTimes([7, 8], [1.5, 1.6], [0.25, 0.5]))
    >>> rows.take(3.0)
    DeviceTimes(at_s=3.0, total_s=0.25, rows=[40], layers=[2], seconds=[0.25])
    """

    def __init__(self) -> None:
        self._rows: dict[int, OrderedDict[tuple[int, float], tuple[int, int]]] = {}
        """By worker: row and layer of a task by its number and start."""
        self._total_s = 0.0
        self._known: list[tuple[int, int, float]] = []
        """Row, layer and seconds of tasks that the metrics haven't told of."""

    def add_worker(self, worker: int) -> None:
        """A worker with a device has come."""
        self._rows[worker] = OrderedDict()

    def remove_worker(self, worker: int) -> None:
        """A worker has gone."""
        self._rows.pop(worker, None)

    def __contains__(self, worker: int) -> bool:
        return worker in self._rows

    def note_rows(
        self, worker: int, items: Iterable[_Item], numbers: Sequence[int], starts_s: Sequence[float], row: int
    ) -> None:
        """Tasks have run on a worker with a device; their rows are numbered from `row` on.

        Parameters
        ----------
        items
            The tasks as in `sampling.task_rows.add_finished`; None for those that have no row.
        """
        at = 0
        for item in items:
            if item is None:
                at += 1
                continue
            n_tasks, layer = (len(item), item.block.layer) if isinstance(item, TaskSlice) else (1, item.layer)
            for place in range(at, at + n_tasks):
                self.note_row(worker, numbers[place], starts_s[place], row=row, layer=layer.number)
                row += 1
            at += n_tasks

    def note_row(self, worker: int, number: int, start_s: float, *, row: int, layer: int) -> None:
        """A task has run on a worker; nothing happens if that has no device."""
        if worker in self._rows:
            known = self._rows[worker]
            known[number, start_s] = row, layer
            if len(known) > MAX_ROWS:
                known.popitem(last=False)

    def note_times(self, worker: int, message: messages.DeviceTimes) -> None:
        """Take a worker's measurements of tasks that have a row."""
        known = self._rows.get(worker, OrderedDict())
        for number, start_s, seconds in zip(message.numbers, message.starts_s, message.seconds, strict=True):
            place = known.pop((number, start_s), None)
            if place is not None:
                self._known.append((*place, seconds))

    def take(self, at_s: float) -> DeviceTimes | None:
        """Return what the metrics tell of the measurements since the last time, when the rows are told; None: nothing."""
        if not self._known:
            return None
        rows, layers, seconds = map(list, zip(*self._known, strict=True))
        self._known = []
        self._total_s += sum(seconds)
        return DeviceTimes(at_s, self._total_s, rows, layers, seconds)
