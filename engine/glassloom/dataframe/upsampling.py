"""Rows at regular times, of those before, after or at them: `asfreq`, and `resample` to shorter stretches than the rows have.

Each partition makes the times between its divisions, and looks them up among its rows, the last row before and the first one after.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import concat, of_samples
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.at_hand import at_hand
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.column_nodes import are_some, of_needed
from glassloom.dataframe.nodes import FrameBlockwise, FrameExpr, LabelKeeping, Projection, empty
from glassloom.dataframe.options import refused
from glassloom.dataframe.prefix import scan
from glassloom.dataframe.widening import as_wide_as, dtypes_of
from glassloom.dataframe.wrap import operate, wrap
from glassloom.expr import Expr, rule


@dataclass(frozen=True)
class Steps:
    """The times from the first row on in steps of a frequency."""

    freq: Any

    def between(self, first: Any, last: Any, low: Any, high: Any) -> pd.DatetimeIndex:
        """Return the times from `low` up to `high`, which isn't among them; None: without a limit."""
        end = last if high is None or high > last else high
        offset = pd.tseries.frequencies.to_offset(self.freq)
        start = first
        is_exact = isinstance(offset, pd.offsets.Tick) and not isinstance(
            offset, pd.offsets.Day
        )  # pandas 2 counts days so
        if is_exact and low is not None and low > first:
            step = pd.Timedelta(offset)
            start = first + -(-(low - first) // step) * step
        return _within(pd.date_range(start, end, freq=self.freq), low, high)

    def starts_at(self, time: Any) -> Any:
        """Return a time before which there is none, if the first row is at a time or later."""
        return time


@dataclass(frozen=True)
class Edges:
    """The edges of bins that belong to them: the left ones, or the right ones of bins that are closed there."""

    bins: Any

    @property
    def step(self) -> Any:
        """The length of a bin, as pandas' offset."""
        return self.bins.step

    def between(self, first: Any, last: Any, low: Any, high: Any) -> pd.DatetimeIndex:
        """Return the edges from `low` up to `high`, which isn't among them; None: without a limit."""
        ends = [end if limit is None else min(max(limit, first), last) for limit, end in ((low, first), (high, last))]
        counts = self.bins.of(pd.Series(1, index=pd.DatetimeIndex(ends))).count()
        return _within(self.bins.with_freq(counts.index), low, high)

    def starts_at(self, time: Any) -> Any:
        """Return a time before which there is none, if the first row is at a time or later."""
        return min(self.between(time, time, None, None)[0], time)


@dataclass(frozen=True)
class KnownTimes:
    """Labels that are all at hand, a step apart: those of bins that are counted from the first row."""

    labels: Any
    step: Any

    def between(self, first: Any, last: Any, low: Any, high: Any) -> Any:
        """Return those from `low` up to `high`, which isn't among them; None: without a limit."""
        return _within(self.labels, low, high)

    def starts_at(self, time: Any) -> Any:
        """Return a time before which there is none, if the first row is at a time or later."""
        return min(self.labels[0], time) if len(self.labels) else time


def _within(times: Any, low: Any, high: Any) -> Any:
    first = 0 if low is None else times.searchsorted(low, side="left")
    last = len(times) if high is None else times.searchsorted(high, side="left")
    return times[first:last]


class AtTimes(FrameBlockwise):
    """Rows at times that each partition makes between its divisions."""

    parameters = ("frame", "others", "call", "times", "given_meta")

    frame: FrameExpr
    others: tuple[FrameExpr, ...]
    call: BlockCall
    times: Any
    given_meta: Any

    @property
    def label(self) -> str:
        return self.call.label

    @property
    def meta(self) -> Any:
        return self.given_meta

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        known = self.frame.divisions
        ends = self.times.between(known[0], known[-1], None, None)
        return (self.times.starts_at(known[0]), *known[1:-1], max(known[-1], ends[-1]) if len(ends) else known[-1])

    @property
    def function(self) -> Callable[..., Any]:
        return self.call

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        number = index[0]
        known, count = self.frame.divisions, self.frame.npartitions
        return (known[number] if number else None, known[number + 1] if number + 1 < count else None)


@dataclass(frozen=True)
class Wish:
    """What to put at a time at which no row is: as in pandas' ``reindex``. With `keeps_rows` the rows stay beside the times."""

    method: str | None = None
    limit: int | None = None
    fill_value: Any = None
    keeps_rows: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of ``reindex``."""
        options = {"method": self.method, "limit": self.limit, "fill_value": self.fill_value}
        return {name: value for name, value in options.items() if value is not None}


def at_times(frame: Any, times: Any, wish: Wish, title: str) -> Any:
    """Return the rows of a lazy frame or series, whose divisions are known, at regular times.

    Where whole numbers or truth values may be missing, whether any is computed now, of the labels alone.
    """
    node: FrameExpr = frame.expr
    wide = empty(of_samples(partial(_with_a_gap, wish), node.meta))
    meta = node.meta
    if dtypes_of(wide) != dtypes_of(meta):
        marks = operate(_marks, frame, kind=LabelKeeping, label="marks")
        found = wrap(_node(marks.expr, times, Wish(wish.method, wish.limit), marks.expr.meta, title))
        meta = wide if bool(found.isna().any().compute()) else meta
    return wrap(_node(node, times, wish, meta, title))


def _with_a_gap(wish: Wish, some: Any) -> Any:
    is_of_periods = isinstance(some.index, pd.PeriodIndex)
    time = some.index[0] - (1 if is_of_periods else pd.Timedelta(days=1))
    return some.reindex(
        some.index.insert(0, time), **({} if wish.fill_value is None else {"fill_value": wish.fill_value})
    )


def _node(node: FrameExpr, times: Any, wish: Wish, meta: Any, title: str) -> FrameExpr:
    labels = wrap(node).index
    before = scan(node, _last_row, _last_of, "row-before")
    after = scan(node, _first_row, _first_of, "row-after", is_reversed=True)
    others = (before, after, labels.min().expr, labels.max().expr)
    function = partial(_looked_up, times, wish, meta)
    call = BlockCall(function, tuple(map(Block, range(len(others) + 3))), label=title)
    return AtTimes(node, others, call, times, meta)


@rule(Projection, AtTimes)
def project_before_times(node: Projection, inner: AtTimes) -> Expr | None:
    """Look up the rows of the columns that are needed."""
    function = inner.call.function
    is_plain = isinstance(function, partial) and function.func is _looked_up
    if not is_plain or not are_some(node.labels, inner.frame) or not are_some(node.labels, inner):
        return None
    narrow = of_needed(inner.frame, node.labels)
    times, wish, meta = function.args  # type: ignore[attr-defined]
    if narrow is None or wish.keeps_rows:  # what the last column says of rows is put in here
        return None
    made = _node(narrow, times, wish, meta[narrow.columns], inner.label)
    same_ends = made.rebuild([made.operands[0], (*made.operands[1][:2], *inner.others[2:]), *made.operands[2:]])
    return Projection(same_ends, node.columns, origin=node.origin)


def _marks(block: Any) -> Any:
    return pd.Series(1.0, index=block.index)


def _in_order(block: Any) -> Any:
    return block if block.index.is_monotonic_increasing else block.sort_index(kind="stable")


def _last_row(block: Any) -> Any:
    return _in_order(block).iloc[-1:] if len(block) else None


def _first_row(block: Any) -> Any:
    return _in_order(block).iloc[:1] if len(block) else None


def _last_of(rows: list[Any]) -> Any:
    return rows[-1]


def _first_of(rows: list[Any]) -> Any:
    return rows[0]


def _looked_up(
    times: Any, wish: Wish, meta: Any, block: Any, before: Any, after: Any, first: Any, last: Any, low: Any, high: Any
) -> Any:
    if pd.isna(first):
        return meta
    labels = _like(times.between(first, last, low, high), block.index)
    rows = _in_order(block)
    if wish.keeps_rows:
        made = rows.reindex(rows.index.union(labels, sort=True))
        return as_wide_as(made.assign(**{made.columns[-1]: made.index.isin(labels).astype("int64")}), meta)
    known = concat([one for one in (before, rows, after) if one is not None and len(one)])
    wanted = labels
    if wish.limit is not None:  # it counts from the row on whose value is taken
        low = low if before is None else before.index[0]
        high = high if after is None else after.index[0]
        wanted = _like(times.between(first, last, low, high), block.index)
    made = known.reindex(wanted, **wish.options)
    if len(wanted) != len(labels):
        made = made.loc[labels]
    return as_wide_as(made, meta)


def _like(times: Any, index: Any) -> Any:
    return (times if isinstance(index, pd.PeriodIndex) else times.as_unit(index.unit)).rename(index.name)


def interpolated_at_times(frame: Any, times: Any, options: dict[str, Any]) -> Any:
    """Return values at regular times on lines between rows and other times, as ``resample().interpolate()`` of pandas has them.

    Before version 3 pandas takes the rows at these times only.
    """
    if not HAS_COPY_ON_WRITE:
        return at_times(frame, times, Wish(), "resample-interpolate").interpolate(**options)
    is_frame = isinstance(frame.expr.meta, pd.DataFrame)
    rows = frame if is_frame else frame.to_frame(name="values")
    mark = next(name for name in map("is_wanted_{}".format, range(len(rows.columns) + 1)) if name not in rows.columns)
    marked = at_times(rows.assign(**{mark: 1}), times, Wish(keeps_rows=True), "resample-interpolate")
    filled = marked.interpolate(**options)
    made = filled[filled[mark] == 1][list(rows.columns)]
    made = operate(_at_steps, made, times.step, rows.expr.meta.columns, kind=LabelKeeping, label="resample-interpolate")
    return made if is_frame else made["values"].rename(frame.name)


def _at_steps(block: Any, step: Any, columns: Any) -> Any:
    """Return rows whose labels know that they are a step apart, if they are: a choice of rows doesn't know it; with columns called so."""
    labels = block.index.copy()
    labels.freq = None  # of one label it may be another one, which pandas 3.0 keeps to
    with contextlib.suppress(ValueError):
        labels = type(labels)(labels, freq=step)
    return block.set_axis(labels, axis=0).set_axis(columns, axis=1)


def as_freq(frame: Any, freq: Any, method: str | None, how: Any, normalize: bool, fill_value: Any) -> Any:
    """Return the rows at the times of a frequency from the first one on; see `DataFrame.asfreq`."""
    if isinstance(frame.expr.meta.index, pd.PeriodIndex):
        if method is not None:
            raise refused("asfreq", "method", method, "of periods rows get other labels; use resample(freq).ffill()")
        return operate(_of_other_periods, frame, freq, how, label="asfreq")
    if not isinstance(frame.expr.meta.index, pd.DatetimeIndex):
        raise TypeError(
            f"asfreq needs an index of times, not of {frame.expr.meta.index.dtype}; set_index() of a column of times"
        )
    if method not in (None, "pad", "ffill", "backfill", "bfill"):
        raise refused("asfreq", "method", method, "give 'ffill', 'bfill', or use resample(freq).nearest()")
    sorted_frame = frame if frame.known_divisions else frame.sort_index()
    if sorted_frame.expr.divisions[0] is None:  # there are no rows
        return at_hand(frame.expr.meta.asfreq(freq, normalize=normalize))
    made = at_times(sorted_frame, Steps(freq), Wish(method, fill_value=fill_value), "asfreq")
    return operate(_normalized, made, label="normalize") if normalize else made


def _normalized(block: Any) -> Any:
    return block.set_axis(block.index.normalize(), axis=0)


def _of_other_periods(block: Any, freq: Any, how: Any) -> Any:
    return block.asfreq(freq, how=how)
