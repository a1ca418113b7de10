"""The position of a block, as passed to functions with a parameter ``block_info``. The format is Dask's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, starts
from glassloom.expr.blockwise import Mapping, map_index


@dataclass(frozen=True)
class Layout:
    """How an array is cut into blocks."""

    chunks: Chunks

    @cached_property
    def _starts(self) -> list[list[int]]:
        return [starts(blocks) for blocks in self.chunks]

    def at(self, index: tuple[int, ...]) -> dict[str, Any]:
        """Return the entry that describes the block at an index."""
        begins = [axis[number] for axis, number in zip(self._starts, index, strict=True)]
        lengths = self.lengths(index)
        return {
            "shape": tuple(sum(blocks) for blocks in self.chunks),
            "num-chunks": tuple(len(blocks) for blocks in self.chunks),
            "array-location": [(begin, begin + length) for begin, length in zip(begins, lengths, strict=True)],
            "chunk-location": index,
        }

    def lengths(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the block at an index."""
        return tuple(blocks[number] for blocks, number in zip(self.chunks, index, strict=True))


@dataclass(frozen=True)
class BlockInfo:
    """The layouts of arrays, by the position of the argument, with the mapping from the result's index to theirs; and
    that of the result."""

    inputs: tuple[tuple[int, Layout, Mapping], ...]
    output: Layout
    dtype: Any

    def at(self, index: tuple[int, ...]) -> dict[int | None, dict[str, Any]]:
        """Return the ``block_info`` for the block of the result at an index; the key None stands for the result."""
        found: dict[int | None, dict[str, Any]] = {
            position: layout.at(map_index(mapping, index)) for position, layout, mapping in self.inputs
        }
        found[None] = {
            **self.output.at(index), "chunk-shape": self.output.lengths(index), "dtype": np.dtype(self.dtype),
        }  # fmt: skip
        return found
