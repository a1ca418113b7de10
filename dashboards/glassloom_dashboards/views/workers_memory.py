"""Memory by worker: managed, shared and unmanaged bytes and the limit; below, what was spilled to disk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bokeh.models import ColumnDataSource, HoverTool, Toolbar, UIElement
from bokeh.models.glyphs import HBar, Segment
from bokeh.plotting import figure
from glassloom_metrics.worker_memory import cluster_bytes, in_memory_bytes

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.base_cards import PlotCard
from glassloom_dashboards.parts.card import (
    replace_data,
)
from glassloom_dashboards.parts.glyphs import draw
from glassloom_dashboards.parts.memory_words import IN_MEMORY, NOT_MEASURED, excess_text, part_words
from glassloom_dashboards.parts.scripts import hover
from glassloom_dashboards.parts.tables import Table
from glassloom_dashboards.parts.theme import (
    Palette,
    bytes_text,
    ellipsis,
    glyph_of,
    hatch,
    hatch_class,
    set_bytes_axis,
    style_figure,
    tooltip,
)
from glassloom_dashboards.views.workers import (
    BAR_HEIGHT,
    Bar,
    add_numbers,
    bar_figure,
    bars_of,
    end_beside_numbers,
    grouping_note,
    has_numbers,
    label_bars,
    paint_numbers,
    size_px,
)

SOURCE = "workers-memory-source"
ALL_PARTS = (*IN_MEMORY, "spilled")
"""What was spilled isn't in memory, and has a bar of its own below."""
COLUMNS = (
    "y",
    "spilled_y",
    "label",
    "text",
    "in_memory",
    "limit",
    "limit_text",
    "limit_top",
    "limit_bottom",
    "reach",
    "spilled",
    *IN_MEMORY,
    *(f"{part}_stop" for part in IN_MEMORY),
)
HEIGHTS = {"track": 0.5, "managed": 0.5, "unmanaged": 0.5, "shared": 0.18, "spilled": 0.14, "whole": 0.9}
"""Shared results are thinner, after what the limit counts: a bar is at its limit where the thick part of it is."""
SPILLED_BELOW = 0.34
_LEAST_AXIS_BYTES = 2**20


def memory_of_workers(aggregate: ClusterAggregate) -> dict[int, float]:
    """Return the memory of each worker that has been measured."""
    return {worker: float(in_memory_bytes(sample)) for worker, sample in aggregate.samples.items()}


def columns(aggregate: ClusterAggregate, bars: Sequence[Bar]) -> dict[str, list[Any]]:
    """Return one row a bar: means over its workers in bytes, and where the stacked parts end."""
    rows: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    numbered = has_numbers(bars)
    for place, bar in enumerate(bars):
        samples = [aggregate.samples[worker] for worker in bar.workers if worker in aggregate.samples]
        count = max(len(samples), 1)
        limits = [aggregate.workers[worker].memory_limit_bytes for worker in bar.workers]
        known = [limit for limit in limits if limit]
        limit = sum(known) / len(known) if known else math.nan
        row: dict[str, Any] = {"y": place, "label": ellipsis(bar.label, 80), "limit": limit}
        row |= {"limit_top": place - 0.36, "limit_bottom": place + 0.36, "spilled_y": place + SPILLED_BELOW}
        row["limit_text"] = f"{limit:.0f}" if known else "none"
        row["in_memory"] = cluster_bytes(samples) / count
        row["spilled"] = sum(sample.spilled_bytes for sample in samples) / count
        stop = 0.0
        for part in IN_MEMORY:
            row[part] = sum(getattr(sample, f"{part}_bytes") for sample in samples) / count
            stop += row[part]
            row[f"{part}_stop"] = stop
        row["reach"] = max(stop, row["spilled"], limit if known else 0.0)
        excess = excess_text(samples, sum(known)) if known else ""
        words = memory_text(row["in_memory"], row["spilled"], limit if known else None, "" if count > 1 else excess)
        row["text"] = (words if samples else NOT_MEASURED) if numbered else ""
        if not samples:
            row |= dict.fromkeys(("in_memory", "spilled", *IN_MEMORY), math.nan)
        for name, value in row.items():
            rows[name].append(value)
    return rows


def memory_text(used_bytes: float, spilled_bytes: float, limit_bytes: float | None, excess: str = "") -> str:
    """Return the numbers of a bar.

    >>> memory_text(2**30, 2**29, 2**31)
    '1.00 of 2.00 GiB, 512 MiB on disk'
    """
    used = bytes_text(used_bytes)
    if limit_bytes:
        limit = bytes_text(limit_bytes)
        number, unit = used.split()
        used = f"{number if limit.endswith(f' {unit}') else used} of {limit}{f', {excess}' if excess else ''}"
    return f"{used}, {bytes_text(spilled_bytes)} on disk" if spilled_bytes else used


def plot(source: ColumnDataSource) -> figure:
    """Return the figure that draws `columns`."""
    bars = bar_figure("workers-memory", "")
    set_bytes_axis(bars)
    style: dict[str, Any] = {"y": "y", "height": BAR_HEIGHT, "source": source, "line_color": None}
    draw(bars, HBar, left=0, right="limit", **style, name="track")
    left: Any = 0
    for part in IN_MEMORY:
        draw(bars, HBar, left=left, right=f"{part}_stop", **style, name=part)
        left = f"{part}_stop"
    draw(bars, HBar, left=0, right="spilled", **style | {"y": "spilled_y"}, name="spilled")
    draw(
        bars,
        Segment,
        x0="limit",
        x1="limit",
        y0="limit_top",
        y1="limit_bottom",
        line_width=2,
        source=source,
        name="limit",
    )
    add_numbers(bars, source, "reach")
    whole = draw(bars, HBar, left=0, right="reach", fill_alpha=0, **style, name="whole")
    nbytes, limit = hover("bytes"), hover("limit")
    words = [(part, f"@{part}{{custom}}") for part in IN_MEMORY]
    bars.toolbar = Toolbar(
        logo=None,
        tools=[
            HoverTool(
                renderers=[whole],
                tooltips=tooltip(
                    "@label",
                    [
                        ("in memory", "@in_memory{custom}"),
                        *words,
                        ("limit", "@limit_text{custom}"),
                        ("spilled to disk", "@spilled{custom}"),
                    ],
                ),
                formatters={f"@{part}": nbytes for part in ("in_memory", "spilled", *IN_MEMORY)}
                | {"@limit_text": limit},
            )
        ],
    )
    return bars


def paint(bars: figure, palette: Palette) -> None:
    """Colour the parts of the bars."""
    style_figure(bars, palette)
    glyph_of(bars, "track").update(fill_color=palette.track, line_color=palette.outline)
    for part in ALL_PARTS:
        glyph_of(bars, part).fill_color = getattr(palette, part)
        hatch(glyph_of(bars, part), part, palette)
    glyph_of(bars, "limit").line_color = palette.limit
    paint_numbers(bars, palette)


def summary_of(aggregate: ClusterAggregate) -> str:
    """Return the memory of all workers together."""
    samples, workers = aggregate.samples.values(), len(aggregate.workers)
    said = f"{workers:,} worker{'s' * (workers != 1)}: "
    if not samples:
        return f"{said}{NOT_MEASURED}."
    parts = [f"{part} {bytes_text(sum(getattr(one, f'{part}_bytes') for one in samples))}" for part in ALL_PARTS]
    return f"{said}{bytes_text(cluster_bytes(samples))} in memory: {', '.join(parts)}."


class WorkersMemory(PlotCard):
    """The card of memory by worker for one viewer."""

    id = "workers-memory"

    def __init__(self, aggregate: ClusterAggregate, palette: Palette) -> None:
        super().__init__(aggregate)
        self.source = ColumnDataSource(name=SOURCE, data={name: [] for name in COLUMNS})
        self.plot = plot(self.source)
        self.body: UIElement = self.plot
        self.set_palette(palette)

    def paint(self, palette: Palette) -> None:
        """Colour the plot."""
        paint(self.plot, palette)

    def update(self, now_s: float) -> None:
        """Draw what is new."""
        if not self.is_due(("workers", "samples"), size_px(self.plot)):
            return
        bars = bars_of(self._aggregate, memory_of_workers(self._aggregate))
        rows = columns(self._aggregate, bars)
        replace_data(self.source, rows)
        longest = max(rows["reach"], default=0.0) or float(_LEAST_AXIS_BYTES)
        end = end_beside_numbers(self.plot, longest, rows["text"])
        if self.plot.x_range.end != end:
            self.plot.x_range.end = end
        label_bars(self.plot, bars, HEIGHTS)
        palette = self._palette
        has_limit = any(text != "none" for text in rows["limit_text"])
        entries = [
            (getattr(palette, part), part_words(part, has_limit=has_limit), hatch_class(part)) for part in IN_MEMORY
        ]
        if any(nbytes > 0 for nbytes in rows["spilled"]):
            entries.append((palette.spilled, "spilled to disk", "hatched"))
        if has_limit:
            entries.append((palette.limit, "limit", "line"))
        self.show_legend(entries, grouping_note(self._aggregate, bars, "memory"))
        self.show_empty("" if bars else "No workers yet", "Their memory appears here as soon as they join.")

    def summary(self) -> str:
        """Return the memory of all workers together."""
        return summary_of(self._aggregate)

    def table(self) -> Table:
        """Return every worker's memory."""
        rows = []
        for worker, joined in sorted(self._aggregate.workers.items()):
            sample = self._aggregate.samples.get(worker)
            limit = bytes_text(joined.memory_limit_bytes) if joined.memory_limit_bytes else "none"
            parts, together = [""] * len(ALL_PARTS), NOT_MEASURED
            if sample is not None:
                parts = [bytes_text(getattr(sample, f"{part}_bytes")) for part in ALL_PARTS]
                together = bytes_text(in_memory_bytes(sample))
            rows.append([self._aggregate.worker_name(worker), together, *parts, limit])
        return Table(("worker", "in memory", *ALL_PARTS, "limit"), rows)
