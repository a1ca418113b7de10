"""Generalised ufuncs: functions of whole core axes, over loops of the other axes that broadcast."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.mapping import of_users
from glassloom.array.api.shapes import moveaxis
from glassloom.array.ops.base import ArrayExpr, describe, make_meta
from glassloom.array.ops.labelled_axes import IndexedBlocks, indexed
from glassloom.array.ops.mapping import BLOCK, MappedCall, Part, split_lazy
from glassloom.backends.arrays import namespace_of
from glassloom.errors import ChunkError

__all__ = ["apply_gufunc", "as_gufunc"]

_SIGNATURE = re.compile(
    r"^\s*(\([\w\s,]*\)(?:\s*,\s*\([\w\s,]*\))*)?\s*->\s*(\([\w\s,]*\)(?:\s*,\s*\([\w\s,]*\))*)\s*$"
)


def apply_gufunc(
    function: Callable[..., Any],
    signature: str,
    *args: Any,
    axes: Any = None,
    axis: int | None = None,
    keepdims: bool = False,
    output_dtypes: Any = None,
    output_sizes: Mapping[str, int] | None = None,
    vectorize: bool = False,
    allow_rechunk: bool = True,
    **kwargs: Any,
) -> Any:
    """Apply a generalised ufunc: a function of whole core axes, over loops of the other axes that broadcast.

    Parameters
    ----------
    function
        Called with blocks whose core axes are the last ones.
    signature
        Core axes of arrays and results, such as ``"(i,j),(j)->(i)"``.
    axes
        Where the core axes are: a tuple of axes for each array and for each result (those without core axes may be left
        out), as for NumPy's gufuncs. By default they are the last ones.
    axis
        Where the core axis is, if all arrays have one, and the same.
    keepdims
        Whether core axes that the results lack stay there with length 1.
    output_dtypes
        Type of the result, or of each of several. Without it the function is tried on blocks of one element.
    output_sizes
        Lengths of core axes that only results have.
    vectorize
        Whether the function takes no loop axes, so that `numpy.vectorize` has to loop.
    allow_rechunk
        Whether core axes of several blocks may be joined; otherwise they are an error.
    kwargs
        Passed on to the function; lazy values when they are computed.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = ga.ones((4, 6), chunks=(2, 3))
    >>> ga.apply_gufunc(lambda block: block.sum(axis=-1), "(i)->()", x).compute()
    array([6., 6., 6., 6.])
    """
    ins, outs, is_tuple = _parse_signature(signature)
    if axes is not None or axis is not None or keepdims:
        places = _places(ins, outs, axes, axis, keepdims, signature)
        moved = [_moved(asarray(array), at, None) for array, at in zip(args, places, strict=False)]
        made = apply_gufunc(
            function, signature, *moved, output_dtypes=output_dtypes, output_sizes=output_sizes, vectorize=vectorize,
            allow_rechunk=allow_rechunk, **kwargs,
        )  # fmt: skip
        results = [
            each[(..., *(None,) * len(ins[0]))] if keepdims else each for each in (made if is_tuple else (made,))
        ]
        behind = [_moved(each, None, at) for each, at in zip(results, places[len(ins) :], strict=True)]
        return tuple(behind) if is_tuple else behind[0]
    nodes = [asarray(array).expr for array in args]
    function = of_users(function, nodes)
    if len(nodes) != len(ins):
        raise ValueError(f"signature {signature!r} names {len(ins)} arrays, got {len(nodes)}")
    for node, core in zip(nodes, ins, strict=True):
        if node.ndim < len(core):
            raise ValueError(f"signature {signature!r}: core axes {core} of an array of {describe(node)}")
        split = [
            name for name, blocks in zip(core, node.chunks[node.ndim - len(core) :], strict=True) if len(blocks) > 1
        ]
        if split and not allow_rechunk:
            raise ChunkError(f"core axis {split[0]!r} has several blocks; rechunk it to one, or say allow_rechunk=True")
    call = np.vectorize(function, signature=signature, excluded=set(kwargs)) if vectorize else function
    n_loop = max((node.ndim - len(core) for node, core in zip(nodes, ins, strict=True)), default=0)
    loop = tuple(f"loop {axis}" for axis in range(n_loop))
    indices = [(*loop[n_loop - (node.ndim - len(core)) :], *core) for node, core in zip(nodes, ins, strict=True)]
    lengths = {
        name: length for node, names in zip(nodes, indices, strict=True) for name, length in zip(names, node.shape, strict=True)
    }  # fmt: skip
    sizes = {**lengths, **(output_sizes or {})}
    lacking = {name for core in outs for name in core} - set(sizes)
    if lacking:
        raise ValueError(f"signature {signature!r}: the length of {sorted(lacking)} isn't known; say output_sizes=...")
    dtypes = _output_dtypes(call, kwargs, nodes, output_dtypes, len(outs), is_tuple)
    if vectorize:  # of blocks without elements it asks for the types
        call = np.vectorize(function, signature=signature, excluded=set(kwargs), otypes=dtypes)
    like = nodes[0].meta
    if not is_tuple:
        new = {name: (sizes[name],) for name in outs[0]}
        meta = make_meta(like, n_loop + len(outs[0]), dtypes[0])
        return Array(_with_core(call, nodes, indices, loop, outs[0], new, meta, kwargs))
    together = _with_core(call, nodes, indices, loop, (), {}, like, kwargs)
    results = []
    for number, (names, dtype) in enumerate(zip(outs, dtypes, strict=True)):
        chunks = (*together.chunks, *((sizes[name],) for name in names))
        part = MappedCall(Part(number), (BLOCK,), {}, wants_block_id=False)
        meta = make_meta(like, n_loop + len(names), dtype)
        results.append(Array(IndexedBlocks(part, (together,), (loop,), (*loop, *names), chunks, meta)))
    return tuple(results)


def _places(
    ins: list[tuple[str, ...]], outs: list[tuple[str, ...]], axes: Any, axis: int | None, keepdims: bool, signature: str
) -> list[tuple[int, ...]]:
    """Return where the core axes of each array and each result are; axes of length 1 are put in there for `keepdims`."""
    if keepdims and (any(outs) or len({len(core) for core in ins}) != 1):
        raise ValueError(
            f"keepdims: the results of signature {signature!r} have core axes, or its arrays differ in theirs"
        )
    if axis is not None:
        if (
            axes is not None
            or {len(core) for core in (*ins, *outs)} - {0, 1}
            or len({core for core in ins if core}) != 1
        ):
            raise ValueError(
                f"axis={axis!r} needs a signature with one core axis, the same everywhere, not {signature!r}"
            )
        axes = [(axis,) if core else () for core in (*ins, *outs)]
    elif axes is None:
        axes = [tuple(range(-len(core), 0)) for core in (*ins, *outs)]
    found = [tuple(each) if isinstance(each, (tuple, list)) else (each,) for each in axes]
    if len(found) == len(ins) and not any(outs):
        found += [()] * len(outs)
    if keepdims:
        found[len(ins) :] = [found[0]] * len(outs)
    wanted = [len(core) for core in ins] + [len(found[0]) if keepdims else len(core) for core in outs]
    if [len(each) for each in found] != wanted:
        raise ValueError(f"axes={axes!r} doesn't name the core axes of signature {signature!r}")
    return found


def _moved(whole: Array, source: tuple[int, ...] | None, target: tuple[int, ...] | None) -> Array:
    """Return an array with its core axes moved to the end, or from there to where they belong."""
    places = source if source is not None else target or ()
    last = tuple(range(-len(places), 0))
    if source is not None:
        return moveaxis(whole, source, last)
    return moveaxis(whole, last, places)


def _with_core(
    call: Any, nodes: Sequence[ArrayExpr], indices: Any, loop: tuple[str, ...], names: tuple[str, ...], core: Any,
    meta: Any, kwargs: dict[str, Any],
) -> IndexedBlocks:  # fmt: skip
    """Return the function of blocks, whose core axes become whole: inside they get names that the result lacks."""
    inner = [tuple(name if name in loop else ("core", name) for name in index) for index in indices]
    outer = (*loop, *(("out", name) for name in names))
    sizes: dict[Hashable, Any] = {("out", name): size for name, size in core.items()}
    return indexed(call, nodes, inner, outer, meta=meta, sizes=sizes, kwargs=kwargs)


def _output_dtypes(
    call: Any, kwargs: dict[str, Any], nodes: Sequence[ArrayExpr], given: Any, count: int, is_tuple: bool
) -> list[Any]:
    if given is not None:
        dtypes = list(given) if isinstance(given, (list, tuple)) else [given] * count
        if len(dtypes) != count:
            raise ValueError(f"output_dtypes={given!r} has {len(dtypes)} types for {count} results")
        return dtypes
    tiny = [namespace_of(node.meta).ones((1,) * node.ndim, dtype=node.dtype) for node in nodes]
    plain, lazy = split_lazy(kwargs)
    try:
        with np.errstate(all="ignore"):
            made = call(*tiny, **plain, **{name: node.sample for name, node in lazy.items()})
    except Exception as error:  # the function is the user's: it may do anything to a block of one element
        raise ValueError(
            f"apply_gufunc tried the function on blocks of one element to learn its types, but it raised "
            f"{type(error).__name__}: {error}. Say output_dtypes=..."
        ) from error
    return [np.asarray(each).dtype for each in (made if is_tuple else (made,))]


def _parse_signature(signature: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]], bool]:
    found = _SIGNATURE.match(signature)
    if found is None:
        raise ValueError(f"{signature!r} is not a signature such as '(i,j),(j)->(i)'")
    sides = [_cores(side or "") for side in found.groups()]
    return sides[0], sides[1], len(sides[1]) > 1


def _cores(text: str) -> list[tuple[str, ...]]:
    return [
        tuple(name.strip() for name in core.split(",") if name.strip()) for core in re.findall(r"\(([^)]*)\)", text)
    ]


def as_gufunc(signature: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that makes a function a generalised ufunc of lazy arrays; see `apply_gufunc` for the options.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> @ga.as_gufunc("(i)->()", output_dtypes=float)
    ... def spread(block):
    ...     return block.max(axis=-1) - block.min(axis=-1)
    >>> spread(ga.arange(6, chunks=2).reshape(2, 3)).compute()
    array([2, 2])
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def gufunc(*args: Any, **more: Any) -> Any:
            return apply_gufunc(function, signature, *args, **{**options, **more})

        gufunc.__name__ = getattr(function, "__name__", "gufunc")
        gufunc.__doc__ = function.__doc__
        return gufunc

    return decorate
