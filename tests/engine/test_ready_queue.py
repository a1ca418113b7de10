"""The queue of ready tasks: whatever order they come in, the best goes first."""

from __future__ import annotations

import pytest
from glassloom.scheduler import Layer, State, TaskState
from glassloom.scheduler.ready_queue import ReadyQueue
from hypothesis import given
from hypothesis import strategies as st

LARGE_BYTES = 10**6

pushes = st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=30)
"""Of each task the priority, and whether its result is large."""


def _pushed(queue: ReadyQueue, number: int, priority: int, is_large: bool) -> TaskState:
    task = TaskState(number, f"task-{number}", Layer(number, "task", "task", ""))
    task.state, task.priority, task.stamp = State.READY, priority, number
    task.layer.learnt.add(1.0, LARGE_BYTES if is_large else 0)
    queue.push(task)
    return task


def _best(tasks: list[TaskState]) -> TaskState | None:
    return min(tasks, key=lambda task: (task.priority, task.stamp), default=None)


@given(pushes, st.data())
def test_the_best_that_is_allowed_comes_first_whatever_came_before(
    pushes: list[tuple[int, bool]], data: st.DataObject
) -> None:
    queue, tasks = ReadyQueue(), []
    for number, (priority, is_large) in enumerate(pushes):
        tasks.append(_pushed(queue, number, priority, is_large))
        if data.draw(st.booleans()):
            tasks.pop(data.draw(st.integers(0, len(tasks) - 1))).state = State.RELEASED  # it has moved on
        shrinking = data.draw(st.booleans())
        if data.draw(st.booleans()):
            queue.reconsider()
        best = queue.first(shrinking)
        allowed = [task for task in tasks if not shrinking or task.layer.nbytes != LARGE_BYTES]
        assert (best and best[2]) is _best(allowed)
        if best is not None and data.draw(st.booleans()):
            tasks.remove(queue.take(best))
    assert sorted(queue.take_all()) == sorted(tasks)
    assert (len(queue), queue.first(False)) == (0, None)


@pytest.mark.parametrize("priorities", [[3, 2, 1], [1, 2, 3], [2, 1, 3, 0]])
def test_tasks_leave_by_priority(priorities: list[int]) -> None:
    queue = ReadyQueue()
    for number, priority in enumerate(priorities):
        _pushed(queue, number, priority, False)
    left = []
    while (best := queue.first(False)) is not None:
        left.append(queue.take(best).priority)
    assert left == sorted(priorities)
