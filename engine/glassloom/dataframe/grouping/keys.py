"""What ``groupby(by, level=...)`` groups by, as keys of a `Recipe`. It looks at columns and dtypes, never at rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from glassloom.dataframe.alignment import require_aligned
from glassloom.dataframe.columns import unknown_columns
from glassloom.dataframe.grouping.recipe import BLOCK, COLUMN, LEVEL, Key
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.own_columns import NotOwn, own_column
from glassloom.dataframe.wrap import is_node, operate


def resolve_keys(frame: Any, by: Any, level: Any) -> tuple[tuple[Key, ...], tuple[FrameExpr, ...], bool]:
    """Return the keys, the nodes of those that are further blocks, and whether there is one and no list.

    Raises
    ------
    TypeError
        If nothing, or what can't be a key, is given.
    UnknownColumn
        If a label is neither a column nor an index level.
    """
    if by is None and level is None:
        raise TypeError("groupby needs by= or level=")
    if by is not None and level is not None:
        raise NotImplementedError(f"level={level!r} together with by=: name the level in the list of by")
    wanted = by if by is not None else level
    if isinstance(by, tuple) and not _is_label(frame, by):  # pandas takes a tuple for a label
        raise KeyError(f"{by!r} is no column: give a list of several keys, {list(by)!r}")
    if by is None and isinstance(level, (list, tuple)) and len(level) > 1 and frame.expr.meta.index.nlevels == 1:
        raise ValueError(f"level={level!r}: multiple levels only valid with MultiIndex")
    is_single = not isinstance(wanted, (list, tuple)) or (by is not None and _is_label(frame, wanted))
    blocks: list[FrameExpr] = []
    keys = []
    wanted = [wanted] if is_single else list(wanted)
    for one in wanted:
        key, node = (
            _level(frame, one, is_named_by_place=len(wanted) > 1)
            if by is None
            else _key(frame, one, is_listed=not is_single)
        )
        if node is not None:
            key = key._replace(at=len(blocks))
            blocks.append(node)
        keys.append(key)
    if not keys:
        raise ValueError("No group keys passed!")
    if blocks:
        require_aligned([frame.expr, *blocks], "groupby")
    return tuple(keys), tuple(blocks), is_single


def require_names_of_columns(frame: Any, keys: tuple[Key, ...]) -> None:
    """Check that keys which become columns have the names of their levels: of numbers of other places pandas makes columns of either's values.

    Raises
    ------
    NotImplementedError
        If one has not.
    """
    names = list(frame.expr.meta.index.names)
    if any(key.kind == LEVEL and key.name != names[key.at] for key in keys):
        raise NotImplementedError(
            f"groupby(as_index=False) by levels that are named by numbers of other places, {names}: rename_axis() gives them other names"
        )


def own_options(by: Any, sort: bool | None, dropna: bool) -> tuple[bool | None, bool]:
    """Return the `sort` and `dropna` that hold: those of a `pandas.Grouper` of a key or level, if that is all there is to group by.

    Raises
    ------
    ValueError
        If one has a key and a level.
    NotImplementedError
        If one beside other keys has a `dropna` of its own.
    """
    for one in by if isinstance(by, (list, tuple)) else (by,):
        require_one_place(one)
    if isinstance(by, pd.Grouper) and getattr(by, "freq", None) is None:
        return bool(by.sort), bool(by.dropna)
    for one in by if isinstance(by, (list, tuple)) else ():
        if isinstance(one, pd.Grouper) and not one.dropna and dropna:
            raise NotImplementedError(f"groupby: {one!r} beside other keys: give dropna=False to groupby, for all keys")
    return sort, dropna


def require_one_place(by: Any) -> None:
    """Check that a key isn't a `pandas.Grouper` of both a column and a level.

    Raises
    ------
    ValueError
        If it is.
    """
    if isinstance(by, pd.Grouper) and by.key is not None and by.level is not None:
        raise ValueError(f"The Grouper cannot specify both a key and a level: {by!r}")


def _is_label(frame: Any, by: Any) -> bool:
    return isinstance(by, tuple) and isinstance(frame.expr.meta, pd.DataFrame) and by in frame.columns


def _key(frame: Any, by: Any, *, is_listed: bool) -> tuple[Key, FrameExpr | None]:
    meta = frame.expr.meta
    if is_node(by):
        node = by.expr
        if (column := own_column(frame.expr, node)) is not NotOwn:
            return Key(COLUMN, column, column), None
        if not isinstance(node.meta, pd.Series):
            raise TypeError(f"a lazy {type(by).__name__} can't be a key; take a series, such as frame[column]")
        return Key(BLOCK, 0, node.meta.name), node
    if isinstance(by, pd.Grouper):
        return _grouper(frame, by, is_listed=is_listed)
    if callable(by) or isinstance(by, dict):
        mapped = operate(_map_labels, frame, by.get if isinstance(by, dict) else by, label="groupby-keys")
        return Key(BLOCK, 0, meta.index.name), mapped.expr
    if isinstance(meta, pd.DataFrame) and by in meta.columns:
        return Key(COLUMN, _whole_label(meta.columns, by), by), None
    if by is not None and by in meta.index.names:
        return _level(frame, by, is_named_by_place=True)
    raise unknown_columns([by], meta.columns if isinstance(meta, pd.DataFrame) else [])


def _whole_label(columns: pd.Index, label: Any) -> Any:
    """Return the label of a column with all its levels.

    Raises
    ------
    ValueError
        If several columns have it.
    """
    if columns.nlevels == 1 or (isinstance(label, tuple) and len(label) == columns.nlevels):
        return label
    found = columns[columns.get_loc(label)]
    if isinstance(found, tuple):
        return found
    if len(found) == 1:
        return found[0]
    raise ValueError(f"Grouper for {label!r} not 1-dimensional: the columns {list(found)} have it")


def _level(frame: Any, level: Any, *, is_named_by_place: bool = False) -> tuple[Key, None]:
    """Return the key of an index level. A number is a name first; `is_named_by_place`: the key has the name of the level at that place, as pandas'
    keys have, but for ``level=`` of one level.
    """
    names = list(frame.expr.meta.index.names)
    is_place = isinstance(level, int) and -len(names) <= level < len(names)
    if level in names:
        number = names.index(level)
    elif is_place:
        number = level % len(names)
    else:
        kind = ValueError if len(names) == 1 else IndexError if isinstance(level, int) else KeyError  # as in pandas
        raise kind(f"level {level!r} is none of the index, whose levels are {names}")
    return Key(LEVEL, number, names[level if is_place and is_named_by_place else number]), None


def _grouper(frame: Any, by: pd.Grouper, *, is_listed: bool) -> tuple[Key, FrameExpr | None]:
    if by.key is not None:
        return _key(frame, by.key, is_listed=is_listed)
    key, _ = _level(frame, by.level, is_named_by_place=True)
    return (_level(frame, by.level)[0] if is_listed and key.name is None else key), None


def _map_labels(block: Any, function: Callable[[Any], Any]) -> Any:
    return pd.Series(block.index.map(function), index=block.index, name=block.index.name)
