"""Methods of an index that ask where labels are, or put labels together, against pandas."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest

INDEXES = {
    "repeated": pd.Index([3, 1, 2, 1], name="n"),
    "text": pd.Index(list("badc")),
    "times": pd.date_range("2020", periods=4, tz="Europe/Paris"),
    "missing": pd.Index([1.5, 2, np.nan, 3]),
    "levels": pd.MultiIndex.from_tuples([("a", 1), ("b", 2), ("a", 3), ("c", 1)]),
}
METHODS = {
    "get_loc": lambda index, own: index.get_loc(own[1]),
    "get_indexer": lambda index, own: index.get_indexer(own[[2, 0]]),
    "argmax": lambda index, own: index.argmax(),
    "argmin": lambda index, own: index.argmin(),
    "argsort": lambda index, own: index.argsort(),
    "equals": lambda index, own: index.equals(own),
    "equals others": lambda index, own: index.equals(own[::-1]),
    "identical": lambda index, own: index.identical(own.set_names(["x"] * own.nlevels)),
    "append": lambda index, own: index.append([own[1:], own[:1]]),
    "append itself": lambda index, own: index.append(index),
    "append another name": lambda index, own: index.append(own.set_names(["x"] * own.nlevels)),
    "drop": lambda index, own: index.drop([own[0]]),
    "drop what isn't there": lambda index, own: index.drop(["zz"]),
    "drop what may not be there": lambda index, own: index.drop(["zz"], errors="ignore"),
}


@pytest.mark.parametrize("npartitions", [1, 3])
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", INDEXES)
def test_an_index_says_where_its_labels_are(name, kind, npartitions):
    own = INDEXES[kind]
    lazy = gd.from_pandas(pd.DataFrame({"x": range(4)}, index=own), npartitions=npartitions, sort=False).index

    def called(index):
        try:
            made = METHODS[name](index, own)
            return made.compute(scheduler="inline") if hasattr(made, "compute") else made
        except (KeyError, ValueError, TypeError, pd.errors.InvalidIndexError) as error:
            return type(error)

    found, expected = called(lazy), called(own)
    if isinstance(expected, pd.Index):
        pd.testing.assert_index_equal(found, expected)
    else:
        assert np.array_equal(found, expected)


def test_what_is_no_index_is_not_appended():
    lazy = gd.from_pandas(pd.DataFrame({"x": range(4)}), npartitions=2).index
    with pytest.raises(TypeError, match="all inputs must be Index"):
        lazy.append([1, 2])
    with pytest.raises(NotImplementedError, match="of another number of levels"):
        lazy.append(INDEXES["levels"])
