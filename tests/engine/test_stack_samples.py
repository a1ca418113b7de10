"""The parts of the statistical profile: stacks without the engine's frames, samples whose worth adds up, bounded tables."""

from __future__ import annotations

import math
import sys
import threading
from types import FrameType

import pytest
from glassloom.sampling.profile_writer import ProfileWriter
from glassloom.sampling.stack_sampler import MAX_SHARE, SampledThread, StackSampler
from glassloom.sampling.stack_samples import MAX_ROWS, MAX_STACKS, StackSamples
from glassloom.sampling.task_stacks import COMPILED, ENGINE, MAX_FRAMES, NOT_SEEN, TaskStacks
from glassloom_metrics import snapshot
from glassloom_metrics.call_tree import UNKNOWN_STACK, SampledStacks, profile_of
from glassloom_metrics.profile import OTHER, Profile, Stacks
from glassloom_metrics.protocol import PROTOCOL_VERSION, Hello, Layers, decode
from glassloom_metrics.recorder import Recorder

HERE = __file__


def call_task(function, *args):
    """Stand in for what calls a task's function."""
    return function(*args)


def engine_part(function):
    return function()


def users_function():
    return engine_part(users_other)


def users_other() -> FrameType:
    return sys._getframe()


def names_of(frame: FrameType, is_engine=lambda name: False) -> list[str]:
    return [name for name, _, _ in TaskStacks([call_task.__code__], is_engine).of(frame)]


def test_a_stack_begins_with_the_tasks_function_and_tells_the_line_that_runs():
    frame = call_task(users_function)
    code = users_function.__code__
    stack = TaskStacks([call_task.__code__], lambda name: False).of(frame)
    assert [name for name, _, _ in stack] == ["users_function", "engine_part", "users_other"]
    assert stack[0] == ("users_function", HERE, code.co_firstlineno + 1)


def test_frames_of_the_engine_are_left_out_but_the_innermost_where_there_is_no_other():
    namespace: dict = {"sys": sys}
    exec(compile("def run(function):\n    return function()", "/engine/run.py", "exec"), namespace)
    exec(compile("def leaf():\n    return sys._getframe()", "/engine/leaf.py", "exec"), namespace)

    def is_engine(name: str) -> bool:
        return name.startswith("/engine/")

    def users() -> FrameType:
        return namespace["run"](users_other)

    assert names_of(call_task(users), is_engine)[-1] == "users_other"
    assert "run" not in names_of(call_task(users), is_engine)
    assert names_of(call_task(namespace["run"], namespace["leaf"]), is_engine) == ["leaf"]


def test_a_task_that_runs_tasks_is_seen_from_its_own_function_on():
    def outer() -> FrameType:
        return call_task(users_other)

    assert names_of(call_task(outer))[0].endswith("outer")


def test_a_thread_that_is_not_in_the_tasks_function_is_in_the_engine_or_in_compiled_code():
    stacks = TaskStacks([call_task.__code__], lambda name: False)
    assert stacks.of(users_other()) == ENGINE
    assert stacks.of(call_task(lambda: sys._getframe(1))) == COMPILED
    assert stacks.of(call_task(call_task, lambda: sys._getframe(1))) == COMPILED


def test_a_very_deep_stack_is_told_from_its_beginning_to_a_bound():
    def down(depth: int) -> FrameType:
        return down(depth - 1) if depth else sys._getframe()

    stack = TaskStacks([call_task.__code__], lambda name: False).of(call_task(down, 500))
    assert len(stack) == MAX_FRAMES + 1
    assert stack[-1] == ("(deeper)", "", 0)


def stack_of(*functions: str, file: str = "a.py"):
    return tuple((function, file, number) for number, function in enumerate(functions, 1))


def test_a_stack_is_told_once_and_samples_of_a_task_with_it_are_summed_up():
    samples = StackSamples()
    samples.add(7, stack_of("f", "g"), 1.0, 0.25)
    samples.add(7, stack_of("f", "g"), 2.0, 0.5)
    samples.add(8, stack_of("f", "h"), 2.0, 0.5)
    taken = samples.take()
    assert (taken.first, taken.functions, taken.parents, taken.lines) == (0, ["f", "g", "h"], [OTHER, 0, 0], [1, 2, 2])
    assert (taken.tasks, taken.stacks, taken.samples, taken.seconds) == ([7, 8], [1, 2], [2, 1], [0.75, 0.5])
    assert (taken.start_s, taken.stop_s) == (0.75, 2.0)
    assert samples.take() is None
    samples.add(9, stack_of("f", "g", "i"), 3.0, 0.5)
    again = samples.take()
    assert (again.first, again.functions, again.parents, again.stacks) == (3, ["i"], [1], [3])


def test_more_stacks_than_are_told_apart_lose_no_sample():
    samples = StackSamples()
    for number in range(3 * MAX_ROWS):
        samples.add(number, stack_of(f"f{number}"), float(number), 1.0)
    taken = samples.take()
    assert len(taken.tasks) <= 2 * MAX_ROWS + 1
    assert (sum(taken.samples), sum(taken.seconds)) == (3 * MAX_ROWS, 3.0 * MAX_ROWS)
    assert taken.stacks.count(OTHER) > 0


def test_a_table_of_too_many_stacks_begins_anew():
    samples = StackSamples()
    for number in range(MAX_STACKS + 1):
        samples.add(1, stack_of(f"f{number}"), 0.0, 1.0)
    samples.take()
    samples.add(1, stack_of("f1"), 0.0, 1.0)
    taken = samples.take()
    assert (taken.first, taken.functions, taken.stacks) == (0, ["f1"], [0])


def test_names_that_are_not_valid_text_or_very_long_are_told_as_far_as_they_can_be():
    samples = StackSamples()
    samples.add(1, (("f" * 10_000, "\udcff.py", 3),), 0.0, 1.0)
    taken = samples.take()
    assert (taken.functions, taken.files) == (["f" * 500], ["\\udcff.py"])


class Threads:
    """What a sampler is told of threads, and how often it has asked."""

    def __init__(self, *threads: SampledThread) -> None:
        self.threads = list(threads)
        self.asked = 0

    def __call__(self) -> list[SampledThread]:
        self.asked += 1
        return self.threads


def sampler_of(threads: Threads, interval_s: float = 0.01) -> StackSampler:
    stacks = TaskStacks([call_task.__code__], lambda name: False)
    return StackSampler(interval_s, threads, lambda: bool(threads.threads), stacks)


def this_thread(task: int, busy_s: float, runs: bool = True) -> SampledThread:
    return SampledThread(threading.get_ident(), task, busy_s, runs)


def look(sampler: StackSampler, *threads: SampledThread, at_s: float = 0.0) -> bool:
    sampler._running.threads = list(threads)
    return call_task(sampler.look, at_s)


def test_each_look_is_worth_the_time_that_the_thread_has_run_tasks_since_the_one_before():
    sampler = sampler_of(Threads())
    assert look(sampler, this_thread(5, 0.25))
    assert look(sampler, this_thread(6, 0.5))
    assert look(sampler, this_thread(6, 3.0))
    taken = sampler.take()
    assert dict(zip(taken.tasks, zip(taken.samples, taken.seconds, strict=True), strict=True)) == {
        5: (1, 0.25),
        6: (2, 2.75),
    }


def test_what_has_run_between_looks_counts_with_what_is_seen_next():
    sampler = sampler_of(Threads())
    look(sampler, this_thread(5, 1.0))
    assert look(sampler, this_thread(6, 1.5, runs=False)), "there is something to tell yet"
    assert not sampler_of(Threads()).look(0.0)
    look(sampler, this_thread(7, 2.0))
    assert sampler.take().seconds == [1.0, 1.0]
    assert not look(sampler, this_thread(7, 2.0, runs=False))


def test_what_is_never_seen_counts_as_not_seen_after_some_looks():
    sampler = sampler_of(Threads())
    looks = 0
    while not sampler.has_samples:
        looks += 1
        look(sampler, this_thread(5, 0.001 * looks, runs=False))
    taken = sampler.take()
    assert looks == 11
    assert (taken.tasks, taken.samples, taken.functions) == ([5], [1], [NOT_SEEN[0][0]])
    assert taken.seconds == [pytest.approx(0.011)]


def test_a_thread_that_is_gone_is_forgotten_and_one_whose_task_ends_meanwhile_counts_nothing_twice():
    sampler = sampler_of(Threads())
    look(sampler, this_thread(5, 2.0), SampledThread(-1, 6, 1.0, True))
    assert set(sampler._seen) == {threading.get_ident(), -1}
    look(sampler, this_thread(5, 1.5))  # it was told to have run for longer than it had
    assert set(sampler._seen) == {threading.get_ident()}
    look(sampler, this_thread(5, 2.5))
    assert sum(sampler.take().seconds) == 2.5


def test_looks_that_are_dear_become_rare():
    sampler = sampler_of(Threads())
    sampler.looks, sampler.cost_s = 10, 1.0
    assert sampler._next_wait_s() == pytest.approx(0.1 / MAX_SHARE)


def test_a_sampler_sleeps_while_nothing_runs_and_is_woken():
    threads = Threads()
    sampler = sampler_of(threads, 0.001)
    thread = threading.Thread(target=sampler.run)
    thread.start()
    try:
        threads.threads = [this_thread(5, 1.0)]
        sampler.wake()
        while not sampler.has_samples:
            pass
        threads.threads = []
        while not sampler._sleeps:
            pass
        looks = sampler.looks
        asked = threads.asked
        sampler.take()
        threading.Event().wait(0.05)
        assert (threads.asked, sampler.looks, sampler.has_samples) == (asked, looks, False)
        threads.threads = [this_thread(5, 2.0)]
        sampler.wake()
        while not sampler.has_samples:
            pass
    finally:
        sampler.end()
        thread.join(60)
    assert not thread.is_alive()


def recorder_and_writer() -> tuple[Recorder, ProfileWriter]:
    recorder = Recorder(Hello(PROTOCOL_VERSION, "c1", "loom", "processes", 0.0))
    return recorder, ProfileWriter(recorder, 1000.0)


def messages(recorder: Recorder) -> list:
    return [decode(payload) for payload in recorder.read(0, limit=1000)[0]]


def seen(*samples: tuple[int, tuple, float]) -> StackSamples:
    collected = StackSamples()
    for task, stack, at_s in samples:
        collected.add(task, stack, at_s, 0.5)
    return collected


def test_workers_that_do_the_same_share_a_stack_and_layers_and_windows_are_told():
    recorder, writer = recorder_and_writer()
    writer.add(0, seen((1, stack_of("f", "g"), 2.0)).take(), [4])
    writer.add(1, seen((2, stack_of("h"), 3.0), (3, stack_of("f", "g"), 4.0)).take(), [4, 5])
    writer.flush(1010.0)
    _, stacks, profile = messages(recorder)
    assert (stacks.functions, stacks.parents) == (["f", "g", "h"], [OTHER, 0, OTHER])
    assert profile == Profile(1001.5, 1004.0, [0, 1, 1], [4, 4, 5], [1, 2, 1], [1, 1, 1], [0.5, 0.5, 0.5])
    writer.add(0, seen((1, stack_of("f", "g"), 5.0)).take(), [4])
    writer.flush(1010.5)
    assert len(messages(recorder)) == 3, "the window isn't over"
    writer.flush(1011.5)
    assert messages(recorder)[3] == Profile(1004.5, 1005.0, [0], [4], [1], [1], [0.5])


def test_a_workers_table_that_begins_anew_and_one_of_the_writers_own_are_followed(monkeypatch):
    monkeypatch.setattr("glassloom.sampling.profile_writer.MAX_STACKS", 2)
    recorder, writer = recorder_and_writer()
    for number in range(5):
        writer.add(0, seen((1, stack_of("f", f"g{number}"), float(number))).take(), [4])
        writer.flush(1000.0 + 2 * number)
    profile = profile_of([*messages(recorder), Layers([4], ["work"], [1], [""])])
    assert sorted(tuple(name for name, _, _ in stack) for _, stack, _, _ in profile.rows()) == [
        ("f", f"g{number}") for number in range(5)
    ]


def test_a_window_of_too_many_rows_loses_no_sample(monkeypatch):
    monkeypatch.setattr("glassloom.sampling.profile_writer.MAX_ROWS", 3)
    recorder, writer = recorder_and_writer()
    writer.add(0, seen(*((n, stack_of(f"f{n}"), 1.0) for n in range(10))).take(), [4] * 10)
    writer.flush(1010.0)
    profile = messages(recorder)[2]
    assert (profile.stacks, sum(profile.samples)) == ([0, 1, 2, OTHER], 10)


def test_a_snapshot_has_the_table_of_stacks():
    kept = snapshot.Snapshot()
    kept.apply(Stacks([0, 1], [OTHER, 0], ["f", "g"], ["a.py", ""], [3, 0]))
    kept.apply(Stacks([2], [0], ["h"], ["a.py"], [4]))
    assert kept.messages() == [Stacks([0, 1, 2], [OTHER, 0, 0], ["f", "g", "h"], ["a.py", "", "a.py"], [3, 0, 4])]


STACKS = Stacks([0, 1, 2], [OTHER, 0, 0], ["f", "g", "f"], ["a.py", "a.py", "a.py"], [3, 9, 4])


def test_a_call_tree_has_counts_seconds_and_lines_by_function():
    folded = profile_of(
        [
            STACKS,
            Layers([4, 5], ["work", "other"], [1, 1], ["", ""]),
            Profile(0.0, 1.0, [0, 1, 0], [4, 4, 5], [1, 2, 0], [3, 1, 2], [0.75, 0.25, 0.5]),
        ]
    )
    tree = folded.tree()
    assert (tree["count"], tree["seconds"], list(tree["children"])) == (6, 1.5, ["f;a.py"])
    f = tree["children"]["f;a.py"]
    assert f["description"] == {"name": "f", "filename": "a.py", "line_number": 3}
    assert (f["count"], f["lines"]) == (6, {3: [6, 1.5]})
    assert {name: (node["count"], node["lines"]) for name, node in f["children"].items()} == {
        "g;a.py": (3, {9: [3, 0.75]}),
        "f;a.py": (1, {4: [1, 0.25]}),
    }
    assert folded.tree(lambda layer: layer == "other")["count"] == 2


def test_a_call_tree_can_be_of_a_window_and_of_some_workers():
    windows = [Profile(s, s + 1, [0, 1], [4, 4], [0, 0], [1, 1], [1.0, 1.0]) for s in (0.0, 10.0, 20.0)]

    def count(**only) -> int:
        folded = SampledStacks(**only)
        for message in (STACKS, *windows):
            folded.apply(message)
        return folded.tree()["count"]

    assert count() == 6
    assert count(start_s=5.0) == 4
    assert count(start_s=5.0, stop_s=15.0) == 2
    assert count(workers=[1]) == 3


def test_seconds_that_no_clock_gives_are_left_out():
    wrong = [math.nan, math.inf, -1.0]
    assert profile_of([STACKS, Profile(0.0, 1.0, [0] * 3, [4] * 3, [0] * 3, [1] * 3, wrong)]).rows() == []


def test_stacks_that_were_never_told_or_go_round_are_others():
    profile = Profile(0.0, 1.0, [0, 0, 0], [-1, 9, 9], [77, 0, OTHER], [1, 1, 1], [1.0, 1.0, 1.0])
    folded = profile_of([Stacks([0, 1], [1, 0], ["f", "g"], ["", ""], [0, 0]), profile])
    assert [(name, stack) for name, stack, _, _ in folded.rows()] == [
        ("(unknown)", UNKNOWN_STACK),
        ("layer 9", UNKNOWN_STACK),
        ("layer 9", UNKNOWN_STACK),
    ]
