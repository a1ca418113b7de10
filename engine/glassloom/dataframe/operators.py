"""Arithmetic, comparisons and NumPy functions of frames, series, indexes and scalars."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from glassloom._users_functions import require_no_users_function
from glassloom.array.api.array import Array
from glassloom.dataframe.by_level import called_by_level
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.label_nodes import Labels
from glassloom.dataframe.moving.values_by_place import in_rows_of_one
from glassloom.dataframe.nodes import Columnwise, Rowwise
from glassloom.dataframe.wrap import is_node, operate, wrap
from glassloom.errors import DivisionError, TruthError

_COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
_LOGICAL = (operator.and_, operator.or_, operator.xor)
_ORDERS = _COMPARISONS[2:]
_ORDERS_BY_NAME = {order.__name__: order for order in _ORDERS}
_NUMBERS = (int, float, complex, np.number, np.bool_)
_ROWS = (0, "index", "rows")


class _Compared(Rowwise):
    """A comparison of categories that aren't known before: its meta can't be made by comparing none."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


def _compared(function: Callable[[Any, Any], Any], lazy: Any, other: Any, label: str) -> Any:
    meta = function(lazy.expr.meta.cat.set_categories([other]), other)
    return wrap(_Compared(lazy.expr, (), BlockCall(function, (Block(0), other), label=label), meta))


def _are_unknown(lazy: Any, other: Any) -> bool:
    """Whether a series of categories that aren't known is held against a value."""
    meta = lazy.expr.meta
    is_series = isinstance(meta, pd.Series) and isinstance(meta.dtype, pd.CategoricalDtype)
    is_value = not is_node(other) and pd.api.types.is_scalar(other) and not pd.isna(other)
    return is_series and not len(meta.dtype.categories) and is_value


def _kind(function: Callable[..., Any], left: Any, right: Any) -> type[Rowwise]:
    """Return the kind of node: with a number, each column is computed from itself alone. What is made of labels are others."""
    plain = [value for value in (left, right) if not is_node(value)]
    if _makes_labels(function, left, right):
        return Labels
    return Columnwise if plain and isinstance(plain[0], _NUMBERS) else Rowwise


def _makes_labels(function: Callable[..., Any], *values: Any) -> bool:
    """Whether a function of indexes and scalars makes labels: of a comparison pandas makes an array."""
    if function in _COMPARISONS:
        return False
    metas = [value.expr.meta for value in values if is_node(value)]
    return any(isinstance(meta, pd.Index) for meta in metas) and not any(map(_has_labels, metas))


def _has_labels(meta: Any) -> bool:
    return isinstance(meta, (pd.Series, pd.DataFrame))


def _is_of_rows(lazy: Any, other: Any, axis: Any = "columns") -> bool:
    """Whether a pandas object has a value for each row, which its label says: a series beside a frame is a row of it."""
    meta = lazy.expr.meta
    if isinstance(other, pd.DataFrame):
        return isinstance(meta, pd.DataFrame)
    if isinstance(meta, pd.DataFrame) and axis not in _ROWS:
        return False
    return isinstance(other, pd.Series) and isinstance(meta, (pd.DataFrame, pd.Series, pd.Index))


def _is_of_places(lazy: Any, other: Any, function: Callable[..., Any] | None = None, axis: Any = "columns") -> bool:
    """Whether something has a value for each row, by place: beside a series an array or list, of several values unless they are compared.

    Beside a frame it is an array of two axes, of which one row alone is for all rows, and along the rows a list or array of one axis.
    """
    is_frame = isinstance(lazy.expr.meta, pd.DataFrame)
    if isinstance(other, Array):
        return other.ndim > 0 and (other.ndim == 2 or not is_frame)
    if is_frame and isinstance(other, (tuple, range)):
        return axis in _ROWS
    if (
        not isinstance(other, (np.ndarray, list, tuple, range, pd.Index, pd.api.extensions.ExtensionArray))
        or len(np.shape(other)) == 0
    ):
        return False
    if isinstance(other, np.ndarray) and other.ndim > 1:
        _require_fitting(lazy, other)
        return other.shape != (1, len(lazy.expr.meta.columns))
    if is_frame:
        return axis in _ROWS
    meta = lazy.expr.meta
    has_rows = isinstance(meta, pd.Series) or (isinstance(meta, pd.Index) and meta.nlevels == 1)
    if has_rows and isinstance(other, (list, tuple, range)) and function in _LOGICAL:
        raise TypeError(
            f"{function.__name__.strip('_')} of a lazy {type(lazy).__name__} and a {type(other).__name__} isn't supported, "
            "as in pandas: make it a NumPy array, a series or an index before"
        )
    return has_rows and (len(other) != 1 or function in _COMPARISONS)


def _require_fitting(lazy: Any, array: np.ndarray) -> None:
    """Check that an array of several axes has a row for all rows of a frame, or for each, with a value for each column or for all.

    Raises
    ------
    TypeError
        If it is beside a series.
    ValueError
        If it has another shape.
    """
    meta = lazy.expr.meta
    if not isinstance(meta, pd.DataFrame):
        raise TypeError(
            f"a lazy {type(lazy).__name__} and an array of shape {array.shape}: it takes numbers, lazy objects, pandas objects with "
            "the labels of rows, and arrays of one axis"
        )
    if array.ndim > 2 or array.shape[1] not in (1, len(meta.columns)):
        raise ValueError(
            f"a lazy DataFrame and an array of shape {array.shape}: Unable to coerce to DataFrame, which has {len(meta.columns)} columns"
        )


def _binary(function: Callable[[Any, Any], Any], label: str = "") -> Callable[[Any, Any], Any]:
    label = label or function.__name__.strip("_")

    def method(self: Any, other: Any) -> Any:
        if _is_of_rows(self, other):
            return self._with_rows_at_hand(function, other)
        if _is_of_places(self, other, function):
            return self._with_values_at_hand(function, other)
        if function in _ORDERS and _are_unknown(self, other):
            return _compared(function, self, other, label)
        return _combined(function, self, other, label)

    return method


def _combined(function: Callable[[Any, Any], Any], one: Any, other: Any, label: str) -> Any:
    """Return what an operator makes of two operands; of series that have the same rows in other orders in that of their labels."""
    try:
        return operate(function, one, other, kind=_kind(function, one, other), label=label)
    except DivisionError:
        pair = None if function in _COMPARISONS else _in_rows_of_one(one, other)
        if pair is None:
            raise
    return operate(function, *pair, label=label)


def _in_rows_of_one(one: Any, other: Any) -> list[Any] | None:
    """Return two series that have the same rows in other orders, both in that of their labels; None if it isn't known that they have."""
    pair = in_rows_of_one(one.expr, other.expr) if is_node(one) and is_node(other) else None
    return None if pair is None else list(map(wrap, pair))


def _reflected(function: Callable[[Any, Any], Any], label: str = "") -> Callable[[Any, Any], Any]:
    label = label or function.__name__.strip("_")

    def method(self: Any, other: Any) -> Any:
        if _is_of_rows(self, other):
            return self._with_rows_at_hand(partial(_swapped, function), other)
        if _is_of_places(self, other, function):
            return self._with_values_at_hand(partial(_swapped, function), other)
        return operate(function, other, self, kind=_kind(function, other, self), label=label)

    return method


def _swapped(function: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    return function(other, one)


def _unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        kind = Labels if _makes_labels(function, self) else Columnwise
        return operate(function, self, kind=kind, label=function.__name__.strip("_"))

    return method


def _part(function: Callable[..., tuple[Any, ...]], number: int, *args: Any, **kwargs: Any) -> Any:
    """Return one of the results of a function of several."""
    return function(*args, **kwargs)[number]


_part.calls_methods = True  # type: ignore[attr-defined]  # see `BlockCall.calls_methods`


def _quotient_and_remainder(kind: Callable[..., Any], function: Any, lazy: Any, other: Any) -> tuple[Any, Any]:
    """Return both results of a division, which pandas makes together: of missing values' dtypes they are other ones than those of ``//`` and ``%``."""
    name = function.__name__
    quotient, remainder = (kind(partial(_part, function, number), label=name)(lazy, other) for number in (0, 1))
    return quotient, remainder


def _called(ufunc: Any, inputs: tuple[Any, ...], options: dict[str, Any], label: str) -> Any:
    """Return the lazy result of a function of NumPy's for each element."""
    if len(inputs) == 2 and not options:
        one, other = inputs
        if is_node(one) and _is_of_rows(one, other):
            return one._with_rows_at_hand(ufunc, other)
        if is_node(other) and _is_of_rows(other, one):
            return other._with_rows_at_hand(partial(_swapped, ufunc), one)
        if is_node(one) and not is_node(other) and _is_of_places(one, other):
            return one._with_values_at_hand(ufunc, other)
        if is_node(other) and not is_node(one) and _is_of_places(other, one):
            return other._with_values_at_hand(partial(_swapped, ufunc), one)
    kind: type[Rowwise] = Columnwise if len(inputs) == 1 else Rowwise
    made = operate(ufunc, *inputs, kind=kind, kwargs=options, label=label)
    is_of_labels = isinstance(made.expr.meta, pd.Index)  # of booleans pandas makes an array
    return operate(ufunc, *inputs, kind=Labels, kwargs=options, label=label) if is_of_labels else made


class Operators:
    """The operators, and NumPy's element-wise functions."""

    __array_priority__ = 1000
    __pandas_priority__ = 5000
    """pandas' objects on the left leave operators to ours, as pandas' frames do for series on the left."""

    if TYPE_CHECKING:  # frames and series have it, see `glassloom.dataframe.moving.with_other`

        def _with_rows_at_hand(self, function: Callable[[Any, Any], Any], other: Any) -> Any: ...

        def _with_values_at_hand(self, function: Callable[[Any, Any], Any], other: Any) -> Any: ...

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or ufunc.signature is not None:
            return NotImplemented
        if options.get("out") is not None:
            raise NotImplementedError(
                f"numpy.{ufunc.__name__}(out=...) of lazy objects isn't supported: take what it returns"
            )
        if ufunc.nout == 1:
            return _called(ufunc, inputs, options, ufunc.__name__)
        return tuple(
            _called(partial(_part, ufunc, number), inputs, options, ufunc.__name__) for number in range(ufunc.nout)
        )

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return _quotient_and_remainder(_binary, divmod, self, other)

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return _quotient_and_remainder(_reflected, divmod, self, other)

    def __hash__(self) -> int:
        require_no_users_function(self, "the hash, by which isin() and sets find it,")
        return object.__hash__(self)

    def __bool__(self) -> bool:
        raise TruthError(
            f"the truth of a lazy {type(self).__name__} isn't known; compute() it, or combine conditions with & | ~"
        )


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor"):
    _function = getattr(operator, _name)
    setattr(Operators, f"__{_name.strip('_')}__", _binary(_function))
    setattr(Operators, f"__r{_name.strip('_')}__", _reflected(_function))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Operators, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Operators, f"__{_name}__", _unary(getattr(operator, _name)))


def _by_method(
    called: Callable[..., Any], lazy: Any, other: Any, kwargs: dict[str, Any], axis: Any, label: str = ""
) -> Any:
    function = partial(called, **kwargs) if kwargs else called
    if _is_of_rows(lazy, other, axis):
        return lazy._with_rows_at_hand(function, other)
    if _is_of_places(lazy, other, axis=axis):
        return lazy._with_values_at_hand(function, other)
    order = _ORDERS_BY_NAME.get(getattr(called, "__name__", "")) if not kwargs else None
    if order is not None and _are_unknown(lazy, other):
        return _compared(order, lazy, other, label or order.__name__)
    try:
        return operate(called, lazy, other, kwargs=kwargs, label=label)
    except DivisionError:
        pair = _in_rows_of_one(lazy, other)
        if pair is None:
            raise
    return operate(called, *pair, kwargs=kwargs, label=label)


def divided_by_method(lazy: Any, name: str, other: Any, fill_value: Any) -> tuple[Any, Any]:
    """Return both results of ``divmod`` or ``rdivmod`` of a series."""
    if fill_value is None and _is_of_places(lazy, other):
        return lazy.__divmod__(other) if name == "divmod" else lazy.__rdivmod__(other)
    kwargs = {} if fill_value is None else {"fill_value": fill_value}
    made = [_by_method(partial(_part, Method(name), number), lazy, other, kwargs, 0, name) for number in (0, 1)]
    return made[0], made[1]


_OPERATORS = {"div": "truediv", "divide": "truediv", "multiply": "mul", "subtract": "sub"}
"""The operators of methods that are called otherwise."""


def _flexible(name: str, along: Any) -> Callable[..., Any]:
    plain = getattr(operator, _OPERATORS.get(name, name), None)

    def method(self: Any, other: Any, *, level: Any = None, fill_value: Any = None, axis: Any = along) -> Any:
        kwargs: dict[str, Any] = {} if fill_value is None else {"fill_value": fill_value}
        if axis != along:
            kwargs["axis"] = axis
        if level is not None:
            return called_by_level(self, name, other, level, kwargs)
        if plain is not None and not kwargs and along == 0 and pd.api.types.is_scalar(other):
            return plain(self, other)  # as pandas does of series
        return _by_method(Method(name), self, other, kwargs, axis)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Return ``self.{name}(other)`` as pandas does, partition by partition."
    return method


class FlexibleOperators:
    """The operators of frames as methods, with `fill_value` for what only one side has."""


class SeriesOperators:
    """The operators of series as methods."""


for _name in (
    "add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow", "radd", "rsub", "rmul", "rdiv", "rtruediv",
    "rfloordiv", "rmod", "rpow", "multiply", "subtract", "divide", "eq", "ne", "lt", "le", "gt", "ge",
):  # fmt: skip
    setattr(FlexibleOperators, _name, _flexible(_name, "columns"))
    setattr(SeriesOperators, _name, _flexible(_name, 0))
