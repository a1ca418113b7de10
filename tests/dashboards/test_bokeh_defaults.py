"""What Bokeh remembers of its models' defaults changes nothing: whole pages are made and written as without."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bokeh.core.json_encoder import serialize_json
from bokeh.core.properties import List, Required, String
from bokeh.core.property.descriptors import UnsetValueError
from bokeh.document import Document
from bokeh.model import Model
from bokeh.models import ColumnDataSource, Div, Range1d
from bokeh.plotting import figure
from bokeh.themes import Theme
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.colours import ColourBook
from glassloom_dashboards.serving.bokeh_defaults import forgotten_defaults
from glassloom_dashboards.serving.page import PageView
from glassloom_metrics.pages import PAGES
from glassloom_metrics.protocol import decode
from synthetic import Shape, make_recorder


def written(document: Document) -> Any:
    """Return what a browser gets of a document, with its ids numbered in the order in which they appear."""
    numbers: dict[str, int] = {}

    def numbered(value: Any) -> Any:
        if isinstance(value, list):
            return [numbered(item) for item in value]
        if isinstance(value, dict):
            return {
                name: numbers.setdefault(item, len(numbers)) if name == "id" else numbered(item)
                for name, item in value.items()
            }
        return value

    return numbered(json.loads(serialize_json(document.to_json(deferred=False))))


@pytest.mark.parametrize("page", [page.id for page in PAGES])
def test_a_page_is_written_as_without_the_memory(page: str) -> None:
    aggregate = ClusterAggregate()
    for payload in make_recorder(Shape(tasks=300)).read(0, limit=10**6)[0]:
        aggregate.apply(decode(payload))

    def made() -> Any:
        document = Document()
        PageView(page, aggregate, ColourBook(), "dark").attach(document)
        return written(document)

    with forgotten_defaults():
        slow = made()
    assert made() == slow
    assert made() == slow, "also once the defaults are known"


def test_defaults_that_can_change_are_nobody_elses() -> None:
    one, other = Div(), Div()
    one.styles["color"] = "red"
    one.tags.append("mine")
    assert (dict(other.styles), list(other.tags)) == ({}, [])
    first, second = figure(), figure()
    assert first.x_range is not second.x_range
    source = ColumnDataSource()
    source.data["x"] = [1]
    assert dict(ColumnDataSource().data) == {}


def test_a_theme_holds_also_after_the_memory_has_been_filled() -> None:
    theme = Theme(json={"attrs": {"Range1d": {"start": 7}}})
    assert Range1d().start == 0
    themed = Range1d()
    document = Document(theme=theme)
    document.add_root(figure(x_range=themed))
    assert (themed.start, Range1d().start) == (7, 0)
    document.theme = Theme(json={})
    assert themed.start == 0


class Owned(Model):
    """A model with a property that must be set."""

    __view_module__ = "bokeh"  # a page looks for the scripts of modules that have models of their own

    owner = Required(String)
    words = List(String, default=["a"])


def test_what_must_be_set_is_still_asked_for() -> None:
    for _ in range(2):
        with pytest.raises(UnsetValueError, match="owner"):
            Owned().properties_with_values(include_defaults=False)
    assert Owned(owner="me").properties_with_values(include_defaults=False)["owner"] == "me"
