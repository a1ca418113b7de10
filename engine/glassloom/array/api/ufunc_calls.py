"""What NumPy's ufuncs do with lazy arrays: called with NumPy's options, reduced, accumulated, in an outer product."""

from __future__ import annotations

from typing import Any

import numpy as np

from glassloom.array.api.array import Array, apply_ufunc, asarray, matmul, operand_of
from glassloom.array.api.dispatch import functions, implementation_of
from glassloom.array.ops import reductions, shapes
from glassloom.array.ops.elementwise import astype, elementwise

_REDUCTIONS: dict[Any, str] = {
    np.add: "sum", np.multiply: "prod", np.minimum: "min", np.maximum: "max", np.logical_and: "all",
    np.logical_or: "any",
}  # fmt: skip

_ASSOCIATIVE = (
    "bitwise_and", "bitwise_or", "bitwise_xor", "fmax", "fmin", "gcd", "lcm", "logaddexp", "logaddexp2", "logical_xor",
)  # fmt: skip
"""Ufuncs whose reductions may be put together from those of blocks."""


def array_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what `Array.__array_ufunc__` does: of a ufunc or one of its methods, or `NotImplemented`."""
    if method == "reduce" and kwargs.pop("out", None) is None and not set(kwargs) - {"axis", "dtype", "keepdims"}:
        return _reduce(ufunc, inputs[0], **kwargs)
    if method == "outer" and not kwargs:
        return apply_ufunc(ufunc, *_outer_operands(*inputs))
    if method == "accumulate" and ufunc in (np.add, np.multiply) and not set(kwargs) - {"axis", "dtype"}:
        return _accumulate(ufunc, inputs[0], **kwargs)
    if method != "__call__":
        return NotImplemented
    return call_ufunc(ufunc, *inputs, **kwargs)


def _outer_operands(left: Any, right: Any) -> tuple[Any, Any]:
    one, other = asarray(left), asarray(right)
    return one[(..., *(None,) * other.ndim)], other


def call_ufunc(ufunc: np.ufunc, *inputs: Any, out: Any = None, where: Any = True, **kwargs: Any) -> Any:
    """Return a ufunc of arrays and scalars, with NumPy's options. Where `where` is false and there is no `out`, the
    result is 0: NumPy's is uninitialised."""
    if any(target is not None for target in (out if isinstance(out, tuple) else (out,))):
        return _apply_into(ufunc, inputs, out, where, kwargs)
    if ufunc.signature is not None:
        own = matmul if ufunc is np.matmul else implementation_of(ufunc)
        return own(*inputs, **kwargs) if own is not None and where is True else NotImplemented
    made = apply_ufunc(ufunc, *inputs, **kwargs)
    if where is True or made is NotImplemented:
        return made
    mask = operand_of(where)
    parts = [
        Array(elementwise(np.where, mask, each.expr, each.dtype.type(0)))
        for each in (made if isinstance(made, tuple) else (made,))
    ]
    return parts[0] if ufunc.nout == 1 else tuple(parts)


def _apply_into(ufunc: np.ufunc, inputs: Any, out: Any, where: Any, kwargs: dict[str, Any]) -> Any:
    """Return a ufunc whose results are put into lazy arrays, where a condition is true."""
    targets = out if isinstance(out, tuple) else (out,) * ufunc.nout
    if not all(isinstance(target, Array) for target in targets):
        raise TypeError(f"{ufunc.__name__}: out={out!r} must be lazy arrays, because the result is; or compute() it")
    made = matmul(*inputs, **kwargs) if ufunc is np.matmul else apply_ufunc(ufunc, *inputs, **kwargs)
    if made is NotImplemented:
        return made
    for target, result in zip(targets, made if isinstance(made, tuple) else (made,), strict=True):
        if not np.can_cast(result.dtype, target.dtype, kwargs.get("casting", "same_kind")):
            raise TypeError(f"{ufunc.__name__}: a result of type {result.dtype} doesn't go into out={target!r}")
        node = shapes.broadcast_to(result.expr, target.shape)
        if where is not True:
            node = elementwise(np.where, operand_of(where), node, target.expr)
        if node.shape != target.shape:
            raise ValueError(f"{ufunc.__name__}: where of shape {np.shape(where)} for out={target!r}")
        target._expr = astype(node, target.dtype)
    return targets[0] if ufunc.nout == 1 else targets


def _reduce(ufunc: np.ufunc, array: Array, axis: Any = 0, **kwargs: Any) -> Any:
    method = _REDUCTIONS.get(ufunc)
    options = {name: value for name, value in kwargs.items() if value is not None}
    if method is not None:
        return getattr(array, method)(axis=axis, **options)
    if ufunc.__name__ not in _ASSOCIATIVE or "dtype" in options:
        return NotImplemented
    return Array(reductions.fold(array.expr, ufunc.reduce, ufunc.__name__, axis=axis, **options))


def _accumulate(ufunc: np.ufunc, array: Array, axis: int = 0, dtype: Any = None) -> Any:
    scan = functions().cumsum if ufunc is np.add else functions().cumprod
    return scan(array, axis, array.dtype if dtype is None else dtype)
