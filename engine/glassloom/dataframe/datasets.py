"""Synthetic data for examples and tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from glassloom._first_names import NAMES
from glassloom.dataframe.argument_kinds import distance, time, whole_number
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.io.read import Read, Source
from glassloom.dataframe.wrap import wrap
from glassloom.errors import OptionError
from glassloom.graph import tokenize

_COLUMNS: dict[str, Any] = {"id": int, "name": str, "x": float, "y": float}
_LARGEST_MEAN = 1e18
"""NumPy draws from a Poisson distribution of about this mean, not of a larger one: its numbers have 64 bits."""
_KINDS = ("int", "str", "float", "category", "bool")


class TimeseriesSource(Source):
    """Random rows at regular times. Each column of each partition has a random stream of its own."""

    label = "timeseries"
    can_project = True
    can_read_index = True
    has_unique_labels = True

    def __init__(
        self,
        starts: pd.DatetimeIndex,
        end: pd.Timestamp,
        freq: str,
        seed: int,
        kinds: dict[str, str],
        rates: dict[str, float],
    ) -> None:
        self.times = [*starts, end]
        self.freq = freq
        self.seed = seed
        self.columns = {name: (place, kind, rates.get(name, 1000)) for place, (name, kind) in enumerate(kinds.items())}
        self.divisions = tuple(self.times)
        self.lengths = tuple(len(self._index(number)) for number in range(len(starts)))
        self.meta = _make((0, self._index(0)[:0], seed), self.columns)
        self.token = tokenize(self.times, freq, seed, self.columns)

    def _index(self, number: int) -> pd.DatetimeIndex:
        start, end = self.times[number], self.times[number + 1]
        return pd.date_range(start, end, freq=self.freq, inclusive="left", name="timestamp")

    def piece(self, number: int) -> Any:
        return (number, (self.times[number], self.times[number + 1], self.freq), self.seed)

    def reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any]:
        wanted = self.columns if columns is None else {name: self.columns[name] for name in columns}
        return BlockCall(_make, (Block(0), wanted), label=self.label)


def timeseries(
    start: str = "2000-01-01",
    end: str = "2000-01-31",
    *,
    freq: str = "1s",
    partition_freq: str = "1D",
    dtypes: dict[str, Any] | None = None,
    seed: int | None = None,
    **rates: float,
) -> Any:
    """Make a frame of random rows at regular times, with columns ``id``, ``name``, ``x`` and ``y`` or those of `dtypes`.

    Whole numbers are drawn from a Poisson distribution of mean 1000, text from 26 names, floats uniformly between -1 and
    1. The index is ``timestamp``.

    Parameters
    ----------
    start, end
        The first time, and the one before which the rows end.
    freq
        Distance between rows, such as ``"1s"``.
    partition_freq
        Time span of a partition, such as ``"1D"``.
    dtypes
        What columns there are: ``int``, ``float``, ``str``, ``bool`` or ``"category"`` by name.
    rates
        The means of columns of whole numbers: ``id_lam=10`` is that of ``id``.
    seed
        Equal seeds give equal rows, whatever runs them and with whichever columns. Default: other rows each time.

    Raises
    ------
    OptionError
        If there is no time between `start` and `end`, or a column is of another dtype.

    Examples
    --------
    >>> import glassloom.dataframe as gd
    >>> frame = gd.datasets.timeseries(end="2000-01-03", freq="1h", seed=1)
    >>> frame.npartitions, len(frame)
    (2, 48)
    """
    first, last = time("timeseries", "start", start), time("timeseries", "end", end)
    if (first.tz is None) != (last.tz is None):
        raise OptionError(f"timeseries: start={start!r} and end={end!r} should both be in a time zone, or neither")
    for name, given in (("freq", freq), ("partition_freq", partition_freq)):
        distance("timeseries", name, given)
    starts = pd.date_range(first, last, freq=partition_freq, inclusive="left")
    if not len(starts):
        raise OptionError(f"end={end!r} should be at least {partition_freq} after start={start!r}")
    if dtypes is not None and not isinstance(dtypes, dict):
        raise TypeError(
            f"timeseries: dtypes={dtypes!r} should be a dict of columns and their dtypes, such as {{'x': float}}"
        )
    if seed is not None:
        seed = seed if isinstance(seed, (list, tuple)) else whole_number("timeseries", "seed", seed, 0)
    else:
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    kinds = {name: _kind(name, dtype) for name, dtype in (_COLUMNS if dtypes is None else dtypes).items()}
    means = {name.removesuffix("_lam"): mean for name, mean in rates.items()}
    for name in means:
        if f"{name}_lam" not in rates or kinds.get(name) != "int":
            raise TypeError(
                f"timeseries() got {sorted(rates)}: the mean of a column of whole numbers is given as NAME_lam"
            )
    for name, mean in rates.items():
        if isinstance(mean, bool) or not isinstance(mean, (int, float, np.number)) or not 0 <= mean < _LARGEST_MEAN:
            raise OptionError(f"timeseries: {name}={mean!r} should be a mean: a number, 0 or more and less than 1e18")
    return wrap(Read(TimeseriesSource(starts, last, freq, seed, kinds, means), None, None, None))


def _kind(name: str, dtype: Any) -> str:
    kind = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype))
    if kind not in _KINDS:
        raise OptionError(f"dtypes[{name!r}]={dtype!r} should be int, float, str, bool or 'category'")
    return kind


def _make(piece: tuple[int, Any, int], columns: dict[str, tuple[int, str, float]]) -> Any:
    number, span, seed = piece
    if not isinstance(span, pd.DatetimeIndex):
        begin, end, freq = span
        span = pd.date_range(begin, end, freq=freq, inclusive="left", name="timestamp")
    made = {
        name: _column(kind, mean, np.random.default_rng([seed, number, place]), span)
        for name, (place, kind, mean) in columns.items()
    }
    return pd.DataFrame(made, index=span)


def _column(kind: str, mean: float, random: np.random.Generator, index: pd.DatetimeIndex) -> Any:
    if kind == "int":
        return random.poisson(mean, len(index))
    if kind == "float":
        return random.uniform(-1, 1, len(index))
    if kind == "bool":
        return random.random(len(index)) < 0.5
    codes = random.integers(0, len(NAMES), len(index))
    names = pd.Index(NAMES)
    return pd.Categorical.from_codes(codes, categories=names) if kind == "category" else names.array.take(codes)
