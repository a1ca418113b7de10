"""Bags of records as frames, and frames as bags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

import glassloom.dataframe as gd
from glassloom.bag.collection import Bag
from glassloom.bag.creation import from_delayed
from glassloom.dataframe.meta import parse_meta
from glassloom.delayed_call import call
from glassloom.errors import OptionError

_FORMATS = ("tuple", "dict", "frame")


def to_dataframe(bag: Bag, meta: Any, columns: Sequence[Any] | None) -> Any:
    """Return a frame with a row for each item of a bag. See `Bag.to_dataframe`.

    Raises
    ------
    ValueError
        If the bag's first partitions have no items, so that nothing is known of columns and dtypes.
    """
    if meta is not None and columns is not None:
        raise OptionError("to_dataframe() takes either meta or columns")
    known = _first_frame(bag, columns) if meta is None else parse_meta(meta)
    if not isinstance(known, pd.DataFrame):
        raise OptionError(f"meta={meta!r} should be a frame, or columns and dtypes")
    names = list(known.columns)
    dtypes = dict(known.dtypes)
    make = partial(_frame_of, names, dtypes)
    parts = [call(make, (part,), {}, pure=True, label="to-dataframe") for part in bag.to_delayed()]
    return gd.from_delayed(parts, meta=known.iloc[:0])


def _first_frame(bag: Bag, columns: Sequence[Any] | None) -> pd.DataFrame:
    first = bag.take(1, npartitions=-1, warn=False)
    if not first:
        raise ValueError("to_dataframe() of a bag without items needs meta=")
    (item,) = first
    if isinstance(item, Mapping):
        names = list(item) if columns is None else list(columns)
    elif isinstance(item, (tuple, list)):
        names = list(range(len(item))) if columns is None else list(columns)
    else:
        names = [0] if columns is None else list(columns)
    return _table([item], names)


def _table(items: Sequence[Any], names: list[Any]) -> pd.DataFrame:
    if items and not isinstance(items[0], (Mapping, tuple, list)):
        items = [(item,) for item in items]
    return pd.DataFrame(items, columns=names)


def _frame_of(names: list[Any], dtypes: dict[Any, Any], items: list[Any]) -> pd.DataFrame:
    frame = _table(items, names)
    return frame.astype({name: dtype for name, dtype in dtypes.items() if frame[name].dtype != dtype})


def from_dataframe(frame: Any, index: bool, format: str) -> Bag:
    """Return a bag of the rows of a frame, or the values of a series. See `DataFrame.to_bag`."""
    if format not in _FORMATS:
        raise OptionError(f"format={format!r} should be one of {', '.join(_FORMATS)}")
    rows = partial(_rows_of, index, format)
    return from_delayed([call(rows, (part,), {}, pure=True, label="to-bag") for part in frame.to_delayed()])


def _rows_of(index: bool, format: str, block: Any) -> list[Any]:
    if format == "frame":
        return [block]
    if isinstance(block, pd.Index):
        return list(block)
    if isinstance(block, pd.Series):
        if format == "tuple":
            return list(block.items()) if index else list(block)
        block = block.to_frame(0 if block.name is None else block.name)
    if format == "dict":
        records: list[Any] = (block.reset_index() if index else block).to_dict(orient="records")
        return records
    return list(block.itertuples(index=index, name=None))
