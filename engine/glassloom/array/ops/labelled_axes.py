"""A function of blocks whose axes are named: axes with equal names go together, as in Einstein's notation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from glassloom.array.chunks import Chunks, common_refinement, is_known, text_of
from glassloom.array.ops.base import ArrayExpr, BlockwiseArray, describe, make_meta
from glassloom.array.ops.elementwise import on_one_device
from glassloom.array.ops.mapping import BLOCK, MappedCall, split_lazy
from glassloom.array.ops.rechunk import rechunk
from glassloom.errors import ChunkError
from glassloom.expr.blockwise import Mapping

Label = Hashable


class IndexedBlocks(BlockwiseArray):
    """``call(*blocks)``; `indices` names the axes of each array and `out` those of the result.

    An axis that the result lacks has one block.
    """

    parameters = ("call", "arrays", "indices", "out", "chunks", "meta")
    operation = "blockwise"

    call: Any
    arrays: tuple[ArrayExpr, ...]
    indices: tuple[tuple[Label, ...], ...]
    out: tuple[Label, ...]

    @property
    def label(self) -> str:
        return str(getattr(self.call, "label", self.operation))

    @property
    def mappings(self) -> list[Mapping]:
        place = {label: axis for axis, label in enumerate(self.out)}
        return [
            tuple(None if count == 1 else place[label] for label, count in zip(labels, node.numblocks, strict=True))
            for node, labels in zip(self.arrays, self.indices, strict=True)
        ]

    @property
    def function(self) -> Any:
        return self.call

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return (index,) if getattr(self.call, "needs_index", False) else ()


def indexed(
    function: Callable[..., Any],
    arrays: Sequence[ArrayExpr],
    indices: Sequence[Sequence[Label]],
    out: Sequence[Label],
    *,
    dtype: Any = None,
    meta: Any = None,
    kwargs: dict[str, Any] | None = None,
    sizes: dict[Label, Any] | None = None,
    align: bool = True,
) -> IndexedBlocks:
    """Return the node of a function of blocks whose axes are named.

    Parameters
    ----------
    sizes
        Lengths of the result's blocks along axes that are new or that the function changes: a length for a single
        block (or for every block), or a tuple of lengths.
    align
        Whether arrays are rechunked until axes of one name have equal blocks. Axes that `out` lacks always become
        one block.
    """
    arrays = on_one_device(arrays, with_axes=False)
    nodes = _aligned(arrays, indices, out) if align else list(arrays)
    known: dict[Label, tuple[int, ...]] = {}
    for node, labels in zip(nodes, indices, strict=True):
        for label, blocks, length in zip(labels, node.chunks, node.shape, strict=True):
            if label not in known or (known[label] == (1,) and length != 1 and is_known(blocks)):
                known[label] = blocks
    chunks: list[tuple[int, ...]] = []
    for label in out:
        size = (sizes or {}).get(label, known.get(label, (1,)))
        chunks.append(size if isinstance(size, tuple) else (size,) * len(known.get(label, (1,))))
    plain, lazy = split_lazy(kwargs or {})
    call = MappedCall(function, (BLOCK,) * len(nodes), plain, lazy=tuple(lazy))
    if meta is None:
        meta = make_meta(nodes[0].meta, len(chunks), dtype)
    names = (*map(tuple, indices), *((),) * len(lazy))
    return IndexedBlocks(call, (*nodes, *lazy.values()), names, tuple(out), tuple(chunks), meta)


def _aligned(arrays: Sequence[ArrayExpr], indices: Sequence[Sequence[Label]], out: Sequence[Label]) -> list[ArrayExpr]:
    """Return arrays with equal blocks along axes of one name, one block along axes that the result lacks."""
    several: dict[Label, list[tuple[int, ...]]] = {}
    for node, labels in zip(arrays, indices, strict=True):
        check_labels(node, labels)
        for label, blocks, length in zip(labels, node.chunks, node.shape, strict=True):
            if length != 1:
                several.setdefault(label, []).append(blocks)
    wanted = {label: _common(label, found, label in out) for label, found in several.items()}
    return [
        rechunk(
            node,
            tuple(
                blocks if length != length else (1,) if length == 1 else wanted[label]
                for label, blocks, length in zip(labels, node.chunks, node.shape, strict=True)
            ),
        )
        for node, labels in zip(arrays, indices, strict=True)
    ]


def check_labels(node: ArrayExpr, labels: Sequence[Label]) -> None:
    """Raise `ValueError` if there isn't one name for each axis."""
    if len(labels) != node.ndim:
        raise ValueError(f"index {tuple(labels)!r} names {len(labels)} axes of an array of {describe(node)}")


def _common(label: Label, several: list[tuple[int, ...]], is_kept: bool) -> tuple[int, ...]:
    if not all(map(is_known, several)):
        if len({len(blocks) for blocks in several}) > 1 or (not is_kept and len(several[0]) > 1):
            raise ChunkError(f"axis {label!r} has blocks of unknown length; call compute_chunk_sizes() first")
        return several[0]
    if len({sum(blocks) for blocks in several}) > 1:
        raise ValueError(f"axis {label!r} has different lengths: {text_of(tuple(several))}")
    return common_refinement(several) if is_kept else (sum(several[0]),)


def whole(chunks: Chunks, axes: Sequence[int]) -> Chunks:
    """Return chunks with one block along some axes.

    >>> whole(((2, 2), (3, 3)), [1])
    ((2, 2), (6,))
    """
    return tuple((sum(blocks),) if axis in axes and len(blocks) > 1 else blocks for axis, blocks in enumerate(chunks))
