"""Writes docs/array-support.md: which of NumPy's functions and methods glassloom.array has. Run it after adding some.

python docs/array_support.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import glassloom.array as ga
import numpy as np

PAGE = Path(__file__).parent / "array-support.md"
ON_DEVICE = Path(__file__).parent / "array-on-device.json"
"""Made by array_on_device.py."""

NAMESPACES: list[tuple[str, Any, Any]] = [
    ("numpy", np, ga),
    ("numpy.linalg", np.linalg, ga.linalg),
    ("numpy.fft", np.fft, ga.fft),
    ("numpy.ma", np.ma, ga.ma),
    ("numpy.strings", np.strings, ga.strings),
    ("numpy.random.Generator", np.random.Generator, ga.random.Generator),
    ("numpy.random.RandomState", np.random.RandomState, ga.random.RandomState),
    ("numpy.ndarray", np.ndarray, ga.Array),
]

NOT_OF_ARRAYS = frozenset(
    [
        "array2string",
        "array_repr",
        "array_str",
        "base_repr",
        "binary_repr",
        "format_float_positional",
        "format_float_scientific",
        "get_printoptions",
        "printoptions",
        "set_printoptions",
        "getbufsize",
        "setbufsize",
        "geterr",
        "seterr",
        "geterrcall",
        "seterrcall",
        "get_include",
        "info",
        "show_config",
        "show_runtime",
        "test",
        "typename",
        "iterable",
        "isscalar",
        "issubdtype",
        "mintypecode",
        "nested_iters",
        "may_share_memory",
        "shares_memory",
        "isfortran",
        "asfortranarray",
        "ascontiguousarray",
        "asmatrix",
        "bmat",
        "require",
        "common_type",
        "min_scalar_type",
        "promote_types",
        "datetime_data",
        "einsum_path",
        "dump",
        "dumps",
        "ctypes",
        "data",
        "flags",
        "getfield",
        "setfield",
        "setflags",
        "tobytes",
        "tofile",
        "byteswap",
        "strides",
        "base",
        "device",
    ]
)
"""Printing, settings, memory layout and types: nothing that lazy arrays could do differently."""


def page() -> str:
    """Return the page."""
    parts = [
        "# What of NumPy is there\n",
        "Made by `python docs/array_support.py` out of the code; a test fails when it is out of date.\n"
        f"What isn't there is what NumPy {_version()} has beside. It raises an error that says so; "
        "`ga.map_blocks(numpy.function, x)` applies a function block by block.\n",
        "The last column says whether blocks on a device stay there, as on a GPU with CuPy. `python docs/array_on_device.py` found it out: it called each function on the "
        "simulated device, whose arrays refuse to be read on the host without an explicit copy, and count copies. So it is known "
        "that our code leaves blocks there; that CuPy has a function, and gives NumPy's results, is known by its source alone "
        "([gpus.md](gpus.md)). *Yes*: one way at least to call it leaves them there. *Not tried*: no call of the list fits the function. In front of what doesn't run there, "
        '`x.to_backend("numpy")` moves blocks to the host.\n',
        "Beyond NumPy: " + _beyond() + ".\n",
    ]
    on_device = json.loads(ON_DEVICE.read_text())
    for title, theirs, ours in NAMESPACES:
        there = list(_there(theirs, ours))
        found = on_device.get(title, {})
        parts.append(f"## {title}\n")
        rows = (f"| `{name}` | {what} | {found.get(name, 'not tried')} |\n" for name, what in there)
        parts.append("| | | on a device |\n|---|---|---|\n" + "".join(rows))
        parts.append(_missing_line(theirs, ours))
    return "\n".join(parts)


def _version() -> str:
    return ".".join(np.__version__.split(".")[:2])


def _there(theirs: Any, ours: Any) -> Iterator[tuple[str, str]]:
    for name in _functions(theirs):
        if hasattr(ours, name):
            yield name, _first_line(getattr(ours, name))


def _missing_line(theirs: Any, ours: Any) -> str:
    if theirs is np.ma:
        return "The functions of `numpy` above take masked arrays too, those of elements and reductions above all.\n"
    missing = [name for name in _functions(theirs) if not hasattr(ours, name) and name not in NOT_OF_ARRAYS]
    return "Not there: " + (", ".join(f"`{name}`" for name in missing) or "nothing") + ".\n"


def _functions(namespace: Any) -> list[str]:
    names = [name for name in dir(namespace) if not name.startswith("_")]
    return [name for name in names if _is_function(getattr(namespace, name))]


def _is_function(value: Any) -> bool:
    is_property = type(value).__name__ == "getset_descriptor"
    return is_property or callable(value) and not isinstance(value, type)


def _first_line(function: Any) -> str:
    text = (function.__doc__ or "").strip().splitlines()
    return text[0].replace("|", "\\|") if text else ""


def _beyond() -> str:
    has_numpys = set(_functions(np))
    own = [name for name in sorted(ga.__all__) if name not in has_numpys and callable(getattr(ga, name))]
    own = [name for name in own if not isinstance(getattr(ga, name), type) and not name.startswith("_")]
    return ", ".join(f"`{name}`" for name in own)


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE}", file=sys.stderr)
