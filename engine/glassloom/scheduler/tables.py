"""`Tables`: what the scheduler knows, and what is to be done. It decides nothing."""

from __future__ import annotations

import math
from typing import Any

from glassloom.graph.keys import Key
from glassloom.scheduler.actions import Actions
from glassloom.scheduler.client_table import ClientTable
from glassloom.scheduler.layers import Layer, LayerTable
from glassloom.scheduler.state import TaskState, WorkerState
from glassloom.scheduler.states import RELEASED


class Tables:
    """The tasks, layers, clients and workers that there are, and what has yet to be decided about them."""

    def __init__(self) -> None:
        self.tasks: dict[Key, TaskState] = {}
        self.by_number: dict[int, TaskState] = {}
        self.workers: dict[int, WorkerState] = {}
        self.layers = LayerTable()
        self.clients = ClientTable()
        self.actions = Actions()
        """What is to be done when the events so far are taken in."""
        self.may_have_room: dict[WorkerState, None] = {}
        """Workers that may be able to run more."""
        self.may_go_ahead: list[Any] = []
        """Waiting tasks one of whose inputs has just begun, and blocks of such tasks, which stay where they are."""
        self.complete: list[Any] = []
        """Waiting tasks, and blocks of such tasks, the last of whose inputs has just come."""
        self.to_review: list[TaskState] = []
        """Tasks that may not be needed any more."""
        self.stopping: dict[TaskState, None] = {}
        """Tasks that were stopped and whose worker hasn't answered for them yet."""
        self.sought: dict[TaskState, None] = {}
        """Tasks whose result is waited for by a reader."""
        self.n_lost: dict[TaskState, int] = {}
        """How often the result of a known task couldn't be read where every process reads it, if it couldn't."""
        self.now_s = math.nan
        """When the events happen that are taken in now, as the runtime says."""
        self.n_sent = 0
        """How often a task, or a slice of a block, was sent to a worker."""
        self._next_number = 0

    def known_or_new(self, key: Key, labels: dict[str, tuple[str, str]] | None, run: int) -> TaskState:
        """Return the task of a key that a client has handed in. Data that was lost becomes a task of its key's layer."""
        task = self.tasks.get(key)
        if task is None:
            return self.new_task(key, self.layers.of(key, labels, run))
        if task.layer is self.layers.data and task.state is RELEASED:
            begin_anew(task)
            self.layers.remove(task.layer)
            task.layer = self.layers.of(key, labels, run)
            self.layers.add(task.layer)
        return task

    def new_task(self, key: Key, layer: Layer) -> TaskState:
        """Return a new task."""
        number = self.take_numbers(1)
        task = self.tasks[key] = self.by_number[number] = TaskState(number, key, layer)
        self.layers.add(layer)
        return task

    def take_numbers(self, count: int) -> int:
        """Return the first of so many numbers, which no task has had."""
        number = self._next_number
        self._next_number += count
        return number

    def take_sent_number(self) -> int:
        """Return the number of the next sending."""
        self.n_sent += 1
        return self.n_sent

    def publish(self, task: TaskState) -> None:
        """Ask the worker that holds a result to put it where every process can reach it."""
        owner = task.owner
        assert owner is not None
        if task not in owner.publishing:
            owner.publishing[task] = None
            self.actions.publish[owner].append(task)

    def end_search(self, task: TaskState) -> None:
        """Answer the readers that wait for a result, if there are any."""
        if task in self.sought:
            del self.sought[task]
            self.actions.located.append(task)


def begin_anew(task: TaskState) -> None:
    """Make a result that was let go once more: the task doesn't count as done meanwhile."""
    if task.was_held:
        task.was_held = False
        task.layer.n_released -= 1
