"""How the cards of a page are laid out: as data, from which the page's grid follows. A new page costs no CSS.

>>> layout = Layout(("stream stream", "memory cpu"))
>>> layout.cards
('stream', 'memory', 'cpu')
>>> layout.grid
{'areas': '"stream stream" "memory cpu"', 'columns': '2', 'rows': '2'}
"""

from __future__ import annotations

from dataclasses import dataclass

from glassloom_metrics.pages import PAGES


@dataclass(frozen=True)
class Layout:
    """The cards of a page.

    Parameters
    ----------
    areas
        The rows of the grid from top to bottom, each the ids of its cards from left to right. A card whose id stands in
        neighbouring places spans them. Where the window is narrow, cards are below each other in the order of `cards`.
    heights
        The rows' heights in CSS, if they aren't all equal.
    """

    areas: tuple[str, ...]
    heights: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no grid."""
        lengths = {len(row.split()) for row in self.areas}
        if len(lengths) != 1 or 0 in lengths:
            raise ValueError(f"the rows of a layout must be equally long, and not empty: {self.areas}")

    @property
    def cards(self) -> tuple[str, ...]:
        """The ids of the cards, each once, in the order in which they are read."""
        return tuple(dict.fromkeys(card for row in self.areas for card in row.split()))

    @property
    def grid(self) -> dict[str, str]:
        """The values of the CSS variables ``--areas``, ``--columns``, ``--rows`` and ``--heights`` (see ``templates/page.css``)."""
        return {
            "areas": " ".join(f'"{row}"' for row in self.areas),
            "columns": str(len(self.areas[0].split())),
            "rows": str(len(self.areas)),
        } | ({"heights": self.heights} if self.heights else {})


COMPOSED = {
    "overview": Layout(("overview overview", "utilisation memory"), heights="max-content minmax(320px, 1fr)"),
    "status": Layout(("task-stream task-stream task-stream", "progress workers-memory workers-cpu")),
    "gpu": Layout(("gpu-devices", "gpu-time"), heights="fit-content(62%) minmax(260px, 1fr)"),
}
"""The pages of several cards."""

LAYOUTS = {page.id: COMPOSED.get(page.id, Layout((page.id,))) for page in PAGES}
