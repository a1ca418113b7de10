"""`hash_shuffle`: all rows of equal keys in one partition."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import pandas as pd

from glassloom.backends.frames import converted
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.columns import require_columns, unused_name
from glassloom.dataframe.moving.exchange import Exchange, Pieces, Split, split, splits_on_device
from glassloom.dataframe.moving.hashing import hash_keys, places_of
from glassloom.dataframe.moving.shape import Repartition
from glassloom.dataframe.nodes import FrameExpr, Projection
from glassloom.dataframe.on_device import is_on_device
from glassloom.dataframe.wrap import wrap
from glassloom.errors import OptionError

_SHUFFLE_METHODS = (None, True, False, "tasks", "disk", "p2p")


class HashShuffle(Exchange):
    """A frame whose rows of equal keys are in one partition, which the hash of the keys decides on."""

    parameters = ("split", "count", "keys")
    operation = "shuffle"

    keys: tuple[Any, ...]

    keeps_rows = True

    @cached_property
    def hashed_by(self) -> tuple[Any, ...] | None:
        are_columns = not isinstance(self.meta, pd.DataFrame) or set(self.keys) <= set(self.meta.columns)
        return self.keys if are_columns else None


def hash_shuffle(node: FrameExpr, keys: tuple[Any, ...], npartitions: int | None = None) -> FrameExpr:
    """Return the rows of a frame with all rows of equal keys in one partition.

    Parameters
    ----------
    node
        A frame, series or index.
    keys
        Columns, or levels of the index by name; of a series, its name alone. With none, the index labels (or the values of an index)
        are the keys.
    npartitions
        Number of partitions of the result; None: as many as `node` has.

    Returns
    -------
    FrameExpr
        The rows of a partition are in their old order: those of the first partition first. Missing keys are equal. Keys
        that pandas takes for equal in a join are in the partition of the same number, also those of another frame and
        dtype, if both have as many partitions.

    Raises
    ------
    UnknownColumn
        If the frame lacks a key.
    """
    count = node.npartitions if npartitions is None else npartitions
    if isinstance(node.meta, pd.DataFrame):
        require_columns([key for key in keys if key not in node.meta.index.names], node.meta)
    if count == 1 == node.npartitions or (node.hashed_by == keys and node.npartitions == count):
        return node
    if count == 1:
        return Repartition(node, 1)
    call = BlockCall(_split_by_hash, (Block(0), keys, count), label="split-by-hash")
    return HashShuffle(Split(node, (), call), count, keys)


def key_columns(block: Any, keys: tuple[Any, ...]) -> list[Any]:
    """Return the columns of a block that are keys; the index if there are none."""
    if isinstance(block, pd.Index):
        return [block]
    if not keys:
        return [block.index]
    if isinstance(block, pd.Series):
        return [block]
    return [block[key] if key in block.columns else block.index.get_level_values(key) for key in keys]


@splits_on_device(lambda block, keys, count: bool(keys))
def _split_by_hash(block: Any, keys: tuple[Any, ...], count: int) -> Pieces:
    read = block
    if is_on_device(block):
        read = converted(block[list(keys)] if set(keys) <= set(block.columns) else block, "pandas")
    return split(block, places_of(hash_keys(key_columns(read, keys)), count), count)


def require_shuffle_method(method: str | bool | None) -> None:
    """Check the name of a way to shuffle that Dask has; all of them mean the same here."""
    if method not in _SHUFFLE_METHODS:
        raise OptionError(f"shuffle_method={method!r} should be one of {list(_SHUFFLE_METHODS)}")


def shuffled_by_names(node: FrameExpr, names: list[Any], count: int | None) -> FrameExpr:
    """Return a frame shuffled by columns, of which one may be the index, by its name; by the index alone, if there are none."""
    columns, label = node.meta.columns, node.meta.index.name
    if label is None or label in columns or label not in names:
        return hash_shuffle(node, tuple(names), count)
    if names == [label]:
        return hash_shuffle(node, (), count)
    temporary = unused_name(columns)
    lazy = wrap(node)
    with_labels = lazy._assigned({temporary: lazy.index.to_series()})
    keys = tuple(temporary if name == label else name for name in names)
    return Projection(hash_shuffle(with_labels, keys, count), list(columns))


def shuffled_series(series: Any, on: Any, ignore_index: bool, npartitions: int | None, on_index: bool) -> Any:
    """Return a series shuffled by its values, another series, or its labels."""
    name = series._meta.name
    own = "_values" if name is None else name
    frame = series.to_frame(own)
    by = {"on_index": True} if on_index else {"on": own if on is None else on}
    moved = frame.shuffle(**by, ignore_index=ignore_index, npartitions=npartitions)[own]
    return moved if name is not None else moved.rename(None)
