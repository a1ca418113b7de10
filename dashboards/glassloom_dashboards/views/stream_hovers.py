"""The hover cards of the task stream: for single tasks, for those that haven't ended, and for bins."""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource, CustomJSHover, HoverTool

from glassloom_dashboards.parts.scripts import hover
from glassloom_dashboards.parts.theme import tooltip


def task_hover(
    renderer: Any, *, source: ColumnDataSource, names: ColumnDataSource, lanes: ColumnDataSource
) -> HoverTool:
    """Return the card of a single task."""
    # A row belongs to one column; what it shows may need others too, which the function looks up.
    rows = [
        ("action", "@colour{custom}"),
        ("where", "@lane{custom}"),
        ("started", "@left{custom}"),
        ("took", "@right{custom}"),
        ("on the CPU", "@cpu{custom}"),
        ("waited, ready", "@wait{custom}"),
        ("inputs", "@bytes_in{custom}"),
        ("result", "@nbytes{custom}"),
        ("status", "@ok{custom}"),
        ("click", "for more"),
    ]
    return HoverTool(
        renderers=[renderer],
        tooltips=tooltip("@index{custom}", rows),
        formatters=_formats(source, names, lanes)
        | {
            "@colour": hover("action", names=names, source=source),
            "@nbytes": hover("bytes"),
            "@ok": hover("status"),
            "@wait": hover("waited", source=source),
            "@cpu": hover("cpuShare"),
            "@bytes_in": hover("codedBytes"),
        },
    )


def unfinished_hover(
    renderer: Any, *, source: ColumnDataSource, names: ColumnDataSource, lanes: ColumnDataSource
) -> HoverTool:
    """Return the card of a task that hasn't ended."""
    rows = [
        ("state", "@ends{custom}"),
        ("where", "@lane{custom}"),
        ("started", "@left{custom}"),
        ("so far", "@right{custom}"),
        ("click", "for more"),
    ]
    return HoverTool(
        renderers=[renderer],
        tooltips=tooltip("@index{custom}", rows),
        formatters=_formats(source, names, lanes) | {"@ends": hover("ends")},
    )


def _formats(source: ColumnDataSource, names: ColumnDataSource, lanes: ColumnDataSource) -> dict[str, CustomJSHover]:
    """Return what formats the rows that the cards of all tasks have."""
    return {
        "@index": hover("task", names=names, source=source),
        "@right": hover("length", source=source),
        "@left": hover("started", source=source),
        "@lane": hover("lane", lanes=lanes),
    }


def bin_hover(
    renderer: Any, *, source: ColumnDataSource, names: ColumnDataSource, lanes: ColumnDataSource
) -> HoverTool:
    """Return the card of a bin."""
    rows = [
        ("mostly", "@kind{custom}"),
        ("busy", "@utilisation{0} %"),
        ("failed", "@failed{0,0}"),
        ("bin", "@right{custom} wide"),
        ("lanes", "@top{custom}"),
    ]
    return HoverTool(
        renderers=[renderer],
        tooltips=tooltip("@tasks{custom}", rows),
        formatters={
            "@kind": hover("layer", names=names),
            "@tasks": hover("tasksOfBin"),
            "@right": hover("length", source=source),
            "@top": hover("lanesOfBin", lanes=lanes, source=source),
        },
    )
