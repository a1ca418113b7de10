"""What xarray needs to know of our arrays: the chunk manager ``glassloom``, which xarray finds by its entry point.

With it a ``Dataset`` or ``DataArray`` around lazy arrays computes, loads, persists, rechunks and applies functions, as around Dask's. Only
xarray imports this, so nothing else needs xarray.

Our arrays are recognised as they are. Where Dask is installed too, xarray makes Dask's of NumPy's, and of what is chunked again: unless
``xr.set_options(chunk_manager="glassloom")`` says otherwise, or ``chunked_array_type="glassloom"`` each time. Positions along several axes at
once (``x.isel(a=points, b=points)``, ``idxmax``) are refused by xarray itself for all arrays of the array API standard but NumPy's and Dask's.

>>> import xarray as xr
>>> import glassloom.array as ga
>>> float(xr.DataArray(ga.arange(6, chunks=3), dims="x").chunk(x=2).mean().compute())
2.5
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xarray.namedarray.parallelcompat import ChunkManagerEntrypoint

from glassloom import array as namespace
from glassloom import collection
from glassloom.array.api.array import Array, asarray
from glassloom.array.api.creation import from_array
from glassloom.array.api.files import store
from glassloom.array.api.gufuncs import apply_gufunc
from glassloom.array.api.joining import shuffle
from glassloom.array.api.mapping import blockwise, cumreduction, map_blocks, reduction
from glassloom.array.chunks import Chunks, common_refinement, normalize_chunks, with_size


class ChunkManager(ChunkManagerEntrypoint[Any]):
    """Calls our functions for xarray's; the signatures are those of xarray, which names arguments as Dask does."""

    def __init__(self) -> None:
        self.array_cls = Array

    @property
    def array_api(self) -> Any:
        return namespace

    def chunks(self, data: Array) -> Chunks:
        return data.chunks

    def normalize_chunks(
        self, chunks: Any, shape: Any = None, limit: int | None = None, dtype: Any = None, previous_chunks: Any = None
    ) -> Chunks:
        wanted = chunks if limit is None else with_size(chunks, limit)
        return normalize_chunks(wanted, shape, float if dtype is None else dtype)

    def from_array(self, data: Any, chunks: Any, **kwargs: Any) -> Array:
        """Return an array in chunks; of xarray's options (which are Dask's) only the name matters here."""
        return data.rechunk(chunks) if isinstance(data, Array) else from_array(data, chunks, name=kwargs.get("name"))

    def rechunk(self, data: Array, chunks: Any, **kwargs: Any) -> Array:
        return data.rechunk(chunks, **kwargs)

    def compute(self, *data: Any, **kwargs: Any) -> tuple[Any, ...]:
        return collection.compute(*data, **kwargs)

    def persist(self, *data: Any, **kwargs: Any) -> tuple[Any, ...]:
        return collection.persist(*data, **kwargs)

    def shuffle(self, x: Array, indexer: list[list[int]], axis: int, chunks: Any) -> Array:
        return shuffle(x, indexer, axis, "auto" if chunks is None else chunks)

    def reduction(
        self, arr: Array, func: Callable[..., Any], combine_func: Callable[..., Any] | None = None,
        aggregate_func: Callable[..., Any] | None = None, axis: Any = None, dtype: Any = None, keepdims: bool = False,
    ) -> Array:  # fmt: skip
        last = aggregate_func or combine_func or func
        return reduction(arr, func, last, axis, keepdims, combine=combine_func, dtype=dtype)

    def scan(
        self, func: Callable[..., Any], binop: Callable[..., Any], ident: float, arr: Array, axis: int | None = None,
        dtype: Any = None, **kwargs: Any,
    ) -> Array:  # fmt: skip
        return cumreduction(func, binop, ident, arr, axis=axis, dtype=dtype, **kwargs)

    def apply_gufunc(
        self, func: Callable[..., Any], signature: str, *args: Any, axes: Any = None, axis: int | None = None,
        keepdims: bool = False, output_dtypes: Any = None, output_sizes: Mapping[str, int] | None = None,
        vectorize: bool | None = None, allow_rechunk: bool = False, meta: Any = None, **kwargs: Any,
    ) -> Any:  # fmt: skip
        if output_dtypes is None and meta is not None:
            output_dtypes = [each.dtype for each in meta] if isinstance(meta, tuple) else meta.dtype
        return apply_gufunc(
            func, signature, *args, axes=axes, axis=axis, keepdims=keepdims, output_dtypes=output_dtypes,
            output_sizes=output_sizes, vectorize=bool(vectorize), allow_rechunk=allow_rechunk, **kwargs,
        )  # fmt: skip

    def map_blocks(
        self, func: Callable[..., Any], *args: Any, dtype: Any = None, chunks: Any = None, drop_axis: Any = None,
        new_axis: Any = None, **kwargs: Any,
    ) -> Array:  # fmt: skip
        return map_blocks(
            func, *args, dtype=dtype, chunks=chunks, drop_axis=() if drop_axis is None else drop_axis,
            new_axis=new_axis, **kwargs,
        )  # fmt: skip

    def blockwise(
        self, func: Callable[..., Any], out_ind: Any, *args: Any, adjust_chunks: Any = None, new_axes: Any = None,
        align_arrays: bool = True, **kwargs: Any,
    ) -> Array:  # fmt: skip
        return blockwise(
            func, tuple(out_ind), *args, adjust_chunks=adjust_chunks, new_axes=new_axes, align_arrays=align_arrays,
            **kwargs,
        )  # fmt: skip

    def unify_chunks(self, *args: Any, **kwargs: Any) -> tuple[dict[str, Any], list[Array]]:
        """Return the blocks along each label, and the arrays in such blocks: `args` are arrays and labels of their axes."""
        arrays = [asarray(each) for each in args[::2]]
        labels = [tuple(each) if each is not None else () for each in args[1::2]]
        cuts: dict[Any, list[tuple[int, ...]]] = {}
        for each, own in zip(arrays, labels, strict=True):
            for label, blocks in zip(own, each.chunks, strict=True):
                cuts.setdefault(label, []).append(blocks)
        common = {label: common_refinement(_of_the_longest(found)) for label, found in cuts.items()}
        made = [
            each.rechunk(tuple(_fitting(common[label], blocks) for label, blocks in zip(own, each.chunks, strict=True)))
            for each, own in zip(arrays, labels, strict=True)
        ]
        return common, made

    def store(self, sources: Array | Sequence[Array], targets: Any, **kwargs: Any) -> Any:
        kwargs.pop("flush", None)
        is_lazy = not kwargs.pop("compute", True)
        if is_lazy:
            raise NotImplementedError("a store of glassloom's arrays is written at once; call it with compute=True")
        store(sources, targets, **kwargs)


def _of_the_longest(cuts: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the cuts of axes that aren't of length 1, which broadcasts, unless all are."""
    return [blocks for blocks in cuts if sum(blocks) != 1] or cuts


def _fitting(common: tuple[int, ...], blocks: tuple[int, ...]) -> tuple[int, ...]:
    return blocks if sum(blocks) == 1 else common
