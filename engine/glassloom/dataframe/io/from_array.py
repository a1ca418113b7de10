"""Frames of lazy arrays: a partition for each block of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.dispatch import implements
from glassloom.array.chunks import is_known, starts
from glassloom.backends.byte_order import with_native_bytes
from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.io.from_map import from_delayed
from glassloom.dataframe.wrap import is_node
from glassloom.delayed_call import call
from glassloom.errors import DivisionError

_ROWS = 50_000
"""Rows a partition of what is in memory, as in Dask."""


@implements("to_dataframe")
@with_function_arguments()
def from_array(x: Any, chunksize: int | str | None = None, columns: Any = None, *, index: Any = None) -> Any:
    """Make a frame of an array with two axes, or of records; a series of one with one axis.

    Parameters
    ----------
    x
        The array, or what `glassloom.array.asarray` takes. Its columns become one block.
    chunksize
        Rows a partition. Default: as the array is cut; 50,000 if it is in memory.
    columns
        The names of the columns; the name of the series, or a list of it for a frame of one column. By default columns are
        numbered. Of records: their fields, in this or another order.
    index
        A lazy index with a partition for each block, whose labels rows get. Default: rows are numbered from 0.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> import glassloom.dataframe as gd
    >>> gd.from_array(ga.ones((4, 2), chunks=2), columns=["a", "b"]).a.sum().compute()
    np.float64(4.0)
    """
    whole = _in_blocks(x, chunksize)
    names = _names(whole, columns)
    whole = whole if whole.ndim == 1 else whole.rechunk({1: -1})
    rows = whole.chunks[0]
    begins: Sequence[int | None] = starts(rows) if is_known(rows) else [None] * len(rows)
    if index is not None:
        return _labelled(whole, names, index)
    parts = [
        call(frame_of, (whole.blocks[number], names, begin), {}, pure=True, label="from-array")
        for number, begin in enumerate(begins)
    ]
    is_plain = is_known(rows) and all(rows)
    divisions = [*starts(rows), sum(rows) - 1] if is_plain else None
    return from_delayed(parts, meta=frame_of(whole.expr.meta, names, 0), divisions=divisions)


@with_function_arguments()
def from_dask_array(x: Any, columns: Any = None, index: Any = None, meta: Any = None) -> Any:
    """Make a frame of a lazy array, under Dask's name for it. See `from_array`."""
    return from_array(x, columns=columns, index=index)


def _in_blocks(x: Any, chunksize: int | str | None) -> Array:
    """Return an array cut into blocks of rows.

    Raises
    ------
    TypeError
        If `chunksize` is no number: names of columns, more likely, which are the next argument.
    """
    if chunksize is not None and not isinstance(chunksize, (int, str)):
        raise TypeError(f"from_array: chunksize={chunksize!r} should be a number of rows; give names as columns=")
    if isinstance(x, Array):
        return x if chunksize is None else x.rechunk({0: chunksize})
    rows = _ROWS if chunksize is None else chunksize
    shape = getattr(x, "shape", ())
    if getattr(x, "chunks", None) is not None or len(shape) not in (1, 2):  # an array of Zarr or HDF5, or a mistake
        whole = asarray(x)
        return whole if chunksize is None else whole.rechunk({0: chunksize})
    return asarray(x, chunks=(rows, *shape[1:]))


def _labelled(whole: Array, names: Any, index: Any) -> Any:
    if not is_node(index) or index.npartitions != len(whole.chunks[0]):
        raise DivisionError(
            f"from_array: index= should be a lazy index of {len(whole.chunks[0])} partitions, as many as there are blocks of rows"
        )
    parts = [
        call(
            _frame_with_labels,
            (whole.blocks[number], names, index.partitions[number]),
            {},
            pure=True,
            label="from-array",
        )
        for number in range(index.npartitions)
    ]
    meta = frame_of(whole.expr.meta, names, 0).set_axis(index.expr.meta[:0], axis=0)
    return from_delayed(parts, meta=meta, divisions=index.divisions if index.known_divisions else None)


def _frame_with_labels(block: Any, names: Any, labels: Any) -> Any:
    return frame_of(block, names, 0).set_axis(labels, axis=0)


def _names(whole: Array, columns: Any) -> Any:
    if whole.ndim not in (1, 2):
        raise ValueError(f"a frame of an array with {whole.ndim} axes, shape {whole.shape}; it needs 1 or 2")
    if whole.dtype.names is not None:
        return _fields(whole.dtype.names, columns)
    if whole.ndim == 1 and not isinstance(columns, (list, pd.Index)):
        return columns
    width = 1 if whole.ndim == 1 else int(whole.shape[1])
    names = list(range(width)) if columns is None else list(columns)
    if len(names) != width:
        raise ValueError(f"columns={columns!r} has {len(names)} names for {width} columns")
    return names


def _fields(fields: tuple[str, ...], columns: Any) -> list[str]:
    """Return the fields of records that become columns.

    Raises
    ------
    ValueError
        If `columns` names others.
    """
    names = list(fields) if columns is None else [columns] if isinstance(columns, str) else list(columns)
    if others := [name for name in names if name not in fields]:
        raise ValueError(f"columns={columns!r}: the records have no fields {others}; they have {list(fields)}")
    return names


def frame_of(block: Any, names: Any, begin: int | None) -> Any:
    """Return a block of rows as a pandas object, its index beginning there; from 0 if that isn't known."""
    first = begin or 0
    index = pd.RangeIndex(first, first + len(block))
    if block.dtype.names is not None:
        return with_native_bytes(pd.DataFrame({name: block[name] for name in names}, index=index))
    if block.ndim == 1 and not isinstance(names, list):
        return with_native_bytes(pd.Series(block, index=index, name=names))
    return with_native_bytes(pd.DataFrame(block.reshape(len(block), len(names)), index=index, columns=names))
