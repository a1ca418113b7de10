"""The examples in docstrings are true."""

import doctest
import importlib
import pkgutil

import glassloom.array
import glassloom.array.nodes
import pytest

MODULES = [
    "glassloom.array",
    "glassloom.units",
    *(
        module.name
        for package in (glassloom.array, glassloom.array.linalg, glassloom.array.nodes)
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_every_public_function_has_a_docstring_with_an_example():
    public = {name: getattr(glassloom.array, name) for name in glassloom.array.__all__}
    functions = {name: value for name, value in public.items() if type(value).__name__ == "function"}
    assert len(functions) > 50
    assert [name for name, function in functions.items() if ">>>" not in (function.__doc__ or "")] == []
