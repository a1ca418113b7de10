"""Messages of single tasks as one: it says the same as they do after each other, and each task can still be refused alone."""

from __future__ import annotations

from typing import Any

import pytest
import tasks
from glassloom import Client
from glassloom.errors import GraphError
from glassloom.graph import Key
from glassloom.protocol.merging import are_alike, is_single, merge, split
from glassloom.protocol.messages import Submit
from hypothesis import given
from hypothesis import strategies as st

KEYS = st.sampled_from(["a", "b", "c", ("d", 1)])
CODES = st.sampled_from([b"code", 1, 2])


def single(key: Key, code: bytes | int, below: list[Key], literals: bytes = b"", **options: Any) -> Submit:
    external = list(dict.fromkeys(name for name in below if name != key))
    deps = [[1 + external.index(name) for name in dict.fromkeys(below) if name != key]]
    return Submit([key], [0], [literals], deps, [code], external, [key], {}, **options)


def tasks_of(message: Submit) -> dict[Key, tuple[Any, ...]]:
    """Return each task's call, literals and dependencies."""
    names = [*message.keys, *message.external]
    columns = zip(message.keys, message.calls, message.literals, message.deps, strict=True)
    return {key: (message.code[call], data, [names[dep] for dep in deps]) for key, call, data, deps in columns}


SINGLES = st.lists(st.builds(single, KEYS, CODES, st.lists(KEYS, max_size=3), st.binary(max_size=1)), min_size=1)


@given(SINGLES)
def test_merged_messages_have_the_first_task_of_each_key(messages: list[Submit]) -> None:
    first: dict[Key, tuple[Any, ...]] = {}
    for message in messages:
        first.setdefault(message.keys[0], tasks_of(message)[message.keys[0]])
    merged = merge(messages)
    assert tasks_of(merged) == first
    assert merged.wanted == merged.keys == list(first)


@given(SINGLES)
def test_tasks_of_a_merged_message_refer_to_tasks_before_them_or_to_external_ones(messages: list[Submit]) -> None:
    merged = merge(messages)
    for position, deps in enumerate(merged.deps):
        assert all(dep < position or dep >= len(merged.keys) for dep in deps)


@given(SINGLES)
def test_split_messages_are_those_that_were_merged(messages: list[Submit]) -> None:
    first = {message.keys[0]: message for message in reversed(messages)}
    merged = merge(messages)
    assert [tasks_of(message) for message in split(merged)] == [tasks_of(first[key]) for key in merged.keys]
    assert all(is_single(message) for message in split(merged))
    assert len(messages) == 1 or not is_single(merged)


@pytest.mark.parametrize(
    "options",
    [{"priority": 1}, {"retries": 1}, {"resources": {"GPU": 1.0}}, {"workers": [1]}, {"allow_other_workers": True}],
)
def test_tasks_that_are_treated_differently_are_not_alike(options: Any) -> None:
    assert are_alike(single("a", 1, []), single("b", 2, ["a"]))
    assert not are_alike(single("a", 1, []), single("b", 1, [], **options))


def test_of_tasks_that_are_submitted_together_only_the_wrong_one_is_refused(client: Client) -> None:
    gone = client.submit(tasks.inc, 1, key="gone-1")
    gone.result(timeout=20)
    client.cancel(gone, force=True)
    futures = []
    for number in range(200):
        futures.append(client.submit(tasks.inc, gone if number == 100 else number, pure=False))
        if number > 150:
            futures.append(client.submit(tasks.inc, futures[-1], pure=False))
    with pytest.raises(GraphError, match="'gone-1', which the cluster doesn't know"):
        futures.pop(100).result(timeout=20)
    results = client.gather(futures)
    assert results[:100] == list(range(1, 101))
    assert results[-2:] == [200, 201]
