"""Glassloom: parallel NumPy, pandas, CuPy and cuDF in notebooks, with every thread in view.

>>> import glassloom as gl
>>> gl.delayed(pow)(2, 10).compute()
1024
"""

import glassloom.runtime.inline
from glassloom.collection import compute, persist
from glassloom.delayed import Delayed, delayed

__version__ = "0.1.0"

__all__ = ["Delayed", "compute", "delayed", "persist"]
