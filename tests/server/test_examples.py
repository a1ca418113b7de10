"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import glassloom_server
import pytest

MODULES = [f"glassloom_server.{module.name}" for module in pkgutil.iter_modules(glassloom_server.__path__)]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_examples_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
