"""Running sums and the like: each block on its own, then what stood before it is added.

Blocks are scanned in parallel; only the totals go from block to block along the axis. So sums of floats may differ from
NumPy's, which adds one element after the other, in the last digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from glassloom.array.chunks import Chunks
from glassloom.array.ops.base import ArrayExpr, make_meta
from glassloom.array.tiling.kernels import summed_in
from glassloom.backends.arrays import namespace_of
from glassloom.expr.blockwise import block_indices
from glassloom.graph import Key, Task


class Scan(ArrayExpr):
    """A ufunc accumulated along an axis."""

    parameters: ClassVar[tuple[str, ...]] = ("array", "ufunc", "axis", "dtype")

    array: ArrayExpr
    ufunc: str
    axis: int

    @property
    def label(self) -> str:
        return f"{self.ufunc}-scan"

    @cached_property
    def chunks(self) -> Chunks:
        return self.array.chunks

    @cached_property
    def meta(self) -> Any:
        return make_meta(self.array.meta, self.ndim, self.dtype)

    @property
    def n_tasks(self) -> int:
        return 3 * super().n_tasks

    def _steps(self) -> tuple[Any, Any, Any]:
        """Return what scans a block, what makes its total, and what adds the total of those before."""
        return (
            ScanBlock(self.ufunc, self.axis, self.dtype),
            LastTotal(self.ufunc, self.axis),
            AddBefore(self.ufunc),
        )

    def tasks(self) -> dict[Key, Task]:
        scan, total, add = self._steps()
        local, carry = f"{self.name}-local", f"{self.name}-carry"
        tasks: dict[Key, Task] = {}
        for index in block_indices(self.numblocks):
            number = index[self.axis]
            before = (*index[: self.axis], number - 1, *index[self.axis + 1 :])
            key: Key = (self.name, *index)
            is_first, is_last = number == 0, number == self.numblocks[self.axis] - 1
            own: Key = key if is_first else (local, *index)
            tasks[own] = Task.of_blocks(own, scan, [(self.array.name, *index)])
            if not is_first:
                tasks[key] = Task.of_blocks(key, add, [own, (carry, *before)])
            if not is_last:
                sources: list[Key] = [own] if is_first else [own, (carry, *before)]
                total_key: Key = (carry, *index)
                tasks[total_key] = Task.of_blocks(total_key, total, sources)
        return tasks


class UserScan(Scan):
    """Functions of the user's accumulated along an axis: `function` of a block, `join` of a total and what comes behind."""

    parameters = ("array", "function", "join", "axis", "dtype", "ufunc")

    function: Callable[..., Any]
    join: Callable[..., Any]

    def _steps(self) -> tuple[Any, Any, Any]:
        return UserScanBlock(self.function, self.axis), UserTotal(self.join, self.axis), UserJoin(self.join)


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
    return Scan(node, ufunc, axis, np.dtype(dtype))
