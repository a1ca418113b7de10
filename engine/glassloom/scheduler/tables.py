"""`Tables`: what the scheduler knows, and the entries that belong together. It decides nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from glassloom.graph.keys import Key, key_layer, layer_name
from glassloom.scheduler.actions import Actions
from glassloom.scheduler.restrictions import unclaim
from glassloom.scheduler.state import DATA_LAYER, RELEASED, Layer, State, TaskState, WorkerState


class Tables:
    """The tasks, layers and workers that there are, who seeks which result, and what is to be done.

    Parameters
    ----------
    make_error
        See `Scheduler`.
    """

    def __init__(self, make_error: Callable[[str, TaskState], Any]) -> None:
        self.tasks: dict[Key, TaskState] = {}
        self.by_number: dict[int, TaskState] = {}
        self.workers: dict[int, WorkerState] = {}
        self.layers: dict[str, Layer] = {}
        self.changed_layers: set[Layer] = set()
        self.grown_layers: dict[Layer, None] = {}
        self._make_error = make_error
        self._data = Layer(DATA_LAYER, "data", "data", "")
        self._actions = Actions()
        self._numbers = itertools.count()
        self._layer_numbers = itertools.count()
        self._may_have_room: dict[WorkerState, None] = {}
        self._leaving: dict[TaskState, None] = {}
        """Tasks that were stopped and whose worker hasn't answered for them yet."""
        self._sought: dict[TaskState, None] = {}
        """Tasks whose result somebody waits to read."""

    def _known_or_new(self, key: Key, labels: dict[str, tuple[str, str]] | None) -> TaskState:
        task = self.tasks.get(key)
        if task is not None and not (task.layer is self._data and task.state is RELEASED):
            return task
        name = key_layer(key)
        layer = self.layers.get(name)
        if layer is None:
            label, origin = (labels or {}).get(name, ("", ""))
            layer = self.layers[name] = Layer(next(self._layer_numbers), name, label or layer_name(name), origin)
        self.grown_layers[layer] = None
        if task is None:
            return self._new_task(key, layer)
        self._begin_anew(task)
        self._data.count(RELEASED, -1)  # lost data that is now to be computed
        task.layer = layer
        layer.count(RELEASED, 1)
        return task

    def _new_task(self, key: Key, layer: Layer) -> TaskState:
        number = next(self._numbers)
        task = TaskState(number, key, layer)
        self.tasks[key] = self.by_number[number] = task
        layer.total += 1  # as `layer.count` does; called for each task
        layer.counts[RELEASED] += 1
        self.changed_layers.add(layer)
        return task

    def _layers_built_elsewhere(self, labels: dict[str, tuple[str, str]]) -> dict[str, str]:
        """Return the user's line for known layers that this graph adds tasks to from another line."""
        known = ((self.layers[name], origin) for name, (_, origin) in labels.items() if name in self.layers)
        return {layer.name: origin for layer, origin in known if origin != layer.origin}

    def _begin_anew(self, task: TaskState) -> None:
        """A result that was let go is made once more: its task doesn't count as done meanwhile."""
        if task.was_held:
            task.was_held = False
            task.layer.n_released -= 1

    def _set_state(self, task: TaskState, state: State) -> None:
        counts = task.layer.counts
        counts[task.state] -= 1
        counts[state] += 1
        task.state = state
        self.changed_layers.add(task.layer)

    def _leave_worker(self, task: TaskState) -> None:
        worker = task.worker
        if worker is not None:
            worker.running.pop(task, None)
            if task.n_missing_inputs:
                task.n_missing_inputs = 0
                worker.n_ahead -= 1
            if worker.seceded:
                worker.seceded.discard(task.number)
            if worker.asked_back:
                worker.asked_back.discard(task.number)
            if worker.claims:
                unclaim(worker, task.number)
            if worker.running:
                worker.occupancy_s = max(0.0, worker.occupancy_s - task.estimate_s)
            else:
                worker.occupancy_s = 0.0
            if worker.reserved and task.is_on_last_chance:
                worker.reserved = False
            task.worker = None
            self._may_have_room[worker] = None

    def _publish(self, task: TaskState) -> None:
        assert task.owner is not None
        if task not in task.owner.publishing:
            task.owner.publishing[task] = None
            self._actions.publish[task.owner].append(task)

    def _end_search(self, task: TaskState) -> None:
        """Whoever wants to read the result can now be answered."""
        if task in self._sought:
            del self._sought[task]
            self._actions.located.append(task)
