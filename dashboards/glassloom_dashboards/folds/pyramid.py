"""A pyramid of bins: what spans of time sum up to, in levels of bins from fine to coarse, kept up as spans come. Pure.

Spans come in blocks. A block is summed in bins of a width that suits it, and these in wider ones, level by level. So what a view
needs costs as much as there are bins in it, however many spans they stand for. It is put together of

* the bins of its level, of all blocks that have that level;
* spans that are long beside these bins, one by one: they would fill too many;
* spans of blocks whose finest bins are wider. They are few, as such a block is about as wide as the view; who has the spans
  gives them. If they are gone, the view gets the wider bins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from glassloom_dashboards.folds.bins import (
    ACTIONS,
    KIND_BITS,
    LONG,
    MAX_KINDS,
    Bins,
    Integers,
    Level,
    SpanList,
    Spans,
    bins_of,
    joined_bins,
    joined_spans,
)
from glassloom_dashboards.folds.growing import GrowingTable

ACTION_BITS = 8
"""A kind is ``layer << ACTION_BITS | action``."""
OTHER_KIND = -1 << ACTION_BITS
"""The kind, with its action, that stands for many layers."""
WIDTHS_US = tuple(step * 10**power for power in range(11) for step in (1, 5))
"""The widths of the levels, up to 14 hours: each is a multiple of the one before."""
MAX_BINS = 2**21
"""How many bins are kept, of 24 bytes each. Past that, the finest ones of old times go."""
MAX_SCANNED = 2**16
"""How many spans are summed for one view at most, besides bins."""

_BLOCK = ("first", "stop", "level", "start_us", "stop_us", "ended_us")
"""Of a block its rows, its finest level, from when to when its spans are (but long ones), and when the first of all ended."""
_LEVELS = len(WIDTHS_US)
_WIDTHS = np.array(WIDTHS_US, np.int64)
_COLUMNS_A_BLOCK = 64
"""The finest bins of a block are such that it takes about so many,"""
_SHARE_OF_SHORT = 0.9
"""and that so many of its spans aren't long beside them."""
_MOST_PAUSES = 3
_LEAST_PAUSE = 0.125
_SMALL_KINDS = 2**20
_SUMMED_TOGETHER = 8
"""Of so many blocks at most the bins wait for others before they are put into levels, unless somebody wants to see them."""
_LEAST_BINS_SHARE = 7 / 8
_BINS_A_SPAN = 2
"""A span that is kept takes as much memory as so many bins."""


@dataclass(frozen=True)
class Gathered:
    """What a view is put together of: bins of one width (several may be for one place), and spans."""

    width_us: int
    bins: Bins
    spans: Spans


class _Summed(NamedTuple):
    """A block in bins of its finest level, and its longer spans by the level in which they are put into bins."""

    level: int
    bins: Bins
    later: dict[int, Spans]


class Pyramid:
    """Bins of spans by series and kind.

    Parameters
    ----------
    scan
        Returns the spans of the rows from one number up to another, by which `add` was told of them.
    """

    def __init__(self, scan: Callable[[int, int], Spans]) -> None:
        self._scan = scan
        self._levels = [Level(width_us) for width_us in WIDTHS_US]
        self._long = [SpanList() for _ in range(_LEVELS + 1)]  # by class
        self._blocks = GrowingTable(dict.fromkeys(_BLOCK, "i8"))
        self._kinds = np.array([OTHER_KIND])  # by `number // ACTIONS`
        self._numbers: dict[int, int] = {}
        self._number_of_small = np.zeros(0, np.int64)  # the same for kinds below `_SMALL_KINDS`; 0 for unknown ones
        self._added = 0
        self._waiting: list[_Summed] = []

    @property
    def size(self) -> int:
        """How many bins are held, or as much as the same memory."""
        self._widen()
        return sum(level.size for level in self._levels) + _BINS_A_SPAN * sum(map(len, self._long))

    @property
    def n_kinds(self) -> int:
        """All numbers of kinds are below."""
        return len(self._kinds) * ACTIONS

    def kinds(self, numbers: Integers) -> Integers:
        """Return the kinds that have these numbers; `OTHER_KIND` with the action for what stands for many."""
        return np.where(numbers < ACTIONS, OTHER_KIND | numbers, self._kinds[numbers // ACTIONS])

    def keys(self, series: Integers, kind: Integers) -> Integers:
        """Return keys for series (from 0 on) and kinds (from 0 on); a kind that is new gets a number."""
        top = int(kind.max(initial=0))
        if top < len(self._number_of_small):
            numbers = self._number_of_small[kind]
            if numbers.all():
                return series << KIND_BITS | numbers
        distinct, place = np.unique(kind, return_inverse=True)
        numbers = np.array([self._number(value) for value in distinct.tolist()], np.int64)
        if top < _SMALL_KINDS:
            grown = np.zeros(max(top + 1, len(self._number_of_small)), np.int64)
            grown[: len(self._number_of_small)] = self._number_of_small
            grown[distinct] = numbers
            self._number_of_small = grown
        return series << KIND_BITS | numbers[place]

    def _number(self, kind: int) -> int:
        number = self._numbers.get(kind)
        if number is None:
            action = min(kind & (1 << ACTION_BITS) - 1, ACTIONS - 1)
            if self.n_kinds >= MAX_KINDS:
                return action
            number = self._numbers[kind] = self.n_kinds | action
            self._kinds = np.append(self._kinds, kind)
        return number

    def add(self, first: int, stop: int) -> None:
        """Add the spans of the rows from number `first` up to `stop` as a block: those after the rows that were added before."""
        self._add_block(self._scan(first, stop), first, stop)

    def _add_block(self, spans: Spans, first: int, stop: int) -> None:
        classes = class_of(spans.stop_us - spans.start_us)
        finest = _finest(spans, classes)
        is_short = classes <= finest
        short = spans if is_short.all() else spans.take(is_short)
        bins = bins_of(short, WIDTHS_US[finest]).summed()
        long = () if short is spans else np.unique(classes[~is_short]).tolist()
        later = {number: spans.take(classes == number) for number in long}
        self._waiting.append(_Summed(finest, bins, later))
        if len(self._waiting) >= _SUMMED_TOGETHER:
            self._widen()
        for number, some in later.items():
            self._long[number].extend(some)
        start_us, stop_us = short.start_us.min(initial=2**62), short.stop_us.max(initial=-(2**62))
        ended_us = spans.stop_us.min(initial=2**62)
        values = (first, stop, finest, start_us, stop_us, ended_us)
        self._blocks.extend({name: np.array([value]) for name, value in zip(_BLOCK, values, strict=True)})
        self._added = stop

    def _widen(self) -> None:
        """Put the bins of the newest blocks into their levels, those of blocks with bins of one width together: that costs about as
        much as for one block.
        """
        waiting, self._waiting = self._waiting, []
        for finest in {block.level for block in waiting}:
            blocks = [block for block in waiting if block.level == finest]
            bins = joined_bins([block.bins for block in blocks])
            bins = bins.summed() if len(blocks) > 1 else bins
            for level in range(finest, _LEVELS):
                if level > finest:
                    bins = bins.widened(WIDTHS_US[level] // WIDTHS_US[level - 1])
                later = [bins_of(block.later[level], WIDTHS_US[level]) for block in blocks if level in block.later]
                if later:
                    bins = joined_bins([bins, *later]).summed()
                if len(bins.key):
                    self._levels[level].add(bins)

    def blocks_between(self, start_us: int, stop_us: int) -> Integers:
        """Return the (first, stop, level) of the blocks of which spans, but long ones, overlap a time or touch it."""
        hit = (self._blocks["start_us"] <= stop_us) & (self._blocks["stop_us"] >= start_us)
        return np.stack([self._blocks[name][hit] for name in ("first", "stop", "level")], axis=1)

    def long_between(self, start_us: int, stop_us: int, level: int = -1) -> Spans:
        """Return the spans that are long beside the bins of `level` (or of their block) and overlap a time or touch it."""
        return joined_spans([spans.between(start_us, stop_us) for spans in self._long[level + 1 :] if len(spans)])

    def finest_width_us(self, start_us: int, stop_us: int, first_row: int, width_us: int) -> int:
        """Return the least width, from `width_us` on, in which a view can be had, given that rows before `first_row` are gone."""
        blocks = self.blocks_between(start_us, stop_us)
        is_gone = blocks[:, 1] <= first_row
        wanted = level_of(width_us)
        level = max(wanted, int(blocks[is_gone, 2].max(initial=0)))
        while level < _LEVELS - 1 and start_us < self._levels[level].known_from_us:
            level += 1
        rows = np.where(is_gone, 0, blocks[:, 1] - blocks[:, 0])
        while level < _LEVELS - 1 and rows[blocks[:, 2] > level].sum() > MAX_SCANNED:
            level += 1
        return width_us if level == wanted else WIDTHS_US[level]

    def gather(self, start_us: int, stop_us: int, first_row: int, next_row: int, width_us: int) -> Gathered:
        """Return what is needed for bins of a width that `finest_width_us` allows; the times are multiples of it.

        Rows from `first_row` up to `next_row` are there. Spans may reach beyond the times, or only touch them.
        """
        self._widen()
        level = level_of(width_us)
        first, last = start_us // WIDTHS_US[level], (stop_us - 1) // WIDTHS_US[level]
        parts = [self.long_between(start_us, stop_us, level)]
        for begin, end, finest in self.blocks_between(start_us, stop_us).tolist():
            if finest > level and begin >= first_row:
                spans = self._scan(begin, end)
                parts.append(spans.take(class_of(spans.stop_us - spans.start_us) <= finest))
        parts += [self._scan(max(self._added, first_row), next_row)] if next_row > self._added else []
        spans = joined_spans(parts)
        in_view = (spans.start_us <= stop_us) & (spans.stop_us >= start_us)
        return Gathered(WIDTHS_US[level], self._levels[level].between(first, last), spans.take(in_view))

    def limit(self, first_row: int) -> None:
        """Keep to `MAX_BINS`, as far as rows before `first_row` are concerned."""
        if self.size <= MAX_BINS:
            return
        is_kept = self._blocks["stop"] > first_row
        before_us = min(int(self._blocks[name][is_kept].min(initial=2**62)) for name in ("start_us", "ended_us"))
        for number, level in enumerate(self._levels[:-1]):
            if self.size <= _LEAST_BINS_SHARE * MAX_BINS:
                return
            level.drop_oldest(before_us, self.size - int(_LEAST_BINS_SHARE * MAX_BINS))
            for finer in self._levels[:number]:
                finer.known_from_us = max(finer.known_from_us, level.known_from_us)
            for long in self._long[: number + 2]:
                long.drop_before(level.known_from_us)


def class_of(duration_us: Integers) -> Integers:
    """Return the finest level beside whose bins a span of each duration isn't long."""
    return np.searchsorted(_WIDTHS, -(-duration_us // LONG))


def level_of(width_us: int) -> int:
    """Return the coarsest level of whose bins those of a width can be made."""
    return next(level for level in range(_LEVELS - 1, -1, -1) if width_us % WIDTHS_US[level] == 0)


def _finest(spans: Spans, classes: Integers) -> int:
    """Return the level of the finest bins that a block has."""
    if not len(classes):
        return _LEVELS - 1
    span_us = int(spans.stop_us.max() - spans.stop_us.min())
    usual = int(np.partition(classes, place := int(_SHARE_OF_SHORT * (len(classes) - 1)))[place])
    return min(max(int(np.searchsorted(_WIDTHS, span_us // _COLUMNS_A_BLOCK)), usual), _LEVELS - 1)


def parts_between_pauses(stop_us: Integers) -> list[tuple[int, int]]:
    """Return how to part rows into blocks where nothing ended for a long time: what lies apart should not share wide bins.

    >>> parts_between_pauses(np.array([1, 2, 3, 900, 903, 904]))
    [(0, 3), (3, 6)]
    """
    reached_us = np.maximum.accumulate(stop_us)
    pause_us = np.diff(reached_us)
    limit_us = max(_LEAST_PAUSE * int(reached_us[-1] - stop_us.min()), 1.0)
    places = np.flatnonzero(pause_us > limit_us)
    longest = places[np.argsort(pause_us[places])[-_MOST_PAUSES:]]
    cuts = [0, *sorted((longest + 1).tolist()), len(stop_us)]
    return list(zip(cuts, cuts[1:], strict=False))
