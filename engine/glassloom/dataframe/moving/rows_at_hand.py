"""A pandas object whose rows are those of a lazy one by label, where the divisions of that one aren't known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.column_at_hand import with_column_at_hand
from glassloom.dataframe.io.from_pandas import from_pandas
from glassloom.dataframe.meta import infer_meta
from glassloom.dataframe.nodes import BlockOp, Projection
from glassloom.dataframe.prefix import Carried
from glassloom.dataframe.wrap import is_node, wrap
from glassloom.errors import DivisionError


def takes_all_rows(frame: Any, other: Any) -> bool:
    """Whether each partition of a lazy object is to be beside all rows of another one, which has one partition: no labels are known to tell which."""
    if is_node(other):
        return other.npartitions == 1 and not other.known_divisions and frame.npartitions > 1
    if frame.known_divisions or frame.npartitions == 1:
        return False
    return frame.ndim == 2 or not other.index.has_duplicates


def labelled_together(frame: Any, other: Any, *, sorts: bool = True) -> tuple[Any, Any]:
    """Return a lazy object and a pandas one as two lazy ones that can be aligned by label.

    pandas sorts labels that aren't the same on both sides. Whether they are is found out now if the divisions aren't known.

    Parameters
    ----------
    sorts
        Whether labels are sorted also beside a pandas object without rows.
    """
    if frame.npartitions == 1:
        return frame, from_pandas(other, npartitions=1, sort=False)
    if frame.known_divisions:
        if other.index.has_duplicates and not other.index.is_monotonic_increasing:
            raise DivisionError(
                "labels of the pandas object repeat, and aren't in order: pandas pairs each row of a label with all others of it then. Sort it by "
                "sort_index(), or join by label with merge(left_index=True, right_index=True)"
            )
        return frame, from_pandas(other)
    if not sorts and not len(other):
        return frame, wrap(BlockOp(frame.expr, (), BlockCall(_instead, (Block(0), other), label="no-rows")))
    if len(frame) == len(other) and frame.index.compute().equals(other.index):
        return frame, _by_place(frame, other)
    if other.index.has_duplicates:  # which pair otherwise once they are sorted
        return frame, from_pandas(other, sort=False)
    return frame.sort_index(), from_pandas(other)


def _instead(block: Any, other: Any) -> Any:
    return other


def _by_place(frame: Any, other: Any) -> Any:
    """Return a pandas object with as many rows as a lazy one as a lazy object of its rows."""
    rows = frame if frame.ndim == 2 else frame.to_frame()
    columns = other if other.ndim == 2 else other.to_frame()
    made = wrap(Projection(rows.expr, []))
    for place in range(columns.shape[1]):
        made = wrap(with_column_at_hand(made, place, columns.iloc[:, place].array))
    if other.index.names != frame.index.names:
        made = made.rename_axis(index=other.index.names)
    return made.set_axis(columns.columns, axis=1) if other.ndim == 2 else made[0].rename(other.name)


def beside_all_rows(
    frame: Any, other: Any, function: Callable[[Any, Any], Any], tried: Callable[[Any, Any], Any], method: str
) -> Any:
    """Return what a function makes of each partition and all of another object, which has one; its rows are the partition's."""
    whole = other if is_node(other) else from_pandas(other, npartitions=1, sort=False)
    call = BlockCall(function, (Block(0), Block(1)), label=method)
    nodes = [frame.expr, whole.expr]
    meta = infer_meta(BlockCall(tried, call.args, label=method), nodes, method, is_users=False)
    return wrap(Carried(nodes[0], (nodes[1],), call, meta, None))
