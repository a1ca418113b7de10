"""`combine_first` of partitions, some of which have no rows of one frame: pandas takes the dtypes of a frame without rows for those of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from pandas.core.dtypes.dtypes import BaseMaskedDtype

from glassloom.dataframe.moving.shape import conform
from glassloom.dataframe.unlike_dtypes import with_dtypes_of_all
from glassloom.dataframe.widening import can_miss_nothing, dtypes_of


def combined_first(meta: Any, is_whole: bool, block: Any, other: Any) -> Any:
    """Return ``block.combine_first(other)``, whose columns of both have the dtypes of `meta`; those of one frame alone have what its rows give.

    pandas makes floats of the latter if all their values are missing. Those of a partition (`is_whole`: of all) keep their dtypes: others have values.
    """
    is_frame = isinstance(meta, pd.DataFrame)
    if not is_frame or not meta.columns.is_unique or not (len(block) or len(other)):
        return conform(block.combine_first(other), meta)
    if not len(other):
        made = _beside_none(block, other, meta.columns)
    elif not len(block):
        made = _beside_none(other, block, meta.columns)
    else:
        made = block.combine_first(other)
    wanted = meta.copy(deep=False)
    for place, name in enumerate(meta.columns):
        if name in block.columns and name in other.columns:
            if _become_objects(block[name].dtype, other[name].dtype, meta[name].dtype):
                made = made if len(block) else _with_values_of_other(made, name, block[name].dtype)
                own: Any = made[name].iloc[:0].set_axis(meta.index, axis=0)
                wanted.isetitem(place, own)
        elif name in made.columns:
            if not is_whole:
                made = _with_missing_of(made, name, (block if name in block.columns else other)[name])
            column: Any = made[name].iloc[:0].set_axis(meta.index, axis=0)
            wanted.isetitem(place, column)
    return conform(made, wanted)


def _become_objects(own: Any, other: Any, made: Any) -> bool:
    """Whether dtypes of two frames have none in common but that of objects: pandas keeps the first frame's where no value of the other one's is taken."""
    is_object = pd.api.types.is_object_dtype
    if isinstance(other, (BaseMaskedDtype, pd.ArrowDtype)):  # whose missing values are taken, too, and become objects
        return False
    return is_object(made) and not is_object(own) and not is_object(other)


def _with_values_of_other(made: pd.DataFrame, name: Any, own: Any) -> pd.DataFrame:
    """Return rows that only the other frame has, with a column as beside rows of the dtype `own`: objects, unless there is no value to take."""
    is_missing = made[name].isna().all() and not can_miss_nothing(own)
    changed: Any = made.copy(deep=False)
    changed[name] = (
        pd.Series([], dtype=own).reindex(range(len(made))).array if is_missing else made[name].astype(object)
    )
    return changed


def _with_missing_of(made: pd.DataFrame, name: Any, own: Any) -> pd.DataFrame:
    """Return a frame in which a column has the dtype of `own`, of which it is made, if all its values are missing and the dtype has such."""
    if can_miss_nothing(own.dtype) or made[name].dtype == own.dtype or not made[name].isna().all():
        return made
    is_same = own.index.equals(made.index)
    column = own if is_same else own.reindex(made.index) if own.index.is_unique else own.iloc[:0].reindex(made.index)
    changed: Any = made.copy(deep=False)
    changed.isetitem(made.columns.get_loc(name), column)
    return changed


def with_common_dtypes(meta: Any, own: Any, other: Any) -> Any:
    """Return the meta of ``own.combine_first(other)`` with the dtype that both have together for columns of both.

    Of made-up rows no value is taken from the other frame, and so its dtype isn't seen.
    """
    if isinstance(meta, pd.Series):
        return meta if own.dtype == other.dtype else meta.astype(_common_dtype(own, other))
    if not meta.columns.is_unique:
        return meta
    made = meta.copy(deep=False)
    for place, name in enumerate(meta.columns):
        if name in own.columns and name in other.columns and own[name].dtype != other[name].dtype:
            column: Any = meta.iloc[:, place].astype(_common_dtype(own[name], other[name]))
            made.isetitem(place, column)
    return made


def _common_dtype(one: Any, other: Any) -> Any:
    return pd.concat([one.iloc[:0], other.iloc[:0]]).dtype


def _beside_none(block: Any, other: Any, names: pd.Index) -> Any:
    """Return a block with the columns that only another one has, which has no rows, as missing values of their dtypes."""
    lacked = [name for name in names if name not in block.columns]
    none = {name: other[name].iloc[:0].reindex(block.index) for name in lacked}
    return pd.concat([block, pd.DataFrame(none)], axis=1) if none else block


def with_dtypes_of_one_frame(made: Any, own: Any, others: Any) -> Any:
    """Return the lazy result of `combine_first` with one dtype in all partitions, by the metas of the frames, for columns whose dtype depends on rows.

    Those are columns that one frame alone has, and those of dtypes that have none in common.
    """
    meta = made.expr.meta
    if made.npartitions == 1 or not isinstance(meta, pd.DataFrame) or not meta.columns.is_unique:
        return made
    several = [dict(zip(one.columns, dtypes_of(one), strict=True)) for one in (own, others)]
    alone = {**several[0], **several[1]}
    places = [
        place
        for place, name in enumerate(meta.columns)
        if (
            _become_objects(several[0][name], several[1][name], meta[name].dtype)
            if all(name in one for one in several)
            else can_miss_nothing(alone.get(name, np.dtype(object)))
        )
    ]
    return with_dtypes_of_all(made, places)
