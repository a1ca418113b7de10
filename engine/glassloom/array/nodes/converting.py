"""Blocks of another library: moved from the host to a device, or back."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from glassloom.array.nodes.base import BlockwiseArray, SameChunks
from glassloom.backends.arrays import converted, meta_namespace


class ToBackend(SameChunks, BlockwiseArray):
    """The same elements in blocks of another library."""

    parameters = ("array", "backend")

    backend: str

    @property
    def label(self) -> str:
        return f"to-{self.backend}"

    @cached_property
    def meta(self) -> Any:
        return meta_namespace(self.backend).ones((0,) * self.ndim, dtype=self.array.dtype)

    @cached_property
    def function(self) -> Any:
        return Converted(self.backend)


class Converted:
    """Makes a block one of a library."""

    __slots__ = ("backend",)

    def __init__(self, backend: str) -> None:
        self.backend = backend

    def __reduce__(self) -> tuple[Any, ...]:
        return (Converted, (self.backend,))

    def __glassloom_tokenize__(self) -> Any:
        return self.backend

    @property
    def __name__(self) -> str:
        return f"to-{self.backend}"

    def __call__(self, block: Any) -> Any:
        return converted(block, self.backend)
