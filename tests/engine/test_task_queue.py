"""The queue of a worker's tasks: who goes, who waits for whom, and who is given back."""

from __future__ import annotations

import pytest
from glassloom.protocol.messages import RunTask
from glassloom.worker.task_queue import TaskQueue
from hypothesis import given
from hypothesis import strategies as st


def task(number: int, *reads: int, location: bytes | None = None, priority: int = 0) -> RunTask:
    return RunTask(number, 0, b"", [(dep, location) for dep in reads], priority)


ONE, TWO = task(1), task(2)


def queue_of(*tasks: RunTask) -> TaskQueue:
    queue = TaskQueue()
    for each in tasks:
        queue.put(each)
    return queue


def taken(queue: TaskQueue) -> list[int]:
    """Return the tasks that can begin, in order; they have begun then."""
    numbers = []
    queue.wake()  # so that taking ends
    while (each := queue.get()) is not None:
        numbers.append(each.number)
    return numbers


def test_tasks_go_in_the_order_in_which_they_came() -> None:
    assert taken(queue_of(task(3), task(1), task(2))) == [3, 1, 2]


def test_a_task_waits_for_the_inputs_that_are_made_here_and_follows_the_last_of_them() -> None:
    queue = queue_of(ONE, TWO, task(3, 1, 2))
    assert taken(queue) == [1, 2]
    assert queue.ended(ONE) is None
    following = queue.ended(TWO)
    assert following is not None and following.number == 3
    assert taken(queue) == []


def test_what_others_can_begin_too_goes_back_to_the_queue() -> None:
    queue = queue_of(ONE, task(2, 1), task(3, 1))
    assert taken(queue) == [1]
    following = queue.ended(ONE)
    assert following is not None and following.number == 2
    assert taken(queue) == [3]


@pytest.mark.parametrize("reader", [task(2, 1, location=b"there"), task(2, 7)], ids=["reachable", "held"])
def test_an_input_that_nothing_here_makes_is_not_waited_for(reader: RunTask) -> None:
    assert taken(queue_of(ONE, reader)) == [1, 2]


def test_tasks_that_have_not_begun_are_recalled_with_all_that_waits_for_them() -> None:
    queue = queue_of(ONE, task(2, 1), task(3, 2), task(4))
    assert sorted(queue.recall([1, 9])) == [1, 2, 3]
    assert (taken(queue), len(queue)) == ([4], 1)


def test_a_task_that_has_begun_cannot_be_recalled() -> None:
    queue = queue_of(ONE, task(2, 1))
    assert taken(queue) == [1]
    assert queue.recall([1]) == []
    assert queue.recall_all() == [2]
    assert queue.ended(ONE) is None


def test_what_waits_for_a_task_that_failed_is_given_back() -> None:
    queue = queue_of(ONE, task(2, 1), task(3, 2, 1))
    assert taken(queue) == [1]
    assert sorted(queue.gave_up(ONE)) == [2, 3]
    assert (taken(queue), len(queue)) == ([], 0)


def test_a_recalled_task_may_come_again() -> None:
    queue = queue_of(ONE, task(2, 1))
    queue.recall([2])
    queue.put(task(2, 1))
    assert taken(queue) == [1]
    following = queue.ended(ONE)
    assert following is not None and following.number == 2
    assert queue.recall([2]) == []  # it has begun


def test_a_task_that_was_taken_and_put_back_goes_again() -> None:
    queue = queue_of(ONE, TWO)
    first = queue.get()
    assert first is not None
    queue.put_back(first)
    assert queue.recall([1]) == [1]
    queue.put(first)
    assert taken(queue) == [2, 1]


def test_what_follows_gives_way_to_tasks_of_priority() -> None:
    queue = queue_of(ONE, task(2, 1))
    assert taken(queue) == [1]
    queue.put(task(3, priority=1))
    assert queue.ended(ONE) is None
    assert taken(queue) == [3, 2]


@given(st.lists(st.one_of(st.integers(-1, 3), st.sampled_from(["get", "recall", "recall all", "wake"]))))
def test_the_highest_priority_goes_first_then_the_earliest(steps: list[int | str]) -> None:
    queue, books, n_wakes = TaskQueue(), [], 0
    for number, step in enumerate(steps):
        if isinstance(step, int):
            queue.put(task(number, priority=step))
            books.append((-max(step, 0), number))
        elif step == "recall all":
            assert sorted(queue.recall_all()) == sorted(number for _, number in books)
            books.clear()
        elif step == "recall" and books:
            assert queue.recall([books[0][1]]) == [books.pop(0)[1]]
        elif step == "wake":
            queue.wake()
            n_wakes += 1
        elif step == "get" and (books or n_wakes):
            found = queue.get()
            if found is None:
                assert n_wakes > 0
                n_wakes -= 1
                continue
            best = min(books)
            assert (-max(found.priority, 0), found.number) == best or not best[0]
            books.remove((-max(found.priority, 0), found.number))
            queue.ended(found)
        assert len(queue) == len(books)


def test_a_task_that_is_sent_again_before_its_end_was_noted_stays() -> None:
    queue = queue_of(ONE)
    assert taken(queue) == [1]
    again = task(1)
    queue.put(again)
    assert queue.ended(ONE) is None
    assert queue.get() is again
