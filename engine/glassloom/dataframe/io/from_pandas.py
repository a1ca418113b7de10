"""Frames of pandas objects, which are cut into partitions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.byte_order import with_native_bytes
from glassloom.backends.frames import converted, library_of
from glassloom.backends.pandas_ import columns_of, guarded, places_of, rows_between, without_values
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.backend import to_backend
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.columns import are_told_apart
from glassloom.dataframe.io.read import Read, Source
from glassloom.dataframe.wrap import wrap
from glassloom.graph import tokenize

_MOST_UNSORTED = 1_000_000
"""Labels of which a task's time tells whether they are unique."""


class PandasSource(Source):
    """A frame, series or index and the positions at which it is cut.

    `mirror` is what pandas notes of the object's memory (see `own_columns`): of that which it was made of, if that had to be sorted.
    """

    label = "from-pandas"
    can_read_index = True

    def __init__(
        self,
        data: Any,
        bounds: tuple[int, ...],
        divisions: tuple[Any, ...],
        mirror: Any = None,
    ) -> None:
        self.data = guarded(data)  # since version 3 pandas itself copies what is written to later
        self.bounds = bounds
        self.meta = rows_between(data, None, 0)
        self.divisions = divisions
        self.lengths = tuple(int(after - before) for before, after in zip(bounds, bounds[1:], strict=False))
        self.can_project = isinstance(data, pd.DataFrame) and data.columns.is_unique and are_told_apart(data.columns)
        self.token = tokenize(data, bounds)
        self.mirror = mirror

    @cached_property
    def has_unique_labels(self) -> bool:
        """See `Source.has_unique_labels`. Of many labels that aren't sorted it isn't found out: that takes long."""
        labels = self.data if isinstance(self.data, pd.Index) else self.data.index
        return bool((len(labels) <= _MOST_UNSORTED or labels.is_monotonic_increasing) and labels.is_unique)

    def piece(self, number: int) -> Any:
        return rows_between(self.data, self.bounds[number], self.bounds[number + 1])

    def reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any]:
        if columns is None:
            return BlockCall(guarded, (Block(0),), label=self.label)
        places = places_of(self.meta.columns, columns)  # once, not for each piece
        return BlockCall(_take, (Block(0), list(columns), places), label=self.label)


@with_function_arguments()
def from_pandas(data: Any, npartitions: int | None = None, *, chunksize: int | None = None, sort: bool = True) -> Any:
    """Cut a pandas object into partitions.

    Parameters
    ----------
    data
        A DataFrame or Series of pandas, or of cuDF: then partitions are moved to the device again. Numbers in another order of bytes
        than the machine's (``>i8``) get its order.
    npartitions
        Number of partitions, 1 or more; fewer are made if there are fewer rows, or fewer distinct labels. Default 1.
    chunksize
        Rows per partition, instead of `npartitions`.
    sort
        Whether to sort by the index (if it isn't sorted), so that the divisions are known and `loc` reads few
        partitions. With False the rows stay in their order, and the divisions are not known.

    Returns
    -------
    DataFrame or Series

    Raises
    ------
    ValueError
        If both or senseless numbers are given.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> frame = gd.from_pandas(pd.DataFrame({"x": [3, 1, 2]}), npartitions=2)
    >>> frame.divisions
    (0, 1, 2)
    >>> int(frame.x.sum().compute())
    6
    """
    library = library_of(data)
    if library != "pandas":
        plain = from_pandas(converted(data, "pandas"), npartitions, chunksize=chunksize, sort=sort)
        return to_backend(plain, library)
    if not isinstance(data, (pd.DataFrame, pd.Series)):
        raise TypeError(f"from_pandas takes a pandas DataFrame or Series, got {type(data).__name__}")
    if npartitions is not None and chunksize is not None:
        raise ValueError(f"give npartitions={npartitions} or chunksize={chunksize}, not both")
    for name, value in (("npartitions", npartitions), ("chunksize", chunksize)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1):
            raise ValueError(f"{name}={value!r} should be a whole number, 1 or more")
    data = with_native_bytes(data)
    mirror = without_values(data) if HAS_COPY_ON_WRITE else None
    if sort and not data.index.is_monotonic_increasing:
        data = data.sort_index(kind="stable")
    bounds = _bounds(len(data), npartitions or 1, chunksize)
    if sort and len(data) and not isinstance(data.index, pd.MultiIndex) and not data.index.hasnans:
        bounds, divisions = _cut_between_labels(data.index, bounds)
    else:
        divisions = (None,) * len(bounds)
    return wrap(Read(PandasSource(data, bounds, divisions, mirror), None, None, None))


def _bounds(length: int, npartitions: int, chunksize: int | None) -> tuple[int, ...]:
    """Return the positions at which partitions begin, and the end. Sizes differ by at most one row."""
    if length == 0:
        return (0, 0)
    if chunksize is not None:
        return (*range(0, length, chunksize), length)
    count = min(npartitions, length)
    return tuple(length * number // count for number in range(count + 1))


def _cut_between_labels(index: pd.Index, bounds: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """Return bounds that keep equal labels together, and the labels at them. `index` is sorted."""
    starts = sorted({int(index.searchsorted(index[start], side="left")) for start in bounds[:-1]})
    divisions = tuple(map(_as_plain, (*(index[start] for start in starts), index[-1])))
    return (*starts, bounds[-1]), divisions


def _take(piece: Any, columns: list[Any], places: list[int] | None) -> Any:
    return guarded(columns_of(piece, columns) if places is None else piece.take(places, axis=1))


def _as_plain(label: Any) -> Any:
    """Return a number of NumPy's as Python's."""
    return label.item() if isinstance(label, (np.number, np.bool_)) else label
