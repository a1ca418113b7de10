"""What is drawn of the memory over time: stacked bands, peaks and pauses, out of `MemoryHistory`. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from glassloom_dashboards.folds.lod import nice_width
from glassloom_dashboards.folds.memory_history import (
    MemoryHistory,
    Peak,
    bytes_of_layers,
    held_of,
    main_layers,
    pauses,
    peaks,
)
from glassloom_dashboards.folds.thinned import Columns, thin
from glassloom_dashboards.parts.memory_words import IN_MEMORY

IN_TOTAL, BY_LAYER, ONE_WORKER = 0, 1, 2
MAX_BANDS = 13
"""Twelve layers and the others."""
MAX_POINTS = 360
_CONSIDERED_LAYERS = 60
"""Several layers may have one name, and are one band."""
EDGES = tuple(f"y{place}" for place in range(MAX_BANDS + 1))
SAMPLE_COLUMNS = ("at", *EDGES, "total", "limited", "low", "spilled", "device", "pool", "limit", "paused")
OTHERS = "other layers"


@dataclass(frozen=True)
class Drawn:
    """Bands from the bottom: their names and edges. ``total`` is where the uppermost ends, ``limited`` where what a limit counts does.

    ``limited`` isn't a number where that is all, there and in the rows before and after, or there is no limit.
    """

    bands: tuple[str, ...]
    columns: dict[str, np.ndarray]
    peaks: list[Peak]
    pauses: list[tuple[float, float, int]]
    held: list[tuple[tuple[int, float], ...]] = field(default_factory=list)
    """The layers that held most, for each row."""

    @property
    def is_limited(self) -> bool:
        """Whether a limit counts less than all somewhere."""
        return bool(np.isfinite(self.columns["limited"]).any())

    @property
    def limit_bytes(self) -> float | None:
        """The last limit, if there is one."""
        limit = self.columns["limit"]
        return float(limit[-1]) if len(limit) and np.isfinite(limit[-1]) else None


def drawn(
    history: MemoryHistory, left: float, right: float, mode: int, worker: int | None, name_of: Callable[[int], str]
) -> Drawn:
    """Return what to draw between two times; `name_of` gives a layer's name."""
    whole = history.columns(worker if mode == ONE_WORKER else None)
    rows = thin(_between(whole, left, right), nice_width(max(right - left, 1e-3) / MAX_POINTS), pick="total", lowest=["low"], highest=["paused", "device", "pool"])  # fmt: skip
    held = [held_of(rows, row) for row in range(len(rows["at"]))]
    if mode == BY_LAYER:
        names, bands = _by_layer(rows, name_of)
        none = np.full(len(held), np.nan)
        rows |= {"total": rows["held"], "low": rows["held"], "limit": none, "limited": none}
    else:
        is_drawn = np.isfinite(rows["limit"]) & _with_neighbours(rows["shared"] > 0)  # a line has two ends
        rows |= {"limited": np.where(is_drawn, rows["managed"] + rows["unmanaged"], np.nan)}
        names, bands = list(IN_MEMORY), [rows[part] for part in IN_MEMORY]
    in_view = {name: column[(rows["at"] >= left) & (rows["at"] <= right)] for name, column in rows.items()}
    return Drawn(tuple(names), _stacked(rows, bands), peaks(in_view), pauses(rows), held)


def _with_neighbours(rows: np.ndarray) -> np.ndarray:
    """Return which rows are chosen, or are beside one that is.

    >>> _with_neighbours(np.array([False, False, True, False])).tolist()
    [False, True, True, True]
    """
    near = rows.copy()
    near[1:] |= rows[:-1]
    near[:-1] |= rows[1:]
    return near


def _between(columns: Columns, left: float, right: float) -> Columns:
    """Return the rows in view, and one before and after, so that areas reach its edges."""
    at = columns["at"]
    first = max(int(np.searchsorted(at, left)) - 1, 0)
    last = int(np.searchsorted(at, right, side="right")) + 1
    return {name: column[first:last] for name, column in columns.items()}


def _by_layer(rows: Columns, name_of: Callable[[int], str]) -> tuple[list[str], list[np.ndarray]]:
    ids = main_layers(rows, _CONSIDERED_LAYERS)
    by_name: dict[str, np.ndarray] = {}
    for layer, nbytes in zip(ids, bytes_of_layers(rows, ids), strict=True):
        name = name_of(layer)
        by_name[name] = by_name[name] + nbytes if name in by_name else nbytes
    largest = sorted(by_name, key=lambda name: -float(by_name[name].sum()))[: MAX_BANDS - 1]
    bands = [by_name[name] for name in largest]
    others = np.maximum(rows["held"] - sum(bands, np.zeros(len(rows["at"]))), 0.0)
    if (others > 0).any():
        return [*largest, OTHERS], [*bands, others]
    return largest, bands


def _stacked(rows: Columns, bands: list[np.ndarray]) -> dict[str, np.ndarray]:
    columns: dict[str, Any] = {name: rows[name] for name in SAMPLE_COLUMNS if name not in EDGES}
    edge = np.zeros(len(rows["at"]))
    for place, name in enumerate(EDGES):
        columns[name] = edge
        edge = edge + bands[place] if place < len(bands) else edge
    return {name: columns[name].astype(np.float32) for name in SAMPLE_COLUMNS}
