"""`rename` of rows: labels that a function, dict or series makes of others."""

from __future__ import annotations

from typing import Any

from glassloom.dataframe.call import Method
from glassloom.dataframe.label_nodes import NewLabels
from glassloom.dataframe.moving.shape import Repartition
from glassloom.dataframe.wrap import bind, is_node, wrap


def with_renamed_labels(rows: Any, index: Any) -> NewLabels:
    """Return the node of a frame or series under other labels. All rows of a lazy series, in which labels are looked up, are brought together."""
    if is_node(index) and index.expr.npartitions > 1:
        index = wrap(Repartition(index.expr, 1))
    (node, *others), call = bind(Method("rename"), (rows,), {"index": index}, label="rename")
    return NewLabels(node, tuple(others), call)
