"""`ewm`: exponentially weighted means and variances of all rows up to each one, over the borders of partitions.

A partition hands on weighted moments, which are joined as those of two samples are; the weights of earlier rows decay with
each row that follows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.prefix import Carried, meta_of, scan
from glassloom.dataframe.running import finite, values_of
from glassloom.dataframe.weight_sums import (
    LEAST_LOGARITHM,
    Presence,
    aligned,
    corrections,
    of_distinct,
    of_each,
    presence_after,
    presence_of,
    rows_of,
    rows_that_weigh,
)


@dataclass(frozen=True)
class Decay:
    """How weights fall from row to row, and what is aggregated.

    Attributes
    ----------
    how
        ``"mean"``, ``"sum"``, ``"var"`` or ``"std"``.
    com
        How fast weights fall, 0 or more: pandas' centre of mass.
    options
        Arguments of pandas' method.
    """

    how: str
    com: float
    min_periods: int
    adjust: bool
    ignore_na: bool
    options: tuple[tuple[str, Any], ...] = ()

    def __glassloom_tokenize__(self) -> Any:
        return (self.how, self.com, self.min_periods, self.adjust, self.ignore_na, self.options)

    @property
    def alpha(self) -> float:
        """The part by which a weight falls from row to row, as pandas rounds it."""
        return 1.0 / (1.0 + self.com)

    @property
    def fall(self) -> float:
        """By what a weight is multiplied from row to row."""
        return 1.0 - self.alpha

    def windows(self, block: Any, min_periods: int | None = None) -> Any:
        """Return pandas' windows."""
        least = self.min_periods if min_periods is None else min_periods
        return block.ewm(com=self.com, min_periods=least, adjust=self.adjust, ignore_na=self.ignore_na)

    def windows_of_values(self, values: Any) -> Any:
        """Return pandas' windows of the columns of a matrix, of any number of rows."""
        return self.windows(pd.DataFrame(values, copy=False), min_periods=0)

    def of_pandas(self, block: Any) -> Any:
        return getattr(self.windows(block), self.how)(**dict(self.options))

    @property
    def has_spread(self) -> bool:
        return self.how in ("var", "std")


class Weighted(NamedTuple):
    """Of each column: sum of weights, mean, variance without correction, the products of the weights of each two values, number of values,
    and by how much the weights of earlier rows fall; of the last value the sum of weights and that fall. Of the rows up to each one, or of
    a partition."""

    weight: Any
    mean: Any
    variance: Any
    products: Any
    count: Any
    decay: Any
    last_weight: Any
    last_decay: Any


class Total(NamedTuple):
    """What a partition hands on: moments, and which rows have a value if that corrects variances."""

    moments: Weighted
    presence: Presence | None


class Recursive(NamedTuple):
    """Of each column, where a value is the last one's mean with the new value: the first value, the last mean, the part
    that the first has in it, the number of values, and of rows before the first and after the last."""

    first: Any
    last: Any
    part: Any
    count: Any
    rows_before: Any
    rows_after: Any


def weighted(frame: FrameExpr, decay: Decay) -> FrameExpr:
    """Return the node of an exponentially weighted aggregation of a frame or series."""
    meta = meta_of(decay.of_pandas, frame)
    carries: tuple[FrameExpr, ...] = ()
    if frame.npartitions > 1:
        chunk, join = (_totals, _joined) if decay.adjust else (_ends, _chained)
        carries = (scan(frame, partial(chunk, decay), partial(join, decay), "ewm"),)
    blocks = tuple(Block(number) for number in range(1 + len(carries)))
    call = BlockCall(partial(_continued, decay, meta), blocks, label=f"ewm-{decay.how}")
    is_frame = isinstance(frame.meta, pd.DataFrame)
    return Carried(frame, carries, call, meta, partial(_remade, decay) if is_frame else None)


def _remade(decay: Decay, frame: FrameExpr) -> FrameExpr:
    return weighted(frame, decay)


def _values(block: Any) -> Any:
    return finite(values_of(block))


def _continued(decay: Decay, meta: Any, block: Any, before: Any = None) -> Any:
    if before is None or not len(block):
        return decay.of_pandas(block)
    values = _values(block)
    if decay.adjust:
        moments = _after(before.moments, _moments(decay, values))
        made = _result(decay, moments, _corrections(decay, values, before.presence, moments))
    else:
        made = _recursive_means(decay, values, before)
    if isinstance(meta, pd.Series):
        return pd.Series(made[:, 0], index=block.index, name=meta.name, dtype=meta.dtype)
    return pd.DataFrame(made, index=block.index, columns=meta.columns)


# With adjust: moments.


def _moments(decay: Decay, values: Any) -> Weighted:
    there = ~np.isnan(values)
    windows = decay.windows_of_values(values)
    weight = of_distinct(partial(_weights, decay), there)
    mean = _filled(windows.mean())
    counts = np.cumsum(there, axis=0)
    variance = products = np.zeros(values.shape)
    if decay.has_spread:
        variance = _filled(windows.var(bias=True))
        if rows_that_weigh(decay.fall) is None:
            factors = corrections(decay.windows_of_values, there)
            products = np.where(counts > 1, np.nan_to_num(weight**2 / factors), 0.0)
    steps = counts if decay.ignore_na else np.broadcast_to(np.arange(1, len(values) + 1)[:, None], values.shape)
    falls = _powers(decay.fall, steps)
    last = np.maximum.accumulate(np.where(there, np.arange(len(values))[:, None], 0), axis=0)
    of_last = [np.take_along_axis(one, last, axis=0) for one in (weight, falls)]
    return Weighted(weight, mean, variance, products, counts, falls, *of_last)


def _weights(decay: Decay, there: Any) -> Any:
    """Return the sums of weights up to each row of columns, of which is said whether they have a value."""
    return _filled(decay.windows_of_values(np.where(there, 1.0, np.nan)).sum())


def _filled(made: Any) -> Any:
    """Return numbers of pandas' with 0 for NaN."""
    values = made.to_numpy()
    return np.where(np.isnan(values), 0.0, values)


def _powers(base: float, exponents: Any) -> Any:
    """Return powers of a number from 0 to 1. Most of large exponents are 0, and aren't computed."""
    most = int(exponents.max(initial=0))
    n_positive = most if base == 1 else 0 if base == 0 else math.ceil(LEAST_LOGARITHM / math.log(base))
    powers = base ** np.arange(min(n_positive, most) + 1.0)
    if n_positive < most:
        powers = np.append(powers, 0.0)
    return powers[np.minimum(exponents, len(powers) - 1)]


def _totals(decay: Decay, block: Any) -> Total | None:
    if not len(block):
        return None
    values = _values(block)
    presence = presence_of(~np.isnan(values), decay.fall, decay.ignore_na) if decay.has_spread else None
    return Total(Weighted(*(one[-1] for one in _moments(decay, values))), presence)


def _joined(decay: Decay, parts: list[Total]) -> Total:
    moments, presence = parts[0]
    for part in parts[1:]:
        moments = _after(moments, part.moments)
        if presence is not None and part.presence is not None:
            presence = presence_after(presence, part.presence, decay.fall, decay.ignore_na)
    return Total(moments, presence)


def _after(before: Weighted, own: Weighted) -> Weighted:
    """Return the moments of rows and those before."""
    old, has_new = before.weight * own.decay, own.count > 0
    last_old = before.weight * own.last_decay
    last_weight = last_old + own.last_weight
    share = np.divide(last_old, last_weight, out=np.ones(last_weight.shape), where=has_new)
    new_share = np.divide(own.last_weight, last_weight, out=np.zeros(last_weight.shape), where=has_new)
    apart = np.where((before.count > 0) & has_new, before.mean - own.mean, 0.0)
    mean = np.where(has_new, own.mean + apart * share, before.mean)
    variance = before.variance * share + own.variance * new_share + apart**2 * share * new_share
    return Weighted(
        old + own.weight,
        mean,
        variance,
        before.products * own.decay**2 + own.products + 2 * old * own.weight,
        before.count + own.count,
        before.decay * own.decay,
        np.where(has_new, last_weight, before.last_weight),
        np.where(has_new, before.decay * own.last_decay, before.last_decay),
    )


def _corrections(decay: Decay, values: Any, before: Presence | None, moments: Weighted) -> Any:
    """Return the factors by which variances are corrected for few rows."""
    if not decay.has_spread or dict(decay.options).get("bias", False):
        return 1.0
    if before is None:
        several = (moments.products > 0) & (moments.count > 1)
        factors = np.full(moments.weight.shape, np.nan)
        return np.divide(moments.weight**2, moments.products, out=factors, where=several)
    rows = of_each(lambda earlier, own: np.concatenate([earlier, own]), rows_of(before), list((~np.isnan(values)).T))
    return corrections(decay.windows_of_values, aligned(rows, len(values)))[-len(values) :]


def _result(decay: Decay, moments: Weighted, factors: Any) -> Any:
    made = moments.mean
    if decay.how == "sum":
        made = moments.mean * moments.weight
    elif decay.has_spread:
        made = moments.variance * factors
        if decay.how == "std":
            made = np.sqrt(np.maximum(made, 0.0))
    return np.where(moments.count >= max(decay.min_periods, 1), made, np.nan)


# Without adjust: each mean is made of the last one.


def _old_part(decay: Decay, gaps: Any) -> Any:
    """Return the part of the last mean in the next one, that many rows later."""
    left = decay.fall ** (np.ones_like(gaps) if decay.ignore_na else gaps)
    if HAS_COPY_ON_WRITE and decay.com == 1:  # pandas 3 takes a `com` of 1 for that of times: a value has the rest
        return left
    return left / (left + decay.alpha)


def _parts(decay: Decay, values: Any) -> tuple[Any, Any, Any]:
    """Return for each row the part that the first value has in its mean, and the rows of the first and the last value."""
    parts, firsts, lasts = np.zeros(values.shape), [], []
    for place in range(values.shape[1]):
        there = np.flatnonzero(~np.isnan(values[:, place]))
        firsts.append(there[0] if len(there) else len(values))
        lasts.append(there[-1] if len(there) else -1)
        if len(there):
            steps = np.ones(len(values))
            steps[there[1:]] = _old_part(decay, np.diff(there).astype("float64"))
            parts[there[0] :, place] = np.cumprod(steps[there[0] :])
    return parts, np.array(firsts), np.array(lasts)


def _ends(decay: Decay, block: Any) -> Recursive | None:
    if not len(block):
        return None
    values = _values(block)
    parts, firsts, lasts = _parts(decay, values)
    means = decay.windows_of_values(values).mean().to_numpy()
    first = np.array([values[row, place] if row < len(values) else np.nan for place, row in enumerate(firsts)])
    count = (~np.isnan(values)).sum(axis=0)
    return Recursive(first, means[-1], parts[-1], count, firsts.astype(float), len(values) - 1.0 - lasts)


def _chained(decay: Decay, parts: list[Recursive]) -> Recursive:
    whole = parts[0]
    for own in parts[1:]:
        none, no_new = whole.count == 0, own.count == 0
        moved = _old_part(decay, whole.rows_after + own.rows_before + 1)
        both = Recursive(
            whole.first,
            own.last + own.part * moved * (whole.last - own.first),
            whole.part * moved * own.part,
            whole.count + own.count,
            whole.rows_before,
            own.rows_after,
        )
        late = own._replace(rows_before=whole.rows_before + own.rows_before)
        early = whole._replace(rows_after=whole.rows_after + own.rows_after)
        whole = Recursive(
            *(np.where(none, b, np.where(no_new, c, a)) for a, b, c in zip(both, late, early, strict=True))
        )
    return whole


def _recursive_means(decay: Decay, values: Any, before: Recursive) -> Any:
    parts, firsts, _ = _parts(decay, values)
    means = decay.windows_of_values(values).mean().to_numpy()
    made = means.copy()
    for place, first in enumerate(firsts):
        if not before.count[place]:
            continue
        made[:first, place] = before.last[place]
        if first < len(values):
            moved = _old_part(decay, np.array(before.rows_after[place] + first + 1.0))
            apart = before.last[place] - values[first, place]
            made[first:, place] += parts[first:, place] * moved * apart
    count = np.cumsum(~np.isnan(values), axis=0) + before.count
    return np.where(count >= max(decay.min_periods, 1), made, np.nan)
