"""Conditions that a source checks while it reads: the masks of columns as Arrow holds them, against what Python says of each value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from glassloom.dataframe.io.conditions import Comparison, Either, Negated, mask_of
from hypothesis import given
from hypothesis import strategies as st

_OPERATORS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_INSTANTS = st.datetimes(pd.Timestamp("1960-01-01"), pd.Timestamp("2060-01-01")).map(
    lambda at: at.replace(microsecond=0)
)
_COLUMNS = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "float32": (pa.float32(), st.floats(width=32)),
    "float64": (pa.float64(), st.floats()),
    "seconds": (pa.timestamp("s"), _INSTANTS),
    "nanoseconds": (pa.timestamp("ns"), _INSTANTS),
    "dates": (pa.date32(), st.dates()),
    "text": (pa.string(), st.text(max_size=3)),
    "codes of text": (pa.string(), st.text(max_size=1)),
}


def _rows(mask):
    """Return the numbers of the rows that fulfil a condition."""
    if isinstance(mask, np.ndarray):
        return np.flatnonzero(mask).tolist()
    return [number for number, holds in enumerate(mask.to_pylist()) if holds]


@pytest.mark.parametrize("name", _COLUMNS)
@given(data=st.data())
def test_comparisons_choose_the_rows_that_pythons_comparisons_do(name, data):
    kind, values = _COLUMNS[name]
    value = data.draw(values)
    rows = data.draw(st.lists(st.one_of(values, st.just(value), st.none()) if data.draw(st.booleans()) else values))
    cut = data.draw(st.integers(0, len(rows)))
    chunks = [pa.array(rows, type=kind)] if data.draw(st.booleans()) else [
        pa.array(part, type=kind) for part in (rows[:cut], rows[cut:])
    ]  # fmt: skip
    column = pa.chunked_array(chunks, type=kind)
    if name == "codes of text":
        column = pa.chunked_array([chunk.dictionary_encode() for chunk in column.chunks])
    table = pa.table({"x": column})
    operator = data.draw(st.sampled_from(sorted(_OPERATORS)))
    term = Comparison("x", operator, value)
    method = _OPERATORS[operator]

    def holds(one, is_nullable):
        if one is None:
            return operator == "!=" and not is_nullable
        return bool(getattr(one, f"__{method}__")(value))

    plain = [number for number, one in enumerate(rows) if holds(one, False)]
    known = [number for number, one in enumerate(rows) if one is not None]
    assert _rows(mask_of((term,), table, {}, ())) == plain
    assert _rows(mask_of((term,), table, {}, {"x"})) == [number for number in known if number in plain]
    # The opposite of a comparison with a missing value is missing where the dtype has a missing value of its own.
    opposite = [number for number in range(len(rows)) if number not in plain]
    assert _rows(mask_of((Negated((term,)),), table, {}, ())) == opposite
    assert _rows(mask_of((Negated((term,)),), table, {}, {"x"})) == [number for number in opposite if number in known]
    assert _rows(mask_of((Either(((term,), (Comparison("x", "isna"),))),), table, {}, {"x"})) == sorted(
        {*(number for number in known if number in plain), *_rows(mask_of((Comparison("x", "isna"),), table, {}, ()))}
    )


def test_masks_of_numbers_and_of_missing_values_go_together():
    table = pa.table(
        {"x": [1, 2, 3, 4], "y": [True, None, None, False], "text": pa.array(list("abab")).dictionary_encode()}
    )
    small, true = Comparison("x", "<", 3), Comparison("y", "==", True)
    assert _rows(mask_of((small, true), table, {}, {"y"})) == [0]
    assert _rows(mask_of((Either(((small,), (true,))),), table, {}, {"y"})) == [0, 1]
    assert _rows(mask_of((small, Negated((true,))), table, {}, {"y"})) == []
    assert _rows(mask_of((small, Comparison("text", "==", "b")), table, {}, ())) == [1]
    assert _rows(mask_of((small, Comparison("folder", "==", 7)), table, {"folder": 7}, ())) == [0, 1]
    assert _rows(mask_of((small, Comparison("folder", "!=", 7)), table, {"folder": 7}, ())) == []


def test_terms_are_checked_until_no_row_is_left():
    asked = []

    class Columns(dict):
        def __getitem__(self, name):
            asked.append(name)
            return super().__getitem__(name)

    columns = Columns(x=pa.chunked_array([[1, 2]]), y=pa.chunked_array([[3, 4]]), z=pa.chunked_array([[5, 6]]))
    none, some = Comparison("x", ">", 2), Comparison("x", "<", 2)
    rest = (Comparison("y", "==", 3), Comparison("z", "==", 5))
    for condition, rows, needed in (
        ((some, *rest), [0], ["x", "y", "z"]),
        ((none, *rest), [], ["x"]),
        ((Comparison("y", "<", 0), some), [], ["y"]),
        ((Negated((none, *rest)),), [0, 1], ["x"]),
        ((Either(((none, *rest), (some, *rest))),), [0], ["x", "x", "y", "z"]),
    ):
        asked.clear()
        assert _rows(mask_of(condition, columns, {}, ())) == rows
        assert asked == needed
