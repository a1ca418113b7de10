"""Methods along the columns of each row, ``axis=1``."""

from __future__ import annotations

from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import of_samples
from glassloom.dataframe.call import Method


class AcrossColumns(Method):
    """A method with ``axis=1``. Of no rows its result has the dtypes that it has of some: pandas' depend on whether there are any."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return (AcrossColumns, self.path)

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        method = super().__call__
        made = method(obj, *args, **kwargs)
        if len(obj):
            return made
        try:
            like = of_samples(lambda some: method(some, *args, **kwargs), obj)
        except (TypeError, ValueError):  # the made-up values of objects can't be compared
            return made
        if isinstance(made, pd.Series):
            return made.astype(like.dtype)
        for place, dtype in enumerate(like.dtypes):
            made.isetitem(place, made.iloc[:, place].astype(dtype))
        return made
