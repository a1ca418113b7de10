"""Nodes that make one block from one block of each dependency, and chains of them fused into one task a block."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from glassloom.expr.core import Expr
from glassloom.graph import Key, Task


class Pick(NamedTuple):
    """An axis of a dependency's block index that is looked up: ``blocks[index[axis]]``, or ``blocks[0]`` without axis.

    This is how a node reads some of a dependency's blocks, or reads them in another order.
    """

    axis: int | None
    blocks: tuple[int, ...]


Mapping = tuple[int | None | Pick, ...]
"""For each axis of a dependency's block index: the axis of this node's index that it follows, None for index 0, or a
`Pick`."""


class Blockwise(Expr):
    """One task a block: ``function(*dependency blocks, *literals of the block)``.

    Subclasses say `numblocks`, `function`, and where they differ from the default `mappings` and `literals`. The
    function must not depend on the block, so that it is sent once; what does goes into `literals`.
    """

    is_made_by_fusion: ClassVar[bool] = False
    """Whether it stands for nothing that a person has asked for."""

    @property
    def numblocks(self) -> tuple[int, ...]:
        """Number of blocks along each axis."""
        raise NotImplementedError

    @property
    def function(self) -> Callable[..., Any]:
        """What is called with the blocks of `dependencies`, in order, then the literals."""
        raise NotImplementedError

    @property
    def final_function(self) -> Callable[..., Any]:
        """What is called instead of `function` where the result is kept, not used up in the same task."""
        return self.function

    @property
    def detach(self) -> Callable[[Any], Any] | None:
        """What a result is passed through that is kept and may be a view of this node's blocks; None: nothing."""
        return None

    @property
    def mappings(self) -> list[Mapping]:
        """One mapping for each dependency. Default: the same index, axes aligned at the right, 0 for one block."""
        ndim = len(self.numblocks)
        return [align_right(dependency.numblocks, ndim) for dependency in self.dependencies]  # type: ignore[attr-defined]

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        """Return further arguments that differ from block to block."""
        return ()

    @property
    def tiled(self) -> Any:
        """How `function` is run on a part of a block at a time, in terms of `program_type`; None if it can't be."""
        return None

    @property
    def program_type(self) -> type[Program]:
        """What runs the steps of a fused block whose last step is this node's."""
        return Program

    def member_function(self, member: Blockwise) -> Callable[..., Any]:
        """Return what is called for another node that runs in the tasks of this one."""
        return member.function

    def outer_function(self, function: Callable[..., Any], *, is_own: bool = True) -> Callable[..., Any]:
        """Return what is called as the last step of a task that other nodes run in, for a function there: this node's, if `is_own`."""
        return function

    def detached(self, function: Callable[..., Any], detach: Callable[[Any], Any]) -> Callable[..., Any]:
        """Return this node's function with its result passed through another."""
        return Detached(function, detach)

    @property
    def siblings_from(self) -> int | None:
        """From how many blocks on they may be made in one task with others of the same source; None: never.

        That is for partial results: small beside what they are made of, and joined as soon as all are there. Fewer blocks
        are made side by side, on threads that would be idle: the more a block takes, the more that matters.
        """
        return None

    @property
    def fusible(self) -> bool:
        """Whether the node may become a part of its consumer's task."""
        return True

    def output_keys(self) -> list[Key]:
        return [(self.name, *index) for index in block_indices(self.numblocks)]

    @property
    def n_tasks(self) -> int:
        return math.prod(self.numblocks)

    def tasks(self) -> dict[Key, Task]:
        sources = [
            (dependency.name, index_mapper(mapping))
            for dependency, mapping in zip(self.dependencies, self.mappings, strict=True)
        ]
        name, function, literals = self.name, self.final_function, self.literals
        tasks: dict[Key, Task] = {}
        for index in block_indices(self.numblocks):
            key: Key = (name, *index)
            keys: list[Key] = [(source, *mapped(index)) for source, mapped in sources]
            tasks[key] = Task.of_blocks(key, function, keys, literals(index))
        return tasks


class Detached:
    """A function whose result is passed through another one before it is kept; see `Blockwise.detach`."""

    __slots__ = ("function", "detach")

    def __init__(self, function: Callable[..., Any], detach: Callable[[Any], Any]) -> None:
        self.function, self.detach = function, detach

    def __glassloom_tokenize__(self) -> Any:
        return self.function

    def __reduce__(self) -> tuple[Any, ...]:
        return (Detached, (self.function, self.detach))

    def __call__(self, *args: Any) -> Any:
        return self.detach(self.function(*args))


def block_indices(numblocks: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the indices of all blocks in C order."""
    return itertools.product(*map(range, numblocks))


def map_index(mapping: Mapping, index: Sequence[int]) -> tuple[int, ...]:
    """Return the index of the dependency's block that belongs to `index`."""
    return tuple(_map_axis(entry, index) for entry in mapping)


def index_mapper(mapping: Mapping) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """Return `map_index` for one mapping, quick where the mapping is plain."""
    if mapping == tuple(range(len(mapping))):
        length = len(mapping)
        return lambda index: index[:length]
    if len(mapping) > 1 and all(type(entry) is int for entry in mapping):
        return operator.itemgetter(*mapping)
    return lambda index: tuple([_map_axis(entry, index) for entry in mapping])


def _map_axis(entry: int | None | Pick, index: Sequence[int]) -> int:
    if entry is None:
        return 0
    if isinstance(entry, Pick):
        return entry.blocks[0 if entry.axis is None else index[entry.axis]]
    return index[entry]


def align_right(numblocks: Sequence[int], ndim: int) -> Mapping:
    """Return NumPy's broadcasting as a mapping: axes aligned at the right, an axis with one block stays at 0."""
    offset = ndim - len(numblocks)
    return tuple(None if count == 1 else offset + axis for axis, count in enumerate(numblocks))


def compose(outer: Mapping, inner: Mapping) -> Mapping:
    """Return the mapping that follows `outer` (consumer to node) and then `inner` (node to its dependency)."""
    return tuple(_compose_axis(outer, entry) for entry in inner)


def _compose_axis(outer: Mapping, entry: int | None | Pick) -> int | None | Pick:
    if entry is None:
        return None
    if not isinstance(entry, Pick):
        return outer[entry]
    followed = None if entry.axis is None else outer[entry.axis]
    if isinstance(followed, Pick):
        return Pick(followed.axis, tuple(entry.blocks[block] for block in followed.blocks))
    return Pick(followed, entry.blocks if followed is not None else entry.blocks[:1])


def without_single(mapping: Mapping, numblocks: Sequence[int]) -> Mapping:
    """Return an equal mapping that follows no axis with one block: so two that lead to the same block are equal.

    >>> without_single((0, 1), (4, 1))
    (0, None)
    """
    return tuple(None if type(entry) is int and numblocks[entry] == 1 else entry for entry in mapping)


def followed(root: Blockwise, own: Mapping, mapping: Mapping) -> Mapping:
    """Return where a member of the group of `root` reads, from the group's index: `own` leads to the member.

    Siblings read the same blocks in various ways, which have to be found equal.
    """
    composed = compose(own, mapping)
    return without_single(composed, root.numblocks) if root.is_made_by_fusion else composed


def same_block(block: Any) -> Any:
    """Return a block as it is."""
    return block


class Step(NamedTuple):
    """A call in a `Program`. Slots below the number of inputs are inputs, the others results of earlier steps."""

    function: Callable[..., Any]
    slots: tuple[int, ...]
    tiled: Any = None
    """How it is run on a part of a block at a time, for programs that do so."""


class Program:
    """A fused block: steps that call functions on inputs and on each other's results, each on whole blocks.

    Parameters
    ----------
    n_inputs
        Number of arguments of the call.
    steps
        In order of execution; the last one's result is the program's.
    label
        What to call it in messages.
    """

    __slots__ = ("_last_use", "label", "n_inputs", "steps")

    def __init__(self, n_inputs: int, steps: tuple[Step, ...], label: str) -> None:
        self.n_inputs = n_inputs
        self.steps = steps
        self.label = label
        last_use = {slot: number for number, step in enumerate(steps) for slot in step.slots}
        self._last_use = [
            tuple(slot for slot in set(step.slots) if last_use[slot] == number) for number, step in enumerate(steps)
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.n_inputs, self.steps, self.label))

    def __glassloom_tokenize__(self) -> Any:
        return (self.n_inputs, self.steps)

    @property
    def __name__(self) -> str:
        return self.label

    def __call__(self, *inputs: Any) -> Any:
        values: list[Any] = list(inputs)
        for (function, slots, _), finished in zip(self.steps, self._last_use, strict=True):
            values.append(function(*[values[slot] for slot in slots]))
            for slot in finished:
                values[slot] = None  # free temporaries as early as possible
        return values[-1]


class Fused(Blockwise):
    """A group of block-wise nodes as one. `members` are (node, mapping from the group's index) in execution order."""

    parameters = ("root", "members", "sources")

    root: Blockwise
    members: tuple[tuple[Blockwise, Mapping], ...]
    sources: tuple[tuple[Expr, Mapping], ...]

    def __init__(
        self,
        root: Blockwise,
        members: tuple[tuple[Blockwise, Mapping], ...],
        sources: tuple[tuple[Expr, Mapping], ...],
    ) -> None:
        # Keeps the root's name: whoever refers to the root's blocks finds them. Hence no token is made.
        self.operands = (root, members, sources)
        self.origin = root.origin
        self.name = root.name

    @property
    def dependencies(self) -> list[Expr]:
        return [node for node, _ in self.sources]

    @property
    def numblocks(self) -> tuple[int, ...]:
        return self.root.numblocks

    @property
    def mappings(self) -> list[Mapping]:
        return [mapping for _, mapping in self.sources]

    def output_keys(self) -> list[Key]:
        return self.root.output_keys()

    def assemble(self, blocks: list[Any]) -> Any:
        return self.root.assemble(blocks)

    def in_place(self, source: Expr) -> Expr:
        return self.root.in_place(source)

    def persisted(self, held: Any = None, name: str | None = None) -> Expr:
        return self.root.persisted(held, name)

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        found: list[Any] = []
        for literals, mapped in self._literals:
            found.extend(literals(mapped(index)))
        return tuple(found)

    @cached_property
    def _literals(self) -> list[tuple[Callable[[tuple[int, ...]], tuple[Any, ...]], Any]]:
        """The members that have literals, with where to find their index."""
        has_own = [(node, mapping) for node, mapping in self.members if type(node).literals is not Blockwise.literals]
        return [(node.literals, index_mapper(mapping)) for node, mapping in has_own]

    @cached_property
    def function(self) -> Program:
        any_index = (0,) * len(self.numblocks)
        n_literals = [len(node.literals(map_index(mapping, any_index))) for node, mapping in self.members]
        slots = {(node.name, mapping): slot for slot, (node, mapping) in enumerate(self.sources)}
        next_literal = len(self.sources)
        n_inputs = next_literal + sum(n_literals)
        steps = []
        for number, (node, mapping) in enumerate(self.members):
            reads = zip(node.dependencies, node.mappings, strict=True)
            inputs = [slots[below.name, followed(self.root, mapping, own)] for below, own in reads]
            inputs.extend(range(next_literal, next_literal + n_literals[number]))
            next_literal += n_literals[number]
            function = self._final_function if node is self.root else self.root.member_function(node)
            steps.append(Step(function, tuple(inputs), node.tiled))
            slots[node.name, mapping] = n_inputs + number
        return self.root.program_type(n_inputs, tuple(steps), self.label)

    @property
    def _final_function(self) -> Callable[..., Any]:
        function = self.root.outer_function(self.root.final_function)
        for detach in {node.detach for node, _ in self.members if node is not self.root} - {None}:
            assert detach is not None
            function = self.root.detached(function, detach)
        return function

    @property
    def operations(self) -> tuple[str, ...]:
        """The names of the fused operations, first to last."""
        return tuple(node.label for node, _ in self.members if not node.is_made_by_fusion)

    @property
    def label(self) -> str:
        """The names of the fused operations, first to last, such as ``normal-add-sum``."""
        labels = self.operations
        return "-".join(labels if len(labels) <= 4 else [*labels[:2], "...", labels[-1]])
