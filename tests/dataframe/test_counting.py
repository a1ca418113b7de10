"""Rows in the order of small numbers: by counting as by sorting, and what isn't a place is refused before memory is touched."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from glassloom.dataframe.moving import counting
from glassloom.dataframe.moving.counting import rows_in_order
from glassloom.dataframe.moving.exchange import split
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

DTYPES = (np.int8, np.uint8, np.int32, np.int64, np.uint64)


@settings(max_examples=examples(30), deadline=None)
@given(numbers=st.lists(st.integers(0, 20), max_size=60), dtype=st.sampled_from(DTYPES))
@pytest.mark.parametrize("counts", [True, False], ids=["by counting", "by sorting"])
def test_rows_come_in_the_order_of_their_places_equal_ones_in_their_old_order(counts, numbers, dtype):
    with pytest.MonkeyPatch.context() as patch:
        if not counts:  # where pandas has no such function any more
            patch.setattr(counting, "_counting_sort", None)
        rows, starts = rows_in_order(np.array(numbers, dtype), 21)
    assert rows.dtype == np.intp
    assert rows.tolist() == sorted(range(len(numbers)), key=numbers.__getitem__)
    assert starts.tolist() == [sum(one < place for one in numbers) for place in range(22)]


@pytest.mark.parametrize("places", [[0, 3, 1], [0, -1, 1]])
def test_what_is_no_place_is_refused(places):
    with pytest.raises(ValueError, match="place 3 should be below 3|negative"):
        rows_in_order(np.array(places), 3)


@settings(max_examples=examples(30), deadline=None)
@given(places=st.lists(st.integers(0, 4), max_size=30))
def test_a_block_is_split_in_the_order_of_its_rows(places):
    frame = pd.DataFrame({"row": range(len(places)), "text": list(map(str, places))}, index=range(5, 5 + len(places)))
    pieces = split(frame, np.array(places, np.int64), 5)
    for number in range(5):
        wanted = frame[[place == number for place in places]] if places else frame
        pd.testing.assert_frame_equal(pieces.piece(number), wanted)


def test_a_block_whose_rows_all_go_to_one_output_is_not_copied():
    frame = pd.DataFrame({"x": range(4)})
    pieces = split(frame, np.full(4, 2), 4)
    assert pieces.frame is frame
    assert pieces.bounds.tolist() == [0, 0, 0, 4, 4]
