"""Text of kept frames is encoded once, and what is kept of it is never taken for other text."""

from __future__ import annotations

import gc
from typing import Any

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.arrow import text

pytestmark = pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before pandas 3 text is objects")
ROWS = text._LEAST_TO_KEEP + 5
NAMES = np.array(["b", "a", None, "c", "a"], dtype=object)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_encodings", type(text._encodings)(2**24))


def _frame(shift: int = 0) -> pd.DataFrame:
    names = pd.Series(NAMES[(np.arange(ROWS) + shift) % 5], dtype="str")
    return pd.DataFrame({"name": names, "x": np.arange(ROWS)})


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    encoded: list[Any] = []
    one_array = text.one_array
    monkeypatch.setattr(text, "one_array", lambda array: [encoded.append(array), one_array(array)][1])
    return encoded


@pytest.mark.parametrize("options", [{}, {"sort": False}, {"dropna": False}], ids=str)
def test_text_of_a_kept_frame_is_encoded_once(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    frame = _frame()
    kept = gd.from_pandas(frame, npartitions=1).persist(scheduler="synchronous")
    encoded = _counted(monkeypatch)
    for spec in ("sum", "max", "count"):
        got = kept.groupby("name", **options).agg({"x": spec}).compute(scheduler="synchronous")
        assert_same(got, frame.groupby("name", **options).agg({"x": spec}))
    assert len([array for array in encoded if len(array) == ROWS]) == 1


def test_a_column_that_is_replaced_or_written_to_is_encoded_anew() -> None:
    frame = _frame()
    codes, values = text.encode_text(frame["name"])  # type: ignore[misc]
    frame.loc[0, "name"] = "z"
    again, changed = text.encode_text(frame["name"])  # type: ignore[misc]
    assert values[codes[0]] == "b" and changed[again[0]] == "z"
    frame["name"] = _frame(1)["name"]
    third, shifted = text.encode_text(frame["name"])  # type: ignore[misc]
    assert shifted[third[0]] == "a"
    part = frame["name"].iloc[3:]
    fourth, rest = text.encode_text(part)  # type: ignore[misc]
    assert [None if code < 0 else rest[code] for code in fourth[:4]] == [NAMES[(row + 1) % 5] for row in range(3, 7)]


def test_what_is_kept_goes_with_the_column() -> None:
    frame = _frame()
    text.encode_text(frame["name"])
    assert len(text._encodings) == 1
    del frame
    gc.collect()
    assert len(text._encodings) == 0


def test_codes_are_not_shared_with_those_who_change_them() -> None:
    frame = _frame()
    codes, _ = text.encode_text(frame["name"])  # type: ignore[misc]
    codes[:] = 0
    again, _ = text.encode_text(frame["name"])  # type: ignore[misc]
    assert again[1] == 1
