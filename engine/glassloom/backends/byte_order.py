"""The order of bytes of numbers: partitions have the machine's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import arrays_of


def with_native_bytes(value: Any) -> Any:
    """Return a frame, series, index or array whose numbers have the machine's order of bytes: itself if they have, as mostly.

    pandas reads others in some places, refuses them in others, and makes native ones of them where it joins partitions.
    """
    if isinstance(value, pd.MultiIndex):
        levels: list[Any] = list(map(with_native_bytes, value.levels))
        same = all(one is other for one, other in zip(levels, value.levels, strict=True))
        return value if same else value.set_levels(levels, verify_integrity=False)
    if isinstance(value, (pd.Index, np.ndarray)):
        return value if _is_native(value.dtype) else value.astype(_native(value.dtype))
    if not isinstance(value, (pd.DataFrame, pd.Series)):
        return value
    labels = with_native_bytes(value.index)
    made = value if labels is value.index else value.set_axis(labels, axis=0)
    if all([_is_native(array.dtype) for array in arrays_of(value)]):
        return made
    if isinstance(made, pd.Series):
        return made.astype(_native(made.dtype))
    made = made.copy(deep=False)
    for place, dtype in enumerate(made.dtypes):
        if not _is_native(dtype):
            column: Any = made.iloc[:, place].astype(_native(dtype))
            made.isetitem(place, column)
    return made


def _is_native(dtype: Any) -> bool:
    return not isinstance(dtype, np.dtype) or dtype.isnative


def _native(dtype: Any) -> Any:
    return dtype.newbyteorder("=")
