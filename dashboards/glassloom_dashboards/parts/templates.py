"""The pages' templates: what is put into them is escaped, so what comes out of them is markup."""

from __future__ import annotations

from pathlib import Path

import jinja2
from markupsafe import Markup

from glassloom_dashboards.parts.theme import stylesheet

_HERE = Path(__file__).parent.parent
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader([_HERE / "templates", _HERE / "static"]),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.globals["themes"] = stylesheet()


def template(name: str) -> jinja2.Template:
    """Return one of our templates; what is put into it is escaped."""
    return _TEMPLATES.get_template(name)


def render(name: str, /, **values: object) -> Markup:
    """Return one of our templates with these values, which are escaped."""
    return Markup(template(name).render(**values))
