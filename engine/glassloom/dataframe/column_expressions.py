"""Expressions of columns, such as ``pandas.col("x") + 1``: pandas 3 has them, and they are evaluated with lazy frames, too."""

from __future__ import annotations

from typing import Any

import pandas as pd

from glassloom.dataframe.wrap import is_node

_EXPRESSION: Any = getattr(pd.api.typing, "Expression", ())


def is_expression(value: Any) -> bool:
    """Whether a value is an expression of columns."""
    return isinstance(value, _EXPRESSION)


def evaluated(value: Any, frame: Any) -> Any:
    """Return what a function, or an expression of columns, makes of a frame or series; other values, and lazy ones, as they are."""
    if is_expression(value):
        return value._eval_expression(frame)
    return value(frame) if callable(value) and not is_node(value) else value
