"""Tasks that are asked back from workers that are slower than was expected: each decision of the scheduler by example, events in, the actions in full out."""

from __future__ import annotations

from glassloom.scheduler import State
from scheduler_bench import LONG_S, SHORT_S, Bench, blocks, learn_duration

__all__ = ["blocks"]


def queue_ten_that_last(bench: Bench) -> None:
    """Queue ten tasks that were short before on worker 0; worker 1 comes afterwards."""
    learn_duration(bench, "x")
    bench.submit({f"x-{n}": [] for n in range(10)}, [f"x-{n}" for n in range(10)])
    assert len(bench.act()["run"][0]) == 10
    assert bench.rebalance(0.1) is False
    bench.worker_joined(1, "w1", 1)
    bench.act()


def test_an_idle_worker_gets_what_a_slow_one_has_queued() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    assert bench.rebalance(0.1) is True
    assert sorted(bench.act()["recall"][0]) == [f"x-{n}" for n in range(1, 10)]
    bench.recalled(0, [bench.number(f"x-{n}") for n in range(1, 10)])
    bench.scheduler.layers["x"].learnt.duration_s = LONG_S
    assert bench.act() == {"run": {1: ["x-1"]}}


def test_a_task_is_asked_back_once_and_a_slow_worker_is_not_filled_again() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    bench.rebalance(0.1)
    bench.act()
    bench.rebalance(0.1)
    assert bench.act() == {"recall": {0: ["x-0"]}}  # as if it hadn't begun that either
    assert bench.rebalance(0.1) is False
    bench.recalled(0, [bench.number(f"x-{n}") for n in range(1, 10)])
    assert list(bench.act()["run"]) == [1]
    assert bench.rebalance(0.1) is False


def test_what_is_asked_back_was_sent_last_in_whichever_order_tasks_left_their_block() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    assert bench.scheduler.tasks["x-5"].state is State.RUNNING  # looked up, it leaves its block before the others
    assert bench.rebalance(0.1) is True
    assert bench.act()["recall"][0] == [f"x-{n}" for n in range(9, 0, -1)]
    assert [task.key for task in bench.scheduler.tasks_on(0)[0]] == [f"x-{n}" for n in range(10)]


def test_a_task_that_was_not_given_back_does_not_keep_the_others_there() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    bench.rebalance(0.1)
    bench.act()
    bench.recalled(0, [bench.number(f"x-{n}") for n in range(1, 9)])  # for some reason it has begun x-9
    bench.worker_joined(2, "w2", 20)
    bench.act()
    assert bench.rebalance(0.1) is True
    assert bench.act()["recall"] == {0: ["x-0"]}


def test_tasks_before_another_on_its_worker_are_those_that_were_sent_earlier() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    task = bench.scheduler.tasks["x-5"]
    n_individual = sum(other.turn < task.turn for other in bench.scheduler.workers[0].running)
    assert bench.count_before(task) + n_individual == 5


def test_a_worker_that_was_sent_tasks_just_before_a_look_is_not_slow() -> None:
    bench = Bench(1)
    learn_duration(bench, "x", duration_s=0.001)
    keys = [f"x-{n}" for n in range(20)]
    bench.submit({key: [] for key in keys}, keys)
    n_sent = len(bench.act()["run"][0])
    assert bench.rebalance(0.1) is False
    bench.finish(0, *keys[:6], duration_s=0.001)
    assert bench.act()["run"] == {0: keys[n_sent : n_sent + 6]}


def test_a_fast_worker_keeps_its_queue() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    bench.finish(0, *[f"x-{n}" for n in range(5)], duration_s=SHORT_S)
    assert bench.rebalance(0.1) is False


def test_nothing_is_asked_back_while_all_are_busy() -> None:
    bench = Bench(1)
    learn_duration(bench, "x")
    bench.submit({f"x-{n}": [] for n in range(10)}, [f"x-{n}" for n in range(10)])
    bench.act()
    assert bench.rebalance(0.1) is False


def test_a_task_that_had_begun_when_it_was_asked_back_simply_ends() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    bench.rebalance(0.1)
    bench.act()
    bench.finish(0, "x-9", duration_s=LONG_S)
    assert bench.act()["finished"] == {"me": ["x-9"]}
    assert bench.number("x-9") not in bench.scheduler.workers[0].asked_back


def test_a_retiring_worker_is_asked_for_what_it_has_not_begun() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    bench.retire(0)
    assert len(bench.act()["recall"][0]) == 10
    bench.recalled(0, [bench.number(f"x-{n}") for n in range(1, 10)])
    assert list(bench.act()["run"]) == [1]


def test_a_task_known_to_last_is_moved_even_out_of_the_next_round() -> None:
    bench = Bench(1)
    learn_duration(bench, "b", duration_s=LONG_S)
    bench.worker_joined(1, "w1", 1)
    bench.submit({"a": []}, ["a"])
    bench.act()
    bench.finish(0, "a")
    bench.submit({"b-0": ["a"], "b-1": ["a"]}, ["b-0", "b-1"])
    assert bench.act()["publish"] == {0: ["a"]}
    assert bench.scheduler.tasks["b-1"].worker is bench.scheduler.workers[1]
