"""Lazy, chunked arrays with NumPy's interface.

>>> import glassloom.array as ga
>>> x = ga.random.default_rng(12).normal(10, 1, size=(400, 400), chunks=100)
>>> y = (x + 1)[::2, ::2].sum()
>>> y
ga.Array<sum-aggregate, shape=(), dtype=float64, chunksize=(), numpy.ndarray>
>>> 10.9 < float(y.compute()) / 40_000 < 11.1
True
"""

# ruff: noqa: F403 - each module says in __all__ what it gives
from typing import Any as _Any

import numpy as _np
from numpy import e, euler_gamma, inf, nan, newaxis, pi

from glassloom.array import (
    arranging,
    creation,
    elements,
    fft,
    files,
    grids,
    gufuncs,
    hdf5,
    histograms,
    lib,
    linalg,
    ma,
    overlapping,
    padding,
    polynomials,
    products,
    random,
    reducing,
    scans,
    selecting,
    sets,
    shapes,
    standard,
    statistics,
    stats,
    ufuncs,
    views,  # noqa: F401 - registers what x.blocks and x.vindex are
)
from glassloom.array import array as _array
from glassloom.array import blockwise as _blockwise
from glassloom.array.arranging import *
from glassloom.array.array import *
from glassloom.array.blockwise import *
from glassloom.array.creation import *
from glassloom.array.elements import *
from glassloom.array.files import *
from glassloom.array.grids import *
from glassloom.array.gufuncs import *
from glassloom.array.hdf5 import *
from glassloom.array.histograms import *
from glassloom.array.overlapping import *
from glassloom.array.padding import *
from glassloom.array.polynomials import *
from glassloom.array.products import *
from glassloom.array.reducing import *
from glassloom.array.scans import *
from glassloom.array.selecting import *
from glassloom.array.sets import *
from glassloom.array.shapes import *
from glassloom.array.standard import *
from glassloom.array.standard import __array_api_version__, __array_namespace_info__, bool_
from glassloom.array.statistics import *
from glassloom.array.ufuncs import *

bool = bool_


def __getattr__(name: str) -> _Any:
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
    "random",
    "stats",
]
__all__ += arranging.__all__
__all__ += _array.__all__
__all__ += _blockwise.__all__
__all__ += creation.__all__
__all__ += elements.__all__
__all__ += files.__all__
__all__ += grids.__all__
__all__ += gufuncs.__all__
__all__ += hdf5.__all__
__all__ += histograms.__all__
__all__ += overlapping.__all__
__all__ += padding.__all__
__all__ += polynomials.__all__
__all__ += products.__all__
__all__ += reducing.__all__
__all__ += scans.__all__
__all__ += selecting.__all__
__all__ += sets.__all__
__all__ += shapes.__all__
__all__ += standard.__all__
__all__ += statistics.__all__
__all__ += ufuncs.__all__
