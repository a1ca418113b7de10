"""`Starts`: the clusters that people have asked for and that don't run yet. A value: what changes it makes a new one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from glassloom_server.wire import StartState, field_of

MAX_FAILED = 20
"""How many failed starts are kept; the oldest go."""
_MAX_DONE = 1000


@dataclass(frozen=True)
class Starts:
    """What is known of starts.

    Attributes
    ----------
    open
        Those that go on or have failed, the oldest first.

    Examples
    --------
    >>> starts = Starts().begun("s1", "loom").failed("s1", "no memory")
    >>> starts.open[0].problem
    'no memory'
    >>> Starts().begun("s1", "loom").became("s1", "c1").start_of("c1")
    's1'
    """

    open: tuple[StartState, ...] = ()
    _clusters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def find(self, start_id: str) -> StartState | None:
        """Return the open start of an id."""
        return next((start for start in self.open if start.id == start_id), None)

    def start_of(self, cluster_id: str) -> str | None:
        """Return the id of the start that a cluster came of."""
        return self._clusters.get(cluster_id)

    def begun(self, start_id: str, name: str) -> Starts:
        """A start goes on."""
        return replace(self, open=(*self.open, StartState(start_id, name, "starting")))

    def failed(self, start_id: str, problem: str) -> Starts:
        """A start has failed, and is told until it is dismissed."""
        failed = [
            StartState(start.id, start.name, "failed", problem, field=field_of(problem))
            if start.id == start_id
            else start
            for start in self.open
        ]
        too_many = [start.id for start in failed if start.state == "failed"][:-MAX_FAILED]
        return replace(self, open=tuple(start for start in failed if start.id not in too_many))

    def became(self, start_id: str, cluster_id: str) -> Starts:
        """A start has become a cluster. Those that had failed before it was asked for are no news any more.

        >>> Starts().begun("s1", "loom").failed("s1", "no memory").begun("s2", "loom").became("s2", "c1").open
        ()
        """
        clusters = dict([*self._clusters.items(), (cluster_id, start_id)][-_MAX_DONE:])
        ids = [start.id for start in self.open]
        before = self.open[: ids.index(start_id)] if start_id in ids else ()
        outdated = {start_id, *(start.id for start in before if start.state == "failed")}
        still_open = tuple(start for start in self.open if start.id not in outdated)
        return replace(self, open=still_open, _clusters=MappingProxyType(clusters))

    def without(self, start_id: str) -> Starts:
        """A start was cancelled or dismissed."""
        return replace(self, open=tuple(start for start in self.open if start.id != start_id))


NO_STARTS = Starts()
