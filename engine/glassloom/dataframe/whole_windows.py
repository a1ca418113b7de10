"""What windows of rows need of pandas and of other objects: those in one partition, rows of a frame beside a series, lengths of times."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from glassloom._users_functions import call_users_function
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.columns import require_distinct
from glassloom.dataframe.nodes import BlockOp, Rowwise
from glassloom.dataframe.options import refused
from glassloom.dataframe.two_series import both_lazy
from glassloom.dataframe.wrap import is_node, operate, wrap
from glassloom.errors import OptionError


def of_one_partition(
    make: Callable[[Any], Any], frame: Any, how: str, given: dict[str, Any], what: str, instead: str
) -> Any:
    """Return what a method of pandas' windows makes of a lazy frame or series in one partition.

    Parameters
    ----------
    make
        Makes pandas' windows of a partition.
    how, given
        The method, and its arguments by name. `other` is a lazy or pandas object.
    what, instead
        What is asked for, and what else there is, in errors.

    Raises
    ------
    NotImplementedError
        If there are several partitions.
    """
    given = {name: value for name, value in given.items() if name != "other" or value is not None}
    frame, other = both_lazy(frame, given.pop("other", None))
    is_lazy = is_node(other) and other.expr.has_rows
    if frame.npartitions > 1 or (is_lazy and other.npartitions > 1):
        raise NotImplementedError(
            f"{what}.{how}() of several partitions isn't supported: it needs the values of all rows before each. {instead}, or "
            "repartition(npartitions=1) before"
        )
    is_pairwise = how in ("corr", "cov") and isinstance(frame.expr.meta, pd.DataFrame)
    if is_pairwise:
        require_distinct(how, frame.expr.meta)
    others = (other,) if is_lazy else ()
    return operate(
        partial(_called, make, how, given),
        frame,
        *others,
        kind=BlockOp if is_pairwise else Rowwise,
        label=f"{what}-{how}",
    )


def _called(make: Callable[[Any], Any], how: str, given: dict[str, Any], block: Any, *others: Any) -> Any:
    return call_users_function(getattr(make(block), how), *others, **given)


def rows_of(made: Any, frame: Any) -> Any:
    """Return the rows of a result that are those of a frame by label, in its order; more than one partition are in order already."""
    if frame.npartitions == made.npartitions == 1:
        call = BlockCall(_in_rows, (Block(0), Block(1)), label="rows")
        return wrap(BlockOp(made.expr, (frame.expr,), call))
    return made[made.index.to_series().isin(frame.index)]


def _in_rows(made: Any, frame: Any) -> Any:
    return made if made.index.equals(frame.index) else made.reindex(frame.index)


def length_of(window: Any) -> pd.Timedelta:
    """Return how long a window of time is.

    Raises
    ------
    OptionError
        If it is neither a number of rows nor a fixed time.
    """
    if isinstance(window, pd.api.indexers.BaseIndexer):
        raise refused("rolling", "window", window, "give a number of rows, or a time such as '2h'")
    try:
        offset = pd.tseries.frequencies.to_offset(window)
        start = pd.Timestamp("2000-01-01")
        return start + offset - start
    except (TypeError, ValueError) as error:
        raise OptionError(f"rolling: window={window!r} should be a number of rows, or a time such as '2h'") from error
