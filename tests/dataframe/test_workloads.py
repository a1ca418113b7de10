"""W3 (time series, complete) and W4 (target encoding, scaled; missing keys included)."""

from __future__ import annotations

import glassloom as gl
import glassloom.dataframe as gd
import pandas as pd
from frame_helpers import assert_same, shop, target_encoded


def test_a_month_of_seconds_is_grouped_sorted_and_smoothed():
    frame = gd.datasets.timeseries(seed=42)
    assert (len(frame), frame.npartitions) == (2_592_000, 30)
    held = frame.persist()

    grouped = held.groupby(["id", "name"]).agg({"x": ["sum", "mean"]})
    plain = held.compute()
    expected = plain.groupby(["id", "name"]).agg({"x": ["sum", "mean"]})
    assert_same(grouped.head(), expected.head())
    pd.testing.assert_frame_equal(grouped.compute(), expected)

    by_id = held.map_partitions(lambda block: block.sort_values("id"))
    assert len(by_id) == 2_592_000

    def smooth(block):
        block = block.sort_values("id")
        block[["x", "y"]] = block[["x", "y"]].rolling(3).mean()
        return block

    day = plain.loc["2000-01-13"]
    assert_same(held.map_partitions(smooth).partitions[12].head(), smooth(day.copy()).head())
    assert_same(held.partitions[12].head(), day.head())


def test_target_encoding_keeps_the_rows_whose_key_is_missing(tmp_path):
    """A missing brand or category makes the joint key missing; such rows get the global mean, on every row."""
    plain = {"train": shop(60_000, 1), "valid": shop(15_000, 2)}
    for name, rows in plain.items():
        rows.to_parquet(tmp_path / f"{name}.parquet", row_group_size=7_000)
    lazy = {name: gd.read_parquet(tmp_path / f"{name}.parquet") for name in plain}

    expected = target_encoded(plain["train"].copy(), plain["valid"].copy())
    got = gl.compute(*target_encoded(lazy["train"], lazy["valid"]))
    for ours, theirs in zip(got, expected, strict=True):
        assert_same(ours.reset_index(drop=True), theirs)
    missing = got[1][got[1].cat_2_brand.isna()]
    assert len(missing) == (plain["valid"].brand.isna() | plain["valid"].cat_2.isna()).sum() > 1000
    assert missing.te.round(12).unique().tolist() == [round(plain["train"].target.mean(), 12)]


def test_target_encoding_may_treat_missing_as_a_key_of_its_own():
    train = shop(5_000, 3)
    lazy = gd.from_pandas(train, npartitions=4)
    stats = lazy.groupby("brand", dropna=False).target.mean().rename("te").to_frame().reset_index()
    got = lazy.merge(stats, on="brand", how="left").compute().reset_index(drop=True)
    expected = train.merge(
        train.groupby("brand", dropna=False).target.mean().rename("te").reset_index(), on="brand", how="left"
    )
    assert_same(got, expected)
    assert got.te.notna().all()
