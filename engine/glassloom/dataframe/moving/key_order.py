"""The rows of a join in the order of their keys: ``merge(sort=True)``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Method
from glassloom.dataframe.columns import unused_name
from glassloom.dataframe.moving.joining import Joining, result_columns
from glassloom.dataframe.nodes import Relabelled
from glassloom.dataframe.wrap import operate


def in_key_order(joined: Any, joining: Joining, left: pd.Index, right: pd.Index) -> Any:
    """Return the rows of a join by key, missing ones where pandas has them; rows of equal keys as they were.

    Rows that were joined by columns are numbered anew in each partition.

    Parameters
    ----------
    joined
        The lazy frame.
    joining
        How it was joined.
    left, right
        The columns of both sides.
    """
    shared = joining.left_on if joining.left_on == joining.right_on else None
    are_labels = shared is not None and not any(name in left or name in right for name in shared)
    if (joining.left_index and joining.right_index) or (are_labels and tuple(joined._meta.index.names) == shared):
        return joined.sort_index()
    by_columns = not joining.left_index and not joining.right_index
    own, others = _key_columns(joining, left, right)
    if (
        joining.how == "outer" and by_columns and not joining.same_keys
    ):  # each row has the keys of the side that it is of
        made = _sorted_by_either(joined, own, others)
    else:
        by_right = joining.left_index or (joining.how in ("right", "right_anti") and not joining.right_index)
        made = _sorted(joined, others if by_right and not joining.same_keys else own)
    if not by_columns:
        return made
    return operate(Method("reset_index"), made, kind=Relabelled, kwargs={"drop": True}, label="reset-index")


def _key_columns(joining: Joining, left: pd.Index, right: pd.Index) -> tuple[list[Any], list[Any]]:
    """Return the columns of the result that are the keys of the left and of the right side."""
    pairs = list(zip(joining.left_on or (), joining.right_on or (), strict=False))
    shared = {one for one, other in pairs if one == other}  # one column of the result
    names = result_columns(left.drop(list(shared), errors="ignore"), right.drop(list(shared), errors="ignore"), joining)
    own = _named([name for name in left if name not in shared], names)
    others = _named([name for name in right if name not in shared], names[len(own) :])
    for keys, known in ((joining.left_on, own), (joining.right_on, others)):
        for key in keys or ():
            if key not in known and (key not in shared or (key not in left and key not in right)):
                raise NotImplementedError(f"merge(sort=True) by index level {key!r}: call reset_index() before")
    return [own.get(key, key) for key in joining.left_on or ()], [
        others.get(key, key) for key in joining.right_on or ()
    ]


def _named(columns: list[Any], names: Any) -> dict[Any, Any]:
    return dict(zip(columns, names, strict=False))


def _sorted_by_either(joined: Any, own: list[Any], others: list[Any]) -> Any:
    names: list[Any] = list(joined.columns)
    made = joined
    keys: list[str] = []
    for one, other in zip(own, others, strict=True):
        keys.append(unused_name([*names, *keys]))
        made = made.assign(**{keys[-1]: joined[one].where(joined[one].notna(), joined[other])})
    return _sorted(made, keys)[names]


def _sorted(frame: Any, keys: list[Any]) -> Any:
    """Return the rows by key. pandas joins times and categories by numbers, of which a missing one's is the least."""
    first = [key for key in keys if _is_missing_first(frame._meta[key].dtype)]
    if len(first) == len(keys):
        return frame.sort_values(keys, na_position="first")
    if not first:
        return frame.sort_values(keys)
    by: list[Any] = []
    names, made = list(frame.columns), frame
    for key in keys:
        if key in first:
            by.append(unused_name([*names, *by]))
            made = made.assign(**{by[-1]: frame[key].notna()})
        by.append(key)
    return made.sort_values(by)[names]


def _is_missing_first(dtype: Any) -> bool:
    is_plain = isinstance(dtype, np.dtype) and dtype.kind in "mM"
    return is_plain or isinstance(dtype, (pd.CategoricalDtype, pd.DatetimeTZDtype))
