"""Text files of partitions whose dtypes differ: where one partition misses a value, pandas writes the whole numbers of all as floats.

Which dtype all partitions have together is known when all are written. So that none waits, and none is held, for the others, a
partition with whole numbers that may have to be floats is also put into a file of its own beside, and written again from there.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.io.staging import Staging, Written
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.unlike_dtypes import unlike_places

Dtypes = tuple[Any, ...]
Write = Callable[..., Written]
"""Called with a block, a name and options: writes a text."""


def places_of_numbers(node: FrameExpr) -> tuple[int, ...]:
    """Return the places of the columns that are numbers of another dtype in some partition than in others, as far as is known."""
    dtypes = [column.dtype for column in _columns(node.meta)]
    return tuple(place for place in unlike_places(node) if dtypes[place].kind in "iuf")


def write_and_keep(
    block: Any, name: str, *, write: Write, places: Sequence[int], staging: Staging, options: dict[str, Any]
) -> Written:
    """Write a block as a text; keep it beside the text if its numbers may have to be written otherwise."""
    written = write(block, name, staging=staging, **options)
    if not len(block):
        return written
    dtypes = _dtypes(block, places)
    if any(isinstance(dtype, np.dtype) and dtype.kind in "iu" for dtype in dtypes):
        with staging.open(_kept(name)) as sink:
            sink.write(pickle.dumps(block, protocol=5))
    return written._replace(dtypes=dtypes)


class Rewriting:
    """Writes those partitions again whose whole numbers are floats in others."""

    def __init__(self, write: Write, places: Sequence[int], staging: Staging, options: dict[str, Any]) -> None:
        self.write, self.places, self.staging, self.options = write, tuple(places), staging, options

    def __call__(self, written: Sequence[Written]) -> None:
        filled = [one for one in written if one.dtypes]
        common = tuple(map(_common, zip(*[one.dtypes for one in filled], strict=True)))
        for one in filled:
            wanted = [_is_widened(own, other) for own, other in zip(one.dtypes, common, strict=True)]
            if any(wanted):
                (name,) = one.names
                with self.staging.filesystem.open_input_stream(f"{self.staging.inside}/{_kept(name)}") as file:
                    block = pickle.loads(file.read())
                self.write(self._widened(block, wanted, common), name, staging=self.staging, **self.options)

    def _widened(self, block: Any, wanted: Sequence[bool], common: Dtypes) -> Any:
        if isinstance(block, pd.Series):
            return block.astype(common[0])
        made = block.copy(deep=False)
        for place, is_wanted, dtype in zip(self.places, wanted, common, strict=True):
            if is_wanted:
                column: Any = block.iloc[:, place].astype(dtype)
                made.isetitem(place, column)
        return made


def _kept(name: str) -> str:
    return f"{name}.kept"


def _columns(block: Any) -> list[Any]:
    return [block] if isinstance(block, pd.Series) else [block.iloc[:, place] for place in range(block.shape[1])]


def _dtypes(block: Any, places: Sequence[int]) -> Dtypes:
    columns = _columns(block)
    return tuple(columns[place].dtype for place in places)


def _common(dtypes: Sequence[Any]) -> Any:
    return pd.concat([pd.Series([], dtype=dtype) for dtype in dtypes]).dtype


def _is_widened(own: Any, common: Any) -> bool:
    """Whether whole numbers have to be floats: among objects they are written as they are."""
    are_plain = isinstance(own, np.dtype) and isinstance(common, np.dtype)
    return are_plain and own.kind in "iu" and common.kind == "f"
