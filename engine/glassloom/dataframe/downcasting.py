"""`to_numeric(downcast=)`: the smallest dtype that holds the values of all partitions."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.unlike_dtypes import with_one_dtype
from glassloom.dataframe.wrap import operate, wrap


def downcast_numbers(numbers: Any, downcast: str) -> Any:
    """Return a lazy series of numbers in the smallest dtype that holds all of them. Which one that is is found out now."""
    numbers = with_one_dtype(numbers)
    made = pd.to_numeric(numbers.expr.meta, downcast=downcast)  # type: ignore[call-overload]
    steps = Operation(partial(_dtypes_in_block, downcast), _dtypes_of_all, _dtypes_of_all)
    found = wrap(tree(numbers.expr, steps, (), "dtypes")).compute()
    dtype = found[0][0] if found else made.dtype
    return operate(_as_dtype, numbers, dtype, label="to-numeric")


def _dtypes_in_block(downcast: str, block: Any) -> tuple[Any, ...]:
    """Return the dtype that the values of a partition need, beside their own, if it has any."""
    if not len(block):
        return ()
    made = pd.to_numeric(block, downcast=downcast).dtype  # type: ignore[call-overload]
    return ((made, block.dtype),)


def _dtypes_of_all(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the pair of the widest dtype of several partitions, or of their own if one of them needs it."""
    pairs = [pair for part in parts for pair in part]
    kept = [pair for pair in pairs if pair[0] == pair[1]]
    return tuple(kept[:1] or sorted(pairs, key=lambda pair: -pair[0].itemsize)[:1])


def _as_dtype(block: Any, dtype: Any) -> Any:
    return block.astype(dtype)
