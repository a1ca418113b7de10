"""Boundaries between the partitions of a sort: chosen out of samples of all partitions, and where rows lie among them.

Rows are compared key by key. A key is compared in the form of NumPy arrays (`_Part`); text eight bytes at a time, and only
where the bytes before are those of a boundary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat
from glassloom.dataframe.moving.hashing import is_text
from glassloom.dataframe.moving.text_words import TextWords

SAMPLES_PER_PARTITION = 256
"""Sampled rows for each output partition: their lengths differ by about 1 / sqrt(256)."""
_MAX_WORDS = 16


@dataclass(frozen=True)
class Order:
    """How rows are sorted.

    Attributes
    ----------
    ascending
        One for each key.
    na_position
        ``"first"`` or ``"last"``.
    """

    ascending: tuple[bool, ...]
    na_position: str = "last"

    def __glassloom_tokenize__(self) -> Any:
        return (self.ascending, self.na_position)

    def sorted(self, keys: Any) -> Any:
        """Return a frame of keys in order; equal ones in their old order."""
        names = list(keys.columns)
        if len(names) == 1:
            return keys.sort_values(names[0], ascending=self.ascending[0], na_position=self.na_position, kind="stable")
        return keys.sort_values(names, ascending=list(self.ascending), na_position=self.na_position, kind="stable")


@dataclass(frozen=True)
class Samples:
    """Some rows' keys, and how many rows each one stands for."""

    keys: Any
    weights: Any


def sample_keys(keys: Any, n_samples: int) -> Samples:
    """Return a sample of a partition's keys, the same each time.

    Parameters
    ----------
    keys
        A frame with a column for each key.
    n_samples
        Rows to take, at most.
    """
    count = len(keys)
    if count > n_samples:
        chosen = np.sort(np.random.default_rng(count).choice(count, n_samples, replace=False))
        keys = keys.take(chosen)
    return Samples(keys, np.full(len(keys), count / max(len(keys), 1)))


def join_samples(samples: Sequence[Samples]) -> Samples:
    """Return several samples as one."""
    return Samples(concat([one.keys for one in samples]), np.concatenate([one.weights for one in samples]))


def choose_boundaries(samples: Samples, count: int, order: Order) -> Any:
    """Return a frame of up to `count` - 1 keys, in order, that cut the rows into about equal partitions.

    Rows that are equal to a boundary belong behind it.
    """
    keys = samples.keys.reset_index(drop=True)
    keys = order.sorted(keys)
    if not len(keys):
        return keys
    shares = np.cumsum(samples.weights[keys.index.to_numpy()])
    wanted = shares[-1] * np.arange(1, count) / count
    return keys.take(np.minimum(np.searchsorted(shares, wanted, side="right"), len(keys) - 1)).reset_index(drop=True)


def places_among(keys: Any, boundaries: Any, order: Order) -> Any:
    """Return for each row how many boundaries lie before it or are equal to it.

    Parameters
    ----------
    keys, boundaries
        Frames with a column for each key.
    """
    parts: list[_Part] = []
    for place, ascending in enumerate(order.ascending):
        key, own = keys.iloc[:, place], boundaries.iloc[:, place]
        parts.extend(_parts(key, own, ascending, order.na_position, is_alone=len(order.ascending) == 1))
    places = _places(parts, None, 0, len(boundaries)) if len(boundaries) else np.zeros(len(keys), int)
    return places.astype(np.min_scalar_type(len(boundaries)))


@dataclass(frozen=True)
class _Part:
    """A part of a key that can be compared by NumPy.

    Attributes
    ----------
    values
        Returns the part for some rows.
    boundaries
        The part for the boundaries, if rows are compared with those.
    ascending
        Whether small values come first.
    """

    values: Callable[[Any], Any]
    boundaries: Any
    ascending: bool


def _places(parts: Sequence[_Part], rows: Any, first: int, last: int) -> Any:
    """Return how many boundaries are not behind the rows, if the boundaries in question are those up to `last`."""
    part = parts[0]
    values, boundaries = part.values(slice(None) if rows is None else rows), part.boundaries[first:last]
    if part.ascending:
        end = np.searchsorted(boundaries, values, side="right") + first
        begin = np.searchsorted(boundaries, values, side="left") + first if len(parts) > 1 else end
    else:
        end = last - np.searchsorted(boundaries[::-1], values, side="left")
        begin = last - np.searchsorted(boundaries[::-1], values, side="right") if len(parts) > 1 else end
    equal = np.flatnonzero(begin < end)
    if len(parts) == 1 or not len(equal):
        return end
    for start in np.unique(begin[equal]):  # rows that are equal to the same boundaries
        chosen = equal[begin[equal] == start]
        below = chosen if rows is None else rows[chosen]
        end[chosen] = _places(parts[1:], below, int(start), int(end[chosen[0]]))
    return end


def _parts(column: Any, boundaries: Any, ascending: bool, na_position: str, *, is_alone: bool) -> list[_Part]:
    """Return a key as parts: whether it is missing, if that occurs, and its values."""
    if isinstance(boundaries.dtype, pd.CategoricalDtype):
        array = column.array
        if not array.categories.equals(boundaries.cat.categories):  # also equal ones in another order
            array = array.set_categories(boundaries.cat.categories)
        column, boundaries = pd.Series(array.codes), boundaries.cat.codes
        missing, of_boundaries = np.asarray(column < 0), np.asarray(boundaries < 0)
    else:
        column = column if column.dtype == boundaries.dtype else column.astype(boundaries.dtype)
        missing, of_boundaries = np.asarray(column.isna()), np.asarray(boundaries.isna())
    parts = []
    if missing.any() or of_boundaries.any():
        parts.append(_Part(missing.__getitem__, of_boundaries, na_position == "last"))
    if not is_text(column.dtype):
        values, others = _comparable(column, missing), _comparable(boundaries, of_boundaries)
        if _not_numbers(column.dtype, values) is not None or _not_numbers(column.dtype, others) is not None:
            wrong, of_others = np.isnan(values), np.isnan(others)
            parts.append(_Part(wrong.__getitem__, of_others, na_position == "last" if is_alone else ascending))
            values, others = np.where(wrong, 0, values), np.where(of_others, 0, others)
        return [*parts, _Part(values.__getitem__, others, ascending)]
    words, others = TextWords.of(column), TextWords.of(boundaries)
    for number in range(others.n_words):
        parts.append(_Part(partial(words.word, number), others.word(number, slice(None)), ascending))
    return [*parts, _Part(words.lengths.__getitem__, others.lengths, ascending)]


def comparable_parts(column: Any, ascending: bool, na_position: str, *, is_alone: bool) -> list[_Part] | None:
    """Return a key as parts to be compared with each other; None if it holds Python objects or long text."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = pd.Series(column.array.codes)
        missing = np.asarray(column < 0)
    else:
        missing = np.asarray(column.isna())
    parts = [_Part(missing.__getitem__, None, na_position == "last")] if missing.any() else []
    if is_text(column.dtype):
        words = TextWords.of(column)
        if words.n_words > _MAX_WORDS:
            return None
        parts.extend(_Part(partial(words.word, number), None, ascending) for number in range(words.n_words))
        return [*parts, _Part(words.lengths.__getitem__, None, ascending)]
    values = _comparable(column, missing)
    if (wrong := _not_numbers(column.dtype, values)) is not None:
        parts.append(_Part(wrong.__getitem__, None, na_position == "last" if is_alone else ascending))
        values = np.where(wrong, 0, values)
    return None if values.dtype.kind == "O" else [*parts, _Part(values.__getitem__, None, ascending)]


def _not_numbers(dtype: Any, values: Any) -> Any:
    """Return where values are NaN that isn't missing, as among Arrow's numbers: pandas has it beside missing ones, or of several keys as the largest. None if none is."""
    if isinstance(dtype, np.dtype) or values.dtype.kind != "f":
        return None
    found = np.isnan(values)
    return found if found.any() else None


def _comparable(column: Any, missing: Any) -> Any:
    """Return a column as an array that `numpy.searchsorted` takes, with 0 where it is missing.

    Missing keys are compared with each other only.
    """
    dtype = column.dtype
    kind = getattr(dtype, "kind", "O")
    if isinstance(dtype, pd.PeriodDtype) or (kind in "mM" and not isinstance(dtype, pd.ArrowDtype)):
        values = np.asarray(column.array.asi8)
    elif kind in "iufbc":
        plain = dtype if isinstance(dtype, np.dtype) else dtype.numpy_dtype
        values = column.array.to_numpy(dtype=plain, na_value=plain.type(0)) if missing.any() else column.to_numpy(plain)
    else:
        values = np.asarray(column, dtype=object)
    if missing.any():
        values = values.copy()
        values[missing] = 0
    return values
