"""Synthetic data for examples and tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.io.read import Read, Source
from glassloom.dataframe.wrap import wrap
from glassloom.errors import OptionError
from glassloom.graph import tokenize

NAMES = (
    "Amina", "Bjorn", "Chidi", "Dolores", "Emre", "Fatima", "Goran", "Hana", "Igor", "Jorge", "Kavya", "Liam", "Mei",
    "Nadia", "Olaf", "Priya", "Quentin", "Rosa", "Sven", "Tomoko", "Usha", "Viktor", "Wanda", "Ximena", "Yusuf", "Zoe",
)  # fmt: skip
_COLUMNS = ("id", "name", "x", "y")


class TimeseriesSource(Source):
    """Random rows at regular times. Each column of each partition has a random stream of its own."""

    label = "timeseries"
    can_project = True

    def __init__(self, starts: pd.DatetimeIndex, end: pd.Timestamp, freq: str, seed: int) -> None:
        self.times = [*starts, end]
        self.freq = freq
        self.seed = seed
        self.divisions = tuple(self.times)
        self.lengths = tuple(len(self._index(number)) for number in range(len(starts)))
        self.meta = _make((0, self._index(0)[:0], seed), list(_COLUMNS))
        self.token = tokenize(self.times, freq, seed)

    def _index(self, number: int) -> pd.DatetimeIndex:
        start, end = self.times[number], self.times[number + 1]
        return pd.date_range(start, end, freq=self.freq, inclusive="left", name="timestamp")

    def piece(self, number: int) -> Any:
        return (number, (self.times[number], self.times[number + 1], self.freq), self.seed)

    def reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any]:
        return BlockCall(_make, (Block(0), list(_COLUMNS if columns is None else columns)), label=self.label)


def timeseries(
    start: str = "2000-01-01",
    end: str = "2000-01-31",
    *,
    freq: str = "1s",
    partition_freq: str = "1D",
    seed: int | None = None,
) -> Any:
    """Make a frame of random rows at regular times, with columns ``id``, ``name``, ``x`` and ``y``.

    ``id`` is drawn from a Poisson distribution of mean 1000, ``name`` from 26 names, ``x`` and ``y`` uniformly between
    -1 and 1. The index is ``timestamp``.

    Parameters
    ----------
    start, end
        The first time, and the one before which the rows end.
    freq
        Distance between rows, such as ``"1s"``.
    partition_freq
        Time span of a partition, such as ``"1D"``.
    seed
        Equal seeds give equal rows, whatever runs them and with whichever columns. Default: other rows each time.

    Raises
    ------
    OptionError
        If there is no time between `start` and `end`.

    Examples
    --------
    >>> import glassloom.dataframe as gd
    >>> frame = gd.datasets.timeseries(end="2000-01-03", freq="1h", seed=1)
    >>> frame.npartitions, len(frame)
    (2, 48)
    """
    first, last = pd.Timestamp(start), pd.Timestamp(end)
    starts = pd.date_range(first, last, freq=partition_freq, inclusive="left")
    if not len(starts):
        raise OptionError(f"end={end!r} should be at least {partition_freq} after start={start!r}")
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    return wrap(Read(TimeseriesSource(starts, last, freq, seed), None, None, None))


def _make(piece: tuple[int, Any, int], columns: list[str]) -> Any:
    number, span, seed = piece
    if not isinstance(span, pd.DatetimeIndex):
        begin, end, freq = span
        span = pd.date_range(begin, end, freq=freq, inclusive="left", name="timestamp")
    made = {name: _column(name, np.random.default_rng([seed, number, _COLUMNS.index(name)]), span) for name in columns}
    return pd.DataFrame(made, index=span)


def _column(name: str, random: np.random.Generator, index: pd.DatetimeIndex) -> Any:
    if name == "id":
        return random.poisson(1000, len(index))
    if name == "name":
        codes = random.integers(0, len(NAMES), len(index))
        return pd.Categorical.from_codes(codes, categories=pd.Index(NAMES)).astype(pd.Index(NAMES).dtype)
    return random.uniform(-1, 1, len(index))
