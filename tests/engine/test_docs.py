"""The examples in the engine's docstrings run."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import glassloom
import glassloom_metrics
import pytest

_TESTED_ELSEWHERE = ("glassloom.array", "glassloom.dataframe", "glassloom.__main__", "glassloom.backends.cupy_")
MODULES = [
    module.name
    for package in (glassloom, glassloom_metrics)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.startswith(_TESTED_ELSEWHERE)
]


@pytest.mark.parametrize("name", ["glassloom", *MODULES])
def test_examples_run(name: str) -> None:
    result = doctest.testmod(import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
