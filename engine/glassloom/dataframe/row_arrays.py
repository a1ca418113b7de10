"""`RowArray`: a value for each row, in no frame: what pandas makes a NumPy array of, as ``index.isin(labels)`` and ``index > 3``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.base import Frame
from glassloom.dataframe.method_names import methods_named
from glassloom.dataframe.nodes import BlockOp, Rowwise
from glassloom.dataframe.reduce import reduce_columns
from glassloom.dataframe.wrap import operate, wrap, wraps


@wraps("array")
@methods_named("RowArray")
class RowArray(Frame):
    """A lazy array with a value for each row of the frame whose labels it is made of. It chooses rows: ``frame[frame.index > 3]``.

    Computed, it is a NumPy array, or pandas' own of a nullable or Arrow dtype.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> x = gd.from_pandas(pd.Series([1, 2, 3]), npartitions=2)
    >>> int(x.index.isin([0, 2]).sum().compute()), x.index.isin([0, 2]).compute().tolist()
    (2, [True, False, True])
    """

    def __repr__(self) -> str:
        return f"RowArray({self.dtype}, {self._expr.label})"

    @property
    def dtype(self) -> Any:
        """The values' dtype."""
        return self._meta.dtype

    @property
    def ndim(self) -> int:
        """1."""
        return 1

    @property
    def size(self) -> Any:
        """The number of values, lazily."""
        return self._as_series().size

    @property
    def shape(self) -> tuple[Any]:
        """The number of values, lazily, in a tuple."""
        return (self.size,)

    @property
    def values(self) -> Any:
        """The values as a lazy array of `glassloom.array`."""
        return self._as_series().values

    def _as_series(self) -> Any:
        """Return the values as a series, with labels that say nothing."""
        return operate(pd.Series, self, kind=BlockOp, label="series")

    def _reduced(self, how: str, options: dict[str, Any], split_every: int | None) -> Any:
        return wrap(reduce_columns(self._as_series().expr, how, {"skipna": False, **options}, split_every))

    def var(self, *, ddof: int = 0, split_every: int | None = None) -> Any:
        """Return the variance; as with NumPy, the divisor is the number of values, less `ddof`."""
        return self._reduced("var", {"ddof": ddof}, split_every)

    def std(self, *, ddof: int = 0, split_every: int | None = None) -> Any:
        """Return the standard deviation. See `var`."""
        return self._reduced("std", {"ddof": ddof}, split_every)

    def astype(self, dtype: Any) -> Any:
        """Return the values converted."""
        return operate(_converted, self, dtype, kind=Rowwise, label="astype")

    def tolist(self) -> list[Any]:
        """Compute, and return the values as a list."""
        found: list[Any] = self.compute().tolist()
        return found

    def __len__(self) -> int:
        return len(self._as_series())

    def __iter__(self) -> Any:
        return iter(self.compute())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.compute(), dtype=dtype)

    def __getitem__(self, key: Any) -> Any:
        raise NotImplementedError(
            f"array[{key!r}]: values chosen of it are those of frame[...].index; compute() it to choose by position"
        )

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"a lazy RowArray has no attribute {name!r}; compute() returns a NumPy array, and values an array of glassloom.array"
        )


def _reduction(how: str, what: str) -> Callable[..., Any]:
    def method(self: RowArray, *, split_every: int | None = None) -> Any:
        return self._reduced(how, {}, split_every)

    method.__name__, method.__qualname__ = how, f"RowArray.{how}"
    method.__doc__ = f"Return {what} of the values."
    return method


for _how, _what in (
    ("sum", "the sum"), ("prod", "the product"), ("mean", "the mean"), ("min", "the smallest"), ("max", "the largest"),
    ("any", "whether any is true"), ("all", "whether all are true"),
):  # fmt: skip
    setattr(RowArray, _how, _reduction(_how, _what))


def _converted(values: Any, dtype: Any) -> Any:
    return values.astype(dtype)
