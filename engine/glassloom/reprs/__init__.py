"""HTML for notebooks, from Jinja2 templates in this folder. All text is escaped; light and dark follow JupyterLab.

It is read long after it was made, in files, so what may change is said with its time (``shown`` in the templates). It needs no
script. All outputs of a page share their looks, also with those that an older version has saved: the classes have the number
of the style sheet in them, `STYLE_VERSION`.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2

STYLE_VERSION = 2
"""Part of every class: ``glm2-head``. It goes up whenever ``base.css.j2`` changes what a class looks like, or means."""


@cache
def _environment() -> jinja2.Environment:
    import jinja2  # takes a tenth of our import time, and scripts show no HTML

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("glassloom", "reprs"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["now"] = now_text
    return environment


def now_text() -> str:
    """Return the time for people, with its zone: the reader may be elsewhere, and later."""
    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def render(template: str, **context: Any) -> str:
    """Return the HTML of a template such as ``"array.html.j2"``.

    Raises
    ------
    jinja2.UndefinedError
        If the template needs something that `context` lacks.
    """
    return _environment().get_template(template).render(**context)
