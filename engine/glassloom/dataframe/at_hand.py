"""Small results, whose shape depends on their values, are computed now: frames and series of one partition, as group-by and `describe` make them, or of few rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from glassloom.dataframe.base import Frame
from glassloom.dataframe.io.from_pandas import from_pandas
from glassloom.dataframe.wrap import require_lazy, wrap
from glassloom.errors import NotSupported


class AtHand(Frame):
    """Methods of frames and series."""

    def unstack(self, level: Any = -1, fill_value: Any = None, sort: bool = True) -> Any:
        """Return a level of the index as columns. Computes what is unstacked, now: it should be small, or have one partition.

        Parameters
        ----------
        level
            The level, or a list of them, by name or number.
        fill_value
            What stands where there is nothing.
        sort
            Whether the labels are sorted.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"k": ["a", "b", "a"], "n": [1, 1, 2], "x": [3, 4, 5]}), npartitions=2)
        >>> frame.groupby(["k", "n"]).x.sum().unstack(fill_value=0).compute().to_numpy().tolist()
        [[3, 5], [4, 0]]
        """
        options = {"level": level, "fill_value": fill_value, **({} if sort is True else {"sort": sort})}
        return computed_now(self, "unstack", lambda block: block.unstack(**options), "pivot_table()")


class SeriesAtHand(AtHand):
    """Methods of series."""

    def to_dict(self, *, into: Any = dict) -> Any:
        """Compute, and return a dict from labels to values; `into` is its class."""
        return self._computed_by_pandas().to_dict(into=into)


class FrameAtHand(AtHand):
    """Methods of frames."""

    def to_dict(self, orient: str = "dict", *, into: Any = dict, index: bool = True) -> Any:
        """Compute, and return a dict. The arguments are pandas': `orient` says of what, such as ``"records"`` or ``"list"``."""
        return self._computed_by_pandas().to_dict(orient, into=into, index=index)

    @property
    def T(self) -> Any:
        """The frame with rows as columns. See `transpose`."""
        return self.transpose()

    def transpose(self) -> Any:
        """Return the frame with rows as columns, such as ``frame.describe().T``. Computes it, now: it should be small, or have one partition."""
        return computed_now(self, "transpose", lambda block: block.T, "compute().T, or melt() of frames")


MOST_ROWS = {"transpose": 10_000, "quantile(axis=1)": 10_000, "unstack": 1_000_000}
"""Of how many rows in several partitions each method is computed."""


def computed_now(frame: Any, method: str, function: Callable[[Any], Any], instead: str) -> Any:
    """Return a lazy object of what a function makes of all rows of a frame, which are computed now.

    Raises
    ------
    NotSupported
        If there are several partitions, and more rows than `MOST_ROWS` has for the method.
    """
    if frame.npartitions > 1 and (count := len(frame)) > MOST_ROWS[method]:
        raise NotSupported(
            f"{method} of {count} rows in {frame.npartitions} partitions isn't supported: it is computed now, and the result's columns depend on "
            f"all rows. Use {instead}; or repartition(npartitions=1) before. Up to {MOST_ROWS[method]} rows need neither"
        )
    return at_hand(function(frame._computed_by_pandas()))


def at_hand(made: Any) -> Any:
    """Return a lazy frame or series of one that is computed, in one partition."""
    return wrap(from_pandas(made, npartitions=1, sort=False).expr)


def lazy_rows(function: str, value: Any) -> Any:
    """Return the lazy frame or series that a function gets; pandas' one is one partition.

    Raises
    ------
    TypeError
        If it is something else.
    """
    if isinstance(value, (pd.DataFrame, pd.Series)):
        return at_hand(value)
    require_lazy(function, value)
    return value
