"""Spans of time, and bins that say what they sum up to, as columns of whole microseconds since an origin. Pure.

A span is such as a task's time on its thread. Spans have a *key*: a series (such as the thread) and the number of a kind
(such as the layer). A bin is what the spans of one key sum up to in one column of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassloom_dashboards.folds.grouping import distinct_of
from glassloom_dashboards.folds.growing import GrowingTable

Integers = NDArray[np.int64]

KIND_BITS = 24
MAX_KINDS = 2**KIND_BITS
ACTIONS = 16
"""The number of a kind is a multiple of this and, in its lower bits, its action. Numbers below stand for many kinds of one action."""
KINDS_A_BIN = 16
"""Where more kinds meet in one column of a series, those that take most time are kept; the others count together by action."""
LONG = 2
"""A span that is more than so many bins long is not put in bins of that width."""

_CHUNK_COLUMNS = 256
_COLUMN_BITS = 8
_COLUMN_MASK = _CHUNK_COLUMNS - 1
_LATEST_US = 3 * 10**14
"""No time is further from the origin: nine years."""
_SPANS_A_BLOCK = 256
_CELLS_A_BIN = 4
_LEAST_CELLS = 4096
_MOST_PARTS = 8
"""A chunk's parts are merged when there are more."""


def microseconds(at_s: NDArray[np.float64], origin_s: float) -> Integers:
    """Return times as whole microseconds since the origin; what isn't a time is the origin.

    >>> microseconds(np.array([101.5, np.nan]), 100.0)
    array([1500000,       0])
    """
    since_us = (at_s - origin_s) * 1e6
    since_us[np.isnan(since_us)] = 0.0
    return np.rint(np.clip(since_us, -_LATEST_US, _LATEST_US)).astype(np.int64)


class Spans(NamedTuple):
    """Spans, as columns. ``row`` is the number by which who gave them knows them."""

    key: Integers
    start_us: Integers
    stop_us: Integers
    failed: NDArray[np.bool_]
    row: Integers

    def take(self, places: Any) -> Spans:
        """Return those at `places`."""
        return Spans(*(column[places] for column in self))


class Bins(NamedTuple):
    """Bins, as columns. A span counts in the bin that has its middle; its time is in all that it touches."""

    key: Integers
    column: Integers
    events: Integers
    failed: Integers
    busy_us: Integers

    def take(self, places: Any) -> Bins:
        """Return those at `places`."""
        return Bins(*(column[places] for column in self))

    def summed(self) -> Bins:
        """Return one bin for each key and column, in their order."""
        if not len(self.key):
            return self
        cells = _cells(self.key, self.column)
        if cells is None:
            return self.take(self._order()).merged()
        firsts, *sums = _sums_of_cells(cells, (self.events, self.failed, self.busy_us))
        return Bins(self.key[firsts], self.column[firsts], *sums)

    def _order(self) -> Integers:
        """Return the places of the bins, ordered by key and then by column."""
        first, columns = int(self.column.min()), int(np.ptp(self.column)) + 1
        if (int(np.abs(self.key).max()) + 1) * columns >= 2**62:
            return np.lexsort((self.column, self.key))
        return np.argsort(self.key * columns + (self.column - first))  # one sort instead of two

    def merged(self) -> Bins:
        """Return these bins, which are in order, with those of the same key and column as one."""
        is_first = np.ones(len(self.key), bool)
        is_first[1:] = (self.key[1:] != self.key[:-1]) | (self.column[1:] != self.column[:-1])
        firsts = np.flatnonzero(is_first)
        if len(firsts) == len(is_first):
            return self
        sums = (np.add.reduceat(column, firsts) for column in (self.events, self.failed, self.busy_us))
        return Bins(self.key[firsts], self.column[firsts], *sums)

    def widened(self, ratio: int) -> Bins:
        """Return bins so many times as wide; these are in order."""
        return self._replace(column=self.column // ratio).merged()


def _cells(key: Integers, column: Integers) -> tuple[Integers, int] | None:
    """Return the place of each bin in a table of all series, kinds and columns there are, and the table's size, in the order of keys
    and columns. None if the table would be large beside the bins: sorting is faster then.
    """
    first, columns = int(column.min()), int(np.ptp(column)) + 1
    series, (kinds, kind) = key >> KIND_BITS, distinct_of(key & MAX_KINDS - 1)
    lowest = int(series.min())
    size = (int(series.max()) - lowest + 1) * len(kinds) * columns
    if size > _CELLS_A_BIN * len(key) + _LEAST_CELLS:
        return None
    return ((series - lowest) * len(kinds) + kind) * columns + (column - first), size


def _sums_of_cells(cells: tuple[Integers, int], values: Sequence[NDArray[Any]]) -> tuple[Integers, ...]:
    """Return for each cell that has a bin, in order, the place of one of its bins, and the sums of the values of all of them."""
    cell, size = cells
    place = np.full(size, -1)
    place[cell] = np.arange(len(cell))
    found = np.flatnonzero(place >= 0)
    # Whole numbers below 2**53 add up exactly as floats, too.
    return place[found], *(np.bincount(cell, one, size)[found].astype(np.int64) for one in values)


def joined_spans(parts: Sequence[Spans]) -> Spans:
    """Return all spans of `parts`."""
    if len(parts) == 1:
        return parts[0]
    none = np.empty(0, np.int64)
    return Spans(*map(np.concatenate, zip(*parts, strict=True))) if parts else Spans(none, none, none, none > 0, none)


def joined_bins(parts: Sequence[Bins]) -> Bins:
    """Return all bins of `parts`."""
    if len(parts) == 1:
        return parts[0]
    none = np.empty(0, np.int64)
    return Bins(*map(np.concatenate, zip(*parts, strict=True))) if parts else Bins(none, none, none, none, none)


def bins_of(spans: Spans, width_us: int) -> Bins:
    """Return the bins of spans that are at most `LONG` bins long, so that each touches three at most; they aren't summed."""
    first = spans.start_us // width_us
    last = np.maximum((spans.stop_us - 1) // width_us, first)
    middle = (spans.start_us + spans.stop_us) // 2 // width_us
    in_first_us = np.minimum(spans.stop_us, (first + 1) * width_us) - spans.start_us
    parts = [_bins_at(spans, first, middle, in_first_us)]
    several = np.flatnonzero(last > first)
    if len(several):
        of, columns = spans.take(several), last[several]
        parts.append(_bins_at(of, columns, middle[several], of.stop_us - columns * width_us))
        three = np.flatnonzero(last > first + 1)
        if len(three):
            whole_us = np.full(len(three), width_us)
            parts.append(_bins_at(spans.take(three), first[three] + 1, middle[three], whole_us))
    return joined_bins(parts)


def _bins_at(spans: Spans, column: Integers, middle: Integers, busy_us: Integers) -> Bins:
    events = (column == middle).astype(np.int64)
    return Bins(spans.key, column, events, events * spans.failed, busy_us)


def sum_by(place: Integers, values: NDArray[Any], size: int) -> NDArray[np.float64]:
    """Return the sum of the values at each place."""
    return np.asarray(np.bincount(place, values, minlength=size), np.float64)  # integers if there are no values


def busy_by_column(
    spans: Spans, series: Integers, size: int, start_us: int, width_us: int, columns: int
) -> NDArray[np.float64]:
    """Return the busy time of spans by series and column, flat; one over several columns is shared among them.

    Parameters
    ----------
    series
        Of each span; all of them are ``size / columns``.
    start_us, width_us, columns
        Where the first column begins, and how wide and how many they are; what spans have outside isn't counted.
    """
    stop_us = start_us + width_us * columns
    begin_us, end_us = (np.clip(at_us, start_us, stop_us) - start_us for at_us in (spans.start_us, spans.stop_us))
    first = np.minimum(begin_us // width_us, columns - 1)
    last = np.maximum((end_us - 1) // width_us, first)
    in_first_us = np.minimum(end_us, (first + 1) * width_us) - begin_us
    busy_us = sum_by(series * columns + first, in_first_us, size)
    several = np.flatnonzero(last > first)
    if len(several):
        line = series[several] * columns
        in_last_us = end_us[several] - last[several] * width_us
        busy_us += sum_by(line + last[several], in_last_us, size)
        # Whole columns between the first and the last: +1 where they begin, -1 where they end, summed along the row.
        whole = np.bincount(line + first[several] + 1, minlength=size)
        whole -= np.bincount(line + last[several], minlength=size)
        busy_us += np.cumsum(whole.reshape(-1, columns), axis=1).ravel() * width_us
    return busy_us


class _Part(NamedTuple):
    """Bins of a chunk, 24 bytes each: ``code`` is the key and the column in the chunk."""

    code: Integers
    events: NDArray[np.uint32]
    failed: NDArray[np.uint32]
    busy_us: Integers

    def take(self, places: Integers) -> _Part:
        return _Part(self.code[places], self.events[places], self.failed[places], self.busy_us[places])


class Level:
    """The bins of one width, in chunks of `_CHUNK_COLUMNS` columns. Bins of one place are merged now and then.

    Attributes
    ----------
    size
        How many bins are held.
    known_from_us
        Nothing is known of times before.
    """

    def __init__(self, width_us: int) -> None:
        self.width_us = width_us
        self.size = 0
        self.known_from_us = -2 * _LATEST_US
        self._chunks: dict[int, list[_Part]] = {}

    def add(self, bins: Bins) -> None:
        """Add bins, which are summed."""
        chunk = bins.column // _CHUNK_COLUMNS
        code = bins.key << _COLUMN_BITS | bins.column & _COLUMN_MASK
        part = _Part(code, bins.events.astype(np.uint32), bins.failed.astype(np.uint32), bins.busy_us)
        low, high = int(chunk.min()), int(chunk.max())
        if low == high:
            self._append(low, part)
            return
        for number in np.unique(chunk).tolist():
            places = np.flatnonzero(chunk == number)
            self._append(number, part.take(places))

    def _append(self, number: int, part: _Part) -> None:
        parts = self._chunks.setdefault(number, [])
        parts.append(part)
        self.size += len(part.code)
        if len(parts) > _MOST_PARTS:
            is_main = len(parts[0].code) > sum(len(part.code) for part in parts[1:])
            merged = _merge(parts[is_main:])
            self.size += len(merged.code) - sum(len(part.code) for part in parts[is_main:])
            parts[is_main:] = [merged]

    def between(self, first: int, last: int) -> Bins:
        """Return the bins of the columns from `first` to `last`, not summed."""
        found = []
        for number in self._numbers(first // _CHUNK_COLUMNS, last // _CHUNK_COLUMNS):
            for part in self._chunks[number]:
                column = (part.code & _COLUMN_MASK) + number * _CHUNK_COLUMNS
                counts = (part.events.astype(np.int64), part.failed.astype(np.int64))
                bins = Bins(part.code >> _COLUMN_BITS, column, *counts, part.busy_us)
                is_whole = first <= number * _CHUNK_COLUMNS and last >= (number + 1) * _CHUNK_COLUMNS - 1
                found.append(bins if is_whole else bins.take((column >= first) & (column <= last)))
        return joined_bins(found)

    def _numbers(self, first: int, last: int) -> list[int]:
        if last - first < len(self._chunks):
            return [number for number in range(first, last + 1) if number in self._chunks]
        return sorted(number for number in self._chunks if first <= number <= last)

    def drop_oldest(self, before_us: int, excess: int) -> None:
        """Forget the oldest chunks, of those that end before that time, until there are `excess` bins less."""
        wanted = self.size - excess
        for number in sorted(self._chunks):
            stop_us = (number + 1) * _CHUNK_COLUMNS * self.width_us
            if self.size <= wanted or stop_us > before_us:
                return
            self.size -= sum(len(part.code) for part in self._chunks.pop(number))
            self.known_from_us = max(self.known_from_us, stop_us)


def _merge(parts: Sequence[_Part]) -> _Part:
    code, events, failed, busy_us = map(np.concatenate, zip(*parts, strict=True))
    merged = _sum(code, events, failed, busy_us)
    kinds = _with_few_kinds(merged)
    return merged if kinds is None else _sum(kinds, *merged[1:])


def _sum(code: Integers, events: NDArray[np.uint32], failed: NDArray[np.uint32], busy_us: Integers) -> _Part:
    cells = _cells(code >> _COLUMN_BITS, code & _COLUMN_MASK)
    if cells is not None:
        places, *sums = _sums_of_cells(cells, (events, failed, busy_us))
        return _Part(code[places], sums[0].astype(np.uint32), sums[1].astype(np.uint32), sums[2])
    order = np.argsort(code, kind="stable")
    code = code[order]
    firsts = np.flatnonzero(np.diff(code, prepend=-1))
    return _Part(code[firsts], *(np.add.reduceat(column[order], firsts) for column in (events, failed, busy_us)))


def _with_few_kinds(part: _Part) -> Integers | None:
    """Return the codes with the kinds that are too many for their bin counted together by action; None if there are none."""
    kind = part.code >> _COLUMN_BITS & MAX_KINDS - 1
    if len(np.unique(kind)) <= KINDS_A_BIN:
        return None
    place = part.code ^ kind << _COLUMN_BITS
    single = np.flatnonzero(kind >= ACTIONS)
    order = single[np.lexsort((-part.busy_us[single], place[single]))]
    firsts = np.flatnonzero(np.diff(place[order], prepend=-1))
    sizes = np.diff(np.append(firsts, len(order)))
    if sizes.max(initial=0) <= KINDS_A_BIN:
        return None
    rank = np.zeros(len(kind), np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(firsts, sizes)
    return np.where(rank >= KINDS_A_BIN, place | (kind & ACTIONS - 1) << _COLUMN_BITS, part.code)


class SpanList:
    """Spans in the order in which they came, found by their time. Those given at one time should be about as long as each other."""

    def __init__(self) -> None:
        self._spans = GrowingTable({"key": "i8", "start_us": "i8", "stop_us": "i8", "failed": "?", "row": "i8"})
        self._blocks = GrowingTable({"start_us": "i8", "stop_us": "i8"})

    def __len__(self) -> int:
        return len(self._spans)

    def extend(self, spans: Spans) -> None:
        """Append spans."""
        self._spans.extend(spans._asdict())
        for block in range(len(self._blocks), len(self._spans) // _SPANS_A_BLOCK):
            rows = slice(block * _SPANS_A_BLOCK, (block + 1) * _SPANS_A_BLOCK)
            bounds = {"start_us": self._spans["start_us"][rows].min(), "stop_us": self._spans["stop_us"][rows].max()}
            self._blocks.extend({name: np.array([value]) for name, value in bounds.items()})

    def between(self, start_us: int, stop_us: int) -> Spans:
        """Return the spans that overlap a time, with those that only touch it."""
        hit = (self._blocks["start_us"] <= stop_us) & (self._blocks["stop_us"] >= start_us)
        blocks = np.flatnonzero(hit)
        rows = (blocks[:, np.newaxis] * _SPANS_A_BLOCK + np.arange(_SPANS_A_BLOCK)).ravel()
        rows = np.concatenate([rows, np.arange(len(hit) * _SPANS_A_BLOCK, len(self._spans))])
        spans = Spans(*(self._spans[name][rows] for name in Spans._fields))
        return spans.take((spans.start_us <= stop_us) & (spans.stop_us >= start_us))

    def drop_before(self, at_us: int) -> None:
        """Forget the oldest blocks of spans, as far as all of them ended before that time."""
        if (self._spans["stop_us"] < at_us).all():
            self._blocks.drop(len(self._blocks))
            self._spans.drop(len(self._spans))
            return
        ended = self._blocks["stop_us"] < at_us
        gone = len(ended) if ended.all() else int(ended.argmin())
        self._blocks.drop(gone)
        self._spans.drop(gone * _SPANS_A_BLOCK)
