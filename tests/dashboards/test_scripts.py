"""Where JavaScript and HTML are, and aren't."""

from __future__ import annotations

import re
from pathlib import Path

import glassloom_dashboards
import pytest
from bokeh.document import Document
from bokeh.model import Model
from bokeh.models import CustomJS, CustomJSHover
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.card import html_div, legend_html, show_html
from glassloom_dashboards.parts.colours import ColourBook
from glassloom_dashboards.serving.page import PageView
from glassloom_metrics.pages import PAGES
from markupsafe import Markup

FOLDER = Path(glassloom_dashboards.__file__).parent
SOURCES = {path.name: path.read_text() for path in FOLDER.rglob("*.py")}
SCRIPT = (FOLDER / "static" / "glassloom.js").read_text()


def test_no_javascript_is_in_python_but_the_names_of_functions():
    for name, source in SOURCES.items():
        if name != "scripts.py":
            assert not re.search(r"CustomJS\w*\(|=>|\bconst \w+ =", source), name


def test_every_function_that_python_names_is_there():
    named = set(re.findall(r"\b(?:hover|ticks|labels|callback)\(\s*\"(\w+)\"", "".join(SOURCES.values())))
    given = set(re.findall(r"\w+", re.search(r"  return \{\n(.*?)\n  \};", SCRIPT, re.DOTALL)[1]))
    assert len(named) > 10 and named <= given


@pytest.mark.parametrize("page", [page.id for page in PAGES])
def test_every_function_is_given_the_models_that_it_reads(page):
    """A function that destructures a model which it isn't given fails in the browser, when somebody hovers or clicks."""
    # A hover's function gets the value, then the models; another gets the models first.
    after_value = re.findall(r"  const (\w+) = \(\w+, \{ ([\w, ]+) \}", SCRIPT)
    first = re.findall(r"  const (\w+) = \(\{ ([\w, ]+) \}", SCRIPT)
    document = Document()
    PageView(page, ClusterAggregate(), ColourBook(), "light").attach(document)
    callbacks = [script for model in document.models for script in _scripts_of(model)]
    hovers = list(document.select({"type": CustomJSHover}))
    for scripts, found in ((callbacks, first), (hovers, after_value)):
        reads = {function: set(names.split(", ")) for function, names in found}
        assert len(reads) > 3
        for script in scripts:
            function = re.search(r"glassloom\.(\w+)\(", script.code)[1]
            assert reads.get(function, set()) <= set(script.args), (function, list(script.args))


def _scripts_of(model: Model) -> list[CustomJS]:
    return [
        script
        for given in (model.js_event_callbacks, model.js_property_callbacks)
        for one in given.values()
        for script in one
    ]


def test_html_is_markup_and_nothing_else():
    div = html_div("x", "")
    with pytest.raises(TypeError, match="HTML must be markupsafe.Markup, got '<b>mine</b>'"):
        show_html(div, "<b>mine</b>")
    show_html(div, Markup("<b>{}</b>").format("<i>"))
    assert div.text == "<b>&lt;i&gt;</b>"
    writers = [name for name, source in SOURCES.items() if re.search(r"\.text = |Div\(", source)]
    assert writers == ["card.py"]


def test_whatever_is_in_a_legend_is_escaped():
    text = legend_html([("#fff", "<script>'\"&", "hatched")], "<b>")
    assert "<script" not in text and "<b>" not in text
    assert text.count("&lt;script&gt;&#39;&#34;&amp;") == 2
