"""`HostMeta`: an array on the host that stands in plans for one on a device, so that making a plan loads no library of the device.

It has no elements to speak of. What NumPy's functions make of it is again a `HostMeta`, with the type that the device's library, which
follows NumPy, gives its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

_CREATION = frozenset(
    [
        "arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "empty", "eye", "frombuffer", "fromfunction",
        "full", "geomspace", "identity", "indices", "linspace", "logspace", "ones", "tri", "zeros",
    ]
)  # fmt: skip
"""Functions of NumPy's that make arrays of no array."""


class HostMeta(np.ndarray):
    """An array that stands for one of another library.

    Attributes
    ----------
    backend
        The name of the library.
    """

    backend: str

    def __array_finalize__(self, made_of: Any) -> None:
        self.backend = getattr(made_of, "backend", "numpy")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [value.view(np.ndarray) if isinstance(value, HostMeta) else value for value in inputs]
        out = kwargs.pop("out", None)
        if out is not None:
            kwargs["out"] = tuple(each.view(np.ndarray) if isinstance(each, HostMeta) else each for each in out)
        return tagged(
            getattr(ufunc, method)(*plain, **kwargs), self.backend if out is None else _backend_in(inputs, self.backend)
        )

    def __array_function__(self, function: Any, types: Iterable[type], args: Any, kwargs: Any) -> Any:
        return tagged(super().__array_function__(function, types, args, kwargs), self.backend)

    def __getitem__(self, key: Any) -> Any:
        return tagged(super().__getitem__(key), self.backend)

    def __reduce__(self) -> tuple[Any, ...]:
        return (tagged, (np.asarray(self), self.backend))

    def __array_namespace__(self, *, api_version: str | None = None) -> HostNamespace:  # type: ignore[override]
        return HostNamespace(self.backend)


def tagged(value: Any, backend: str) -> Any:
    """Return what a function has made of metas of a library: arrays and scalars of NumPy's become metas of it too."""
    if isinstance(value, (tuple, list)):
        return type(value)(tagged(each, backend) for each in value) if type(value) in (tuple, list) else value
    if not isinstance(value, (np.ndarray, np.generic)) or isinstance(value, np.ma.MaskedArray):
        return value
    made = np.asarray(value).view(HostMeta)
    made.backend = backend
    return made


class HostNamespace:
    """NumPy's functions, of which those that make arrays of nothing make metas of another library."""

    def __init__(self, backend: str) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        value = getattr(np, name)
        return self._tagging(value) if name in _CREATION else value

    def _tagging(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def make(*args: Any, **kwargs: Any) -> Any:
            return tagged(function(*args, **kwargs), self._backend)

        return make


def _backend_in(values: Iterable[Any], otherwise: str) -> str:
    return next((value.backend for value in values if isinstance(value, HostMeta)), otherwise)
