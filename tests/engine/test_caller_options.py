"""Options of other libraries that tasks of other processes need as the caller has set them."""

from __future__ import annotations

import pickle
import threading

import pandas as pd
import pytest
from glassloom.backends.pandas_options import changed_options
from glassloom.graph import Graph, Task
from glassloom.graph.caller_options import with_caller_options

GRAPH = Graph({name: Task(name, pd.get_option, ("mode.string_storage",)) for name in ("a", "b")})
STORAGE = "mode.string_storage"


def test_a_graph_stays_as_it_is_where_options_are_the_defaults():
    with pd.option_context("compute.use_numexpr", False):  # as dask.dataframe sets it
        assert changed_options() == ()
        assert with_caller_options(GRAPH) is GRAPH


def test_options_are_those_of_the_caller_while_a_task_runs():
    with pd.option_context(STORAGE, "python", "display.width", 30):
        assert changed_options() == ((STORAGE, "python"),)
        tasks = with_caller_options(GRAPH).tasks
    assert tasks["a"].func is tasks["b"].func, "it is pickled once"
    function = pickle.loads(pickle.dumps(tasks["a"].func))
    assert function(STORAGE) == "python"
    assert pd.get_option(STORAGE) == "auto"
    with pytest.raises(TypeError):
        function()
    assert pd.get_option(STORAGE) == "auto"


def call_with(storage, function):
    with pd.option_context(STORAGE, storage):
        return with_caller_options(Graph({"a": Task("a", function)})).tasks["a"].func


def test_tasks_with_other_options_wait_until_those_that_run_have_ended():
    began, may_end, ended = threading.Event(), threading.Event(), []

    def first():
        began.set()
        assert may_end.wait(60)
        ended.append(("first", pd.get_option(STORAGE)))

    def second():
        ended.append(("second", pd.get_option(STORAGE)))

    threads = [
        threading.Thread(target=call_with("python", first)),
        threading.Thread(target=call_with("pyarrow", second)),
    ]
    threads[0].start()
    assert began.wait(60)
    threads[1].start()
    call_with("python", lambda: ended.append(("beside", pd.get_option(STORAGE))))()
    may_end.set()
    for thread in threads:
        thread.join(60)
    assert ended == [("beside", "python"), ("first", "python"), ("second", "pyarrow")]
    assert pd.get_option(STORAGE) == "auto"
