"""Groups by one stretch of time after the other: aggregated as the bins of `resample`, with the other methods of pandas' groups.

Methods that give rows group them by the label of their bin, in the order of times. What else is not an aggregation is computed in one.
"""

from __future__ import annotations

from collections.abc import Callable
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
    """What is grouped.

    Attributes
    ----------
    frame
        A lazy frame or series.
    by
        A `pandas.Grouper` of stretches of time.
    selection
        Which columns are chosen of the groups.
    group_keys
        As in ``groupby``.
    label
        Returns of a frame that without the column of times, and the label of each row's bin.
    """

    frame: Any
    by: Any
    selection: Any
    group_keys: bool
    label: Callable[[Any], tuple[Any, Any]]


class GroupsOfTimes(Resampler):
    """Groups by stretches of time. Made by ``groupby(pandas.Grouper(freq=...))``."""

    def __init__(self, bins: Resampler, grouped: Grouped) -> None:
        super().__init__(bins._frame, bins._bins, is_chosen=bins._is_chosen)
        self._grouped = grouped

    def _selected(self, columns: Any) -> GroupsOfTimes:
        return GroupsOfTimes(super()._selected(columns), self._grouped._replace(selection=columns))

    def __getattr__(self, name: str) -> Any:
        if name in _WITH_TIMES or name in _ROWS:
            return getattr(self._by_labels(with_times=name in _WITH_TIMES), name)
        if name in _WHOLE:
            return partial(self._in_one_partition, name)
        if name in _WINDOWS:
            raise NotImplementedError(
                f"groupby by stretches of time has no {name}(): apply() calls a function with each group, as apply(lambda rows: rows.{name}(...).mean()), "
                f"and groupby(key).{name}() has windows in groups of a key that is no pandas.Grouper"
            )
        return super().__getattr__(name)

    def __dir__(self) -> list[str]:
        names = {*super().__dir__(), *_WITH_TIMES, *_ROWS, *_WHOLE}
        return sorted(names.difference(_OF_RESAMPLE))

    def _by_labels(self, *, with_times: bool) -> Any:
        """Return the rows grouped by the label of their bin, which keep their own labels."""
        grouped = self._grouped
        rows = _in_order_of_times(grouped.frame, grouped.by)
        frame, labels = grouped.label(rows)
        groups = (rows if with_times else frame).groupby(labels, group_keys=grouped.group_keys)
        return groups if grouped.selection is None else groups[grouped.selection]

    def transform(self, func: Any = None, /, *args: Any, **kwargs: Any) -> Any:
        """Return a row for each row: what a function makes of its group, as `GroupBy.transform` does."""
        return self._by_labels(with_times=False).transform(func, *args, **kwargs)

    def ffill(self, limit: int | None = None) -> Any:
        """Return the rows with missing values replaced by the last one before them in their group."""
        return self._by_labels(with_times=False).ffill(limit)

    def bfill(self, limit: int | None = None) -> Any:
        """Return the rows with missing values replaced by the next one after them in their group."""
        return self._by_labels(with_times=False).bfill(limit)

    def quantile(self, q: Any = 0.5, **kwargs: Any) -> Any:
        """Return a quantile of each group, or several of them; those in one partition."""
        if pd.api.types.is_list_like(q):
            return self._in_one_partition("quantile", q, **kwargs)
        return super().quantile(q, **kwargs)

    def _at_edges(self, wish: Any, how: str) -> Any:
        raise AttributeError(f"groupby by stretches of time has no {how}(), in pandas too: resample() has it")

    def _in_one_partition(self, how: str, /, *args: Any, **kwargs: Any) -> Any:
        """Return what a method of pandas' groups makes of all rows in one partition."""
        grouped, call = self._grouped, Call(how, args, kwargs)
        node = grouped.frame.expr
        options = (grouped.by, grouped.selection, grouped.group_keys, call)
        made = of_samples_at_hand(partial(_of_two_groups, *options), node.meta, who=f"groupby.{how}")
        from_block = BlockCall(partial(_of_groups, *options), (Block(0),), label=f"groupby-{how}")
        return wrap(OfBlock(in_one_partition(node), (), from_block, empty(made)))

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


_WITH_TIMES = frozenset(["head", "tail", "filter", "nth"])
"""Methods whose rows have the column of times."""
_ROWS = frozenset(["cumcount", "cummax", "cummin", "cumprod", "cumsum", "diff", "pct_change", "rank", "shift"])
_WHOLE = frozenset(
    [
        "all", "any", "corr", "cov", "describe", "idxmax", "idxmin", "kurt", "ngroup", "nlargest", "nsmallest", "skew", "unique", "value_counts",
    ]
)  # fmt: skip
_WINDOWS = frozenset(["rolling", "expanding", "ewm"])
_OF_RESAMPLE = frozenset(["asfreq", "interpolate", "nearest"])


def _in_order_of_times(frame: Any, by: Any) -> Any:
    """Return the rows in the order in which pandas' groups by stretches of time have them."""
    if by.key is not None:
        return frame.sort_values(by.key, na_position="first")
    return frame if frame.known_divisions else frame.sort_index(na_position="first")


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
