"""What a partition hands on of running sums and products of floats, so that the next ones end as in pandas where numbers become 0, infinite or NaN.

pandas adds or multiplies row by row. A product that is 0 stays 0, however large the rows of a later partition are together, but not if one of these
is infinite. So an infinite sum, say, isn't handed on as such where rows are finite, but as two finite numbers of that sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

UFUNCS: dict[str, np.ufunc] = {"cumsum": np.add, "cumprod": np.multiply, "cummin": np.minimum, "cummax": np.maximum}
NEUTRAL = {"cumsum": 0, "cumprod": 1}
"""What changes no sum, and no product."""


def totals(how: str, values: Any) -> Any:
    """Return up to three numbers whose running sum or product ends, after whatever was before, as that of all values does.

    Parameters
    ----------
    how
        ``"cumsum"`` or ``"cumprod"``.
    values
        Floats, one at least, none of them NaN.

    Examples
    --------
    >>> totals("cumsum", np.array([1.0, 2.0])).tolist(), totals("cumsum", np.array([np.inf, 1.0, -np.inf])).tolist()
    ([3.0], [inf, -inf])
    """
    with np.errstate(all="ignore"):
        running = UFUNCS[how].accumulate(values)
    total = running[-1]
    if np.isfinite(total) and (how == "cumsum" or total != 0):
        return running[-1:].copy()
    is_nan = np.isnan(running)
    if not is_nan.any():
        return np.array(_without_end(how, values, total), dtype=values.dtype)
    place = int(is_nan.argmax())
    return np.array([*_without_end(how, values[:place], running[place - 1]), values[place]], dtype=values.dtype)


def _without_end(how: str, values: Any, total: Any) -> list[Any]:
    """Return a total that is 0 or infinite if a value is, else two numbers of that sum or product."""
    if total == 0:
        return [total] if (values == 0).any() else [np.finfo(values.dtype).tiny] * 2
    if np.isinf(values).any():
        return [total]
    largest = np.finfo(values.dtype).max
    return [np.copysign(largest, total), np.copysign(largest, total) if how == "cumsum" else largest]
