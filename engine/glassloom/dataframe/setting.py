"""What changes a frame in place: columns set and deleted, rows masked, another index. Only this collection changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glassloom.array.api.array import Array
from glassloom.dataframe.alignment import require_aligned
from glassloom.dataframe.base import Frame
from glassloom.dataframe.column_at_hand import is_column, with_labels_at_hand
from glassloom.dataframe.keys_at_hand import key_at_hand
from glassloom.dataframe.keys_of_rows import as_series
from glassloom.dataframe.label_nodes import NewLabels
from glassloom.dataframe.nodes import FrameExpr, Projection
from glassloom.dataframe.options import is_of_positions
from glassloom.dataframe.positions import ILoc
from glassloom.dataframe.setting_rows import condition_at_hand, is_mask
from glassloom.dataframe.widening import can_miss_nothing
from glassloom.dataframe.wrap import is_node, operate, wrap


class Setting(Frame):
    """Setters of frames."""

    def __setitem__(self, key: Any, value: Any) -> None:
        key = key_at_hand(key)
        if is_node(key) or isinstance(key, pd.DataFrame):
            self._set_where(key, value)
        elif isinstance(key, np.ndarray) and key.ndim == 2:
            self.mask(key, value, inplace=True)
        elif is_mask(key):
            self._set_where(condition_at_hand(self, key), value)
        elif isinstance(key, slice):
            if is_of_positions(key, self._meta.index):
                ILoc(self)[key] = value
            else:
                self.loc.set(key, value, by_label=False)
        elif isinstance(key, (list, pd.Index, np.ndarray)):
            self._set_columns(list(key), value)
        else:
            self._expr = self._assigned({key: _only_column(key, value)})

    def __delitem__(self, name: Any) -> None:
        self._expr = self.drop(columns=[name]).expr

    def _set_columns(self, names: list[Any], value: Any) -> None:
        if (values := _columns_of_table(value)) is not None:
            if len(values) != len(names):
                raise ValueError(f"Columns must be same length as key: {len(names)} columns are assigned {len(values)}")
        elif pd.api.types.is_list_like(value) and not is_node(value) and not isinstance(value, Array):
            if len(value) != len(names):
                raise ValueError(
                    f"Columns must be same length as key: {len(names)} columns are assigned {len(value)} values"
                )
            values = [value[place] for place in range(len(names))]
        else:
            values = [value] * len(names)
        self._expr = self._assigned(dict(zip(names, values, strict=True)))

    def _set_where(self, condition: Any, value: Any) -> None:
        """Set the rows, or the values, where a condition holds."""
        condition = condition if isinstance(condition, pd.DataFrame) else as_series(self, condition)
        if is_node(condition) and isinstance(condition.expr.meta, pd.Series):
            require_aligned([self._expr, condition.expr], "frame[condition] = value")
            made = operate(_set_rows, self, condition, value, label="setitem")
            if missing := _missing_among_whole_numbers(made, value):
                made = operate(_set_rows, wrap(self._expr).astype(missing), condition, value, label="setitem")
            self._expr = made.expr
            return
        columns = self._expr.meta.columns
        asked = [name for name in columns if name in condition.columns]
        if len(asked) in (0, len(columns)) or not columns.is_unique or not pd.api.types.is_scalar(value):
            self.mask(condition, value, inplace=True)
            return
        part = wrap(Projection(self._expr, asked))  # others keep their dtypes
        part.mask(condition, value, inplace=True)
        self._expr = self._assigned({name: part[name] for name in asked})


def _missing_among_whole_numbers(made: Any, value: Any) -> dict[Any, str]:
    """Return the columns of whole numbers that get missing ones of a lazy frame, which is found out now, and the dtype that has them."""
    if not is_node(value) or not isinstance(value.expr.meta, pd.DataFrame):
        return {}
    if all(map(can_miss_nothing, value.expr.meta.dtypes)) or not made.columns.is_unique:
        return {}
    names = [name for name, dtype in made.dtypes.items() if can_miss_nothing(dtype)]
    found = made[names].isna().any().compute() if names else pd.Series(dtype=bool)
    return dict.fromkeys(found.index[found], "float64")


def _set_rows(block: Any, condition: Any, value: Any) -> Any:
    block = block.copy()
    block[condition] = value[condition] if isinstance(value, (pd.Series, pd.DataFrame)) else value
    return block


def _only_column(name: Any, value: Any) -> Any:
    """Return the column of a lazy or pandas frame, or of an array of two axes, that has one; other values as they are.

    Raises
    ------
    ValueError
        If there are several, or none.
    """
    is_table = isinstance(value.expr.meta if is_node(value) else value, pd.DataFrame)
    if not is_table and not (isinstance(value, np.ndarray) and value.ndim == 2):
        return value
    if value.shape[1] != 1:
        raise ValueError(
            f"Columns must be same length as key: column {name!r} is assigned {value.shape[1]} columns; frame[names] = values takes several"
        )
    return value[:, 0] if isinstance(value, np.ndarray) else value.iloc[:, 0]


def _columns_of_table(value: Any) -> list[Any] | None:
    """Return the columns of a lazy or pandas frame, or of an array or lists of two axes; a series is one column; None of anything else."""
    if is_node(value):
        meta = value.expr.meta
        if isinstance(meta, pd.DataFrame):
            return [wrap(Projection(value.expr, column)) for column in meta.columns]
        return [value] if isinstance(meta, (pd.Series, pd.Index)) else None
    if isinstance(value, pd.DataFrame):
        return [value.iloc[:, place] for place in range(value.shape[1])]
    if isinstance(value, Array):
        return [value[:, place] for place in range(value.shape[1])] if value.ndim == 2 else None
    if isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value) == 2:
        table = pd.DataFrame(value)
        return [table[place].array for place in table.columns]
    return None


def with_index(frame: Any, index: Any) -> FrameExpr:
    """Return the node of a frame or series with other labels: a lazy index or series of the same rows, or labels at hand.

    Raises
    ------
    TypeError
        If it is something else.
    ValueError
        If there are not as many labels at hand as rows.
    """
    if is_column(index) or isinstance(index, range):
        return with_labels_at_hand(frame, _labels_at_hand(index))
    if not is_node(index) or not index.expr.has_rows or isinstance(index.expr.meta, pd.DataFrame):
        raise TypeError(
            f"index = a {type(index).__name__}: it takes a lazy index or series of the same rows, or labels at hand. A column "
            "becomes the index by set_index()"
        )
    return operate(_with_index, frame, index, kind=NewLabels, label="index").expr


def _labels_at_hand(labels: Any) -> pd.Index:
    """Return labels as pandas takes them: a list of lists or arrays has the labels of each level, and tuples are labels."""
    if isinstance(labels, pd.Index):
        return labels
    if (
        isinstance(labels, list)
        and labels
        and all(isinstance(one, (list, np.ndarray, pd.Series, pd.Index)) for one in labels)
    ):
        return pd.MultiIndex.from_arrays(labels)
    return pd.Index(labels, tupleize_cols=False)


def _with_index(block: Any, index: Any) -> Any:
    block = block.copy(deep=False)
    block.index = index
    return block


_with_index.keeps_columns = True  # type: ignore[attr-defined]  # see `own_columns`
