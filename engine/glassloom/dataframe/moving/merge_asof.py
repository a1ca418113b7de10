"""`merge_asof`: each row of one frame with the nearest row of another one whose key isn't beyond it."""

from __future__ import annotations

from typing import Any

import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.io.from_pandas import from_pandas
from glassloom.dataframe.moving.shape import Repartition
from glassloom.dataframe.nodes import BlockOp, LabelKeeping
from glassloom.dataframe.wrap import is_node, wrap
from glassloom.errors import OptionError


def merge_asof(
    left: Any,
    right: Any,
    on: Any = None,
    left_on: Any = None,
    right_on: Any = None,
    left_index: bool = False,
    right_index: bool = False,
    by: Any = None,
    left_by: Any = None,
    right_by: Any = None,
    suffixes: tuple[str | None, str | None] = ("_x", "_y"),
    tolerance: Any = None,
    allow_exact_matches: bool = True,
    direction: str = "backward",
) -> Any:
    """Join each row of a frame with the nearest row of another one, as `pandas.merge_asof` does.

    The partitions of the left frame are joined one by one, each with the whole right frame, which must fit into memory.
    The right frame must be in order of its key over all partitions, the left one within each partition: `sort_values`.

    Parameters
    ----------
    left, right
        Lazy frames or pandas objects. One at least is lazy.
    on, left_on, right_on, left_index, right_index, by, left_by, right_by, suffixes, tolerance, allow_exact_matches, direction
        As in `pandas.merge_asof`.

    Raises
    ------
    UnknownColumn
        If a key is missing.
    ValueError
        When computing, if keys aren't in order.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> trades = gd.from_pandas(pd.DataFrame({"t": [1, 5, 10], "n": [10, 20, 30]}), npartitions=2)
    >>> quotes = pd.DataFrame({"t": [1, 4, 9], "price": [1.0, 2.0, 3.0]})
    >>> gd.merge_asof(trades, quotes, on="t").price.compute().tolist()
    [1.0, 2.0, 3.0]
    """
    if not is_node(left) and not is_node(right):
        raise TypeError(
            f"merge_asof needs a lazy frame on one side, got {type(left).__name__} and {type(right).__name__}"
        )
    if direction not in ("backward", "forward", "nearest"):
        raise OptionError(f"direction={direction!r} should be 'backward', 'forward' or 'nearest'")
    nodes = []
    for side, value, keys in (
        ("left", left, (on, left_on, by, left_by)),
        ("right", right, (on, right_on, by, right_by)),
    ):
        frame = value if is_node(value) else from_pandas(value, sort=False)
        if not isinstance(frame.expr.meta, pd.DataFrame):
            raise TypeError(f"the {side} side of merge_asof should be a frame, got {type(value).__name__}")
        names = [name for key in keys if key is not None for name in (key if isinstance(key, list) else [key])]
        require_columns([name for name in names if name not in frame.expr.meta.index.names], frame.expr.meta)
        nodes.append(frame.expr)
    options = {
        "on": on, "left_on": left_on, "right_on": right_on, "left_index": left_index, "right_index": right_index,
        "by": by, "left_by": left_by, "right_by": right_by, "suffixes": suffixes, "tolerance": tolerance,
        "allow_exact_matches": allow_exact_matches, "direction": direction,
    }  # fmt: skip
    whole = nodes[1] if nodes[1].npartitions == 1 else Repartition(nodes[1], 1)
    kind = LabelKeeping if left_index else BlockOp
    if whole.name == nodes[0].name:
        return wrap(kind(nodes[0], (), BlockCall(_joined, (Block(0), Block(0)), options, label="merge-asof")))
    return wrap(kind(nodes[0], (whole,), BlockCall(_joined, (Block(0), Block(1)), options, label="merge-asof")))


def _joined(left: Any, right: Any, **options: Any) -> Any:
    return pd.merge_asof(left, right, **options)
