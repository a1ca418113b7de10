"""Options of other libraries: what is computed with some is another result, and tasks of other processes set them, in turns."""

from __future__ import annotations

import pickle
import sys
import threading
from collections import deque
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType

import pandas as pd
import pytest
from eventual import eventually
from glassloom.backends.pandas_options import changed_options
from glassloom.errors import OptionError
from glassloom.graph import Graph, Task, TaskRef, options_in_use
from glassloom.graph import caller_options as module
from glassloom.graph.caller_options import CallerOptions, WithOptions, caller_options
from glassloom.graph.options_in_use import OptionsInUse
from glassloom.graph.origin import Origin

STORAGE = "mode.string_storage"
READ = Task("read-3f2a90b1c2d3e4f5", pd.get_option, (STORAGE,))


def options_of(storage) -> CallerOptions:
    with pd.option_context(STORAGE, storage):
        found = caller_options()
    assert found is not None
    return found


PYTHON, PYARROW = options_of("python").options, options_of("pyarrow").options


def test_there_are_none_where_options_are_the_defaults():
    with pd.option_context("compute.use_numexpr", False):  # as dask.dataframe sets it
        assert changed_options() == ()
        assert caller_options() is None


def test_options_of_a_package_are_known_once_it_has_been_imported(monkeypatch):
    """A thread that imports it holds its lock: another one would wait for it, or get half of it."""
    package = ModuleType("half_imported")
    package.__spec__ = ModuleSpec("half_imported", None)
    package.__spec__._initializing = True
    monkeypatch.setitem(sys.modules, "half_imported", package)
    monkeypatch.setattr(options_in_use, "_modules", {"half_imported": "no_such_module"})
    assert options_in_use.changed_options() == ()
    package.__spec__._initializing = False
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        options_in_use.changed_options()


def test_options_are_those_that_were_changed_and_equal_ones_have_one_token():
    with pd.option_context(STORAGE, "python", "display.width", 30):
        assert changed_options() == ((STORAGE, "python"),)
        assert caller_options() is caller_options()
    assert options_of("python").token == options_of("python").token != options_of("pyarrow").token


@pytest.mark.parametrize(
    ("name", "begin", "end"),
    [
        ("sum-3f2a90b1c2d3e4f5", "sum-", ""),
        ("lu-3f2a90b1c2d3e4f5-update", "lu-", "-update"),
        ("mine", "mine-", ""),
        ("mine-2", "mine-2-", ""),
    ],
)
def test_names_are_other_ones_by_their_tokens_alone(name, begin, end):
    found = options_of("python").name(name)
    assert found.startswith(begin)
    assert found.endswith(end)
    assert found == options_of("python").name(name) != options_of("pyarrow").name(name)
    assert found != name


def test_a_graph_gets_other_keys_but_for_results_that_are_held():
    options = options_of("python")
    layer, held = "sum-3f2a90b1c2d3e4f5", ("x-0011223344556677", 0)
    origin = Origin("a.py", 3, "f")
    tasks = {
        READ.key: READ,
        (layer, 0): Task((layer, 0), max, (TaskRef(READ.key), [TaskRef(held)]), {"key": TaskRef(held)}),
    }
    graph = Graph(tasks, {layer: origin, "read": origin}, {layer: "sum"}, frozenset([held]))
    found = options.graph(graph, {}, shares_memory=False)
    read, (name, _) = keys = options.keys([READ.key, (layer, 0)], graph, {})
    assert list(found.tasks) == keys
    assert options.keys([held], graph, {}) == [held]
    assert found.tasks[name, 0].deps == (read, held)
    assert found.tasks[name, 0].args == (TaskRef(read), [TaskRef(held)])
    assert (found.origins, found.labels, found.held) == ({name: origin, "read": origin}, {name: "sum"}, {held})
    here = options.graph(graph, {}, shares_memory=True)
    assert list(here.tasks) == keys
    assert here.tasks[read].func is pd.get_option, "the caller's process has its options already"


def test_tasks_of_one_function_have_one_again():
    tasks = {name: Task(name, pd.get_option, (STORAGE,)) for name in ("a", "b")}
    first, second = options_of("python").graph(Graph(tasks), {}, shares_memory=False).tasks.values()
    assert first.func is second.func, "it is pickled once"


def test_options_are_those_of_the_caller_while_a_task_runs(monkeypatch):
    monkeypatch.setattr(module, "IN_USE", OptionsInUse())  # this process is no worker
    function = pickle.loads(pickle.dumps(WithOptions(pd.get_option, PYTHON, "another process")))
    assert function(STORAGE) == "python"
    assert pd.get_option(STORAGE) == "auto"
    with pytest.raises(TypeError):
        function()
    assert pd.get_option(STORAGE) == "auto"


def test_a_function_keeps_its_name_and_is_another_one_with_other_options():
    assert WithOptions(options_of, PYTHON).__name__ == "options_of"
    assert options_of("python").mixed_with("1") != options_of("pyarrow").mixed_with("1")


def test_a_worker_in_the_callers_own_process_changes_nothing_but_says_that_options_were_changed():
    def change():
        pd.set_option(STORAGE, "auto")

    with pd.option_context(STORAGE, "python"):
        assert WithOptions(pd.get_option, PYTHON)(STORAGE) == "python"
        with pytest.raises(OptionError, match=r"were mode\.string_storage='python' when .* are the defaults now"):
            WithOptions(change, PYTHON)()
    with pytest.raises(OptionError, match="let workers be processes"):
        WithOptions(pd.get_option, PYTHON)(STORAGE)
    assert pd.get_option(STORAGE) == "auto"


def test_options_that_a_process_can_not_have_leave_it_as_it_was():
    ((apply, _),) = PYTHON
    options = ((apply, ((STORAGE, "python"), ("mode.no_such_option", 1))),)
    in_use = OptionsInUse()
    with (
        pytest.raises(OptionError, match=r"'mode\.no_such_option' is 1 where this was submitted"),
        in_use.during(options),
    ):
        raise AssertionError
    assert pd.get_option(STORAGE) == "auto"
    with in_use.during(PYARROW):
        assert pd.get_option(STORAGE) == "pyarrow"


class Turns:
    """Threads that run tasks with options; each notes what it has found, and waits until it may end."""

    def __init__(self, in_use) -> None:
        self.in_use, self.found, self.threads = in_use, [], []

    def begin(self, name, options, *, waits=False, then=lambda: None):
        """Begin a task. Returns when it runs, or when it waits for its turn."""
        begun, may_end, before = threading.Event(), threading.Event(), len(self.in_use._turns)

        def run():
            with self.in_use.during(options):
                self.found.append((name, pd.get_option(STORAGE)))
                begun.set()
                assert may_end.wait(60)
                then()

        thread = threading.Thread(target=run)
        self.threads.append(thread)
        thread.start()
        if waits:
            eventually(lambda: len(self.in_use._turns) > before)
        else:
            assert begun.wait(60)
        return may_end

    def join(self):
        for thread in self.threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self.threads)
        assert pd.get_option(STORAGE) == "auto"


def test_tasks_with_other_options_wait_until_those_that_run_have_ended():
    turns = Turns(OptionsInUse())
    first, beside = turns.begin("first", PYTHON), turns.begin("beside", PYTHON)
    second = turns.begin("second", PYARROW, waits=True)
    first.set()
    assert turns.found == [("first", "python"), ("beside", "python")]
    beside.set()
    second.set()
    turns.join()
    assert turns.found[2:] == [("second", "pyarrow")]


def test_no_task_goes_before_one_that_waits_longer_but_equal_ones_go_together():
    turns = Turns(OptionsInUse())
    ends = [turns.begin("first", PYTHON)]
    ends += [
        turns.begin(name, options, waits=True)
        for name, options in (("second", PYARROW), ("third", PYTHON), ("with second", PYARROW), ("none", ()))
    ]
    for end in ends:
        end.set()
    turns.join()
    assert [name for name, _ in turns.found[:1]] == ["first"]
    assert sorted(turns.found[1:3]) == [("second", "pyarrow"), ("with second", "pyarrow")]
    assert turns.found[3:] == [("third", "python"), ("none", "auto")]


def test_a_task_that_waits_for_results_lets_others_set_theirs_meanwhile():
    in_use = OptionsInUse()
    turns = Turns(in_use)

    def wait():
        with in_use.set_aside():
            assert inner_may_begin.wait(60)
            other.join()
        turns.found.append(("first again", pd.get_option(STORAGE)))

    inner_may_begin = threading.Event()
    other = Turns(in_use)
    first = turns.begin("first", PYTHON, then=wait)
    other.begin("inner", PYARROW, waits=True).set()
    inner_may_begin.set()
    first.set()
    turns.join()
    assert other.found == [("inner", "pyarrow")]
    assert turns.found == [("first", "python"), ("first again", "python")]


def test_what_a_task_has_set_itself_is_set_again_after_it_has_waited():
    in_use = OptionsInUse()
    with in_use.during(PYTHON):
        with pd.option_context(STORAGE, "pyarrow", "io.parquet.engine", "pyarrow"):
            with in_use.set_aside():
                assert changed_options() == (), "others have nothing to do with it"
            assert changed_options() == ((STORAGE, "pyarrow"), ("io.parquet.engine", "pyarrow"))
        assert pd.get_option(STORAGE) == "python"
    assert changed_options() == ()


def test_a_task_that_goes_on_with_options_it_has_set_itself_shares_its_turn_with_none():
    turns = Turns(OptionsInUse())
    goes_on, may_end = threading.Event(), threading.Event()

    def run():
        with turns.in_use.during(()):
            with pd.option_context(STORAGE, "python"):
                with turns.in_use.set_aside():
                    pass
                goes_on.set()
                assert may_end.wait(60)
            turns.found.append(("own", pd.get_option(STORAGE)))

    thread = threading.Thread(target=run)
    thread.start()
    assert goes_on.wait(60)
    same = turns.begin("same", PYTHON, waits=True)  # its options are set, but may be set back at any time
    may_end.set()
    thread.join(60)
    same.set()
    turns.join()
    assert turns.found == [("own", "auto"), ("same", "python")]


def test_an_interrupt_while_a_task_waits_for_its_turn_leaves_others_theirs():
    class Interrupted(BaseException):
        pass

    class Condition(type(threading.Condition())):
        def wait_for(self, *_):
            raise Interrupted

    in_use = OptionsInUse()
    turns = Turns(in_use)
    first = turns.begin("first", PYTHON)
    usual, in_use._changed = in_use._changed, Condition()
    with pytest.raises(Interrupted), in_use.during(PYARROW):
        raise AssertionError
    in_use._changed = usual
    assert in_use._turns == deque()
    beside = turns.begin("beside", PYTHON)
    first.set()
    beside.set()
    turns.join()


def test_tasks_without_options_that_had_begun_before_the_first_with_some_are_waited_for():
    running = []
    in_use = OptionsInUse(lambda: running)
    turns, may_go, has_begun = Turns(in_use), threading.Event(), threading.Event()

    def plain():
        running.append(threading.get_ident())
        has_begun.set()
        assert may_go.wait(60)
        turns.found.append(("plain", pd.get_option(STORAGE)))
        running.remove(threading.get_ident())
        assert in_use.is_active
        in_use.end_counted()

    thread = threading.Thread(target=plain)
    thread.start()
    assert has_begun.wait(60)
    assert not in_use.is_active
    turns.begin("with", PYTHON, waits=True).set()
    assert pd.get_option(STORAGE) == "auto"
    may_go.set()
    thread.join(60)
    turns.join()
    assert turns.found == [("plain", "auto"), ("with", "python")]


def test_tasks_without_options_that_waited_for_results_take_part_once_they_go_on():
    running = []
    in_use = OptionsInUse(lambda: running)
    turns, waits, may_go = Turns(in_use), threading.Event(), threading.Event()

    def plain():
        running.append(threading.get_ident())
        with in_use.set_aside():
            waits.set()
            assert may_go.wait(60)
        turns.found.append(("plain", pd.get_option(STORAGE)))
        running.remove(threading.get_ident())
        in_use.end_counted()

    thread = threading.Thread(target=plain)
    thread.start()
    assert waits.wait(60)
    first = turns.begin("with", PYTHON)
    may_go.set()
    eventually(lambda: in_use._turns)
    first.set()
    thread.join(60)
    turns.join()
    assert turns.found == [("with", "python"), ("plain", "auto")]
    with in_use.during(PYARROW):
        assert pd.get_option(STORAGE) == "pyarrow"


def test_a_task_without_options_that_has_left_the_running_ones_takes_no_turns_until_it_comes_back():
    """Neither if it had left before the first task with options began, nor later; a task with options keeps them."""
    running = [threading.get_ident()]
    in_use = OptionsInUse(lambda: running)
    turns = Turns(in_use)
    in_use.stand_aside()
    turns.begin("first", PYTHON).set()
    turns.threads[0].join(60)
    in_use.come_back()
    end = turns.begin("second", PYTHON, waits=True)
    in_use.stand_aside()
    with in_use.set_aside():
        pass
    end.set()
    turns.threads[1].join(60)
    with in_use.during(PYARROW):
        in_use.stand_aside()
        assert pd.get_option(STORAGE) == "pyarrow"
        in_use.come_back()
        assert pd.get_option(STORAGE) == "pyarrow"
    in_use.end_counted()
    turns.join()
    assert turns.found == [("first", "python"), ("second", "python")]


@contextmanager
def seceded(in_use):
    in_use.stand_aside()
    yield
    in_use.come_back()


@pytest.mark.parametrize("leave", [OptionsInUse.set_aside, seceded])
@pytest.mark.parametrize("usual", [(), ((STORAGE, "python"), ("io.sql.engine", "sqlalchemy"))])
def test_what_a_task_has_set_itself_is_taken_back_while_it_waits_before_any_has_had_options(leave, usual):
    running = []
    in_use = OptionsInUse(lambda: running)
    try:
        for name, value in reversed(usual):
            with in_use.beside_tasks():  # as `Client.run` calls functions
                pd.set_option(name, value)
        running.append(threading.get_ident())
        with leave(in_use):
            assert not in_use.is_active, "none has set any"
        in_use.end_counted()
        with pd.option_context(STORAGE, "pyarrow"):
            with leave(in_use):
                assert in_use.is_active
                assert changed_options() == usual
            assert dict(changed_options()) == {**dict(usual), STORAGE: "pyarrow"}
        in_use.end_counted()
        assert changed_options() == usual
    finally:
        for name, _ in usual:
            pd.reset_option(name)


def test_what_tasks_have_set_is_taken_back_when_the_last_that_saw_it_has_ended():
    """Each would set its own again when it goes on, and pandas then what it found when the context began."""
    running, begun = [], threading.Barrier(2)
    in_use = OptionsInUse(lambda: running)

    def task(storage, waits, ends):
        running.append(threading.get_ident())
        with pd.option_context(STORAGE, storage):
            begun.wait(60)
            with in_use.set_aside():
                waits.set()
                assert ends.wait(60)
        running.remove(threading.get_ident())
        in_use.end_counted()

    events = [threading.Event() for _ in range(4)]
    threads = [
        threading.Thread(target=task, args=(storage, *pair))
        for storage, pair in (("python", events[:2]), ("pyarrow", events[2:]))
    ]
    for thread in threads:
        thread.start()
    assert all(event.wait(60) for event in events[::2])
    assert changed_options() == ()
    for thread, event in zip(threads, events[1::2], strict=True):
        event.set()
        thread.join(60)
    with in_use.during(()):
        pass
    assert changed_options() == ()
