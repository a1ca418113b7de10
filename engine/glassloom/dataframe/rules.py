"""Rewrite rules of frame expressions: fewer columns, fewer partitions and fewer rows are read.

Each rule keeps the result the same, missing values included. Passes that need the whole plan are in `plan.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.column_nodes import (
    ByLabel,
    ChosenByColumns,
    Renamed,
    are_some,
    of_needed_columns,
)
from glassloom.dataframe.columns import are_told_apart
from glassloom.dataframe.derived_meta import names_of
from glassloom.dataframe.for_each import RawResults
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.nodes import (
    Assign,
    BlockOp,
    Columnwise,
    Constant,
    Filter,
    FrameBlockwise,
    FrameExpr,
    Held,
    LabelKeeping,
    Projection,
    Relabelled,
    Rowwise,
)
from glassloom.dataframe.partitions import Partitions
from glassloom.dataframe.predicates import is_index_of
from glassloom.dataframe.prefix import Carried
from glassloom.dataframe.reduce import Length, count_rows, sum_of
from glassloom.dataframe.reduction_nodes import Chunk
from glassloom.expr import Expr, rule

_MOST_LOOKED_AT = 20
"""Nodes in which a column is looked for."""

# Projection pushdown: columns that aren't needed aren't read. (Not below `Partitions`: those are pushed further.)


@rule(Projection, Read)
def project_while_reading(node: Projection, source: Read) -> Expr | None:
    wanted = tuple(node.labels)
    if not source.source.can_project or source.columns == wanted or not source.meta.columns.is_unique:
        return None  # a column that is read twice is chosen twice by its name
    narrowed = source.with_columns(wanted)
    return narrowed if isinstance(node.columns, list) else Projection(narrowed, node.columns, origin=node.origin)


@rule(Projection, Projection)
def project_once(node: Projection, inner: Projection) -> Expr | None:
    """Not if a column was chosen twice: then its name stands for both."""
    if not isinstance(inner.columns, list) or not inner.meta.columns.is_unique:
        return None
    return Projection(inner.frame, node.columns, origin=node.origin)


@rule(Projection, Columnwise)
def project_before_columnwise(node: Projection, inner: Columnwise) -> Expr | None:
    name, args = getattr(inner.call.function, "__name__", ""), inner.call.args
    if name in ("floordiv", "mod") and not isinstance(args[0], Block):
        return None  # zeros in a column of whole numbers make floats of others, too
    return inner.rebuild([Projection(inner.frame, node.columns, origin=node.origin), *inner.operands[1:]])


@rule(Projection, Filter)
def project_before_filter(node: Projection, inner: Filter) -> Expr | None:
    return inner.rebuild([Projection(inner.frame, node.columns, origin=node.origin), inner.predicate])


@rule(Projection, Renamed)
def project_before_renaming(node: Projection, inner: Renamed) -> Expr | None:
    wanted, labels = node.labels, inner.labels
    if not inner.has_own_labels or not 0 < len(set(wanted)) == len(wanted) < len(labels):
        return None
    places: list[Any] = [labels.get_loc(name) for name in wanted]
    old = inner.frame.meta.columns
    below = Projection(inner.frame, [old[place] for place in places], origin=node.origin)
    call = inner.call
    made = inner.rebuild([below, (), BlockCall(call.function, (call.args[0], labels.take(places)), label=call.label)])
    return made if isinstance(node.columns, list) else Projection(made, node.columns, origin=node.origin)


@rule(Renamed, Renamed)
def rename_once(node: Renamed, inner: Renamed) -> Expr | None:
    return node.rebuild([inner.frame, *node.operands[1:]])


@rule(Projection, ByLabel)
def project_before_labels(node: Projection, inner: ByLabel) -> Expr | None:
    """Apply what is said of the columns that are needed."""
    names, wanted = names_of(inner.frame.meta), node.labels
    if inner.others or not are_some(wanted, inner.frame):
        return None
    kept = {name: value for name, value in inner.of_labels.items() if name in wanted}
    if not kept:
        return Projection(inner.frame, node.columns, origin=node.origin)
    if len(set(wanted)) == len(names):
        return None
    call = inner.call
    said = BlockCall(call.function, (call.args[0], kept, *call.args[2:]), call.kwargs, call.label)
    below = Projection(inner.frame, [name for name in names if name in wanted], origin=node.origin)
    made = inner.rebuild([below, (), said])
    if made.meta.columns.nlevels != inner.meta.columns.nlevels:
        return None  # of labels that are all tuples pandas makes levels
    return Projection(made, node.columns, origin=node.origin)


@rule(Projection, Relabelled)
def project_before_resetting(node: Projection, inner: Relabelled) -> Expr | None:
    """Leave columns out before labels become columns or go, if the others are called the same then."""
    is_reset = isinstance(inner.call.function, Method) and inner.call.function.path == ("reset_index",)
    if not is_reset or not isinstance(inner.frame.meta, pd.DataFrame) or inner.others:
        return None
    wanted = node.labels
    made = of_needed_columns(inner, [name for name in names_of(inner.frame.meta) if name in wanted])
    names = () if made is None else names_of(made.meta)
    is_same = made is not None and all(name in names for name in wanted) and are_some(wanted, made)
    return Projection(made, node.columns, origin=node.origin) if made is not None and is_same else None


@rule(Projection, ChosenByColumns)
def project_before_choosing(node: Projection, inner: ChosenByColumns) -> Expr | None:
    """Leave columns out before rows are chosen by others."""
    wanted = {*node.labels, *inner.columns}
    if inner.others or not are_some(tuple(wanted), inner.frame):
        return None
    made = of_needed_columns(inner, [name for name in names_of(inner.frame.meta) if name in wanted])
    return None if made is None else Projection(made, node.columns, origin=node.origin)


@rule(Projection, LabelKeeping)
def project_before_exploding(node: Projection, inner: LabelKeeping) -> Expr | None:
    """Leave columns out before lists in others become rows."""
    is_exploded = isinstance(inner.call.function, Method) and inner.call.function.path == ("explode",)
    if not is_exploded or inner.others or not isinstance(inner.frame.meta, pd.DataFrame):
        return None
    column = inner.call.kwargs.get("column")
    exploded = column if isinstance(column, list) else [column]
    if not are_some([*exploded, *node.labels], inner.frame):
        return None
    wanted = {*exploded, *node.labels}
    made = of_needed_columns(inner, [name for name in names_of(inner.frame.meta) if name in wanted])
    return None if made is None else Projection(made, node.columns, origin=node.origin)


@rule(Projection, Assign)
def project_before_assign(node: Projection, inner: Assign) -> Expr | None:
    wanted, before = node.labels, inner.frame.meta.columns
    kept = [place for place, name in enumerate(inner.names) if name in wanted]
    if isinstance(before, pd.MultiIndex) or not are_told_apart(before):
        return None  # a label that is added gets empty ones at other levels
    if not kept:
        if isinstance(node.columns, list) and wanted and inner.meta.columns.dtype != before.dtype:
            return None  # numbers beside a text are labels of another kind
        return Projection(inner.frame, node.columns, origin=node.origin)
    if not before.is_unique:
        return None
    replaced = {inner.names[place] for place in kept}
    all_names = names_of(inner.frame.meta)
    needed = [name for name in all_names if name in wanted and name not in replaced]
    if len(kept) == len(inner.names) and len(needed) == len(all_names):
        return None
    if not needed and len(all_names):
        needed = [_bringing_rows(inner, all_names)]
        if len(kept) == len(inner.names) and len(all_names) == 1:
            return None
    below = Projection(inner.frame, needed, origin=node.origin)
    names = tuple(inner.names[place] for place in kept)
    values = tuple(inner.values[place] for place in kept)
    return Projection(Assign(below, names, values, origin=inner.origin), node.columns, origin=node.origin)


def _bringing_rows(node: Assign, names: Sequence[Any]) -> Any:
    """Return the column of which a frame's rows are told: one that is read for the values, too, if they show which."""
    left = [value for value in node.values if isinstance(value, FrameExpr)]
    for one in left:  # more are added
        if isinstance(one, (Projection, Read)) and one.rows == node.frame.rows:
            labels = one.labels if isinstance(one, Projection) else list(one.columns or ())
            return next((label for label in labels if label in names), names[0])
        if len(left) < _MOST_LOOKED_AT:
            left += [below for below in one.dependencies if isinstance(below, FrameExpr)]
    return names[0]


@rule(Chunk, Projection)
def choose_while_reducing(node: Chunk, inner: Projection) -> Expr | None:
    """Frames in memory, of which nothing is read, aren't made smaller for a function that looks at some columns only."""
    if not (node.picks_columns and isinstance(inner.columns, list) and isinstance(inner.frame, Held)):
        return None
    return node.rebuild([inner.frame, *node.operands[1:]])


@rule(Rowwise, Read)
def read_only_the_index(node: Rowwise, source: Read) -> Expr | None:
    """Read no column for the index."""
    if not _can_read_no_column(source) or not is_index_of(node):
        return None
    return node.rebuild([source.with_columns(()), *node.operands[1:]])


def _can_read_no_column(source: Read) -> bool:
    can_do = source.source.can_read_index and source.source.can_project
    return can_do and source.columns != () and source.meta.ndim == 2


# Partition pushdown: partitions that aren't needed aren't computed.


@rule(Partitions)
def drop_choice_of_all_partitions(node: Partitions) -> Expr | None:
    return node.frame if node.numbers == tuple(range(node.frame.npartitions)) else None


@rule(Partitions, Read)
def choose_while_reading(node: Partitions, source: Read) -> Expr | None:
    return source.with_numbers(node.numbers)


@rule(Partitions, Partitions)
def choose_once(node: Partitions, inner: Partitions) -> Expr | None:
    numbers = tuple(inner.numbers[number] for number in node.numbers)
    return Partitions(inner.frame, numbers, origin=node.origin)


@rule(Partitions, Projection)
@rule(Partitions, Assign)
@rule(Partitions, Filter)
@rule(Partitions, BlockOp)
def choose_before_blockwise(node: Partitions, inner: FrameBlockwise) -> Expr | None:
    if not node.numbers or any(not isinstance(d, FrameExpr) for d in inner.dependencies):
        return None
    if isinstance(inner, RawResults):
        return None

    def chosen(dependency: Expr) -> Expr:
        assert isinstance(dependency, FrameExpr)
        if inner.is_broadcast(dependency) or not _has_as_many_partitions(dependency, inner):
            return dependency
        return Partitions(dependency, node.numbers, origin=node.origin)

    made = inner.substitute(chosen)
    # Made anew of fewer columns, it would look for the rows beside among the chosen partitions.
    return made.with_columns_kept() if isinstance(made, Carried) else made


def _has_as_many_partitions(dependency: FrameExpr, node: FrameExpr) -> bool:
    return dependency.npartitions == node.npartitions


# Counting rows.


@rule(Length)
def count_known_rows(node: Length) -> Expr | None:
    lengths = node.frame.lengths
    return None if lengths is None else Constant(sum(lengths), origin=node.origin)


@rule(Length, Rowwise)
def count_before_rowwise(node: Length, inner: Rowwise) -> Expr | None:
    return Length(inner.frame, origin=node.origin) if inner.keeps_rows else None


@rule(Length, Projection)
@rule(Length, Assign)
def count_before_columns(node: Length, inner: Projection | Assign) -> Expr | None:
    return Length(inner.frame, origin=node.origin)


@rule(Length, Filter)
def count_by_predicate(node: Length, inner: Filter) -> Expr | None:
    if inner.predicate.rows != inner.frame.rows or inner.predicate.meta.dtype.kind != "b":
        return None
    return sum_of(inner.predicate, node.origin)


@rule(Length, Read)
def count_without_columns(node: Length, source: Read) -> Expr | None:
    """Read no column for the number of rows."""
    if source.lengths is not None or not _can_read_no_column(source):
        return None
    return Length(source.with_columns(()), origin=node.origin)


@rule(Length)
def count_rows_of_each_partition(node: Length) -> Expr | None:
    return count_rows(node)
