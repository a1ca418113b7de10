"""The tasks of a tree: all blocks of a node joined to one, some at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from glassloom.graph import Key, Task, TaskRef


def tree_tasks(
    name: str,
    title: str,
    keys: Sequence[Key],
    combine: Callable[[list[Any]], Any],
    finish: Callable[[list[Any]], Any],
    split_every: int,
) -> dict[Key, Task]:
    """Return the tasks that reduce blocks to the block ``(name, 0)``. Lists of blocks keep their order.

    Parameters
    ----------
    name
        The name of the node.
    title
        What the tasks on the way are called.
    keys
        The blocks.
    combine
        Joins up to `split_every` blocks.
    finish
        Makes the result of the last of them.
    split_every
        2 or more.
    """
    tasks: dict[Key, Task] = {}
    level, token = 0, name.rpartition("-")[2]
    while len(keys) > split_every:
        joined: list[Key] = []
        for number, start in enumerate(range(0, len(keys), split_every)):
            key: Key = (f"{title}-combine-{token}", level, number)
            tasks[key] = Task(key, combine, ([TaskRef(below) for below in keys[start : start + split_every]],))
            joined.append(key)
        keys, level = joined, level + 1
    tasks[name, 0] = Task((name, 0), finish, ([TaskRef(key) for key in keys],))
    return tasks
