"""Methods about levels of the index and labels of columns: partition by partition, since divisions are of one level."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
from pandas.api.extensions import no_default

from glassloom.dataframe.base import Frame, MapKeeping
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.column_places import columns_at
from glassloom.dataframe.label_nodes import NewLabels
from glassloom.dataframe.nodes import BlockOp
from glassloom.dataframe.numbered_levels import level_at, rows_without_levels
from glassloom.dataframe.options import is_columns, refused
from glassloom.dataframe.reduce import Length
from glassloom.dataframe.text_labels import label_of_text
from glassloom.dataframe.wrap import operate, wrap


class Levels(Frame):
    """Methods of frames and series."""

    def droplevel(self, level: Any, axis: Any = 0) -> Any:
        """Return the same rows without a level of the index, or several; with ``axis=1`` of the columns' index."""
        return self._with_levels("droplevel", {"level": level}, axis)

    def swaplevel(self, i: Any = -2, j: Any = -1, axis: Any = 0) -> Any:
        """Return the same rows with two levels of the index exchanged; with ``axis=1`` of the columns' index."""
        return self._with_levels("swaplevel", {"i": i, "j": j}, axis)

    def reorder_levels(self, order: Any, axis: Any = 0) -> Any:
        """Return the same rows with the levels of the index in another order; with ``axis=1`` of the columns' index."""
        return self._with_levels("reorder_levels", {"order": order}, axis)

    def _with_levels(self, method: str, kwargs: dict[str, Any], axis: Any) -> Any:
        is_of_columns = is_columns(axis, method)
        if is_of_columns and not isinstance(self._meta, pd.DataFrame):
            raise ValueError(f"{method}: No axis named {axis!r} for a series; axis=0 are its labels")
        if is_of_columns:
            return operate(Method(method), self, kwargs={**kwargs, "axis": 1}, label=method)
        return operate(Method(method), self, kind=NewLabels, kwargs=kwargs, label=method)

    def _without_levels(self, numbers: list[int]) -> Any:
        """Return the same rows without the levels of the index at some places."""
        return operate(rows_without_levels, self, numbers, kind=NewLabels, label="droplevel")

    def xs(self, key: Any, axis: Any = 0, level: Any = None, drop_level: bool = True) -> Any:
        """Return the rows of a label, or with ``axis=1`` a column.

        Unlike pandas, rows stay rows: a label that occurs once gives a frame of one row, not a series.

        Parameters
        ----------
        key
            The label; of an index of several levels, the label of `level`. A text stands for a time among times, or for a stretch, such as a
            day, as in `loc`: the rows of a stretch keep the level.
        axis
            0 or ``"index"``; 1 or ``"columns"``.
        level
            The level of the index that `key` belongs to; a list of levels for a tuple with a label of each.
        drop_level
            Whether to leave that level out of the result.

        Raises
        ------
        KeyError
            When computing, if no row has the label.
        """
        if is_columns(axis, "xs"):
            if level is not None:
                return operate(Method("xs"), self, key, kwargs={"axis": 1, "level": level, "drop_level": drop_level})
            if not drop_level:
                names = self._meta.columns
                numbered: Any = pd.DataFrame([range(len(names))], columns=names)
                places = numbered.xs(key, axis=1, drop_level=False).iloc[0].tolist()
                return wrap(columns_at(self._expr, places))
            return self[key]
        if level is None and self._meta.index.nlevels == 1:
            return self.loc[key]
        if level is None and isinstance(key, tuple):
            if not drop_level:
                raise refused(
                    "xs",
                    "drop_level",
                    drop_level,
                    "of a tuple of labels: loc[...] with a list for each level keeps them",
                )
            return self.loc[key] if isinstance(self._meta, pd.Series) else self.loc[key, :]
        chosen = 0 if level is None else level
        if isinstance(chosen, (list, tuple)):
            return self._of_labels_of_levels(key, chosen, drop_level)
        number = self._meta.index._get_level_number(chosen)  # what pandas objects to is raised here
        label, stretch = key, None
        if isinstance(key, str):
            label, stretch = label_of_text(operate(_with_level_alone, self, number, kind=NewLabels).expr, key)
        if stretch is None:
            rows = operate(_rows_of_level, self, label, chosen, drop_level, kind=BlockOp, label="xs")
        else:
            rows = operate(_rows_of_stretch, self, number, stretch, kind=BlockOp, label="xs")
        check = BlockCall(_rows_if_any, (Block(0), Block(1), key), label="xs")
        return wrap(MapKeeping(rows.expr, (Length(rows.expr),), check, rows.expr.meta))

    def _of_labels_of_levels(self, key: Any, levels: Any, drop_level: bool) -> Any:
        """Return the rows that have a label in each of several levels. There may be none, if each label is that of some row."""
        index = self._meta.index
        numbers = [index._get_level_number(level) for level in levels]
        if len(key) != len(numbers):
            raise AssertionError(
                f"xs({key!r}, level={levels!r}): Key for location must have same length as number of levels"
            )
        rows: Any = self
        for number, label in zip(numbers, key, strict=True):
            is_of_times = isinstance(level_at(index, number), (pd.DatetimeIndex, pd.PeriodIndex, pd.TimedeltaIndex))
            if not pd.api.types.is_scalar(label) or (is_of_times and isinstance(label, str)):
                raise refused(
                    "xs", "key", key, "of several levels it has one label of each, and times as pandas.Timestamp"
                )
            rows = operate(_rows_at_level, rows, label, number, kind=BlockOp, label="xs")
        node = rows.expr
        for number, label in zip(numbers, key, strict=True):
            alone = operate(_rows_at_level, self, label, number, kind=BlockOp, label="xs")
            check = BlockCall(_rows_if_any, (Block(0), Block(1), label), label="xs")
            node = MapKeeping(node, (Length(alone.expr),), check, node.meta)
        made = wrap(node)
        return made._without_levels(numbers) if drop_level and len(set(numbers)) < index.nlevels else made


class FrameLevels(Levels):
    """Methods of frames."""

    def stack(self, level: Any = -1, dropna: Any = None, sort: Any = None, future_stack: bool = True) -> Any:
        """Return the columns under each other: a row for each value, with the column's name as last level of its label.

        Parameters
        ----------
        level
            The level of the columns' index, or several.
        dropna, sort
            With ``future_stack=False``: whether to leave out rows of nothing but missing values, and whether to sort the columns'
            names first, in each row. Default: both. Otherwise only None, since missing values are kept and names stay in order.
        future_stack
            Whether to do what pandas 3 does by default.

        Raises
        ------
        ValueError
            If `dropna` or `sort` are given with ``future_stack=True``.
        """
        given = {name: one for name, one in (("dropna", dropna), ("sort", sort)) if one not in (None, no_default)}
        if future_stack and given:
            raise ValueError(
                f"stack: {' and '.join(given)} can't be given with future_stack=True, which keeps all values in order"
            )
        kwargs = {"level": level, "future_stack": future_stack, **given}
        function = Method("stack") if future_stack else _stacked_as_before
        return operate(function, self, kind=BlockOp, kwargs=kwargs, label="stack")


def _stacked_as_before(block: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", (FutureWarning, PendingDeprecationWarning, DeprecationWarning)
        )  # of future_stack=False
        return block.stack(**options)


def _rows_of_level(block: Any, key: Any, level: Any, drop_level: bool) -> Any:
    found = block[block.index.get_level_values(level) == key]
    return found.droplevel(level) if drop_level else found


def _rows_at_level(block: Any, key: Any, number: int) -> Any:
    return block[level_at(block.index, number) == key]


def _with_level_alone(block: Any, level: int) -> Any:
    return block.set_axis(level_at(block.index, level), axis=0)


def _rows_of_stretch(block: Any, level: int, stretch: tuple[Any, Any]) -> Any:
    labels = level_at(block.index, level)
    return block[(labels >= stretch[0]) & (labels <= stretch[1])]


def _rows_if_any(rows: Any, count: int, key: Any) -> Any:
    if not count:
        raise KeyError(key)
    return rows
