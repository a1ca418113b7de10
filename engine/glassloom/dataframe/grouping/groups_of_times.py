"""Groups by one stretch of time after the other: the bins of `resample`, but that `apply` gives what pandas' groups give."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.grouping.applying import VALUES, TriedApply
from glassloom.dataframe.grouping.spec import Call
from glassloom.dataframe.grouping.wholes import OfBlock, in_one_partition
from glassloom.dataframe.lazy_closures import of_samples_at_hand
from glassloom.dataframe.nodes import empty
from glassloom.dataframe.resample import Resampler
from glassloom.dataframe.wrap import wrap


class Grouped(NamedTuple):
    """What is grouped: a lazy frame or series, by a `pandas.Grouper` of stretches of time, with which columns chosen, and ``group_keys``."""

    frame: Any
    by: Any
    selection: Any
    group_keys: bool


class GroupsOfTimes(Resampler):
    """Groups by stretches of time. Made by ``groupby(pandas.Grouper(freq=...))``."""

    def __init__(self, bins: Resampler, grouped: Grouped) -> None:
        super().__init__(bins._frame, bins._bins, is_chosen=bins._is_chosen)
        self._grouped = grouped

    def _selected(self, columns: Any) -> GroupsOfTimes:
        return GroupsOfTimes(super()._selected(columns), self._grouped._replace(selection=columns))

    def apply(self, func: Any = None, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function with the rows of each group, and join what it returns as `GroupBy.apply` does.

        All rows move to one partition, unless a function of a series returns a value.
        """
        if not callable(func):
            return super().apply(func, *args, **kwargs)
        grouped = self._grouped
        call = TriedApply("apply", (func, *args), kwargs)
        node = grouped.frame.expr
        sampled = partial(_of_two_groups, grouped.by, grouped.selection, grouped.group_keys, call)
        made = of_samples_at_hand(sampled, node.meta, who="groupby.apply", users=func)
        is_of_series = made.ndim == 1 and isinstance(self._frame.expr.meta, pd.Series)
        if is_of_series and call.settled().kind == VALUES and not _has_dicts(call.values):
            return super().apply(func, *args, **kwargs)
        run = partial(_of_groups, grouped.by, grouped.selection, grouped.group_keys, Call("apply", call.args, kwargs))
        whole = in_one_partition(node)
        from_block = BlockCall(run, (Block(0),), label="groupby-apply")
        return wrap(OfBlock(whole, (), from_block, empty(made)))


def _has_dicts(values: list[Any]) -> bool:
    return any(isinstance(value, dict) for value in values)


def _of_groups(by: Any, selection: Any, group_keys: bool, call: Call, block: Any) -> Any:
    groups = block.groupby(by, group_keys=group_keys)
    return call(groups if selection is None else groups[selection])


def _of_two_groups(by: Any, selection: Any, group_keys: bool, call: Call, some: Any) -> Any:
    """Return what a call makes of made-up rows in two groups that follow each other."""
    times = some[by.key] if by.key is not None else some.index.get_level_values(by.level or 0)
    first = times.iloc[0] if isinstance(times, pd.Series) else times[0]
    both = pd.Series([first, first + by.freq]).astype(times.dtype)
    rows = some.iloc[:2]
    near = (
        rows.assign(**{by.key: both.array})
        if by.key is not None
        else rows.set_axis(pd.DatetimeIndex(both, name=times.name))
    )
    return _of_groups(by, selection, group_keys, call, near)
