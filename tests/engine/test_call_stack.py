"""`Client.call_stack` and `Client.processing`: what the workers are at, on real processes."""

from __future__ import annotations

import os
import re
import signal
import time
import traceback
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import glassloom as gl
import pandas as pd
import pytest
from fault_helpers import eventually, kill, worker_pids
from glassloom import Client
from glassloom.errors import OptionError


@pytest.fixture
def go(client: Client, tmp_path: Path) -> Iterator[str]:
    """A file for which tasks wait. It is there when the test has ended, so that none of a test that failed goes on."""
    path = tmp_path / "go"
    yield str(path)
    path.touch()


def inner(go: str) -> None:
    while not os.path.exists(go):
        time.sleep(0.01)  # where it waits


def outer(go: str, *_: Any) -> str:
    inner(go)
    return go


def stacks_of(client: Client, *args: Any, **kwargs: Any) -> Any:
    """Return the stacks once there are any of a task that has come to its loop. Libraries have an `inner` too."""
    ours = re.compile(rf'{re.escape(__file__)}", line \d+, in inner')
    return eventually(lambda: ours.search(repr(found := client.call_stack(*args, **kwargs))) and found)


def test_the_stack_of_a_running_task_has_the_users_frames_only(client: Client, go: str) -> None:
    future = client.submit(outer, go, key=("outer", 1))
    found = stacks_of(client, future)
    ((worker, stacks),) = found.items()
    assert worker in client.scheduler_info()["workers"]
    (stack,) = (stacks[key] for key in stacks)
    assert list(stacks) == [("outer", 1)]
    names = [frame.partition(", in ")[2].splitlines()[0] for frame in stack]
    assert names in (["outer", "inner"], ["outer", "inner", "exists"])  # wherever its loop is just now
    assert stack[0].startswith(f'  File "{__file__}", line ')
    assert stack[0].endswith("in outer\n    inner(go)")
    assert repr(found).splitlines()[0] == f"Task ('outer', 1) on {worker}:"
    with gl.config.set({"tracebacks.show-engine": True}):
        (whole,) = client.call_stack(future)[worker].values()
    assert "protocol/calls.py" in whole[0]
    Path(go).touch()
    future.result()


def test_all_running_tasks_are_shown_or_those_that_are_asked_for(client: Client, go: str) -> None:
    futures = [client.submit(outer, go, number, key=("outer", number)) for number in range(4)]
    queued = client.submit(abs, -1)

    def running() -> set[Any]:
        return {key for stacks in client.call_stack().values() for key in stacks}

    eventually(lambda: running() == {("outer", number) for number in range(4)})
    chosen = stacks_of(client, keys=[("outer", 2), "nobody"])
    assert [list(stacks) for stacks in chosen.values()] == [[("outer", 2)]]
    assert stacks_of(client, keys=("outer", 2)).keys() == chosen.keys()
    processing = {key for keys in client.processing().values() for key in keys}
    assert processing - {queued.key} == {future.key for future in futures}, "a short task may have been sent ahead"
    none = client.call_stack(queued)
    assert none == {}
    assert repr(none) == f"Task {queued.key!r} isn't running now; client.story({queued.key!r}) tells how it stands."
    assert repr(client.call_stack(keys=["a", "b"])) == (
        "None of these 2 tasks is running now; client.story(key) tells how a task stands."
    )
    Path(go).touch()
    client.gather([*futures, queued])
    eventually(lambda: client.call_stack() == {})
    assert repr(client.call_stack()) == "No task runs."


def test_tasks_of_a_map_are_shown_too(client: Client, go: str) -> None:
    futures = client.map(outer, [go] * 20, range(20))
    found = eventually(lambda: repr(stacks := client.call_stack()).count("in inner") == 4 and stacks)
    shown = {key for stacks in found.values() for key in stacks}
    assert len(shown) == 4
    assert shown < {future.key for future in futures}
    Path(go).touch()
    assert client.gather(futures) == [go] * 20


@pytest.mark.parametrize("function", [time.sleep, partial(time.sleep)])
def test_a_task_whose_function_is_compiled_is_shown_by_the_functions_name(function: Any) -> None:
    with Client(n_workers=1, threads_per_worker=1, memory_limit=None, set_as_default=False) as client:
        future = client.submit(function, 3600, key="sleeps")
        found = eventually(lambda: "time.sleep" in repr(stacks := client.call_stack(future)) and stacks)
        assert repr(found).splitlines() == [
            f"Task 'sleeps' on {client.name}-0:",
            "  in C code called as the task's function time.sleep",
        ]


@pytest.fixture(scope="module")
def active() -> Iterator[Client]:
    """A client whose worker has had tasks with options of other libraries: those without take turns, too."""
    with Client(n_workers=1, threads_per_worker=1, memory_limit=None, set_as_default=False) as client:
        with pd.option_context("mode.string_storage", "python"):
            client.submit(abs, 1).result()
        yield client


@pytest.mark.parametrize("storage", ["auto", "python"])
def test_stacks_of_tasks_that_take_turns_are_as_those_of_others(
    active: Client, go: str, tmp_path: Path, storage: str
) -> None:
    fifo = str(tmp_path / "fifo")
    os.mkfifo(fifo)
    with pd.option_context("mode.string_storage", storage):
        future = active.submit(outer, go)
        compiled = active.submit(os.open, fifo, os.O_RDONLY, key=("compiled", storage))
    ((stack,),) = (stacks.values() for stacks in stacks_of(active, future).values())
    names = [frame.partition(", in ")[2].splitlines()[0] for frame in stack]
    assert names in (["outer", "inner"], ["outer", "inner", "exists"])
    with gl.config.set({"tracebacks.show-engine": True}):
        (whole,) = active.call_stack(future)[f"{active.name}-0"].values()
    assert "protocol/calls.py" in whole[0]
    Path(go).touch()
    line = "  in C code called as the task's function posix.open"
    eventually(lambda: line in repr(active.call_stack(compiled)).splitlines())
    os.close(os.open(fifo, os.O_WRONLY))  # which ends it
    active.submit(os.close, compiled).result()


def fails() -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize("storage", ["auto", "python"])
def test_tracebacks_of_tasks_that_take_turns_are_as_those_of_others(active: Client, storage: str) -> None:
    with pd.option_context("mode.string_storage", storage):
        future = active.submit(fails)
    with gl.config.set({"tracebacks.show-engine": True}), pytest.raises(ZeroDivisionError) as raised:
        future.result()
    names = [Path(entry.filename).name for entry in traceback.extract_tb(raised.value.__traceback__)]
    assert names.count(Path(__file__).name) == 2, "this function's frame, and that of `fails`"
    assert not {"user_code.py", "calls.py", "caller_options.py"}.intersection(names)


def test_a_task_that_waits_for_its_own_tasks_is_shown_too(client: Client, go: str) -> None:

    def waits(go: str) -> str:
        result: str = gl.get_client().submit(outer, go).result()
        return result

    future = client.submit(waits, go, key="waits")
    found = eventually(lambda: "in waits" in repr(stacks := client.call_stack(keys="waits")) and stacks)
    ((_, stacks),) = found.items()
    assert "get_client().submit(outer, go).result()" in repr(found)
    assert list(stacks) == ["waits"]
    Path(go).touch()
    assert future.result() == go


@pytest.mark.fault("stop a worker's process (SIGSTOP) and ask for the stack of its task")
def test_a_stopped_worker_is_named(tmp_path: Path) -> None:
    go = str(tmp_path / "go")
    with Client(n_workers=1, threads_per_worker=1, memory_limit=None, set_as_default=False) as client:
        future = client.submit(outer, go)
        stacks_of(client)
        (pid,) = worker_pids(client)
        kill(pid, signal.SIGSTOP)
        name = rf"{client.name}-0 \(process {pid}, stopped by a signal or debugger\)"
        with pytest.raises(
            TimeoutError, match=f"^no call stacks within 0.2 s from {name}: a worker can't answer while"
        ):
            client.call_stack(timeout="200 ms")
        kill(pid, signal.SIGCONT)
        assert stacks_of(client)
        Path(go).touch()
        assert future.result() == go


@pytest.mark.parametrize("arguments", [{"keys": [3]}, {"timeout": "soon"}])
def test_wrong_arguments_are_refused(client: Client, arguments: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        client.call_stack(**arguments)
