"""Methods of pandas that call a user's function with each value or row, and the dtypes of what it returns.

pandas finds the dtype of what a function returned from all results: None among texts is a missing text, among numbers it is NaN, and among
both it stays None. A partition knows its own results alone. Where those of made-up rows don't tell the dtype either, partitions keep what the
function returned, are asked for a value of each kind, and get the dtype that pandas finds with those of all (`_Inferred`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from glassloom._users_functions import call_users_function
from glassloom.backends.pandas_ import concat, sample
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.argument_kinds import require_changes_nothing
from glassloom.dataframe.arrow.text import of_distinct_texts
from glassloom.dataframe.by_name import with_own_arguments
from glassloom.dataframe.inferring import some_of_each_kind
from glassloom.dataframe.lazy_closures import require_at_hand_values
from glassloom.dataframe.meta import parse_meta, tried_on_samples, without_rows
from glassloom.dataframe.nodes import FrameExpr, Rowwise, empty
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.unlike_dtypes import (
    Alike,
    looked_up_meta,
    with_floats_missing,
    with_numbers_for_functions,
    with_one_dtype,
    with_others_missing,
)
from glassloom.dataframe.widening import dtypes_of
from glassloom.dataframe.wrap import bind, holds_lazy, operate, wrap
from glassloom.errors import MetaError
from glassloom.graph import function_label


class WithMeta(Rowwise):
    """A row-wise operation whose result's dtype was given or tried out."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


class RawResults(WithMeta):
    """What functions returned. All of it is needed for its dtype, so that no partition of it is computed by itself."""


class CallForEach:
    """A method of pandas that calls a user's function with each value or row.

    Of no rows pandas can't know what the function makes, and returns what it was given: a partition without rows is `meta` then, so that
    what follows (``.str``, ``.dt``) finds the same dtype in all of them.
    """

    calls_methods: ClassVar[bool] = True
    """As in `BlockCall`: blocks of every library have the method."""
    calls_for_each: ClassVar[bool] = True
    """Partitions may differ in what pandas makes of the function's results: see `unlike_dtypes`."""

    def __init__(self, method: str, meta: Any = None, *, is_one_of_many: bool = False) -> None:
        self._method, self._meta, self._is_one_of_many = method, meta, is_one_of_many

    def __glassloom_tokenize__(self) -> Any:
        return (self._method, self._meta, self._is_one_of_many)

    @property
    def __name__(self) -> str:
        return self._method

    def __call__(self, block: Any, /, *args: Any, **kwargs: Any) -> Any:
        if self._meta is None or len(block) or not isinstance(block, (pd.DataFrame, pd.Series)):
            made = call_users_function(self._called, block, *args, **kwargs)
            require_at_hand_values(made, self._method, args)
            if isinstance(made, pd.DataFrame):
                return self._with_columns_missing(made) if self._is_one_of_many else made
            if not isinstance(made, pd.Series):
                return made
            made = with_floats_missing(self._under_given_name(made), self._meta)
            return with_others_missing(made, self._meta) if self._is_one_of_many else made
        return without_rows(self._meta, block.index)

    def _called(self, block: Any, /, *args: Any, **kwargs: Any) -> Any:
        if self._method == "map" and type(args[0]) in (dict, pd.Series):  # pandas makes an object of each text
            found = of_distinct_texts(block, lambda distinct: distinct.map(*args, **kwargs))
            if found is not None:
                return found
        if self._method == "combine":  # which takes the value before the function
            return block.combine(args[1], args[0])
        return getattr(block, self._method)(*args, **kwargs)

    def _with_columns_missing(self, made: pd.DataFrame) -> pd.DataFrame:
        """Return a frame whose columns without values are as pandas has them among those that the meta promises for other partitions."""
        meta = self._meta
        if not isinstance(meta, pd.DataFrame) or meta.shape[1] != made.shape[1]:
            return made
        pairs = enumerate(zip(made.dtypes, meta.dtypes, strict=True))
        unlike = [place for place, (own, promised) in pairs if own != promised and pd.api.types.is_object_dtype(own)]
        for place in unlike:
            column, promised = made.iloc[:, place], meta.iloc[:, place]
            values: Any = with_others_missing(with_floats_missing(column, promised), promised)
            made.isetitem(place, values)
        return made

    def _under_given_name(self, made: pd.Series) -> pd.Series:
        """Return a series under the name that the user has given with `meta`, as Dask does."""
        is_known = isinstance(self._meta, pd.Series) and made.name != self._meta.name
        return made.rename(self._meta.name) if is_known else made


def call_user(method: str, frame: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], meta: Any) -> Any:
    """Return the lazy result of a pandas method that calls a user's function for rows or values."""
    label = f"{method}-{function_label(function)}" if callable(function) else method
    function, kwargs = with_own_arguments(function, kwargs)
    if callable(function):  # it may tell 1 from 1.0
        require_changes_nothing(method, function)
        is_of_values = method == "map" or (isinstance(frame.expr.meta, pd.Series) and method != "combine")
        frame = with_one_dtype(with_numbers_for_functions(frame) if is_of_values else frame)
    nodes, call = bind(CallForEach(method), (frame, function, *args), kwargs, label=label)
    if meta is not None:
        found = parse_meta(meta, nodes[0].meta)
    else:
        is_known = isinstance(function, pd.Series) or (isinstance(function, dict) and not holds_lazy(function.values()))
        found = looked_up_meta(nodes[0].meta, function) if is_known else None
        tried = tried_on_samples(call, nodes, method) if found is None else found
        found = empty(tried)
        if _needs_all_results(method, nodes[0], tried, function, kwargs):
            raw = bind(_Raw(method, found), (frame, function, *args), kwargs, label=label)
            results = wrap(RawResults(raw[0][0], tuple(raw[0][1:]), raw[1], found))
            return _with_dtypes_of_results(nodes[0], results, method)
    for_each = CallForEach(method, found, is_one_of_many=frame.npartitions > 1)
    nodes, call = bind(for_each, (frame, function, *args), kwargs, label=label)
    return wrap(WithMeta(nodes[0], tuple(nodes[1:]), call, found))


# Dtypes that the results of all partitions decide.


def _needs_all_results(method: str, node: FrameExpr, tried: Any, function: Any, kwargs: dict[str, Any]) -> bool:
    """Whether partitions may differ in what pandas makes of the results, so that those of made-up rows don't tell it.

    They don't if these are Python's objects, but scalars of which others may be numbers or text, if some are missing, or if they were made of
    made-up objects.
    Before version 3 pandas makes no text of objects: where there are texts among the results, they are objects in most partitions.
    """
    is_one = (
        node.npartitions == 1 or node.backend != "pandas" or not callable(function) or isinstance(function, np.ufunc)
    )
    if is_one or not isinstance(tried, (pd.DataFrame, pd.Series)) or {"raw", "result_type", "by_row"} & set(kwargs):
        return False
    if method == "apply" and isinstance(tried, pd.DataFrame):  # of series, whose dtypes the function has chosen
        return False
    own = dtypes_of(node.meta) if isinstance(node.meta, (pd.DataFrame, pd.Series)) else []
    apart = (
        pd.SparseDtype if method == "combine" else (pd.CategoricalDtype, pd.SparseDtype)
    )  # of whose distinct values functions are called
    if not own or any(isinstance(dtype, apart) for dtype in own):
        return False
    unsure = [column for column in _columns(tried) if pd.api.types.is_object_dtype(column.dtype) or column.isna().any()]
    values = [value for column in unsure for value in column]
    if not all(map(pd.api.types.is_scalar, values)) or (not HAS_COPY_ON_WRITE and str in map(type, values)):
        return False
    return bool(unsure) or (HAS_COPY_ON_WRITE and any(map(pd.api.types.is_object_dtype, own)))


class _Result:
    """What a function returned, as an object that pandas leaves as it is."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class _Raw(CallForEach):
    """A method that calls a function for each value or row; columns are the objects that it returned."""

    def __call__(self, block: Any, /, function: Any, *args: Any, **kwargs: Any) -> Any:
        if not len(block):
            return without_rows(self._meta, block.index)
        made = super().__call__(block, partial(_result_of, function), *args, **kwargs)
        if isinstance(made, pd.Series):
            return pd.Series(self._unpacked(made, function), index=made.index, name=made.name, dtype=object)
        for place in range(made.shape[1]):
            unpacked = pd.Series(self._unpacked(made.iloc[:, place], function), index=made.index, dtype=object)
            made.isetitem(place, unpacked)
        return made

    def _unpacked(self, column: Any, function: Any) -> Any:
        values = [one.value if type(one) is _Result else one for one in column.array]
        require_at_hand_values(pd.Series(values, dtype=object), self._method, [function])
        if self._method == "apply" and isinstance(values[0], (pd.Series, pd.DataFrame)):
            raise MetaError(
                f"apply: the function returned a {type(values[0]).__name__}, but scalars for two made-up rows, on which it was tried. Say "
                "what it returns with meta=, an empty pandas object like the result"
            )
        return np.fromiter(values, dtype=object, count=len(values))


def _result_of(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> _Result:
    return _Result(function(*args, **kwargs))


def _with_dtypes_of_results(given: FrameExpr, collection: Any, method: str) -> Any:
    """Return what functions returned with the dtypes that pandas finds for the values of all partitions: in some way for each dtype that was given."""
    results = collection.expr.meta
    none = tuple(column.astype(object) for column in _columns(results))
    kinds = wrap(tree(collection.expr, Operation(_kinds_in_block, _joined_kinds, _joined_kinds), none, "kinds"))
    is_of_values = results.ndim == given.meta.ndim
    dtypes = tuple(dtypes_of(given.meta)) if is_of_values else (np.dtype(object),)
    return operate(_inferred, collection, kinds, dtypes, method, kind=Alike, label="inferred")


def _columns(made: Any) -> list[Any]:
    return [made] if isinstance(made, pd.Series) else [made.iloc[:, place] for place in range(made.shape[1])]


def _kinds_in_block(block: Any) -> tuple[Any, ...]:
    return tuple(map(_kinds, _columns(block)))


def _joined_kinds(several: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(_kinds(concat(list(columns))) for columns in zip(*several, strict=True))


def _kinds(column: Any) -> Any:
    values = column.array
    types = set(map(type, values))
    if types <= {str, type(None)}:  # as mostly
        first = [next(value for value in values if type(value) is one) for one in types]
        return pd.Series(first, dtype=object)
    return some_of_each_kind(column.astype(object)).reset_index(drop=True)


def _inferred(block: Any, kinds: tuple[Any, ...], given: tuple[Any, ...], method: str) -> Any:
    if isinstance(block, pd.Series):
        return _with_kinds(block, kinds[0], given[0], method)
    made = block.copy(deep=False)
    for place, (others, dtype) in enumerate(zip(kinds, given, strict=True)):
        made.isetitem(place, _with_kinds(block.iloc[:, place], others, dtype, method))
    return made


def _with_kinds(column: Any, others: Any, given: Any, method: str) -> Any:
    """Return values of the dtype that pandas finds for them and others as what a method makes of results for values of some dtype."""
    if not len(others):
        return column
    results = [*others, *column]
    if isinstance(given, np.dtype) and method != "combine":
        values = pd.Series(results, dtype=object).map(_same)
    else:  # such make of results what they can be of their own kind
        each = iter(results)
        some = sample(pd.Series(dtype=given)).iloc[[0] * len(results)]
        one_by_one = lambda _, other=None: next(each)  # noqa: E731
        values = some.combine(0, one_by_one) if method == "combine" else some.map(one_by_one)
    return values.iloc[len(others) :].set_axis(column.index).rename(column.name)


def _same(value: Any) -> Any:
    return value
