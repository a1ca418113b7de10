"""What an array says of itself without being computed: shape, type, blocks, reprs. `Array` inherits it."""

from __future__ import annotations

import math
import re
from typing import Any

from glassloom.array.chunks import Chunks, longest
from glassloom.array.html import array_html
from glassloom.array.nodes.base import ArrayExpr
from glassloom.backends.host_meta import HostMeta
from glassloom.backends.standard_ import unwrapped
from glassloom.collection import Collection
from glassloom.errors import ChunkError
from glassloom.reprs.grid import chunk_grid


class Described(Collection):
    """The properties."""

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
