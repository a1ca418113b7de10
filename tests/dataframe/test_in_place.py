"""`apply` without keys in the result: where rows go hangs on what the function returned for all groups."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import WITHOUT_KEYS, assert_same

_RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {"a": _RANDOM.integers(0, 9, 30), "k": _RANDOM.choice([*"abc", None], 30), "x": _RANDOM.random(30)},
    index=pd.Index(range(100, 130), name="i"),
)
OF_FRAMES = {
    "all rows": lambda group: group,
    "another column": lambda group: group.assign(y=group.x - group.x.mean()),
    "unlike columns": lambda group: group.assign(**{f"y{len(group) % 2}": 1}),
    "some rows": lambda group: group[group.x > group.x.mean()],
    "rows of few groups alone are left out": lambda group: group.head(6),
    "another order": lambda group: group.sort_values("x"),
    "other labels": lambda group: group.reset_index(drop=True),
    "rows twice": lambda group: pd.concat([group, group]),
    "a series": lambda group: group.x * 2,
    "a value": lambda group: group.x.sum(),
}
OF_SERIES = {
    "all rows": lambda values: values - values.mean(),
    "some rows": lambda values: values[values > values.mean()],
    "another order": lambda values: values.sort_values(),
    "a value": lambda values: values.sum(),
}


@pytest.mark.parametrize("options", [{}, {"dropna": False}, {"sort": False}], ids=str)
@pytest.mark.parametrize("name", OF_FRAMES)
def test_rows_of_frames_are_where_pandas_puts_them(name, options):
    for keys in (["k"], ["k", "a"]):
        compare(
            lambda frame, keys=keys: frame.groupby(keys, group_keys=False, **options).apply(
                OF_FRAMES[name], **WITHOUT_KEYS
            )
        )


@pytest.mark.parametrize("name", OF_SERIES)
def test_values_of_series_are_where_pandas_puts_them(name):
    compare(lambda frame: frame.groupby("k", group_keys=False).x.apply(OF_SERIES[name]))
    compare(lambda frame: frame.x.groupby(frame.a % 4, group_keys=False).apply(OF_SERIES[name]))


def compare(function):
    wanted = function(FRAME)
    for npartitions, is_sorted in ((3, True), (7, False)):
        lazy = gd.from_pandas(FRAME, npartitions, sort=is_sorted)
        assert_same(function(lazy).compute(scheduler="inline"), wanted)


def test_rows_without_any_key_and_partitions_without_groups():
    frame = FRAME.assign(k=None)
    lazy = (
        gd.from_pandas(frame, 3).groupby("k", group_keys=False).apply(lambda group: group.assign(y=1.5), **WITHOUT_KEYS)
    )
    assert len(lazy.compute(scheduler="inline")) == 0
    one = FRAME[FRAME.k == "a"]
    assert_same(
        gd.from_pandas(one, 4)
        .groupby("k", group_keys=False)
        .apply(lambda group: group.assign(y=1.5), **WITHOUT_KEYS)
        .compute(),
        one.groupby("k", group_keys=False).apply(lambda group: group.assign(y=1.5), **WITHOUT_KEYS),
    )


def test_in_one_partition_and_with_a_given_meta():
    def scaled(group):
        return group[["x"]] / group.x.sum()

    wanted = FRAME.groupby("k", group_keys=False).apply(scaled)
    groups = gd.from_pandas(FRAME, 4).groupby("k", group_keys=False)
    one = groups.apply(scaled, split_out=1)
    assert one.npartitions == 1
    assert_same(one.compute(), wanted)
    assert_same(groups.apply(scaled, meta=FRAME[["x"]].iloc[:0]).compute(), wanted)


def test_an_error_of_the_function_is_raised():
    def fails(group):
        if len(group) > 2:
            raise ZeroDivisionError("no such share")
        return group

    lazy = gd.from_pandas(FRAME, 4).groupby("k", group_keys=False).apply(fails)
    with pytest.raises(ZeroDivisionError, match="no such share"):
        lazy.compute()
