"""The examples in the docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import glassloom.dataframe
import pytest

MODULES = sorted(module.name for module in pkgutil.walk_packages(glassloom.dataframe.__path__, "glassloom.dataframe."))


@pytest.mark.parametrize("name", ["glassloom.dataframe", *MODULES])
def test_examples_run(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_public_methods_say_what_they_do():
    for kind in (
        glassloom.dataframe.DataFrame,
        glassloom.dataframe.Series,
        glassloom.dataframe.Index,
        glassloom.dataframe.Scalar,
    ):
        for name in dir(kind):
            if not name.startswith("_"):
                assert getattr(kind, name).__doc__, f"{kind.__name__}.{name} has no docstring"
