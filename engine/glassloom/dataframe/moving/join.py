"""`concat` and `map_partitions` as functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from glassloom.dataframe.io.from_pandas import from_pandas
from glassloom.dataframe.moving.shape import concat_nodes
from glassloom.dataframe.wrap import is_node, operate, wrap
from glassloom.errors import OptionError


def concat(frames: Sequence[Any], *, axis: int | str = 0, join: str = "outer") -> Any:
    """Put frames one after the other, or side by side.

    Parameters
    ----------
    frames
        Lazy or pandas objects.
    axis
        0 or ``"index"``: one after the other. 1 or ``"columns"``: side by side; their partitions must correspond.
    join
        What to do with columns that not all have: ``"outer"`` fills them with missing values, ``"inner"`` drops them.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> one = gd.from_pandas(pd.DataFrame({"x": [1, 2]}), npartitions=2)
    >>> gd.concat([one, one]).x.compute().tolist()
    [1, 2, 1, 2]
    """
    many = [frame if is_node(frame) else from_pandas(frame, sort=False) for frame in frames]
    if not many:
        raise ValueError("no frames to concatenate")
    if join not in ("outer", "inner"):
        raise OptionError(f"join={join!r} should be 'outer' or 'inner'")
    if axis in (1, "columns"):
        return operate(_side_by_side, *many, label="concat", kwargs={"join": join})
    if axis not in (0, "index"):
        raise OptionError(f"axis={axis!r} should be 0 or 'index', 1 or 'columns'")
    kinds = {type(frame.expr.meta).__name__ for frame in many}
    if len(kinds) > 1:
        raise TypeError(f"concat takes frames or series, not both: {sorted(kinds)}")
    return many[0] if len(many) == 1 else wrap(concat_nodes([frame.expr for frame in many], join))


def map_partitions(function: Callable[..., Any], frame: Any, *args: Any, **options: Any) -> Any:
    """Call a function with each partition of a frame. See `DataFrame.map_partitions`."""
    return frame.map_partitions(function, *args, **options)


def _side_by_side(*blocks: Any, join: Any) -> Any:
    return pd.concat(list(blocks), axis=1, join=join)
