"""Subscripts of frames and series, `frame[...]` and `series[...]`, by what kind of key they are given, against pandas."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same


@pytest.mark.parametrize("rows", [slice(1.0, 3), slice(1, 3.0), slice("1", None)])
def test_slices_of_other_values_than_positions_are_refused_among_whole_numbers_as_in_pandas(rows):
    for labels in (range(4), pd.Index([3, 1, 2, 0], dtype="Int64")):
        plain = pd.DataFrame({"a": range(4)}, index=labels)
        lazy = gd.from_pandas(plain, npartitions=2, sort=False)
        for one in (plain, plain.a, lazy, lazy.a):
            with pytest.raises(TypeError, match="cannot do slice indexing on .* with these indexers"):
                one[rows]
            with pytest.raises(TypeError, match="cannot do slice indexing on .* with these indexers"):
                one[rows] = 0


def test_an_array_of_no_axis_is_the_label_in_it():
    plain = pd.DataFrame({0: [1, 2, 3], 1: [4, 5, 6]})
    lazy = gd.from_pandas(plain, npartitions=2)
    for choose in (lambda one: one[np.array(1)], lambda one: one[0][np.array(1)], lambda one: one[0].loc[np.array(2)]):
        assert_same(choose(lazy).compute(scheduler="inline"), choose(plain))
    assert lazy[0][...].compute(scheduler="inline").equals(plain[0])
