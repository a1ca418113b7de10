"""What the array API standard asks for beside NumPy's functions: other names, types, and what the namespace says of itself.

https://data-apis.org/array-api/latest/
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.dispatch import implements

__all__ = [
    "astype",
    "bool_",
    "can_cast",
    "complex128",
    "complex64",
    "finfo",
    "float32",
    "float64",
    "from_dlpack",
    "iinfo",
    "int16",
    "int32",
    "int64",
    "int8",
    "isdtype",
    "permute_dims",
    "result_type",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]

__array_api_version__ = "2025.12"

bool_ = np.bool_
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float32, float64 = np.float32, np.float64
complex64, complex128 = np.complex64, np.complex128


def _dtype(value: Any) -> Any:
    return value.dtype if isinstance(value, Array) else value


@implements(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """Return the array in another type.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.astype(ga.arange(2), float).compute()
    array([0., 1.])
    """
    return asarray(x).astype(dtype, copy=copy)


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, /, casting: Any = "safe") -> bool:
    """Return whether values of one type go into another without loss.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.can_cast("i4", "f8"), ga.can_cast(ga.ones(2), "i8")
    (True, False)
    """
    return bool(np.can_cast(_dtype(from_), to, casting))


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    """Return the type that arrays, types and scalars have together.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.result_type(ga.arange(2), "f4")
    dtype('float64')
    """
    return np.result_type(*map(_dtype, arrays_and_dtypes))


class FloatLimits(NamedTuple):
    """The limits of a floating type, as Python's numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    tiny: float
    resolution: float
    dtype: Any


def finfo(type: Any, /) -> FloatLimits:
    """Return the limits of a floating type.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.finfo("f4").bits
    32
    """
    limits = np.finfo(_dtype(type))
    return FloatLimits(
        int(limits.bits), float(limits.eps), float(limits.max), float(limits.min), float(limits.smallest_normal),
        float(limits.tiny), float(limits.resolution), limits.dtype,
    )  # fmt: skip


def iinfo(type: Any, /) -> Any:
    """Return the limits of an integer type.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.iinfo("i1").max
    127
    """
    return np.iinfo(_dtype(type))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether a type is of a kind, such as ``"integral"``.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.isdtype(ga.arange(2).dtype, "integral")
    True
    """
    return bool(np.isdtype(dtype, kind))


@implements(np.permute_dims)
def permute_dims(x: Any, /, axes: Any) -> Array:
    """Return the axes in another order.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.permute_dims(ga.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """
    return asarray(x).transpose(tuple(axes))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Return an array that shares memory with one of another library.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> ga.from_dlpack(np.arange(2)).compute()
    array([0, 1])
    """
    return asarray(np.from_dlpack(x))


class _Info:
    """What the namespace can do."""

    def capabilities(self) -> dict[str, Any]:
        """Return what depends on values, and how many axes there may be."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Return where arrays are made."""
        return "cpu"

    def devices(self) -> tuple[str, ...]:
        """Return where arrays can be made."""
        return ("cpu",)

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Return the default types of arrays."""
        return {
            "real floating": np.dtype(np.float64),
            "complex floating": np.dtype(np.complex128),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.intp),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """Return the types of a kind by name."""
        names = (
            "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
            "complex64", "complex128",
        )  # fmt: skip
        found = {name: np.dtype(name) for name in names}
        return found if kind is None else {name: dtype for name, dtype in found.items() if np.isdtype(dtype, kind)}


def __array_namespace_info__() -> _Info:
    """Return an object that says what the namespace can do.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.__array_namespace_info__().devices()
    ('cpu',)
    """
    return _Info()
