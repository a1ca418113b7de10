"""HTML for notebooks, from Jinja2 templates in this folder. All text is escaped; light and dark follow JupyterLab."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2


@cache
def _environment() -> jinja2.Environment:
    import jinja2  # takes a tenth of our import time, and scripts show no HTML

    return jinja2.Environment(
        loader=jinja2.PackageLoader("glassloom", "reprs"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **context: Any) -> str:
    """Return the HTML of a template such as ``"array.html.j2"``.

    Raises
    ------
    jinja2.UndefinedError
        If the template needs something that `context` lacks.
    """
    return _environment().get_template(template).render(**context)
