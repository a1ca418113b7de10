"""`ClientTable`: which client wants which results."""

from __future__ import annotations

from typing import Any

from glassloom.scheduler.state import TaskState


class ClientTable:
    """Who wants what, both ways: ``task.clients`` and `tasks_of`. All tasks of a client alone share one tuple."""

    def __init__(self) -> None:
        self._tasks: dict[Any, dict[TaskState, None]] = {}
        self._alone: dict[Any, tuple[Any]] = {}

    def add(self, client: Any, task: TaskState) -> None:
        """Let a client want a task's result."""
        tasks = self._tasks.get(client)
        if tasks is None:
            tasks = self._tasks[client] = {}
            self._alone[client] = (client,)
        tasks[task] = None
        if not task.clients:
            task.clients = self._alone[client]
        elif client not in task.clients:
            task.clients = (*task.clients, client)

    def discard(self, client: Any, task: TaskState) -> None:
        """Let a client want a task's result no more, if it did."""
        if len(task.clients) == 1:
            if task.clients[0] == client:
                task.clients = ()
        else:
            task.clients = tuple([other for other in task.clients if other != client])
        self._forget(client, task)

    def clear(self, task: TaskState) -> None:
        """Let nobody want a task's result any more."""
        clients, task.clients = task.clients, ()
        for client in clients:
            self._forget(client, task)

    def tasks_of(self, client: Any) -> list[TaskState]:
        """Return the tasks whose results a client wants."""
        return list(self._tasks.get(client, ()))

    def _forget(self, client: Any, task: TaskState) -> None:
        tasks = self._tasks.get(client)
        if tasks is not None:
            tasks.pop(task, None)
            if not tasks:
                del self._tasks[client], self._alone[client]
