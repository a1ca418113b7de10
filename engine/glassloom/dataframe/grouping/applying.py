"""`apply` over several partitions, where what pandas makes of a function's results depends on all of them.

Of series with the same labels pandas makes a row for each group, of others one long series; and where a function returns None for some groups,
a missing value. A partition knows its own groups alone: it notes what the function returned, and the labels of all partitions are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.grouping.spec import Call, users_of
from glassloom.dataframe.grouping.wholes import Grouping, OfGroups, lacks_texts, of_groups
from glassloom.dataframe.lazy_closures import require_at_hand_values
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import wrap
from glassloom.errors import MetaError

WITHOUT_KEYS = {} if HAS_COPY_ON_WRITE else {"include_groups": False}
"""With which `apply` of pandas gives functions no keys among the columns, as pandas 3 does in any case."""
FRAMES, SERIES, VALUES, NOTHING, UNTRIED = "frames", "series", "values", "nothing", "untried"


@dataclass(frozen=True)
class Apply(Call):
    """A call of ``apply``, with the kind of what its function returned for made-up rows, or `UNTRIED`. `NOTHING`: it was None."""

    kind: str = UNTRIED

    def noting(self, grouped: Any, values: list[Any], labels: list[Any] | None = None) -> Any:
        """Return what pandas makes of groups, and put what the function returns for each into a list, and the group's `labels` into another."""
        function, *args = self.args

        def called(group: Any, *some: Any, **options: Any) -> Any:
            if labels is not None:
                labels.append(group.index)
            values.append(function(group, *some, **options))
            return values[-1]

        made = grouped.apply(called, *args, **self.kwargs)
        require_at_hand_values(made, "groupby.apply", users_of(self))
        return made


@dataclass(frozen=True)
class TriedApply(Apply):
    """An `Apply` that remembers what its function returned. It is called with made-up rows."""

    values: list[Any] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)

    def __call__(self, grouped: Any) -> Any:
        return self.noting(grouped, self.values, self.labels)

    @property
    def has_labels_of_values(self) -> bool:
        """Whether it returned series whose labels may be made of values, or are as many as the group's rows, but aren't those of the rows."""
        if len(self.values) != len(self.labels) or not self.values:
            return False
        pairs = [(value, labels) for value, labels in zip(self.values, self.labels, strict=True) if value is not None]
        if not pairs or not all(isinstance(value, pd.Series) for value, _ in pairs):
            return False
        if all(value.index.identical(labels) for value, labels in pairs):
            return False
        first = pairs[0][0].index
        return not all(value.index.equals(first) for value, _ in pairs) or all(
            value.index.equals(pd.RangeIndex(len(labels))) for value, labels in pairs
        )

    def settled(self) -> Apply:
        """Return the call for the rows."""
        return Apply(self.method, self.args, self.kwargs, self.chain, _kind(self.values) if self.values else UNTRIED)


def _kind(values: list[Any]) -> str:
    """Return of what kind the first result is that isn't None, as pandas asks for it."""
    some = next((value for value in values if value is not None), None)
    if some is None:
        return NOTHING
    return FRAMES if isinstance(some, pd.DataFrame) else SERIES if isinstance(some, pd.Series) else VALUES


class _Applied(NamedTuple):
    """What a partition's groups make.

    Attributes
    ----------
    rows
        The result; of groups for all of which the function returned None their keys.
    kind
        Of what kind the function's results are.
    labels
        The labels that all series have; `_UNLIKE` if they have not the same, or are no series.
    """

    rows: Any
    kind: str
    labels: Any


class _Common(NamedTuple):
    """What all partitions together say: the labels of all series, or `_UNLIKE`, and an empty object like the results."""

    labels: Any
    like: Any


_UNLIKE = "unlike"


def of_applied(grouping: Grouping, call: Callable[[Any], Any], meta: Any, title: str, count: int) -> FrameExpr:
    """Return the node of what pandas makes of whole groups, as `of_groups` does, also of the results of a user's function.

    Raises
    ------
    MetaError
        If nothing is known of the results, and their rows have to be numbered.
    """
    if not isinstance(call, Apply) or grouping.node.npartitions == 1 or call.kind == FRAMES:
        return of_groups(grouping, call, meta, title, count)
    if call.kind == NOTHING and not grouping.recipe.as_index:
        raise MetaError(
            f"{title}: the function returned None for two made-up rows, which doesn't tell whether rows are numbered with as_index=False. Say "
            "what it returns with meta=, an empty frame like the result"
        )
    selection = grouping.recipe.selection
    is_of_frames = not grouping.is_series and (selection is None or isinstance(selection, list))
    node = of_groups(grouping, partial(_of_partition, call, meta, is_of_frames), meta, title, count)
    if call.kind == NOTHING or (call.kind == SERIES and is_of_frames):
        common = tree(node, Operation(_said, _common, _common), None, f"{title}-labels")
        finish = BlockCall(partial(_as_all, meta, call.kind, title), (Block(0), Block(1)), label=title)
        return OfGroups(node, (common,), finish, meta)
    return OfGroups(node, (), BlockCall(partial(_as_meta, meta), (Block(0),), label=title), meta)


def with_labels_found(grouping: Grouping, call: TriedApply, meta: Any, title: str) -> Any:
    """Return the meta of what pandas makes of series whose labels only the rows tell: a frame if all groups have the same. That is found out now."""
    selection = grouping.recipe.selection
    is_of_frames = not grouping.is_series and (selection is None or isinstance(selection, list))
    is_settled = grouping.node.npartitions == 1 and grouping.recipe.as_index  # by the rows, as in pandas
    if not is_of_frames or is_settled or not call.has_labels_of_values:
        return meta
    found = of_groups(grouping, partial(_tried, call.settled()), meta, title, grouping.node.npartitions)
    common = wrap(tree(found, Operation(_as_tried, _common, _common), None, f"{title}-labels")).compute()
    if common is None:
        return meta
    like: tuple[Any, Any] = common.like
    return like[0] if isinstance(common.labels, pd.Index) else like[1]


def _tried(call: Apply, grouped: Any) -> _Common | None:
    """Return the labels of a partition's results, with an empty frame of a row for each group and an empty long series; None if it has no series."""
    values: list[Any] = []
    made = call.noting(grouped, values)
    values = values[len(values) - grouped.ngroups :]
    if _kind(values) != SERIES:
        return None
    if isinstance(made, pd.DataFrame):
        return _Common(made.columns, (made.iloc[:0], _long(grouped, values).iloc[:0]))
    return _Common(_UNLIKE, (None, made.iloc[:0]))


def _as_tried(common: Any) -> _Common | None:
    return common if isinstance(common, _Common) else None


def _of_partition(call: Apply, meta: Any, is_of_frames: bool, grouped: Any) -> Any:
    values: list[Any] = []
    made = call.noting(grouped, values)
    values = values[len(values) - grouped.ngroups :]
    kind = _kind(values)
    labels: Any = _UNLIKE
    if kind == NOTHING:
        sizes = grouped.size()
        return _Applied(sizes.iloc[:, :-1] if isinstance(sizes, pd.DataFrame) else sizes.index, kind, None)
    if kind == SERIES and is_of_frames and isinstance(made, pd.DataFrame):
        labels = made.columns
        if isinstance(meta, pd.Series):
            made = _long(grouped, values)
    if call.chain is not None and isinstance(made, pd.Series):
        made = call.chain(made)
    return _Applied(made, kind, labels)


def _long(grouped: Any, values: list[Any]) -> Any:
    """Return series of groups under each other, as pandas has those whose labels aren't the same."""
    some = next(value for value in values if value is not None)
    rows: list[Any] = [pd.Series(index=some.index) if value is None else value for value in values]
    if not (grouped.group_keys and grouped.as_index):
        return pd.concat(rows)
    keys = grouped.size().index
    levels: Any = list(keys.levels) if isinstance(keys, pd.MultiIndex) else [keys]
    return pd.concat(rows, keys=keys, levels=levels, names=keys.names)


def _said(applied: Any) -> _Common | None:
    """Return what a partition says; None if it has no groups, or the function returned None for all."""
    if not isinstance(applied, _Applied) or applied.kind == NOTHING:
        return None
    return _Common(applied.labels, None if applied.kind == FRAMES else applied.rows.iloc[:0])


def _common(partitions: list[_Common | None]) -> _Common | None:
    found = [one for one in partitions if one is not None]
    if not found:
        return None
    first = found[0]
    are_same = all(isinstance(one.labels, pd.Index) and one.labels.equals(first.labels) for one in found)
    return first if are_same else _Common(_UNLIKE, first.like)


def _as_meta(meta: Any, applied: Any) -> Any:
    """Return a partition's result as `meta` says."""
    if not isinstance(applied, _Applied):
        return applied
    if applied.kind == NOTHING:
        return _missing(meta, applied.rows)
    if applied.kind == VALUES and _lacks_dtype(applied.rows, meta):
        return meta.reindex(applied.rows.index)
    if applied.kind == SERIES and isinstance(meta, pd.DataFrame) and isinstance(applied.rows, pd.Series):
        raise MetaError(
            "groupby-apply: meta= is a frame, and the function returned series with other labels for other groups, of which pandas makes "
            "one long series: give meta=, an empty series like that"
        )
    return _with_dtypes_of_missing(applied.rows, meta)


def _with_dtypes_of_missing(rows: Any, meta: Any) -> Any:
    """Return rows whose columns without any value, which are objects or floats, have the dtypes of `meta`."""
    are_frames = isinstance(rows, pd.DataFrame) and isinstance(meta, pd.DataFrame)
    if not are_frames or not rows.columns.equals(meta.columns):
        return rows
    for place, dtype in enumerate(meta.dtypes):
        column = rows.iloc[:, place]
        has_missing = not (isinstance(dtype, np.dtype) and dtype.kind in "iubO")
        if column.dtype in (object, float) and column.dtype != dtype and has_missing and column.isna().all():
            rows = rows.copy(deep=False)
            rows.isetitem(place, column.astype(dtype))
    return rows


def _lacks_dtype(rows: Any, meta: Any) -> bool:
    """Whether values are all missing, which says nothing of their dtype, where others are times or text."""
    if not (isinstance(rows, pd.Series) and isinstance(meta, pd.Series)) or rows.dtype == meta.dtype:
        return False
    return (meta.dtype.kind in "mM" and bool(rows.isna().all())) or lacks_texts(rows, meta.dtype)


def _as_all(meta: Any, tried: str, title: str, applied: Any, common: _Common | None) -> Any:
    """Return a partition's result if all partitions make what was made of made-up rows.

    Raises
    ------
    MetaError
        If not: the groups' labels, which only the rows tell, make another kind of result.
    """
    if not isinstance(applied, _Applied) or common is None:
        return meta
    is_long = isinstance(common.labels, str)
    is_row = applied.kind == SERIES and isinstance(applied.rows, pd.DataFrame)
    if (tried == SERIES and is_long != isinstance(meta, pd.Series)) or (is_long and is_row):
        found, made, kind = _LONG if is_long else _FRAME
        raise MetaError(
            f"{title}: the function returned series with {found}, of which pandas makes {made}; it was tried on two made-up rows, for which "
            f"that wasn't so. Say it with meta=, an empty {kind} like the result, with its index"
        )
    if applied.kind != NOTHING:
        return _with_dtypes_of_missing(applied.rows, meta)
    return meta if common.like is None else _missing(common.like, applied.rows)


def _missing(like: Any, keys: Any) -> Any:
    """Return what is missing of groups with some keys: labels, or columns beside the results."""
    if isinstance(keys, pd.Index):
        return like.reindex(keys)
    return (
        like.reindex(keys.index).assign(**{name: keys[name] for name in keys})
        if isinstance(like, pd.DataFrame)
        else like
    )


_LONG = ("other labels for other groups", "one long series", "series")
_FRAME = ("the same labels for all groups", "a frame with a row for each", "frame")
