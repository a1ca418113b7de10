"""The table of state changes: exactly the legal ones, each of them taken by random work, all others refused."""

from __future__ import annotations

import ast
from pathlib import Path

import invariants
import pytest
from glassloom.scheduler import Scheduler, State, block_table
from glassloom.scheduler import transitions as module
from glassloom.scheduler.states import FORGOTTEN, READY, RELEASED, WAITING
from glassloom.scheduler.transitions import TRANSITIONS, IllegalTransition
from simulator import Simulation

LEGAL = {
    State.RELEASED: "waiting ready memory erred forgotten",
    State.WAITING: "released ready running memory erred",
    State.READY: "released waiting staging running erred",
    State.STAGING: "released waiting ready running",
    State.RUNNING: "released waiting memory erred",
    State.MEMORY: "released forgotten",
    State.ERRED: "released memory forgotten",
    State.FORGOTTEN: "",
}
PAIRS = {(start, State[name.upper()]) for start, names in LEGAL.items() for name in names.split()}


def test_the_table_has_exactly_the_legal_changes() -> None:
    assert set(TRANSITIONS) == PAIRS


@pytest.mark.parametrize("start", State)
@pytest.mark.parametrize("finish", State)
def test_any_other_change_is_refused_and_nothing_has_changed_then(start: State, finish: State) -> None:
    if (start, finish) in PAIRS:
        return
    scheduler = Scheduler(lambda kind, task: (kind, task.key))
    scheduler.submit("me", ["inc-1"], ["spec"], [()], wanted=["inc-1"])
    task = scheduler.tasks["inc-1"]
    task.state = start
    counts = list(task.layer.counts)
    with pytest.raises(IllegalTransition, match=f"'inc-1' {start.name.lower()}> can't become {finish.name.lower()}"):
        scheduler._transitions.move(task, finish)
    assert (task.state, task.layer.counts) == (start, counts)


def test_every_legal_change_happens_in_random_work(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: set[tuple[State, State]] = set()

    class Recording(dict):  # type: ignore[type-arg]
        def __getitem__(self, change: tuple[State, State]) -> object:
            taken.add(change)
            return super().__getitem__(change)

    monkeypatch.setattr(module, "TRANSITIONS", Recording(TRANSITIONS))
    _fail_what_cannot_be_computed()
    monkeypatch.setattr(invariants, "check", lambda *_: None)  # `test_scheduler_properties` checks them
    for seed in range(70):
        simulation = Simulation(seed)
        for _ in range(1000):
            simulation.step()
        simulation.settle()
        simulation.end()
        if taken >= PAIRS:
            break
    assert sorted(PAIRS - taken) == []


def _fail_what_cannot_be_computed() -> None:
    """Rare ones: a task without a specification that somebody needs, and a value in the place of a failure."""
    scheduler = Scheduler(lambda kind, task: (kind, task.key))
    scheduler.submit("me", ["data-1"], [None], [()], wanted=["data-1"])
    scheduler.add_data("me", "data-1", "place", 8)


def test_no_module_of_the_scheduler_sets_a_state_but_by_the_table() -> None:
    folder = Path(module.__file__).parent
    setters = [
        f"{path.name}: {node.lineno}"
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Attribute) and target.attr == "state"
    ]
    assert sorted({place.split(":")[0] for place in setters}) == [
        "block_table.py",  # of a block, whether it may wait in a queue
        "state.py",
        "task_block.py",  # the same
        "transitions.py",
    ], setters


def test_slices_of_blocks_make_no_change_that_single_tasks_could_not() -> None:
    by_way_of_released = {(READY, FORGOTTEN), (WAITING, FORGOTTEN)}
    assert block_table._LEGAL - by_way_of_released <= PAIRS
    assert {(READY, RELEASED), (WAITING, RELEASED), (RELEASED, FORGOTTEN)} <= PAIRS
