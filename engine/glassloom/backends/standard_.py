"""Chunks of any other library that follows the array API standard, such as ``array-api-strict`` or JAX.

Blocks are worked on with NumPy's functions, methods and types. NumPy's and CuPy's arrays have them; those of other
libraries are wrapped in a `StandardChunk`, which has them too and calls nothing but the standard's functions. Types are
NumPy's, and so is type promotion: operands get the types in which NumPy would compute before the library sees them.

https://data-apis.org/array-api/latest/
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from glassloom.graph import normalize_token

_TYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip

_STANDARD_NAMES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "concatenate": "concat", "conjugate": "conj", "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift", "power": "pow",
    "right_shift": "bitwise_right_shift", "rint": "round", "true_divide": "divide",
}  # fmt: skip
"""NumPy's names for what the standard calls otherwise."""

_FOLDS = {
    "add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max", "logical_and": "all", "logical_or": "any",
}  # fmt: skip


class StandardChunk(NDArrayOperatorsMixin):
    """An array of another library with NumPy's interface."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuilt, (library_of(self.array), np.asarray(self)))

    def __repr__(self) -> str:
        return f"StandardChunk({self.array!r})"

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._namespace.numpy_dtype(self.array.dtype)

    @property
    def ndim(self) -> int:
        return int(self.array.ndim)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def T(self) -> StandardChunk:
        return self._namespace.transpose(self)

    @property
    def real(self) -> StandardChunk:
        return self._namespace.real(self)

    @property
    def imag(self) -> StandardChunk:
        return self._namespace.imag(self)

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self) -> bool:
        return bool(self.array)

    def __int__(self) -> int:
        return int(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __complex__(self) -> complex:
        return complex(self.array)

    def __index__(self) -> int:
        return self.array.__index__()

    def __getitem__(self, key: Any) -> Any:
        return StandardChunk(self.array[self._key(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        """Put values in place of elements: by `where`, as the standard has arrays that can't be changed."""
        plain_key = tuple(np.asarray(entry) if isinstance(entry, StandardChunk) else entry for entry in _entries(key))
        places = np.arange(self.size).reshape(self.shape)[plain_key]
        source = np.full(self.size, -1)
        source[places.ravel()] = np.arange(places.size)
        values = self._namespace.broadcast_to(self._namespace.asarray(value, self.dtype), places.shape).ravel()
        if places.size:
            taken = self._namespace.take(values, np.maximum(source, 0))
            self.array = self._namespace.where(source >= 0, taken, self.ravel()).reshape(self.shape).array

    def astype(self, dtype: Any, copy: bool = True) -> StandardChunk:
        """Return the chunk in one of NumPy's types."""
        return self._namespace.cast(self, np.dtype(dtype), copy=copy)

    def copy(self) -> StandardChunk:
        """Return a copy."""
        return StandardChunk(self._xp.asarray(self.array, copy=True))

    def reshape(self, *shape: Any) -> StandardChunk:
        """Return the elements in C order in another shape."""
        lengths = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        return StandardChunk(self._xp.reshape(self.array, tuple(map(int, lengths))))

    def ravel(self) -> StandardChunk:
        """Return the elements in C order along one axis."""
        return self.reshape(-1)

    def any(self) -> Any:
        """Return whether any element is true."""
        return self._namespace.any(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.array, dtype=dtype)

    def __array_namespace__(self, *, api_version: str | None = None) -> Namespace:
        return self._namespace

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        home: Any = self._namespace
        for name in ("linalg", "fft"):
            if function.__module__ == f"numpy.{name}":
                home = getattr(home, name)
        return getattr(home, function.__name__)(*args, **kwargs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "reduce":
            return self._namespace.fold(ufunc, *inputs, **kwargs)
        if method != "__call__" or kwargs.keys() - {"dtype", "casting"}:
            return NotImplemented
        return self._namespace.apply(ufunc, *inputs, **kwargs)

    @property
    def _xp(self) -> Any:
        return self.array.__array_namespace__()

    @property
    def _namespace(self) -> Namespace:
        return namespace(library_of(self.array))

    def _key(self, key: Any) -> Any:
        """Return a key as the standard has it: bounds inside the axes, a mask alone or as positions."""
        entries = [self._entry(entry) for entry in _entries(key)]
        if len(entries) == 1 and hasattr(entries[0], "dtype"):
            return entries[0]
        place = next((number for number, entry in enumerate(entries) if entry is Ellipsis), len(entries))
        missing = self.ndim - sum(map(_n_axes, entries))
        entries[place : place + 1] = [slice(None)] * missing
        found, axis = [], 0
        for entry in entries:
            if isinstance(entry, slice):
                entry = _inside(entry, self.shape[axis])
            elif hasattr(entry, "dtype") and self._namespace.numpy_dtype(entry.dtype) == np.bool_:
                (entry,) = self._xp.nonzero(entry)
            found.append(entry)
            axis += entry is not None
        return tuple(found)

    def _entry(self, entry: Any) -> Any:
        if isinstance(entry, np.integer):
            return int(entry)
        return self._namespace.converted(entry) if isinstance(entry, (np.ndarray, StandardChunk)) else entry


def _entries(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _n_axes(entry: Any) -> int:
    if entry is None or entry is Ellipsis:
        return 0
    return max(int(getattr(entry, "ndim", 1)), 1) if str(getattr(entry, "dtype", "")).endswith("bool") else 1


def _inside(entry: slice, length: int) -> slice:
    """Return a slice whose bounds lie inside the axis, as the standard asks."""
    taken = range(length)[entry]
    if not len(taken):
        return slice(0, 0)
    end = taken.stop if taken.stop >= 0 else None
    return slice(taken.start, end, taken.step)


class Namespace:
    """The functions of a library under NumPy's names, of and for `StandardChunk`."""

    def __init__(self, xp: Any, library: str) -> None:
        self._xp, self._library = xp, library
        self.newaxis, self.pi, self.e, self.inf, self.nan = None, np.pi, np.e, np.inf, np.nan
        self._types = {name: getattr(xp, name) for name in _TYPES if hasattr(xp, name)}

    def __reduce__(self) -> tuple[Any, ...]:
        return (namespace, (self._library,))

    def __getattr__(self, name: str) -> Any:
        if name in _TYPES or name in ("intp", "bool_"):
            return np.dtype(name.rstrip("_"))
        if name in ("linalg", "fft"):
            return Extension(self, getattr(self._xp, name), f"{self._library}.{name}")
        own = _COMPOSED.get(name)
        if own is not None:
            return functools.partial(own, self)
        ufunc = getattr(np, name, None)
        if isinstance(ufunc, np.ufunc):
            return functools.partial(self.apply, ufunc)
        return self.standard(name)

    def standard(self, name: str, module: Any = None) -> Callable[..., Any]:
        """Return the standard's function of NumPy's name, of wrapped chunks.

        Raises
        ------
        NotImplementedError
            If the library has no such function.
        """
        function = getattr(module or self._xp, _STANDARD_NAMES.get(name, name), None)
        if function is None:
            raise NotImplementedError(f"{self._library} has no {name!r}, and the array API standard doesn't ask for it")

        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("dtype") is not None:
                kwargs["dtype"] = self.library_dtype(kwargs["dtype"])
            made = function(*(self.converted(arg) for arg in args), **{k: self.converted(v) for k, v in kwargs.items()})
            return self.wrapped(made)

        return call

    def wrapped(self, made: Any) -> Any:
        """Return what the library made with its arrays wrapped."""
        if isinstance(made, (tuple, list)):
            return tuple(map(self.wrapped, made))
        return StandardChunk(made) if hasattr(made, "__array_namespace__") else made

    def converted(self, value: Any, dtype: Any = None) -> Any:
        """Return what the library takes for a value: its own arrays for chunks and for NumPy's."""
        if isinstance(value, StandardChunk):
            return value.array if dtype is None or value.dtype == dtype else value.astype(dtype).array
        if isinstance(value, (np.ndarray, np.generic)) or dtype is not None:
            kind = np.asarray(value).dtype if dtype is None else dtype
            plain = np.asarray(value, dtype=kind)
            return self._xp.asarray(plain.tolist() if plain.ndim == 0 else plain, dtype=self.library_dtype(kind))
        if isinstance(value, (list, tuple)) and any(isinstance(item, StandardChunk) for item in value):
            return [self.converted(item) for item in value]
        return value

    def library_dtype(self, dtype: Any) -> Any:
        """Return the library's type for one of NumPy's.

        Raises
        ------
        TypeError
            If it has none.
        """
        wanted = np.dtype(dtype)
        if wanted.name not in self._types:
            raise TypeError(f"{self._library} has no type {wanted}; there are {sorted(self._types)}")
        return self._types[wanted.name]

    def numpy_dtype(self, dtype: Any) -> np.dtype[Any]:
        """Return NumPy's type for one of the library's."""
        return np.dtype(next(name for name, own in self._types.items() if own == dtype))

    def apply(self, ufunc: np.ufunc, *inputs: Any, dtype: Any = None, casting: Any = None) -> Any:
        """Return a ufunc of chunks and scalars: operands first get the types in which NumPy computes it."""
        own = _COMPOSED.get(ufunc.__name__)
        if own is not None:
            return own(self, *inputs)
        kinds = [type(value) if type(value) in (int, float, complex) else np.asarray(value).dtype
                 if not hasattr(value, "dtype") else value.dtype for value in inputs]  # fmt: skip
        options: Any = {} if dtype is None else {"signature": (*(None,) * ufunc.nin, np.dtype(dtype))}
        *loop, result = map(self._nearest, ufunc.resolve_dtypes((*kinds, None), **options))
        if ufunc.__name__ in _LOGICAL:
            loop = [np.dtype(bool)] * ufunc.nin
        made = self.standard(ufunc.__name__)(*map(self._operand, inputs, loop))
        return made if made.dtype == result else made.astype(result)

    def _nearest(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return the type, or single precision where NumPy would use half and the library has none."""
        return np.dtype(np.float32) if dtype.name == "float16" and "float16" not in self._types else dtype

    def _operand(self, value: Any, dtype: np.dtype[Any]) -> Any:
        if isinstance(value, StandardChunk):
            return value if value.dtype == dtype else value.astype(dtype)
        return StandardChunk(self.converted(value, dtype))

    def fold(self, ufunc: np.ufunc, chunk: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False) -> Any:
        """Return a ufunc folded over axes."""
        if ufunc in (np.fmin, np.fmax):
            return _fold_passing_nan(self, ufunc, chunk, axis, keepdims)
        if ufunc.__name__ not in _FOLDS:
            raise NotImplementedError(f"{ufunc.__name__}.reduce of an array of {self._library}")
        extra = {} if dtype is None else {"dtype": dtype}
        return getattr(self, _FOLDS[ufunc.__name__])(chunk, axis=axis, keepdims=keepdims, **extra)

    def cast(self, chunk: StandardChunk, dtype: np.dtype[Any], copy: bool = True) -> StandardChunk:
        """Return a chunk in another type; of complex numbers the real parts if the type is real, as NumPy does."""
        if dtype.kind == "b" and chunk.dtype.kind != "b":
            return StandardChunk(chunk.array != 0)
        array = self._xp.real(chunk.array) if chunk.dtype.kind == "c" and dtype.kind in "iuf" else chunk.array
        return StandardChunk(self._xp.astype(array, self.library_dtype(dtype), copy=copy))


class Extension:
    """`linalg` or `fft` of a library."""

    def __init__(self, whole: Namespace, module: Any, name: str) -> None:
        self._whole, self._module, self._name = whole, module, name

    def __getattr__(self, name: str) -> Any:
        function = self._whole.standard(name, self._module)
        return functools.partial(_transform, function, name) if self._name.endswith(".fft") else function


def _transform(function: Callable[..., Any], name: str, chunk: Any, **options: Any) -> Any:
    is_real = name.startswith(("rfft", "ihfft"))
    kind = np.result_type(chunk.dtype, np.float64 if chunk.dtype.kind in "biu" else chunk.dtype)
    return function(chunk.astype(kind if is_real else np.result_type(kind, np.complex64), copy=False), **options)


_LOGICAL = ("logical_and", "logical_or", "logical_xor", "logical_not")


def _transpose(xp: Namespace, chunk: Any, axes: Any = None) -> Any:
    order = tuple(reversed(range(chunk.ndim))) if axes is None else tuple(axes)
    return xp.standard("permute_dims")(chunk, order)


def _take(xp: Namespace, chunk: Any, positions: Any, axis: int = 0) -> Any:
    return xp.standard("take")(chunk, positions, axis=axis)


def _where(xp: Namespace, condition: Any, x: Any, y: Any) -> Any:
    kind = np.result_type(*(value.dtype if hasattr(value, "dtype") else value for value in (x, y)))
    mask = xp._operand(condition, np.dtype(bool))
    return xp.standard("where")(mask, xp._operand(x, kind), xp._operand(y, kind))


def _array(xp: Namespace, value: Any, dtype: Any = None) -> Any:
    if isinstance(value, StandardChunk):
        return value if dtype is None else value.astype(dtype, copy=False)
    plain = np.asarray(value, dtype=dtype)
    return StandardChunk(xp.converted(plain))


def _sum(name: str) -> Callable[..., Any]:
    def fold(xp: Namespace, chunk: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        if dtype is None:
            dtype = getattr(np, name)(np.ones(1, dtype=chunk.dtype)).dtype
        whole = chunk if chunk.dtype == np.dtype(dtype) else chunk.astype(dtype)
        return xp.standard(name)(whole, axis=axis, keepdims=keepdims)

    return fold


def _cumulative(name: str) -> Callable[..., Any]:
    def scan(xp: Namespace, chunk: Any, axis: Any = None, dtype: Any = None) -> Any:
        whole = chunk if dtype is None else chunk.astype(dtype, copy=False)
        return xp.standard(name)(whole, axis=axis)

    return scan


def _fold_passing_nan(xp: Namespace, ufunc: np.ufunc, chunk: Any, axis: Any, keepdims: bool) -> Any:
    name = "min" if ufunc is np.fmin else "max"
    if chunk.dtype.kind != "f":
        return getattr(xp, name)(chunk, axis=axis, keepdims=keepdims)
    is_nan = xp.isnan(chunk)
    found = getattr(xp, name)(
        xp.where(is_nan, math.inf if name == "min" else -math.inf, chunk), axis=axis, keepdims=keepdims
    )
    return xp.where(xp.all(is_nan, axis=axis, keepdims=keepdims), math.nan, found)


def _sort(xp: Namespace, chunk: Any, axis: int = -1, kind: Any = None) -> Any:
    return xp.standard("sort")(chunk, axis=axis, stable=kind == "stable")


def _argsort(xp: Namespace, chunk: Any, axis: int = -1, kind: Any = None) -> Any:
    return xp.standard("argsort")(chunk, axis=axis, stable=kind == "stable")


def _isclose(xp: Namespace, x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    near = (abs(x - y) <= atol + rtol * abs(y)) & xp.isfinite(_array(xp, y)) | (x == y)
    return near | (x != x) & (y != y) if equal_nan else near


def _real(xp: Namespace, chunk: Any) -> Any:
    return xp.standard("real")(chunk) if chunk.dtype.kind == "c" else chunk


def _imag(xp: Namespace, chunk: Any) -> Any:
    return xp.standard("imag")(chunk) if chunk.dtype.kind == "c" else chunk * 0


def _round(xp: Namespace, chunk: Any, decimals: int = 0) -> Any:
    if chunk.dtype.kind not in "fc":
        return chunk
    scale = 10.0**decimals
    return xp.standard("round")(chunk) if not decimals else xp.standard("round")(chunk * scale) / scale


def _outer(xp: Namespace, one: Any, other: Any) -> Any:
    return one.reshape(-1, 1) * other.reshape(1, -1)


def _full(xp: Namespace, shape: Any, value: Any, dtype: Any = None) -> Any:
    kind = np.asarray(value).dtype if dtype is None else np.dtype(dtype)
    plain = np.asarray(value).astype(kind)[()].item()
    return xp.standard("full")(tuple(map(int, shape)) if isinstance(shape, tuple) else shape, plain, dtype=kind)


def _like(name: str) -> Callable[..., Any]:
    def make(xp: Namespace, chunk: Any, dtype: Any = None) -> Any:
        return getattr(xp, name)(chunk.shape, dtype=chunk.dtype if dtype is None else dtype)

    return make


def _eye(xp: Namespace, n: int, m: int | None = None, k: int = 0, dtype: Any = float) -> Any:
    return xp.standard("eye")(n, m, k=k, dtype=dtype)


def _searchsorted(xp: Namespace, chunk: Any, values: Any, side: str = "left") -> Any:
    kind = np.result_type(chunk.dtype, values.dtype)
    return xp.standard("searchsorted")(chunk.astype(kind, copy=False), values.astype(kind, copy=False), side=side)


def _result_type(xp: Namespace, *values: Any) -> Any:
    return np.result_type(*(value.dtype if isinstance(value, StandardChunk) else value for value in values))


_COMPOSED: dict[str, Callable[..., Any]] = {
    "argsort": _argsort,
    "array": _array,
    "asarray": _array,
    "cumprod": _cumulative("cumprod"),
    "cumsum": _cumulative("cumsum"),
    "exp2": lambda xp, x: 2.0**x,
    "eye": _eye,
    "fabs": lambda xp, x: abs(x.astype(np.result_type(x.dtype, np.float32)) if x.dtype.kind != "f" else x),
    "full": _full,
    "imag": _imag,
    "isclose": _isclose,
    "outer": _outer,
    "prod": _sum("prod"),
    "real": _real,
    "result_type": _result_type,
    "round": _round,
    "searchsorted": _searchsorted,
    "sort": _sort,
    "sum": _sum("sum"),
    "take": _take,
    "transpose": _transpose,
    "where": _where,
    "zeros_like": _like("zeros"),
}  # fmt: skip
"""What NumPy's functions are in terms of the standard's, where the parameters or the types differ."""


def is_foreign(value: Any) -> bool:
    """Whether a value is an array of a library that isn't NumPy-like: to be wrapped."""
    return (
        hasattr(value, "__array_namespace__")
        and not hasattr(value, "__array_ufunc__")
        and not isinstance(value, (StandardChunk, np.ndarray, np.generic))
    )


def library_of(array: Any) -> str:
    """Return the name of the module whose functions work on an array of another library."""
    return str(array.__array_namespace__().__name__)


@functools.cache
def namespace(library: str) -> Namespace:
    """Return the functions of a library under NumPy's names."""
    return Namespace(importlib.import_module(library), library)


class Backend:
    """What creation asks of a library."""

    def __init__(self, library: str) -> None:
        self._library = library

    def namespace(self) -> Namespace:
        """Return the module that creates chunks."""
        return namespace(self._library)

    def generator(self, sequence: Any) -> Any:
        """Say that the standard has no random numbers."""
        raise NotImplementedError(f"the array API standard has no random numbers, so {self._library!r} can't draw them")


@functools.cache
def backend(library: str) -> Backend | None:
    """Return the backend of a library that follows the standard; None if there is none of this name."""
    try:
        module = importlib.import_module(library)
    except ImportError:
        return None
    return Backend(library) if hasattr(module, "__array_api_version__") else None


def wrapped(value: Any) -> Any:
    """Return an array of another library wrapped; anything else, and tuples of such, as they are."""
    if isinstance(value, tuple):
        return tuple(map(wrapped, value))
    return StandardChunk(value) if is_foreign(value) else value


class OnOwnArrays:
    """A user's function, which gets and gives the library's own arrays."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", "function"))

    def __glassloom_tokenize__(self) -> Any:
        return self.function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return wrapped(self.function(*map(unwrapped, args), **{name: unwrapped(arg) for name, arg in kwargs.items()}))


def _rebuilt(library: str, plain: Any) -> StandardChunk:
    return namespace(library).asarray(plain)


def unwrapped(chunk: Any) -> Any:
    """Return the library's own array for a wrapped one; anything else as it is."""
    return chunk.array if isinstance(chunk, StandardChunk) else chunk


@normalize_token(StandardChunk)
def _normalize_chunk(value: Any) -> Any:
    return (library_of(value.array), np.asarray(value))
