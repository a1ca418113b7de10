"""Partitions have the dtypes that the meta says, also where only some have the values that make pandas choose a wider one."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import blocks_of

WHOLE = pd.DataFrame(
    {
        "a": [1, 2, 3, 4, 5, 2, 1, 3],
        "b": [True, False] * 4,
        "c": np.arange(8, dtype="uint8"),
        "f": np.arange(8) / 2,
        "t": pd.date_range("2020", periods=8),
    }
)
CUTS = [(0, 8), (0, 2, 2, 5, 8), (0, 0, 8, 8), (0, 1, 2, 3, 4, 5, 6, 7, 8)]
CHANGES = {
    "where": lambda x: x.where(x["a"] != 4),
    "mask": lambda x: x.mask(x["a"] == 4),
    "where of a column": lambda x: x["a"].where(x["a"] != 4),
    "mask of a column": lambda x: x["b"].mask(x["a"] == 4),
    "where with a fraction": lambda x: x["c"].where(x["a"] != 4, 0.5),
    "mask with a column": lambda x: x["c"].mask(x["a"] == 4, x["f"]),
    "a function": lambda x: x[["a", "c"]].mask(lambda y: y["a"] == 4),
}


def lazy(cuts):
    pieces = [WHOLE[start:end] for start, end in zip(cuts, cuts[1:], strict=False)]
    return gd.from_map(pieces.__getitem__, range(len(pieces)), meta=WHOLE[:0])


@pytest.mark.each_choice
@pytest.mark.parametrize("cuts", CUTS, ids=str)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_all_partitions_have_the_dtypes_of_the_meta(cuts, change):
    made, expected = change(lazy(cuts)), change(WHOLE)
    check = pd.testing.assert_frame_equal if isinstance(expected, pd.DataFrame) else pd.testing.assert_series_equal
    for block in blocks_of(made):
        check(block.iloc[:0].reset_index(drop=True), made._meta.iloc[:0].reset_index(drop=True))
    check(made.compute(), expected)


NOT_REPLACED = {
    "where of what isn't missing": lambda x: x.where(x.notna(), None),
    "where of what isn't null": lambda x: x.where(x.notnull()),
    "mask of what is missing": lambda x: x.mask(x.isna(), 0.5),
    "where not missing": lambda x: x.where(~x.isna()),
    "mask not there": lambda x: x.mask(~x.notna(), None),
    "a column": lambda x: x["a"].where(x["a"].notna()),
    "by another column": lambda x: x["a"].where(x["c"].notna()),
    "all by a column": lambda x: x[["a", "f"]].where(x["c"].notna()),
}


@pytest.mark.parametrize("change", NOT_REPLACED.values(), ids=NOT_REPLACED.keys())
def test_columns_that_can_miss_nothing_keep_their_dtype_where_missing_values_are_replaced(change):
    made, expected = change(lazy(CUTS[1])), change(WHOLE)
    check = pd.testing.assert_frame_equal if isinstance(expected, pd.DataFrame) else pd.testing.assert_series_equal
    check(made.compute(), expected)
    check(made._meta.reset_index(drop=True), expected[:0].reset_index(drop=True))


def test_the_opposite_condition_and_other_rows_replace_whole_numbers():
    frame = lazy(CUTS[1])
    assert frame["a"].where(frame["a"].isna()).dtype == frame["a"].mask(frame["a"].notna()).dtype == "float64"
    filtered = frame[frame["a"] > 2]["a"]
    assert frame["a"].where(filtered.notna()).dtype == "float64"
    assert frame["a"].where(frame["f"].notna()).dtype == "float64"


FOLLOWING = {
    "cumsum": lambda x: x.cumsum(),
    "cummax": lambda x: x.cummax(),
    "rank": lambda x: x.rank(),
    "astype": lambda x: x.astype(str),
    "mode": lambda x: x.mode(),
    "iloc": lambda x: x.iloc[:2],
    "shift": lambda x: x.shift(1),
}


@pytest.mark.parametrize("following", FOLLOWING.values(), ids=FOLLOWING.keys())
def test_what_follows_a_missing_value_of_one_partition_is_pandas(following):
    made = following(lazy(CUTS[1])["a"].mask(lazy(CUTS[1])["a"] == 4)).compute()
    pd.testing.assert_series_equal(made, following(WHOLE["a"].mask(WHOLE["a"] == 4)))


def test_nothing_replaced_gives_the_same_dtypes():
    made = lazy(CUTS[1])["a"].mask(lazy(CUTS[1])["a"] == 40)
    assert made.dtype == "float64" and made.compute().tolist() == WHOLE["a"].tolist()


def test_the_text_of_files_is_pandas(tmp_path):
    frame = lazy(CUTS[1])
    frame.where(frame["a"] != 4).to_csv(tmp_path / "a.csv", single_file=True)
    assert (tmp_path / "a.csv").read_text() == WHOLE.where(WHOLE["a"] != 4).to_csv()


LEFT = pd.DataFrame({"k": [1, 2, 3, 4, 5, 6]})
RIGHT = pd.DataFrame({"k": [1, 2, 3, 4], "v": [10, 20, 30, 40], "b": [True, False, True, False]})


@pytest.mark.parametrize("following", [lambda x: x.cumsum(), lambda x: x.rank(), lambda x: x.cummin()])
def test_a_join_that_misses_rows_in_one_partition_may_be_followed(following):
    joined = gd.from_pandas(LEFT, npartitions=3).merge(gd.from_pandas(RIGHT, npartitions=1), on="k", how="left")
    expected = following(LEFT.merge(RIGHT, on="k", how="left")["v"])
    pd.testing.assert_series_equal(following(joined["v"]).compute().reset_index(drop=True), expected)


def test_a_join_that_misses_rows_in_one_partition_is_written_and_read(tmp_path):
    joined = gd.from_pandas(LEFT, npartitions=3).merge(gd.from_pandas(RIGHT, npartitions=1), on="k", how="left")
    joined.to_parquet(tmp_path / "joined")
    found = gd.read_parquet(tmp_path / "joined").compute().reset_index(drop=True)
    assert found["v"].tolist()[:4] == [10, 20, 30, 40] and found["v"].isna().tolist() == [False] * 4 + [True] * 2
    assert found["b"].isna().tolist() == [False] * 4 + [True] * 2 and found["b"].tolist()[:2] == [True, False]


def test_missing_values_of_a_join_that_are_replaced_by_a_fraction_are_written_and_read(tmp_path):
    joined = gd.from_pandas(LEFT, npartitions=3).merge(gd.from_pandas(RIGHT, npartitions=1), on="k", how="left")
    joined.mask(joined.isna(), 0.5)[["k", "v"]].to_parquet(tmp_path / "joined")
    assert gd.read_parquet(tmp_path / "joined").compute()["v"].tolist() == [10, 20, 30, 40, 0.5, 0.5]


def test_times_that_are_missing_are_not_counted_by_expanding():
    times = pd.Series(pd.to_timedelta(["1h", None, "2h", None, "3h"]), name="t")
    lazy_times = gd.from_pandas(times, npartitions=3)
    assert lazy_times.expanding().count().compute().tolist() == [1.0, 1.0, 2.0, 2.0, 3.0]


def test_categories_of_texts_in_one_partition_and_numbers_in_another():
    mixed = pd.Series(["a", None, 1, "b", 2], dtype=object)
    found = gd.from_pandas(mixed, npartitions=3).astype("category").compute()
    assert set(found.cat.categories) == {"a", "b", 1, 2} and found.astype(object).dropna().tolist() == ["a", 1, "b", 2]


@pytest.mark.parametrize("method", ["quantile", "median", "mode"])
def test_statistics_of_equal_names_of_columns_are_refused(method):
    twice = gd.from_pandas(WHOLE[["a", "f"]].set_axis(["a", "a"], axis=1), npartitions=2)
    with pytest.raises(
        NotImplementedError,
        match=rf"{method} of a frame with equal names .*'a'.*rename",
    ):
        getattr(twice, method)()
