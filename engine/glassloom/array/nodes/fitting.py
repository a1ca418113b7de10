"""Converts scalars and lists to an array's type: NumPy's own assignment decides, at the user's line, whether they fit.

Arrays aren't checked here: NumPy casts them, and so do the blocks that they are put into.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def fitted(value: Any, dtype: Any, *, key: Any = ..., has_mask: bool = False) -> Any:
    """Return a scalar or nested lists as an array of a type, as ``array[key] = value`` of NumPy makes them one.

    Parameters
    ----------
    value
        A scalar, an array without axes, or nested lists of scalars.
    key
        How it is assigned: ``[0]`` for positions and masks, where NumPy casts its own scalars, which it refuses
        elsewhere; 0 for one element, which is no list; ``...`` for slices.
    has_mask
        Whether the array is a masked one: what the value masks then stays masked.

    Raises
    ------
    TypeError, ValueError, OverflowError
        What NumPy raises, if the value can't be an element: ``1j`` of floats, NaN of integers, 300 of ``uint8``.
    """
    if isinstance(value, (list, tuple)) and key != 0:
        return np.asarray(value, dtype=dtype)
    keeps_mask = has_mask and isinstance(value, np.ma.MaskedArray)
    made: Any = (np.ma.zeros if keeps_mask else np.zeros)(1, dtype)
    made[key] = value
    return made.reshape(())


def copied_for(block: Any, value: Any) -> Any:
    """Return a copy of a block that a value can be assigned to, or to a view of it."""
    made = block.copy()
    if isinstance(made, np.ma.MaskedArray) and isinstance(value, np.ma.MaskedArray):
        made.mask = np.ma.getmaskarray(made)  # a mask made for a view alone wouldn't be the block's
    return made


def is_masked(node: Any) -> bool:
    """Return whether the blocks of a node are masked arrays."""
    return isinstance(node.meta, np.ma.MaskedArray)
