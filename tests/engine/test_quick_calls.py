"""Calls with plain arguments, made the quick way: they are the tasks that the general way makes."""

from __future__ import annotations

from typing import Any

import pytest
import tasks
from glassloom import Client, annotate
from glassloom.client.function_calls import FunctionCalls
from glassloom.client.quick_calls import QuickCalls
from glassloom.errors import OptionError, SerialisationError
from glassloom.graph import CallTokenizer, Handle, Key
from glassloom.graph.tokenize import token_of_plain_call
from glassloom.protocol.annotations import Annotations
from glassloom.protocol.calls import CallEncoder
from glassloom.protocol.merging import SingleTask, is_single, merge, single_task
from hypothesis import given
from hypothesis import strategies as st


class Held(Handle):
    """A result that a cluster holds."""

    def __init__(self, key: Key) -> None:
        self.key = key

    def __glassloom_tokenize__(self) -> Key:
        return self.key


def given_arguments(*args: Any) -> Any:
    return args


PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5), st.binary(max_size=5),
    st.sampled_from(["x" * 1025, b"y" * 2000]),
)  # fmt: skip
ARGUMENTS = st.lists(
    st.one_of(PLAIN, st.sampled_from(["a", "b", ("c", 1)]).map(Held), st.lists(PLAIN, max_size=2)), max_size=4
)


def is_unusual(arg: Any) -> bool:
    if isinstance(arg, Held):
        return not isinstance(arg.key, str)
    return isinstance(arg, list) or (isinstance(arg, (str, bytes)) and len(arg) > 1024)


def quick(args: tuple[Any, ...], key: Key | None = None, *, pure: bool = True) -> SingleTask | None:
    calls = QuickCalls(lambda code: 0, lambda line, origin: -1)
    task = calls.task(given_arguments, args, key, Annotations(), pure=pure)
    return None if task is None else SingleTask(*task)


def without_line(task: SingleTask) -> SingleTask:
    return task._replace(template=task.template._replace(line="", layer=""), needs=list(task.needs))


@given(ARGUMENTS.map(tuple), st.sampled_from([None, "name-1", ("load", 3)]))
def test_a_quick_call_is_the_task_that_the_general_way_makes(args: tuple[Any, ...], key: Key | None) -> None:
    task = quick(args, key)
    if task is None:
        assert any(map(is_unusual, args))
        return
    calls = FunctionCalls.make(given_arguments, [args], {}, None if key is None else [key], pure=True)
    message = calls.encode(CallEncoder(lambda _: "placed"), Annotations())
    assert is_single(message)
    (code,) = message.code
    assert isinstance(code, bytes)
    expected = single_task(message, 0, code)
    assert without_line(task) == without_line(expected)
    assert merge([task]).labels.keys() == message.labels.keys()


@given(ARGUMENTS.map(tuple))
def test_the_token_of_plain_arguments_is_that_of_any(args: tuple[Any, ...]) -> None:
    token = token_of_plain_call("f", args)
    assert token is None or token == CallTokenizer("f", {}).tokenize(args)


def test_impure_quick_calls_have_keys_of_their_own() -> None:
    first, second = quick((1,), pure=False), quick((1,), pure=False)
    assert first is not None and second is not None
    assert first.key != second.key
    assert first._replace(key="") == second._replace(key="")


def other_arguments(*args: Any) -> Any:
    return args


@given(st.lists(st.tuples(st.booleans(), ARGUMENTS.map(tuple), st.sampled_from([None, "name-1"]), st.integers(0, 1))))
def test_what_is_kept_of_the_last_call_makes_no_difference(
    calls: list[tuple[bool, tuple[Any, ...], Key | None, int]],
) -> None:
    handlings = [Annotations(), Annotations(priority=1)]
    kept = QuickCalls(len, lambda line, origin: -1)
    for is_other, args, key, position in calls:
        function = other_arguments if is_other else given_arguments
        fresh = QuickCalls(len, lambda line, origin: -1)
        both = [each.task(function, args, key, handlings[position], pure=True) for each in (kept, fresh)]
        assert both[0] == both[1]


def test_calls_in_a_loop_share_a_template() -> None:
    calls = QuickCalls(len, lambda line, origin: -1)
    usual = Annotations()
    made = [calls.task(given_arguments, (number,), None, usual, pure=True) for number in range(3)]
    assert len({id(task[3]) for task in made if task is not None}) == 1
    assert len({task[0] for task in made if task is not None}) == 3


def test_a_function_that_is_changed_between_two_calls_has_another_key_and_call() -> None:
    calls = QuickCalls(len, lambda line, origin: -1)
    step = 1

    def add(value: int) -> int:
        return value + step

    def task() -> SingleTask:
        made = calls.task(add, (1,), None, Annotations(), pure=True)
        assert made is not None
        return SingleTask(*made)

    first, again = task(), task()
    step = 2
    changed = task()
    assert first == again
    assert changed.key != first.key
    assert changed.template.code != first.template.code


def test_calls_of_several_functions_with_and_without_futures_are_right_whatever_goes_together(client: Client) -> None:
    futures, expected = [], []
    for number in range(300):
        futures.append(client.submit(tasks.inc, number, key=f"mixed-{number}" if number % 7 == 0 else None))
        futures.append(client.submit(tasks.inc, futures[-1]))
        with annotate(priority=number % 3):
            futures.append(client.submit(tasks.total, [futures[-1], 10]))
        expected += [number + 1, number + 2, number + 12]
    assert client.gather(futures) == expected


def test_what_a_message_cannot_say_is_refused_where_it_is_submitted(client: Client) -> None:
    with pytest.raises(OptionError, match="should have no more than 64 bits"):
        client.submit(tasks.inc, 1, key=("x", 2**70))  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="more than 64 bits can't be sent"):
        client.submit(tasks.inc, 1, workers=[2**70])
    with pytest.raises(OptionError, match="can't (be sent|encode)|UTF-8"):
        client.submit(tasks.inc, 1, resources={"\ud800": 1})
    assert client.submit(tasks.inc, 1).result(timeout=60) == 2


def test_a_function_that_cannot_be_pickled_is_named(client: Client) -> None:
    lock = __import__("threading").Lock()
    with pytest.raises(SerialisationError, match="the function of task 'lambda-"):
        client.submit(lambda: lock, pure=False)
