"""Which library a partition belongs to: pandas, or one of a device, whose frames have pandas' methods."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

from glassloom.backends import cudf_, cupy_
from glassloom.errors import OptionError

DEVICE_BACKENDS: dict[str, ModuleType] = {"cudf": cudf_}
"""Libraries besides pandas: each with ``kind_of``, ``from_pandas``, ``to_pandas``, ``concat`` and ``with_nulls_only``."""


_Function = TypeVar("_Function", bound=Callable[..., Any])


def takes_any_library(function: _Function) -> _Function:
    """Declare that a function takes partitions of every library; what it returns is the host's."""
    function.takes_any_library = True  # type: ignore[attr-defined]
    return function


def library_of(value: Any) -> str:
    """Return the name of the library of a frame, series or index; ``"pandas"`` for anything else."""
    library = type(value).__module__.partition(".")[0]
    return library if library in DEVICE_BACKENDS else "pandas"


def kind_on_device(value: Any) -> str:
    """Return what an object of a device's library is; ``"scalar"`` for anything that isn't of one."""
    library = library_of(value)
    return "scalar" if library == "pandas" else str(DEVICE_BACKENDS[library].kind_of(value))


def check_backend(name: Any) -> None:
    """Raise OptionError if there is no such library."""
    if name != "pandas" and (not isinstance(name, str) or name not in DEVICE_BACKENDS):
        raise OptionError(f"backend={name!r} is none of {', '.join(map(repr, ['pandas', *DEVICE_BACKENDS]))}")


def converted(value: Any, name: str) -> Any:
    """Return a partition as one of a library, through the host's memory; itself if it is one already. Scalars stay as they are.

    Of an array of a device's, such as cuDF makes by comparing an index, ``"pandas"`` is NumPy's.
    """
    if name == "pandas" and type(value).__module__.partition(".")[0] == "cupy":
        return cupy_.to_numpy(value) if cupy_.owns(value) else value
    library = library_of(value)
    if library == name:
        return value
    on_host = value
    if library != "pandas":
        if kind_on_device(value) == "scalar":
            return value
        on_host = DEVICE_BACKENDS[library].to_pandas(value)
    return on_host if name == "pandas" else DEVICE_BACKENDS[name].from_pandas(on_host)
