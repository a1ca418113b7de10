"""Reductions: each partition yields a few numbers a column, which a tree of tasks combines.

A reduction is declared as data: the function of a partition, the function that combines such partial results, and the
function of the last one. Partitions without rows take no part, so that they don't decide on dtypes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
import pandas as pd
from pandas.core.dtypes.dtypes import BaseMaskedDtype

from glassloom.backends.frames import converted, takes_any_library
from glassloom.backends.pandas_ import array_of, concat, of_samples
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION
from glassloom.dataframe import on_device
from glassloom.dataframe.arrow.blocks import ColumnBlock, is_block
from glassloom.dataframe.arrow.forms import takes_blocks
from glassloom.dataframe.arrow.text import is_text
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.column_steps import (
    OF_TIMES,
    STEPS,
    WITH_MIN_COUNT,
    extreme,
    float_dtype,
    numbers_of_objects,
    of_objects,
    values_of,
)
from glassloom.dataframe.decimals import is_decimal, of_decimals
from glassloom.dataframe.derived_meta import derived_meta
from glassloom.dataframe.nodes import FrameExpr, empty
from glassloom.dataframe.reduction_nodes import (
    Chunk,
    RowsChunk,
    TreeReduce,
    TreeSteps,
    UnorderedChunk,
    ValuesChunk,
    WholeChunk,
    is_unordered,
)
from glassloom.dataframe.sorting import distinct_numbers
from glassloom.dataframe.value_steps import (
    applied,
    applied_again,
    counted_dtype,
    known_value,
    missing_sum,
    objects_value,
    objects_value_again,
    own_missing,
    with_none,
)
from glassloom.dataframe.whole_units import is_date
from glassloom.dataframe.widening import as_wide_as, can_miss_nothing, concat_promised, is_wider
from glassloom.errors import OptionError
from glassloom.expr import Expr
from glassloom.graph import Key, Origin, Task

SPLIT_EVERY = 8


@dataclass(frozen=True)
class Operation:
    """``chunk(block)`` for each partition, ``combine(partials)`` on the way, ``finish(partials)`` at the end."""

    chunk: Callable[..., Any]
    combine: Callable[[list[Any]], Any]
    finish: Callable[[list[Any]], Any]


class Length(FrameExpr):
    """The number of rows of a frame. A rewrite rule replaces it by how it is counted."""

    parameters = ("frame",)
    operation = "len"
    divisions = (None, None)

    frame: FrameExpr

    @cached_property
    def meta(self) -> Any:
        return 0

    def tasks(self) -> dict[Key, Task]:
        raise NotImplementedError("a Length has tasks only after simplify()")


def tree(
    frame: FrameExpr,
    steps: Operation,
    meta: Any,
    title: str,
    *,
    others: tuple[FrameExpr, ...] = (),
    split_every: int | None = None,
    origin: Origin | None = None,
    chunk_type: type[Chunk] = Chunk,
) -> TreeReduce:
    """Return the node of a reduction.

    Parameters
    ----------
    split_every
        How many partial results are combined at once; False: all.

    Raises
    ------
    OptionError
        If `split_every` is less than 2.
    """
    every = SPLIT_EVERY if split_every is None else max(2, frame.npartitions) if split_every is False else split_every
    if not isinstance(every, int) or every < 2:
        raise OptionError(f"split_every={split_every!r} should be a whole number, 2 or more")
    blocks = tuple(Block(number) for number in range(1 + len(others)))
    call = BlockCall(steps.chunk, blocks, label=f"{title}-chunk")
    chunk = chunk_type(frame, others, call, origin=origin)
    return TreeReduce(chunk, TreeSteps(steps.combine, steps.finish, meta), every, title, origin=origin)


def count_rows(node: Length) -> Expr:
    """Return the node that counts rows partition by partition."""
    return tree(node.frame, Operation(len, sum, sum), 0, "len", origin=node.origin, chunk_type=UnorderedChunk)


def sum_of(series: FrameExpr, origin: Origin | None) -> Expr:
    """Return the node that counts where a boolean series is true."""
    return tree(series, Operation(_count_true, sum, sum), 0, "len", origin=origin, chunk_type=UnorderedChunk)


def reduce_columns(node: FrameExpr, how: str, options: dict[str, Any], split_every: int | None = None) -> TreeReduce:
    """Return the node of ``frame.how(**options)`` over the rows."""
    known = node.meta
    if how in ("skew", "kurt") and any(getattr(dtype, "kind", "O") == "c" for dtype in _as_frame(known).dtypes):
        raise TypeError(f"{how} of complex numbers isn't supported; take that of the real or the imaginary parts")
    meta = derived_meta(lambda: _reduced_sample(known, how, options), (how, options), known)
    parts = [_steps_of(how, dtype, options) for dtype in _as_frame(known).dtypes]
    steps = Operation(
        partial(_chunk, [part[0] for part in parts], options, known),
        partial(_combine, [part[1] for part in parts], options),
        partial(_finish, how, [part[1] for part in parts], [part[2] for part in parts], options, known, empty(meta)),
    )
    is_any_order = all(is_unordered(how, dtype) for dtype in _as_frame(known).dtypes)
    chunk_type = RowsChunk if how in _OF_LABELS else UnorderedChunk if is_any_order else ValuesChunk
    return tree(node, steps, meta, how, split_every=split_every, chunk_type=chunk_type)


def reduced_by_name(node: TreeReduce) -> tuple[FrameExpr, str, dict[str, Any]] | None:
    """Return frame, name and options of what `reduce_columns` made of a frame; None of other nodes."""
    finish, chunk = node.steps.finish, node.source
    if not isinstance(finish, partial) or finish.func is not _finish or not isinstance(chunk, Chunk):
        return None
    how, _, _, options, known, _ = finish.args
    is_of_frame = isinstance(known, pd.DataFrame) and isinstance(chunk.frame.meta, pd.DataFrame)
    return (chunk.frame, how, options) if is_of_frame else None


def reduction_name(node: TreeReduce) -> str:
    """Return the name of a reduction that `reduce_columns` has made; "" of other nodes."""
    finish = node.steps.finish
    return str(finish.args[0]) if isinstance(finish, partial) and finish.func is _finish else ""


def _reduced_sample(known: Any, how: str, options: dict[str, Any]) -> Any:
    """Return what a reduction makes of made-up rows, in which objects are numbers if it is of such."""
    numbers = numbers_of_objects(known) if how in OF_NUMBERS else known
    made = of_samples(lambda some: getattr(some, how)(**options), numbers)
    return made if numbers is known or isinstance(known, pd.Series) else made.astype(object)


def _steps_of(how: str, dtype: Any, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return chunk, combine and finish for a column.

    Raises
    ------
    TypeError
        If it can't be computed of its dtype.
    """
    if getattr(dtype, "kind", "O") in "mM" and how in OF_TIMES and not is_date(dtype):
        return OF_TIMES[how]
    if how in OF_NUMBERS and pd.api.types.is_object_dtype(dtype):
        chunk, combine, finish = _STEPS[how]
        return partial(of_objects, chunk), combine, finish
    if how in ("mean", "prod") and is_decimal(dtype):
        return of_decimals(how, _join_sums, dtype)
    has_mean = how == "mean" and isinstance(dtype, pd.ArrowDtype) and dtype.kind == "b"
    if how in OF_NUMBERS and not has_mean and not pd.api.types.is_numeric_dtype(dtype):
        raise TypeError(f"{how} of a column of dtype {dtype} isn't supported; use numeric_only=True, or convert it")
    return WITH_MIN_COUNT[how] if options.get("min_count", 0) > 0 else _STEPS[how]


OF_NUMBERS = ("mean", "var", "std", "sem", "skew", "kurt")
"""Reductions of numbers alone."""
_OF_LABELS = ("idxmin", "idxmax")


def _as_frame(block: Any) -> Any:
    if isinstance(block, pd.DataFrame):
        return block
    return block.to_frame(name=0) if isinstance(block, pd.Series) else pd.Series(block).to_frame(name=0)


# Partial results of simple reductions: a frame of one row. Columns are numbered, because names may occur twice.


@takes_blocks
@takes_any_library
def _chunk(functions: list[Callable[..., Any]], options: dict[str, Any], known: Any, block: Any) -> Any:
    if on_device.is_on_device(block):
        columns = on_device.columns_of(block)
        if columns is not None:
            many = zip(functions, columns, strict=True)
            return [_of_device(function, options, column) for function, column in many] if len(block) else None
        block = converted(block, "pandas")
    if not len(block):
        return _of_no_rows(functions, options, known, block)
    if is_block(block):
        if any(
            isinstance(function, partial) and function.func is extreme for function in functions
        ):  # which has labels
            return NotImplemented
        series = [block.series()] if type(block) is ColumnBlock else [block.series(name) for name in block.columns]
        return [function(one, options) for one, function in zip(series, functions, strict=True)]
    if isinstance(block, pd.Series):
        return [functions[0](block, options)]
    frame = _as_frame(block)
    return [function(frame.iloc[:, place], options) for place, function in enumerate(functions)]


class _OfNoRows(list[Any]):
    """The partial results of partitions without rows, whose columns are of wider dtypes than was known, and one of those."""

    def __init__(self, cells: list[Any], block: Any) -> None:
        super().__init__(cells)
        self.block = block

    def __reduce__(self) -> tuple[Any, ...]:
        return (_OfNoRows, (list(self), self.block))


def _of_no_rows(functions: list[Callable[..., Any]], options: dict[str, Any], known: Any, block: Any) -> Any:
    """Return the partial results of a partition without rows if its dtypes matter; else None."""
    if is_block(block):
        block = block.to_pandas()
    if not options.get("skipna", True) or not is_wider(block, known):
        return None
    frame = _as_frame(block)
    return _OfNoRows([function(frame.iloc[:, place], options) for place, function in enumerate(functions)], block)


def _of_device(function: Callable[..., Any], options: dict[str, Any], column: Any) -> Any:
    """Return what a function makes of a column on a device, which goes to the host if its library's methods don't do."""
    skipna = options.get("skipna", True)
    found: Any = None
    if function is _distinct:
        return converted(function(column, options), "pandas")
    if function is _sums and skipna:
        found = on_device.count_and_sum(column)
    elif function is _moments and skipna:
        found = on_device.moments(column)
    elif function is _products:
        found = on_device.reduced(column, "prod", skipna=skipna)
    elif isinstance(function, partial) and function.func in (applied, objects_value):
        found = on_device.reduced(column, function.args[0], skipna=skipna)
    return function(converted(column, "pandas"), options) if found is None else found


def _combine(functions: list[Callable[..., Any]], options: dict[str, Any], partials: list[Any]) -> Any:
    filled = [one for one in partials if one is not None]
    if not filled:
        return None
    if len(filled) == 1:
        return filled[0]
    if all(isinstance(one, _OfNoRows) for one in filled):
        return _OfNoRows(filled[0], reduce(as_wide_as, [one.block for one in filled]))
    columns = zip(*filled, strict=True)
    return [function(list(column), options) for function, column in zip(functions, columns, strict=True)]


def _finish(
    how: str,
    combine: list[Callable[..., Any]],
    results: list[Callable[..., Any]],
    options: dict[str, Any],
    known: Any,
    meta: Any,
    partials: list[Any],
) -> Any:
    joined = _combine(combine, options, partials)
    if joined is None or isinstance(joined, _OfNoRows):
        return getattr(known if joined is None else joined.block, how)(**options)
    dtypes = _as_frame(known).dtypes
    cells = [results[place](cell, dtypes.iloc[place], options) for place, cell in enumerate(joined)]
    if how in ("sum", "prod"):
        cells = [missing_sum(cell, of_frame=isinstance(known, pd.DataFrame)) for cell in cells]
    if not isinstance(known, pd.DataFrame):
        return _scalar(how, cells[0], known)
    if not cells:
        return getattr(known, how)(**options)
    if _is_none_if_missing(how, options):
        are_objects = [
            pd.api.types.is_object_dtype(dtype) or (cell.dtype == object and can_miss_nothing(dtype))
            for cell, dtype in zip(cells, dtypes, strict=True)
        ]
        cells = [
            with_none(cell) if is_of_objects else cell for cell, is_of_objects in zip(cells, are_objects, strict=True)
        ]
    if is_decimal(meta.dtype):
        return pd.Series([cell.iloc[0] for cell in cells], index=known.columns, dtype=meta.dtype)
    row = pd.concat(cells, axis=1).iloc[0].rename(None).set_axis(known.columns)
    is_object = meta.dtype == object or any(cell.dtype == object for cell in cells)
    if is_object:
        own = [own_missing(cell, dtype) for cell, dtype in zip(cells, dtypes, strict=True)]
        return pd.Series(own, index=row.index, dtype=object)
    if isinstance(meta.dtype, pd.api.extensions.ExtensionDtype) and row.dtype != meta.dtype:
        row = row.astype(counted_dtype(row.dtype, meta.dtype) if options.get("min_count", 0) > 0 else meta.dtype)
    return row


def _is_none_if_missing(how: str, options: dict[str, Any]) -> bool:
    """Whether pandas has None for a missing result of a column of objects in frames."""
    skipna = options.get("skipna", True)
    return (how in ("min", "max") and (PANDAS_VERSION >= (3, 1) or skipna)) or (how in ("sum", "prod") and skipna)


def _scalar(how: str, cell: Any, known: Any) -> Any:
    """Return a result of a series as pandas has it: of nullable and Arrow's dtypes NA in place of NaN, Arrow's as Python's."""
    value = cell.iloc[0]
    if (
        isinstance(known.dtype, (pd.ArrowDtype, BaseMaskedDtype))
        and isinstance(value, (float, np.floating))
        and value != value
    ):
        return value if isinstance(cell.dtype, pd.ArrowDtype) else pd.NA
    is_label = how in _OF_LABELS
    is_plain = (
        isinstance(known.index, pd.RangeIndex)
        if is_label
        else isinstance(known.dtype, pd.ArrowDtype) and how != "count"
    )
    return value.item() if (is_plain or how == "nunique") and isinstance(value, (np.number, np.bool_)) else value


def _as_is(cell: Any, dtype: Any, options: dict[str, Any]) -> Any:
    return cell


# Variances: (count, about the mean, what it lacks, sum of squared distances from the mean), joined as in Chan, Golub and LeVeque,
# "Updating formulae and a pairwise algorithm for computing sample variances" (1979). The mean is a sum of two numbers: rounded to
# one, that of large values that differ little would be off by more than they differ.

Moments = tuple[int, float, float, float]


def _moments(column: Any, options: dict[str, Any]) -> Moments:
    values = values_of(column, options)
    if not len(values):
        return (0, 0.0, 0.0, 0.0)
    about = values.mean()
    apart = values - about
    rest = apart.mean()
    apart -= rest
    return (len(values), about, rest, float((np.abs(apart) ** 2 if apart.dtype.kind == "c" else apart * apart).sum()))


def _join_moments(moments: list[Moments], options: dict[str, Any]) -> Moments:
    (total, about, rest, squares), *others = [one for one in moments if one[0]] or moments[:1]
    for count, other_about, other_rest, other_squares in others:
        joined = total + count
        distance = (other_about - about) + (other_rest - rest)
        squares += other_squares + abs(distance) ** 2 * total * count / joined
        rest += distance * count / joined
        total = joined
    return (total, about, rest, squares)


def _sums(column: Any, options: dict[str, Any]) -> tuple[int, float]:
    values = values_of(column, options)
    return (len(values), values.sum())


def _join_sums(sums: list[tuple[int, float]], options: dict[str, Any]) -> tuple[int, float]:
    return (sum(count for count, _ in sums), sum(total for _, total in sums))


def _mean(sums: tuple[int, float], dtype: Any, options: dict[str, Any]) -> Any:
    count, total = sums
    made = float_dtype(dtype)
    if dtype == np.float16 and PANDAS_VERSION >= (3, 1):
        made = np.dtype("float64")
    elif dtype == np.float16:  # before, pandas had their sum as one of these
        with np.errstate(over="ignore"):
            total = float(np.float16(total))
    return pd.Series([total / count if count else np.nan], dtype=made)


def _variance(moments: Moments, dtype: Any, options: dict[str, Any]) -> Any:
    count, _, _, squares = moments
    free = count - options.get("ddof", 1)
    of_few = np.inf if isinstance(dtype, BaseMaskedDtype) and squares > 0 else np.nan  # NumPy divides by 0 there
    return pd.Series([squares / free if free > 0 else of_few], dtype=float_dtype(dtype))


def _deviation(moments: Moments, dtype: Any, options: dict[str, Any]) -> Any:
    return _variance(moments, dtype, options) ** 0.5


def _standard_error(moments: Moments, dtype: Any, options: dict[str, Any]) -> Any:
    if moments[0] <= options.get("ddof", 1):
        return pd.Series([np.nan], dtype=float_dtype(dtype))
    return _deviation(moments, dtype, options) / moments[0] ** 0.5


# Distinct values.


def _distinct(column: Any, options: dict[str, Any]) -> Any:
    """Return a column of the distinct values, in any order."""
    if is_text(column.dtype):  # pandas encodes text to find where it repeats
        return pd.Series(column.unique(), name=column.name)
    if isinstance(column, pd.Series) and isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        return pd.Series(distinct_numbers(column.to_numpy()), name=column.name)
    return column.drop_duplicates()


def _join_distinct(columns: list[Any], options: dict[str, Any]) -> Any:
    return _distinct(concat(columns), options)


def _n_distinct(column: Any, dtype: Any, options: dict[str, Any]) -> Any:
    if column.dtype == object:  # None and NaN are counted as pandas does
        return pd.Series([column.nunique(**options)])
    return pd.Series([int(column.notna().sum()) if options.get("dropna", True) else len(column)])


def _simple(how: str, again: str, *names: str) -> tuple[Any, Any, Any]:
    return (partial(applied, how, names), partial(applied_again, again, names), _as_is)


# Products of whole numbers, and as floats: pandas has floats of all if one partition has (as years do where a time is missing), and the
# product of whole numbers may not fit then.


def _products(column: Any, options: dict[str, Any]) -> tuple[Any, float | None]:
    cell = objects_value("prod", column, options)
    is_whole = isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu"
    return cell, float(np.prod(column.to_numpy(dtype="float64"))) if is_whole else None


def _join_products(cells: list[Any], options: dict[str, Any]) -> tuple[Any, float | None]:
    pairs = [cell if isinstance(cell, tuple) else (cell, None) for cell in cells]  # devices have made one of them
    floats = [product for _, product in pairs if product is not None]
    are_mixed = len(floats) < len(pairs)
    parts = [pd.Series([product]) if are_mixed and product is not None else cell for cell, product in pairs]
    joined = objects_value_again("prod", parts, options)
    return joined, None if are_mixed else float(np.prod(floats))


def _product(cell: Any, dtype: Any, options: dict[str, Any]) -> Any:
    return known_value("prod", cell[0] if isinstance(cell, tuple) else cell, dtype, options)


_STEPS: dict[str, tuple[Any, Any, Any]] = {
    "sum": (partial(objects_value, "sum"), partial(objects_value_again, "sum"), partial(known_value, "sum")),
    "prod": (_products, _join_products, _product),
    "min": (partial(objects_value, "min"), partial(objects_value_again, "min"), partial(known_value, "min")),
    "max": (partial(objects_value, "max"), partial(objects_value_again, "max"), partial(known_value, "max")),
    "any": _simple("any", "any", "skipna"),
    "all": _simple("all", "all", "skipna"),
    "count": _simple("count", "sum"),
    "nunique": (_distinct, _join_distinct, _n_distinct),
    "mean": (_sums, _join_sums, _mean),
    "var": (_moments, _join_moments, _variance),
    "std": (_moments, _join_moments, _deviation),
    "sem": (_moments, _join_moments, _standard_error),
    **STEPS,
}


# Reductions whose result has rows.


def value_counts(
    node: FrameExpr, *, sort: bool, ascending: bool, dropna: bool, normalize: bool, split_every: int | None
) -> TreeReduce:
    """Return the node of ``series.value_counts(...)``."""
    meta = node.meta.value_counts(sort=sort, ascending=ascending, dropna=dropna, normalize=normalize)
    steps = Operation(
        partial(counts_of_values, dropna),
        partial(_join_counts, dropna, meta),
        partial(_finish_counts, sort, ascending, dropna, normalize, meta),
    )
    return tree(node, steps, meta, "value-counts", split_every=split_every, chunk_type=ValuesChunk)


@takes_blocks
def counts_of_values(dropna: bool, block: Any) -> Any:
    """Return how often each value of a partition occurs, in order of appearance."""
    if type(block) is ColumnBlock:
        block = block.series()
    if block.dtype == object and not HAS_COPY_ON_WRITE:  # before, pandas found a dtype for the labels of each partition
        kept = block.dropna() if dropna else block
        labels = pd.Index(kept.to_numpy(), dtype=object, name=block.name)
        return _join_counts_of_objects(pd.Series(np.ones(len(kept), dtype=np.int64), index=labels, name="count"))
    return block.value_counts(sort=False, dropna=dropna)


def missing_are_last(dtype: Any) -> bool:
    """Whether pandas counts missing values last, wherever they are first: where values and missing ones are kept apart."""
    return isinstance(dtype, (BaseMaskedDtype, pd.CategoricalDtype))


def _join_counts(dropna: bool, meta: Any, counts: list[Any]) -> Any:
    joined = concat_promised(meta, counts)
    if joined.index.dtype == object and joined.index.nlevels == 1:
        return _join_counts_of_objects(joined)
    if joined.index.nlevels > 1:
        return joined.groupby(level=0, sort=False, dropna=dropna, observed=False).sum()
    labels = joined.index  # as an array: pandas looks for a row that has an index's name as its label
    made = joined.groupby(array_of(labels), sort=False, dropna=dropna, observed=False).sum()
    made.index.name = labels.name
    return made


def _join_counts_of_objects(counts: Any) -> Any:
    """Return the sums of the counts of equal objects; None, NaN and NaT are counted apart, as pandas does."""
    labels = counts.index.to_numpy()
    keys = labels.copy()
    for place in np.flatnonzero(pd.isna(labels)):
        keys[place] = (_join_counts_of_objects, type(labels[place]))  # equal to no label
    codes = pd.factorize(keys)[0]
    sums = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(sums, codes, counts.to_numpy())
    firsts = np.unique(codes, return_index=True)[1]
    return pd.Series(sums, index=pd.Index(labels[firsts], dtype=object, name=counts.index.name), name=counts.name)


def _finish_counts(sort: bool, ascending: bool, dropna: bool, normalize: bool, meta: Any, counts: list[Any]) -> Any:
    joined = _join_counts(dropna, meta, counts)
    if missing_are_last(joined.index.dtype):
        is_missing = np.asarray(joined.index.isna())
        joined = joined.iloc[np.argsort(is_missing, kind="stable")] if is_missing.any() else joined
    if sort:
        joined = joined.sort_values(ascending=ascending, kind="stable")
    if normalize:
        joined = joined / joined.sum()
    joined.name = meta.name
    joined.index.name = meta.index.name
    are_texts = {one.index.dtype for one in counts if len(one)} == {joined.index.dtype}
    if meta.index.dtype == object and joined.index.dtype != object and not are_texts:  # pandas 3 makes text of objects
        joined.index = joined.index.astype(object)
    return joined.astype(meta.dtype)


def join_all(node: FrameExpr, title: str = "concat") -> TreeReduce:
    """Return the node that joins all partitions into one."""
    return tree(
        node,
        Operation(_same, joined := partial(concat_promised, node.meta), joined),
        node.meta,
        title,
        chunk_type=WholeChunk,
    )


def _same(block: Any) -> Any:
    return block


@takes_blocks
@takes_any_library
def _count_true(series: Any) -> int:
    return int((series.series() if type(series) is ColumnBlock else series).sum())
