"""`where`, `mask` and `set_axis` by arrays and lists with a value for each row; keys of `iloc` and `loc` that say more or less than rows and columns."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, check_in_parts, partitionings
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE

FRAME = pd.DataFrame({"x": range(8), "f": np.arange(8) * 1.5, "s": ["u", "v", None, "w"] * 2})
MASK = [True, False, False, True] * 2
TABLE = np.array([MASK, MASK[::-1]]).T

REPLACED = {
    "a list": lambda f: f.x.where(MASK),
    "an array": lambda f: f.x.mask(np.array(MASK), 0),
    "a nullable array": lambda f: f.x.where(pd.array([True, None] * 4)),
    "an index": lambda f: f.s.where(pd.Index(MASK)),
    "values in a list": lambda f: f.x.where(f.x > 3, list(range(8, 16))),
    "values of wider numbers": lambda f: f.x.where(MASK, np.arange(8) / 2),
    "texts": lambda f: f.s.mask(f.x > 3, list("abcdefgh")),
    "values in a tuple": lambda f: f.x.where(f.x > 3, tuple(range(8, 16))),
    "one value": lambda f: f.x.where(f.x > 3, [5]),
    "an array of a frame": lambda f: f[["x", "f"]].where(TABLE),
    "lists of a frame": lambda f: f[["x", "f"]].mask(TABLE.tolist(), 0),
    "values of a frame": lambda f: f[["x", "f"]].where(f[["x", "f"]] > 3, np.arange(16).reshape(8, 2)),
    "too short": lambda f: f.x.where(MASK[1:]),
    "a row of a frame": lambda f: f[["x", "f"]].where(f[["x", "f"]] > 3, np.array([1, 2])),
}
LABELLED = {
    "labels": lambda f: f.set_axis(list("hgfedcba")),
    "labels of a series": lambda f: f.x.set_axis(range(10, 18)),
    "tuples": lambda f: f.set_axis([("a", one) for one in range(8)]),
    "lists of each level": lambda f: f.set_axis([list("aabbccdd"), [1, 2] * 4]),
    "a column": lambda f: f.set_axis(f.f),
    "names of columns": lambda f: f.set_axis(list("uvw"), axis="columns"),
    "too few labels": lambda f: f.set_axis([1, 2]),
    "columns of a series": lambda f: f.x.set_axis([1, 2], axis=1),
}


def with_set(key, value):
    def made(frame):
        frame = frame.copy()
        frame[key] = value(frame) if callable(value) else value
        return frame

    return made


SET = {
    "a range": with_set("z", range(8)),
    "a tuple": with_set("z", tuple("abcdefgh")),
    "keys": with_set("z", dict.fromkeys(range(8)).keys()),
    "a dict by label": with_set("z", {1: 5, 7: 6}),
    "an array of one column": with_set("x", np.ones((8, 1))),
    "an array without axes": with_set("z", np.array(5)),
    "an array for columns": with_set(["x", "z"], TABLE),
    "lists for columns": with_set(["x", "z"], [[1, 2]] * 8),
    "a pandas frame for columns": with_set(["x", "f"], pd.DataFrame({"a": range(8), "b": list("abcdefgh")})),
    "values of columns": with_set(["x", "z"], lambda frame: frame[["f", "x"]].values),
    "a value for each column": with_set(["x", "z"], [1, "a"]),
    "a series for columns": with_set(["x", "f"], lambda frame: frame["x"]),
    "too few in a range": with_set("z", range(7)),
    "a set": with_set("z", set(range(8))),
}
CHOSEN = {
    "all by place": lambda f: f.iloc[()],
    "all of a series": lambda f: f.x.iloc[()],
    "rows alone": lambda f: f.iloc[(slice(1, 5),)],
    "an ellipsis": lambda f: f.iloc[...],
    "an ellipsis for rows": lambda f: f.iloc[..., [0, 2]],
    "an ellipsis for columns": lambda f: f.iloc[[5, 1], ...],
    "an ellipsis by label": lambda f: f.loc[..., ["s"]],
    "text": lambda f: f.iloc["a"],
    "None": lambda f: f.iloc[None],
}
NOT_THERE = {
    "more than columns": (lambda f: f.iloc[1, 2, 3], pd.errors.IndexingError, r"iloc\[1, 2, 3\]: Too many indexers"),
    "labels of more": (lambda f: f.loc[1, "x", "f"], pd.errors.IndexingError, "Too many indexers; a frame has rows"),
    "columns of a series": (lambda f: f.x.iloc[0, 0], pd.errors.IndexingError, "a series has no columns"),
    "two ellipses": (lambda f: f.iloc[..., ...], pd.errors.IndexingError, "only contain one '...' entry"),
    "a short mask": (lambda f: f.iloc[[True, False]], IndexError, "iloc: Boolean index has wrong length: 2"),
    "a short mask by label": (lambda f: f.loc[[True, False]], IndexError, "loc: Boolean index has wrong length: 2"),
    "a tuple": (lambda f: f.s.astype("category").where(f.x > 3, tuple("uvwuuvwu")), TypeError, r"give list\(...\)"),
    "a list for columns": (lambda f: f[["x", "f"]].where(f[["x", "f"]] > 3, [1, 2]), ValueError, "with axis=1"),
}


@pytest.mark.more
@pytest.mark.parametrize(
    "operation",
    [*REPLACED.values(), *LABELLED.values(), *SET.values(), *CHOSEN.values()],
    ids=[*REPLACED, *LABELLED, *SET, *CHOSEN],
)
def test_what_is_at_hand_for_rows_is_taken_as_by_pandas(operation):
    check_in_parts(FRAME, operation)


@pytest.mark.parametrize(("operation", "error", "text"), NOT_THERE.values(), ids=NOT_THERE)
def test_keys_that_fit_nothing_are_named(operation, error, text):
    for lazy in partitionings(FRAME)[1:]:
        with pytest.raises(error, match=text):
            operation(lazy)


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="pandas 2 chooses the dtype by the values that stay")
@pytest.mark.parametrize("own", ["float32", "float64", "int8", "int64", "uint8", "bool"])
@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3, 4],
        [1.0, 2.0, 3.0, 4.0],
        [1.5, 2.0, 3.0, 4.0],
        [1000, -2, 3, 4],
        [2**53 + 1, 2, 3, 4],
        [True, False] * 2,
    ],
)
def test_values_that_replace_others_give_the_dtype_that_holds_them_all(own, values):
    plain = pd.DataFrame({"x": pd.Series([1, 0, 1, 1]).astype(own), "k": [1, 2, 3, 1]})
    lazy = gd.from_pandas(plain, npartitions=2)
    for given in (values, np.array(values), np.array(values, dtype=object)):
        assert_same(lazy.x.where(lazy.k > 1, given).compute(), plain.x.where(plain.k > 1, given))
        assert_same(lazy.x.mask(lazy.k > 1, given).compute(), plain.x.mask(plain.k > 1, given))
    if own != "bool":
        table = np.array([values] * 2).T
        assert_same(lazy.where(lazy.k > 1, table).compute(), plain.where(plain.k > 1, table))


UNLIKE = [[9, 8, 7, 6.5]] if HAS_COPY_ON_WRITE else []  # of which pandas 2 makes objects, if it gets some alone


@pytest.mark.parametrize("labels", [[1, 2, 3, 4], list("abcd"), [1.5, 2.5, 3.5, 4.5]])
def test_labels_are_replaced_by_values_for_each(labels):
    plain = pd.DataFrame({"v": range(4)}, index=pd.Index(labels, name="n"))
    keep = np.array([True, False, True, False])
    lazy = gd.from_pandas(plain, npartitions=2)
    for frame in (lazy, lazy[lazy.v >= 0]):  # the lengths of the second aren't known
        for condition in (keep, keep.tolist(), pd.Series(keep), pd.Index(keep)):
            for other in (0, None, plain.index[::-1], np.array([9, 8, 7, 6]), *UNLIKE):
                made = frame.index.where(condition, other).compute()
                pd.testing.assert_index_equal(made, plain.index.where(condition, other))
        with pytest.raises(
            ValueError, match=r"where\(cond\).: Length of values \(3\) does not match length of index \(4\)"
        ):
            frame.index.where(keep[:3], 0)
        with pytest.raises(ValueError, match=r"where\(other\).: Length of values \(2\) does not match"):
            frame.index.where(keep, [1, 2])
