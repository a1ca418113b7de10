"""Partitions of which no row is left to group, whose columns are of wider dtypes than was known before: what they say of a result.

A join makes floats of whole numbers where a row has no partner. If such rows are left out later, pandas' columns stay floats, and so are keys
and aggregates of the other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.arrow.blocks import ColumnBlock, TableBlock
from glassloom.dataframe.grouping.recipe import BLOCK, COLUMN, Recipe
from glassloom.dataframe.widening import as_wide_as, is_widening


@dataclass(frozen=True)
class NoRows:
    """What a partition without rows says: the dtypes of its floats and objects, by number of the block (0: the frame or series) and label."""

    dtypes: dict[tuple[int, Any], Any]

    def table(self) -> pd.DataFrame:
        """Return a frame without rows that says the same, among such of partial results: its columns are called pairs."""
        made = pd.DataFrame({place: pd.Series([], dtype=dtype) for place, dtype in enumerate(self.dtypes.values())})
        made.columns = pd.Index(list(self.dtypes), dtype=object, tupleize_cols=False)
        return made

    @classmethod
    def of_table(cls, table: pd.DataFrame) -> NoRows | None:
        """Return what a frame without rows says; None: nothing."""
        is_said = len(table.columns) > 0 and isinstance(table.columns[0], tuple)
        places: list[Any] = list(table.columns)
        return cls(dict(zip(places, table.dtypes, strict=True))) if is_said else None


def no_rows(recipe: Recipe, values: Sequence[Any], block: Any, blocks: Sequence[Any]) -> NoRows | None:
    """Return what a partition without rows says of keys and values; None: nothing."""
    labels = [key.at for key in recipe.keys if key.kind == COLUMN] + list(values)
    found = {(0, label): dtype for label in dict.fromkeys(labels) if _is_wide(dtype := _dtype(block, label))}
    for number, other in enumerate(blocks, 1):
        if any(key.kind == BLOCK and key.at == number - 1 for key in recipe.keys):
            dtype = _dtype(other, None)
            found.update({(number, None): dtype} if _is_wide(dtype) else {})
    return NoRows(found) if found else None


def _dtype(block: Any, label: Any) -> Any:
    """Return the dtype of a column, or of a series; None if it isn't one."""
    if isinstance(block, ColumnBlock):
        return block.series().dtype
    if isinstance(block, TableBlock):
        return block.series(label).dtype if label in block.columns else None
    if not isinstance(block, pd.DataFrame):
        return getattr(block, "dtype", None)
    column = block[label] if label in block.columns else None
    return getattr(column, "dtype", None)


def _is_wide(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "fO"


def together(several: Sequence[NoRows | None]) -> NoRows | None:
    """Return what partitions say together."""
    found = {place: dtype for one in several if one is not None for place, dtype in one.dtypes.items()}
    return NoRows(found) if found else None


def widened(metas: Sequence[Any], said: NoRows | None) -> list[Any]:
    """Return the metas of the blocks, with the dtypes that are said of them where these are wider."""
    made = list(metas)
    for (number, label), dtype in {} if said is None else said.dtypes.items():
        meta = made[number]
        if isinstance(meta, pd.DataFrame):
            column = meta[label] if label in meta.columns else None
            if isinstance(column, pd.Series) and is_widening(column.dtype, dtype):
                made[number] = meta.astype({label: dtype})
        elif isinstance(meta, (pd.Series, pd.Index)) and is_widening(meta.dtype, dtype):
            made[number] = meta.astype(dtype)
    return made


def of_no_rows(
    recipe: Recipe, call: Callable[[Any], Any], block: Any, blocks: Sequence[Any], said: NoRows | None = None
) -> Any:
    """Return what a call makes of groups of no rows, of blocks with these metas."""
    block, *others = widened([block, *blocks], said)
    return call(recipe.grouped(block, *others))


def as_said(made: Any, run: Callable[..., Any], said: NoRows | None) -> Any:
    """Return a result with the dtypes of that of no rows, which `run` makes, where these are wider. pandas finds that of booleans among keys."""
    if said is None:
        return made
    like = run(said)
    return as_wide_as(made, like, labels="iuf") if type(made) is type(like) else made
