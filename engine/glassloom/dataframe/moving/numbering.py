"""`renumber`: rows numbered from 0 over all partitions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.nodes import FrameBlockwise, FrameExpr
from glassloom.dataframe.reduce import Operation, tree


class Renumber(FrameBlockwise):
    """A frame whose index counts its rows. `starts` is the node of the number of rows before each partition."""

    parameters = ("frame", "starts")

    frame: FrameExpr
    starts: FrameExpr

    @cached_property
    def meta(self) -> Any:
        return _numbered(self.frame.meta, [0], 0)

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        lengths = self.lengths
        if lengths is None or not all(lengths):
            return (None,) * (self.frame.npartitions + 1)
        ends = np.cumsum(lengths).tolist()
        return (0, *ends[:-1], ends[-1] - 1)

    @property
    def lengths(self) -> tuple[int, ...] | None:
        return self.frame.lengths

    @property
    def has_unique_labels(self) -> bool:
        return True

    @property
    def function(self) -> Callable[..., Any]:
        return _numbered

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return index


def renumber(node: FrameExpr) -> FrameExpr:
    """Return the rows with a new index: 0 to the number of rows - 1, over all partitions."""
    return Renumber(node, tree(node, Operation(_lengths, _flat, _starts), 0, "row-numbers"))


def _lengths(block: Any) -> list[int]:
    return [len(block)]


def _flat(lists: list[list[int]]) -> list[int]:
    return [item for one in lists for item in one]


def _starts(lists: list[list[int]]) -> list[int]:
    return [0, *np.cumsum(_flat(lists)).tolist()]


def _numbered(block: Any, starts: list[int], number: int) -> Any:
    return block.set_axis(pd.RangeIndex(starts[number], starts[number] + len(block)), axis=0)
