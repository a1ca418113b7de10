"""`Recipe`: how a frame is grouped, as data: what the keys are, and pandas' options. Makes pandas' groups of a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pandas as pd

from glassloom.dataframe.numbered_levels import level_at

COLUMN, LEVEL, BLOCK = "column", "level", "block"


class Key(NamedTuple):
    """A key: the column with a label, the index level with a number, or the further block with a number.

    The name of a column of several levels may be its first one, where there is one such column, as ``"k"`` of ``("k", "")``.
    """

    kind: str
    at: Any
    name: Any

    def __glassloom_tokenize__(self) -> Any:
        """Return its parts: to pickle it takes longer."""
        return tuple(self)


@dataclass(frozen=True)
class Recipe:
    """How a frame is grouped.

    Attributes
    ----------
    keys
        What rows are grouped by, one or more.
    is_single
        Whether the user gave one key and no list.
    dropna, sort, observed, as_index, group_keys
        Options of ``DataFrame.groupby``.
    selection
        A column, a list of columns, or None for all.
    arrow
        Whether Arrow may encode text (the option ``dataframe.arrow``).
    orders_partitions
        Whether the user asked for groups in order, so that they are throughout a result of several partitions.
    orders_counts
        The `sort` of ``DataFrame.groupby`` itself, beside which a `pandas.Grouper` has its own: pandas orders the counts of values by it.
    """

    keys: tuple[Key, ...]
    is_single: bool
    dropna: bool
    sort: bool
    observed: bool
    as_index: bool
    group_keys: bool
    selection: Any
    arrow: bool
    orders_partitions: bool = False
    orders_counts: bool = True

    def __glassloom_tokenize__(self) -> Any:
        return tuple(vars(self).values())

    @property
    def key_columns(self) -> list[Any]:
        """The labels of the columns that are keys."""
        return [key.at for key in self.keys if key.kind == COLUMN]

    @property
    def selected(self) -> list[Any] | None:
        """The selected columns, or None for all."""
        if self.selection is None or isinstance(self.selection, list):
            return self.selection
        return [self.selection]

    @property
    def drops_early(self) -> bool:
        """Whether partitions may leave out rows with a missing key. Not if pandas lists all combinations of keys: then
        the other keys of such a row count too.
        """
        return self.dropna and (self.observed or len(self.keys) == 1)

    def key_values(self, block: Any, blocks: Sequence[Any]) -> list[Any]:
        """Return the keys of a partition as series, under their names."""
        return [_key_values(key, block, blocks) for key in self.keys]

    def grouped(self, block: Any, *blocks: Any, **changes: Any) -> Any:
        """Return pandas' groups of an object, with the columns selected.

        Parameters
        ----------
        block
            A frame or series.
        blocks
            The keys that are no columns or levels.
        changes
            Other options than the recipe's.
        """
        by = [
            key.name if key.kind == COLUMN else values
            for key, values in zip(self.keys, self.key_values(block, blocks), strict=True)
        ]
        options = {
            "dropna": self.dropna, "sort": self.sort, "observed": self.observed, "as_index": self.as_index,
            "group_keys": self.group_keys, **changes,
        }  # fmt: skip
        grouped = block.groupby(by[0] if self.is_single else by, **options)
        return grouped if self.selection is None else grouped[self.selection]

    def with_key_names(self, names: Sequence[Any]) -> Recipe:
        """Return the recipe for frames whose keys are all columns, with these labels."""
        keys = tuple(Key(BLOCK, number, key.name) for number, (key, _) in enumerate(zip(self.keys, names, strict=True)))
        return replace(self, keys=keys)


def _key_values(key: Key, block: Any, blocks: Sequence[Any]) -> Any:
    if key.kind == COLUMN:
        return block[key.at] if key.name == key.at else block[key.at].rename(key.name)
    if key.kind == BLOCK:
        return blocks[key.at].rename(key.name)
    level = level_at(block.index, key.at)
    return pd.Series(level.array, index=block.index, name=key.name, dtype=level.dtype)


def key_labels(names: Sequence[Any]) -> list[Any]:
    """Return the labels that pandas gives keys as columns: the names of keys without one are those that `reset_index` gives."""
    unnamed = ["index"] if len(names) == 1 else [f"level_{number}" for number in range(len(names))]
    return [label if name is None else name for name, label in zip(names, unnamed, strict=True)]
