"""`Array`: the lazy, chunked array that users hold. Every method returns a new array around another node.

Not safe to change from several threads: ``x[key] = value``, ``out=x`` and ``compute_chunk_sizes`` give the array
another node. Arrays that were made from it before keep their node: they are never views.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

import glassloom.array.optimize.cuts  # noqa: F401 - registers a pass
import glassloom.array.optimize.reads  # noqa: F401 - and those of what is read
import glassloom.array.optimize.rules  # noqa: F401 - registers the rules
from glassloom.array.api.array_methods import ArrayMethods
from glassloom.array.api.array_properties import ArrayProperties
from glassloom.array.api.dispatch import functions, implementation_of
from glassloom.array.chunks import balanced, normalize_chunks, with_size
from glassloom.array.ops import assignment, indexing, products, shapes, slicing
from glassloom.array.ops.base import normalize_axes, normalize_axis
from glassloom.array.ops.creation import from_numpy
from glassloom.array.ops.elementwise import Output, astype, complex_expm1, elementwise, is_masked
from glassloom.array.ops.rechunk import rechunk
from glassloom.array.optimize.explain import explain
from glassloom.array.sources.memory import is_array
from glassloom.backends.arrays import backend_named, backend_of
from glassloom.backends.standard_ import wrapped
from glassloom.delayed_call import Delayed
from glassloom.reprs.explanation import Explanation
from glassloom.units import parse_bytes

__all__ = [
    "asanyarray",
    "Array",
    "asarray",
    "matmul",
]

_SCALARS = (bool, int, float, complex, str, bytes, np.generic)


def _operator(ufunc: np.ufunc, is_reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        return apply_ufunc(ufunc, other, self) if is_reflected else apply_ufunc(ufunc, self, other)

    return method


def _comparison(ufunc: np.ufunc, compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return ``==`` or ``!=``: of types that the ufunc doesn't compare (numbers and text, structures), as NumPy's arrays."""

    def method(self: Any, other: Any) -> Any:
        try:
            if other is not None and not any(
                isinstance(each, Array) and is_masked(each.expr) for each in (self, other)
            ):
                return apply_ufunc(ufunc, self, other)  # of masked elements the operator alone says whether both are
        except TypeError:  # no loop for these types
            pass
        return Array(elementwise(compare, *map(operand_of, (self, other))))

    return method


def _power(self: Any, other: Any) -> Any:
    """Return ``x ** y``: the root and the reciprocal where the exponent says so, as NumPy's arrays."""
    if type(other) in (int, float) and self.dtype.kind in "fc" and other in (0.5, -1):
        return apply_ufunc(np.sqrt if other == 0.5 else np.reciprocal, self)
    return apply_ufunc(np.power, self, other)


def _unary(ufunc: np.ufunc) -> Callable[[Any], Any]:
    return lambda self: apply_ufunc(ufunc, self)


class Array(ArrayProperties, ArrayMethods):
    """An array cut into blocks, computed when asked for.

    Made by `ones`, `arange`, `from_array`, `random` and others, not by this class.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.arange(1, 50, 3, chunks=5)
    >>> x.chunks
    ((5, 5, 5, 2),)
    >>> (x**2).sum().compute()
    np.int64(14297)
    """

    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    def explain(self) -> Explanation:
        """Return the plan as text, which a notebook shows as a card: layers and their numbers of tasks, as written and
        as they will run, and about how much memory it takes.

        Examples
        --------
        >>> import glassloom.array as ga
        >>> print((ga.ones(4, chunks=2) + 1).sum().explain())  # doctest: +ELLIPSIS
        as written
          2  ones ...
          2  add ...
          2  sum ...
          1  sum-aggregate ...
          7  tasks in all
        as it will run
          2  ones > add > sum ...
          1  sum-aggregate ...
          3  tasks in all
          results take about 24 B at most on one thread, 16 B are handed from task to task
        """
        return explain(self.expr)

    # What leaves the lazy world.

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("a lazy array has to be computed, so there is no NumPy array without a copy")
        return np.asarray(self.compute(), dtype=dtype)

    # Operators and protocols.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return functions().ufunc_calls.array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        own = implementation_of(function)
        if own is None:
            return NotImplemented
        return own(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        if _names_fields(key):
            shape = (
                self.dtype[key].shape if isinstance(key, str) and self.dtype.names and key in self.dtype.names else ()
            )
            return (
                self._field_of_arrays(key, shape)
                if shape
                else self._with_expr(elementwise(operator.getitem, self.expr, key))
            )
        keys = tuple(map(_plain_key, key)) if isinstance(key, tuple) else _plain_key(key)
        return self._with_expr(indexing.select(self.expr, keys))

    def _field_of_arrays(self, key: str, shape: tuple[int, ...]) -> Self:
        """Return a field whose elements are arrays of a shape: these are further axes."""
        blocks = (*self.chunks, *((length,) for length in shape))
        axes = list(range(self.ndim, len(blocks)))
        return self.map_blocks(operator.getitem, key, dtype=self.dtype[key].base, chunks=blocks, new_axis=axes)

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))  # which refuses arrays without axes here and now, as NumPy does

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(value, Array) and self.dtype.names is not None and isinstance(value, (tuple, list)):
            value = np.asarray(value, dtype=self.dtype)  # rows of structures are tuples
        if _names_fields(key):
            self._expr = assignment.assign_fields(self.expr, key, _assigned(value))
            return
        keys = tuple(map(_plain_key, key)) if isinstance(key, tuple) else _plain_key(key)
        self._expr = assignment.assign(self.expr, keys, _assigned(value))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    __add__ = _operator(np.add)
    __radd__ = _operator(np.add, is_reflected=True)
    __sub__ = _operator(np.subtract)
    __rsub__ = _operator(np.subtract, is_reflected=True)
    __mul__ = _operator(np.multiply)
    __rmul__ = _operator(np.multiply, is_reflected=True)
    __truediv__ = _operator(np.true_divide)
    __rtruediv__ = _operator(np.true_divide, is_reflected=True)
    __floordiv__ = _operator(np.floor_divide)
    __rfloordiv__ = _operator(np.floor_divide, is_reflected=True)
    __mod__ = _operator(np.remainder)
    __rmod__ = _operator(np.remainder, is_reflected=True)
    __pow__ = _power
    __rpow__ = _operator(np.power, is_reflected=True)
    __lshift__ = _operator(np.left_shift)
    __rlshift__ = _operator(np.left_shift, is_reflected=True)
    __rshift__ = _operator(np.right_shift)
    __rrshift__ = _operator(np.right_shift, is_reflected=True)
    __and__ = _operator(np.bitwise_and)
    __rand__ = _operator(np.bitwise_and, is_reflected=True)
    __or__ = _operator(np.bitwise_or)
    __ror__ = _operator(np.bitwise_or, is_reflected=True)
    __xor__ = _operator(np.bitwise_xor)
    __rxor__ = _operator(np.bitwise_xor, is_reflected=True)
    __eq__ = _comparison(np.equal, operator.eq)
    __ne__ = _comparison(np.not_equal, operator.ne)
    __lt__ = _operator(np.less)
    __le__ = _operator(np.less_equal)
    __gt__ = _operator(np.greater)
    __ge__ = _operator(np.greater_equal)
    __neg__ = _unary(np.negative)
    __pos__ = _unary(np.positive)
    __abs__ = _unary(np.absolute)
    __invert__ = _unary(np.invert)

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other) if is_operand(other) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        return matmul(other, self) if is_operand(other) else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return (self // other, self % other)

    def __rdivmod__(self, other: Any) -> Any:
        return (other // self, other % self)

    # Elementwise methods.

    def astype(self, dtype: Any, *, casting: str = "unsafe", copy: bool = True) -> Self:
        """Return the array in another type."""
        return self._with_expr(astype(self.expr, dtype, casting))

    def clip(self, min: Any = None, max: Any = None) -> Any:
        """Return values limited to the range from `min` to `max`."""
        if self.dtype.kind in "iu":  # Python's integers have no type: those beyond the array's say nothing
            limits = np.iinfo(self.dtype)
            min = None if type(min) is int and min <= limits.min else min
            max = None if type(max) is int and max >= limits.max else max
        result: Any = self
        if min is not None:
            result = np.maximum(result, min)
        if max is not None:
            result = np.minimum(result, max)
        return result

    def round(self, decimals: int = 0) -> Self:
        """Return values rounded to a number of decimals."""
        return self._with_expr(elementwise(np.round, self.expr, decimals=decimals))

    def conj(self) -> Any:
        """Return complex conjugates."""
        return np.conjugate(self)

    conjugate = conj

    def view(self, dtype: Any) -> Self:
        """Return the same bits read as another type of the same size."""
        wanted = np.dtype(dtype)
        if wanted.itemsize != self.itemsize:
            raise NotImplementedError(f"view of {self.dtype} as {wanted}, which has another size")
        return self._with_expr(elementwise(view_block, self.expr, dtype=wanted))

    @property
    def real(self) -> Self:
        """Real parts."""
        return self._with_expr(elementwise(np.real, self.expr)) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Self:
        """Imaginary parts."""
        return self._with_expr(elementwise(np.imag, self.expr))

    # Shape.

    @property
    def T(self) -> Self:
        """The axes reversed."""
        return self.transpose()

    @property
    def mT(self) -> Self:
        """The last two axes swapped."""
        if self.ndim < 2:
            raise ValueError(f"mT needs at least two axes, the array has {self.ndim}")
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> Self:
        """Return the axes in another order, reversed by default."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], (int, np.integer)) else axes
        return self._with_expr(shapes.transpose(self.expr, order or None))

    def swapaxes(self, axis1: int, axis2: int) -> Self:
        """Return two axes swapped."""
        order = list(range(self.ndim))
        one, other = normalize_axis(axis1, self.ndim), normalize_axis(axis2, self.ndim)
        order[one], order[other] = order[other], order[one]
        return self._with_expr(shapes.transpose(self.expr, order))

    def reshape(self, *shape: Any, order: str = "C", merge_chunks: bool = True, limit: Any = None) -> Self:
        """Return the elements in another shape; one length may be -1.

        Parameters
        ----------
        order
            ``"C"``: the last axis changes fastest; or ``"F"``: the first.
        merge_chunks, limit
            As Dask's, and without effect: blocks are merged only where the elements of a new one need it.
        """
        lengths = shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)) else shape
        if _is_fortran(order, "reshape"):
            turned = (lengths,) if isinstance(lengths, (int, np.integer)) else tuple(lengths)[::-1]
            return self.T.reshape(turned).T
        return self._with_expr(shapes.reshape(self.expr, lengths))

    def ravel(self, order: str = "C") -> Self:
        """Return the elements along one axis: in C order, or in that of ``"F"``."""
        whole = self.T if _is_fortran(order, "ravel") else self
        return self._with_expr(shapes.ravel(whole.expr)) if self.ndim else self.reshape(1)

    flatten = ravel

    def squeeze(self, axis: Any = None) -> Self:
        """Return the array without its axes of length 1, or without those given."""
        if axis is None:
            axes: tuple[int, ...] = tuple(place for place, length in enumerate(self.shape) if length == 1)
        else:
            axes = normalize_axes(axis, self.ndim)
        wrong = [place for place in axes if self.shape[place] != 1]
        if wrong:
            raise ValueError(f"squeeze of axis {wrong[0]}, which has {self.shape[wrong[0]]} elements")
        index = tuple(0 if place in axes else None for place in range(self.ndim))
        return self._with_expr(slicing.slice_array(self.expr, index))

    def rechunk(
        self, chunks: Any = "auto", *, limit: int | str | None = None, block_size_limit: int | str | None = None,
        balance: bool = False,
    ) -> Self:  # fmt: skip
        """Return the same array in other blocks, in several steps where a task would read too many.

        Parameters
        ----------
        chunks
            Lengths along each axis, bytes such as ``"128 MiB"``, ``"auto"``, or a dict by axis; axes that a dict
            doesn't name keep their blocks.
        limit
            How many bytes a task may need for the blocks that it reads and the one that it makes, such as
            ``"1 GiB"``. Default: 1 GiB, or eight times the largest block if that is more.
        block_size_limit
            How many bytes a block has at most where `chunks` says ``"auto"``.
        balance
            Whether blocks along an axis get about the same length.

        Raises
        ------
        ChunkError
            If `chunks` don't add up to the shape, or can't be reached within the limit.

        Examples
        --------
        >>> import glassloom.array as ga
        >>> ga.ones((6, 4), chunks=2).rechunk({0: 3}).chunks
        ((3, 3), (2, 2))
        """
        if isinstance(chunks, dict):
            chunks = {axis % self.ndim if -self.ndim <= axis < self.ndim else axis: c for axis, c in chunks.items()}
            kept = dict(enumerate(self.chunks))
            chunks = {**kept, **chunks}
        limit_bytes = None if limit is None else parse_bytes(limit)
        wanted = chunks if block_size_limit is None else with_size(chunks, block_size_limit)
        blocks = normalize_chunks(wanted, self.shape, self.dtype)
        return self._with_expr(rechunk(self.expr, balanced(blocks) if balance else blocks, limit_bytes))

    def dot(self, other: Any) -> Any:
        """Return the dot product."""
        return self._with_expr(products.dot(self.expr, asarray(other).expr))

    def map_blocks(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Apply a function to each block; see `glassloom.array.map_blocks`."""
        return functions().map_blocks(function, self, *args, **options)

    def take(self, indices: Any, axis: int | None = None) -> Self:
        """Return the elements at positions along an axis, or of the flat array."""
        whole = self.ravel() if axis is None else self
        place = 0 if axis is None else normalize_axis(axis, self.ndim)
        if isinstance(indices, (int, np.integer, Array)):
            return whole[(*(slice(None),) * place, indices)]
        return self._with_expr(slicing.take(whole.expr, indices, place))

    def copy(self) -> Self:
        """Return the array as it is now: what is assigned later doesn't change the copy."""
        return self._with_expr(self.expr)


def asarray(
    value: Any, dtype: Any = None, *, copy: bool | None = None, device: Any = None, chunks: Any = None, like: Any = None
) -> Array:
    """Return a value as a lazy array: lazy arrays as they are, others in one block.

    Parameters
    ----------
    value
        An array, a number, or nested lists of numbers or lazy arrays.
    dtype
        Type of the elements; the value's own by default.
    copy
        None: later changes of the value don't show, so what may be written to is copied. False: it isn't copied, and
        nobody may change it before it is computed. True: it is copied in any case.
    device
        ``"cpu"`` or None.
    chunks
        Lengths of blocks; by default one block, or those of a lazy array.
    like
        An array whose library makes the block, or the library's name, such as ``"cupy"``.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.asarray([[1, 2], [3, 4]]).sum(axis=0).compute()
    array([4, 6])
    """
    check_device(device)
    if chunks is not None or like is not None:
        made = asarray(value if _holds_lazy((value,)) else _made_like(value, like), dtype, copy=copy)
        return made if chunks is None else made.rechunk(chunks)
    if isinstance(value, Array):
        if dtype is None or value.dtype == dtype:
            return value.copy() if copy else value
        if copy is False:
            raise ValueError(f"asarray to type {dtype} of an array of type {value.dtype} needs a copy")
        return value.astype(dtype)
    if isinstance(value, (list, tuple)) and _holds_lazy(value):
        stacked: Array = functions().stack([asarray(item) for item in value])
        return stacked if dtype is None else stacked.astype(dtype)
    if isinstance(value, Delayed):
        raise TypeError("a Delayed has no shape; use from_delayed(value, shape=..., dtype=...)")
    value = wrapped(value)
    if dtype is not None and is_array(value) and value.dtype != dtype:
        if copy is False:
            raise ValueError(f"asarray to type {dtype} of an array of type {value.dtype} needs a copy")
        return Array(from_numpy(value.astype(dtype), copy=False))
    if is_array(value):
        return Array(from_numpy(value, copy=copy))
    is_own = isinstance(value, (list, tuple, *_SCALARS))  # then nothing else refers to the array that is made of it
    return Array(from_numpy(np.asarray(value, dtype=dtype), copy=False if is_own else copy))


asanyarray = asarray


def _made_like(value: Any, like: Any) -> Any:
    if like is None:
        return value
    name = like if isinstance(like, str) else backend_of(like.expr.meta if isinstance(like, Array) else like)
    return backend_named(name).namespace().asarray(value)


def _holds_lazy(values: Any) -> bool:
    return any(
        isinstance(value, Array) or (isinstance(value, (list, tuple)) and _holds_lazy(value)) for value in values
    )


def check_device(device: Any) -> None:
    """Raise `ValueError` if blocks can't be made on a device."""
    if device not in (None, "cpu"):
        raise ValueError(f"device={device!r}: only 'cpu' is there; use like='cupy' to make GPU arrays")


def is_operand(value: Any) -> bool:
    """Whether NumPy would take the value as an operand of an array."""
    return isinstance(value, (Array, np.ndarray, list, tuple, *_SCALARS)) or (
        hasattr(wrapped(value), "__array_function__") and hasattr(value, "shape")
    )


def apply_ufunc(ufunc: np.ufunc, *inputs: Any, **kwargs: Any) -> Any:
    """Return a ufunc of arrays and scalars. Python's scalars take the arrays' type, NumPy's keep their own."""
    if not all(map(is_operand, inputs)):
        return NotImplemented
    args = [operand_of(value) for value in inputs]
    if ufunc is np.expm1 and not kwargs and args[0].dtype.kind == "c":
        return Array(elementwise(complex_expm1, args[0]))
    if ufunc.nout == 1:
        return Array(elementwise(ufunc, *args, **kwargs))
    return tuple(Array(elementwise(Output(ufunc, number), *args, **kwargs)) for number in range(ufunc.nout))


def operand_of(value: Any) -> Any:
    """Return the operand for a value: a scalar, or the node of an array."""
    if isinstance(value, Array):
        return value.expr
    if isinstance(value, _SCALARS):
        return value
    value = wrapped(value)
    if not is_array(value) and np.ndim(value):
        return asarray(value).expr
    plain = value if is_array(value) else np.asarray(value)
    return plain[()] if plain.ndim == 0 else asarray(plain).expr


def _assigned(value: Any) -> Any:
    """Return what an assignment takes: the node of an array; scalars and lists of them as they are."""
    is_plain = isinstance(value, (list, tuple)) and not _holds_lazy(value)
    return value if is_plain or (isinstance(value, np.ndarray) and not value.ndim) else operand_of(value)


def matmul(left: Any, right: Any) -> Array:
    """Return the matrix product; of stacks of matrices if there are more axes.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.ones((2, 4), chunks=2)
    >>> ga.matmul(x, x.T).compute()
    array([[4., 4.],
           [4., 4.]])
    """
    return Array(products.matmul(asarray(left).expr, asarray(right).expr))


def _is_fortran(order: str, what: str) -> bool:
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"{what}: order={order!r} is none of 'C', 'F', 'A' and 'K'")
    return order == "F"


def _names_fields(key: Any) -> bool:
    """Whether a key names fields of structures: a name, or a list of some."""
    return isinstance(key, str) or (isinstance(key, list) and bool(key) and all(isinstance(name, str) for name in key))


def _plain_key(entry: Any) -> Any:
    if not isinstance(entry, Array):
        return entry
    return operator.index(entry) if not entry.ndim and entry.dtype.kind != "b" else entry.expr


def view_block(block: Any, dtype: Any) -> Any:
    """Return the same bits as another type."""
    return block.view(dtype)
