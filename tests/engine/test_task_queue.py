"""A worker's queue: in the order of coming, but for tasks of priority; checked against a sorted list."""

from __future__ import annotations

from glassloom.runtime.messages import RunTask
from glassloom.runtime.task_queue import TaskQueue
from hypothesis import given
from hypothesis import strategies as st


def task(number: int, priority: int = 0) -> RunTask:
    return RunTask(number, 0, b"", [], priority)


@given(st.lists(st.one_of(st.integers(-1, 3), st.just("get"), st.just("take all"))))
def test_the_highest_priority_goes_first_then_the_earliest(steps: list[int | str]) -> None:
    queue, books = TaskQueue(), []
    for number, step in enumerate(steps):
        if isinstance(step, int):
            queue.put(task(number, step))
            books.append((-max(step, 0), number))
        elif step == "take all":
            assert sorted(item.number for item in queue.take_all()) == sorted(number for _, number in books)
            books.clear()
        elif books:
            taken = queue.get()
            assert taken is not None
            best = min(books)
            assert (-max(taken.priority, 0), taken.number) == best or not best[0]
            books.remove((-max(taken.priority, 0), taken.number))
        assert (queue.qsize(), queue.empty()) == (len(books), not books)


def test_ordinary_tasks_keep_their_order() -> None:
    queue = TaskQueue()
    for number in range(3):
        queue.put(task(number))
    assert [queue.get() for _ in range(3)] == [task(0), task(1), task(2)]


def test_a_wake_is_not_lost_when_all_is_taken() -> None:
    queue = TaskQueue()
    queue.put(task(1, 5))
    queue.wake()
    queue.put(task(2))
    assert queue.take_all() == [task(1, 5), task(2)]
    assert (queue.qsize(), queue.get()) == (1, None)
