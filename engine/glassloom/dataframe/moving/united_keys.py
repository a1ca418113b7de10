"""Keys of joins that are categories on both sides and not known before: partitions have unlike ones, of which pandas would make values."""

from __future__ import annotations

from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import union_categories
from glassloom.backends.pandas_version import PANDAS_VERSION
from glassloom.dataframe.columns import has_known_categories

LABELS = ("labels of rows",)
"""Stands for the index where it is a key."""


def united_keys(left: Any, right: Any, joining: Any) -> tuple[tuple[Any, Any], ...]:
    """Return the pairs of keys that are categories on both sides of a join of frames with these metas, and unknown on one."""
    if (
        joining.left_index
        and joining.right_index
        and joining.how not in ("inner", "outer")
        and PANDAS_VERSION >= (3, 1)
    ):
        return ()  # labels are those of one side; before, pandas makes values of unlike ones
    own = [LABELS] if joining.left_index else list(joining.left_on or ())
    others = [LABELS] if joining.right_index else list(joining.right_on or ())
    if len(own) != len(others):  # pandas says what is wrong
        return ()
    return tuple(
        pair for pair in zip(own, others, strict=True) if _are_unknown(_key(left, pair[0]), _key(right, pair[1]))
    )


def with_categories_of_both(left: Any, right: Any, pair: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return two blocks whose keys, which are categories, have those of both."""
    dtypes = [_key(left, pair[0]).dtype, _key(right, pair[1]).dtype]
    if dtypes[0] == dtypes[1]:
        return left, right
    both = union_categories(dtypes)
    return _with_dtype(left, pair[0], both), _with_dtype(right, pair[1], both)


def with_unknown_categories(made: Any, left: Any, right: Any, joining: Any) -> Any:
    """Return the meta of a join, none of whose united keys has known categories."""
    shared = [pair[0] for pair in joining.united_keys] if joining.same_keys else []
    from_right = (
        [name for name in right.columns if name not in (joining.left_on or ())]
        if joining.same_keys
        else list(right.columns)
    )
    places = []
    for own, other in joining.united_keys:
        places += [] if own == LABELS else [left.columns.get_loc(own)]
        places += [] if other == LABELS or other in shared else [len(left.columns) + from_right.index(other)]
    made = made.copy(deep=False)
    for place in places:
        made.isetitem(place, made.iloc[:, place].astype(_unknown(made.dtypes.iloc[place])))
    if isinstance(made.index.dtype, pd.CategoricalDtype) and any(LABELS in pair for pair in joining.united_keys):
        made = made.set_axis(made.index.astype(_unknown(made.index.dtype)), axis=0)
    return made


def _key(frame: Any, key: Any) -> Any:
    """Return the values of a key; None where it isn't one column, nor an index of one level."""
    if key == LABELS:
        return None if frame.index.nlevels > 1 else frame.index
    found = frame[key] if key in frame.columns else None
    return found if isinstance(getattr(found, "dtype", None), pd.CategoricalDtype) else None


def _are_unknown(own: Any, other: Any) -> bool:
    both = [one for one in (own, other) if one is not None and isinstance(one.dtype, pd.CategoricalDtype)]
    return len(both) == 2 and not all(map(has_known_categories, both))


def _with_dtype(block: Any, key: Any, dtype: Any) -> Any:
    return block.set_axis(block.index.astype(dtype), axis=0) if key == LABELS else block.astype({key: dtype})


def _unknown(dtype: Any) -> pd.CategoricalDtype:
    return pd.CategoricalDtype([], ordered=getattr(dtype, "ordered", False))
