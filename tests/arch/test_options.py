"""Every option of `glassloom.config` is read by the code, and is on the page that says what options there are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import glassloom
from glassloom import config


def test_the_page_is_what_the_code_says() -> None:
    folder = Path(__file__).parents[2] / "docs"
    spec = importlib.util.spec_from_file_location("configuration_page", folder / "configuration.py")
    assert spec is not None and spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    assert (folder / "configuration.md").read_text() == generator.page(), "run: python docs/configuration.py"


def test_every_option_is_read_by_the_code() -> None:
    engine = Path(glassloom.__file__).parent
    files = [path for path in engine.rglob("*.py") if path.parent.name != "config"]
    code = "\n".join(path.read_text() for path in files)
    assert [
        name for name in config.OPTIONS if f'config.get("{name}")' not in code and f'Configured("{name}")' not in code
    ] == []
