"""Labels that are categories, in the order of the categories: pandas orders rows by it, and doesn't compare labels if it isn't declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def can_divide(meta: Any) -> bool:
    """Whether labels of a frame, series or index, compared as the values that they are, tell the partition of a row if rows are sorted by them.

    Those of categories do if the categories are known, and in ascending order.
    """
    index = meta if isinstance(meta, pd.Index) else getattr(meta, "index", None)
    if not isinstance(index, pd.CategoricalIndex):
        return True
    return len(index.categories) > 0 and bool(index.categories.is_monotonic_increasing)


def require_known_order(index: Any, what: str) -> None:
    """Check that the order of labels is known, of which the partitions have rows.

    Raises
    ------
    NotImplementedError
        If they are categories that aren't known.
    """
    if isinstance(index, pd.CategoricalIndex) and not len(index.categories):
        raise NotImplementedError(
            f"{what}: the labels are categories that aren't known, and so is their order: categorize(index=True) before"
        )


def require_categories(index: Any, *labels: Any) -> None:
    """Check that labels, other than None, are among the known categories of an index, if it has categories.

    Raises
    ------
    KeyError
        If one isn't.
    """
    if not isinstance(index, pd.CategoricalIndex) or not len(index.categories):
        return
    for label in labels:
        if label is not None and label not in index.categories:
            shown = ", ".join(map(repr, index.categories[:20]))
            raise KeyError(
                f"{label!r} isn't among the categories of the labels, which are {shown}: give one of them, or filter by a condition"
            )


def comparable(index: Any, *labels: Any) -> tuple[Any, ...]:
    """Return labels of an index, and single labels (None stays), as what can be compared: of categories, their numbers.

    A single label that is no category lies between two of them, if the categories are in ascending order.
    """
    if not isinstance(index, pd.CategoricalIndex):
        return (index, *labels)
    codes = index.codes.astype("float64")
    codes[index.codes < 0] = np.nan
    return (pd.Index(codes), *(None if label is None else _number(index.categories, label) for label in labels))


def _number(categories: Any, label: Any) -> float:
    if label in categories:
        return float(categories.get_loc(label))
    if not categories.is_monotonic_increasing:
        raise KeyError(label)
    return float(categories.searchsorted(label)) - 0.5
