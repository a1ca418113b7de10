"""Lazy, chunked arrays with NumPy's interface.

>>> import glassloom.array as ga
>>> x = ga.random.default_rng(12).normal(10, 1, size=(400, 400), chunks=100)
>>> y = (x + 1)[::2, ::2].sum()
>>> y
ga.Array<sum-aggregate, shape=(), dtype=float64, chunksize=(), numpy.ndarray>
>>> 10.9 < float(y.compute()) / 40_000 < 11.1
True
"""

# ruff: noqa: F403 - `api` says in __all__ what it gives
from typing import Any as _Any

import numpy as _np
from numpy import e, euler_gamma, inf, nan, newaxis, pi

from glassloom.array import api as _api
from glassloom.array import fft, lib, linalg, ma, random, stats, strings
from glassloom.array.api import *
from glassloom.array.api.standard import __array_api_version__, __array_namespace_info__, bool_
from glassloom.array.linalg.solving import polyfit

bool = bool_


_NEAREST = {
    "asarray_chkfinite": "x.map_blocks(numpy.asarray_chkfinite) checks when it is computed",
    "char": "strings has functions of text",
    "frombuffer": "from_array(numpy.frombuffer(...)) needs no copy of it",
    "fromfile": "from_array(numpy.memmap(...)) reads blocks when they are needed",
    "fromiter": "from_array(numpy.fromiter(...)) makes an array of it",
    "frompyfunc": "numpy.frompyfunc(...) makes a ufunc that takes lazy arrays",
    "fromregex": "from_array(numpy.fromregex(...)) reads it whole",
    "fromstring": "from_array(numpy.fromstring(...)) reads it whole",
    "genfromtxt": "glassloom.dataframe.read_csv(...) reads text in blocks",
    "loadtxt": "glassloom.dataframe.read_csv(...) reads text in blocks",
    "poly": "numpy.poly makes few coefficients; compute() the roots first",
    "polydiv": "numpy.polydiv takes few coefficients; compute() them first",
    "polymul": "convolve(p, q) multiplies polynomials",
    "real_if_close": "x.real takes the real part; whether it is all isn't known before it is computed",
    "resize": "tile(x, n)[:length].reshape(shape) repeats elements",
    "roots": "numpy.roots takes few coefficients; compute() them first",
    "row_stack": "vstack does the same",
    "savetxt": "x.to_dataframe().to_csv(...) writes text, a file for each block of rows",
    "sort_complex": "sort(x.astype(complex)) sorts by real, then imaginary parts",
    "trim_zeros": "slice between the first and last of flatnonzero(x)",
}
"""What to use in place of functions that NumPy has, and that aren't applied block by block."""


def __getattr__(name: str) -> _Any:
    if name in _NEAREST:
        raise AttributeError(f"glassloom.array has no {name!r}: {_NEAREST[name]}")
    if not name.startswith("_") and hasattr(_np, name):
        raise AttributeError(
            f"glassloom.array has no {name!r} yet; map_blocks(numpy.{name}, x) applies it block by block"
        )
    raise AttributeError(f"module 'glassloom.array' has no attribute {name!r}")


__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "bool",
    "e",
    "euler_gamma",
    "fft",
    "inf",
    "lib",
    "linalg",
    "ma",
    "nan",
    "newaxis",
    "pi",
    "polyfit",
    "random",
    "stats",
    "strings",
]
__all__ += _api.__all__
