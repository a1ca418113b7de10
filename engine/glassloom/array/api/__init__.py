"""The functions of the namespace, a chapter of NumPy's manual to a file, and the `Array` that users hold."""

# ruff: noqa: F403, I001 - each module says in __all__ what it gives
from glassloom.array.api import (
    array as _array,
    bits as _bits,
    creation as _creation,
    diagonals as _diagonals,
    elementwise as _elementwise,
    files as _files,
    gufuncs as _gufuncs,
    histograms as _histograms,
    indexing as _indexing,
    joining as _joining,
    mapping as _mapping,
    nan_reductions as _nan_reductions,
    order_statistics as _order_statistics,
    overlap as _overlap,
    padding as _padding,
    polynomials as _polynomials,
    products as _products,
    reductions as _reductions,
    scans as _scans,
    sets as _sets,
    shapes as _shapes,
    standard as _standard,
    ufuncs as _ufuncs,
    windows as _windows,
)
from glassloom.array.api.array import *
from glassloom.array.api.bits import *
from glassloom.array.api.creation import *
from glassloom.array.api.diagonals import *
from glassloom.array.api.elementwise import *
from glassloom.array.api.files import *
from glassloom.array.api.gufuncs import *
from glassloom.array.api.histograms import *
from glassloom.array.api.indexing import *
from glassloom.array.api.joining import *
from glassloom.array.api.mapping import *
from glassloom.array.api.nan_reductions import *
from glassloom.array.api.order_statistics import *
from glassloom.array.api.overlap import *
from glassloom.array.api.padding import *
from glassloom.array.api.polynomials import *
from glassloom.array.api.products import *
from glassloom.array.api.reductions import *
from glassloom.array.api.scans import *
from glassloom.array.api.sets import *
from glassloom.array.api.shapes import *
from glassloom.array.api.standard import *
from glassloom.array.api.ufuncs import *
from glassloom.array.api.windows import *

__all__: list[str] = []
__all__ += _array.__all__
__all__ += _bits.__all__
__all__ += _creation.__all__
__all__ += _diagonals.__all__
__all__ += _elementwise.__all__
__all__ += _files.__all__
__all__ += _gufuncs.__all__
__all__ += _histograms.__all__
__all__ += _indexing.__all__
__all__ += _joining.__all__
__all__ += _mapping.__all__
__all__ += _nan_reductions.__all__
__all__ += _order_statistics.__all__
__all__ += _overlap.__all__
__all__ += _padding.__all__
__all__ += _polynomials.__all__
__all__ += _products.__all__
__all__ += _reductions.__all__
__all__ += _scans.__all__
__all__ += _sets.__all__
__all__ += _shapes.__all__
__all__ += _standard.__all__
__all__ += _ufuncs.__all__
__all__ += _windows.__all__
