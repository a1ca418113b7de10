"""What nodes do with a partition to add columns and to choose rows."""

from __future__ import annotations

from typing import Any

from glassloom.backends.pandas_ import is_frame, rows_between

_MOST_BLOCKS = 90
"""pandas warns where a column is added to a frame of more than 100 blocks, which a user who has added them one by one can't help.
A copy of the values puts those of a dtype into one block."""


def with_columns(frame: Any, names: tuple[Any, ...], *values: Any) -> Any:
    """Return a partition with some columns added or replaced."""
    frame = frame.copy(deep=len(getattr(getattr(frame, "_mgr", None), "blocks", ())) > _MOST_BLOCKS)
    for name, value in zip(names, values, strict=True):
        if not len(frame) and is_frame(value):  # pandas would add its rows to a partition that has none
            if len(value) and not getattr(value, "index", value).is_unique:
                raise ValueError("cannot reindex on an axis with duplicate labels")  # as where the frame has rows
            value = rows_between(value, None, 0)
        frame[name] = value
    return frame


def chosen_rows(frame: Any, predicate: Any) -> Any:
    """Return the rows of a partition for which a condition is true."""
    return frame[predicate]
