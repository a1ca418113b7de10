"""The cycle collector is paused while graphs are built, and while frames of other threads are read: Python 3.11 could die of it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading

import pytest
from glassloom._gc import gc_paused
from glassloom.sampling.stack_sampler import SampledThread, StackSampler
from glassloom.sampling.task_stacks import TaskStacks
from glassloom.worker import call_stacks
from interrupts import sweep


def test_collections_go_on_afterwards_also_after_an_error():
    with pytest.raises(ZeroDivisionError), gc_paused():
        assert not gc.isenabled()
        _ = 1 / 0
    assert gc.isenabled()


def test_what_the_user_has_turned_off_stays_off():
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_interrupt_anywhere_leaves_no_pause_behind():
    def cell() -> None:
        with gc_paused(), gc_paused():
            pass

    def check() -> None:
        cell()
        assert gc.isenabled()

    sweep(cell, check, modules=("glassloom", "_weakrefset", "contextlib"))


def test_the_last_of_several_threads_resumes():
    inside, leave = threading.Barrier(2), threading.Event()

    def pause() -> None:
        with gc_paused():
            inside.wait()
            leave.wait()

    thread = threading.Thread(target=pause)
    with gc_paused():
        thread.start()
        inside.wait()
        with gc_paused():
            pass
        assert not gc.isenabled()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_child_that_is_forked_meanwhile_collects_and_can_pause():
    paused, forked = threading.Event(), threading.Event()

    def pause() -> None:
        with gc_paused():
            paused.set()
            forked.wait()

    thread = threading.Thread(target=pause)
    thread.start()
    paused.wait()
    child = os.fork()
    if child == 0:
        is_right = gc.isenabled()
        with gc_paused():
            is_right = is_right and not gc.isenabled()
        os._exit(0 if is_right and gc.isenabled() else 1)
    forked.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert gc.isenabled()


def test_stacks_are_read_while_collections_are_paused(monkeypatch):
    were_enabled = []

    class Stacks(TaskStacks):
        def of(self, innermost):
            were_enabled.append(gc.isenabled())
            return super().of(innermost)

    here = SampledThread(threading.get_ident(), 1, 1.0, True)
    StackSampler(0.01, lambda: [here], lambda: True, Stacks([], lambda name: False)).look(0.0)
    monkeypatch.setattr(call_stacks, "_stack_of_task", lambda innermost: were_enabled.append(gc.isenabled()))
    assert call_stacks.running_stacks(True) == {}
    assert len(were_enabled) > 1 and not any(were_enabled)
    assert gc.isenabled()


LOOKS_WHILE_THREADS_RUN = """
import gc, json, re, sys, threading
from glassloom.sampling.stack_sampler import SampledThread, StackSampler
from glassloom.sampling.task_stacks import TaskStacks
from glassloom.worker.call_stacks import running_stacks


def when_collected(phase, info):
    for _ in range(50):
        pass


sys.setswitchinterval(1e-5)
gc.set_threshold(20, 10_000, 10_000)
gc.callbacks.append(when_collected)
ended = False


class Calls:
    def __init__(self, number):
        self.number = number

    def either(self, *args):
        return self.listed(*args) if self.number % 2 else self.by_key(args, value=self.number)

    def listed(self, *args):
        return [one for one in args]

    def by_key(self, args, value):
        return {one: value for one in args}


def deep(n, made):
    return made if n <= 0 else wide(n - 1, [*made, Calls(n).either(n, n + 1)])


def wide(n, made, *, x=1, y=2):
    for _ in (1, 2):
        x = sorted([3, 2, n], key=lambda value: -value)
    return deep(n - 1 - (n % 3 == 0), made)


def work(n):
    while not ended:
        n = (n * 7 + 3) % 41
        deep(n, [])
        json.dumps({"a": [n] * 5}, indent=1)
        re.sub("a", "b", "aaa" * n)


workers = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(3)]
for worker in workers:
    worker.start()
busy_s = 0.0


def running():
    return [SampledThread(worker.ident, 1, busy_s, True) for worker in workers]


sampler = StackSampler(0.01, running, lambda: True, TaskStacks([], lambda name: False))
for number in range(15_000):
    busy_s = number + 1.0
    sampler.look(busy_s)
    if number % 100 == 0:
        sampler.take()
        running_stacks(True)
ended = True
for worker in workers:
    worker.join()
"""


def test_looking_at_threads_that_run_does_not_end_the_process():
    code = textwrap.dedent(LOOKS_WHILE_THREADS_RUN)
    found = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stderr[-2000:]
