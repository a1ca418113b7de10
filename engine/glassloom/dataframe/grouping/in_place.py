"""`apply` without the keys in its result: rows go back to their places if the function keeps the labels of all groups, as pandas puts them.

Whether it does is known when it was called with each group. So partitions note it, and their results wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import pandas as pd

from glassloom._users_functions import call_users_function
from glassloom.backends.label_tables import holds_frames
from glassloom.backends.pandas_ import concat, guarded
from glassloom.backends.sizeof import register_sizeof, sizeof
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.grouping.applying import FRAMES, SERIES, UNTRIED, Apply
from glassloom.dataframe.grouping.wholes import Grouping, Layout, NumberedSplit, moved_groups
from glassloom.dataframe.moving.exchange import Exchange, Pieces, split
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.reduction_nodes import Chunk

_ROW = "glassloom: place of the row"
_VALUES = "glassloom: values of a series"


class BackInPlace(Exchange):
    """What a function made of the rows of whole groups: in the partitions and at the places of those rows, or in the order of the groups."""

    parameters = ("split", "count", "given_meta")
    operation = "return-rows"

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta

    @property
    def finish(self) -> Callable[[list[Any]], Any]:
        return partial(_in_order, self.given_meta)


@holds_frames("rows")
class _Applied(NamedTuple):
    """What a partition's groups make, in their order.

    Attributes
    ----------
    rows
        A frame, a series, or None: there are no groups.
    places
        Of each row the partition that it came from, and its place in that; None if the function hasn't kept the labels of all groups.
    """

    rows: Any
    places: tuple[Any, Any] | None


@register_sizeof(_Applied)
def _sizeof_applied(applied: _Applied) -> int:
    return sizeof(applied.rows) + sum(int(places.nbytes) for places in applied.places or ())


def may_keep_labels(call: Any, grouping: Grouping, meta: Any) -> TypeGuard[Apply]:
    """Whether the results of a call may go to the places of the rows of groups: frames of frames, or series of series."""
    if not isinstance(call, Apply) or not callable(call.args[0]) or grouping.recipe.group_keys:
        return False
    if grouping.node.npartitions == 1 or call.kind not in (FRAMES, SERIES, UNTRIED):
        return False
    selection = grouping.recipe.selection
    is_of_series = grouping.is_series or not (selection is None or isinstance(selection, list))
    if isinstance(meta, pd.Series) != is_of_series:  # pandas never puts series of frames back
        return False
    own, made = grouping.node.meta.index, getattr(meta, "index", None)
    return made is not None and own.names == made.names and own.nlevels == made.nlevels and own.dtype == made.dtype


def applied_in_place(grouping: Grouping, call: Apply, meta: Any, title: str) -> FrameExpr:
    """Return the node of what a function makes of whole groups, at the places of the rows if it keeps the labels of all."""
    count = grouping.node.npartitions
    moved = moved_groups(grouping, count, returns=True)
    applied = Chunk(moved, (), BlockCall(partial(_applied, Layout.of(grouping), call), (Block(0),), label=title))
    keeps_all = tree(applied, Operation(_keeps_labels, all, all), None, f"{title}-labels")
    back = partial(_split_back, meta, count)
    places = (Block(0), Block(1), Block(2))
    return BackInPlace(NumberedSplit(applied, (keeps_all,), BlockCall(back, places, label=title)), count, meta)


def _applied(layout: Layout, call: Apply, frame: Any) -> _Applied:
    places = frame.iloc[:, -2].to_numpy(), frame.iloc[:, -1].to_numpy()
    block, keys = layout.unpacked(guarded(frame.iloc[:, :-2]))
    grouped = layout.recipe.grouped(block, *keys)
    if not grouped.ngroups:
        return _Applied(None, places)
    values: list[Any] = []
    labels: list[Any] = []
    made = call_users_function(call.noting, grouped, values, labels)
    if call.chain is not None:
        made = call.chain(made)
    values, labels = values[-grouped.ngroups :], labels[-grouped.ngroups :]
    if not all(map(_has_labels, values, labels)):
        return _Applied(made, None)
    groups = np.nan_to_num(grouped.ngroup().to_numpy(), nan=-1)
    order = np.argsort(groups, kind="stable")[(groups < 0).sum() :]
    rows = pd.concat(values)
    rows = rows.rename(made.name) if isinstance(made, pd.Series) else rows
    return _Applied(rows, (places[0][order], places[1][order]))


def _has_labels(value: Any, labels: pd.Index) -> bool:
    return isinstance(value, (pd.DataFrame, pd.Series)) and value.index.equals(labels)


def _keeps_labels(applied: _Applied) -> bool:
    return applied.places is not None


def _split_back(meta: Any, count: int, applied: _Applied, keeps_all: bool, number: int) -> Pieces:
    rows = meta if applied.rows is None else applied.rows
    frame = rows.to_frame(_VALUES) if isinstance(rows, pd.Series) else rows
    if keeps_all and applied.rows is not None and applied.places is not None:
        partitions, places = applied.places
    else:
        partitions, places = np.full(len(frame), number), np.arange(len(frame))
    return split(frame.assign(**{_ROW: places}), partitions, count)


def _in_order(meta: Any, pieces: list[Any]) -> Any:
    frame = concat([piece for piece in pieces if len(piece)] or pieces[:1])
    frame = frame.take(np.argsort(frame[_ROW].to_numpy(), kind="stable")).drop(columns=_ROW)
    return frame[_VALUES].rename(meta.name) if _VALUES in frame.columns else frame
