"""Partitions that are cuDF frames, series and indexes. cuDF is imported when a task makes the first one, not when a plan is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def kind_of(value: Any) -> str:
    """Return what it is: ``"frame"``, ``"series"``, ``"index"`` or ``"scalar"``."""
    import cudf

    kinds = {"frame": cudf.DataFrame, "series": cudf.Series, "index": cudf.Index}
    return next((kind for kind, of in kinds.items() if isinstance(value, of)), "scalar")


def from_pandas(value: Any) -> Any:
    """Return a pandas object copied to the device. NaN becomes a missing value, as cuDF has them."""
    import cudf

    return cudf.from_pandas(value)


def to_pandas(value: Any) -> Any:
    """Return an object copied to the host. Missing values become what pandas has for the type: NaN, None, NaT."""
    return value.to_pandas()


def with_nulls_only(value: Any) -> Any:
    """Return a frame or series in which NaN is missing, as in pandas: to cuDF it is a number."""
    return value.nans_to_nulls()


def concat(blocks: Sequence[Any]) -> Any:
    """Return blocks one after the other."""
    import cudf

    return cudf.concat(list(blocks))
