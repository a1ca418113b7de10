"""All blocks of an array in one task: for arrays that are small after reducing."""

from __future__ import annotations

from typing import Any

from glassloom.array.chunks import Chunks
from glassloom.array.nodes.base import ArrayExpr
from glassloom.graph import Key, Task, function_label


class Collect(ArrayExpr):
    """``function(list of all blocks)``, blocks in C order: an array of one block."""

    parameters = ("array", "function", "chunks", "meta")

    array: ArrayExpr
    function: Any

    @property
    def label(self) -> str:
        return function_label(self.function) if hasattr(self.function, "__name__") else "collect"

    def tasks(self) -> dict[Key, Task]:
        (key,) = self.output_keys()
        return {key: Task.of_blocks(key, Listed(self.function), self.array.output_keys())}


class Listed:
    """Calls a function with its arguments as one list."""

    def __init__(self, function: Any) -> None:
        self.function = function

    @property
    def __name__(self) -> str:
        return function_label(self.function) if hasattr(self.function, "__name__") else "collect"

    def __call__(self, *blocks: Any) -> Any:
        return self.function(list(blocks))


def collect(node: ArrayExpr, function: Any, chunks: Chunks, meta: Any) -> ArrayExpr:
    """Return an array of one block, made of all blocks of another. The function is importable or has a token."""
    return Collect(node, function, chunks, meta)
