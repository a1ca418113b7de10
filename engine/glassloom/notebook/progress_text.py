"""A progress message (see `CellProgress.message`) as lines of text for people. Pure."""

from __future__ import annotations

from typing import Any

from glassloom.units import format_bytes

BAR_WIDTH = 24
MAX_NAME = 28
_WORDS = {
    "running": "running",
    "finished": "done",
    "failed": "failed",
    "cancelled": "cancelled",
    "lost": "ended with its cluster",
}


def format_time(seconds: float) -> str:
    """Return a span of time for people.

    >>> format_time(3.21), format_time(95), format_time(7300)
    ('3.2 s', '1 min 35 s', '2 h 1 min')
    """
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def _left_text(seconds: float) -> str:
    return f"{round(seconds)} s" if seconds < 9.5 else format_time(seconds)  # nobody knows tenths of what is left


def counts_text(counts: dict[str, Any], noun: str = "") -> str:
    """Return how far some tasks are, how fast, and how long still."""
    parts = [f"{counts['done']:,} of {counts['total']:,}{noun}"]
    if counts["failed"]:
        parts[0] += f", {counts['failed']:,} failed"
    if counts["rate"] and counts["eta_s"] is not None:
        parts.append(
            f"{counts['rate']:,.0f} tasks/s" if counts["rate"] >= 0.95 else f"{60 * counts['rate']:,.0f} tasks/min"
        )
        parts.append(f"about {_left_text(counts['eta_s'])} left")
    return " · ".join(parts)


def total_text(message: dict[str, Any]) -> str:
    """Return how far all is, in one line.

    A message that says what has ended is true whenever it is read.
    """
    is_running = message["outcome"] == "running"
    end_s = message["at"] if is_running else message["ended_at"]
    parts = [_WORDS[message["outcome"]], counts_text(message["tasks"], " tasks")]
    parts.append(format_time(end_s - message["started_at"]))
    workers = [each for each in message["clusters"] if each["kind"] != "threads"]
    if is_running and workers:
        parts.append(
            f"{sum(each['busy'] for each in workers)} of {sum(each['workers'] for each in workers)} workers busy"
        )
    if "device_s" in message["tasks"]:
        parts.append(f"{format_time(message['tasks']['device_s'])} on the GPU")
    if message["peak_bytes"]:
        parts.append(f"{format_bytes(message['peak_bytes'])} at most")
    if message["peak_spilled_bytes"]:
        parts.append(f"{format_bytes(message['peak_spilled_bytes'])} spilled")
    return " · ".join(parts)


def lines_of(message: dict[str, Any]) -> list[str]:
    """Return a line with a bar for each layer, and one for all."""
    layers = message["layers"]
    width = min(MAX_NAME, max((len(layer["name"]) for layer in layers), default=0))
    lines = [f"{shortened(layer['name']):{width}}  {_bar(layer)}  {counts_text(layer)}" for layer in layers]
    hidden = message["n_layers"] - len(layers)
    if hidden:
        lines.append(f"and {hidden} more")
    return [*lines, total_text(message)]


def shortened(name: str) -> str:
    """Return a name that fits its column, on one line."""
    name = " ".join(name.split())
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"


def _bar(counts: dict[str, Any]) -> str:
    filled = BAR_WIDTH * counts["done"] // counts["total"] if counts["total"] else 0
    return f"[{'#' * filled}{'-' * (BAR_WIDTH - filled)}]"
