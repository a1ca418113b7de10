"""What a simulated cluster is made of: workers, clients, and what their tasks do, which is drawn from a seed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

import invariants
from glassloom.scheduler import TaskState, WorkerState


@dataclass(frozen=True)
class Run:
    """What a worker is told of a task: as `messages.RunTask`."""

    number: int
    key: str
    deps: tuple[tuple[int, str, int | None], ...]
    """Of each dependency the number, the key, and the location; None: it is in the worker's memory, or will be."""

    def waits_for(self, number: int) -> bool:
        """Tell whether the task reads what the task of that number makes, on the same worker."""
        return any(dep == number and location is None for dep, _, location in self.deps)


@dataclass
class Step:
    """A task on a worker's thread: first its inputs are taken, later it ends."""

    run: Run
    inputs: list[int] | None = None
    has_seceded: bool = False


@dataclass(eq=False)
class Worker:
    """A worker process as `runtime.worker` is one."""

    state: WorkerState
    inbox: deque[tuple[Any, ...]] = field(default_factory=deque)
    outbox: deque[tuple[Any, ...]] = field(default_factory=deque)
    queue: deque[Run] = field(default_factory=deque)
    executing: list[Step] = field(default_factory=list)
    store: dict[int, int] = field(default_factory=dict)
    recent: dict[int, int] = field(default_factory=dict)
    """Small results that it has told of."""
    lost: set[int] = field(default_factory=set)
    """Results that were in the store and can't be read any more, or that were awaited and won't come."""

    @property
    def number(self) -> int:
        return self.state.number

    @property
    def has_free_thread(self) -> bool:
        return sum(not step.has_seceded for step in self.executing) < self.state.nthreads

    def first_that_can_begin(self) -> Run | None:
        """Return the first task in the queue whose inputs aren't still being made here."""
        here = {run.number for run in self.queue} | {step.run.number for step in self.executing}
        return next((run for run in self.queue if not any(run.waits_for(number) for number in here)), None)

    def withdraw(self, numbers: set[int]) -> list[Run]:
        """Take tasks out of the queue, and those that wait for them."""
        found: list[Run] = []
        for run in list(self.queue):
            if run.number in numbers:
                self.queue.remove(run)
                found.append(run)
        return found + (self.withdraw_readers({run.number for run in found}) if found else [])

    def withdraw_readers(self, numbers: set[int]) -> list[Run]:
        """Take those out of the queue that wait for tasks which won't have a result here."""
        return self.withdraw({run.number for run in self.queue if any(run.waits_for(number) for number in numbers)})


@dataclass(eq=False)
class Client:
    """Who wants which results, and what it was told of them."""

    name: int
    status: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"client-{self.name}"


@dataclass(frozen=True)
class Fan:
    """Tasks that all read the same results, and tasks that each read many of theirs, in order.

    A misfit reads what the others read, some of the sinks read it, and it is handed in so that it can run nowhere: it fails
    when its input arrives, while that is told to the others.
    """

    sources: tuple[str, ...]
    middle: list[str]
    sinks: dict[str, tuple[str, ...]]
    misfits: dict[str, tuple[str, ...]]


def random_fan(random: Random, name: str, below: list[str]) -> Fan:
    """Return a fan that reads some of the tasks `below`."""
    middle = [f"{name}-{number}" for number in range(random.choice([4, 10, 16]))]
    sources = tuple(random.sample(below, random.choice([0, 1, 1, 2])))
    misfits = {f"{name}misfit-0": sources[:1]} if sources and random.random() < 0.5 else {}
    sinks = {}
    for number in range(random.choice([1, 1, 3])):
        start = random.choice([0, 0, random.randrange(len(middle))])
        read = middle[start : random.choice([len(middle), random.randint(start + 1, len(middle))])]
        more = random.sample([*below, *middle], random.choice([0, 0, 0, 2]))
        more += [misfit for misfit in misfits if random.random() < 0.5]
        sinks[f"{name}sink-{number}"] = tuple(dict.fromkeys([*more, *read]))
    return Fan(sources, middle, sinks, misfits)


@dataclass(frozen=True)
class Habits:
    """What the tasks of a simulation are like, by key."""

    deps: dict[str, tuple[str, ...]]
    fails: frozenset[str] = frozenset()
    fails_once: frozenset[str] = frozenset()
    kills: frozenset[str] = frozenset()
    unpicklable: frozenset[str] = frozenset()
    small: frozenset[str] = frozenset()
    duration_s: dict[str, float] = field(default_factory=dict)
    nbytes: dict[str, int] = field(default_factory=dict)
    fans: tuple[Fan, ...] = ()
    _values: dict[str, int] = field(default_factory=dict)

    def value(self, key: str) -> int:
        """Return what the key's result must be."""
        if key not in self._values:
            self._values[key] = hash((key, tuple(self.value(dep) for dep in self.deps[key])))
        return self._values[key]

    def above(self, keys: set[str]) -> set[str]:
        """Return `keys` with all that depend on them."""
        found = set(keys)
        for key, deps in self.deps.items():  # dependencies come first
            if found.intersection(deps):
                found.add(key)
        return found


def random_habits(random: Random, n_keys: int) -> Habits:
    """Return a random graph: shallow and wide or deep and narrow, with some tasks that misbehave."""
    keys = [f"op{number % 5}-{number}" for number in range(n_keys)]
    reach, n_deps = random.choice([2, 5, n_keys]), random.choice([1, 2, 4])
    deps = {}
    for number, key in enumerate(keys):
        below = keys[max(0, number - reach) : number]
        deps[key] = tuple(random.sample(below, min(len(below), random.randint(0, n_deps))))

    if random.random() < 0.5:  # independent tasks of one layer, which are handed in as blocks
        roots = [f"root-{number}" for number in range(random.choice([20, 60]))]
        readers = {key: (*below[1:], *random.sample(roots, random.randint(0, 2))) for key, below in deps.items()}
        deps = {**dict.fromkeys(roots, ()), **readers}
        keys = list(deps)
    fans: list[Fan] = []
    if random.random() < 0.4:
        deps = {key: deps[key] for key in list(deps)[:4]}
        for number in range(random.choice([1, 2])):
            fans.append(random_fan(random, f"fan{number}", list(deps)))
            deps.update(dict.fromkeys(fans[-1].middle, fans[-1].sources) | fans[-1].misfits | fans[-1].sinks)
        keys = list(deps)
    in_fans = {key for fan in fans for key in (*fan.sources, *fan.middle)} if random.random() < 0.8 else set()
    is_good = bool(fans) and random.random() < 0.7
    durations_s = random.choice([[1e-6], [1e-6, 1e-3], [1e-6, 1e-3, 1.0]])

    def some(share: float) -> frozenset[str]:
        return frozenset(key for key in keys if random.random() < share)

    def bad(*shares: float) -> frozenset[str]:
        return frozenset() if is_good else some(random.choice(shares))

    return Habits(
        deps,
        fails=bad(0, 0.05),
        fails_once=bad(0, 0.1),
        kills=bad(0, 0, 0.03),
        unpicklable=bad(0, 0.1),
        small=some(0.3) | in_fans,
        fans=tuple(fans),
        duration_s={key: random.choice(durations_s) for key in keys},
        nbytes={key: random.choice([10, 10_000, 100_000]) for key in keys},
    )


@dataclass(frozen=True)
class Published:
    number: int
    key: str


def is_file(location: int) -> bool:
    """Tell whether a result lies in a file; else the head has it."""
    return location % 2 == 0


def as_sent(dep: TaskState | invariants.InBlock) -> tuple[int, str, int | None]:
    return dep.number, dep.key, dep.shared_location


def keys_in(message: tuple[Any, ...]) -> list[str]:
    content = message[1]
    if isinstance(content, Run):
        return [content.key]
    if message[0] == "recalled":
        return message[2]
    return [message[3]] if len(message) > 3 else []


def numbers_in(worker: Worker) -> set[int]:
    """Return the tasks that a worker has been sent and has not answered for."""
    sent = {content.number for kind, content in worker.inbox if kind == "run"}
    return sent | {run.number for run in worker.queue} | {step.run.number for step in worker.executing}
