"""Importable functions and classes whose tokens are compared."""

from __future__ import annotations

import functools


def first(x: int) -> int:
    return x


def second(x: int) -> int:
    return x


@functools.lru_cache
def cached(x: int) -> int:
    return x


class Inner:
    def method(self) -> None:
        pass
