"""What a client wishes for tasks that are known: to give them up, or to try them again, with regard to what others want."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from glassloom.graph.keys import Key
from glassloom.head.connections import ClientConnection
from glassloom.protocol import messages
from glassloom.scheduler import Scheduler, State, TaskState

_UNDER_WAY = frozenset([State.WAITING, State.READY, State.STAGING, State.RUNNING])


def cancel_tasks(scheduler: Scheduler, client: ClientConnection, message: messages.Cancel) -> None:
    """Give tasks up; without force, the client only lets go of those that others want, or build upon."""
    if message.force:
        scheduler.cancel(message.keys)
        return
    theirs: list[Key] = []
    given_up: list[Key] = []
    for key in scheduler.cancel_in_blocks_of(client, message.keys):
        task = scheduler.tasks.get(key)
        (theirs if task is not None and is_wanted_by_others(scheduler, task, client) else given_up).append(key)
    scheduler.cancel(given_up)
    if theirs:
        scheduler.release(client, theirs)
        client.send(messages.KeysCancelled(theirs, client.n_handled))


def cancel_everything(
    scheduler: Scheduler, client: ClientConnection, *, force: bool, runs: Container[int] | None = None
) -> int:
    """Give up all unfinished tasks that the client wants, with `force` those of all clients; return how many are given up.

    Parameters
    ----------
    runs
        Numbers of the runs whose tasks are meant; None: all.
    """
    before = _n_under_way(scheduler)
    wanted = scheduler.keys_under_way_in_blocks(None if force else client, runs)
    wanted += [
        task.key
        for task in scheduler.individual_tasks.values()
        if task.clients
        and task.state in _UNDER_WAY
        and (force or client in task.clients)
        and (runs is None or task.layer.run in runs)
    ]
    cancel_tasks(scheduler, client, messages.Cancel(wanted, force))
    return before - _n_under_way(scheduler)


def _n_under_way(scheduler: Scheduler) -> int:
    counts = scheduler.layer_table.counts()
    return sum(counts[state] for state in _UNDER_WAY)


def retry_tasks(scheduler: Scheduler, client: ClientConnection, keys: list[Key]) -> None:
    """Hand failed tasks in once more, with all that failed below them."""
    failed = dict.fromkeys([*failed_below(scheduler, keys), *keys])
    known = [key for key in failed if key in scheduler.tasks]
    scheduler.submit(client, known, [None] * len(known), [()] * len(known), wanted=keys)


def is_wanted_by_others(scheduler: Scheduler, task: TaskState, client: Any) -> bool:
    """Tell whether anybody but `client` wants the task's result, or that of a task under way that depends on it."""
    if not task.dependents:
        return len(task.clients) > 1 or client not in task.clients if task.clients else False
    stack, seen = [task], {task}
    while stack:
        task = stack.pop()
        if task.clients and (len(task.clients) > 1 or client not in task.clients):
            return True
        new = [other for other in scheduler.dependents_under_way(task) if other not in seen]
        seen.update(new)
        stack.extend(new)
    return False


def failed_below(scheduler: Scheduler, keys: Iterable[Key]) -> list[Key]:
    """Return the keys of the failed tasks that the tasks of these keys depend on, directly or not."""
    stack = [scheduler.tasks[key] for key in keys if key in scheduler.tasks]
    found: dict[TaskState, None] = {}
    while stack:
        new = [dep for dep in stack.pop().deps if dep.state is State.ERRED and dep not in found]
        found.update(dict.fromkeys(new))
        stack.extend(new)
    return [task.key for task in found]
