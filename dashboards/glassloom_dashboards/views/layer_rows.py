"""Which rows a list of layers has: one for each, but small layers of one name that are done share one until all are asked for.

What is small depends on how many rows there would be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from bokeh.models import Button, InlineStyleSheet
from numpy.typing import NDArray

from glassloom_dashboards.folds.aggregate import ClusterAggregate, Layer
from glassloom_dashboards.folds.layer_table import Places
from glassloom_dashboards.parts.card import CONTROL_STYLE

SMALL_TASKS = 10
"""A layer of no more tasks is small."""
MANY_ROWS = 40
"""Where there are more rows, ten times as many tasks are still few, and so on: those of one name are there to be counted."""
_MOST_TASKS = 10**6
FOLD_FROM = 4
"""So many small layers of one name, all of them done, share a row."""


@dataclass(frozen=True)
class Row:
    """What a row is about: a layer, or several of one name that are done.

    Attributes
    ----------
    layer, layers
        The first, and the numbers of all of them.
    total, counts
        The tasks of all of them; how many are in each state, and how many were ``cancelled``: are in no state any more.
    origin
        Where it was built; several layers may have been in several places.
    """

    layer: Layer
    layers: list[int]
    total: int
    counts: dict[str, int]
    origin: str

    @property
    def name(self) -> str:
        """The name of all of them."""
        return self.layer.name

    @property
    def remark(self) -> str:
        """How many layers it is about; nothing if one."""
        return f"in {len(self.layers):,} layers" if len(self.layers) > 1 else ""

    @property
    def title(self) -> str:
        """What tables call it."""
        return f"{self.name}, {len(self.layers):,} layers" if len(self.layers) > 1 else self.name


def row_of(aggregate: ClusterAggregate, places: Places) -> Row:
    """Return the row of the layers at some places, as they are now."""
    table, layers = aggregate.layer_table, aggregate.layers
    ids = table.ids(places)
    return Row(layers[ids[0]], ids, int(table.totals(places).sum()), table.counts(places), _origin(aggregate, places))


def _origin(aggregate: ClusterAggregate, places: Places) -> str:
    table = aggregate.layer_table
    _, firsts = np.unique(table.origins(places), return_index=True)
    origins = [aggregate.layers[layer].origin for layer in table.ids(places[np.sort(firsts)])]
    known = [origin for origin in origins if origin]
    more = f" and {len(known) - 1:,} other places" if len(known) > 1 else ""
    return f"{known[0] if known else ''}{more}"


class Rows(Sequence[Row]):
    """The rows of layers. Each is made when it is asked for: a page shows some of them.

    Parameters
    ----------
    firsts
        The place of the first layer of each row (see `LayerTable`).
    shared
        The places of all layers of the rows that have several, by that of the first.
    """

    def __init__(self, aggregate: ClusterAggregate, firsts: Places, shared: Mapping[int, Places]) -> None:
        self._aggregate = aggregate
        self._firsts = firsts
        self.shared = shared

    def __len__(self) -> int:
        return len(self._firsts)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self._row(place) for place in self._firsts[index].tolist()]
        return self._row(int(self._firsts[index]))

    def _row(self, place: int) -> Row:
        return row_of(self._aggregate, self.shared.get(place, np.array([place])))


def folded(aggregate: ClusterAggregate, places: Places) -> Rows:
    """Return the rows of layers: several that are alike, small and done share the place of the first."""
    table = aggregate.layer_table
    done = np.flatnonzero(table.is_done(places))
    totals, names = table.totals(places[done]), table.names(places[done])
    small_tasks = SMALL_TASKS
    is_shared = _shared(names, totals <= small_tasks)
    while _rows_left(len(places), names[is_shared]) > MANY_ROWS and small_tasks < _MOST_TASKS:
        small_tasks *= 10
        is_shared = _shared(names, totals <= small_tasks)
    together = done[is_shared][np.argsort(names[is_shared], kind="stable")]
    _, begins = np.unique(table.names(places[together]), return_index=True)
    groups = np.split(together, begins[1:]) if len(together) else []
    is_first = np.ones(len(places), bool)
    is_first[together] = False
    is_first[[int(group[0]) for group in groups]] = True
    return Rows(aggregate, places[is_first], {int(places[group[0]]): places[group] for group in groups})


def _shared(names: NDArray[np.int64], is_small: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which layers share a row: small ones, of a name that enough of them have."""
    counts = np.bincount(names[is_small], minlength=int(names.max(initial=0)) + 1)
    shared: NDArray[np.bool_] = is_small & (counts[names] >= FOLD_FROM)
    return shared


def _rows_left(count: int, names: NDArray[np.int64]) -> int:
    """Return how many rows there are of `count` layers, if those of these names share one for each."""
    return count - len(names) + len(np.unique(names))


class Folding:
    """The button that shows all layers, or folds small ones again; it is there while there are any to fold."""

    def __init__(self, name: str) -> None:
        self.shows_all = False
        self.left_out = 0
        style = [InlineStyleSheet(css=CONTROL_STYLE)]
        self.button = Button(label="", name=f"{name}-fold", visible=False, margin=0, stylesheets=style)
        self.button.on_click(self._toggle)

    def _toggle(self) -> None:
        self.shows_all = not self.shows_all

    def rows(self, aggregate: ClusterAggregate, places: Places) -> Rows:
        """Return the rows to show of layers, given by their places, and say on the button how many it would show or fold."""
        rows = folded(aggregate, places)
        alike = len(places) - len(rows)
        words = (
            f"Fold {alike + len(rows.shared):,} layers that are done"
            if self.shows_all
            else f"Show all {len(places):,} layers"
        )
        for attribute, value in (("label", words if alike else ""), ("visible", alike > 0)):
            if getattr(self.button, attribute) != value:
                setattr(self.button, attribute, value)
        self.left_out = 0 if self.shows_all else alike
        return Rows(aggregate, places, {}) if self.shows_all else rows
