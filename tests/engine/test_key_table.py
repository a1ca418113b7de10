"""The client's table of keys: many at once are held as one after the other, and what is held is given back once."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from glassloom.client import key_table
from glassloom.client.key_table import DroppedKey, KeyState, KeyTable
from glassloom.graph import Key
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

KEYS = st.lists(st.sampled_from(["a", "b", ("c", 1), ("c", 2), "d"]), max_size=12)


class Held:
    """What stays referred to while keys are held: as futures do."""

    def __init__(self) -> None:
        self.dropped: list[DroppedKey] = []
        self.table = KeyTable(self.dropped.append)
        self.states: list[list[KeyState]] = []

    def given_back(self) -> list[Key]:
        gc.collect()
        taken, self.dropped[:] = self.dropped[:], []
        return self.table.drop(taken)


@pytest.fixture(scope="module", autouse=True)
def small_heap() -> None:
    """Keep what is there out of passes of the garbage collector: a property runs hundreds of them, at 0.2 s each."""
    gc.collect()
    gc.freeze()


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(KEYS, max_size=4), st.integers(0, 12))
def test_many_keys_are_held_at_once_as_one_after_the_other(groups: list[list[Key]], few: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_table, "_FEW", few)
        held = Held()
        known: dict[Key, KeyState] = {}
        for keys in groups:
            states = held.table.hold_all(keys)
            held.states.append(states)
            assert [known.setdefault(key, state) for key, state in zip(keys, states, strict=True)] == states
        expected = set(known)
        known.clear()
        states = []
        held.states.clear()
        given_back = held.given_back()
        assert set(given_back) == expected
        assert len(given_back) == len(expected)
        assert not held.table.holds_results


def test_keys_that_are_held_after_the_end_are_lost() -> None:
    table = KeyTable([].append)
    table.end_all()
    states = [*table.hold_all([f"k-{number}" for number in range(20)]), table.hold("x")]
    assert {state.status for state in states} == {"lost"}


def test_states_that_wait_for_the_same_are_told_of_together_and_each_once() -> None:
    table = KeyTable([].append)
    states = table.hold_all(["a", "b", "c", "d"])
    table.mark_sent(states, 1)
    told: list[list[KeyState]] = []
    also: list[list[KeyState]] = []
    table.when_done(states, lambda done: told.append(list(done)))
    table.when_done(states[1:2], lambda done: also.append(list(done)))
    table.finish(["a", "c"], [1, 1], [b"", b""], handled=1)
    table.finish(["c", "b"], [1, 1], [b"", b""], handled=1)
    table.end(["d"], "cancelled", None, handled=1)
    assert told == [[states[0], states[2]], [states[1]], [states[3]]]
    assert also == [[states[1]]]


def test_a_callback_that_is_taken_back_is_not_called_and_others_are() -> None:
    table = KeyTable([].append)
    (state,) = table.hold_all(["a"])
    table.mark_sent([state], 1)
    told: list[Any] = []
    other: list[Any] = []
    table.when_done([state], told.append)
    table.when_done([state], other.append)
    table.forget_callback([state], told.append)
    table.finish(["a"], [1], [None], handled=1)
    assert (told, other) == ([], [[state]])


def test_a_state_whose_making_was_interrupted_gives_nothing_back() -> None:
    held = Held()
    state = KeyState()
    reference = DroppedKey(state, held.dropped.append)  # and then the interrupt came, before it had a key
    del state
    assert held.given_back() == []
    del reference


def test_a_future_of_before_does_not_hold_what_is_submitted_again_under_its_key() -> None:
    held = Held()
    former = held.table.hold("x")
    held.table.mark_sent([former], 1)
    held.table.note_cancelling([former])
    latter: list[KeyState] = [held.table.hold("x")]
    held.table.mark_sent(latter, 3)
    held.table.finish(["x"], [8], [None], handled=3)
    assert (former.status, latter[0].status) == ("cancelled", "finished")
    latter.clear()
    assert held.given_back() == ["x"]
    del former
    assert held.given_back() == []


def test_what_one_call_asked_for_is_let_go_of_though_a_thread_refers_to_it_still() -> None:
    held = Held()
    (first,) = held.table.hold_all(["x"])
    held.table.mark_sent([first], 1)
    held.table.let_go(["x"], [first])
    again = held.table.hold("x")
    assert again is not first and held.given_back() == ["x"]
    held.table.mark_sent([again], 3)
    held.table.finish(["x"], [8], [None], handled=2)
    assert again.status == "pending"  # that was about the task of before
    del first
    assert held.given_back() == []
    held.table.let_go(["x"], [again])
    del again
    assert held.given_back() == ["x"] and held.given_back() == [] and not held.table.holds("x")


def test_what_others_hold_is_not_let_go_of() -> None:
    held = Held()
    future = held.table.hold("x")
    states = held.table.hold_all(["x"])
    held.table.let_go(["x"], states)
    assert states == [future] and held.table.holds("x") and held.given_back() == []


def test_a_key_whose_new_task_is_on_its_way_is_not_given_back() -> None:
    held = Held()
    (first,) = held.table.hold_all(["x"])
    held.table.let_go(["x"], [first])
    again = held.table.hold("x")
    held.table.mark_sent([again], 2)
    assert held.given_back() == []
    del first, again
    assert held.given_back() == ["x"]
