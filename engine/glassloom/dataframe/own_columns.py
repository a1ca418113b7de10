"""Whether a key of groups is a column of the frame: pandas leaves it out of what the groups are made of.

pandas asks whether both refer to the same memory. So each node has a *mirror*: an empty pandas object on which the node's own call was made, so
that pandas notes of it what it would note of all rows. Calls that copy values, or are a user's, have mirrors of their own. What pandas copies
only if values are missing, as `fillna` and `dropna` do, counts as copied.
"""

from __future__ import annotations

from typing import Any, TypeVar

import pandas as pd

from glassloom.backends.pandas_ import are_in_one_place, block_numbers, refers_to, with_own_memory, without_values
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.call import BlockCall, Method
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.nodes import Assign, BlockOp, Filter, FrameExpr, Projection, Relabelled
from glassloom.dataframe.partitions import Partitions

_Node = TypeVar("_Node", bound=FrameExpr)
_METHODS = frozenset(
    {
        "rename", "astype", "reset_index", "rename_axis", "set_axis", "add_prefix", "add_suffix", "droplevel", "swaplevel", "reorder_levels",
        "head", "tail",
    }
)  # fmt: skip
"""Methods after which pandas has columns where they were, but for those whose dtype changes."""


class NotOwn:
    """What stands for no label: None is one."""


def own_column(frame: FrameExpr, series: FrameExpr) -> Any:
    """Return the label of the column that a lazy series is, made of this very node; else `NotOwn`."""
    is_column = isinstance(series, Projection) and not isinstance(series.columns, list) and not series.is_copy
    return series.columns if is_column and series.frame is frame else NotOwn  # type: ignore[attr-defined]


def is_own(frame: FrameExpr, series: FrameExpr | pd.Series) -> bool:
    """Whether pandas takes a series for the column of its name. Of equal dtypes it also takes others of a frame for it that have got its name."""
    name = (series.meta if isinstance(series, FrameExpr) else series).name
    if not has_label(frame, name):
        return False
    if not HAS_COPY_ON_WRITE:  # pandas compares the objects
        return isinstance(series, Projection) and series.frame.name == frame.name
    return refers_to(mirror(series) if isinstance(series, FrameExpr) else series, mirror(Projection(frame, name)))


def has_same_values(frame: FrameExpr, series: FrameExpr) -> bool:
    """Whether a lazy series that is a frame's own has the values of the column of its name, in its dtype, for each row of the frame."""
    if not HAS_COPY_ON_WRITE:
        return True
    if (
        series.meta.dtype != frame.meta[series.meta.name].dtype
    ):  # pandas takes `astype("category")` of text for the column, too
        return False
    has_rows = series.rows == frame.rows or _all_rows(series) == _root(frame).rows
    return has_rows and are_in_one_place(mirror(series), mirror(Projection(frame, series.meta.name)))


def _root(node: FrameExpr) -> FrameExpr:
    while before := _mirrored(node):
        node = before[0]
    return node


def _all_rows(node: FrameExpr) -> str:
    """Return which rows those are that a node has all of, perhaps in other partitions."""
    while (before := _mirrored(node)) and not (_keeps_columns(node) or isinstance(node, Partitions)):
        node = before[0]
    return node.rows


def require_same_labels(frame: FrameExpr, series: FrameExpr) -> None:
    """Check that a column of the frame has its labels, if it is another frame's: `reset_index` gives rows new ones.

    Raises
    ------
    NotImplementedError
        If it isn't known before.
    """
    if _is_numbered(frame) != _is_numbered(series) and not (_counts_rows(frame) and _counts_rows(series)):
        raise NotImplementedError(
            f"groupby: the key is the column {series.meta.name!r} as it was before or after reset_index(), and pandas aligns it by labels, which "
            f"may be others: give the frame's own column, groupby({series.meta.name!r})"
        )


def _is_numbered(node: FrameExpr) -> bool:
    while (before := _mirrored(node)) and not isinstance(node, Relabelled):
        node = before[0]
    return isinstance(node, Relabelled)


def _counts_rows(node: FrameExpr) -> bool:
    """Whether the labels of rows count them, as far as it is known without them."""
    while (before := _mirrored(node)) and node.rows == before[0].rows:
        node = before[0]
    is_whole = isinstance(node, Read) and node.numbers is None and not node.condition
    labels = node.meta.index
    return (
        (is_whole or isinstance(node, Relabelled))
        and isinstance(labels, pd.RangeIndex)
        and labels.start == 0
        and labels.step == 1
    )


def has_label(frame: FrameExpr, name: Any) -> bool:
    """Whether one column of a frame has a label."""
    return isinstance(frame.meta, pd.DataFrame) and list(frame.meta.columns).count(name) == 1


def blocks_of_columns(frame: FrameExpr) -> dict[Any, int]:
    """Return for each column of a frame the number of the block of memory that pandas would have it in."""
    numbers = block_numbers(mirror(frame))
    return dict(zip(frame.meta.columns, numbers, strict=True))


def copied(node: _Node) -> _Node:
    """Return a node of the same name and rows that is a copy to pandas."""
    made = node.renamed(node.name)
    vars(made).update(vars(node))
    made.mirror = None
    made.is_copy = True
    return made


def mirror(node: FrameExpr) -> Any:
    """Return the mirror of a node. It is kept: each copy has but one."""
    pending = [node]
    while pending:
        one = pending[-1]
        before = [] if one.mirror is not None else [other for other in _mirrored(one) if other.mirror is None]
        pending.extend(before)
        if not before:
            pending.pop()
            one.mirror = _made(one) if one.mirror is None else one.mirror
    return node.mirror


def _mirrored(node: FrameExpr) -> list[FrameExpr]:
    """Return the nodes whose mirrors that of a node is made of."""
    if isinstance(node, Assign):
        *chain, base = _chain(node)
        return [base, *(value for one in chain for value in one.values if isinstance(value, FrameExpr))]
    if isinstance(node, Projection) and not isinstance(node.columns, list):
        return [_home(node)]
    has_one = isinstance(node, (Projection, Filter)) or node.keeps_memory or _replays(node) or _keeps_columns(node)
    return [node.frame] if has_one else []  # type: ignore[attr-defined]


def _made(node: FrameExpr) -> Any:
    before = [one.mirror for one in _mirrored(node)]
    if isinstance(node, Read) and node.source.mirror is not None and node.numbers is None and not node.condition:
        made = node.source.mirror if node.columns is None else node.source.mirror[list(node.columns)]
    elif not before:
        has_columns = isinstance(node.meta, (pd.DataFrame, pd.Series))
        return without_values(node.meta.copy()) if has_columns else node.meta
    elif isinstance(node, Assign):
        made = _with_columns(node)
    elif isinstance(node, Projection):
        made = before[0] if isinstance(before[0], pd.Series) else before[0][node.columns]
    elif isinstance(node, Filter):
        made = with_own_memory(before[0])
    else:
        made = node.call(before[0]) if _replays(node) else before[0][:]  # type: ignore[attr-defined]
    return with_own_memory(made.copy()) if node.is_copy else made


def _chain(node: Assign) -> list[Any]:
    """Return nodes of which each adds columns to the next one, and the frame that the last of them adds to: they need no mirrors of their own."""
    found: list[Any] = [node]
    while isinstance(before := found[-1].frame, Assign) and before.mirror is None and not before.is_copy:
        found.append(before)
    return [*found, before]


def _home(column: Projection) -> FrameExpr:
    """Return the frame that a column is from, or the series that has been assigned to it."""
    node, label = column.frame, column.columns
    while isinstance(node, Assign) and not node.is_copy:
        if label not in node.names:
            node = node.frame
            continue
        value = node.values[len(node.names) - 1 - node.names[::-1].index(label)]
        return value if isinstance(value, FrameExpr) and isinstance(value.meta, pd.Series) else node
    return node


_MOST_BLOCKS = 90
"""pandas warns where a column is added to a frame of more than 100 blocks."""


def _with_columns(node: Assign) -> Any:
    *chain, base = _chain(node)
    made = base.mirror.copy(deep=False)
    values = [pair for one in reversed(chain) for pair in zip(one.names, one.values, strict=True)]
    if len(values) + len(made.columns) > _MOST_BLOCKS and made.columns.is_unique:
        made = {name: made[name] for name in made.columns}
    for name, value in values:
        made[name] = value.mirror if isinstance(value, FrameExpr) else value
    if isinstance(made, dict):
        made = pd.DataFrame(dict(enumerate(made.values())), index=base.mirror.index, copy=False).set_axis(
            list(made), axis=1
        )
    return made


def _replays(node: FrameExpr) -> bool:
    """Whether a node's own call makes its mirror."""
    function = _function_of(node)
    is_method = isinstance(function, Method) and function.path[0] in _METHODS
    return (is_method or getattr(function, "chooses_columns", False)) and not node.others  # type: ignore[attr-defined]


def _keeps_columns(node: FrameExpr) -> bool:
    """Whether pandas leaves all columns where they are, as of a slice of rows."""
    return bool(getattr(_function_of(node), "keeps_columns", False))


def _function_of(node: FrameExpr) -> Any:
    call = getattr(node, "call", None) if isinstance(node, BlockOp) else None
    return getattr(call.function, "func", call.function) if isinstance(call, BlockCall) else None
