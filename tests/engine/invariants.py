"""What must be true of a scheduler between any two events; see the docstring of `glassloom.scheduler.core`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from glassloom.scheduler import Actions, Pressure, Scheduler, State, TaskState, WorkerState
from glassloom.scheduler.ready_queue import ReadyQueue, would_grow_memory
from glassloom.scheduler.task_block import TaskBlock, TaskSlice

UNDER_WAY = frozenset([State.WAITING, State.READY, State.STAGING, State.RUNNING])
PLACED = frozenset([State.STAGING, State.RUNNING])
_N_STATES = len(State)
_STATES = [State(number) for number in range(_N_STATES)]
MEMORY, WAITING, READY, STAGING, RELEASED = State.MEMORY, State.WAITING, State.READY, State.STAGING, State.RELEASED


class Broken(AssertionError):
    """An invariant doesn't hold."""


@dataclass
class InBlock:
    """A task of a block, looked at without taking it out."""

    block: TaskBlock
    position: int

    @property
    def key(self) -> Any:
        return self.block.keys[self.position]

    @property
    def number(self) -> int:
        return self.block.first + self.position

    @property
    def state(self) -> State:
        return State(self.block.states[self.position])

    @property
    def shared_location(self) -> Any:
        return None if self.block.locations is None else self.block.locations[self.position]


def inputs(task: TaskState) -> Iterator[TaskState | InBlock]:
    """Yield what a task reads, in order."""
    for item in task.deps if task.reads is None else task.reads:
        if isinstance(item, TaskSlice):
            yield from (InBlock(item.block, position) for position in range(item.start, item.stop))
        else:
            yield item


def freed(actions: Actions) -> list[tuple[int, Any]]:
    """Return the task and location of each result that nobody will read again."""
    in_blocks = [pair for numbers, held in actions.free_slices for pair in zip(numbers, held, strict=True)]
    return [*actions.free, *in_blocks]


def check(scheduler: Scheduler, misses_an_input: Collection[int] = ()) -> None:
    """Raise `Broken` if the scheduler's books contradict each other.

    Parameters
    ----------
    misses_an_input
        Numbers of running tasks one of whose inputs was lost, or failed, after they had been sent: they have it, or are
        given back.
    """
    queued = _queued(scheduler)
    counts: dict[object, list[int]] = {}
    tables = scheduler._tables
    for key, task in tables.tasks.items():
        _that(task.key == key and tables.by_number.get(task.number) is task, "is known by key and number", task)
        _that(bool(task.clients) or bool(task.dependents), "is known only while somebody may need it", task)
        _check_neighbours(scheduler, task)
        _check_state(scheduler, task, task.number in misses_an_input)
        _that((task.state is READY) == (task in queued), "is queued if and only if it is ready", task)
        counts.setdefault(task.layer, [0] * _N_STATES)[task.state] += 1
    _that(len(tables.by_number) == len(tables.tasks), "numbers and keys are as many", scheduler)
    for block in scheduler._index:
        _check_block(scheduler, block, counts)
    _that(sum(block.n_known for block in scheduler._index) == len(scheduler._index), "counts blocks' tasks", scheduler)
    for layer in scheduler.layers.values():
        known = counts.get(layer, [0] * _N_STATES)
        known[State.FORGOTTEN] = layer.total - sum(known)
        if layer.counts != known:
            _broken(f"counts {layer.counts} should be {known}", layer)
        let_go = [task for task in tables.tasks.values() if task.layer is layer and task.was_held]
        _that(all(task.state is RELEASED for task in let_go), "lets go of what it had held only", layer)
        gone = known[State.FORGOTTEN] - layer.n_failed
        n_let_go = len(let_go) + sum(block.states.count(RELEASED) for block in scheduler._index if block.layer is layer)
        if not (0 <= layer.n_released - n_let_go <= gone):
            _broken(f"released {layer.n_released} results", layer)
    in_blocks = _count_in_blocks(scheduler)
    for worker in scheduler.workers.values():
        _check_worker(scheduler, worker, in_blocks)


def check_settled(scheduler: Scheduler) -> None:
    """Raise `Broken` if work is left undone right after `take_actions()`: a worker with room, a task it could run."""
    busy: list[object] = [
        task for worker in scheduler.workers.values() for task in worker.running if not _has_seceded(task)
    ]
    busy += [worker for worker in scheduler.workers.values() if worker.n_in_blocks]
    for worker in scheduler.workers.values():
        if not worker.has_room():
            continue
        demanding = [
            queue
            for restrictions, queue in scheduler._queues.restricted.items()
            if scheduler._queues.may_run(restrictions, worker)
        ]
        queues = [worker.ready, scheduler._queues.common, *demanding]
        fit = [task for queue in queues for task in _fit(queue, worker, not busy)]
        if not (not fit or _is_suspect_in_company(fit, worker)):
            _broken(f"has room for {fit}", worker)


def _fit(queue: ReadyQueue, worker: WorkerState, all_is_still: bool) -> list[TaskState]:
    """Return what the worker should have taken; where memory is short, not what would need more, unless all is still."""
    if worker.pressure is Pressure.NONE or all_is_still:
        return _tasks_in(queue)
    return [task for task in _current([*queue._line, *queue._heap]) if not would_grow_memory(task)]


def _is_suspect_in_company(tasks: list[TaskState], worker: WorkerState) -> bool:
    """A task on its last chance runs alone: it waits until the worker is empty, and what is behind it too."""
    return any(task.n_deaths for task in tasks) and worker.n_busy > 0


def _has_seceded(task: TaskState) -> bool:
    return task.worker is not None and task.number in task.worker.seceded


def _check_neighbours(scheduler: Scheduler, task: TaskState) -> None:
    for dep in task.deps:
        if scheduler._tables.tasks.get(dep.key) is not dep:
            _broken(f"keeps its dependency {dep} known", task)
        if not (dep.dependents is not None and task in dep.dependents):
            _broken(f"is a dependent of {dep}", task)
    slices = [item for item in task.reads or () if isinstance(item, TaskSlice)]
    _that(task.reads is None or bool(slices), "reads slices", task)
    _that(task.reads is None or task.deps == tuple([d for d in task.reads if d not in slices]), "reads", task)
    for item in slices:
        if item.block not in list(scheduler._index):
            _broken(f"reads {item}, which is known", task)
        if (task, item.start, item.stop) not in item.block.readers:
            _broken(f"is a reader of {item}", task)
        gone = item.block.states[item.start : item.stop].count(State.FORGOTTEN)
        if gone:
            _broken(f"keeps all of {item} in the block", task)
    n_waiters = 0
    for dependent in task.dependents or ():
        if task not in dependent.deps:
            _broken(f"is a dependency of {dependent}", task)
        if isinstance(dependent, TaskBlock):
            if dependent not in list(scheduler._index):
                _broken(f"is read by {dependent}, which is known", task)
            n_waiters += sum(dependent.states.count(state) for state in UNDER_WAY)
        else:
            n_waiters += dependent.state in UNDER_WAY
    if task.n_live_dependents != n_waiters:
        _broken(f"has {task.n_live_dependents} live dependents, should be {n_waiters}", task)


def _check_state(scheduler: Scheduler, task: TaskState, misses_an_input: bool) -> None:
    state = task.state
    _that(state is not State.FORGOTTEN, "isn't forgotten", task)
    if task.is_needed:
        _that(state is not RELEASED, "is needed, so it is under way, held or erred", task)
    else:
        _that(state not in UNDER_WAY, "is under way, so somebody needs it", task)
    missing = [dep for dep in inputs(task) if dep.state is not MEMORY]
    if state in (READY, STAGING) and missing:
        _broken(f"needs {missing}", task)
    if state is State.RUNNING and not misses_an_input:
        if task.n_awaited != len(missing):
            _broken(f"was sent ahead of {task.n_awaited}, should be {missing}", task)
        here = all(dep.state is State.RUNNING and dep.worker is task.worker for dep in missing)
        if not here:
            _broken(f"was sent ahead of what is made there: {missing}", task)
    if state is WAITING:
        if task.n_missing_inputs != len(missing):
            _broken(f"waits for {task.n_missing_inputs}, should be {missing}", task)
        _that(bool(missing) or _is_stopping(scheduler, task), "waits for something", task)
        if not all(dep.state in UNDER_WAY for dep in missing):
            _broken(f"waits for what is under way: {missing}", task)
    if (task.worker is not None) != (state in PLACED):
        _broken(f"is at {task.worker}", task)
    if task.worker is not None:
        if task not in task.worker.running:
            _broken(f"runs on {task.worker}", task)
        if scheduler.workers.get(task.worker.number) is not task.worker:
            _broken(f"runs on the living {task.worker}", task)
    if state is STAGING:
        away = [dep for dep in task.deps if dep.shared_location is None and dep.owner is not task.worker]
        if not (task.n_staging == len(away) > 0):
            _broken(f"is staged for {task.n_staging}, should be {away}", task)
        if not all(dep in dep.owner.publishing for dep in away):
            _broken(f"is staged for what is being published: {away}", task)
    if state is State.RUNNING and not misses_an_input:
        held = [dep for dep in inputs(task) if dep.state is MEMORY]
        away = [
            dep
            for dep in held
            if dep.shared_location is None and (isinstance(dep, InBlock) or dep.owner is not task.worker)
        ]
        if away:
            _broken(f"can reach {away}", task)
    held = task.owner is not None or task.shared_location is not None
    _that(held == (state is MEMORY), "is held if and only if it is in memory", task)
    if state is MEMORY:
        _that(task.is_needed or (task.spec is None and bool(task.dependents)), "is held because it is needed", task)
    if task.owner is not None:
        if task not in task.owner.has:
            _broken(f"lies on {task.owner}", task)
        if scheduler.workers.get(task.owner.number) is not task.owner:
            _broken(f"lies on the living {task.owner}", task)


def _check_block(scheduler: Scheduler, block: TaskBlock, counts: dict[object, list[int]]) -> None:
    here = [position for position, state in enumerate(block.states) if state != State.FORGOTTEN]
    states = [_STATES[block.states[position]] for position in here]
    if not (len(here) == block.n_known > 0):
        _broken(f"has {len(here)} tasks", block)
    legal = {WAITING, READY, State.RUNNING, MEMORY, RELEASED}
    if not (set(states) <= legal):
        _broken(f"has tasks in {set(states)}", block)
    if not (WAITING not in states or set(states) == {WAITING}):
        _broken(f"waits as a whole, not {set(states)}", block)
    if (block.state is WAITING) != (WAITING in states):
        _broken(f"is {block.state.name}", block)
    n_missing = sum(dep.state is not MEMORY for dep in block.deps)
    if WAITING in states:
        if not (block.n_missing_inputs == n_missing > 0):
            _broken(f"waits for {block.n_missing_inputs}, not {n_missing}", block)
        _that(all(dep.state in UNDER_WAY or dep.state is MEMORY for dep in block.deps), "waits for work", block)
    elif (READY in states or State.RUNNING in states) and any(dep.shared_location is None for dep in block.deps):
        _broken(f"can reach {block.deps}", block)
    for dep in block.deps:
        if scheduler._tables.tasks.get(dep.key) is not dep:
            _broken(f"keeps its dependency {dep} known", block)
        if not (dep.dependents is not None and block in dep.dependents):
            _broken(f"is a dependent of {dep}", block)
    for reader, start, stop in block.readers:
        if scheduler._tables.tasks.get(reader.key) is not reader:
            _broken(f"is read by {reader}, which is known", block)
        of_it = [item for item in reader.reads or () if isinstance(item, TaskSlice) and item.block is block]
        if (start, stop) not in [(item.start, item.stop) for item in of_it]:
            _broken(f"is read by {reader}", block)
    if states.count(READY) != block.n_ready:
        _broken(f"has {states.count(READY)} ready tasks", block)
    if (block.state is READY) != (block.n_ready > 0):
        _broken(f"is {block.state.name}", block)
    if not (READY not in block.states[: block.cursor]):
        _broken(f"has no ready task before {block.cursor}", block)
    entries = [entry for entry in _entries(scheduler._queues.common) if entry[2] is block and entry[1] == block.stamp]
    if not (len(entries) == 1 or block.state is not READY):
        _broken(f"is queued {len(entries)} times", block)
    for position, state in zip(here, states, strict=True):
        key, number = block.keys[position], block.first + position
        if scheduler._index._by_key.get(key) is not block:
            _broken(f"is found by {key!r}", block)
        _that(key not in scheduler._tables.tasks and number not in scheduler._tables.by_number, "is one", block)
        counts.setdefault(block.layer, [0] * _N_STATES)[state] += 1
        is_wanted = block.wanted is None or block.wanted[position] == 1
        over = [reader for reader, start, stop in block.readers if start <= position < stop]
        is_needed = is_wanted or any(reader.state in UNDER_WAY for reader in over)
        if not (is_wanted or bool(over)):
            _broken(f"keeps {key!r} only while somebody may need it", block)
        if is_needed != (state is not RELEASED):
            _broken(f"has {key!r} {state.name}, needed: {is_needed}", block)
        if state == State.RUNNING:
            _that(block.workers[position] in scheduler.workers, "runs on living workers", block)


def _entries(queue: ReadyQueue[Any]) -> list[tuple[int, int, Any]]:
    return [*queue._line, *queue._heap, *queue._held_back]


def _count_in_blocks(scheduler: Scheduler) -> dict[int, tuple[int, int, float]]:
    """Return by worker how many tasks in blocks run there, how many results in blocks only it has, and the first's estimates."""
    counts: dict[int, tuple[int, int, float]] = {}
    for block in scheduler._index:
        for position, (worker, state) in enumerate(zip(block.workers, block.states, strict=True)):
            if state == State.RUNNING or (state == MEMORY and _is_private(block, position)):
                n_running, n_held, estimate_s = counts.get(worker, (0, 0, 0.0))
                if state == State.RUNNING:
                    counts[worker] = n_running + 1, n_held, estimate_s + block.estimates_s[position]
                else:
                    counts[worker] = n_running, n_held + 1, estimate_s
    return counts


def _is_private(block: TaskBlock, position: int) -> bool:
    return block.locations is None or block.locations[position] is None


def _check_worker(scheduler: Scheduler, worker: WorkerState, in_blocks: dict[int, tuple[int, int, float]]) -> None:
    sent = {task.number for task in worker.running if task.state is State.RUNNING} | worker.stopping.keys()
    if not (worker.seceded <= sent):
        _broken(f"has sent {sent} when {worker.seceded} secede", worker)
    _that(not (worker.stopping.keys() & {task.number for task in worker.running}), "runs or stops, not both", worker)
    ahead = [task for task in worker.running if task.n_awaited]
    if worker.n_ahead != len(ahead):
        _broken(f"counts {worker.n_ahead} of those sent ahead, should be {ahead}", worker)
    if not (worker.asked_back <= sent):
        _broken(f"was asked for {worker.asked_back} of {sent}", worker)
    takers = [task for task in worker.running if task.restrictions] + [
        task for task in worker.stopping.values() if task.restrictions
    ]
    if not (worker.claims.keys() <= {*sent, *(task.number for task in takers)}):
        _broken(f"has claims {worker.claims}", worker)
    for task in takers:
        if worker.claims.get(task.number) != task.restrictions.resources:
            _broken(f"keeps resources for {task}", worker)
    for name, amount in worker.resources.items():
        taken = sum(dict(resources).get(name, 0) for resources in worker.claims.values())
        if not (worker.free[name] == amount - taken >= 0):
            _broken(f"has {worker.free} free, {taken} of {name} taken", worker)
    is_short = worker.pressure is Pressure.HIGH
    if (worker in scheduler._placement.short_of_memory) != is_short:
        _broken(f"is {worker.pressure.name}", worker)
    _that(all(task.worker is worker for task in worker.running), "runs what is placed on it", worker)
    _that(all(task.owner is worker for task in worker.has), "has what lies on it", worker)
    _that(all(task in worker.has for task in worker.publishing), "publishes what lies on it", worker)
    estimate_s = sum(task.estimate_s for task in worker.running)
    n_running, n_held, in_blocks_s = in_blocks.get(worker.number, (0, 0, 0.0))
    estimate_s += in_blocks_s
    if (worker.n_in_blocks, worker.n_held_in_blocks) != (n_running, n_held):
        _broken(f"has {n_running}, {n_held}", worker)
    if not (abs(worker.occupancy_s - estimate_s) < 1e-6):
        _broken(f"is busy for {worker.occupancy_s}, not {estimate_s}", worker)


def _is_stopping(scheduler: Scheduler, task: TaskState) -> bool:
    """A task that is wanted again waits for the answer of the worker that still has its last run."""
    return any(task.number in worker.stopping for worker in scheduler.workers.values())


def _queued(scheduler: Scheduler) -> set[TaskState]:
    queues = [
        scheduler._queues.common,
        *(worker.ready for worker in scheduler.workers.values()),
        *scheduler._queues.restricted.values(),
    ]
    entries = [task for queue in queues for task in _tasks_in(queue) if isinstance(task, TaskState)]
    if len(entries) != len(set(entries)):
        _broken(f"queues each once: {entries}", scheduler)
    return set(entries)


def _tasks_in(queue: ReadyQueue) -> list[TaskState]:
    return _current([*queue._line, *queue._heap, *queue._held_back])


def _current(heap: list[tuple[int, int, TaskState]]) -> list[TaskState]:
    return [task for _, stamp, task in heap if task.state is READY and task.stamp == stamp]


def _that(condition: bool, claim: str, subject: object) -> None:
    """For claims that are there already; making one takes longer than most checks do: see `_broken`."""
    if not condition:
        _broken(claim, subject)


def _broken(claim: str, subject: object) -> NoReturn:
    raise Broken(f"not so: {subject!r} {claim}")
