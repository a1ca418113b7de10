"""What the scheduler wants done: plain lists that the runtime carries out, then throws away."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from glassloom.graph.keys import Key
from glassloom.scheduler.state import TaskState, WorkerState
from glassloom.scheduler.task_block import TaskSlice


@dataclass
class Actions:
    """The answer to a batch of events.

    Attributes
    ----------
    run
        Tasks to send to each worker, best first; many of a block as one slice.
    publish
        Results that a worker must put where every process can reach them.
    recall
        Tasks that a worker should not begin any more.
    drop
        Numbers of results that the worker may forget: what only it has, and its own copies of what it has published.
    free
        Locations that nobody will read again, with the numbers of their tasks; -1: of none that is known.
    free_slices
        The same of tasks in blocks, element by element.
    finished, erred, cancelled
        What each client must be told of the keys it wants; finished ones of a block as slices.
    located
        Results that somebody asked for: they are reachable now, or never will be.
    stop
        Retiring workers that nothing depends on any more.
    """

    run: dict[WorkerState, list[TaskState | TaskSlice]] = field(default_factory=lambda: defaultdict(list))
    publish: dict[WorkerState, list[TaskState]] = field(default_factory=lambda: defaultdict(list))
    recall: dict[WorkerState, list[TaskState]] = field(default_factory=lambda: defaultdict(list))
    drop: dict[WorkerState, list[int]] = field(default_factory=lambda: defaultdict(list))
    free: list[tuple[int, Any]] = field(default_factory=list)
    free_slices: list[tuple[range, list[Any]]] = field(default_factory=list)
    finished: dict[Any, list[TaskState | TaskSlice]] = field(default_factory=lambda: defaultdict(list))
    erred: dict[Any, list[TaskState]] = field(default_factory=lambda: defaultdict(list))
    cancelled: dict[Any, list[Key]] = field(default_factory=lambda: defaultdict(list))
    located: list[TaskState] = field(default_factory=list)
    stop: list[WorkerState] = field(default_factory=list)
