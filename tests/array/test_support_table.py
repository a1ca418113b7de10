"""The page that says what of NumPy is there says what is there."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"


def generator():
    spec = importlib.util.spec_from_file_location("array_support", DOCS / "array_support.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_code_says():
    version = ".".join(np.__version__.split(".")[:2])
    written = (DOCS / "array-support.md").read_text()
    if f"NumPy {version} has beside" not in written:
        pytest.skip(f"the page is of another NumPy than {version}")
    assert written == generator().page(), "run: python docs/array_support.py"


def test_every_row_says_what_the_function_does():
    rows = [line for line in (DOCS / "array-support.md").read_text().splitlines() if line.startswith("| `")]
    assert len(rows) > 400
    assert [row for row in rows if row.endswith("|  |")] == []
