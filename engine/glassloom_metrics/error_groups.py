"""`ErrorGroups`: failures that are alike, counted; so that 10,000 tasks that fail in one place are one row with one traceback."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field

from glassloom_metrics.protocol import MAX_ERROR_KEYS, Errors

MAX_GROUPS = 1_000
"""How many groups are known; the one that grew longest ago goes first. A failure of its kind begins a new one."""
_PLACE = re.compile(r'^ *File "(.*)", line (\d+)', re.MULTILINE)


@dataclass
class _Group:
    """The first failure, and how many like it there were."""

    number: int
    layer: int
    exception: str
    message: str
    traceback: str
    worker: int
    origin: str
    first_s: float
    last_s: float
    count: int = 0
    keys: list[str] = field(default_factory=list)


class ErrorGroups:
    """Groups by layer, exception, and the place that the traceback ends with.

    >>> groups = ErrorGroups()
    >>> for key in ("a", "b"):
    ...     groups.add(1.0, layer=0, exception="ValueError", message="no", traceback="", worker=0, origin="", key=key)
    >>> changed = groups.take_changed()
    >>> changed.counts, changed.keys
    ([2], [['a', 'b']])
    """

    def __init__(self) -> None:
        self._groups: OrderedDict[tuple[int, str, str], _Group] = OrderedDict()
        self._changed: dict[int, _Group] = {}
        self._n_groups = 0

    def add(
        self,
        at_s: float,
        *,
        layer: int,
        exception: str,
        message: str,
        traceback: str,
        worker: int,
        origin: str,
        key: str,
    ) -> None:
        """Count a failure."""
        places = _PLACE.findall(traceback)
        identity = (layer, exception, ":".join(places[-1]) if places else "")
        group = self._groups.get(identity)
        if group is None:
            group = self._groups[identity] = _Group(
                self._n_groups, layer, exception, message, traceback, worker, origin, at_s, at_s
            )
            self._n_groups += 1
            if len(self._groups) > MAX_GROUPS:
                self._groups.popitem(last=False)
        self._groups.move_to_end(identity)
        group.count += 1
        group.last_s = at_s
        if len(group.keys) < MAX_ERROR_KEYS:
            group.keys.append(key)
        self._changed[group.number] = group

    def take_changed(self) -> Errors | None:
        """Return the groups that are new or have grown since the last call."""
        if not self._changed:
            return None
        groups, self._changed = list(self._changed.values()), {}
        return Errors(
            [group.number for group in groups],
            [group.layer for group in groups],
            [group.exception for group in groups],
            [group.message for group in groups],
            [group.traceback for group in groups],
            [group.worker for group in groups],
            [group.origin for group in groups],
            [group.count for group in groups],
            [group.first_s for group in groups],
            [group.last_s for group in groups],
            [list(group.keys) for group in groups],
        )
