"""Rows that a mask chooses, however many, against what Python chooses; and the numbers of such rows in all files."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from glassloom.dataframe.io.chosen_rows import Choice, RowNumbers, joined_numbers
from hypothesis import given
from hypothesis import strategies as st

ROWS = 200
_NUMBERS = list(range(ROWS))
_COLUMNS = {
    "int64": pa.array(_NUMBERS),
    "float64": pa.array([number / 4 for number in _NUMBERS]),
    "missing": pa.array([None if number % 7 == 0 else number for number in _NUMBERS], pa.float32()),
    "bool": pa.array([number % 3 == 0 for number in _NUMBERS]),
    "instants": pa.array([datetime(2020, 1, 1 + number % 28) for number in _NUMBERS], pa.timestamp("us")),
    "text": pa.array([f"name {number}" for number in _NUMBERS]),
    "lists": pa.array([[number] * (number % 3) for number in _NUMBERS]),
    "codes": pa.array([None if number % 11 == 0 else "ab"[number % 2] for number in _NUMBERS]).dictionary_encode(),
}
MASKS = {
    "none": np.zeros(ROWS, dtype=bool),
    "all": np.ones(ROWS, dtype=bool),
    "one": np.arange(ROWS) == 77,
    "half": np.arange(ROWS) % 2 == 1,
    "nearly all": ~np.isin(np.arange(ROWS), [0, 3, 199]),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", _COLUMNS)
@pytest.mark.parametrize("cuts", [[0], [0, 64], [0, 1, 150]], ids=str)
def test_columns_of_every_type_keep_the_rows_of_a_mask(name, mask, cuts):
    array = _COLUMNS[name]
    column = pa.chunked_array([array[start:stop] for start, stop in zip(cuts, [*cuts[1:], ROWS], strict=True)])
    choice = Choice(MASKS[mask])
    chosen = choice.of(column)
    assert chosen.type == column.type
    assert chosen.to_pylist() == [value for value, holds in zip(array.to_pylist(), MASKS[mask], strict=True) if holds]
    assert choice.count == len(chosen)
    assert choice.is_all == (mask == "all")


@pytest.mark.parametrize("mask", MASKS)
def test_categories_that_no_chosen_row_is_of_are_kept(mask):
    column = pa.chunked_array(
        [pa.array(["a", "b"] * 50).dictionary_encode(), pa.array(["c"] * 100).dictionary_encode()]
    )
    chosen = Choice(MASKS[mask]).of(column).unify_dictionaries()
    assert set(chosen.chunk(0).dictionary.to_pylist()) == {"a", "b", "c"}


@given(data=st.data())
def test_rows_of_parts_have_the_numbers_of_their_files(data):
    parts, expected, start = [], [], 0
    for _ in range(data.draw(st.integers(0, 4))):
        start += data.draw(st.sampled_from([0, 0, 3]))
        mask = data.draw(st.none() | st.lists(st.booleans(), min_size=1, max_size=4))
        rows = range(start, start + (2 if mask is None else len(mask)))
        parts.append(RowNumbers(rows, None if mask is None else Choice(np.array(mask))))
        chosen = [number for place, number in enumerate(rows) if mask is None or mask[place]]
        assert parts[-1].n_rows == len(chosen)
        expected += chosen
        start = rows.stop
    numbers = joined_numbers(parts)
    assert list(numbers) == expected
    follow = not expected or expected == list(range(expected[0], expected[-1] + 1))
    assert isinstance(numbers, range) == follow
