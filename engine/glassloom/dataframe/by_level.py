"""Operators with ``level=``: each row of an index of several levels beside the value that a series has for the row's label of one of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import of_samples
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.nodes import empty
from glassloom.dataframe.options import refused
from glassloom.dataframe.prefix import Carried
from glassloom.dataframe.wrap import is_node, operate, wrap


def called_by_level(lazy: Any, name: str, other: Any, level: Any, kwargs: dict[str, Any]) -> Any:
    """Return what an operator makes of each row and the value of its label of a level.

    Parameters
    ----------
    lazy
        A series whose index has several levels, or such a frame with ``axis=0``.
    other
        A series, lazy or at hand, whose index has one level. A lazy one becomes one partition.

    Raises
    ------
    NotImplementedError
        If they are something else.
    """
    meta = other.expr.meta if is_node(other) else other
    is_laid_along_rows = lazy.ndim == 1 or kwargs.get("axis") in (0, "index", "rows")
    if (
        not isinstance(meta, pd.Series)
        or not is_laid_along_rows
        or lazy._meta.index.nlevels == 1
        or meta.index.nlevels > 1
    ):
        raise refused(
            name,
            "level",
            level,
            "it takes a series whose index has one level, and of a frame axis=0; reset_index() makes levels columns, to merge() by",
        )
    lazy._meta.index.get_level_values(level)  # pandas says what is wrong with it
    function = partial(_beside_labels, Method(name), level, kwargs)
    if not is_node(other):
        return operate(function, lazy, other, label=name)
    whole = other if other.npartitions == 1 else other.repartition(npartitions=1)
    call = BlockCall(function, (Block(0), Block(1)), label=name)
    nodes = (lazy.expr, whole.expr)
    made = empty(of_samples(call, *(node.meta for node in nodes)))
    return wrap(Carried(nodes[0], nodes[1:], call, made, None))


def _beside_labels(called: Callable[..., Any], level: Any, kwargs: dict[str, Any], block: Any, other: Any) -> Any:
    values = other.reindex(block.index.get_level_values(level)).set_axis(block.index)
    return called(block, values, **kwargs)
