"""Conversions that compute at once: an array with one element to a Python number, and unknown lengths. `Array`
inherits it and `Described`."""

from __future__ import annotations

import operator
from typing import Any, Self

import numpy as np

from glassloom.array.described import Described
from glassloom.array.nodes.mapping import map_blocks
from glassloom.local.default import Runtime


class Concrete(Described):
    """The conversions."""

    def _item(self, what: str) -> Any:
        if self.size != 1:
            raise TypeError(f"{what} of an array of shape {self.shape}: only one element can be converted")
        return np.asarray(self.compute()).reshape(())[()]

    def item(self) -> Any:
        """Compute the only element and return it as a Python scalar."""
        return self._item("item()").item()

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                f"the truth of an array with {self.size} elements is ambiguous; use .any() or .all(), then compute()"
            )
        return bool(self._item("bool()"))

    def __int__(self) -> int:
        return int(self._item("int()"))

    def __float__(self) -> float:
        return float(self._item("float()"))

    def __complex__(self) -> complex:
        return complex(self._item("complex()"))

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if self.ndim:
            raise TypeError(f"format {spec!r} is of one number, not of an array of shape {self.shape}")
        return format(self._item("format()"), spec)

    def __round__(self, ndigits: int | None = None) -> Any:
        if self.ndim:
            raise TypeError(f"round() is of one number, not of an array of shape {self.shape}; use x.round(decimals)")
        value = self._item("round()")
        return round(value) if ndigits is None else round(value, ndigits)

    def __index__(self) -> int:
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError(f"only an integer array without axes can be an index, not {self!r}")
        return operator.index(self._item("index"))

    def compute_chunk_sizes(self, *, scheduler: str | Runtime | None = None) -> Self:
        """Compute the blocks, keep them, and learn their lengths; changes this array and returns it.

        Examples
        --------
        >>> import glassloom.array as ga
        >>> x = ga.arange(10, chunks=5)
        >>> odd = x[x % 2 == 1]
        >>> odd.shape, odd.compute_chunk_sizes().shape
        ((nan,), (5,))
        """
        held = self.persist(scheduler=scheduler)
        shapes = map_blocks(_shape_of, (held.expr,), {}, dtype=object, chunks=(1,) * self.ndim)
        found = self._with_expr(shapes).compute(scheduler=scheduler).reshape(self.numblocks)
        chunks = []
        for axis in range(self.ndim):
            first = tuple(0 if other != axis else slice(None) for other in range(self.ndim))
            chunks.append(tuple(shape[axis] for shape in found[first]))
        self._expr = held.expr.rebuild((held.expr.operands[0], tuple(chunks), held.expr.meta))
        return self


def _shape_of(block: Any) -> Any:
    found = np.empty((1,) * block.ndim, dtype=object)
    found[(0,) * block.ndim] = block.shape
    return found
