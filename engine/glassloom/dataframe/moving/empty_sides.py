"""Joins of blocks without rows, of sides that have some: pandas decides by whether a side has rows what dtypes keys get, and which labels rows have.

If keys differ in dtype, pandas makes values of categories and objects of texts, but not where a side has no rows; and if one side is joined by
its labels, a side without rows leaves them to the other one. In a block that means nothing: there a made-up row with keys of some row
of the whole side, which are in another partition, stands for the side, and is left out of the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import of_samples, sample
from glassloom.dataframe.moving.united_keys import LABELS, with_unknown_categories
from glassloom.dataframe.nodes import FrameExpr, Projection
from glassloom.dataframe.reduce import Operation, tree


@dataclass(frozen=True)
class StandIns:
    """Both blocks of a join, of which one or both are a row that stands for its side."""

    left: Any
    right: Any
    is_left: bool
    is_right: bool

    @classmethod
    def of(cls, left: Any, right: Any, left_keys: Any, right_keys: Any, whole: str | None) -> StandIns | None:
        """Return two blocks with rows that stand for sides, where that matters; else None."""
        if len(left) and len(right):
            return None
        if whole is not None:
            is_left = whole == "right"
            if not len(right if is_left else left):  # the whole side has no rows
                return None
            return cls(_one_row(left), right, True, False) if is_left else cls(left, _one_row(right), False, True)
        is_left = not len(left) and left_keys is not None and bool(len(left_keys))
        is_right = not len(right) and right_keys is not None and bool(len(right_keys))
        if not is_left and not is_right:
            return None
        new_left = _one_row(left, left_keys) if is_left else left
        return cls(new_left, _one_row(right, right_keys) if is_right else right, is_left, is_right)

    def joined(self, joining: Any, options: dict[str, Any]) -> Any:
        """Return the join of the blocks, without the rows that stand for sides."""
        join = partial(pd.merge, self.left, self.right)
        hows = ("right", "right_anti") if self.is_left else ("left", "left_anti")
        if joining.how in hows and not (self.is_left and self.is_right):
            return join(**options)  # what stands for the other side has no partner
        like = join(**options)
        if joining.how != "outer" or (self.is_left and self.is_right):
            return like.iloc[:0]
        made = join(**{**options, "how": hows[0]}, sort=True)
        keys = {*(joining.left_on or ()), *(joining.right_on or ())}.intersection(made.columns)
        made = made.astype({key: like[key].dtype for key in keys if isinstance(like[key], pd.Series)})
        if not (joining.left_index and joining.right_index) or made.index.dtype == like.index.dtype:
            return made
        return made.set_axis(made.index.astype(like.index.dtype), axis=0)


def _one_row(block: Any, keys: Any = None) -> Any:
    """Return a block without rows with a made-up one, which has some keys."""
    made = block.iloc[:0].reset_index(drop=True).reindex(range(1))
    for place, dtype in enumerate(block.dtypes):
        if made.dtypes.iloc[place] != dtype:  # one that has no missing values
            made.isetitem(place, np.zeros(1, dtype=dtype))
    if keys is None:
        return made.set_axis(sample(block.index[:0])[:1], axis=0)
    for name in keys.columns:
        made.isetitem(made.columns.get_loc(name), keys[name].set_axis(made.index, axis=0))
    return made.set_axis(keys.index, axis=0)


def unlike_keys(left: Any, right: Any, joining: Any) -> list[tuple[Any, Any, Any]]:
    """Return the keys that two frames with these metas have of unlike dtypes: the column that pandas takes for the key, and both dtypes."""
    own = _keys(left, joining.left_on, joining.left_index)
    others = _keys(right, joining.right_on, joining.right_index)
    pairs = zip(own, others, strict=False)
    united = {own for own, _ in joining.united_keys}
    return [
        (other_name if joining.left_index else name, one, other)
        for (name, one), (other_name, other) in pairs
        if one != other
        and not (_is_plain_number(one) and _is_plain_number(other))
        and (LABELS if joining.left_index else name) not in united
    ]


def _keys(meta: Any, names: Any, by_index: bool) -> list[tuple[Any, Any]]:
    """Return the name and dtype of each key; None is the name of a level of the index."""
    levels = [(None, level.dtype) for level in (meta.index.levels if meta.index.nlevels > 1 else [meta.index])]
    if by_index:
        return levels
    places = {name: place for place, name in enumerate(meta.index.names)}
    return [
        (name, meta[name].dtype) if name in meta.columns else levels[places[name]]
        for name in names or ()
        if name in places or (name in meta.columns and isinstance(meta[name], pd.Series))
    ]


def _is_plain_number(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"


def depends_on_rows(left: Any, right: Any, joining: Any) -> bool:
    """Whether the dtypes or labels of a join of frames with these metas depend on whether a side has rows."""
    if joining.how in ("cross", "leftsemi", "leftanti"):
        return False
    if joining.left_index != joining.right_index:
        hows = ("right", "right_anti") if joining.right_index else ("left", "left_anti")
        if joining.how in (*hows, "outer"):
            return True
    return bool(unlike_keys(left, right, joining))


def keys_of_a_row(node: FrameExpr, keys: tuple[Any, ...]) -> FrameExpr:
    """Return the node of the keys of some row of a frame, and of its label; without a row if it has none."""
    columns = [key for key in dict.fromkeys(keys) if key in node.meta.columns]
    chosen = Projection(node, columns)
    return tree(chosen, Operation(_first_row, _first_of, _first_of), chosen.meta, "some-keys")


def _first_row(block: Any) -> Any:
    return block.iloc[:1]


def _first_of(rows: list[Any]) -> Any:
    return next((row for row in rows if len(row)), rows[0])


def with_key_dtypes(made: Any, left: Any, right: Any, joining: Any) -> Any:
    """Return the meta of a join with the dtypes that keys of unlike ones get if both sides have rows."""
    wanted = {}
    for name, own, other in unlike_keys(left, right, joining):
        if name in made.columns and isinstance(made[name], pd.Series):
            wanted[name] = _dtype_of_key(own, other, joining)
    made = made.astype(wanted) if wanted else made
    return with_unknown_categories(made, left, right, joining) if joining.united_keys else made


def _dtype_of_key(own: Any, other: Any, joining: Any) -> Any:
    is_mirrored = joining.left_index and not joining.right_index  # the key is a column of the right side
    one, two = (other, own) if is_mirrored else (own, other)
    how = _MIRRORED.get(joining.how, joining.how) if is_mirrored else joining.how
    if fills_keys(joining) and how == "right_anti":
        return two
    metas = [pd.Series([], dtype=dtype, name="k") for dtype in (one, two)]
    try:
        found = of_samples(_joined_keys, *metas).dtype
    except (TypeError, ValueError):  # pandas says what is wrong when it joins rows
        return one
    if not fills_keys(joining) or how not in ("right", "outer"):
        return found
    return pd.concat([sample(pd.Series([], dtype=dtype)) for dtype in (found, two)]).dtype


def _joined_keys(one: Any, two: Any) -> Any:
    return one.to_frame().merge(two.to_frame(), on="k", how="left")["k"]


def fills_keys(joining: Any) -> bool:
    """Whether rows of one side that have no partner have their keys in the column of the other side's."""
    return bool(joining.same_keys or joining.left_index != joining.right_index)


_MIRRORED = {"left": "right", "right": "left", "left_anti": "right_anti", "right_anti": "left_anti"}


def value_dependent_keys(left: Any, right: Any, joining: Any) -> list[Any]:
    """Return the keys that are categories of the side that all rows are of if none has a partner, else values."""
    if not fills_keys(joining):
        return []
    is_mirrored = joining.left_index and not joining.right_index
    if joining.how != ("left" if is_mirrored else "right"):
        return []
    unlike = unlike_keys(left, right, joining)
    return [name for name, one, other in unlike if isinstance(one if is_mirrored else other, pd.CategoricalDtype)]
