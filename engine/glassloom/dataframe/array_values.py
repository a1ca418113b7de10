"""One value of an array, lazily: an array without axes beside frames, and a frame's scalar beside arrays."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from glassloom.array.api.array import Array
from glassloom.array.ops.creation import FromBlock
from glassloom.dataframe.nodes import FrameExpr
from glassloom.expr import Expr
from glassloom.graph import Key, Task, TaskRef


class ArrayValue(FrameExpr):
    """The value of an array without axes."""

    parameters = ("array",)
    operation = "array-value"
    divisions = (None, None)

    array: Expr

    @cached_property
    def meta(self) -> Any:
        return np.ones((), self.array.dtype)[()]  # type: ignore[attr-defined]  # as every array's node has

    def tasks(self) -> dict[Key, Task]:
        (below,) = self.array.output_keys()
        return {(self.name, 0): Task((self.name, 0), _value, (TaskRef(below),))}


def array_of_value(scalar: Any) -> Array:
    """Return a lazy scalar as an array without axes.

    Raises
    ------
    TypeError
        If NumPy has no dtype for it.
    """
    if not isinstance(scalar.dtype, np.dtype):
        raise TypeError(f"a lazy scalar of {scalar.dtype} can't be combined with an array, which has no such values")
    return Array(FromBlock(scalar.expr, (), np.ones((), scalar.dtype)))


def _value(block: Any) -> Any:
    return block[()]
