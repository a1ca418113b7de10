"""Functions of the user's that get a whole column, as a lazy series: in ``apply``, ``agg`` and ``transform`` along the rows.

So nothing is gathered: what they make of it is lazy, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from pandas.core.dtypes.dtypes import BaseMaskedDtype

from glassloom.array.api.array import Array
from glassloom.backends.pandas_ import sample
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.collection import Collection
from glassloom.dataframe.assembled import assembled, constant
from glassloom.dataframe.lazy_closures import LazyResult
from glassloom.dataframe.nodes import FrameExpr, Projection
from glassloom.dataframe.options import refused
from glassloom.dataframe.python_functions import is_of_python, of_python
from glassloom.dataframe.reduce import Length
from glassloom.dataframe.reduction_names import is_reduction, reduction_name
from glassloom.dataframe.wrap import is_node, lazy_value, wrap
from glassloom.errors import MetaError

_Function = TypeVar("_Function", bound=Callable[..., Any])
_HINT = (
    "{method}(axis=0) calls the function with each column as a lazy series, so that it should use methods and operators of series; "
    "for one that needs all values at hand, call it with frame[column].compute(), and for one that treats each row by itself use "
    "map_partitions(function)"
)


_INSTEAD: dict[Callable[..., Any], Callable[..., Any]] = {}


def instead_of(theirs: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Return a decorator of a function that is called with lazy columns where users give pandas' one, which would compute them."""

    def register(ours: _Function) -> _Function:
        _INSTEAD[theirs] = ours
        return ours

    return register


def applied_to_columns(
    frame: Any, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], method: str = "apply"
) -> Any:
    """Return what a function makes of each column: a lazy series by column of values, or a lazy frame of series.

    Raises
    ------
    NotImplementedError
        If it returns series of several partitions that aren't of the frame's rows.
    TypeError
        If it returns something else than values or series.
    """
    names = frame.columns
    if not names.is_unique:
        raise refused(method, "axis", 0, f"columns need different names, and are {list(names)}")
    if not len(names):
        return frame.copy()
    own = _INSTEAD.get(func, func) if isinstance(func, FunctionType) else func
    made = [_called(method, own, frame[name], args, kwargs) for name in names]
    if all(map(_is_series, made)):
        return _beside(frame, made, method)
    if all(_is_scalar(one) for one in made):
        parts = [one if is_node(one) else constant(frame.expr, one, method) for one in made]
        of_nothing = _of_no_rows(frame.expr, func, args, kwargs)
        if of_nothing is None:
            return assembled(partial(_values, names), [part.expr for part in parts], method)
        counted = [*(part.expr for part in parts), Length(frame.expr)]
        meta = _values(names, *(sample(part.expr.meta) for part in parts))
        return assembled(partial(_values_of_rows, names, of_nothing), counted, method, meta)
    if all(map(_is_array, made)):
        return wrap(wrap(frame.expr)._assigned(dict(zip(names, made, strict=True))))
    kinds = list(dict.fromkeys(type(one).__name__ for one in made))
    raise TypeError(
        f"{method}(axis=0): the function should return a value, or a lazy series, for every column; it returned {kinds}"
    )


def aggregated(column: Any, how: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
    """Return a lazy value: a reduction of a column, given by name, as NumPy's function for it, or as a function of a lazy series.

    Raises
    ------
    NotImplementedError
        If it is the name of no reduction.
    TypeError
        If the function returns no value.
    """
    if is_of_python(how) and not args and not kwargs and isinstance(column.expr.meta, pd.Series):
        return of_python(column, how)
    if how is np.median and HAS_COPY_ON_WRITE and isinstance(column.expr.meta, pd.Series):
        dtype = column.expr.meta.dtype
        if isinstance(dtype, (BaseMaskedDtype, pd.ArrowDtype)):
            of_array = partial(_median_of_array, dtype.kind == "b")
            return assembled(of_array, [column.median(skipna=False).expr], "median", np.float64(0.5))
    if is_reduction(how) or not callable(how):
        reduction = getattr(column, reduction_name(how))
        return reduction(*args, **{**_options_of(how), **(kwargs or {})}) if callable(reduction) else reduction
    made = _called("agg", how, column, args, kwargs or {})
    if made is None or not _is_scalar(made) or (isinstance(made, str) and made in (str(column), repr(column))):
        kind = "the text of the lazy series" if isinstance(made, str) else f"a {type(made).__name__}"
        raise TypeError(f"agg: the function should return a value for a column; it returned {kind}")
    return made if is_node(made) else constant(column.expr, made, "agg")


def of_whole_series(series: Any, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what a function makes of a lazy series: a value, or a lazy object.

    Raises
    ------
    TypeError
        If it returns an object with rows that isn't lazy, or the text of the series.
    """
    made = _called("apply", func, series, args, kwargs)
    is_text = isinstance(made, str) and made in (str(series), repr(series))
    if is_text or (made is not None and not isinstance(made, Collection) and not _is_scalar(made)):
        kind = "the text of the lazy series" if is_text else f"a {type(made).__name__}"
        raise TypeError(
            f"apply(by_row=False): the function should return a value, or a lazy object; it returned {kind}"
        )
    return made


def _options_of(how: Any) -> dict[str, Any]:
    """Return what a function of NumPy's or Python's does in another way than the method of its name, since pandas 3 calls it itself."""
    if isinstance(how, str) or not HAS_COPY_ON_WRITE:
        return {}
    if how in (np.std, np.var):
        return {"ddof": 0}
    return {"skipna": False} if how in (np.median, sum) else {}


def is_of_each_column(how: Any, meta: pd.DataFrame) -> bool:
    """Whether pandas calls a function of NumPy's with each column, and the results have a dtype together: other than those of a method if dtypes differ."""
    if isinstance(how, str) or not HAS_COPY_ON_WRITE or not is_reduction(how) or not meta.columns.is_unique:
        return False
    dtypes = set(meta.dtypes)
    return len(dtypes) > 1 or not all(isinstance(dtype, np.dtype) and dtype.kind in "biufc" for dtype in dtypes)


def _median_of_array(is_boolean: bool, value: Any) -> np.float64:
    """Return NumPy's median of an array with missing values, which is of floats."""
    if value is not pd.NA:
        return np.float64(value)
    if is_boolean:
        raise TypeError("agg(numpy.median): NumPy doesn't order booleans of which some are missing; give 'median'")
    return np.float64(np.nan)


def listed(functions: Any) -> Any:
    """Return several functions as a list or dict, however they were given; anything else as it is."""
    if isinstance(functions, pd.Series):
        return functions.to_dict()
    return list(functions) if isinstance(functions, (tuple, set, np.ndarray, pd.Index)) else functions


def applied_by_several(
    lazy: Any, functions: list[Any] | dict[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return what `apply` makes of a frame or series by a list or dict of functions: reductions of it, or changes by functions of NumPy's."""
    every = functions.values() if isinstance(functions, dict) else functions
    if not any(isinstance(one, np.ufunc) for one in every):
        return lazy.agg(functions, 0, *args, **kwargs)
    if isinstance(functions, dict) and isinstance(lazy.expr.meta, pd.Series):
        instead = "transform() has a column of each; concat() with keys= brings them together below each other"
        raise refused("apply", "func", functions, instead)
    return lazy.transform(functions, 0, *args, **kwargs)


def aggregation_names(functions: list[Any]) -> list[str]:
    """Return the labels of several aggregations, as pandas gives them."""
    return [_function_name(one) if _is_own(one) else reduction_name(one) for one in functions]


def require_distinct_names(method: str, names: Sequence[Any]) -> None:
    """Check that functions whose results are beside each other are told apart by their names.

    Raises
    ------
    pandas.errors.SpecificationError
        If they aren't.
    """
    if len(set(names)) < len(names):
        raise pd.errors.SpecificationError(
            f"{method}: Function names must be unique if there is no new column names assigned, and they are {list(names)}: name functions "
            "by def, or call them by themselves"
        )


def _function_name(function: Any) -> str:
    while isinstance(function, partial) and not hasattr(function, "__name__"):
        function = function.func
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _is_own(how: Any) -> bool:
    return callable(how) and not is_reduction(how)


def transformed(frame: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the values of a frame or series changed by functions: one, a list, or of a frame a dict from column to these."""
    is_series, func = isinstance(frame.expr.meta, pd.Series), listed(func)
    if isinstance(func, dict):
        if any(isinstance(one, (list, tuple)) for one in func.values()):  # then all results have two levels
            func = {name: one if isinstance(one, (list, tuple)) else [one] for name, one in func.items()}
        made = {name: transformed(frame if is_series else frame[name], one, args, kwargs) for name, one in func.items()}
        return _of_columns(frame, made)
    if isinstance(func, (list, tuple)):
        if not func:
            raise ValueError("No transform functions were provided")
        if not is_series:
            return _of_columns(frame, {name: transformed(frame[name], func, args, kwargs) for name in frame.columns})
        names = [one if isinstance(one, str) else _function_name(one) for one in func]
        require_distinct_names("transform", names)
        return _of_columns(
            frame, {name: transformed(frame, one, args, kwargs) for name, one in zip(names, func, strict=True)}
        )
    made = _transformed_by(frame, func, args, kwargs)
    if not is_node(made) or made.expr.rows != frame.expr.rows:
        raise ValueError(f"transform({func!r}): Function did not transform")
    return made


def _transformed_by(frame: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if isinstance(func, str):
        return called_by_name(frame, func, *args, **kwargs)
    if isinstance(func, np.ufunc):
        return func(frame, *args, **kwargs)
    if isinstance(frame.expr.meta, pd.DataFrame):
        return applied_to_columns(frame, func, args, kwargs, "transform")
    try:
        return frame.apply(func, args=args, **kwargs)  # as pandas: a function of values, if it takes them
    except (MetaError, LazyResult) as error:
        tried = str(error)
    try:
        return _called("transform", func, frame, args, kwargs)
    except Exception as error:  # the user's function may raise anything
        error.add_note(f"Before, it was called with values: {tried}")
        raise


def called_by_name(lazy: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """Return what a method makes, or NumPy's function of its name if there is no such method, as ``"sqrt"``."""
    own = getattr(type(lazy), name, None) is not None
    function = None if own else getattr(np, name, None)
    if isinstance(function, np.ufunc):
        return function(lazy, *args, **kwargs)
    found = lazy.agg(name) if name == "size" else getattr(lazy, name)  # of a frame pandas has the size of each column
    return found(*args, **kwargs) if callable(found) else found


def _of_columns(frame: Any, made: dict[Any, Any]) -> Any:
    """Return the frame of lazy series and frames of the rows of another one, under names of two levels if there are frames."""
    series = [
        column
        for one in made.values()
        for column in ([one] if isinstance(one.expr.meta, pd.Series) else [one[name] for name in one.columns])
    ]
    rows = frame.to_frame() if isinstance(frame.expr.meta, pd.Series) else frame
    numbered = wrap(wrap(Projection(rows.expr, []))._assigned(dict(enumerate(series))))
    numbered.columns = pd.concat({name: one.expr.meta for name, one in made.items()}, axis=1).columns
    return numbered


def _called(method: str, func: Callable[..., Any], column: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return lazy_value(func(column, *args, **kwargs))
    except Exception as error:  # the user's function may raise anything
        error.add_note(_HINT.format(method=method))
        raise


def _is_array(value: Any) -> bool:
    is_array = isinstance(value, (Array, np.ndarray, pd.Index, pd.api.extensions.ExtensionArray))
    return is_array and value.ndim == 1 and not isinstance(value, pd.MultiIndex)


def _is_series(value: Any) -> bool:
    return is_node(value) and isinstance(value.expr.meta, pd.Series)


def _is_scalar(value: Any) -> bool:
    if is_node(value):
        return not value.expr.has_rows
    return not isinstance(value, Collection) and pd.api.types.is_scalar(value)


def _beside(frame: Any, columns: list[Any], method: str) -> Any:
    nodes = [one.expr for one in columns]
    if all(node.rows == frame.expr.rows for node in nodes):
        return wrap(wrap(frame.expr)._assigned(dict(zip(frame.columns, columns, strict=True))))
    if any(node.npartitions > 1 for node in nodes):
        raise NotImplementedError(
            f"{method}(axis=0): the function chose or moved rows of each column, and columns of different rows aren't brought together; "
            "return a value or a series of the same rows, or use glassloom.dataframe.concat([...], axis=1) where divisions are known"
        )
    return assembled(partial(_side_by_side, frame.columns), nodes, method)


def _of_no_rows(node: FrameExpr, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what a function makes of no rows, if a frame may have none: pandas calls it with floats then, whatever the column holds."""
    if any(node.lengths or ()):
        return None
    try:
        with warnings.catch_warnings(action="ignore"):
            made = func(pd.Series([], dtype="float64"), *args, **kwargs)
    except Exception:  # the user's function may raise anything: what it makes of the columns is all that there is
        return None
    return made if not isinstance(made, Collection) and pd.api.types.is_scalar(made) else None


def _values_of_rows(names: pd.Index, of_nothing: Any, *values: Any) -> pd.Series:
    *own, count = values
    return _values(names, *(own if count else [of_nothing] * len(own)))


def _values(names: pd.Index, *values: Any) -> pd.Series:
    return pd.Series(dict(enumerate(values))).set_axis(names)


def _side_by_side(names: pd.Index, *columns: Any) -> pd.DataFrame:
    return pd.DataFrame(dict(enumerate(columns))).set_axis(names, axis=1)
