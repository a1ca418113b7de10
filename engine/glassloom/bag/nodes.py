"""Nodes of bags. A block is a list of items; block ``i`` has the key ``(name, i)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any

from glassloom.bag import blocks
from glassloom.dataframe.call import Block, BlockCall
from glassloom.delayed_call import Known
from glassloom.expr import Expr, Persisted
from glassloom.expr.blockwise import Blockwise, Mapping, Pick
from glassloom.expr.tree import tree_tasks
from glassloom.graph import Key, Task, TaskRef

SPLIT_EVERY = 8
_SIBLINGS_FROM = 32


class BagExpr(Expr):
    """A node whose blocks are lists."""

    @property
    def numblocks(self) -> tuple[int, ...]:
        """The number of partitions, as a tuple: as `Blockwise` has it."""
        raise NotImplementedError

    @property
    def npartitions(self) -> int:
        """Number of partitions."""
        return self.numblocks[0]

    def output_keys(self) -> list[Key]:
        return [(self.name, number) for number in range(self.npartitions)]

    def assemble(self, blocks: list[Any]) -> Any:
        return list(chain.from_iterable(blocks))

    def persisted(self, held: Any = None, name: str | None = None) -> Expr:
        return Held(Persisted(name or self.name, held), self.npartitions, origin=self.origin)


class BagBlockwise(BagExpr, Blockwise):
    """A node with one task a partition, which may become a part of its consumer's."""


class Held(BagExpr):
    """Partitions that the runtime holds."""

    parameters = ("source", "count")

    source: Persisted
    count: int

    def __init__(self, source: Persisted, count: int, *, origin: Any = None) -> None:
        self.operands = (source, count)
        self.origin = origin
        self.name = source.name

    @property
    def numblocks(self) -> tuple[int, ...]:
        return (self.count,)

    def tasks(self) -> dict[Key, Task]:
        return self.source.tasks(self.output_keys())

    def persisted(self, held: Any = None, name: str | None = None) -> Expr:
        return self


class Pieces(BagBlockwise):
    """Partitions made of one constant each: a list of items, or what a function makes the list of."""

    parameters = ("constants", "make", "title")

    constants: Sequence[Any]
    make: Callable[[Any], list[Any]]
    title: str

    @property
    def label(self) -> str:
        return self.title

    @property
    def numblocks(self) -> tuple[int, ...]:
        return (len(self.constants),)

    @property
    def function(self) -> Callable[..., Any]:
        return BlockCall(self.make, (Block(0),), label=self.title)

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return (self.constants[index[0]],)


class Partitionwise(BagBlockwise):
    """A call for each partition. Operands of one block, which `Single` makes of delayed values, go to all partitions."""

    parameters = ("bags", "call")

    bags: tuple[Any, ...]
    call: BlockCall

    @property
    def label(self) -> str:
        return self.call.label

    @cached_property
    def numblocks(self) -> tuple[int, ...]:
        return (max(bag.npartitions for bag in self.bags if not isinstance(bag, Single)),)

    @property
    def mappings(self) -> list[Mapping]:
        return [(None,) if isinstance(bag, Single) else (0,) for bag in self.bags]

    @property
    def function(self) -> Callable[..., Any]:
        return self.call


class Partial(Partitionwise):
    """The first step of a reduction: a small value of each partition, all of which are made while its items are at hand."""

    @property
    def siblings_from(self) -> int | None:
        return _SIBLINGS_FROM


class Numbered(Partitionwise):
    """A call for each partition that also gets its number, as the last argument."""

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return index


class Product(BagBlockwise):
    """All pairs of items of two bags."""

    parameters = ("left", "right")

    left: BagExpr
    right: BagExpr

    @property
    def numblocks(self) -> tuple[int, ...]:
        return (self.left.npartitions * self.right.npartitions,)

    @property
    def mappings(self) -> list[Mapping]:
        n_left, n_right = self.left.npartitions, self.right.npartitions
        lefts = tuple(number for number in range(n_left) for _ in range(n_right))
        return [(Pick(0, lefts),), (Pick(0, tuple(range(n_right)) * n_left),)]

    @property
    def function(self) -> Callable[..., Any]:
        return blocks.product


class Single(Expr):
    """A value of one block, as if it were a partition of a bag."""

    parameters = ("value",)

    value: Expr

    @property
    def numblocks(self) -> tuple[int, ...]:
        """One block."""
        return (1,)

    def output_keys(self) -> list[Key]:
        return [(self.name, 0)]

    def tasks(self) -> dict[Key, Task]:
        return {}

    def aliases(self) -> dict[Key, Key]:
        (key,) = self.value.output_keys()
        return {(self.name, 0): key}


class Chosen(BagExpr):
    """Some partitions of bags, in any order: no task is needed."""

    parameters = ("bags", "places")
    operation = "partitions"

    bags: tuple[BagExpr, ...]
    places: tuple[tuple[int, int], ...]
    """Of each partition the place of its bag among the operands, and its number there."""

    @property
    def numblocks(self) -> tuple[int, ...]:
        return (len(self.places),)

    def tasks(self) -> dict[Key, Task]:
        return {}

    def aliases(self) -> dict[Key, Key]:
        return {(self.name, place): (self.bags[bag].name, number) for place, (bag, number) in enumerate(self.places)}


class FromDelayed(BagExpr):
    """Partitions that delayed calls return."""

    parameters = ("parts",)
    operation = "from-delayed"

    parts: tuple[Expr, ...]

    @property
    def numblocks(self) -> tuple[int, ...]:
        return (len(self.parts),)

    def tasks(self) -> dict[Key, Task]:
        keys = [part.output_keys()[0] for part in self.parts]
        return {
            (self.name, number): Task.of_blocks((self.name, number), blocks.as_items, [key])
            for number, key in enumerate(keys)
        }


class Joined(BagExpr):
    """Fewer partitions: each has the items of several neighbours."""

    parameters = ("bag", "bounds")
    operation = "repartition"

    bag: BagExpr
    bounds: tuple[int, ...]

    @property
    def numblocks(self) -> tuple[int, ...]:
        return (len(self.bounds) - 1,)

    def tasks(self) -> dict[Key, Task]:
        tasks: dict[Key, Task] = {}
        for number, (first, last) in enumerate(zip(self.bounds, self.bounds[1:], strict=False)):
            refs = [TaskRef((self.bag.name, place)) for place in range(first, last)]
            tasks[self.name, number] = Task((self.name, number), blocks.joined, (refs,))
        return tasks


class Divided(BagExpr):
    """More partitions: each one of the bag's is cut into some of about equal numbers of items."""

    parameters = ("bag", "counts")
    operation = "repartition"

    bag: BagExpr
    counts: tuple[int, ...]

    @property
    def numblocks(self) -> tuple[int, ...]:
        return (sum(self.counts),)

    def tasks(self) -> dict[Key, Task]:
        tasks: dict[Key, Task] = {}
        number = 0
        for source, count in enumerate(self.counts):
            for place in range(count):
                key = (self.name, number)
                tasks[key] = Task.of_blocks(key, blocks.part_of, [(self.bag.name, source)], (place, count))
                number += 1
        return tasks


class Reduced(BagExpr):
    """One block made of all: `combine` takes up to `split_every` at a time, `finish` the last of them.

    Both are called with a list of blocks, in the order of the partitions.
    """

    parameters = ("source", "combine", "finish", "split_every", "title")

    source: Partial
    combine: Callable[[list[Any]], Any]
    finish: Callable[[list[Any]], Any]
    split_every: int
    title: str

    @property
    def label(self) -> str:
        return self.title

    @property
    def numblocks(self) -> tuple[int, ...]:
        return (1,)

    def tasks(self) -> dict[Key, Task]:
        keys = self.source.output_keys()
        return tree_tasks(self.name, self.title, keys, self.combine, self.finish, self.split_every)


class ReducedValue(Reduced):
    """A reduction to a value that is no list of items."""

    def assemble(self, blocks: list[Any]) -> Any:
        return blocks[0]

    def persisted(self, held: Any = None, name: str | None = None) -> Expr:
        name = name or self.name
        return Known(Persisted(name, held), (name, 0), origin=self.origin)


class Accumulated(BagExpr):
    """The running results of a function of two arguments; each partition goes on where the one before it has ended."""

    parameters = ("bag", "binop", "initial")
    operation = "accumulate"

    bag: BagExpr
    binop: Callable[[Any, Any], Any]
    initial: Any
    """What comes first; `blocks.NOTHING`: the first item."""

    @property
    def numblocks(self) -> tuple[int, ...]:
        return self.bag.numblocks

    @property
    def n_tasks(self) -> int:
        return 3 * self.npartitions

    def tasks(self) -> dict[Key, Task]:
        tasks: dict[Key, Task] = {}
        token = self.name.rpartition("-")[2]
        step = partial(blocks.accumulated, self.binop)
        carry: Any = blocks.Carry(self.initial, is_first=True)
        for number in range(self.npartitions):
            pair: Key = (f"accumulate-step-{token}", number)
            left: Key = (f"accumulate-carry-{token}", number)
            tasks[pair] = Task(pair, step, (TaskRef((self.bag.name, number)), carry))
            tasks[left] = Task.of_blocks(left, blocks.second, [pair])
            tasks[self.name, number] = Task.of_blocks((self.name, number), blocks.first, [pair])
            carry = TaskRef(left)
        return tasks
