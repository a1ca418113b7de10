"""What statistics make of partitions of two series, aligned by label as in pandas."""

from __future__ import annotations

from typing import Any

import pandas as pd

from glassloom.dataframe.moving.rows_at_hand import labelled_together


def both_lazy(one: Any, other: Any) -> tuple[Any, Any]:
    """Return a lazy object and another one, which is a lazy one of the same labels if it is a pandas series or frame."""
    return labelled_together(one, other) if isinstance(other, (pd.Series, pd.DataFrame)) else (one, other)


def rows_of_both(one: Any, other: Any) -> Any:
    """Return the rows that both series have as a frame."""
    if not one.index.equals(other.index):
        one, other = one.align(other, join="inner")
    return pd.concat([one.rename("one"), other.rename("other")], axis=1)


def products(one: Any, other: Any, axis: int) -> Any:
    """Return the products of a series and another one, or the columns of a frame, of the same labels."""
    if not one.index.equals(other.index):
        common = one.index.union(other.index)
        if len(common) > len(one) or len(common) > len(other):
            raise ValueError("matrices are not aligned: the labels of rows differ")
        one, other = one.reindex(common), other.reindex(common)
    return other.mul(one, axis=axis)
