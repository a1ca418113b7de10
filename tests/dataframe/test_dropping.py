"""`drop` of rows: the labels go, and one that no row has is pandas' error, at once where divisions tell."""

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, check_all, check_in_parts, labels, plan
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE

NUMBERS = pd.DataFrame({"x": range(9), "y": list("abcdefghi")})
TIMES = NUMBERS.set_axis(pd.date_range("2024", periods=9))
LEVELS = NUMBERS.iloc[:8].set_axis(pd.MultiIndex.from_product([["a", "b"], range(4)], names=["k", "n"]))
TWICE = NUMBERS.set_axis([3, 1, 3, 2, 1, 2, 0, 0, 3])
DROPS = {
    "numbers": (NUMBERS, [4, [1, 7], [], {0, 8}, np.array([2, 2]), range(9), 99, [1, 99], "a", [1.0], [1.5], None]),
    "times": (TIMES, ["2024-01-02", ["2024-01-02"], pd.Timestamp("2024-01-03"), TIMES.index[3:5], ["2025-01-01"]]),
    "levels": (LEVELS, ["a", ("a", 1), [("a", 1), ("b", 2)], "z", [("a", 9)]]),
    "labels that occur twice": (TWICE, [3, [1, 0], 9]),
    "one row": (NUMBERS.iloc[:1], [0, 1]),
    "text": (NUMBERS.set_index("y"), ["b", ["a", "i"], "z"]),
}


@pytest.mark.more
@pytest.mark.parametrize("name", DROPS)
def test_rows_are_dropped_by_label_as_in_pandas(name):
    frame, drops = DROPS[name]
    for wanted in drops:
        check_in_parts(frame, lambda f, wanted=wanted: f.drop(wanted))
        check_in_parts(frame, lambda f, wanted=wanted: f.x.drop(index=wanted))
        check_in_parts(frame, lambda f, wanted=wanted: f.drop(index=wanted, columns=np.array(["x"]), errors="ignore"))


@pytest.mark.more
def test_labels_of_a_level_are_dropped_as_in_pandas():
    check_in_parts(LEVELS, lambda f: f.drop([1, 2], level="n"))
    check_in_parts(LEVELS, lambda f: f.drop([1, 9], level="n"))
    check_in_parts(NUMBERS, lambda f: f.drop(index=1, inplace=False).x)


@pytest.mark.more
def test_lazy_labels_are_dropped_wherever_they_are():
    for frame in (NUMBERS, TIMES, TWICE):
        check_in_parts(frame, lambda f: f.drop(f[f.x % 3 == 0].index))
        check_in_parts(frame, lambda f: f.y.drop(f[f.x > 99].index))
    lazy = gd.from_pandas(NUMBERS, npartitions=3)
    train = lazy.sample(frac=0.5, random_state=1)
    rest = lazy.drop(train.index)
    assert sorted([*train.index.compute(), *rest.index.compute()]) == list(range(9))
    with pytest.raises(KeyError, match=r"\[99\] not found in axis"):
        lazy.drop(gd.from_pandas(pd.Series([1, 99]), npartitions=1)).compute()
    with pytest.raises(TypeError, match="drop takes labels, a lazy index or a lazy series, not a lazy DataFrame"):
        lazy.drop(train)


def test_known_divisions_say_at_once_that_a_label_is_nowhere_and_which_partitions_are_looked_at():
    lazy = gd.from_pandas(NUMBERS, npartitions=3)
    with pytest.raises(KeyError, match=r"\[-1, 9\] not found in axis"):
        lazy.drop([3, -1, 9])
    assert lazy.drop([-1], errors="ignore").divisions == lazy.divisions
    dropped = lazy.drop([0, 1])
    looked_at = [node for node in plan(dropped) if node.label == "drop-check-chunk"]
    assert [node.npartitions for node in looked_at] == [1]
    assert "drop-check" not in labels(lazy.drop([0], errors="ignore"))


def test_a_tuple_is_a_label_as_in_pandas():
    frame = pd.DataFrame({"x": [1, 2, 3]})
    for one in (frame, gd.from_pandas(frame, npartitions=2)):
        with pytest.raises(KeyError, match=r"\[\(0, 1\)\] not found in axis"):
            one.drop((0, 1)).compute()


OF_LEVELS = pd.DataFrame(
    np.arange(12).reshape(3, 4), columns=pd.MultiIndex.from_product([["x", "y"], ["p", "q"]], names=["k", "l"])
)


@pytest.mark.parametrize(
    "arguments",
    [
        {"labels": "x", "axis": 1},
        {"columns": ("x", "q")},
        {"columns": ["q"], "level": 1},
        {"labels": "p", "axis": 1, "level": "l"},
        {"columns": "w", "level": "l", "errors": "ignore"},
        {"columns": "w", "level": "l"},
        {"labels": "x", "index": 1},
        *([{"index": 1, "axis": 1}] if HAS_COPY_ON_WRITE else []),  # pandas 2 ignores the axis
    ],
    ids=str,
)
def test_columns_of_several_levels_are_dropped_as_by_pandas(arguments):
    check_all({"drop": lambda f: f.drop(**arguments)}, OF_LEVELS, gd.from_pandas(OF_LEVELS, npartitions=2))


@pytest.mark.parametrize(
    ("level", "wanted"),
    [
        (pd.array([1, 2, None, 2], dtype="Int64"), [[2, pd.NA], [None], pd.NA, np.nan, [1, None], [9]]),
        ([1, 2, np.nan, 2], [[2, np.nan], [None], np.nan, [9, np.nan]]),
        (["a", "b", None, "b"], [["b", None], [np.nan], ["z"], ["a", "z"]]),
        (["a", "b", "a", "b"], [[None], ["a", None]]),
    ],
    ids=["nullable numbers", "fractions", "text", "nothing missing"],
)
def test_missing_labels_of_a_level_are_dropped(level, wanted):
    frame = pd.DataFrame({"x": range(4)}, index=pd.MultiIndex.from_arrays([level, [1, 2, 3, 4]]))
    operations = {
        str((labels, errors)): lambda f, labels=labels, errors=errors: f.drop(labels, level=0, errors=errors)
        for labels in wanted
        for errors in ("raise", "ignore")
    }
    check_all(operations, frame, gd.from_pandas(frame, npartitions=3, sort=False), check_dtype=True)


@pytest.mark.parametrize(
    "index",
    [
        NUMBERS.index, pd.RangeIndex(0, 18, 2), pd.Index([3, 1, 8, 2, 7, 0, 4, 6, 5]), pd.Index([0, 1.5, np.nan, *range(2, 8)]), TIMES.index,
        TIMES.index.tz_localize("UTC"), TIMES.index - TIMES.index[0], NUMBERS.set_index("y").index, NUMBERS.index.astype("Int64"),
        NUMBERS.set_index("y").index.astype("category"), pd.Index([0, 1, 2] * 3),
    ],
    ids=lambda index: f"{type(index).__name__}-{index.dtype}",
)  # fmt: skip
def test_rows_are_dropped_by_the_labels_of_others(index):
    frame = NUMBERS.set_axis(index)
    lazy = gd.from_pandas(frame, npartitions=2, sort=False)
    for chosen in ([0, 3], [0, 4, 8], [], list(range(9))):
        others = frame[frame.x.isin(chosen)].index
        some = lazy[lazy.x.isin(chosen)].index
        for wanted in (others, some, some.to_series(), others.tolist()):
            assert_same(lazy.drop(wanted).compute(scheduler="inline"), frame.drop(others))


def test_none_beside_numbers_is_a_label():
    frame = pd.DataFrame({"a": range(6)}, index=pd.Index([4, 5, 0, 2, None, 3], dtype=object))
    lazy = gd.from_pandas(frame, npartitions=2, sort=False)
    assert_same(lazy.drop([None, 4]).compute(scheduler="inline"), frame.drop([None, 4]))
