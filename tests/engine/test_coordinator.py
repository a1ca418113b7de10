"""What clients agree on by name, decided without any I/O; against books that the test keeps itself."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from glassloom.head.coordinator import Coordinator, SharedPayload
from glassloom.protocol.coordination import (
    AcquireLease,
    CountLeases,
    ListVariables,
    Outcome,
    Payload,
    QueueClose,
    QueueGet,
    QueuePut,
    QueueSize,
    ReadEvent,
    ReleaseLease,
    SetEvent,
    VariableDelete,
    VariableGet,
    VariableSet,
    WaitEvent,
)
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

DONE, WITHDRAWN = Outcome(), Outcome("withdrawn")


class Table:
    """A coordinator, and what it has answered and kept so far."""

    def __init__(self) -> None:
        self.coordinator = Coordinator()
        self.answers: dict[tuple[str, int], Outcome] = {}
        self.kept: Counter[str] = Counter()

    def ask(self, asker: str, request: int, op: Any) -> Outcome | None:
        self.coordinator.ask(asker, request, op)
        self.look()
        return self.answers.get((asker, request))

    def withdraw(self, asker: str, request: int, *, undo: bool = False) -> None:
        self.coordinator.withdraw(asker, request, undo=undo)
        self.look()

    def claim(self, asker: str, request: int) -> list[Any]:
        keys = self.coordinator.claim(asker, request)
        self.look()
        return keys

    def leave(self, asker: str) -> None:
        self.coordinator.left(asker)
        self.look()

    def look(self) -> None:
        decisions = self.coordinator.take_decisions()
        self._count(decisions.keep, 1)
        self._count(decisions.release, -1)
        for asker, request, outcome in decisions.answers:
            assert (asker, request) not in self.answers, "answered twice"
            self.answers[asker, request] = outcome

    def _count(self, payloads: list[SharedPayload], change: int) -> None:
        for kept in payloads:
            for key in kept.payload.keys:
                self.kept[str(key)] += change
                assert self.kept[str(key)] >= 0, f"{key} was let go more often than kept"

    @property
    def held(self) -> set[str]:
        return {key for key, count in self.kept.items() if count}


@pytest.fixture
def table() -> Table:
    return Table()


def payload(name: str) -> Payload:
    return Payload(name.encode(), [name])


# Leases


def test_a_lease_is_granted_while_there_is_one_then_in_the_order_of_asking(table: Table) -> None:
    lock = AcquireLease("lock", "x", 1)
    assert [table.ask(asker, 1, lock) for asker in "abc"] == [DONE, None, None]
    table.ask("a", 2, ReleaseLease("lock", "x", 1))
    assert table.answers == {("a", 1): DONE, ("b", 1): DONE}


def test_leases_of_another_kind_or_name_are_others(table: Table) -> None:
    for kind, name in (("lock", "x"), ("lock", "y"), ("semaphore", "x")):
        assert table.ask(f"{kind} {name}", 1, AcquireLease(kind, name, 1)) == DONE


def test_a_lease_ends_when_its_holder_is_gone(table: Table) -> None:
    table.ask("a", 1, AcquireLease("lock", "x", 1))
    table.ask("b", 1, AcquireLease("lock", "x", 1))
    table.leave("a")
    assert table.answers["b", 1] == DONE


def test_a_lease_cannot_be_given_back_by_somebody_else(table: Table) -> None:
    table.ask("a", 1, AcquireLease("lock", "x", 1))
    table.ask("b", 2, ReleaseLease("lock", "x", 1))
    assert table.ask("b", 3, CountLeases("lock", "x")) == Outcome(number=1)


def test_another_number_of_leases_is_refused_while_the_first_is_in_use(table: Table) -> None:
    table.ask("a", 1, AcquireLease("semaphore", "x", 2))
    refused = table.ask("b", 1, AcquireLease("semaphore", "x", 3))
    assert refused == Outcome("refused", reason="semaphore 'x' is in use with 2 leases, not 3")
    table.ask("a", 2, ReleaseLease("semaphore", "x", 1))
    assert table.ask("b", 2, AcquireLease("semaphore", "x", 3)) == DONE


def test_who_waits_no_longer_is_passed_over(table: Table) -> None:
    for asker in "abc":
        table.ask(asker, 1, AcquireLease("lock", "x", 1))
    table.withdraw("b", 1)
    table.ask("a", 2, ReleaseLease("lock", "x", 1))
    assert table.answers == {("a", 1): DONE, ("b", 1): WITHDRAWN, ("c", 1): DONE}


def test_a_lease_that_came_too_late_is_kept_unless_it_is_undone(table: Table) -> None:
    table.ask("a", 1, AcquireLease("lock", "x", 1))
    table.withdraw("a", 1)
    assert table.ask("b", 1, CountLeases("lock", "x")) == Outcome(number=1)
    table.withdraw("a", 1, undo=True)
    assert table.ask("b", 2, CountLeases("lock", "x")) == Outcome(number=0)


# Flags


def test_a_flag_that_goes_up_lets_all_go_on_and_nobody_waits_until_it_goes_down(table: Table) -> None:
    assert [table.ask(asker, 1, WaitEvent("f")) for asker in "ab"] == [None, None]
    table.ask("c", 1, SetEvent("f", True))
    assert table.answers == {("a", 1): DONE, ("b", 1): DONE}
    assert (table.ask("a", 2, WaitEvent("f")), table.ask("a", 3, ReadEvent("f"))) == (DONE, Outcome(number=1))
    table.ask("c", 2, SetEvent("f", False))
    assert (table.ask("a", 4, WaitEvent("f")), table.ask("a", 5, ReadEvent("f"))) == (None, Outcome(number=0))


# Values


def test_a_value_is_waited_for_and_kept_until_another_takes_its_place_and_all_have_claimed(table: Table) -> None:
    assert table.ask("a", 1, VariableGet("v", "x", True)) is None
    table.ask("b", 1, VariableSet("v", "x", payload("first"), True))
    assert table.answers["a", 1] == Outcome(payloads=[payload("first")])
    table.ask("b", 2, VariableSet("v", "x", payload("second"), True))
    assert table.held == {"first", "second"}
    assert table.claim("a", 1) == ["first"]
    assert table.held == {"second"}
    assert table.ask("b", 3, VariableDelete("v", "x")) == DONE
    assert table.held == set()


def test_a_value_is_not_replaced_unless_that_is_wanted(table: Table) -> None:
    table.ask("a", 1, VariableSet("d", "x", payload("first"), False))
    assert table.ask("a", 2, VariableSet("d", "x", payload("second"), False)) == Outcome("refused", reason="exists")
    assert (table.held, table.ask("a", 3, ListVariables("d"))) == ({"first"}, Outcome(names=["x"]))


def test_a_value_that_is_missing_is_refused_to_who_does_not_wait(table: Table) -> None:
    for request, op in enumerate([VariableGet("d", "x", False), VariableDelete("d", "x")]):
        assert table.ask("a", request, op) == Outcome("refused", reason="missing")


def test_a_value_outlives_who_stored_it(table: Table) -> None:
    table.ask("a", 1, VariableSet("d", "x", payload("first"), False))
    table.leave("a")
    assert table.ask("b", 1, VariableGet("d", "x", False)) == Outcome(payloads=[payload("first")])


# Queues


def test_a_full_queue_lets_in_when_something_is_taken(table: Table) -> None:
    assert [table.ask("a", n, QueuePut("q", payload(str(n)), 2)) for n in range(4)] == [DONE, DONE, None, None]
    assert table.ask("b", 1, QueueGet("q", 1)) == Outcome(payloads=[payload("0")])
    assert table.answers["a", 2] == DONE
    assert table.ask("b", 2, QueueSize("q")) == Outcome(number=2)


def test_several_are_taken_together_even_if_the_queue_is_smaller(table: Table) -> None:
    assert table.ask("b", 1, QueueGet("q", 3)) is None
    for n in range(3):
        table.ask("a", n, QueuePut("q", payload(str(n)), 2))
    assert table.answers["b", 1] == Outcome(payloads=[payload("0"), payload("1"), payload("2")])


def test_all_that_is_there_may_be_nothing(table: Table) -> None:
    assert table.ask("b", 1, QueueGet("q", -1)) == DONE
    table.ask("a", 1, QueuePut("q", payload("x"), 0))
    assert table.ask("b", 2, QueueGet("q", -1)) == Outcome(payloads=[payload("x")])


def test_what_was_sent_to_somebody_who_is_gone_goes_to_the_next(table: Table) -> None:
    for n in range(2):
        table.ask("a", n, QueuePut("q", payload(str(n)), 0))
    table.ask("b", 1, QueueGet("q", 2))
    table.leave("b")
    assert table.ask("c", 1, QueueGet("q", 2)) == Outcome(payloads=[payload("0"), payload("1")])
    table.claim("c", 1)
    assert table.held == set()


def test_who_waits_for_a_queue_that_is_closed_is_refused(table: Table) -> None:
    table.ask("a", 1, QueueGet("q", 2))
    table.ask("b", 1, QueuePut("q", payload("x"), 0))
    table.ask("c", 1, QueueClose("q"))
    assert table.answers["a", 1] == Outcome("refused", reason="queue 'q' was closed")
    assert table.held == set()


def test_two_waits_of_one_who_leaves_end_together(table: Table) -> None:
    table.ask("a", 1, QueueGet("q", 5))
    table.ask("a", 2, QueueGet("q", 1))
    table.ask("b", 1, QueuePut("q", payload("x"), 0))
    table.leave("a")
    assert table.ask("b", 2, QueueGet("q", 1)) == Outcome(payloads=[payload("x")])


# All together


class Agreements(RuleBasedStateMachine):
    """Askers that ask, withdraw, claim and leave in any order; the test counts leases and values itself."""

    askers = st.sampled_from("abc")

    @initialize()
    def begin(self) -> None:
        self.table = Table()
        self.n_asked = 0
        self.holders: dict[tuple[str, int], None] = {}
        self.n_put = 0
        self.claimed: list[bytes] = []
        self.unclaimed: dict[tuple[str, int], list[bytes]] = {}
        self.takes: set[tuple[str, int]] = set()
        self.puts: dict[tuple[str, int], bytes] = {}
        self.dropped: set[bytes] = set()

    def ask(self, asker: str, op: Any) -> tuple[str, int]:
        self.n_asked += 1
        self.table.ask(asker, self.n_asked, op)
        return asker, self.n_asked

    @rule(asker=askers)
    def acquire(self, asker: str) -> None:
        self.holders[self.ask(asker, AcquireLease("semaphore", "s", 2))] = None

    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        granted = [ticket for ticket in self.holders if self.table.answers.get(ticket) == DONE]
        if granted:
            asker, lease = data.draw(st.sampled_from(granted))
            del self.holders[asker, lease]
            self.ask(asker, ReleaseLease("semaphore", "s", lease))

    @rule(asker=askers)
    def put(self, asker: str) -> None:
        self.n_put += 1
        name = f"value-{self.n_put}"
        self.puts[self.ask(asker, QueuePut("q", payload(name), 3))] = name.encode()

    @rule(asker=askers, count=st.sampled_from([-1, 1, 2]))
    def take(self, asker: str, count: int) -> None:
        self.takes.add(self.ask(asker, QueueGet("q", count)))

    @rule(data=st.data(), undo=st.booleans())
    def withdraw(self, data: st.DataObject, undo: bool) -> None:
        open_tickets = sorted({*self.holders, *self.takes, *self.puts} - {*self.table.answers})
        done = sorted({*self.holders, *self.takes} & {*self.table.answers}) if undo else []
        if not open_tickets and not done:
            return
        ticket = data.draw(st.sampled_from(open_tickets + done))
        self.table.withdraw(*ticket, undo=undo)
        if ticket in open_tickets:
            assert self.table.answers[ticket] == WITHDRAWN
            if ticket in self.puts:
                self.dropped.add(self.puts[ticket])
        self.holders.pop(ticket, None)
        self.takes.discard(ticket)

    @rule(data=st.data())
    def claim(self, data: st.DataObject) -> None:
        answered = sorted(self.takes & {*self.table.answers})
        if answered:
            ticket = data.draw(st.sampled_from(answered))
            self.takes.discard(ticket)
            self.table.claim(*ticket)
            self.claimed.extend(item.data for item in self.table.answers[ticket].payloads)

    @rule(asker=askers)
    def leave(self, asker: str) -> None:
        waiting = [ticket for ticket in self.puts if ticket[0] == asker and ticket not in self.table.answers]
        self.table.leave(asker)
        for ticket in waiting:
            if ticket not in self.table.answers:
                self.dropped.add(self.puts[ticket])
                del self.puts[ticket]
        self.holders = {ticket: None for ticket in self.holders if ticket[0] != asker}
        self.takes = {ticket for ticket in self.takes if ticket[0] != asker}

    @invariant()
    def as_many_hold_leases_as_may(self) -> None:
        granted = [ticket for ticket in self.holders if self.table.answers.get(ticket) == DONE]
        assert len(granted) == min(2, len(self.holders))

    @invariant()
    def no_value_is_lost_or_taken_twice(self) -> None:
        assert len(set(self.claimed)) == len(self.claimed)
        all_names = {f"value-{n + 1}".encode() for n in range(self.n_put)}
        assert {name.encode() for name in self.table.held} == all_names - set(self.claimed) - self.dropped

    @invariant()
    def nobody_waits_for_what_is_there(self) -> None:
        on_the_way = {
            item.data for ticket in self.takes & {*self.table.answers} for item in self.table.answers[ticket].payloads
        }
        n_entered = sum(self.table.answers.get(ticket) == DONE for ticket in self.puts)
        taken = {*on_the_way, *self.claimed}
        n_inside = n_entered - len({name for t, name in self.puts.items() if name in taken})
        if self.takes - {*self.table.answers}:
            assert n_inside < 2


TestAgreements = Agreements.TestCase
