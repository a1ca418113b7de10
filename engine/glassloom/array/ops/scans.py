"""Running sums and the like: each block on its own, then what stood before it is added.

Blocks are scanned in parallel, in the tasks that make them; only the totals go from block to block along the axis. So sums of floats may differ from
NumPy's, which adds one element after the other, in the last digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from glassloom.array.chunks import Chunks
from glassloom.array.ops.base import ArrayExpr, BlockwiseArray, make_meta
from glassloom.array.tiling.kernels import summed_in
from glassloom.backends.arrays import namespace_of
from glassloom.expr.blockwise import Mapping, block_indices
from glassloom.graph import Key, Task


class LocalScan(BlockwiseArray):
    """Each block scanned on its own: runs in the task that makes the block."""

    parameters = ("array", "step", "dtype")

    array: ArrayExpr
    step: Callable[[Any], Any]

    @property
    def label(self) -> str:
        return "local-scan"

    @cached_property
    def chunks(self) -> Chunks:
        return self.array.chunks

    @cached_property
    def meta(self) -> Any:
        return make_meta(self.array.meta, self.ndim, self.dtype)

    @property
    def mappings(self) -> list[Mapping]:
        return [tuple(range(self.ndim))]

    @property
    def function(self) -> Any:
        return self.step


class Scan(ArrayExpr):
    """Blocks that were scanned each on its own, with what stands before them along an axis added.

    Parameters
    ----------
    array
        A `LocalScan`.
    total
        What makes a block's total of it and of the total of those before.
    add
        What adds the total of those before.
    """

    parameters: ClassVar[tuple[str, ...]] = ("array", "total", "add", "axis", "called")

    array: LocalScan
    total: Callable[..., Any]
    add: Callable[[Any, Any], Any]
    axis: int
    called: str

    @property
    def label(self) -> str:
        return f"{self.called}-scan"

    @cached_property
    def chunks(self) -> Chunks:
        return self.array.chunks

    @cached_property
    def meta(self) -> Any:
        return self.array.meta

    @property
    def n_tasks(self) -> int:
        n_blocks = super().n_tasks
        return 2 * (n_blocks - n_blocks // self.numblocks[self.axis]) if n_blocks else 0

    def tasks(self) -> dict[Key, Task]:
        local, carry = self.array.name, f"{self.name}-carry"
        tasks: dict[Key, Task] = {}
        for index in block_indices(self.numblocks):
            number = index[self.axis]
            own: Key = (local, *index)
            before: list[Key] = []
            if number:
                before = [(carry, *index[: self.axis], number - 1, *index[self.axis + 1 :])]
                key: Key = (self.name, *index)
                tasks[key] = Task.of_blocks(key, self.add, [own, *before])
            if number < self.numblocks[self.axis] - 1:
                total_key: Key = (carry, *index)
                tasks[total_key] = Task.of_blocks(total_key, self.total, [own, *before])
        return tasks

    def aliases(self) -> dict[Key, Key]:
        firsts = [index for index in block_indices(self.numblocks) if index[self.axis] == 0]
        return {(self.name, *index): (self.array.name, *index) for index in firsts}


@dataclass(frozen=True)
class UserScanBlock:
    """Scans a block."""

    function: Callable[..., Any]
    axis: int

    def __call__(self, block: Any) -> Any:
        return self.function(block, axis=self.axis)


@dataclass(frozen=True)
class UserTotal:
    """The last of a scanned block with what stood before it; None while there were no elements."""

    join: Callable[..., Any]
    axis: int

    def __call__(self, scanned: Any, before: Any = None) -> Any:
        if not scanned.shape[self.axis]:
            return before
        last = scanned[(*(slice(None),) * self.axis, slice(-1, None))]
        return last.copy() if before is None else self.join(before, last)


@dataclass(frozen=True)
class UserJoin:
    """Joins what stood before a block and the block."""

    join: Callable[..., Any]

    def __call__(self, scanned: Any, before: Any) -> Any:
        return scanned if before is None else self.join(before, scanned)


class ScanBlock:
    """Accumulates a ufunc along an axis of a block."""

    def __init__(self, ufunc: str, axis: int, dtype: Any) -> None:
        self.ufunc, self.axis, self.dtype = ufunc, axis, dtype

    def __call__(self, block: Any) -> Any:
        xp = namespace_of(block)
        if self.ufunc in ("add", "multiply"):
            scan = xp.cumsum if self.ufunc == "add" else xp.cumprod
            return scan(block, axis=self.axis, dtype=summed_in(self.dtype))
        return getattr(xp, self.ufunc).accumulate(block, axis=self.axis).astype(self.dtype, copy=False)


class LastTotal:
    """The last of a scanned block with what stood before it; None while there were no elements."""

    def __init__(self, ufunc: str, axis: int) -> None:
        self.ufunc, self.axis = ufunc, axis

    def __call__(self, scanned: Any, before: Any = None) -> Any:
        if not scanned.shape[self.axis]:
            return before
        plain = np.ma.getdata(scanned) if isinstance(scanned, np.ma.MaskedArray) else scanned  # totals pass over masks
        last = plain[(*(slice(None),) * self.axis, slice(-1, None))]
        return last.copy() if before is None else getattr(namespace_of(last), self.ufunc)(last, before)


class AddBefore:
    """Adds what stood before a block to it."""

    def __init__(self, ufunc: str) -> None:
        self.ufunc = ufunc

    def __call__(self, scanned: Any, before: Any) -> Any:
        if before is None:
            return scanned
        return getattr(namespace_of(scanned), self.ufunc)(scanned, before).astype(scanned.dtype, copy=False)


def scan(node: ArrayExpr, ufunc: str, axis: int, dtype: Any) -> ArrayExpr:
    """Return a ufunc accumulated along an axis."""
    kind = np.dtype(dtype)
    local = LocalScan(node, ScanBlock(ufunc, axis, kind), kind)
    return Scan(local, LastTotal(ufunc, axis), AddBefore(ufunc), axis, ufunc)


def user_scan(
    node: ArrayExpr, function: Callable[..., Any], join: Callable[..., Any], axis: int, dtype: Any
) -> ArrayExpr:
    """Return functions of the user's accumulated along an axis: `function` of a block, `join` of a total and what comes behind."""
    local = LocalScan(node, UserScanBlock(function, axis), np.dtype(dtype))
    return Scan(local, UserTotal(join, axis), UserJoin(join), axis, "user")
