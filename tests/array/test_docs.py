"""The examples in docstrings are true."""

import doctest
import importlib
import pkgutil

import glassloom.array
import pytest

MODULES = [
    "glassloom.units",
    "glassloom.array",
    *(module.name for module in pkgutil.walk_packages(glassloom.array.__path__, "glassloom.array.")),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_every_public_function_has_a_docstring_with_an_example():
    public = {name: getattr(glassloom.array, name) for name in glassloom.array.__all__}
    functions = {name: value for name, value in public.items() if type(value).__name__ == "function"}
    assert len(functions) > 50
    assert [name for name, function in functions.items() if ">>>" not in (function.__doc__ or "")] == []
