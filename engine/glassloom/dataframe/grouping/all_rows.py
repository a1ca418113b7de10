"""Results of rows that have a time, at the places of all rows: those without one are in no group, and keep their place."""

from __future__ import annotations

from typing import Any

import numpy as np

from glassloom.dataframe.nodes import SomeRows
from glassloom.dataframe.wrap import bind, wrap


class Binned(dict[Any, str]):
    """Of each column that is grouped by stretches of time its frequency."""

    times: Any = None
    """The columns before rows without a time were left out, as a lazy frame; None: none were."""

    def at_all_rows(self, made: Any) -> Any:
        """Return a lazy result of the rows that were left with missing values in those that weren't."""
        if self.times is None:
            return made
        nodes, call = bind(_at_all_rows, (self.times, made), {}, label="all-rows")
        return wrap(AllRows(nodes[0], tuple(nodes[1:]), call, made.expr.meta))


class AllRows(SomeRows):
    """Rows computed of some rows of a frame, at the places of all of them."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta

    @property
    def rows(self) -> str:
        return self.frame.rows

    @property
    def lengths(self) -> tuple[int, ...] | None:
        return self.frame.lengths


def _at_all_rows(times: Any, made: Any) -> Any:
    kept = times.notna().all(axis=1).to_numpy()
    if kept.all():
        return made
    places = np.where(kept, np.cumsum(kept) - 1, -1)
    return made.reset_index(drop=True).reindex(places).set_axis(times.index, axis=0)
