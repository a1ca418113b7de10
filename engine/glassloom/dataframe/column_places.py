"""Columns of a frame by their places: a name may stand for several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.columns import are_keys_of_levels, require_columns
from glassloom.dataframe.nodes import FrameExpr, Projection, Rowwise
from glassloom.dataframe.options import is_listed


def columns_at(node: FrameExpr, columns: Any) -> FrameExpr:
    """Return the column at a position, or those at several: a list of them, a slice, or a boolean for each column."""
    names = node.meta.columns
    if not names.is_unique:
        return Rowwise(node, (), BlockCall(_taken_columns, (Block(0), columns), label="iloc"))
    chosen = names[columns]
    return Projection(node, list(chosen) if isinstance(chosen, pd.Index) else chosen)


def columns_named(node: FrameExpr, names: list[Any]) -> FrameExpr:
    """Return the node of ``frame[names]``, in which booleans are names of columns, and no condition."""
    if node.meta.columns.nlevels > 1:
        return columns_of_levels(node, names)
    require_columns(names, node.meta)
    return Projection(node, names)


def columns_of_levels(node: FrameExpr, key: Any, *, by_loc: bool = False) -> FrameExpr:
    """Return the node of ``frame[key]``, or of ``frame.loc[:, key]``, of columns of several levels: a label of the first ones stands for all columns below it.

    Raises
    ------
    UnknownColumn
        If a column isn't there.
    """
    names = node.meta.columns
    if not are_keys_of_levels(key):
        require_columns(key if isinstance(key, (list, pd.Index)) else [key], node.meta)
    numbered = pd.DataFrame([range(len(names))], columns=names)
    found: Any = numbered.loc[:, key] if by_loc else numbered[key]
    places = found.iloc[0]
    if isinstance(found, pd.Series):
        column = columns_at(node, places)
        return (
            column
            if column.meta.name == found.name
            else Rowwise(column, (), BlockCall(Method("rename"), (Block(0), found.name)))
        )
    made = columns_at(node, places.tolist())
    if made.meta.columns.equals(found.columns) and made.meta.columns.nlevels == found.columns.nlevels:
        return made
    return Rowwise(made, (), BlockCall(Method("set_axis"), (Block(0), found.columns), {"axis": 1}, label="columns"))


def places_chosen(meta: pd.DataFrame, choose: Callable[[pd.DataFrame], pd.DataFrame]) -> list[int]:
    """Return the places of the columns that a function of an empty frame chooses, which doesn't ask for their names."""
    chosen: Any = choose(meta.set_axis(range(meta.shape[1]), axis=1)).columns
    return list(chosen)


def places_without(meta: pd.DataFrame, columns: Any, level: Any, errors: str) -> list[int]:
    """Return the places of the columns that ``drop(columns=columns, level=level, errors=errors)`` leaves.

    Raises
    ------
    KeyError
        If a column isn't there, and `errors` isn't ``"ignore"``.
    """
    names = meta.columns
    if (
        level is not None or names.nlevels > 1 or names.hasnans
    ):  # a label may stand for many columns, and NaN isn't equal to itself
        numbered = pd.DataFrame([range(meta.shape[1])], columns=meta.columns)
        return list(
            numbered.drop(columns=columns, level=level, errors="ignore" if errors == "ignore" else "raise").iloc[0]
        )
    wanted = set(columns) if is_listed(columns) else {columns}
    if errors != "ignore":
        require_columns(wanted, meta)
    return [place for place, name in enumerate(meta.columns) if name not in wanted]


def _taken_columns(block: Any, columns: Any) -> Any:
    return block.iloc[:, columns]


_taken_columns.chooses_columns = True  # type: ignore[attr-defined]  # see `own_columns`


def numeric_columns(node: FrameExpr) -> FrameExpr:
    """Return the node of the columns that are numbers or booleans; a series as it is."""
    if not isinstance(node.meta, pd.DataFrame):
        return node
    numbers = [place for place, dtype in enumerate(node.meta.dtypes) if pd.api.types.is_numeric_dtype(dtype)]
    return columns_at(node, numbers) if len(numbers) < len(node.meta.columns) else node
