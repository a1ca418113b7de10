"""Frames of dicts, records and Arrow tables that are at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from glassloom.dataframe.argument_kinds import whole_number
from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.io.from_pandas import from_pandas
from glassloom.dataframe.io.pandas_types import to_pandas
from glassloom.dataframe.io.read import Read, Source
from glassloom.dataframe.wrap import wrap
from glassloom.errors import OptionError
from glassloom.graph import tokenize


class ArrowSource(Source):
    """An Arrow table and the rows at which it is cut; each partition becomes pandas' in its task."""

    label = "from-arrow"
    can_project = True

    def __init__(self, table: pa.Table, bounds: tuple[int, ...], backend: str | None) -> None:
        self.table, self.bounds, self.backend = table, bounds, backend
        self.lengths = tuple(after - before for before, after in zip(bounds, bounds[1:], strict=False))
        self.meta = _frame(table.slice(0, 0), 0, backend)
        is_plain = all(self.lengths)
        self.divisions = (*bounds[:-1], bounds[-1] - 1) if is_plain else (None,) * len(bounds)
        self.token = tokenize(table.schema.to_string(), table.to_pandas(), bounds, backend)

    def piece(self, number: int) -> Any:
        return (self.table.slice(self.bounds[number], self.lengths[number]), self.bounds[number])  # type: ignore[index]

    def reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any]:
        return BlockCall(_take, (Block(0), None if columns is None else list(columns), self.backend), label=self.label)


@with_function_arguments()
def from_dict(
    data: Any,
    npartitions: int = 1,
    *,
    orient: str = "columns",
    dtype: Any = None,
    columns: Any = None,
    chunksize: int | None = None,
) -> Any:
    """Make a frame of a dict, as `pandas.DataFrame.from_dict` does, cut into partitions.

    Examples
    --------
    >>> import glassloom.dataframe as gd
    >>> int(gd.from_dict({"x": [1, 2, 3]}, npartitions=2).x.sum().compute())
    6
    """
    frame = pd.DataFrame.from_dict(data, orient=orient, dtype=dtype, columns=columns)  # type: ignore[call-overload]
    return _cut(frame, npartitions, chunksize)


@with_function_arguments()
def from_records(data: Any, npartitions: int = 1, *, chunksize: int | None = None, **options: Any) -> Any:
    """Make a frame of records, as `pandas.DataFrame.from_records` does, cut into partitions.

    Examples
    --------
    >>> import glassloom.dataframe as gd
    >>> gd.from_records([(1, "a"), (2, "b")], columns=["x", "s"]).s.compute().tolist()
    ['a', 'b']
    """
    return _cut(pd.DataFrame.from_records(data, **options), npartitions, chunksize)


def _cut(frame: Any, npartitions: int, chunksize: int | None) -> Any:
    count = None if chunksize is not None else npartitions
    return from_pandas(frame, count, chunksize=chunksize, sort=frame.index.is_monotonic_increasing)


@with_function_arguments()
def from_arrow(
    table: Any, npartitions: int | None = None, *, chunksize: int | None = None, dtype_backend: str | None = None
) -> Any:
    """Make a frame of an Arrow table, record batch or reader of batches.

    Parameters
    ----------
    npartitions, chunksize
        As in `from_pandas`.
    dtype_backend
        ``"pyarrow"`` to keep Arrow's types. Default: pandas' dtypes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import glassloom.dataframe as gd
    >>> gd.from_arrow(pa.table({"x": [1, 2, 3]}), npartitions=3).npartitions
    3
    """
    if dtype_backend not in (None, "pyarrow"):
        raise OptionError(f"dtype_backend={dtype_backend!r} should be 'pyarrow' or None")
    if npartitions is not None and chunksize is not None:
        raise ValueError(f"give npartitions={npartitions} or chunksize={chunksize}, not both")
    for name, value in (("npartitions", npartitions), ("chunksize", chunksize)):
        if value is not None:
            whole_number("from_arrow", name, value, 1)
    whole = _table(table)
    count = len(whole)
    if chunksize is not None:
        bounds: Sequence[int] = [*range(0, count, chunksize), count]
    else:
        parts = max(min(npartitions or 1, count), 1)
        bounds = [count * number // parts for number in range(parts + 1)]
    return wrap(Read(ArrowSource(whole, tuple(bounds) if count else (0, 0), dtype_backend), None, None, None))


def _table(value: Any) -> pa.Table:
    if isinstance(value, pa.Table):
        return value
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    if isinstance(value, pa.RecordBatchReader):
        return value.read_all()
    if hasattr(value, "__arrow_c_stream__"):
        return pa.table(value)
    raise TypeError(f"from_arrow takes a pyarrow Table, RecordBatch or RecordBatchReader, got {type(value).__name__}")


def _take(piece: tuple[pa.Table, int], columns: list[Any] | None, backend: str | None) -> Any:
    table, first = piece
    return _frame(table if columns is None else table.select(columns), first, backend)


def _frame(table: pa.Table, first: int, backend: str | None) -> Any:
    frame = to_pandas(table.replace_schema_metadata(None), backend)
    frame.index = pd.RangeIndex(first, first + len(table))
    return frame


class Constructors:
    """What pandas' class methods make frames of, under their names and with their arguments."""

    @staticmethod
    def from_dict(
        data: Any, orient: str = "columns", dtype: Any = None, columns: Any = None, *, npartitions: int = 1
    ) -> Any:
        """Make a frame of a dict, as `pandas.DataFrame.from_dict` does, cut into partitions."""
        return from_dict(data, npartitions, orient=orient, dtype=dtype, columns=columns)

    @staticmethod
    def from_records(
        data: Any,
        index: Any = None,
        exclude: Any = None,
        columns: Any = None,
        coerce_float: bool = False,
        nrows: int | None = None,
        *,
        npartitions: int = 1,
    ) -> Any:
        """Make a frame of records, as `pandas.DataFrame.from_records` does, cut into partitions."""
        given = {"index": index, "exclude": exclude, "columns": columns, "coerce_float": coerce_float, "nrows": nrows}
        return from_records(data, npartitions, **given)
