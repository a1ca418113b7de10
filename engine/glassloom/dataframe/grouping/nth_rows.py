"""`nth` of groups: rows by their place in the group. One place takes a tree, several take whole groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from glassloom.dataframe.grouping.masks import nth_mask
from glassloom.dataframe.grouping.rows import kept_first
from glassloom.dataframe.grouping.wholes import Grouping, of_rows
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.wrap import wrap

_FAR = 1000
"""A tree keeps as many rows of each group as it counts up to: beyond that, whole groups move."""


class NthRows:
    """``groups.nth(0)``, ``groups.nth[0:2]`` and ``groups.nth[0, -1]``: rows by their place in the group."""

    __iter__ = None  # by positions it would never end

    def __init__(self, groups: Any) -> None:
        self._groups = groups

    def __call__(self, n: Any, dropna: Any = None) -> Any:
        """Return row `n` of each group, counted from 0, or from the end with negative numbers; or several rows.

        Parameters
        ----------
        n
            A number, a slice, or a list of those. The rows of one number are in one partition, the others in theirs.
        dropna
            Which rows don't count, with one number: ``"any"``, those with a missing value; ``"all"``, those with nothing else.
        """
        return wrap(nth_rows(self._groups._of_whole_rows(), n, dropna))

    def __getitem__(self, n: Any) -> Any:
        return self(list(n) if isinstance(n, tuple) else n)


def nth_rows(grouping: Grouping, n: Any, dropna: Any) -> FrameExpr:
    """Return the node of the rows at some places in their groups.

    Parameters
    ----------
    grouping
        What is grouped.
    n
        A number, a slice, or a list of those.
    dropna
        Which rows don't count: ``"any"``, those with a missing value; ``"all"``, those with nothing else; None: all count.

    Raises
    ------
    TypeError, ValueError
        If `n` or `dropna` is something else.
    """
    places = n if isinstance(n, (list, tuple)) else [n]
    if not all(isinstance(one, (int, np.integer, slice)) for one in places):
        raise TypeError(f"nth({n!r}) takes a whole number, a slice, or a list of those")
    is_one = isinstance(n, (int, np.integer))
    if dropna is not None:
        if not is_one or dropna not in ("any", "all"):
            raise ValueError(f"nth({n!r}, dropna={dropna!r}): dropna is 'any' or 'all', and n one whole number then")
        grouping = _without_missing(grouping, dropna)
    if is_one and -_FAR <= n < _FAR:
        return kept_first(grouping, "tail" if n < 0 else "head", int(-n if n < 0 else n + 1), is_last_alone=True)
    meta = grouping.node.meta if grouping.recipe.selection is None else grouping.node.meta[grouping.recipe.selection]
    return of_rows(grouping, partial(nth_mask, _joined(places)), meta, "groupby-nth", keeps_rows=False)


def _joined(places: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(int(one) if isinstance(one, np.integer) else one for one in places)


def _without_missing(grouping: Grouping, how: str) -> Grouping:
    """Return a grouping without the rows of which any, or all, of the selected values are missing."""
    frame = wrap(grouping.node)
    known = (frame if grouping.recipe.selection is None else frame[grouping.recipe.selection]).notna()
    if hasattr(known, "columns"):
        known = known.all(axis=1) if how == "any" else known.any(axis=1)
    blocks = tuple(wrap(block)[known].expr for block in grouping.blocks)
    return replace(grouping, node=frame[known].expr, blocks=blocks)
