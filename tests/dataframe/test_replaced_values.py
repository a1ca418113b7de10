"""`replace` of values by others of another kind: what follows is planned for objects, as pandas makes them."""

from unittest import mock

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, labels
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


SMALL = pd.DataFrame(
    {
        "a": np.array([1, 2, 3, 200, 201, 202], "uint8"),
        "x": [0.0, 1.5, 3.0, 4.5, 6.0, 7.5],
        "yes": [True, False, False, False, False, False],
        "t": pd.date_range("2024-01-01", periods=6),
        "n": pd.array([1, 2, 3, 200, 201, 202], "UInt8"),
        "s": list("uvwxyz"),
    }
)
ONE_DTYPE = {
    "None in a dict": lambda f: f.a.replace({1: None}) + 100,
    "None in lists": lambda f: f.a.replace([1, 202], [None, 7]) + 100,
    "None for several": lambda f: f.a.replace([1, 2], None) + 100,
    "a series": lambda f: f.a.replace(pd.Series({1: None}), regex=False) + 100,
    "text": lambda f: f.a.replace(1, "one") * 2,
    "a fraction": lambda f: f.a.replace({1: 1.5}) + 100,
    "a missing number": lambda f: f.a.replace(1, np.nan) + 100,
    "a larger number": lambda f: f.a.replace({1: 300}) + 100,
    "a boolean by a number": lambda f: -f.yes.replace({True: 7}),
    "nullable numbers": lambda f: f.n.replace({1: None}) * 2,
    "times": lambda f: f.t.replace({pd.Timestamp("2024-01-01"): "new year"}).astype(str),
    "all columns": lambda f: f[["a", "x"]].replace({1: None})[["a"]] + 100,
    "a named column": lambda f: f.replace({"a": {1: None}, "s": {"u": 0}}).a + 100,
    "a column and a value": lambda f: f.replace({"a": 1}, "one").a * 2,
    "inferred": lambda f: f.a.replace({1: None}).infer_objects() + 100,
    "rows before": lambda f: f.a.replace({202: None})[f.x < 2],
    "missing numbers by text": lambda f: f.x.where(f.x > 1).replace(np.nan, "none")[f.a > 3],
    "by column": lambda f: f.replace({"a": 1, "n": 2}, {"a": "one", "n": 30})[["a", "n"]][f.a > 3],
    "what isn't there": lambda f: f.a.replace({99: None}) + 100,
    "mask by text": lambda f: f.a.mask(f.a == 1, "one") * 2,
    "where by text of a column": lambda f: f.a.where(f.a > 1, f.s) * 2,
    "mask of a frame": lambda f: (f[["a", "x"]].mask(f.x > 6, "much") * 2).astype(str),
    "mask by a list": lambda f: f.a.mask(f.a == 1, list("uvwxyz")) * 2,
}


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before, pandas makes numbers of objects")
@pytest.mark.parametrize("case", ONE_DTYPE)
def test_partitions_in_which_nothing_is_replaced_have_the_dtype_of_the_others(case):
    expected = ONE_DTYPE[case](SMALL)
    pieces = [SMALL[:0], SMALL[:2], SMALL[2:5], SMALL[5:]]
    lazies = [gd.from_pandas(SMALL, npartitions=3)]
    lazies += [] if case == "mask by a list" else [gd.from_map(pieces.__getitem__, range(4), meta=SMALL[:0])]
    for lazy in lazies:
        assert_same(ONE_DTYPE[case](lazy).compute(**INLINE), expected)


def test_what_fits_is_replaced_without_asking_other_partitions():
    lazy = gd.from_pandas(SMALL, npartitions=3)
    for made in (
        lazy.a.replace({1: 10}),
        lazy.a.replace({-999: None}),
        lazy.x.replace(1.5, np.nan),
        lazy.replace("u", "U"),
        lazy[["x", "s"]].replace(np.nan, None),
        lazy.x.replace({1.5: None}),
    ):
        assert "common-dtypes" not in labels(made)
    assert "common-dtypes" in labels(lazy.a.replace({1: None}))


def test_many_values_are_replaced_without_trying_each():
    """A dict for each column, and one of many values of several kinds: `replace` of pandas itself is asked a few times a column."""
    lazy = gd.from_pandas(pd.DataFrame({f"c{number}": [1, 2] for number in range(20)}), npartitions=2)
    for given in ({name: {1: "one"} for name in lazy.columns}, dict.fromkeys(range(2000), 7), {1: 2.5, "a": "b"}):
        with mock.patch.object(pd.DataFrame, "replace", autospec=True, side_effect=pd.DataFrame.replace) as replace:
            lazy.replace(given)
        assert replace.call_count <= 3 * len(lazy.columns)
