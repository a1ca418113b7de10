"""What depends on all partitions before one: a scan over small partial results, and the operations that take its results.

The partial results are combined by a tree, so that the number of tasks is linear in the number of partitions and no
chain is longer than its logarithm. Each result needs the partitions before it alone: `head` computes few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from glassloom.backends.pandas_ import of_samples
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.nodes import BlockOp, FrameExpr, Projection, Rowwise, SomeRows, empty
from glassloom.dataframe.reduction_nodes import Chunk
from glassloom.expr import Expr, rule
from glassloom.graph import Key, Task, TaskRef

_WIDTH = 8
"""Partial results that a task combines at a time."""


class OfPartitionsBefore(FrameExpr):
    """For each partition what those before it say; None where there are none."""

    source: FrameExpr

    @cached_property
    def meta(self) -> Any:
        return None

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (self.source.npartitions + 1)


class Scan(OfPartitionsBefore):
    """For each partition the partial results of all before it (or all after it), combined; None where there are none.

    `combine` is called with a list of partial results in the order of the partitions, its own results among them.
    `reach` is how many partitions before each are enough, if that is known.
    """

    parameters = ("source", "combine", "is_reversed", "reach", "title")

    combine: Callable[[list[Any]], Any]
    is_reversed: bool
    reach: tuple[int, ...] | None
    title: str

    @property
    def label(self) -> str:
        return f"{self.title}-scan"

    def tasks(self) -> dict[Key, Task]:
        keys = self.source.output_keys()
        if self.is_reversed:
            keys = keys[::-1]
        tasks: dict[Key, Task] = {}
        outputs = self.output_keys()
        self._add_tasks(tasks, outputs[::-1] if self.is_reversed else outputs, keys)
        return tasks

    def _add_tasks(self, tasks: dict[Key, Task], outputs: list[Key], keys: list[Key]) -> None:
        """Add the tasks that make `outputs`, the combined results before each of `keys`."""
        if self.reach is not None:
            for number, key in enumerate(outputs):
                tasks[key] = self._combined(key, keys[number - self.reach[number] : number])
            return
        self._add_level(tasks, outputs, keys, 0)

    def _add_level(self, tasks: dict[Key, Task], outputs: list[Key], keys: list[Key], level: int) -> None:
        if len(keys) <= _WIDTH:
            for number, key in enumerate(outputs):
                tasks[key] = self._combined(key, keys[:number])
            return
        groups = [keys[start : start + _WIDTH] for start in range(0, len(keys), _WIDTH)]
        token = self.name.rpartition("-")[2]
        totals: list[Key] = [(f"{self.title}-total-{token}", level, number) for number in range(len(groups))]
        befores: list[Key] = [(f"{self.title}-before-{token}", level, number) for number in range(len(groups))]
        for total, group in zip(totals, groups, strict=True):
            tasks[total] = self._combined(total, group)
        self._add_level(tasks, befores, totals, level + 1)
        for number, group in enumerate(groups):
            before = [befores[number]] if number else []
            for place in range(len(group)):
                key = outputs[number * _WIDTH + place]
                tasks[key] = self._combined(key, [*before, *group[:place]])

    def _combined(self, key: Key, parts: list[Key]) -> Task:
        ordered = parts[::-1] if self.is_reversed else parts
        return Task(key, _combine, (self.combine, [TaskRef(part) for part in ordered]))


def _combine(combine: Callable[[list[Any]], Any], parts: list[Any]) -> Any:
    some = [part for part in parts if part is not None]
    return combine(some) if some else None


class Chain(OfPartitionsBefore):
    """For each partition what all before it hand on, one after the other; None for the first one.

    ``call(block, before)`` is what a partition hands on, after what was handed to it. It takes as long as all partitions together: for
    what can't be combined from partial results, such as sums that are rounded at every step.
    """

    parameters = ("source", "call", "title")

    call: Callable[[Any, Any], Any]
    title: str

    @property
    def label(self) -> str:
        return f"{self.title}-chain"

    def tasks(self) -> dict[Key, Task]:
        first, *others = self.output_keys()
        tasks = {first: Task(first, _nothing, ())}
        for key, before, block in zip(others, [first, *others], self.source.output_keys(), strict=False):
            tasks[key] = Task(key, self.call, (TaskRef(block), TaskRef(before)))
        return tasks


def _nothing() -> None:
    return None


class Carried(Rowwise):
    """A row-wise operation that also needs what a scan says of the partitions before or after.

    `remake` makes the same operation on another frame, for projection; None if columns depend on each other.
    """

    parameters = ("frame", "others", "call", "given_meta", "remake")

    given_meta: Any
    remake: Callable[[FrameExpr], FrameExpr] | None

    @property
    def meta(self) -> Any:
        return self.given_meta

    def with_columns_kept(self) -> Expr:
        """Return the same operation, which isn't made anew of fewer columns."""
        return self.rebuild([*self.operands[:-1], None])


class CarriedRows(SomeRows):
    """An operation on some of a partition's rows that also needs what a scan says of the partitions beside."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


class CarriedBlocks(BlockOp):
    """An operation on partitions that also needs what a scan says of those beside, and whose rows are its own."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


@rule(Projection, Carried)
def project_before_carried(node: Projection, inner: Carried) -> Expr | None:
    """Compute only the columns that are needed; a series has none. A label may stand for several columns."""
    if inner.remake is None:
        return None
    columns = node.labels
    below = Projection(inner.frame, columns, origin=node.origin)
    if len(set(columns)) < len(columns) or len(below.meta.columns) >= len(inner.frame.meta.columns):
        return None
    remade = inner.remake(below)
    return remade if isinstance(node.columns, list) else Projection(remade, node.columns, origin=node.origin)


def scan(
    frame: FrameExpr,
    chunk: Callable[[Any], Any],
    combine: Callable[[list[Any]], Any],
    title: str,
    *,
    is_reversed: bool = False,
    reach: tuple[int, ...] | None = None,
) -> Scan:
    """Return the node of what `combine` makes of ``chunk(block)`` of all partitions before each, or after each."""
    call = BlockCall(chunk, (Block(0),), label=f"{title}-chunk")
    return Scan(Chunk(frame, (), call), combine, is_reversed, reach, title)


def meta_of(function: Callable[[Any], Any], node: FrameExpr) -> Any:
    """Return an empty object like what a function makes of a frame: it is tried on two made-up rows."""
    return empty(of_samples(function, node.meta))
