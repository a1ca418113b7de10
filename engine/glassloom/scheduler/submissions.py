"""`Submissions`: what clients hand in becomes blocks of tasks, or tasks by themselves that depend on each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from glassloom.errors import GraphError
from glassloom.graph.keys import Key, common_layer
from glassloom.scheduler.block_index import BlockIndex
from glassloom.scheduler.block_readers import BlockReaders
from glassloom.scheduler.block_table import BlockTable
from glassloom.scheduler.fairness import FairShare
from glassloom.scheduler.order import Cycle, order
from glassloom.scheduler.restrictions import Restrictions
from glassloom.scheduler.state import TaskState
from glassloom.scheduler.states import ERRED, MEMORY, RELEASED, UNDER_WAY
from glassloom.scheduler.tables import Tables
from glassloom.scheduler.task_block import TaskSlice
from glassloom.scheduler.transitions import Transitions


@dataclass(frozen=True, slots=True)
class Submission:
    """A graph that a client hands in: see `Scheduler.submit`."""

    client: Any
    keys: Sequence[Key]
    specs: Sequence[Any]
    deps: Sequence[Sequence[int]]
    external: Sequence[Key]
    wanted: Sequence[Key]
    priority: int
    retries: int
    restrictions: Restrictions | None
    labels: dict[str, tuple[str, str]]
    run: int

    @property
    def shared_deps(self) -> Sequence[int] | None:
        """The dependencies that all tasks have; None if they have different ones."""
        if len(self.deps) != len(self.keys):
            return self.deps[0]
        return None if any(self.deps) else ()

    def deps_of_each(self) -> Sequence[Sequence[int]]:
        """Return the dependencies of each task."""
        return self.deps if len(self.deps) == len(self.keys) else [self.deps[0]] * len(self.keys)


class Submissions:
    """Takes in what clients submit, and what they want.

    Parameters
    ----------
    min_block
        How many tasks that are alike are made a block, and how many that follow each other in one are read as a slice.
    """

    def __init__(
        self,
        tables: Tables,
        blocks: BlockTable,
        index: BlockIndex,
        readers: BlockReaders,
        transitions: Transitions,
        fair_share: FairShare,
        *,
        min_block: int,
    ) -> None:
        self._tables = tables
        self._blocks = blocks
        self._index = index
        self._readers = readers
        self._transitions = transitions
        self._fair_share = fair_share
        self._min_block = min_block

    def submit(self, submission: Submission) -> None:
        """Take in a graph.

        Raises
        ------
        GraphError
            If an external key is unknown, or there is a cycle. Nothing has changed then.
        """
        for key in submission.external:
            if key not in self._tables.tasks and key not in self._index:
                raise GraphError(
                    f"the graph builds on {key!r}, which the cluster doesn't know (released or cancelled?)"
                )
        if not self._submit_block(submission):
            self._submit_individual(submission)

    def want(self, client: Any, keys: Iterable[Key]) -> None:
        """Let a client want results, and tell it of those that are there, have failed, or are unknown."""
        actions = self._tables.actions
        for key in keys:
            task = self._blocks.task(key)
            if task is None:
                actions.cancelled[client].append(key)
                continue
            self._tables.clients.add(client, task)
            if task.state is MEMORY:
                actions.finished[client].append(task)
            elif task.state is ERRED:
                actions.erred[client].append(task)
            elif task.state is RELEASED:
                self._transitions.start(task)

    # Blocks

    def _submit_block(self, submission: Submission) -> bool:
        """Make a block of the tasks, if they can be one; return whether they are."""
        keys, shared = submission.keys, submission.shared_deps
        if shared is None or not self._are_alike(submission) or any([dep < len(keys) for dep in shared]):
            return False
        name = common_layer(keys)
        if name is None:
            return False
        deps = tuple([self._known(submission.external[dep - len(keys)]) for dep in shared])
        if not all(map(_may_be_read_by_all, deps)):
            return False
        place, places = self._fair_share.assign(submission.client, submission.priority, len(keys))
        layers = self._tables.layers
        self._blocks.add(
            submission.client,
            layers.named(name, submission.labels, submission.run, is_tuple=isinstance(keys[0], tuple)),
            keys,
            submission.specs,
            deps=deps,
            place=place,
            places=places,
            retries=submission.retries,
            origin=layers.built_elsewhere(submission.labels, submission.run).get(name, ""),
        )
        return True

    def _are_alike(self, submission: Submission) -> bool:
        """Tell whether the tasks could be a block, but for what they read: new, all wanted, and without anything particular."""
        keys, specs, wanted = submission.keys, submission.specs, submission.wanted
        if len(keys) < self._min_block or len(wanted) != len(keys) or submission.restrictions is not None:
            return False
        distinct = set(keys)
        return (
            len(distinct) == len(keys)
            and (wanted == keys or distinct == set(wanted))
            and self._tables.tasks.keys().isdisjoint(distinct)  # so, as it goes through the smaller of two sets
            and not self._index.knows_any(distinct)
            and not (isinstance(specs, list) and any([spec is None for spec in specs]))
        )

    # Tasks by themselves

    def _submit_individual(self, submission: Submission) -> None:
        client, labels, run = submission.client, submission.labels, submission.run
        tables, transitions = self._tables, self._transitions
        deps = submission.deps_of_each()
        ranks = _ranks(submission.keys, deps, has_external=bool(submission.external))
        if self._index.knows_any(submission.keys):
            for key in submission.keys:
                self._blocks.find(key)
        elsewhere = tables.layers.built_elsewhere(labels, run)
        tasks = [tables.known_or_new(key, labels, run) for key in submission.keys]
        names = [*submission.keys, *submission.external]
        new: list[TaskState | None] = [None] * len(tasks)  # by rank; None: known already
        for task, spec, below, rank in zip(tasks, submission.specs, deps, ranks, strict=True):
            if task.state is ERRED:
                transitions.move(task, RELEASED)  # handed in again: it gets another chance
            if task.spec is not None or task.state is not RELEASED:
                continue
            task.spec = spec
            if elsewhere:
                task.own_origin = elsewhere.get(task.layer.name, "")
            new[rank] = task
            task.retries = submission.retries
            task.restrictions = submission.restrictions
            if below:
                self._connect(task, [names[dep] for dep in below])
        self._fair_share.charge(client, submission.priority, [task for task in new if task is not None])
        self.want(client, submission.wanted)
        for task in tasks:
            if task.state is RELEASED:
                if task.clients:
                    transitions.start(task)
                elif not task.dependents:
                    tables.to_review.append(task)
        transitions.review()

    def _connect(self, task: TaskState, keys: list[Key]) -> None:
        """Let a new task depend on known ones."""
        layers = self._tables.layers
        if len(keys) >= self._min_block and self._index:
            self._readers.connect(task, keys)
            for item in task.reads or ():
                if isinstance(item, TaskSlice):
                    layers.note_input(task.layer, item.block.layer)
        else:
            tasks = self._tables.tasks
            task.deps = tuple([tasks.get(key) or self._known(key) for key in keys])
        for dep in task.deps:
            if dep.dependents is None:
                dep.dependents = {}
            dep.dependents[task] = None
            if dep.layer.number not in task.layer.inputs:
                layers.note_input(task.layer, dep.layer)

    def _known(self, key: Key) -> TaskState:
        task = self._blocks.task(key)
        assert task is not None
        return task


def _may_be_read_by_all(task: TaskState) -> bool:
    """Tell whether every process can reach a task's result, or whether it is yet to be made."""
    return task.shared_location is not None if task.state is MEMORY else task.state in UNDER_WAY


def _ranks(keys: Sequence[Key], deps: Sequence[Sequence[int]], *, has_external: bool) -> list[int]:
    """Return the place of each task of a graph in the order in which they go.

    Raises
    ------
    GraphError
        If there is a cycle.
    """
    inner = [[dep for dep in below if dep < len(keys)] for below in deps] if has_external else deps
    try:
        return order(inner)
    except Cycle as cycle:
        raise GraphError(f"the graph has a cycle through {keys[cycle.task]!r}") from cycle
