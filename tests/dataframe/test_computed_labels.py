"""Labels that are computed from others: it isn't known which of them are in which partition."""

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from glassloom.errors import DivisionError

FRAME = pd.DataFrame({"x": range(8)}, index=pd.Index([0, 2, 4, 6, 8, 10, 12, 14], name="k"))
COMPUTED = {
    "added": lambda index: index + 1,
    "from the right": lambda index: 10 - index,
    "negated": lambda index: -index,
    "by NumPy": lambda index: np.negative(index),
    "added by NumPy": lambda index: np.add(index, 1),
    "divided by NumPy": lambda index: np.divmod(index, 3)[1],
    "mapped": lambda index: index.map(lambda label: label + 1),
    "of two": lambda index: index + index * 2,
}


@pytest.fixture(params=list(COMPUTED))
def computed(request):
    lazy = gd.from_pandas(FRAME, npartitions=4)
    return lazy, COMPUTED[request.param](lazy.index), COMPUTED[request.param](FRAME.index)


def test_divisions_of_computed_labels_arent_those_of_the_others(computed):
    _, index, expected = computed
    assert index.divisions == (None,) * 5
    pd.testing.assert_index_equal(index.compute(), expected)
    for rows in (index.to_series(), index.to_frame()):
        assert rows.divisions == (None,) * 5
    pd.testing.assert_frame_equal(index.to_frame().sort_index().compute(), expected.to_frame().sort_index())


def test_rows_under_computed_labels_arent_combined_by_partition(computed):
    lazy, index, expected = computed
    with pytest.raises(DivisionError, match="cut differently"):
        index.to_series() + lazy.x
    made = lazy.assign(y=index.to_series())  # whose values are looked up by label
    if not expected.is_unique:
        with pytest.raises(ValueError, match="cannot reindex on an axis with duplicate labels"):
            made.compute()
        return
    pd.testing.assert_frame_equal(made.compute(), FRAME.assign(y=expected.to_series()))


def test_computed_labels_choose_rows_and_are_set_by_place(computed):
    lazy, index, expected = computed
    pd.testing.assert_frame_equal(lazy[index > 3].compute(), FRAME[expected > 3])
    pd.testing.assert_index_equal(index[index > 3].compute(), expected[expected > 3])
    assert index[index > 3].to_series().divisions == (None,) * 5
    with pytest.raises(DivisionError, match="cut differently"):
        index[index > 3].to_series() + lazy[index > 3].x
    pd.testing.assert_frame_equal(lazy[~index.duplicated()].compute(), FRAME[~expected.duplicated()])
    pd.testing.assert_frame_equal(
        lazy.set_index(index).compute().sort_index(), FRAME.set_index(expected).sort_index(), check_names=False
    )


def test_comparisons_of_labels_stay_beside_their_rows():
    lazy = gd.from_pandas(FRAME, npartitions=4)
    condition = (lazy.index > 3) & (lazy.x < 6)
    assert condition.divisions == lazy.divisions
    pd.testing.assert_frame_equal(lazy[condition].compute(), FRAME[(FRAME.index > 3) & (FRAME.x < 6)])
