"""`DataFrame.select`: columns by name, and columns that expressions compute, in one list."""

from __future__ import annotations

from typing import Any

import pandas as pd

from glassloom.dataframe.column_expressions import evaluated, is_expression
from glassloom.dataframe.column_places import columns_at
from glassloom.dataframe.columns import require_columns, require_distinct
from glassloom.dataframe.options import refused
from glassloom.dataframe.wrap import is_node, operate, wrap


def selected(frame: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the columns that are listed, and those that are computed, of a lazy frame; see `DataFrame.select`.

    Raises
    ------
    TypeError
        If names are in a set, or in a list beside others; or an expression makes neither a frame nor a series with a name.
    """
    items = _items(args)
    if not kwargs and not any(map(is_expression, items)):
        return wrap(columns_at(frame.expr, _places(frame.expr.meta.columns, items)))
    columns = frame.expr.meta.columns
    if columns.nlevels > 1:
        raise refused(
            "select", "args", items, "of columns of several levels names are chosen; assign() what is computed"
        )
    require_distinct("select", frame.expr.meta)
    chosen = _Chosen(frame)
    for item in items:
        if is_expression(item):
            for name, column in _computed(item, chosen.frame):
                chosen.add(name, column)
        else:
            require_columns([item], chosen.frame.expr.meta)
            chosen.add(item)
    for name, value in kwargs.items():
        chosen.add(name, evaluated(value, chosen.frame))
    return chosen.result()


_AS_IT_IS: Any = object()


class _Chosen:
    """Columns that are chosen of a frame one after the other, while computed ones are put into it."""

    def __init__(self, frame: Any) -> None:
        self.frame = self._first = frame
        self._columns: list[tuple[Any, Any]] = []
        """Each column's name, and the frame that it is chosen of."""
        self._computed: dict[Any, Any] = {}
        """Of each computed column the frame that first has it."""

    def add(self, name: Any, value: Any = _AS_IT_IS) -> None:
        """Choose a column, after a value was put into it if one is given."""
        if value is not _AS_IT_IS:
            self.frame = self._computed[name] = wrap(self.frame._assigned({name: value}))
        self._columns.append((name, self._computed.get(name, self._first)))

    def result(self) -> Any:
        """Return the frame of the columns. One that was computed anew after it had been chosen is chosen of an earlier frame."""
        if all(frame is self._computed.get(name, self._first) for name, frame in self._columns):
            return self.frame[[name for name, _ in self._columns]]
        labels = pd.Index([name for name, _ in self._columns], name=self.frame.columns.name)
        return operate(_side_by_side, labels, *(frame[name] for name, frame in self._columns), label="select")


def _side_by_side(labels: pd.Index, *columns: Any) -> Any:
    return pd.concat(list(columns), axis=1).set_axis(labels, axis=1)


def _items(args: tuple[Any, ...]) -> list[Any]:
    """Return the items to select: those of a list, if one is given alone."""
    for arg in args:
        if isinstance(arg, (set, frozenset)):
            raise TypeError(
                f"select: {arg!r} has no order, in which the columns would be; `select` does not support sets: give a list"
            )
    are_lists = [
        not is_expression(arg) and not isinstance(arg, tuple) and pd.api.types.is_list_like(arg) for arg in args
    ]
    if are_lists == [True]:
        return list(args[0])
    if any(are_lists):
        raise TypeError(
            "`select` supports individual columns `frame.select('x', 'y')` or a single list `frame.select(['x', 'y'])`, but not both"
        )
    return list(args)


def _places(columns: pd.Index, names: list[Any]) -> list[int]:
    """Return where columns of some names are. Of several levels a name of the first one stands for all columns below it."""
    numbered = pd.DataFrame([range(len(columns))], columns=columns)
    if columns.nlevels == 1:
        require_columns(names, numbered)
        return list(numbered[names].iloc[0]) if names else []
    return [place for name in names for place in numbered[[name]].iloc[0]]


def _computed(expression: Any, frame: Any) -> list[tuple[Any, Any]]:
    """Return the columns that an expression makes of a frame, with their names."""
    made = evaluated(expression, frame)
    meta = made.expr.meta if is_node(made) else made
    if isinstance(meta, pd.Series) and meta.name is not None:
        return [(meta.name, made)]
    if isinstance(meta, pd.DataFrame):
        return [(name, made[name]) for name in meta.columns]
    if isinstance(meta, pd.Series):
        raise TypeError(
            f"select: expression {expression!r} evaluated to an unnamed Series; use .rename(...) to name it or pass it as a keyword argument"
        )
    raise TypeError(
        f"select: expression {expression!r} evaluated to an object of type {type(made).__name__}, expected a Series or DataFrame; "
        "pass it as a keyword argument instead"
    )
