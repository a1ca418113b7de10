"""`factorize`: values as numbers of the distinct ones, which are brought together in one block."""

from __future__ import annotations

from typing import Any

import pandas as pd

from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.nodes import BlockOp, Rowwise
from glassloom.dataframe.wrap import is_node, operate, wrap


class Codes(Rowwise):
    """For each row the number of its value among distinct ones, which all partitions need."""

    @property
    def keeps_rows(self) -> bool:
        return True


class Factorizing(Frame):
    """Methods of series."""

    def factorize(self, sort: bool = False, use_na_sentinel: bool = True) -> tuple[Any, Any]:
        """Return for each row the number of its value, as a lazy series of the same rows, and the distinct values, as a lazy index.

        pandas returns the numbers as an array; ``frame["code"] = frame.k.factorize()[0]`` works alike.

        Parameters
        ----------
        sort
            Whether the distinct values are sorted; otherwise they are in order of appearance.
        use_na_sentinel
            Whether missing values are numbered -1; otherwise they are a value of their own.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> codes, distinct = gd.from_pandas(pd.Series(["b", "a", None, "b"]), npartitions=2).factorize()
        >>> codes.compute().tolist(), distinct.compute().tolist()
        ([0, 1, -1, 0], ['b', 'a'])
        """
        series: Any = self
        options = {"sort": sort, "use_na_sentinel": use_na_sentinel}
        distinct = operate(_distinct, series.unique(), kind=BlockOp, kwargs=options, label="distinct")
        call = BlockCall(_codes, (Block(0), Block(1)), label="factorize")
        return wrap(Codes(self._expr, (distinct.expr,), call)), distinct


@with_function_arguments()
def factorize(values: Any, sort: bool = False, use_na_sentinel: bool = True) -> tuple[Any, Any]:
    """Return the numbers and the distinct values of a lazy series. See `Series.factorize`."""
    if not is_node(values) or not isinstance(values.expr.meta, (pd.Series, pd.Index)):
        raise TypeError(f"factorize takes a lazy series, got {type(values).__name__}; pandas.factorize takes others")
    series = values.to_series() if isinstance(values.expr.meta, pd.Index) else values
    made: tuple[Any, Any] = series.factorize(sort, use_na_sentinel)
    return made


def _distinct(values: Any, sort: bool, use_na_sentinel: bool) -> Any:
    distinct = values.factorize(sort=sort, use_na_sentinel=use_na_sentinel)[1]
    return pd.Index(
        distinct, dtype=object if values.dtype == object else None
    )  # pandas 2 makes times of objects that are


def _codes(block: Any, distinct: Any) -> Any:
    codes = distinct.get_indexer(pd.Index(block.array)).astype("int64")
    is_missing = distinct.isna()
    if is_missing.any():  # None and NaN are one value, which an index of objects tells apart
        codes[block.isna().to_numpy()] = is_missing.argmax()
    return pd.Series(codes, index=block.index)
