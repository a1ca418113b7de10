"""`Restrictions`: what tasks need of the worker that runs them, apart from a free thread."""

from __future__ import annotations

from dataclasses import dataclass

from glassloom.scheduler.state import WorkerState

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Restrictions:
    """Where tasks may run. One object for all tasks of a graph.

    Attributes
    ----------
    resources
        Name and amount of what a task takes up of its worker's resources while it runs.
    workers
        Numbers or names of the workers that may run it; empty: all.
    is_loose
        Whether any other may while none of those is there.
    """

    resources: tuple[tuple[str, float], ...] = ()
    workers: frozenset[int | str] = frozenset()
    is_loose: bool = False

    def names(self, worker: WorkerState) -> bool:
        """Tell whether the worker is one of those that were asked for."""
        return not self.workers or worker.number in self.workers or worker.name in self.workers

    def fits(self, free: dict[str, float]) -> bool:
        """Tell whether these resources are enough."""
        return all(free.get(name, 0.0) + _ROUNDING >= amount for name, amount in self.resources)
