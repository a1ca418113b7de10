"""The queue of a worker's tasks: who goes, who waits for whom, and who is given back."""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue

import pytest
from glassloom.protocol.messages import RunSlice, RunTask
from glassloom.worker.slice_tasks import SliceTasks
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
        numbers.append(each.todo.popitem()[0] if isinstance(each, SliceTasks) else each.number)
    return numbers


def slice_of(first: int, n: int, priority: int = 0) -> RunSlice:
    return RunSlice(first, 0, [b"%d" % number for number in range(n)], priority)


def test_tasks_go_in_the_order_in_which_they_came() -> None:
    assert taken(queue_of(task(3), task(1), task(2))) == [3, 1, 2]


def test_a_task_waits_for_the_inputs_that_are_made_here_and_follows_the_last_of_them() -> None:
    queue = queue_of(ONE, TWO, task(3, 1, 2))
    assert taken(queue) == [1, 2]
    assert queue.ended(ONE.number, ONE) is None
    following = queue.ended(TWO.number, TWO)
    assert following is not None and following.number == 3
    assert taken(queue) == []


def test_what_others_can_begin_too_goes_back_to_the_queue() -> None:
    queue = queue_of(ONE, task(2, 1), task(3, 1))
    assert taken(queue) == [1]
    following = queue.ended(ONE.number, ONE)
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
    assert queue.ended(ONE.number, ONE) is None


def test_what_waits_for_a_task_that_failed_is_given_back() -> None:
    queue = queue_of(ONE, task(2, 1), task(3, 2, 1))
    assert taken(queue) == [1]
    assert sorted(queue.gave_up(ONE.number, ONE)) == [2, 3]
    assert (taken(queue), len(queue)) == ([], 0)


def test_a_recalled_task_may_come_again() -> None:
    queue = queue_of(ONE, task(2, 1))
    queue.recall([2])
    queue.put(task(2, 1))
    assert taken(queue) == [1]
    following = queue.ended(ONE.number, ONE)
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
    assert queue.ended(ONE.number, ONE) is None
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
            assert not isinstance(found, SliceTasks)
            if found is None:
                assert n_wakes > 0
                n_wakes -= 1
                continue
            best = min(books)
            assert (-max(found.priority, 0), found.number) == best or not best[0]
            books.remove((-max(found.priority, 0), found.number))
            queue.ended(found.number, found)
        assert len(queue) == len(books)


def test_a_task_that_is_sent_again_before_its_end_was_noted_stays() -> None:
    queue = queue_of(ONE)
    assert taken(queue) == [1]
    again = task(1)
    queue.put(again)
    assert queue.ended(ONE.number, ONE) is None
    assert queue.get() is again


# Slices


def with_slice(*before: RunTask, first: int = 10, n: int = 4) -> tuple[TaskQueue, SliceTasks]:
    """Return a queue with some tasks and a slice, having taken the tasks."""
    queue = queue_of(*before)
    for _ in before:
        queue.get()
    queue.put_slice(slice_of(first, n))
    tasks = queue.get()
    assert isinstance(tasks, SliceTasks)
    return queue, tasks


def test_the_tasks_of_a_slice_go_in_their_order_and_place() -> None:
    queue = queue_of(ONE)
    queue.put_slice(slice_of(10, 3))
    queue.put(TWO)
    assert len(queue) == 5
    assert taken(queue) == [1, 10, 11, 12, 2]
    assert queue.empty()


def test_each_task_of_a_slice_has_its_own_call_and_literals() -> None:
    tasks = SliceTasks(RunSlice(10, [7, 8], [b"a", b"b"]))
    assert (tasks.todo.popitem(), tasks.call_of(10)) == ((10, b"a"), 7)
    assert (tasks.todo.popitem(), tasks.call_of(11)) == ((11, b"b"), 8)


def test_lanes_share_a_slice_until_its_last_task_has_begun() -> None:
    queue, tasks = with_slice(n=2)
    assert queue.get() is tasks
    tasks.todo.popitem()
    assert queue.get() is tasks
    tasks.todo.popitem()
    assert (queue.empty(), len(queue)) == (True, 2)
    queue.ended(10, tasks)
    tasks.left.discard(11)
    assert len(queue) == 0


def test_a_lane_that_waits_gets_a_slice_that_comes() -> None:
    queue, got = TaskQueue(), SimpleQueue[object]()
    lanes = [threading.Thread(target=lambda: got.put(queue.get())) for _ in range(3)]
    for lane in lanes:
        lane.start()
    while queue._n_waiting < 3:
        time.sleep(0.001)
    queue.put_slice(slice_of(10, 2))
    assert isinstance(got.get(timeout=60), SliceTasks)
    assert isinstance(got.get(timeout=60), SliceTasks)
    queue.recall_all()
    queue.wake()
    assert got.get(timeout=60) is None
    for lane in lanes:
        lane.join()


def test_tasks_in_the_middle_of_a_slice_are_recalled() -> None:
    queue, tasks = with_slice(n=5)
    tasks.todo.popitem()
    assert queue.recall([10, 12, 13, 99]) == [12, 13]
    assert queue.recall([12]) == []
    assert (len(queue), taken(queue)) == (3, [11, 14])


def test_all_tasks_of_a_slice_that_have_not_begun_are_recalled() -> None:
    queue, tasks = with_slice(n=4)
    tasks.todo.popitem()
    queue.put(ONE)
    queue.put(task(2, 12))
    assert sorted(queue.recall_all()) == [1, 2, 11, 12, 13]
    assert (len(queue), taken(queue)) == (1, [])


def test_a_task_waits_for_one_of_a_slice_and_follows_it() -> None:
    queue, tasks = with_slice(n=3)
    queue.put(task(2, 11))
    assert queue.readers
    assert [tasks.todo.popitem()[0] for _ in range(2)] == [10, 11]
    assert queue.ended(10, tasks) is None
    following = queue.ended(11, tasks)
    assert following is not None and following.number == 2
    assert not queue.readers


def test_a_task_does_not_wait_for_one_of_a_slice_that_has_ended() -> None:
    queue, tasks = with_slice(n=3)
    tasks.todo.popitem()
    tasks.left.discard(10)
    queue.put(task(2, 10))
    assert not queue.readers
    assert taken(queue) == [11, 12, 2]


def test_what_waits_for_a_task_of_a_slice_goes_with_it() -> None:
    queue, tasks = with_slice(n=3)
    queue.put_all([task(2, 11), task(3, 12), task(4, 10)])
    tasks.todo.popitem()
    assert queue.gave_up(10, tasks) == [4]
    assert sorted(queue.recall([11])) == [2, 11]
    assert sorted(queue.recall_all()) == [3, 12]
    assert (len(queue), queue.readers) == (0, {})


def test_a_slice_of_priority_goes_before_others_and_gives_way_to_higher_ones() -> None:
    queue, _ = with_slice(n=2)
    queue.put_slice(slice_of(20, 2, priority=1))
    queue.put(task(1, priority=2))
    queue.put(task(2, priority=1))
    assert taken(queue) == [1, 20, 21, 2, 10, 11]


def test_a_task_of_a_slice_that_is_sent_again_before_its_end_was_noted_stays() -> None:
    queue, tasks = with_slice(n=1)
    tasks.todo.popitem()
    again = task(10)
    queue.put(again)
    queue.ended(10, tasks)
    assert (queue.get(), len(queue)) == (again, 1)
