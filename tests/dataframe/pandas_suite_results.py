"""Whether results of `pandas_suite` are pandas', or differ as documented: in the order of rows, in labels, or in the kind of object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

_MOVED = ["merge", "join", "melt"]
"""What may number the rows of each partition, and have them in another order than pandas."""
_SORTED = ["set_index", "sort_values", "sort_index", "concat"]
"""What sorts rows that pandas doesn't sort, or by a stable sort."""
_NUMBERED = ["reset_index", "merge_asof", "read_csv", "read_table", "read_fwf", "read_json"]
"""What numbers the rows of each partition."""
_OF_OTHER_KIND = ("DataFrame.loc.__getitem__", "DataFrame.xs", "Series.unique")
"""What gives another kind of object than pandas: `docs/dataframe-support.md` says which."""


def _by_labels_and_values(rows: Any) -> Any:
    frame = rows if isinstance(rows, pd.DataFrame) else rows.to_frame("values")
    frame = frame.reset_index(allow_duplicates=True)
    frame.columns = range(frame.shape[1])
    order = frame.map(repr).sort_values(list(frame.columns), kind="stable").index
    return rows.iloc[order]


def _by_values(rows: Any) -> Any:
    """The same rows in the order of their values, labelled from 0."""
    numbered = rows.reset_index(drop=True)
    frame = numbered if isinstance(rows, pd.DataFrame) else numbered.to_frame("values")
    frame = frame.set_axis(range(frame.shape[1]), axis=1)
    order = frame.map(repr).sort_values(list(frame.columns), kind="stable").index
    return numbered.iloc[order].reset_index(drop=True)


def _as_one_kind(rows: Any) -> Any:
    """The row of a frame that has one alone."""
    return rows.iloc[0] if isinstance(rows, pd.DataFrame) and len(rows) == 1 else rows


def _as_series(values: Any) -> Any:
    """An array as a series without a name."""
    return pd.Series(values).rename(None)


def weaker(full_name: str) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """What is done to both results before they're compared once more, with the outcome if they're the same then."""
    name = full_name.rsplit(".", 1)[-1]
    if name in _MOVED or name in _SORTED:
        yield "order", _by_labels_and_values
    if name in _MOVED or name in _NUMBERED:
        yield "labels", lambda rows: rows.reset_index(drop=True)
    if name in _MOVED:
        yield "labels", _by_values
    if full_name.endswith(_OF_OTHER_KIND):
        yield "kind", _as_series if name == "unique" else _as_one_kind


def assert_same(got: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert isinstance(got, tuple), f"{type(got)} in place of a tuple"
        assert len(got) == len(expected)
        for ours, theirs in zip(got, expected, strict=True):
            assert_same(ours, theirs)
    elif isinstance(expected, pd.DataFrame):
        options = {"check_freq": False, "rtol": _tolerance(expected.dtypes)}
        pd.testing.assert_frame_equal(got, expected, check_index_type="equiv" if len(expected) else False, **options)
    elif isinstance(expected, pd.Series):
        options = {"check_freq": False, "rtol": _tolerance([expected.dtype])}
        pd.testing.assert_series_equal(got, expected, check_index_type="equiv" if len(expected) else False, **options)
    elif isinstance(expected, pd.Index):
        pd.testing.assert_index_equal(got, expected, exact="equiv")
    elif isinstance(expected, (np.ndarray, pd.api.extensions.ExtensionArray)):
        kind: Any = pd.DataFrame if expected.ndim > 1 or expected.dtype.kind == "V" else pd.Series
        assert got.dtype == expected.dtype, f"{got.dtype} in place of {expected.dtype}"
        assert_same(kind(got), kind(expected))
    elif pd.isna(expected):
        assert pd.isna(got), f"{got!r} is not missing"
    elif isinstance(expected, (float, np.floating, complex)):
        rel = _tolerance([getattr(expected, "dtype", np.dtype(float))])
        assert got == pytest.approx(expected, rel=rel, abs=1e-8), f"{got!r} is not {expected!r}"
    else:
        assert bool(got == expected), f"{got!r} is not {expected!r}"


def _tolerance(dtypes: Any) -> float:
    """Return how far numbers may differ, as a share of them: sums of single-precision ones depend on the order."""
    are_double = all(getattr(dtype, "itemsize", 8) >= 8 or getattr(dtype, "kind", "") not in "fc" for dtype in dtypes)
    return 1e-9 if are_double else 1e-6
