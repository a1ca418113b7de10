"""Dtypes that hold all values of others: partitions may lack the values that make pandas choose a wider dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat, is_frame


def dtypes_of(made: Any) -> list[Any]:
    """Return the dtype of each column of a frame, or of a series."""
    return list(made.dtypes) if isinstance(made, pd.DataFrame) else [made.dtype]


def is_widening(own: Any, wide: Any) -> bool:
    """Whether one dtype of NumPy is a number's that holds all values of another one, or of objects for booleans.

    Times and numbers aren't made objects: few operations are left for those, and often nothing has been replaced.

    >>> is_widening(np.dtype("int64"), np.dtype("float64")), is_widening(np.dtype("float64"), np.dtype("int64"))
    (True, False)
    """
    if not isinstance(own, np.dtype) or not isinstance(wide, np.dtype) or own == wide:
        return False
    if wide.kind == "O":
        return own.kind == "b"
    return own.kind in "iuf" and wide.kind in "iuf" and np.can_cast(own, wide, casting="safe")


def is_narrowing(own: Any, narrow: Any) -> bool:
    """Whether values of one dtype of NumPy, such as missing ones, may not fit into another.

    >>> is_narrowing(np.dtype("float64"), np.dtype("int64")), is_narrowing(np.dtype("bool"), np.dtype("int64"))
    (True, False)
    """
    are_plain = isinstance(own, np.dtype) and isinstance(narrow, np.dtype)
    return are_plain and not np.can_cast(own, narrow, casting="safe")


def is_wider(block: Any, promised: Any) -> bool:
    """Whether a block without rows has a column, or labels, of a dtype that holds all values of that which its meta promises.

    Rows that missed values had made it so, before they were left out: to pandas they are part of the column.
    """
    if len(block) or type(block) is not type(promised) or not isinstance(block, (pd.DataFrame, pd.Series)):
        return False
    if isinstance(block, pd.DataFrame) and len(block.columns) < len(promised.columns):  # others weren't needed
        if not promised.columns.is_unique or not block.columns.isin(promised.columns).all():
            return False
        promised = promised[list(block.columns)]
    own, others = dtypes_of(promised), dtypes_of(block)
    if len(own) != len(others):
        return False
    labels = (promised.index.dtype, block.index.dtype)
    return any(is_widening(*pair) for pair in (*zip(own, others, strict=True), labels))


def concat_promised(promised: Any, blocks: Sequence[Any]) -> Any:
    """Return the blocks as one object. Those without rows decide on dtypes only if theirs is wider than that of `promised`, their meta."""
    made = concat(blocks)
    if not is_frame(promised) or all(map(len, blocks)):
        return made
    for block in blocks:
        made = as_wide_as(made, block, labels="biuf") if is_wider(block, promised) else made
    return made


def as_wide_as(block: Any, wide: Any, *, labels: str = "") -> Any:
    """Return a block whose columns have the dtypes of `wide`, where those hold all values of theirs; so have labels whose dtype's kind is in `labels`."""
    if labels:
        block = block.set_axis(_wider_labels(block.index, wide.index, labels), axis=0)
    if isinstance(block, pd.Series) and isinstance(wide, pd.Series):
        return block.astype(wide.dtype) if is_widening(block.dtype, wide.dtype) else block
    if not isinstance(block, pd.DataFrame) or not isinstance(wide, pd.DataFrame) or block.shape[1] != wide.shape[1]:
        return block
    pairs = enumerate(zip(block.dtypes, wide.dtypes, strict=True))
    changed = [(place, dtype) for place, (own, dtype) in pairs if is_widening(own, dtype)]
    if not changed:
        return block
    made: Any = block.copy(deep=False)
    for place, dtype in changed:
        made.isetitem(place, block.iloc[:, place].astype(dtype))
    return made


def _wider_labels(labels: Any, wide: Any, kinds: str) -> Any:
    """Return labels in the dtypes of others, where those hold all values of theirs, which are of some kinds."""
    if labels.nlevels != wide.nlevels or isinstance(labels, pd.RangeIndex):
        return labels
    if labels.nlevels == 1:
        return (
            labels.astype(wide.dtype)
            if labels.dtype.kind in kinds and is_widening(labels.dtype, wide.dtype)
            else labels
        )
    for number, (own, other) in enumerate(zip(labels.levels, wide.levels, strict=True)):
        if own.dtype.kind in kinds and is_widening(own.dtype, other.dtype):
            labels = labels.set_levels(own.astype(other.dtype), level=number)
    return labels


def with_common_dtypes(made: Any, other: Any) -> Any:
    """Return an empty object whose numbers have dtypes that hold those of another one too: of a series, or columns by name."""
    if isinstance(made, pd.Series):
        return made.astype(_common(made.dtype, other.dtype)) if isinstance(other, pd.Series) else made
    if not made.columns.is_unique or not isinstance(other, (pd.DataFrame, pd.Series)):
        return made
    dtypes = dict(other.dtypes) if isinstance(other, pd.DataFrame) else dict.fromkeys(made.columns, other.dtype)
    wanted = {name: _common(own, dtypes[name]) for name, own in made.dtypes.items() if name in dtypes}
    return made.astype(wanted)


def can_miss_nothing(dtype: Any) -> bool:
    """Whether columns of a dtype have no missing values: NumPy's whole numbers and booleans."""
    return isinstance(dtype, np.dtype) and dtype.kind in "iub"


def with_dtypes_of(made: Any, other: Any, places: Sequence[int]) -> Any:
    """Return an empty object that has the dtypes of another one, of as many columns, at some places."""
    if not places:
        return made
    if isinstance(made, pd.Series):
        return made.astype(other.dtype)
    for place in places:
        made.isetitem(place, other.iloc[:, place].astype(other.dtypes.iloc[place]))
    return made


def _common(own: Any, other: Any) -> Any:
    are_numbers = all(isinstance(one, np.dtype) and one.kind in "iuf" for one in (own, other))
    return np.result_type(own, other) if are_numbers else own


def with_nulls_of(block: Any, meta: Any) -> Any:
    """Return a frame in which missing values among whole numbers or booleans don't change the dtype: pandas' nullable one.

    A join makes floats, or objects, of a column of a partition that has missing values, and leaves the others.
    """
    if len(block.columns) != len(meta.columns):
        return block
    made = block
    for place, (own, promised) in enumerate(zip(block.dtypes, meta.dtypes, strict=True)):
        if not is_narrowing(own, promised) or promised.kind not in "iub":
            continue
        if made is block:
            made = block.copy(deep=False)
        try:
            made.isetitem(place, block.iloc[:, place].astype(_NULLABLE[promised.name]))
        except (TypeError, ValueError):  # other values than missing ones are why the dtype differs
            continue
    return made


_NULLABLE = {
    "bool": "boolean",
    **{f"{kind}int{bits}": f"{kind.upper()}Int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)},
}
"""pandas' dtypes with missing values, by the names of NumPy's."""
