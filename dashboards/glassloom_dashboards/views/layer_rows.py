"""Which rows a list of layers has: one for each, but small layers of one name that are done share one until all are asked for.

What is small depends on how many rows there would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bokeh.models import Button, InlineStyleSheet

from glassloom_dashboards.folds.aggregate import STATES, ClusterAggregate, Layer
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
    """What a row is about: a layer, or several of one name that are done."""

    layers: tuple[Layer, ...]

    @property
    def name(self) -> str:
        """The name of all of them."""
        return self.layers[0].name

    @property
    def remark(self) -> str:
        """How many layers it is about; nothing if one."""
        return f"in {len(self.layers):,} layers" if len(self.layers) > 1 else ""

    @property
    def title(self) -> str:
        """What tables call it."""
        return f"{self.name}, {len(self.layers):,} layers" if len(self.layers) > 1 else self.name

    @property
    def origin(self) -> str:
        """Where it was built; several layers may have been in several places."""
        places = dict.fromkeys(layer.origin for layer in self.layers if layer.origin)
        more = f" and {len(places) - 1:,} other places" if len(places) > 1 else ""
        return f"{next(iter(places), '')}{more}"

    @property
    def total(self) -> int:
        """The tasks of all of them."""
        return sum(layer.total for layer in self.layers)


def counts_of(aggregate: ClusterAggregate, layer: Layer) -> dict[str, int]:
    """Return the number of a layer's tasks in each state, and how many were ``cancelled``: are in no state any more."""
    known = aggregate.progress.get(layer.id)
    counts = dict(zip(STATES, known or (0,) * len(STATES), strict=True))
    return counts | {"cancelled": max(layer.total - sum(counts.values()), 0) if known else 0}


def counts_of_row(aggregate: ClusterAggregate, row: Row) -> dict[str, int]:
    """Return `counts_of` of all layers of a row together."""
    all_counts = [counts_of(aggregate, layer) for layer in row.layers]
    return {state: sum(counts[state] for counts in all_counts) for state in all_counts[0]}


def folded(aggregate: ClusterAggregate, layers: Sequence[Layer]) -> list[Row]:
    """Return the rows of layers: several that are alike, small and done share the place of the first."""
    done = [layer for layer in layers if is_done(aggregate, layer)]
    small_tasks = SMALL_TASKS
    rows = _folded(layers, [layer for layer in done if layer.total <= small_tasks])
    while len(rows) > MANY_ROWS and small_tasks < _MOST_TASKS:
        small_tasks *= 10
        rows = _folded(layers, [layer for layer in done if layer.total <= small_tasks])
    return rows


def _folded(layers: Sequence[Layer], foldable: Sequence[Layer]) -> list[Row]:
    small: dict[str, list[Layer]] = {}
    for layer in foldable:
        small.setdefault(layer.name, []).append(layer)
    shared = {name: same for name, same in small.items() if len(same) >= FOLD_FROM}
    firsts = {same[0].id: Row(tuple(same)) for same in shared.values()}
    others = {layer.id for same in shared.values() for layer in same[1:]}
    return [firsts.get(layer.id) or Row((layer,)) for layer in layers if layer.id not in others]


def is_done(aggregate: ClusterAggregate, layer: Layer) -> bool:
    """Tell whether a layer needs no row of its own if it is small: nothing of it is to come, and nothing went wrong."""
    counts = aggregate.progress.get(layer.id)
    if counts is None:
        return False
    done = counts[STATES.index("memory")] + counts[STATES.index("released")]
    return done == layer.total > 0


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

    def rows(self, aggregate: ClusterAggregate, layers: Sequence[Layer]) -> list[Row]:
        """Return the rows to show of layers, and say on the button how many it would show or fold."""
        rows = folded(aggregate, layers)
        alike = len(layers) - len(rows)
        words = (
            f"Fold {alike + self._shared(rows):,} layers that are done"
            if self.shows_all
            else f"Show all {len(layers):,} layers"
        )
        for attribute, value in (("label", words if alike else ""), ("visible", alike > 0)):
            if getattr(self.button, attribute) != value:
                setattr(self.button, attribute, value)
        self.left_out = 0 if self.shows_all else alike
        return [Row((layer,)) for layer in layers] if self.shows_all else rows

    @staticmethod
    def _shared(rows: Sequence[Row]) -> int:
        return sum(len(row.layers) > 1 for row in rows)
