"""`ewm`: windows of all rows up to each one, whose weights fall exponentially."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.arguments import with_arguments
from glassloom.dataframe.weighting import Decay, weighted
from glassloom.dataframe.whole_windows import of_one_partition
from glassloom.dataframe.window_lists import aggregated_by_name
from glassloom.dataframe.wrap import wrap


def centre_of_mass(com: Any = None, span: Any = None, halflife: Any = None, alpha: Any = None) -> float:
    """Return how fast weights fall as pandas rounds it; one is given."""
    if com is not None:
        return float(com)
    if span is not None:
        return float((span - 1) / 2)
    if halflife is not None:
        return float(1 / (1 - np.exp(np.log(0.5) / halflife)) - 1)
    return float((1 - alpha) / alpha)


@with_arguments("Exponential")
class Exponential:
    """Windows of all rows up to each one whose weights fall with each row. Made by `DataFrame.ewm`."""

    __iter__ = None  # by positions it would never end

    def __init__(self, frame: Any, decay: Decay) -> None:
        self._frame = frame
        self._decay = decay

    def __repr__(self) -> str:
        decay = self._decay
        return f"Exponential(alpha={decay.alpha:g}, adjust={decay.adjust}, ignore_na={decay.ignore_na})"

    def __getitem__(self, columns: Any) -> Exponential:
        return Exponential(self._frame[columns], self._decay)

    def __getattr__(self, name: str) -> Any:
        if name == "online":
            raise NotImplementedError(f"ewm().{name}() isn't supported; use mean, sum, var or std of ewm()")
        raise AttributeError(f"Exponential has no attribute {name!r}; it has mean, sum, var and std")

    def agg(self, func: Any = None, /, **kwargs: Any) -> Any:
        """Aggregate the rows up to each one by ``mean sum var std``: a name, a list of names, or a dict of those by column."""
        return aggregated_by_name(self, self._frame, func, ("mean", "sum", "var", "std"), "ewm()", kwargs)

    aggregate = agg

    def mean(self, numeric_only: bool = False) -> Any:
        """Return the weighted mean of the rows up to each one."""
        return self._aggregated("mean", {}, numeric_only)

    def sum(self, numeric_only: bool = False) -> Any:
        """Return the weighted sum of the rows up to each one."""
        if not self._decay.adjust:
            raise NotImplementedError("sum is not implemented with adjust=False")
        return self._aggregated("sum", {}, numeric_only)

    def var(self, bias: bool = False, numeric_only: bool = False) -> Any:
        """Return the weighted variance of the rows up to each one; `bias` leaves out the correction for few rows."""
        return self._spread("var", bias, numeric_only)

    def std(self, bias: bool = False, numeric_only: bool = False) -> Any:
        """Return the weighted standard deviation of the rows up to each one. See `var`."""
        return self._spread("std", bias, numeric_only)

    def cov(self, other: Any = None, pairwise: Any = None, bias: bool = False, numeric_only: bool = False) -> Any:
        """Return the weighted covariance with another series or frame of the rows up to each one, which are in one partition."""
        given = {"other": other, "pairwise": pairwise, "bias": bias, "numeric_only": numeric_only}
        return self._whole("cov", given)

    def corr(self, other: Any = None, pairwise: Any = None, numeric_only: bool = False) -> Any:
        """Return the weighted correlation with another series or frame of the rows up to each one, which are in one partition."""
        return self._whole("corr", {"other": other, "pairwise": pairwise, "numeric_only": numeric_only})

    def _whole(self, how: str, given: dict[str, Any]) -> Any:
        instead = "Use mean, sum, var or std of ewm()"
        return of_one_partition(partial(_windows_of, self._decay), self._frame, how, given, "ewm()", instead)

    def _spread(self, how: str, bias: bool, numeric_only: bool) -> Any:
        if not self._decay.adjust and self._frame.npartitions > 1:
            raise NotImplementedError(f"ewm(adjust=False).{how}() isn't supported; leave adjust=True, or use mean()")
        return self._aggregated(how, {"bias": bias}, numeric_only)

    def _aggregated(self, how: str, options: dict[str, Any], numeric_only: bool) -> Any:
        frame = self._frame
        if numeric_only and isinstance(frame.expr.meta, pd.DataFrame):
            frame = frame.select_dtypes("number", exclude="timedelta")
        return wrap(weighted(frame.expr, replace(self._decay, how=how, options=tuple(options.items()))))


def _windows_of(decay: Decay, block: Any) -> Any:
    return block.ewm(com=decay.com, min_periods=decay.min_periods, adjust=decay.adjust, ignore_na=decay.ignore_na)
