"""`resample`: rows grouped into bins of time. The divisions say which partitions each bin needs.

First each output partition gets the rows of whole bins, and aggregates them. Then its bins without rows are put in before and
after: a scan over the first labels says whether rows precede and follow.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.backends.label_tables import holds_frames
from glassloom.backends.pandas_ import columns_of, concat, of_samples
from glassloom.dataframe.arguments import with_functions_by_name
from glassloom.dataframe.assembled import Assembled
from glassloom.dataframe.at_hand import at_hand
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.column_nodes import are_some, of_needed
from glassloom.dataframe.counted_bins import NoGap, empty_bins, not_counted, with_all_bins
from glassloom.dataframe.derived_meta import names_of
from glassloom.dataframe.grouping.wholes import OfBlock, in_one_partition
from glassloom.dataframe.lazy_arguments import with_lazy_arguments_checked
from glassloom.dataframe.lazy_closures import of_samples_at_hand
from glassloom.dataframe.method_names import methods_named
from glassloom.dataframe.moving.shape import SetDivisions
from glassloom.dataframe.nodes import FrameExpr, Projection, empty
from glassloom.dataframe.options import is_columns, refused
from glassloom.dataframe.prefix import Scan
from glassloom.dataframe.reduce import join_all
from glassloom.dataframe.time_bins import (
    Bins,
    are_bins_counted,
    bins_of,
    bins_of_labels,
    labels_apart,
    plain_times,
    require_aggregation,
    rows_by_member,
)
from glassloom.dataframe.upsampling import Edges, KnownTimes, Wish, at_times, interpolated_at_times
from glassloom.dataframe.window import Window, named_arguments
from glassloom.dataframe.wrap import operate, wrap
from glassloom.errors import MetaError
from glassloom.expr import Expr, rule
from glassloom.graph import Key, Task, TaskRef

_HOUR_NS = 3_600_000_000_000


@holds_frames("result")
class Binned(NamedTuple):
    """A result, with as many bins before the first row and after the last as pandas makes; and the rows' labels.

    `begin` and `end` are in the first bin of the partition, and in that of the next one.
    """

    result: Any
    leading: int
    trailing: int
    first: Any
    last: Any
    begin: Any
    end: Any


class BinnedBlocks(FrameExpr):
    """Aggregated bins: each block is a `Binned`, whose result is None without rows."""

    parameters = ("frame", "bins", "function", "title")

    frame: FrameExpr
    bins: Bins
    function: Callable[[Any], Any]
    title: str

    @property
    def label(self) -> str:
        return self.title

    @cached_property
    def meta(self) -> Any:
        return None

    @cached_property
    def starts(self) -> pd.DatetimeIndex:
        """The bins in which the old partitions begin, and that in which the last one ends."""
        return self.bins.starts(pd.DatetimeIndex(self.frame.divisions))

    @cached_property
    def bounds(self) -> pd.DatetimeIndex:
        """The bins in which the new partitions begin."""
        return self.starts[:-1].unique()

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        """What the bins are called in which the new partitions begin, and the last one.

        Not known of days in a time zone that are closed on the right: pandas puts one without rows before the first.
        """
        if self.bins.begins_before_rows(self.frame.meta.index.tz):
            return (None,) * (len(self.bounds) + 1)
        called = self.bins.called(pd.DatetimeIndex(self.frame.divisions))
        firsts = called[:-1][~self.starts[:-1].duplicated()]
        return (*firsts, called[-1])

    def tasks(self) -> dict[Key, Task]:
        below = self.frame.output_keys()
        begins = np.asarray(self.starts.asi8[:-1])
        ends = np.asarray(self.starts.asi8[1:])
        bounds = np.asarray(self.bounds.asi8)
        times = pd.DatetimeIndex(self.frame.divisions)[:-1][~self.starts[:-1].duplicated()]
        tasks: dict[Key, Task] = {}
        for number, key in enumerate(self.output_keys()):
            is_last = number + 1 == len(bounds)
            first = int(np.searchsorted(ends, bounds[number], side="left"))
            last = len(below) if is_last else int(np.searchsorted(begins, bounds[number + 1], side="left"))
            ends_at = (None, None) if is_last else (self.bounds[number + 1], times[number + 1])
            refs = [TaskRef(one) for one in below[first:last]]
            limits = ((self.bounds[number], times[number]), ends_at)
            tasks[key] = Task(key, _binned, (self.bins, self.function, refs, *limits))
        return tasks


class Resampled(Assembled):
    """Aggregated bins with those without rows, one after the other: the divisions are labels of bins."""

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return self.frame.divisions


def _binned(
    bins: Bins, function: Callable[[Any], Any], blocks: list[Any], begin: tuple[Any, Any], end: tuple[Any, Any]
) -> Any:
    """Aggregate the bins from one on, up to another one; of both the left label and a time are given."""
    own = [part for part in (_rows_of_bins(bins, block, begin[0], end[0]) for block in blocks) if len(part)]
    if not own:
        return Binned(None, 0, 0, None, None, begin[1], end[1])
    whole = concat(own)
    counts = bins.of(pd.Series(1, index=whole.index)).count().to_numpy()
    filled = np.flatnonzero(counts)
    trailing = len(counts) - 1 - int(filled[-1])
    labels = (whole.index[0], whole.index[-1], begin[1], end[1])
    return Binned(function(bins.of(whole)), int(filled[0]), trailing, *labels)


def _rows_of_bins(bins: Bins, block: Any, begin: Any, end: Any) -> Any:
    if not len(block):
        return block
    if not block.index.is_monotonic_increasing:
        block = block.sort_index(kind="stable")
    starts = bins.starts(block.index)
    first = int(starts.searchsorted(begin, side="left"))
    last = len(block) if end is None else int(starts.searchsorted(end, side="left"))
    return block.iloc[first:last]


def _first_label(parts: list[Any]) -> Any:
    labels = [part.first if isinstance(part, Binned) else part for part in parts]
    return next((label for label in labels if label is not None), None)


def _finished(bins: Bins, meta: Any, gap: Any, block: Binned, before: Any, following: Any) -> Any:
    """Return a result with the bins of its partition without rows; of those at the frame's ends only pandas'."""
    made = _with_empty_bins(bins, meta, gap, block, before, following)
    return made if bins.days is None else made.set_axis(bins.with_freq(made.index), axis=0)


def _with_empty_bins(bins: Bins, meta: Any, gap: Any, block: Binned, before: Any, following: Any) -> Any:
    result = block.result
    if result is None:
        is_between = before is not None and following is not None
        return empty_bins(gap, _bins_between(bins, block.begin, block.end)) if is_between else meta
    parts = [result]
    if before is not None:
        parts = [empty_bins(gap, _bins_between(bins, block.begin, block.first)), result.iloc[block.leading :]]
    if following is not None:
        parts[-1] = parts[-1].iloc[: len(parts[-1]) - block.trailing]
        parts.append(empty_bins(gap, _bins_between(bins, block.last, block.end)[1:]))
    some = [part for part in parts if len(part)]
    return some[0] if len(some) == 1 else pd.concat(some)


def _bins_between(bins: Bins, one: Any, other: Any) -> pd.DatetimeIndex:
    """Return the labels of the bins from that of a time on, up to that of another one."""
    counts = bins.of(pd.Series(1, index=pd.DatetimeIndex(sorted([one, other])))).count()
    filled = np.flatnonzero(counts.to_numpy())
    labels: pd.DatetimeIndex = counts.index[filled[0] : filled[-1]]
    return labels


@with_functions_by_name("Resampler")
@methods_named("Resampler")
class Resampler(Window):
    """Bins of time, to be aggregated. Made by `DataFrame.resample`."""

    def __init__(
        self, frame: Any, bins: Bins, selection: Any = None, *, is_chosen: bool = False, is_of_column: bool = False
    ) -> None:
        super().__init__(frame, selection)
        self._is_of_column = is_of_column
        self._bins = bins
        self._is_chosen = is_chosen

    def __repr__(self) -> str:
        return f"Resampler(rule={self._bins.rule!r})"

    def _selected(self, columns: Any) -> Resampler:
        return Resampler(self._frame[columns], self._bins, is_chosen=True)

    def _aggregated(self, how: str, args: tuple[Any, ...], kwargs: dict[str, Any], *, columnwise: bool = True) -> Any:
        frame: FrameExpr = self._frame.expr
        function = partial(_call, how, args, kwargs)
        if self._has_no_rows:
            return self._of_no_rows(function)
        if self._bins.ends is not None:
            return self._of_counted_bins(how, function)
        gap, _ = _gap_and_meta(frame, self._bins, function)
        is_apart = how != "apply" or frame.npartitions == 1 or _is_one_row_a_bin(frame, self._bins, function, gap)
        if not is_apart:  # what bins without rows give isn't known before
            frame = SetDivisions(join_all(frame), (frame.divisions[0], frame.divisions[-1]))
        kind = Assembled if how == "apply" else Resampled  # what functions return may have labels of its own
        return wrap(_binned_blocks(frame, self._bins, function, f"resample-{how}", kind))

    def _of_counted_bins(self, how: str, function: Any) -> Any:
        """Return what a function makes of bins that are counted from the first row: of groups of rows, and of bins without."""
        gap, meta = _gap_and_meta(self._frame.expr, self._bins, function)
        if how == "apply" and not _is_one_row_a_bin(self._frame.expr, self._bins, function, gap):
            raise not_counted(self._bins.rule, "of a function that makes other than a row of each bin")
        groups = self._of_groups(how, function).expr
        finish = partial(with_all_bins, self._bins.all_called(), gap)
        return wrap(OfBlock(in_one_partition(groups), (), BlockCall(finish, (Block(0),), label="resample"), meta))

    def _of_groups(self, how: str, function: Any) -> Any:
        """Return what a function makes of the groups; of each column, as in pandas, if a user's function takes columns."""
        if how == "apply" and isinstance(self._frame.expr.meta, pd.DataFrame):
            with contextlib.suppress(MetaError):
                _, args, kwargs = function.args
                return _call("agg", args, kwargs, self._groups())
        return function(self._groups())

    def agg(self, func: Any = None, /, *args: Any, **kwargs: Any) -> Any:
        """Aggregate each bin by one or several functions, as pandas does."""
        return self._aggregated("agg", (func, *args), kwargs)

    aggregate = agg

    def apply(self, func: Any = None, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function with the rows of each bin. If it returns other than one row for each, all rows move to one partition."""
        return self._aggregated("apply", (func, *args), kwargs)

    def __len__(self) -> int:
        """Return the number of bins. Computes them."""
        return len(self.size())

    @property
    def ngroups(self) -> int:
        """The number of bins. Computes them."""
        return len(self)

    @property
    def _has_no_rows(self) -> bool:
        """Whether there are no rows: then there are no divisions, which are known of all others here; of durations and periods, no ends."""
        node: FrameExpr = self._frame.expr
        return self._bins.ends is None if are_bins_counted(node.meta.index) else node.divisions[0] is None

    def _of_no_rows(self, function: Callable[[Any], Any]) -> Any:
        """Return what a function makes of no rows, or of those whose labels are all missing."""
        meta = self._frame.expr.meta
        rows = self._frame.compute() if are_bins_counted(meta.index) else meta
        return at_hand(function(self._bins.of(rows)))

    def _groups(self) -> Any:
        """Return the rows grouped by bin, which keep their places."""
        require_aggregation(self._frame.expr.meta.index, self._bins)
        return self._frame.groupby(operate(bins_of_labels, self._frame, self._bins, label="bins"))

    def transform(self, arg: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Return a row for each row: what a function makes of its bin, as `GroupBy.transform` does. Rows keep their places."""
        if self._is_of_column:
            raise NotImplementedError(
                "resample(on=...).transform(): in pandas rows have the labels of the frame then. Use "
                f"frame.groupby(pandas.Grouper(key=..., freq={self._bins.rule!r})).transform(...)"
            )
        return self._groups().transform(arg, *args, **kwargs)

    def ffill(self, limit: int | None = None) -> Any:
        """Return for each bin the row at its edge, or the last one before, at most `limit` bins ago.

        Of columns chosen of the bins, as in ``frame.resample(rule).x``, the rows stay, and missing values are filled inside of each
        bin, as in pandas. ``frame.x.resample(rule).ffill()`` has a row for each bin.
        """
        return self._groups().ffill(limit) if self._is_chosen else self._at_edges(Wish("ffill", limit), "ffill")

    def bfill(self, limit: int | None = None) -> Any:
        """Return for each bin the row at its edge, or the next one, which is at most `limit` bins away. See `ffill`."""
        return self._groups().bfill(limit) if self._is_chosen else self._at_edges(Wish("bfill", limit), "bfill")

    def nearest(self, limit: int | None = None) -> Any:
        """Return for each bin the row that is nearest to its edge, at most `limit` bins away."""
        return self._at_edges(Wish("nearest", limit), "nearest")

    def asfreq(self, fill_value: Any = None) -> Any:
        """Return for each bin the row at its edge; without one, missing values or `fill_value`."""
        return self._at_edges(Wish(fill_value=fill_value), "asfreq")

    def interpolate(self, method: str = "linear", *, axis: Any = 0, limit: int | None = None, limit_direction: Any = "forward",
                    limit_area: Any = None) -> Any:  # fmt: skip
        """Return for each bin the values at its edge, on the line between the rows and edges beside. See `DataFrame.interpolate`."""
        if is_columns(axis, "interpolate"):
            raise refused("resample().interpolate", "axis", axis, "interpolate the bins' edges, which are rows")
        self._require_all("interpolate")
        options = {"method": method, "limit": limit, "limit_direction": limit_direction, "limit_area": limit_area}
        return self._interpolated(options)

    def _interpolated(self, options: dict[str, Any]) -> Any:
        if self._has_no_rows:
            return self._of_no_rows(partial(_call, "interpolate", (), options))
        frame, edges = self._with_edges("interpolate")
        if isinstance(frame.expr.meta.index, pd.PeriodIndex):
            return at_times(frame, edges, Wish(), "resample-interpolate").interpolate(**options)
        return interpolated_at_times(frame, edges, options)

    def _require_all(self, how: str) -> None:
        if self._is_of_column:
            raise ValueError(
                f"resample(on=...).{how}(): rows are looked up by the index, as in pandas; set_index() of the column before"
            )
        if self._is_chosen:
            raise AttributeError(
                f"Resampler.{how} is of frames and series, in pandas too, and not of columns chosen of the bins: choose them before, as in "
                f"frame[columns].resample({self._bins.rule!r}).{how}()"
            )

    def _with_edges(self, how: str) -> tuple[Any, Any]:
        """Return the rows by the labels at which they are looked up, and the edges of the bins."""
        index = self._frame.expr.meta.index
        if are_bins_counted(index):
            rows = self._frame if self._frame.known_divisions else self._frame.sort_index()
            if isinstance(index, pd.PeriodIndex):
                return rows_by_member(rows, self._bins, how), KnownTimes(self._bins.all_looked_up(), self._bins.step)
            return rows, KnownTimes(self._bins.without_offset.all_called(), self._bins.step)
        if self._bins.ends is not None:
            return self._frame, KnownTimes(self._bins.of_edges.all_called(), self._bins.step)
        return self._frame, Edges(self._bins.of_edges)

    def _at_edges(self, wish: Wish, how: str) -> Any:
        self._require_all(how)
        if self._has_no_rows:
            options = {"fill_value": wish.fill_value} if how == "asfreq" else {"limit": wish.limit}
            return self._of_no_rows(partial(_call, how, (), options))
        frame, edges = self._with_edges(how)
        if isinstance(frame.expr.meta.index, pd.PeriodIndex):
            wish = replace(wish, fill_value=None)  # which pandas has no use for, of periods
        return at_times(frame, edges, wish, f"resample-{how}")

    def quantile(self, q: float = 0.5, **kwargs: Any) -> Any:
        """Return a quantile of each bin."""
        if pd.api.types.is_list_like(q):
            raise refused("resample().quantile", "q", q, "call it once for each")
        return self._aggregated("quantile", (q,), kwargs)


_OF_EACH_COLUMN = frozenset(
    [
        "count",
        "first",
        "last",
        "max",
        "mean",
        "median",
        "min",
        "nunique",
        "prod",
        "quantile",
        "sem",
        "std",
        "sum",
        "var",
    ]
)
"""Aggregations that make a column of each, whatever others there are."""


@rule(Projection, Resampled)
def project_before_resampling(node: Projection, inner: Resampled) -> Expr | None:
    """Aggregate the columns that are needed."""
    blocks = inner.frame
    function = blocks.function if isinstance(blocks, BinnedBlocks) else None
    if not isinstance(function, partial) or function.func is not _call or function.args[0] not in _OF_EACH_COLUMN:
        return None
    assert isinstance(blocks, BinnedBlocks)
    names = names_of(inner.meta)
    if not are_some(node.labels, inner) or not are_some(list(names), blocks.frame):
        return None
    kept = [name for name in names if name in node.labels]
    narrow = of_needed(blocks.frame, kept)
    if narrow is None:
        return None
    made: FrameExpr = _binned_blocks(narrow, blocks.bins, function, blocks.title, type(inner))
    if list(made.meta.columns) != kept or list(made.meta.dtypes) != list(columns_of(inner.meta, kept).dtypes):
        return None
    return Projection(made, node.columns, origin=node.origin)


def _call(how: str, args: tuple[Any, ...], kwargs: dict[str, Any], groups: Any) -> Any:
    return getattr(groups, how)(*args, **kwargs)


def _binned_blocks(
    frame: FrameExpr, bins: Bins, function: Callable[[Any], Any], title: str, kind: type[Assembled]
) -> Assembled:
    """Return the node of aggregated bins of a frame, with those without rows."""
    gap, meta = _gap_and_meta(frame, bins, function)
    blocks = BinnedBlocks(frame, bins, function, title)
    beside = tuple(Scan(blocks, _first_label, is_reversed, None, "resample") for is_reversed in (False, True))
    call = BlockCall(partial(_finished, bins, meta, gap), (Block(0), Block(1), Block(2)), label=title)
    return kind(blocks, beside, call, meta)


def _gap_and_meta(frame: FrameExpr, bins: Bins, function: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return the row of a bin without rows, and an empty result: of two made-up rows, three bins between them, and of such without."""
    try:
        made = of_samples(lambda some: function(bins.of(_apart(some, bins.rule))), frame.meta)
    except Exception as error:  # noqa: BLE001  # a user's function may need rows, in pandas too: then bins have to have some
        whole = _of_rows_in(lambda some: _apart(some, bins.rule, 1), frame, bins, function)
        error.__notes__ = ["This came of a bin without rows, with which the function was called."]
        return NoGap(error, empty(whole)), empty(whole)
    near = partial(_apart, rule=bins.rule) if _are_many_a_day(bins.step) else _as_it_is
    return made.iloc[2:3], empty(_of_rows_in(near, frame, bins, function))


def _of_rows_in(place: Callable[[Any], Any], frame: FrameExpr, bins: Bins, function: Callable[[Any], Any]) -> Any:
    return of_samples_at_hand(lambda some: function(bins.of(place(some))), frame.meta, who="resample", users=function)


def _are_many_a_day(step: Any) -> bool:
    """Whether bins are short: made-up rows are a day apart."""
    return isinstance(step, pd.offsets.Tick) and step.nanos < _HOUR_NS


def _as_it_is(some: Any) -> Any:
    return some


def _is_one_row_a_bin(frame: FrameExpr, bins: Bins, function: Callable[[Any], Any], gap: Any) -> bool:
    """Whether a function makes one row of each bin, of two rows in one and of bins without rows, too, none of which is a list."""
    if not isinstance(gap, NoGap) and any(map(pd.api.types.is_list_like, np.ravel(gap.to_numpy()))):
        return False
    if isinstance(gap, NoGap) and _makes_rows(frame, bins, function):
        return False
    steps = 1 if isinstance(gap, NoGap) else 4

    def lacking(some: Any) -> Any:
        found = bins.of(some)
        return pd.Series([len(found) - len(function(found))])

    apart = of_samples(lambda some: lacking(_apart(some, bins.rule, steps)), frame.meta)
    at_once = of_samples(lambda some: lacking(some.set_axis(some.index[[0, 0]], axis=0)), frame.meta)
    return not apart.any() and not at_once.any()


def _makes_rows(frame: FrameExpr, bins: Bins, function: Callable[[Any], Any]) -> bool:
    """Whether a user's function that needs rows returns some of those that it gets, with labels of their own."""
    _, (users, *args), kwargs = function.args  # type: ignore[attr-defined]

    def are_rows(some: Any) -> Any:
        made = [users(rows, *args, **kwargs) for _, rows in bins.of(_apart(some, bins.rule, 1))]
        are_lists = [isinstance(one, (pd.Series, pd.DataFrame)) for one in made]
        return pd.Series([
            is_list and isinstance(one.index, type(some.index)) for one, is_list in zip(made, are_lists, strict=True)
        ])  # fmt: skip

    return bool(of_samples(are_rows, frame.meta).any())


def _apart(some: Any, rule: Any, steps: int = 4) -> Any:
    """Return two rows that are so many bins apart."""
    labels = labels_apart(some.index, rule, steps)
    return some.set_axis(labels.rename(some.index.name), axis=0)


def _aggregation(how: str, what: str) -> Callable[..., Any]:
    signature = inspect.signature(getattr(pd.api.typing.Resampler, how))

    def method(self: Resampler, *args: Any, **kwargs: Any) -> Any:
        return self._aggregated(how, (), named_arguments(signature, how, self, args, kwargs))

    method.__name__ = method.__qualname__ = how
    method.__signature__ = signature  # type: ignore[attr-defined]
    method.__doc__ = f"Return {what} of each bin. Options are pandas'."
    return method


for _how, _what in (
    ("sum", "the sum"), ("prod", "the product"), ("mean", "the mean"), ("min", "the smallest"), ("max", "the largest"),
    ("count", "the number of values"), ("size", "the number of rows"), ("first", "the first value"),
    ("last", "the last value"), ("median", "the median"), ("var", "the variance"), ("std", "the standard deviation"),
    ("sem", "the standard error of the mean"), ("nunique", "the number of distinct values"),
    ("ohlc", "first, largest, smallest and last value"),
):  # fmt: skip
    setattr(Resampler, _how, _aggregation(_how, _what))
with_lazy_arguments_checked("Resampler")(Resampler)


class ArrowResampler(Resampler):
    """Bins of times or durations of Arrow's, which labels are again in results."""

    def __init__(self, bins: Resampler, dtype: Any) -> None:
        super().__init__(
            bins._frame, bins._bins, bins._selection, is_chosen=bins._is_chosen, is_of_column=bins._is_of_column
        )
        self._dtype = dtype

    def _selected(self, columns: Any) -> ArrowResampler:
        return ArrowResampler(super()._selected(columns), self._dtype)

    def _aggregated(self, how: str, args: tuple[Any, ...], kwargs: dict[str, Any], *, columnwise: bool = True) -> Any:
        return self._of_arrow(super()._aggregated(how, args, kwargs, columnwise=columnwise))

    def _at_edges(self, wish: Wish, how: str) -> Any:
        return self._of_arrow(super()._at_edges(wish, how))

    def _interpolated(self, options: dict[str, Any]) -> Any:
        return self._of_arrow(super()._interpolated(options))

    def _groups(self) -> Any:
        labels = operate(bins_of_labels, self._frame, self._bins, label="bins")
        return self._of_arrow(self._frame).groupby(self._of_arrow(labels))

    def _of_arrow(self, result: Any) -> Any:
        return operate(_with_labels_of, result, self._dtype, label="labels")


def _with_labels_of(block: Any, dtype: Any) -> Any:
    return block.set_axis(block.index.astype(dtype), axis=0)


def resample(frame: Any, rule: Any, options: dict[str, Any], *, is_of_column: bool = False) -> Resampler:
    """Return the bins of a frame; see `DataFrame.resample`."""
    node: FrameExpr = frame.expr
    dtype = node.meta.index.dtype
    if isinstance(dtype, pd.ArrowDtype) and dtype.kind in "mM":
        plain = operate(_with_labels_of, frame, plain_times(dtype), label="labels")
        return ArrowResampler(resample(plain, rule, options, is_of_column=is_of_column), dtype)
    if not isinstance(node.meta.index, (pd.DatetimeIndex, pd.TimedeltaIndex, pd.PeriodIndex)):
        raise TypeError(
            f"resample needs an index of times, durations or periods, not of {node.meta.index.dtype}; set_index() of a column of times"
        )
    if node.divisions[0] is None:
        frame = frame.sort_index(na_position="first" if are_bins_counted(node.meta.index) else "last")
    return Resampler(frame, bins_of(frame, rule, options), is_of_column=is_of_column)


def require_usual(options: Sequence[tuple[str, Any, str]]) -> None:
    """Check that options that have no form here aren't given.

    Raises
    ------
    NotImplementedError
        If one is.
    """
    for name, value, instead in options:
        if value is not None:
            raise refused("resample", name, value, instead)
