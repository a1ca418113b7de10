"""Rewrites of ``frame.mean()["x"]``, ``frame.describe()["x"]``, ``frame.corr().loc["x", "y"]``: what isn't wanted of the results isn't computed, nor read."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import columns_of
from glassloom.dataframe.aggregated_tables import (
    described_columns,
    description_of_numbers,
    frame_of_quantiles,
    row_of_scalars,
    rows_by_column,
)
from glassloom.dataframe.assembled import Assembled
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.column_nodes import are_of_list, are_some
from glassloom.dataframe.correlation import narrowed_correlation
from glassloom.dataframe.derived_meta import names_of
from glassloom.dataframe.nodes import FrameExpr, Projection, Rowwise, empty
from glassloom.dataframe.positions import labels_chosen, rows_of_labels
from glassloom.dataframe.prefix import CarriedRows
from glassloom.dataframe.reduce import reduce_columns, reduced_by_name
from glassloom.dataframe.reduction_nodes import TreeReduce
from glassloom.expr import Expr, rule

_OF_ONE_DTYPE = frozenset(["count", "nunique", "mean", "std", "var", "sem", "skew", "kurt"])
"""Reductions whose results' dtype doesn't depend on whether whole numbers are missing."""


_OF_VALUES = frozenset(["max", "min", "prod", "sum"])
"""Those whose results are of the values' dtypes. A row of them is one of floats if any is a float."""
_TESTS = frozenset(["eq", "ge", "gt", "isna", "isnull", "le", "lt", "ne", "notna", "notnull"])
"""Operations that make booleans of all values."""


@rule(CarriedRows, TreeReduce, unshared=True)
def reduce_needed_columns(node: CarriedRows, inner: TreeReduce) -> Expr | None:
    """Reduce the columns whose results are chosen, if these have the same dtype without the others."""
    labels, found = labels_chosen(node), reduced_by_name(inner)
    if labels is None or found is None:
        return None
    frame, how, options = found
    kept = _kept(frame, labels)
    if kept is None or not _has_one_dtype(frame, kept, how):
        return None
    made = reduce_columns(Projection(frame, kept), how, options, inner.split_every)
    if made.meta.dtype != inner.meta.dtype:
        return None
    return node.rebuild([made, *node.operands[1:]])


def _kept(frame: FrameExpr, labels: list[Any]) -> list[Any] | None:
    """Return the columns of a frame that are among some labels, in its order; None if that are all, or none."""
    if not are_some((), frame) or not are_of_list(frame):
        return None
    kept = [name for name in names_of(frame.meta) if name in labels]
    return kept if 0 < len(kept) < len(names_of(frame.meta)) else None


def _has_one_dtype(frame: FrameExpr, kept: list[Any], how: str) -> bool:
    """Whether the dtype of a row of reductions is known before they are computed, and that of those of some columns."""
    if how in ("count", "nunique") or _is_test(frame):
        return True
    dtypes = list(frame.meta.dtypes)
    if not all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in dtypes):
        return False
    return how in _OF_ONE_DTYPE or (
        how in _OF_VALUES and any(dtype.kind == "f" for dtype in columns_of(frame.meta, kept).dtypes)
    )


def _is_test(frame: FrameExpr) -> bool:
    """Whether a frame has booleans in all columns, whatever the values are that these are made of."""
    function = frame.call.function if isinstance(frame, Rowwise) else None
    name = function.path[-1] if isinstance(function, Method) else getattr(function, "__name__", "")
    return name in _TESTS and all(dtype == np.bool_ for dtype in frame.meta.dtypes)


@rule(CarriedRows, Projection, unshared=True)
def correlate_needed_columns(node: CarriedRows, inner: Projection) -> Expr | None:
    """Correlate the columns that are chosen of a matrix, as its rows or its columns."""
    labels = labels_chosen(node)
    if labels is None or not isinstance(inner.frame, TreeReduce):
        return None
    made = narrowed_correlation(inner.frame, [*labels, *inner.labels])
    if made is None or not are_some(inner.labels, made):
        return None
    return node.rebuild([Projection(made, inner.columns, origin=inner.origin), *node.operands[1:]])


@rule(Projection, Assembled, unshared=True)
def assemble_needed_columns(node: Projection, inner: Assembled) -> Expr | None:
    """Leave out columns that are made apart, each of one column."""
    kept = _kept(inner, node.labels)
    if kept is None or not _are_apart(inner) or not are_some(node.labels, inner):
        return None
    places = [place for place, name in enumerate(names_of(inner.meta)) if name in kept]
    names = inner.meta.columns[places]
    function = inner.call.function
    assert isinstance(function, partial)
    made = _of_blocks(inner, partial(function.func, *function.args[:-1], names), places, columns_of(inner.meta, kept))
    return Projection(made, node.columns, origin=node.origin)


@rule(Projection, Assembled, unshared=True)
def aggregate_needed_columns_apart(node: Projection, inner: Assembled) -> Expr | None:
    """Leave out columns of reductions of each column, of which all have the same."""
    function, kept = inner.call.function, _kept(inner, node.labels)
    if kept is None or not isinstance(function, partial) or function.func is not rows_by_column:
        return None
    names, are_single, dtypes, labels = function.args
    lists = list(names.values())
    if are_single or list(names) != list(names_of(inner.meta)) or any(one != lists[0] for one in lists):
        return None
    count = len(lists[0])
    places = [place for place, name in enumerate(names) if name in kept]
    numbers = [place * count + number for place in places for number in range(count)]
    labels = None if labels is None else labels[[name in kept for name in labels]]
    chosen = partial(rows_by_column, {name: names[name] for name in kept}, are_single, dtypes, labels)
    made = _of_blocks(inner, chosen, numbers, columns_of(inner.meta, kept))
    return Projection(made, node.columns, origin=node.origin)


@rule(CarriedRows, Assembled, unshared=True)
def assemble_needed_values(node: CarriedRows, inner: Assembled) -> Expr | None:
    """Leave out quantiles of columns that aren't chosen, if those of all are floats."""
    labels = labels_chosen(node)
    function = inner.call.function
    if labels is None or not _are_apart(inner) or not isinstance(inner.meta, pd.Series):
        return None
    names = function.args[-1]  # type: ignore[attr-defined]
    parts = inner.operand_nodes
    dtypes = {_dtype_of(parts[block.number].meta) for block in inner.call.args}
    places = [place for place, name in enumerate(names) if name in labels]
    if not names.is_unique or names.hasnans or dtypes != {np.dtype("float64")} or not 0 < len(places) < len(names):
        return None
    chosen = partial(function.func, *function.args[:-1], names[places])  # type: ignore[attr-defined]
    made = _of_blocks(inner, chosen, places, inner.meta)
    return node.rebuild([made, *node.operands[1:]])


def _dtype_of(meta: Any) -> Any:
    return meta.dtype if isinstance(meta, pd.Series) else np.asarray(meta).dtype


_WITH_A_ROW = frozenset(["add", "sub", "mul", "truediv", "fillna"])
"""Operators and methods of a frame that treat each column by itself, with the value of its label in a series."""


@rule(Projection, Rowwise)
def combine_needed_columns(node: Projection, inner: Rowwise) -> Expr | None:
    """Leave out columns before what is done with each and its value in a row of reductions, as ``frame - frame.mean()``."""
    row = inner.others[0] if len(inner.others) == 1 else None
    if row is None or not _is_done_with_row(inner, row):
        return None
    kept = _kept(inner.frame, node.labels)
    if kept is None or not are_some(node.labels, inner):
        return None
    chosen = rows_of_labels(row, kept)
    chosen = chosen.rebuild([*chosen.operands[:-1], row.meta.loc[kept]])
    made = inner.rebuild([Projection(inner.frame, kept), (chosen,), inner.call])
    same = list(made.meta.columns) == kept and list(made.meta.dtypes) == list(columns_of(inner.meta, kept).dtypes)
    return Projection(made, node.columns, origin=node.origin) if same else None


@rule(Projection, Rowwise)
def encode_with_needed_columns(node: Projection, inner: Rowwise) -> Expr | None:
    """Leave out numbers and times that `get_dummies` leaves as they are."""
    if inner.call.label != "get-dummies" or inner.others or not are_some((), inner.frame):
        return None
    if not are_of_list(inner.frame):
        return None
    encoded = inner.call.kwargs.get("columns") or ()
    dtypes = inner.frame.meta.dtypes
    needed = [name for name, dtype in dtypes.items() if name in encoded or name in node.labels or not _is_plain(dtype)]
    if not 0 < len(needed) < len(dtypes):
        return None
    made = inner.rebuild([Projection(inner.frame, needed), *inner.operands[1:]])
    if not are_some(node.labels, inner) or not are_some(node.labels, made):
        return None
    same = all(made.meta.dtypes[name] == inner.meta.dtypes[name] for name in node.labels)
    return Projection(made, node.columns, origin=node.origin) if same else None


def _is_plain(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "iufbmM"


def _is_done_with_row(node: Rowwise, row: FrameExpr) -> bool:
    """Whether a node is an operation of a frame with a series whose labels are those of its columns."""
    function, frame = node.call.function, node.frame
    is_method = isinstance(function, Method) and len(function.path) == 1 and function.path[0] == "fillna"
    is_operator = getattr(function, "__module__", None) == "_operator" and function.__name__ in _WITH_A_ROW
    if not (is_method or is_operator) or node.call.kwargs or [type(arg) for arg in node.call.args] != [Block, Block]:
        return False
    if [arg.number for arg in node.call.args] != [0, 1] or row.npartitions != 1 or not are_some((), frame):
        return False
    if not isinstance(row, (TreeReduce, Assembled)) or not isinstance(row.meta, pd.Series):
        return False
    numbers = [*frame.meta.dtypes, row.meta.dtype]
    are_numbers = all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in numbers)
    return are_numbers and row.meta.index.equals(frame.meta.columns)


def _of_blocks(node: Assembled, function: Any, places: list[int], meta: Any) -> Assembled:
    """Return what a function makes of some of the results that a node is made of, by the places of its arguments."""
    nodes = [node.operand_nodes[node.call.args[place].number] for place in places]
    distinct = list({one.name: one for one in nodes}.values())
    numbers = {one.name: number for number, one in enumerate(distinct)}
    blocks = tuple(type(node.call.args[0])(numbers[one.name]) for one in nodes)
    call = BlockCall(function, blocks, label=node.call.label)
    given = empty(meta) if isinstance(meta, pd.DataFrame) else meta
    return Assembled(distinct[0], tuple(distinct[1:]), call, given, origin=node.origin)


def _are_apart(node: Assembled) -> bool:
    """Whether a node's function takes the labels of its results last, and each result follows from the argument at its place alone."""
    function = node.call.function
    if not isinstance(function, partial):
        return False
    if function.func is described_columns:
        listed = [_labels_of(node.operand_nodes[block.number]) for block in node.call.args]
        return all(labels is not None and labels == listed[0] for labels in listed)
    is_row = function.func is frame_of_quantiles and not function.args[1]
    return is_row or (function.func is row_of_scalars and getattr(function.args[0], "kind", "O") == "f")


def _labels_of(node: FrameExpr) -> list[str] | None:
    """Return the labels of what `describe` says of a column of numbers; None of others."""
    function = node.call.function if isinstance(node, Assembled) else None
    is_of_numbers = isinstance(function, partial) and function.func is description_of_numbers
    return function.args[0] if is_of_numbers else None  # type: ignore[union-attr]
