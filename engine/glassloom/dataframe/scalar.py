"""`Scalar`: one lazy value, such as the sum of a series."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.arguments import with_arguments
from glassloom.dataframe.array_values import array_of_value
from glassloom.dataframe.assembled import assembled
from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Attribute, Method
from glassloom.dataframe.text import scalar_html
from glassloom.dataframe.wrap import operate, wraps

_OF_NUMBERS = ("round", "astype")
"""Methods of numbers; others of NumPy's are those of arrays."""


@wraps("scalar")
@with_arguments("Scalar")
class Scalar(Frame):
    """A lazy value. It takes part in arithmetic with frames and series.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> x = gd.from_pandas(pd.Series([1.0, 3.0]), npartitions=2)
    >>> (x - x.mean()).compute().tolist()
    [-1.0, 1.0]
    """

    def __repr__(self) -> str:
        return f"Scalar({self.dtype}, {self._expr.label})"

    def _repr_html_(self) -> str:
        return scalar_html(self)

    @property
    def dtype(self) -> Any:
        """The value's dtype, or its type if NumPy has none."""
        return getattr(self._meta, "dtype", type(self._meta).__name__)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute or method of the value, lazily, such as ``days`` of a duration. Numbers have `round` and `astype`."""
        meta = None if name.startswith("_") else self._meta
        is_array_like = isinstance(meta, (np.ndarray, np.generic))
        if meta is None or not hasattr(meta, name) or (is_array_like and name not in _OF_NUMBERS):
            is_of_label = meta is not None and self._expr.label in ("at", "loc") and hasattr(pd.Series, name)
            others = ", and loc[[label]] a series of all rows of a label" if is_of_label else ""
            raise AttributeError(f"a lazy Scalar has no attribute {name!r}; compute() returns the value{others}")
        if not callable(getattr(meta, name)):
            return operate(Attribute(name), self, label=name)
        return partial(_called, self, name)

    def _with_values_at_hand(self, function: Callable[[Any, Any], Any], other: Any) -> Any:
        """Return what an operator makes of the value and a lazy array."""
        return function(array_of_value(self), other)

    def to_series(self, index: Any = 0) -> Any:
        """Return a series of this value alone, under a label."""
        return assembled(partial(_row, index), [self._expr], "to-series")

    def __index__(self) -> int:
        """Compute, and return a whole number, for what takes only those, such as ``range``."""
        return operator.index(self.compute())

    def item(self) -> Any:
        """Compute, and return the value as a plain one of Python."""
        value = self.compute()
        return value.item() if hasattr(value, "item") else value

    def __int__(self) -> int:
        """Compute, and return the value as a whole number; likewise ``float``, ``complex``, and a format such as ``.2f``."""
        return int(self.compute())

    def __float__(self) -> float:
        return float(self.compute())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Compute, and return the value as an array of no axis, for NumPy. Functions that NumPy has for each value stay lazy."""
        return np.array(self.compute(), dtype=dtype)

    def __complex__(self) -> complex:
        return complex(self.compute())

    def __format__(self, spec: str) -> str:
        return format(self.compute(), spec) if spec else str(self)

    def __round__(self, ndigits: int | None = None) -> Any:
        return operate(round, self, *(() if ndigits is None else (ndigits,)), label="round")

    def __len__(self) -> int:
        raise TypeError("a Scalar has no length")


def _row(label: Any, value: Any) -> pd.Series:
    return pd.Series([value], index=[label])


def _called(scalar: Scalar, name: str, *args: Any, **kwargs: Any) -> Any:
    """Return the result of a method of the value."""
    return operate(Method(name), scalar, *args, kwargs=kwargs, label=name)
