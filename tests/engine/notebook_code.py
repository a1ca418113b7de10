"""Code as cells of a notebook define it: functions and classes of `__main__`, with a number in each."""

from __future__ import annotations

import enum
import functools
from typing import Any

import numpy as np

DEFINITIONS = {
    "function": "def f(x):\n    return x + {}",
    "lambda": "f = lambda x: x + {}",
    "default": "def f(x={}):\n    return x",
    "keyword default": "def f(*, x={}):\n    return x",
    "inner function": "def f(x):\n    def g():\n        return {}\n    return g()",
    "closure": "def make(k):\n    return lambda x: x + k\nf = make({})",
    "global": "k = {}\ndef f(x):\n    return x + k",
    "global of a global": "k = {}\ndef g():\n    return k\ndef f(x):\n    return x + g()",
    "cached": "@functools.lru_cache\ndef f(x):\n    return x + {}",
    "size of the cache": "@functools.lru_cache(maxsize={})\ndef f(x):\n    return x",
    "wrapped": "def d(g):\n    @functools.wraps(g)\n    def inner(*a):\n        return g(*a)\n    return inner\n@d\ndef f(x):\n    return x + {}",
    "partial": "def g(x, y):\n    return x + {}\nf = functools.partial(g, 1)",
    "attribute": "def f(x):\n    return x\nf.k = {}",
    "class": "class f:\n    k = {}",
    "method": "class f:\n    def m(self):\n        return {}",
    "static method": "class f:\n    @staticmethod\n    def m():\n        return {}",
    "class method": "class f:\n    @classmethod\n    def m(cls):\n        return {}",
    "property": "class f:\n    @property\n    def m(self):\n        return {}",
    "cached property": "class f:\n    @functools.cached_property\n    def m(self):\n        return {}",
    "instance": "class C:\n    def m(self):\n        return {}\nf = C()",
    "bound method": "class C:\n    def m(self):\n        return {}\nf = C().m",
    "callable": "class C:\n    def __call__(self, x):\n        return x + {}\nf = C()",
    "state": "class C:\n    def __init__(self, k):\n        self.k = k\nf = C({})",
    "base class": "class B:\n    k = {}\nclass f(B):\n    pass",
    "metaclass": "class M(type):\n    k = {}\nclass f(metaclass=M):\n    pass",
    "dataclass": "import dataclasses\n@dataclasses.dataclass\nclass f:\n    x: int = {}",
    "named tuple": "import typing\nclass f(typing.NamedTuple):\n    x: int = {}",
    "abstract class": "import abc\nclass f(abc.ABC):\n    @abc.abstractmethod\n    def m(self):\n        return {}",
    "slots": "class f:\n    __slots__ = ('a',)\n    k = {}",
    "enumeration": "class E(enum.Enum):\n    RED = {}\n    BLUE = 100\nf = E.BLUE",
    "method of an enumeration": "class E(enum.Enum):\n    RED = 1\n    def m(self):\n        return {}\nf = E.RED",
    "flag": "class E(enum.IntFlag):\n    RED = {}\nf = E.RED | E(8)",
    "class that names itself": "class f:\n    def m(self):\n        return f, {}",
    "mutual recursion": "def g(x):\n    return f(x) + {}\ndef f(x):\n    return g(x)",
    "type hint": "def f(x: {}):\n    return x",
    "subclass of an array": "class C(np.ndarray):\n    k = {}\nf = np.arange(3).view(C)",
}  # fmt: skip


def in_main(source: str, name: str, **known: Any) -> Any:
    """Return what a notebook's cell defines under `name`."""
    cell = {"__name__": "__main__", "functools": functools, "enum": enum, "np": np, **known}
    exec(compile(source, "<cell>", "exec"), cell)
    return cell[name]
