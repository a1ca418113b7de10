"""The methods of strings, for bags of strings: ``bag.str.upper()``."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatch
from typing import Any

from glassloom.dataframe.call import Method


class Strings:
    """What `Bag.str` is: each method of `str`, called with each item."""

    def __init__(self, bag: Any) -> None:
        self._bag = bag

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or not callable(getattr(str, name, None)):
            raise AttributeError(f"strings have no method {name!r}")

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._bag.map(Method(name), *args, **kwargs)

        call.__name__, call.__doc__ = name, getattr(str, name).__doc__
        return call

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in dir(str) if not name.startswith("_"))})

    def match(self, pattern: str) -> Any:
        """Return the strings that match a pattern of the shell, such as ``"*.csv"``."""
        return self._bag.filter(_Matches(pattern))


class _Matches:
    """Whether a string matches a pattern of the shell."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.__name__ = "match"

    def __glassloom_tokenize__(self) -> Any:
        return self.pattern

    def __call__(self, item: str) -> bool:
        return fnmatch(item, self.pattern)
