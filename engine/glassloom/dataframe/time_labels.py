"""Methods of frames and series whose labels are times: choosing rows by time, zones, periods, frequencies."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pandas as pd

from glassloom.dataframe.ambiguous_times import is_of_plain_times, is_of_rows, localized_labels
from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Method
from glassloom.dataframe.label_nodes import MovedLabels, NewLabels
from glassloom.dataframe.label_slices import truncated
from glassloom.dataframe.nodes import RowsByLabel, Rowwise
from glassloom.dataframe.options import is_columns, refused
from glassloom.dataframe.upsampling import as_freq
from glassloom.dataframe.wrap import operate, wrap

_WITHOUT_CHANGES = ("UTC", "utc", UTC)
"""Zones whose clocks are never set to another time."""


class TimeLabels(Frame):
    """Methods of frames and series."""

    def at_time(self, time: Any, asof: bool = False, axis: Any = None) -> Any:
        """Return the rows at a time of day."""
        require_rows("at_time", axis)
        return self._with_labels("at_time", {"time": time, "asof": asof}, RowsByLabel)

    def between_time(self, start_time: Any, end_time: Any, inclusive: Any = "both", axis: Any = None) -> Any:
        """Return the rows between two times of day."""
        require_rows("between_time", axis)
        kwargs = {"start_time": start_time, "end_time": end_time, "inclusive": inclusive}
        return self._with_labels("between_time", kwargs, RowsByLabel)

    def tz_convert(self, tz: Any, axis: Any = 0, level: Any = None) -> Any:
        """Return the same rows with labels in another time zone."""
        return self._relabelled("tz_convert", axis, level, {"tz": tz}, MovedLabels)

    def tz_localize(
        self, tz: Any, axis: Any = 0, level: Any = None, ambiguous: Any = "raise", nonexistent: Any = "raise"
    ) -> Any:
        """Return the same rows with labels taken as times of a zone.

        With ``ambiguous="infer"`` which of two times those are that a clock shows twice is found out now, as it follows from the rows beside.
        """
        if is_of_rows(ambiguous) and is_of_plain_times(self._meta.index) and tz is not None and level is None:
            require_rows("tz_localize", axis)
            return localized_labels(self, tz, ambiguous, nonexistent)
        kind = MovedLabels if tz in _WITHOUT_CHANGES and is_of_plain_times(self._meta.index) else NewLabels
        kwargs = {"tz": tz, "ambiguous": ambiguous, "nonexistent": nonexistent}
        return self._relabelled("tz_localize", axis, level, kwargs, kind)

    def to_timestamp(self, freq: Any = None, how: str = "start", axis: Any = 0) -> Any:
        """Return the same rows, their labels times in place of periods."""
        return self._relabelled("to_timestamp", axis, None, {"freq": freq, "how": how})

    def to_period(self, freq: Any = None, axis: Any = 0) -> Any:
        """Return the same rows, their labels periods in place of times."""
        if freq is None:
            raise refused("to_period", "freq", freq, "name the frequency, as in to_period('M')")
        return self._relabelled("to_period", axis, None, {"freq": freq})

    def _relabelled(
        self, method: str, axis: Any, level: Any, kwargs: dict[str, Any], kind: type[NewLabels] = NewLabels
    ) -> Any:
        require_rows(method, axis)
        if level is not None:
            raise refused(method, "level", level, "divisions are of one level")
        return self._with_labels(method, kwargs, kind)

    def _with_labels(self, method: str, kwargs: dict[str, Any], kind: Any = Rowwise) -> Any:
        return operate(Method(method), self, kind=kind, kwargs=kwargs, label=method.replace("_", "-"))

    def truncate(self, before: Any = None, after: Any = None, axis: Any = None) -> Any:
        """Return the rows between two labels, both included, or with ``axis=1`` the columns. Text is a time to the second, other than in `loc`."""
        frame: Any = self
        if axis is not None and is_columns(axis, "truncate"):
            return frame[list(self._meta.truncate(before, after, axis=1).columns)]
        if isinstance(self._meta.index, pd.DatetimeIndex):
            before, after = (None if one is None else pd.to_datetime(one) for one in (before, after))
        if before is not None and after is not None and before > after:
            raise ValueError(f"Truncate: {after} must be after {before}")
        return wrap(truncated(self._expr, before, after))

    def asfreq(self, freq: Any, method: Any = None, how: Any = None, normalize: bool = False, fill_value: Any = None) -> Any:  # fmt: skip
        """Return the rows at the times of a frequency, from the first one on to the last.

        Parameters
        ----------
        freq
            The frequency, such as ``"1h"`` or ``"MS"``.
        method
            What a time without a row gets: ``"ffill"`` the row before, ``"bfill"`` the next one. Default: missing values. Where whole
            numbers may be missing, whether one is is found out now.
        how
            Of periods, which become those of the frequency at their ``"start"`` or, by default, at their ``"end"``.
        normalize
            Whether to set the times to midnight.
        fill_value
            What to put in place of missing values.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> times = pd.date_range("2000-01-01", periods=3, freq="2h")
        >>> x = gd.from_pandas(pd.Series([1, 2, 3], index=times), npartitions=2)
        >>> x.asfreq("1h", method="ffill").compute().tolist()
        [1, 1, 2, 2, 3]
        """
        return as_freq(self, freq, method, how, normalize, fill_value)


def require_rows(method: str, axis: Any) -> None:
    """Check that an axis means the rows.

    Raises
    ------
    NotImplementedError
        If it means the columns.
    """
    if axis is not None and is_columns(axis, method):
        raise refused(method, "axis", axis, "it is the columns' index, which is at hand: frame.columns")
