"""`reindex`: the rows of a list of labels, in its order."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import concat
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.nodes import FrameExpr, LabelKeeping, empty
from glassloom.dataframe.positions import rows_of_labels
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.repeated_labels import paired
from glassloom.dataframe.unlike_dtypes import with_one_dtype
from glassloom.dataframe.wrap import wrap


def reindexed(node: FrameExpr, labels: Any, options: dict[str, Any]) -> FrameExpr:
    """Return the node of ``frame.reindex(labels, **options)``, in one partition: partitions without them aren't read."""
    index = labels if isinstance(labels, pd.Index) else pd.Index(labels) if len(labels) else node.meta.index[:0]
    if not hasattr(labels, "name"):
        index = index.rename(node.meta.index.names if index.nlevels > 1 else node.meta.index.name)
    meta = empty(node.meta.reindex(index[:0], **options))
    finish = partial(_reindexed, index, options)
    return tree(rows_of_labels(node, list(index)), Operation(_same, concat, finish), meta, "reindex")


def reindexed_to(node: FrameExpr, labels: FrameExpr, options: dict[str, Any]) -> FrameExpr:
    """Return the node of ``frame.reindex(other.index, **options)`` of a lazy frame or series `labels`, in its partitions.

    Raises
    ------
    DivisionError
        If partitions don't correspond, and the divisions aren't known.
    """
    pairs = paired([labels, node], "reindex")
    to, own = pairs.nodes
    under = LabelKeeping(to, (own,), BlockCall(_under_labels_of, (Block(0), Block(1)), options, label="reindex"))
    made: FrameExpr = with_one_dtype(wrap(pairs.result(under))).expr
    return made


def _under_labels_of(labels: Any, block: Any, **options: Any) -> Any:
    return block.reindex(labels.index, **options)


def _reindexed(index: Any, options: dict[str, Any], blocks: list[Any]) -> Any:
    return concat(blocks).reindex(index, **options)


def _same(block: Any) -> Any:
    return block
