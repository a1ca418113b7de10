"""Reductions of concatenated frames: the first step is made of each frame's partitions, beside what reads them, and no partition is concatenated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import pandas as pd

from glassloom.dataframe.moving.filters_first import PartsOfFrames, dtypes_of_labels
from glassloom.dataframe.moving.shape import Concat
from glassloom.dataframe.nodes import Assign, FrameExpr, Projection, Rowwise
from glassloom.dataframe.reduction_nodes import Chunk, RowsChunk, TreeReduce, UnorderedChunk, ValuesChunk
from glassloom.dataframe.widening import dtypes_of
from glassloom.expr import Expr, apply_rules, walk
from glassloom.graph import Key, Task

_KINDS = (Chunk, RowsChunk, ValuesChunk, UnorderedChunk)
"""The first steps that look at their partition alone."""


class ChunksOfFrames(FrameExpr):
    """The first steps of a reduction of several frames, one after the other."""

    parameters = ("chunks",)
    operation = "chunks"

    chunks: tuple[Chunk, ...]

    @cached_property
    def meta(self) -> Any:
        return None

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (sum(chunk.npartitions for chunk in self.chunks) + 1)

    @property
    def n_tasks(self) -> int:
        return 0

    def output_keys(self) -> list[Key]:
        return [key for chunk in self.chunks for key in chunk.output_keys()]

    def tasks(self) -> dict[Key, Task]:
        return {}


def reduce_before_concat(roots: Sequence[Expr]) -> list[Expr]:
    """Make the first steps of reductions of concatenated frames of each frame, if all have the same columns and dtypes."""
    done: dict[str, Expr] = {}
    is_changed = False
    for node in walk(roots):
        made = node.substitute(lambda child: done[child.name])
        found = _of_frames(made)
        is_changed |= found is not None
        done[node.name] = found or made
    return apply_rules([done[root.name] for root in roots]) if is_changed else list(roots)


def _of_frames(node: Expr) -> TreeReduce | None:
    chunk = node.source if isinstance(node, TreeReduce) else None
    if not isinstance(node, TreeReduce) or not isinstance(chunk, Chunk) or type(chunk) not in _KINDS or chunk.others:
        return None
    whole = _concatenated(chunk.frame)
    if whole is None or any(_has_categories(one.meta) for one in (whole, *whole.frames)):
        return None
    parts = [PartsOfFrames(whole, place).part(chunk.frame) for place in range(len(whole.frames))]
    if any(part is None for part in parts):
        return None
    chunks = tuple(chunk.rebuild([part, *chunk.operands[1:]]) for part in parts)
    return node.rebuild([ChunksOfFrames(chunks, origin=chunk.origin), *node.operands[1:]])


def _concatenated(node: FrameExpr) -> Concat | None:
    """Return the concatenated frames whose rows a node has, or None."""
    while isinstance(node, (Projection, Assign, Rowwise)):
        node = node.frame
    return node if isinstance(node, Concat) else None


def _has_categories(meta: Any) -> bool:
    """Whether there are categories, which concatenation may unite."""
    return any(isinstance(dtype, pd.CategoricalDtype) for dtype in (*dtypes_of(meta), *dtypes_of_labels(meta)))
