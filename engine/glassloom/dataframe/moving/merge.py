"""Joins with a table of one partition, which every partition of the other side is joined with."""

from __future__ import annotations

from typing import Any

import pandas as pd

from glassloom.dataframe.call import Method
from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.nodes import BlockOp, LabelKeeping
from glassloom.dataframe.wrap import bind, is_node, wrap
from glassloom.errors import OptionError

_HOWS = ("inner", "left")


def merge(
    left: Any,
    right: Any,
    *,
    how: str = "inner",
    on: Any = None,
    left_on: Any = None,
    right_on: Any = None,
    left_index: bool = False,
    right_index: bool = False,
    suffixes: tuple[str | None, str | None] = ("_x", "_y"),
) -> Any:
    """Join a frame with a table, as `pandas.merge` does.

    The table on the right must be small enough for one partition: a pandas object, or a lazy frame of one partition
    such as the result of a `groupby`. Missing keys match missing keys, as in pandas.

    Parameters
    ----------
    left, right
        The frames.
    how
        ``"inner"`` or ``"left"``.
    on, left_on, right_on, left_index, right_index, suffixes
        As in `pandas.merge`.

    Raises
    ------
    NotImplementedError
        If both sides have several partitions, or another `how` would need rows of several partitions at once.
    UnknownColumn
        If a key is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> sales = gd.from_pandas(pd.DataFrame({"k": ["a", "b", "a"], "x": [1, 2, 3]}), npartitions=2)
    >>> names = pd.DataFrame({"k": ["a", "b"], "name": ["Ada", "Bob"]})
    >>> sales.merge(names, on="k").name.compute().tolist()
    ['Ada', 'Bob', 'Ada']
    """
    if not is_node(left):
        raise TypeError(f"the left side of a lazy merge should be a lazy frame, got {type(left).__name__}")
    several = is_node(right) and right.npartitions > 1
    if several and left.npartitions == 1 and how == "inner":
        hint = "swap the sides, so that the small one is on the right"
    else:
        hint = "give the small side as a pandas DataFrame, or make it one partition: right.repartition(npartitions=1)"
    if several:
        raise NotImplementedError(
            f"merge of {left.npartitions} with {right.npartitions} partitions: joins that move rows between partitions "
            f"aren't there yet; {hint}"
        )
    if how not in ("inner", "left", "right", "outer", "cross"):
        raise OptionError(f"how={how!r} should be one of {list(_HOWS)}")
    if how not in _HOWS and left.npartitions > 1:
        raise NotImplementedError(
            f"how={how!r} needs all {left.npartitions} partitions of the left side at once; {' and '.join(_HOWS)} joins "
            "work, and any join does on left.repartition(npartitions=1)"
        )
    _require_keys(left, right, on, left_on, right_on)
    options = {
        "how": how, "on": on, "left_on": left_on, "right_on": right_on, "left_index": left_index,
        "right_index": right_index, "suffixes": suffixes,
    }  # fmt: skip
    nodes, call = bind(Method("merge"), (left, right), options, label="merge")
    keeps_labels = left_index and (right_index or right_on is None) and how == "left"
    kind = LabelKeeping if keeps_labels else BlockOp
    return wrap(kind(nodes[0], tuple(nodes[1:]), call))


def _require_keys(left: Any, right: Any, on: Any, left_on: Any, right_on: Any) -> None:
    for keys, side in ((on, left), (on, right), (left_on, left), (right_on, right)):
        meta = side.expr.meta if is_node(side) else side
        if keys is None or not isinstance(meta, pd.DataFrame):
            continue
        labels = keys if isinstance(keys, list) else [keys]
        if all(isinstance(label, (str, int)) for label in labels):
            require_columns([label for label in labels if label not in meta.index.names], meta)
