"""NumPy's universal functions for lazy arrays: types, casting and broadcasting are NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.ufunc_calls import call_ufunc
from glassloom.collection import Collection


class Ufunc:
    """One of NumPy's universal functions; returns lazy arrays, of lazy frames and series such, and of pandas objects those.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.sqrt(ga.arange(3, chunks=2) ** 2).compute()
    array([0., 1., 2.])
    """

    def __init__(self, ufunc: np.ufunc) -> None:
        self._ufunc = ufunc
        self.__name__ = ufunc.__name__
        self.__doc__ = f"Return `numpy.{ufunc.__name__}` of lazy arrays and scalars, element by element."

    def __repr__(self) -> str:
        return f"ga.{self.__name__}"

    @property
    def nin(self) -> int:
        """Number of arrays it takes."""
        return self._ufunc.nin

    @property
    def nout(self) -> int:
        """Number of arrays it returns."""
        return self._ufunc.nout

    @property
    def identity(self) -> Any:
        """What changes no other element, or None."""
        return self._ufunc.identity

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if self.nin < len(inputs) <= self.nin + self.nout and "out" not in kwargs:  # as NumPy takes it
            inputs, kwargs["out"] = (
                inputs[: self.nin],
                (*inputs[self.nin :], *(None,) * (self.nin + self.nout - len(inputs))),
            )
        if len(inputs) != self.nin:
            raise TypeError(f"{self.__name__} takes {self.nin} arrays, got {len(inputs)}")
        if any(isinstance(value, Collection) and not isinstance(value, Array) for value in inputs):
            return self._ufunc(*inputs, **kwargs)  # frames, series and bags say what it makes of them
        if not any(isinstance(value, Array) for value in inputs):
            if any(hasattr(value, "set_axis") or hasattr(value, "set_names") for value in inputs):
                return self._ufunc(
                    *inputs, **kwargs
                )  # labelled rows and labels, of pandas or cuDF, which keep their labels
            inputs = (asarray(inputs[0]), *inputs[1:])
        made = call_ufunc(self._ufunc, *inputs, **kwargs)
        if made is NotImplemented:
            raise TypeError(f"{self.__name__} of {', '.join(type(value).__name__ for value in inputs)}")
        return made

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False) -> Array:
        """Return the ufunc folded over axes, as `numpy.ufunc.reduce`."""
        made: Array = self._ufunc.reduce(asarray(array), axis=axis, dtype=dtype, keepdims=keepdims)
        return made

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None) -> Array:
        """Return running results along an axis, as `numpy.ufunc.accumulate`; of `add` and `multiply`."""
        made: Array = self._ufunc.accumulate(asarray(array), axis=axis, dtype=dtype)  # type: ignore[assignment]
        return made

    def outer(self, left: Any, right: Any) -> Array:
        """Return the ufunc of all pairs of elements, as `numpy.ufunc.outer`."""
        made: Array = self._ufunc.outer(asarray(left), asarray(right))  # type: ignore[assignment]
        return made


absolute = Ufunc(np.absolute)
add = Ufunc(np.add)
arccos = Ufunc(np.arccos)
arccosh = Ufunc(np.arccosh)
arcsin = Ufunc(np.arcsin)
arcsinh = Ufunc(np.arcsinh)
arctan = Ufunc(np.arctan)
arctan2 = Ufunc(np.arctan2)
arctanh = Ufunc(np.arctanh)
bitwise_and = Ufunc(np.bitwise_and)
bitwise_or = Ufunc(np.bitwise_or)
bitwise_xor = Ufunc(np.bitwise_xor)
bitwise_count = Ufunc(np.bitwise_count)
cbrt = Ufunc(np.cbrt)
ceil = Ufunc(np.ceil)
conjugate = Ufunc(np.conjugate)
copysign = Ufunc(np.copysign)
cos = Ufunc(np.cos)
cosh = Ufunc(np.cosh)
deg2rad = Ufunc(np.deg2rad)
degrees = Ufunc(np.degrees)
divide = Ufunc(np.divide)
divmod = Ufunc(np.divmod)
equal = Ufunc(np.equal)
exp = Ufunc(np.exp)
exp2 = Ufunc(np.exp2)
expm1 = Ufunc(np.expm1)
fabs = Ufunc(np.fabs)
float_power = Ufunc(np.float_power)
floor = Ufunc(np.floor)
floor_divide = Ufunc(np.floor_divide)
fmax = Ufunc(np.fmax)
fmin = Ufunc(np.fmin)
fmod = Ufunc(np.fmod)
frexp = Ufunc(np.frexp)
gcd = Ufunc(np.gcd)
greater = Ufunc(np.greater)
greater_equal = Ufunc(np.greater_equal)
heaviside = Ufunc(np.heaviside)
hypot = Ufunc(np.hypot)
invert = Ufunc(np.invert)
isfinite = Ufunc(np.isfinite)
isinf = Ufunc(np.isinf)
isnan = Ufunc(np.isnan)
isnat = Ufunc(np.isnat)
lcm = Ufunc(np.lcm)
ldexp = Ufunc(np.ldexp)
left_shift = Ufunc(np.left_shift)
less = Ufunc(np.less)
less_equal = Ufunc(np.less_equal)
log = Ufunc(np.log)
log10 = Ufunc(np.log10)
log1p = Ufunc(np.log1p)
log2 = Ufunc(np.log2)
logaddexp = Ufunc(np.logaddexp)
logaddexp2 = Ufunc(np.logaddexp2)
logical_and = Ufunc(np.logical_and)
logical_not = Ufunc(np.logical_not)
logical_or = Ufunc(np.logical_or)
logical_xor = Ufunc(np.logical_xor)
maximum = Ufunc(np.maximum)
minimum = Ufunc(np.minimum)
mod = Ufunc(np.mod)
modf = Ufunc(np.modf)
multiply = Ufunc(np.multiply)
negative = Ufunc(np.negative)
nextafter = Ufunc(np.nextafter)
not_equal = Ufunc(np.not_equal)
positive = Ufunc(np.positive)
power = Ufunc(np.power)
rad2deg = Ufunc(np.rad2deg)
radians = Ufunc(np.radians)
reciprocal = Ufunc(np.reciprocal)
remainder = Ufunc(np.remainder)
right_shift = Ufunc(np.right_shift)
rint = Ufunc(np.rint)
sign = Ufunc(np.sign)
signbit = Ufunc(np.signbit)
sin = Ufunc(np.sin)
sinh = Ufunc(np.sinh)
spacing = Ufunc(np.spacing)
sqrt = Ufunc(np.sqrt)
square = Ufunc(np.square)
subtract = Ufunc(np.subtract)
tan = Ufunc(np.tan)
tanh = Ufunc(np.tanh)
true_divide = Ufunc(np.true_divide)
trunc = Ufunc(np.trunc)
abs = absolute
conj = conjugate
# The array API standard's names.
acos = arccos
acosh = arccosh
asin = arcsin
asinh = arcsinh
atan = arctan
atan2 = arctan2
atanh = arctanh
bitwise_invert = invert
bitwise_not = invert
bitwise_left_shift = left_shift
bitwise_right_shift = right_shift
pow = power

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "conj",
    "conjugate",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "divide",
    "divmod",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "gcd",
    "greater",
    "greater_equal",
    "heaviside",
    "hypot",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "isnat",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "modf",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "power",
    "rad2deg",
    "radians",
    "reciprocal",
    "remainder",
    "right_shift",
    "rint",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "spacing",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
]
