"""Where progress is shown: rewritten lines of a terminal, an output of a notebook, or a line now and then in a log."""

from __future__ import annotations

import sys
from typing import Any, Protocol, TextIO

from glassloom.notebook.progress_text import counts_text, shortened, total_text
from glassloom.notebook.terminal_display import TerminalDisplay
from glassloom.reprs import render

LOG_EVERY_S = 10.0
"""How often a log gets a line."""


class Display(Protocol):
    """Shows messages of progress, each in place of the last."""

    def show(self, message: dict[str, Any], now_s: float, *, is_last: bool) -> None:
        """Show a message; with `is_last` it stays."""

    def close(self) -> None:
        """Show nothing more. What is shown stays."""


class LogDisplay:
    """Writes a line at the beginning, every `LOG_EVERY_S` seconds, and at the end."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._last_s = float("-inf")

    def show(self, message: dict[str, Any], now_s: float, *, is_last: bool) -> None:
        if is_last or now_s - self._last_s >= LOG_EVERY_S:
            self._last_s = now_s
            self._file.write(f"glassloom: {total_text(message)}\n")
            self._file.flush()

    def close(self) -> None:
        pass


class NotebookDisplay:
    """Replaces an output of the cell that has begun it."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, message: dict[str, Any], now_s: float, *, is_last: bool) -> None:
        from IPython.display import HTML, display  # optional dependency

        shown = HTML(progress_html(message))
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)

    def close(self) -> None:
        pass


def progress_html(message: dict[str, Any]) -> str:
    """Return a message as a card; one that says "running" says when that was so."""
    tones = {"running": "busy", "finished": "ok", "failed": "error"}
    rows = [
        {
            "name": shortened(layer["name"]),
            "fraction": layer["done"] / layer["total"] if layer["total"] else 0.0,
            "text": counts_text(layer),
        }
        for layer in message["layers"]
    ]
    return render(
        "progress.html.j2",
        title="",
        status=message["outcome"],
        tone=tones.get(message["outcome"], "warn"),
        shown=message["outcome"] == "running",
        rows=rows,
        total=total_text(message),
    )


def choose_display(file: TextIO | None) -> Display:
    """Return what suits: a notebook's output, or lines in `file` (default: stderr)."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if file is None and shell is not None and hasattr(shell, "kernel"):
        return NotebookDisplay()
    file = sys.stderr if file is None else file
    return TerminalDisplay(file) if file.isatty() else LogDisplay(file)
