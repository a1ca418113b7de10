"""`reindex`: the rows of a list of labels, in its order."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import concat
from glassloom.dataframe.nodes import FrameExpr, empty
from glassloom.dataframe.positions import rows_of_labels
from glassloom.dataframe.reduce import Operation, tree


def reindexed(node: FrameExpr, labels: Any, options: dict[str, Any]) -> FrameExpr:
    """Return the node of ``frame.reindex(labels, **options)``, in one partition: partitions without them aren't read."""
    index = labels if isinstance(labels, pd.Index) else pd.Index(labels)
    if index.name is None:
        index = index.rename(node.meta.index.name)
    meta = empty(node.meta.reindex(index[:0], **options))
    finish = partial(_reindexed, index, options)
    return tree(rows_of_labels(node, list(index)), Operation(_same, concat, finish), meta, "reindex")


def _reindexed(index: Any, options: dict[str, Any], blocks: list[Any]) -> Any:
    return concat(blocks).reindex(index, **options)


def _same(block: Any) -> Any:
    return block
