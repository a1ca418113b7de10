"""Bins of time: how `resample` and groups by stretches of time put labels into them, equally in all partitions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import sample
from glassloom.backends.pandas_version import LOOKS_UP_SAFELY, PANDAS_VERSION
from glassloom.collection import compute
from glassloom.dataframe.moving.shape import SetDivisions
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.options import refused
from glassloom.dataframe.wrap import operate, wrap

_DAY_NS = 86_400_000_000_000
_HOUR_NS = 3_600_000_000_000
_NO_DAY_HAS_ORIGIN = (3, 0) <= PANDAS_VERSION < (3, 1)
"""Whether pandas counts days from midnight before the first row, whatever the origin: pandas 3.0, which later ones do in time zones alone."""


class Bins(NamedTuple):
    """How times are put into bins: pandas' options.

    Several months and the like are counted from the first of all rows: `ends` are the first and the last time then.
    `days` is the length of bins of several days that are made by their hours.
    """

    rule: Any
    options: tuple[tuple[str, Any], ...]
    ends: tuple[Any, Any] | None = None
    days: Any = None

    @property
    def step(self) -> Any:
        """The length of a bin, as pandas' offset."""
        return pd.tseries.frequencies.to_offset(self.rule) if self.days is None else self.days

    def with_freq(self, labels: Any) -> Any:
        """Return what bins are called, which are as far apart as they are long if it is known how far: it is said in days."""
        if self.days is None or getattr(labels, "freq", None) is None:
            return labels
        made = labels.copy()
        made.freq = None  # pandas 3.0 lets no hours be said in days
        return pd.DatetimeIndex(made, freq=self.days)

    def of(self, block: Any) -> Any:
        """Return pandas' groups of a block."""
        return block.resample(self.rule, **dict(self.options))

    def starts(self, labels: pd.DatetimeIndex) -> pd.DatetimeIndex:
        """Return the left label of the bin of each label; they are sorted."""
        counts = self._counts(labels, {"label": "left"})
        return pd.DatetimeIndex(np.repeat(counts.index, counts.to_numpy()))

    def begins_before_rows(self, zone: Any) -> bool:
        """Whether there may be a bin before that of the first row."""
        is_of_days = isinstance(pd.tseries.frequencies.to_offset(self.rule), pd.offsets.Day)
        has_no_origin = zone is not None or _NO_DAY_HAS_ORIGIN
        return is_of_days and has_no_origin and dict(self.options).get("closed") == "right"

    def called(self, labels: Any) -> Any:
        """Return what the bin of each label is called; they are sorted."""
        counts = self._counts(labels, {})
        return type(labels)(np.repeat(counts.index, counts.to_numpy()))

    @property
    def of_edges(self) -> Bins:
        """The same bins, called by the edge that belongs to them."""
        options = dict(self.options)
        closed = pd.Grouper(freq=self.rule, **options).closed
        return self._replace(options=tuple({**options, "label": closed}.items()))

    @property
    def without_offset(self) -> Bins:
        """The same bins, whose labels aren't moved."""
        return self._replace(options=tuple(item for item in self.options if item[0] != "offset"))

    def all_looked_up(self) -> Any:
        """Return all bins of periods between the two ends at which rows are looked up, also if pandas doesn't aggregate by them."""
        return self.of(pd.Series(0, index=pd.PeriodIndex(list(self.ends or ())).unique())).asfreq().index

    def all_called(self) -> Any:
        """Return what all bins are called between the two ends, also those without rows."""
        return self._counts(pd.Index(list(self.ends or ()))[:0], {}).index

    def _counts(self, labels: Any, changes: dict[str, Any]) -> Any:
        counts = pd.Series(1, index=labels)
        if self.ends is not None:
            counts = pd.concat([pd.Series(0, index=type(labels)(self.ends)), counts]).sort_index()
        return counts.resample(self.rule, **{**dict(self.options), **changes}).sum()


def bins_of(frame: Any, rule: Any, options: dict[str, Any]) -> Bins:
    """Return the bins of a frame's labels, which are times, counted from the same time in all partitions; see `DataFrame.resample`."""
    node: FrameExpr = frame.expr
    given = {name: value for name, value in options.items() if value is not None}
    if are_bins_counted(node.meta.index):
        return _bins_of_ends(frame, rule, given)
    offset = pd.tseries.frequencies.to_offset(rule)
    checked: Any = pd.Grouper(freq=rule, **given)  # raises what pandas raises for options that it doesn't know
    given.pop("convention", None)
    given.pop("origin", None)
    origin = checked.origin  # text of a time is a time now
    if _is_end(origin):
        given = {"closed": "right", "label": "right", **given}
    is_counted = _nanoseconds(offset) is None and offset.n != 1 or _has_days_without_midnight(offset, node)
    if not _has_days_without_origin(offset, node.meta.index.tz):
        _require_zone(origin, node.meta.index.tz)
        given["origin"] = _fixed_origin(frame, offset, origin, given)
    else:
        given.pop("offset", None)  # which is for hours
        if offset.n != 1:  # single days are from midnight to midnight
            return _bins_of_several_days(frame, offset, tuple(given.items()))
    ends = compute(frame.index.min(), frame.index.max()) if is_counted else None
    return Bins(rule, tuple(given.items()), None if ends is None or pd.isna(ends[0]) else tuple(ends))


def _has_days_without_midnight(offset: Any, node: FrameExpr) -> bool:
    """Whether there is a day that begins at another time, or twice, where clocks change at midnight: pandas can't begin with it, or end."""
    zone, divisions = node.meta.index.tz, node.divisions
    if zone is None or divisions[0] is None or isinstance(offset, pd.offsets.Tick):
        return False
    first, last = (time.tz_localize(None).normalize() for time in (divisions[0], divisions[-1]))
    days = pd.date_range(first, last + pd.Timedelta(days=1))
    return bool(days.tz_localize(zone, ambiguous="NaT", nonexistent="NaT").hasnans)


def are_bins_counted(index: Any) -> bool:
    """Whether labels are durations or periods: pandas' bins of them begin with the first one."""
    return isinstance(index, (pd.TimedeltaIndex, pd.PeriodIndex))


def _bins_of_ends(frame: Any, rule: Any, given: dict[str, Any]) -> Bins:
    """Return the bins of durations or periods, of which those of the first and the last row are computed now.

    Raises
    ------
    TypeError, ValueError
        If pandas doesn't put such labels into such bins.
    """
    index = frame.expr.meta.index
    if isinstance(index, pd.PeriodIndex) and isinstance(rule, str):
        rule = pd.PeriodDtype(rule).freq
    if not isinstance(pd.tseries.frequencies.to_offset(rule), pd.offsets.Tick):
        origin = given.pop("origin", None)
        if isinstance(index, pd.TimedeltaIndex) and _is_end(origin):
            raise refused(
                "resample", "origin", origin, "pandas doesn't heed it for days; give a rule in hours, such as '24h'"
            )
    made = Bins(rule, tuple(given.items()))
    if isinstance(index, pd.TimedeltaIndex):
        made.of(sample(frame.expr.meta))  # raises what pandas raises for others
    first, last = compute(frame.index.min(), frame.index.max())
    return made if pd.isna(first) else made._replace(ends=(first, last))


def require_aggregation(index: Any, bins: Bins) -> None:
    """Check that pandas aggregates labels in bins: before version 3.1 it looks rows of periods up in shorter ones.

    Raises
    ------
    NotImplementedError
        If it doesn't.
    """
    if LOOKS_UP_SAFELY or not isinstance(index, pd.PeriodIndex):
        return
    freq: Any = index.freq
    one = pd.Period("2000-05-17", freq=freq)
    first, last = (one.asfreq(bins.step.base, end) for end in ("start", "end"))
    if first < last:
        raise refused(
            "resample", "rule", bins.rule, "with pandas before 3.1, shorter bins than periods aren't aggregated; asfreq() looks rows up"
        )  # fmt: skip


def labels_apart(index: Any, rule: Any, steps: int) -> Any:
    """Return two labels, the first one of an index and one that is so many bins away; of periods there may be more."""
    first, offset = index[0], pd.tseries.frequencies.to_offset(rule)
    if isinstance(index, pd.PeriodIndex):
        in_bins = (first.asfreq(offset, "start") + steps).asfreq(first.freq, "start")
        return pd.PeriodIndex([first, max(first + steps, in_bins)])
    is_of_days = isinstance(index, pd.TimedeltaIndex) and isinstance(offset, pd.offsets.Day)
    step = pd.Timedelta(days=offset.n) if is_of_days else offset
    return type(index)([first, first + steps * step])


def rows_by_member(frame: Any, bins: Bins, how: str) -> Any:
    """Return rows of periods by the shorter ones of these at which they are looked up: their first ones, or their last ones.

    Raises
    ------
    NotImplementedError
        If the bins are longer than the periods.
    """
    node: FrameExpr = frame.expr
    index = node.meta.index
    if _are_longer(bins.step, index.freq):
        raise refused(
            "resample", "rule", bins.step.freqstr,
            f"by {how}(), bins that are longer than the periods, of {index.freqstr}, aren't made; aggregate them",
        )  # fmt: skip
    convention = dict(bins.options).get("convention", "start")
    members = pd.PeriodIndex(node.divisions).asfreq(bins.step, convention)
    return wrap(SetDivisions(operate(_by_member, frame, bins.step, convention, label="asfreq").expr, tuple(members)))


def _are_longer(step: Any, freq: Any) -> bool:
    """Whether periods of one frequency may hold several of another one, of which only the kinds count: 2D are D."""
    one = pd.Period("2000-05-17", freq=freq.base)
    other = one.asfreq(step.base, "start")
    length = one.end_time - one.start_time
    are_workdays = isinstance(step, pd.offsets.BusinessDay) and step.base != freq.base and length.days < 1
    return are_workdays or other.end_time - other.start_time > length


def _by_member(block: Any, step: Any, convention: str) -> Any:
    return block.set_axis(block.index.asfreq(step, convention), axis=0)


def _has_days_without_origin(offset: Any, zone: Any) -> bool:
    """Whether pandas counts bins of days from midnight before the first row: before version 3 they are 24 hours."""
    is_of_days = isinstance(offset, pd.offsets.Day) and not isinstance(offset, pd.offsets.Tick)
    return is_of_days and (zone is not None or _NO_DAY_HAS_ORIGIN)


def _require_zone(origin: Any, zone: Any) -> None:
    if isinstance(origin, pd.Timestamp) and (origin.tz is None) != (zone is None):
        raise ValueError(f"resample(origin={origin}): The origin must have the same timezone as the index, {zone}")


def _is_end(origin: Any) -> bool:
    return isinstance(origin, str) and origin in ("end", "end_day")


def _bins_of_several_days(frame: Any, offset: Any, given: tuple[tuple[str, Any], ...]) -> Bins:
    """Return bins of several days, which pandas counts from the first row's day.

    They are made by their hours, which each partition can, unless days aren't equally long there, or pandas makes bins before the first
    row or after the last.
    """
    first, last = compute(frame.index.min(), frame.index.max())
    if pd.isna(first):
        return Bins(offset, given)
    made = Bins(f"{24 * offset.n}h", (*given, ("origin", first.normalize())), days=offset)
    ends = pd.Series(1, index=pd.DatetimeIndex([first, last]))
    is_of_hours = made.of(ends).count().index.equals(Bins(offset, given).of(ends).count().index)
    return made if is_of_hours else Bins(offset, given, (first, last))


def bins_of_times(times: Any, bins: Bins) -> Any:
    """Return for each time of a pandas series the label of its bin. Missing ones stay; of durations pandas has them in the first."""
    distinct = pd.Index(times.dropna().unique()).sort_values()
    if not len(distinct):
        return times.fillna(bins.all_called()[0]) if isinstance(distinct, pd.TimedeltaIndex) and bins.ends else times
    called = pd.Series(bins.called(distinct), index=distinct)
    labels = times.map(called).astype(called.dtype)
    return labels.fillna(bins.all_called()[0]) if isinstance(distinct, pd.TimedeltaIndex) else labels


def bins_of_labels(block: Any, bins: Bins) -> Any:
    """Return for each row of a pandas object the label of the bin of its own label."""
    index = block.index
    return bins_of_times(pd.Series(index.array, index=index, name=index.name), bins)


def _fixed_origin(frame: Any, offset: Any, origin: Any, given: dict[str, Any]) -> Any:
    """Return the time that the bins are counted from: the same for all partitions."""
    zone = frame.expr.meta.index.tz
    nanoseconds = _nanoseconds(offset)
    if nanoseconds is None:
        return "start_day"
    if not isinstance(origin, str) or origin == "epoch":
        return origin
    is_plain = zone is None or str(zone) == "UTC"
    if origin == "start_day" and (_DAY_NS if is_plain else _HOUR_NS) % nanoseconds == 0:
        return pd.Timestamp("2000-01-01", tz=zone)
    if _is_end(origin):
        first, last = compute(frame.index.min(), frame.index.max())
        if pd.isna(last):
            return "start_day"
        end = last if origin == "end" else last.ceil("D")
        _require_first_bin(first, end, pd.Timedelta(nanoseconds), origin, given)
        return end
    first = _first_time(frame)
    return "start_day" if pd.isna(first) else first.normalize() if origin == "start_day" else first


def _require_first_bin(first: Any, end: Any, length: pd.Timedelta, origin: str, given: dict[str, Any]) -> None:
    """Check that bins that are counted back from the end begin where those do that are counted on from there.

    Raises
    ------
    NotImplementedError
        If pandas makes one more before the first row, or one too few, so that it refuses.
    """
    is_left = given["closed"] == "left"
    step = pd.Timedelta(given.get("offset") or 0)

    def edge(time: Any) -> Any:
        after = (time - end - step) % length
        return time - (after if is_left or after else length)

    if edge(end - ((end - first) // length + is_left) * length) != edge(first):
        shown = ", ".join(f"{name}={given[name]!r}" for name in ("closed", "offset") if name in given)
        raise refused(
            "resample", "origin", origin,
            f"with {shown} pandas doesn't begin with the bin of the first row, {first}; give a time as origin, such as {end}",
        )  # fmt: skip


def _nanoseconds(offset: Any) -> int | None:
    try:
        return int(offset.nanos)
    except (ValueError, AttributeError):  # no fixed time, such as a month; a day is one only where there are no zones
        return _DAY_NS * offset.n if isinstance(offset, pd.offsets.Day) else None


def _first_time(frame: Any) -> Any:
    """Compute the first label: bins that don't divide a day are counted from it."""
    first: Any = frame.index.min().compute()
    return first


def plain_times(dtype: Any) -> Any:
    """Return NumPy's dtype of times or durations that are of Arrow's; of times in a zone that of pandas."""
    kind = dtype.pyarrow_dtype
    zone = getattr(kind, "tz", None)
    name = f"datetime64[{kind.unit}]" if dtype.kind == "M" else f"timedelta64[{kind.unit}]"
    return name if zone is None else pd.DatetimeTZDtype(kind.unit, zone)
