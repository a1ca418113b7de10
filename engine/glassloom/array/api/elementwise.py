"""Functions of single elements that are not ufuncs: `where`, `clip`, `round`, `isclose`, `real`, `imag`..."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray, operand_of
from glassloom.array.api.dispatch import implements
from glassloom.array.ops.elementwise import elementwise
from glassloom.array.sources.memory import frozen, owned

__all__ = [
    "allclose",
    "angle",
    "around",
    "array_equal",
    "array_equiv",
    "clip",
    "copy",
    "copyto",
    "fix",
    "i0",
    "imag",
    "interp",
    "isclose",
    "iscomplex",
    "iscomplexobj",
    "isneginf",
    "isnull",
    "isposinf",
    "isreal",
    "isrealobj",
    "nan_to_num",
    "notnull",
    "piecewise",
    "real",
    "round",
    "sinc",
    "where",
]


@implements(np.where)
def where(condition: Any, x: Any = np._NoValue, y: Any = np._NoValue) -> Any:
    """Return elements of `x` where the condition is true, else of `y`; with the condition alone, as `nonzero`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.arange(4, chunks=2)
    >>> ga.where(x > 1, x, 0).compute()
    array([0, 0, 2, 3])
    """
    if x is np._NoValue and y is np._NoValue:
        return asarray(condition).nonzero()
    if x is np._NoValue or y is np._NoValue:
        raise ValueError("where takes either the condition alone, or both x and y")
    if not builtins.any(isinstance(value, Array) for value in (condition, x, y)):
        condition = asarray(condition)
    return Array(elementwise(np.where, *(operand_of(value) for value in (condition, x, y))))


@implements(np.clip)
def clip(
    array: Any, min: Any = None, max: Any = None, out: Any = None, *, a_min: Any = None, a_max: Any = None
) -> Array:
    """Return values limited to the range from `min` to `max`; `a_min` and `a_max` are NumPy's older names.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.clip(ga.arange(5, chunks=2), 1, 3).compute()
    array([1, 1, 2, 3, 3])
    """
    if (a_min is not None or a_max is not None) and (min is not None or max is not None):
        raise ValueError("clip: give either a_min and a_max, or min and max")
    made: Array = asarray(array).clip(a_min if min is None else min, a_max if max is None else max)
    if out is None:
        return made
    copyto(out, made)
    return out


@implements(np.round, np.around)
def round(array: Any, decimals: int = 0) -> Array:
    """Return values rounded to a number of decimals.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.round(ga.asarray([1.26, 2.34]), 1).compute()
    array([1.3, 2.3])
    """
    return asarray(array).round(decimals)


@implements(np.isclose)
def isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    """Return where values are equal within a tolerance.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.isclose(ga.asarray([1.0, 2.0]), [1.0, 2.1]).compute()
    array([ True, False])
    """
    return Array(elementwise(np.isclose, operand_of(x), operand_of(y), rtol=rtol, atol=atol, equal_nan=equal_nan))


@implements(np.allclose)
def allclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    """Return whether all values are equal within a tolerance.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.allclose(ga.ones(3, chunks=2), 1).compute()
    np.True_
    """
    return isclose(asarray(x), y, rtol, atol, equal_nan).all()


@implements(np.real)
def real(array: Any) -> Array:
    """Return real parts.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.real(ga.asarray([1 + 2j])).compute()
    array([1.])
    """
    return asarray(array).real


@implements(np.imag)
def imag(array: Any) -> Array:
    """Return imaginary parts.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.imag(ga.asarray([1 + 2j])).compute()
    array([2.])
    """
    return asarray(array).imag


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Array:
    """Return the angles of complex numbers, in radians or degrees.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.angle(ga.asarray([1j, 1])).compute()
    array([1.57079633, 0.        ])
    """
    return Array(elementwise(np.angle, asarray(z).expr, deg=deg))


@implements(np.fix)
def fix(x: Any) -> Array:
    """Return numbers rounded towards zero.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.fix(ga.asarray([-1.5, 1.5])).compute()
    array([-1.,  1.])
    """
    return Array(elementwise(np.fix, asarray(x).expr))


@implements(np.i0)
def i0(x: Any) -> Array:
    """Return the modified Bessel function of order 0.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.i0(ga.asarray([0.0])).compute()
    array([1.])
    """
    return Array(elementwise(np.i0, _in_double_unless_floating(asarray(x)).expr))


@implements(np.iscomplex)
def iscomplex(x: Any) -> Array:
    """Return where imaginary parts aren't 0.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.iscomplex(ga.asarray([1j, 1])).compute()
    array([ True, False])
    """
    return Array(elementwise(np.iscomplex, asarray(x).expr))


@implements(np.isneginf)
def isneginf(x: Any) -> Array:
    """Return what is minus infinity.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.isneginf(ga.asarray([-ga.inf, 1])).compute()
    array([ True, False])
    """
    return Array(elementwise(np.isneginf, asarray(x).expr))


@implements(np.isposinf)
def isposinf(x: Any) -> Array:
    """Return what is plus infinity.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.isposinf(ga.asarray([ga.inf, 1])).compute()
    array([ True, False])
    """
    return Array(elementwise(np.isposinf, asarray(x).expr))


@implements(np.isreal)
def isreal(x: Any) -> Array:
    """Return where imaginary parts are 0.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.isreal(ga.asarray([1j, 1])).compute()
    array([False,  True])
    """
    return Array(elementwise(np.isreal, asarray(x).expr))


@implements(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """Return numbers in place of NaN and infinity: by default 0, and the largest and smallest of the type.

    Lazy arrays are always copied, so `copy` has no effect.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nan_to_num(ga.asarray([ga.nan, 1])).compute()
    array([0., 1.])
    """
    return Array(elementwise(np.nan_to_num, asarray(x).expr, nan=nan, posinf=posinf, neginf=neginf))


@implements(np.sinc)
def sinc(x: Any) -> Array:
    """Return ``sin(pi x) / (pi x)``.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.sinc(ga.asarray([0.0])).compute()
    array([1.])
    """
    return Array(elementwise(np.sinc, _in_double_unless_floating(asarray(x)).expr))


def _in_double_unless_floating(x: Array) -> Array:
    """Return truth values and integers as numbers of double precision, as NumPy computes of them; CuPy would take half precision for the small."""
    return x.astype(np.float64) if x.dtype.kind in "biu" else x


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Array:
    """Return values between given points, by linear interpolation; the points are in memory.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.interp(ga.asarray([0.5, 1.5]), [0, 1, 2], [0, 10, 40]).compute()
    array([ 5., 25.])
    """
    if isinstance(xp, Array) or isinstance(fp, Array):
        raise NotImplementedError("interp between points of a lazy array; compute() them first")
    call = Interpolation(owned(np.asarray(xp)), owned(np.asarray(fp)), {"left": left, "right": right, "period": period})
    return Array(elementwise(call, asarray(x).expr))


class Interpolation:
    """Interpolates between points."""

    __name__ = "interp"

    def __init__(self, xp: Any, fp: Any, options: dict[str, Any]) -> None:
        self.xp, self.fp, self.options = xp, fp, options

    def __glassloom_tokenize__(self) -> Any:
        return (self.xp, self.fp, self.options)

    def __call__(self, block: Any) -> Any:
        return np.interp(block, self.xp, self.fp, **self.options)


@implements(np.piecewise)
def piecewise(x: Any, condlist: Sequence[Any], funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """Return functions or values of elements, each where its condition is true; one more is for elsewhere.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.arange(4, chunks=2)
    >>> ga.piecewise(x, [x < 2], [0, lambda block: block * 10]).compute()
    array([ 0,  0, 20, 30])
    """
    whole = asarray(x)
    conditions = [asarray(condition).expr for condition in condlist]
    return Array(elementwise(Piecewise(*map(frozen, (tuple(funclist), args, kw))), whole.expr, *conditions))


class Piecewise:
    """Applies functions to the parts of a block where conditions are true."""

    __name__ = "piecewise"

    def __init__(self, functions: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.functions, self.args, self.kwargs = functions, args, kwargs

    def __glassloom_tokenize__(self) -> Any:
        return (self.functions, self.args, self.kwargs)

    def __call__(self, block: Any, *conditions: Any) -> Any:
        spread = [np.broadcast_to(condition.astype(bool), block.shape) for condition in conditions]
        return np.piecewise(block, spread, self.functions, *self.args, **self.kwargs)


def isnull(x: Any) -> Array:
    """Return what is missing: NaN, NaT and None.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.isnull(ga.asarray([1.0, ga.nan])).compute()
    array([False,  True])
    """
    return Array(elementwise(null_block, asarray(x).expr))


def null_block(block: Any) -> Any:
    """Return what of a block is missing."""
    if block.dtype.kind in "fcmM":
        return block != block
    if block.dtype.kind == "O":
        return np.asarray([item is None or bool(item != item) for item in block.ravel()], bool).reshape(block.shape)
    return np.zeros(block.shape, bool)


def notnull(x: Any) -> Array:
    """Return what isn't missing: neither NaN nor NaT nor None.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.notnull(ga.asarray([1.0, ga.nan])).compute()
    array([ True, False])
    """
    made: Array = ~isnull(x)
    return made


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Array:
    """Return whether two arrays have the same shape and elements.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.array_equal(ga.arange(3, chunks=2), [0, 1, 2]).compute()
    np.True_
    """
    one, other = asarray(a1), asarray(a2)
    if one.shape != other.shape:
        return asarray(np.False_)
    same = one == other
    return (same | (isnull(one) & isnull(other)) if equal_nan else same).all()


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Array:
    """Return whether two arrays are equal when broadcast to one shape.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.array_equiv(ga.ones((2, 2), chunks=1), [1, 1]).compute()
    np.True_
    """
    one, other = asarray(a1), asarray(a2)
    try:
        np.broadcast_shapes(one.shape, other.shape)
    except ValueError:
        return asarray(np.False_)
    return (one == other).all()


@implements(np.copyto)
def copyto(dst: Array, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Put values into a lazy array, where a condition is true.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.arange(3, chunks=2)
    >>> ga.copyto(x, 9, where=x > 0)
    >>> x.compute()
    array([0, 9, 9])
    """
    if not isinstance(src, Array):
        fitting = np.zeros(np.shape(src), dst.dtype)
        np.copyto(fitting, src, casting=casting)  # type: ignore[arg-type]
        src = fitting
    np.positive(asarray(src), out=dst, where=where, casting=casting)  # type: ignore[call-overload]


around = round


@implements(np.copy)
def copy(a: Any) -> Array:
    """Return the array as it is now: what is assigned to it later doesn't change the copy.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.arange(2)
    >>> kept = ga.copy(x)
    >>> x[0] = 9
    >>> kept.compute()
    array([0, 1])
    """
    return asarray(a).copy()


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    """Return whether the elements are of a complex type.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.iscomplexobj(ga.ones(2, dtype=complex))
    True
    """
    return bool(asarray(x).dtype.kind == "c")


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    """Return whether the elements are of a type that isn't complex.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.isrealobj(ga.ones(2, dtype=complex))
    False
    """
    return not iscomplexobj(x)
