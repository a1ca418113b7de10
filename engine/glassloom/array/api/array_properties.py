"""What an array says of itself without being computed (shape, type, blocks, reprs), and conversions that compute at once.

`Array` inherits `ArrayProperties`.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from glassloom.array.chunks import Chunks, longest
from glassloom.array.ops.base import ArrayExpr
from glassloom.array.ops.mapping import map_blocks
from glassloom.backends.host_meta import HostMeta
from glassloom.backends.standard_ import unwrapped
from glassloom.collection import Collection
from glassloom.errors import ChunkError
from glassloom.expr import optimize, walk
from glassloom.local.default import Runtime
from glassloom.reprs import render
from glassloom.reprs.block_states import block_states, held_bytes, held_values, is_on_gpu, states_html
from glassloom.reprs.chunk_advice import chunk_advice
from glassloom.reprs.grid import chunk_grid
from glassloom.reprs.live_blocks import show_blocks
from glassloom.units import format_bytes


class ArrayProperties(Collection):
    """The properties and conversions."""

    _expr: ArrayExpr

    @property
    def expr(self) -> ArrayExpr:
        """The expression that this array stands for."""
        return self._expr

    @property
    def chunks(self) -> Chunks:
        """For each axis the lengths of its blocks; ``nan`` where they aren't known yet."""
        return self.expr.chunks

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes; ``nan`` where they aren't known yet."""
        return self.expr.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.expr.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.expr.size

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self.expr.dtype

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def chunksize(self) -> tuple[int, ...]:
        """Shape of the largest block."""
        return tuple(map(longest, self.chunks))

    @property
    def numblocks(self) -> tuple[int, ...]:
        """Number of blocks along each axis."""
        return self.expr.numblocks

    @property
    def npartitions(self) -> int:
        """Number of blocks."""
        return math.prod(self.numblocks)

    def __repr__(self) -> str:
        meta = unwrapped(self.expr.meta)
        kind = type(meta)
        library = kind.__module__.partition(".")[0]
        of_blocks = f"{meta.backend}.ndarray" if isinstance(meta, HostMeta) else f"{library}.{kind.__qualname__}"
        return (
            f"ga.Array<{self.expr.label}, shape={self.shape}, dtype={self.dtype}, chunksize={self.chunksize}, "
            f"{of_blocks}>"
        )

    def _repr_html_(self) -> str:
        return array_html(self.expr)

    def _ipython_display_(self) -> None:
        show_blocks(self, lambda array, told: array_html(array.expr, told))

    def to_svg(self) -> str:
        """Return the drawing of the blocks that notebooks show, as SVG; of more than three axes the last three."""
        found: list[str] = re.findall(r"<svg.*?</svg>", str(chunk_grid(self.chunks)), flags=re.DOTALL)
        return found[-1]

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of an array without axes")
        if math.isnan(self.shape[0]):
            raise ChunkError("the length isn't known before the blocks are computed; call compute_chunk_sizes() first")
        return self.shape[0]

    # Conversions that compute.

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


def array_html(node: ArrayExpr, told: Sequence[str] = ()) -> str:
    """Return a card with sizes, shapes, tasks, type and a drawing of the blocks; `told`: see `block_states`."""
    chunk_shape = tuple(map(longest, node.chunks))
    kind = type(node.meta)
    n_blocks = math.prod(node.numblocks)
    n_tasks, n_layers = _plan_size(node)
    held = held_values(node)
    states = block_states(held, told, is_on_gpu=is_on_gpu(node))
    return render(
        "array.html.j2",
        label=node.label,
        nbytes=_bytes_text(node.shape, node.dtype),
        chunk_nbytes=_bytes_text(chunk_shape, node.dtype),
        shape=_shape_text(node.shape),
        chunk_shape=_shape_text(chunk_shape),
        n_blocks=f"{n_blocks:,} chunk{'s' if n_blocks != 1 else ''}",
        tasks=f"{n_tasks:,} task{'s' if n_tasks != 1 else ''} in {n_layers} layer{'s' if n_layers != 1 else ''}",
        dtype=str(node.dtype),
        kind=f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}",
        grid=chunk_grid(node.chunks, states),
        states=states_html(states, held_bytes(held), was_told=bool(told)),
        advice=chunk_advice(
            n_blocks,
            math.prod(node.shape) * node.dtype.itemsize,
            math.prod(chunk_shape) * node.dtype.itemsize,
            noun="chunks",
            remedy='x.rechunk("auto")',
        ),
    )


def _plan_size(node: ArrayExpr) -> tuple[int, int]:
    """Return the number of tasks and layers after optimising, without making the tasks."""
    counts = [each.n_tasks for each in walk(optimize([node]))]
    return sum(counts), sum(count > 0 for count in counts)


def _bytes_text(shape: tuple[int, ...], dtype: Any) -> str:
    nbytes = math.prod(shape) * dtype.itemsize
    return "unknown" if math.isnan(nbytes) else format_bytes(nbytes)


def _shape_text(shape: tuple[int, ...]) -> str:
    if not shape:
        return "()"
    return " × ".join("?" if math.isnan(length) else f"{length:,}" for length in shape)
