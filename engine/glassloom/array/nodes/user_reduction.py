"""Reductions whose steps are functions of the user's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from glassloom.array.nodes.kernels import Axes, Kernel, Partial


@dataclass(frozen=True)
class UserReduction(Kernel):
    """`chunk` of each block, `merge` of several joined, `aggregate` in the end: ``f(array, axis=..., keepdims=True)``."""

    name: str
    chunk: Callable[..., Any]
    merge: Callable[..., Any]
    aggregate: Callable[..., Any]

    def first(self, block: Any, axes: Axes, *position: Any) -> Partial:
        return self.chunk(block, axis=axes, keepdims=True)

    def combine(self, joined: Partial, axes: Axes) -> Partial:
        return self.merge(joined, axis=axes, keepdims=True)

    def finish(self, joined: Partial, axes: Axes) -> Any:
        return self.aggregate(joined, axis=axes, keepdims=True)
