"""The page that says what of NumPy is there says what is there."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"


def generator(name="array_support"):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
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
    assert [row for row in rows if "|  |" in row] == []


def test_every_row_says_whether_blocks_stay_on_a_device():
    found = json.loads((DOCS / "array-on-device.json").read_text())
    support = generator()
    there = {title: {name for name, _ in support._there(theirs, ours)} for title, theirs, ours in support.NAMESPACES}
    if f"NumPy {support._version()} has beside" not in (DOCS / "array-support.md").read_text():
        pytest.skip("the page is of another NumPy")
    gone = {title: set(names) - there[title] for title, names in found.items()}
    assert not any(gone.values()), "run: python docs/array_on_device.py && python docs/array_support.py"
    answers = [answer for names in found.values() for answer in names.values()]
    assert answers.count("yes") > 350 and answers.count("not tried") < 20
    assert {answer.partition(":")[0] for answer in answers} <= {
        "yes",
        "no",
        "not tried",
        "yes; some numbers are read on the host",
    }


@pytest.mark.long
def test_what_is_said_of_devices_is_so(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    assert generator("array_on_device").found() == json.loads((DOCS / "array-on-device.json").read_text())
