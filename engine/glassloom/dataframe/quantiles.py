"""Exact quantiles and medians, without sorting all values.

First each partition counts its values in the buckets of a histogram. The sum of these says in which bucket each wanted value
lies, and how many values are below it. If these buckets hold many values (an outlier makes buckets wide) they are divided
again in the same way. At last partitions send the values of the buckets where wanted ones lie.

A bucket is a range of keys: the bits of values as 64-bit floats, which are in the values' order, shifted to the right.
Histograms of unlike shifts are added after a shift to the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.core.dtypes.dtypes import BaseMaskedDtype

from glassloom.backends.pandas_ import sample
from glassloom.dataframe.argument_kinds import fraction
from glassloom.dataframe.nodes import BlockOp, FrameExpr, Rowwise
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.reduction_nodes import TreeReduce
from glassloom.dataframe.whole_units import counts_units, of_units, units_of
from glassloom.dataframe.widening import can_miss_nothing, is_narrowing
from glassloom.errors import OptionError

_MOST_BITS = 17
"""Values are counted in 2**17 buckets at most, which are 1 MiB of counts."""
_MOST_BUCKETS, _VALUES_PER_BUCKET, _FEWEST = 2**14, 16, 16
"""As many buckets with values in them are sent, 256 KiB of numbers and counts, and fewer of few values: an eighth of their bytes."""
_SENT_PART, _SENT = 1 / 32, 4096
"""Buckets aren't divided again if they have at most this part of all values, or this number of them."""
_MOST_COMPARED = 16
"""With more ranges, looking up that of each value takes less time than comparing all values with each."""


class Wanted(NamedTuple):
    """What is asked for: a method of pandas' series, ``quantile`` or ``median``, and its arguments."""

    how: str
    fractions: tuple[float, ...]
    interpolation: str
    skipna: bool


class Histogram(NamedTuple):
    """How many values there are in buckets: those whose key, shifted right by `shift` bits, is the bucket's number."""

    shift: int
    buckets: Any
    """Numbers of the buckets that aren't empty, rising."""
    counts: Any


class Counted(NamedTuple):
    """The number of missing values, and a histogram of each range in which wanted values are."""

    missing: int
    histograms: list[Histogram]


class Places(NamedTuple):
    """Where wanted values are: each in one of some ranges, at a place among the range's values in order."""

    total: int
    missing: int
    lows: list[float]
    """The least float of each range. Ranges rise."""
    highs: list[float]
    """The largest, which is in the range, too."""
    n_within: int
    """How many values all ranges have."""
    range_of: Any
    """The number of each wanted value's range."""
    places: Any

    def are_narrow(self) -> bool:
        """Whether the values of the ranges can be sent."""
        return self.n_within <= max(_SENT_PART * self.total, _SENT)


_EVERYWHERE = Places(0, 0, [-np.inf], [np.inf], 0, np.zeros(0, dtype="int64"), np.zeros(0, dtype="int64"))


def column_quantiles(series: FrameExpr, wanted: Wanted, split_every: int | None = None) -> FrameExpr:
    """Return the node of the quantiles of a series: a series by fraction for several, else a scalar.

    Raises
    ------
    OptionError
        If a fraction isn't between 0 and 1.
    TypeError
        If the values are categories.
    """
    if isinstance(series.meta.dtype, pd.CategoricalDtype):
        raise TypeError(
            f"{wanted.how} of categories isn't supported (column {series.meta.name!r}); of an ordered one take "
            "the quantile of its .cat.codes, with interpolation='lower'"
        )
    if pd.api.types.is_object_dtype(series.meta.dtype):
        raise TypeError(
            f"{wanted.how} of a column of dtype object isn't supported (column {series.meta.name!r}): convert it by astype(float)"
        )
    for share in wanted.fractions:
        if not 0 <= share <= 1:
            raise OptionError(f"q={share!r} should be between 0 and 1")
    is_bool = series.meta.dtype == np.dtype(bool)  # pandas has quantiles of none: it objects when there are values
    meta = _of_pandas(sample(series.meta).astype("float64") if is_bool else sample(series.meta), wanted)
    first = Operation(partial(_counted, places=_EVERYWHERE), _added, partial(_first_places, wanted))
    wide = tree(series, first, None, f"{wanted.how}-buckets", split_every=split_every)
    second = Operation(_counted_again, _added_again, _narrowed)
    narrow = tree(series, second, None, f"{wanted.how}-places", others=(wide,), split_every=split_every)
    chosen = Operation(_chosen, _joined, partial(_picked, wanted, series.meta))
    return tree(series, chosen, meta, wanted.how, others=(narrow,), split_every=split_every)


def fractions_found(node: FrameExpr) -> tuple[float, ...] | None:
    """Return the fractions of which a node is the quantiles of a series, or the only one; None of other nodes."""
    while isinstance(node, BlockOp) and not isinstance(node, Rowwise) and not node.others:
        node = node.frame
    finish = node.steps.finish if isinstance(node, TreeReduce) else None
    is_of_quantiles = isinstance(finish, partial) and finish.func is _picked
    return finish.args[0].fractions if is_of_quantiles else None  # type: ignore[union-attr]


def _of_pandas(series: Any, wanted: Wanted) -> Any:
    if wanted.how == "median":
        return series.median(skipna=wanted.skipna)
    return series.quantile(list(wanted.fractions), interpolation=wanted.interpolation)


def _numbers(block: Any) -> tuple[Any, int]:
    """Return the values that aren't missing as a NumPy array, and the number of those that are."""
    missing = block.isna().to_numpy()
    some = block[~missing] if missing.any() else block
    if counts_units(some.dtype):
        values = units_of(some)
    elif some.dtype.kind in "mM" or isinstance(some.dtype, pd.PeriodDtype):
        values = some.astype("int64").to_numpy()
    else:
        values = some.to_numpy(dtype=getattr(some.dtype, "numpy_dtype", None))
    if isinstance(some.dtype, (BaseMaskedDtype, pd.ArrowDtype)) and values.dtype.kind == "f":
        values = values[~np.isnan(values)]  # 0 / 0 isn't missing there: before pandas 3, and in Arrow's numbers
    return values, len(block) - len(values)


def _keys(floats: Any) -> Any:
    """Return whole numbers in the order of floats, of which -0.0 is 0.0."""
    return _without_sign_bits((floats + 0.0).view("int64"))


def _without_sign_bits(bits: Any) -> Any:
    """Return the bits of floats as keys, or keys as bits: those of negative floats rise as these fall."""
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))


def _float_of(key: int) -> float:
    """Return the float of a key; an infinite one, if the key is beyond those."""
    least, most = _keys(np.array([-np.inf, np.inf])).tolist()
    bits = np.array([min(max(key, least), most)])
    return float(_without_sign_bits(bits).view("float64")[0])


def _floats(values: Any) -> Any:
    return values.astype("float64", copy=False)


def _in_ranges(values: Any, floats: Any, places: Places) -> list[Any]:
    """Return the values in each range."""
    lows, highs = np.array(places.lows), np.array(places.highs)
    if places.lows == [-np.inf] and places.highs == [np.inf]:
        return [values]
    if len(lows) <= _MOST_COMPARED:
        return [values[(floats >= low) & (floats <= high)] for low, high in zip(lows, highs, strict=True)]
    numbers = np.searchsorted(lows, floats, side="right") - 1
    (inside,) = np.nonzero((numbers >= 0) & (floats <= highs[numbers]))
    numbers = numbers[inside]
    ordered = values[inside[np.argsort(numbers, kind="stable")]]
    return np.split(ordered, np.cumsum(np.bincount(numbers, minlength=len(lows)))[:-1])


def _counted(block: Any, places: Places) -> Counted:
    values, missing = _numbers(block)
    floats = _floats(values)
    return Counted(missing, [_histogram(_keys(some)) for some in _in_ranges(floats, floats, places)])


def _histogram(keys: Any) -> Histogram:
    if not len(keys):
        return Histogram(0, np.empty(0, dtype="int64"), np.empty(0, dtype="int64"))
    shift = _shift(int(keys.min()), int(keys.max()), min(_MOST_BITS, len(keys).bit_length() + 1))
    most = min(_MOST_BUCKETS, max(_FEWEST, len(keys) // _VALUES_PER_BUCKET))
    return _of_buckets(shift, keys >> shift, None, most)


def _of_buckets(shift: int, buckets: Any, counts: Any, most: int) -> Histogram:
    """Return the histogram of buckets with one value each, or `counts` values. It has `most` buckets, which get wider if need be."""
    first = buckets.min()
    sums = np.bincount(buckets - first, counts)
    (filled,) = sums.nonzero()
    buckets, counts = filled + first, sums[filled].astype("int64", copy=False)
    while len(buckets) > most:
        shift += 1
        buckets >>= 1
        starts = np.flatnonzero(np.diff(buckets, prepend=buckets[0] - 1))
        buckets, counts = buckets[starts], np.add.reduceat(counts, starts)
    return Histogram(shift, buckets, counts)


def _shift(low: int, high: int, n_bits: int) -> int:
    """Return by how many bits keys are shifted that there be 2**n_bits buckets at most, and one more, from `low` to `high`."""
    return max((high - low).bit_length() - n_bits, 0)


def _added(parts: list[Counted]) -> Counted:
    histograms = [_sum(list(of_range)) for of_range in zip(*[part.histograms for part in parts], strict=True)]
    return Counted(sum(part.missing for part in parts), histograms)


def _sum(histograms: list[Histogram]) -> Histogram:
    """Return the sum of histograms, which has no more buckets than that of a partition may have."""
    filled = [one for one in histograms if len(one.buckets)]
    if len(filled) < 2:
        return filled[0] if filled else histograms[0]
    shift = max(one.shift for one in filled)
    buckets = np.concatenate([one.buckets >> (shift - one.shift) for one in filled])
    counts = np.concatenate([one.counts for one in filled])
    further = _shift(int(buckets.min()), int(buckets.max()), _MOST_BITS)
    return _of_buckets(shift + further, buckets >> further, counts, _MOST_BUCKETS)


def _first_places(wanted: Wanted, parts: list[Counted]) -> Places:
    whole = _added(parts)
    total = int(whole.histograms[0].counts.sum())
    ranks = np.array(_ranks(wanted, total) if total else [], dtype="int64")
    everywhere = _EVERYWHERE._replace(
        total=total, missing=whole.missing, n_within=total, range_of=np.zeros(len(ranks), dtype="int64"), places=ranks
    )
    return _in_buckets(everywhere, whole.histograms)


def _counted_again(block: Any, places: Places) -> tuple[Places, Counted | None]:
    return places, None if places.are_narrow() else _counted(block, places)


def _added_again(parts: list[tuple[Places, Counted | None]]) -> tuple[Places, Counted | None]:
    counted = [of_part for _, of_part in parts if of_part is not None]
    return parts[0][0], _added(counted) if counted else None


def _narrowed(parts: list[tuple[Places, Counted | None]]) -> Places:
    places, counted = _added_again(parts)
    return places if counted is None else _in_buckets(places, counted.histograms)


def _in_buckets(places: Places, histograms: list[Histogram]) -> Places:
    """Return the places of the same values, in those buckets of the ranges' histograms in which they are."""
    lows: list[float] = []
    highs: list[float] = []
    range_of, within, n_within = np.zeros_like(places.range_of), np.zeros_like(places.places), 0
    for number, histogram in enumerate(histograms):
        is_inside = places.range_of == number
        inside = places.places[is_inside]
        ends = np.cumsum(histogram.counts)
        chosen, bucket_of = np.unique(np.searchsorted(ends, inside, side="right"), return_inverse=True)
        within[is_inside] = inside - (ends - histogram.counts)[chosen][bucket_of]
        range_of[is_inside] = bucket_of + len(lows)
        n_within += int(histogram.counts[chosen].sum())
        for bucket in histogram.buckets[chosen].tolist():
            next_low = (bucket + 1) << histogram.shift
            lows.append(_float_of(bucket << histogram.shift))
            highs.append(_float_of(next_low - 1 if next_low else -2))  # the key -1 would be that of -0.0
    return Places(places.total, places.missing, lows, highs, n_within, range_of, within)


def _ranks(wanted: Wanted, count: int) -> list[int]:
    """Return the places, in sorted order, of the values that are asked for: two for each fraction."""
    ranks: list[int] = []
    for share in wanted.fractions:
        place = (count - 1) * share
        ranks += [int(np.floor(place)), min(int(np.floor(place)) + 1, count - 1)]
    return ranks


class Chosen(NamedTuple):
    """For each range its distinct values, rising, and how often each is there."""

    places: Places
    values: list[Any]
    counts: list[Any]


def _chosen(block: Any, places: Places) -> Chosen:
    values, _ = _numbers(block)
    distinct = [np.unique(some, return_counts=True) for some in _in_ranges(values, _floats(values), places)]
    return Chosen(places, [one[0] for one in distinct], [one[1] for one in distinct])


def _joined(parts: list[Chosen]) -> Chosen:
    values = [np.concatenate(of_range) for of_range in zip(*[part.values for part in parts], strict=True)]
    counts = [np.concatenate(of_range) for of_range in zip(*[part.counts for part in parts], strict=True)]
    return Chosen(parts[0].places, values, counts)


def _picked(wanted: Wanted, known: Any, parts: list[Chosen]) -> Any:
    """Return what pandas makes of the two values beside each wanted place."""
    places, values, counts = _joined(parts)
    if not places.total or not wanted.fractions or (places.missing and not wanted.skipna):
        dtype = "float64" if places.missing and can_miss_nothing(known.dtype) else known.dtype
        return _of_pandas(pd.Series([None] if places.missing else [], dtype=dtype, name=known.name), wanted)
    found = [
        _value_at(place, values[number], counts[number])
        for number, place in zip(places.range_of, places.places, strict=True)
    ]
    pairs = list(zip(found[::2], found[1::2], strict=True))
    if wanted.how == "median":
        return _series(pairs[0] if places.total % 2 == 0 else pairs[0][:1], known).median()
    made = [
        _quantile(pair, fraction, places, wanted, known) for pair, fraction in zip(pairs, wanted.fractions, strict=True)
    ]
    joined = pd.concat(made) if len(made) > 1 else made[0]
    joined.index = pd.Index(list(wanted.fractions), dtype="float64")
    return joined.rename(known.name)


def _quantile(pair: Any, fraction: float, of: Places, wanted: Wanted, known: Any) -> Any:
    place = (of.total - 1) * fraction
    part = place - np.floor(place)
    if wanted.interpolation == "nearest":  # NumPy rounds half to even places
        part = float(np.round(place) - np.floor(place))
    values = _series(pair, known)
    if of.missing and isinstance(known.dtype, BaseMaskedDtype):  # whose dtype pandas keeps then, and only then
        values = pd.concat([values, pd.Series([pd.NA], dtype=known.dtype)])
    return values.quantile([part], interpolation=wanted.interpolation)


def _value_at(place: int, values: Any, counts: Any) -> Any:
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(counts[order])
    return values[order][int(np.searchsorted(ends, place, side="right"))]


def _series(values: Sequence[Any], known: Any) -> Any:
    if counts_units(known.dtype):
        return pd.Series(of_units(np.array(values), known.dtype), name=known.name)
    made: pd.Series = pd.Series(np.array(values), name=known.name)
    if isinstance(known.dtype, pd.PeriodDtype):
        return pd.Series(pd.arrays.PeriodArray(made.to_numpy(), dtype=known.dtype), name=known.name)
    are_floats = made.dtype.kind == "f" and is_narrowing(
        made.dtype, known.dtype
    )  # of a partition alone, as replace() makes them
    return made if made.dtype == known.dtype or are_floats else made.astype(known.dtype)


def fractions_of(q: Any) -> tuple[tuple[float, ...], bool]:
    """Return the fractions of an argument `q`, and whether it is a list."""
    if pd.api.types.is_list_like(q):
        return tuple(fraction("quantile", "q", one) for one in q), True
    return (fraction("quantile", "q", q),), False
