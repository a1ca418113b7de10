"""`BlockCall`: the call of a block-wise frame node: a function, with blocks and constants as arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from glassloom.backends.label_tables import ready_to_look_up
from glassloom.backends.pandas_version import LOOKS_UP_SAFELY
from glassloom.dataframe import on_device
from glassloom.dataframe.text_and_objects import with_text_for_missing
from glassloom.graph import function_label, tokenize

_WITH_OTHER_VALUES = on_device.DIVISIONS | {"pow", "rpow", "clip"}
USERS_CALLS = frozenset(["_call_guarded", "_call_checked", "_call_unchecked"])
"""Functions of ours that call a user's: those are given partitions as they are."""


class Block:
    """A placeholder among the arguments of a call: the block of the dependency with this number."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"Block({self.number})"

    def __glassloom_tokenize__(self) -> int:
        return self.number

    def __reduce__(self) -> tuple[Any, ...]:
        return (Block, (self.number,))


class BlockCall:
    """``function(*args, **kwargs)``, where each `Block` among the arguments is replaced by a block.

    >>> BlockCall(divmod, (Block(0), 4))(9)
    (2, 1)
    """

    __slots__ = ("_token", "args", "function", "kwargs", "label")

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, label: str = ""
    ) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs or {}
        self.label = label or function_label(function)
        self._token: str | None = None

    def __repr__(self) -> str:
        return f"BlockCall({self.label}, {self.args!r}, {self.kwargs!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (BlockCall, (self.function, self.args, self.kwargs, self.label))

    def __glassloom_tokenize__(self) -> Any:
        """Return a token made once: a call is an operand of each node that a rewrite makes of another one."""
        if self._token is None:
            self._token = tokenize(self.function, self.args, self.kwargs)
        return self._token

    @property
    def __name__(self) -> str:
        return self.label

    @property
    def calls_methods(self) -> bool:
        """Whether it does nothing but what a partition's own methods and operators do, or a user's function."""
        function = getattr(self.function, "func", self.function)  # of a partial
        return (
            isinstance(function, (Method, Attribute, np.ufunc))
            or getattr(function, "__module__", None) == "_operator"
            or getattr(function, "__name__", "") in USERS_CALLS
            or getattr(function, "calls_methods", False) is True
        )

    @property
    def takes_any_library(self) -> bool:
        """Whether it takes partitions of every library, and returns what is the host's (see `backends.frames`)."""
        function = getattr(self.function, "func", self.function)
        return function is len or getattr(function, "takes_any_library", False)

    def __call__(self, *blocks: Any) -> Any:
        args = [blocks[arg.number] if type(arg) is Block else arg for arg in self.args]
        kwargs = {name: blocks[value.number] if type(value) is Block else value for name, value in self.kwargs.items()}
        if not LOOKS_UP_SAFELY:
            ready_to_look_up([*args, *kwargs.values()])
        if self.label in _WITH_OTHER_VALUES and on_device.needs_host(self.label, args):
            return self._on_host(args, kwargs)
        try:
            found = self.function(*args, **kwargs)
        except MemoryError:
            raise
        except Exception as error:
            if self.is_users:
                raise
            if (with_text := with_text_for_missing(error, args)) is not None:
                return self.function(*with_text, **kwargs)
            if on_device.device_among(args, kwargs) == "pandas":
                raise
            found = NotImplemented
        if found is NotImplemented and on_device.device_among(args, kwargs) != "pandas":
            found = self._on_host(args, kwargs)
        return found

    @property
    def is_users(self) -> bool:
        """Whether it is a function of the user's, which gets partitions as they are."""
        return getattr(getattr(self.function, "func", self.function), "__name__", "") in USERS_CALLS

    def _on_host(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        library = "pandas" if self.takes_any_library else on_device.device_among(args, kwargs)
        return on_device.computed_on_host(self.function, args, kwargs, library, self.label)


class Method:
    """A call of a method by name: ``Method("round")(series, 2)`` is ``series.round(2)``."""

    __slots__ = ("path",)

    def __init__(self, *path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Method, self.path)

    def __glassloom_tokenize__(self) -> Any:
        return self.path

    @property
    def __name__(self) -> str:
        return self.path[-1]

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        for name in self.path:
            obj = getattr(obj, name)
        return obj(*args, **kwargs)


class Attribute:
    """A look-up of an attribute by name: ``Attribute("dt", "year")(series)`` is ``series.dt.year``."""

    __slots__ = ("path",)

    def __init__(self, *path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Attribute, self.path)

    def __glassloom_tokenize__(self) -> Any:
        return self.path

    @property
    def __name__(self) -> str:
        return self.path[-1]

    def __call__(self, obj: Any) -> Any:
        for name in self.path:
            obj = getattr(obj, name)
        return obj
