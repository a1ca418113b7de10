"""`replace` of values by others of another kind: what follows is planned for objects, as pandas makes them."""

import warnings

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE

INLINE = {"scheduler": "inline"}
PLAIN = pd.DataFrame(
    {
        "sex": ["m", "f", "f", "m", None, "m"],
        "n": [1, 2, 3, 1, 2, 3],
        "x": [1.5, None, 2.5, 3.5, 4.5, 5.5],
        "k": list("aabbcc"),
    }
)
NUMBERS = {"m": 0, "f": 1}
TEXTS = {1: "one", 2: "two", 3: "three"}
REPLACED = {
    "mean": lambda f: f.sex.replace(NUMBERS).mean(),
    "sum by lists": lambda f: f.sex.replace(["m", "f"], [0, 1]).sum(),
    "a scalar": lambda f: f.sex.replace("m", 0),
    "None": lambda f: f.sex.replace("m", None),
    "None in a dict": lambda f: f.sex.replace({"m": None}),
    "by a pattern": lambda f: f.sex.replace("^m$", 0, regex=True),
    "compared": lambda f: f.sex.dropna().replace(NUMBERS) > 0,
    "converted": lambda f: f.sex.replace(NUMBERS).astype(float),
    "groups": lambda f: f.assign(sex=f.sex.replace(NUMBERS)).groupby("k").sex.mean(),
    "a named column": lambda f: f.replace({"sex": NUMBERS}).dtypes.astype(str),
    "a named column's mean": lambda f: f.replace({"sex": NUMBERS}).sex.mean(),
    "a column and a value": lambda f: f.replace({"sex": "m"}, 0),
    "columns and values": lambda f: f.replace({"sex": "m", "n": 2}, {"sex": 0, "n": "two"}),
    "text of numbers": lambda f: f.n.replace(TEXTS),
    "text of floats": lambda f: f.x.replace({1.5: "low"}),
    "numbers that aren't there": lambda f: f.replace({"n": {-999: None}, "x": {-1: "none"}}).mean(numeric_only=True),
    "a number that isn't there": lambda f: f.n.replace(-999, "unknown").quantile(0.5),
    "what isn't there": lambda f: f.k.replace({"z": 0}),
    "what can't be there": lambda f: f.sex.replace({1: 0}).str.upper(),
    "missing ones": lambda f: f.x.replace(float("nan"), 0).sum(),
    "numbers by numbers": lambda f: f.n.replace({1: 10}).max(),
}


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before, pandas makes numbers of objects")
@pytest.mark.parametrize("case", REPLACED)
def test_what_is_replaced_by_another_kind_is_objects(case):
    expected = REPLACED[case](PLAIN)
    pieces = [PLAIN[:0], PLAIN[:2], PLAIN[2:4], PLAIN[4:5], PLAIN[5:]]  # one without rows, one whose text is missing
    for lazy in (gd.from_pandas(PLAIN, npartitions=2), gd.from_map(pieces.__getitem__, range(5), meta=PLAIN[:0])):
        made = REPLACED[case](lazy)
        assert_same(made.compute(**INLINE) if hasattr(made, "compute") else made, expected)


@pytest.mark.parametrize("method", ["convert_dtypes", "infer_objects"])
def test_dtypes_are_found_of_numbers_that_are_objects_in_some_partitions(method):
    frame = pd.DataFrame({"u": np.array([1, 2, 3, 4], "uint8"), "x": [0.5, 1, 2, 3]})
    lazy = gd.from_pandas(frame, npartitions=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # pandas 2 warns of replace
        for made, expected in ((lazy, frame), (lazy.u, frame.u)):
            found = getattr(made.replace({1: None}), method)().compute(**INLINE)
            assert_same(found, getattr(expected.replace({1: None}), method)())
