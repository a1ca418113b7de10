"""`LiveRows`: a plot's rows in order of time, of which only those that are new or differ are sent to the browser.

>>> from bokeh.models import ColumnDataSource
>>> rows = LiveRows(ColumnDataSource({"left": []}))
>>> rows.show({"left": np.array([1.0, 2.0])}), rows.show({"left": np.array([2.0, 3.0])})
('all', 'changes')
>>> rows.source.data["left"].tolist()
[2.0, 3.0]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from bokeh.models import ColumnDataSource
from numpy.typing import NDArray

Numbers = NDArray[np.float32] | NDArray[np.float64]
Texts = Callable[[int, int], list[str]]
"""Returns the texts of the rows from a number up to another."""

_MOST_PATCHED = 0.25
"""If more of the rows differ, all are sent."""


class LiveRows:
    """What a source shows. Rows go at the front and come at the end; one that stays may change, as the last one does.

    Parameters
    ----------
    text
        The column of texts, which are asked for only of rows that are sent; ``""``: there is none.
    """

    def __init__(self, source: ColumnDataSource, text: str = "") -> None:
        self.source = source
        self._text = text
        self._known: NDArray[np.float64] | None = None

    def forget(self) -> None:
        """Send everything the next time."""
        self._known = None

    def show(
        self, columns: Mapping[str, Numbers], texts: Texts | None = None, values: NDArray[np.float64] | None = None
    ) -> str:
        """Show these rows. Return what was sent: ``"nothing"``, ``"changes"`` or ``"all"``.

        Parameters
        ----------
        values
            What the texts depend on besides the columns: a row for each row.
        """
        keys = np.column_stack([*columns.values(), *(() if values is None else (values,))]).astype(np.float64)
        dropped = None if self._known is None else _dropped(self._known, keys)
        self._known, known = keys, self._known
        if known is None or dropped is None:
            return self._send_all(columns, texts, len(keys))
        kept = len(known) - dropped
        differ = np.flatnonzero(_differ(known[dropped:], keys[:kept]))
        if len(differ) > _MOST_PATCHED * len(keys):
            return self._send_all(columns, texts, len(keys))
        if len(differ):
            self._patch(columns, texts, differ, dropped)
        if kept < len(keys):
            self.source.stream(self._part(columns, texts, kept, len(keys)), rollover=len(keys))
        return "changes" if len(differ) or kept < len(keys) else "nothing"

    def _patch(
        self, columns: Mapping[str, Numbers], texts: Texts | None, differ: NDArray[np.int64], moved: int
    ) -> None:
        """Send rows that the browser has, `moved` places further back, again."""
        patches: dict[str, list[tuple[slice, list[object]]]] = {}
        for run in np.split(differ, np.flatnonzero(np.diff(differ) > 1) + 1):
            first, last = int(run[0]), int(run[-1]) + 1
            for name, column in self._part(columns, texts, first, last).items():
                values: list[object] = list(column) if isinstance(column, list) else column.tolist()
                patches.setdefault(name, []).append((slice(moved + first, moved + last), values))
        self.source.patch(patches)

    def _send_all(self, columns: Mapping[str, Numbers], texts: Texts | None, count: int) -> str:
        self.source.data = self._part(columns, texts, 0, count)
        return "all"

    def _part(
        self, columns: Mapping[str, Numbers], texts: Texts | None, first: int, last: int
    ) -> dict[str, Numbers | list[str]]:
        part: dict[str, Numbers | list[str]] = {name: column[first:last].copy() for name, column in columns.items()}
        return part | ({self._text: texts(first, last)} if texts is not None else {})


def _differ(some: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which rows differ; what is no number is like itself."""
    return ((some != others) & ~(np.isnan(some) & np.isnan(others))).any(axis=1)


def _dropped(known: NDArray[np.float64], keys: NDArray[np.float64]) -> int | None:
    """Return how many of the known rows have gone at the front; None if more than those have gone, or nothing is left.

    Nothing is dropped without a row that comes for it: a source can't be told to forget alone.
    """
    if not len(known) or not len(keys):
        return None if len(known) or len(keys) else 0
    found = np.flatnonzero(~_differ(known, keys[0]))
    if not len(found):
        return 0 if len(known) <= len(keys) else None
    dropped = int(found[0])
    kept = len(known) - dropped
    return dropped if kept <= len(keys) and (not dropped or kept < len(keys)) else None
