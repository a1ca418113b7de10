"""Messages of single tasks as one: it says the same as they do after each other, and each task can still be refused alone."""

from __future__ import annotations

from typing import Any

import pytest
import tasks
from glassloom import Client
from glassloom.errors import GraphError
from glassloom.graph import Key
from glassloom.protocol.annotations import Annotations
from glassloom.protocol.merging import SingleTask, TaskTemplate, alike, is_single, merge, single_task, split
from glassloom.protocol.messages import Submit
from hypothesis import given
from hypothesis import strategies as st

KEYS = st.sampled_from(["a", "b", "c", ("d", 1)])
USUAL = Annotations()


def task(
    key: Key, number: int, needs: list[Key], literals: bytes = b"", layer: str = "", line: str = "", **options: Any
) -> SingleTask:
    handling = Annotations(**options) if options else USUAL
    needs = [name for name in dict.fromkeys(needs) if name != key]
    return SingleTask(key, literals, needs, TaskTemplate(number, b"code %d" % number, layer, line, handling))


def tasks_of(message: Submit) -> dict[Key, tuple[Any, ...]]:
    """Return each task's call, literals and dependencies."""
    names = [*message.keys, *message.external]
    columns = zip(message.keys, message.calls, message.literals, message.deps, strict=True)
    return {key: (message.code[call], data, [names[dep] for dep in deps]) for key, call, data, deps in columns}


TASKS = st.lists(
    st.builds(task, KEYS, st.integers(1, 3), st.lists(KEYS, max_size=3), st.binary(max_size=1)), min_size=1
)
LABELLED = st.lists(
    st.builds(task, KEYS, st.just(1), st.just([]), layer=st.sampled_from("fg"), line=st.sampled_from(["", "x.py:1", "x.py:2"])),
    min_size=1,
)  # fmt: skip


@given(TASKS)
def test_merged_tasks_are_the_first_of_each_key(tasks: list[SingleTask]) -> None:
    first: dict[Key, tuple[Any, ...]] = {}
    for each in tasks:
        first.setdefault(each.key, (each.template.number, each.literals, each.needs))
    merged = merge(tasks)
    assert tasks_of(merged) == first
    assert merged.wanted_keys == merged.keys == list(first)
    assert merged.is_merged == (len(first) > 1)


@given(TASKS)
def test_tasks_of_a_merged_message_refer_to_tasks_before_them_or_to_external_ones(tasks: list[SingleTask]) -> None:
    merged = merge(tasks)
    for position, deps in enumerate(merged.deps):
        assert all(dep < position or dep >= len(merged.keys) for dep in deps)


@given(TASKS)
def test_split_messages_are_those_of_single_tasks(tasks: list[SingleTask]) -> None:
    first = {each.key: each for each in reversed(tasks)}
    merged = merge(tasks)
    assert [tasks_of(message) for message in split(merged)] == [tasks_of(merge([first[key]])) for key in merged.keys]
    assert all(is_single(message) and not message.is_merged for message in split(merged))


@given(TASKS)
def test_the_task_of_a_message_is_the_one_that_it_was_made_of(tasks: list[SingleTask]) -> None:
    for each in tasks:
        assert single_task(merge([each]), each.template.number, each.template.code) == each


@given(LABELLED)
def test_tasks_go_together_in_order_and_no_layer_has_two_lines_in_a_message(tasks: list[SingleTask]) -> None:
    runs = [list(run) for run in alike(tasks)]
    assert [each for run in runs for each in run] == tasks
    for run in runs:
        templates = [each.template for each in run]
        assert len({each.layer for each in templates}) == len({(each.layer, each.line) for each in templates})
        first = {each.key: each for each in reversed(run)}.values()
        assert merge(run).labels == {
            each.template.layer: ("", each.template.line) for each in first if each.template.line
        }


def test_tasks_of_unlike_functions_go_together() -> None:
    tasks = [task(f"{name}-{number}", 1, [], layer=name, line=name + ".py:1") for number in range(3) for name in "fg"]
    assert [list(run) for run in alike(tasks)] == [tasks]


@pytest.mark.parametrize(
    "options",
    [
        {"priority": 1},
        {"retries": 1},
        {"resources": (("GPU", 1.0),)},
        {"workers": (1,)},
        {"allow_other_workers": True},
    ],
)
def test_tasks_that_are_treated_differently_are_not_alike(options: Any) -> None:
    first, other, equal = task("a", 1, []), task("b", 1, [], **options), task("c", 1, [], priority=0)
    assert [list(run) for run in alike([first, equal, other, other])] == [[first, equal], [other, other]]
    assert single_task(merge([other]), 1, other.template.code) == other


def test_tasks_of_different_runs_are_not_alike() -> None:
    first = task("a", 1, [], layer="f", line="x.py:1")
    later = first._replace(key="b", template=first.template._replace(run=5))
    assert [list(run) for run in alike([first, later])] == [[first], [later]]
    assert [merge(run).run for run in alike([first, later])] == [-1, 5]


def test_of_tasks_that_are_submitted_together_only_the_wrong_one_is_refused(client: Client) -> None:
    gone = client.submit(tasks.inc, 1, key="gone-1")
    gone.result(timeout=60)
    client.cancel(gone, force=True)
    futures = []
    for number in range(200):
        futures.append(client.submit(tasks.inc, gone if number == 100 else number, pure=False))
        if number > 150:
            futures.append(client.submit(tasks.inc, futures[-1], pure=False))
    with pytest.raises(GraphError, match="'gone-1', which the cluster doesn't know"):
        futures.pop(100).result(timeout=60)
    results = client.gather(futures)
    assert results[:100] == list(range(1, 101))
    assert results[-2:] == [200, 201]
