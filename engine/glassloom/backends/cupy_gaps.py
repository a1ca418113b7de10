"""What CuPy lacks of NumPy's functions, their arguments and the methods of ufuncs: the simulated device lacks it too, and the pages say so.

CuPy 14.2.0, read without a GPU on 27 November 2026; ``tests/shared/library_calls.py`` compares it with the CuPy that is installed.
"""

from __future__ import annotations

from typing import Any

FUNCTIONS = {
    "numpy": frozenset(
        ["asmatrix", "block", "bmat", "busday_count", "busday_offset", "datetime_as_string", "datetime_data", "einsum_path", "frompyfunc", "geomspace", "histogram_bin_edges", "insert", "is_busday", "isnat", "matvec", "nanpercentile", "nanquantile", "polyder", "polydiv", "polyint", "spacing", "unstack", "vecdot", "vecmat"]
    ),
    "numpy.linalg": frozenset(
        ["diagonal", "matrix_norm", "multi_dot", "outer", "svdvals", "tensordot", "trace", "vecdot", "vector_norm"]
    ),
    "numpy.fft": frozenset[str](),
}  # fmt: skip
"""By module: functions and ufuncs."""

ARGUMENTS = {
    "all": "where", "amax": "initial where", "amin": "initial where", "any": "where", "argpartition": "kind order", "argsort": "descending order stable",
    "broadcast_arrays": "subok", "broadcast_to": "subok", "cholesky": "upper", "copy": "subok", "count_nonzero": "keepdims", "indices": "sparse",
    "isin": "kind", "lexsort": "axis", "matrix_rank": "hermitian rtol", "max": "initial where", "mean": "where", "min": "initial where", "nanmax": "initial where",
    "nanmean": "where", "nanmin": "initial where", "nanprod": "initial where", "nanstd": "correction mean where", "nansum": "initial where",
    "nanvar": "correction mean where", "packbits": "axis", "partition": "kind order", "percentile": "weights", "pinv": "hermitian rtol", "prod": "initial where",
    "quantile": "weights", "sort": "descending order stable", "std": "correction mean where", "sum": "initial where", "svd": "hermitian", "take": "mode",
    "trim_zeros": "axis", "unique": "sorted", "unpackbits": "axis count", "var": "correction mean where",
}  # fmt: skip
"""By function: arguments, given by their names."""

UFUNC_METHODS = {"reduce": {"add", "multiply"}, "accumulate": {"add", "multiply"}, "reduceat": {"add"}}
"""By method: the ufuncs that have it."""

LISTS = {"choose"}
"""Functions that take no list of arrays."""


def has_dtype(dtype: Any) -> bool:
    """Tell whether CuPy has arrays of a type: of truth values, of numbers but those of extended precision, and of bytes without references."""
    is_number = dtype.kind in "biufc" and dtype.itemsize <= (16 if dtype.kind == "c" else 8)
    return is_number or (dtype.kind == "V" and not dtype.hasobject)


def refuse(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise what CuPy raises when it is asked for what it lacks.

    Raises
    ------
    TypeError
        If CuPy has no such function, or no such argument.
    NotImplementedError
        If a ufunc of CuPy's has no such method.
    """
    module, name = getattr(function, "__module__", None) or "numpy", getattr(function, "__name__", "")
    owner: Any = getattr(function, "__self__", None)
    if type(owner).__name__ == "ufunc":
        has_it = UFUNC_METHODS.get(name)
        if has_it is not None and owner.__name__ not in has_it:
            raise NotImplementedError(f"`cupy_{owner.__name__}.{name}` is not supported yet")
        module, name = "numpy", owner.__name__ if name == "__call__" else name
    if name in FUNCTIONS.get(module, ()):
        raise TypeError(f"no implementation found for '{module}.{name}' on types that implement __array_function__")
    lacking = {one for one in ARGUMENTS.get(name, "").split() if kwargs.get(one) is not None}
    if lacking:
        raise TypeError(f"{name}() got an unexpected keyword argument {min(lacking)!r}")
    if name in LISTS and any(isinstance(arg, (list, tuple)) for arg in args):
        raise AttributeError(f"{name}: 'list' object has no attribute 'shape'")
