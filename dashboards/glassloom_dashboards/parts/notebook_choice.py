"""Of which notebook a page shows runs: a list to choose from, where the cluster has runs of several."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from bokeh.models import InlineStyleSheet, Select

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.card import SELECT_STYLE
from glassloom_dashboards.parts.theme import middle_cut

ALL_NOTEBOOKS = ""
_MOST = 200
_MAX_LENGTH = 60


@runtime_checkable
class ByNotebook(Protocol):
    """A card, or the time axis, that can show the runs of one notebook.

    Attributes
    ----------
    notebook
        The path of the notebook; `ALL_NOTEBOOKS`: everything.
    """

    notebook: str


class NotebookChoice:
    """The list of a page's notebooks for one viewer."""

    def __init__(self, aggregate: ClusterAggregate) -> None:
        self._aggregate = aggregate
        self.body = Select(
            name="notebook-choice", title="Runs of", options=[(ALL_NOTEBOOKS, "All notebooks")], value=ALL_NOTEBOOKS, visible=False,
            margin=0, stylesheets=[InlineStyleSheet(css=SELECT_STYLE)],
        )  # fmt: skip

    @property
    def notebook(self) -> str:
        """What is chosen."""
        return str(self.body.value)

    def choose(self, notebook: str) -> None:
        """Choose a notebook by its path, as soon as the cluster has runs of it, and before."""
        self.body.value = notebook
        self.update()

    def update(self) -> None:
        """Offer the notebooks that there are; of one there is nothing to choose."""
        known = self._aggregate.runs.notebooks()[-_MOST:]
        if self.notebook and self.notebook not in known:
            known.append(self.notebook)
        options = [(ALL_NOTEBOOKS, "All notebooks"), *((one, middle_cut(one, _MAX_LENGTH)) for one in known)]
        if self.body.options != options:
            self.body.options = options
        is_shown = len(known) > 1 or bool(self.notebook)
        if self.body.visible != is_shown:
            self.body.visible = is_shown
